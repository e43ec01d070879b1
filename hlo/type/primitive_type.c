#include "hlo/type/primitive_type.h"

#include <math.h>

#include "hlo/type/float_types.h"

static const TypeInfo TYPES[PRIMITIVE_TYPE_COUNT] = {
    [TYPE_INVALID] = {"invalid", 0, TYPE_CLASS_OTHER, 0, 0, 0},
#define HLO_TYPE(id, text, bits, class, storage, exponent, mantissa) \
  [TYPE_##id] = {text, bits, TYPE_CLASS_##class, storage, exponent, mantissa},
#include "hlo/type/primitive_type.def"
#undef HLO_TYPE
};

const TypeInfo *type_info(PrimitiveType type) {
  if ((unsigned)type >= PRIMITIVE_TYPE_COUNT) XLAC_BUG("no such primitive type: %d", (int)type);
  return &TYPES[type];
}

const char *type_text(PrimitiveType type) {
  return type_info(type)->text;
}

int type_bits(PrimitiveType type) {
  return type_info(type)->bits;
}

int type_storage_bytes(PrimitiveType type) {
  return type_info(type)->storage_bytes;
}

PrimitiveType type_from_text(StringView text) {
  for (int i = TYPE_INVALID + 1; i < PRIMITIVE_TYPE_COUNT; i++) {
    if (i != TYPE_TUPLE && i != TYPE_BUFFER && sv_equal_cstring(text, TYPES[i].text)) return (PrimitiveType)i;
  }
  return TYPE_INVALID;
}

int type_alignment(PrimitiveType type) {
  int bytes = type_storage_bytes(type_complex_part(type));
  return bytes > 0 ? bytes : 1;
}

bool type_is_float(PrimitiveType type) {
  return type_info(type)->type_class == TYPE_CLASS_FLOAT;
}

bool type_is_complex(PrimitiveType type) {
  return type_info(type)->type_class == TYPE_CLASS_COMPLEX;
}

bool type_is_signed(PrimitiveType type) {
  return type_info(type)->type_class == TYPE_CLASS_SIGNED;
}

bool type_is_unsigned(PrimitiveType type) {
  return type_info(type)->type_class == TYPE_CLASS_UNSIGNED;
}

bool type_is_integral(PrimitiveType type) {
  return type_is_signed(type) || type_is_unsigned(type);
}

bool type_is_array(PrimitiveType type) {
  return type_info(type)->type_class != TYPE_CLASS_OTHER;
}

PrimitiveType type_complex_part(PrimitiveType type) {
  switch (type) {
    case TYPE_C64: return TYPE_F32;
    case TYPE_C128: return TYPE_F64;
    default: return type;
  }
}

PrimitiveType type_complex_of(PrimitiveType type) {
  switch (type) {
    case TYPE_F32: return TYPE_C64;
    case TYPE_F64: return TYPE_C128;
    default: return TYPE_INVALID;
  }
}

/* Larger means wider; the keys are compared in order. */
static void width_keys(PrimitiveType type, int keys[5]) {
  bool is_float = type_is_float(type);
  keys[0] = type_is_complex(type);
  keys[1] = is_float ? ilogb(float_max(type)) : INT32_MIN;
  keys[2] = is_float ? type_info(type)->mantissa_bits : -1;
  keys[3] = type == TYPE_PRED ? 0 : type_bits(type); /* it holds one bit, whatever it takes */
  keys[4] = type_is_signed(type);
}

PrimitiveType type_wider(PrimitiveType a, PrimitiveType b) {
  if (a == b) return a;
  int keys_a[5], keys_b[5];
  width_keys(a, keys_a);
  width_keys(b, keys_b);
  for (int i = 0; i < 5; i++) {
    if (keys_a[i] != keys_b[i]) return keys_a[i] > keys_b[i] ? a : b;
  }
  return a;
}

PrimitiveType type_of_sums(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  return type_wider(type_wider(lhs, rhs), result);
}

bool type_is_plain_float(PrimitiveType type) {
  return type == TYPE_F16 || type == TYPE_BF16 || type == TYPE_F32 || type == TYPE_F64;
}

bool type_converts_exactly(PrimitiveType from, PrimitiveType to) {
  const TypeInfo *narrow = type_info(from), *wide = type_info(to);
  if (from == TYPE_PRED) return type_is_integral(to) || type_is_plain_float(to);
  if (type_is_integral(from) && type_is_integral(to)) {
    if (type_is_unsigned(from) == type_is_unsigned(to)) return type_bits(to) >= type_bits(from);
    return type_is_unsigned(from) && type_bits(to) > type_bits(from);
  }
  if (!type_is_plain_float(to)) return false;
  if (type_is_integral(from)) { /* the least number is a power of two */
    int digits = type_bits(from) - (type_is_signed(from) ? 1 : 0);
    return digits <= wide->mantissa_bits + 1;
  }
  return type_is_plain_float(from) && wide->exponent_bits >= narrow->exponent_bits &&
         wide->mantissa_bits >= narrow->mantissa_bits;
}

PrimitiveType type_unsigned_of(PrimitiveType type) {
  switch (type_bits(type)) {
    case 2: return TYPE_U2;
    case 4: return TYPE_U4;
    case 8: return TYPE_U8;
    case 16: return TYPE_U16;
    case 32: return TYPE_U32;
    case 64: return TYPE_U64;
    default: return TYPE_INVALID;
  }
}

int64_t type_int_min(PrimitiveType type) {
  XLAC_CHECK(type_is_integral(type));
  return type_is_signed(type) ? -1 - (int64_t)type_int_max(type) : 0;
}

uint64_t type_int_max(PrimitiveType type) {
  XLAC_CHECK(type_is_integral(type));
  int value_bits = type_bits(type) - (type_is_signed(type) ? 1 : 0);
  return value_bits == 0 ? 0 : UINT64_MAX >> (64 - value_bits);
}
