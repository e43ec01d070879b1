/* Channel-major images with positions as rows: a result goes on along positions, but registers hold features.
 *
 * The image is read where it is, one number for each position, as the window slides; rows of a tile that begin outside
 * of it are left out.  Weights are packed as any columns.  Finished sums, which have a position in each row, are
 * transposed, and finished as if features were rows. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

int64_t contraction_turned_rows(const ContractionBlocking *blocking) {
  return align_up(blocking->tile_rows, blocking->lanes);
}

int contraction_turned_lanes(const ContractionBlocking *blocking) {
  int lanes = blocking->lanes;
  while (lanes / 2 >= blocking->tile_rows && lanes > 2) lanes /= 2;
  return lanes;
}

bool contraction_choose_window_tiles(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  bool has_code = blocking->lanes == blocking->vector_lanes && blocking->columns.size >= blocking->lanes &&
                  vec_moves_squares(target, blocking->type, blocking->lanes) &&
                  contraction_has_assembly(target, blocking, blocking->tile_rows, blocking->panel_vectors);
  if (!has_code || !contraction_choose_outside(kernel, blocking)) return false;
  blocking->lhs_in_place = blocking->lhs_by_tiles = true;
  return true;
}

ContractionBlocking contraction_turned_finish(const ContractionBlocking *blocking) {
  ContractionBlocking finish = *blocking;
  finish.is_turned = false;
  finish.rows = blocking->columns;
  finish.columns = (DimList){.count = 1, .dims = {blocking->rows.dims[blocking->rows.count - 1]}};
  finish.columns.size = finish.column_run = finish.panel_width = blocking->tile_rows;
  finish.tile_rows = (int)blocking->panel_width;
  finish.lanes = contraction_turned_lanes(blocking);
  return finish;
}

TileSums contraction_turn_sums(ContractionEmitter *emitter, const TileSums *sums) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t rows = contraction_turned_rows(blocking);
  int lanes = blocking->lanes;
  for (int64_t row = 0; row < rows; row += lanes) {
    VecSquares squares = {
        .source = block_element(vec, blocking->type, sums->first, block_int(vec, row * blocking->panel_width)),
        .target = block_element(vec, blocking->type, emitter->turned, block_int(vec, row)),
        .source_row = blocking->panel_width,
        .target_row = rows,
        .source_step = lanes,
        .target_step = lanes * rows,
        .count = block_int(vec, blocking->panel_vectors)};
    vec_move_squares(vec, blocking->type, &squares, lanes);
  }
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL, sums->row);
  LLVMValueRef first = emitter->point.dims[blocking->rows.dims[blocking->rows.count - 1]];
  return (TileSums){.first = emitter->turned, .stride = block_int(vec, rows), .row = sums->column, .column = first};
}
