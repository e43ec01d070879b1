/* FusedBody: a fusion while it is being written, member by member, operands before users. */
#ifndef XLAC_PASSES_FUSION_FUSED_BODY_H
#define XLAC_PASSES_FUSION_FUSED_BODY_H

#include "base/hash_map.h"
#include "passes/pipeline/hlo_pass.h"

typedef struct FusedBody {
  HloComputation *caller, *fused;
  IntMap inside; /* instruction → what stands for it in |fused| */
  HloInstructionArray operands;
  HloInstructionArray members; /* added so far */
  IntMap origins;              /* scalar → how many of those that the members read are made from it */
  const HloDecisionObserver *observer;
  Arena *arena; /* temporary */
} FusedBody;

/* |observer| (NULL: nobody) is told of the members when the fusion is there. */
void fused_body_begin(FusedBody *body, HloComputation *caller, StringView name, const HloDecisionObserver *observer,
                      Arena *arena);
/* Says who will be added: where they read several scalars that cheap arithmetic makes from one (the rounds of a key),
 * that one becomes the operand. */
void fused_body_expect(FusedBody *body, HloInstruction *const *members, int64_t count);
/* What stands for |value| inside: a member's copy, a scalar constant's, or a parameter. */
HloInstruction *fused_body_value(FusedBody *body, HloInstruction *value);
/* A copy of |member|; of what it computes, when it is a fusion. */
HloInstruction *fused_body_add(FusedBody *body, HloInstruction *member);
/* A copy of |member| as it is: a fusion stays one inside. */
HloInstruction *fused_body_nest(FusedBody *body, HloInstruction *member);
/* The fusion with the root that |fused| has by now, without what that does not need; location and metadata are those of
 * |last|. */
HloInstruction *fused_body_end(FusedBody *body, FusionKind kind, StringView name, const HloInstruction *last);

#endif
