/* A small notation for writing maths on lanes of f32 or f64. */
#ifndef XLAC_CODEGEN_VEC_MATH_INTERNAL_H
#define XLAC_CODEGEN_VEC_MATH_INTERNAL_H

#include "codegen/vec/math_fits.h"
#include "codegen/vec/vec_apply_internal.h"

/* How exact a result has to be: f32 lanes for f32 results, f64 lanes for f32 results (about 2^-34), f64 lanes for f64
 * results. */
typedef enum MathPrecision { MATH_SINGLE, MATH_MIDDLE, MATH_DOUBLE } MathPrecision;

typedef struct Math {
  const VecBuilder *vec;
  LLVMBuilderRef b;
  PrimitiveType type; /* F32 or F64 */
  bool is_double;
  int lanes;
  MathPrecision precision;
} Math;

/* The arithmetic in which an operation of |type| is computed: f64 for f64, f32 for the others. */
Math math_of(const VecBuilder *vec, PrimitiveType type, int lanes);
/* The same lanes in f64, no more exact than |m|'s results need. */
Math math_double(const Math *m);

LLVMValueRef m_const(const Math *m, double value);
LLVMValueRef m_nan(const Math *m);
LLVMValueRef m_infinity(const Math *m);
LLVMValueRef m_add(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_sub(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_mul(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_div(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_fma(const Math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c); /* a*b + c, vec_multiply_add */
LLVMValueRef m_scale(const Math *m, LLVMValueRef a, double factor);
LLVMValueRef m_abs(const Math *m, LLVMValueRef a);
LLVMValueRef m_neg(const Math *m, LLVMValueRef a);
LLVMValueRef m_sqrt(const Math *m, LLVMValueRef a);
LLVMValueRef m_rint(const Math *m, LLVMValueRef a);
LLVMValueRef m_copysign(const Math *m, LLVMValueRef size, LLVMValueRef sign);
LLVMValueRef m_select(const Math *m, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_and(const Math *m, LLVMValueRef a, LLVMValueRef b); /* of conditions */
LLVMValueRef m_or(const Math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_not(const Math *m, LLVMValueRef a);
LLVMValueRef m_compare(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef m_compare_to(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, double b);
LLVMValueRef m_sign_bit(const Math *m, LLVMValueRef a);               /* condition; true for -0 and NaN with the bit */
LLVMValueRef m_at_most(const Math *m, LLVMValueRef a, double upper);  /* NaN stays */
LLVMValueRef m_at_least(const Math *m, LLVMValueRef a, double lower); /* NaN stays */
LLVMValueRef m_clamp(const Math *m, LLVMValueRef a, double lower, double upper); /* NaN stays */
LLVMValueRef m_bits(const Math *m, LLVMValueRef a);
LLVMValueRef m_from_bits(const Math *m, LLVMValueRef bits);
LLVMValueRef m_int(const Math *m, int64_t value); /* integer lanes of the float's width */
LLVMValueRef m_polynomial(const Math *m, LLVMValueRef x, const MathFit *fit);
/* Operands of |m| in the arithmetic of |d| = math_double(m), and back. */
LLVMValueRef m_in_double(const Math *m, LLVMValueRef a);
LLVMValueRef m_from_double(const Math *m, LLVMValueRef a);

/* A whole number found by adding 1.5·2^52 (2^23): as a float, and as an integer in the low bits of |sum|'s bits.
 * |value| may be NaN; beyond 2^51 (2^22) the number is wrong. */
typedef struct MathWhole {
  LLVMValueRef sum, value;
} MathWhole;
/* The whole number nearest to a, and to a·b. */
MathWhole m_whole(const Math *m, LLVMValueRef a);
MathWhole m_whole_product(const Math *m, LLVMValueRef a, double b);
/* 2^n of a whole number in the range of normal exponents. */
LLVMValueRef m_power_of_two(const Math *m, const MathWhole *n);
/* value·2^n for |n| up to twice the exponents' range, rounded once. */
LLVMValueRef m_scale_by_power(const Math *m, LLVMValueRef value, const MathWhole *n);

/* Whether lanes can be looked up in a MathTable. */
bool m_has_tables(const Math *m);
/* The value for the lowest four bits of each of the integer lanes |index|. */
LLVMValueRef m_lookup(const Math *m, LLVMValueRef index, const MathTable *table);
/* The same for the lowest five bits, of f32 lanes. */
LLVMValueRef m_lookup_long(const Math *m, LLVMValueRef index, const MathLongTable *table);
/* The multiple of 1/16 nearest to a·b; the lowest four bits of |sum|'s are its sixteenths.  Beyond 2^47 (2^18) it is
 * wrong. */
MathWhole m_sixteenths_product(const Math *m, LLVMValueRef a, double b);
/* value·2^(n rounded down), rounded once, where there are tables. */
LLVMValueRef m_scale_by_floor(const Math *m, LLVMValueRef value, LLVMValueRef n);
/* |a| with its sign, |bound| with that sign where it is larger; |bound| of any sign for NaN.  Where there are tables.
 */
LLVMValueRef m_within(const Math *m, LLVMValueRef a, double bound);

/* size = |x| = index·step + rest with |rest| <= step/2, index in the lowest four bits of integer lanes; size is 15.49
 * steps where |x| is more.  step has so few digits that 15 steps are a float.  NaN stays in size and rest. */
typedef struct MathPlace {
  LLVMValueRef size, index, rest;
} MathPlace;
MathPlace m_place(const Math *m, LLVMValueRef x, double step);
/* The same with a step of 1/2 and 32 of them, for |x| up to 15.74: by additions alone. */
MathPlace m_place_by_halves(const Math *m, LLVMValueRef x);
/* The function of place->size, where there are tables; |place| is by the pieces' step.  NaN stays. */
LLVMValueRef m_pieces(const Math *m, const MathPlace *place, const MathPieces *pieces);

/* A sum of two floats that do not overlap: about 106 bits of f64. */
typedef struct MathPair {
  LLVMValueRef high, low;
} MathPair;

MathPair pair_sum(const Math *m, LLVMValueRef a, LLVMValueRef b);         /* a + b exactly (Knuth) */
MathPair pair_ordered_sum(const Math *m, LLVMValueRef a, LLVMValueRef b); /* the same for |a| >= |b| (Dekker) */
MathPair pair_product(const Math *m, LLVMValueRef a, LLVMValueRef b); /* a·b exactly, by fma or by splitting (Dekker) */
MathPair pair_add(const Math *m, MathPair a, MathPair b);
MathPair pair_multiply(const Math *m, MathPair a, MathPair b);

/* Building blocks used by several functions.  |x| is of |m|'s type; all specials are right. */
/* exp where |x| < 600 (80): neither overflow nor subnormals. */
LLVMValueRef math_exp_moderate(const Math *m, LLVMValueRef x);
/* exp(x.high + x.low), clamped to the range. */
LLVMValueRef math_exp_pair(const Math *m, MathPair x);
/* factor·exp(-x²) for x² < 700 (104): the square is not rounded. */
LLVMValueRef math_decay(const Math *m, LLVMValueRef x, LLVMValueRef factor);
/* expm1 where |x| < 600 (80); exact zeros and small numbers too, but not the sign of a zero. */
LLVMValueRef math_expm1_moderate(const Math *m, LLVMValueRef x);
LLVMValueRef math_log(const Math *m, LLVMValueRef x);
/* log of a positive finite f64 to about 2^-65. */
MathPair math_log_pair(const Math *d, LLVMValueRef x);

/* x = n·π/2 + r.high + r.low with |r| <= π/4 (a little more), n's low two bits in |quadrant|; f64 lanes, any finite x.
 */
typedef struct MathQuadrant {
  LLVMValueRef quadrant; /* integer lanes; only bits 0 and 1 mean anything */
  MathPair r;
} MathQuadrant;
MathQuadrant math_reduce_angle(const Math *d, LLVMValueRef x);
/* The same where |x| >= 2^15 has at most 24 bits, as numbers of f32 have, and r.low is 0; r is NaN where x is not
 * finite, anything where it is smaller. */
MathQuadrant math_reduce_short_angle(const Math *d, LLVMValueRef x);

/* Control flow inside of functions on vectors.  A branch around code for the few: begin, compute, end. */
typedef struct MathBranch {
  LLVMBasicBlockRef before, after;
} MathBranch;
/* Code that follows runs when |condition|, of one lane, holds; when any lane of |condition| does. */
MathBranch math_if(const Math *m, LLVMValueRef condition);
MathBranch math_if_any(const Math *m, LLVMValueRef condition);
/* Ends it; out_values[i] becomes inside[i] where the code ran and outside[i] elsewhere. */
void math_end_if(const Math *m, const MathBranch *branch, const LLVMValueRef *outside, const LLVMValueRef *inside,
                 int count, LLVMValueRef *out_values);

#endif
