/* Conversions between the narrow floating types and double, by the types' parameters.
 *
 * Encoding rounds to nearest even.  Types with infinities overflow to them; types without overflow to NaN where they have one and
 * saturate where they have none (XLA's ConvertElementType without saturation; f8e4m3fn, f8*fnuz: NaN; f4, f6: largest value).
 * f8e8m0fnu holds positive powers of two: zero, negatives and non-finite values become NaN. */
#ifndef XLAC_HLO_TYPE_FLOAT_TYPES_H
#define XLAC_HLO_TYPE_FLOAT_TYPES_H

#include <stdint.h>

#include "hlo/type/primitive_type.h"

/* |type| is any real floating type; |bits| its storage, zero-extended. */
double float_decode(PrimitiveType type, uint64_t bits);
/* From double directly (one rounding). */
uint64_t float_encode(PrimitiveType type, double value);

/* Facts the parser and verifier need. */
bool float_has_infinity(PrimitiveType type);
bool float_has_nan(PrimitiveType type);
bool float_has_nan_payload(PrimitiveType type); /* more than one NaN */
double float_max(PrimitiveType type);           /* the largest finite value */

#endif
