/* Roots that visit every element of their result: plain elements, reduce, reduce-window, dynamic-update-slice. */
#include "codegen/lower/lowering_internal.h"

const Shape *lowering_result_leaf(const Lowering *lowering, int offset) {
  return shape_node(lowering->source->shape, lowering->result_node + offset);
}

static int32_t result_buffer(Lowering *lowering, KernelBufferRole role, int offset) {
  return lowering_buffer(lowering, role, -1, lowering->result_node + offset, lowering_result_leaf(lowering, offset));
}

KernelStore lowering_result_store(Lowering *lowering, int number, const IndexExpr *index, int32_t value) {
  int32_t buffer = result_buffer(lowering, KERNEL_RESULT, number);
  return (KernelStore){buffer, lowering_address(lowering, lowering_result_leaf(lowering, number), index), value, -1};
}

Status root_elements(Lowering *lowering, const HloInstruction *root) {
  IndexExpr index[MAX_RANK];
  const Shape *shape = lowering_result_leaf(lowering, 0);
  int64_t count = lowering_point_count(lowering);
  KernelStore *stores = ARENA_NEW_ARRAY(lowering->arena, KernelStore, count);
  for (int64_t point = 0; point < count; point++) {
    int32_t value;
    lowering_begin_point(lowering, point);
    lowering_dims_of_result(lowering, shape, index);
    if (lowering->is_empty) return STATUS_OK;
    RETURN_IF_ERROR(lower_element(lowering, root, index, &value));
    stores[point] = lowering_result_store(lowering, 0, index, value);
  }
  lowering_add_stage(lowering, stores, (int)count);
  return STATUS_OK;
}

Status root_dynamic_update_slice(Lowering *lowering, const HloInstruction *root) {
  const Shape *shape = lowering_result_leaf(lowering, 0), *update = root->operands[1]->shape;
  IndexExpr index[MAX_RANK], target[MAX_RANK];
  int64_t count = lowering_point_count(lowering);
  KernelStore *stores = ARENA_NEW_ARRAY(lowering->arena, KernelStore, count);
  for (int64_t point = 0; point < count; point++) {
    lowering_begin_point(lowering, point);
    for (int i = shape->rank - 1; i >= 0; i--) { /* in the order of the result's memory, whatever the update's layout */
      int64_t dim = shape->layout.minor_to_major[i];
      index[dim] = lowering_dim(lowering, update->dims[dim], KERNEL_PARALLEL, KERNEL_OUTER);
    }
    if (lowering->is_empty) return STATUS_OK;
    KernelStore *store = &stores[point];
    RETURN_IF_ERROR(lower_element(lowering, root->operands[1], index, &store->value));
    RETURN_IF_ERROR(lower_dynamic_starts(lowering, root, 2, update->dims, target));
    for (int i = 0; i < shape->rank; i++) target[i] = index_add(&lowering->draft.space, target[i], index[i]);
    store->buffer = result_buffer(lowering, KERNEL_IN_PLACE, 0);
    store->address = lowering_address(lowering, shape, target);
    store->predicate = -1;
  }
  lowering_add_stage(lowering, stores, (int)count);
  return STATUS_OK;
}

/* --- folds by a region --- */

static bool is_parameter(const HloInstruction *instruction, int64_t number) {
  return instruction->opcode == HLO_PARAMETER && hlo_instruction_parameter_number(instruction) == number;
}

bool lowering_simple_region(const HloComputation *region, HloOpcode *out_opcode) {
  const HloInstruction *root = region->root;
  if (!hlo_opcode_has(root->opcode, OP_COMMUTES) || root->operand_count != 2) return false;
  const HloInstruction *a = root->operands[0], *b = root->operands[1];
  *out_opcode = root->opcode;
  return (is_parameter(a, 0) && is_parameter(b, 1)) || (is_parameter(a, 1) && is_parameter(b, 0));
}

PrimitiveType lowering_fold_type(HloOpcode opcode, PrimitiveType type) {
  return opcode == HLO_ADD || opcode == HLO_MULTIPLY ? lowering_accumulator_type(type) : type;
}

/* Whether |value| is what |fold| starts from, its operation's identity: then it adds nothing more. */
static bool is_same_constant(const Lowering *lowering, int32_t value, int32_t fold) {
  const KernelValue *a = &lowering->draft.values.data[value];
  const KernelValue *b = &lowering->draft.values.data[lowering->draft.folds.data[fold].seed];
  return a->kind == KERNEL_CONSTANT && b->kind == KERNEL_CONSTANT && a->type == b->type &&
         !type_is_complex(lowering->draft.folds.data[fold].type) && a->bits[0] == b->bits[0] &&
         a->bits[1] == b->bits[1];
}

