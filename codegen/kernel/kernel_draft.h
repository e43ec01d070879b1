/* KernelDraft: a Kernel while it is being built.  What makes Kernels (codegen/lower from instructions and from Kernels
 * cut into tiles, codegen/oncore/plan from the commands of a plan) adds to a draft piece by piece; kernel_draft_finish
 * alone turns one into a Kernel, which never changes again.
 *
 * The arrays are for reading at any time, and what is in them may be changed until the draft is finished.  Stages and
 * dims of values are not known before; a draft may be one of what is no Kernel yet (values that nothing needs, types
 * that Kernels do not have) as long as it is only read and not finished. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_DRAFT_H
#define XLAC_CODEGEN_KERNEL_KERNEL_DRAFT_H

#include "base/hash_map.h"
#include "codegen/kernel/kernel.h"

typedef struct KernelDraftStage {
  ARRAY(KernelStore) stores;
  const Kernel *comparator; /* as in KernelStage, like the next */
  ARRAY(KernelCompared) compared;
  const KernelTransform *transform;
} KernelDraftStage;

typedef struct KernelDraft {
  Arena *arena;
  const HloInstruction *source;
  IndexSpace space;
  ARRAY(KernelDim) dims;
  ARRAY(KernelBuffer) buffers;
  ARRAY(KernelValue) values;
  ARRAY(KernelFold) folds;
  ARRAY(KernelDraftStage) stages; /* in order of execution when the draft is finished */
  ARRAY(KernelPart) parts;
  IntMap shared; /* private: hash of a shared value → its number */
} KernelDraft;

/* An empty draft; it and its Kernel live in |arena|.  |source| may be NULL where nothing can be said of a Kernel that
 * does not verify. */
void kernel_draft_init(KernelDraft *draft, Arena *arena, const HloInstruction *source);

/* A new loop of |extent| rounds, and the expression of its index: 0 without a loop for an extent of at most 1. */
IndexExpr kernel_draft_add_dim(KernelDraft *draft, int64_t extent, KernelDimKind kind, int32_t stage);

/* The number of the new buffer. */
int32_t kernel_draft_add_buffer(KernelDraft *draft, KernelBuffer buffer);
/* The number of the buffer that is bound to the same operand and node; made when there is none yet. */
int32_t kernel_draft_bind_buffer(KernelDraft *draft, KernelBuffer buffer);

/* A value of |kind| that reads nothing yet: no operands, buffer, fold or predicate. */
KernelValue kernel_value_blank(KernelValueKind kind, PrimitiveType type);
/* The number of the new value, which reads values of smaller numbers alone. */
int32_t kernel_draft_add_value(KernelDraft *draft, KernelValue value);
/* The number of an equal value added by this function, or of a new one.  So equal loads are one: for Kernels that load
 * an element before they store it, and never after. */
int32_t kernel_draft_share_value(KernelDraft *draft, KernelValue value);

/* The number of the new fold.  Seed and next value may follow. */
int32_t kernel_draft_add_fold(KernelDraft *draft, KernelFold fold);

/* The number of the new stage, which has no stores yet. */
int32_t kernel_draft_add_stage(KernelDraft *draft);
void kernel_draft_add_store(KernelDraft *draft, int32_t stage, KernelStore store);

/* One of the Kernels that make up a Kernel of tiles. */
void kernel_draft_add_part(KernelDraft *draft, KernelPart part);

/* The Kernel: sets stage and dims of every value, and verifies (kernel_verify, whose errors it returns).  The draft is
 * used up. */
MUST_USE Status kernel_draft_finish(KernelDraft *draft, DiagSink *diag, const Kernel **out_kernel);

#endif
