/* Sums of products of dense work numbers, which dot and convolution come down to. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

LaneClass eval_sum_class(PrimitiveType type) {
  LaneClass lane = lane_class(type);
  return lane == LANE_FLOAT || lane == LANE_COMPLEX ? lane : LANE_UNSIGNED;
}

PrimitiveType eval_sum_type(const EvalStep *step) {
  return type_of_sums(eval_operand_shape(step, 0)->type, eval_operand_shape(step, 1)->type,
                      step->instruction->shape->type);
}

/* |count| elements, |stride| apart, as the work numbers that elements of |type| made of them have.  A complex number
 * loses its imaginary part before anything is asked of it. */
static void load_converted(PrimitiveType from, const char *data, int64_t stride, int64_t count, PrimitiveType type,
                           char *out) {
  LaneBlock block;
  char elements[LANES * sizeof(LaneComplex)];
  for (int64_t start = 0; start < count; start += LANES) {
    int64_t part = min_i64(LANES, count - start);
    lanes_load(from, data + start * stride * type_storage_bytes(from), stride, part, &block);
    LaneClass lane = lane_class(from);
    if (lane == LANE_COMPLEX && !type_is_complex(type)) {
      lanes_convert(lane, TYPE_F64, part, &block, &block);
      lane = LANE_FLOAT;
    }
    lanes_convert(lane, type, part, &block, &block);
    lanes_store(type, elements, part, &block);
    lanes_load(type, elements, 1, part, out + (size_t)start * lane_bytes(lane_class(type)));
  }
}

void eval_load_box(const Literal *from, int64_t start, int rank, const int64_t *dims, const int64_t *strides,
                   PrimitiveType type, void *out) {
  PrimitiveType own = from->shape->type;
  for (int i = 0; i < rank; i++)
    if (dims[i] == 0) return;
  int64_t index[EVAL_MAX_RANK] = {0};
  int outer = rank > 0 ? rank - 1 : 0;
  int64_t row = rank > 0 ? dims[outer] : 1, stride = rank > 0 ? strides[outer] : 1;
  char *to = out;
  do {
    int64_t at = start + eval_offset(outer, index, strides);
    if (own == type)
      lanes_load(type, literal_element(from, at), stride, row, to);
    else
      load_converted(own, literal_element(from, at), stride, row, type, to);
    to += (size_t)row * lane_bytes(lane_class(type));
  } while (eval_next_index(outer, dims, index));
}

enum { ROWS = 4, COLUMNS = 64 };

/* A tile of ROWS × COLUMNS sums stays in the first-level cache while |k| goes by; each number of |b| is read once for
 * all rows. */
#define MATMUL(name, Number, MULTIPLY_ADD)                                                                      \
  static void name##_edge(int64_t m, int64_t k, int64_t n, int64_t stride, const Number *a, const Number *b,    \
                          Number *out) {                                                                        \
    for (int64_t row = 0; row < m; row++)                                                                       \
      for (int64_t i = 0; i < k; i++)                                                                           \
        for (int64_t j = 0; j < n; j++) MULTIPLY_ADD(out[row * stride + j], a[row * k + i], b[i * stride + j]); \
  }                                                                                                             \
  static void name##_tile(int64_t k, int64_t stride, const Number *a, const Number *b, Number *out) {           \
    Number sums[ROWS][COLUMNS];                                                                                 \
    for (int row = 0; row < ROWS; row++) memcpy(sums[row], out + row * stride, sizeof sums[row]);               \
    for (int64_t i = 0; i < k; i++) {                                                                           \
      const Number *values = b + i * stride;                                                                    \
      for (int row = 0; row < ROWS; row++) {                                                                    \
        Number factor = a[row * k + i];                                                                         \
        for (int j = 0; j < COLUMNS; j++) MULTIPLY_ADD(sums[row][j], factor, values[j]);                        \
      }                                                                                                         \
    }                                                                                                           \
    for (int row = 0; row < ROWS; row++) memcpy(out + row * stride, sums[row], sizeof sums[row]);               \
  }                                                                                                             \
  static void name(int64_t m, int64_t k, int64_t n, const Number *a, const Number *b, Number *out) {            \
    int64_t rows = m - m % ROWS, columns = n - n % COLUMNS;                                                     \
    for (int64_t j = 0; j < columns; j += COLUMNS) {                                                            \
      for (int64_t row = 0; row < rows; row += ROWS) name##_tile(k, n, a + row * k, b + j, out + row * n + j);  \
      name##_edge(m - rows, k, COLUMNS, n, a + rows * k, b + j, out + rows * n + j);                            \
    }                                                                                                           \
    if (columns < n) name##_edge(m, k, n - columns, n, a, b + columns, out + columns);                          \
  }

#define REAL_MULTIPLY_ADD(sum, x, y) (sum) += (x) * (y)
#define COMPLEX_MULTIPLY_ADD(sum, x, y)            \
  do {                                             \
    (sum).re += (x).re * (y).re - (x).im * (y).im; \
    (sum).im += (x).re * (y).im + (x).im * (y).re; \
  } while (0)

MATMUL(matmul_float, double, REAL_MULTIPLY_ADD)
MATMUL(matmul_integer, uint64_t, REAL_MULTIPLY_ADD)
MATMUL(matmul_complex, LaneComplex, COMPLEX_MULTIPLY_ADD)

void eval_matmul(LaneClass lane, int64_t m, int64_t k, int64_t n, const void *a, const void *b, void *out) {
  if (lane == LANE_FLOAT)
    matmul_float(m, k, n, a, b, out);
  else if (lane == LANE_COMPLEX)
    matmul_complex(m, k, n, a, b, out);
  else
    matmul_integer(m, k, n, a, b, out);
}

void eval_store_sums(PrimitiveType sum_type, int64_t count, void *sums, PrimitiveType type, void *data) {
  if (sum_type == TYPE_PRED) lanes_convert(LANE_UNSIGNED, sum_type, count, sums, sums);
  if (sum_type == type) {
    lanes_store(type, data, count, sums);
    return;
  }
  LaneBlock block;
  char elements[LANES * sizeof(LaneComplex)];
  for (int64_t start = 0; start < count; start += LANES) {
    int64_t part = min_i64(LANES, count - start);
    lanes_store(sum_type, elements, part, (char *)sums + (size_t)start * lane_bytes(lane_class(sum_type)));
    load_converted(sum_type, elements, 1, part, type, (char *)&block);
    lanes_store(type, (char *)data + start * type_storage_bytes(type), part, &block);
  }
}
