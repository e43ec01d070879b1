#include "hlo/analysis/hlo_dataflow.h"

#include <stdlib.h>

#include "base/array.h"
#include "hlo/analysis/in_place.h"

/* --- sequences --- */

static Status check_schedule(const HloComputation *computation, int32_t *places, DiagSink *diag) {
  const HloInstructionArray *list = &computation->instructions;
  for (int64_t i = 0; i < list->count; i++) {
    HloInstruction *instruction = list->data[i];
    const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
    int64_t control_count = control ? control->value.instructions.count : 0;
    for (int64_t k = 0; k < instruction->operand_count + control_count; k++) {
      const HloInstruction *before = k < instruction->operand_count
                                         ? instruction->operands[k]
                                         : control->value.instructions.data[k - instruction->operand_count];
      if (places[before->id]) continue;
      return diag_error(diag, STATUS_INVALID, instruction->loc, "schedule",
                        "the module is said to be scheduled, but '%.*s' stands before '%.*s' which it needs",
                        SV_ARG(instruction->name), SV_ARG(before->name));
    }
    places[instruction->id] = 1;
  }
  return STATUS_OK;
}

Status hlo_sequences(Arena *arena, const CallGraph *graph, DiagSink *diag, const HloSequence **out_sequences) {
  const HloModule *module = graph->module;
  HloSequence *sequences = ARENA_NEW_ARRAY(arena, HloSequence, module->next_computation_id + 1);
  int32_t *places = module->is_scheduled ? ARENA_NEW_ARRAY(arena, int32_t, module->next_instruction_id + 1) : NULL;
  for (int32_t i = 0; i < graph->sequential_count; i++) {
    HloComputation *computation = graph->sequential[i];
    HloSequence *sequence = &sequences[computation->id];
    if (places) {
      RETURN_IF_ERROR(check_schedule(computation, places, diag));
      sequence->instructions = hlo_computation_list(computation, arena, &sequence->count);
    } else {
      sequence->instructions = hlo_computation_post_order(computation, arena, &sequence->count);
    }
  }
  *out_sequences = sequences;
  return STATUS_OK;
}

/* --- the walk --- */

typedef struct ValueSeed {
  BufferPosition definition;
  bool is_phi;
  int32_t same_as; /* itself, or the value that a trivial phi turned out to be */
} ValueSeed;

typedef struct Walk {
  HloDataflow *flow;
  const CallGraph *graph;
  int32_t *first_positions;
  int32_t *values_at;
  ARRAY(ValueSeed) seeds;
} Walk;

static int32_t representative(Walk *walk, int32_t value) {
  int32_t root = value;
  while (walk->seeds.data[root].same_as != root) root = walk->seeds.data[root].same_as;
  while (walk->seeds.data[value].same_as != root) {
    int32_t next = walk->seeds.data[value].same_as;
    walk->seeds.data[value].same_as = root;
    value = next;
  }
  return root;
}

static int32_t *slot(Walk *walk, const HloInstruction *instruction, int32_t node) {
  return &walk->values_at[walk->first_positions[instruction->id] + node];
}

static int32_t value_seen(Walk *walk, const HloInstruction *instruction, int32_t node) {
  int32_t value = *slot(walk, instruction, node);
  return value < 0 ? -1 : representative(walk, value);
}

static void define_node(Walk *walk, const HloInstruction *instruction, int32_t node, bool is_phi) {
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  if (!shape_is_array(nodes->shapes[node])) return;
  int32_t number = (int32_t)walk->seeds.count;
  ValueSeed seed = {{instruction, node}, is_phi, number};
  array_push(&walk->seeds, walk->flow->arena, seed);
  *slot(walk, instruction, node) = number;
}

static void define_subtree(Walk *walk, const HloInstruction *instruction, int32_t node) {
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  for (int32_t i = 0; i < nodes->sizes[node]; i++) define_node(walk, instruction, node + i, false);
}

