/* Slices at computed places, and arrays of computed size. */
#include "hlo/eval/eval_internal.h"

/* The start of a dynamic slice, element offset, with each index clamped so that the slice lies inside.  Indices are
 * scalars from operand |first| on, or one vector. */
static int64_t clamped_start(const EvalStep *step, int first, const Shape *array, const int64_t *slice_dims,
                             const int64_t *strides) {
  bool is_vector = array->rank > 0 && eval_operand_shape(step, first)->rank == 1;
  int64_t offset = 0;
  for (int i = 0; i < array->rank; i++) {
    const Literal *index = eval_operand(step, is_vector ? first : first + i);
    int64_t start = literal_get_int(index, is_vector ? i : 0);
    if (start < 0 && type_is_unsigned(index->shape->type)) start = INT64_MAX;
    offset += strides[i] * max_i64(0, min_i64(start, array->dims[i] - slice_dims[i]));
  }
  return offset;
}

Status eval_dynamic_slice(EvalStep *step) {
  const Shape *from = eval_operand_shape(step, 0);
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  Literal *out = eval_result(step);
  if (shape_element_count(out->shape) == 0) return STATUS_OK;
  eval_strides(from, strides);
  eval_strides(out->shape, to_strides);
  int64_t start = clamped_start(step, 1, from, out->shape->dims, strides);
  eval_copy_box((size_t)type_storage_bytes(from->type), from->rank, out->shape->dims, out->data, to_strides,
                literal_element(eval_operand(step, 0), start), strides);
  return STATUS_OK;
}

Status eval_dynamic_update_slice(EvalStep *step) {
  const Shape *update = eval_operand_shape(step, 1);
  int64_t strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  Literal *out = eval_result(step);
  eval_copy_leaves(out, eval_operand(step, 0));
  if (shape_element_count(update) == 0) return STATUS_OK;
  eval_strides(update, strides);
  eval_strides(out->shape, to_strides);
  int64_t start = clamped_start(step, 2, out->shape, update->dims, to_strides);
  eval_copy_box((size_t)type_storage_bytes(update->type), update->rank, update->dims, literal_element(out, start),
                to_strides, eval_operand(step, 1)->data, strides);
  return STATUS_OK;
}

/* ---- sizes ---- */

/* |sizes| along |dims|, which is all but them if |others|. */
static const int64_t *sizes_along(EvalStep *step, const int64_t *sizes, int rank, Int64List dims, bool others) {
  if (!step->state) step->state = ARENA_NEW_ARRAY(step->frame->evaluation->arena, int64_t, rank + 1);
  int64_t *own = step->state;
  int count = 0;
  for (int64_t i = 0; i < dims.count && !others; i++) own[count++] = sizes[dims.data[i]];
  for (int i = 0; i < rank && others; i++)
    if (!eval_list_has(dims, i)) own[count++] = sizes[i];
  return own;
}

Status eval_take_sizes(EvalStep *step) {
  const HloInstruction *instruction = step->instruction;
  const int64_t *sizes = NULL;
  for (int i = 0; i < instruction->operand_count && !sizes; i++) sizes = step->operands[i]->sizes;
  if (!sizes || instruction->opcode == HLO_SET_DIMENSION_SIZE || instruction->opcode == HLO_GET_DIMENSION_SIZE ||
      step->rule == eval_forward)
    return STATUS_OK;
  bool is_result = step == step->frame->root && step->frame->depth == 0;
  if (instruction->opcode == HLO_TUPLE && is_result) return STATUS_OK;
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  bool is_reduction = instruction->opcode == HLO_REDUCE && instruction->operand_count == 2;
  if (is_reduction || instruction->opcode == HLO_TRANSPOSE)
    step->sizes = sizes_along(step, sizes, instruction->operands[0]->shape->rank, dims, is_reduction);
  else if (hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || instruction->opcode == HLO_CONVERT)
    step->sizes = sizes;
  else
    return eval_error(step, "cannot be evaluated on an array whose size is set at run time");
  return STATUS_OK;
}

/* The size is kept beside the value: eval_take_sizes says who honours it. */
Status eval_set_dimension_size(EvalStep *step) {
  const Shape *shape = step->instruction->shape;
  int64_t dimension = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS).data[0];
  if (!step->state) step->state = ARENA_NEW_ARRAY(step->frame->evaluation->arena, int64_t, shape->rank + 1);
  int64_t *sizes = step->state;
  const int64_t *before = step->operands[0]->sizes;
  for (int i = 0; i < shape->rank; i++) sizes[i] = before ? before[i] : shape->dims[i];
  sizes[dimension] = max_i64(0, min_i64(literal_get_int(eval_operand(step, 1), 0), shape->dims[dimension]));
  eval_forward_value(step, eval_operand(step, 0));
  step->sizes = sizes;
  return STATUS_OK;
}

Status eval_get_dimension_size(EvalStep *step) {
  int64_t dimension = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS).data[0];
  const int64_t *sizes = step->operands[0]->sizes;
  literal_set_int(eval_result(step), 0, sizes ? sizes[dimension] : eval_operand_shape(step, 0)->dims[dimension]);
  return STATUS_OK;
}
