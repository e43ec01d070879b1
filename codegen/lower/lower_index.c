/* Elements of operations that only move data: each is an index map, possibly piecewise. */
#include "codegen/lower/lowering_internal.h"

Status element_iota(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  int64_t dimension = hlo_instruction_int(instruction, HLO_ATTR_IOTA_DIMENSION, 0);
  PrimitiveType type = instruction->shape->type;
  bool counts = type_is_integral(type) && type_bits(type) >= 8; /* and wraps; narrower ones do in the conversion */
  PrimitiveType counter = instruction->shape->dims[dimension] <= INT32_MAX ? TYPE_S32 : TYPE_S64;
  int32_t value = lowering_index_value(lowering, counts ? type : counter, index[dimension]);
  *out_value = lowering_convert(lowering, value, type);
  return STATUS_OK;
}

Status element_broadcast(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                         int32_t *out_value) {
  const HloInstruction *operand = instruction->operands[0];
  Int64List dimensions = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  IndexExpr inner[MAX_RANK];
  for (int i = 0; i < operand->shape->rank; i++) inner[i] = index[dimensions.data[i]];
  return lower_element(lowering, operand, inner, out_value);
}

Status element_reshape(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                       int32_t *out_value) {
  const Shape *from = instruction->operands[0]->shape, *to = instruction->shape;
  IndexExpr inner[MAX_RANK];
  IndexExpr linear = lowering_linearize(lowering, index, to->dims, to->rank);
  lowering_delinearize(lowering, linear, from->dims, from->rank, inner);
  return lower_element(lowering, instruction->operands[0], inner, out_value);
}

/* Same bytes under another shape: linear in memory order on both sides. */
Status element_bitcast(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                       int32_t *out_value) {
  const Shape *from = instruction->operands[0]->shape;
  IndexExpr physical[MAX_RANK], inner[MAX_RANK];
  int64_t physical_dims[MAX_RANK];
  IndexExpr linear = lowering_address(lowering, instruction->shape, index);
  for (int i = 0; i < from->rank; i++) physical_dims[i] = from->dims[from->layout.minor_to_major[from->rank - 1 - i]];
  lowering_delinearize(lowering, linear, physical_dims, from->rank, physical);
  for (int i = 0; i < from->rank; i++) inner[from->layout.minor_to_major[from->rank - 1 - i]] = physical[i];
  return lower_element(lowering, instruction->operands[0], inner, out_value);
}

Status element_transpose(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                         int32_t *out_value) {
  Int64List dimensions = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  IndexExpr inner[MAX_RANK];
  for (int i = 0; i < instruction->shape->rank; i++) inner[dimensions.data[i]] = index[i];
  return lower_element(lowering, instruction->operands[0], inner, out_value);
}

Status element_reverse(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                       int32_t *out_value) {
  Int64List dimensions = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  IndexExpr inner[MAX_RANK];
  for (int i = 0; i < instruction->shape->rank; i++) inner[i] = index[i];
  for (int64_t i = 0; i < dimensions.count; i++) {
    int64_t d = dimensions.data[i];
    IndexExpr mirrored = index_scale(&lowering->draft.space, index[d], -1);
    inner[d] = index_add_constant(&lowering->draft.space, mirrored, instruction->shape->dims[d] - 1);
  }
  return lower_element(lowering, instruction->operands[0], inner, out_value);
}

Status element_slice(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                     int32_t *out_value) {
  const SliceRanges *slice = hlo_instruction_slice(instruction);
  IndexExpr inner[MAX_RANK];
  for (int i = 0; i < slice->rank; i++) {
    IndexExpr scaled = index_scale(&lowering->draft.space, index[i], slice->dims[i].stride);
    inner[i] = index_add_constant(&lowering->draft.space, scaled, slice->dims[i].start);
  }
  return lower_element(lowering, instruction->operands[0], inner, out_value);
}