static bool same_layout(const Shape *a, const Shape *b) {
  if (a == b || a->rank != b->rank) return true; /* other ranks are views */
  bool same = true;
  for (int i = 0; i < a->rank; i++) same &= a->layout.minor_to_major[i] == b->layout.minor_to_major[i];
  return same || hlo_same_element_order(a, b);
}

/* The subtree at |node| shows that at |from_node| of |from|.  Trees that do not match are left to the verifier: each
 * makes its own values. */
static void forward_subtree(Walk *walk, const HloInstruction *instruction, int32_t node, const HloInstruction *from,
                            int32_t from_node) {
  const ShapeNodes *to_nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  const ShapeNodes *from_nodes = shape_nodes(walk->flow->shapes, from->shape);
  if (node >= to_nodes->count) return;
  if (from_node >= from_nodes->count || to_nodes->sizes[node] != from_nodes->sizes[from_node]) {
    define_subtree(walk, instruction, node);
    return;
  }
  for (int32_t i = 0; i < to_nodes->sizes[node]; i++) {
    const Shape *to_shape = to_nodes->shapes[node + i], *from_shape = from_nodes->shapes[from_node + i];
    int32_t value = value_seen(walk, from, from_node + i);
    if (shape_is_array(to_shape) && value >= 0) {
      *slot(walk, instruction, node + i) = value;
      if (!hlo_is_view(instruction) && !same_layout(to_shape, from_shape)) walk->flow->relayout = instruction;
    } else {
      define_node(walk, instruction, node + i, false);
    }
  }
}

/* --- rules --- */

static void rule_define(Walk *walk, HloInstruction *instruction) {
  define_subtree(walk, instruction, 0);
}

static void rule_forward(Walk *walk, HloInstruction *instruction) {
  forward_subtree(walk, instruction, 0, instruction->operands[0], 0);
}

static void rule_view(Walk *walk, HloInstruction *instruction) {
  if (hlo_is_view(instruction)) {
    rule_forward(walk, instruction);
  } else {
    rule_define(walk, instruction);
  }
}

static void rule_copy(Walk *walk, HloInstruction *instruction) {
  if (shape_is_tuple(instruction->shape)) { /* shallow */
    rule_forward(walk, instruction);
  } else {
    rule_define(walk, instruction);
  }
}

static void rule_nothing(Walk *walk, HloInstruction *instruction) {
  (void)walk;
  (void)instruction;
}

static int32_t element_node(Walk *walk, const Shape *shape, int64_t element) {
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, shape);
  return element >= 0 && element < nodes->child_count ? nodes->children[element] : nodes->count;
}

static void rule_tuple(Walk *walk, HloInstruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) {
    forward_subtree(walk, instruction, element_node(walk, instruction->shape, i), instruction->operands[i], 0);
  }
}

static void rule_get_tuple_element(Walk *walk, HloInstruction *instruction) {
  const HloInstruction *tuple = instruction->operands[0];
  int64_t index = hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0);
  forward_subtree(walk, instruction, 0, tuple, element_node(walk, tuple->shape, index));
}

/* Called computations' parameters: stand-ins that the call site resolves. */
static void rule_parameter(Walk *walk, HloInstruction *instruction) {
  bool called = call_graph_caller(walk->graph, instruction->parent) != NULL;
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  for (int32_t node = 0; node < nodes->count; node++) define_node(walk, instruction, node, called);
}

/* The stand-ins of |parameter| are the values of |argument|. */
static void bind_parameter(Walk *walk, const HloInstruction *parameter, const HloInstruction *argument) {
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, parameter->shape);
  const ShapeNodes *argument_nodes = shape_nodes(walk->flow->shapes, argument->shape);
  if (nodes->count != argument_nodes->count) return;
  for (int32_t node = 0; node < nodes->count; node++) {
    int32_t stand_in = *slot(walk, parameter, node), value = value_seen(walk, argument, node);
    if (stand_in < 0 || value < 0) continue;
    walk->seeds.data[stand_in].same_as = value;
    if (!same_layout(nodes->shapes[node], argument_nodes->shapes[node])) walk->flow->relayout = parameter;
  }
}

