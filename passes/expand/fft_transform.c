/* One dimension of a Fourier transform. */
#include <math.h>

#include "base/checked_math.h"
#include "base/unit_root.h"
#include "passes/expand/fft_internal.h"

/* A constant of the transform's type. */
static HloInstruction *add_constant(FftBuilder *builder, const UnitRoot *values, const int64_t *dims, int rank) {
  HloModule *module = builder->graph.computation->module;
  const Shape *shape = shape_array(module->shapes, builder->type, dims, rank);
  Literal *literal = literal_create(module->arena, shape);
  int64_t count = shape_element_count(shape);
  for (int64_t i = 0; i < count; i++) literal_set_complex(literal, i, values[i].re, values[i].im);
  return hlo_computation_add_constant(builder->graph.computation, literal, (StringView){0});
}

/* [rows, columns]: exp(sign·2πi·step·row·column/n). */
static HloInstruction *root_table(FftBuilder *builder, int64_t rows, int64_t columns, int64_t step, int64_t n,
                                  int sign) {
  UnitRoot *values = ARENA_NEW_ARRAY(builder->graph.scratch, UnitRoot, rows * columns);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < columns; c++) values[r * columns + c] = unit_root(step * r % n * c % n, n, sign);
  }
  return add_constant(builder, values, (int64_t[]){rows, columns}, 2);
}

/* --- mixed radix --- */

enum { MAX_RADIX = 16, MAX_PRIME = 64, MAX_TABLE = 1 << 14 };

static int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; p++) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return max_i64(largest, n);
}

/* The next factor of |n|: whole when short; else the divisor that leaves the fewest equal steps, or a prime that has
 * no shorter one. */
static int64_t choose_radix(int64_t n) {
  if (n <= MAX_RADIX) return n;
  int steps = 1;
  for (int64_t reach = MAX_RADIX; reach < n; reach *= MAX_RADIX) steps++;
  double even = pow((double)n, 1.0 / steps);
  int64_t best = 0;
  for (int64_t d = 2; d <= MAX_RADIX; d++) {
    if (n % d == 0 && (best == 0 || fabs((double)d - even) <= fabs((double)best - even))) best = d;
  }
  for (int64_t d = MAX_RADIX + 1; best == 0; d++) {
    if (n % d == 0) best = d;
  }
  return best;
}

/* The dot over dimension 1 of |value| [a, radix, b] with the matrix of the short transform: [a, radix, b] again, or
 * (where b has to move outside) [radix, a, b]. */
static HloInstruction *short_transform(FftBuilder *builder, HloInstruction *value, int sign, bool *out_is_outside) {
  ShapeTable *shapes = graph_shapes(&builder->graph);
  int64_t a = value->shape->dims[0], radix = value->shape->dims[1], b = value->shape->dims[2];
  HloInstruction *matrix = root_table(builder, radix, radix, 1, radix, sign);
  *out_is_outside = b > 1;
  HloInstruction *dot;
  int64_t one = 1;
  if (b > 1) {
    const Shape *shape = shape_array(shapes, builder->type, (int64_t[]){radix, a, b}, 3);
    dot = graph_add(&builder->graph, HLO_DOT, shape, (HloInstruction *[]){matrix, value}, 2);
    hlo_instruction_set_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS, &one, 1);
  } else {
    HloInstruction *rows = graph_reshape(&builder->graph, value, (int64_t[]){a, radix}, 2);
    dot = graph_add(&builder->graph, HLO_DOT, rows->shape, (HloInstruction *[]){rows, matrix}, 2);
    hlo_instruction_set_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS, (int64_t[]){0}, 1);
  }
  hlo_instruction_set_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS, &one, 1);
  return dot;
}

