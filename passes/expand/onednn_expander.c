#include <math.h>

#include "hlo/infer/hlo_infer.h"
#include "hlo/ir/custom_call.h"
#include "hlo/ir/onednn_config.h"
#include "passes/cleanup/shape_coercion.h"
#include "passes/expand/graph_builder.h"

/* XLA:CPU's calls to oneDNN (hlo/ir/onednn_config.h) as the operations that XLA made them from: products, convolutions
 * and what follows them, softmax, layer normalisation.  All is computed in f32 and rounded once, to the result. */

typedef struct OnednnBuilder {
  GraphBuilder graph;
  DiagSink *diag;
  OnednnConfig config;
  const Shape *shape; /* of the result, without the scratch memory that may stand beside it */
} OnednnBuilder;

/* NULL, after a diagnostic. */
static HloInstruction *refuse(OnednnBuilder *builder, const char *why) {
  const HloInstruction *call = builder->graph.origin;
  Status status = diag_error(builder->diag, STATUS_UNSUPPORTED, call->loc, "onednn", "the call to '%.*s' in '%.*s' %s",
                             SV_ARG(custom_call_target(call)), SV_ARG(call->name), why);
  (void)status;
  return NULL;
}

static const Int64List *field(const OnednnBuilder *builder, OnednnField id) {
  return &builder->config.fields[id];
}

static int64_t value_of(const OnednnBuilder *builder, OnednnField id) {
  return onednn_config_value(&builder->config, id);
}

static HloInstruction *operand(OnednnBuilder *builder, int index) {
  return graph_convert(&builder->graph, graph_operand(&builder->graph, index), TYPE_F32);
}

static HloInstruction *constant(OnednnBuilder *builder, double value, const HloInstruction *like) {
  return graph_real(&builder->graph, TYPE_F32, value, like->shape);
}

static HloInstruction *unary(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *a) {
  return graph_unary(&builder->graph, opcode, a);
}

static HloInstruction *binary(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *a, HloInstruction *b) {
  return graph_binary(&builder->graph, opcode, a, b);
}

/* --- shapes --- */

/* |value| along |dims|: its dimensions are the last ones, each as large or 1.  NULL where they are not. */
static HloInstruction *stretch(OnednnBuilder *builder, HloInstruction *value, const int64_t *dims, int rank) {
  GraphBuilder *graph = &builder->graph;
  const Shape *shape = value->shape;
  if (shape->rank > rank) return NULL;
  int64_t *kept = ARENA_NEW_ARRAY(graph->scratch, int64_t, rank + 1);
  int64_t *sizes = ARENA_NEW_ARRAY(graph->scratch, int64_t, rank + 1);
  int count = 0;
  for (int i = 0; i < shape->rank; i++) {
    int target = rank - shape->rank + i;
    if (shape->dims[i] != dims[target] && shape->dims[i] != 1) return NULL;
    if (shape->dims[i] != dims[target]) continue;
    kept[count] = target;
    sizes[count++] = dims[target];
  }
  if (count == rank) return value;
  return graph_broadcast(graph, graph_reshape(graph, value, sizes, count), kept, count, dims, rank);
}

/* The dimensions |order| (counted from 1) as a permutation of |rank|; the identity where there are none.  NULL: it is
 * no permutation. */
static const int64_t *permutation_of(OnednnBuilder *builder, const Int64List *order, int rank) {
  int64_t *permutation = ARENA_NEW_ARRAY(builder->graph.scratch, int64_t, rank + 1);
  bool *is_taken = ARENA_NEW_ARRAY(builder->graph.scratch, bool, rank + 1);
  if (order->count != 0 && order->count != rank) return NULL;
  for (int i = 0; i < rank; i++) is_taken[i] = false;
  for (int i = 0; i < rank; i++) {
    int64_t dimension = order->count == 0 ? i : order->data[i] - 1;
    if (dimension < 0 || dimension >= rank || is_taken[dimension]) return NULL;
    is_taken[dimension] = true;
    permutation[i] = dimension;
  }
  return permutation;
}