static void bind_parameters(Walk *walk, const HloComputation *callee, HloInstruction *const *arguments, int64_t count) {
  for (int64_t i = 0; i < callee->parameters.count && i < count; i++)
    bind_parameter(walk, callee->parameters.data[i], arguments[i]);
}

static void rule_call(Walk *walk, HloInstruction *instruction) {
  const HloComputation *callee = call_graph_callee(instruction, 0);
  bind_parameters(walk, callee, instruction->operands, instruction->operand_count);
  forward_subtree(walk, instruction, 0, callee->root, 0);
}

/* A leaf that the body returns as it got it is the value that goes in, everywhere. */
static void rule_while(Walk *walk, HloInstruction *instruction) {
  const HloComputation *condition = call_graph_callee(instruction, 0), *body = call_graph_callee(instruction, 1);
  const HloInstruction *init = instruction->operands[0];
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  if (condition->parameters.count != 1 || body->parameters.count != 1) {
    rule_define(walk, instruction);
    return;
  }
  const HloInstruction *seen_by[3] = {condition->parameters.data[0], body->parameters.data[0], body->root};
  for (int i = 0; i < 3; i++) {
    if (shape_nodes(walk->flow->shapes, seen_by[i]->shape)->count != nodes->count) {
      rule_define(walk, instruction);
      return;
    }
  }
  for (int32_t node = 0; node < nodes->count; node++) {
    int32_t in = value_seen(walk, init, node), tested = *slot(walk, seen_by[0], node);
    int32_t given = *slot(walk, seen_by[1], node), returned = value_seen(walk, seen_by[2], node);
    if (in < 0 || tested < 0 || given < 0 || returned < 0) continue;
    for (int i = 0; i < 2; i++) {
      const Shape *shape = shape_nodes(walk->flow->shapes, seen_by[i]->shape)->shapes[node];
      if (!same_layout(nodes->shapes[node], shape)) walk->flow->relayout = instruction;
    }
    if (representative(walk, given) == returned) {
      walk->seeds.data[tested].same_as = in;
      walk->seeds.data[given].same_as = in;
      *slot(walk, instruction, node) = in;
    } else {
      define_node(walk, instruction, node, true);
    }
  }
}

/* The value at |node| of all branch roots, -1 if they differ. */
static int32_t common_branch_value(Walk *walk, const HloInstruction *instruction, int32_t node, int branches) {
  const Shape *shape = shape_nodes(walk->flow->shapes, instruction->shape)->shapes[node];
  int32_t common = -1;
  for (int j = 0; j < branches; j++) {
    const HloInstruction *root = call_graph_callee(instruction, j)->root;
    const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, root->shape);
    if (node >= nodes->count || !shape_is_array(nodes->shapes[node]) || !same_layout(shape, nodes->shapes[node]))
      return -1;
    int32_t value = value_seen(walk, root, node);
    if (value < 0 || (j > 0 && value != common)) return -1;
    common = value;
  }
  return common;
}

static void rule_conditional(Walk *walk, HloInstruction *instruction) {
  int branches = call_graph_callee_count(instruction);
  for (int j = 0; j < branches && j + 1 < instruction->operand_count; j++) {
    bind_parameters(walk, call_graph_callee(instruction, j), instruction->operands + j + 1, 1);
  }
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  for (int32_t node = 0; node < nodes->count; node++) {
    int32_t common = shape_is_array(nodes->shapes[node]) ? common_branch_value(walk, instruction, node, branches) : -1;
    if (common >= 0) {
      *slot(walk, instruction, node) = common;
    } else {
      define_node(walk, instruction, node, true);
    }
  }
}

/* --- asynchronous pairs --- */

/* Everything but the elements that forward (which the caller sets). */
static void define_elements_from(Walk *walk, HloInstruction *instruction, int first) {
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  for (int i = first; i < nodes->child_count; i++) define_subtree(walk, instruction, nodes->children[i]);
}

