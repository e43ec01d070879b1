/* What a module takes at least because results are stored after what is computed before them.
 *
 * Kernels are launched in the order of the schedule, and a queue that completes in order works in that order.  So where
 * one queue computes, a result that an operation makes is not stored before all work of the Kernels scheduled before
 * its own is done, nor before its own Kernel's first command is.  A module takes these, and the stores of this result
 * and of all such results that are scheduled after it. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_BOUND_DRAIN_H
#define XLAC_CODEGEN_ONCORE_EMIT_BOUND_DRAIN_H

#include "codegen/oncore/emit/bound_work.h"

/* Cycles, of the scheduled |module|, whose operations take what |work| says; 0 where queues promise no order. */
double bound_drain_find(const HloModule *module, const MachineDescription *machine, const BoundWork *work);

#endif
