#include "codegen/oncore/emit/module_residency.h"

#include <inttypes.h>
#include <math.h>

#include "base/checked_math.h"
#include "codegen/oncore/plan/plan_stream.h"
#include "codegen/oncore/run/loop_moves.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/run/plan_interface.h"
#include "codegen/oncore/run/residency.h"
#include "codegen/oncore/tiling/plan_ahead.h"
#include "codegen/oncore/tiling/plan_edges.h"
#include "codegen/oncore/tiling/plan_spread.h"
#include "codegen/oncore/tiling/tiler.h"
#include "hlo/analysis/execution_counts.h"

/* Plans that are made anew for less of the Buffer, in a module, with a third of the effort for a Kernel's first one;
 * and so many more by each further policy.  Those beside what it has are only estimated, which takes less. */
enum { MOST_WITHIN = 12, MORE_WITHIN = 4, MOST_BESIDE = 40 };

/* Of what is known of Kernels' tilings, from one room to the next. */
#define MOST_MEMO_BYTES ((size_t)64 << 20)

/* Longer plans are left as they are: each is proved anew. */
#define MOST_KEPT_INSTANCES (INT64_C(1) << 16)

/* The plan of a Kernel in less than the Buffer. */
typedef struct RoomPlan {
  const Plan *plan; /* NULL: there is none */
} RoomPlan;

typedef ARRAY(StringView) NameArray;

/* What a plan of a Kernel comes to under all interfaces with the same residents, apart from one another. */
typedef struct PlanPrice {
  bool is_known, is_there, has_transfers;
  int64_t tiles; /* bytes */
  double cycles;
} PlanPrice;

/* That of its own plan, and of the one in one tile. */
typedef struct KeptPrice {
  bool has_failed; /* neither is to be used */
  PlanPrice own, whole;
} KeptPrice;

struct KeptPlans {
  Arena *arena;
  const MachineDescription *machine;
  const TilerOptions *options;
  StringMap kept;       /* key of a Kernel and interface, as text → KeptPlan */
  StringMap prices;     /* of a Kernel and packed interface, as text → KeptPrice */
  IntMap wholes;        /* key of a Kernel → its plan in one tile, a pointer; 0: none that is another than its own */
  StringMap within;     /* key of a Kernel and bytes, as text → RoomPlan */
  StringMap strips;     /* of module_strips.c */
  TilingMemos *memos;   /* of the Kernels that these are of */
  int32_t made, policy; /* of those; policies before */
  int32_t made_beside;  /* of those beside what the Buffer has */
  const KernelTable *kernels; /* those at hand */
  int32_t table;              /* number of that table, since each that is cut counts identities of strips anew */
};

typedef struct PlanKeeper {
  Arena *arena;
  const MachineDescription *machine;
  const ModulePlans *before;
  DiagSink *diag;
  KeptPlans *cache;
  IntMap number_of_kept; /* KeptPlan → number among the new plans */
  int32_t *numbers;      /* by plan before: among the new ones, -1: not yet */
  ARRAY(ModulePlan) plans;
  ARRAY(NameArray) uses; /* by new plan */
  ARRAY(PlanUse) sequence;
  ARRAY(LoopMove) moves;
} PlanKeeper;

/* --- plans in less room --- */

bool module_plan_may_change(const Plan *plan) {
  return plan->estimate > 0 && plan_instance_count(plan) <= MOST_KEPT_INSTANCES;
}

const Plan *module_plans_to_change(const ModulePlans *plans, const KernelUse *use) {
  const Plan *plan = module_plans_of(plans, use);
  return plan != NULL && module_plan_may_change(plan) ? plan_as_tiled(plan) : NULL;
}

static const Plan *plan_to_change(void *self, const KernelUse *use) {
  const PlanKeeper *keeper = self;
  return module_plans_to_change(keeper->before, use);
}

