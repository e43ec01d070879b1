/* Batch normalisation: statistics over all dimensions but the feature's, in double. */
#include <math.h>

#include "hlo/eval/eval_internal.h"

typedef struct Features {
  const Literal *operand;
  int64_t total, count, stride, size; /* elements; features; elements between them; elements of one */
  double epsilon;
} Features;

static Features features_of(const EvalStep *step) {
  const Shape *shape = eval_operand_shape(step, 0);
  int64_t feature = hlo_instruction_int(step->instruction, HLO_ATTR_FEATURE_INDEX, 0), strides[EVAL_MAX_RANK];
  eval_strides(shape, strides);
  Features features = {.operand = eval_operand(step, 0),
                       .total = shape_element_count(shape),
                       .count = shape->dims[feature],
                       .stride = strides[feature],
                       .epsilon = hlo_instruction_attr(step->instruction, HLO_ATTR_EPSILON)->value.real};
  features.size = features.count > 0 ? features.total / features.count : 0;
  return features;
}

static int64_t feature_of(const Features *features, int64_t index) {
  return index / features->stride % features->count;
}

/* Σ values[i] per feature, divided by the number of elements. */
static double *feature_means(Arena *arena, const Features *features, const Literal *values) {
  double *means = ARENA_NEW_ARRAY(arena, double, features->count);
  for (int64_t i = 0; i < features->total; i++) means[feature_of(features, i)] += literal_get_double(values, i);
  for (int64_t i = 0; i < features->count; i++) means[i] /= (double)features->size;
  return means;
}

static double *feature_variances(Arena *arena, const Features *features, const double *means) {
  double *variances = ARENA_NEW_ARRAY(arena, double, features->count);
  for (int64_t i = 0; i < features->total; i++) {
    double distance = literal_get_double(features->operand, i) - means[feature_of(features, i)];
    variances[feature_of(features, i)] += distance * distance;
  }
  for (int64_t i = 0; i < features->count; i++) variances[i] /= (double)features->size;
  return variances;
}

static double *load_all(Arena *arena, const Literal *literal, int64_t count) {
  double *values = ARENA_NEW_ARRAY(arena, double, count);
  for (int64_t i = 0; i < count; i++) values[i] = literal_get_double(literal, i);
  return values;
}

/* scale (x - mean) / √(variance + ε) + offset */
static void normalise(const EvalStep *step, const Features *features, const double *means, const double *variances,
                      Literal *out) {
  for (int64_t i = 0; i < features->total; i++) {
    int64_t feature = feature_of(features, i);
    double x = literal_get_double(features->operand, i) - means[feature];
    double scale = literal_get_double(eval_operand(step, 1), feature);
    double offset = literal_get_double(eval_operand(step, 2), feature);
    literal_set_double(out, i, scale * x / sqrt(variances[feature] + features->epsilon) + offset);
  }
}

static bool is_real(const EvalStep *step) {
  return type_is_float(eval_operand_shape(step, 0)->type);
}

/* (operand, scale, offset) → (normalised, mean, variance) */
Status eval_batch_norm_training(EvalStep *step) {
  if (!is_real(step)) return eval_error(step, "can be evaluated for real types only");
  Features features = features_of(step);
  Arena *arena = arena_create();
  Literal *out = eval_result(step);
  double *means = feature_means(arena, &features, features.operand);
  double *variances = feature_variances(arena, &features, means);
  normalise(step, &features, means, variances, &out->tuple[0]);
  for (int64_t i = 0; i < features.count; i++) {
    literal_set_double(&out->tuple[1], i, means[i]);
    literal_set_double(&out->tuple[2], i, variances[i]);
  }
  arena_destroy(arena);
  return STATUS_OK;
}

/* (operand, scale, offset, mean, variance) */
Status eval_batch_norm_inference(EvalStep *step) {
  if (!is_real(step)) return eval_error(step, "can be evaluated for real types only");
  Features features = features_of(step);
  Arena *arena = arena_create();
  Literal *out = eval_result(step);
  normalise(step, &features, load_all(arena, eval_operand(step, 3), features.count),
            load_all(arena, eval_operand(step, 4), features.count), out);
  arena_destroy(arena);
  return STATUS_OK;
}

/* (operand, scale, mean, variance, gradient of the result) → gradients of operand, scale and offset */
Status eval_batch_norm_grad(EvalStep *step) {
  if (!is_real(step)) return eval_error(step, "can be evaluated for real types only");
  Features features = features_of(step);
  Arena *arena = arena_create();
  Literal *out = eval_result(step);
  const Literal *gradient = eval_operand(step, 4);
  double *means = load_all(arena, eval_operand(step, 2), features.count);
  double *variances = load_all(arena, eval_operand(step, 3), features.count);
  double *mean_gradient = feature_means(arena, &features, gradient);
  double *products = ARENA_NEW_ARRAY(arena, double, features.count); /* Σ gradient (x - mean) */
  for (int64_t i = 0; i < features.total; i++) {
    int64_t feature = feature_of(&features, i);
    products[feature] += literal_get_double(gradient, i) * (literal_get_double(features.operand, i) - means[feature]);
  }
  for (int64_t i = 0; i < features.total; i++) {
    int64_t feature = feature_of(&features, i);
    double variance = variances[feature] + features.epsilon, x = literal_get_double(features.operand, i);
    double projected = (x - means[feature]) * (products[feature] / (double)features.size) / variance;
    double scale = literal_get_double(eval_operand(step, 1), feature) / sqrt(variance);
    literal_set_double(&out->tuple[0], i,
                       scale * (literal_get_double(gradient, i) - mean_gradient[feature] - projected));
  }
  for (int64_t i = 0; i < features.count; i++) {
    literal_set_double(&out->tuple[1], i, products[i] / sqrt(variances[i] + features.epsilon));
    literal_set_double(&out->tuple[2], i, mean_gradient[i] * (double)features.size);
  }
  arena_destroy(arena);
  return STATUS_OK;
}
