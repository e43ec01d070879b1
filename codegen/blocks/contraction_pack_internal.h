/* What contraction_pack.c has for the packing of either factor (contraction_pack_lhs.c, contraction_pack_rhs.c). */
#ifndef XLAC_CODEGEN_BLOCKS_CONTRACTION_PACK_INTERNAL_H
#define XLAC_CODEGEN_BLOCKS_CONTRACTION_PACK_INTERNAL_H

#include "codegen/blocks/contraction_internal.h"

/* --- the depth --- */

/* Loops over the dims of the depth inside a block, the last |merged| of them as one, left out here: the caller walks
 * those. */
typedef struct PackNest {
  ContractionEmitter *emitter;
  int loop_count;
  PointLoop loops[KERNEL_MAX_DIMS];
  LLVMValueRef offset; /* of the current point in the packed depth */
} PackNest;

void pack_nest_begin(ContractionEmitter *emitter, const DepthBlock *block, int merged, PackNest *nest);
/* One more loop, over dim |i| of the depth. */
void pack_nest_add(PackNest *nest, const DepthBlock *block, int i);
void pack_nest_end(PackNest *nest);

/* How many last dims of the depth, none outside the chunk, |set| walks as one. */
int pack_merged_depth(const ContractionEmitter *emitter, const ValueSet *set);

/* How many indices of dim |i| of the depth, which is not outside of the chunk, there are in the block. */
LLVMValueRef pack_depth_count(const ContractionEmitter *emitter, const DepthBlock *block, int i);

/* The run of the last |merged| dims: its first index in the last of them, and its length. */
void pack_depth_run(ContractionEmitter *emitter, const DepthBlock *block, int merged, LLVMValueRef *out_first,
                    LLVMValueRef *out_count);

/* Begins the loops over all of the depth but the last dims, which |set| walks as one run. */
void pack_nest_begin_run(ContractionEmitter *emitter, const DepthBlock *block, const ValueSet *set, PackNest *nest,
                         LLVMValueRef *out_first, LLVMValueRef *out_count);

/* The bits of lanes of the blocking's type that are to be packed in groups, the packed ones lowest. */
LLVMValueRef pack_bits(const ContractionEmitter *emitter, LLVMValueRef value, int lanes);

/* --- where a guard is known to hold --- */

/* Code that runs where a condition holds, then code for where it does not.  What the point comes to know in either is
 * forgotten after it. */
typedef struct PackBranch {
  LLVMBasicBlockRef otherwise, after;
  int64_t height;
} PackBranch;

PackBranch pack_branch_begin(ContractionEmitter *emitter, LLVMValueRef condition);
void pack_branch_otherwise(ContractionEmitter *emitter, const PackBranch *branch);
void pack_branch_end(ContractionEmitter *emitter, const PackBranch *branch);

/* The guard of |factor|, if it has one, holds from here to the end of the branch's part. */
void pack_assume_guard(ContractionEmitter *emitter, int32_t factor);

/* First and last indices of some dims. */
typedef struct PackEnds {
  int count, dims[KERNEL_MAX_DIMS];
  LLVMValueRef first[KERNEL_MAX_DIMS], last[KERNEL_MAX_DIMS];
} PackEnds;

/* Whether the guard of |factor|, which has one, holds where all dims are at their first and where all are at their last
 * index; the point stays at the latter. */
LLVMValueRef pack_holds_at_ends(ContractionEmitter *emitter, int32_t factor, const PackEnds *ends);

#endif
