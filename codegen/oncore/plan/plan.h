/* Plan: what one Kernel does on a core with an on-core Buffer, as a value: which Tensors lie where in the Buffer, which
 * commands move and compute tiles of them in which order, and which commands wait for which.
 *
 * A Plan is made by the tiler from a Kernel (tiler.h), or read from text (plan_parser.h); it is printed in the plan
 * language (docs/plan-language.md), proved (plan_check.h), and turned into code (oncore_emitter.h), always by the same
 * value.  Example, x + 1 for 1000 elements in tiles of 256:
 *
 *   Memory x(shape=1000, dtype=f32) arg 0
 *   Memory y(shape=1000, dtype=f32) result 0
 *   Tensor tx(shape=(2,256), dtype=f32) from ROOT_TENSOR[0:2048]
 *   Tensor ty(shape=(2,256), dtype=f32) from ROOT_TENSOR[2048:4096]
 *   for i in [0, 4]:
 *     ld: load@LD tx[i%2, 0:+min(256, 1000-i*256)] <- x[i*256:+min(256, 1000-i*256)] after ex[i-2]
 *     ex: op@EX ty[i%2, …] = tx[i%2, …] body=stage0 after ld, st[i-2]
 *     st: store@ST y[…] <- ty[…] after ex
 *
 * Index expressions are IndexExprs over the loops' iteration numbers (atoms of kind DIM, numbered by loop) and run-time
 * scalars (atoms of kind VALUE, numbered by PlanScalar). */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_PLAN_H
#define XLAC_CODEGEN_ONCORE_PLAN_PLAN_H

#include "base/array.h"
#include "base/diagnostic.h"
#include "codegen/kernel/kernel.h"

/* --- memory --- */

typedef enum PlanMemoryKind {
  PLAN_ARGUMENT, /* a buffer of the Kernel that is read */
  PLAN_RESULT,   /* one that is written; updated in place, it may be read as well */
  PLAN_TEMPORARY /* the plan's own: what is spilled between stages; its bytes are part of the workspace */
} PlanMemoryKind;

/* A view of an array in off-core memory.  Several views may look at one array. */
typedef struct PlanMemory {
  StringView name;
  PrimitiveType type;
  PlanMemoryKind kind;
  /* ARGUMENT, RESULT: of the Kernel's buffer; TEMPORARY: dense from 0.  Views with equal kind and number share bytes.
   */
  int32_t number;
  int32_t rank;
  const int64_t *extents;
  const int64_t *strides; /* in elements, one per axis; row major unless the text says otherwise */
  IndexExpr offset;       /* in elements, of constants and scalars */
  SourceLoc loc;
} PlanMemory;

/* A number known before the first command: a start of a dynamic slice.  Computed by the scalar unit at entry. */
typedef struct PlanScalar {
  StringView name;
  int32_t value;        /* the Kernel's value (stage KERNEL_OUTER, no dims) */
  int64_t lower, upper; /* inclusive */
} PlanScalar;

/* --- Buffer --- */

typedef enum PlanTensorKind {
  PLAN_TENSOR,      /* no more is known */
  PLAN_RING,        /* axis 0 counts slots, used in turn */
  PLAN_RESIDENT,    /* loaded once per loop around it */
  PLAN_ACCUMULATOR, /* folded into by several commands */
  PLAN_SCRATCH      /* between stages */
} PlanTensorKind;

/* Tensors that outlive the plan: an array of the Kernel as it would lie in memory, all of it, or the first elements of
 * an argument.  Nobody moves it: commands work on its bytes. */
typedef enum PlanHold {
  PLAN_HOLDS_NOTHING, /* undefined before the first command and after the last */
  PLAN_FINDS,         /* the array is there before the first command */
  PLAN_LEAVES         /* it is there after the last one: the plan loads or computes it */
} PlanHold;

/* A Tensor in the Buffer: dense, row major.  A ring's axis 0 counts its slots. */
typedef struct PlanTensor {
  StringView name;
  PrimitiveType type;
  PlanTensorKind kind;
  int32_t rank;
  const int64_t *extents;
  int64_t slot_stride; /* rings: bytes from slot to slot, at least the dense tile's, rounded up to the alignment */
  int64_t begin, end;  /* bytes of the Buffer; end - begin at least what the shape needs, the rest is slack */
  int32_t parent;      /* the Tensor whose interval it was taken from, -1: ROOT_TENSOR */
  bool is_alias;       /* shares bytes with its parent on purpose */
  PlanHold hold;
  int32_t held; /* FINDS, LEAVES: the buffer of the Kernel */
  SourceLoc loc;
} PlanTensor;

