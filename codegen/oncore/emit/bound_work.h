/* What the operations of a module cost at least on the queues that compute, whatever the plans of its Kernels.
 *
 * Lane-wise operations cost what the machine says, over the points at which they differ (what is broadcast is computed
 * once) and which somebody asks for (what a slice leaves out need not be computed).  Of complex numbers: the operations
 * on their parts, three multiplications for a product (S. Winograd, "On the number of multiplications necessary to
 * compute certain functions", 1970), a root of two squares' sum for a
 * size.  Reductions apply their computation once to each element they read but the first one of each result; those over
 * windows once for each window of two elements or more, and as often as there are fewer windows than elements that they
 * see; scatters once to each update; sorting n elements takes log2 n! comparisons.  Dots and convolutions are their
 * multiply-adds, at the rate of the narrowest type that an operand has on its way; so are sums of products.
 *
 * Sums and products of f16 and bf16 are made in f32, to and from which elements and results are converted.
 *
 * What only moves elements costs nothing, nor do places and guards that are known without data, integers of rank 0,
 * which are the scalar unit's, and conversions that a unit may do by itself.  A Kernel that computes takes a command at
 * least, and so the setup of a queue each time it runs. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_BOUND_WORK_H
#define XLAC_CODEGEN_ONCORE_EMIT_BOUND_WORK_H

#include "hlo/ir/hlo_module.h"
#include "hlo/machine/description/machine_description.h"

typedef struct BoundWork {
  double operation_cycles; /* of all operations */
  double launch_cycles;    /* of a command for each Kernel that computes */
  double dot_bytes;        /* 2MNK/√S − 2S for each dot (module_bound.h), over all of them */
  double setup;            /* of a command that computes */
  const double *launched;  /* by instruction id: of its Kernel's operations and command in one run; 0: it is none */
  const double *cycles;    /* by instruction id: of one run; 0 where others ask for a part of it only */
  const bool *is_known;    /* by instruction id: no data makes it */
} BoundWork;

/* Of the scheduled |module|, each instruction as often as it runs (hlo_execution_counts).  In |arena|. */
BoundWork bound_work_find(Arena *arena, const HloModule *module, const MachineDescription *machine);

/* How many queues of |machine| compute. */
int32_t bound_executors(const MachineDescription *machine);
/* Bytes that all queues of |machine| which |moves| move in a cycle. */
double bound_rate(const MachineDescription *machine, bool (*moves)(const MachineQueue *queue));

/* Integers and predicates of rank 0, which may be the scalar unit's: no Kernel has to read or make them. */
bool bound_is_of_scalar_unit(const Shape *shape);

#endif