Status element_pad(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  const PaddingConfig *padding = hlo_instruction_padding(instruction);
  const HloInstruction *operand = instruction->operands[0];
  IndexExpr inner[MAX_RANK];
  int32_t predicate = -1;
  for (int i = 0; i < padding->rank; i++) {
    int64_t step = padding->dims[i].interior + 1, size = operand->shape->dims[i];
    IndexExpr position = index_add_constant(&lowering->draft.space, index[i], -padding->dims[i].low);
    int64_t span = size == 0 ? 0 : (size - 1) * step + 1;
    predicate = lowering_and(lowering, predicate, lowering_in_range(lowering, position, 0, span));
    predicate = lowering_and(lowering, predicate, lowering_divisible(lowering, position, step));
    inner[i] = index_div(&lowering->draft.space, position, step);
  }
  int32_t value, fill;
  RETURN_IF_ERROR(lower_element(lowering, instruction->operands[1], NULL, &fill));
  RETURN_IF_ERROR(lower_guarded(lowering, predicate, operand, inner, &value));
  *out_value = lowering_select(lowering, predicate, value, fill);
  return STATUS_OK;
}

static bool has_equal_pieces(const HloInstruction *concatenate) {
  for (int k = 1; k < concatenate->operand_count; k++) {
    if (!shape_same_dims(concatenate->operands[0]->shape, concatenate->operands[k]->shape)) return false;
  }
  return concatenate->operand_count > 1;
}

Status element_concatenate(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                           int32_t *out_value) {
  int64_t dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0];
  IndexExpr inner[MAX_RANK];
  for (int i = 0; i < instruction->shape->rank; i++) inner[i] = index[i];
  int64_t start = instruction->shape->dims[dimension];
  int32_t result = -1;
  if (has_equal_pieces(instruction))
    lowering_ask_unrolled(lowering, index[dimension], instruction->operands[0]->shape->dims[dimension]);
  for (int k = instruction->operand_count - 1; k >= 0; k--) {
    int64_t size = instruction->operands[k]->shape->dims[dimension];
    start -= size;
    if (size == 0) continue;
    int32_t predicate = lowering_in_range(lowering, index[dimension], start, start + size);
    bool is_never = predicate >= 0 && lowering->draft.values.data[predicate].kind == KERNEL_CONSTANT;
    if (is_never && (k > 0 || result >= 0)) continue;
    inner[dimension] = index_add_constant(&lowering->draft.space, index[dimension], -start);
    if (size == 1) inner[dimension] = index_constant(0); /* the one element that it has needs no guard */
    int32_t value;
    RETURN_IF_ERROR(lower_guarded(lowering, size == 1 ? -1 : predicate, instruction->operands[k], inner, &value));
    result = result < 0 ? value : lowering_select(lowering, predicate, value, result);
  }
  *out_value = result;
  return STATUS_OK;
}

/* --- run-time positions --- */

/* A start is read whatever guards what begins there: it is in memory, and the same for all elements. */
static Status lower_start(Lowering *lowering, const HloInstruction *start, const IndexExpr *index, int32_t *out_value) {
  int32_t saved = lowering->predicate;
  lowering->predicate = -1;
  Status status = lower_element(lowering, start, index, out_value);
  lowering->predicate = saved;
  return status;
}

Status lower_dynamic_starts(Lowering *lowering, const HloInstruction *instruction, int first_index_operand,
                            const int64_t *sizes, IndexExpr *out_starts) {
  const Shape *whole = instruction->operands[0]->shape;
  bool is_vector =
      instruction->operand_count > first_index_operand && instruction->operands[first_index_operand]->shape->rank == 1;
  for (int i = 0; i < whole->rank; i++) {
    IndexExpr component = index_constant(i);
    const HloInstruction *start = instruction->operands[first_index_operand + (is_vector ? 0 : i)];
    int32_t value;
    if (whole->dims[i] == sizes[i]) {
      out_starts[i] = index_constant(0);
      continue;
    }
    RETURN_IF_ERROR(lower_start(lowering, start, is_vector ? &component : NULL, &value));
    out_starts[i] = lowering_clamped_index(lowering, value, whole->dims[i] - sizes[i]);
  }
  return STATUS_OK;
}

Status element_dynamic_slice(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                             int32_t *out_value) {
  IndexExpr inner[MAX_RANK];
  RETURN_IF_ERROR(lower_dynamic_starts(lowering, instruction, 1, instruction->shape->dims, inner));
  for (int i = 0; i < instruction->shape->rank; i++) inner[i] = index_add(&lowering->draft.space, inner[i], index[i]);
  return lower_element(lowering, instruction->operands[0], inner, out_value);
}

