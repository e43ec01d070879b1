#include "codegen/oncore/emit/module_savings.h"

#include "base/checked_math.h"
#include "codegen/oncore/emit/module_residency.h"
#include "codegen/oncore/run/plan_copies.h"

/* Kernels of a module that are looked at, those first that load the most again; what they load again is one of so many
 * parts of what the module moves; plans that each is tried in, of each room. */
enum { MOST_KERNELS = 12, LEAST_SHARE = 100, MOST_PLANS = 2 };

typedef struct Saver {
  Arena *arena;
  const MachineDescription *machine;
  const TilerOptions *options;
  TilingMemos *memos;
  const ModulePlans *before;
  ModulePlan *plans;
  int32_t *firsts;        /* by plan: the first use, -1: none */
  double bytes_per_cycle; /* of a queue that loads */
  TilerForms forms;       /* of plans that are tried */
  DiagSink quiet;         /* what others cannot do is no matter */
} Saver;

/* What |plan| was before there were residents; NULL: nothing, or no other may take its place. */
static ModulePlan *plan_before(const Saver *saver, int32_t plan) {
  int32_t use = saver->firsts[plan];
  if (use < 0 || use >= saver->before->use_count) return NULL; /* a move's */
  int32_t number = saver->before->uses[use].plan;
  ModulePlan *before = number >= 0 ? (ModulePlan *)&saver->before->plans[number] : NULL;
  return before != NULL && module_plan_may_change(before->plan) ? before : NULL;
}

/* All are priced, whether somebody has asked for that or not. */
static bool has_price(Saver *saver, int32_t plan) {
  ModulePlan *of = &saver->plans[plan], *before = plan_before(saver, plan);
  if (before == NULL || of->verdict.machine != NULL) return before != NULL;
  if (before->verdict.machine == NULL &&
      plan_check(saver->arena, before->plan, saver->machine, &saver->quiet, &before->verdict) != STATUS_OK)
    return false;
  of->verdict = before->verdict;
  return true;
}

/* Whether |buffer| of the Kernel of |plan| is in the Buffer before or after it. */
static bool is_held(const Plan *plan, int32_t buffer) {
  for (int32_t t = 0; t < plan->tensor_count; t++)
    if (plan->tensors[t].hold != PLAN_HOLDS_NOTHING && plan->tensors[t].held == buffer) return true;
  return false;
}

/* Bytes that |plan| moves beyond each of its Kernel's arrays once, in all of its runs; 0: it has no price. */
static double bytes_again(Saver *saver, int32_t plan) {
  const ModulePlan *of = &saver->plans[plan];
  if (!has_price(saver, plan)) return 0;
  const Kernel *kernel = of->plan->kernel;
  double bytes = (double)of->verdict.simulation.memory_bytes;
  for (int32_t b = 0; b < kernel->buffer_count; b++)
    if (!is_held(of->plan, b))
      bytes -= (double)kernel->buffers[b].element_count * (double)type_storage_bytes(kernel->buffers[b].type);
  return bytes * of->runs;
}

/* Takes |plan| under |interface| instead of |*best| where what it saves is worth its cycles.  False: it does not fit.
 */
static bool try_plan(Saver *saver, const Plan *plan, const PlanInterface *interface, ModulePlan *best) {
  KeptPlan kept;
  Status status = module_plan_under(saver->arena, plan, saver->machine, interface, &saver->quiet, &kept);
  if (status != STATUS_OK || kept.plan == NULL) return false;
  const QueueSimulation *made = &kept.verdict.simulation, *known = &best->verdict.simulation;
  double saved = (double)(known->memory_bytes - made->memory_bytes);
  double worth = saved / saver->bytes_per_cycle * TILER_TRANSFERS_WEIGHT;
  bool is_faster = saver->forms != TILER_FORMS_PLAIN && made->cycles < known->cycles;
  if (saved < 0 || (saved == 0 && !is_faster) || made->cycles - known->cycles > worth) return true;
  best->plan = kept.plan;
  best->verdict = kept.verdict;
  best->is_resident = true;
  best->base = interface->base;
  return true;
}

/* In |room| bytes of the Buffer, beside |held|.  False: nothing fits. */
static bool try_room(Saver *saver, const Plan *below, int64_t room, uint64_t held, const PlanInterface *interface,
                     ModulePlan *best) {
  MachineDescription *less = ARENA_NEW(saver->arena, MachineDescription); /* plans refer to it */
  const Plan *plans[MOST_PLANS];
  TilerOptions quick = *saver->options;
  bool fits = false;
  quick.effort = (tiler_effort(saver->options) + 2) / 3;
  *less = *saver->machine;
  less->buffer.size = room + saver->machine->buffer.reserve;
  TilingMemo *memo = tiling_memos_find(saver->memos, below->kernel, held, 0);
  const TilerRequest request = {below->kernel, below->name, less, &quick, memo};
  int32_t count = tiler_plans_saving(saver->arena, &request, NULL, saver->forms, MOST_PLANS, plans);
  for (int32_t p = 0; p < count; p++) {
    Plan *made = ARENA_NEW(saver->arena, Plan);
    *made = *plan_as_tiled(plans[p]);
    made->buffer_bytes = machine_buffer_usable(saver->machine);
    fits = (module_plan_may_change(made) && try_plan(saver, made, interface, best)) || fits;
  }
  return fits;
}

