#include "hlo/analysis/hlo_liveness.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"

/* A moment at which a value must be there, and where that is. */
typedef struct Need {
  int32_t value;
  int64_t time;
  const HloComputation *computation;
} Need;

typedef struct Liveness {
  Arena *arena;
  const HloDataflow *flow;
  const HloOrdering *ordering;
  LiveRange *hulls;
  ARRAY(Need) branch_needs; /* those inside conditionals, seen from where the value is made */
  int64_t *other_needs;     /* by value: the last of the others */
  ARRAY(LiveRange) ranges;
  ARRAY(int32_t) range_values;
  int64_t *done_times;            /* by computation id: everything inside lives until then at least; 0 for most */
  const HloInstruction **done_by; /* by computation id: the instruction that says so */
  int32_t told;                   /* the value whose needs are told; -1: none */
  ARRAY(LiveNeed) told_needs;
} Liveness;

static int64_t at_instruction(const Liveness *live, const HloInstruction *instruction) {
  return 4 * (int64_t)live->ordering->times[instruction->id];
}

static int64_t span_in(const Liveness *live, const HloComputation *computation) {
  return 4 * (int64_t)live->ordering->span_starts[computation->id] - 2;
}

static int64_t span_out(const Liveness *live, const HloComputation *computation) {
  return 4 * (int64_t)live->ordering->span_ends[computation->id] + 1;
}

static const HloComputation *home_of(const Liveness *live, int32_t value) {
  return call_graph_home(live->flow->graph, live->flow->values[value].definition.instruction->parent);
}

/* A use in |*computation| of what is at |home|: each loop in between may come back to it, so it lasts as long
 * as the loop. */
static int64_t through_loops(const Liveness *live, int64_t time, const HloComputation **computation,
                             const HloComputation *home, const HloInstruction **out_loop) {
  for (const HloComputation *at = *computation; at != home;) {
    const HloInstruction *site = call_graph_caller(live->flow->graph, at);
    if (!site) break;
    at = site->parent;
    if (site->opcode != HLO_WHILE) continue;
    time = max_i64(time, at_instruction(live, site) - 1);
    *computation = at;
    *out_loop = site;
  }
  return time;
}

/* The outermost conditional between |computation| and |home|, with the branch that it is reached through. */
static const HloInstruction *outer_conditional(const Liveness *live, const HloComputation *computation,
                                               const HloComputation *home) {
  const HloInstruction *found = NULL;
  while (computation != home) {
    const HloInstruction *site = call_graph_caller(live->flow->graph, computation);
    if (!site) break;
    if (site->opcode == HLO_CONDITIONAL) found = site;
    computation = site->parent;
  }
  return found;
}

/* |need| at |need|.time in |computation|. */
static void extend(Liveness *live, int32_t value, LiveNeed need, const HloComputation *computation) {
  const HloComputation *home = home_of(live, value);
  LiveRange *hull = &live->hulls[value];
  int64_t time = need.time = through_loops(live, need.time, &computation, home, &need.loop);
  if (value == live->told) array_push(&live->told_needs, live->arena, need);
  hull->to = max_i64(hull->to, time);
  if (outer_conditional(live, computation, home)) {
    array_push(&live->branch_needs, live->arena, ((Need){value, time, computation}));
  } else {
    live->other_needs[value] = max_i64(live->other_needs[value], time);
  }
}

static int64_t definition_time(const Liveness *live, const HloValue *value) {
  const HloInstruction *instruction = value->definition.instruction;
  return instruction->opcode == HLO_PARAMETER ? span_in(live, instruction->parent) : at_instruction(live, instruction);
}

/* The first moment of what control flow enters, one step before its parameters are there. */
static int64_t entered_time(const Liveness *live, const HloInstruction *site) {
  if (call_graph_callee_count(site) == 0) return at_instruction(live, site);
  return span_in(live, call_graph_callee(site, 0)) - 1;
}

static void enter(const Liveness *live, LiveNeed *need) {
  need->kind = LIVE_NEED_ENTERS;
  need->time = entered_time(live, need->user);
}

static void apply_use(Liveness *live, int32_t value, const BufferUse *use) {
  const HloInstruction *user = use->user;
  LiveNeed need = {.kind = LIVE_NEED_USE,
                   .user = user,
                   .operand = use->operand,
                   .node = use->node,
                   .time = at_instruction(live, user)};
  if (user->opcode == HLO_WHILE) {
    if (!hlo_dataflow_is_carried(live->flow, user, use->node)) return; /* the uses inside say it all */
    enter(live, &need);
  } else if (user->opcode == HLO_CONDITIONAL) {
    enter(live, &need);
  }
  extend(live, value, need, user->parent);
}