/* |value| with the dimensions of |order| in this order. */
static HloInstruction *arranged(OnednnBuilder *builder, HloInstruction *value, const Int64List *order) {
  if (order->count == 0) return value;
  const int64_t *permutation = permutation_of(builder, order, value->shape->rank);
  return permutation == NULL ? NULL : graph_transpose(&builder->graph, value, permutation);
}

/* The inverse. */
static HloInstruction *arranged_back(OnednnBuilder *builder, HloInstruction *value, const Int64List *order) {
  if (order->count == 0) return value;
  int rank = value->shape->rank;
  const int64_t *permutation = permutation_of(builder, order, rank);
  if (permutation == NULL) return NULL;
  int64_t *inverse = ARENA_NEW_ARRAY(builder->graph.scratch, int64_t, rank + 1);
  for (int i = 0; i < rank; i++) inverse[permutation[i]] = i;
  return graph_transpose(&builder->graph, value, inverse);
}

/* --- what follows a product --- */

static HloInstruction *fuse_unary(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x) {
  return unary(builder, opcode, x);
}

static HloInstruction *fuse_relu(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x) {
  return binary(builder, opcode, x, constant(builder, 0, x));
}

static HloInstruction *fuse_relu6(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x) {
  return binary(builder, opcode, fuse_relu(builder, HLO_MAXIMUM, x), constant(builder, 6, x));
}

/* exp(x) - 1 below zero. */
static HloInstruction *fuse_elu(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x) {
  HloInstruction *above = graph_compare(&builder->graph, COMPARISON_DIRECTION_GT, x, constant(builder, 0, x));
  return graph_select(&builder->graph, above, x, unary(builder, opcode, x));
}

static HloInstruction *fuse_swish(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x) {
  return binary(builder, HLO_MULTIPLY, x, unary(builder, opcode, x));
}

/* x/2 · (1 + errf): |opcode| of x/√2, or, for tanh, of √(2/π) · (x + 0.044715 x³). */
static HloInstruction *fuse_gelu(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x) {
  static const double root_half = 0.70710678118654752440, root_two_over_pi = 0.79788456080286535588;
  HloInstruction *inner = x;
  if (opcode == HLO_TANH) {
    HloInstruction *cube = binary(builder, HLO_MULTIPLY, x, binary(builder, HLO_MULTIPLY, x, x));
    inner = binary(builder, HLO_ADD, x, binary(builder, HLO_MULTIPLY, constant(builder, 0.044715, x), cube));
  }
  HloInstruction *factor = constant(builder, opcode == HLO_TANH ? root_two_over_pi : root_half, x);
  HloInstruction *errf = unary(builder, opcode, binary(builder, HLO_MULTIPLY, inner, factor));
  HloInstruction *half = binary(builder, HLO_MULTIPLY, x, constant(builder, 0.5, x));
  return binary(builder, HLO_MULTIPLY, half, binary(builder, HLO_ADD, errf, constant(builder, 1, x)));
}

static const struct Activation {
  HloInstruction *(*apply)(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x);
  HloOpcode opcode;
} activations[] = {
    [ONEDNN_RELU] = {fuse_relu, HLO_MAXIMUM},
    [ONEDNN_TANH] = {fuse_unary, HLO_TANH},
    [ONEDNN_GELU_ERF] = {fuse_gelu, HLO_ERF},
    [ONEDNN_GELU_TANH] = {fuse_gelu, HLO_TANH},
    [ONEDNN_ELU] = {fuse_elu, HLO_EXPONENTIAL_MINUS_ONE},
    [ONEDNN_RELU6] = {fuse_relu6, HLO_MINIMUM},
    [ONEDNN_SIGMOID] = {fuse_unary, HLO_LOGISTIC},
    [ONEDNN_SWISH] = {fuse_swish, HLO_LOGISTIC},
};

