#include "codegen/oncore/emit/module_units.h"

#include <math.h>

/* In a run of the module, Kernels cut less Kernels whole. */
typedef struct CutCost {
  double cycles, bytes;
} CutCost;

/* A unit without those of its members that are chosen by themselves, or one of these. */
typedef struct CutChoice {
  int64_t row;  /* the unit's first, or the member's */
  int64_t unit; /* of a member: the place of its unit, before it; -1: it is a unit */
  double bytes; /* of a member: RunMember.bytes */
  CutCost cost; /* a unit's is that of all its Kernels until its members have been taken from it */
  bool is_in;   /* a member that is not chosen by itself */
  bool is_taken;
} CutChoice;

typedef struct CutChoices {
  int64_t count;
  CutChoice *choices;   /* by row */
  const int64_t *units; /* places of units */
  IntMap members;       /* instruction → place + 1 */
} CutChoices;

/* Of the Kernel |use|, number |number| of |trial|'s. */
static CutCost use_cost(const PlansTrial *trial, const KernelUse *use, int64_t number) {
  const PlanUse *of = &trial->plans->uses[number];
  const ModulePlan *plan = &trial->plans->plans[of->plan];
  const RunLaunch *launch = module_runs_launch(&trial->plans->runs, use);
  if (!plan->is_resident) plan = &trial->before->plans[trial->before->uses[number].plan];
  if (plan->verdict.machine == NULL) return (CutCost){0}; /* it is as it was */
  double cycles = launch != NULL ? launch->cycles : plan->verdict.simulation.cycles;
  return (CutCost){cycles * of->runs, (double)plan->verdict.simulation.memory_bytes * of->runs};
}

static void add_cost(CutCost *sum, CutCost cost, double sign) {
  sum->cycles += sign * cost.cycles;
  sum->bytes += sign * cost.bytes;
}

/* Adds what |trial| takes to the costs of |choices|, and to |all| of them. */
static void add_trial(const CutUnits *units, const PlansTrial *trial, double sign, CutChoices *choices, CutCost *all) {
  int64_t number = 0, unit = 0;
  for (int64_t r = 0; r < trial->kernels->rows.count; r++) {
    const KernelUses *row = &trial->kernels->rows.data[r];
    while (unit < units->count && units->units[unit].last < r) unit++;
    bool is_in = unit < units->count && units->units[unit].first <= r;
    for (int32_t i = 0; i < row->count; i++, number++) {
      CutCost cost = use_cost(trial, &row->uses[i], number);
      uintptr_t member = (uintptr_t)pointer_map_get(&choices->members, row->uses[i].instruction);
      add_cost(all, cost, sign);
      if (is_in) add_cost(&choices->choices[choices->units[unit]].cost, cost, sign);
      if (member > 0) add_cost(&choices->choices[member - 1].cost, cost, sign);
    }
  }
}

/* Those of |units|, without costs. */
static CutChoices choices_of(Arena *arena, const CutUnits *units, const KernelTable *kernels) {
  CutChoices choices = {0};
  int64_t count = units->count;
  for (int64_t u = 0; u < units->count; u++) count += units->units[u].member_count;
  choices.choices = ARENA_NEW_ARRAY(arena, CutChoice, count + 1);
  int64_t *places = ARENA_NEW_ARRAY(arena, int64_t, units->count + 1);
  int_map_init(&choices.members, arena);
  for (int64_t u = 0; u < units->count; u++) {
    const RunUnit *unit = &units->units[u];
    places[u] = choices.count;
    choices.choices[choices.count++] = (CutChoice){.row = unit->first, .unit = -1};
    for (int64_t m = 0; m < unit->member_count; m++) {
      const RunMember *member = &unit->members[m];
      choices.choices[choices.count++] = (CutChoice){.row = member->row, .unit = places[u], .bytes = member->bytes};
      pointer_map_set(&choices.members, kernels->rows.data[member->row].instruction, (void *)(uintptr_t)choices.count);
    }
  }
  choices.units = places;
  return choices;
}

/* Members that save bytes for nothing stay with their unit; others are chosen by themselves if |parts_units|. */
static void part_members(CutChoices *choices, bool parts_units) {
  for (int64_t c = 0; c < choices->count; c++) {
    CutChoice *member = &choices->choices[c];
    if (member->unit < 0) continue;
    member->cost.bytes -= member->bytes;
    member->is_in = !parts_units || (member->cost.bytes < 0 && member->cost.cycles <= 0);
    if (!member->is_in) add_cost(&choices->choices[member->unit].cost, member->cost, -1);
  }
}

/* Whether |choice|, which saves bytes, may still be taken. */
static bool is_open(const CutChoices *choices, const CutChoice *choice) {
  bool has_unit = choice->unit < 0 || choices->choices[choice->unit].is_taken;
  return has_unit && !choice->is_in && !choice->is_taken && choice->cost.bytes < 0;
}

/* Takes what saves bytes for nothing, and then what saves most for its cycles, as long as all of it together takes at
 * most |room| more. */
static void take_choices(CutChoices *choices, double room) {
  for (;;) {
    CutChoice *best = NULL;
    for (int64_t c = 0; c < choices->count; c++) {
      CutChoice *choice = &choices->choices[c];
      CutCost cost = choice->cost;
      if (!is_open(choices, choice) || cost.cycles > fmax(room, 0)) continue;
      if (best == NULL || cost.cycles <= 0 || cost.bytes * best->cost.cycles < best->cost.bytes * cost.cycles)
        best = choice;
      if (cost.cycles <= 0) break;
    }
    if (best == NULL) return;
    best->is_taken = true;
    room -= best->cost.cycles;
  }
}

const RunLeft *module_plans_choose_units(Arena *arena, const CutUnits *units, const PlansTrial *whole,
                                         const PlansTrial *cut, UnitsWanted wanted, double *out_more) {
  CutChoices choices = choices_of(arena, units, whole->kernels);
  RunLeft *leaves_out = ARENA_NEW_ARRAY(arena, RunLeft, whole->kernels->rows.count + 1);
  CutCost rest = {0};
  add_trial(units, whole, -1, &choices, &rest);
  add_trial(units, cut, 1, &choices, &rest);
  for (int64_t u = 0; u < units->count; u++) rest.cycles -= choices.choices[choices.units[u]].cost.cycles;
  part_members(&choices, wanted.parts_units);
  take_choices(&choices, wanted.room - fmax(0, rest.cycles));
  bool has_taken = false, has_left = false;
  *out_more = 0;
  for (int64_t c = 0; c < choices.count; c++) {
    const CutChoice *choice = &choices.choices[c];
    has_taken = has_taken || choice->is_taken;
    if (choice->is_taken || choice->is_in) continue;
    has_left = true;
    leaves_out[choice->row] = choice->unit < 0 ? RUN_LEAVES_UNIT : RUN_LEAVES_KERNEL;
    *out_more -= choice->cost.bytes;
  }
  return has_taken && has_left ? leaves_out : NULL;
}