Status element_dynamic_update_slice(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                                    int32_t *out_value) {
  const HloInstruction *update = instruction->operands[1];
  IndexExpr inner[MAX_RANK];
  RETURN_IF_ERROR(lower_dynamic_starts(lowering, instruction, 2, update->shape->dims, inner));
  int32_t predicate = -1, inside, outside;
  for (int i = 0; i < instruction->shape->rank; i++) {
    inner[i] = index_add(&lowering->draft.space, index[i], index_scale(&lowering->draft.space, inner[i], -1));
    predicate = lowering_and(lowering, predicate, lowering_in_range(lowering, inner[i], 0, update->shape->dims[i]));
  }
  RETURN_IF_ERROR(lower_guarded(lowering, predicate, update, inner, &inside));
  RETURN_IF_ERROR(lower_element(lowering, instruction->operands[0], index, &outside));
  *out_value = lowering_select(lowering, predicate, inside, outside);
  return STATUS_OK;
}

Status lower_index_component(Lowering *lowering, const HloInstruction *indices, const IndexExpr *batch,
                             int64_t index_vector_dim, int64_t component, int32_t *out_value) {
  IndexExpr position[MAX_RANK];
  for (int i = 0, next = 0; i < indices->shape->rank; i++) {
    position[i] = i == index_vector_dim ? index_constant(component) : batch[next++];
  }
  return lower_element(lowering, indices, position, out_value);
}

/* Slices of size 0 along a dimension that the result does not have: there is nothing to read, the result is zero. */
static bool collapses_nothing(Int64List collapsed, Int64List sizes) {
  for (int64_t i = 0; i < collapsed.count; i++) {
    if (sizes.data[collapsed.data[i]] == 0) return true;
  }
  return false;
}

Status element_gather(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                      int32_t *out_value) {
  const HloInstruction *operand = instruction->operands[0], *indices = instruction->operands[1];
  Int64List offset_dims = hlo_instruction_ints(instruction, HLO_ATTR_OFFSET_DIMS);
  Int64List collapsed = hlo_instruction_ints(instruction, HLO_ATTR_COLLAPSED_SLICE_DIMS);
  Int64List start_map = hlo_instruction_ints(instruction, HLO_ATTR_START_INDEX_MAP);
  Int64List operand_batching = hlo_instruction_ints(instruction, HLO_ATTR_OPERAND_BATCHING_DIMS);
  Int64List indices_batching = hlo_instruction_ints(instruction, HLO_ATTR_START_INDICES_BATCHING_DIMS);
  Int64List sizes = hlo_instruction_ints(instruction, HLO_ATTR_SLICE_SIZES);
  int64_t vector_dim = hlo_instruction_int(instruction, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  IndexExpr batch[MAX_RANK], inner[MAX_RANK];
  if (collapses_nothing(collapsed, sizes)) {
    *out_value = lowering_constant_bits(lowering, instruction->shape->type, 0, 0);
    return STATUS_OK;
  }
  for (int i = 0, next = 0; i < instruction->shape->rank; i++) {
    if (!int64_list_has(offset_dims, i)) batch[next++] = index[i];
  }
  for (int d = 0, offset = 0; d < operand->shape->rank; d++) {
    inner[d] = index_constant(0);
    int64_t batching = int64_list_find(operand_batching, d), component = int64_list_find(start_map, d);
    if (batching >= 0) {
      int64_t dim = indices_batching.data[batching];
      inner[d] = batch[dim - (dim > vector_dim ? 1 : 0)];
      continue;
    }
    if (component >= 0) {
      int32_t start;
      RETURN_IF_ERROR(lower_index_component(lowering, indices, batch, vector_dim, component, &start));
      inner[d] = lowering_clamped_index(lowering, start, operand->shape->dims[d] - sizes.data[d]);
    }
    if (!int64_list_has(collapsed, d))
      inner[d] = index_add(&lowering->draft.space, inner[d], index[offset_dims.data[offset++]]);
  }
  return lower_element(lowering, operand, inner, out_value);
}
