/* Tiles that hold elements as memory has them, rather than as a Kernel asks for them.
 *
 * Parts.  The parts of complex numbers, every second element, interleaved rows: an address that moves in steps of P
 * elements along all dims, and by less from one load to the next.  One by one such elements are rows of their own to a
 * transfer; with all that lies between them they are one.  So a tile of such a load has an innermost axis of P
 * elements, its parts, of which the load reads one; loads of other parts share it.  Stores that write all parts have
 * one as well. That is so whatever the machine and the tiling, wherever P elements are few bytes.
 *
 * Reversed axes.  Where a load's address goes down along a dim the tile has the elements of its points from the last to
 * the first, so that rows are moved whole and what reads them turns them round. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TILE_PARTS_H
#define XLAC_CODEGEN_ONCORE_PLAN_TILE_PARTS_H

#include "codegen/kernel/kernel.h"

/* P of load |value| (tile_load_value), 1 for none: of an operand, at a linear address without a guard, whose windows
 * (tile_access.h) do not overlap, where all parts of all its points are in the array. */
int64_t tile_load_parts(const Kernel *kernel, int32_t value);

/* Whether the tile of load |value| has the elements of |dim|'s points from the last to the first: the load is as
 * above, and its address goes down along the dim. */
bool tile_load_descends(const Kernel *kernel, int32_t value, int32_t dim);

/* P of store |store| of |stage|, 1 for none: the stage stores each part once, to addresses that differ by nothing else,
 * without guards. */
int64_t tile_store_parts(const Kernel *kernel, int32_t stage, int32_t store);

/* Which of |parts| a load or store at |address| has. */
int64_t tile_part_of(IndexExpr address, int64_t parts);

#endif
