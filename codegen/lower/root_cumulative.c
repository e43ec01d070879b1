/* Windows that end, or begin, where they stand and reach over all that lies before, or after: sums of everything so
 * far.  One fold walks the dimension once and stores each of its steps. */
#include "codegen/lower/lowering_internal.h"

static bool is_cumulative(const WindowDimension *window, int64_t extent, bool *out_backward) {
  bool is_dilated = window->base_dilation != 1 || window->window_dilation != 1;
  if (window->stride != 1 || is_dilated || window->reversal) return false;
  if (extent < 2 || window->size < extent || window->pad_low + window->pad_high != window->size - 1) return false;
  *out_backward = window->pad_low == 0;
  return window->pad_low == 0 || window->pad_high == 0;
}

/* A region that nothing is known of is applied in index order, so it can only be followed forwards. */
static bool may_go_backward(const HloInstruction *reduce) {
  HloOpcode opcode;
  return reduce->operand_count == 2 &&
         lowering_simple_region(hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY), &opcode);
}

bool lowering_cumulative_dim(const HloInstruction *reduce, int *out_dim, bool *out_backward) {
  const Window *windows = hlo_instruction_window(reduce);
  const Shape *input = reduce->operands[0]->shape;
  int found = -1;
  for (int d = 0; windows != NULL && d < input->rank; d++) {
    const WindowDimension *window = &windows->dims[d];
    if (window_dimension_is_trivial(window)) continue;
    if (found >= 0 || !is_cumulative(window, input->dims[d], out_backward)) return false;
    found = d;
  }
  *out_dim = found;
  return found >= 0 && (!*out_backward || may_go_backward(reduce));
}

/* The values after one more element. */
static Status fold_step(Lowering *lowering, const HloInstruction *reduce, const FoldInputs *folded, int32_t *out_next) {
  const HloComputation *region = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY);
  int32_t folds[MAX_REDUCE_INPUTS];
  HloOpcode opcode;
  if (folded->count > 1 || !lowering_simple_region(region, &opcode)) {
    RETURN_IF_ERROR(lowering_region_step(lowering, region, folded, folds, out_next));
    for (int i = 0; i < folded->count; i++) lowering_set_fold_next(lowering, folds[i], out_next[i]);
    return STATUS_OK;
  }
  int32_t init = folded->inits[0];
  PrimitiveType type = lowering_type(lowering, init), wide = lowering_fold_type(opcode, type);
  folds[0] = lowering_add_fold(lowering, wide, lowering->current_stage, lowering_convert(lowering, init, wide));
  int32_t current = lowering_accumulator(lowering, folds[0], false);
  int32_t operands[2] = {current, lowering_convert(lowering, folded->inputs[0], wide)};
  int32_t next = lowering_apply(lowering, opcode, wide, operands, 2);
  lowering_finish_scan(lowering, folds[0], next);
  *out_next = lowering_convert(lowering, next, type);
  return STATUS_OK;
}

/* Loops over all dimensions but |dim|, which the current stage walks. */
static void walk(Lowering *lowering, const Shape *shape, int dim, bool is_backward, int *out_stage,
                 IndexExpr *out_index) {
  for (int i = shape->rank - 1; i >= 0; i--) {
    int64_t d = shape->layout.minor_to_major[i];
    if (d != dim) out_index[d] = lowering_dim(lowering, shape->dims[d], KERNEL_PARALLEL, KERNEL_OUTER);
  }
  *out_stage = lowering_begin_stage(lowering);
  IndexExpr step = lowering_dim(lowering, shape->dims[dim], KERNEL_REDUCTION, *out_stage);
  if (is_backward) {
    step = index_scale(&lowering->draft.space, step, -1);
    step = index_add_constant(&lowering->draft.space, step, shape->dims[dim] - 1);
  }
  out_index[dim] = step;
}

Status root_cumulative_window(Lowering *lowering, const HloInstruction *reduce, int dim, bool is_backward) {
  int count = reduce->operand_count / 2, stage;
  int32_t inputs[MAX_REDUCE_INPUTS], inits[MAX_REDUCE_INPUTS], next[MAX_REDUCE_INPUTS];
  IndexExpr index[MAX_RANK];
  for (int i = 0; i < count; i++)
    RETURN_IF_ERROR(lower_element(lowering, reduce->operands[count + i], NULL, &inits[i]));
  walk(lowering, lowering_result_leaf(lowering, 0), dim, is_backward, &stage, index);
  if (lowering->is_empty) return STATUS_OK;
  for (int i = 0; i < count; i++) RETURN_IF_ERROR(lower_element(lowering, reduce->operands[i], index, &inputs[i]));
  RETURN_IF_ERROR(fold_step(lowering, reduce, &(FoldInputs){count, inputs, inits, -1}, next));
  for (int i = 0; i < count; i++) {
    KernelStore store = lowering_result_store(lowering, i, index, next[i]);
    lowering_add_store(lowering, stage, &store);
  }
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
  return STATUS_OK;
}
