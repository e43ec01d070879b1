#include "codegen/oncore/plan/tensor_facts.h"

#include <inttypes.h>

#include "base/checked_math.h"

const char *plan_tensor_kind_text(PlanTensorKind kind) {
  static const char *const texts[] = {"tensor", "ring", "resident", "accumulator", "rows"};
  return texts[kind];
}

int32_t plan_tensor_memory(const Plan *plan, int32_t tensor) {
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    if (command->target_count == 0 || command->source_count == 0) continue;
    const PlanRef *target = &command->targets[0], *source = &command->sources[0];
    if (!target->is_memory && target->number == tensor && source->is_memory) return source->number;
    if (target->is_memory && !source->is_memory && source->number == tensor) return target->number;
  }
  return -1;
}

int64_t plan_tensor_slack(const PlanTensor *tensor) {
  return tensor->end - tensor->begin - plan_tensor_bytes(tensor);
}

void plan_tensor_shape_print(StringBuilder *out, const PlanTensor *tensor) {
  sb_printf(out, "%s[", type_text(tensor->type));
  for (int32_t i = 0; i < tensor->rank; i++) sb_printf(out, "%s%" PRId64, i > 0 ? "," : "", tensor->extents[i]);
  sb_append_char(out, ']');
}

int64_t plan_most_in_use(const Plan *plan, const TensorUses *uses) {
  int64_t most = 0;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    int64_t sum = 0;
    for (int32_t other = 0; other < plan->tensor_count; other++) {
      const TensorUse *use = &uses->uses[other];
      bool meets = use->first_command >= 0 && use->from <= uses->uses[t].from && uses->uses[t].from < use->to;
      meets = meets || plan->tensors[other].hold != PLAN_HOLDS_NOTHING;
      if (meets && !plan->tensors[other].is_alias) sum += plan->tensors[other].end - plan->tensors[other].begin;
    }
    most = max_i64(most, sum);
  }
  return most;
}
