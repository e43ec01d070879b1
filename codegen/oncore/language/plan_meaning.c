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

Status plan_meaning_check(const Plan *plan, DiagSink *diag) {
  Status status = STATUS_OK;
  for (int32_t c = 0; c < plan->command_count && plan->kernel != NULL; c++) {
    Status checked = check_command(plan, &plan->commands[c], diag);
    if (checked != STATUS_OK) status = checked;
  }
  if (status != STATUS_OK || plan->kernel == NULL || plan_is_program(plan)) return status;
  return plan_content_check(plan, diag);
}
