#include "passes/pipeline/hlo_pass.h"

/* The three batch-norm operations in terms of elementwise operations and reductions (after XLA's BatchNormExpander).
 *
 * Sums are taken in f32 at least.  The variance is the mean of squared deviations, not E[x²] - E[x]², which cancels and
 * can turn negative.  With n elements per feature and s = rsqrt(var + ε):
 * - training: mean = Σx / n, var = Σ(x - mean)² / n, y = (x - mean) · s · scale + offset
 * - inference: y from the given mean and var
 * - grad: d_offset = Σg, d_scale = s · Σ g·(x - mean),
 *   d_x = scale · s · (g - d_offset / n - (x - mean) · d_scale · s / n) */

typedef struct NormBuilder {
  HloComputation *computation;
  const HloInstruction *norm;
  Arena *scratch;
  HloComputation **adders; /* by PrimitiveType; made when first needed */
  int64_t feature;
  const Shape *full, *features; /* of the operand and of a value per feature, in the type that is computed in */
} NormBuilder;

static HloInstruction *add_instruction(NormBuilder *builder, HloOpcode opcode, const Shape *shape,
                                       HloInstruction **operands, int count) {
  HloInstruction *result = hlo_computation_add(builder->computation, opcode, shape, operands, count, (StringView){0});
  hlo_instruction_inherit_metadata(result, builder->norm);
  /* The norm's sharding speaks of its own result, a tuple for two of the three. */
  hlo_instruction_remove_sharding(result);
  return result;
}

static HloInstruction *unary(NormBuilder *builder, HloOpcode opcode, HloInstruction *a) {
  return add_instruction(builder, opcode, a->shape, &a, 1);
}

static HloInstruction *binary(NormBuilder *builder, HloOpcode opcode, HloInstruction *a, HloInstruction *b) {
  return add_instruction(builder, opcode, a->shape, (HloInstruction *[]){a, b}, 2);
}

static HloInstruction *convert(NormBuilder *builder, HloInstruction *a, const Shape *like) {
  if (a->shape->type == like->type) return a;
  const Shape *shape = shape_with_type(builder->computation->module->shapes, a->shape, like->type);
  return add_instruction(builder, HLO_CONVERT, shape, &a, 1);
}

/* The inverse: a computed value as what the norm's users expect. */
static HloInstruction *finish(NormBuilder *builder, HloInstruction *a, const Shape *shape) {
  if (a->shape->type != shape->type) return add_instruction(builder, HLO_CONVERT, shape, &a, 1);
  return a->shape == shape ? a : add_instruction(builder, HLO_COPY, shape, &a, 1);
}

static HloInstruction *scalar(NormBuilder *builder, double value) {
  HloModule *module = builder->computation->module;
  Literal *literal = literal_create(module->arena, shape_scalar(module->shapes, builder->features->type));
  literal_set_double(literal, 0, value);
  return hlo_computation_add_constant(builder->computation, literal, (StringView){0});
}

static HloInstruction *per_feature(NormBuilder *builder, HloInstruction *value) {
  HloInstruction *result = add_instruction(builder, HLO_BROADCAST, builder->features, &value, 1);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, NULL, 0);
  return result;
}

static HloInstruction *per_feature_constant(NormBuilder *builder, double value) {
  return per_feature(builder, scalar(builder, value));
}

/* How many elements a feature has, |bound| of them where all sizes are static. */
static HloInstruction *count_per_feature(NormBuilder *builder, double bound) {
  HloInstruction *array = builder->norm->operands[0], *count = NULL;
  if (!shape_is_dynamic(array->shape)) return per_feature_constant(builder, bound);
  for (int64_t d = 0; d < array->shape->rank; d++) {
    if (d == builder->feature) continue;
    const Shape *number = shape_scalar(builder->computation->module->shapes, TYPE_S32);
    HloInstruction *size = add_instruction(builder, HLO_GET_DIMENSION_SIZE, number, &array, 1);
    hlo_instruction_set_ints(size, HLO_ATTR_DIMENSIONS, &d, 1);
    count = count ? binary(builder, HLO_MULTIPLY, count, size) : size;
  }
  return per_feature(builder, convert(builder, count, builder->features));
}

/* A value per feature along the whole operand. */
static HloInstruction *spread(NormBuilder *builder, HloInstruction *per_feature) {
  HloInstruction *result = add_instruction(builder, HLO_BROADCAST, builder->full, &per_feature, 1);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, &builder->feature, 1);
  return result;
}