const Plan *module_plan_within(KeptPlans *cache, const Kernel *kernel, StringView name, PlanRoom room, DiagSink *diag) {
  Arena *arena = cache->arena;
  const MachineDescription *machine = cache->machine;
  MachineDescription *less = ARENA_NEW(arena, MachineDescription);
  const Plan *tight;
  *less = *machine;
  less->buffer.size = room.bytes + machine->buffer.reserve;
  TilerOptions quick = *cache->options;
  quick.effort = (tiler_effort(cache->options) + 2) / 3;
  const TilerRequest request = {kernel, name, less, &quick,
                                tiling_memos_find(cache->memos, kernel, room.held, room.walked)};
  bool is_made = room.held != 0 ? tiler_plans_saving(arena, &request, NULL, TILER_FORMS_ALL, 1, &tight) > 0
                                : tiler_plan(arena, &request, diag, &tight) == STATUS_OK;
  if (!is_made || plan_instance_count(tight) > MOST_KEPT_INSTANCES) return NULL;
  Plan *made = ARENA_NEW(arena, Plan);
  *made = *plan_as_tiled(tight);
  made->buffer_bytes = machine_buffer_usable(machine);
  return made;
}

/* plan_spread, plan_ahead. */
typedef Status (*PlanForm)(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                           Plan **out_plan);

/* What |form| makes of |kept|, if that is faster. */
static Status try_form(Arena *arena, PlanForm form, const MachineDescription *machine, DiagSink *diag, KeptPlan *kept) {
  Plan *formed;
  PlanVerdict verdict;
  bool is_enough;
  if (kept->plan->loop_count == 0) return STATUS_OK;
  RETURN_IF_ERROR(form(arena, kept->plan, machine, diag, &formed));
  RETURN_IF_ERROR(plan_edges_find_flags(formed, machine, diag, &is_enough));
  if (!is_enough) return STATUS_OK;
  RETURN_IF_ERROR(plan_check(arena, formed, machine, diag, &verdict));
  bool is_faster = verdict.simulation.cycles < kept->verdict.simulation.cycles;
  if (is_faster && hazard_report_faults(&verdict.hazards) == 0) *kept = (KeptPlan){formed, verdict};
  return STATUS_OK;
}

Status module_plan_under(Arena *arena, const Plan *plan, const MachineDescription *machine,
                         const PlanInterface *interface, DiagSink *diag, KeptPlan *out_kept) {
  KeptPlan kept = {0};
  *out_kept = kept;
  for (int32_t r = 0; r < interface->count; r++)
    if (!plan_may_keep(plan, interface->residents[r].buffer, interface->sees)) return STATUS_OK;
  RETURN_IF_ERROR(plan_keep(arena, plan, machine, interface, diag, &kept.plan));
  if (kept.plan == NULL) return STATUS_OK;
  RETURN_IF_ERROR(plan_check(arena, kept.plan, machine, diag, &kept.verdict));
  if (hazard_report_faults(&kept.verdict.hazards) > 0) return STATUS_OK;
  if (machine_has_spare_queues(machine)) RETURN_IF_ERROR(try_form(arena, plan_spread, machine, diag, &kept));
  if (machine_shares_queue(machine)) RETURN_IF_ERROR(try_form(arena, plan_ahead, machine, diag, &kept));
  *out_kept = kept;
  return STATUS_OK;
}

/* What stands for |use|'s Kernel in the cache. */
static uint64_t cache_key(const PlanKeeper *keeper, const KernelUse *use) {
  return (uint64_t)use->identity + (use->strip.extent > 0 ? (uint64_t)keeper->cache->table << 32 : 0);
}

static const Plan *plan_within(void *self, const KernelUse *use, PlanRoom room) {
  PlanKeeper *keeper = self;
  const Plan *plan = plan_to_change(self, use);
  if (plan == NULL || room.bytes == 0) return plan;
  StringView key =
      sv_from_cstring(arena_printf(keeper->arena, "%" PRIu64 " in %" PRId64 " beside %" PRIx64 " along %" PRIx64,
                                   cache_key(keeper, use), room.bytes, room.held, room.walked));
  RoomPlan *within = string_map_get(&keeper->cache->within, key);
  if (within != NULL) return within->plan;
  int32_t most = room.held != 0 ? MOST_BESIDE : MOST_WITHIN + keeper->cache->policy * MORE_WITHIN;
  int32_t *made = room.held != 0 ? &keeper->cache->made_beside : &keeper->cache->made;
  if (*made >= most) return NULL;
  ++*made;
  within = ARENA_NEW(keeper->arena, RoomPlan);
  within->plan = module_plan_within(keeper->cache, plan->kernel, plan->name, room, keeper->diag);
  string_map_set(&keeper->cache->within, key, within);
  return within->plan;
}

