#include "hlo/ir/fold_identity.h"
#include "passes/expand/dynamic_sizes.h"

/* What an operation does with operands that are as large as their bounds, so that nothing beyond their sizes enters:
 * after XLA's DynamicPadder.  Operations that are not here give the right result within its sizes anyway. */

typedef struct Hiding {
  DynamicSizes *sizes;
  GraphBuilder *builder;
  HloInstruction *user;
} Hiding;

typedef Status HidingRule(Hiding *hiding, HloInstruction **out_result);

/* --- masks --- */

/* Where the index along |dimension| is below |size|, in an array like |like|. */
static HloInstruction *is_inside(GraphBuilder *builder, const Shape *like, int64_t dimension, HloInstruction *size) {
  HloInstruction *place = graph_iota(builder, TYPE_S32, like->dims, like->rank, dimension);
  return graph_compare(builder, COMPARISON_DIRECTION_LT, place, graph_splat(builder, size, like));
}

/* |value| with |fill| (a scalar) after |size| along |dimension|. */
static HloInstruction *dynamic_masked(GraphBuilder *builder, HloInstruction *value, int64_t dimension,
                                      HloInstruction *size, HloInstruction *fill) {
  const Shape *shape = value->shape;
  return graph_select(builder, is_inside(builder, shape, dimension, size), value, graph_splat(builder, fill, shape));
}

static HloInstruction *size_of_operand(const Hiding *hiding, int operand, int64_t dimension) {
  return dynamic_size_of(hiding->sizes, hiding->user->operands[operand], dimension);
}

/* Replaces operand |index| by one with |fill| beyond the size along |dimension|, where it has one. */
static void mask_operand(Hiding *hiding, int index, int64_t dimension, HloInstruction *fill) {
  HloInstruction *operand = hiding->user->operands[index], *size = size_of_operand(hiding, index, dimension);
  if (size == NULL) return;
  HloInstruction *masked = dynamic_masked(hiding->builder, operand, dimension, size, fill);
  dynamic_sizes_copy(hiding->sizes, masked, 0, operand, 0);
  hlo_instruction_replace_operand(hiding->user, index, masked);
}

static void mask_dimensions(Hiding *hiding, int index, Int64List dimensions, HloInstruction *fill) {
  for (int64_t i = 0; i < dimensions.count; i++) mask_operand(hiding, index, dimensions.data[i], fill);
}

static bool has_size(const Hiding *hiding, int operand, int64_t dimension) {
  return size_of_operand(hiding, operand, dimension) != NULL;
}

static Status refuse(const Hiding *hiding, int operand) {
  return dynamic_sizes_refuse(hiding->sizes, hiding->user, hiding->user->operands[operand]);
}

/* --- what changes nothing --- */

/* What |opcode| leaves everything as it is with; NULL where there is none. */
static HloInstruction *identity_of(GraphBuilder *builder, HloOpcode opcode, PrimitiveType type) {
  uint64_t element[FOLD_IDENTITY_BYTES / sizeof(uint64_t)];
  return hlo_fold_identity(opcode, type, element) ? graph_constant(builder, type, element) : NULL;
}

/* NULL where the type has no order. */
static HloInstruction *extreme(GraphBuilder *builder, PrimitiveType type, bool greatest) {
  return identity_of(builder, greatest ? HLO_MINIMUM : HLO_MAXIMUM, type);
}

/* The operation on two parameters that is all of a region; HLO_OPCODE_COUNT: it is more. */
static HloOpcode region_opcode(const HloComputation *region) {
  const HloInstruction *root = region->root;
  bool is_plain = region->parameters.count == 2 && root->operand_count == 2 &&
                  root->operands[0]->opcode == HLO_PARAMETER && root->operands[1]->opcode == HLO_PARAMETER &&
                  root->operands[0] != root->operands[1];
  return is_plain ? root->opcode : HLO_OPCODE_COUNT;
}

/* What changes no result of |region| when it is combined with it; otherwise what stands at the beginning anyway, as
 * XLA has it. */
