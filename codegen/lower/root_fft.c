/* fft: the lines of one or several dimensions are computed into scratch, transformed there, and stored from there.
 *
 * All lines that one result depends on are one point of the outer dims.  A fusion may compute what is transformed, and
 * go on with results where they stand: elementwise operations, also with other arrays, and slices of the lines. */
#include "codegen/lower/lowering_internal.h"
#include "hlo/analysis/fft_lines.h"

typedef struct FftLowering {
  Lowering *lowering;
  const HloInstruction *fft;
  PrimitiveType type, part; /* complex, real */
  int64_t kind;
  int first, rank; /* the dimensions that are transformed: |rank| from |first| on */
  int64_t lengths[FFT_MOST_DIMENSIONS];
  int64_t extents[FFT_MOST_DIMENSIONS]; /* of the buffers at hand */
  bool takes_pairs;                     /* of real numbers, along the last dimension */
  int32_t buffers[2][2];
  int32_t current; /* pair with the values */
  IndexExpr batch[MAX_RANK];
} FftLowering;

static bool is_inverse(const FftLowering *fft) {
  return fft->kind == FFT_TYPE_IFFT || fft->kind == FFT_TYPE_IRFFT;
}

static int64_t product(const int64_t *extents, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; i++) result *= extents[i];
  return result;
}

/* --- scratch --- */

static void make_buffers(FftLowering *fft) {
  for (int i = 0; i < 4; i++) {
    KernelBuffer scratch = {KERNEL_SCRATCH, fft->part, product(fft->extents, fft->rank), -1, -1};
    fft->buffers[i / 2][i % 2] = kernel_draft_add_buffer(&fft->lowering->draft, scratch);
  }
  fft->current = 0;
}

static void store_part(const FftLowering *fft, int stage, const IndexExpr *line, int part, int32_t value) {
  KernelStore store = {.buffer = fft->buffers[fft->current][part], .value = value, .predicate = -1};
  store.address = lowering_linearize(fft->lowering, line, fft->extents, fft->rank);
  lowering_add_store(fft->lowering, stage, &store);
}

static int32_t zero(const FftLowering *fft) {
  return lowering_constant_double(fft->lowering, fft->part, 0);
}

/* --- transforms --- */

enum { MAX_FACTORS = 64 };

/* The odd prime factors of |n|, the large ones apart; the number of those. */
static int odd_factors(int64_t n, int64_t *out_small, int *small_count, int64_t *out_large) {
  enum { LEAST_LARGE = 9 };
  int large_count = 0;
  *small_count = 0;
  for (int64_t p = 3; n > 1; p += 2) {
    for (; n % p == 0; n /= p) {
      if (p < LEAST_LARGE)
        out_small[(*small_count)++] = p;
      else
        out_large[large_count++] = p;
    }
  }
  return large_count;
}

/* Powers of two first: from where as many lines as lanes are side by side, passes need no shuffles.  Large primes last,
 * but one where the others make few lines: where results lie side by side those of one point are in lanes.
 */
static int find_factors(int64_t n, int64_t *out_factors) {
  enum { FEW_LINES = 4 };
  int64_t small[MAX_FACTORS], large[MAX_FACTORS], lines = 1;
  int count = 0, twos = 0, small_count, first_large = 0;
  for (; n % 2 == 0; n /= 2, lines *= 2) twos++;
  int large_count = odd_factors(n, small, &small_count, large);
  for (int i = 0; i < small_count; i++) lines *= small[i];
  if (large_count > 0 && lines < FEW_LINES) out_factors[count++] = large[first_large++];
  for (; twos >= 3 && twos != 4; twos -= 3) out_factors[count++] = 8;
  for (; twos >= 2; twos -= 2) out_factors[count++] = 4;
  if (twos == 1) out_factors[count++] = 2;
  for (int i = 0; i < small_count; i++) out_factors[count++] = small[i];
  for (int i = first_large; i < large_count; i++) out_factors[count++] = large[i];
  return count;
}