/* Whether the caller of |computation| takes leaf |node| of its root from there, instead of seeing the same value. */
static bool root_is_read(const Liveness *live, const HloComputation *computation, int node) {
  const HloInstruction *site = call_graph_caller(live->flow->graph, computation);
  if (!site || (site->opcode == HLO_WHILE && computation == call_graph_callee(site, 0))) return true;
  if (site->opcode == HLO_WHILE) return hlo_dataflow_is_carried(live->flow, site, node);
  if (site->opcode == HLO_CONDITIONAL) {
    int32_t value = hlo_dataflow_value(live->flow, site, node);
    return value >= 0 && live->flow->values[value].definition.instruction == site;
  }
  return false;
}

static void apply_root(Liveness *live, const HloComputation *computation) {
  int32_t first = live->flow->first_positions[computation->root->id];
  int32_t count = shape_nodes(live->flow->shapes, computation->root->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t value = live->flow->values_at[first + node];
    if (value < 0 || !root_is_read(live, computation, node)) continue;
    LiveNeed need = {.kind = LIVE_NEED_RETURNED, .user = computation->root, .node = node};
    need.time = span_out(live, computation);
    extend(live, value, need, computation);
  }
}

/* What the condition sees goes on to the body, or out of the loop. */
static void apply_condition(Liveness *live, const HloInstruction *loop) {
  const HloComputation *condition = call_graph_callee(loop, 0);
  if (condition->parameters.count != 1) return;
  const HloInstruction *parameter = condition->parameters.data[0];
  int32_t count = shape_nodes(live->flow->shapes, parameter->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t value = hlo_dataflow_value(live->flow, parameter, node);
    if (value >= 0 && live->flow->values[value].definition.instruction == parameter) {
      LiveNeed need = {.kind = LIVE_NEED_CONDITION, .user = loop, .node = node, .time = span_out(live, condition)};
      extend(live, value, need, condition);
    }
  }
}

const HloInstruction *hlo_liveness_async_end(const HloInstruction *start) {
  const HloInstruction *end = start;
  for (int i = 0; i < end->user_count; i++) {
    const HloInstruction *user = end->users[i];
    if (user->opcode != HLO_ASYNC_UPDATE && user->opcode != HLO_ASYNC_DONE) continue;
    end = user;
    i = -1;
    if (end->opcode == HLO_ASYNC_DONE) break;
  }
  return end;
}

/* Callers come after callees in the graph's order, so inherited times are found from the back. */
static void find_done_times(const Liveness *live) {
  const CallGraph *graph = live->flow->graph;
  for (int32_t c = graph->sequential_count - 1; c >= 0; c--) {
    const HloComputation *computation = graph->sequential[c];
    const HloInstruction *site = call_graph_caller(graph, computation);
    if (!site) continue;
    live->done_times[computation->id] = live->done_times[site->parent->id];
    live->done_by[computation->id] = live->done_by[site->parent->id];
    if (site->opcode != HLO_ASYNC_START) continue;
    const HloInstruction *end = hlo_liveness_async_end(site);
    if (at_instruction(live, end) < live->done_times[computation->id]) continue;
    live->done_times[computation->id] = at_instruction(live, end);
    live->done_by[computation->id] = end;
  }
}

/* --- ranges --- */

static int compare_need(const void *left, const void *right) {
  const Need *a = left, *b = right;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return a->time < b->time ? -1 : a->time > b->time;
}

/* Ranges without a gap between them are one. */
static void add_range(Liveness *live, int32_t value, LiveRange range) {
  int64_t last = live->ranges.count - 1;
  if (last >= 0 && live->range_values.data[last] == value && live->ranges.data[last].to + 1 >= range.from) {
    live->ranges.data[last].to = max_i64(live->ranges.data[last].to, range.to);
    return;
  }
  array_push(&live->ranges, live->arena, range);
  array_push(&live->range_values, live->arena, value);
}

/* From |from| on in |home| the value is there for |needs|, which ascend and all lie inside; the last decides whether
 * and where it dies in branches. */
static void add_ranges(Liveness *live, int32_t value, int64_t from, const HloComputation *home, const Need *needs,
                       int64_t count) {
  const HloInstruction *conditional = count > 0 ? outer_conditional(live, needs[count - 1].computation, home) : NULL;
  if (!conditional) {
    add_range(live, value, (LiveRange){from, count > 0 ? max_i64(from, needs[count - 1].time) : from});
    return;
  }
  add_range(live, value, (LiveRange){from, max_i64(from, entered_time(live, conditional))});
  int64_t at = 0;
  for (int j = 0; j < call_graph_callee_count(conditional); j++) {
    const HloComputation *branch = call_graph_callee(conditional, j);
    int64_t begin = span_in(live, branch), end = span_out(live, branch);
    while (at < count && needs[at].time < begin) at++;
    int64_t first = at;
    while (at < count && needs[at].time <= end) at++;
    if (at > first) add_ranges(live, value, begin, branch, needs + first, at - first);
  }
}

