#include "codegen/oncore/language/written_plans.h"

#include <inttypes.h>

#include "base/hash_map.h"
#include "codegen/kernel/kernel_table.h"
#include "codegen/oncore/language/plan_meaning.h"
#include "codegen/oncore/language/plan_parser.h"
#include "codegen/oncore/plan/plan_printer.h"

/* --- the module's side --- */

const char *written_plans_digest(Arena *arena, const HloModule *module, const MachineDescription *machine) {
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  machine_description_print(&text, machine);
  hlo_module_print(&text, module, &HLO_PRINT_DEFAULT);
  const char *digest = arena_printf(arena, "%016" PRIx64, hash_bytes(text.data, text.size));
  arena_destroy(scratch);
  return digest;
}

static Status check_digest(Arena *arena, const PlanFile *file, const HloModule *module,
                           const MachineDescription *machine, DiagSink *diag) {
  if (file->digest.size == 0) return STATUS_OK;
  const char *expected = written_plans_digest(arena, module, machine);
  if (sv_equal_cstring(file->digest, expected)) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, file->digest_loc, "plan-stale",
                    "the plan is for another module or machine: the digest of this one is %s", expected);
}

typedef ARRAY(PlanKernel) NamedKernels;

static void add_names_of_text(Arena *arena, const StringMap *members_of, const KernelUse *use, NamedKernels *named) {
  StringView fusion = use->instruction->name, name = kernel_use_name(arena, use);
  StringView rest = sv_sub(name, fusion.size, name.size);
  const FusedMembers *members = string_map_get(members_of, fusion);
  for (int64_t i = 0; members != NULL && i < members->count; i++) {
    if (members->data[i].result == FUSED_INSIDE) continue;
    StringView other = sv_printf(arena, "%.*s%.*s", SV_ARG(members->data[i].name), SV_ARG(rest));
    array_push(named, arena, ((PlanKernel){name, use->kernel, other}));
  }
}

/* Every Kernel that runs by its own name, then by what the text calls its results: who writes a plan knows the text. */
static PlanKernels named_kernels(Arena *arena, const KernelTable *kernels, const FusedInstructions *fused) {
  NamedKernels named = {0};
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++)
      array_push(&named, arena, ((PlanKernel){kernel_use_name(arena, &row->uses[i]), row->uses[i].kernel, {0}}));
  }
  StringMap members_of = fused_instructions_by_fusion(fused, arena);
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) add_names_of_text(arena, &members_of, &row->uses[i], &named);
  }
  return (PlanKernels){(int32_t)named.count, named.data};
}

/* --- one plan --- */

static double tiler_cycles(const Plan *plan, const MachineDescription *machine, const TilerOptions *options) {
  Arena *scratch = arena_create();
  DiagSink quiet;
  diag_sink_init(&quiet, scratch);
  const Plan *own;
  PlanVerdict verdict = {0};
  Status status = STATUS_UNSUPPORTED;
  const TilerRequest request = {plan->kernel, plan->name, machine, options, NULL};
  if (plan->kernel != NULL && !plan_is_program(plan)) status = tiler_plan(scratch, &request, &quiet, &own);
  if (status == STATUS_OK) status = plan_check(scratch, own, machine, &quiet, &verdict);
  double cycles = status == STATUS_OK ? verdict.simulation.cycles : 0;
  arena_destroy(scratch);
  return cycles;
}

static Status check_plan(Arena *arena, const MachineDescription *machine, const TilerOptions *options, DiagSink *diag,
                         WrittenPlan *written) {
  const Plan *plan = written->plan;
  RETURN_IF_ERROR(plan_meaning_check(plan, diag));
  RETURN_IF_ERROR(plan_check(arena, plan, machine, diag, &written->verdict));
  RETURN_IF_ERROR(plan_verdict_report(plan, &written->verdict, diag));
  if (!plan_has_residents(plan)) written->own_cycles = tiler_cycles(plan, machine, options);
  if (plan->kernel != NULL) written->kernel_text = kernel_text(arena, plan->kernel);
  return STATUS_OK;
}