/* Along dimension |along| of the buffers. */
static void transform(FftLowering *fft, int along) {
  Lowering *lowering = fft->lowering;
  if (fft->lengths[along] == 1) return;
  int64_t factors[MAX_FACTORS];
  KernelTransform *made = ARENA_NEW(lowering->arena, KernelTransform);
  if (fft->takes_pairs && along == fft->rank - 1) made->reals = is_inverse(fft) ? KERNEL_TO_REALS : KERNEL_OF_REALS;
  made->factor_count = find_factors(fft->lengths[along] / (made->reals != KERNEL_NO_REALS ? 2 : 1), factors);
  made->factors = ARENA_COPY_ARRAY(lowering->arena, int64_t, factors, made->factor_count);
  made->outer = product(fft->extents, along);
  made->inner = product(fft->extents + along + 1, fft->rank - along - 1);
  for (int i = 0; i < 4; i++) {
    int part = is_inverse(fft) ? 1 - i % 2 : i % 2;
    made->buffers[i / 2][i % 2] = fft->buffers[fft->current ^ (i / 2)][part];
  }
  fft->current ^= kernel_transform_passes(made) & 1;
  int stage = lowering_begin_stage(lowering);
  lowering->draft.stages.data[stage].transform = made;
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
}

/* --- what is transformed --- */

/* The element of what the transform reads at |line| of the lines at hand, by its parts. */
static Status read_operand(const FftLowering *fft, const IndexExpr *line, int32_t *out_parts) {
  Lowering *lowering = fft->lowering;
  IndexExpr index[MAX_RANK];
  int32_t value;
  for (int d = 0; d < fft->first; d++) index[d] = fft->batch[d];
  for (int d = 0; d < fft->rank; d++) index[fft->first + d] = line[d];
  RETURN_IF_ERROR(lower_element(lowering, fft->fft->operands[0], index, &value));
  bool is_complex = type_is_complex(fft->fft->operands[0]->shape->type);
  out_parts[0] = is_complex ? lowering_part(lowering, value, 0) : value;
  out_parts[1] = is_complex ? lowering_part(lowering, value, 1) : zero(fft);
  return STATUS_OK;
}

typedef struct LineSource {
  const int32_t *buffers; /* NULL: the operand */
  const int64_t *extents;
} LineSource;

static Status read_source(const FftLowering *fft, const LineSource *source, const IndexExpr *line, int32_t *out_parts) {
  if (source->buffers == NULL) return read_operand(fft, line, out_parts);
  IndexExpr address = lowering_linearize(fft->lowering, line, source->extents, fft->rank);
  for (int part = 0; part < 2; part++) out_parts[part] = lowering_load(fft->lowering, source->buffers[part], address);
  return STATUS_OK;
}

/* Elements [0, count) of the last dimension, and all of the others.  |mirrored|: from the other end, element count - 1
 * - i, and conjugated, of element i + 1 of the source. */
static Status fill(FftLowering *fft, const LineSource *source, int64_t count, bool mirrored) {
  Lowering *lowering = fft->lowering;
  IndexExpr line[FFT_MOST_DIMENSIONS], from[FFT_MOST_DIMENSIONS];
  int32_t parts[2];
  int last = fft->rank - 1, stage = lowering_begin_stage(lowering);
  for (int d = 0; d < fft->rank; d++) {
    int64_t extent = d == last ? count : fft->extents[d];
    from[d] = line[d] = lowering_dim(lowering, extent, KERNEL_PARALLEL, stage);
  }
  if (mirrored) {
    from[last] = index_add_constant(&lowering->draft.space, line[last], 1);
    line[last] = index_add_constant(&lowering->draft.space, index_scale(&lowering->draft.space, line[last], -1),
                                    fft->extents[last] - 1);
  }
  RETURN_IF_ERROR(read_source(fft, source, from, parts));
  if (mirrored) parts[1] = lowering_apply(lowering, HLO_NEGATE, fft->part, &parts[1], 1);
  for (int part = 0; part < 2; part++) store_part(fft, stage, line, part, parts[part]);
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
  return STATUS_OK;
}

/* Where there is something to transform. */
static bool takes_pairs(int64_t length) {
  return length % 2 == 0 && length > 2;
}

