/* fft in terms of dot, products and data movement. */
#include "base/checked_math.h"
#include "passes/expand/fft_internal.h"

/* --- making instructions --- */

HloInstruction *fft_add(FftBuilder *builder, HloOpcode opcode, const Shape *shape, HloInstruction *const *operands,
                        int count) {
  HloInstruction *result = hlo_computation_add(builder->computation, opcode, shape, operands, count, (StringView){0});
  hlo_instruction_inherit_metadata(result, builder->fft);
  hlo_instruction_remove_attr(result, HLO_ATTR_SHARDING); /* of the whole result only */
  return result;
}

HloInstruction *fft_multiply(FftBuilder *builder, HloInstruction *a, HloInstruction *b) {
  return fft_add(builder, HLO_MULTIPLY, a->shape, (HloInstruction *[]){a, b}, 2);
}

HloInstruction *fft_reshape(FftBuilder *builder, HloInstruction *value, const int64_t *dims, int rank) {
  const Shape *shape = shape_array(builder->computation->module->shapes, value->shape->type, dims, rank);
  return value->shape == shape ? value : fft_add(builder, HLO_RESHAPE, shape, &value, 1);
}

HloInstruction *fft_slice(FftBuilder *builder, HloInstruction *value, int dimension, int64_t start, int64_t limit) {
  HloModule *module = builder->computation->module;
  int rank = value->shape->rank;
  SliceDimension *ranges = ARENA_NEW_ARRAY(module->arena, SliceDimension, rank);
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, value->shape->dims, rank);
  for (int i = 0; i < rank; i++) ranges[i] = (SliceDimension){0, dims[i], 1};
  ranges[dimension] = (SliceDimension){start, limit, 1};
  dims[dimension] = limit - start;
  const Shape *shape = shape_array(module->shapes, value->shape->type, dims, rank);
  HloInstruction *slice = fft_add(builder, HLO_SLICE, shape, &value, 1);
  SliceRanges *attribute = ARENA_NEW(module->arena, SliceRanges);
  *attribute = (SliceRanges){rank, ranges};
  hlo_instruction_set_attr(slice, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = attribute});
  return slice;
}

HloInstruction *fft_broadcast(FftBuilder *builder, HloInstruction *value, const int64_t *dimensions, int count,
                              const int64_t *dims, int rank) {
  const Shape *shape = shape_array(builder->computation->module->shapes, value->shape->type, dims, rank);
  HloInstruction *result = fft_add(builder, HLO_BROADCAST, shape, &value, 1);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dimensions, count);
  return result;
}

static HloInstruction *part_of(FftBuilder *builder, HloOpcode part, HloInstruction *value) {
  PrimitiveType type = type_complex_part(builder->type);
  const Shape *shape = shape_with_type(builder->computation->module->shapes, value->shape, type);
  return fft_add(builder, part, shape, &value, 1);
}

static HloInstruction *of_parts(FftBuilder *builder, HloInstruction *re, HloInstruction *im) {
  const Shape *shape = shape_with_type(builder->computation->module->shapes, re->shape, builder->type);
  return fft_add(builder, HLO_COMPLEX, shape, (HloInstruction *[]){re, im}, 2);
}

/* |factor|, a real number, everywhere in a real shape. */
static HloInstruction *real_constant(FftBuilder *builder, double factor, const Shape *like) {
  HloModule *module = builder->computation->module;
  Literal *literal = literal_create(module->arena, shape_scalar(module->shapes, like->type));
  literal_set_double(literal, 0, factor);
  HloInstruction *scalar = hlo_computation_add_constant(builder->computation, literal, (StringView){0});
  return fft_broadcast(builder, scalar, NULL, 0, like->dims, like->rank);
}

/* --- the four kinds --- */

/* One dimension of a value of any rank. */
static HloInstruction *transform_dimension(FftBuilder *builder, HloInstruction *value, int dimension, int sign) {
  const Shape *shape = value->shape;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < dimension; i++) outer *= shape->dims[i];
  for (int i = dimension + 1; i < shape->rank; i++) inner *= shape->dims[i];
  HloInstruction *rows = fft_reshape(builder, value, (int64_t[]){outer, shape->dims[dimension], inner}, 3);
  return fft_reshape(builder, fft_transform(builder, rows, sign), shape->dims, shape->rank);
}

static HloInstruction *transform_dimensions(FftBuilder *builder, HloInstruction *value, int first, int end, int sign) {
  for (int d = end - 1; d >= first; d--) value = transform_dimension(builder, value, d, sign);
  return value;
}

