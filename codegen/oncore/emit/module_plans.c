#include "codegen/oncore/emit/module_plans.h"

#include <inttypes.h>

#include "base/checked_math.h"
#include "base/job_threads.h"
#include "base/nearest_word.h"
#include "codegen/oncore/emit/oncore_map.h"
#include "codegen/oncore/language/plan_parser.h"
#include "codegen/oncore/plan/plan_printer.h"
#include "codegen/oncore/tiling/tiler.h"
#include "codegen/oncore/tiling/tiling_memo.h"
#include "hlo/analysis/execution_counts.h"

typedef ARRAY(StringView) NameArray;

/* The plan of a Kernel, which is made apart from others. */
typedef struct PlanJob {
  const Kernel *kernel;
  StringView name;
  Arena *arena; /* of what is made */
  DiagSink diag;
  Status status;
  ModulePlan made;
} PlanJob;

typedef struct PlanMaker {
  Arena *arena;
  const MachineDescription *machine;
  const TilerOptions *options;
  const WrittenPlans *written;
  PlansDetail detail;
  const double *times; /* by computation: hlo_execution_counts */
  ARRAY(ModulePlan) plans;
  ARRAY(PlanJob) jobs; /* by plan, like the next */
  ARRAY(NameArray) uses;
  ARRAY(PlanUse) sequence;
  ARRAY(int32_t) plan_of_identity; /* by identity of the Kernel, -1: none yet */
} PlanMaker;

static int64_t peak_of(const Plan *plan) {
  int64_t peak = 0;
  for (int32_t t = 0; t < plan->tensor_count; t++) peak = max_i64(peak, plan->tensors[t].end);
  return peak;
}

/* xlac's own plan under the scheme that is asked for. */
static Status apply_scheme(const PlanMaker *maker, Arena *arena, const Kernel *kernel, ModulePlan *made,
                           DiagSink *diag) {
  PlanScheme scheme = (PlanScheme)maker->options->scheme;
  bool is_own = made->plan->estimate > 0;
  if (scheme == SCHEME_NONE || !is_own) return STATUS_OK;
  if (maker->detail >= PLANS_COMPARED)
    RETURN_IF_ERROR(plan_schemes_compare(made->plan, maker->machine, diag, &made->schemes));
  RETURN_IF_ERROR(plan_scheme_apply(arena, made->plan, maker->machine, scheme, diag, &made->plan));
  int64_t peak = peak_of(made->plan), size = made->plan->buffer_bytes;
  if (peak <= size) return STATUS_OK;
  return diag_error(diag, STATUS_EXHAUSTED, kernel->source->loc, "oncore-scheme",
                    "under scheme %d the Tensors of '%.*s' take %" PRId64 " of %" PRId64 " bytes", (int)scheme,
                    SV_ARG(made->plan->name), peak, size);
}

/* The plan of |kernel| and what is asked of it besides; in |arena|. */
static Status find_plan_of(const PlanMaker *maker, Arena *arena, TilingMemo *memo, const Kernel *kernel,
                           StringView name, DiagSink *diag, ModulePlan *out_made) {
  const TilerRequest request = {kernel, name, maker->machine, maker->options, memo};
  RETURN_IF_ERROR(plan_for_kernel(arena, &request, maker->written, diag, &out_made->plan));
  RETURN_IF_ERROR(apply_scheme(maker, arena, kernel, out_made, diag));
  if (maker->detail >= PLANS_PROVED) {
    RETURN_IF_ERROR(plan_check(arena, out_made->plan, maker->machine, diag, &out_made->verdict));
    RETURN_IF_ERROR(plan_verdict_report(out_made->plan, &out_made->verdict, diag));
  }
  if (maker->detail >= PLANS_COMPARED)
    out_made->alternatives = plan_alternatives_find(memo, out_made->plan, maker->machine, maker->options);
  return STATUS_OK;
}

