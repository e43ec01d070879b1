/* The passes of a Fourier transform. */
#include "base/checked_math.h"
#include "base/unit_root.h"
#include "codegen/blocks/fft_internal.h"
#include "codegen/ir/ir_loop.h"

typedef struct FftPass {
  const VecBuilder *vec;
  PrimitiveType type;
  int64_t radix, rest, side; /* r, m, s of fft.h */
  LLVMValueRef from[2], to[2];
} FftPass;

/* --- pieces --- */

static LLVMValueRef int_of(const VecBuilder *vec, int64_t value) {
  return ir_index(vec->context, value);
}

static LLVMValueRef plus(const FftPass *pass, LLVMValueRef index, int64_t constant) {
  return constant == 0 ? index : LLVMBuildAdd(pass->vec->builder, index, int_of(pass->vec, constant), "");
}

static LLVMValueRef times(const FftPass *pass, LLVMValueRef index, int64_t constant) {
  return constant == 1 ? index : LLVMBuildMul(pass->vec->builder, index, int_of(pass->vec, constant), "");
}

static LLVMValueRef element(const FftPass *pass, LLVMValueRef base, LLVMValueRef index) {
  return LLVMBuildInBoundsGEP2(pass->vec->builder, vec_memory_type(pass->vec, pass->type, 1), base, &index, 1, "");
}

static FftComplex load(const FftPass *pass, const LLVMValueRef base[2], LLVMValueRef index, int lanes) {
  return (FftComplex){vec_load(pass->vec, pass->type, element(pass, base[0], index), NULL, lanes),
                      vec_load(pass->vec, pass->type, element(pass, base[1], index), NULL, lanes)};
}

static void store(const FftPass *pass, FftComplex value, LLVMValueRef index, int lanes) {
  vec_store(pass->vec, pass->type, value.re, element(pass, pass->to[0], index), NULL, lanes);
  vec_store(pass->vec, pass->type, value.im, element(pass, pass->to[1], index), NULL, lanes);
}

static int power_of_two_below(int64_t most) {
  int power = 1;
  while (2 * power <= most) power *= 2;
  return power;
}

static int lane_count(const FftPass *pass) {
  return pass->vec->target->vector_bits / (8 * (int)type_storage_bytes(pass->type));
}

/* |index|, or what leaves room for |lanes| before |extent|: the last lanes may do some points a second time. */
static LLVMValueRef last_start(const FftPass *pass, LLVMValueRef index, int64_t extent, int lanes) {
  if (extent % lanes == 0) return index;
  LLVMValueRef last = int_of(pass->vec, extent - lanes);
  LLVMBuilderRef b = pass->vec->builder;
  return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, index, last, ""), index, last, "");
}

static void load_all(const FftPass *pass, LLVMValueRef first, int lanes, FftComplex *out_values) {
  for (int64_t j = 0; j < pass->radix; j++)
    out_values[j] = load(pass, pass->from, plus(pass, first, j * pass->side * pass->rest), lanes);
}

/* --- points side by side in lanes --- */

static void pass_by_point(const FftPass *pass) {
  const VecBuilder *vec = pass->vec;
  int lanes = power_of_two_below(min_i64(lane_count(pass), pass->side));
  FftLanes arithmetic = {vec, pass->type, lanes};
  FftComplex roots[FFT_MAX_RADIX], values[FFT_MAX_RADIX];
  LLVMValueRef table = NULL;
  if (pass->rest > 1) table = fft_roots(vec, pass->type, pass->radix, pass->rest, FFT_ROOTS_BY_POINT, 1);
  IrLoop points = ir_loop_count_apart(vec->builder, ir_range(vec->context, 0, pass->rest), 1, NULL, 0);
  LLVMValueRef root = times(pass, points.index, 2 * (pass->radix - 1));
  for (int64_t k = 1; k < pass->radix && table != NULL; k++) {
    LLVMValueRef re = vec_load(vec, pass->type, element(pass, table, plus(pass, root, 2 * k - 2)), NULL, 1);
    LLVMValueRef im = vec_load(vec, pass->type, element(pass, table, plus(pass, root, 2 * k - 1)), NULL, 1);
    roots[k] = (FftComplex){vec_splat(vec, re, lanes), vec_splat(vec, im, lanes)};
  }
  LLVMValueRef from = times(pass, points.index, pass->side), to = times(pass, from, pass->radix);
  IrLoop sides = ir_loop_count_apart(vec->builder, ir_range(vec->context, 0, pass->side), lanes, NULL, 0);
  LLVMValueRef q = last_start(pass, sides.index, pass->side, lanes);
  load_all(pass, LLVMBuildAdd(vec->builder, from, q, ""), lanes, values);
  fft_short_transform(&arithmetic, values, pass->radix);
  for (int64_t k = 0; k < pass->radix; k++) {
    if (k > 0 && table != NULL) values[k] = fft_product(&arithmetic, values[k], roots[k]);
    store(pass, values[k], plus(pass, LLVMBuildAdd(vec->builder, to, q, ""), k * pass->side), lanes);
  }
  ir_loop_end(&sides);
  ir_loop_end(&points);
}

