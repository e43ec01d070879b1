/* The state of emitting one Kernel with loops, shared by the files of this room. */
#ifndef XLAC_CODEGEN_EMIT_EMIT_INTERNAL_H
#define XLAC_CODEGEN_EMIT_EMIT_INTERNAL_H

#include "codegen/emit/kernel_emitter.h"
#include "codegen/emit/kernel_strategy.h"
#include "codegen/kernel/fold_choice.h"
#include "codegen/point/kernel_point.h"

/* Chooses by counting loads, stores and operations per element for each dim that may be walked in lanes.  |arena| holds
 * the strategy. */
void loop_strategy_choose(const Kernel *kernel, const VecTarget *target, Arena *arena, LoopStrategy *out_strategy);

/* No lanes: the dims in their order. */
void loop_strategy_scalar(const Kernel *kernel, Arena *arena, LoopStrategy *out_strategy);

/* Bits of the widest element that the Kernel computes with; addresses (s64 only used as indices) do not count. */
int emit_widest_element(const Kernel *kernel, const VecTarget *target);

#define LINE_BYTES 64 /* of a cache */

/* --- how loops go through memory (memory_strategy.c) --- */

/* In how many places at once the inner dim |dim|, walked in lanes, is read. */
int memory_stream_count(const Kernel *kernel, int dim);
/* How many bytes further on memory is asked for what |dim|, walked in lanes, reads; 0: it is not. */
int64_t memory_ahead(const Kernel *kernel, int dim);
/* Of a |dim| along which it is: whether for |value|, a load in order of much memory. */
bool memory_is_asked_ahead(const Kernel *kernel, const KernelValue *value, int dim);
/* How many bytes further on load |value|, contiguous along |dim|, reads at the next index of the outer dim |row|, or
 * where rows are short some indices on, or where the next row is read at the same time (|is_early|) two pages from
 * there; 0: it does not move, is in the scratch, or not contiguous. */
int64_t memory_row_distance(const Kernel *kernel, const KernelValue *value, int dim, int row, bool is_early);
/* Whether stage |stage|, walked in lanes along |dim|, may ask for what its loads read at such an index of |row|: much
 * lies in memory, and the second-level cache has room for such rows. */
bool memory_asks_next_rows(const Kernel *kernel, int stage, int dim, int row);
/* From which buffer, and modulo what, the scratch of stage |stage|, of which that is true, had better lie apart. */
RowsApart memory_rows_apart(const Kernel *kernel, int stage, int dim, int row);
/* The ends of the ranges of |dim| within which all conditions on its index alone are known, the last one its extent; 1
 * when there are none, or too many. */
int memory_known_ranges(const Kernel *kernel, int dim, int64_t ends[MAX_RANGES]);
/* Whether and how the main part of |walk|, of an outer dim, is a sweep. */
SweepStrategy memory_sweep_choose(const Kernel *kernel, const VectorWalk *walk);
/* How many bytes further on load |value| of a sweep over the rows |rows|, in lanes along |dim|, reads in the next round
 * of rows; 0: caches hold it. */
int64_t memory_sweep_distance(const Kernel *kernel, const KernelValue *value, int dim, int rows);
#define SWEEP_ROWS 8
#define SWEEP_COLUMN_BITS 512 /* of a fold's accumulators at a time: a line of memory */
/* By buffer: whether all that is stored there is so much, in such an order, that it had better not go through the
 * caches.  |outer_walk| has the lanes, or for each stage one of |stage_walks|.  NULL: none.  |arena| holds it. */
const bool *memory_streamed_buffers(const Kernel *kernel, const VecTarget *target, const VectorWalk *outer_walk,
                                    const VectorWalk *stage_walks, Arena *arena);

/* --- chains of sums (fold_chains.c) --- */

/* Whether |fold| is a sum of floats that may be made of sums of its parts. */
bool fold_is_sum(const Kernel *kernel, int fold);
/* The strips and chains of folds (kernel_strategy.h) of |strategy|, whose walks are chosen. */
void fold_chains_choose(const Kernel *kernel, const VecTarget *target, LoopStrategy *strategy);

/* --- taps (emit_taps.c) --- */

/* Whether and how results of folds under the outer walk |walk| are computed side by side.  |arena| holds the strategy.
 */
bool taps_choose(const Kernel *kernel, const VecTarget *target, const VectorWalk *walk, Arena *arena,
                 TapStrategy *out_taps);

/* --- runs of points that come one after the other (emit_runs.c) --- */

/* Whether and how the innermost of |loops|, which has no lanes, is walked so.  |lanes|: of a register.  |arena| holds
 * the strategy. */
RunStrategy runs_choose(const Kernel *kernel, const LoopStrategy *loops, int lanes, Arena *arena);

/* --- pieces (emit_split.c) --- */

/* |dims|: the outermost loops, in order.  |dim|: another one, or -1, that can be cut at multiples of |step| below
 * |extent|. */
PieceSplit emit_split_choose(const Kernel *kernel, const int *dims, int dim_count, int dim, int64_t extent,
                             int64_t step);

