#include "hlo/network/network_plan.h"

#include <math.h>

#include "hlo/analysis/module_work.h"
#include "hlo/analysis/trip_count.h"

double network_plan_compute(const NetworkPlan *plan) {
  return plan->flop_seconds + plan->memory_seconds + plan->call_seconds;
}

/* One run of a computation: what its instructions take, and the clocks of device and link since it began. */
typedef struct Walk {
  double now, free_at;
  double flops, memory, calls;
} Walk;

typedef struct Planner {
  Arena *arena;
  const NetworkDescription *network;
  CoreRates core;
  double scale;
  const NetworkRow **row_of; /* by instruction id; NULL: no collective, or one that never runs */
  double *ends;              /* by instruction id, of starts: when their transfer ends, on the clock of their walk */
  Walk *walks;               /* by computation id */
  int64_t unknown_loops;
} Planner;

/* --- instructions --- */

static void compute(Planner *planner, Walk *walk, const HloInstruction *instruction) {
  double seconds = planner->scale * instruction_seconds(instruction, &planner->core);
  if (seconds == 0) return;
  double flops = planner->scale * instruction_flops(instruction) / planner->core.flops,
         call = planner->scale * planner->core.call_seconds;
  walk->flops += flops;
  walk->calls += call;
  walk->memory += fmax(seconds - flops - call, 0);
  walk->now += seconds;
}

static void transfer(Planner *planner, Walk *walk, const HloInstruction *start, double seconds, bool is_start) {
  double end = fmax(walk->now, walk->free_at) + seconds;
  walk->free_at = end;
  planner->ends[start->id] = end;
  if (!is_start || !planner->network->overlap) walk->now = end;
}

/* What |done| ends: the start that its operand is, perhaps through updates; of anything else it waits for the link. */
static void finish(Planner *planner, Walk *walk, const HloInstruction *done) {
  const HloInstruction *start = done->operand_count > 0 ? done->operands[0] : done;
  while (start->opcode == HLO_ASYNC_UPDATE) start = start->operands[0];
  double end = planner->ends[start->id];
  walk->now = fmax(walk->now, end > 0 ? end : walk->free_at);
}

/* --- control flow --- */

static void add_runs(Walk *walk, const Walk *called, double times) {
  walk->now = fmax(walk->now, walk->free_at) + times * fmax(called->now, called->free_at);
  walk->free_at = fmax(walk->free_at, walk->now);
  walk->flops += times * called->flops;
  walk->memory += times * called->memory;
  walk->calls += times * called->calls;
}

static const Walk *walk_of(const Planner *planner, const HloInstruction *caller, int index) {
  return &planner->walks[hlo_instruction_called(caller, index)->id];
}

static void run_loop(Planner *planner, Walk *walk, const HloInstruction *loop) {
  int64_t trips = 1;
  planner->unknown_loops += !trip_count_known(loop, &trips);
  const HloComputation *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION);
  for (int k = 0; k < hlo_instruction_called_count(loop); k++)
    add_runs(walk, walk_of(planner, loop, k), (double)trips + (hlo_instruction_called(loop, k) == condition ? 1 : 0));
}

static void run_longest(Planner *planner, Walk *walk, const HloInstruction *conditional) {
  const Walk *longest = walk_of(planner, conditional, 0);
  for (int k = 1; k < hlo_instruction_called_count(conditional); k++) {
    const Walk *branch = walk_of(planner, conditional, k);
    if (branch->now > longest->now) longest = branch;
  }
  add_runs(walk, longest, 1);
}

static void run_all(Planner *planner, Walk *walk, const HloInstruction *caller) {
  for (int k = 0; k < hlo_instruction_called_count(caller); k++) add_runs(walk, walk_of(planner, caller, k), 1);
}

static void run_async(Planner *planner, Walk *walk, const HloInstruction *start) {
  Walk wrapped = {0};
  run_all(planner, &wrapped, start);
  walk->flops += wrapped.flops;
  walk->memory += wrapped.memory;
  walk->calls += wrapped.calls;
  transfer(planner, walk, start, wrapped.now, true);
}

static const struct {
  HloOpcode opcode;
  void (*step)(Planner *planner, Walk *walk, const HloInstruction *instruction);
} steps[] = {
    {HLO_WHILE, run_loop},         {HLO_CONDITIONAL, run_longest},
    {HLO_CALL, run_all},           {HLO_ASYNC_START, run_async},
    {HLO_ASYNC_DONE, finish},      {HLO_ALL_REDUCE_DONE, finish},
    {HLO_ALL_GATHER_DONE, finish}, {HLO_COLLECTIVE_PERMUTE_DONE, finish},
    {HLO_SEND_DONE, finish},       {HLO_RECV_DONE, finish},
};

