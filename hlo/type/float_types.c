#include "hlo/type/float_types.h"

#include <math.h>
#include <string.h>

enum { DOUBLE_MANTISSA_BITS = 52, DOUBLE_BIAS = 1023 };

static const uint64_t DOUBLE_HIDDEN_BIT = UINT64_C(1) << DOUBLE_MANTISSA_BITS;

/* What the bit patterns that are no finite numbers are spent on. */
typedef enum SpecialValues {
  SPECIAL_IEEE, /* the largest exponent: infinities and NaNs */
  SPECIAL_FN,   /* all ones are NaN, no infinity */
  SPECIAL_FNUZ, /* the pattern of -0 is NaN, no infinity */
  SPECIAL_FNU,  /* unsigned powers of two; all ones are NaN */
  SPECIAL_NONE  /* every pattern is finite */
} SpecialValues;

/* The format's widths, and its bias unless it is 2^(exponent bits - 1) - 1. */
typedef struct FloatFormat {
  int exponent_bits, mantissa_bits;
  int bias;
  SpecialValues special;
} FloatFormat;

static SpecialValues special_values(PrimitiveType type) {
  switch (type) {
    case TYPE_F8E4M3FN: return SPECIAL_FN;
    case TYPE_F8E4M3B11FNUZ:
    case TYPE_F8E5M2FNUZ:
    case TYPE_F8E4M3FNUZ: return SPECIAL_FNUZ;
    case TYPE_F8E8M0FNU: return SPECIAL_FNU;
    case TYPE_F4E2M1FN:
    case TYPE_F6E2M3FN:
    case TYPE_F6E3M2FN: return SPECIAL_NONE;
    default: return SPECIAL_IEEE;
  }
}

static FloatFormat float_format(PrimitiveType type) {
  const TypeInfo *info = type_info(type);
  if (info->type_class != TYPE_CLASS_FLOAT) XLAC_BUG("'%s' is not a real floating type", info->text);
  FloatFormat format = {
      .exponent_bits = info->exponent_bits,
      .mantissa_bits = info->mantissa_bits,
      .bias = (1 << (info->exponent_bits - 1)) - 1,
      .special = special_values(type),
  };
  /* Without a negative zero and infinities the range moves down by one. */
  if (format.special == SPECIAL_FNUZ) format.bias++;
  if (type == TYPE_F8E4M3B11FNUZ) format.bias = 11;
  return format;
}

static uint64_t sign_bit(const FloatFormat *format) {
  return format->special == SPECIAL_FNU ? 0 : UINT64_C(1) << (format->exponent_bits + format->mantissa_bits);
}

/* Exponent and mantissa, all ones. */
static uint64_t magnitude_mask(const FloatFormat *format) {
  return (UINT64_C(1) << (format->exponent_bits + format->mantissa_bits)) - 1;
}

static uint64_t mantissa_mask(const FloatFormat *format) {
  return (UINT64_C(1) << format->mantissa_bits) - 1;
}

static uint64_t infinity_magnitude(const FloatFormat *format) {
  return magnitude_mask(format) & ~mantissa_mask(format);
}

static uint64_t largest_finite(const FloatFormat *format) {
  switch (format->special) {
    case SPECIAL_IEEE: return infinity_magnitude(format) - 1;
    case SPECIAL_FN:
    case SPECIAL_FNU: return magnitude_mask(format) - 1;
    default: return magnitude_mask(format);
  }
}

static uint64_t nan_bits(const FloatFormat *format, bool is_negative) {
  uint64_t sign = is_negative ? sign_bit(format) : 0;
  switch (format->special) {
    case SPECIAL_IEEE: return sign | infinity_magnitude(format) | UINT64_C(1) << (format->mantissa_bits - 1);
    case SPECIAL_FN:
    case SPECIAL_FNU: return sign | magnitude_mask(format);
    case SPECIAL_FNUZ: return sign_bit(format);
    default: return sign_bit(format); /* no NaN: -0 stands for both, as in XLA */
  }
}

static bool is_nan_pattern(const FloatFormat *format, uint64_t bits) {
  uint64_t magnitude = bits & magnitude_mask(format);
  switch (format->special) {
    case SPECIAL_IEEE: return magnitude > infinity_magnitude(format);
    case SPECIAL_FN:
    case SPECIAL_FNU: return magnitude == magnitude_mask(format);
    case SPECIAL_FNUZ: return bits == sign_bit(format);
    default: return false;
  }
}