/* (destination, source, context) */
static void rule_copy_start(Walk *walk, HloInstruction *instruction) {
  define_elements_from(walk, instruction, 0);
  forward_subtree(walk, instruction, element_node(walk, instruction->shape, 1), instruction->operands[0], 0);
}

static void forward_element(Walk *walk, HloInstruction *instruction, int element) {
  const HloInstruction *start = instruction->operands[0];
  forward_subtree(walk, instruction, 0, start, element_node(walk, start->shape, element));
}

static void rule_done_first(Walk *walk, HloInstruction *instruction) {
  forward_element(walk, instruction, 0);
}
static void rule_done_second(Walk *walk, HloInstruction *instruction) {
  forward_element(walk, instruction, 1);
}

/* Element 0 shows the operands: one as it is, several as a tuple. */
static void forward_operands_at_first(Walk *walk, HloInstruction *instruction) {
  const ShapeNodes *nodes = shape_nodes(walk->flow->shapes, instruction->shape);
  if (nodes->child_count == 0) return;
  if (!shape_is_tuple(nodes->shapes[nodes->children[0]])) {
    if (instruction->operand_count > 0)
      forward_subtree(walk, instruction, nodes->children[0], instruction->operands[0], 0);
    return;
  }
  int32_t node = nodes->children[0] + 1, end = nodes->children[0] + nodes->sizes[nodes->children[0]];
  for (int i = 0; i < instruction->operand_count && node < end; i++, node += nodes->sizes[node]) {
    forward_subtree(walk, instruction, node, instruction->operands[i], 0);
  }
}

/* ((operands), destinations, contexts …) */
static void rule_collective_start(Walk *walk, HloInstruction *instruction) {
  if (!shape_is_tuple(instruction->shape)) {
    rule_define(walk, instruction);
    return;
  }
  define_elements_from(walk, instruction, 1);
  forward_operands_at_first(walk, instruction);
}

/* ((operands), result, contexts …); the result is made by the wrapped computation. */
static void rule_async_start(Walk *walk, HloInstruction *instruction) {
  const HloComputation *wrapped = call_graph_callee(instruction, 0);
  rule_collective_start(walk, instruction);
  if (!wrapped) return;
  bind_parameters(walk, wrapped, instruction->operands, instruction->operand_count);
  forward_subtree(walk, instruction, element_node(walk, instruction->shape, 1), wrapped->root, 0);
}

/* (buffer, token) shows the start's buffer. */
static void rule_recv_done(Walk *walk, HloInstruction *instruction) {
  const HloInstruction *start = instruction->operands[0];
  forward_subtree(walk, instruction, element_node(walk, instruction->shape, 0), start,
                  element_node(walk, start->shape, 0));
}

typedef void (*DataflowRule)(Walk *walk, HloInstruction *instruction);

static const DataflowRule rules[OP_FLOW_COUNT] = {
    [OP_FLOW_MAKES] = rule_define,
    [OP_FLOW_NOTHING] = rule_nothing,
    [OP_FLOW_PARAMETER] = rule_parameter,
    [OP_FLOW_FORWARDS] = rule_forward,
    [OP_FLOW_PENDING] = rule_forward,
    [OP_FLOW_VIEW] = rule_view,
    [OP_FLOW_COPY] = rule_copy,
    [OP_FLOW_TUPLE] = rule_tuple,
    [OP_FLOW_ELEMENT] = rule_get_tuple_element,
    [OP_FLOW_CALL] = rule_call,
    [OP_FLOW_WHILE] = rule_while,
    [OP_FLOW_CONDITIONAL] = rule_conditional,
    [OP_FLOW_COPY_START] = rule_copy_start,
    [OP_FLOW_ASYNC_START] = rule_async_start,
    [OP_FLOW_COLLECTIVE_START] = rule_collective_start,
    [OP_FLOW_FIRST] = rule_done_first,
    [OP_FLOW_SECOND] = rule_done_second,
    [OP_FLOW_RECV_DONE] = rule_recv_done,
};

