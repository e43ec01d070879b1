/* What the bytes of the Buffer hold while a plan is followed in program order: which element of which array. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_CONTENT_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_CONTENT_H

#include "codegen/oncore/plan/tile_access.h"

/* STATUS_INVALID ("plan-meaning", at the command) unless, in program order, each command of |plan| finds in its
 * operands the very elements that its Kernel's loads ask for (row buffers, partial sums and index tiles likewise), each
 * store puts elements where the Kernel does, and folds see all of their elements once.  Run-time starts are tried with
 * two sets of values.  Independent of edges: hazards.h proves that all allowed orders do the same.  Plans of more than
 * 2^26 elements moved are followed as far as that: |*out_complete|. */
MUST_USE Status plan_content_check(const Plan *plan, DiagSink *diag, bool *out_complete);

#endif