/* Whether the tiles of |below| that are copies of |resident| are there already, or stay: nothing is to be moved. */
static bool is_held_whole(const Plan *below, const PlanResident *resident, bool sees) {
  if (resident->elements > 0 || plan_copied_bytes(below, resident->buffer, sees) == 0) return false;
  bool is_result = below->kernel->buffers[resident->buffer].role == KERNEL_RESULT;
  return is_result ? !resident->is_needed : resident->is_there;
}

/* In what residents leave, with the tiles that are gone where they are and without.  |knows|: the tiler is told what is
 * held; else it takes that for arrays like others, whose tiles are gone. */
static void try_beside(Saver *saver, const Plan *below, const PlanInterface *interface, bool knows, ModulePlan *best) {
  int64_t usable = machine_buffer_usable(saver->machine), gone = 0;
  int64_t room = (interface->limit > 0 ? interface->limit : usable) - interface->base;
  uint64_t held = 0;
  for (int32_t r = 0; r < interface->count; r++) {
    int32_t buffer = interface->residents[r].buffer;
    bool is_known = knows && buffer < PLAN_ROOM_BUFFERS;
    bool is_whole = is_known && is_held_whole(below, &interface->residents[r], interface->sees);
    if (is_whole) held |= (uint64_t)1 << buffer;
    if (!is_whole) gone += plan_copied_bytes(below, buffer, interface->sees);
  }
  if (knows && held == 0) return;
  bool fits = gone > 0 && try_room(saver, below, min_i64(room + gone, usable), held, interface, best);
  if (!fits) try_room(saver, below, room, held, interface, best);
}

/* Both ways: what is held may need tiles after all where operations bring it.  And from where tiles begin now, then
 * from where room begins: there they wait for those of the Kernel before. */
static bool save(Saver *saver, int32_t plan) {
  ModulePlan *of = &saver->plans[plan], best = *of;
  PlanInterface interface = of->interface != NULL ? *of->interface : (PlanInterface){0};
  const Plan *below = plan_as_tiled(plan_before(saver, plan)->plan);
  int64_t bases[] = {interface.base, of->low};
  for (int b = 0; b < 2 && (b == 0 || bases[1] < bases[0]); b++) {
    interface.base = bases[b];
    try_beside(saver, below, &interface, true, &best);
    try_beside(saver, below, &interface, false, &best);
  }
  bool is_better = best.plan != of->plan;
  *of = best;
  return is_better;
}

bool module_plans_save(Arena *arena, const TilerOptions *options, TilingMemos *memos, const ModulePlans *before,
                       TilerForms forms, ModulePlans *plans) {
  Saver saver = {.arena = arena, .machine = plans->machine, .options = options, .memos = memos, .before = before};
  saver.forms = forms;
  diag_sink_init(&saver.quiet, arena);
  for (int32_t q = saver.machine->queue_count; q-- > 0;)
    if (machine_queue_loads(&saver.machine->queues[q]))
      saver.bytes_per_cycle = saver.machine->queues[q].bytes_per_cycle;
  saver.plans = ARENA_COPY_ARRAY(arena, ModulePlan, plans->plans, plans->count);
  saver.firsts = ARENA_NEW_ARRAY(arena, int32_t, plans->count);
  double *again = ARENA_NEW_ARRAY(arena, double, plans->count), bytes = 0;
  for (int32_t p = 0; p < plans->count; p++) saver.firsts[p] = -1;
  for (int64_t u = plans->use_count; u-- > 0;) saver.firsts[plans->uses[u].plan] = (int32_t)u;
  for (int32_t p = 0; p < plans->count; p++) {
    again[p] = bytes_again(&saver, p);
    bytes += (double)saver.plans[p].verdict.simulation.memory_bytes * saver.plans[p].runs;
  }
  bool is_any = false;
  for (int32_t n = 0; n < MOST_KERNELS; n++) {
    int32_t most = 0;
    for (int32_t p = 1; p < plans->count; p++)
      if (again[p] > again[most]) most = p;
    if (plans->count == 0 || again[most] * LEAST_SHARE < bytes) break;
    again[most] = 0;
    is_any = save(&saver, most) || is_any;
  }
  plans->plans = saver.plans;
  return is_any;
}