static HloInstruction *identity(GraphBuilder *builder, const HloComputation *region, HloInstruction *init) {
  HloOpcode opcode = region_opcode(region);
  HloInstruction *found = opcode == HLO_OPCODE_COUNT ? NULL : identity_of(builder, opcode, init->shape->type);
  return found != NULL ? found : init;
}

/* --- reductions --- */

static HloInstruction *reducing_fill(Hiding *hiding, int operand, int inits) {
  HloInstruction *init = hiding->user->operands[inits + operand];
  const HloComputation *region = hlo_instruction_computation(hiding->user, HLO_ATTR_TO_APPLY);
  return inits == 1 ? identity(hiding->builder, region, init) : init;
}

static Status hide_from_reduce(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  int count = hiding->user->operand_count / 2;
  Int64List dims = hlo_instruction_ints(hiding->user, HLO_ATTR_DIMENSIONS);
  for (int i = 0; i < count; i++) {
    bool any = false;
    for (int64_t k = 0; k < dims.count; k++) any = any || has_size(hiding, i, dims.data[k]);
    if (any) mask_dimensions(hiding, i, dims, reducing_fill(hiding, i, count));
  }
  return STATUS_OK;
}

static Status hide_from_reduce_window(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  int count = hiding->user->operand_count / 2;
  const Window *window = hlo_instruction_window(hiding->user);
  for (int i = 0; i < count; i++)
    for (int d = 0; d < window->rank; d++)
      if (window->dims[d].size > 1 && has_size(hiding, i, d))
        mask_operand(hiding, i, d, reducing_fill(hiding, i, count));
  return STATUS_OK;
}

/* What is never chosen before anything else, or nothing. */
static HloInstruction *never_selected(Hiding *hiding) {
  const HloComputation *select = hlo_instruction_computation(hiding->user, HLO_ATTR_SELECT_COMPUTATION);
  if (region_opcode(select) != HLO_COMPARE || hlo_instruction_parameter_number(select->root->operands[0]) != 0)
    return NULL;
  int64_t direction = hlo_instruction_int(select->root, HLO_ATTR_DIRECTION, -1);
  PrimitiveType type = hiding->user->operands[0]->shape->type;
  if (direction == COMPARISON_DIRECTION_GE) return extreme(hiding->builder, type, false);
  return direction == COMPARISON_DIRECTION_LE ? extreme(hiding->builder, type, true) : NULL;
}

static Status hide_from_select_and_scatter(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  HloInstruction *never = never_selected(hiding);
  const HloComputation *scatter = hlo_instruction_computation(hiding->user, HLO_ATTR_SCATTER_COMPUTATION);
  for (int d = 0; d < hiding->user->shape->rank; d++) {
    if (has_size(hiding, 0, d)) {
      if (never == NULL) return refuse(hiding, 0);
      mask_operand(hiding, 0, d, never);
    }
    if (has_size(hiding, 1, d))
      mask_operand(hiding, 1, d, identity(hiding->builder, scatter, hiding->user->operands[2]));
  }
  return STATUS_OK;
}

/* --- contractions --- */

static void mask_with_zero(Hiding *hiding, int index, int64_t dimension) {
  PrimitiveType type = hiding->user->operands[index]->shape->type;
  if (has_size(hiding, index, dimension))
    mask_operand(hiding, index, dimension, graph_zero(hiding->builder, type, NULL));
}

static Status hide_from_dot(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  static const HloAttrId contracted[] = {HLO_ATTR_LHS_CONTRACTING_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS};
  for (int i = 0; i < 2; i++) {
    Int64List dims = hlo_instruction_ints(hiding->user, contracted[i]);
    for (int64_t k = 0; k < dims.count; k++) mask_with_zero(hiding, i, dims.data[k]);
  }
  return STATUS_OK;
}

