/* Functions of complex numbers as lane-wise operations on their parts. */
#ifndef XLAC_CODEGEN_LOWER_COMPLEX_INTERNAL_H
#define XLAC_CODEGEN_LOWER_COMPLEX_INTERNAL_H

#include "codegen/lower/lowering_internal.h"

/* In which arithmetic parts are computed with. */
typedef struct ComplexMath {
  Lowering *lowering;
  PrimitiveType type; /* F32 or F64 */
  bool is_roomy;      /* F64 for parts that are f32: squares are exact and overflow nowhere */
} ComplexMath;

typedef struct Complex {
  int32_t re, im; /* values of the ComplexMath's type */
} Complex;

/* A result that is real (abs) stands in |re|.  Parts may be rounded already to those of the operation's type. */
typedef Complex ComplexFunction(const ComplexMath *m, const Complex *operands);

/* --- complex_arithmetic.c --- */

int32_t c_constant(const ComplexMath *m, double value);
int32_t c_apply(const ComplexMath *m, HloOpcode opcode, int32_t a);
int32_t c_apply2(const ComplexMath *m, HloOpcode opcode, int32_t a, int32_t b);
int32_t c_scale(const ComplexMath *m, int32_t a, double factor);
int32_t c_compare_to(const ComplexMath *m, ComparisonDirection direction, int32_t a, double b);
int32_t c_both(const ComplexMath *m, int32_t a, int32_t b);   /* of preds */
int32_t c_either(const ComplexMath *m, int32_t a, int32_t b); /* of preds */
int32_t c_is_infinite(const ComplexMath *m, int32_t a);
int32_t c_any_infinite(const ComplexMath *m, Complex z);
int32_t c_is_finite(const ComplexMath *m, int32_t a);
/* |size|, which is not negative, with the sign of |sign|. */
int32_t c_copysign(const ComplexMath *m, int32_t size, int32_t sign);
int32_t c_select(const ComplexMath *m, int32_t condition, int32_t a, int32_t b);
Complex c_select_both(const ComplexMath *m, int32_t condition, Complex a, Complex b);
/* max(|x|, |y|). */
int32_t c_larger_part(const ComplexMath *m, Complex z);
/* x² + y². */
int32_t c_norm(const ComplexMath *m, Complex z);
Complex c_over_real(const ComplexMath *m, Complex z, int32_t divisor); /* z / divisor */
Complex c_quotient(const ComplexMath *m, Complex a, Complex b);        /* a / b, of the ComplexMath's type */
/* |huge| where |size| is above 2^500, |tiny| below 2^-500, else |usual|; of f32 2^50 and 2^-50. */
int32_t c_by_size(const ComplexMath *m, int32_t size, double huge, double tiny, double usual);

/* --- complex_arithmetic.c, complex_functions.c: by the lanes column --- */

#define NONE
#define PRED(name, placement)
#define INTEGER(name, placement)
#define FLOAT(name, placement)
#define COMPLEX(name, place) ComplexFunction complex_##name;
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) lanes
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
#undef COMPLEX
#undef FLOAT
#undef INTEGER
#undef PRED
#undef NONE

#endif
