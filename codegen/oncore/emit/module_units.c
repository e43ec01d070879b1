#include "codegen/oncore/emit/module_units.h"

#include <math.h>

/* In a run of the module, all Kernels cut less all whole. */
typedef struct UnitCost {
  double cycles, bytes;
  bool is_taken;
} UnitCost;

/* Of the Kernel |use|, number |number| of |trial|'s. */
static void add_use(const PlansTrial *trial, const KernelUse *use, int64_t number, double sign, UnitCost *cost) {
  const PlanUse *of = &trial->plans->uses[number];
  const ModulePlan *plan = &trial->plans->plans[of->plan];
  const RunLaunch *launch = module_runs_launch(&trial->plans->runs, use);
  if (!plan->is_resident) plan = &trial->before->plans[trial->before->uses[number].plan];
  if (plan->verdict.machine == NULL) return; /* it is as it was */
  double cycles = launch != NULL ? launch->cycles : plan->verdict.simulation.cycles;
  cost->cycles += sign * cycles * of->runs;
  cost->bytes += sign * (double)plan->verdict.simulation.memory_bytes * of->runs;
}

/* Adds what |trial| takes to |costs|, by unit, and to |all| of them. */
static void add_trial(const CutUnits *units, const PlansTrial *trial, double sign, UnitCost *costs, UnitCost *all) {
  int64_t number = 0, unit = 0;
  for (int64_t r = 0; r < trial->kernels->rows.count; r++) {
    const KernelUses *row = &trial->kernels->rows.data[r];
    while (unit < units->count && units->units[unit].last < r) unit++;
    bool is_in = unit < units->count && units->units[unit].first <= r;
    for (int32_t i = 0; i < row->count; i++, number++) {
      add_use(trial, &row->uses[i], number, sign, all);
      if (is_in) add_use(trial, &row->uses[i], number, sign, &costs[unit]);
    }
  }
}

/* Takes the units that save bytes for nothing, and then those that save most for their cycles, as long as all of them
 * together take at most |room| more. */
static void take_units(UnitCost *costs, int64_t count, double room) {
  for (int64_t u = 0; u < count; u++) {
    costs[u].is_taken = costs[u].bytes < 0 && costs[u].cycles <= 0;
    if (costs[u].is_taken) room -= costs[u].cycles;
  }
  for (;;) {
    UnitCost *best = NULL;
    for (int64_t u = 0; u < count; u++) {
      UnitCost *cost = &costs[u];
      bool is_meant = !cost->is_taken && cost->bytes < 0 && cost->cycles <= room;
      if (is_meant && (best == NULL || cost->bytes * best->cycles < best->bytes * cost->cycles)) best = cost;
    }
    if (best == NULL) return;
    best->is_taken = true;
    room -= best->cycles;
  }
}

const bool *module_plans_choose_units(Arena *arena, const CutUnits *units, const PlansTrial *whole,
                                      const PlansTrial *cut, double room, double *out_more) {
  UnitCost *costs = ARENA_NEW_ARRAY(arena, UnitCost, units->count + 1), rest = {0};
  bool *leaves_out = ARENA_NEW_ARRAY(arena, bool, units->count + 1);
  add_trial(units, whole, -1, costs, &rest);
  add_trial(units, cut, 1, costs, &rest);
  for (int64_t u = 0; u < units->count; u++) rest.cycles -= costs[u].cycles;
  take_units(costs, units->count, room - fmax(0, rest.cycles));
  int64_t taken = 0;
  *out_more = 0;
  for (int64_t u = 0; u < units->count; u++) {
    leaves_out[u] = !costs[u].is_taken;
    taken += costs[u].is_taken;
    if (leaves_out[u]) *out_more -= costs[u].bytes;
  }
  return taken > 0 && taken < units->count ? leaves_out : NULL;
}
