#include "hlo/analysis/tuple_points_to.h"

#include "base/array.h"
#include "hlo/analysis/in_place.h"

/* One walk over each computation in order of its sequence: a rule per opcode says which nodes are new buffers and which
 * are those of an operand. */

typedef struct Walk {
  const HloDataflow *flow;
  Arena *arena;
  int32_t *buffers_at;
  ARRAY(LogicalBuffer) buffers;
} Walk;

static const ShapeNodes *nodes_of(const Walk *walk, const HloInstruction *instruction) {
  return shape_nodes(walk->flow->shapes, instruction->shape);
}

static int32_t *slot(const Walk *walk, const HloInstruction *instruction, int32_t node) {
  return &walk->buffers_at[walk->flow->first_positions[instruction->id] + node];
}

static void define(Walk *walk, const HloInstruction *instruction, int32_t node) {
  const Shape *shape = nodes_of(walk, instruction)->shapes[node];
  int32_t id = (int32_t)walk->buffers.count;
  int64_t size = shape_is_array(shape) ? shape_byte_size(shape) : 0;
  array_push(&walk->buffers, walk->arena,
             ((LogicalBuffer){.id = id, .definition = {instruction, node}, .shape = shape, .size = size}));
  *slot(walk, instruction, node) = id;
}

static void define_subtree(Walk *walk, const HloInstruction *instruction, int32_t node) {
  int32_t end = node + nodes_of(walk, instruction)->sizes[node];
  for (; node < end; node++) define(walk, instruction, node);
}

/* The buffers at |node| and below are those at |from_node| of |from|; where the trees do not match, they are new. */
static void forward(Walk *walk, const HloInstruction *instruction, int32_t node, const HloInstruction *from,
                    int32_t from_node) {
  const ShapeNodes *nodes = nodes_of(walk, instruction), *from_nodes = nodes_of(walk, from);
  bool matches = from_node < from_nodes->count && nodes->sizes[node] == from_nodes->sizes[from_node];
  if (!matches) {
    define_subtree(walk, instruction, node);
    return;
  }
  for (int32_t i = 0; i < nodes->sizes[node]; i++)
    *slot(walk, instruction, node + i) = *slot(walk, from, from_node + i);
}

static int32_t element_node(const Walk *walk, const HloInstruction *instruction, int64_t element) {
  const ShapeNodes *nodes = nodes_of(walk, instruction);
  return element >= 0 && element < nodes->child_count ? nodes->children[element] : nodes->count;
}

/* --- rules --- */

static void rule_define(Walk *walk, const HloInstruction *instruction) {
  define_subtree(walk, instruction, 0);
}

static void rule_forward(Walk *walk, const HloInstruction *instruction) {
  forward(walk, instruction, 0, instruction->operands[0], 0);
}

/* Declared aliases are the operand's buffers. */
static void rule_make(Walk *walk, const HloInstruction *instruction) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  const ShapeNodes *nodes = nodes_of(walk, instruction);
  for (int32_t node = 0; node < nodes->count; node++) *slot(walk, instruction, node) = -1;
  for (int64_t i = 0; attr && i < attr->value.aliasing.count; i++) {
    const OperandAlias *alias = &attr->value.aliasing.data[i];
    if (alias->operand < 0 || alias->operand >= instruction->operand_count) continue;
    const HloInstruction *operand = instruction->operands[alias->operand];
    int node = shape_node_from_index(instruction->shape, alias->output);
    int from = shape_node_from_index(operand->shape, alias->operand_index);
    if (node >= 0 && from >= 0) forward(walk, instruction, node, operand, from);
  }
  if (instruction->opcode == HLO_SEND && nodes->child_count > 0)
    forward(walk, instruction, nodes->children[0], instruction->operands[0], 0);
  for (int32_t node = 0; node < nodes->count; node++) {
    if (*slot(walk, instruction, node) < 0) define(walk, instruction, node);
  }
}

static void rule_view(Walk *walk, const HloInstruction *instruction) {
  if (hlo_is_view(instruction)) {
    rule_forward(walk, instruction);
  } else {
    rule_define(walk, instruction);
  }
}

/* Shallow: the tuple node is new, what it holds is not. */
static void rule_copy(Walk *walk, const HloInstruction *instruction) {
  const ShapeNodes *nodes = nodes_of(walk, instruction);
  define(walk, instruction, 0);
  for (int i = 0; i < nodes->child_count; i++)
    forward(walk, instruction, nodes->children[i], instruction->operands[0], nodes->children[i]);
}

