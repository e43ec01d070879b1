#include "base/array.h"
#include "hlo/analysis/hlo_ordering.h"
#include "hlo/analysis/in_place.h"

/* An order of a module without a schedule in which the readers of a value stand before the instruction that updates
 * it in place, as far as data and control dependencies allow; otherwise the order of the text. */

/* Beyond so many updates of one value the order is left as it is: copies are needed anyway. */
enum { MAX_UPDATES_PER_VALUE = 64 };

/* |updater| writes over |value|: other readers of it had better come first. */
typedef struct Update {
  const HloInstruction *updater;
  int32_t value;
} Update;

typedef ARRAY(Update) UpdateArray;
typedef ARRAY(int32_t) NumberArray;

typedef struct Order {
  Arena *arena;
  const HloDataflow *flow;
  UpdateArray *updates_of; /* by computation id */
  int32_t *update_counts;  /* by value */
  int32_t *updated_to;     /* by value: what it becomes by an update in place, -1 for none */
  /* of the computation at hand */
  const HloComputation *computation;
  const HloSequence *given;
  const UpdateArray *updates;
  int32_t *places;                      /* by instruction id: place in |given| */
  int32_t *stamps;                      /* by place: the last update that counted the reader */
  int32_t *waiting;                     /* by place: predecessors to come */
  int32_t *blocking;                    /* by place: readers that should come first */
  NumberArray *successors;              /* by place */
  NumberArray *unblocks;                /* by place of a reader: places of updaters */
  NumberArray ready, held, held_copies; /* heaps of places: free to go, and better kept back */
  bool *done;
} Order;

static void add_update(Order *order, const HloInstruction *updater, int32_t value) {
  if (value < 0 || updater->opcode == HLO_PARAMETER || order->update_counts[value]++ >= MAX_UPDATES_PER_VALUE) return;
  array_push(&order->updates_of[updater->parent->id], order->arena, ((Update){updater, value}));
}

/* --- what updates what --- */

static bool runs_inside(const Order *order, const HloInstruction *instruction, const HloComputation *computation) {
  return call_graph_ancestor(order->flow->graph, instruction, computation) != NULL;
}

/* What makes |result| overwrites |given|; where branches make it, what makes it there. */
static void add_result_update(Order *order, int32_t result, int32_t given, int depth) {
  enum { MAX_DEPTH = 64 };
  if (result < 0 || given < 0 || result == given || depth > MAX_DEPTH) return;
  const BufferPosition *made = &order->flow->values[result].definition;
  int32_t held = given;
  for (int i = 0; held >= 0 && held != result && i < MAX_DEPTH; i++, held = order->updated_to[held]) {
    add_update(order, made->instruction, held);
  }
  if (made->instruction->opcode != HLO_CONDITIONAL) return;
  for (int j = 0; j < call_graph_callee_count(made->instruction); j++) {
    const HloComputation *branch = call_graph_callee(made->instruction, j);
    int32_t returned = hlo_dataflow_value(order->flow, branch->root, made->node);
    if (returned < 0 || !runs_inside(order, order->flow->values[returned].definition.instruction, branch)) continue;
    add_result_update(order, returned, given, depth + 1);
  }
}

static void find_in_place_updates(Order *order, const HloInstruction *instruction) {
  InPlacePairs pairs = hlo_in_place_pairs(instruction, order->arena);
  for (int i = 0; i < pairs.count; i++) {
    const InPlacePair *pair = &pairs.pairs[i];
    int32_t value = hlo_dataflow_value(order->flow, instruction->operands[pair->operand], pair->operand_node);
    add_update(order, instruction, value);
    if (value >= 0) order->updated_to[value] = hlo_dataflow_value(order->flow, instruction, pair->result_node);
  }
}

/* Where loops and branches pass values on in one place. */
static void find_places_kept(Order *order, const HloInstruction *instruction) {
  int32_t count = shape_nodes(order->flow->shapes, instruction->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t joined = hlo_dataflow_value(order->flow, instruction, node);
    if (joined < 0 || order->flow->values[joined].definition.instruction != instruction) continue;
    if (instruction->opcode == HLO_WHILE) {
      int32_t init = hlo_dataflow_value(order->flow, instruction->operands[0], node);
      if (init >= 0) order->updated_to[init] = joined;
      continue;
    }
    for (int j = 0; j < call_graph_callee_count(instruction); j++) {
      int32_t returned = hlo_dataflow_value(order->flow, call_graph_callee(instruction, j)->root, node);
      if (returned >= 0) order->updated_to[returned] = joined;
    }
  }
}

