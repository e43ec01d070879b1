#include "hlo/ir/dimension_size.h"

/* Which dimension of the result says nothing where it has none. */
typedef DimensionSize SizeRule(const HloInstruction *instruction, int leaf, int64_t dimension);

static const DimensionSize unknown = {.kind = DIMENSION_UNKNOWN}, bound = {.kind = DIMENSION_BOUND};

static DimensionSize same(int operand, int64_t dimension) {
  return (DimensionSize){
      .kind = DIMENSION_SAME, .operand = operand, .count = 1, .dimension = dimension, .last_dimension = dimension};
}

/* --- what keeps dimensions --- */

static DimensionSize of_elementwise(const HloInstruction *instruction, int leaf, int64_t dimension) {
  (void)leaf;
  return (DimensionSize){.kind = DIMENSION_COMMON, .count = instruction->operand_count, .dimension = dimension};
}

static DimensionSize of_first(const HloInstruction *instruction, int leaf, int64_t dimension) {
  (void)leaf;
  bool is_there = dimension < instruction->operands[0]->shape->rank;
  return is_there ? same(0, dimension) : bound;
}

static DimensionSize of_leaf(const HloInstruction *instruction, int leaf, int64_t dimension) {
  (void)instruction;
  return same(leaf, dimension);
}

/* All operands are of the same dimensions. */
static DimensionSize of_sort(const HloInstruction *sort, int leaf, int64_t dimension) {
  (void)leaf;
  return (DimensionSize){
      .kind = DIMENSION_SAME, .count = sort->operand_count, .dimension = dimension, .last_dimension = dimension};
}

static DimensionSize of_broadcast(const HloInstruction *broadcast, int leaf, int64_t dimension) {
  (void)leaf;
  Int64List dims = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == dimension) return same(0, i);
  return bound;
}

static DimensionSize of_transpose(const HloInstruction *transpose, int leaf, int64_t dimension) {
  (void)leaf;
  Int64List dims = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
  return dimension < dims.count ? same(0, dims.data[dimension]) : bound;
}

/* What is taken whole. */
static DimensionSize of_slice(const HloInstruction *slice, int leaf, int64_t dimension) {
  (void)leaf;
  const Shape *from = slice->operands[0]->shape;
  const SliceRanges *ranges = hlo_instruction_slice(slice);
  if (dimension >= from->rank || slice->shape->dims[dimension] != from->dims[dimension]) return bound;
  if (ranges != NULL && ranges->dims[dimension].start != 0) return bound; /* of an empty one */
  return same(0, dimension);
}

static DimensionSize of_update(const HloInstruction *update, int leaf, int64_t dimension) {
  (void)leaf;
  const Shape *from = update->operands[0]->shape, *with = update->operands[1]->shape;
  if (dimension >= from->rank) return bound;
  DimensionSize size = same(0, dimension);
  if (with->dims[dimension] == from->dims[dimension]) size.count = 2;
  return size;
}

static DimensionSize of_top(const HloInstruction *topk, int leaf, int64_t dimension) {
  (void)leaf;
  return dimension + 1 < topk->operands[0]->shape->rank ? same(0, dimension) : bound;
}

/* --- what is set --- */

static DimensionSize of_set_size(const HloInstruction *set, int leaf, int64_t dimension) {
  (void)leaf;
  if (!int64_list_has(hlo_instruction_ints(set, HLO_ATTR_DIMENSIONS), dimension)) return same(0, dimension);
  const HloInstruction *size = set->operands[1];
  bool is_bound =
      size->opcode == HLO_CONSTANT && literal_get_int(hlo_instruction_literal(size), 0) == set->shape->dims[dimension];
  if (is_bound) return bound; /* and what lies beyond the size before is there from now on */
  return (DimensionSize){.kind = DIMENSION_GIVEN, .operand = 1};
}

static DimensionSize of_dynamic_reshape(const HloInstruction *reshape, int leaf, int64_t dimension) {
  (void)leaf;
  const Shape *shape = reshape->shape;
  if (shape->dynamic == NULL || dimension >= shape->rank || !shape->dynamic[dimension]) return bound;
  return (DimensionSize){.kind = DIMENSION_GIVEN, .operand = (int)dimension + 1};
}

static DimensionSize of_scalar(const HloInstruction *instruction, int leaf, int64_t dimension) {
  (void)instruction, (void)leaf, (void)dimension;
  return bound;
}

/* --- reshapes --- */

bool hlo_next_reshape_group(const Shape *operand, const Shape *result, ReshapeGroup *group) {
  int i = group->operand_first = group->operand_end, j = group->result_first = group->result_end;
  if (i == operand->rank && j == result->rank) return false;
  int64_t from = i < operand->rank ? operand->dims[i++] : 1, to = j < result->rank ? result->dims[j++] : 1;
  while (from != to) {
    if (to > from ? i < operand->rank : j == result->rank)
      from *= operand->dims[i++];
    else
      to *= result->dims[j++];
    if (from == 0 || to == 0) { /* no elements at all: nothing to tell apart */
      i = operand->rank;
      j = result->rank;
      break;
    }
  }
  group->operand_end = i;
  group->result_end = j;
  return true;
}