/* --- plans under interfaces --- */

static StringView interface_text(Arena *arena, const PlanKeeper *keeper, const KernelUse *use,
                                 const PlanInterface *interface) {
  StringBuilder text;
  sb_init(&text, arena);
  sb_printf(&text, "%" PRIu64 " in %" PRId64 " to %" PRId64 " of %" PRId64 " beside %" PRIx64 " along %" PRIx64,
            cache_key(keeper, use), interface->base, interface->limit, interface->room.bytes, interface->room.held,
            interface->room.walked);
  for (int32_t r = 0; r < interface->count; r++) {
    const PlanResident *resident = &interface->residents[r];
    sb_printf(&text, "; %d at %" PRId64 "%s%s", resident->buffer, resident->begin, resident->is_there ? " there" : "",
              resident->is_needed ? " needed" : "");
    if (resident->elements > 0) sb_printf(&text, " first %" PRId64, resident->elements);
  }
  if (interface->sees) sb_printf(&text, "; seen");
  return sb_view(&text);
}

/* The plan of |use| in one tile, where its own has more operations; NULL: there is none. */
static const Plan *whole_plan(PlanKeeper *keeper, const KernelUse *use) {
  int64_t found;
  if (int_map_find(&keeper->cache->wholes, cache_key(keeper, use), &found)) return (const Plan *)(intptr_t)found;
  const Plan *own = module_plans_of(keeper->before, use), *whole = NULL;
  int64_t operations = 0;
  for (int32_t c = 0; c < own->command_count; c++) {
    if (own->commands[c].verb == PLAN_BARRIER || command_is_transfer(&own->commands[c])) continue;
    operations += plan_loop_instances(own, own->commands[c].loop);
  }
  const TilerRequest request = {own->kernel, own->name, keeper->machine, keeper->cache->options, NULL};
  if (operations > 1) whole = tiler_plan_whole(keeper->arena, &request);
  int_map_set(&keeper->cache->wholes, cache_key(keeper, use), (intptr_t)whole);
  return whole;
}

static bool has_transfers(const Plan *plan) {
  for (int32_t c = 0; c < plan->command_count; c++)
    if (plan->commands[c].verb != PLAN_BARRIER && command_is_transfer(&plan->commands[c])) return true;
  return false;
}

/* |plan| under |interface|, if there is one that takes less than |*kept|. */
static Status try_plan(const PlanKeeper *keeper, const Plan *plan, const PlanInterface *interface, KeptPlan *kept) {
  KeptPlan tried;
  RETURN_IF_ERROR(module_plan_under(keeper->arena, plan, keeper->machine, interface, keeper->diag, &tried));
  if (tried.plan == NULL) return STATUS_OK;
  bool is_less = kept->plan == NULL || tried.verdict.simulation.cycles < kept->verdict.simulation.cycles;
  if (is_less) *kept = tried;
  return STATUS_OK;
}

/* Tiles let transfers go on beside operations, those of other Kernels of the run too; where there are none, one tile is
 * best. */
static Status make_kept(PlanKeeper *keeper, const KernelUse *use, const PlanInterface *interface, KeptPlan *kept) {
  const Plan *own = plan_within(keeper, use, interface->room);
  if (own == NULL) return STATUS_OK;
  RETURN_IF_ERROR(try_plan(keeper, own, interface, kept));
  if (interface->count == 0 || (kept->plan != NULL && has_transfers(kept->plan))) return STATUS_OK;
  const Plan *whole = whole_plan(keeper, use);
  return whole != NULL ? try_plan(keeper, whole, interface, kept) : STATUS_OK;
}

static KeptPlan *kept_plan(PlanKeeper *keeper, const KernelUse *use, const PlanInterface *interface) {
  StringView key = interface_text(keeper->arena, keeper, use, interface);
  KeptPlan *kept = string_map_get(&keeper->cache->kept, key);
  if (kept == NULL) {
    kept = ARENA_NEW(keeper->arena, KeptPlan);
    if (make_kept(keeper, use, interface, kept) != STATUS_OK) kept->plan = NULL;
    string_map_set(&keeper->cache->kept, key, kept);
  }
  return kept;
}

/* --- what plans come to --- */