/* An operand that is added, along the dimensions of |like|.  Those of a product are in its order but for SUM, which
 * stands where the result does; those of a convolution are in the result's order, a bias alone has features only. */
static HloInstruction *addend(OnednnBuilder *builder, OnednnFusion fusion, int index, const HloInstruction *like) {
  if (index >= builder->graph.origin->operand_count) return NULL;
  HloInstruction *value = operand(builder, index);
  const Shape *shape = like->shape;
  if (builder->config.target == ONEDNN_CONVOLUTION && value->shape->rank != shape->rank) {
    int64_t feature = value_of(builder, ONEDNN_OUTPUT_FEATURE);
    if (fusion != ONEDNN_BIAS || value->shape->rank != 1 || value->shape->dims[0] != shape->dims[feature]) return NULL;
    return graph_broadcast(&builder->graph, value, &feature, 1, shape->dims, shape->rank);
  }
  if (fusion == ONEDNN_SUM) {
    if (!shape_same_dims(value->shape, builder->shape)) return NULL;
    return arranged(builder, value, field(builder, ONEDNN_RESULT));
  }
  return stretch(builder, value, shape->dims, shape->rank);
}

/* |product| with all fusions: operands from the third on are theirs, in order. */
static HloInstruction *fused(OnednnBuilder *builder, HloInstruction *product) {
  const Int64List *fusions = field(builder, ONEDNN_FUSIONS), *factors = field(builder, ONEDNN_FACTORS);
  int next = 2, next_factor = 0;
  HloInstruction *x = product;
  for (int64_t i = 0; i < fusions->count; i++) {
    OnednnFusion fusion = (OnednnFusion)fusions->data[i];
    if (fusion == ONEDNN_UNDEFINED) return refuse(builder, "has a fusion that is not defined");
    if (fusion == ONEDNN_BIAS && i > 0) return refuse(builder, "has a bias that is not the first fusion");
    if (fusion == ONEDNN_LINEAR) {
      if (next_factor >= factors->count) return refuse(builder, "has no factor for each LINEAR");
      HloInstruction *factor = constant(builder, (double)onednn_float(factors->data[next_factor++]), x);
      x = binary(builder, HLO_MULTIPLY, x, factor);
    } else if (fusion == ONEDNN_BIAS || fusion == ONEDNN_BINARY_ADD || fusion == ONEDNN_SUM) {
      HloInstruction *added = addend(builder, fusion, next++, product);
      if (added == NULL) return refuse(builder, "adds an operand that is missing or does not fit the result");
      x = binary(builder, HLO_ADD, x, added);
    } else {
      x = activations[fusion].apply(builder, activations[fusion].opcode, x);
    }
  }
  return next == builder->graph.origin->operand_count ? x : refuse(builder, "has operands that no fusion takes");
}

/* --- the four --- */

/* The matrices that operand |index| is, in the last two dimensions. */
static HloInstruction *factor_of(OnednnBuilder *builder, int index, OnednnField order, OnednnField transpose) {
  HloInstruction *value = arranged(builder, operand(builder, index), field(builder, order));
  int rank = builder->shape->rank;
  if (value == NULL || value->shape->rank != rank || value_of(builder, transpose) == 0) return value;
  int64_t *permutation = ARENA_NEW_ARRAY(builder->graph.scratch, int64_t, rank);
  for (int i = 0; i < rank; i++) permutation[i] = i;
  permutation[rank - 1] = rank - 2;
  permutation[rank - 2] = rank - 1;
  return graph_transpose(&builder->graph, value, permutation);
}