static void step(Planner *planner, Walk *walk, const HloInstruction *instruction) {
  const NetworkRow *row = planner->row_of[instruction->id];
  if (row != NULL) {
    bool is_start = row->traffic->opcode != instruction->opcode || instruction->opcode == HLO_SEND;
    transfer(planner, walk, instruction, row->time.seconds, is_start);
    return;
  }
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    if (steps[i].opcode != instruction->opcode) continue;
    steps[i].step(planner, walk, instruction);
    return;
  }
  if (!hlo_opcode_is_collective(instruction->opcode)) compute(planner, walk, instruction);
}

/* --- the module --- */

static Status check_devices(const HloModule *module, const NetworkDescription *network, DiagSink *diag) {
  int64_t devices = device_counts_total(hlo_module_device_counts(module)), limit = network_device_limit(network);
  if (devices <= limit) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, network->levels[network->level_count - 1].loc, "network-devices",
                    "the network has %lld devices, the module %lld", (long long)limit, (long long)devices);
}

static void add_rows(Planner *planner, const ModuleTraffic *traffic, NetworkPlan *plan) {
  NetworkRow *rows = ARENA_NEW_ARRAY(planner->arena, NetworkRow, traffic->count);
  for (int64_t i = 0; i < traffic->count; i++) {
    rows[i] = (NetworkRow){&traffic->data[i], network_time(planner->network, &traffic->data[i])};
    planner->row_of[traffic->data[i].collective->id] = &rows[i];
    network_time_add(&plan->transfers, &rows[i].time, traffic->data[i].times);
  }
  plan->row_count = traffic->count;
  plan->rows = rows;
  plan->wire_bytes = traffic->wire_bytes;
}

static void walk_all(Planner *planner, const HloModule *module) {
  int64_t count;
  HloComputation **order = hlo_module_post_order(module, planner->arena, &count);
  for (int64_t c = 0; c < count; c++) {
    Walk *walk = &planner->walks[order[c]->id];
    for (int64_t i = 0; i < order[c]->instructions.count; i++) step(planner, walk, order[c]->instructions.data[i]);
    walk->now = fmax(walk->now, walk->free_at);
  }
}

Status network_plan_make(Arena *arena, const HloModule *module, const NetworkDescription *network, double scale,
                         DiagSink *diag, NetworkPlan *out_plan) {
  *out_plan = (NetworkPlan){.devices = hlo_module_device_counts(module)};
  RETURN_IF_ERROR(check_devices(module, network, diag));
  const NetworkDevice *device = &network->device;
  Planner planner = {.arena = arena, .network = network, .scale = scale};
  planner.core = (CoreRates){device->flops, device->memory_bandwidth, device->call};
  planner.row_of = ARENA_NEW_ARRAY(arena, const NetworkRow *, module->next_instruction_id);
  planner.ends = ARENA_NEW_ARRAY(arena, double, module->next_instruction_id);
  planner.walks = ARENA_NEW_ARRAY(arena, Walk, module->next_computation_id);
  ModuleTraffic *traffic = ARENA_NEW(arena, ModuleTraffic);
  RETURN_IF_ERROR(hlo_module_traffic(arena, module, diag, traffic));
  add_rows(&planner, traffic, out_plan);
  walk_all(&planner, module);
  const Walk *whole = &planner.walks[module->entry->id];
  out_plan->seconds = whole->now;
  out_plan->flop_seconds = whole->flops;
  out_plan->memory_seconds = whole->memory;
  out_plan->call_seconds = whole->calls;
  out_plan->unknown_loops = planner.unknown_loops;
  return STATUS_OK;
}

/* --- what bounds it --- */

typedef struct Bound {
  const char *name;
  int level;
  double seconds;
} Bound;

static void offer(Bound *largest, const char *name, int level, double seconds) {
  if (seconds > largest->seconds) *largest = (Bound){name, level, seconds};
}

const char *network_plan_bound(const NetworkPlan *plan, int *out_level, double *out_seconds) {
  Bound largest = {"operations", -1, plan->flop_seconds};
  offer(&largest, "memory", -1, plan->memory_seconds);
  offer(&largest, "calls", -1, plan->call_seconds);
  double waits = fmax(plan->seconds - network_plan_compute(plan), 0), all = plan->transfers.seconds,
         share = all > 0 ? fmin(waits / all, 1) : 0;
  offer(&largest, "reductions", -1, share * plan->transfers.reduce_seconds);
  for (int l = 0; l < NETWORK_MAX_LEVELS; l++) {
    offer(&largest, "latency", l, share * plan->transfers.latency_seconds[l]);
    offer(&largest, "bandwidth", l, share * plan->transfers.byte_seconds[l]);
  }
  *out_level = largest.level;
  *out_seconds = largest.seconds;
  return largest.name;
}
