/* PrimitiveType: the element types of HLO, and what is known of each (primitive_type.def). */
#ifndef XLAC_HLO_TYPE_PRIMITIVE_TYPE_H
#define XLAC_HLO_TYPE_PRIMITIVE_TYPE_H

#include "base/string_view.h"

typedef enum PrimitiveType {
  TYPE_INVALID = 0,
#define HLO_TYPE(id, text, bits, class, storage, exponent, mantissa) TYPE_##id,
#include "hlo/type/primitive_type.def"
#undef HLO_TYPE
  PRIMITIVE_TYPE_COUNT
} PrimitiveType;

typedef enum TypeClass {
  TYPE_CLASS_PRED,
  TYPE_CLASS_SIGNED,
  TYPE_CLASS_UNSIGNED,
  TYPE_CLASS_FLOAT,
  TYPE_CLASS_COMPLEX,
  TYPE_CLASS_OTHER
} TypeClass;

typedef struct TypeInfo {
  const char *text;
  int bits;
  TypeClass type_class;
  int storage_bytes;
  int exponent_bits, mantissa_bits;
} TypeInfo;

const TypeInfo *type_info(PrimitiveType type);
const char *type_text(PrimitiveType type);
int type_bits(PrimitiveType type);
int type_storage_bytes(PrimitiveType type);
/* Alignment of an element in bytes: its storage, of a complex type that of one part, at least 1. */
int type_alignment(PrimitiveType type);

/* The type called |text|, TYPE_INVALID if none; "tuple" and "buffer" are none. */
PrimitiveType type_from_text(StringView text);

bool type_is_float(PrimitiveType type); /* not complex */
bool type_is_complex(PrimitiveType type);
bool type_is_plain_float(PrimitiveType type); /* f16, bf16, f32 or f64: with infinities, NaN and two zeros */
bool type_is_signed(PrimitiveType type);      /* signed integers */
bool type_is_unsigned(PrimitiveType type);    /* unsigned integers, not pred */
bool type_is_integral(PrimitiveType type);    /* signed or unsigned, not pred */
bool type_is_array(PrimitiveType type); /* may be an array's element: everything but token, opaque, tuple, buffer */

/* c64 → f32, c128 → f64, others themselves. */
PrimitiveType type_complex_part(PrimitiveType type);
/* f32 → c64, f64 → c128; TYPE_INVALID otherwise. */
PrimitiveType type_complex_of(PrimitiveType type);

/* The wider of two types: that with more range; of equal ones that with more precision, then with more bits (pred has
 * one), then the signed one.  A complex type is wider than any other. */
PrimitiveType type_wider(PrimitiveType a, PrimitiveType b);
/* The type of the sums of products that 'dot' and 'convolution' make: the widest of the three.  Factors are converted
 * to it, the finished sum is rounded to it and then converted to |result|. */
PrimitiveType type_of_sums(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result);

/* Whether every value of |from|, an integer, pred or a float of 16 bits and more, is one of |to|; false of others. */
bool type_converts_exactly(PrimitiveType from, PrimitiveType to);

/* The unsigned integers of as many bits; TYPE_INVALID where there are none. */
PrimitiveType type_unsigned_of(PrimitiveType type);

/* The smallest and largest value of an integral type (not pred). */
int64_t type_int_min(PrimitiveType type);
uint64_t type_int_max(PrimitiveType type);

#endif
