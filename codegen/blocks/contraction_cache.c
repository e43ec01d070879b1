/* Rows that push each other out of a cache. */
#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

/* Places that the rows of a tile may have in a set of a first-level cache: half of eight, as processors have them at
 * the least; of twelve more, but for rows a page and more apart, of which many meet in the second-level cache too. */
#define ROW_WAYS 4
#define LARGE_ROW_WAYS 8
#define NEAR_STRIDE 4096
/* And that patches may have which are read where they are, one line of each after the other, at steps that take long:
 * all but one of eight, which has what passes meanwhile.  Packed, patches have what lies outside of the image too. */
#define PATCH_WAYS 7
/* Rows that come near one another again after so many, or after a power of two. */
#define MOST_TURNS 16

RowsInCache contraction_rows_in_cache(int64_t sets, int64_t rows, int64_t stride) {
  RowsInCache in_cache = {.span = sets * LINE_BYTES, .rows = rows, .stride = stride};
  for (int64_t turn = 1; turn <= sets; turn += turn < MOST_TURNS ? 1 : turn) {
    int64_t ahead = turn * stride % in_cache.span;
    /* rows that follow one of the first |turn|, each so far from the last */
    RowTurn made = {turn, ceil_div(rows, turn) - 1, min_i64(ahead, in_cache.span - ahead)};
    XLAC_CHECK(in_cache.turn_count < ROW_TURNS);
    in_cache.turns[in_cache.turn_count++] = made;
    if (made.apart == 0) break;
  }
  return in_cache;
}

/* Bytes where addresses |span| apart are one: of those between two of its sets that the rows come to. */
static int64_t bytes_in_span(const RowsInCache *in_cache, int64_t width) {
  int64_t least = in_cache->span;
  for (int i = 0; i < in_cache->turn_count; i++) {
    const RowTurn *turn = &in_cache->turns[i];
    int64_t bytes = turn->following * min_i64(turn->apart, width) + width;
    least = min_i64(least, min_i64(turn->number, in_cache->rows) * bytes);
  }
  return least;
}

double contraction_rows_bytes(const RowsInCache *in_cache, int64_t width) {
  int64_t bytes = (in_cache->rows - 1) * min_i64(in_cache->stride, width) + width;
  int64_t places = bytes_in_span(in_cache, width);
  return (double)bytes * (places < bytes ? (double)in_cache->span / (double)places : 1);
}

double contraction_cache_bytes(int64_t sets, int64_t rows, int64_t stride, int64_t width) {
  RowsInCache in_cache = contraction_rows_in_cache(sets, rows, stride);
  return contraction_rows_bytes(&in_cache, width);
}

static bool rows_meet(int ways, int rows, int64_t stride_bytes) {
  double bytes = contraction_cache_bytes(FIRST_CACHE_SETS, rows, stride_bytes, LINE_BYTES);
  return bytes > ways * FIRST_CACHE_SETS * LINE_BYTES;
}

bool contraction_rows_meet(bool is_large, int rows, int64_t stride_bytes) {
  return rows_meet(is_large && stride_bytes < NEAR_STRIDE ? LARGE_ROW_WAYS : ROW_WAYS, rows, stride_bytes);
}

bool contraction_patches_meet(const Kernel *kernel, const ContractionBlocking *blocking, int64_t stride) {
  int64_t stride_bytes = stride * type_storage_bytes(blocking->type);
  bool leaves_out = kernel->values[blocking->lhs].predicate >= 0;
  if (blocking->has_slow_steps && leaves_out) return rows_meet(PATCH_WAYS, blocking->tile_rows, stride_bytes);
  return contraction_rows_meet(blocking->has_large_caches, blocking->tile_rows, stride_bytes);
}