/* Batch dimensions of 1 serve all matrices of the other factor. */
static HloInstruction *product_of(OnednnBuilder *builder, HloInstruction *const *factors, int rank) {
  HloInstruction *stretched[2];
  for (int side = 0; side < 2; side++) {
    const int64_t *own = factors[side]->shape->dims, *other = factors[1 - side]->shape->dims;
    int64_t *dims = ARENA_COPY_ARRAY(builder->graph.scratch, int64_t, own, rank);
    for (int i = 0; i < rank - 2; i++) dims[i] = own[i] == 1 ? other[i] : own[i];
    stretched[side] = stretch(builder, factors[side], dims, rank);
  }
  for (int i = 0; i < rank - 2; i++) {
    if (stretched[0]->shape->dims[i] != stretched[1]->shape->dims[i]) return NULL;
  }
  if (factors[0]->shape->dims[rank - 1] != factors[1]->shape->dims[rank - 2]) return NULL;
  return graph_dot(&builder->graph, stretched[0], stretched[1], rank - 2, rank - 1, rank - 2);
}

static HloInstruction *expand_matmul(OnednnBuilder *builder) {
  static const char *const misfit = "has factors of shapes that do not fit";
  int rank = builder->shape->rank;
  if (builder->graph.origin->operand_count < 2 || rank < 2) return refuse(builder, misfit);
  HloInstruction *factors[] = {factor_of(builder, 0, ONEDNN_LHS, ONEDNN_TRANSPOSE_LHS),
                               factor_of(builder, 1, ONEDNN_RHS, ONEDNN_TRANSPOSE_RHS)};
  for (int side = 0; side < 2; side++) {
    if (factors[side] == NULL || factors[side]->shape->rank != rank) return refuse(builder, misfit);
  }
  HloInstruction *product = product_of(builder, factors, rank);
  HloInstruction *back = product == NULL ? NULL : arranged_back(builder, product, field(builder, ONEDNN_RESULT));
  if (back == NULL || !shape_same_dims(back->shape, builder->shape)) return refuse(builder, misfit);
  HloInstruction *result = fused(builder, product);
  return result == NULL ? NULL : arranged_back(builder, result, field(builder, ONEDNN_RESULT));
}

/* The value of |reduced|, which lacks dimension |axis|, all along it. */
static HloInstruction *spread(OnednnBuilder *builder, HloInstruction *reduced, int64_t axis) {
  const Shape *shape = builder->shape;
  int64_t *dimensions = ARENA_NEW_ARRAY(builder->graph.scratch, int64_t, shape->rank + 1);
  int count = 0;
  for (int64_t i = 0; i < shape->rank; i++) {
    if (i != axis) dimensions[count++] = i;
  }
  return graph_broadcast(&builder->graph, reduced, dimensions, count, shape->dims, shape->rank);
}

static HloInstruction *reduce(OnednnBuilder *builder, HloOpcode opcode, HloInstruction *x, double init, int64_t axis) {
  HloInstruction *first = graph_real(&builder->graph, TYPE_F32, init, NULL);
  return spread(builder, graph_reduce(&builder->graph, opcode, x, first, &axis, 1), axis);
}

static HloInstruction *expand_softmax(OnednnBuilder *builder) {
  int64_t axis = value_of(builder, ONEDNN_AXIS);
  if (field(builder, ONEDNN_AXIS)->count != 1) return refuse(builder, "does not say which 'softmax_axis'");
  if (builder->graph.origin->operand_count != 1 ||
      !shape_same_dims(builder->graph.origin->operands[0]->shape, builder->shape) || axis < 0 ||
      axis >= builder->shape->rank)
    return refuse(builder, "has an operand or axis that does not fit the result");
  HloInstruction *x = operand(builder, 0);
  HloInstruction *distance = binary(builder, HLO_SUBTRACT, x, reduce(builder, HLO_MAXIMUM, x, -INFINITY, axis));
  HloInstruction *powers = unary(builder, HLO_EXPONENTIAL, distance);
  return binary(builder, HLO_DIVIDE, powers, reduce(builder, HLO_ADD, powers, 0, axis));
}