static void rule_tuple(Walk *walk, const HloInstruction *instruction) {
  const ShapeNodes *nodes = nodes_of(walk, instruction);
  define(walk, instruction, 0);
  for (int i = 0; i < nodes->child_count; i++)
    forward(walk, instruction, nodes->children[i], instruction->operands[i], 0);
}

static void rule_get_tuple_element(Walk *walk, const HloInstruction *instruction) {
  const HloInstruction *tuple = instruction->operands[0];
  forward(walk, instruction, 0, tuple, element_node(walk, tuple, hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0)));
}

/* Everything but element |element|, which is operand 0's. */
static void define_around(Walk *walk, const HloInstruction *instruction, int element) {
  const ShapeNodes *nodes = nodes_of(walk, instruction);
  define(walk, instruction, 0);
  for (int i = 0; i < nodes->child_count; i++) {
    if (i == element) {
      forward(walk, instruction, nodes->children[i], instruction->operands[0], 0);
    } else {
      define_subtree(walk, instruction, nodes->children[i]);
    }
  }
}

static void rule_copy_start(Walk *walk, const HloInstruction *instruction) {
  define_around(walk, instruction, 1);
}

/* ((operands), results, contexts …): the operands are still being read.  One stands there as it is, several as a tuple,
 * whose node is new. */
static void rule_start(Walk *walk, const HloInstruction *instruction) {
  const ShapeNodes *nodes = nodes_of(walk, instruction);
  if (nodes->child_count == 0) {
    define_subtree(walk, instruction, 0);
    return;
  }
  if (!shape_is_tuple(nodes->shapes[nodes->children[0]])) {
    define_around(walk, instruction, instruction->operand_count > 0 ? 0 : -1);
    return;
  }
  define(walk, instruction, 0);
  int32_t end = nodes->children[0] + nodes->sizes[nodes->children[0]], node = nodes->children[0];
  define(walk, instruction, node++);
  for (int i = 0; node < end; i++) {
    int32_t size = nodes->sizes[node];
    if (i < instruction->operand_count) {
      forward(walk, instruction, node, instruction->operands[i], 0);
    } else {
      define_subtree(walk, instruction, node);
    }
    node += size;
  }
  for (int i = 1; i < nodes->child_count; i++) define_subtree(walk, instruction, nodes->children[i]);
}

static void forward_element(Walk *walk, const HloInstruction *instruction, int64_t element) {
  forward(walk, instruction, 0, instruction->operands[0], element_node(walk, instruction->operands[0], element));
}

static void rule_done_first(Walk *walk, const HloInstruction *instruction) {
  forward_element(walk, instruction, 0);
}

static void rule_done_second(Walk *walk, const HloInstruction *instruction) {
  forward_element(walk, instruction, 1);
}

static void rule_recv_done(Walk *walk, const HloInstruction *instruction) {
  const HloInstruction *start = instruction->operands[0];
  const ShapeNodes *nodes = nodes_of(walk, instruction);
  define(walk, instruction, 0);
  for (int i = 0; i < nodes->child_count; i++) {
    if (i == 0) {
      forward(walk, instruction, nodes->children[i], start, element_node(walk, start, 0));
    } else {
      define_subtree(walk, instruction, nodes->children[i]);
    }
  }
}

typedef void (*PointsToRule)(Walk *walk, const HloInstruction *instruction);

static const PointsToRule rules[OP_FLOW_COUNT] = {
    [OP_FLOW_MAKES] = rule_make,
    [OP_FLOW_NOTHING] = rule_define,
    [OP_FLOW_PARAMETER] = rule_define,
    [OP_FLOW_FORWARDS] = rule_forward,
    [OP_FLOW_PENDING] = rule_forward,
    [OP_FLOW_VIEW] = rule_view,
    [OP_FLOW_COPY] = rule_copy,
    [OP_FLOW_TUPLE] = rule_tuple,
    [OP_FLOW_ELEMENT] = rule_get_tuple_element,
    [OP_FLOW_CALL] = rule_define,
    [OP_FLOW_WHILE] = rule_define,
    [OP_FLOW_CONDITIONAL] = rule_define,
    [OP_FLOW_COPY_START] = rule_copy_start,
    [OP_FLOW_ASYNC_START] = rule_start,
    [OP_FLOW_COLLECTIVE_START] = rule_start,
    [OP_FLOW_FIRST] = rule_done_first,
    [OP_FLOW_SECOND] = rule_done_second,
    [OP_FLOW_RECV_DONE] = rule_recv_done,
};