static Status hide_from_convolution(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  const HloInstruction *user = hiding->user;
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(user);
  bool features_vary =
      has_size(hiding, 0, numbers->input.feature) || has_size(hiding, 1, numbers->kernel.input_feature);
  if (features_vary && hlo_instruction_int(user, HLO_ATTR_FEATURE_GROUP_COUNT, 1) > 1) return refuse(hiding, 0);
  if (has_size(hiding, 0, numbers->input.batch) && hlo_instruction_int(user, HLO_ATTR_BATCH_GROUP_COUNT, 1) > 1)
    return refuse(hiding, 0);
  mask_with_zero(hiding, 0, numbers->input.feature);
  mask_with_zero(hiding, 1, numbers->kernel.input_feature);
  for (int i = 0; i < numbers->spatial_rank; i++) {
    if (has_size(hiding, 1, numbers->kernel.spatial[i])) return refuse(hiding, 1);
    mask_with_zero(hiding, 0, numbers->input.spatial[i]);
  }
  return STATUS_OK;
}

/* --- movement --- */

static Status hide_from_pad(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  const PaddingConfig *config = hlo_instruction_padding(hiding->user);
  for (int d = 0; d < config->rank; d++)
    if (config->dims[d].high > 0 || config->dims[d].interior > 0) mask_operand(hiding, 0, d, hiding->user->operands[1]);
  return STATUS_OK;
}

/* Each operand begins where the one before it ends, and overwrites what lies beyond that one's size. */
static Status hide_from_concatenate(Hiding *hiding, HloInstruction **out_result) {
  GraphBuilder *builder = hiding->builder;
  HloInstruction *user = hiding->user, *joined = NULL, *place = NULL;
  int64_t dimension = hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS).data[0];
  bool any = false;
  for (int i = 0; i + 1 < user->operand_count; i++) any = any || has_size(hiding, i, dimension);
  if (!any) return STATUS_OK;
  joined = graph_concatenate(builder, user->operands, user->operand_count, dimension);
  for (int i = 0; i < user->operand_count; i++) {
    HloInstruction *size = dynamic_size_or_bound(hiding->sizes, builder, user->operands[i], 0, dimension);
    if (i > 0) joined = graph_put(builder, joined, user->operands[i], (int)dimension, place);
    place = i == 0 ? size : graph_binary(builder, HLO_ADD, place, size);
  }
  *out_result = joined;
  return STATUS_OK;
}

/* The end of what is there comes to the front: of the reversed array, put at |size| into one twice as long, the second
 * half. */
static Status hide_from_reverse(Hiding *hiding, HloInstruction **out_result) {
  GraphBuilder *builder = hiding->builder;
  HloInstruction *user = hiding->user, *moved = NULL;
  const Shape *shape = user->shape;
  Int64List dims = hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++) {
    int d = (int)dims.data[i];
    HloInstruction *size = size_of_operand(hiding, 0, d);
    if (size == NULL) continue;
    if (moved == NULL) moved = graph_reverse(builder, user->operands[0], dims.data, (int)dims.count);
    HloInstruction *wide = graph_pad(builder, moved, graph_zero(builder, shape->type, NULL), d, shape->dims[d]);
    moved = graph_slice(builder, graph_put(builder, wide, moved, d, size), d, shape->dims[d], 2 * shape->dims[d]);
  }
  *out_result = moved;
  return STATUS_OK;
}

static Status hide_from_reshape(Hiding *hiding, HloInstruction **out_result) {
  *out_result = dynamic_reshape_expand(hiding->sizes, hiding->builder);
  return STATUS_OK;
}

/* --- order --- */

/* "comes before" of |compare|, between elements and whether they are there: those that are not come last. */
static HloComputation *compare_inside(HloInstruction *sort, HloComputation *compare) {
  HloModule *module = compare->module;
  HloComputation *copy = hlo_computation_clone(compare, module, compare->name);
  GraphBuilder inside = {copy, sort, module->arena};
  const Shape *pred = shape_scalar(module->shapes, TYPE_PRED);
  int64_t count = copy->parameters.count;
  HloInstruction *lhs = hlo_computation_add_parameter(copy, count, pred, SV("lhs_is_there"));
  HloInstruction *rhs = hlo_computation_add_parameter(copy, count + 1, pred, SV("rhs_is_there"));
  HloInstruction *before = graph_binary(&inside, HLO_OR, copy->root, graph_unary(&inside, HLO_NOT, rhs));
  hlo_computation_set_root(copy, graph_binary(&inside, HLO_AND, lhs, before));
  return copy;
}