/* Real numbers two by two, as the parts of complex ones. */
static Status fill_pairs(FftLowering *fft) {
  Lowering *lowering = fft->lowering;
  IndexSpace *space = &lowering->draft.space;
  IndexExpr line[FFT_MOST_DIMENSIONS], from[FFT_MOST_DIMENSIONS];
  int32_t parts[2];
  int last = fft->rank - 1, stage = lowering_begin_stage(lowering);
  for (int d = 0; d < fft->rank; d++) {
    int64_t extent = d == last ? fft->lengths[last] / 2 : fft->extents[d];
    from[d] = line[d] = lowering_dim(lowering, extent, KERNEL_PARALLEL, stage);
  }
  for (int part = 0; part < 2; part++) {
    from[last] = index_add_constant(space, index_scale(space, line[last], 2), part);
    RETURN_IF_ERROR(read_operand(fft, from, parts));
    store_part(fft, stage, line, part, parts[0]);
  }
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
  return STATUS_OK;
}

/* The last dimension of real numbers' spectrum is half of it: the rest is its conjugate, backwards, and left to the
 * transform where that takes pairs. */
static Status fill_spectrum(FftLowering *fft, const LineSource *source) {
  int64_t length = fft->lengths[fft->rank - 1], half = length / 2 + 1;
  fft->extents[fft->rank - 1] = length;
  make_buffers(fft);
  RETURN_IF_ERROR(fill(fft, source, half, false));
  return length > half && !fft->takes_pairs ? fill(fft, source, length - half, true) : STATUS_OK;
}

static Status transform_all(FftLowering *fft) {
  const Shape *shape = fft->fft->operands[0]->shape;
  int last = fft->rank - 1;
  LineSource operand = {0};
  for (int d = 0; d < fft->rank; d++) fft->extents[d] = shape->dims[fft->first + d];
  bool has_reals = fft->kind == FFT_TYPE_RFFT || fft->kind == FFT_TYPE_IRFFT;
  fft->takes_pairs = has_reals && takes_pairs(fft->lengths[last]);
  if (fft->takes_pairs) fft->extents[last] = fft->lengths[last] / 2 + 1;
  if (fft->kind != FFT_TYPE_IRFFT) {
    make_buffers(fft);
    RETURN_IF_ERROR(fft->takes_pairs ? fill_pairs(fft) : fill(fft, &operand, fft->extents[last], false));
    for (int d = last; d >= 0; d--) transform(fft, d);
    return STATUS_OK;
  }
  LineSource *source = &operand, half;
  int32_t made[2];
  int64_t extents[FFT_MOST_DIMENSIONS];
  if (fft->rank > 1) {
    make_buffers(fft);
    RETURN_IF_ERROR(fill(fft, &operand, fft->extents[last], false));
    for (int d = last - 1; d >= 0; d--) transform(fft, d);
    for (int part = 0; part < 2; part++) made[part] = fft->buffers[fft->current][part];
    for (int d = 0; d < fft->rank; d++) extents[d] = fft->extents[d];
    half = (LineSource){made, extents};
    source = &half;
  }
  RETURN_IF_ERROR(fill_spectrum(fft, source));
  transform(fft, last);
  return STATUS_OK;
}

/* --- results --- */

static bool has_batch(const FftLowering *fft, const Shape *shape) {
  if (shape->rank != fft->first + fft->rank) return false;
  for (int d = 0; d < fft->first; d++) {
    if (shape->dims[d] != fft->fft->shape->dims[d]) return false;
  }
  return true;
}

static bool same_lines(const FftLowering *fft, const Shape *a, const Shape *b) {
  for (int d = fft->first; d < a->rank; d++) {
    if (a->dims[d] != b->dims[d]) return false;
  }
  return true;
}

/* Results with as many elements as the first that is not stored yet. */
static Status store_alike(FftLowering *fft, LoweringResult *results, int count, int number) {
  Lowering *lowering = fft->lowering;
  const Shape *shape = shape_node(lowering->source->shape, results[number].node);
  IndexExpr index[MAX_RANK];
  int stage = lowering_begin_stage(lowering);
  for (int d = 0; d < shape->rank; d++)
    index[d] = d < fft->first ? fft->batch[d] : lowering_dim(lowering, shape->dims[d], KERNEL_PARALLEL, stage);
  for (int i = number; i < count; i++) {
    const Shape *leaf = shape_node(lowering->source->shape, results[i].node);
    if (results[i].is_stored || !same_lines(fft, leaf, shape)) continue;
    KernelStore store = {.predicate = -1, .address = lowering_address(lowering, leaf, index)};
    if (lowering->fused == NULL) {
      RETURN_IF_ERROR(element_fft(lowering, fft->fft, index, &store.value));
    } else {
      RETURN_IF_ERROR(lower_element(lowering, results[i].made, index, &store.value));
    }
    store.buffer = lowering_buffer(lowering, KERNEL_RESULT, -1, results[i].node, leaf);
    lowering_add_store(lowering, stage, &store);
    results[i].is_stored = true;
  }
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
  return STATUS_OK;
}

