/* Sums of products of dense work numbers, which dot and convolution come down to. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

LaneClass eval_sum_class(PrimitiveType type) {
  LaneClass lane = lane_class(type);
  return lane == LANE_FLOAT || lane == LANE_COMPLEX ? lane : LANE_UNSIGNED;
}

static PrimitiveType widest_type(LaneClass lane) {
  if (lane == LANE_COMPLEX) return TYPE_C128;
  return lane == LANE_FLOAT ? TYPE_F64 : TYPE_U64;
}

void eval_load_box(const Literal *from, int64_t start, int rank, const int64_t *dims, const int64_t *strides,
                   LaneClass lane, void *out) {
  PrimitiveType type = from->shape->type;
  for (int i = 0; i < rank; i++)
    if (dims[i] == 0) return;
  int64_t index[EVAL_MAX_RANK] = {0};
  int outer = rank > 0 ? rank - 1 : 0;
  int64_t row = rank > 0 ? dims[outer] : 1, stride = rank > 0 ? strides[outer] : 1;
  char *to = out;
  do {
    int64_t at = start + eval_offset(outer, index, strides);
    lanes_load(type, literal_element(from, at), stride, row, to);
    if (lane == LANE_FLOAT || lane == LANE_COMPLEX)
      if (lane_class(type) != lane) lanes_convert(lane_class(type), widest_type(lane), row, to, to);
    to += (size_t)row * lane_bytes(lane);
  } while (eval_next_index(outer, dims, index));
}

enum { ROWS = 4, COLUMNS = 8 };

#define MATMUL(name, Number, MULTIPLY_ADD)                                                                     \
  /* |rows| rows of the result: each number of |b| is read once for all. */                                    \
  static void name##_rows(int64_t rows, int64_t k, int64_t n, const Number *a, const Number *b, Number *out) { \
    for (int64_t i = 0; i < k; i++, b += n) {                                                                  \
      for (int64_t row = 0; row < rows; row++) {                                                               \
        Number factor = a[row * k + i];                                                                        \
        Number *sum = out + row * n;                                                                           \
        int64_t j = 0;                                                                                         \
        for (; j + COLUMNS <= n; j += COLUMNS)                                                                 \
          for (int64_t l = 0; l < COLUMNS; l++) MULTIPLY_ADD(sum[j + l], factor, b[j + l]);                    \
        for (; j < n; j++) MULTIPLY_ADD(sum[j], factor, b[j]);                                                 \
      }                                                                                                        \
    }                                                                                                          \
  }                                                                                                            \
  static void name(int64_t m, int64_t k, int64_t n, const Number *a, const Number *b, Number *out) {           \
    for (int64_t row = 0; row < m; row += ROWS)                                                                \
      name##_rows(min_i64(ROWS, m - row), k, n, a + row * k, b, out + row * n);                                \
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

void eval_store_sums(PrimitiveType type, void *data, int64_t count, void *sums) {
  if (type == TYPE_PRED) lanes_convert(LANE_UNSIGNED, type, count, sums, sums);
  lanes_store(type, data, count, sums);
}
