/* The Buffer map of a plan: what lies where in the Buffer and when, what queues and edges do, how long it takes and
 * what limits it.  For MODEL.map of a vector processor. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_ONCORE_MAP_H
#define XLAC_CODEGEN_ONCORE_EMIT_ONCORE_MAP_H

#include "base/json_writer.h"
#include "codegen/oncore/plan/plan_check.h"

/* One block of text: loops, Tensors, the picture address × time of the first tiles, queues, edges, time. */
void oncore_map_text(StringBuilder *out, const Plan *plan, const PlanVerdict *verdict,
                     const MachineDescription *machine);

/* The same as a JSON object. */
void oncore_map_json(JsonWriter *json, const Plan *plan, const PlanVerdict *verdict, const MachineDescription *machine);

#endif