/* --- points one after the other in lanes --- */

/* Runs of |run| lanes of each of |values| in turn. */
static LLVMValueRef in_turn(const FftPass *pass, LLVMValueRef *values, int64_t count, int64_t run, int lanes) {
  const VecBuilder *vec = pass->vec;
  if (count == 1) return values[0];
  LLVMValueRef sources[2];
  int64_t from[2] = {count, 0};
  if (count % 2 == 0) { /* what stands at even places, and at odd ones */
    LLVMValueRef halves[2][FFT_MAX_RADIX];
    for (int64_t k = 0; k < count; k++) halves[k % 2][k / 2] = values[k];
    for (int i = 0; i < 2; i++) sources[i] = in_turn(pass, halves[i], count / 2, run, lanes);
    from[0] = from[1] = count / 2;
  } else {
    sources[0] = in_turn(pass, values, count - 1, run, lanes);
    sources[1] = values[count - 1];
    from[0] = count - 1;
    from[1] = 1;
  }
  /* both as wide as the wider one */
  LLVMTypeRef index_type = LLVMInt32TypeInContext(vec->context);
  int64_t width = from[0] * lanes;
  LLVMValueRef mask[FFT_MAX_RADIX * 64];
  if (from[1] < from[0]) {
    for (int64_t i = 0; i < width; i++)
      mask[i] =
          i < from[1] * lanes ? LLVMConstInt(index_type, (unsigned long long)i, false) : LLVMGetPoison(index_type);
    sources[1] = LLVMBuildShuffleVector(vec->builder, sources[1], LLVMGetPoison(LLVMTypeOf(sources[1])),
                                        LLVMConstVector(mask, (unsigned)width), "");
  }
  for (int64_t i = 0; i < count * lanes; i++) {
    int64_t chunk = i / run, group = chunk / count, k = chunk % count, at = i % run, place;
    if (count % 2 == 0) {
      place = (k % 2) * width + (group * (count / 2) + k / 2) * run + at;
    } else {
      place = k == count - 1 ? width + group * run + at : (group * (count - 1) + k) * run + at;
    }
    mask[i] = LLVMConstInt(index_type, (unsigned long long)place, false);
  }
  return LLVMBuildShuffleVector(vec->builder, sources[0], sources[1], LLVMConstVector(mask, (unsigned)(count * lanes)),
                                "");
}

