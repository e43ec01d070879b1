/* The state of emitting one Kernel with loops, shared by the files of this room. */
#ifndef XLAC_CODEGEN_EMIT_EMIT_INTERNAL_H
#define XLAC_CODEGEN_EMIT_EMIT_INTERNAL_H

#include "base/array.h"
#include "codegen/emit/kernel_emitter.h"

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

/* Bits of the widest element that the Kernel computes with; addresses (s64 only used as indices) do not count. */
int emit_widest_element(const Kernel *kernel);

typedef struct CachedValue {
  LLVMValueRef value; /* NULL: not computed here */
  LLVMValueRef splat; /* in all lanes, when |value| is a scalar and somebody needed it so */
  bool is_vector;
} CachedValue;

typedef struct KernelEmitter {
  const VecBuilder *vec;
  const Kernel *kernel;
  EmitPlan plan;
  Arena *arena;
  LLVMValueRef function;
  LLVMValueRef *buffers;
  LLVMValueRef dims[KERNEL_MAX_DIMS]; /* i64; the first lane's of the vector dim */
  int lanes;                          /* of the vector dim where the builder stands; 1 outside of it */
  int vector_dim;                     /* the dim that is walked in these lanes */
  LLVMValueRef mask;                  /* active lanes of a masked step, NULL: all */
  CachedValue *values;
  ARRAY(int32_t) computed;    /* values in the cache, in order of computation */
  LLVMValueRef *accumulators; /* by fold: current value in its stage, final value behind */
} KernelEmitter;

/* --- indices (emit_index.c) --- */

/* The expression at the first lane, as an i64. */
LLVMValueRef emit_index(KernelEmitter *emitter, IndexExpr expr);
/* In all lanes, as i64 or i32 (when |bits| is 32 the range must fit). */
LLVMValueRef emit_index_lanes(KernelEmitter *emitter, IndexExpr expr, int bits);

typedef enum AccessKind { ACCESS_UNIFORM, ACCESS_CONTIGUOUS, ACCESS_SCATTERED } AccessKind;
/* How |expr| moves from lane to lane. */
AccessKind emit_access_kind(const KernelEmitter *emitter, IndexExpr expr);

/* True when |expr| moves by a constant, |*out_stride|, from one index of |dim| to the next. */
bool emit_plain_stride(const Kernel *kernel, IndexExpr expr, int dim, int64_t *out_stride);

/* --- values (emit_value.c) --- */

bool emit_is_vector(const KernelEmitter *emitter, int32_t value); /* varies from lane to lane here */
/* The value, computed now if it was not yet; a scalar when it does not vary. */
LLVMValueRef emit_value(KernelEmitter *emitter, int32_t value);
/* The value in the current number of lanes. */
LLVMValueRef emit_value_lanes(KernelEmitter *emitter, int32_t value);
/* A KernelStore at the current point. */
void emit_store(KernelEmitter *emitter, const KernelStore *store);

/* Forgets values computed since the cache had |height| entries. */
void emit_forget(KernelEmitter *emitter, int64_t height);

/* --- loops (emit_loop.c) --- */

typedef struct LoopPhi {
  LLVMValueRef phi;
  LLVMValueRef *slot; /* holds the initial value before, the phi in the body, the value to carry at its end, the final
                         value behind */
} LoopPhi;

typedef struct Loop {
  LLVMValueRef index; /* i64 */
  bool is_single;     /* one round: no loop is made */
  LLVMValueRef phi;
  LLVMBasicBlockRef header;
  int64_t end, step;
  int phi_count;
  LoopPhi *phis;
  int64_t cache_height;
} Loop;

/* Starts a loop over [begin, end) in steps, carrying the values in |slots|; the builder then stands in its body. */
Loop emit_loop_begin(KernelEmitter *emitter, int64_t begin, int64_t end, int64_t step, LLVMValueRef **slots,
                     int slot_count);
/* Ends it; the builder stands behind it and |slots| hold the final values. */
void emit_loop_end(KernelEmitter *emitter, Loop *loop);

/* Computes the values outside of stages whose dims are all among |known|: those that further loops inside would repeat.
 */
void emit_hoist_values(KernelEmitter *emitter, uint64_t known);

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
/* The whole nest. */
void emit_transpose(KernelEmitter *emitter, const TransposePlan *plan);

/* --- any Kernel --- */

/* The whole nest, as |emitter->plan| says. */
void emit_nest(KernelEmitter *emitter);

#endif