static Status store_results(FftLowering *fft) {
  Lowering *lowering = fft->lowering;
  for (int i = 0; i < lowering->result_count; i++) {
    const Shape *leaf = shape_node(lowering->source->shape, lowering->results[i].node);
    if (!has_batch(fft, leaf))
      return lowering_unsupported(lowering, lowering->results[i].made, "this operation cannot be fused after an 'fft'");
  }
  for (int i = 0; i < lowering->result_count; i++) {
    if (!lowering->results[i].is_stored)
      RETURN_IF_ERROR(store_alike(fft, lowering->results, lowering->result_count, i));
  }
  return STATUS_OK;
}

Status root_fft(Lowering *lowering, const HloInstruction *root) {
  const HloInstruction *found = lowering->fused == NULL ? root : lowering_find_fused(lowering->fused, HLO_FFT);
  Int64List lengths = hlo_instruction_ints(found, HLO_ATTR_FFT_LENGTH);
  lowering->is_empty = shape_element_count(found->shape) == 0;
  if (lowering->is_empty) return STATUS_OK;
  if (!hlo_fft_is_in_one_piece(found)) return lowering_unsupported(lowering, found, "'fft' of this length has no code");
  FftLowering fft = {.lowering = lowering, .fft = found, .rank = (int)lengths.count};
  fft.kind = hlo_instruction_int(found, HLO_ATTR_FFT_TYPE, FFT_TYPE_FFT);
  fft.type = fft.kind == FFT_TYPE_IRFFT ? found->operands[0]->shape->type : found->shape->type;
  fft.part = type_complex_part(fft.type);
  fft.first = found->shape->rank - fft.rank;
  for (int d = 0; d < fft.rank; d++) fft.lengths[d] = lengths.data[d];
  for (int d = 0; d < fft.first; d++)
    fft.batch[d] = lowering_dim(lowering, found->shape->dims[d], KERNEL_PARALLEL, KERNEL_OUTER);
  RETURN_IF_ERROR(transform_all(&fft));
  LineTransform *lines = ARENA_NEW(lowering->arena, LineTransform);
  *lines = (LineTransform){.fft = found, .batch_rank = fft.first, .scale = 1};
  lines->batch = ARENA_COPY_ARRAY(lowering->arena, IndexExpr, fft.batch, fft.first);
  lines->extents = ARENA_COPY_ARRAY(lowering->arena, int64_t, fft.extents, fft.rank);
  for (int part = 0; part < 2; part++) lines->buffers[part] = fft.buffers[fft.current][part];
  if (is_inverse(&fft)) lines->scale = 1.0 / (double)product(fft.lengths, fft.rank);
  lowering->lines = lines;
  return store_results(&fft);
}

Status element_fft(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  const LineTransform *lines = lowering->lines;
  if (lines == NULL || instruction != lines->fft)
    return lowering_unsupported(lowering, instruction, "'fft' cannot be computed element by element");
  for (int d = 0; d < lines->batch_rank; d++) {
    if (!index_equal(index[d], lines->batch[d]))
      return lowering_unsupported(lowering, instruction, "'fft' of other lines than those at hand");
  }
  PrimitiveType type = instruction->shape->type, part_type = type_complex_part(type);
  int rank = instruction->shape->rank - lines->batch_rank;
  IndexExpr address = lowering_linearize(lowering, index + lines->batch_rank, lines->extents, rank);
  int32_t parts[2], scale = -1;
  if (lines->scale != 1) scale = lowering_constant_double(lowering, part_type, lines->scale);
  for (int part = 0; part < (type_is_complex(type) ? 2 : 1); part++) {
    parts[part] = lowering_load(lowering, lines->buffers[part], address);
    if (scale >= 0) parts[part] = lowering_apply(lowering, HLO_MULTIPLY, part_type, (int32_t[]){parts[part], scale}, 2);
  }
  *out_value = type_is_complex(type) ? lowering_complex(lowering, type, parts[0], parts[1]) : parts[0];
  return STATUS_OK;
}