static Status make_plan(const PlanMaker *maker, const PlanJob *job, Arena *arena, DiagSink *diag,
                        ModulePlan *out_made) {
  bool is_compared = maker->detail >= PLANS_COMPARED;
  TilingMemo *memo =
      tiling_memo_create(job->kernel, maker->machine,
                         is_compared ? plan_alternatives_bytes(maker->machine) : machine_buffer_usable(maker->machine));
  *out_made = (ModulePlan){0};
  Status status = find_plan_of(maker, arena, memo, job->kernel, job->name, diag, out_made);
  tiling_memo_destroy(memo);
  return status;
}

static void do_job(void *self, int64_t number) {
  const PlanMaker *maker = self;
  PlanJob *job = &maker->jobs.data[number];
  job->status = make_plan(maker, job, job->arena, &job->diag, &job->made);
}

/* Takes what |job| made.  One that has anything to say is done again, to say it where it is heard. */
static Status take_job(const PlanMaker *maker, PlanJob *job, DiagSink *diag) {
  if (job->status == STATUS_OK && job->diag.first == NULL) {
    arena_take(maker->arena, job->arena);
    return STATUS_OK;
  }
  arena_destroy(job->arena);
  return make_plan(maker, job, maker->arena, diag, &job->made);
}

/* By several threads, since each takes as long as LLVM takes for its code. */
static Status make_plans(PlanMaker *maker, DiagSink *diag) {
  int64_t count = maker->jobs.count;
  for (int64_t i = 0; i < count; i++) {
    PlanJob *job = &maker->jobs.data[i];
    job->arena = arena_create();
    diag_sink_init(&job->diag, job->arena);
  }
  job_threads_run(maker->options->threads, count, do_job, maker);
  Status status = STATUS_OK;
  for (int64_t i = 0; i < count; i++) {
    PlanJob *job = &maker->jobs.data[i];
    if (status == STATUS_OK)
      status = take_job(maker, job, diag);
    else
      arena_destroy(job->arena);
    job->made.runs = maker->plans.data[i].runs;
    maker->plans.data[i] = job->made;
  }
  return status;
}

static void add_kernel(PlanMaker *maker, const KernelUses *row, int32_t place) {
  const KernelUse *use = &row->uses[place];
  StringView name = kernel_use_name(maker->arena, &row->uses[place]);
  double times = maker->times[row->instruction->parent->id];
  while (maker->plan_of_identity.count <= use->identity) array_push(&maker->plan_of_identity, maker->arena, -1);
  int32_t *number = &maker->plan_of_identity.data[use->identity];
  if (*number < 0) {
    *number = (int32_t)maker->plans.count;
    array_push(&maker->plans, maker->arena, (ModulePlan){0});
    array_push(&maker->jobs, maker->arena, ((PlanJob){.kernel = use->kernel, .name = name}));
    array_push(&maker->uses, maker->arena, (NameArray){0});
  }
  array_push(&maker->uses.data[*number], maker->arena, name);
  array_push(&maker->sequence, maker->arena, ((PlanUse){*number, name, times, row->instruction, use->kernel}));
  maker->plans.data[*number].runs += times;
}

static void add_kernels(PlanMaker *maker, const KernelTable *kernels) {
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) add_kernel(maker, row, i);
  }
}

/* Cycles in all runs. */
static double weight_of(const ModulePlan *plan) {
  return plan->verdict.simulation.cycles * plan->runs;
}

/* Of the plans that take the most cycles, as many as the effort allows. */
static void advise(PlanMaker *maker) {
  int64_t count = min_i64(maker->plans.count, tiler_effort(maker->options) + 1);
  for (int64_t n = 0; n < count; n++) {
    ModulePlan *heaviest = NULL;
    for (int64_t i = 0; i < maker->plans.count; i++) {
      ModulePlan *plan = &maker->plans.data[i];
      bool is_open = !plan->advice.known && plan->plan->kernel != NULL && plan->plan->estimate > 0;
      if (is_open && (heaviest == NULL || weight_of(plan) > weight_of(heaviest))) heaviest = plan;
    }
    if (heaviest == NULL) return;
    heaviest->advice = plan_advice_find(heaviest->plan->kernel, maker->machine, maker->options);
    if (!heaviest->advice.known) return;
  }
}