/* One fold of |input| from |init| by the single operation |opcode| over the dims of the current stage; the final value.
 * Where |inside| is false (-1: never) the input is not there: the operation's identity stands for it, or the sum is
 * kept.
 */
static int32_t fold_simple(Lowering *lowering, HloOpcode opcode, PrimitiveType type, int32_t input, int32_t init,
                           int32_t inside) {
  PrimitiveType wide = lowering_fold_type(opcode, type);
  int32_t start = lowering_convert(lowering, init, wide);
  int32_t fold = lowering_add_fold(lowering, wide, lowering->current_stage, start);
  int32_t current =
      lowering_accumulator(lowering, fold, false); /* one by one: values are numbered in order of their making */
  int32_t operands[2] = {current, lowering_convert(lowering, input, wide)};
  int32_t identity = inside >= 0 ? lowering_identity(lowering, opcode, wide) : -1;
  if (identity >= 0) operands[1] = lowering_select(lowering, inside, operands[1], identity);
  int32_t next = lowering_apply(lowering, opcode, wide, operands, 2);
  if (inside >= 0 && identity < 0) next = lowering_select(lowering, inside, next, operands[0]);
  lowering_finish_fold(lowering, fold, next);
  int32_t final = lowering_accumulator(lowering, fold, true);
  if (lowering->draft.folds.data[fold].reassociable && !is_same_constant(lowering, start, fold)) {
    final = lowering_apply(lowering, opcode, wide, (int32_t[]){start, final}, 2);
  }
  return lowering_convert(lowering, final, type);
}

Status lowering_region_step(Lowering *lowering, const HloComputation *region, const FoldInputs *folded,
                            int32_t *out_folds, int32_t *out_next) {
  int32_t arguments[2 * MAX_REDUCE_INPUTS] = {0};
  for (int i = 0; i < folded->count; i++) {
    int32_t init = folded->inits[i];
    out_folds[i] = lowering_add_fold(lowering, lowering_type(lowering, init), lowering->current_stage, init);
    arguments[i] = lowering_accumulator(lowering, out_folds[i], false);
    arguments[folded->count + i] = folded->inputs[i];
  }
  return lower_region(lowering, region, arguments, out_next, folded->count);
}

static Status fold_region(Lowering *lowering, const HloComputation *region, const FoldInputs *folded,
                          int32_t *out_finals) {
  int32_t next[MAX_REDUCE_INPUTS], folds[MAX_REDUCE_INPUTS];
  RETURN_IF_ERROR(lowering_region_step(lowering, region, folded, folds, next));
  for (int i = 0; i < folded->count; i++) {
    int32_t current = lowering_accumulator(lowering, folds[i], false);
    if (folded->inside >= 0) next[i] = lowering_select(lowering, folded->inside, next[i], current);
    lowering_set_fold_next(lowering, folds[i], next[i]); /* in index order: nothing is known of the region */
    out_finals[i] = lowering_accumulator(lowering, folds[i], true);
  }
  return STATUS_OK;
}

Status lowering_fold_inputs(Lowering *lowering, const HloInstruction *reduce, const FoldInputs *folded,
                            int32_t *out_finals) {
  PrimitiveType type = lowering_type(lowering, folded->inits[0]);
  const HloComputation *region = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY);
  HloOpcode opcode;
  if (folded->count == 1 && lowering_simple_region(region, &opcode)) {
    out_finals[0] = fold_simple(lowering, opcode, type, folded->inputs[0], folded->inits[0], folded->inside);
    return STATUS_OK;
  }
  return fold_region(lowering, region, folded, out_finals);
}

static void store_results(Lowering *lowering, const IndexExpr *index, const int32_t *values, int count) {
  KernelStore stores[MAX_REDUCE_INPUTS];
  for (int i = 0; i < count; i++) {
    stores[i] = lowering_result_store(lowering, i, index, values[i]);
  }
  lowering_add_stage(lowering, stores, count);
}

Status root_reduce(Lowering *lowering, const HloInstruction *reduce) {
  IndexExpr outer[MAX_RANK];
  const int32_t *values;
  lowering_dims_of_shape(lowering, lowering_result_leaf(lowering, 0), KERNEL_PARALLEL, KERNEL_OUTER, outer);
  if (lowering->is_empty) return STATUS_OK;
  RETURN_IF_ERROR(lower_reduce(lowering, reduce, outer, &values));
  store_results(lowering, outer, values, reduce->operand_count / 2);
  return STATUS_OK;
}

