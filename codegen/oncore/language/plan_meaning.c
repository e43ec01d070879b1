#include "codegen/oncore/language/plan_meaning.h"

#include "codegen/oncore/language/plan_content.h"
#include "codegen/oncore/plan/tile_kernel.h"

static Status check_command(const Plan *plan, const PlanCommand *command, DiagSink *diag) {
  PlanRange ranges[TILE_MAX_RAGGED];
  int32_t ragged;
  if (command->verb == PLAN_BARRIER) return STATUS_OK;
  RETURN_IF_ERROR(tile_ragged_ranges(plan, command, diag, ranges, &ragged));
  for (uint32_t variant = 0; variant < 1u << ragged; variant++) {
    Arena *scratch = arena_create();
    TileKernel tile;
    Status status = tile_kernel_build(scratch, plan, command, variant, diag, &tile);
    arena_destroy(scratch);
    RETURN_IF_ERROR(status);
  }
  return STATUS_OK;
}

/* Bytes that outlive the plan are nobody else's: of several arrays there all, a result in an argument's place. */
static Status check_residents(const Plan *plan, DiagSink *diag) {
  for (int32_t a = 0; a < plan->tensor_count; a++) {
    const PlanTensor *holder = &plan->tensors[a];
    for (int32_t b = 0; b < plan->tensor_count && holder->hold != PLAN_HOLDS_NOTHING; b++) {
      const PlanTensor *other = &plan->tensors[b];
      bool meets = a != b && other->begin < holder->end && holder->begin < other->end;
      bool is_part = other->hold == PLAN_HOLDS_NOTHING && plan_tensor_holder(plan, b) >= 0;
      bool is_same = other->hold != PLAN_HOLDS_NOTHING && other->begin == holder->begin && other->end == holder->end &&
                     (other->hold != holder->hold || holder->hold == PLAN_FINDS);
      if (!meets || is_part || is_same) continue;
      return diag_error(diag, STATUS_INVALID, other->loc, "plan-resident",
                        "in the plan of '%.*s': '%.*s' has bytes of '%.*s', which outlives the plan",
                        SV_ARG(plan->name), SV_ARG(other->name), SV_ARG(holder->name));
    }
  }
  return STATUS_OK;
}

Status plan_meaning_check(const Plan *plan, DiagSink *diag) {
  Status status = check_residents(plan, diag);
  for (int32_t c = 0; c < plan->command_count && plan->kernel != NULL; c++) {
    Status checked = check_command(plan, &plan->commands[c], diag);
    if (checked != STATUS_OK) status = checked;
  }
  if (status != STATUS_OK || plan->kernel == NULL || plan_is_program(plan)) return status;
  return plan_content_check(plan, diag);
}
