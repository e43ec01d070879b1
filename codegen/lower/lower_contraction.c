/* Elements of what multiplies and adds: dot and convolution, as folds over the contracted dims in a stage of their own.
 */
#include "base/checked_math.h"
#include "codegen/lower/lowering_internal.h"

/* Part |which| (0 or 1 by an index) of |pair|: of two neighbours in memory one load. */
static int32_t pick_part(Lowering *lowering, int32_t pair, IndexExpr which) {
  int32_t parts[2] = {lowering_part(lowering, pair, 0), lowering_part(lowering, pair, 1)};
  const KernelValue *re = &lowering->draft.values.data[parts[0]], *im = &lowering->draft.values.data[parts[1]];
  if (re->kind == KERNEL_LOAD && im->kind == KERNEL_LOAD && re->buffer == im->buffer &&
      re->predicate == im->predicate &&
      index_equal(index_add_constant(&lowering->draft.space, re->address, 1), im->address)) {
    return lowering_load_part(lowering, parts[0], which);
  }
  return lowering_select(lowering, lowering_in_range(lowering, which, 0, 1), parts[0], parts[1]);
}

/* Whether this is the contraction that the Kernel makes one part of, not another one inside. */
static bool makes_part(const Lowering *lowering, PrimitiveType type, int outer_stage) {
  return type_is_complex(type) && lowering->sum_part >= 0 && outer_stage == KERNEL_OUTER;
}

/* The factors of |sum_part| of Σ lhs × rhs as real ones over one more dim, the two parts of lhs: re·re + im·(-im), or
 * re·im + im·re. */
static void split_factors(Lowering *lowering, int stage, int32_t *lhs, int32_t *rhs) {
  IndexSpace *space = &lowering->draft.space;
  IndexExpr side = lowering_dim(lowering, 2, KERNEL_REDUCTION, stage);
  IndexExpr other = index_add_constant(space, index_scale(space, side, -1), 1);
  *lhs = pick_part(lowering, *lhs, side);
  *rhs = pick_part(lowering, *rhs, lowering->sum_part == 0 ? side : other);
  if (lowering->sum_part != 0) return;
  int32_t negative = lowering_apply(lowering, HLO_NEGATE, lowering_type(lowering, *rhs), rhs, 1);
  *rhs = lowering_select(lowering, lowering_in_range(lowering, side, 0, 1), *rhs, negative);
}

/* Σ lhs × rhs over the dims of the current stage, which ends here: the sum in |type|, to which narrower factors are
 * converted; wider ones do not come here (passes/expand). */
static int32_t fold_products(Lowering *lowering, int outer_stage, PrimitiveType type, int32_t lhs, int32_t rhs) {
  int stage = lowering->current_stage;
  lhs = lowering_convert(lowering, lhs, type);
  rhs = lowering_convert(lowering, rhs, type);
  if (makes_part(lowering, type, outer_stage)) {
    split_factors(lowering, stage, &lhs, &rhs);
    type = type_complex_part(type);
  }
  PrimitiveType wide = lowering_contraction_type(type);
  int32_t zero = lowering_constant_bits(lowering, wide, 0, 0);
  int32_t fold = lowering_add_fold(lowering, wide, stage, zero);
  int32_t factors[2] = {lowering_convert(lowering, lhs, wide), lowering_convert(lowering, rhs, wide)};
  int32_t product = lowering_apply(lowering, HLO_MULTIPLY, wide, factors, 2);
  int32_t sum[2] = {lowering_accumulator(lowering, fold, false), product};
  lowering_finish_fold(lowering, fold, lowering_apply(lowering, HLO_ADD, wide, sum, 2));
  lowering_set_fold_seed(lowering, fold, zero); /* an empty sum is +0 */
  lowering_end_stage(lowering, stage, outer_stage);
  return lowering_convert(lowering, lowering_accumulator(lowering, fold, true), type);
}

/* A contraction over nothing. */
static int32_t empty_sum(Lowering *lowering, int outer_stage, PrimitiveType type) {
  lowering->is_empty = false;
  lowering_end_stage(lowering, lowering->current_stage, outer_stage);
  if (makes_part(lowering, type, outer_stage)) type = type_complex_part(type);
  return lowering_constant_bits(lowering, type, 0, 0);
}

/* Marks in |place| the dims of one side: batch and contracting ones get theirs, the free ones follow from |next_free|.
 */