Status module_plans_make(Arena *arena, const PlannedModule *planned, const WrittenPlans *written, PlansDetail detail,
                         DiagSink *diag, ModulePlans *out_plans) {
  const MachineDescription *machine = planned->machine;
  PlanMaker maker = {.arena = arena, .machine = machine, .written = written, .detail = detail};
  maker.options = planned->options;
  maker.times = hlo_execution_counts(arena, planned->module, 1);
  add_kernels(&maker, planned->kernels);
  RETURN_IF_ERROR(make_plans(&maker, diag));
  for (int64_t i = 0; i < maker.plans.count; i++) {
    maker.plans.data[i].use_count = maker.uses.data[i].count;
    maker.plans.data[i].uses = maker.uses.data[i].data;
  }
  if (detail >= PLANS_ADVISED) advise(&maker);
  *out_plans = (ModulePlans){.machine = machine,
                             .detail = detail,
                             .count = (int32_t)maker.plans.count,
                             .plans = maker.plans.data,
                             .use_count = maker.sequence.count,
                             .uses = maker.sequence.data,
                             .identity_count = (int32_t)maker.plan_of_identity.count,
                             .plan_of_identity = maker.plan_of_identity.data,
                             .bound = module_bound_find(planned->module, machine),
                             .known_spaces = ARENA_NEW(arena, IntMap)};
  int_map_init(out_plans->known_spaces, arena);
  return STATUS_OK;
}

/* The space of |plan|: plans that differ in their names alone have the same commands. */
static Status find_space(Arena *arena, const ModulePlans *plans, const Plan *plan, DiagSink *diag,
                         PlanSpace **out_space) {
  *out_space = pointer_map_get(plans->known_spaces, plan->commands);
  if (*out_space != NULL) return STATUS_OK;
  *out_space = ARENA_NEW(arena, PlanSpace);
  RETURN_IF_ERROR(plan_space_make(arena, plan, plans->machine, diag, *out_space));
  if (plan->command_count > 0) pointer_map_set(plans->known_spaces, plan->commands, *out_space);
  return STATUS_OK;
}

/* For code for |target_count| |targets|; 0: for none. */
static Status find_spaces(Arena *arena, ModulePlans *plans, const VecTarget *targets, int target_count,
                          DiagSink *diag) {
  PlanSpace *spaces = ARENA_NEW_ARRAY(arena, PlanSpace, plans->count);
  for (int32_t p = 0; p < plans->count; p++) {
    const Plan *plan = plans->plans[p].plan;
    PlanSpace *space;
    RETURN_IF_ERROR(find_space(arena, plans, plan, diag, &space));
    if (target_count > 0 && space->bytes == 0)
      plan_space_choose_code(arena, plan, plans->machine, targets, target_count, space);
    spaces[p] = *space;
  }
  plans->spaces = spaces;
  return STATUS_OK;
}

Status module_plans_find_tiles(Arena *arena, ModulePlans *plans, DiagSink *diag) {
  return find_spaces(arena, plans, NULL, 0, diag);
}

Status module_plans_lay_out(Arena *arena, ModulePlans *plans, const VecTarget *targets, int target_count,
                            DiagSink *diag) {
  RETURN_IF_ERROR(find_spaces(arena, plans, targets, target_count, diag));
  plans->resident_bytes = 0;
  for (int32_t p = 0; p < plans->count; p++) {
    if (plans->plans[p].is_resident) plans->resident_bytes = max_i64(plans->resident_bytes, plans->spaces[p].bytes);
  }
  return STATUS_OK;
}