/* begin … begin + extent, or where it is ragged begin + min(extent, left). */
typedef struct PlanRange {
  IndexExpr begin;
  int64_t extent;
  bool is_ragged;
  IndexExpr left; /* RAGGED: what there is from here on */
} PlanRange;

/* A part of a memory view or a Tensor: one range per axis. */
typedef struct PlanRef {
  bool is_memory;
  int32_t number;
  int32_t range_count;
  const PlanRange *ranges;
} PlanRef;

/* --- commands --- */

typedef enum PlanVerb {
  PLAN_LOAD,
  PLAN_STORE,
  PLAN_OP,
  PLAN_REDUCE,
  PLAN_DOT,
  PLAN_PERMUTE,
  PLAN_GATHER,
  PLAN_GATHERM,
  PLAN_SORTK,
  PLAN_BARRIER /* what comes later starts after everything before it is complete */
} PlanVerb;

enum { PLAN_NO_QUEUE = -1 }; /* of barriers, which the scalar unit does */

/* A command waits for an instance of an earlier one: |distance| 0 is the latest instance before it in program order, 1
 * the one before that, and so on; one that would lie before the first instance is no edge.  In text, L[i-d] counts from
 * the iteration at hand. */
typedef struct PlanEdge {
  int32_t command; /* number of the producer */
  int64_t distance;
  int64_t before; /* so many instances right before that one are waited for too: of queues that keep no order */
  int32_t same;   /* only where both are in the same iteration of the |same| outermost loops around them */
} PlanEdge;

/* What a command of a program of its own computes: a Kernel over whole operands, dense and row major each.  Its buffers
 * are OPERANDs, RESULTs and, for what it keeps between its stages, IN_PLACE ones, which are written before they are
 * read (operation_kernel.h). */
typedef struct PlanOperation {
  const Kernel *kernel;
  const int32_t *operands; /* by buffer of |kernel|: the command's source, or of others its target */
} PlanOperation;

typedef struct PlanCommand {
  StringView label; /* unique */
  PlanVerb verb;
  int32_t queue; /* of the machine; barriers: PLAN_NO_QUEUE */
  int32_t loop;  /* the innermost loop around it, -1 for none */
  int32_t target_count, source_count;
  const PlanRef *targets, *sources; /* OP and the like: in the order of tile_accesses (tile_access.h) */
  int32_t edge_count;
  const PlanEdge *edges;

  /* What is moved or computed, in the Kernel's terms.  |points|: one range per dim of the Kernel; those of dims that
   * the command does not walk have extent 0.  NULL without a Kernel. */
  const PlanRange *points;
  int32_t value; /* GATHERM, and LOAD where the tile is more than a box of the view (guarded by a predicate, or with
                    divisions in its address): the Kernel's load; PERMUTE: the same from an array that is in the Buffer,
                    its one source, flat, GATHER: with indices as for GATHERM; else -1: the source's elements are the
                    target's */
  int32_t first_stage, last_stage; /* OP, REDUCE, DOT, PERMUTE, GATHER */
  bool keeps_accumulators;         /* the folds of the (one) stage live in Tensors from command to command */
  bool init;                       /* they start from their seeds … */
  int32_t init_loop;               /* … in the first iteration of this loop and of those inside it; -1: always */
  PlanRange slice;     /* OP that updates buffers of which a part is in the Buffer: those elements; extent 0: all */
  int32_t index_value; /* OP: the run-time part of the address of this load is computed, in elements; else -1 */
  const PlanOperation *operation; /* of a program: what it computes; NULL: a part of the plan's Kernel, or a move */
  StringView body; /* of a program: the operation's name; of other plans without a Kernel one that is not looked up */
  double cost; /* of a computation without a Kernel: cycles per vector of its largest operand; 0: moves its targets */
  StringView hlo; /* name of the instruction, for people */
  SourceLoc loc;
} PlanCommand;

typedef enum PlanNodeKind { PLAN_NODE_COMMAND, PLAN_NODE_LOOP } PlanNodeKind;

typedef struct PlanNode {
  PlanNodeKind kind;
  int32_t number; /* of the command or loop */
} PlanNode;

typedef struct PlanBlock {
  int32_t node_count;
  const PlanNode *nodes; /* in program order */
} PlanBlock;

typedef struct PlanLoop {
  StringView name;
  int64_t trip_count; /* iterations 0 … trip_count - 1 */
  int32_t parent;     /* the loop around it, -1 for none */
  PlanBlock body;
} PlanLoop;

