/* What a module takes at least because some of its work, and of its arguments, comes after other work.
 *
 * Let C be an array, and t when the last of its elements is computed.  Before t, all work that C as a whole needs is
 * done and all arguments that it needs are loaded.  After t comes what depends on that last element
 * (dependence_cone.h): all work on it, all stores of results that it is in, and all loads of what it is combined with
 * but what the Buffer held at t.  So a module takes the longest of these two together; before t another such array may
 * stand.  Where a network computes first and then reads large weights, or the other way round, neither hides the other.
 */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_BOUND_ORDER_H
#define XLAC_CODEGEN_ONCORE_EMIT_BOUND_ORDER_H

#include "codegen/oncore/emit/bound_work.h"

/* Cycles, of the entry of the scheduled |module|, whose operations take what |work| says. */
double bound_order_find(const HloModule *module, const MachineDescription *machine, const BoundWork *work);

#endif