typedef struct FoldNest FoldNest; /* the folds of a stage while its loops are written (emit_fold.c) */

typedef struct KernelEmitter {
  const VecBuilder *vec;
  const Kernel *kernel;
  LoopStrategy loops;
  Arena *arena;
  LLVMValueRef function;
  PieceSplit split;
  IndexRange pieces;        /* what this call does */
  KernelPoint point;        /* where the loops stand */
  LLVMValueRef first_place; /* with taps: the first of those that are side by side; */
  int place_count;          /* and how many are */
  LLVMValueRef scratch;     /* of sweeps: the accumulators */
  LLVMValueRef sweep_begin; /* the first column of the tile whose accumulators are in memory; NULL: none is */
  bool is_unrolled;         /* every point by itself, all indices known */
  KernelPoint *behind;      /* where the last stage stands; NULL: where the others do */
  KernelPoint *early;       /* where the first stage stands, whose folds are |early_nest|; NULL: where the others do */
  FoldNest *early_nest;
} KernelEmitter;

/* --- loops (emit_loop.c) --- */

LLVMValueRef emit_index_constant(const KernelEmitter *emitter, int64_t value);
IndexRange emit_constant_range(const KernelEmitter *emitter, int64_t begin, int64_t end);

/* Computes the values of |stage|, or outside of stages (KERNEL_OUTER), whose dims are all among |known|: those that
 * further loops inside would repeat. */
void emit_hoist_values(KernelEmitter *emitter, int stage, uint64_t known);
/* All stages at the current point of the outer dims, but for those that stand at points of their own. */
void emit_stages(KernelEmitter *emitter, uint64_t known);

/* |part| of the dim |dim|, walked in lanes: from here to the end of them. */
void emit_enter_lanes(KernelEmitter *emitter, int dim, const VectorPart *part);
void emit_leave_lanes(KernelEmitter *emitter);
/* By how much such a loop goes on. */
static inline int64_t emit_part_step(const VectorPart *part) {
  return part->masked != 0 ? part->end - part->begin : part->lanes;
}
IndexRange emit_whole_dim(const KernelEmitter *emitter, int dim);
/* The stores of the stage at the current point.  All values first: a later store must not see what an earlier one
 * wrote. */
void emit_stores(KernelEmitter *emitter, int stage);

/* The loop over the dim of |emitter->loops.runs|, the innermost; values that do not depend on it are known. */
void emit_runs(KernelEmitter *emitter);

/* What the loads of |stage|, which |walk| goes along, will read further on is asked for. */
void emit_ask_ahead(KernelEmitter *emitter, int stage, const VectorWalk *walk);

/* --- folds (emit_fold.c) --- */

/* The inner loops of |stage|: its folds, whose final values become the point's accumulators, and its stores at each
 * point. */
void emit_folds(KernelEmitter *emitter, int stage, uint64_t known);
/* The same in parts, for loops that are written elsewhere: what stands before the loops; one step of all folds of the
 * stage at the current point, in |part| of its walk (with taps: of the place of that number), and then its stores; what
 * stands after the loops. */
FoldNest *emit_fold_begin(KernelEmitter *emitter, int stage);
void emit_fold_step(KernelEmitter *emitter, FoldNest *nest, int part);
void emit_fold_end(KernelEmitter *emitter, FoldNest *nest);
/* All loops of the stage, after emit_fold_begin. */
void emit_fold_loops(KernelEmitter *emitter, FoldNest *nest, uint64_t known);
/* Where the current values of all accumulators stand; returns how many there are. */
int emit_fold_slots(KernelEmitter *emitter, FoldNest *nest, LLVMValueRef ***out_slots);
/* With taps, instead of emit_fold_end: the final values of the result at |place| become the point's accumulators. */
void emit_fold_take(KernelEmitter *emitter, const FoldNest *nest, int place);

/* --- taps (emit_taps.c) --- */

/* The loop over places, in parts, whose body is |emit_body|, a level further inside; |known| are the dims that stand
 * still, without the places. */
void emit_tap_places(KernelEmitter *emitter, int level, uint64_t known,
                     void (*emit_body)(KernelEmitter *emitter, int level, uint64_t known));
/* All stages at the places that are side by side. */
void emit_tap_stages(KernelEmitter *emitter, uint64_t known);
/* The steps of the innermost loop of |nest|, the folds of stage |stage|, at all of those places. */
void emit_tap_steps(KernelEmitter *emitter, FoldNest *nest, int stage, uint64_t known);

/* --- the last stage a row behind, the first one a row early (emit_behind.c) --- */