/* Along the last dimension. */
static HloInstruction *expand_layer_norm(OnednnBuilder *builder) {
  const HloInstruction *call = builder->graph.origin;
  const Shape *shape = builder->shape;
  int64_t last = shape->rank - 1;
  if (field(builder, ONEDNN_RESCALE)->count != 1 || value_of(builder, ONEDNN_RESCALE) != ONEDNN_SCALE_AND_SHIFT ||
      field(builder, ONEDNN_FUSIONS)->count > 0)
    return refuse(builder, "does not ask for a scale and a shift alone");
  if (call->operand_count != 3 || last < 0 || !shape_same_dims(call->operands[0]->shape, shape))
    return refuse(builder, "has operands that do not fit the result");
  HloInstruction *scale_and_shift[2];
  for (int i = 0; i < 2; i++) {
    const Shape *features = call->operands[i + 1]->shape;
    if (features->rank != 1 || features->dims[0] != shape->dims[last])
      return refuse(builder, "has a scale or shift that does not fit the last dimension");
    scale_and_shift[i] = stretch(builder, operand(builder, i + 1), shape->dims, shape->rank);
  }
  HloInstruction *x = operand(builder, 0), *count = constant(builder, (double)shape->dims[last], x);
  HloInstruction *mean = binary(builder, HLO_DIVIDE, reduce(builder, HLO_ADD, x, 0, last), count);
  HloInstruction *deviation = binary(builder, HLO_SUBTRACT, x, mean);
  HloInstruction *squares = binary(builder, HLO_MULTIPLY, deviation, deviation);
  HloInstruction *variance = binary(builder, HLO_DIVIDE, reduce(builder, HLO_ADD, squares, 0, last), count);
  HloInstruction *epsilon = constant(builder, (double)onednn_float(value_of(builder, ONEDNN_EPSILON)), x);
  HloInstruction *unit =
      binary(builder, HLO_MULTIPLY, deviation, unary(builder, HLO_RSQRT, binary(builder, HLO_ADD, variance, epsilon)));
  return binary(builder, HLO_ADD, binary(builder, HLO_MULTIPLY, unit, scale_and_shift[0]), scale_and_shift[1]);
}

/* How much the numbers of a convolution are too large.  XLA counted spatial dimensions from 1 at first, and then added
 * 1 to all numbers of the window as well.  With the two other dimensions they are all there are in one of the two ways
 * only.  -1: in neither. */
static int64_t spatial_base(const Int64List *spatial, int64_t first, int64_t second, int rank) {
  for (int64_t base = 0; base < 2; base++) {
    bool is_all = spatial->count == rank - 2 && first != second && first >= 0 && second >= 0;
    for (int64_t dimension = 0; dimension < rank && is_all; dimension++) {
      int found = dimension == first || dimension == second;
      for (int64_t i = 0; i < spatial->count; i++) found += spatial->data[i] - base == dimension;
      is_all = found == 1;
    }
    if (is_all) return base;
  }
  return -1;
}

static const int64_t *lowered(OnednnBuilder *builder, OnednnField id, int64_t base) {
  const Int64List *list = field(builder, id);
  int64_t *data = ARENA_NEW_ARRAY(builder->graph.computation->module->arena, int64_t, list->count + 1);
  for (int64_t i = 0; i < list->count; i++) data[i] = list->data[i] - base;
  return data;
}