static void pass_in_lanes(const FftPass *pass, int lanes) {
  const VecBuilder *vec = pass->vec;
  int64_t radix = pass->radix, extent = pass->side * pass->rest;
  FftLanes arithmetic = {vec, pass->type, lanes};
  FftComplex values[FFT_MAX_RADIX];
  LLVMValueRef table = NULL, re[FFT_MAX_RADIX], im[FFT_MAX_RADIX];
  if (pass->rest > 1) table = fft_roots(vec, pass->type, radix, pass->rest, FFT_ROOTS_IN_LANES, pass->side);
  IrLoop points = ir_loop_count_apart(vec->builder, ir_range(vec->context, 0, extent), lanes, NULL, 0);
  LLVMValueRef t = last_start(pass, points.index, extent, lanes);
  load_all(pass, t, lanes, values);
  fft_short_transform(&arithmetic, values, radix);
  for (int64_t k = 0; k < radix; k++) {
    if (k > 0 && table != NULL) {
      LLVMValueRef rows[2] = {element(pass, table, int_of(vec, (2 * k - 2) * extent)),
                              element(pass, table, int_of(vec, (2 * k - 1) * extent))};
      values[k] = fft_product(&arithmetic, values[k], load(pass, rows, t, lanes));
    }
    re[k] = values[k].re;
    im[k] = values[k].im;
  }
  FftComplex all = {in_turn(pass, re, radix, pass->side, lanes), in_turn(pass, im, radix, pass->side, lanes)};
  store(pass, all, times(pass, t, radix), (int)radix * lanes);
  ir_loop_end(&points);
}

/* --- results of one point in lanes --- */

/* Lanes in which results 1 to radix/2 of a point stand. */
static int half_lanes(const FftPass *pass) {
  int lanes = 2;
  while (lanes < pass->radix / 2) lanes *= 2;
  return lanes;
}

/* The cosines (|part| 0) or sines that input |j| is multiplied by in each lane; zeros where there is no result. */
static LLVMValueRef factors_of(const FftPass *pass, int64_t j, int part, int lanes) {
  LLVMValueRef parts[FFT_MAX_RADIX];
  for (int64_t i = 0; i < lanes; i++) {
    UnitRoot root = unit_root(j * (i + 1), pass->radix, -1);
    double value = i < pass->radix / 2 ? (part == 0 ? root.re : root.im) : 0;
    parts[i] = vec_constant_double(pass->vec, pass->type, value, 1);
  }
  return LLVMConstVector(parts, (unsigned)lanes);
}

/* The first radix/2 lanes in the opposite order. */
static LLVMValueRef turn_half(const FftPass *pass, LLVMValueRef value, int lanes) {
  LLVMValueRef places[FFT_MAX_RADIX];
  LLVMTypeRef s32 = LLVMInt32TypeInContext(pass->vec->context);
  int64_t half = pass->radix / 2;
  for (int64_t i = 0; i < lanes; i++)
    places[i] = LLVMConstInt(s32, (unsigned long long)(i < half ? half - 1 - i : i), false);
  return LLVMBuildShuffleVector(pass->vec->builder, value, LLVMGetPoison(LLVMTypeOf(value)),
                                LLVMConstVector(places, (unsigned)lanes), "");
}

/* The first radix/2 lanes of |value| to |pass->to| from |index| on, times the roots of point |point| from result |k|
 * on.
 */
static void store_half(const FftPass *pass, FftComplex value, LLVMValueRef table, LLVMValueRef point, int64_t k,
                       int lanes) {
  const VecBuilder *vec = pass->vec;
  FftLanes arithmetic = {vec, pass->type, lanes};
  LLVMValueRef held[FFT_MAX_RADIX];
  for (int64_t i = 0; i < lanes; i++)
    held[i] = LLVMConstInt(LLVMInt1TypeInContext(vec->context), i < pass->radix / 2, false);
  LLVMValueRef mask = LLVMConstVector(held, (unsigned)lanes);
  if (table != NULL) {
    LLVMValueRef first = plus(pass, times(pass, point, 2 * (pass->radix - 1)), k - 1);
    LLVMValueRef next = plus(pass, first, pass->radix - 1);
    FftComplex roots = {vec_load(vec, pass->type, element(pass, table, first), mask, lanes),
                        vec_load(vec, pass->type, element(pass, table, next), mask, lanes)};
    value = fft_product(&arithmetic, value, roots);
  }
  LLVMValueRef index = plus(pass, times(pass, point, pass->radix), k);
  vec_store(vec, pass->type, value.re, element(pass, pass->to[0], index), mask, lanes);
  vec_store(vec, pass->type, value.im, element(pass, pass->to[1], index), mask, lanes);
}

/* An odd radix, of neighbouring results (|side| 1): those of a point are in lanes, as transform_odd in fft_short.c has
 * them one after the other.  Values j and radix - j are added and subtracted once, and meet all lanes. */