static void place_dot_side(int rank, Int64List batch, Int64List contracting, const IndexExpr *outer,
                           const IndexExpr *inner, int *next_free, IndexExpr *out_index) {
  bool taken[MAX_RANK] = {false};
  for (int64_t i = 0; i < batch.count; i++) {
    out_index[batch.data[i]] = outer[i];
    taken[batch.data[i]] = true;
  }
  for (int64_t i = 0; i < contracting.count; i++) {
    out_index[contracting.data[i]] = inner[i];
    taken[contracting.data[i]] = true;
  }
  for (int d = 0; d < rank; d++) {
    if (!taken[d]) out_index[d] = outer[(*next_free)++];
  }
}

Status element_dot(Lowering *lowering, const HloInstruction *dot, const IndexExpr *outer, int32_t *out_value) {
  const HloInstruction *lhs = dot->operands[0], *rhs = dot->operands[1];
  Int64List lhs_batch = hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS);
  Int64List rhs_batch = hlo_instruction_ints(dot, HLO_ATTR_RHS_BATCH_DIMS);
  Int64List lhs_contracting = hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  Int64List rhs_contracting = hlo_instruction_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS);
  IndexExpr inner[MAX_RANK], lhs_index[MAX_RANK], rhs_index[MAX_RANK];
  int outer_stage = lowering->current_stage, stage = lowering_begin_stage(lowering);
  for (int64_t i = 0; i < lhs_contracting.count; i++) {
    inner[i] = lowering_dim(lowering, lhs->shape->dims[lhs_contracting.data[i]], KERNEL_REDUCTION, stage);
  }
  if (lowering->is_empty) {
    *out_value = empty_sum(lowering, outer_stage, dot->shape->type);
    return STATUS_OK;
  }
  int next_free = (int)lhs_batch.count;
  place_dot_side(lhs->shape->rank, lhs_batch, lhs_contracting, outer, inner, &next_free, lhs_index);
  place_dot_side(rhs->shape->rank, rhs_batch, rhs_contracting, outer, inner, &next_free, rhs_index);
  int32_t left, right;
  RETURN_IF_ERROR(lower_element(lowering, lhs, lhs_index, &left));
  RETURN_IF_ERROR(lower_element(lowering, rhs, rhs_index, &right));
  *out_value = fold_products(lowering, outer_stage, dot->shape->type, left, right);
  return STATUS_OK;
}

/* One spatial dim of a convolution: where the window's taps lie. */
typedef struct TapPlace {
  IndexExpr input, kernel; /* positions */
  int32_t input_predicate, kernel_predicate;
} TapPlace;

/* A tap for each position of the window; those that fall between or outside of the input's elements are guarded. */
static TapPlace place_each_tap(Lowering *lowering, const WindowDimension *window, IndexExpr first, int64_t size,
                               int stage) {
  IndexSpace *space = &lowering->draft.space;
  TapPlace place = {.kernel = lowering_dim(lowering, window->size, KERNEL_REDUCTION, stage), .kernel_predicate = -1};
  IndexExpr position = index_add(space, first, index_scale(space, place.kernel, window->window_dilation));
  int64_t span = size == 0 ? 0 : (size - 1) * window->base_dilation + 1;
  place.input_predicate = lowering_and(lowering, lowering_in_range(lowering, position, 0, span),
                                       lowering_divisible(lowering, position, window->base_dilation));
  place.input = index_div(space, position, window->base_dilation);
  return place;
}

/* In a dilated input only every |base_dilation|-th tap, from one that depends on the output's position, meets an
 * element: tap t = (-first mod dilation) + dilation × u reads element ceil(first / dilation) + u. */
static TapPlace place_meeting_taps(Lowering *lowering, const WindowDimension *window, IndexExpr first, int64_t size,
                                   int stage) {
  IndexSpace *space = &lowering->draft.space;
  int64_t dilation = window->base_dilation;
  IndexExpr step = lowering_dim(lowering, ceil_div(window->size, dilation), KERNEL_REDUCTION, stage);
  IndexExpr tap =
      index_add(space, index_mod(space, index_scale(space, first, -1), dilation), index_scale(space, step, dilation));
  IndexExpr nearest = index_div(space, index_add_constant(space, first, dilation - 1), dilation);
  TapPlace place = {.kernel = tap, .input = index_add(space, nearest, step)};
  place.kernel_predicate = lowering_in_range(lowering, tap, 0, window->size);
  place.input_predicate =
      lowering_and(lowering, lowering_in_range(lowering, place.input, 0, size), place.kernel_predicate);
  return place;
}