/* NULL where the text does not say it of every spatial dimension. */
static const Window *window_of(OnednnBuilder *builder, int64_t base, const int64_t *kernel_spatial) {
  static const OnednnField ids[] = {ONEDNN_PAD_LEFT, ONEDNN_PAD_RIGHT, ONEDNN_STRIDES, ONEDNN_DILATIONS};
  Arena *arena = builder->graph.computation->module->arena;
  int spatial = builder->shape->rank - 2;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    if (field(builder, ids[i])->count != spatial) return NULL;
  }
  WindowDimension *dims = ARENA_NEW_ARRAY(arena, WindowDimension, spatial + 1);
  const int64_t *left = lowered(builder, ONEDNN_PAD_LEFT, base), *right = lowered(builder, ONEDNN_PAD_RIGHT, base),
                *strides = lowered(builder, ONEDNN_STRIDES, base),
                *dilations = lowered(builder, ONEDNN_DILATIONS, base);
  for (int i = 0; i < spatial; i++) {
    dims[i] = (WindowDimension){.size = builder->graph.origin->operands[1]->shape->dims[kernel_spatial[i]],
                                .stride = strides[i],
                                .pad_low = left[i],
                                .pad_high = right[i],
                                .base_dilation = 1,
                                .window_dilation = dilations[i]};
  }
  Window *window = ARENA_NEW(arena, Window);
  *window = (Window){spatial, dims};
  return window;
}

static const ConvolutionDimensionNumbers *numbers_of(OnednnBuilder *builder, int64_t *out_base) {
  static const OnednnField ids[][3] = {{ONEDNN_INPUT_SPATIAL, ONEDNN_INPUT_BATCH, ONEDNN_INPUT_FEATURE},
                                       {ONEDNN_KERNEL_SPATIAL, ONEDNN_KERNEL_INPUT, ONEDNN_KERNEL_OUTPUT},
                                       {ONEDNN_OUTPUT_SPATIAL, ONEDNN_OUTPUT_BATCH, ONEDNN_OUTPUT_FEATURE}};
  int rank = builder->shape->rank;
  int64_t bases[3];
  for (int i = 0; i < 3; i++)
    bases[i] =
        spatial_base(field(builder, ids[i][0]), value_of(builder, ids[i][1]), value_of(builder, ids[i][2]), rank);
  if (bases[0] < 0 || bases[0] != bases[1] || bases[0] != bases[2]) return NULL;
  ConvolutionDimensionNumbers *numbers =
      ARENA_NEW(builder->graph.computation->module->arena, ConvolutionDimensionNumbers);
  *numbers = (ConvolutionDimensionNumbers){
      .spatial_rank = rank - 2,
      .input = {.rank = rank,
                .batch = value_of(builder, ONEDNN_INPUT_BATCH),
                .feature = value_of(builder, ONEDNN_INPUT_FEATURE),
                .spatial = lowered(builder, ONEDNN_INPUT_SPATIAL, bases[0])},
      .kernel = {.rank = rank,
                 .output_feature = value_of(builder, ONEDNN_KERNEL_OUTPUT),
                 .input_feature = value_of(builder, ONEDNN_KERNEL_INPUT),
                 .spatial = lowered(builder, ONEDNN_KERNEL_SPATIAL, bases[0])},
      .output = {.rank = rank,
                 .batch = value_of(builder, ONEDNN_OUTPUT_BATCH),
                 .feature = value_of(builder, ONEDNN_OUTPUT_FEATURE),
                 .spatial = lowered(builder, ONEDNN_OUTPUT_SPATIAL, bases[0])},
  };
  *out_base = bases[0];
  return numbers;
}

static HloInstruction *expand_convolution(OnednnBuilder *builder) {
  GraphBuilder *graph = &builder->graph;
  const HloInstruction *call = graph->origin;
  int rank = builder->shape->rank;
  if (call->operand_count < 2 || rank < 2 || call->operands[0]->shape->rank != rank ||
      call->operands[1]->shape->rank != rank)
    return refuse(builder, "has operands that do not fit the result");
  int64_t base;
  const ConvolutionDimensionNumbers *numbers = numbers_of(builder, &base);
  const Window *window = numbers == NULL ? NULL : window_of(builder, base, numbers->kernel.spatial);
  if (window == NULL) return refuse(builder, "does not say what each dimension is, or how the window moves");
  const Shape *shape = shape_array(graph_shapes(graph), TYPE_F32, builder->shape->dims, rank), *inferred;
  HloInstruction *operands[] = {operand(builder, 0), operand(builder, 1)};
  HloInstruction *result = graph_add(graph, HLO_CONVOLUTION, shape, operands, 2);
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = window});
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_DIM_LABELS, .value.dim_labels = numbers});
  int64_t groups = value_of(builder, ONEDNN_GROUPS);
  if (groups > 1) hlo_instruction_set_int(result, HLO_ATTR_FEATURE_GROUP_COUNT, groups);
  if (hlo_infer_shape(result, graph_shapes(graph), graph->scratch, builder->diag, &inferred) != STATUS_OK) return NULL;
  if (!shape_same_dims(inferred, shape)) return refuse(builder, "has a result of another shape than the convolution");
  return fused(builder, result);
}

