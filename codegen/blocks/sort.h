/* Kernels that sort: lines of elements, one or several arrays at once, by any comparator.
 *
 * What is sorted are records: the position in the line, and before it (as the upper bits of one unsigned number) the
 * key, where the comparator compares the same function of one element and the other in a total order: integers, or
 * floats with type=TOTALORDER; records then compare as numbers, equal keys by position.  Any other comparator is
 * evaluated for each pair.  Short lines are sorted by insertion, runs are merged from the bottom up, and long lines
 * with keys are sorted by digits from the lowest (radix sort), leaving out digits that all keys share.  In the end the
 * elements of all arrays are moved.  One array that alone is compared and stored is sorted by digits without
 * positions: the records are its elements, and the result is one of the two places they move between. */
#ifndef XLAC_CODEGEN_BLOCKS_SORT_H
#define XLAC_CODEGEN_BLOCKS_SORT_H

#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* Whether |kernel| sorts (kernel.h): one stage, with a comparator. */
bool sort_matches(const Kernel *kernel);

/* STATUS_UNSUPPORTED, located, for comparators that have no code. */
MUST_USE Status sort_check(const Kernel *kernel, DiagSink *diag);

/* Bytes of scratch, a multiple of 64. */
int64_t sort_scratch_bytes(const Kernel *kernel);

/* Lines, each of which is a piece for threads; so many runs of them are worthwhile. */
int64_t sort_piece_count(const Kernel *kernel, int64_t *out_chunk_limit);

/* Emits the body of a function at the builder's position, buffers being |buffer_pointers| (results overlap nothing),
 * |scratch| 64-byte aligned; leaves the builder at the end of the code, without a terminator.  It sorts lines
 * [|begin|, |end|) (i64; both NULL: all). */
void sort_emit(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, const LLVMValueRef *buffer_pointers,
               LLVMValueRef scratch, LLVMValueRef begin, LLVMValueRef end);

#endif
