/* fft, cholesky, triangular-solve, batch normalisation. */
#include "hlo/infer/infer_internal.h"

/* --- fft --- */

typedef struct FftRule {
  bool takes_complex, makes_complex;
} FftRule;

static const FftRule fft_rules[] = {
    [FFT_TYPE_FFT] = {true, true},
    [FFT_TYPE_IFFT] = {true, true},
    [FFT_TYPE_RFFT] = {false, true},
    [FFT_TYPE_IRFFT] = {true, false},
};

static Status fft_element_type(const InferContext *context, const FftRule *rule, PrimitiveType *out_type) {
  PrimitiveType type = infer_operand(context, 0)->type;
  bool fits = rule->takes_complex ? type_is_complex(type) : type_complex_of(type) != TYPE_INVALID;
  if (!fits) {
    return infer_error(context, "needs element type %s, got %s", rule->takes_complex ? "c64 or c128" : "f32 or f64",
                       type_text(type));
  }
  *out_type = rule->takes_complex == rule->makes_complex ? type
              : rule->takes_complex                      ? type_complex_part(type)
                                                         : type_complex_of(type);
  return STATUS_OK;
}

/* The trailing dimensions are transformed.  Real transforms state the length of the real side, of which the complex
 * side keeps length / 2 + 1 entries in the last dimension, or none of length 0.  Where there is nothing to transform,
 * XLA does not ask what length a complex transform has. */
static Status check_fft_lengths(const InferContext *context, int64_t type, Int64List lengths) {
  const Shape *operand = infer_operand(context, 0);
  bool is_free = (type == FFT_TYPE_FFT || type == FFT_TYPE_IFFT) && shape_element_count(operand) == 0;
  for (int64_t i = 0; i < lengths.count; i++) {
    int dimension = operand->rank - (int)lengths.count + (int)i;
    int64_t length = lengths.data[i], size = operand->dims[dimension];
    bool is_half = type == FFT_TYPE_IRFFT && i == lengths.count - 1;
    bool fits = infer_sizes_agree(size, is_half ? length / 2 + 1 : length) || (is_half && length == 0 && size == 0);
    if (length >= 0 && (fits || is_free)) continue;
    return infer_attr_error(context, HLO_ATTR_FFT_LENGTH,
                            "has 'fft_length' %lld, which does not fit dimension %d of %s", (long long)length,
                            dimension, infer_text(context, operand));
  }
  return STATUS_OK;
}

Status infer_fft(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *operand = infer_operand(context, 0);
  Int64List lengths = hlo_instruction_ints(context->instruction, HLO_ATTR_FFT_LENGTH);
  int64_t fft_type = hlo_instruction_int(context->instruction, HLO_ATTR_FFT_TYPE, 0);
  if (fft_type < 0 || fft_type > FFT_TYPE_IRFFT)
    return infer_attr_error(context, HLO_ATTR_FFT_TYPE, "has an unknown 'fft_type'");
  if (lengths.count < 1 || lengths.count > 3 || lengths.count > operand->rank) {
    return infer_attr_error(context, HLO_ATTR_FFT_LENGTH, "transforms 1 to 3 dimensions, not %lld of %s",
                            (long long)lengths.count, infer_text(context, operand));
  }
  PrimitiveType type = TYPE_INVALID;
  RETURN_IF_ERROR(fft_element_type(context, &fft_rules[fft_type], &type));
  RETURN_IF_ERROR(check_fft_lengths(context, fft_type, lengths));
  ShapeDraft draft = infer_draft_like(context, type, operand);
  int64_t last = lengths.data[lengths.count - 1];
  if (fft_type == FFT_TYPE_RFFT) draft.dims[operand->rank - 1] = last > 0 ? last / 2 + 1 : 0;
  if (fft_type == FFT_TYPE_IRFFT) draft.dims[operand->rank - 1] = last;
  *out_shape = infer_finish(context, &draft, &operand->layout);
  return STATUS_OK;
}

/* --- factorisations --- */

/* Floating or complex matrices, square when |is_square|. */
static Status check_matrices(const InferContext *context, int index, bool is_square) {
  RETURN_IF_ERROR(infer_check_array(context, index));
  const Shape *shape = infer_operand(context, index);
  bool fits = shape->rank >= 2 && (type_is_float(shape->type) || type_is_complex(shape->type));
  if (fits && is_square) fits = infer_sizes_agree(shape->dims[shape->rank - 2], shape->dims[shape->rank - 1]);
  if (fits) return STATUS_OK;
  return infer_error(context, "needs %sfloating or complex matrices as operand %d, got %s", is_square ? "square " : "",
                     index, infer_text(context, shape));
}

