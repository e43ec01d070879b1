/* Rematerialisation: a value that is kept over the peak is computed again where it is read afterwards (after XLA's
 * HloRematerialization, on a module before fusion instead of a schedule). */
#ifndef XLAC_PASSES_MEMORY_REMATERIALISE_H
#define XLAC_PASSES_MEMORY_REMATERIALISE_H

#include "passes/memory/memory_trial.h"

typedef struct Rematerialisation {
  HloInstruction *value;
  int64_t peak;              /* what runs after this position reads the new one */
  const PlannedTimes *times; /* of the module that |value| belongs to */
  bool is_deep;              /* folds (dots, reductions) may be computed again as well, else what costs little */
} Rematerialisation;

/* Makes the readers of |remat->value| that run after the peak read a clone of it, made from what is there then: from
 * parameters, constants, small arrays, values that are kept that long anyway; from clones of all else.  Readers that
 * run before as well as after it are cloned too.  Clones carry a frontend attribute, so that they are not merged with
 * what they were made from.  Removes what is dead afterwards.  False when there is nothing to gain: no reader after the
 * peak, or it cannot be computed again (control flow, side effects, more than MOST_CLONES operations); the module is
 * then as it was. */
bool rematerialise(const Rematerialisation *remat);

#endif
