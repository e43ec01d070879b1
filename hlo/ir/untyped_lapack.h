/* LAPACK as JAX called it before it had typed calls (until 0.4): lapack_sgetrf(batch, m, n, a) → (lu, pivots, info).
 *
 * Sizes and letters are scalar operands before the arrays, and work that the routine needs is among the results.  Every
 * routine has a typed call ("lapack_sgetrf_ffi", hlo/ir/custom_call.h) on the same arrays, with the letters as
 * attributes, which gives some of the same results. */
#ifndef XLAC_HLO_IR_UNTYPED_LAPACK_H
#define XLAC_HLO_IR_UNTYPED_LAPACK_H

#include "hlo/ir/hlo_instruction.h"

enum { UNTYPED_LAPACK_ATTRIBUTES = 4, UNTYPED_LAPACK_ARRAYS = 3, UNTYPED_LAPACK_RESULTS = 6 };

/* An attribute of the typed call.  Its letter is letters[value of the operand]; where |letters| is NULL the value is
 * what the operand has; where |operand| is negative it is the first letter.  Of an operand that counts only if another
 * one, |gate|, is not 0, letters[0] is for 0 there, the others follow; NO_GATE: it always counts. */
typedef struct UntypedLapackAttribute {
  const char *name, *letters;
  int operand, gate;
} UntypedLapackAttribute;

enum { UNTYPED_LAPACK_NO_GATE = -1 };

typedef struct UntypedLapackRoutine {
  const char *prefix;         /* of the target: then a letter for the type, then the name */
  const char *real, *complex; /* names, "orgqr" and "ungqr" */
  int operand_count, array_count;
  int arrays[UNTYPED_LAPACK_ARRAYS]; /* operands of the typed call, as operands of the untyped one */
  UntypedLapackAttribute attributes[UNTYPED_LAPACK_ATTRIBUTES]; /* until a name is NULL */
  int result_counts[2];
  int results[2][UNTYPED_LAPACK_RESULTS]; /* of the typed call, as results of the untyped one: real, complex */
} UntypedLapackRoutine;

/* The routine that an untyped call to |target| asks for, NULL when it is none; |out_letter|: s, d, c or z. */
const UntypedLapackRoutine *untyped_lapack_find(StringView target, char *out_letter);

static inline bool untyped_lapack_is_complex(char letter) {
  return letter == 'c' || letter == 'z';
}

#endif
