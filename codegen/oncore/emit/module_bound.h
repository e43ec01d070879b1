/* What a module takes at least on a machine, whatever the plan: the bytes that must cross to and from memory, and the
 * work that its operations are.
 *
 * Instructions count as often as they run (hlo_execution_counts), as Kernels do in the totals of the Buffer map: where
 * nobody knows how often a loop runs, once, and of branches each, so that there it is no bound of every run.
 *
 * Bytes.  Arguments are read once and results written once, as far as the text alone shows: of an argument that only
 * slices and gathers read, their bytes; of one that a loop gets, what an iteration reads; of results, nothing for what
 * loops, branches and calls pass on.  What iterations read and do not change is loaded again as far as it is more than
 * the Buffer (bound_bytes.h).  A dot of M×K by K×N values with a Buffer of S values moves at least 2MNK/√S − 2S of
 * them, in whatever order it is done (T. Smith, B. Lowery, J. Langou, R. van de Geijn: "A Tight I/O Lower Bound for
 * Matrix Multiplication", 2017).  The module moves at least as much as its arguments and results are, and at least as
 * much as its dots do.  Where one queue loads and another one stores, they share memory while both move, and the one
 * with more to move goes on alone at its own rate.
 *
 * Each array that is read or written takes a command of a queue that moves, and its setup, and so does what the Buffer
 * holds at once: no command moves more.  While a transfer begins or changes rows memory is not fully used where the
 * other queue alone cannot use it; how many rows it takes at least to turn an array, bound_turn.h says.
 *
 * Work.  The cycles of the operations, and a command for each Kernel that computes (bound_work.h).
 *
 * Order.  What waits for other work, and for what the Buffer cannot hold before (bound_order.h); what is stored after
 * all that is scheduled before it (bound_drain.h). */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_BOUND_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_BOUND_H

#include "hlo/ir/hlo_module.h"
#include "hlo/machine/stream/queue_simulation.h"

typedef struct ModuleBound {
  int64_t argument_bytes, result_bytes;
  int64_t argument_count, result_count; /* arrays that are read and written, a command each at least */
  int64_t again_bytes;                  /* of what loops load once more in each iteration */
  double dot_bytes;                     /* 2MNK/√S − 2S, over all dots */
  double work_cycles;                   /* of all operations */
  double launch_cycles;                 /* of the commands that these take at least */
  double order_cycles;                  /* of what comes after other work (Order); 0: not known to be any */
  QueueLimit limit; /* the longest of these, the queues' shares and memory's: the bound, in cycles */
} ModuleBound;

ModuleBound module_bound_find(const HloModule *module, const MachineDescription *machine);

#endif