static void pass_across(const FftPass *pass) {
  const VecBuilder *vec = pass->vec;
  LLVMBuilderRef b = vec->builder;
  int lanes = half_lanes(pass);
  LLVMValueRef table = NULL;
  if (pass->rest > 1) table = fft_roots(vec, pass->type, pass->radix, pass->rest, FFT_ROOTS_ACROSS, 1);
  IrLoop points = ir_loop_count_apart(b, ir_range(vec->context, 0, pass->rest), 1, NULL, 0);
  FftComplex values[FFT_MAX_RADIX];
  load_all(pass, points.index, 1, values);
  FftComplex all = values[0];
  FftComplex even = {vec_splat(vec, all.re, lanes), vec_splat(vec, all.im, lanes)}, odd = {NULL, NULL};
  for (int64_t j = 1; j <= pass->radix / 2; j++) {
    FftComplex x = values[j], y = values[pass->radix - j];
    FftComplex sum = {LLVMBuildFAdd(b, x.re, y.re, ""), LLVMBuildFAdd(b, x.im, y.im, "")};
    FftComplex rest = {LLVMBuildFSub(b, x.re, y.re, ""), LLVMBuildFSub(b, x.im, y.im, "")};
    all = (FftComplex){LLVMBuildFAdd(b, all.re, sum.re, ""), LLVMBuildFAdd(b, all.im, sum.im, "")};
    LLVMValueRef c = factors_of(pass, j, 0, lanes), s = factors_of(pass, j, 1, lanes);
    even.re = vec_multiply_add(vec, pass->type, vec_splat(vec, sum.re, lanes), c, even.re);
    even.im = vec_multiply_add(vec, pass->type, vec_splat(vec, sum.im, lanes), c, even.im);
    LLVMValueRef re = vec_splat(vec, rest.re, lanes), im = vec_splat(vec, rest.im, lanes);
    odd.re = j == 1 ? LLVMBuildFMul(b, re, s, "") : vec_multiply_add(vec, pass->type, re, s, odd.re);
    odd.im = j == 1 ? LLVMBuildFMul(b, im, s, "") : vec_multiply_add(vec, pass->type, im, s, odd.im);
  }
  FftComplex low = {LLVMBuildFSub(b, even.re, odd.im, ""), LLVMBuildFAdd(b, even.im, odd.re, "")};
  FftComplex high = {turn_half(pass, LLVMBuildFAdd(b, even.re, odd.im, ""), lanes),
                     turn_half(pass, LLVMBuildFSub(b, even.im, odd.re, ""), lanes)};
  store(pass, all, times(pass, points.index, pass->radix), 1);
  store_half(pass, low, table, points.index, 1, lanes);
  store_half(pass, high, table, points.index, pass->radix / 2 + 1, lanes);
  ir_loop_end(&points);
}

/* --- real numbers --- */

/* Place |pass->rest| of the line |base|. */
static LLVMValueRef line_end(const FftPass *pass, LLVMValueRef base) {
  return element(pass, base, int_of(pass->vec, pass->rest));
}

/* Numbers t to t + lanes - 1 of a line, and conjugated those that lie opposite to them, as far before |pass->rest| as
 * they lie after 0: their sum and their difference. */
static void load_opposite(const FftPass *pass, const LLVMValueRef from[2], LLVMValueRef t, int lanes, FftComplex *sum,
                          FftComplex *difference) {
  LLVMBuilderRef b = pass->vec->builder;
  LLVMValueRef opposite = LLVMBuildSub(b, int_of(pass->vec, pass->rest + 1 - lanes), t, "");
  FftComplex here = load(pass, from, t, lanes), there = load(pass, from, opposite, lanes);
  there = (FftComplex){vec_reverse(pass->vec, there.re, lanes), vec_reverse(pass->vec, there.im, lanes)};
  *sum = (FftComplex){LLVMBuildFAdd(b, here.re, there.re, ""), LLVMBuildFSub(b, here.im, there.im, "")};
  *difference = (FftComplex){LLVMBuildFSub(b, here.re, there.re, ""), LLVMBuildFAdd(b, here.im, there.im, "")};
}