/* Of |plan| under |packed|.  Nothing of what it is found by is kept. */
static Status find_price(const PlanKeeper *keeper, const Plan *plan, const PlanInterface *packed, PlanPrice *price) {
  PlanKeeper trial = *keeper;
  KeptPlan kept = {0};
  trial.arena = arena_create();
  Status status = try_plan(&trial, plan, packed, &kept);
  *price = (PlanPrice){.is_known = true, .is_there = status == STATUS_OK && kept.plan != NULL};
  if (price->is_there) {
    price->has_transfers = has_transfers(kept.plan);
    price->tiles = plan_own_tile_bytes(kept.plan);
    price->cycles = kept.verdict.simulation.cycles;
  }
  arena_destroy(trial.arena);
  return status;
}

/* Cycles under |interface|, by the price of |packed|; infinity: there is no room.  As make_kept chooses. */
static double cycles_by_price(PlanKeeper *keeper, const KernelUse *use, const PlanInterface *interface,
                              const PlanInterface *packed, KeptPrice *price) {
  const MachineDescription *machine = keeper->machine;
  const Plan *own = plan_within(keeper, use, interface->room);
  if (own == NULL || price->has_failed) return INFINITY;
  if (!price->own.is_known) price->has_failed = find_price(keeper, own, packed, &price->own) != STATUS_OK;
  bool has_own = price->own.is_there && plan_interface_has_room(interface, machine, price->own.tiles);
  double cycles = has_own ? price->own.cycles : INFINITY;
  if (price->has_failed || interface->count == 0 || (has_own && price->own.has_transfers)) return cycles;
  const Plan *whole = whole_plan(keeper, use);
  if (whole == NULL) return cycles;
  if (!price->whole.is_known) price->has_failed = find_price(keeper, whole, packed, &price->whole) != STATUS_OK;
  bool has_whole = price->whole.is_there && plan_interface_has_room(interface, machine, price->whole.tiles);
  return price->has_failed ? INFINITY : has_whole ? fmin(cycles, price->whole.cycles) : cycles;
}

static double kept_cycles(PlanKeeper *keeper, const KernelUse *use, const PlanInterface *interface) {
  Arena *scratch = arena_create();
  PlanInterface packed;
  double cycles;
  if (plan_interface_pack(scratch, use->kernel, keeper->machine, interface, &packed)) {
    StringView key = interface_text(scratch, keeper, use, &packed), copy;
    KeptPrice **price = (KeptPrice **)string_map_enter(&keeper->cache->prices, key, keeper->arena, &copy);
    if (*price == NULL) *price = ARENA_NEW(keeper->arena, KeptPrice);
    cycles = cycles_by_price(keeper, use, interface, &packed, *price);
  } else {
    const KeptPlan *kept = kept_plan(keeper, use, interface);
    cycles = kept->plan != NULL ? kept->verdict.simulation.cycles : INFINITY;
  }
  arena_destroy(scratch);
  return cycles;
}

/* --- what the choice asks --- */

static double plain_cycles(PlanKeeper *keeper, const KernelUse *use) {
  ModulePlan *plan = (ModulePlan *)&keeper->before->plans[module_plans_number(keeper->before, use)];
  if (plan->verdict.machine == NULL &&
      plan_check(keeper->arena, plan->plan, keeper->machine, keeper->diag, &plan->verdict) != STATUS_OK)
    return INFINITY;
  return plan->verdict.simulation.cycles;
}

static double cycles_of(void *self, const KernelUse *use, const PlanInterface *interface) {
  PlanKeeper *keeper = self;
  if (plan_to_change(keeper, use) == NULL) return INFINITY;
  bool has_all = interface->limit == 0 || interface->limit == machine_buffer_usable(keeper->machine);
  bool is_plain = interface->limit == 0 || !kernel_use_is_apart(use); /* others need an interface */
  if (is_plain && interface->base == 0 && has_all && interface->room.bytes == 0) return plain_cycles(keeper, use);
  return kept_cycles(keeper, use, interface);
}

/* --- the new plans --- */

static int32_t add_plan(PlanKeeper *keeper, ModulePlan plan) {
  plan.runs = 0;
  array_push(&keeper->plans, keeper->arena, plan);
  array_push(&keeper->uses, keeper->arena, (NameArray){0});
  return (int32_t)keeper->plans.count - 1;
}