static Status hide_from_sort(Hiding *hiding, HloInstruction **out_result) {
  GraphBuilder *builder = hiding->builder;
  HloInstruction *sort = hiding->user, *size = NULL;
  int64_t dimension = hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[0];
  int count = sort->operand_count;
  for (int i = 0; i < count && size == NULL; i++) size = size_of_operand(hiding, i, dimension);
  if (size == NULL) return STATUS_OK;
  HloInstruction **operands = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count + 1);
  const Shape **shapes = ARENA_NEW_ARRAY(builder->scratch, const Shape *, count + 1);
  for (int i = 0; i < count; i++) operands[i] = sort->operands[i];
  operands[count] = is_inside(builder, operands[0]->shape, dimension, size);
  for (int i = 0; i <= count; i++)
    shapes[i] = shape_array(graph_shapes(builder), operands[i]->shape->type, operands[i]->shape->dims,
                            operands[i]->shape->rank);
  HloInstruction *wide = hlo_computation_add_clone(
      builder->computation, sort, shape_tuple(graph_shapes(builder), shapes, count + 1), operands, count + 1);
  hlo_instruction_remove_sharding(wide);
  hlo_instruction_set_computation(wide, HLO_ATTR_TO_APPLY,
                                  compare_inside(sort, hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY)));
  for (int i = 0; i < count; i++) operands[i] = graph_element(builder, wide, i);
  *out_result = shape_is_tuple(sort->shape) ? graph_tuple(builder, operands, count) : operands[0];
  return STATUS_OK;
}

/* --- indices --- */

/* The part of the update that is there; the rest is what the array has there already. */
static Status hide_from_update(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  GraphBuilder *builder = hiding->builder;
  HloInstruction *user = hiding->user, *update = user->operands[1], *before = NULL;
  const Shape *array = user->operands[0]->shape, *shape = update->shape;
  if (!shape_is_array(array)) return dynamic_sizes_any(hiding->sizes, update) ? refuse(hiding, 1) : STATUS_OK;
  for (int d = 0; d < shape->rank; d++) {
    HloInstruction *size = size_of_operand(hiding, 1, d);
    if (size == NULL || shape->dims[d] == array->dims[d]) continue;
    if (before == NULL) {
      HloInstruction **operands =
          ARENA_COPY_ARRAY(builder->scratch, HloInstruction *, user->operands, user->operand_count);
      for (int i = 1; i + 1 < user->operand_count; i++) operands[i] = operands[i + 1];
      before = graph_add(builder, HLO_DYNAMIC_SLICE,
                         shape_array(graph_shapes(builder), shape->type, shape->dims, shape->rank), operands,
                         user->operand_count - 1);
      hlo_instruction_set_ints(before, HLO_ATTR_DYNAMIC_SLICE_SIZES, shape->dims, shape->rank);
    }
    update = graph_select(builder, is_inside(builder, shape, d, size), update, before);
  }
  if (update == user->operands[1]) return STATUS_OK;
  dynamic_sizes_copy(hiding->sizes, update, 0, user->operands[1], 0);
  hlo_instruction_replace_operand(user, 1, update);
  return STATUS_OK;
}

/* The size of any of the updates along |dimension|, which all have the same. */
static HloInstruction *size_of_updates(const Hiding *hiding, int64_t dimension) {
  const HloInstruction *scatter = hiding->user;
  HloInstruction *size = NULL;
  for (int i = scatter->operand_count / 2 + 1; i < scatter->operand_count && size == NULL; i++)
    size = size_of_operand(hiding, i, dimension);
  return size;
}

/* A window that is larger than the array, |array| (NULL: as its bound), goes nowhere. */
static HloInstruction *end_inside(GraphBuilder *builder, HloInstruction *size, HloInstruction *array) {
  if (array == NULL || array == size) return size;
  HloInstruction *fits = graph_compare(builder, COMPARISON_DIRECTION_LE, size, array);
  return graph_select(builder, fits, size, graph_zero(builder, TYPE_S32, NULL));
}