/* exp(-πik/m) from k = t on, m being |pass->rest|. */
static FftComplex load_half_roots(const FftPass *pass, LLVMValueRef t, int lanes) {
  LLVMValueRef table = fft_roots(pass->vec, pass->type, 2, pass->rest, FFT_ROOTS_IN_LANES, 1);
  return load(pass, (LLVMValueRef[]){table, line_end(pass, table)}, t, lanes);
}

/* Places t to t + lanes - 1 of 2m real numbers' transform, of Z, that of their pairs: with B(k) = conj Z(m - k) it is
 * (Z(k) + B(k))/2 - i·exp(-πik/m)·(Z(k) - B(k))/2. */
static void step_of_pairs(const FftPass *pass, LLVMValueRef t, int lanes) {
  const VecBuilder *vec = pass->vec;
  LLVMBuilderRef b = vec->builder;
  LLVMValueRef half = vec_constant_double(vec, pass->type, 0.5, lanes);
  FftComplex even, odd;
  load_opposite(pass, pass->from, t, lanes, &even, &odd);
  odd = fft_product(&(FftLanes){vec, pass->type, lanes}, odd, load_half_roots(pass, t, lanes));
  FftComplex places = {LLVMBuildFMul(b, half, LLVMBuildFAdd(b, even.re, odd.im, ""), ""),
                       LLVMBuildFMul(b, half, LLVMBuildFSub(b, even.im, odd.re, ""), "")};
  store(pass, places, t, lanes);
}

/* The opposite, twice as large: X(k) + B(k) + i·exp(πik/m)·(X(k) - B(k)), B(k) being conj X(m - k).  Imaginary parts
 * stand first, as the other sign wants them. */
static void step_to_pairs(const FftPass *pass, LLVMValueRef t, int lanes) {
  const VecBuilder *vec = pass->vec;
  LLVMBuilderRef b = vec->builder;
  FftComplex even, odd, root = load_half_roots(pass, t, lanes);
  load_opposite(pass, (LLVMValueRef[]){pass->from[1], pass->from[0]}, t, lanes, &even, &odd);
  root.im = LLVMBuildFNeg(b, root.im, "");
  odd = fft_product(&(FftLanes){vec, pass->type, lanes}, odd, root);
  FftComplex exchanged = {LLVMBuildFAdd(b, even.im, odd.re, ""), LLVMBuildFSub(b, even.re, odd.im, "")};
  store(pass, exchanged, t, lanes);
}

/* Real and imaginary parts in turn, as real ones. */
static void step_in_turn(const FftPass *pass, LLVMValueRef t, int lanes) {
  FftComplex exchanged = load(pass, pass->from, t, lanes);
  LLVMValueRef all = in_turn(pass, (LLVMValueRef[]){exchanged.im, exchanged.re}, 2, 1, lanes);
  vec_store(pass->vec, pass->type, all, element(pass, pass->to[1], times(pass, t, 2)), NULL, 2 * lanes);
}

/* |step| for |pass->rest| numbers of a line. */
static void pass_along(const FftPass *pass, void (*step)(const FftPass *, LLVMValueRef, int)) {
  const VecBuilder *vec = pass->vec;
  int lanes = power_of_two_below(min_i64(lane_count(pass), pass->rest));
  IrLoop places = ir_loop_count_apart(vec->builder, ir_range(vec->context, 0, pass->rest), lanes, NULL, 0);
  step(pass, last_start(pass, places.index, pass->rest, lanes), lanes);
  ir_loop_end(&places);
}

/* |pass->rest| places from the first one on, and one more, which is the difference of the first's parts. */
static void pass_of_pairs(const FftPass *pass) {
  const VecBuilder *vec = pass->vec;
  FftComplex begin = load(pass, pass->from, int_of(vec, 0), 1);
  vec_store(vec, pass->type, begin.re, line_end(pass, pass->from[0]), NULL, 1);
  vec_store(vec, pass->type, begin.im, line_end(pass, pass->from[1]), NULL, 1);
  FftComplex last = {LLVMBuildFSub(vec->builder, begin.re, begin.im, ""), vec_constant_double(vec, pass->type, 0, 1)};
  store(pass, last, int_of(vec, pass->rest), 1);
  pass_along(pass, step_of_pairs);
}

