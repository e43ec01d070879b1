#include "codegen/oncore/tiling/plan_alternatives.h"

#include <inttypes.h>
#include <math.h>

/* Slots of the plan's rings: they all have as many; 1 where nothing repeats. */
static int32_t plan_depth(const Plan *plan) {
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    if (plan->tensors[t].kind == PLAN_RING) return (int32_t)plan->tensors[t].extents[0];
  }
  return 1;
}

int64_t plan_alternatives_bytes(const MachineDescription *machine) {
  return 2 * machine->buffer.size - machine->buffer.reserve;
}

PlanAlternatives plan_alternatives_find(TilingMemo *memo, const Plan *plan, const MachineDescription *machine,
                                        const TilerOptions *options) {
  if (plan->kernel == NULL || plan->estimate <= 0) return (PlanAlternatives){0};
  int64_t size = machine->buffer.size;
  int32_t depth = plan_depth(plan);
  PlanAlternatives found = {true,
                            {{2 * size, options->pipeline_depth, INFINITY},
                             {size / 2, options->pipeline_depth, INFINITY},
                             {size, depth > 1 ? depth - 1 : 2, INFINITY},
                             {size, depth > 1 ? depth + 1 : 3, INFINITY}}};
  for (int i = 0; i < PLAN_ALTERNATIVE_COUNT; i++) {
    PlanAlternative *alternative = &found.of[i];
    MachineDescription other = *machine;
    other.buffer.size = alternative->buffer_bytes;
    TilerOptions with = *options;
    with.pipeline_depth = alternative->depth;
    if (machine_buffer_usable(&other) > 0)
      alternative->cycles = tiler_estimate(&(TilerRequest){plan->kernel, plan->name, &other, &with, memo});
  }
  return found;
}

void plan_alternatives_text(StringBuilder *out, const Plan *plan, const PlanAlternatives *alternatives) {
  if (!alternatives->known || plan->estimate <= 0) return;
  sb_append_cstring(out, "  instead  estimates: ");
  for (int i = 0; i < PLAN_ALTERNATIVE_COUNT; i++) {
    const PlanAlternative *alternative = &alternatives->of[i];
    if (i < 2) sb_printf(out, "Buffer of %" PRId64 " bytes ", alternative->buffer_bytes);
    if (i >= 2) sb_printf(out, "depth %d ", alternative->depth);
    if (isinf(alternative->cycles)) sb_append_cstring(out, "too small");
    if (!isinf(alternative->cycles)) {
      sb_printf(out, "%.0f (%+.1f %%)", alternative->cycles, 100 * (alternative->cycles / plan->estimate - 1));
    }
    sb_append_cstring(out, i + 1 < PLAN_ALTERNATIVE_COUNT ? ", " : "\n");
  }
}

void plan_alternatives_json(JsonWriter *json, const PlanAlternatives *alternatives) {
  if (!alternatives->known) return;
  json_key(json, "alternatives");
  json_begin_array(json);
  for (int i = 0; i < PLAN_ALTERNATIVE_COUNT; i++) {
    const PlanAlternative *alternative = &alternatives->of[i];
    json_begin_object(json);
    json_field_int(json, "buffer_bytes", alternative->buffer_bytes);
    if (alternative->depth > 0) json_field_int(json, "depth", alternative->depth);
    json_field_bool(json, "fits", !isinf(alternative->cycles));
    if (!isinf(alternative->cycles)) json_field_double(json, "estimate_cycles", alternative->cycles);
    json_end_object(json);
  }
  json_end_array(json);
}
