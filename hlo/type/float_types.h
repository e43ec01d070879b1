/* Conversions between the narrow floating types and double, by the types' parameters.
 *
 * Encoding rounds to nearest even.  Types with infinities overflow to them; types without overflow to NaN where they
 * have one and saturate where they have none (XLA's ConvertElementType without saturation; f8e4m3fn, f8*fnuz: NaN; f4,
 * f6: largest value). f8e8m0fnu holds positive powers of two: zero, negatives and non-finite values become NaN; ties go
 * up, and so does all between the two smallest (ml_dtypes); what is smaller still becomes the smallest.  NaN becomes a
 * zero of the opposite sign where there is no NaN. NaN payloads stand in the leading bits of the double's, so that
 * encode(decode(bits)) = bits for every pattern. */
#ifndef XLAC_HLO_TYPE_FLOAT_TYPES_H
#define XLAC_HLO_TYPE_FLOAT_TYPES_H

#include <stdint.h>

#include "hlo/type/primitive_type.h"

/* |type| is any real floating type; |bits| its storage, zero-extended. */
double float_decode(PrimitiveType type, uint64_t bits);
/* From double directly (one rounding); f8e8m0fnu through f32, as XLA. */
uint64_t float_encode(PrimitiveType type, double value);
/* From an integer, one rounding. */
uint64_t float_encode_int(PrimitiveType type, int64_t value);
/* As XLA's parser makes an element of a number in the text: f16 and bf16 through f32, rounded twice, f8e8m0fnu by
 * itself; an integer token first becomes an int64_t, then a double. */
uint64_t float_encode_literal(PrimitiveType type, double value);

/* NaN with this mantissa field; payload 0 is plain nan, the quiet bit alone, or whatever the type makes of NaN.  False
 * when the type cannot hold the payload (1 to float_nan_payload_max): one NaN only, or too large. */
bool float_encode_nan(PrimitiveType type, bool is_negative, uint64_t payload, uint64_t *out_bits);
/* The mantissa field of a NaN that is not plain; 0 for plain nan and numbers. */
uint64_t float_nan_payload(PrimitiveType type, uint64_t bits);
uint64_t float_nan_payload_max(PrimitiveType type); /* 0: no payloads */

/* Facts that the parser and the verifier need. */
bool float_has_infinity(PrimitiveType type);
bool float_has_nan(PrimitiveType type);
bool float_has_nan_payload(PrimitiveType type); /* more than one NaN */
double float_max(PrimitiveType type);           /* the largest finite value */
double float_lowest(PrimitiveType type);        /* -float_max; the smallest for f8e8m0fnu */
/* The format whose bits reduce-precision of |type| cuts: f16 for every type whose values f16 holds, f32 for bf16 and
 * f8e8m0fnu, |type| itself otherwise.  A subnormal number of that format keeps the digits it has there. */
PrimitiveType float_precision_format(PrimitiveType type);
/* XLA accepts |value| as an element in a text: it is not finite, or float_encode_literal leaves it finite.  (The parts
 * of complex numbers it compares with -float_max and float_max.)  Its message: value 16 is out of range for ... [-15,
 * 15], all by %.6g. */
bool float_in_range(PrimitiveType type, double value);

#endif
