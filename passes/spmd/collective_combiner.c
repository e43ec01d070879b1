/* collective-combiner: small all-reduces of the same groups that do not wait for one another become one of several
 * arrays, since each message costs time of its own, however short it is.
 *
 * The depth of an instruction is the most all-reduces on a way to it.  Of two that have the same depth neither waits
 * for the other, and what is made of them together waits for nothing of that depth: so all of a depth can be joined. */
#include "base/checked_math.h"
#include "passes/cleanup/control_edges.h"
#include "passes/expand/graph_builder.h"

enum {
  /* Below, what a message costs whatever its length outweighs its bytes on common networks (1-10 us, 10-100 GB/s). */
  MOST_BYTES_OF_ONE = 256 << 10,
  /* Enough for a network's full speed; more would only wait for its last operand. */
  MOST_BYTES_TOGETHER = 4 << 20
};

/* All-reduces to be joined. */
typedef struct JoinGroup {
  HloInstructionArray members;
  int64_t bytes;
  int64_t next; /* another one of the same depth; -1: none */
} JoinGroup;

typedef struct Combiner {
  HloPassContext *context;
  HloComputation *computation;
  ControlEdges edges;
  IntMap depths; /* by instruction id */
  IntMap newest; /* by depth: of |groups| */
  ARRAY(JoinGroup) groups;
} Combiner;

static int64_t depth_of(const Combiner *combiner, const HloInstruction *instruction) {
  int64_t depth = 0;
  int_map_find(&combiner->depths, (uint64_t)instruction->id, &depth);
  return depth;
}

static bool is_joinable(const Combiner *combiner, const HloInstruction *instruction) {
  return instruction->opcode == HLO_ALL_REDUCE && instruction->operand_count == 1 &&
         shape_byte_size(instruction->shape) <= MOST_BYTES_OF_ONE &&
         !control_edges_touch(&combiner->edges, instruction);
}

static bool joins(const JoinGroup *group, const HloInstruction *instruction) {
  const HloInstruction *first = group->members.data[0];
  return first->shape->type == instruction->shape->type &&
         group->bytes + shape_byte_size(instruction->shape) <= MOST_BYTES_TOGETHER &&
         hlo_instruction_equal_attrs(first, instruction);
}

static void enter(Combiner *combiner, HloInstruction *instruction, int64_t depth) {
  Arena *scratch = combiner->context->scratch;
  int64_t newest = -1, at;
  int_map_find(&combiner->newest, (uint64_t)depth, &newest);
  for (at = newest; at >= 0 && !joins(&combiner->groups.data[at], instruction); at = combiner->groups.data[at].next) {
  }
  if (at < 0) {
    JoinGroup group = {.next = newest};
    at = combiner->groups.count;
    array_push(&combiner->groups, scratch, group);
    int_map_set(&combiner->newest, (uint64_t)depth, at);
  }
  JoinGroup *group = &combiner->groups.data[at];
  array_push(&group->members, scratch, instruction);
  group->bytes += shape_byte_size(instruction->shape);
}

static void find_groups(Combiner *combiner) {
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(combiner->computation, combiner->context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    int64_t depth = 0;
    for (int k = 0; k < order[i]->operand_count; k++) depth = max_i64(depth, depth_of(combiner, order[i]->operands[k]));
    const HloAttr *control = hlo_instruction_attr(order[i], HLO_ATTR_CONTROL_PREDECESSORS);
    for (int64_t k = 0; control != NULL && k < control->value.instructions.count; k++)
      depth = max_i64(depth, depth_of(combiner, control->value.instructions.data[k]));
    if (is_joinable(combiner, order[i])) enter(combiner, order[i], depth++);
    int_map_set(&combiner->depths, (uint64_t)order[i]->id, depth);
  }
}

static void join(Combiner *combiner, const JoinGroup *group) {
  Arena *scratch = combiner->context->scratch;
  int count = (int)group->members.count;
  HloInstruction *first = group->members.data[0];
  GraphBuilder graph = {combiner->computation, first, scratch};
  HloInstruction **operands = ARENA_NEW_ARRAY(scratch, HloInstruction *, count);
  const Shape **shapes = ARENA_NEW_ARRAY(scratch, const Shape *, count);
  for (int i = 0; i < count; i++) {
    operands[i] = group->members.data[i]->operands[0];
    shapes[i] = group->members.data[i]->shape;
  }
  HloInstruction *together = hlo_computation_add_clone(
      combiner->computation, first, shape_tuple(graph_shapes(&graph), shapes, count), operands, count);
  for (int i = 0; i < count; i++) {
    hlo_pass_count_rewrite(combiner->context, "join", group->members.data[i]);
    hlo_computation_replace_instruction(combiner->computation, group->members.data[i],
                                        graph_element(&graph, together, i));
  }
}

static bool combine(HloPassContext *context, HloComputation *computation) {
  Combiner combiner = {.context = context, .computation = computation};
  bool changed = false;
  control_edges_init(&combiner.edges, computation, context->scratch);
  int_map_init(&combiner.depths, context->scratch);
  int_map_init(&combiner.newest, context->scratch);
  find_groups(&combiner);
  for (int64_t i = 0; i < combiner.groups.count; i++) {
    if (combiner.groups.data[i].members.count < 2) continue;
    join(&combiner, &combiner.groups.data[i]);
    changed = true;
  }
  return changed;
}

static Status run_combiner(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t i = 0; i < module->computations.count; i++)
    *out_changed |= combine(context, module->computations.data[i]);
  return STATUS_OK;
}

const HloPass hlo_collective_combiner_pass = {
    "collective-combiner", "small all-reduces that do not wait for one another become one", run_combiner, false};
