#include "hlo/eval/lanes.h"

#include <math.h>
#include <string.h>

#include "hlo/type/float_types.h"

static const LaneClass class_of_type_class[] = {
    [TYPE_CLASS_PRED] = LANE_PRED,   [TYPE_CLASS_SIGNED] = LANE_SIGNED,   [TYPE_CLASS_UNSIGNED] = LANE_UNSIGNED,
    [TYPE_CLASS_FLOAT] = LANE_FLOAT, [TYPE_CLASS_COMPLEX] = LANE_COMPLEX,
};

LaneClass lane_class(PrimitiveType type) {
  return class_of_type_class[type_info(type)->type_class];
}

size_t lane_bytes(LaneClass lane) {
  return lane == LANE_COMPLEX ? sizeof(LaneComplex) : sizeof(double);
}

/* ---- the two half-width types, which are common enough to be worth a short way ---- */

static inline double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double bf16_decode(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  if ((wide & 0x7F800000u) == 0x7F800000u) return float_decode(TYPE_BF16, bits);
  float value;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

/* Normal results by integer rounding of the double's bits: |drop| mantissa bits go. */
static inline uint64_t round_bits(double value, int drop) {
  uint64_t bits = bits_of_double(value);
  return (bits + ((uint64_t)1 << (drop - 1)) - 1 + ((bits >> drop) & 1)) & ~(((uint64_t)1 << drop) - 1);
}

static inline uint16_t bf16_encode(double value) {
  double size = fabs(value);
  if (!(size >= 0x1p-126 && size < 0x1p127)) return (uint16_t)float_encode(TYPE_BF16, value);
  float rounded = (float)double_of_bits(round_bits(value, 52 - 7));
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static inline double f16_decode(uint16_t bits) {
  unsigned exponent = (bits >> 10) & 31u;
  if (exponent == 0 || exponent == 31) return float_decode(TYPE_F16, bits);
  uint64_t wide =
      (uint64_t)(bits >> 15) << 63 | (uint64_t)(exponent + 1023 - 15) << 52 | (uint64_t)(bits & 1023u) << 42;
  return double_of_bits(wide);
}

static inline uint16_t f16_encode(double value) {
  double size = fabs(value);
  if (!(size >= 0x1p-14 && size < 0x1p15)) return (uint16_t)float_encode(TYPE_F16, value);
  uint64_t bits = round_bits(value, 52 - 10);
  uint64_t exponent = ((bits >> 52) & 2047u) - 1023 + 15;
  return (uint16_t)(bits >> 63 << 15 | exponent << 10 | ((bits >> 42) & 1023u));
}

/* ---- load ---- */

#define LOAD(Type, Work, conversion)                                                  \
  do {                                                                                \
    const Type *from = data;                                                          \
    Work *to = out;                                                                   \
    for (int64_t i = 0; i < count; i++) to[i] = (Work)(conversion(from[i * stride])); \
  } while (0)

static void load_narrow_float(PrimitiveType type, const uint8_t *from, int64_t stride, int64_t count, double *to) {
  for (int64_t i = 0; i < count; i++) to[i] = float_decode(type, from[i * stride]);
}

static void load_complex(PrimitiveType type, const void *data, int64_t stride, int64_t count, LaneComplex *to) {
  const float *narrow = data;
  const double *wide = data;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 2 * i * stride;
    to[i] = type == TYPE_C64 ? (LaneComplex){(double)narrow[at], (double)narrow[at + 1]}
                             : (LaneComplex){wide[at], wide[at + 1]};
  }
}

void lanes_load(PrimitiveType type, const void *data, int64_t stride, int64_t count, void *out) {
  switch (type) {
    case TYPE_S1:
    case TYPE_S2:
    case TYPE_S4:
    case TYPE_S8: LOAD(int8_t, int64_t, ); break;
    case TYPE_S16: LOAD(int16_t, int64_t, ); break;
    case TYPE_S32: LOAD(int32_t, int64_t, ); break;
    case TYPE_S64: LOAD(int64_t, int64_t, ); break;
    case TYPE_PRED:
    case TYPE_U1:
    case TYPE_U2:
    case TYPE_U4:
    case TYPE_U8: LOAD(uint8_t, uint64_t, ); break;
    case TYPE_U16: LOAD(uint16_t, uint64_t, ); break;
    case TYPE_U32: LOAD(uint32_t, uint64_t, ); break;
    case TYPE_U64: LOAD(uint64_t, uint64_t, ); break;
    case TYPE_F32: LOAD(float, double, ); break;
    case TYPE_F64: LOAD(double, double, ); break;
    case TYPE_BF16: LOAD(uint16_t, double, bf16_decode); break;
    case TYPE_F16: LOAD(uint16_t, double, f16_decode); break;
    case TYPE_C64:
    case TYPE_C128: load_complex(type, data, stride, count, out); break;
    default:
      XLAC_CHECK(type_is_float(type) && type_storage_bytes(type) == 1);
      load_narrow_float(type, data, stride, count, out);
      break;
  }
}

/* ---- store ---- */

#define STORE(Type, Work, conversion)                                        \
  do {                                                                       \
    const Work *from = values;                                               \
    Type *to = data;                                                         \
    for (int64_t i = 0; i < count; i++) to[i] = (Type)(conversion(from[i])); \
  } while (0)

/* Types of less than a byte keep their sign in it. */
static void store_small_integer(PrimitiveType type, uint8_t *to, int64_t count, const int64_t *from) {
  for (int64_t i = 0; i < count; i++) type_store_int(type, &to[i], from[i]);
}

static void store_narrow_float(PrimitiveType type, uint8_t *to, int64_t count, const double *from) {
  for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)float_encode(type, from[i]);
}