/* The first place and the last one of a real line's spectrum are real. */
static void pass_to_pairs(const FftPass *pass) {
  const VecBuilder *vec = pass->vec;
  LLVMValueRef zero = vec_constant_double(vec, pass->type, 0, 1);
  vec_store(vec, pass->type, zero, pass->from[0], NULL, 1);
  vec_store(vec, pass->type, zero, line_end(pass, pass->from[0]), NULL, 1);
  pass_along(pass, step_to_pairs);
}

static void pass_in_turn(const FftPass *pass) {
  pass_along(pass, step_in_turn);
}

/* --- the passes --- */

/* Wider shuffles cost more than they bring. */
enum { MOST_SHUFFLED = 8 };

static void emit_pass(const FftPass *pass) {
  int64_t extent = pass->side * pass->rest;
  int lanes = power_of_two_below(min_i64(lane_count(pass), extent));
  bool is_short = pass->side < lane_count(pass) && pass->side < lanes && lanes % pass->side == 0;
  bool has_masks = pass->vec->target->has_masks || pass->vec->target->has_masks_32;
  if (is_short && pass->radix <= MOST_SHUFFLED) {
    pass_in_lanes(pass, lanes);
  } else if (pass->side == 1 && pass->radix > MOST_SHUFFLED && has_masks) {
    pass_across(pass);
  } else {
    pass_by_point(pass);
  }
}

/* What comes before and after the passes of factors. */
static void (*const first_pass[])(const FftPass *) = {[KERNEL_TO_REALS] = pass_to_pairs};
static void (*const last_pass[])(const FftPass *) = {
    [KERNEL_OF_REALS] = pass_of_pairs, [KERNEL_TO_REALS] = pass_in_turn};

/* A line of |length| numbers, |lines| saying what all passes have in common. */
static void emit_passes(const KernelTransform *transform, const FftPass *lines, LLVMValueRef buffers[2][2],
                        int64_t length) {
  FftPass pass = *lines;
  int32_t first = transform->reals == KERNEL_TO_REALS, end = first + transform->factor_count;
  int64_t rest = length;
  pass.side = transform->inner;
  for (int32_t i = 0; i < kernel_transform_passes(transform); i++) {
    for (int part = 0; part < 2; part++) {
      pass.from[part] = buffers[i % 2][part];
      pass.to[part] = buffers[(i + 1) % 2][part];
    }
    if (i < first || i >= end) {
      pass.rest = length;
      (i < first ? first_pass : last_pass)[transform->reals](&pass);
      continue;
    }
    pass.radix = transform->factors[i - first];
    pass.rest = rest /= pass.radix;
    emit_pass(&pass);
    pass.side *= pass.radix;
  }
}

void fft_emit(const VecBuilder *vec, const Kernel *kernel, int stage, const LLVMValueRef *buffers) {
  const KernelTransform *transform = kernel->stages[stage].transform;
  int64_t length = kernel_transform_length(transform);
  FftPass lines = {.vec = vec, .type = kernel->buffers[transform->buffers[0][0]].type};
  IrLoop loop = ir_loop_count_guarded(vec->builder, ir_range(vec->context, 0, transform->outer), 1, NULL, 0);
  int64_t line = kernel_transform_elements(transform) / transform->outer;
  LLVMValueRef offset = times(&lines, loop.index, line), bound[2][2];
  for (int i = 0; i < 4; i++) bound[i / 2][i % 2] = element(&lines, buffers[transform->buffers[i / 2][i % 2]], offset);
  emit_passes(transform, &lines, bound, length);
  ir_loop_end(&loop);
}

double fft_operation_count(const KernelTransform *transform) {
  double points = (double)(transform->outer * transform->inner * kernel_transform_length(transform)), count = 0;
  for (int32_t i = 0; i < transform->factor_count; i++)
    count += points * (transform->factors[i] <= MOST_SHUFFLED ? 16 : 4 * (double)transform->factors[i]);
  return transform->reals != KERNEL_NO_REALS ? count + 16 * points : count;
}
