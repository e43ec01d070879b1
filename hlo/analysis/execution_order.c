#include "hlo/analysis/execution_order.h"

/* --- what waits for what, as bits --- */

typedef struct Rows {
  const HloSequence *sequence;
  int64_t words; /* of a row */
  uint64_t *bits;
} Rows;

/* |at| waits for |before| and for all that this waits for. */
static void wait_for(const Rows *rows, int64_t at, int64_t before) {
  uint64_t *row = rows->bits + at * rows->words;
  const uint64_t *other = rows->bits + before * rows->words;
  if (row[before / 64] >> (before % 64) & 1) return;
  for (int64_t i = 0; i <= before / 64; i++) row[i] |= other[i];
  row[before / 64] |= (uint64_t)1 << (before % 64);
}

static void wait_for_dependencies(const ExecutionOrder *order, const Rows *rows, int64_t at) {
  const HloInstruction *instruction = rows->sequence->instructions[at];
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  for (int k = 0; k < instruction->operand_count; k++) wait_for(rows, at, order->places[instruction->operands[k]->id]);
  for (int64_t k = 0; control && k < control->value.instructions.count; k++)
    wait_for(rows, at, order->places[control->value.instructions.data[k]->id]);
}

/* --- streams --- */

typedef struct Dealer {
  int64_t count;
  int64_t *last; /* by stream: the place of its last instruction, -1 for none */
  int64_t *taken;
  int64_t barrier; /* the place of the last control flow, -1 for none */
} Dealer;

static bool is_control_flow(const HloInstruction *instruction) {
  return call_graph_callee_count(instruction) > 0 && instruction->opcode != HLO_ASYNC_START;
}

bool execution_order_is_given(const HloInstruction *instruction) {
  return instruction->opcode == HLO_PARAMETER || instruction->opcode == HLO_CONSTANT;
}

/* Whether the last instruction of a stream is an operand, through what only forwards it. */
static bool continues(const Rows *rows, int64_t at, int64_t last) {
  return last >= 0 && (rows->bits[at * rows->words + last / 64] >> (last % 64) & 1);
}

static int64_t choose_stream(const Dealer *dealer, const Rows *rows, int64_t at) {
  int64_t fewest = 0;
  for (int64_t s = 0; s < dealer->count; s++) {
    if (continues(rows, at, dealer->last[s])) return s;
    if (dealer->taken[s] < dealer->taken[fewest]) fewest = s;
  }
  return fewest;
}

static void deal(Dealer *dealer, const Rows *rows, int64_t at, int32_t *streams) {
  const HloInstruction *instruction = rows->sequence->instructions[at];
  if (is_control_flow(instruction)) {
    if (dealer->barrier >= 0) wait_for(rows, at, dealer->barrier);
    for (int64_t s = 0; s < dealer->count; s++) {
      if (dealer->last[s] >= 0) wait_for(rows, at, dealer->last[s]);
      dealer->last[s] = -1;
    }
    dealer->barrier = at;
    return;
  }
  if (execution_order_is_given(instruction) || hlo_dataflow_forwards(instruction)) return;
  int64_t stream = choose_stream(dealer, rows, at);
  if (dealer->barrier >= 0) wait_for(rows, at, dealer->barrier);
  if (dealer->last[stream] >= 0) wait_for(rows, at, dealer->last[stream]);
  dealer->last[stream] = at;
  dealer->taken[stream]++;
  streams[instruction->id] = (int32_t)stream;
}

/* --- building --- */

static const uint64_t *order_computation(Arena *arena, const ExecutionOrder *order, const HloComputation *computation,
                                         int32_t *streams) {
  Rows rows = {.sequence = &order->flow->sequences[computation->id]};
  rows.words = (rows.sequence->count + 63) / 64;
  rows.bits = ARENA_NEW_ARRAY(arena, uint64_t, rows.words *rows.sequence->count + 1);
  Dealer dealer = {.count = order->stream_count, .barrier = -1};
  dealer.last = ARENA_NEW_ARRAY(arena, int64_t, dealer.count + 1);
  dealer.taken = ARENA_NEW_ARRAY(arena, int64_t, dealer.count + 1);
  for (int64_t s = 0; s < dealer.count; s++) dealer.last[s] = -1;
  for (int64_t at = 0; at < rows.sequence->count; at++) {
    wait_for_dependencies(order, &rows, at);
    if (order->kind == EXECUTION_CONCURRENT) deal(&dealer, &rows, at, streams);
  }
  return rows.bits;
}

static const int32_t *places_of(Arena *arena, const HloDataflow *flow) {
  const CallGraph *graph = flow->graph;
  int32_t *places = ARENA_NEW_ARRAY(arena, int32_t, graph->module->next_instruction_id + 1);
  for (int32_t i = 0; i <= graph->module->next_instruction_id; i++) places[i] = -1;
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloSequence *sequence = &flow->sequences[graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) places[sequence->instructions[i]->id] = (int32_t)i;
  }
  return places;
}