static const Plan *plan_with_name(const PlanKeeper *keeper, const Plan *plan, StringView name) {
  Plan *made = ARENA_NEW(keeper->arena, Plan);
  *made = *plan;
  made->name = name;
  return made;
}

static int32_t number_under(PlanKeeper *keeper, const KernelUse *use, const PlanInterface *interface, StringView name) {
  KeptPlan *kept = kept_plan(keeper, use, interface);
  int64_t number;
  if (int_map_find(&keeper->number_of_kept, (uintptr_t)kept, &number)) {
    ModulePlan *shared = &keeper->plans.data[number];
    shared->low = max_i64(shared->low, interface->low);
    return (int32_t)number;
  }
  const Plan *plan = plan_with_name(keeper, kept->plan, name);
  ModulePlan made = {.plan = plan, .verdict = kept->verdict, .is_resident = true};
  made.base = interface->base;
  made.low = interface->low;
  made.limit = interface->limit;
  made.interface = interface;
  number = add_plan(keeper, made);
  int_map_set(&keeper->number_of_kept, (uintptr_t)kept, number);
  return (int32_t)number;
}

/* Called after the first of those uses that it still has. */
static int32_t number_of_plain(PlanKeeper *keeper, int32_t before, StringView name) {
  if (keeper->numbers[before] >= 0) return keeper->numbers[before];
  ModulePlan made = keeper->before->plans[before];
  if (!sv_equal(made.plan->name, name) && made.plan->estimate > 0) made.plan = plan_with_name(keeper, made.plan, name);
  return keeper->numbers[before] = add_plan(keeper, made);
}

/* By use: its interface + 1 in |residency|. */
static IntMap interfaces_of(Arena *arena, const Residency *residency) {
  IntMap map;
  int_map_init(&map, arena);
  for (int64_t u = 0; u < residency->use_count; u++) int_map_set(&map, (uintptr_t)residency->uses[u].use, u);
  return map;
}

static void number_uses(PlanKeeper *keeper, const KernelTable *kernels, const Residency *residency, const double *times,
                        ModulePlans *plans) {
  IntMap interfaces = interfaces_of(keeper->arena, residency);
  int_map_init(&plans->plan_of_use, keeper->arena);
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      const KernelUse *use = &row->uses[i];
      StringView name = kernel_use_name(keeper->arena, use);
      int64_t found;
      bool has_residents = int_map_find(&interfaces, (uintptr_t)use, &found);
      int32_t number = has_residents ? number_under(keeper, use, &residency->uses[found].interface, name)
                                     : number_of_plain(keeper, module_plans_number(keeper->before, use), name);
      int_map_set(&plans->plan_of_use, (uintptr_t)use, number);
      array_push(&keeper->uses.data[number], keeper->arena, name);
      array_push(&keeper->sequence, keeper->arena,
                 ((PlanUse){number, name, times[row->instruction->parent->id], use->instruction, use->kernel}));
      keeper->plans.data[number].runs += times[row->instruction->parent->id];
    }
  }
}

static Status add_move(PlanKeeper *keeper, const ResidentLoop *loop, bool is_after, const double *times) {
  LoopMovesPlan moves;
  RETURN_IF_ERROR(loop_moves_plan(keeper->arena, loop, is_after, keeper->machine, keeper->diag, &moves));
  if (moves.plan == NULL) return STATUS_OK;
  LoopMove move = {.loop = loop->loop, .is_after = is_after, .count = moves.count, .leaves = moves.leaves};
  ModulePlan made = {.plan = moves.plan, .is_resident = true, .is_move = true};
  RETURN_IF_ERROR(plan_check(keeper->arena, made.plan, keeper->machine, keeper->diag, &made.verdict));
  RETURN_IF_ERROR(plan_verdict_report(made.plan, &made.verdict, keeper->diag));
  move.plan = add_plan(keeper, made);
  keeper->plans.data[move.plan].runs = times[loop->loop->parent->id];
  array_push(&keeper->uses.data[move.plan], keeper->arena, made.plan->name);
  array_push(&keeper->sequence, keeper->arena,
             ((PlanUse){move.plan, made.plan->name, keeper->plans.data[move.plan].runs, loop->loop, NULL}));
  array_push(&keeper->moves, keeper->arena, move);
  return STATUS_OK;
}

