/* What may and what must share memory, said of single instructions: re-views, updates in place, operands overwritten by
 * results.
 *
 * These predicates are a contract with code generation:
 * - An instruction that hlo_is_view says is a view does nothing: its result is its operand's bytes.
 * - Operand and result of an in-place pair have one address: only what changes need be written.
 * - Where hlo_may_share_operand says yes, result and operand may have one address although they are separate buffers in
 * every other respect; so the instruction must have read an element of the operand before it writes the element in the
 * same place. */
#ifndef XLAC_HLO_ANALYSIS_IN_PLACE_H
#define XLAC_HLO_ANALYSIS_IN_PLACE_H

#include "hlo/ir/hlo_module.h"

/* The element at row-major position k of one array stands at the same place in memory as that of the other, counted in
 * elements. */
bool hlo_same_element_order(const Shape *a, const Shape *b);

/* A reshape that leaves every byte where it is: static arrays without tiles, of one memory space, that are laid out in
 * the same order once dimensions of size 1 are ignored (row major on both sides, or the same dimensions in the same
 * order). */
bool hlo_reshape_is_bitcast(const HloInstruction *instruction);

/* A bitcast whose operand has as many bytes, or a reshape as above: forwards its operand. */
bool hlo_is_view(const HloInstruction *instruction);
/* What |value| is a view of, through all views; itself when it is none. */
const HloInstruction *hlo_behind_views(const HloInstruction *value);

typedef struct InPlacePair {
  int32_t operand, operand_node, result_node;
} InPlacePair;

typedef struct InPlacePairs {
  int32_t count;
  const InPlacePair *pairs;
} InPlacePairs;

/* Operand leaves that must share memory with result leaves: dynamic-update-slice, scatter, set-dimension-size,
 * all-reduce-start, collective-permute with a destination, declared output_to_operand_aliasing, and fusions whose
 * result leaf is an update in place (through tuples only) of a fused parameter that nothing else in the fusion reads,
 * but for what hlo_reads_beside_update allows.  Leaves of unequal shapes are never paired. */
InPlacePairs hlo_in_place_pairs(const HloInstruction *instruction, Arena *arena);

/* What |slice|, of the same array, reads may be read while |update| writes its window: that is exactly this window, and
 * nothing but the new elements at the same places is made of it, one by one; or it has no element of the window. */
bool hlo_reads_beside_update(const HloInstruction *slice, const HloInstruction *update, Arena *scratch);

/* Where |index|, a constant scalar, makes a slice begin that may begin at |limit| at the latest; false for others. */
bool hlo_constant_start(const HloInstruction *index, int64_t limit, int64_t *out_start);

/* Whether result leaf |result_node| of |user| may overwrite leaf |node| of operand |operand| if nothing reads that
 * afterwards: an in-place pair, or elementwise use (inside fusions: transitively) with equally wide elements in the
 * same order.  A fusion with several results shares only if one loop over the elements of the operand (loop_nest.h)
 * makes all of them, reductions of these elements included, or the operand reaches this one alone.  With a contraction
 * in a fusion: if it is the only one, and what it reads is another operand (a residual, a bias of full size, an
 * accumulator added to a product).  A fusion with one result that reduces rows, and is made row by row
 * (softmax), if it reads the operand element by element but for reductions of the same row.  Never for copies, nor for
 * fusions with windows or indirect access. */
bool hlo_may_share_operand(const HloInstruction *user, int operand, int node, int result_node, Arena *scratch);

/* Bytes of a row, where the fusion |user| may overwrite |operand| row by row though not element by element; else 0. */
int64_t hlo_shared_row_bytes(const HloInstruction *user, int operand, Arena *scratch);

#endif
