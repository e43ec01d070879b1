/* Rows that push each other out of a cache. */
#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

/* Of a first-level cache as processors have it, at the least: each set has places for so many lines, half of them for
 * others. */
#define FIRST_CACHE_WAYS 4
/* Rows that come near one another again after so many, or after a power of two. */
#define MOST_TURNS 16

/* Bytes of |rows| where addresses |span| apart are one: of those between two of its sets that the rows come to. */
static int64_t bytes_in_span(int64_t span, int64_t rows, int64_t stride, int64_t width) {
  int64_t least = span;
  for (int64_t turn = 1; turn <= span / LINE_BYTES; turn += turn < MOST_TURNS ? 1 : turn) {
    int64_t ahead = turn * stride % span, apart = min_i64(ahead, span - ahead);
    int64_t near = ceil_div(rows, turn) - 1; /* rows that follow one of the first |turn|, each so far from the last */
    least = min_i64(least, min_i64(turn, rows) * (near * min_i64(apart, width) + width));
    if (apart == 0) break;
  }
  return least;
}

double contraction_cache_bytes(int64_t sets, int64_t rows, int64_t stride, int64_t width) {
  int64_t span = sets * LINE_BYTES, bytes = (rows - 1) * min_i64(stride, width) + width;
  int64_t places = bytes_in_span(span, rows, stride, width);
  return (double)bytes * (places < bytes ? (double)span / (double)places : 1);
}

bool contraction_rows_meet(int rows, int64_t stride_bytes) {
  double bytes = contraction_cache_bytes(FIRST_CACHE_SETS, rows, stride_bytes, LINE_BYTES);
  return bytes > FIRST_CACHE_WAYS * FIRST_CACHE_SETS * LINE_BYTES;
}