static Status replace(PlanKeeper *keeper, const KernelTable *kernels, const Residency *residency, const double *times,
                      ModulePlans *plans) {
  ModulePlans made = *plans;
  keeper->numbers = ARENA_NEW_ARRAY(keeper->arena, int32_t, plans->count);
  for (int32_t p = 0; p < plans->count; p++) keeper->numbers[p] = -1;
  number_uses(keeper, kernels, residency, times, &made);
  for (int64_t l = 0; l < residency->loop_count; l++) {
    RETURN_IF_ERROR(add_move(keeper, &residency->loops[l], false, times));
    RETURN_IF_ERROR(add_move(keeper, &residency->loops[l], true, times));
  }
  for (int64_t p = 0; p < keeper->plans.count; p++) {
    keeper->plans.data[p].use_count = keeper->uses.data[p].count;
    keeper->plans.data[p].uses = keeper->uses.data[p].data;
  }
  made.count = (int32_t)keeper->plans.count;
  made.plans = keeper->plans.data;
  made.use_count = keeper->sequence.count;
  made.uses = keeper->sequence.data;
  made.move_count = (int32_t)keeper->moves.count;
  made.moves = keeper->moves.data;
  made.has_residents = true;
  made.spaces = NULL;
  *plans = made;
  return STATUS_OK;
}

KeptPlans *kept_plans_create(Arena *arena, const MachineDescription *machine, const TilerOptions *options) {
  KeptPlans *cache = ARENA_NEW(arena, KeptPlans);
  cache->arena = arena;
  cache->machine = machine;
  cache->options = options;
  string_map_init(&cache->kept, arena);
  string_map_init(&cache->prices, arena);
  int_map_init(&cache->wholes, arena);
  string_map_init(&cache->within, arena);
  string_map_init(&cache->strips, arena);
  cache->memos = tiling_memos_create(machine, MOST_MEMO_BYTES);
  return cache;
}

void kept_plans_destroy(KeptPlans *cache) {
  tiling_memos_destroy(cache->memos);
}

Arena *kept_plans_arena(const KeptPlans *cache) {
  return cache->arena;
}

const TilerOptions *kept_plans_options(const KeptPlans *cache) {
  return cache->options;
}

TilingMemos *kept_plans_memos(KeptPlans *cache) {
  return cache->memos;
}

StringMap *kept_plans_strips(KeptPlans *cache) {
  return &cache->strips;
}

Status module_plans_keep(KeptPlans *cache, const PlacedModule *placed, ResidencyPolicy policy, DiagSink *diag,
                         ModulePlans *plans) {
  Arena *arena = cache->arena;
  const TilerOptions *options = cache->options;
  if (options->no_residency || options->scheme != SCHEME_NONE || plans->has_residents) return STATUS_OK;
  DiagSink quiet; /* what does not work is left as it is */
  diag_sink_init(&quiet, arena);
  const ModulePlans before = *plans;
  PlanKeeper keeper = {.arena = arena, .machine = cache->machine, .before = &before, .diag = &quiet, .cache = cache};
  if (cache->kernels != placed->kernels) cache->table++;
  cache->kernels = placed->kernels;
  int_map_init(&keeper.number_of_kept, arena);
  ResidencyModel model = {&keeper, policy, plan_to_change, plan_within, cycles_of, NULL};
  Residency residency;
  RETURN_IF_ERROR(residency_choose(arena, placed, &model, diag, &residency));
  cache->policy++;
  plans->lacks_room = residency.lacks_room;
  plans->lacks_place = residency.lacks_place;
  plans->may_part = residency.may_part;
  plans->lacks_plan = residency.lacks_plan;
  if (residency.use_count == 0 || residency.lacks_plan) return STATUS_OK;
  keeper.diag = diag;
  return replace(&keeper, placed->kernels, &residency, hlo_execution_counts(arena, placed->module, 1), plans);
}

/* --- by which policy --- */