bool hlo_dataflow_forwards(const HloInstruction *instruction) {
  switch (hlo_opcode_info(instruction->opcode)->flow) {
    case OP_FLOW_NOTHING:
    case OP_FLOW_FORWARDS:
    case OP_FLOW_TUPLE:
    case OP_FLOW_ELEMENT:
    case OP_FLOW_CALL: return true;
    case OP_FLOW_VIEW: return hlo_is_view(instruction);
    case OP_FLOW_COPY: return shape_is_tuple(instruction->shape);
    case OP_FLOW_MAKES:
    case OP_FLOW_PARAMETER:
    case OP_FLOW_PENDING:
    case OP_FLOW_WHILE:
    case OP_FLOW_CONDITIONAL:
    case OP_FLOW_COPY_START:
    case OP_FLOW_ASYNC_START:
    case OP_FLOW_COLLECTIVE_START:
    case OP_FLOW_FIRST:
    case OP_FLOW_SECOND:
    case OP_FLOW_RECV_DONE:
    case OP_FLOW_COUNT: break;
  }
  return false;
}

/* --- numbering, positions, uses --- */

static void number_positions(HloDataflow *flow, Walk *walk) {
  const HloModule *module = walk->graph->module;
  int32_t *first = ARENA_NEW_ARRAY(flow->arena, int32_t, module->next_instruction_id + 1);
  for (int32_t i = 0; i <= module->next_instruction_id; i++) first[i] = -1;
  int64_t count = 0;
  for (int32_t c = 0; c < walk->graph->sequential_count; c++) {
    const HloSequence *sequence = &flow->sequences[walk->graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      XLAC_CHECK(count < INT32_MAX / 2);
      first[sequence->instructions[i]->id] = (int32_t)count;
      count += shape_nodes(flow->shapes, sequence->instructions[i]->shape)->count;
    }
  }
  flow->position_count = count;
  flow->first_positions = walk->first_positions = first;
  walk->values_at = ARENA_NEW_ARRAY(flow->arena, int32_t, count + 1);
  for (int64_t i = 0; i < count; i++) walk->values_at[i] = -1;
  flow->values_at = walk->values_at;
}

static void walk_computations(HloDataflow *flow, Walk *walk) {
  for (int32_t c = 0; c < walk->graph->sequential_count; c++) {
    const HloSequence *sequence = &flow->sequences[walk->graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      HloInstruction *instruction = sequence->instructions[i];
      rules[hlo_opcode_info(instruction->opcode)->flow](walk, instruction);
    }
  }
}

/* Drops the stand-ins and trivial phis; numbers the rest by where they are defined. */
static void number_values(HloDataflow *flow, Walk *walk) {
  int32_t *numbers = ARENA_NEW_ARRAY(flow->arena, int32_t, walk->seeds.count + 1);
  int32_t count = 0;
  for (int64_t i = 0; i < walk->seeds.count; i++) {
    const BufferPosition *at = &walk->seeds.data[i].definition;
    bool stands =
        representative(walk, (int32_t)i) == (int32_t)i && value_seen(walk, at->instruction, at->node) == (int32_t)i;
    numbers[i] = stands ? count++ : -1;
  }
  flow->value_count = count;
  flow->values = ARENA_NEW_ARRAY(flow->arena, HloValue, count + 1);
  for (int64_t i = 0; i < walk->seeds.count; i++) {
    if (numbers[i] < 0) continue;
    const BufferPosition *at = &walk->seeds.data[i].definition;
    HloValue *value = &flow->values[numbers[i]];
    value->id = numbers[i];
    value->is_phi = walk->seeds.data[i].is_phi;
    value->definition = walk->seeds.data[i].definition;
    value->size = shape_byte_size(shape_nodes(flow->shapes, at->instruction->shape)->shapes[at->node]);
    if (value->size < 0) flow->unsized = value->definition.instruction;
    value->buffer = -1;
  }
  for (int64_t i = 0; i < flow->position_count; i++) {
    if (walk->values_at[i] >= 0) walk->values_at[i] = numbers[representative(walk, walk->values_at[i])];
  }
}