Status infer_cholesky(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_matrices(context, 0, true));
  *out_shape = infer_operand(context, 0);
  return STATUS_OK;
}

/* a x = b, or x a = b with left_side=false. */
Status infer_triangular_solve(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_matrices(context, 0, true));
  RETURN_IF_ERROR(check_matrices(context, 1, false));
  const Shape *a = infer_operand(context, 0), *b = infer_operand(context, 1);
  bool is_left = hlo_instruction_bool(context->instruction, HLO_ATTR_LEFT_SIDE, false);
  bool fits = a->type == b->type && a->rank == b->rank;
  for (int i = 0; fits && i < a->rank - 2; i++) fits = infer_sizes_agree(a->dims[i], b->dims[i]);
  fits = fits && infer_sizes_agree(a->dims[a->rank - 1], b->dims[b->rank - (is_left ? 2 : 1)]);
  if (!fits) {
    return infer_error(context, "cannot solve %s for %s on the %s", infer_text(context, a), infer_text(context, b),
                       is_left ? "left" : "right");
  }
  *out_shape = b;
  return STATUS_OK;
}

/* --- batch normalisation --- */

/* Operand 0 floating, operands |first| … |end|-1 one number for each of its features. */
static Status check_features(const InferContext *context, int first, int end, int *out_feature) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, end));
  const Shape *operand = infer_operand(context, 0);
  int64_t feature = hlo_instruction_int(context->instruction, HLO_ATTR_FEATURE_INDEX, 0);
  if (!type_is_float(operand->type))
    return infer_error(context, "needs a floating element type, got %s", type_text(operand->type));
  if (feature < 0 || feature >= operand->rank) {
    return infer_attr_error(context, HLO_ATTR_FEATURE_INDEX, "has 'feature_index' %lld, out of range for %s",
                            (long long)feature, infer_text(context, operand));
  }
  for (int i = first; i < end; i++) {
    const Shape *vector = infer_operand(context, i);
    if (vector->rank == 1 && type_is_float(vector->type) && infer_sizes_agree(vector->dims[0], operand->dims[feature]))
      continue;
    return infer_error(context, "needs %lld numbers as operand %d, one for each feature of %s, got %s",
                       (long long)operand->dims[feature], i, infer_text(context, operand), infer_text(context, vector));
  }
  *out_feature = (int)feature;
  return STATUS_OK;
}

/* (operand, vector, vector) */
static const Shape *normalised_tuple(const InferContext *context, int feature) {
  const Shape *operand = infer_operand(context, 0);
  ShapeDraft draft = infer_draft(context, operand->type, 1);
  infer_draft_push_dim(&draft, operand, feature);
  const Shape *vector = infer_finish(context, &draft, NULL);
  const Shape *elements[] = {operand, vector, vector};
  return shape_tuple(context->shapes, elements, 3);
}

Status infer_batch_norm_training(const InferContext *context, const Shape **out_shape) {
  int feature;
  RETURN_IF_ERROR(check_features(context, 1, 3, &feature));
  *out_shape = normalised_tuple(context, feature);
  return STATUS_OK;
}

Status infer_batch_norm_inference(const InferContext *context, const Shape **out_shape) {
  int feature;
  RETURN_IF_ERROR(check_features(context, 1, 5, &feature));
  *out_shape = infer_operand(context, 0);
  return STATUS_OK;
}

/* (operand, scale, mean, variance, gradient of the output) */
Status infer_batch_norm_grad(const InferContext *context, const Shape **out_shape) {
  int feature;
  RETURN_IF_ERROR(check_features(context, 1, 4, &feature));
  RETURN_IF_ERROR(infer_check_array(context, 4));
  const Shape *operand = infer_operand(context, 0), *gradient = infer_operand(context, 4);
  if (!shape_compatible_ignoring_precision(operand, gradient)) {
    return infer_error(context, "needs a gradient of shape %s, got %s", infer_text(context, operand),
                       infer_text(context, gradient));
  }
  *out_shape = normalised_tuple(context, feature);
  return STATUS_OK;
}