/* Whether the last stage, which stores, may run in the loops of stage |stage|, which computes a row for it. */
bool behind_matches(const Kernel *kernel, const LoopStrategy *loops, int stage);
#define BEHIND_CHUNK_ROWS 4 /* of a thread's chunk, at least: each has a round more than rows */
/* The emitter's pieces, each of them a row. */
void emit_rows_behind(KernelEmitter *emitter);
/* The last stage's step in that loop: |part| of the row before, from |index| on. */
void emit_behind(KernelEmitter *emitter, const VectorPart *part, LLVMValueRef index);
/* Whether the first stage's folds may be steps of the loops of stage |stage|, in which the last one runs. */
bool early_matches(const Kernel *kernel, const VecTarget *target, const LoopStrategy *loops, int stage);
/* The first stage's step in that loop: part |part| of the next row, from |index| on. */
void emit_early(KernelEmitter *emitter, int part, LLVMValueRef index);

/* The loop over the first dims of the split, which it sets, and indices [0, |extent|) of the split's other dim,
 * |extent| being its end before the rest: as far as this call has to do with them. */
PointLoop emit_split_loop_begin(KernelEmitter *emitter);
/* The indices of those first dims, by dim, that are piece |piece|. */
void emit_split_bind(const KernelEmitter *emitter, LLVMValueRef piece, LLVMValueRef *out_dims);
IndexRange emit_split_range(KernelEmitter *emitter, int64_t extent);
/* What only the last piece of that dim has: between these two stands code for its call alone. */
LLVMBasicBlockRef emit_last_piece_begin(KernelEmitter *emitter);
void emit_last_piece_end(KernelEmitter *emitter, LLVMBasicBlockRef behind);

/* Asks for what |load| reads at this point of its lanes, |distance| bytes further on (emit_loop.c). */
void emit_ask_for(KernelEmitter *emitter, int32_t load, int64_t distance);

/* --- sweeps (emit_sweep.c) --- */

/* The loop over tiles of the columns |range|, in which each tile's sums are complete; the columns of the round. */
PointLoop emit_sweep_begin(KernelEmitter *emitter, IndexRange range, IndexRange *out_tile);
void emit_sweep_end(KernelEmitter *emitter, PointLoop *tiles);
/* Columns of a round, which divide those of the walk: rows are streams however many of their elements are added at a
 * time, and LLVM's time goes with the registers that are. */
int emit_sweep_columns(const KernelEmitter *emitter);
/* The folds' final values at the point, within that loop. */
void emit_sweep_load(KernelEmitter *emitter);

/* --- square blocks (emit_transpose.c) --- */

/* False when |kernel| has not that form or its extents are too small.  |arena| holds the strategy. */
bool transpose_strategy_choose(const Kernel *kernel, const VecTarget *target, Arena *arena,
                               TransposeStrategy *out_strategy);
/* As memory_streamed_buffers. */
const bool *transpose_streamed_buffers(const Kernel *kernel, const VecTarget *target, const TransposeStrategy *strategy,
                                       Arena *arena);
PieceSplit transpose_split(const Kernel *kernel, const TransposeStrategy *strategy);
/* A square of points, |lanes| along each of two dims, from the current point on.  |count| columns of it are read. */
typedef struct SquareBlock {
  int across; /* the dim along which memory is contiguous, or of small stride */
  int along;  /* and the one along which rows follow one another */
  int lanes, count;
} SquareBlock;

#define SQUARE_MAX_OPERATIONS 600 /* of one block: it is straight-line code */

/* The loads that are read so; their number.  |out_loads| has room for all values. */
int emit_square_loads(const Kernel *kernel, int across, int along, int32_t *out_loads);
/* Load |load| at all points of |block|, at one lane: row i, as in memory, is of the i-th index of |across|. */
void emit_load_square(KernelEmitter *emitter, int32_t load, const SquareBlock *block, LLVMValueRef *out_rows);

/* The emitter's pieces of the nest. */
void emit_transpose(KernelEmitter *emitter, const TransposeStrategy *strategy);

/* --- Kernels of tiles (emit_tiles.c) --- */

/* Like kernel_emit, which calls it, for a strategy of form TILES. */
MUST_USE Status emit_tiles(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy,
                           const char *name, DiagSink *diag, KernelCode *out_code);

/* --- any Kernel (kernel_emitter.c) --- */

/* How many buffers of role SCRATCH |kernel| has; the place of buffer |buffer|, one of them, in the scratch (with the
 * number of all buffers: the bytes of all of them). */
int emit_row_count(const Kernel *kernel);
int64_t emit_row_place(const Kernel *kernel, int buffer);
/* What the caller of a Kernel's function has to know. */
KernelCode emit_code(const KernelStrategy *strategy, LLVMValueRef function);
/* The function that is a Kernel's code, without a body; attributes and parameters as KernelCode says. */
LLVMValueRef emit_function(const VecBuilder *vec, const Kernel *kernel, const char *name,
                           const KernelStrategy *strategy, Arena *arena);
/* Pointers of all buffers: parameters of the function, or places at the beginning of its scratch. */
LLVMValueRef *emit_buffer_pointers(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, Arena *arena,
                                   LLVMValueRef *out_scratch);

/* --- loops over points --- */

PieceSplit nest_split(const Kernel *kernel, const LoopStrategy *strategy);
/* The emitter's pieces of the nest, as |emitter->loops| says. */
void emit_nest(KernelEmitter *emitter);

#endif