typedef void (*VisitPosition)(HloDataflow *flow, HloValue *value, BufferPosition position, void *context);

static void for_each_position(HloDataflow *flow, VisitPosition visit, void *context) {
  for (int32_t c = 0; c < flow->graph->sequential_count; c++) {
    const HloSequence *sequence = &flow->sequences[flow->graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloInstruction *instruction = sequence->instructions[i];
      int32_t first = flow->first_positions[instruction->id];
      int32_t nodes = shape_nodes(flow->shapes, instruction->shape)->count;
      for (int32_t node = 0; node < nodes; node++) {
        int32_t value = flow->values_at[first + node];
        if (value >= 0) visit(flow, &flow->values[value], (BufferPosition){instruction, node}, context);
      }
    }
  }
}

typedef void (*VisitUse)(HloDataflow *flow, HloValue *value, BufferUse use, void *context);

/* A conditional passes its operands on and reads but the selector. */
static bool reads_operand(const HloInstruction *user, int operand) {
  return user->opcode != HLO_CONDITIONAL || operand == 0;
}

static void for_each_use(HloDataflow *flow, VisitUse visit, void *context) {
  for (int32_t c = 0; c < flow->graph->sequential_count; c++) {
    const HloSequence *sequence = &flow->sequences[flow->graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloInstruction *user = sequence->instructions[i];
      if (hlo_dataflow_forwards(user)) continue;
      for (int k = 0; k < user->operand_count; k++) {
        if (!reads_operand(user, k)) continue;
        int32_t first = flow->first_positions[user->operands[k]->id];
        int32_t nodes = shape_nodes(flow->shapes, user->operands[k]->shape)->count;
        for (int32_t node = 0; node < nodes; node++) {
          int32_t value = flow->values_at[first + node];
          if (value >= 0) visit(flow, &flow->values[value], (BufferUse){user, k, node}, context);
        }
      }
    }
  }
}

static void count_position(HloDataflow *flow, HloValue *value, BufferPosition position, void *context) {
  (void)flow, (void)position, (void)context;
  value->position_count++;
}

static void count_use(HloDataflow *flow, HloValue *value, BufferUse use, void *context) {
  (void)flow, (void)use, (void)context;
  value->use_count++;
}

typedef struct Lists {
  BufferPosition **positions;
  BufferUse **uses;
  int32_t *position_counts, *use_counts;
} Lists;

static void list_position(HloDataflow *flow, HloValue *value, BufferPosition position, void *context) {
  Lists *lists = context;
  const HloComputation *entry = flow->graph->module->entry;
  if (position.instruction == entry->root) value->live_out = true;
  if (position.instruction == value->definition.instruction && position.node == value->definition.node) return;
  lists->positions[value->id][lists->position_counts[value->id]++] = position;
}

static void list_use(HloDataflow *flow, HloValue *value, BufferUse use, void *context) {
  Lists *lists = context;
  (void)flow;
  lists->uses[value->id][lists->use_counts[value->id]++] = use;
}

static void list_positions_and_uses(HloDataflow *flow) {
  Lists lists = {ARENA_NEW_ARRAY(flow->arena, BufferPosition *, flow->value_count + 1),
                 ARENA_NEW_ARRAY(flow->arena, BufferUse *, flow->value_count + 1),
                 ARENA_NEW_ARRAY(flow->arena, int32_t, flow->value_count + 1),
                 ARENA_NEW_ARRAY(flow->arena, int32_t, flow->value_count + 1)};
  for_each_position(flow, count_position, NULL);
  for_each_use(flow, count_use, NULL);
  for (int32_t i = 0; i < flow->value_count; i++) {
    HloValue *value = &flow->values[i];
    lists.positions[i] = ARENA_NEW_ARRAY(flow->arena, BufferPosition, value->position_count + 1);
    lists.uses[i] = ARENA_NEW_ARRAY(flow->arena, BufferUse, value->use_count + 1);
    lists.positions[i][0] = value->definition;
    lists.position_counts[i] = 1;
    value->positions = lists.positions[i];
    value->uses = lists.uses[i];
  }
  for_each_position(flow, list_position, &lists);
  for_each_use(flow, list_use, &lists);
}

