/* Kernels that sort: lines of elements, one or several arrays at once, by any comparator.
 *
 * What is sorted are records: the position in the line, and before it (as the upper bits of one unsigned number) the
 * key, where the comparator compares the same function of one element and the other: integers, or floats, in total
 * order or not; records then compare as numbers, equal keys by position.  Any other comparator is evaluated for each
 * pair.  Short lines are sorted by insertion, runs are merged from the bottom up, and long lines
 * with keys are sorted by digits from the lowest (radix sort), leaving out digits that all keys share.  In the end the
 * elements of all arrays are moved.  One array that alone is compared and stored is sorted by digits without
 * positions: the records are its elements, and the result is one of the two places they move between. */
#ifndef XLAC_CODEGEN_BLOCKS_SORT_H
#define XLAC_CODEGEN_BLOCKS_SORT_H

#include "codegen/blocks/phase_share.h"
#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* Whether |kernel| sorts (kernel.h): one stage, with a comparator. */
bool sort_matches(const Kernel *kernel);

/* STATUS_UNSUPPORTED, located, for comparators that have no code. */
MUST_USE Status sort_check(const Kernel *kernel, DiagSink *diag);

/* How threads share a sort: lines, or where there are few long ones phases, each of which is cut into chunks. */
typedef struct SortNeeds {
  int64_t scratch_bytes; /* a multiple of 64, like the next */
  int64_t piece_count;   /* lines; 1: there are phases */
  int64_t chunk_limit;   /* more chunks are not worthwhile */
  int64_t phase_count;   /* 0: there are none */
  int64_t chunk_bytes;   /* of phases: scratch of each chunk after the first */
} SortNeeds;
SortNeeds sort_needs(const Kernel *kernel);

/* Emits the body of a function at the builder's position, buffers being |buffer_pointers| (results overlap nothing),
 * |scratch| 64-byte aligned; leaves the builder at the end of the code, without a terminator.  It sorts |lines| (i64;
 * NULL: all), or with phases does |share|. */
void sort_emit(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, const LLVMValueRef *buffer_pointers,
               LLVMValueRef scratch, IndexRange lines, const PhaseShare *share);

#endif
