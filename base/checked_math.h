/* Arithmetic on sizes that come from hostile text: false instead of overflow. */
#ifndef XLAC_BASE_CHECKED_MATH_H
#define XLAC_BASE_CHECKED_MATH_H

#include <stdbool.h>
#include <stdint.h>

/* Each is false where the result does not fit, and |out| is then not to be read. */
static inline bool checked_add(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool checked_sub(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}
static inline bool checked_mul(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}

/* The nearest that there is, where the sum is beyond what fits. */
static inline int64_t saturated_add(int64_t a, int64_t b) {
  int64_t sum;
  return checked_add(a, b, &sum) ? sum : (b > 0 ? INT64_MAX : INT64_MIN);
}

/* Not negative. */
static inline int64_t greatest_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t remainder = a % b;
    a = b;
    b = remainder;
  }
  return a < 0 ? -a : a;
}

static inline int64_t min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t max_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}
/* b > 0, a >= 0. */
static inline int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}
/* b > 0; towards minus infinity. */
static inline int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
static inline int64_t align_up(int64_t value, int64_t alignment) {
  return ceil_div(value, alignment) * alignment;
}

#endif