Status execution_order_build(Arena *arena, const HloDataflow *flow, const HloOrdering *ordering,
                             ExecutionOrderKind kind, int64_t streams, DiagSink *diag,
                             const ExecutionOrder **out_order) {
  const CallGraph *graph = flow->graph;
  ExecutionOrder *order = ARENA_NEW(arena, ExecutionOrder);
  *order = (ExecutionOrder){.kind = kind,
                            .stream_count = kind == EXECUTION_CONCURRENT ? streams : 0,
                            .flow = flow,
                            .ordering = ordering,
                            .places = places_of(arena, flow)};
  *out_order = order;
  if (kind == EXECUTION_SEQUENTIAL) return STATUS_OK;
  int32_t *stream_of = ARENA_NEW_ARRAY(arena, int32_t, graph->module->next_instruction_id + 1);
  for (int32_t i = 0; i <= graph->module->next_instruction_id; i++) stream_of[i] = -1;
  const uint64_t **after = ARENA_NEW_ARRAY(arena, const uint64_t *, graph->module->next_computation_id + 1);
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloComputation *computation = graph->sequential[c];
    if (flow->sequences[computation->id].count > EXECUTION_ORDER_MOST_INSTRUCTIONS) {
      return diag_error(
          diag, STATUS_UNSUPPORTED, computation->loc, "order-limit",
          "computation '%.*s' has more than %d instructions: which of them may run at once is not computed",
          SV_ARG(computation->name), EXECUTION_ORDER_MOST_INSTRUCTIONS);
    }
    after[computation->id] = order_computation(arena, order, computation, stream_of);
  }
  order->streams = stream_of;
  order->after = after;
  return STATUS_OK;
}

/* --- questions --- */

static bool is_before_in_computation(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b) {
  if (a == b) return false;
  if (order->kind == EXECUTION_SEQUENTIAL) {
    /* What a computation returns is read after its last instruction, wherever the root stands. */
    return !hlo_instruction_is_root(a) && order->ordering->times[a->id] < order->ordering->times[b->id];
  }
  int64_t words = (order->flow->sequences[b->parent->id].count + 63) / 64, at = order->places[a->id];
  return order->after[b->parent->id][order->places[b->id] * words + at / 64] >> (at % 64) & 1;
}

/* Which computation of |site| |instruction| runs in, by number; -1: it is |site|. */
static int callee_with(const ExecutionOrder *order, const HloInstruction *site, const HloInstruction *instruction) {
  for (int j = 0; j < call_graph_callee_count(site); j++) {
    if (call_graph_ancestor(order->flow->graph, instruction, call_graph_callee(site, j))) return j;
  }
  return -1;
}

/* Both are |site| or in what it calls, and no common computation lies further in. */
static ExecutionConstraint constraint_inside(const ExecutionOrder *order, const HloInstruction *site,
                                             const HloInstruction *a, const HloInstruction *b) {
  int in_a = callee_with(order, site, a), in_b = callee_with(order, site, b);
  if (in_b < 0) return EXECUTION_BEFORE_END;
  if (in_a < 0) return EXECUTION_AFTER;
  if (site->opcode == HLO_CONDITIONAL) return in_a < in_b ? EXECUTION_EXCLUSIVE_BEFORE : EXECUTION_EXCLUSIVE_AFTER;
  return in_a < in_b ? EXECUTION_BEFORE_END : EXECUTION_AFTER; /* condition, body */
}

ExecutionConstraint execution_order_constraint(const ExecutionOrder *order, const HloInstruction *a,
                                               const HloInstruction *b) {
  if (a == b) return EXECUTION_SAME;
  const HloInstruction *above_a = a, *above_b = b;
  call_graph_common(order->flow->graph, &above_a, &above_b);
  if (above_a == above_b) return constraint_inside(order, above_a, a, b);
  if (is_before_in_computation(order, above_a, above_b)) return EXECUTION_BEFORE_START;
  return is_before_in_computation(order, above_b, above_a) ? EXECUTION_AFTER : EXECUTION_UNORDERED;
}

bool execution_order_is_before(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b) {
  ExecutionConstraint constraint = execution_order_constraint(order, a, b);
  return constraint == EXECUTION_BEFORE_START || constraint == EXECUTION_BEFORE_END ||
         constraint == EXECUTION_EXCLUSIVE_BEFORE;
}

bool execution_order_defines_before(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b) {
  bool is_inside = call_graph_ancestor(order->flow->graph, a, b->parent) != NULL;
  if (b->opcode == HLO_PARAMETER && is_inside) return false;
  if (execution_order_is_before(order, a, b)) return true;
  if (a->opcode != HLO_PARAMETER) return false;
  const HloInstruction *above = call_graph_ancestor(order->flow->graph, b, a->parent);
  return above != NULL && above->opcode != HLO_PARAMETER;
}