static uint64_t double_bits(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static double double_from_bits(uint64_t bits) {
  double value = 0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static double double_from_single_bits(uint64_t bits) {
  uint32_t single_bits = (uint32_t)bits;
  float value = 0;
  memcpy(&value, &single_bits, sizeof(value));
  return value;
}

static uint64_t single_bits_from_double(double value) {
  float single = (float)value;
  uint32_t bits = 0;
  memcpy(&bits, &single, sizeof(bits));
  return bits;
}

/* --- decoding --- */

/* NaN with the sign and, where there is one, the payload of |bits|, as the leading bits of the double's. */
static double decode_nan(const FloatFormat *format, uint64_t bits) {
  const uint64_t nan_exponent = UINT64_C(0x7ff) << DOUBLE_MANTISSA_BITS;
  uint64_t sign = (bits & sign_bit(format)) != 0 ? UINT64_C(1) << 63 : 0;
  uint64_t payload = DOUBLE_HIDDEN_BIT >> 1;
  if (format->special == SPECIAL_IEEE) {
    payload = (bits & mantissa_mask(format)) << (DOUBLE_MANTISSA_BITS - format->mantissa_bits);
  }
  return double_from_bits(sign | nan_exponent | payload);
}

double float_decode(PrimitiveType type, uint64_t bits) {
  if (type == TYPE_F64) return double_from_bits(bits);
  FloatFormat format = float_format(type);
  if (is_nan_pattern(&format, bits)) return decode_nan(&format, bits);
  if (type == TYPE_F32) return double_from_single_bits(bits);
  uint64_t magnitude = bits & magnitude_mask(&format);
  int exponent = (int)(magnitude >> format.mantissa_bits);
  double value = 0;
  if (format.special == SPECIAL_FNU) {
    value = ldexp(1.0, exponent - format.bias);
  } else if (format.special == SPECIAL_IEEE && magnitude == infinity_magnitude(&format)) {
    value = INFINITY;
  } else {
    uint64_t mantissa = magnitude & mantissa_mask(&format);
    if (exponent == 0) {
      exponent = 1; /* subnormal: no hidden bit */
    } else {
      mantissa |= UINT64_C(1) << format.mantissa_bits;
    }
    value = ldexp((double)mantissa, exponent - format.bias - format.mantissa_bits);
  }
  return (bits & sign_bit(&format)) != 0 ? -value : value;
}

/* --- encoding --- */

static uint64_t encode_nan(const FloatFormat *format, uint64_t value_bits) {
  bool is_negative = value_bits >> 63 != 0;
  uint64_t plain = nan_bits(format, is_negative);
  if (format->special != SPECIAL_IEEE) return plain;
  uint64_t payload = (value_bits & (DOUBLE_HIDDEN_BIT - 1)) >> (DOUBLE_MANTISSA_BITS - format->mantissa_bits);
  return payload == 0 ? plain : (plain & ~mantissa_mask(format)) | payload;
}

/* Without a sign: infinity, or what stands for it. */
static uint64_t overflow_magnitude(const FloatFormat *format) {
  return format->special == SPECIAL_IEEE ? infinity_magnitude(format) : largest_finite(format);
}

/* |value| divided by 2^|shift|, to nearest, ties to even. */
static uint64_t shift_right_rounding(uint64_t value, int shift) {
  if (shift == 0) return value;
  if (shift > DOUBLE_MANTISSA_BITS + 2) return 0;
  uint64_t quotient = value >> shift;
  uint64_t remainder = value & ((UINT64_C(1) << shift) - 1);
  uint64_t half = UINT64_C(1) << (shift - 1);
  bool rounds_up = remainder > half || (remainder == half && (quotient & 1) != 0);
  return quotient + (rounds_up ? 1 : 0);
}

/* Exponent and mantissa of the finite, positive |value_bits| (a double's), possibly beyond the largest finite. */
static uint64_t round_magnitude(const FloatFormat *format, uint64_t value_bits) {
  int exponent = (int)(value_bits >> DOUBLE_MANTISSA_BITS);
  uint64_t mantissa = value_bits & (DOUBLE_HIDDEN_BIT - 1);
  if (exponent == 0) {
    if (mantissa == 0) return 0;
    exponent = 1;
    for (; (mantissa & DOUBLE_HIDDEN_BIT) == 0; exponent--) mantissa <<= 1;
  } else {
    mantissa |= DOUBLE_HIDDEN_BIT;
  }
  int field = exponent - DOUBLE_BIAS + format->bias; /* the biased exponent of the result, were it unbounded */
  int shift = DOUBLE_MANTISSA_BITS - format->mantissa_bits;
  if (field < 1) {
    shift += 1 - field;
    field = 1;
  }
  /* The hidden bit adds 1 to the exponent; so does a carry from rounding; a subnormal has no hidden bit. */
  return ((uint64_t)(field - 1) << format->mantissa_bits) + shift_right_rounding(mantissa, shift);
}

/* Powers of two round like all others with the hidden bit as the last, always odd one: ties go up.  The smallest one is
 * where other types have their zero, so that what lies above it rounds up whatever the distance: as ml_dtypes and XLA
 * do. */
static uint64_t encode_power_of_two(const FloatFormat *format, double value) {
  uint64_t nan = nan_bits(format, false);
  if (!isfinite(value) || value <= 0) return nan;
  uint64_t magnitude = round_magnitude(format, double_bits(value));
  return magnitude <= largest_finite(format) ? magnitude : nan;
}

uint64_t float_encode(PrimitiveType type, double value) {
  if (type == TYPE_F64) return double_bits(value);
  FloatFormat format = float_format(type);
  uint64_t value_bits = double_bits(value);
  if (isnan(value)) return encode_nan(&format, value_bits);
  if (type == TYPE_F32) return single_bits_from_double(value);
  /* Through f32, where small numbers vanish and then are NaN; what a text says is rounded by itself. */
  if (format.special == SPECIAL_FNU) return encode_power_of_two(&format, (double)(float)value);
  bool is_negative = value_bits >> 63 != 0;
  uint64_t sign = is_negative ? sign_bit(&format) : 0;
  if (isinf(value)) {
    return float_has_nan(type) && !float_has_infinity(type) ? nan_bits(&format, is_negative)
                                                            : sign | overflow_magnitude(&format);
  }
  uint64_t magnitude = round_magnitude(&format, value_bits & ~(UINT64_C(1) << 63));
  if (magnitude > largest_finite(&format)) return float_encode(type, is_negative ? -INFINITY : INFINITY);
  if (magnitude == 0 && format.special == SPECIAL_FNUZ) return 0;
  return sign | magnitude;
}

/* A double beside |value| that rounds as |value| does to 24 bits and fewer: the last bit of what fits is set when
 * something does not (rounding to odd). */
static double int_to_double_odd(int64_t value) {
  const uint64_t lost = (UINT64_C(1) << 11) - 1;
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  if (magnitude >> 53 != 0) magnitude = (magnitude & ~lost) | ((magnitude & lost) != 0 ? lost + 1 : 0);
  return value < 0 ? -(double)magnitude : (double)magnitude;
}

uint64_t float_encode_int(PrimitiveType type, int64_t value) {
  return float_encode(type, type == TYPE_F64 ? (double)value : int_to_double_odd(value));
}

uint64_t float_encode_literal(PrimitiveType type, double value) {
  FloatFormat format = float_format(type);
  if (format.special == SPECIAL_FNU) return encode_power_of_two(&format, value);
  bool through_single = (type == TYPE_BF16 || type == TYPE_F16) && isfinite(value);
  return float_encode(type, through_single ? float_decode(TYPE_F32, float_encode(TYPE_F32, value)) : value);
}

bool float_encode_nan(PrimitiveType type, bool is_negative, uint64_t payload, uint64_t *out_bits) {
  FloatFormat format = float_format(type);
  uint64_t plain = nan_bits(&format, is_negative);
  *out_bits = plain;
  if (payload == 0) return true;
  if (format.special != SPECIAL_IEEE || payload > mantissa_mask(&format)) return false;
  *out_bits = (plain & ~mantissa_mask(&format)) | payload;
  return true;
}

/* --- facts --- */

bool float_has_infinity(PrimitiveType type) {
  return float_format(type).special == SPECIAL_IEEE;
}

bool float_has_nan(PrimitiveType type) {
  return float_format(type).special != SPECIAL_NONE;
}

bool float_has_nan_payload(PrimitiveType type) {
  return float_format(type).special == SPECIAL_IEEE;
}

uint64_t float_nan_payload(PrimitiveType type, uint64_t bits) {
  FloatFormat format = float_format(type);
  bool has_payload =
      is_nan_pattern(&format, bits) && bits != nan_bits(&format, false) && bits != nan_bits(&format, true);
  return has_payload ? bits & mantissa_mask(&format) : 0;
}

uint64_t float_nan_payload_max(PrimitiveType type) {
  FloatFormat format = float_format(type);
  return format.special == SPECIAL_IEEE ? mantissa_mask(&format) : 0;
}

double float_max(PrimitiveType type) {
  FloatFormat format = float_format(type);
  return float_decode(type, largest_finite(&format));
}

double float_lowest(PrimitiveType type) {
  return float_format(type).special == SPECIAL_FNU ? float_decode(type, 0) : -float_max(type);
}

PrimitiveType float_precision_format(PrimitiveType type) {
  FloatFormat format = float_format(type), half = float_format(TYPE_F16);
  if (type == TYPE_F64) return TYPE_F64;
  bool fits = format.exponent_bits <= half.exponent_bits && format.mantissa_bits <= half.mantissa_bits;
  return fits ? TYPE_F16 : TYPE_F32;
}

bool float_in_range(PrimitiveType type, double value) {
  return !isfinite(value) || isfinite(float_decode(type, float_encode_literal(type, value)));
}
