/* RunRounds: sequences of Kernels that are cut into as many strips each, which take turns: the first strips of all of
 * them, then the second ones, and so on.  What one makes for the next is then a part of an array, which stays in the
 * Buffer where the whole array has no room.  Kernels in between that are not cut are run before or after all of them.
 *
 * The order is another one than that of the schedule, by which memory was planned.  It is taken only where no two
 * strips that change places touch the same bytes of memory, unless both read them. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_RUN_ROUNDS_H
#define XLAC_CODEGEN_ONCORE_RUN_RUN_ROUNDS_H

#include "codegen/oncore/run/run_strips.h"

/* How Kernels of |placed| are cut, in |arena|.  A sequence is a unit.  |leaves_out|: by row, what is not cut; NULL: all
 * are.  |begins_anew|: a large Kernel at the end of a sequence that is to be run after all its rounds begins one of its
 * own, in place of what follows it. */
RunCuts run_rounds_find(Arena *arena, const PlacedModule *placed, const ResidencyModel *model,
                        const RunLeft *leaves_out, bool begins_anew);

#endif
