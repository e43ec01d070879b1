/* Arrays that a command sees where they are in the Buffer, rather than through a tile.
 *
 * The matrix unit walks the taps of a convolution by itself, and takes a zero where a guard is false: padding, as a
 * transfer that fills a tile does.  So a factor that holds windows needs no tile where the array is in the Buffer: the
 * operand is the array as it lies there, all of it, and the unit reads what the Kernel's load does. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TILE_SEEN_H
#define XLAC_CODEGEN_ONCORE_PLAN_TILE_SEEN_H

#include "codegen/oncore/plan/tile_access.h"

/* Whether load |value| of |kernel| (tile_load_value) may be done where its array is: it has windows, a linear address
 * that no run-time number moves, and guards that are ranges, and only products of matrices read it. */
bool tile_may_see(const Kernel *kernel, int32_t value);

/* Whether some load of |kernel| may. */
bool tile_kernel_may_see(const Kernel *kernel);

/* Whether |ref|, the operand of |access|, is an array in the Buffer that is seen so: flat, with fewer axes than a tile.
 */
bool tile_ref_is_seen(const Plan *plan, const TileAccess *access, const PlanRef *ref);

#endif
