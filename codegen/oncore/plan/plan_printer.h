/* Plan → text in the plan language (docs/plan-language.md): every Tensor with its interval, every edge explicit. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_PLAN_PRINTER_H
#define XLAC_CODEGEN_ONCORE_PLAN_PLAN_PRINTER_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

/* One plan as a "scope" block.  Reads back as an equal plan. */
void plan_print(StringBuilder *out, const Plan *plan, const MachineDescription *machine);

/* The same as short as it can be: no places, no edges, no labels, no queues, which the reader of plans finds by itself.
 */
void plan_print_template(StringBuilder *out, const Plan *plan);

/* As plans have it; static text. */
const char *plan_verb_text(PlanVerb verb);

#endif