static void store_complex(PrimitiveType type, void *data, int64_t count, const LaneComplex *from) {
  float *narrow = data;
  if (type == TYPE_C128) {
    memcpy(data, from, (size_t)count * sizeof *from);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    narrow[2 * i] = (float)from[i].re;
    narrow[2 * i + 1] = (float)from[i].im;
  }
}

void lanes_store(PrimitiveType type, void *data, int64_t count, const void *values) {
  switch (type) {
    case TYPE_S8: STORE(int8_t, int64_t, ); break;
    case TYPE_S16: STORE(int16_t, int64_t, ); break;
    case TYPE_S32: STORE(int32_t, int64_t, ); break;
    case TYPE_S64: STORE(int64_t, int64_t, ); break;
    case TYPE_U8:
    case TYPE_PRED: STORE(uint8_t, uint64_t, ); break;
    case TYPE_U16: STORE(uint16_t, uint64_t, ); break;
    case TYPE_U32: STORE(uint32_t, uint64_t, ); break;
    case TYPE_U64: STORE(uint64_t, uint64_t, ); break;
    case TYPE_F32: STORE(float, double, ); break;
    case TYPE_F64: STORE(double, double, ); break;
    case TYPE_BF16: STORE(uint16_t, double, bf16_encode); break;
    case TYPE_F16: STORE(uint16_t, double, f16_encode); break;
    case TYPE_C64:
    case TYPE_C128: store_complex(type, data, count, values); break;
    default:
      XLAC_CHECK(type_storage_bytes(type) == 1 && (type_is_float(type) || type_is_integral(type)));
      if (type_is_float(type))
        store_narrow_float(type, data, count, values);
      else
        store_small_integer(type, data, count, values);
      break;
  }
}

/* ---- convert ---- */

/* A 64-bit integer as a double that rounds to any narrower type as the integer itself would: inexact ones are rounded
 * to odd. */