int32_t module_plans_number(const ModulePlans *plans, const KernelUse *use) {
  int64_t number;
  if (plans->has_residents && int_map_find(&plans->plan_of_use, (uintptr_t)use, &number)) return (int32_t)number;
  return use->identity < plans->identity_count ? plans->plan_of_identity[use->identity] : -1;
}

bool module_plans_is_resident(const ModulePlans *plans, int32_t plan) {
  return plans->plans[plan].is_resident;
}

const Plan *module_plans_of(const ModulePlans *plans, const KernelUse *use) {
  int32_t number = module_plans_number(plans, use);
  return number >= 0 ? plans->plans[number].plan : NULL;
}

const PlanSpace *module_plans_space(const ModulePlans *plans, const KernelUse *use) {
  int32_t number = module_plans_number(plans, use);
  return number >= 0 ? &plans->spaces[number] : NULL;
}

/* The plan that runs as |name|; NULL: none does. */
static const Plan *find_plan(const ModulePlans *plans, StringView name) {
  for (int32_t p = 0; p < plans->count; p++) {
    for (int64_t u = 0; u < plans->plans[p].use_count; u++)
      if (sv_equal(plans->plans[p].uses[u], name)) return plans->plans[p].plan;
  }
  return NULL;
}

/* The same by what the module's text called something that it stores. */
static const Plan *find_plan_of_fused(const ModulePlans *plans, const FusedInstructions *fused, StringView name) {
  Arena *scratch = arena_create();
  const FusedInstruction *last = fused_instructions_last(fused, scratch);
  const Plan *plan = NULL;
  for (int64_t i = 0; i < fused->count && plan == NULL; i++)
    if (last[i].result != FUSED_INSIDE && sv_equal(last[i].name, name)) plan = find_plan(plans, last[i].fusion);
  arena_destroy(scratch);
  return plan;
}

static Status no_kernel(const ModulePlans *plans, StringView name, DiagSink *diag) {
  Status status =
      diag_error(diag, STATUS_INVALID, NO_LOC, "plan-kernel", "the module has no kernel '%.*s'", SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name);
  StringView *names = ARENA_NEW_ARRAY(diag->arena, StringView, plans->count);
  for (int32_t p = 0; p < plans->count; p++) {
    names[p] = plans->plans[p].plan->name;
    nearest_word_offer(&nearest, names[p]);
  }
  nearest_word_note(&nearest, diag);
  plan_names_note(diag->arena, names, plans->count, diag);
  return status;
}

Status module_plans_print_template(const ModulePlans *plans, const FusedInstructions *fused, StringView name,
                                   DiagSink *diag, StringBuilder *out) {
  const Plan *plan = find_plan(plans, name);
  if (plan == NULL) plan = find_plan_of_fused(plans, fused, name);
  if (plan == NULL) return no_kernel(plans, name, diag);
  sb_printf(out, "target %.*s\n", SV_ARG(plans->machine->name));
  plan_print_template(out, plan);
  return STATUS_OK;
}

/* --- the map --- */

typedef struct PlanTotals {
  int64_t kernels, peak;
  double runs, cycles, bound, bytes, edges; /* of all runs */
} PlanTotals;

static PlanTotals totals_of(const ModulePlans *plans) {
  PlanTotals totals = {0};
  for (int32_t i = 0; i < plans->count; i++) {
    const ModulePlan *plan = &plans->plans[i];
    totals.kernels += plan->use_count;
    totals.runs += plan->runs;
    totals.bytes += (double)plan->verdict.simulation.memory_bytes * plan->runs;
    totals.edges += (double)plan->verdict.hazards.edges * plan->runs;
    totals.cycles += plan->verdict.simulation.cycles * plan->runs;
    totals.bound += plan->verdict.bound.cycles * plan->runs;
    if (plan->verdict.footprint > totals.peak) totals.peak = plan->verdict.footprint;
  }
  totals.edges += plans->runs.links;
  totals.cycles -= plans->runs.saved;
  return totals;
}

double module_plans_cycles(const ModulePlans *plans) {
  return totals_of(plans).cycles;
}

