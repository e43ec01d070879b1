/* TileBuilder: the state of making one tile Kernel (tile_kernel.c): the draft of it, and what the dims, values and
 * folds of the plan's Kernel are there. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TILE_BUILDER_H
#define XLAC_CODEGEN_ONCORE_PLAN_TILE_BUILDER_H

#include "codegen/kernel/kernel_draft.h"
#include "codegen/oncore/plan/tile_kernel.h"

typedef struct TileBuilder {
  Arena *arena;
  const Plan *plan;
  const PlanCommand *command;
  DiagSink *diag;
  uint32_t variant;
  PlanRange ragged[TILE_MAX_RAGGED];
  int32_t ragged_count;
  IndexSpace plan_space; /* the plan's, with what pointers and parameters need beside */

  /* computations */
  TileCover cover;
  TileAccesses accesses;
  int32_t *access_buffers;     /* by access */
  const PlanRef **access_refs; /* by access */

  /* from the plan's Kernel to this one */
  IndexExpr *local; /* by dim: the index within the range */
  IndexExpr *whole; /* by dim: the whole index, where has_whole */
  bool *has_whole;
  int32_t *new_number; /* by value, -1: not copied */
  int32_t *new_folds;  /* by fold, -1: not of this command */

  /* the new one */
  KernelDraft draft;
  ARRAY(TilePointer) pointers; /* by buffer */
  ARRAY(IndexExpr) parameters;
  int32_t parameter_buffer; /* -1: none yet */
  bool has_slice_begin;
  IndexExpr slice_begin;
} TileBuilder;

MUST_USE Status tile_builder_init(TileBuilder *builder, Arena *arena, const Plan *plan, const PlanCommand *command,
                                  uint32_t variant, DiagSink *diag);
/* Freezes and verifies. */
MUST_USE Status tile_builder_finish(TileBuilder *builder, TileKernel *out_kernel);

/* --- operands of commands --- */

PrimitiveType tile_ref_type(const Plan *plan, const PlanRef *ref);
int64_t tile_ref_element_bytes(const Plan *plan, const PlanRef *ref);
/* In elements, one per axis; 0 for a ring's slots. */
void tile_ref_strides(const Plan *plan, const PlanRef *ref, int64_t *out_strides);
/* Where the part begins. */
TilePointer tile_ref_pointer(TileBuilder *builder, const PlanRef *ref);
void tile_move_pointer(TileBuilder *builder, TilePointer *pointer, IndexExpr by, int64_t scale);
/* The PlanScalar that stands for a run-time atom of the plan's Kernel. */
IndexExpr tile_plan_scalar(TileBuilder *builder, const IndexAtom *atom);
/* |expr| of the plan's loops and scalars as one of the new Kernel: a number, or a parameter. */
IndexExpr tile_parameter(TileBuilder *builder, IndexExpr expr);

/* --- dims and addresses --- */

/* What |range| covers in this variant. */
int64_t tile_extent(const TileBuilder *builder, const PlanRange *range);
/* Dim |dim| of the plan's Kernel as far as the command covers it; its stage counts from the first covered one. */
void tile_add_kernel_dim(TileBuilder *builder, int32_t dim);
/* The same for the axes of a load, all parallel. */
void tile_add_axes(TileBuilder *builder, const int32_t *axes, int32_t count);
/* The local point's address in Tensor |ref|, whose axes are |axes| after a ring's slots. */
IndexExpr tile_address(TileBuilder *builder, const PlanRef *ref, const int32_t *axes, int32_t count);
/* The same in the Tensor of |access| for a store to |address| of the plan's Kernel. */
IndexExpr tile_access_address(TileBuilder *builder, int32_t access, IndexExpr address);
/* |expr| of the plan's Kernel with whole indices of its dims; the values it reads must have been copied. */
IndexExpr tile_whole_index(TileBuilder *builder, IndexExpr expr);

/* --- values --- */

int32_t tile_add_buffer(TileBuilder *builder, KernelBufferRole role, PrimitiveType type, TilePointer pointer);
int32_t tile_add_load(TileBuilder *builder, int32_t buffer, IndexExpr address);
/* It has at most so many elements, whatever addresses lead to beyond them under a guard. */
void tile_limit_buffer(TileBuilder *builder, int32_t buffer, int64_t element_count);
int32_t tile_add_guarded_load(TileBuilder *builder, int32_t buffer, IndexExpr address, int32_t predicate);
int32_t tile_add_apply(TileBuilder *builder, HloOpcode opcode, PrimitiveType type, int32_t left, int32_t right);
int32_t tile_add_final(TileBuilder *builder, int32_t fold);
/* A fold like |like| with another seed and stage; its next value follows. */
int32_t tile_add_fold(TileBuilder *builder, const KernelFold *like, int32_t stage, int32_t seed);
void tile_set_next(TileBuilder *builder, int32_t fold, int32_t next);
/* In the stage that was begun last. */
void tile_add_store(TileBuilder *builder, int32_t buffer, IndexExpr address, int32_t value);
void tile_add_guarded_store(TileBuilder *builder, int32_t buffer, IndexExpr address, int32_t value, int32_t predicate);

/* |*loaded| where |predicate| is true, else constant |padding| of the plan's Kernel. */
MUST_USE Status tile_pad(TileBuilder *builder, int32_t predicate, int32_t padding, int32_t *loaded);
/* A value of the plan's Kernel and all it reads, loads coming from tiles.  STATUS_INVALID where a load has none. */
MUST_USE Status tile_copy_value(TileBuilder *builder, int32_t value, int32_t *out_value);
/* |address| of the plan's Kernel, with all it reads, for the buffer that is updated, and |predicate|, -1 for none:
 * where a slice of it is there, the address in the slice, and whether the element is in the slice. */
MUST_USE Status tile_copy_update(TileBuilder *builder, IndexExpr address, int32_t predicate, IndexExpr *out_address,
                                 int32_t *out_predicate);
/* The run-time terms of |address| as an s64 value. */
MUST_USE Status tile_copy_run_time_index(TileBuilder *builder, IndexExpr address, int32_t *out_value);

#endif