/* The other half of the spectrum of real numbers is the conjugate of the first, backwards. */
static HloInstruction *whole_spectrum(FftBuilder *builder, HloInstruction *half, int64_t n) {
  int last = half->shape->rank - 1;
  int64_t given = half->shape->dims[last];
  if (given == n) return half;
  HloInstruction *mirrored = fft_slice(builder, half, last, 1, n - given + 1);
  const int64_t dimension = last;
  mirrored = fft_add(builder, HLO_REVERSE, mirrored->shape, &mirrored, 1);
  hlo_instruction_set_ints(mirrored, HLO_ATTR_DIMENSIONS, &dimension, 1);
  HloInstruction *im = part_of(builder, HLO_IMAG, mirrored);
  mirrored = of_parts(builder, part_of(builder, HLO_REAL, mirrored), fft_add(builder, HLO_NEGATE, im->shape, &im, 1));
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, half->shape->dims, half->shape->rank);
  dims[last] = n;
  const Shape *shape = shape_array(builder->computation->module->shapes, builder->type, dims, half->shape->rank);
  HloInstruction *whole = fft_add(builder, HLO_CONCATENATE, shape, (HloInstruction *[]){half, mirrored}, 2);
  hlo_instruction_set_ints(whole, HLO_ATTR_DIMENSIONS, &dimension, 1);
  return whole;
}

static HloInstruction *scaled(FftBuilder *builder, HloInstruction *value, int64_t points) {
  return fft_multiply(builder, value, real_constant(builder, 1.0 / (double)points, value->shape));
}

static HloInstruction *expand_kind(FftBuilder *builder, int64_t kind, Int64List lengths) {
  HloInstruction *value = builder->fft->operands[0];
  int rank = value->shape->rank, first = rank - (int)lengths.count, last = rank - 1;
  int64_t points = 1, n = lengths.data[lengths.count - 1];
  for (int64_t i = 0; i < lengths.count; i++) points *= lengths.data[i];
  value = fft_reshape(builder, value, value->shape->dims, rank); /* in the default layout, like all that follows */
  switch (kind) {
    case FFT_TYPE_RFFT: {
      const Shape *shape = shape_with_type(builder->computation->module->shapes, value->shape, builder->type);
      value = transform_dimension(builder, fft_add(builder, HLO_CONVERT, shape, &value, 1), last, -1);
      return transform_dimensions(builder, fft_slice(builder, value, last, 0, n / 2 + 1), first, last, -1);
    }
    case FFT_TYPE_IFFT: {
      value = transform_dimensions(builder, value, first, rank, 1);
      HloInstruction *re = scaled(builder, part_of(builder, HLO_REAL, value), points);
      return of_parts(builder, re, scaled(builder, part_of(builder, HLO_IMAG, value), points));
    }
    case FFT_TYPE_IRFFT:
      value = whole_spectrum(builder, transform_dimensions(builder, value, first, last, 1), n);
      value = transform_dimension(builder, value, last, 1);
      return scaled(builder, part_of(builder, HLO_REAL, value), points);
    default: return transform_dimensions(builder, value, first, rank, -1);
  }
}

static bool is_expandable(const HloInstruction *fft) {
  Int64List lengths = hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH);
  for (int64_t i = 0; i < lengths.count; i++) {
    if (lengths.data[i] < 1 || lengths.data[i] > FFT_MAX_LENGTH) return false;
  }
  return lengths.count > 0 && !shape_is_dynamic(fft->shape) && !shape_is_dynamic(fft->operands[0]->shape);
}

static void expand(HloInstruction *fft, Arena *scratch) {
  int64_t kind = hlo_instruction_int(fft, HLO_ATTR_FFT_TYPE, FFT_TYPE_FFT);
  const Shape *spectrum = kind == FFT_TYPE_IRFFT ? fft->operands[0]->shape : fft->shape;
  FftBuilder builder = {fft->parent, fft, spectrum->type, scratch};
  HloInstruction *result = expand_kind(&builder, kind, hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH));
  if (result->shape != fft->shape) result = fft_add(&builder, HLO_COPY, fft->shape, &result, 1);
  hlo_computation_replace_instruction(fft->parent, fft, result);
}

static Status run_fft_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t count = computation->instructions.count;
    HloInstruction **candidates =
        ARENA_COPY_ARRAY(context->scratch, HloInstruction *, computation->instructions.data, count);
    for (int64_t i = 0; i < count; i++) {
      if (candidates[i]->opcode != HLO_FFT || !is_expandable(candidates[i])) continue;
      expand(candidates[i], context->scratch);
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_fft_expander_pass = {
    "fft-expander", "spell Fourier transforms as products with matrices and roots of unity", run_fft_expander, false};
