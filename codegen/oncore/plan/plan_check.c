#include "codegen/oncore/plan/plan_check.h"

#include <inttypes.h>

#include "codegen/oncore/plan/plan_stream.h"

/* A mistake may show in every iteration, and is told once: enough are kept to meet all mistakes. */
#define LIMITS ((HazardLimits){.kept = 1024, .races = HAZARD_LIMITS_DEFAULT.races})

static int64_t footprint_of(const Plan *plan) {
  int64_t end = 0;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    if (plan->tensors[t].end > end) end = plan->tensors[t].end;
  }
  return end;
}

Status plan_check(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                  PlanVerdict *out_verdict) {
  *out_verdict = (PlanVerdict){.machine = machine, .footprint = footprint_of(plan)};
  RETURN_IF_ERROR(plan_stream_make(arena, plan, machine, diag, &out_verdict->stream));
  Arena *scratch = arena_create();
  Status status = hazards_check(arena, scratch, &out_verdict->stream, machine, LIMITS, diag, &out_verdict->hazards);
  hazards_check_operands(arena, scratch, &out_verdict->stream, LIMITS, &out_verdict->hazards);
  QueueWork work = queue_work_of_stream(scratch, &out_verdict->stream, machine);
  out_verdict->bound = queue_bound(machine, &work);
  if (status == STATUS_OK && hazard_report_faults(&out_verdict->hazards) == 0) {
    out_verdict->simulation = queue_simulation_run(arena, scratch, &out_verdict->stream, machine);
  }
  arena_destroy(scratch);
  return status;
}

void plan_verdict_print(StringBuilder *out, const PlanVerdict *verdict, const MachineDescription *machine) {
  Arena *scratch = arena_create();
  const HazardReport *hazards = &verdict->hazards;
  sb_printf(out,
            "%" PRId64 " commands, %" PRId64 " edges, %" PRId64 " redundant, %" PRId64 " barriers, %" PRId64
            " races, %" PRId64 " faults",
            (int64_t)verdict->stream.commands.count, hazards->edges, hazards->counts[HAZARD_REDUNDANT_EDGE],
            hazards->barriers, hazard_report_races(hazards), hazard_report_faults(hazards));
  if (verdict->simulation.cycles > 0) {
    sb_printf(out, "; %.0f cycles, %.1f %% of what its commands take at least (limited by %s)",
              verdict->simulation.cycles, 100 * verdict->bound.cycles / verdict->simulation.cycles,
              queue_limit_text(scratch, machine, &verdict->bound));
  }
  arena_destroy(scratch);
}
