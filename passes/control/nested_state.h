/* A loop whose state has tuples in it, as one whose state is one tuple of their leaves. */
#ifndef XLAC_PASSES_CONTROL_NESTED_STATE_H
#define XLAC_PASSES_CONTROL_NESTED_STATE_H

#include "passes/control/call_sites.h"

/* False where |loop| has no tuple in its state, or shares its computations.  Otherwise all that read the old loop read
 * a tuple of tuples made of the new one's elements; the old loop is dead. */
bool nested_state_flatten(HloInstruction *loop, const CallSites *sites, Arena *scratch);

#endif