/* --- where each is seen --- */

typedef void (*VisitPosition)(Walk *walk, LogicalBuffer *buffer, BufferPosition position, BufferPosition **lists);

static void for_each_position(Walk *walk, VisitPosition visit, BufferPosition **lists) {
  const CallGraph *graph = walk->flow->graph;
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloSequence *sequence = &walk->flow->sequences[graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloInstruction *instruction = sequence->instructions[i];
      int32_t count = nodes_of(walk, instruction)->count;
      for (int32_t node = 0; node < count; node++) {
        LogicalBuffer *buffer = &walk->buffers.data[*slot(walk, instruction, node)];
        visit(walk, buffer, (BufferPosition){instruction, node}, lists);
      }
    }
  }
}

static void count_position(Walk *walk, LogicalBuffer *buffer, BufferPosition position, BufferPosition **lists) {
  (void)walk, (void)position, (void)lists;
  buffer->position_count++;
}

/* Buffers are defined in the order in which this comes by, so the definition is first of its own accord. */
static void list_position(Walk *walk, LogicalBuffer *buffer, BufferPosition position, BufferPosition **lists) {
  (void)walk;
  *lists[buffer->id]++ = position;
}

static void list_positions(Walk *walk) {
  for_each_position(walk, count_position, NULL);
  BufferPosition **lists = ARENA_NEW_ARRAY(walk->arena, BufferPosition *, walk->buffers.count + 1);
  for (int64_t i = 0; i < walk->buffers.count; i++) {
    LogicalBuffer *buffer = &walk->buffers.data[i];
    buffer->positions = lists[i] = ARENA_NEW_ARRAY(walk->arena, BufferPosition, buffer->position_count + 1);
  }
  for_each_position(walk, list_position, lists);
}

const TuplePointsTo *tuple_points_to_build(Arena *arena, const HloDataflow *flow) {
  Walk walk = {.flow = flow, .arena = arena};
  walk.buffers_at = ARENA_NEW_ARRAY(arena, int32_t, flow->position_count + 1);
  for (int32_t c = 0; c < flow->graph->sequential_count; c++) {
    const HloSequence *sequence = &flow->sequences[flow->graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      const HloInstruction *instruction = sequence->instructions[i];
      rules[hlo_opcode_info(instruction->opcode)->flow](&walk, instruction);
    }
  }
  list_positions(&walk);
  TuplePointsTo *points_to = ARENA_NEW(arena, TuplePointsTo);
  *points_to = (TuplePointsTo){flow, (int32_t)walk.buffers.count, walk.buffers.data, walk.buffers_at};
  return points_to;
}

/* --- questions --- */

const LogicalBuffer *tuple_points_to_buffer(const TuplePointsTo *points_to, const HloInstruction *instruction,
                                            int32_t node) {
  return &points_to->buffers[points_to->buffers_at[points_to->flow->first_positions[instruction->id] + node]];
}

bool tuple_points_to_is_distinct(const TuplePointsTo *points_to, const HloInstruction *instruction) {
  int32_t count = shape_nodes(points_to->flow->shapes, instruction->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    const LogicalBuffer *buffer = tuple_points_to_buffer(points_to, instruction, node);
    for (int32_t i = 0; i < buffer->position_count; i++) {
      const BufferPosition *at = &buffer->positions[i];
      if (at->instruction == instruction && at->node != node) return false;
    }
  }
  return true;
}

const bool *tuple_points_to_maybe_live_out(const TuplePointsTo *points_to, Arena *arena) {
  bool *live_out = ARENA_NEW_ARRAY(arena, bool, points_to->buffer_count + 1);
  const HloInstruction *root = points_to->flow->graph->module->entry->root;
  int32_t count = shape_nodes(points_to->flow->shapes, root->shape)->count;
  for (int32_t node = 0; node < count; node++) live_out[tuple_points_to_buffer(points_to, root, node)->id] = true;
  return live_out;
}
