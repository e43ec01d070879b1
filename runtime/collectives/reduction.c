#include "runtime/collectives/reduction.h"

#include <complex.h>
#include <stdbool.h>
#include <string.h>

#include "xlac/abi.h"

/* --- half precision --- */

typedef struct Bf16 {
  uint16_t bits;
} Bf16;

__extension__ typedef _Float16 F16;

static float bf16_widen(Bf16 value) {
  uint32_t bits = (uint32_t)value.bits << 16;
  float wide;
  memcpy(&wide, &bits, sizeof wide);
  return wide;
}

static Bf16 bf16_round(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return (Bf16){(uint16_t)(bits >> 16 | 0x40)};
  return (Bf16){(uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}

/* --- one element --- */

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))
#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))
/* A NaN wins; of two zeroes of different sign the negative one is the smaller. */
#define FLOAT_MINIMUM(a, b) ((a) != (a) || (a) < (b) ? (a) : (b) != (b) || (b) < (a) || signbit_of(b) ? (b) : (a))
#define FLOAT_MAXIMUM(a, b) ((a) != (a) || (a) > (b) ? (a) : (b) != (b) || (b) > (a) || !signbit_of(b) ? (b) : (a))
#define signbit_of(a) __builtin_signbit(a)

/* --- arrays --- */

/* |wide|: the type in which it is computed. */
#define FUNCTION(name, type, wide, operation)                                                \
  static void name(const void *in, void *inout, int64_t count) {                             \
    const type *from = in;                                                                   \
    type *to = inout;                                                                        \
    for (int64_t i = 0; i < count; i++) to[i] = (type)operation((wide)to[i], (wide)from[i]); \
  }

/* Sums and products of signed integers wrap, so they are computed as unsigned ones; those of small ones as well, which
 * would become int. */
#define INTEGER(name, type, unsigned_type)                 \
  FUNCTION(name##_add, type, unsigned_type, ADD)           \
  FUNCTION(name##_multiply, type, unsigned_type, MULTIPLY) \
  FUNCTION(name##_minimum, type, type, MINIMUM)            \
  FUNCTION(name##_maximum, type, type, MAXIMUM)            \
  FUNCTION(name##_and, type, type, AND)                    \
  FUNCTION(name##_or, type, type, OR)                      \
  FUNCTION(name##_xor, type, type, XOR)

#define FLOAT(name, type, wide)                       \
  FUNCTION(name##_add, type, wide, ADD)               \
  FUNCTION(name##_multiply, type, wide, MULTIPLY)     \
  FUNCTION(name##_minimum, type, wide, FLOAT_MINIMUM) \
  FUNCTION(name##_maximum, type, wide, FLOAT_MAXIMUM)

#define BF16(name, operation)                                    \
  static void name(const void *in, void *inout, int64_t count) { \
    const Bf16 *from = in;                                       \
    Bf16 *to = inout;                                            \
    for (int64_t i = 0; i < count; i++) {                        \
      float a = bf16_widen(to[i]), b = bf16_widen(from[i]);      \
      to[i] = bf16_round(operation(a, b));                       \
    }                                                            \
  }

INTEGER(s8, int8_t, uint32_t)
INTEGER(s16, int16_t, uint32_t)
INTEGER(s32, int32_t, uint32_t)
INTEGER(s64, int64_t, uint64_t)
INTEGER(u8, uint8_t, uint32_t)
INTEGER(u16, uint16_t, uint32_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(u64, uint64_t, uint64_t)
FLOAT(f16, F16, float)
FLOAT(f32, float, float)
FLOAT(f64, double, double)
BF16(bf16_add, ADD)
BF16(bf16_multiply, MULTIPLY)
BF16(bf16_minimum, FLOAT_MINIMUM)
BF16(bf16_maximum, FLOAT_MAXIMUM)
FUNCTION(pred_and, bool, bool, AND)
FUNCTION(pred_or, bool, bool, OR)
FUNCTION(pred_xor, bool, bool, XOR)
FUNCTION(c64_add, float complex, float complex, ADD)
FUNCTION(c128_add, double complex, double complex, ADD)

/* Plain products of the parts, as code has them: C's own repairs infinities. */
#define COMPLEX_MULTIPLY(name, part)                                       \
  static void name(const void *in, void *inout, int64_t count) {           \
    const part *from = in;                                                 \
    part *to = inout;                                                      \
    for (int64_t i = 0; i < count; i++) {                                  \
      part re = to[2 * i] * from[2 * i] - to[2 * i + 1] * from[2 * i + 1]; \
      part im = to[2 * i] * from[2 * i + 1] + to[2 * i + 1] * from[2 * i]; \
      to[2 * i] = re;                                                      \
      to[2 * i + 1] = im;                                                  \
    }                                                                      \
  }
COMPLEX_MULTIPLY(c64_multiply, float)
COMPLEX_MULTIPLY(c128_multiply, double)

/* --- the table --- */

typedef struct ReductionRow {
  int32_t type;
  int32_t element_bytes;
  ReductionFunction *functions[XLAC_REDUCE_XOR + 1];
} ReductionRow;

#define SUMS(name) [XLAC_REDUCE_ADD] = name##_add, [XLAC_REDUCE_MULTIPLY] = name##_multiply
#define EXTREMES(name) [XLAC_REDUCE_MINIMUM] = name##_minimum, [XLAC_REDUCE_MAXIMUM] = name##_maximum
#define LOGIC(name) [XLAC_REDUCE_AND] = name##_and, [XLAC_REDUCE_OR] = name##_or, [XLAC_REDUCE_XOR] = name##_xor

static const ReductionRow rows[] = {
    {XLAC_PRED, 1, {LOGIC(pred)}},
    {XLAC_S8, 1, {SUMS(s8), EXTREMES(s8), LOGIC(s8)}},
    {XLAC_S16, 2, {SUMS(s16), EXTREMES(s16), LOGIC(s16)}},
    {XLAC_S32, 4, {SUMS(s32), EXTREMES(s32), LOGIC(s32)}},
    {XLAC_S64, 8, {SUMS(s64), EXTREMES(s64), LOGIC(s64)}},
    {XLAC_U8, 1, {SUMS(u8), EXTREMES(u8), LOGIC(u8)}},
    {XLAC_U16, 2, {SUMS(u16), EXTREMES(u16), LOGIC(u16)}},
    {XLAC_U32, 4, {SUMS(u32), EXTREMES(u32), LOGIC(u32)}},
    {XLAC_U64, 8, {SUMS(u64), EXTREMES(u64), LOGIC(u64)}},
    {XLAC_F16, 2, {SUMS(f16), EXTREMES(f16)}},
    {XLAC_BF16, 2, {SUMS(bf16), EXTREMES(bf16)}},
    {XLAC_F32, 4, {SUMS(f32), EXTREMES(f32)}},
    {XLAC_F64, 8, {SUMS(f64), EXTREMES(f64)}},
    {XLAC_C64, 8, {SUMS(c64)}},
    {XLAC_C128, 16, {SUMS(c128)}},
};

static const ReductionRow *row_of(int32_t type) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].type == type) return &rows[i];
  }
  return NULL;
}

ReductionFunction *reduction_function(int32_t type, int32_t reducer) {
  const ReductionRow *row = row_of(type);
  return row == NULL || reducer < XLAC_REDUCE_ADD || reducer > XLAC_REDUCE_XOR ? NULL : row->functions[reducer];
}

int64_t reduction_element_bytes(int32_t type) {
  const ReductionRow *row = row_of(type);
  return row == NULL ? 0 : row->element_bytes;
}
