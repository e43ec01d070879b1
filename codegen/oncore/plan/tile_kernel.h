/* What one command does, as a Kernel of its own over tiles: so that every command is emitted, printed and verified by
 * what exists for Kernels.
 *
 * A load is a copy from a memory view to a tile, a store the reverse; an exec command is its stages of the plan's
 * Kernel with each load replaced by one from a tile; a program's is the Kernel of its operation as it is.  Extents are
 * constants: where ranges are ragged there is one Kernel for each combination of full and last sizes ("variants"). */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TILE_KERNEL_H
#define XLAC_CODEGEN_ONCORE_PLAN_TILE_KERNEL_H

#include "codegen/oncore/plan/tile_access.h"

/* Where a buffer of a tile Kernel begins. */
typedef struct TilePointer {
  bool is_memory;
  int32_t number;        /* of the PlanMemory or PlanTensor */
  IndexExpr byte_offset; /* over the plan's loops and scalars; from the start of the array or of the Buffer */
} TilePointer;

typedef struct TileKernel {
  const Kernel *kernel;
  IndexSpace space;            /* of the expressions here: the plan's and more */
  const TilePointer *pointers; /* by buffer of |kernel| */
  /* The buffer through which the Kernel reads run-time numbers (first indices of ranges), an s64 array without a
   * pointer; -1: it needs none. */
  int32_t parameter_buffer;
  int32_t parameter_count;
  const IndexExpr *parameters;
} TileKernel;

#define TILE_MAX_RAGGED 6

/* The variant bit of a command with accumulators that starts them from their seeds (PlanCommand.init); without it they
 * go on from what their Tensors hold. */
#define TILE_VARIANT_INIT (1u << TILE_MAX_RAGGED)

/* The ragged ranges of |command|, equal ones once: variant bit r says that range r has its last, shorter size.  At most
 * TILE_MAX_RAGGED; STATUS_INVALID ("plan-ragged") beyond, or when a range takes more than two sizes. */
MUST_USE Status tile_ragged_ranges(const Plan *plan, const PlanCommand *command, DiagSink *diag,
                                   PlanRange out_ranges[TILE_MAX_RAGGED], int32_t *out_count);
/* Size of |range| in its last iteration. */
int64_t tile_last_extent(const Plan *plan, const PlanRange *range);

/* The Kernel of variant |variant|.  Lives in |arena|.  STATUS_INVALID for a command whose operands do not fit what it
 * covers ("plan-operands"): their number, types or extents. */
MUST_USE Status tile_kernel_build(Arena *arena, const Plan *plan, const PlanCommand *command, uint32_t variant,
                                  DiagSink *diag, TileKernel *out_kernel);

#endif
