/* Applying a computation in a loop, one step for each time: what the loops of all operations need.
 *
 * Arrays are walked as lists of their elements in row-major order; places are scalars of s64. */
#ifndef XLAC_PASSES_EXPAND_APPLIED_INTERNAL_H
#define XLAC_PASSES_EXPAND_APPLIED_INTERNAL_H

#include "passes/expand/graph_builder.h"

/* Operands of the origin, as lists; the dimensions in |permutation| (NULL: as they are). */
HloInstruction *applied_list(GraphBuilder *builder, int operand, const int64_t *permutation);
/* |count| lists as the results of the origin. */
HloInstruction *applied_results(GraphBuilder *builder, HloInstruction *const *lists, int count);
/* The shape of result |index| of the origin. */
const Shape *applied_shape(const GraphBuilder *builder, int index);
/* |scalar| |count| times, in the type of result |index|. */
HloInstruction *applied_fill(GraphBuilder *builder, int index, HloInstruction *scalar, int64_t count);

/* |list| with |value|, converted to its type, at |place|; it is read by graph_scalar_at. */
HloInstruction *applied_store(GraphBuilder *inside, HloInstruction *list, HloInstruction *place, HloInstruction *value);
/* The |count| results of |region| for as many scalars as it has parameters, which are converted to its types. */
void applied_call(GraphBuilder *inside, const HloComputation *region, HloInstruction *const *arguments,
                  HloInstruction **out_results, int count);

/* --- places --- */

HloInstruction *place_with(GraphBuilder *inside, HloOpcode opcode, HloInstruction *place, int64_t number);
/* The index along |dimension| of element |place| of an array of |dims|. */
HloInstruction *place_digit(GraphBuilder *inside, HloInstruction *place, const int64_t *dims, int rank, int dimension);
/* |place| in [0, size): a pred. */
HloInstruction *place_is_below(GraphBuilder *inside, HloInstruction *place, int64_t size);
HloInstruction *place_both(GraphBuilder *inside, HloInstruction *a, HloInstruction *b);

/* Whether a loop may have |steps|: their number is an s32. */
bool applied_steps_fit(int64_t steps);

/* --- the rules: NULL where the computation is lane-wise, or sizes do not allow it --- */

bool applied_needs_loop(const HloInstruction *origin);
GraphRule expand_applied_sort, expand_applied_window, expand_applied_select, expand_applied_scatter;

#endif
