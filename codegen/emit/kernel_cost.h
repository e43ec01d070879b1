/* KernelCost: how long a Kernel takes on one core, roughly, and into how many chunks that is worth cutting.
 *
 * Cycles are the larger of two sums.
 *
 *  - Computing: each value once per point of the dims it depends on, in full vectors; half a cycle for what the two
 *    vector units do in one instruction, more for divisions and for mathematical functions (their instruction count),
 *    half a cycle for a load and one for a store.
 *  - Memory: each byte that loads and stores reach once, 16 a cycle.  That is what the shared cache gives one core; a
 *    Kernel whose data comes from beyond takes longer, so the estimate errs towards fewer chunks.
 *
 * Those of a Kernel of tiles are its parts', times the tiles.
 *
 * A chunk costs its claim and the cold start of its loops, a job the waking of the others: some tens of microseconds
 * when they sleep, one or two while they spin.  But what one thread alone does also costs the others the fetching of
 * its results from its cache, and it the fetching of theirs.  So chunks of loops begin to pay at some 5 us where they
 * move memory, KERNEL_MEMORY_CHUNK_CYCLES, and sooner where they compute, KERNEL_COMPUTING_CHUNK_CYCLES: what has to be
 * fetched is little to that.  Those of contractions, whose estimate is up to four times what blocks in registers take,
 * and of tiles begin to pay at KERNEL_BLOCKS_CHUNK_CYCLES of either.  A Kernel below two of them is not worth the
 * trouble.
 * What is wrong by a factor of two here changes times a little and results not at all. */
#ifndef XLAC_CODEGEN_EMIT_KERNEL_COST_H
#define XLAC_CODEGEN_EMIT_KERNEL_COST_H

#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* Half cycles of one instruction's worth of lanes of |value|, an APPLY. */
int kernel_value_halves(const KernelValue *value);
#define KERNEL_DIVISION_HALVES 12 /* of a division or a root; functions take more */

/* On one core of |target|, by the sums above. */
double kernel_cycles(const Kernel *kernel, const VecTarget *target);

#define KERNEL_MEMORY_CHUNK_CYCLES 16000
#define KERNEL_COMPUTING_CHUNK_CYCLES 8000
#define KERNEL_BLOCKS_CHUNK_CYCLES 40000

/* The most chunks that pay, of loops; of contractions and tiles.  1: one thread should do it all. */
int64_t kernel_loops_chunk_limit(const Kernel *kernel, const VecTarget *target);
int64_t kernel_blocks_chunk_limit(const Kernel *kernel, const VecTarget *target);

#endif
