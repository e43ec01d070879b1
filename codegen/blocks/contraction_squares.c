/* Squares: sources contiguous along the other dim than their packed form, transposed as they are packed. */
#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

void contraction_pack_square(ContractionEmitter *emitter, const SquareBlock *square) {
  const VecBuilder *vec = emitter->vec;
  KernelPoint *point = &emitter->point;
  const ContractionBlocking *blocking = emitter->blocking;
  bool is_lhs = square->factor == blocking->lhs;
  int lanes = blocking->lanes, wide = is_lhs ? lanes : lanes * blocking->group;
  LLVMValueRef rows[VEC_MAX_SQUARE];
  for (int i = 0; i < lanes; i++) {
    LLVMValueRef along = ir_index_add(vec->builder, square->along_begin, block_int(vec, i));
    point->dims[square->along] =
        square->along_last == NULL ? along : ir_index_minimum(vec->builder, along, square->along_last);
    point->dims[square->across] = square->across_begin;
    rows[i] = contraction_factor_lanes(emitter, square->factor, wide, NULL);
    if (is_lhs) continue;
    rows[i] = contraction_packed_value(emitter, rows[i], false, wide);
    rows[i] = LLVMBuildBitCast(vec->builder, rows[i], vec_type(vec, blocking->type, lanes), "");
  }
  vec_transpose(vec, blocking->type, rows, lanes);
  for (int i = 0; i < lanes; i++) {
    LLVMValueRef target = block_element(vec, square->type, square->target, block_int(vec, i * square->target_stride));
    vec_store(vec, square->type, is_lhs ? contraction_packed_value(emitter, rows[i], true, lanes) : rows[i], target,
              NULL, lanes);
  }
}

int64_t contraction_square_row(const ContractionEmitter *emitter, int32_t factor, int dim) {
  const ContractionBlocking *blocking = emitter->blocking;
  const KernelValue *value = &emitter->kernel->values[factor];
  int64_t stride;
  bool is_plain = value->kind == KERNEL_LOAD && value->predicate < 0 && value->type == blocking->type &&
                  blocking->group == 1 && vec_moves_squares(emitter->vec->target, blocking->type, blocking->lanes);
  if (!is_plain || !kernel_plain_stride(emitter->kernel, value->address, dim, &stride)) return 0;
  return max_i64(stride, 0);
}

/* Where the row of |square| at index |along| begins. */
static LLVMValueRef square_address(ContractionEmitter *emitter, const SquareBlock *square, LLVMValueRef along) {
  emitter->point.dims[square->across] = square->across_begin;
  emitter->point.dims[square->along] = along;
  return point_load_pointer(&emitter->point, square->factor);
}

void contraction_move_squares(ContractionEmitter *emitter, const SquareBlock *square, int64_t row, int64_t step,
                              LLVMValueRef count) {
  const ContractionBlocking *blocking = emitter->blocking;
  bool is_lhs = square->factor == blocking->lhs;
  VecSquares squares = {.target = square->target,
                        .source_row = row,
                        .target_row = square->target_stride,
                        .source_step = is_lhs ? row * blocking->lanes : blocking->lanes,
                        .target_step = step,
                        .count = count,
                        .last_moves = !is_lhs};
  squares.source = square_address(emitter, square, square->along_begin);
  if (square->along_last != NULL) squares.last = square_address(emitter, square, square->along_last);
  vec_move_squares(emitter->vec, blocking->type, &squares, blocking->lanes);
}

void contraction_pack_squares(ContractionEmitter *emitter, SquareBlock *square, LLVMValueRef first, LLVMValueRef count,
                              LLVMValueRef target) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t row = contraction_square_row(emitter, square->factor, square->along);
  square->along_begin = first;
  square->target = target;
  if (row > 0) {
    LLVMValueRef up = ir_index_add(vec->builder, count, block_int(vec, blocking->lanes - 1));
    LLVMValueRef squares = LLVMBuildUDiv(vec->builder, up, block_int(vec, blocking->lanes), "");
    contraction_move_squares(emitter, square, row, blocking->lanes, squares);
    return;
  }
  PointLoop steps = point_loop_begin(&emitter->point, ir_range_below(count), blocking->lanes);
  square->along_begin = ir_index_add(vec->builder, first, steps.index);
  square->target = block_element(vec, blocking->packed_type, target, steps.index);
  contraction_pack_square(emitter, square);
  point_loop_end(&emitter->point, &steps);
}
