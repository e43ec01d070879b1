/* Which launches of a module make up runs, and what the commands of one wait for in those before it.
 *
 * A *run* is a sequence of Kernels of one computation with nothing between them that touches what they touch
 * (codegen/oncore/run), and the loads before a loop that they lead to.  The launches of a run do not wait for one
 * another as a whole: the next one's commands start as soon as queues, and *links*, let them.  Links are edges between
 * commands of different launches, the fewest without which there would be a race (hazards_derive_edges) in the streams
 * of all plans one after the other, where arrays lie as memory was planned and all Tensors in the one Buffer. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_RUNS_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_RUNS_H

#include "base/hash_map.h"
#include "codegen/kernel/kernel_table.h"
#include "codegen/oncore/run/residency.h"

/* Command |command| of |queue|, counted from 0 in the launch's program order, starts after command |from_command| of
 * |from_queue| of the launch |back| before this one is complete. */
typedef struct LaunchLink {
  int32_t queue, command;
  int32_t back, from_queue, from_command;
} LaunchLink;

/* One launch of a run. */
typedef struct RunLaunch {
  int64_t place, count; /* it is the |place|-th, from 0, of |count| */
  int64_t link_count;
  const LaunchLink *links; /* by command in program order */
  double cycles;           /* from when all before it are complete to when it is; together those of the run */
} RunLaunch;

typedef struct ModuleRuns {
  int64_t launch_count;
  const RunLaunch *launches; /* those of a run side by side */
  IntMap launch_of_use;      /* KernelUse → number of |launches|; others are in no run */
  double saved;              /* cycles in a run of the module, against launches one after the other */
  double links;              /* of all launches in a run of the module */
} ModuleRuns;

struct ModulePlans;

/* Of |plans|, the final ones of |placed| with room laid out; in |arena|.  A run whose links could not be proved, or
 * that would take no fewer cycles, is none.  |is_trial|: plans that are weighed against others, which nobody asks to be
 * proved. */
MUST_USE Status module_runs_find(Arena *arena, const PlacedModule *placed, const struct ModulePlans *plans,
                                 bool is_trial, DiagSink *diag, ModuleRuns *out_runs);

/* NULL: the launch of |use| is in no run. */
const RunLaunch *module_runs_launch(const ModuleRuns *runs, const KernelUse *use);

#endif
