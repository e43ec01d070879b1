/* What makes several results is written anew with some of them only. */
#ifndef XLAC_PASSES_FUSION_KEPT_RESULTS_H
#define XLAC_PASSES_FUSION_KEPT_RESULTS_H

#include "passes/pipeline/hlo_pass.h"

/* Replaces |maker|, a fusion or a reduction with a tuple of results, by a fusion that makes those which |elements| are,
 * |count| >= 1 get-tuple-elements of it by ascending index, and these by what that makes: an array if there is one.
 * |maker| stays as long as something else reads it.  |observer| as in fused_body_begin; |arena| is temporary. */
void kept_results_write(HloComputation *computation, HloInstruction *maker, HloInstruction *const *elements,
                        int32_t count, const HloDecisionObserver *observer, Arena *arena);

#endif