static void find_ranges(Liveness *live, int32_t *first_ranges) {
  const HloDataflow *flow = live->flow;
  const Need *needs = live->branch_needs.data;
  if (live->branch_needs.count > 0)
    qsort(live->branch_needs.data, (size_t)live->branch_needs.count, sizeof(Need), compare_need);
  int64_t at = 0;
  for (int32_t i = 0; i < flow->value_count; i++) {
    int64_t first = at;
    while (at < live->branch_needs.count && needs[at].value == i) at++;
    first_ranges[i] = (int32_t)live->ranges.count;
    bool dies_in_branch = at > first && needs[at - 1].time > live->other_needs[i];
    if (dies_in_branch) {
      add_ranges(live, i, live->hulls[i].from, home_of(live, i), needs + first, at - first);
    } else {
      add_range(live, i, live->hulls[i]);
    }
  }
  first_ranges[flow->value_count] = (int32_t)live->ranges.count;
}

/* Everything but the ranges. */
static Liveness find_needs(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering, int32_t told) {
  int32_t computations = dataflow->graph->module->next_computation_id + 1;
  Liveness live = {.arena = arena,
                   .flow = dataflow,
                   .ordering = ordering,
                   .hulls = ARENA_NEW_ARRAY(arena, LiveRange, dataflow->value_count + 1),
                   .other_needs = ARENA_NEW_ARRAY(arena, int64_t, dataflow->value_count + 1),
                   .done_times = ARENA_NEW_ARRAY(arena, int64_t, computations),
                   .done_by = ARENA_NEW_ARRAY(arena, const HloInstruction *, computations),
                   .told = told};
  find_done_times(&live);
  for (int32_t i = 0; i < dataflow->value_count; i++) {
    const HloValue *value = &dataflow->values[i];
    const HloComputation *home = value->definition.instruction->parent;
    live.hulls[i].from = live.hulls[i].to = live.other_needs[i] = definition_time(&live, value);
    LiveNeed done = {.kind = LIVE_NEED_ASYNC, .user = live.done_by[home->id], .time = live.done_times[home->id]};
    if (done.time > 0) extend(&live, i, done, home);
    for (int32_t k = 0; k < value->use_count; k++) apply_use(&live, i, &value->uses[k]);
  }
  for (int32_t c = 0; c < dataflow->graph->sequential_count; c++) apply_root(&live, dataflow->graph->sequential[c]);
  for (int64_t i = 0; i < ordering->length; i++) {
    if (ordering->schedule[i]->opcode == HLO_WHILE) apply_condition(&live, ordering->schedule[i]);
  }
  return live;
}

const HloLiveness *hlo_liveness_build(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering) {
  int32_t *first_ranges = ARENA_NEW_ARRAY(arena, int32_t, dataflow->value_count + 1);
  Liveness live = find_needs(arena, dataflow, ordering, -1);
  find_ranges(&live, first_ranges);
  HloLiveness *liveness = ARENA_NEW(arena, HloLiveness);
  *liveness =
      (HloLiveness){live.hulls, first_ranges, (int32_t)live.ranges.count, live.ranges.data, live.range_values.data};
  return liveness;
}

/* --- questions --- */

static int compare_moment(const void *left, const void *right) {
  const LiveNeed *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->user->id != b->user->id) return a->user->id < b->user->id ? -1 : 1;
  if (a->operand != b->operand) return a->operand < b->operand ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

LiveNeeds hlo_liveness_needs(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering, int32_t value) {
  Liveness live = find_needs(arena, dataflow, ordering, value);
  if (live.told_needs.count > 1)
    qsort(live.told_needs.data, (size_t)live.told_needs.count, sizeof(LiveNeed), compare_moment);
  return (LiveNeeds){(int32_t)live.told_needs.count, live.told_needs.data};
}

bool hlo_liveness_ends_at(const HloLiveness *liveness, int32_t value, int64_t time) {
  for (int32_t i = liveness->first_ranges[value]; i < liveness->first_ranges[value + 1]; i++) {
    if (liveness->ranges[i].to == time) return true;
  }
  return false;
}

static int64_t inside(int64_t position, int64_t length) {
  return max_i64(min_i64(position, length - 1), 0);
}

int64_t hlo_liveness_first_position(LiveRange range, int64_t length) {
  return inside(range.from <= 0 ? 0 : ceil_div(range.from, 4), length);
}

int64_t hlo_liveness_last_position(LiveRange range, int64_t length) {
  int64_t last = range.to < 0 ? 0 : range.to / 4;
  return max_i64(inside(last, length), hlo_liveness_first_position(range, length));
}

int64_t hlo_liveness_dead_after(LiveRange range, int64_t length) {
  switch (range.to & 3) {
    case 1: return -1;                               /* a root, a condition's state, what is entered */
    case 3: return inside(range.to / 4 + 1, length); /* read in a loop: after all of it */
    default: return hlo_liveness_last_position(range, length);
  }
}
