/* fft in terms of dot, products and data movement. */
#include "base/checked_math.h"
#include "hlo/analysis/fft_lines.h"
#include "passes/expand/fft_internal.h"

HloInstruction *fft_multiply(FftBuilder *builder, HloInstruction *a, HloInstruction *b) {
  return graph_binary(&builder->graph, HLO_MULTIPLY, a, b);
}

static HloInstruction *part_of(FftBuilder *builder, HloOpcode part, HloInstruction *value) {
  PrimitiveType type = type_complex_part(builder->type);
  const Shape *shape = shape_with_type(graph_shapes(&builder->graph), value->shape, type);
  return graph_add(&builder->graph, part, shape, &value, 1);
}

static HloInstruction *of_parts(FftBuilder *builder, HloInstruction *re, HloInstruction *im) {
  const Shape *shape = shape_with_type(graph_shapes(&builder->graph), re->shape, builder->type);
  return graph_add(&builder->graph, HLO_COMPLEX, shape, (HloInstruction *[]){re, im}, 2);
}

/* --- the four kinds --- */

/* One dimension of a value of any rank. */
static HloInstruction *transform_dimension(FftBuilder *builder, HloInstruction *value, int dimension, int sign) {
  if (builder->takes_pieces) return fft_by_pieces(builder, value, dimension, sign);
  const Shape *shape = value->shape;
  int64_t outer = shape_extent(shape, 0, dimension), inner = shape_extent(shape, dimension + 1, shape->rank);
  HloInstruction *rows = graph_reshape(&builder->graph, value, (int64_t[]){outer, shape->dims[dimension], inner}, 3);
  return graph_reshape(&builder->graph, fft_transform(builder, rows, sign), shape->dims, shape->rank);
}

/* The last dimensions together where they fit one piece, then each by itself. */
static HloInstruction *transform_dimensions(FftBuilder *builder, HloInstruction *value, int first, int end, int sign) {
  if (builder->takes_pieces && end == value->shape->rank) {
    int piece = fft_piece_begin(value->shape, first);
    if (piece < end - 1) {
      value = fft_last_dimensions(builder, value, piece, sign);
      end = piece;
    }
  }
  for (int d = end - 1; d >= first; d--) value = transform_dimension(builder, value, d, sign);
  return value;
}

/* The other half of the spectrum of real numbers is the conjugate of the first, backwards. */
static HloInstruction *whole_spectrum(FftBuilder *builder, HloInstruction *half, int64_t n) {
  int last = half->shape->rank - 1;
  int64_t given = half->shape->dims[last];
  if (given == n) return half;
  HloInstruction *mirrored = graph_slice(&builder->graph, half, last, 1, n - given + 1);
  const int64_t dimension = last;
  mirrored = graph_reverse(&builder->graph, mirrored, &dimension, 1);
  HloInstruction *im = part_of(builder, HLO_IMAG, mirrored);
  mirrored = of_parts(builder, part_of(builder, HLO_REAL, mirrored),
                      graph_add(&builder->graph, HLO_NEGATE, im->shape, &im, 1));
  int64_t *dims = ARENA_COPY_ARRAY(builder->graph.scratch, int64_t, half->shape->dims, half->shape->rank);
  dims[last] = n;
  const Shape *shape = shape_array(graph_shapes(&builder->graph), builder->type, dims, half->shape->rank);
  HloInstruction *whole = graph_add(&builder->graph, HLO_CONCATENATE, shape, (HloInstruction *[]){half, mirrored}, 2);
  hlo_instruction_set_ints(whole, HLO_ATTR_DIMENSIONS, &dimension, 1);
  return whole;
}

static HloInstruction *scaled(FftBuilder *builder, HloInstruction *value, int64_t points) {
  return fft_multiply(builder, value,
                      graph_real(&builder->graph, value->shape->type, 1.0 / (double)points, value->shape));
}