HloInstruction *fft_twiddles(FftBuilder *builder, int64_t n, int64_t radix, int sign, const int64_t *dims) {
  int64_t rest = n / radix, part = 1;
  if (n > MAX_TABLE) {
    while (part * part < rest) part++;
    while (rest % part != 0) part++;
  }
  if (part == 1 || part == rest) {
    HloInstruction *table = root_table(builder, rest, radix, 1, n, sign);
    return graph_broadcast(&builder->graph, table, (int64_t[]){1, 2}, 2, dims, 4);
  }
  const int64_t split[5] = {dims[0], rest / part, part, radix, dims[3]};
  HloInstruction *high = root_table(builder, rest / part, radix, part, n, sign);
  HloInstruction *low = root_table(builder, part, radix, 1, n, sign);
  high = graph_broadcast(&builder->graph, high, (int64_t[]){1, 3}, 2, split, 5);
  low = graph_broadcast(&builder->graph, low, (int64_t[]){2, 3}, 2, split, 5);
  return graph_reshape(&builder->graph, fft_multiply(builder, high, low), dims, 4);
}

/* [a, n, b] with n = radix·rest: the short transforms of what is |rest| apart, [a, rest, radix, b]; what remains are
 * transforms of length |rest| whose results have the short ones' as their last digit. */
static HloInstruction *step(FftBuilder *builder, HloInstruction *value, int64_t radix, int sign) {
  ShapeTable *shapes = graph_shapes(&builder->graph);
  int64_t a = value->shape->dims[0], n = value->shape->dims[1], b = value->shape->dims[2], rest = n / radix;
  bool is_outside;
  HloInstruction *digits = graph_reshape(&builder->graph, value, (int64_t[]){a, radix, rest * b}, 3);
  digits = short_transform(builder, digits, sign, &is_outside);
  if (!is_outside) return digits;
  const int64_t moved[4] = {a, rest, radix, b};
  digits = graph_reshape(&builder->graph, digits, (int64_t[]){radix, a, rest, b}, 4);
  const Shape *shape = shape_array(shapes, builder->type, moved, 4);
  digits = graph_add(&builder->graph, HLO_TRANSPOSE, shape, &digits, 1);
  hlo_instruction_set_ints(digits, HLO_ATTR_DIMENSIONS, (int64_t[]){1, 2, 0, 3}, 4);
  return rest == 1 ? digits : fft_multiply(builder, digits, fft_twiddles(builder, n, radix, sign, moved));
}

static HloInstruction *mixed_radix(FftBuilder *builder, HloInstruction *value, int sign) {
  int64_t a = value->shape->dims[0], n = value->shape->dims[1], b = value->shape->dims[2];
  for (int64_t rest = n, done = 1; rest > 1;) {
    int64_t radix = choose_radix(rest);
    value = step(builder, graph_reshape(&builder->graph, value, (int64_t[]){a, rest, done * b}, 3), radix, sign);
    rest /= radix;
    done *= radix;
  }
  return graph_reshape(&builder->graph, value, (int64_t[]){a, n, b}, 3);
}

/* --- any length --- */

/* Radix 2 in place, |count| being a power of two, forwards. */
static void transform_power_of_two(UnitRoot *values, int64_t count) {
  for (int64_t i = 1, j = 0; i < count; i++) {
    int64_t bit = count >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    UnitRoot swapped = values[i];
    values[i] = values[j];
    values[j] = swapped;
  }
  for (int64_t size = 2; size <= count; size *= 2) {
    for (int64_t k = 0; k < size / 2; k++) {
      UnitRoot root = unit_root(k, size, -1);
      for (int64_t at = k; at < count; at += size) {
        UnitRoot *even = &values[at], *odd = &values[at + size / 2];
        UnitRoot turned = {odd->re * root.re - odd->im * root.im, odd->re * root.im + odd->im * root.re};
        *odd = (UnitRoot){even->re - turned.re, even->im - turned.im};
        *even = (UnitRoot){even->re + turned.re, even->im + turned.im};
      }
    }
  }
}

