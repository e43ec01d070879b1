/* What the bytes of the Buffer hold while a plan is followed in program order: which element of which array. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_CONTENT_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_CONTENT_H

#include "codegen/oncore/plan/plan.h"

/* STATUS_INVALID ("plan-meaning", at the command) unless, in program order, each command of |plan| finds in its
 * operands the very elements that its Kernel's loads ask for (row buffers, partial sums and index tiles likewise), each
 * store puts elements where the Kernel does, and folds see all of their elements once: for all values that run-time
 * starts can take, whose places are compared as sums (place_form.h), so that a plan that says them in another way than
 * the Kernel is refused.  Independent of edges: hazards.h proves that all allowed orders do the same.  Elements are
 * followed in runs; STATUS_UNSUPPORTED ("unsupported-plan-long") when 2^26 of these do not reach the plan's end. */
MUST_USE Status plan_content_check(const Plan *plan, DiagSink *diag);

#endif