bool module_plans_policy_tells(const ModulePlans *plans, ResidencyPolicy policy) {
  for (int32_t p = 0; p < plans->count; p++) {
    if (!module_plan_may_change(plans->plans[p].plan)) continue;
    const Plan *plan = plan_as_tiled(plans->plans[p].plan);
    for (int32_t b = 0; b < plan->kernel->buffer_count; b++) {
      bool sees = policy.sees_windows;
      bool is_told = (policy.brings_streams && plan_brings_stream(plan, b, sees)) ||
                     (policy.counts_again && plan_loads_again(plan, b)) || (sees && plan_sees(plan, b));
      if (is_told && plan_may_keep(plan, b, sees)) return true;
    }
  }
  return false;
}

KeptCost module_plans_kept_cost(const ModulePlans *before, const ModulePlans *plans) {
  KeptCost cost = {.cycles = -plans->runs.saved};
  for (int64_t u = 0; u < plans->use_count; u++) {
    const ModulePlan *of = &plans->plans[plans->uses[u].plan];
    const ModulePlan *whole = u < before->use_count ? &before->plans[before->uses[u].plan] : NULL;
    if (!of->is_resident) of = whole;
    if (whole != NULL) cost.estimate += whole->plan->estimate * plans->uses[u].runs;
    if (of->verdict.machine == NULL) continue;
    cost.cycles += of->verdict.simulation.cycles * plans->uses[u].runs;
    cost.bytes += (double)of->verdict.simulation.memory_bytes * plans->uses[u].runs;
  }
  return cost;
}

/* --- plans from a file --- */

/* Whether written |plan| finds and leaves what |own| does, and has its tiles where |own|'s may be. */
static bool stands_for(const Plan *plan, const ModulePlan *own) {
  int64_t begin, end;
  plan_own_bytes(plan, &begin, &end);
  return plan_same_residents(plan, own->plan) &&
         (end == 0 || (begin >= own->base && (own->limit == 0 || end <= own->limit)));
}

/* Plans are others now: so are the tiles that code is made of, and the bytes that they work in.  What works in memory
 * of its own, and needs more than was asked for it, works in the space that plans with residents share. */
static Status lay_out_again(Arena *arena, ModulePlans *plans, const VecTarget *targets, int target_count,
                            DiagSink *diag) {
  const PlanSpace *before = plans->spaces;
  RETURN_IF_ERROR(module_plans_lay_out(arena, plans, targets, target_count, diag));
  for (int32_t p = 0; p < plans->count; p++) {
    ModulePlan *plan = (ModulePlan *)&plans->plans[p];
    plan->is_resident = plan->is_resident || plans->spaces[p].bytes > before[p].bytes;
    if (plan->is_resident) plans->resident_bytes = max_i64(plans->resident_bytes, plans->spaces[p].bytes);
  }
  return STATUS_OK;
}

Status module_plans_take_written(Arena *arena, ModulePlans *plans, const WrittenPlans *written,
                                 const VecTarget *targets, int target_count, DiagSink *diag) {
  Status status = STATUS_OK;
  Arena *scratch = arena_create();
  bool *is_used = ARENA_NEW_ARRAY(scratch, bool, written->count);
  for (int32_t p = 0; p < plans->count; p++) {
    ModulePlan *own = (ModulePlan *)&plans->plans[p];
    StringView text = own->is_move ? SV("") : kernel_text(scratch, own->plan->kernel);
    const ModulePlan before = *own;
    const WrittenPlan *found = NULL; /* equal Kernels may have several: that of the same name, else the first */
    for (int32_t w = 0; w < written->count && !own->is_move; w++) {
      const WrittenPlan *plan = &written->plans[w];
      if (!sv_equal(plan->kernel_text, text) || !stands_for(plan->plan, &before)) continue;
      bool has_name = sv_equal(plan->plan->name, before.plan->name);
      if (found == NULL || (has_name && !sv_equal(found->plan->name, before.plan->name))) found = plan;
      is_used[w] = true;
    }
    if (found == NULL) continue;
    own->plan = found->plan;
    own->verdict = found->verdict;
  }
  for (int32_t w = 0; w < written->count; w++) {
    const Plan *plan = written->plans[w].plan;
    if (is_used[w]) continue;
    status = diag_error(diag, STATUS_INVALID, plan->loc, "plan-resident",
                        "the plan of '%.*s' stands nowhere: other arrays are in the Buffer there", SV_ARG(plan->name));
  }
  arena_destroy(scratch);
  return status == STATUS_OK ? lay_out_again(arena, plans, targets, target_count, diag) : status;
}