static HloComputation *adder(NormBuilder *builder) {
  PrimitiveType type = builder->features->type;
  if (builder->adders[type] != NULL) return builder->adders[type];
  HloModule *module = builder->computation->module;
  const Shape *shape = shape_scalar(module->shapes, type);
  HloComputation *computation = hlo_module_add_computation(module, SV("batch_norm_add"));
  HloInstruction *operands[2];
  operands[0] = hlo_computation_add_parameter(computation, 0, shape, SV("lhs"));
  operands[1] = hlo_computation_add_parameter(computation, 1, shape, SV("rhs"));
  computation->root = hlo_computation_add(computation, HLO_ADD, shape, operands, 2, (StringView){0});
  builder->adders[type] = computation;
  return computation;
}

static HloInstruction *sum_per_feature(NormBuilder *builder, HloInstruction *full) {
  int64_t *dims = ARENA_NEW_ARRAY(builder->scratch, int64_t, full->shape->rank + 1);
  int count = 0;
  for (int64_t i = 0; i < full->shape->rank; i++) {
    if (i != builder->feature) dims[count++] = i;
  }
  HloInstruction *operands[2] = {full, scalar(builder, 0.0)};
  HloInstruction *sum = add_instruction(builder, HLO_REDUCE, builder->features, operands, 2);
  hlo_instruction_set_ints(sum, HLO_ATTR_DIMENSIONS, dims, count);
  hlo_instruction_set_computation(sum, HLO_ATTR_TO_APPLY, adder(builder));
  return sum;
}

/* --- the three --- */

static HloInstruction *inverse_deviation(NormBuilder *builder, HloInstruction *variance) {
  double epsilon = hlo_instruction_attr(builder->norm, HLO_ATTR_EPSILON)->value.real;
  return unary(builder, HLO_RSQRT, binary(builder, HLO_ADD, variance, per_feature_constant(builder, epsilon)));
}

static HloInstruction *mean_per_feature(NormBuilder *builder, HloInstruction *full, double count) {
  return binary(builder, HLO_DIVIDE, sum_per_feature(builder, full), count_per_feature(builder, count));
}

static HloInstruction *operand(NormBuilder *builder, int index) {
  return convert(builder, builder->norm->operands[index], builder->features);
}

/* |deviation| = x - mean */
static HloInstruction *normalise(NormBuilder *builder, HloInstruction *deviation, HloInstruction *variance) {
  HloInstruction *unit =
      binary(builder, HLO_MULTIPLY, deviation, spread(builder, inverse_deviation(builder, variance)));
  HloInstruction *scaled = binary(builder, HLO_MULTIPLY, unit, spread(builder, operand(builder, 1)));
  return binary(builder, HLO_ADD, scaled, spread(builder, operand(builder, 2)));
}

static HloInstruction *make_result(NormBuilder *builder, HloInstruction *const *values) {
  const Shape *shape = builder->norm->shape;
  if (!shape_is_tuple(shape)) return finish(builder, values[0], shape);
  HloInstruction *elements[3];
  for (int i = 0; i < 3; i++) elements[i] = finish(builder, values[i], shape->tuple[i]);
  return add_instruction(builder, HLO_TUPLE, shape, elements, 3);
}

static HloInstruction *expand_inference(NormBuilder *builder, double count) {
  (void)count;
  HloInstruction *deviation = binary(builder, HLO_SUBTRACT, operand(builder, 0), spread(builder, operand(builder, 3)));
  return make_result(builder, (HloInstruction *[]){normalise(builder, deviation, operand(builder, 4))});
}

static HloInstruction *expand_training(NormBuilder *builder, double count) {
  HloInstruction *x = operand(builder, 0);
  HloInstruction *mean = mean_per_feature(builder, x, count);
  HloInstruction *deviation = binary(builder, HLO_SUBTRACT, x, spread(builder, mean));
  HloInstruction *variance = mean_per_feature(builder, binary(builder, HLO_MULTIPLY, deviation, deviation), count);
  return make_result(builder, (HloInstruction *[]){normalise(builder, deviation, variance), mean, variance});
}

