/* Contractions: Kernels of the form result = Σ lhs × rhs (dot, convolution), as blocked and packed matrix
 * multiplication.
 *
 * Which dims are rows, columns, depth or batch follows from which factor depends on them; the store decides which
 * factor gives the columns.  The algorithm is Goto's ("Anatomy of High-Performance Matrix Multiplication", 2008) with
 * the loops in the order README.md gives reasons for. */
#ifndef XLAC_CODEGEN_BLOCKS_CONTRACTION_H
#define XLAC_CODEGEN_BLOCKS_CONTRACTION_H

#include "codegen/ir/ir_index.h"
#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

/* What is decided of one contraction on one target: roles of dims, sizes of tiles and blocks. */
typedef struct ContractionBlocking ContractionBlocking;

/* Bytes of scratch that a contraction may take. */
typedef struct ContractionScratch {
  int64_t most; /* at all */
  int64_t free; /* which cost nothing: memory that the module needs at another time; INT64_MAX: none costs anything */
} ContractionScratch;

/* The blocking of |kernel|, in |arena|, when it is a contraction that is worth blocks, else NULL:
 *
 *  - its one fold, in stage 0, is reassociable, of f32, f64 or integers of 32 or 64 bits, seeded with zero, and
 * advances a0 ← a0 + lhs × rhs; the factors are any values (loads, guarded or not, converted or computed);
 *  - stage 1 stores what it computes from a0, without guards, in steps of 1 to 4 elements along a dim that one factor
 * alone depends on (a column), and can be computed in lanes along it;
 *  - columns × rows × depth ≥ 4096, at least 4 columns, 3 of them in a row, depth ≥ 4;
 *  - at least 4 rows where columns are computed element by element (an input spread by a convolution's base dilation);
 *  - a single row only where the rhs can be read in place, contiguous along the columns.
 *
 * Or else, of floats: at most 4 rows, at least 8 columns, the columns' factor contiguous along a dim of the depth, at
 * most 4 indices of the depth inside of that, the rows' factor in steps of 1 to 4 along it; as whole registers' worth
 * or with masks, at least 4 of them in the whole depth.  Other products of a matrix and a vector, and
 * channels that are batch dims (depthwise), are for the emitter of loops.
 *
 * The fastest whose scratch is within |limit|; less is packed at a time, so more often, as that falls.  NULL where even
 * the smallest needs more than there may be at all.  More than is free, and than 4 KiB, is taken only where nothing
 * else is nearly as fast: what needs no more would take CONTRACTION_BOUGHT_TIME times the time. */
const ContractionBlocking *contraction_blocking_choose(Arena *arena, const Kernel *kernel, const VecTarget *target,
                                                       ContractionScratch limit);

/* Bytes of scratch, a multiple of 64, for packed blocks and unfinished sums; at most 2 MiB. */
int64_t contraction_scratch_bytes(const ContractionBlocking *blocking);

/* Whether both factors are bf16, or bytes, and there are so many products that processors with instructions for those
 * gain by code of their own.  Few rows are read as fast as memory gives them by any. */
bool contraction_multiplies_narrow(const Kernel *kernel, const ContractionBlocking *blocking);

/* So many bytes need not save time: what is free, and 4 KiB. */
int64_t contraction_few_bytes(ContractionScratch limit);
/* Times the time that what needs more must save. */
#define CONTRACTION_BOUGHT_TIME 1.125

/* Whether its time is that of reading a large rhs from memory once, of which estimates know little: its scratch, sums
 * of few rows, is nothing to that. */
bool contraction_streams_rhs(const ContractionBlocking *blocking);
/* Times the time, estimated, that |blocking|, chosen within |limit|, would take with so few bytes: 1 where it takes no
 * more, infinite where they will not do or contraction_streams_rhs. */
double contraction_bought_time(const ContractionBlocking *blocking, ContractionScratch limit);
/* How the work is cut for threads. */
typedef struct ContractionPieces {
  int64_t count;             /* batch entries, tiles of rows or panels of columns; at least 1 */
  int64_t chunk_limit;       /* more runs of them would repeat too much packing */
  int64_t chunks_per_worker; /* as many runs for each thread even out how fast they are, and repeat little */
} ContractionPieces;
ContractionPieces contraction_pieces(const ContractionBlocking *blocking);

/* Emits the body of a function at the builder's position (entry block), buffers being |buffer_pointers|, |scratch|
 * 64-byte aligned of the returned size; leaves the builder at the end of the code, without a terminator.  It does
 * |pieces|, at least one (i64; both NULL: everything), with the same bits however the pieces are shared out. Adds the
 * micro-kernel, "xlac.contraction.…", to the module unless another contraction has done so. */
void contraction_emit(const VecBuilder *vec, const Kernel *kernel, const ContractionBlocking *blocking,
                      LLVMValueRef function, const LLVMValueRef *buffer_pointers, LLVMValueRef scratch,
                      IndexRange pieces);

#endif