/* --- the pass --- */

static HloInstruction *(*const expanders[])(OnednnBuilder *builder) = {
    [ONEDNN_MATMUL] = expand_matmul,
    [ONEDNN_SOFTMAX] = expand_softmax,
    [ONEDNN_LAYER_NORM] = expand_layer_norm,
    [ONEDNN_CONVOLUTION] = expand_convolution,
};

static bool is_supported(const Shape *shape) {
  return shape_is_static_array(shape) &&
         (shape->type == TYPE_F32 || shape->type == TYPE_BF16 || shape->type == TYPE_F16);
}

static bool has_supported_operands(const HloInstruction *call) {
  for (int i = 0; i < call->operand_count; i++) {
    if (!is_supported(call->operands[i]->shape)) return false;
  }
  return true;
}

/* Scratch memory is a second result, which nothing reads: zeros. */
static HloInstruction *expand(OnednnBuilder *builder) {
  HloInstruction *call = builder->graph.origin;
  bool has_scratch =
      shape_is_tuple(call->shape) && call->shape->tuple_size == 2 && shape_is_array(call->shape->tuple[1]);
  builder->shape = has_scratch ? call->shape->tuple[0] : call->shape;
  if (!is_supported(builder->shape) || !has_supported_operands(call))
    return refuse(builder, "has arrays other than static ones of f32, bf16 and f16");
  if (value_of(builder, ONEDNN_PREPACKED) != 0)
    return refuse(builder, "has weights in an order that only oneDNN knows");
  HloInstruction *result = expanders[builder->config.target](builder);
  if (result == NULL) return NULL;
  result = graph_convert(&builder->graph, result, builder->shape->type);
  if (!has_scratch) return result;
  const Shape *scratch = call->shape->tuple[1];
  return graph_tuple(&builder->graph, (HloInstruction *[]){result, graph_zero(&builder->graph, scratch->type, scratch)},
                     2);
}

static Status expand_call(HloPassContext *context, HloInstruction *call) {
  OnednnBuilder builder = {.graph = {call->parent, call, context->scratch}, .diag = context->diag};
  Status status = onednn_config_read(context->scratch, call, context->diag, &builder.config);
  if (status != STATUS_OK) return status;
  HloInstruction *result = expand(&builder);
  if (result == NULL) return STATUS_UNSUPPORTED;
  hlo_computation_replace_instruction(call->parent, call, shape_coerce(result, call->shape));
  return STATUS_OK;
}

/* All are looked at, so that each that is refused is told. */
static Status run_onednn_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  Status result = STATUS_OK;
  for (int64_t c = 0, computations = module->computations.count; c < computations; c++) {
    int64_t count;
    HloInstruction **candidates = hlo_computation_list(module->computations.data[c], context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      if (onednn_target(candidates[i]) == ONEDNN_NONE) continue;
      Status status = expand_call(context, candidates[i]);
      if (status != STATUS_OK) result = status;
      *out_changed = true;
    }
  }
  return result;
}

const HloPass hlo_onednn_expander_pass = {"onednn-expander", "XLA:CPU's calls to oneDNN as what they compute",
                                          run_onednn_expander, false};
