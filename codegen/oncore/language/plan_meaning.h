/* Whether a plan computes its Kernel: independent of how the plan was made. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_MEANING_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_MEANING_H

#include "codegen/oncore/plan/plan.h"

/* STATUS_INVALID, located, unless each command fits what it covers (tile_kernel.h, in all its sizes) and finds in its
 * operands what the Kernel asks for (plan_content.h).  A plan without a Kernel means what it says. */
MUST_USE Status plan_meaning_check(const Plan *plan, DiagSink *diag);

#endif
