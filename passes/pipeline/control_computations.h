/* The computations that run as sequences of instructions with buffers of their own. */
#ifndef XLAC_PASSES_PIPELINE_CONTROL_COMPUTATIONS_H
#define XLAC_PASSES_PIPELINE_CONTROL_COMPUTATIONS_H

#include "hlo/ir/hlo_module.h"

/* The entry and what control flow (while, conditional, call, async-start) calls from it, directly or not; callees
 * first.  Not: what is applied element by element, and fused computations. */
HloComputation **control_computations(const HloModule *module, Arena *scratch, int64_t *out_count);

#endif