static HloInstruction *expand_grad(NormBuilder *builder, double count) {
  HloInstruction *deviation = binary(builder, HLO_SUBTRACT, operand(builder, 0), spread(builder, operand(builder, 2)));
  HloInstruction *g = operand(builder, 4);
  HloInstruction *inverse = inverse_deviation(builder, operand(builder, 3));
  HloInstruction *offset_grad = sum_per_feature(builder, g);
  HloInstruction *moment = sum_per_feature(builder, binary(builder, HLO_MULTIPLY, g, deviation));
  HloInstruction *scale_grad = binary(builder, HLO_MULTIPLY, moment, inverse);

  HloInstruction *n = count_per_feature(builder, count);
  HloInstruction *mean_g = binary(builder, HLO_DIVIDE, offset_grad, n);
  HloInstruction *slope = binary(builder, HLO_DIVIDE, binary(builder, HLO_MULTIPLY, scale_grad, inverse), n);
  HloInstruction *centred = binary(builder, HLO_SUBTRACT, g, spread(builder, mean_g));
  HloInstruction *residue =
      binary(builder, HLO_SUBTRACT, centred, binary(builder, HLO_MULTIPLY, deviation, spread(builder, slope)));
  HloInstruction *factor = binary(builder, HLO_MULTIPLY, operand(builder, 1), inverse);
  HloInstruction *x_grad = binary(builder, HLO_MULTIPLY, residue, spread(builder, factor));
  return make_result(builder, (HloInstruction *[]){x_grad, scale_grad, offset_grad});
}

typedef HloInstruction *(*ExpandFn)(NormBuilder *builder, double count);

static ExpandFn expander_of(HloOpcode opcode) {
  switch (opcode) {
    case HLO_BATCH_NORM_TRAINING: return expand_training;
    case HLO_BATCH_NORM_INFERENCE: return expand_inference;
    case HLO_BATCH_NORM_GRAD: return expand_grad;
    default: return NULL;
  }
}

/* f32 for the narrow types, otherwise the operand's own. */
static PrimitiveType computed_type(const HloInstruction *norm) {
  PrimitiveType type = norm->operands[0]->shape->type;
  PrimitiveType feature_type = norm->operands[1]->shape->type;
  if (type_bits(feature_type) > type_bits(type)) type = feature_type;
  return type_is_float(type) && type_bits(type) < 32 ? TYPE_F32 : type;
}

static bool is_expandable(const HloInstruction *norm) {
  const Shape *full = norm->operands[0]->shape;
  int64_t feature = hlo_instruction_int(norm, HLO_ATTR_FEATURE_INDEX, -1);
  if (feature < 0 || feature >= full->rank || hlo_instruction_attr(norm, HLO_ATTR_EPSILON) == NULL) return false;
  for (int i = 0; i < norm->operand_count; i++) {
    const Shape *shape = norm->operands[i]->shape;
    bool has_sizes =
        shape->dynamic != NULL && (shape->rank != full->rank || full->rank == 1 || shape->dynamic[feature]);
    if (has_sizes || !type_is_float(shape->type)) return false;
  }
  return shape_element_count(full) >= 0;
}

static void expand(HloInstruction *norm, HloComputation **adders, Arena *scratch) {
  ShapeTable *shapes = norm->parent->module->shapes;
  PrimitiveType type = computed_type(norm);
  NormBuilder builder = {.computation = norm->parent,
                         .norm = norm,
                         .scratch = scratch,
                         .adders = adders,
                         .feature = hlo_instruction_int(norm, HLO_ATTR_FEATURE_INDEX, 0),
                         .full = shape_with_type(shapes, norm->operands[0]->shape, type),
                         .features = shape_with_type(shapes, norm->operands[1]->shape, type)};
  int64_t features = builder.full->dims[builder.feature];
  double count = features > 0 ? (double)(shape_element_count(builder.full) / features) : 0.0;
  hlo_computation_replace_instruction(norm->parent, norm, expander_of(norm->opcode)(&builder, count));
}

static Status run_batch_norm_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  HloComputation *adders[PRIMITIVE_TYPE_COUNT] = {0};
  int64_t computation_count = module->computations.count; /* not those added on the way */
  for (int64_t c = 0; c < computation_count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t count;
    HloInstruction **candidates = hlo_computation_list(computation, context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      if (expander_of(candidates[i]->opcode) == NULL || !is_expandable(candidates[i])) continue;
      expand(candidates[i], adders, context->scratch);
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_batch_norm_expander_pass = {"batch-norm-expander",
                                              "spell batch normalisation as elementwise operations and sums",
                                              run_batch_norm_expander, false};