/* Entering a loop overwrites what it begins with; what the body returns overwrites the state. */
static void find_loop_updates(Order *order, const HloInstruction *loop) {
  const HloComputation *body = call_graph_callee(loop, 1);
  int32_t count = shape_nodes(order->flow->shapes, loop->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    if (!hlo_dataflow_is_carried(order->flow, loop, node)) continue;
    add_update(order, loop, hlo_dataflow_value(order->flow, loop->operands[0], node));
    int32_t state = hlo_dataflow_value(order->flow, body->parameters.data[0], node);
    add_result_update(order, hlo_dataflow_value(order->flow, body->root, node), state, 0);
  }
}

/* Where a branch returns a value from outside as it is, the other branches write over that. */
static void find_branch_updates(Order *order, const HloInstruction *conditional) {
  int branches = call_graph_callee_count(conditional);
  int32_t count = shape_nodes(order->flow->shapes, conditional->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t joined = hlo_dataflow_value(order->flow, conditional, node);
    if (joined < 0 || order->flow->values[joined].definition.instruction != conditional) continue;
    for (int j = 0; j < branches; j++) {
      const HloComputation *branch = call_graph_callee(conditional, j);
      int32_t returned = hlo_dataflow_value(order->flow, branch->root, node);
      if (returned < 0 || runs_inside(order, order->flow->values[returned].definition.instruction, branch)) continue;
      add_result_update(order, joined, returned, 0);
    }
  }
}

static void find_donation_updates(Order *order) {
  const HloModule *module = order->flow->graph->module;
  for (int64_t i = 0; i < module->aliases.count; i++) {
    const InputOutputAlias *alias = &module->aliases.data[i];
    const HloInstruction *parameter = hlo_computation_parameter(module->entry, alias->parameter);
    if (!parameter) continue;
    int node = shape_node_from_index(module->entry->root->shape, alias->output);
    int parameter_node = shape_node_from_index(parameter->shape, alias->parameter_index);
    if (node < 0 || parameter_node < 0) continue;
    add_result_update(order, hlo_dataflow_value(order->flow, module->entry->root, node),
                      hlo_dataflow_value(order->flow, parameter, parameter_node), 0);
  }
}

static void find_updates(Order *order) {
  const CallGraph *graph = order->flow->graph;
  for (int32_t i = 0; i < order->flow->value_count; i++) order->updated_to[i] = -1;
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloSequence *sequence = &order->flow->sequences[graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloInstruction *instruction = sequence->instructions[i];
      find_in_place_updates(order, instruction);
      if (instruction->opcode == HLO_WHILE || instruction->opcode == HLO_CONDITIONAL)
        find_places_kept(order, instruction);
    }
  }
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloSequence *sequence = &order->flow->sequences[graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloInstruction *instruction = sequence->instructions[i];
      if (instruction->opcode == HLO_WHILE) find_loop_updates(order, instruction);
      if (instruction->opcode == HLO_CONDITIONAL) find_branch_updates(order, instruction);
    }
  }
  find_donation_updates(order);
}

/* --- edges --- */

static void add_successor(Order *order, const HloInstruction *before, int32_t place) {
  array_push(&order->successors[order->places[before->id]], order->arena, place);
  order->waiting[place]++;
}

static void find_successors(Order *order) {
  for (int64_t i = 0; i < order->given->count; i++) {
    const HloInstruction *instruction = order->given->instructions[i];
    const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
    for (int k = 0; k < instruction->operand_count; k++) add_successor(order, instruction->operands[k], (int32_t)i);
    for (int64_t k = 0; control && k < control->value.instructions.count; k++) {
      add_successor(order, control->value.instructions.data[k], (int32_t)i);
    }
  }
}

static void find_blockers(Order *order) {
  for (int64_t i = 0; i < order->given->count; i++) order->stamps[i] = -1;
  for (int64_t u = 0; u < order->updates->count; u++) {
    const Update *update = &order->updates->data[u];
    const HloValue *value = &order->flow->values[update->value];
    int32_t updater = order->places[update->updater->id];
    for (int32_t i = 0; i < value->use_count; i++) {
      const HloInstruction *reader = call_graph_ancestor(order->flow->graph, value->uses[i].user, order->computation);
      if (!reader || reader == update->updater) continue;
      int32_t place = order->places[reader->id];
      if (order->stamps[place] == u) continue;
      order->stamps[place] = (int32_t)u;
      array_push(&order->unblocks[place], order->arena, updater);
      order->blocking[updater]++;
    }
  }
}

/* --- heaps of places, the smallest on top --- */

