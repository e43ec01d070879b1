/* sort: the lines along one dimension, each put in order by one stage. */
#include "codegen/kernel/lowering_internal.h"

/* Positions in a line are 32 bits wide. */
static Status check_length(const Lowering *lowering, const HloInstruction *sort, int64_t length) {
  if (length <= INT32_MAX) return STATUS_OK;
  return diag_error(lowering->diag, STATUS_UNSUPPORTED, sort->loc, "unsupported-op",
                    "'sort' of more than 2^31 - 1 elements");
}

Status root_sort(Lowering *lowering, const HloInstruction *sort) {
  const Shape *shape = sort->operands[0]->shape;
  int along = (int)hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[0];
  IndexExpr index[MAX_RANK];
  RETURN_IF_ERROR(check_length(lowering, sort, shape->dims[along]));
  for (int i = shape->rank - 1; i >= 0; i--) {
    int64_t dim = shape->layout.minor_to_major[i];
    if (dim != along) index[dim] = lowering_dim(lowering, shape->dims[dim], KERNEL_PARALLEL, KERNEL_OUTER);
  }
  int stage = lowering_begin_stage(lowering);
  index[along] = lowering_dim(lowering, shape->dims[along], KERNEL_SORTED, stage);
  if (lowering->is_empty) return STATUS_OK;
  for (int i = 0; i < sort->operand_count; i++) {
    const Shape *leaf = shape_node(lowering->source->shape, lowering->result_node + i);
    KernelStore store = {.predicate = -1, .address = lowering_address(lowering, leaf, index)};
    RETURN_IF_ERROR(lower_element(lowering, sort->operands[i], index, &store.value));
    store.buffer = lowering_buffer(lowering, KERNEL_RESULT, -1, lowering->result_node + i, leaf);
    lowering_add_store(lowering, stage, &store);
  }
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
  if (shape->dims[along] == 1) return STATUS_OK; /* in order as they are */
  const HloComputation *region = hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY);
  return kernel_build_region(lowering->arena, region, sort, lowering->diag, &lowering->stages.data[stage].comparator);
}
