/* What the search for a plan (plan_search.c) asks of the one who makes plans (tiler.c). */
#ifndef XLAC_CODEGEN_ONCORE_TILING_TILER_INTERNAL_H
#define XLAC_CODEGEN_ONCORE_TILING_TILER_INTERNAL_H

#include "codegen/oncore/tiling/tiler.h"
#include "codegen/oncore/tiling/tiling.h"

enum { TILER_DEFAULT_EFFORT = 5 };

/* For searches of |kernel|'s tilings: all of the Buffer that |machine| gives, and the effort of |options|. */
TilingScope tiler_scope(const Kernel *kernel, const MachineDescription *machine, const TilerOptions *options,
                        int32_t depth);

/* The plan of |request| by |tiling|: with as few slots as the machine's flags ask for, on all queues of a kind, its
 * loads ahead where that is faster.  |is_trial|: it is only priced, and may have edges that others imply, which take no
 * time. Lifetimes and errors as those of tiler_plan. */
MUST_USE Status tiler_plan_tiling(Arena *arena, const TilerRequest *request, const Tiling *tiling, bool is_trial,
                                  DiagSink *diag, const Plan **out_plan);

/* Cycles of |plan| in the simulation. */
MUST_USE Status tiler_simulate(const Plan *plan, const MachineDescription *machine, DiagSink *diag, double *out_cycles);

#endif