/* The positions along all spatial dims for output position |outer|, a new dim each, in |in| and |k|; the result has the
 * predicates. */
static TapPlace place_taps(Lowering *lowering, const HloInstruction *convolution, const IndexExpr *outer, int stage,
                           IndexExpr *in, IndexExpr *k) {
  const ConvolutionDimensionNumbers *dims = hlo_instruction_dim_labels(convolution);
  const Window *windows = hlo_instruction_window(convolution);
  IndexSpace *space = &lowering->draft.space;
  TapPlace all = {.input_predicate = -1, .kernel_predicate = -1};
  for (int s = 0; s < dims->spatial_rank; s++) {
    const WindowDimension *window = &windows->dims[s];
    int64_t size = convolution->operands[0]->shape->dims[dims->input.spatial[s]], dilation = window->base_dilation;
    IndexExpr position = outer[dims->output.spatial[s]], first = index_scale(space, position, window->stride);
    first = index_add_constant(space, first, -window->pad_low);
    TapPlace place;
    if (dilation > 1 && window->window_dilation == 1) {
      /* asked for, the remainder splits the output's dim: all positions of one phase meet the same taps */
      index_mod(space, position, dilation / greatest_common_divisor(window->stride, dilation));
      place = place_meeting_taps(lowering, window, first, size, stage);
    } else {
      place = place_each_tap(lowering, window, first, size, stage);
    }
    all.input_predicate = lowering_and(lowering, all.input_predicate, place.input_predicate);
    all.kernel_predicate = lowering_and(lowering, all.kernel_predicate, place.kernel_predicate);
    in[dims->input.spatial[s]] = place.input;
    k[dims->kernel.spatial[s]] = window->reversal
                                     ? index_add_constant(space, index_scale(space, place.kernel, -1), window->size - 1)
                                     : place.kernel;
  }
  return all;
}

Status element_convolution(Lowering *lowering, const HloInstruction *convolution, const IndexExpr *outer,
                           int32_t *out_value) {
  const HloInstruction *input = convolution->operands[0], *kernel = convolution->operands[1];
  const ConvolutionDimensionNumbers *dims = hlo_instruction_dim_labels(convolution);
  int64_t feature_groups = hlo_instruction_int(convolution, HLO_ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t batch_groups = hlo_instruction_int(convolution, HLO_ATTR_BATCH_GROUP_COUNT, 1);
  IndexSpace *space = &lowering->draft.space;
  IndexExpr in[MAX_RANK], k[MAX_RANK];
  int outer_stage = lowering->current_stage, stage = lowering_begin_stage(lowering);
  TapPlace taps = place_taps(lowering, convolution, outer, stage, in, k);
  int64_t group_channels = kernel->shape->dims[dims->kernel.input_feature];
  IndexExpr channel = lowering_dim(lowering, group_channels, KERNEL_REDUCTION, stage);
  if (lowering->is_empty || shape_element_count(input->shape) == 0) {
    *out_value = empty_sum(lowering, outer_stage, convolution->shape->type);
    return STATUS_OK;
  }
  IndexExpr feature = outer[dims->output.feature], batch = outer[dims->output.batch];
  int64_t features = convolution->shape->dims[dims->output.feature];
  IndexExpr feature_group = index_div(space, feature, features / feature_groups);
  IndexExpr batch_group = index_div(space, feature, features / batch_groups);
  int64_t group_batch = input->shape->dims[dims->input.batch] / batch_groups;
  in[dims->input.batch] = index_add(space, batch, index_scale(space, batch_group, group_batch));
  in[dims->input.feature] = index_add(space, channel, index_scale(space, feature_group, group_channels));
  k[dims->kernel.input_feature] = channel;
  k[dims->kernel.output_feature] = feature;
  int32_t left, right;
  RETURN_IF_ERROR(lower_guarded(lowering, taps.input_predicate, input, in, &left));
  RETURN_IF_ERROR(lower_guarded(lowering, taps.kernel_predicate, kernel, k, &right));
  *out_value = fold_products(lowering, outer_stage, convolution->shape->type, left, right);
  return STATUS_OK;
}
