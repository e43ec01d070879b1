#include "codegen/oncore/tiling/plan_choice.h"

bool written_plans_have_residents(const WrittenPlans *written) {
  for (int32_t p = 0; p < written->count; p++) {
    if (plan_has_residents(written->plans[p].plan)) return true;
  }
  return false;
}

Status plan_for_kernel(Arena *arena, const TilerRequest *request, const WrittenPlans *written, DiagSink *diag,
                       const Plan **out_plan) {
  if (written != NULL && written->count > 0 && !written_plans_have_residents(written)) {
    StringView text = kernel_text(arena, request->kernel);
    for (int32_t p = 0; p < written->count; p++) {
      *out_plan = written->plans[p].plan;
      if ((*out_plan)->kernel != NULL && sv_equal(written->plans[p].kernel_text, text)) return STATUS_OK;
    }
  }
  return tiler_plan(arena, request, diag, out_plan);
}