/* In place, forwards: transforms of what is |odd| apart, |odd| being the largest odd divisor, and roots of unity. */
static void transform_roots(UnitRoot *values, int64_t count, Arena *scratch) {
  int64_t odd = count;
  while (odd % 2 == 0) odd /= 2;
  if (odd == 1) {
    transform_power_of_two(values, count);
    return;
  }
  int64_t each = count / odd;
  UnitRoot *parts = ARENA_NEW_ARRAY(scratch, UnitRoot, count), *roots = ARENA_NEW_ARRAY(scratch, UnitRoot, count);
  for (int64_t r = 0; r < odd; r++) {
    for (int64_t q = 0; q < each; q++) parts[r * each + q] = values[q * odd + r];
    transform_power_of_two(parts + r * each, each);
  }
  for (int64_t k = 0; k < count; k++) roots[k] = unit_root(k, count, -1);
  for (int64_t k = 0; k < count; k++) {
    UnitRoot sum = {0, 0};
    for (int64_t r = 0; r < odd; r++) {
      UnitRoot part = parts[r * each + k % each], root = roots[r * k % count];
      sum.re += part.re * root.re - part.im * root.im;
      sum.im += part.re * root.im + part.im * root.re;
    }
    values[k] = sum;
  }
}

/* The least length with room for both ends that is a power of two, or that times 3, 5 or 9: no more passes than the
 * power of two above it has. */
static int64_t convolution_length(int64_t n) {
  static const int64_t odd[] = {1, 3, 5, 9};
  int64_t least = 0;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    int64_t length = odd[i];
    while (length < 2 * n - 1) length *= 2;
    if (least == 0 || length < least) least = length;
  }
  return least;
}

void fft_chirps(FftBuilder *builder, int64_t n, int sign, double scale, int64_t *out_length, HloInstruction **out_waves,
                HloInstruction **out_spectrum) {
  int64_t length = convolution_length(n);
  if (scale == 0) scale = 1.0 / (double)length;
  UnitRoot *chirp = ARENA_NEW_ARRAY(builder->graph.scratch, UnitRoot, n),
           *filter = ARENA_NEW_ARRAY(builder->graph.scratch, UnitRoot, length);
  for (int64_t j = 0; j < n; j++) chirp[j] = unit_root(j * j % (2 * n), 2 * n, sign);
  for (int64_t j = 0; j < n; j++) {
    filter[j] = filter[(length - j) % length] = (UnitRoot){chirp[j].re * scale, -chirp[j].im * scale};
  }
  transform_roots(filter, length, builder->graph.scratch);
  *out_length = length;
  *out_waves = add_constant(builder, chirp, &n, 1);
  *out_spectrum = add_constant(builder, filter, &length, 1);
}

static HloInstruction *by_convolution(FftBuilder *builder, HloInstruction *value, int sign) {
  int64_t a = value->shape->dims[0], n = value->shape->dims[1], b = value->shape->dims[2], length;
  HloInstruction *waves, *spectrum;
  fft_chirps(builder, n, sign, 0, &length, &waves, &spectrum);
  const int64_t one = 1, long_dims[3] = {a, length, b};
  waves = graph_broadcast(&builder->graph, waves, &one, 1, value->shape->dims, 3);
  HloInstruction *padded = graph_pad(&builder->graph, fft_multiply(builder, value, waves),
                                     graph_zero(&builder->graph, builder->type, NULL), 1, length - n);
  HloInstruction *product = mixed_radix(builder, padded, -1);
  product = fft_multiply(builder, product, graph_broadcast(&builder->graph, spectrum, &one, 1, long_dims, 3));
  HloInstruction *convolved = graph_slice(&builder->graph, mixed_radix(builder, product, 1), 1, 0, n);
  return fft_multiply(builder, convolved, waves);
}

HloInstruction *fft_transform(FftBuilder *builder, HloInstruction *value, int sign) {
  int64_t n = value->shape->dims[1];
  if (largest_prime_factor(n) > MAX_PRIME) return by_convolution(builder, value, sign);
  return mixed_radix(builder, value, sign);
}