double module_plans_estimate(const ModulePlans *plans) {
  double estimate = 0;
  for (int32_t i = 0; i < plans->count; i++) {
    const ModulePlan *plan = &plans->plans[i];
    if (plan->plan->estimate <= 0 && !plan->is_move) return 0;
    estimate += (plan->is_move ? plan->verdict.simulation.cycles : plan->plan->estimate) * plan->runs;
  }
  return estimate;
}

static void print_runs(StringBuilder *out, const ModulePlans *plans) {
  const ModuleRuns *runs = &plans->runs;
  if (runs->launch_count == 0) return;
  int64_t count = 0;
  for (int64_t l = 0; l < runs->launch_count; l++) count += runs->launches[l].place == 0;
  sb_printf(out,
            "  %" PRId64 " of them in %" PRId64 " run%s, with %.0f edges from kernel to kernel: %.0f cycles saved\n",
            runs->launch_count, count, plural_ending(count), runs->links, runs->saved);
}

static void print_bound(StringBuilder *out, const ModulePlans *plans, double cycles) {
  Arena *scratch = arena_create();
  const ModuleBound *bound = &plans->bound;
  sb_printf(out, "  the module: %" PRId64 " bytes of arguments and %" PRId64 " of results", bound->argument_bytes,
            bound->result_bytes);
  if (bound->again_bytes > 0) sb_printf(out, ", %" PRId64 " that loops load again", bound->again_bytes);
  if (bound->dot_bytes > 0) sb_printf(out, ", %.0f bytes for its dots", bound->dot_bytes);
  sb_printf(out, ", %.0f cycles of operations and %.0f of their launches\n", bound->work_cycles, bound->launch_cycles);
  sb_printf(out, "  bound %.0f cycles (limited by %s), efficiency %.1f %%\n", bound->limit.cycles,
            queue_limit_text(scratch, plans->machine, &bound->limit), use_percent(bound->limit.cycles, cycles));
  arena_destroy(scratch);
}

void module_plans_map_text(StringBuilder *out, const ModulePlans *plans) {
  PlanTotals totals = totals_of(plans);
  sb_printf(out, "\non-core Buffer of %.*s\n\n", SV_ARG(plans->machine->name));
  sb_printf(out, "  %" PRId64 " kernel%s", totals.kernels, plural_ending(totals.kernels));
  if (plans->count != totals.kernels) sb_printf(out, ", %d of them different", plans->count);
  sb_printf(out, "; peak %" PRId64 " of %" PRId64 " bytes\n", totals.peak, machine_buffer_usable(plans->machine));
  sb_printf(out,
            "  %.0f run%s of kernels: %.0f cycles simulated, %.0f at least for their commands; %.0f bytes moved, "
            "%.0f edges\n",
            totals.runs, plural_ending((int64_t)totals.runs), totals.cycles, totals.bound, totals.bytes, totals.edges);
  print_runs(out, plans);
  if (plans->off_core > 0)
    sb_printf(out, "  %" PRId64 " instructions run elsewhere, in no plan and at no cost here\n", plans->off_core);
  print_bound(out, plans, totals.cycles);
  for (int32_t i = 0; i < plans->count; i++) {
    const ModulePlan *plan = &plans->plans[i];
    sb_append_char(out, '\n');
    oncore_map_text(out, plan->plan, &plan->verdict, plans->machine);
    if (plan->runs != (double)plan->use_count) sb_printf(out, "  runs     %.0f\n", plan->runs);
    plan_alternatives_text(out, plan->plan, &plan->alternatives);
    plan_schemes_text(out, &plan->schemes);
    for (int64_t u = 1; u < plan->use_count; u++) {
      sb_printf(out, "%s%.*s%s", u == 1 ? "  also     " : "", SV_ARG(plan->uses[u]),
                u + 1 < plan->use_count ? ", " : "\n");
    }
  }
}

