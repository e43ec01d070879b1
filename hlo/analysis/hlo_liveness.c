#include "hlo/analysis/hlo_liveness.h"

#include "base/checked_math.h"

typedef struct Liveness {
  const HloDataflow *flow;
  const HloOrdering *ordering;
  LiveRange *ranges;
  int64_t *done_times; /* by computation id: everything inside lives until then at least; 0 for most */
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

/* A use at |time| in |computation| of what is defined in |home|: each loop in between may come back to it. */
static int64_t through_loops(const Liveness *live, int64_t time, const HloComputation *computation, const HloComputation *home) {
  while (computation != home) {
    const HloInstruction *site = call_graph_caller(live->flow->graph, computation);
    if (!site) break;
    if (site->opcode == HLO_WHILE) time = max_i64(time, at_instruction(live, site) - 1);
    computation = site->parent;
  }
  return time;
}

static void extend(const Liveness *live, int32_t value, int64_t time, const HloComputation *computation) {
  const HloComputation *home = live->flow->values[value].definition.instruction->parent;
  LiveRange *range = &live->ranges[value];
  range->to = max_i64(range->to, through_loops(live, time, computation, home));
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

static void apply_use(const Liveness *live, int32_t value, const BufferUse *use) {
  const HloInstruction *user = use->user;
  int64_t time = at_instruction(live, user);
  if (user->opcode == HLO_WHILE) {
    if (!hlo_dataflow_is_carried(live->flow, user, use->node)) return; /* the uses inside say it all */
    time = entered_time(live, user);
  } else if (user->opcode == HLO_CONDITIONAL) {
    time = entered_time(live, user);
  }
  extend(live, value, time, user->parent);
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

static void apply_root(const Liveness *live, const HloComputation *computation) {
  int32_t first = live->flow->first_positions[computation->root->id];
  int32_t count = shape_nodes(live->flow->shapes, computation->root->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t value = live->flow->values_at[first + node];
    if (value >= 0 && root_is_read(live, computation, node)) extend(live, value, span_out(live, computation), computation);
  }
}

/* What the condition sees goes on to the body, or out of the loop. */
static void apply_condition(const Liveness *live, const HloInstruction *loop) {
  const HloComputation *condition = call_graph_callee(loop, 0);
  if (condition->parameters.count != 1) return;
  const HloInstruction *parameter = condition->parameters.data[0];
  int32_t count = shape_nodes(live->flow->shapes, parameter->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t value = hlo_dataflow_value(live->flow, parameter, node);
    if (value >= 0 && live->flow->values[value].definition.instruction == parameter) {
      extend(live, value, span_out(live, condition), condition);
    }
  }
}

/* The instruction that ends what |start| began: the last of the chain of updates. */
static const HloInstruction *async_end(const HloInstruction *start) {
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

/* Callers come behind callees in the graph's order, so inherited times are found from the back. */
static void find_done_times(const Liveness *live) {
  const CallGraph *graph = live->flow->graph;
  for (int32_t c = graph->sequential_count - 1; c >= 0; c--) {
    const HloComputation *computation = graph->sequential[c];
    const HloInstruction *site = call_graph_caller(graph, computation);
    if (!site) continue;
    live->done_times[computation->id] = live->done_times[site->parent->id];
    if (site->opcode == HLO_ASYNC_START) {
      live->done_times[computation->id] = max_i64(live->done_times[site->parent->id], at_instruction(live, async_end(site)));
    }
  }
}

const LiveRange *hlo_liveness_build(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering) {
  Liveness live = {dataflow, ordering, ARENA_NEW_ARRAY(arena, LiveRange, dataflow->value_count + 1),
                   ARENA_NEW_ARRAY(arena, int64_t, dataflow->graph->module->next_computation_id + 1)};
  find_done_times(&live);
  for (int32_t i = 0; i < dataflow->value_count; i++) {
    const HloValue *value = &dataflow->values[i];
    LiveRange *range = &live.ranges[i];
    range->from = range->to = definition_time(&live, value);
    for (int32_t k = 0; k < value->use_count; k++) apply_use(&live, i, &value->uses[k]);
    range->to = max_i64(range->to, live.done_times[value->definition.instruction->parent->id]);
  }
  for (int32_t c = 0; c < dataflow->graph->sequential_count; c++) apply_root(&live, dataflow->graph->sequential[c]);
  for (int64_t i = 0; i < ordering->length; i++) {
    if (ordering->schedule[i]->opcode == HLO_WHILE) apply_condition(&live, ordering->schedule[i]);
  }
  return live.ranges;
}

static int64_t inside(int64_t position, int64_t length) { return max_i64(min_i64(position, length - 1), 0); }

int64_t hlo_liveness_first_position(LiveRange range, int64_t length) {
  return inside(range.from <= 0 ? 0 : ceil_div(range.from, 4), length);
}

int64_t hlo_liveness_last_position(LiveRange range, int64_t length) {
  int64_t last = range.to < 0 ? 0 : range.to / 4;
  return max_i64(inside(last, length), hlo_liveness_first_position(range, length));
}