typedef struct Plan Plan;
struct Plan {
  Arena *arena;
  IndexSpace space;     /* of the expressions over loops and scalars */
  StringView name;      /* of the Kernel's instruction; several Kernels of one are told apart by a suffix */
  SourceLoc loc;        /* of the name in the plan's text, of xlac's own that of the instruction */
  const Kernel *kernel; /* NULL for a plan read without its module; a program's has buffers alone */
  int64_t buffer_bytes; /* the machine's Buffer less what it reserves */
  PrimitiveType unit;   /* what intervals in text count; TYPE_INVALID: bytes */
  int64_t alignment;    /* least alignment of a Tensor's base */
  double estimate;      /* cycles, by the tiler's arithmetic; 0: not estimated */
  int64_t temporary_count;
  const int64_t *temporary_bytes;
  int32_t memory_count, scalar_count, tensor_count, loop_count, command_count;
  const PlanMemory *memories;
  const PlanScalar *scalars;
  const PlanTensor *tensors;
  const PlanLoop *loops;       /* a loop after those around it */
  const PlanCommand *commands; /* in program order */
  PlanBlock block;
  const Plan *as_tiled; /* the same with one queue for each kind of work, each load before the work on its tile, where
                          this one has more (plan_spread) or issues loads ahead (plan_ahead); NULL: it does neither */
};

/* Whether |command| brings what a load of the Kernel's does from an array in the Buffer: a PERMUTE or GATHER. */
bool plan_brings_held(const PlanCommand *command);
/* Whether what |plan| computes is said by its commands (PlanCommand.operation): its Kernel says what it reads and
 * writes alone. */
bool plan_is_program(const Plan *plan);

/* |plan| as it is before work is spread over queues and loads are issued ahead: after that a tile comes by several
 * commands. */
const Plan *plan_as_tiled(const Plan *plan);

/* The range that is one index. */
PlanRange plan_range_index(IndexExpr at);
/* 0 … extent. */
PlanRange plan_range_whole(int64_t extent);
/* Equal extents in every iteration. */
bool plan_range_same_size(const PlanRange *a, const PlanRange *b);
/* Bytes of what intervals count. */
int64_t plan_unit_bytes(const Plan *plan);
/* The Tensor of an array that outlives the plan of which |tensor| is, or is an alias, -1: it is of none. */
int32_t plan_tensor_holder(const Plan *plan, int32_t tensor);
/* Whether folds are summed up in the array of Tensor |holder|: it is written several times then. */
bool plan_sums_held(const Plan *plan, int32_t holder);
/* Whether an array outlives |plan|. */
bool plan_has_residents(const Plan *plan);
/* Whether |a| and |b|, of equal Kernels, find and leave the same arrays at the same places, the same ones in memory as
 * well. */
bool plan_same_residents(const Plan *a, const Plan *b);
/* The bytes of the Buffer that mean something to nobody but the plan: of all Tensors that hold nothing. */
void plan_own_bytes(const Plan *plan, int64_t *out_begin, int64_t *out_end);
/* Bytes of the Tensor's shape, of a ring those of one slot, without what aligns the next. */
int64_t plan_tile_bytes(const PlanTensor *tensor);
/* Bytes of the Tensor's shape; a ring's with its slots' stride. */
int64_t plan_tensor_bytes(const PlanTensor *tensor);
/* Executions of a command, or of what stands in |loop| (-1: 1). */
int64_t plan_loop_instances(const Plan *plan, int32_t loop);
/* The innermost loop around both |a| and |b|, -1 for none. */
int32_t plan_common_loop(const Plan *plan, int32_t a, int32_t b);
/* Loops around |loop| and itself. */
int32_t plan_loop_depth(const Plan *plan, int32_t loop);
/* |loop| is |outer| or stands in it; everything stands in -1. */
bool plan_loop_is_inside(const Plan *plan, int32_t loop, int32_t outer);
/* What is done in each turn of |loop|, -1: in the plan. */
const PlanBlock *plan_body(const Plan *plan, int32_t loop);
/* The command that |block| ends with, in its loops or not. */
int32_t plan_last_command(const Plan *plan, const PlanBlock *block);
/* The first view of the array that view |memory| looks at: itself, when there is none before it. */
int32_t plan_first_view(const Plan *plan, int32_t memory);

/* Of the innermost loop around both ends of an edge: how many iterations it goes back, counted through all runs of the
 * loop, and executions of the producer in one of them.  |loop| -1: there is none. */
typedef struct PlanEdgeReach {
  int32_t loop, same_loop; /* |same_loop|: the innermost one whose iteration has to be the same, -1: none */
  int64_t back, runs;
} PlanEdgeReach;
PlanEdgeReach plan_edge_reach(const Plan *plan, int32_t consumer, const PlanEdge *edge);
/* Iterations of reach->loop in one of reach->same_loop, and which of them |iterations|, one per loop, is. */
int64_t plan_reach_period(const Plan *plan, const PlanEdgeReach *reach);
int64_t plan_reach_iteration(const Plan *plan, const PlanEdgeReach *reach, const int64_t *iterations);

#endif
