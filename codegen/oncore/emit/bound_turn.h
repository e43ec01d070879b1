/* What turning an array costs at least: rows of transfers that no tiles avoid.
 *
 * An array of I rows of J elements is loaded, and stored as J rows of I.  A transfer takes some cycles for each run of
 * elements that lie one after the other (MachineQueue.row).  Let loads come in m runs and stores in n, of elements that
 * are all moved once, and the Buffer hold C of them.  Lay all runs along a line, in the order in which their commands
 * start, each a long and each b (its price).  A run of a load and one of a store have one element in common at most, as
 * long as they are shorter than a row.  An element is in the Buffer between the two that it is in, so that the
 * distances between these, over all E elements, come to C times the line's length S = am + bn at most.  For any T
 *
 *   TE - CS <= Σ over elements of T - distance <= Σ over pairs of a load before a store of max(0, T - distance)
 *           <= T²(S + T) / 8ab:
 *
 * where p and 1 - p are the shares of loads and stores of the line around a place, a pair of places counts p(1 -
 * p')/ab, which is (1/4 - hh')/ab with h = p - 1/2 up to what cancels out, and max(0, T - size of the distance) is
 * positive definite, so that the sum of hh' is not negative.  With am = bn and the best T: E <= √(2Cmn) + C.  So the
 * prices come to
 *
 *   am + bn >= 2√(abmn) >= (E - C)√(2ab / C).
 *
 * The bound can be reached: bands of rows, each of which is loaded on as its columns are stored.
 *
 * Runs longer than a row are several pieces that have one price.  Of such full rows of loads no more than
 * 2Cn/(J-1)² + 2C/(J-1) can help, by the same argument for their elements alone, and of stores likewise.  Elements that
 * are loaded and not used, or moved twice, cost more than the rows that they could save where is_worth_nothing says so,
 * or there is no bound. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_BOUND_TURN_H
#define XLAC_CODEGEN_ONCORE_EMIT_BOUND_TURN_H

#include "hlo/ir/hlo_module.h"
#include "hlo/machine/description/machine_description.h"

/* What rows cost: cycles for each of a load's and of a store's, and for a byte that is moved. */
typedef struct RowPrices {
  double load, store, byte;
} RowPrices;

/* Cycles for all rows of results of |entry| that are parameters turned round, each parameter once; 0 without such. */
double bound_turn_find(const HloComputation *entry, const MachineDescription *machine, const RowPrices *prices);

#endif