static int only_dynamic(const Shape *shape, int first, int end) {
  int found = -1;
  for (int i = first; i < end && shape->dynamic != NULL; i++) {
    if (!shape->dynamic[i]) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

static int only_large(const Shape *shape, int first, int end) {
  int found = -1;
  for (int i = first; i < end; i++) {
    if (shape->dims[i] == 1) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* The dimension of a group's result that takes up what its operand's dimensions vary by; -1: there is no telling. */
static int varying_dimension(const HloInstruction *reshape, const ReshapeGroup *group) {
  const Shape *shape = reshape->shape;
  int64_t inferred = hlo_instruction_int(reshape, HLO_ATTR_INFERRED_DIMENSION, -1);
  if (group->result_end - group->result_first == 1) return group->result_first;
  if (inferred >= group->result_first && inferred < group->result_end) return (int)inferred;
  int dynamic = only_dynamic(shape, group->result_first, group->result_end);
  return dynamic >= 0 ? dynamic : only_large(shape, group->result_first, group->result_end);
}

static DimensionSize of_reshape(const HloInstruction *reshape, int leaf, int64_t dimension) {
  (void)leaf;
  const Shape *shape = reshape->shape;
  ReshapeGroup group = {0};
  while (hlo_next_reshape_group(reshape->operands[0]->shape, shape, &group)) {
    if (dimension < group.result_first || dimension >= group.result_end) continue;
    int varying = varying_dimension(reshape, &group);
    if (varying >= 0 && varying != dimension) return bound;
    DimensionSize size = {.kind = DIMENSION_RATIO,
                          .count = group.operand_end - group.operand_first,
                          .dimension = group.operand_first,
                          .divisor = 1};
    if (varying < 0) {
      size.kind = DIMENSION_AMBIGUOUS;
      return size;
    }
    for (int i = group.result_first; i < group.result_end; i++)
      if (i != varying) size.divisor *= shape->dims[i];
    return size.divisor > 0 ? size : bound;
  }
  return bound;
}

/* --- what joins, pads, reduces --- */

static DimensionSize of_concatenate(const HloInstruction *concatenate, int leaf, int64_t dimension) {
  (void)leaf;
  bool is_joined = int64_list_has(hlo_instruction_ints(concatenate, HLO_ATTR_DIMENSIONS), dimension);
  DimensionSizeKind kind = is_joined ? DIMENSION_SUM : DIMENSION_SAME;
  return (DimensionSize){
      .kind = kind, .count = concatenate->operand_count, .dimension = dimension, .last_dimension = dimension};
}

static DimensionSize of_pad(const HloInstruction *pad, int leaf, int64_t dimension) {
  (void)leaf;
  const PaddingConfig *config = hlo_instruction_padding(pad);
  if (dimension >= config->rank) return bound;
  return (DimensionSize){.kind = DIMENSION_PADDED, .dimension = dimension, .padding = config->dims[dimension]};
}

/* The first half of the operands are arrays. */
static DimensionSize of_reduce(const HloInstruction *reduce, int leaf, int64_t dimension) {
  (void)leaf;
  Int64List none = {0};
  int64_t from = int64_lists_omitted(hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS), none, dimension);
  return (DimensionSize){
      .kind = DIMENSION_SAME, .count = reduce->operand_count / 2, .dimension = from, .last_dimension = from};
}

static DimensionSize windowed(const HloInstruction *instruction, int64_t window_dimension, int64_t dimension) {
  const Window *windows = hlo_instruction_window(instruction);
  if (windows == NULL || window_dimension >= windows->rank) return same(0, dimension);
  const WindowDimension *window = &windows->dims[window_dimension];
  if (window_dimension_is_trivial(window)) return same(0, dimension);
  return (DimensionSize){.kind = DIMENSION_WINDOWED, .dimension = dimension, .window = *window};
}

static DimensionSize of_reduce_window(const HloInstruction *reduce, int leaf, int64_t dimension) {
  (void)leaf;
  return windowed(reduce, dimension, dimension);
}

/* --- contractions --- */

/* Batch dimensions, then the other ones of each factor. */
static DimensionSize of_dot(const HloInstruction *dot, int leaf, int64_t dimension) {
  (void)leaf;
  Int64List lhs_batch = hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS);
  Int64List rhs_batch = hlo_instruction_ints(dot, HLO_ATTR_RHS_BATCH_DIMS);
  Int64List lhs_gone = hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  Int64List rhs_gone = hlo_instruction_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS);
  if (dimension < lhs_batch.count)
    return (DimensionSize){.kind = DIMENSION_SAME,
                           .count = 2,
                           .dimension = lhs_batch.data[dimension],
                           .last_dimension = rhs_batch.data[dimension]};
  int64_t free = dimension - lhs_batch.count;
  int64_t lhs_free = dot->operands[0]->shape->rank - lhs_batch.count - lhs_gone.count;
  if (free < lhs_free) return same(0, int64_lists_omitted(lhs_batch, lhs_gone, free));
  return same(1, int64_lists_omitted(rhs_batch, rhs_gone, free - lhs_free));
}

static DimensionSize of_convolution(const HloInstruction *convolution, int leaf, int64_t dimension) {
  (void)leaf;
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(convolution);
  if (dimension == numbers->output.batch) return same(0, numbers->input.batch);
  if (dimension == numbers->output.feature) return same(1, numbers->kernel.output_feature);
  for (int i = 0; i < numbers->spatial_rank; i++)
    if (numbers->output.spatial[i] == dimension) return windowed(convolution, i, numbers->input.spatial[i]);
  return bound;
}

/* --- indices --- */

static DimensionSize of_gather(const HloInstruction *gather, int leaf, int64_t dimension) {
  (void)leaf;
  Int64List offsets = hlo_instruction_ints(gather, HLO_ATTR_OFFSET_DIMS), none = {0};
  Int64List sizes = hlo_instruction_ints(gather, HLO_ATTR_SLICE_SIZES);
  Int64List collapsed = hlo_instruction_ints(gather, HLO_ATTR_COLLAPSED_SLICE_DIMS);
  Int64List batching = hlo_instruction_ints(gather, HLO_ATTR_OPERAND_BATCHING_DIMS);
  for (int64_t i = 0; i < offsets.count; i++) {
    if (offsets.data[i] != dimension) continue;
    int64_t from = int64_lists_omitted(collapsed, batching, i);
    return sizes.data[from] == gather->operands[0]->shape->dims[from] ? same(0, from) : bound;
  }
  int64_t nth = int64_lists_omitted_below(offsets, none, dimension);
  int64_t vector = hlo_instruction_int(gather, HLO_ATTR_INDEX_VECTOR_DIM, gather->operands[1]->shape->rank);
  int64_t index = int64_lists_omitted((Int64List){1, &vector}, none, nth);
  Int64List batch = hlo_instruction_ints(gather, HLO_ATTR_START_INDICES_BATCHING_DIMS);
  for (int64_t i = 0; i < batch.count; i++) {
    if (batch.data[i] == index)
      return (DimensionSize){
          .kind = DIMENSION_SAME, .count = 2, .dimension = batching.data[i], .last_dimension = index};
  }
  return same(1, index);
}

/* --- normalisation --- */

/* (array, mean, variance): the latter along the features. */
static DimensionSize of_batch_norm(const HloInstruction *norm, int leaf, int64_t dimension) {
  return leaf == 0 ? same(0, dimension) : same(0, hlo_instruction_int(norm, HLO_ATTR_FEATURE_INDEX, 0));
}

static SizeRule *const rules[HLO_OPCODE_COUNT] = {
    [HLO_BATCH_NORM_GRAD] = of_batch_norm,
    [HLO_BATCH_NORM_INFERENCE] = of_batch_norm,
    [HLO_BATCH_NORM_TRAINING] = of_batch_norm,
    [HLO_BITCAST_CONVERT] = of_first,
    [HLO_BROADCAST] = of_broadcast,
    [HLO_CONCATENATE] = of_concatenate,
    [HLO_CONVOLUTION] = of_convolution,
    [HLO_DOT] = of_dot,
    [HLO_DYNAMIC_RESHAPE] = of_dynamic_reshape,
    [HLO_DYNAMIC_SLICE] = of_slice,
    [HLO_DYNAMIC_UPDATE_SLICE] = of_update,
    [HLO_GATHER] = of_gather,
    [HLO_GET_DIMENSION_SIZE] = of_scalar,
    [HLO_MAP] = of_elementwise,
    [HLO_PAD] = of_pad,
    [HLO_REDUCE] = of_reduce,
    [HLO_REDUCE_WINDOW] = of_reduce_window,
    [HLO_RESHAPE] = of_reshape,
    [HLO_REVERSE] = of_first,
    [HLO_SCATTER] = of_leaf,
    [HLO_SELECT_AND_SCATTER] = of_first,
    [HLO_SET_DIMENSION_SIZE] = of_set_size,
    [HLO_SLICE] = of_slice,
    [HLO_SORT] = of_sort,
    [HLO_TOPK] = of_top,
    [HLO_TRANSPOSE] = of_transpose,
};

DimensionSize hlo_dimension_size(const HloInstruction *instruction, int leaf, int64_t dimension) {
  SizeRule *rule = rules[instruction->opcode];
  if (rule == NULL && hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE)) rule = of_elementwise;
  if (rule == NULL) return unknown;
  const Shape *shape = instruction->shape;
  const Shape *array = shape_result(shape, leaf);
  return array->rank == 0 ? bound : rule(instruction, leaf, dimension);
}