/* The position in the operand of window element |k| at output position |o|, and whether it is inside. */
static IndexExpr window_position(Lowering *lowering, const WindowDimension *window, IndexExpr o, IndexExpr k,
                                 int64_t size, int32_t *predicate) {
  IndexSpace *space = &lowering->draft.space;
  if (window->reversal) k = index_add_constant(space, index_scale(space, k, -1), window->size - 1);
  IndexExpr position =
      index_add(space, index_scale(space, o, window->stride), index_scale(space, k, window->window_dilation));
  position = index_add_constant(space, position, -window->pad_low);
  int64_t span = size == 0 ? 0 : (size - 1) * window->base_dilation + 1;
  *predicate = lowering_and(lowering, *predicate, lowering_in_range(lowering, position, 0, span));
  *predicate = lowering_and(lowering, *predicate, lowering_divisible(lowering, position, window->base_dilation));
  return index_div(space, position, window->base_dilation);
}

/* The results at |outer| of a window that is no cumulative one. */
static Status fold_window(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer,
                          int32_t *out_finals) {
  int count = reduce->operand_count / 2, outer_stage = lowering->current_stage;
  const Window *windows = hlo_instruction_window(reduce);
  const Shape *input = reduce->operands[0]->shape;
  IndexExpr index[MAX_RANK];
  int32_t inputs[MAX_REDUCE_INPUTS], inits[MAX_REDUCE_INPUTS], predicate = -1, saved = lowering->predicate;
  for (int i = 0; i < count; i++)
    RETURN_IF_ERROR(lower_element(lowering, reduce->operands[count + i], NULL, &inits[i]));
  int stage = lowering_begin_stage(lowering);
  for (int d = 0; d < input->rank; d++) {
    if (windows == NULL) {
      index[d] = outer[d];
      continue;
    }
    const WindowDimension *window = &windows->dims[d];
    IndexExpr k = lowering_dim(lowering, window->size, KERNEL_REDUCTION, stage);
    index[d] = window_position(lowering, window, outer[d], k, input->dims[d], &predicate);
  }
  lowering->predicate = lowering_and(lowering, saved, predicate);
  for (int i = 0; i < count; i++) RETURN_IF_ERROR(lower_element(lowering, reduce->operands[i], index, &inputs[i]));
  lowering->predicate = saved;
  RETURN_IF_ERROR(lowering_fold_inputs(lowering, reduce, &(FoldInputs){count, inputs, inits, predicate}, out_finals));
  lowering_end_stage(lowering, stage, outer_stage);
  return STATUS_OK;
}

Status element_reduce_window(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *index,
                             int32_t *out_value) {
  int32_t finals[MAX_REDUCE_INPUTS];
  RETURN_IF_ERROR(lowering_check_inputs(lowering, reduce));
  RETURN_IF_ERROR(fold_window(lowering, reduce, index, finals));
  *out_value = finals[0];
  return STATUS_OK;
}

Status root_reduce_window(Lowering *lowering, const HloInstruction *reduce) {
  int cumulative_dim;
  bool is_backward;
  RETURN_IF_ERROR(lowering_check_inputs(lowering, reduce));
  if (lowering_cumulative_dim(reduce, &cumulative_dim, &is_backward))
    return root_cumulative_window(lowering, reduce, cumulative_dim, is_backward);
  IndexExpr outer[MAX_RANK];
  int32_t finals[MAX_REDUCE_INPUTS];
  lowering_dims_of_shape(lowering, lowering_result_leaf(lowering, 0), KERNEL_PARALLEL, KERNEL_OUTER, outer);
  if (lowering->is_empty) return STATUS_OK;
  RETURN_IF_ERROR(fold_window(lowering, reduce, outer, finals));
  store_results(lowering, outer, finals, reduce->operand_count / 2);
  return STATUS_OK;
}

/* --- select-and-scatter --- */

Status root_select_and_scatter_fill(Lowering *lowering, const HloInstruction *root) {
  IndexExpr index[MAX_RANK];
  const Shape *shape = lowering_result_leaf(lowering, 0);
  lowering_dims_of_shape(lowering, shape, KERNEL_PARALLEL, KERNEL_OUTER, index);
  if (lowering->is_empty) return STATUS_OK;
  KernelStore store = {.predicate = -1};
  RETURN_IF_ERROR(lower_element(lowering, root->operands[2], NULL, &store.value));
  store.buffer = result_buffer(lowering, KERNEL_RESULT, 0);
  store.address = lowering_address(lowering, shape, index);
  lowering_add_stage(lowering, &store, 1);
  return STATUS_OK;
}