/* By dimension of the arrays, where the part of the window ends that is there; NULL: where the arrays do.  Such a
 * window is all of the array, at place 0 whatever its size. */
static Status window_ends(Hiding *hiding, HloInstruction **out_ends) {
  const HloInstruction *scatter = hiding->user;
  Int64List windows = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  Int64List inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  Int64List batching = hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS);
  Int64List placed = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  int updates = scatter->operand_count / 2 + 1;
  const Shape *array = scatter->operands[0]->shape, *shape = scatter->operands[updates]->shape;
  int64_t to = 0;
  for (int64_t i = 0; i < windows.count; i++, to++) {
    while (int64_list_has(inserted, to) || int64_list_has(batching, to)) to++;
    HloInstruction *size = size_of_updates(hiding, windows.data[i]);
    if (size == NULL) continue;
    bool is_all = true;
    for (int k = 0; k < updates - 1; k++) is_all = is_all && size_of_operand(hiding, k, to) == size;
    if (shape->dims[windows.data[i]] != array->dims[to] || (!is_all && int64_list_has(placed, to)))
      return refuse(hiding, updates);
    if (!is_all) out_ends[to] = end_inside(hiding->builder, size, size_of_operand(hiding, 0, to));
  }
  return STATUS_OK;
}

/* The scatter, and beyond the ends what the arrays have there already. */
static HloInstruction *within_ends(Hiding *hiding, HloInstruction *const *ends) {
  GraphBuilder *builder = hiding->builder;
  HloInstruction *scatter = hiding->user, **results;
  int count = scatter->operand_count / 2, ended = 0;
  for (int d = 0; d < scatter->operands[0]->shape->rank; d++) ended += ends[d] != NULL;
  if (ended == 0) return NULL;
  HloInstruction *all = hlo_computation_add_clone(builder->computation, scatter, scatter->shape, scatter->operands,
                                                  scatter->operand_count);
  results = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count);
  for (int i = 0; i < count; i++) {
    HloInstruction *before = scatter->operands[i];
    results[i] = shape_is_tuple(scatter->shape) ? graph_element(builder, all, i) : all;
    for (int d = 0; d < before->shape->rank; d++)
      if (ends[d] != NULL)
        results[i] = graph_select(builder, is_inside(builder, before->shape, d, ends[d]), results[i], before);
  }
  return shape_is_tuple(scatter->shape) ? graph_tuple(builder, results, count) : results[0];
}

/* What is beyond the size goes nowhere: its indices are too large. */
static Status hide_from_scatter(Hiding *hiding, HloInstruction **out_result) {
  HloInstruction *user = hiding->user;
  int indices = user->operand_count / 2;
  const Shape *shape = user->operands[indices]->shape;
  int64_t vector = hlo_instruction_int(user, HLO_ATTR_INDEX_VECTOR_DIM, shape->rank);
  Int64List windows = hlo_instruction_ints(user, HLO_ATTR_UPDATE_WINDOW_DIMS);
  HloInstruction **ends =
      ARENA_NEW_ARRAY(hiding->builder->scratch, HloInstruction *, user->operands[0]->shape->rank + 1);
  RETURN_IF_ERROR(window_ends(hiding, ends));
  if (vector < shape->rank && has_size(hiding, indices, vector)) return refuse(hiding, indices);
  HloInstruction *masked = user->operands[indices];
  int64_t in_updates = 0;
  for (int64_t d = 0; d < shape->rank; d++) {
    if (d == vector) continue;
    while (int64_list_has(windows, in_updates)) in_updates++;
    HloInstruction *size = size_of_operand(hiding, indices, d);
    if (size == NULL) size = size_of_updates(hiding, in_updates);
    in_updates++;
    if (size == NULL) continue;
    if (type_bits(masked->shape->type) < 32) masked = graph_convert(hiding->builder, masked, TYPE_S32);
    HloInstruction *nowhere = extreme(hiding->builder, masked->shape->type, true);
    masked = dynamic_masked(hiding->builder, masked, d, size, nowhere);
  }
  if (masked != user->operands[indices]) hlo_instruction_replace_operand(user, indices, masked);
  *out_result = within_ends(hiding, ends);
  return STATUS_OK;
}