static double double_of_magnitude(uint64_t magnitude) {
  if (magnitude < (uint64_t)1 << 53) return (double)magnitude;
  int drop = 64 - 53 - __builtin_clzll(magnitude);
  uint64_t kept = magnitude >> drop;
  bool is_inexact = (kept << drop) != magnitude;
  return ldexp((double)(kept | (uint64_t)is_inexact), drop);
}

static double float_of_integer(LaneClass from, const void *in, int64_t i, PrimitiveType type) {
  uint64_t bits = ((const uint64_t *)in)[i];
  bool is_negative = from == LANE_SIGNED && (int64_t)bits < 0;
  if (type == TYPE_F64) return from == LANE_SIGNED ? (double)(int64_t)bits : (double)bits;
  double magnitude = double_of_magnitude(is_negative ? -bits : bits);
  return is_negative ? -magnitude : magnitude;
}

/* Saturating; |low| and |high| are what the type holds. */
static int64_t signed_of_float(double value, int64_t low, int64_t high) {
  if (isnan(value)) return 0;
  if (value <= (double)low) return low;
  if (value >= (double)high) return high;
  return (int64_t)value;
}

static uint64_t unsigned_of_float(double value, uint64_t high) {
  if (isnan(value) || value <= 0) return 0;
  if (value >= (double)high) return high;
  return (uint64_t)value;
}

static void convert_to_integer(LaneClass from, PrimitiveType type, int64_t count, const void *in, uint64_t *out) {
  bool is_pred = type == TYPE_PRED, is_signed = type_is_signed(type);
  for (int64_t i = 0; i < count; i++) {
    if (from != LANE_FLOAT && from != LANE_COMPLEX) {
      uint64_t value = ((const uint64_t *)in)[i];
      out[i] = is_pred ? value != 0 : value;
      continue;
    }
    LaneComplex value = from == LANE_COMPLEX ? ((const LaneComplex *)in)[i] : (LaneComplex){((const double *)in)[i], 0};
    if (is_pred)
      out[i] = value.re != 0 || value.im != 0;
    else if (is_signed)
      out[i] = (uint64_t)signed_of_float(value.re, type_int_min(type), (int64_t)type_int_max(type));
    else
      out[i] = unsigned_of_float(value.re, type_int_max(type));
  }
}

static double float_of(LaneClass from, PrimitiveType type, const void *in, int64_t i) {
  if (from == LANE_FLOAT) return ((const double *)in)[i];
  if (from == LANE_COMPLEX) return ((const LaneComplex *)in)[i].re;
  return float_of_integer(from, in, i, type);
}

void lanes_convert(LaneClass from, PrimitiveType type, int64_t count, const void *in, void *out) {
  LaneClass to = lane_class(type);
  if (to == LANE_FLOAT) {
    if (from == LANE_FLOAT && in == out) return;
    double *values = out;
    for (int64_t i = 0; i < count; i++) values[i] = float_of(from, type, in, i);
  } else if (to == LANE_COMPLEX) {
    LaneComplex *values = out;
    PrimitiveType part = type_complex_part(type);
    /* From the end, as what is read may be narrower. */
    for (int64_t i = count - 1; i >= 0; i--) {
      if (from == LANE_COMPLEX)
        values[i] = ((const LaneComplex *)in)[i];
      else
        values[i] = (LaneComplex){float_of(from, part, in, i), 0};
    }
  } else {
    convert_to_integer(from, type, count, in, out);
  }
}

/* ---- kernels ---- */

LaneKernel *lane_kernel(HloOpcode opcode, LaneClass lane) {
  switch (lane) {
    case LANE_FLOAT: return lane_float_kernel(opcode);
    case LANE_COMPLEX: return lane_complex_kernel(opcode);
    case LANE_PRED:
    case LANE_SIGNED:
    case LANE_UNSIGNED: return lane_integer_kernel(opcode, lane);
    case LANE_CLASS_COUNT: break;
  }
  XLAC_BUG("lane class %d", (int)lane);
}