HloDataflow *hlo_dataflow_build(Arena *arena, const CallGraph *graph, const HloSequence *sequences) {
  HloDataflow *flow = ARENA_NEW(arena, HloDataflow);
  flow->arena = arena;
  flow->graph = graph;
  flow->sequences = sequences;
  flow->shapes = ARENA_NEW(arena, ShapeNodesCache);
  shape_nodes_init(flow->shapes, arena);
  Walk walk = {.flow = flow, .graph = graph};
  number_positions(flow, &walk);
  walk_computations(flow, &walk);
  number_values(flow, &walk);
  list_positions_and_uses(flow);
  return flow;
}

/* --- questions --- */

int32_t hlo_dataflow_value(const HloDataflow *dataflow, const HloInstruction *instruction, int node) {
  int32_t first = dataflow->first_positions[instruction->id];
  return first < 0 ? -1 : dataflow->values_at[first + node];
}

bool hlo_dataflow_is_carried(const HloDataflow *dataflow, const HloInstruction *loop, int node) {
  int32_t value = hlo_dataflow_value(dataflow, loop, node);
  return value >= 0 && dataflow->values[value].definition.instruction == loop;
}

/* What a phi joins, directly: the value that goes into the loop and that which its body returns, or those that the
 * branches return by number; empty for what is no phi.  In |arena|. */
static HloValueList hlo_dataflow_phi_inputs(const HloDataflow *dataflow, int32_t value, Arena *arena) {
  const HloValue *phi = &dataflow->values[value];
  const HloInstruction *site = phi->definition.instruction;
  if (!phi->is_phi) return (HloValueList){0, NULL};
  if (site->opcode == HLO_PARAMETER) site = call_graph_caller(dataflow->graph, site->parent);
  int node = phi->definition.node, callees = call_graph_callee_count(site);
  int32_t *inputs = ARENA_NEW_ARRAY(arena, int32_t, callees + 2), count = 0;
  if (site->opcode == HLO_WHILE) {
    inputs[count++] = hlo_dataflow_value(dataflow, site->operands[0], node);
    inputs[count++] = hlo_dataflow_value(dataflow, call_graph_callee(site, 1)->root, node);
  } else {
    for (int j = 0; j < callees; j++)
      inputs[count++] = hlo_dataflow_value(dataflow, call_graph_callee(site, j)->root, node);
  }
  return (HloValueList){count, inputs};
}

static int compare_values(const void *left, const void *right) {
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  return a < b ? -1 : a > b;
}

HloValueList hlo_dataflow_sources(const HloDataflow *dataflow, int32_t value, Arena *arena) {
  ARRAY(int32_t) reached = {0}, found = {0};
  IntMap seen;
  int_map_init(&seen, arena);
  array_push(&reached, arena, value);
  int_map_set(&seen, (uint64_t)value, 1);
  for (int64_t i = 0; i < reached.count; i++) {
    int32_t at = reached.data[i];
    if (!dataflow->values[at].is_phi) {
      array_push(&found, arena, at);
      continue;
    }
    HloValueList inputs = hlo_dataflow_phi_inputs(dataflow, at, arena);
    for (int32_t k = 0; k < inputs.count; k++) {
      int64_t found_before;
      if (inputs.values[k] < 0 || int_map_find(&seen, (uint64_t)inputs.values[k], &found_before)) continue;
      int_map_set(&seen, (uint64_t)inputs.values[k], 1);
      array_push(&reached, arena, inputs.values[k]);
    }
  }
  if (found.count > 1) qsort(found.data, (size_t)found.count, sizeof(int32_t), compare_values);
  return (HloValueList){(int32_t)found.count, found.data};
}