static void json_bound(JsonWriter *json, const ModulePlans *plans, double cycles) {
  Arena *scratch = arena_create();
  const ModuleBound *bound = &plans->bound;
  json_key(json, "module_bound");
  json_begin_object(json);
  json_field_int(json, "argument_bytes", bound->argument_bytes);
  json_field_int(json, "result_bytes", bound->result_bytes);
  json_field_int(json, "again_bytes", bound->again_bytes);
  json_field_double(json, "dot_bytes", bound->dot_bytes);
  json_field_double(json, "work_cycles", bound->work_cycles);
  json_field_double(json, "launch_cycles", bound->launch_cycles);
  json_field_double(json, "order_cycles", bound->order_cycles);
  json_field_double(json, "cycles", bound->limit.cycles);
  json_field_string(json, "limit", sv_from_cstring(queue_limit_text(scratch, plans->machine, &bound->limit)));
  json_field_double(json, "efficiency", use_percent(bound->limit.cycles, cycles) / 100);
  json_end_object(json);
  arena_destroy(scratch);
}

/* The array among those of |shape| that leaf |node| is. */
static int array_number(const Shape *shape, int node) {
  int number = 0;
  for (int n = 0; n < node; n++) number += !shape_is_tuple(shape_node(shape, n));
  return number;
}

/* What the buffers of a Kernel are bound to that it reads. */
static void json_use(JsonWriter *json, const PlanUse *use) {
  json_begin_object(json);
  json_field_string(json, "name", use->name);
  json_field_int(json, "plan", use->plan);
  json_field_double(json, "runs", use->runs);
  json_key(json, "operands");
  json_begin_array(json);
  for (int32_t b = 0; use->kernel != NULL && b < use->kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &use->kernel->buffers[b];
    if (buffer->operand < 0) continue;
    const HloInstruction *operand = use->instruction->operands[buffer->operand];
    json_begin_object(json);
    json_field_int(json, "buffer", b);
    json_field_string(json, "instruction", operand->name);
    json_field_int(json, "array", array_number(operand->shape, buffer->node));
    json_end_object(json);
  }
  json_end_array(json);
  json_field_string(json, "instruction", use->instruction->name);
  json_end_object(json);
}

void module_plans_map_json(JsonWriter *json, const ModulePlans *plans) {
  PlanTotals totals = totals_of(plans);
  json_begin_object(json);
  json_field_string(json, "machine", plans->machine->name);
  json_field_int(json, "kernels", totals.kernels);
  json_field_double(json, "runs", totals.runs);
  json_field_int(json, "off_core", plans->off_core);
  json_field_int(json, "peak_bytes", totals.peak);
  json_field_double(json, "simulated_cycles", totals.cycles);
  json_field_double(json, "bound_cycles", totals.bound);
  json_field_double(json, "bytes_moved", totals.bytes);
  json_field_double(json, "edges", totals.edges);
  json_field_double(json, "edges_between_kernels", plans->runs.links);
  json_field_double(json, "saved_by_runs", plans->runs.saved);
  json_bound(json, plans, totals.cycles);
  json_key(json, "plans");
  json_begin_array(json);
  for (int32_t i = 0; i < plans->count; i++) {
    const ModulePlan *plan = &plans->plans[i];
    json_begin_object(json);
    json_key(json, "used_by");
    json_begin_array(json);
    for (int64_t u = 0; u < plan->use_count; u++) json_string(json, plan->uses[u]);
    json_end_array(json);
    json_field_double(json, "runs", plan->runs);
    json_key(json, "plan");
    oncore_map_json(json, plan->plan, &plan->verdict, plans->machine);
    plan_alternatives_json(json, &plan->alternatives);
    plan_advice_json(json, &plan->advice);
    plan_schemes_json(json, &plan->schemes);
    json_end_object(json);
  }
  json_end_array(json);
  json_key(json, "uses");
  json_begin_array(json);
  for (int64_t u = 0; u < plans->use_count; u++) json_use(json, &plans->uses[u]);
  json_end_array(json);
  json_end_object(json);
}
