/* Ties: comparisons whose two sides are made of the very same value, as x >= max(x) where the maximum is.
 *
 * A sum of floats rounds as the code adds it up, and that depends on what stands around it and on how large the part
 * is.  Computed once, it ties with itself; computed again, one of the two may be a last bit away, and the comparison
 * finds no maximum at all. */
#ifndef XLAC_PASSES_MEMORY_TIES_H
#define XLAC_PASSES_MEMORY_TIES_H

#include "hlo/ir/hlo_module.h"

/* Whether the instruction goes over more elements than it makes, or others than those at its place: a dot, a reduction,
 * a convolution, a sort. */
bool hlo_is_fold(const HloInstruction *instruction);

/* Whether |value| is a fold of floats or complex numbers, and something that is made of it is compared with something
 * else that is: such a value must not be computed again.  Loops and branches that take in two or more such things count
 * as comparisons.  Time: what is made of |value| in its computation. */
bool hlo_fold_has_ties(const HloInstruction *value, Arena *scratch);

#endif
