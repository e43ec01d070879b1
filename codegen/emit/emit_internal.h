/* The state of emitting one Kernel with loops, shared by the files of this room. */
#ifndef XLAC_CODEGEN_EMIT_EMIT_INTERNAL_H
#define XLAC_CODEGEN_EMIT_EMIT_INTERNAL_H

#include "codegen/emit/kernel_emitter.h"
#include "codegen/point/kernel_point.h"

#define MAX_PARTS 2

/* A stretch of the vector dimension walked with one number of lanes. */
typedef struct VectorPart {
  int64_t begin, end; /* of the dimension; (end - begin) is a multiple of |lanes|, or one masked step */
  int lanes;
  int64_t masked; /* 0: all lanes; else only the first |masked| of the single step */
} VectorPart;

/* The dimension of one nest that is walked in lanes. */
typedef struct VectorWalk {
  int dim; /* -1: none, scalars only */
  int part_count;
  VectorPart parts[MAX_PARTS];
} VectorWalk;

/* How a Kernel is walked: either an outer dim in lanes, or an inner dim of each stage that has one. */
typedef struct EmitPlan {
  VectorWalk outer_walk;
  VectorWalk *stage_walks;                 /* by stage */
  int outer_count, outer[KERNEL_MAX_DIMS]; /* loop order; an outer vector dim is last */
} EmitPlan;

/* Chooses by counting loads, stores and operations per element for each dim that may be walked in lanes.  |arena| holds
 * the plan. */
void emit_plan_choose(const Kernel *kernel, const VecTarget *target, Arena *arena, EmitPlan *out_plan);

/* No lanes: the dims in their order. */
void emit_plan_scalar(const Kernel *kernel, Arena *arena, EmitPlan *out_plan);

/* Bits of the widest element that the Kernel computes with; addresses (s64 only used as indices) do not count. */
int emit_widest_element(const Kernel *kernel);

/* --- pieces (emit_split.c) --- */

/* How a Kernel is cut into pieces that may run at the same time.  A call of its function does a run of them; whichever
 * it is, each element is computed by the same instructions, so results do not depend on it. */
typedef struct PieceSplit {
  int64_t piece_count;                  /* 1: not cut */
  int dim_count, dims[KERNEL_MAX_DIMS]; /* the first loops, walked as one: a piece is one of their indices; or 0, and */
  int dim;                              /* this one has pieces of |piece_size| indices, the last with the rest; or -1 */
  int64_t piece_size;
} PieceSplit;

/* |dims|: the outermost loops, in order.  |dim|: another one, or -1, that can be cut at multiples of |step| below
 * |extent|. */
PieceSplit emit_split_choose(const Kernel *kernel, const int *dims, int dim_count, int dim, int64_t extent,
                             int64_t step);

/* Indices [begin, end), i64. */
typedef struct IndexRange {
  LLVMValueRef begin, end;
} IndexRange;

typedef struct KernelEmitter {
  const VecBuilder *vec;
  const Kernel *kernel;
  EmitPlan plan;
  Arena *arena;
  LLVMValueRef function;
  PieceSplit split;
  IndexRange pieces; /* what this call does */
  KernelPoint point; /* where the loops stand */
  bool is_unrolled;  /* every point by itself, all indices known */
} KernelEmitter;

/* --- loops (emit_loop.c) --- */

typedef struct LoopPhi {
  LLVMValueRef phi;
  LLVMValueRef *slot; /* holds the initial value before, the phi in the body, the value to carry at its end, the final
                         value behind */
} LoopPhi;

typedef struct Loop {
  LLVMValueRef index; /* i64 */
  bool is_single;     /* one round: no loop is made */
  LLVMValueRef phi, end;
  LLVMBasicBlockRef header;
  int64_t step;
  int phi_count;
  LoopPhi *phis;
  int64_t cache_height;
} Loop;

LLVMValueRef emit_index_constant(const KernelEmitter *emitter, int64_t value);
IndexRange emit_constant_range(const KernelEmitter *emitter, int64_t begin, int64_t end);

/* Starts a loop over |range|, which is not empty, in steps, carrying the values in |slots|; the builder then stands in
 * its body. */
Loop emit_loop_begin(KernelEmitter *emitter, IndexRange range, int64_t step, LLVMValueRef **slots, int slot_count);
/* Ends it; the builder stands behind it and |slots| hold the final values. */
void emit_loop_end(KernelEmitter *emitter, Loop *loop);

/* Computes the values outside of stages whose dims are all among |known|: those that further loops inside would repeat.
 */
void emit_hoist_values(KernelEmitter *emitter, uint64_t known);

/* The loop over the first dims of the split, which it sets, and indices [0, |extent|) of the split's other dim,
 * |extent| being its end before the rest: as far as this call has to do with them. */
Loop emit_split_loop_begin(KernelEmitter *emitter);
IndexRange emit_split_range(KernelEmitter *emitter, int64_t extent);
/* What only the last piece of that dim has: between these two stands code for its call alone. */
LLVMBasicBlockRef emit_last_piece_begin(KernelEmitter *emitter);
void emit_last_piece_end(KernelEmitter *emitter, LLVMBasicBlockRef behind);

/* --- square blocks (emit_transpose.c) --- */

/* A Kernel that stores along one dim and loads along another, walked in square blocks that are transposed in registers.
 */
typedef struct TransposePlan {
  int across, along;  /* the dims of the blocks: loads are contiguous along |across|, stores along |along| */
  int lanes;          /* V: blocks are V × V */
  int64_t strip_rows; /* of |across| between two steps along |along|: whole cache lines of what is loaded */
  int64_t cache_rows, cache_columns; /* the plane is walked in such parts */
  bool is_copy;                      /* the stored value is the load itself */
  int load_count;
  int32_t *loads; /* values that are transposed */
} TransposePlan;

/* False when |kernel| has not that form or its extents are too small.  |arena| holds the plan. */
bool transpose_plan_choose(const Kernel *kernel, const VecTarget *target, Arena *arena, TransposePlan *out_plan);
PieceSplit transpose_split(const Kernel *kernel, const TransposePlan *plan);
/* The emitter's pieces of the nest. */
void emit_transpose(KernelEmitter *emitter, const TransposePlan *plan);

/* --- Kernels of tiles (emit_tiles.c) --- */

/* Like kernel_emit, which calls it. */
MUST_USE Status emit_tiles(const VecBuilder *vec, const Kernel *kernel, const char *name, DiagSink *diag,
                           KernelCode *out_code);

/* --- any Kernel (kernel_emitter.c) --- */

/* The function that is a Kernel's code, without a body; attributes and parameters as KernelCode says. */
LLVMValueRef emit_function(const VecBuilder *vec, const Kernel *kernel, const char *name, bool has_pieces,
                           Arena *arena);
/* Pointers of all buffers: parameters of the function, or places in its scratch, of which |*out_scratch_bytes| are
 * used. */
LLVMValueRef *emit_buffer_pointers(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, Arena *arena,
                                   LLVMValueRef *out_scratch, int64_t *out_scratch_bytes);

/* --- loops over points --- */

PieceSplit nest_split(const Kernel *kernel, const EmitPlan *plan);
/* The emitter's pieces of the nest, as |emitter->plan| says. */
void emit_nest(KernelEmitter *emitter);

#endif
