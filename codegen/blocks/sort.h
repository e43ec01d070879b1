/* sort: lines of elements, one or several arrays at once, by any comparator.  Always stable.
 *
 * What is sorted are records: the position in the line, and before it (as the upper bits of one unsigned number) the
 * key, where the comparator compares the same function of one element and the other in a total order: integers, or
 * floats with type=TOTALORDER; records then compare as numbers, equal keys by position.  Any other comparator is
 * evaluated for each pair.  Short lines are sorted by insertion, runs are merged from the bottom up, and long lines
 * with keys are sorted by digits from the lowest (radix sort), leaving out digits that all keys share.  In the end the
 * elements of all arrays are moved. */
#ifndef XLAC_CODEGEN_BLOCKS_SORT_H
#define XLAC_CODEGEN_BLOCKS_SORT_H

#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

typedef struct SortCode {
  LLVMValueRef function; /* internal, void: pointers of the operands, of the results (no overlap), of scratch (64-byte
                            aligned); i64 begin and end of the lines to sort */
  int64_t scratch_bytes; /* a multiple of 64 */
  int64_t line_count, line_length;
} SortCode;

/* The code of |sort|, which has elements, as function |name|.  |vec->builder| is left without a position.
 * STATUS_UNSUPPORTED, located, for comparators that have no code. */
MUST_USE Status sort_emit(const VecBuilder *vec, const HloInstruction *sort, const char *name, DiagSink *diag,
                          SortCode *out_code);

#endif
