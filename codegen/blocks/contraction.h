/* Contractions: Kernels of the form result = Σ lhs × rhs (dot, convolution), as blocked and packed matrix
 * multiplication.
 *
 * Which dims are rows, columns, depth or batch follows from which factor depends on them; the store decides which
 * factor gives the columns.  The algorithm is Goto's ("Anatomy of High-Performance Matrix Multiplication", 2008) with
 * the loops in the order README.md gives reasons for. */
#ifndef XLAC_CODEGEN_BLOCKS_CONTRACTION_H
#define XLAC_CODEGEN_BLOCKS_CONTRACTION_H

#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* What is decided of one contraction on one target: roles of dims, sizes of tiles and blocks. */
typedef struct ContractionBlocking ContractionBlocking;

/* The blocking of |kernel|, in |arena|, when it is a contraction that is worth blocks, else NULL:
 *
 *  - its one fold, in stage 0, is reassociable, of f32, f64 or integers of 32 or 64 bits, seeded with zero, and
 * advances a0 ← a0 + lhs × rhs; the factors are any values (loads, guarded or not, converted or computed);
 *  - stage 1 stores what it computes from a0, without guards, in steps of 1 to 4 elements along a dim that one factor
 * alone depends on (a column), and can be computed in lanes along it;
 *  - columns × rows × depth ≥ 4096, at least 4 columns, 3 of them in a row, depth ≥ 4;
 *  - a single row only where the rhs can be read in place, contiguous along the columns.
 *
 * Or else, of floats: at most 4 rows, at least 8 columns, the columns' factor contiguous along a dim of the depth, at
 * most 4 indices of the depth inside of that, the rows' factor in steps of 1 to 4 along it; as whole registers' worth
 * or with masks, at least 4 of them in the whole depth.  Other products of a matrix and a vector, and
 * channels that are batch dims (depthwise), are for the emitter of loops.
 *
 * The fastest whose scratch is at most |scratch_limit| bytes; less is packed at a time, so more often, as the limit
 * falls.  NULL where even the smallest needs more. */
const ContractionBlocking *contraction_blocking_choose(Arena *arena, const Kernel *kernel, const VecTarget *target,
                                                       int64_t scratch_limit);

/* Bytes of scratch, a multiple of 64, for packed blocks and unfinished sums; at most 2 MiB. */
int64_t contraction_scratch_bytes(const ContractionBlocking *blocking);

/* How many pieces the work can be cut into for threads: batch entries, tiles of rows or panels of columns; at least 1.
 * More runs of them than |*out_chunk_limit| would repeat too much packing. */
int64_t contraction_piece_count(const ContractionBlocking *blocking, int64_t *out_chunk_limit);

/* Emits the body of a function at the builder's position (entry block), buffers being |buffer_pointers|, |scratch|
 * 64-byte aligned of the returned size; leaves the builder at the end of the code, without a terminator.  It does
 * pieces
 * [|begin|, |end|), at least one (i64; both NULL: everything), with the same bits however the pieces are shared out.
 * Adds the micro-kernel, "xlac.contraction.…", to the module unless another contraction has done so. */
void contraction_emit(const VecBuilder *vec, const Kernel *kernel, const ContractionBlocking *blocking,
                      LLVMValueRef function, const LLVMValueRef *buffer_pointers, LLVMValueRef scratch,
                      LLVMValueRef begin, LLVMValueRef end);

#endif