static void heap_push(NumberArray *heap, Arena *arena, int32_t place) {
  array_push(heap, arena, place);
  int64_t at = heap->count - 1;
  for (; at > 0 && heap->data[(at - 1) / 2] > place; at = (at - 1) / 2) heap->data[at] = heap->data[(at - 1) / 2];
  heap->data[at] = place;
}

static int32_t heap_pop(NumberArray *heap) {
  int32_t top = heap->data[0], last = array_pop(heap);
  int64_t at = 0;
  for (int64_t child = 1; child < heap->count; child = 2 * at + 1) {
    if (child + 1 < heap->count && heap->data[child + 1] < heap->data[child]) child++;
    if (heap->data[child] >= last) break;
    heap->data[at] = heap->data[child];
    at = child;
  }
  if (heap->count > 0) heap->data[at] = last;
  return top;
}

static void make_ready(Order *order, int32_t place) {
  NumberArray *heap = &order->ready;
  if (order->blocking[place] > 0)
    heap = order->given->instructions[place]->opcode == HLO_COPY ? &order->held_copies : &order->held;
  heap_push(heap, order->arena, place);
}

/* A held instruction that was set free meanwhile stands in two heaps.  Where all that is left waits for one another,
 * what computes goes before what copies: state that moves on ((a, b) → (b, f(a, b))) then is copied place by place
 * after its last reader, and only what is computed lives beside it. */
static int32_t next_place(Order *order) {
  NumberArray *heaps[] = {&order->ready, &order->held, &order->held_copies};
  for (int i = 0; i < 3;) {
    if (heaps[i]->count == 0) {
      i++;
      continue;
    }
    int32_t place = heap_pop(heaps[i]);
    if (!order->done[place]) return place;
  }
  return -1;
}

static void finish_place(Order *order, int32_t place) {
  order->done[place] = true;
  for (int64_t i = 0; i < order->unblocks[place].count; i++) {
    int32_t updater = order->unblocks[place].data[i];
    if (--order->blocking[updater] == 0 && order->waiting[updater] == 0 && !order->done[updater]) {
      heap_push(&order->ready, order->arena, updater);
    }
  }
  for (int64_t i = 0; i < order->successors[place].count; i++) {
    if (--order->waiting[order->successors[place].data[i]] == 0) make_ready(order, order->successors[place].data[i]);
  }
}

static HloSequence reorder(Order *order) {
  int64_t count = order->given->count;
  Arena *arena = order->arena;
  order->ready = order->held = order->held_copies = (NumberArray){0};
  order->stamps = ARENA_NEW_ARRAY(arena, int32_t, count);
  order->waiting = ARENA_NEW_ARRAY(arena, int32_t, count);
  order->blocking = ARENA_NEW_ARRAY(arena, int32_t, count);
  order->successors = ARENA_NEW_ARRAY(arena, NumberArray, count);
  order->unblocks = ARENA_NEW_ARRAY(arena, NumberArray, count);
  order->done = ARENA_NEW_ARRAY(arena, bool, count);
  for (int64_t i = 0; i < count; i++) order->places[order->given->instructions[i]->id] = (int32_t)i;
  find_successors(order);
  find_blockers(order);
  HloInstruction **instructions = ARENA_NEW_ARRAY(arena, HloInstruction *, count);
  int64_t filled = 0;
  for (int32_t i = 0; i < count; i++) {
    if (order->waiting[i] == 0) make_ready(order, i);
  }
  for (int32_t place = next_place(order); place >= 0; place = next_place(order)) {
    instructions[filled++] = order->given->instructions[place];
    finish_place(order, place);
  }
  XLAC_CHECK(filled == count);
  return (HloSequence){count, instructions};
}

const HloSequence *hlo_ordering_prefer_in_place(Arena *arena, const HloDataflow *dataflow) {
  const CallGraph *graph = dataflow->graph;
  int32_t computations = graph->module->next_computation_id + 1;
  HloSequence *sequences = ARENA_COPY_ARRAY(arena, HloSequence, dataflow->sequences, computations);
  Order order = {.arena = arena,
                 .flow = dataflow,
                 .updates_of = ARENA_NEW_ARRAY(arena, UpdateArray, computations),
                 .update_counts = ARENA_NEW_ARRAY(arena, int32_t, dataflow->value_count + 1),
                 .updated_to = ARENA_NEW_ARRAY(arena, int32_t, dataflow->value_count + 1),
                 .places = ARENA_NEW_ARRAY(arena, int32_t, graph->module->next_instruction_id + 1)};
  find_updates(&order);
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    order.computation = graph->sequential[c];
    order.given = &dataflow->sequences[order.computation->id];
    order.updates = &order.updates_of[order.computation->id];
    if (order.updates->count > 0) sequences[order.computation->id] = reorder(&order);
  }
  return sequences;
}