/* Finds the selected element of one window: three folds, of its value, its address in the result, and whether there was
 * any.  Returns their final values in |out_finals|. */
static Status fold_selection(Lowering *lowering, const HloInstruction *root, int32_t x, int32_t address, int32_t inside,
                             int32_t *out_finals) {
  int32_t seeds[3] = {lowering_constant_int(lowering, lowering_type(lowering, x), 0),
                      lowering_constant_int(lowering, TYPE_S64, 0), lowering_constant_int(lowering, TYPE_PRED, 0)};
  int32_t folds[3], current[3];
  for (int i = 0; i < 3; i++) {
    folds[i] = lowering_add_fold(lowering, lowering_type(lowering, seeds[i]), lowering->current_stage, seeds[i]);
    current[i] = lowering_accumulator(lowering, folds[i], false);
  }
  int32_t keeps;
  const HloComputation *select = hlo_instruction_computation(root, HLO_ATTR_SELECT_COMPUTATION);
  RETURN_IF_ERROR(lower_region(lowering, select, (int32_t[]){current[0], x}, &keeps, 1));
  keeps = lowering_and(lowering, keeps, current[2]);
  int32_t takes = lowering_apply(lowering, HLO_NOT, TYPE_PRED, &keeps, 1);
  takes = lowering_and(lowering, takes, inside);
  int32_t truth = lowering_constant_int(lowering, TYPE_PRED, 1);
  int32_t candidates[3] = {x, address, truth};
  for (int i = 0; i < 3; i++) {
    lowering_set_fold_next(lowering, folds[i], lowering_select(lowering, takes, candidates[i], current[i]));
    out_finals[i] = lowering_accumulator(lowering, folds[i], true);
  }
  return STATUS_OK;
}

Status root_select_and_scatter(Lowering *lowering, const HloInstruction *root) {
  const Window *windows = hlo_instruction_window(root);
  const Shape *operand = root->operands[0]->shape, *source = root->operands[1]->shape;
  bool overlaps = false;
  for (int d = 0; windows != NULL && d < operand->rank; d++) {
    overlaps = overlaps || windows->dims[d].size > windows->dims[d].stride;
  }
  IndexExpr outer[MAX_RANK], index[MAX_RANK];
  lowering_dims_of_shape(lowering, source, overlaps ? KERNEL_SEQUENTIAL : KERNEL_PARALLEL, KERNEL_OUTER, outer);
  if (lowering->is_empty) return STATUS_OK;
  int32_t inside = -1, x, finals[3], update;
  int stage = lowering_begin_stage(lowering);
  for (int d = 0; d < operand->rank; d++) {
    const WindowDimension one = {.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
    const WindowDimension *window = windows == NULL ? &one : &windows->dims[d];
    IndexExpr k = lowering_dim(lowering, window->size, KERNEL_REDUCTION, stage);
    index[d] = window_position(lowering, window, outer[d], k, operand->dims[d], &inside);
  }
  lowering->predicate = inside;
  RETURN_IF_ERROR(lower_element(lowering, root->operands[0], index, &x));
  lowering->predicate = -1;
  const Shape *result = lowering_result_leaf(lowering, 0);
  int32_t address = lowering_index_value(lowering, TYPE_S64, lowering_address(lowering, result, index));
  RETURN_IF_ERROR(fold_selection(lowering, root, x, address, inside, finals));
  lowering_end_stage(lowering, stage, KERNEL_OUTER);

  KernelStore store = {.buffer = result_buffer(lowering, KERNEL_IN_PLACE, 0), .predicate = finals[2]};
  store.address = index_value(&lowering->draft.space, finals[1], 0, shape_element_count(result) - 1);
  RETURN_IF_ERROR(lower_element(lowering, root->operands[1], outer, &update));
  lowering->predicate = finals[2];
  int32_t old = lowering_load(lowering, store.buffer, store.address);
  lowering->predicate = -1;
  const HloComputation *scatter = hlo_instruction_computation(root, HLO_ATTR_SCATTER_COMPUTATION);
  RETURN_IF_ERROR(lower_region(lowering, scatter, (int32_t[]){old, update}, &store.value, 1));
  lowering_add_stage(lowering, &store, 1);
  return STATUS_OK;
}
