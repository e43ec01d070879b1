/* Comparing a result with what was expected.
 *
 * NaN equals NaN, equal infinities are equal (and close to nothing else: the formula alone would let any number pass
 * for an expected infinity), otherwise |got - want| <= atol + rtol * |want| in double precision; integers and bool
 * exactly.  Finite complex values are judged by the modulus, others part by part. */
#ifndef XLAC_RUNTIME_ARRAYS_COMPARE_H
#define XLAC_RUNTIME_ARRAYS_COMPARE_H

#include "runtime/arrays/npy.h"

typedef struct CompareRule {
  double rtol, atol;
  double max_mismatch;   /* share of elements that may differ */
  int64_t sample_stride; /* n > 1: the expected array is flat, every n-th element of the result */
  bool has_stats;        /* mean and l2 norm of the whole result, checked where it is sampled */
  double mean, l2;
} CompareRule;

typedef struct CompareReport {
  bool ok;
  bool same_shape; /* false: nothing was compared */
  int64_t count;   /* elements compared */
  int64_t mismatches;
  double max_abs_error; /* NaN when a NaN stands for a number or the reverse, infinite for an infinity */
  /* row-major index into the result of the element furthest beyond (or nearest to) its tolerance, before all others a
   * NaN that stands for a number or the reverse; -1: none */
  int64_t worst;
  int64_t worst_sample; /* the same into the expected array */
  bool stats_ok;
  double mean, l2; /* of the result, when sampled */
} CompareReport;

/* Element by element by |rule|; |want| may be a sample of the result (CompareRule.sample_stride). */
void compare_arrays(const NpyArray *want, const NpyArray *got, const CompareRule *rule, CompareReport *out_report);

/* One line: the verdict, how many differ, the worst element.  |label|: "r0 f32[2,3]". */
void compare_report_print(StringBuilder *out, StringView label, const NpyArray *want, const NpyArray *got,
                          const CompareRule *rule, const CompareReport *report);

#endif
