/* How threads share a contraction. */
#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

/* Rows or columns of a chunk at least: packing the other factor for it then costs some percent. */
#define CHUNK_LENGTH 48
/* Chunks for each thread, which even out how fast threads are, where the product takes so many times the time of what a
 * chunk repeats. */
typedef struct ChunkChoice {
  int64_t chunks;
  double repeats;
} ChunkChoice;
static const ChunkChoice choices[] = {{12, 1200}, {4, 200}, {2, 80}, {1, 0}};
/* Batch entries that are enough for any number of threads. */
#define MANY_ENTRIES 16

/* Each chunk of rows or columns packs the whole of the other factor: it must be long enough for that to pay. */
static int64_t chunks_of(int64_t count, int64_t width) {
  return ceil_div(count, ceil_div(CHUNK_LENGTH, width));
}

/* Where chunks repeat what takes |repeated| of |cost| cycles. */
static int64_t chunks_per_worker(double cost, double repeated) {
  const ChunkChoice *choice = choices;
  while (cost < choice->repeats * repeated) choice++;
  return choice->chunks;
}

static void split_by(ContractionBlocking *blocking, ContractionRole role, int64_t pieces, int64_t chunks,
                     double repeated) {
  blocking->split = role;
  blocking->piece_count = pieces;
  blocking->chunk_limit = chunks;
  blocking->chunks_per_worker = chunks_per_worker(blocking->cost, repeated);
}

/* Nothing asks ahead for the first panel of a chunk. */
static double first_panel_cost(const ContractionBlocking *blocking) {
  return blocking->rhs_ahead ? blocking->rhs_entry_cost / (double)blocking->panel_count : 0;
}

void contraction_choose_split(ContractionBlocking *blocking) {
  int64_t rows = chunks_of(blocking->tile_count, blocking->tile_rows);
  int64_t columns = chunks_of(blocking->panel_count, blocking->panel_width);
  int64_t batch = blocking->batch.size;
  bool are_alike = min_i64(rows, columns) * 4 >= max_i64(rows, columns) * 3;
  bool by_rows = are_alike ? blocking->rhs_entry_cost <= blocking->lhs_entry_cost : rows > columns;
  if (batch >= MANY_ENTRIES || blocking->depth_runs > 0 || (batch >= rows && batch >= columns))
    split_by(blocking, ROLE_BATCH, batch, batch, 0);
  else if (by_rows)
    split_by(blocking, ROLE_ROWS, blocking->tile_count, rows, blocking->rhs_entry_cost);
  else
    split_by(blocking, ROLE_COLUMNS, blocking->panel_count, columns,
             blocking->lhs_entry_cost + first_panel_cost(blocking));
}

ContractionPieces contraction_pieces(const ContractionBlocking *blocking) {
  return (ContractionPieces){blocking->piece_count, blocking->chunk_limit, blocking->chunks_per_worker};
}
