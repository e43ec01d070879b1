/* sort: the lines along one dimension, each put in order by one stage.
 *
 * A fusion may compute what it sorts, leave out results, and end them with slices along the lines and with elementwise
 * operations of one operand.  Results are then asked for as if the points had stayed where they are: at point p the
 * sort's k-th result is its k-th operand at p, and it is the stores' addresses that say which place a point came to. */
#include "codegen/lower/lowering_internal.h"

/* Positions in a line are 32 bits wide. */
static Status check_length(const Lowering *lowering, const HloInstruction *sort, int64_t length) {
  if (length <= INT32_MAX) return STATUS_OK;
  return lowering_unsupported(lowering, sort, "'sort' of more than 2^31 - 1 elements");
}

const HloInstruction *lowering_find_fused(const HloComputation *fused, HloOpcode opcode) {
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    if (fused->instructions.data[i]->opcode == opcode) return fused->instructions.data[i];
  }
  return NULL;
}

/* --- results --- */

/* A result by which place its elements come from: element i along the lines from place i + |offset|. */
typedef struct SortResult {
  const HloInstruction *made; /* NULL: operand |operand| itself */
  int operand, node;
  const Shape *shape;
  int64_t offset;
} SortResult;

/* Past one that is sliced along the lines only: where its elements begin. */
static bool follow_slice(const HloInstruction *instruction, int along, int64_t *offset) {
  const SliceRanges *slice = hlo_instruction_slice(instruction);
  for (int d = 0; d < slice->rank; d++) {
    if (slice->dims[d].stride != 1) return false;
    if (d != along && instruction->shape->dims[d] != instruction->operands[0]->shape->dims[d]) return false;
  }
  *offset += slice->dims[along].start;
  return true;
}

static Status follow_result(const Lowering *lowering, const HloInstruction *sort, int along, SortResult *result) {
  const HloInstruction *at = result->made;
  while (at != sort) {
    bool follows =
        at->opcode == HLO_GET_TUPLE_ELEMENT || (hlo_opcode_has(at->opcode, OP_ELEMENTWISE) && at->operand_count == 1);
    if (at->opcode == HLO_SLICE) follows = follow_slice(at, along, &result->offset);
    if (!follows) return lowering_unsupported(lowering, at, "this operation cannot be fused after a 'sort'");
    at = at->operands[0];
  }
  return STATUS_OK;
}

static Status store_result(Lowering *lowering, const HloInstruction *sort, int stage, int along,
                           const SortResult *result, const IndexExpr *index) {
  IndexExpr moved[MAX_RANK];
  for (int d = 0; d < sort->operands[0]->shape->rank; d++) moved[d] = index[d];
  moved[along] = index_add_constant(&lowering->draft.space, index[along], -result->offset);
  int64_t end = result->offset + result->shape->dims[along];
  KernelStore store = {.predicate = lowering_in_range(lowering, index[along], result->offset, end),
                       .address = lowering_address(lowering, result->shape, moved)};
  const HloInstruction *made = result->made != NULL ? result->made : sort->operands[result->operand];
  RETURN_IF_ERROR(lower_element(lowering, made, moved, &store.value));
  store.buffer = lowering_buffer(lowering, KERNEL_RESULT, -1, result->node, result->shape);
  lowering_add_store(lowering, stage, &store);
  return STATUS_OK;
}

static Status store_results(Lowering *lowering, const HloInstruction *sort, int stage, int along,
                            const IndexExpr *index) {
  bool is_alone = lowering->fused == NULL;
  int count = is_alone ? sort->operand_count : lowering->result_count;
  for (int i = 0; i < count; i++) {
    int node = is_alone ? lowering->result_node + i : lowering->results[i].node;
    SortResult result = {.operand = i, .node = node, .shape = shape_node(lowering->source->shape, node)};
    if (!is_alone) {
      result.made = lowering->results[i].made;
      RETURN_IF_ERROR(follow_result(lowering, sort, along, &result));
    }
    RETURN_IF_ERROR(store_result(lowering, sort, stage, along, &result, index));
  }
  return STATUS_OK;
}

/* --- what is compared --- */

static Status compare(Lowering *lowering, const HloInstruction *sort, int stage, const IndexExpr *index) {
  const HloComputation *region = hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY);
  const Kernel *comparator;
  RETURN_IF_ERROR(kernel_build_region(lowering->arena, region, sort, lowering->diag, &comparator));
  bool *reads = ARENA_NEW_ARRAY(lowering->arena, bool, sort->operand_count);
  for (int b = 0; b < comparator->buffer_count; b++) {
    if (comparator->buffers[b].role == KERNEL_OPERAND) reads[comparator->buffers[b].operand / 2] = true;
  }
  int32_t value;
  for (int i = 0; i < sort->operand_count; i++) {
    if (!reads[i]) continue;
    RETURN_IF_ERROR(lower_element(lowering, sort->operands[i], index, &value));
    bool is_complex = type_is_complex(sort->operands[i]->shape->type);
    KernelCompared compared = {i, {value, -1}};
    for (int part = 0; is_complex && part < 2; part++) compared.parts[part] = lowering_part(lowering, value, part);
    array_push(&lowering->draft.stages.data[stage].compared, lowering->arena, compared);
  }
  lowering->draft.stages.data[stage].comparator = comparator;
  return STATUS_OK;
}

Status root_sort(Lowering *lowering, const HloInstruction *root) {
  const HloInstruction *sort = lowering->fused == NULL ? root : lowering_find_fused(lowering->fused, HLO_SORT);
  const Shape *shape = sort->operands[0]->shape;
  int along = (int)hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[0];
  IndexExpr index[MAX_RANK];
  RETURN_IF_ERROR(check_length(lowering, sort, shape->dims[along]));
  lowering->sort = sort;
  for (int i = shape->rank - 1; i >= 0; i--) {
    int64_t dim = shape->layout.minor_to_major[i];
    if (dim != along) index[dim] = lowering_dim(lowering, shape->dims[dim], KERNEL_PARALLEL, KERNEL_OUTER);
  }
  int stage = lowering_begin_stage(lowering);
  index[along] = lowering_dim(lowering, shape->dims[along], KERNEL_SORTED, stage);
  if (lowering->is_empty) return STATUS_OK;
  RETURN_IF_ERROR(store_results(lowering, sort, stage, along, index));
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
  if (lowering->draft.stages.count > 1)
    return lowering_unsupported(lowering, sort, "'sort' of what is reduced cannot be fused");
  if (shape->dims[along] == 1) return STATUS_OK; /* in order as they are */
  return compare(lowering, sort, stage, index);
}

Status element_sort(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  const HloInstruction *sort = instruction;
  int64_t number = 0;
  if (instruction->opcode == HLO_GET_TUPLE_ELEMENT) {
    sort = instruction->operands[0];
    number = hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0);
  }
  if (sort != lowering->sort)
    return lowering_unsupported(lowering, sort, "'sort' cannot be computed element by element");
  return lower_element(lowering, sort->operands[number], index, out_value);
}