Status written_plans_load(Arena *arena, const PlannedModule *planned, const FusedInstructions *fused,
                          const SourceFile *source, DiagSink *diag, WrittenPlans *out_plans) {
  const MachineDescription *machine = planned->machine;
  const PlanKernels named = named_kernels(arena, planned->kernels, fused);
  PlanFile file;
  *out_plans = (WrittenPlans){0};
  RETURN_IF_ERROR(plan_parse(arena, source, machine, &named, diag, &file));
  RETURN_IF_ERROR(check_digest(arena, &file, planned->module, machine, diag));
  WrittenPlan *plans = ARENA_NEW_ARRAY(arena, WrittenPlan, file.count);
  Status status = STATUS_OK;
  for (int32_t p = 0; p < file.count; p++) {
    plans[p].plan = file.plans[p];
    Status checked = check_plan(arena, machine, planned->options, diag, &plans[p]);
    if (checked != STATUS_OK) status = checked;
  }
  *out_plans = (WrittenPlans){file.count, plans};
  return status;
}

Status written_plans_take_program(Arena *arena, const Plan *program, const MachineDescription *machine, DiagSink *diag,
                                  WrittenPlans *out_plans) {
  WrittenPlan *written = ARENA_NEW(arena, WrittenPlan);
  written->plan = program;
  *out_plans = (WrittenPlans){1, written};
  return check_plan(arena, machine, NULL, diag, written);
}

/* --- what is said of them --- */

void written_plans_print(StringBuilder *out, const WrittenPlans *plans, const MachineDescription *machine) {
  for (int32_t p = 0; p < plans->count; p++) {
    const WrittenPlan *written = &plans->plans[p];
    StringView name = written->plan->name.size > 0 ? written->plan->name : SV("plan");
    sb_printf(out, "%.*s: ", SV_ARG(name));
    plan_verdict_print(out, &written->verdict, machine);
    sb_printf(out, "; %" PRId64 " of %" PRId64 " bytes", written->verdict.footprint, written->plan->buffer_bytes);
    if (written->own_cycles > 0) sb_printf(out, "; xlac's own plan takes %.0f cycles", written->own_cycles);
    sb_append_char(out, '\n');
  }
}

void written_plans_dump(StringBuilder *out, const WrittenPlans *plans, const MachineDescription *machine) {
  sb_printf(out, "target %.*s\n", SV_ARG(machine->name));
  for (int32_t p = 0; p < plans->count; p++) {
    sb_append_cstring(out, "\n");
    plan_print(out, plans->plans[p].plan, machine);
  }
}

Status written_plans_check_used(const WrittenPlans *plans, const SourceFile *source, DiagSink *diag) {
  SourceLoc begin = {source, 1, 1};
  if (plans->count == 0)
    return diag_error(diag, STATUS_INVALID, begin, "plan-unused",
                      "the file has no plan, so that there is nothing to use");
  for (int32_t p = 0; p < plans->count; p++) {
    const Plan *plan = plans->plans[p].plan;
    if (plan->kernel != NULL) continue;
    return diag_error(diag, STATUS_INVALID, plan->command_count > 0 ? plan->commands[0].loc : begin, "plan-unused",
                      "the plan is of no kernel of the module: 'scope NAME:' says of which");
  }
  return STATUS_OK;
}

void written_plans_warn(const WrittenPlans *plans, DiagSink *diag) {
  for (int32_t p = 0; p < plans->count; p++) {
    const WrittenPlan *written = &plans->plans[p];
    double cycles = written->verdict.simulation.cycles;
    if (written->own_cycles == 0 || cycles <= written->own_cycles) continue;
    diag_warning(diag, written->plan->loc, "plan-slower",
                 "the plan of '%.*s' takes %.0f cycles, xlac's own would take %.0f", SV_ARG(written->plan->name),
                 cycles, written->own_cycles);
  }
}