static Status check_gather(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  const Shape *shape = hiding->user->operands[1]->shape;
  int64_t vector = hlo_instruction_int(hiding->user, HLO_ATTR_INDEX_VECTOR_DIM, shape->rank);
  return vector < shape->rank && has_size(hiding, 1, vector) ? refuse(hiding, 1) : STATUS_OK;
}

/* --- elementwise --- */

/* |value| with its first element along |dimension| everywhere, where |is_one|. */
static HloInstruction *repeated(GraphBuilder *builder, HloInstruction *value, int dimension, HloInstruction *is_one) {
  const Shape *shape = value->shape;
  HloInstruction *first = graph_slice(builder, value, dimension, 0, 1);
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, shape->rank + 1);
  int64_t *kept = ARENA_NEW_ARRAY(builder->scratch, int64_t, shape->rank + 1);
  int rank = 0;
  for (int i = 0; i < shape->rank; i++) {
    if (i == dimension) continue;
    dims[rank] = shape->dims[i];
    kept[rank++] = i;
  }
  HloInstruction *all =
      graph_broadcast(builder, graph_reshape(builder, first, dims, rank), kept, rank, shape->dims, shape->rank);
  return graph_select(builder, graph_splat(builder, is_one, shape), all, value);
}

/* Of two operands of different sizes, one of size 1 is as large as the other. */
static Status repeat_operands(Hiding *hiding, HloInstruction **out_result) {
  (void)out_result;
  GraphBuilder *builder = hiding->builder;
  HloInstruction *user = hiding->user;
  if (user->operand_count != 2) return STATUS_OK;
  for (int d = 0; d < user->shape->rank; d++) {
    HloInstruction *sizes[] = {size_of_operand(hiding, 0, d), size_of_operand(hiding, 1, d)};
    if (sizes[0] == NULL || sizes[1] == NULL || sizes[0] == sizes[1]) continue;
    for (int i = 0; i < 2; i++) {
      HloInstruction *one = graph_integer(builder, TYPE_S32, 1, NULL), *operand = user->operands[i];
      HloInstruction *is_one = graph_compare(builder, COMPARISON_DIRECTION_EQ, sizes[i], one);
      HloInstruction *wide = repeated(builder, operand, d, is_one);
      dynamic_sizes_copy(hiding->sizes, wide, 0, operand, 0);
      hlo_instruction_replace_operand(user, i, wide);
    }
  }
  return STATUS_OK;
}

/* --- rules --- */

static HidingRule *const rules[HLO_OPCODE_COUNT] = {
    [HLO_CONCATENATE] = hide_from_concatenate,
    [HLO_CONVOLUTION] = hide_from_convolution,
    [HLO_DOT] = hide_from_dot,
    [HLO_DYNAMIC_RESHAPE] = hide_from_reshape,
    [HLO_DYNAMIC_UPDATE_SLICE] = hide_from_update,
    [HLO_GATHER] = check_gather,
    [HLO_PAD] = hide_from_pad,
    [HLO_REDUCE] = hide_from_reduce,
    [HLO_REDUCE_WINDOW] = hide_from_reduce_window,
    [HLO_RESHAPE] = hide_from_reshape,
    [HLO_REVERSE] = hide_from_reverse,
    [HLO_SCATTER] = hide_from_scatter,
    [HLO_SELECT_AND_SCATTER] = hide_from_select_and_scatter,
    [HLO_SORT] = hide_from_sort,
};

Status dynamic_operands_hide(DynamicSizes *sizes, GraphBuilder *builder, HloInstruction **out_result) {
  HloOpcode opcode = builder->origin->opcode;
  *out_result = NULL;
  HidingRule *rule = rules[opcode];
  if (rule == NULL && hlo_opcode_has(opcode, OP_ELEMENTWISE)) rule = repeat_operands;
  if (rule == NULL) return STATUS_OK;
  Hiding hiding = {sizes, builder, builder->origin};
  return rule(&hiding, out_result);
}