static HloInstruction *expand_kind(FftBuilder *builder, FftType kind, Int64List lengths) {
  HloInstruction *value = builder->graph.origin->operands[0];
  int rank = value->shape->rank, first = rank - (int)lengths.count, last = rank - 1;
  int64_t points = 1, n = lengths.data[lengths.count - 1];
  for (int64_t i = 0; i < lengths.count; i++) points *= lengths.data[i];
  value = graph_reshape(&builder->graph, value, value->shape->dims,
                        rank); /* in the default layout, like all that follows */
  switch (kind) {
    case FFT_TYPE_RFFT: {
      const Shape *shape = shape_with_type(graph_shapes(&builder->graph), value->shape, builder->type);
      value = transform_dimension(builder, graph_add(&builder->graph, HLO_CONVERT, shape, &value, 1), last, -1);
      return transform_dimensions(builder, graph_slice(&builder->graph, value, last, 0, n / 2 + 1), first, last, -1);
    }
    case FFT_TYPE_IFFT: {
      value = transform_dimensions(builder, value, first, rank, 1);
      if (builder->takes_pieces) return value;
      HloInstruction *re = scaled(builder, part_of(builder, HLO_REAL, value), points);
      return of_parts(builder, re, scaled(builder, part_of(builder, HLO_IMAG, value), points));
    }
    case FFT_TYPE_IRFFT:
      value = whole_spectrum(builder, transform_dimensions(builder, value, first, last, 1), n);
      value = part_of(builder, HLO_REAL, transform_dimension(builder, value, last, 1));
      return builder->takes_pieces ? value : scaled(builder, value, points);
    case FFT_TYPE_FFT: return transform_dimensions(builder, value, first, rank, -1);
  }
  XLAC_BUG("fft_type %d", (int)kind);
}

/* Code generation may take those in one piece as they are. */
/* Longer ones are read against the grain from memory, where products of matrices, which are packed, are no slower. */
#define MOST_BY_PIECES (INT64_C(1) << 18)

static bool goes_by_pieces(const HloInstruction *fft) {
  Int64List lengths = hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH);
  for (int64_t i = 0; i < lengths.count; i++) {
    if (lengths.data[i] > MOST_BY_PIECES) return false;
  }
  return true;
}

static bool is_expandable(const HloInstruction *fft, bool takes_pieces) {
  if (shape_element_count(fft->shape) == 0 || (takes_pieces && hlo_fft_is_in_one_piece(fft))) return false;
  Int64List lengths = hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH);
  for (int64_t i = 0; i < lengths.count; i++) {
    if (lengths.data[i] < 1 || lengths.data[i] > FFT_MAX_LENGTH) return false;
  }
  return lengths.count > 0 && !shape_is_dynamic(fft->shape) && !shape_is_dynamic(fft->operands[0]->shape);
}

static void expand(HloInstruction *fft, bool takes_pieces, Arena *scratch) {
  int64_t kind = hlo_instruction_int(fft, HLO_ATTR_FFT_TYPE, FFT_TYPE_FFT);
  const Shape *spectrum = kind == FFT_TYPE_IRFFT ? fft->operands[0]->shape : fft->shape;
  FftBuilder builder = {{fft->parent, fft, scratch}, spectrum->type, takes_pieces};
  HloInstruction *result = expand_kind(&builder, (FftType)kind, hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH));
  if (result->shape != fft->shape) result = graph_add(&builder.graph, HLO_COPY, fft->shape, &result, 1);
  hlo_computation_replace_instruction(fft->parent, fft, result);
}

static Status run_fft_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  bool takes_lines = machine_takes_lines(context->options->machine);
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t count;
    HloInstruction **candidates = hlo_computation_list(computation, context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      if (candidates[i]->opcode != HLO_FFT || !is_expandable(candidates[i], takes_lines)) continue;
      expand(candidates[i], takes_lines && goes_by_pieces(candidates[i]), context->scratch);
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_fft_expander_pass = {
    "fft-expander", "spell Fourier transforms as products with matrices and roots of unity", run_fft_expander, false};
