/* async-collectives: what devices do together begins in one instruction and ends in another, so that the scheduler can
 * put work in between, and all of it keeps one order: that of the text, as far as data dependencies allow.  The order
 * is a chain of control edges between beginnings, so that it depends on the module alone. */
#include <stdlib.h>

#include "hlo/ir/device_groups.h"
#include "passes/cleanup/control_edges.h"
#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

typedef struct Communications {
  HloPassContext *context;
  HloModule *module;
  IntMap talking; /* ids of computations in which something communicates */
} Communications;

static bool is_between_devices(const HloInstruction *instruction) {
  return hlo_opcode_has(instruction->opcode, OP_COLLECTIVE) ||
         hlo_instruction_frontend(instruction, DEVICE_PAIRS_KEY) != NULL;
}

static bool communicates(const Communications *all, const HloInstruction *instruction) {
  int64_t ignored;
  if (is_between_devices(instruction)) return true;
  if (!hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) return false;
  for (int i = 0; i < hlo_instruction_called_count(instruction); i++) {
    if (int_map_find(&all->talking, (uint64_t)hlo_instruction_called(instruction, i)->id, &ignored)) return true;
  }
  return false;
}

/* --- one order --- */

static int compare_places(const void *left, const void *right) {
  const HloInstruction *a = *(HloInstruction *const *)left, *b = *(HloInstruction *const *)right;
  if (a->loc.line != b->loc.line) return a->loc.line < b->loc.line ? -1 : 1;
  if (a->loc.column != b->loc.column) return a->loc.column < b->loc.column ? -1 : 1;
  return a->id < b->id ? -1 : 1;
}

typedef struct OrderWalk {
  const Communications *all;
  Arena *scratch;
  IntMap state; /* id → what it waits for has been looked at up to here; -1: it has its place */
  HloInstructionArray stack, order;
} OrderWalk;

static HloInstruction *predecessor_at(const HloInstruction *instruction, int64_t index) {
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  int64_t count = control == NULL ? 0 : control->value.instructions.count;
  if (index < instruction->operand_count) return instruction->operands[index];
  index -= instruction->operand_count;
  return index < count ? control->value.instructions.data[index] : NULL;
}

/* |instruction| after all that it waits for. */
static void place(OrderWalk *walk, HloInstruction *instruction) {
  int64_t next = 0;
  if (int_map_find(&walk->state, (uint64_t)instruction->id, &next)) return;
  array_push(&walk->stack, walk->scratch, instruction);
  while (walk->stack.count > 0) {
    HloInstruction *top = walk->stack.data[walk->stack.count - 1];
    next = 0;
    int_map_find(&walk->state, (uint64_t)top->id, &next);
    HloInstruction *before = predecessor_at(top, next);
    int_map_set(&walk->state, (uint64_t)top->id, next + 1);
    if (before == NULL) {
      (void)array_pop(&walk->stack);
      if (communicates(walk->all, top)) array_push(&walk->order, walk->scratch, top);
    } else if (!int_map_find(&walk->state, (uint64_t)before->id, &next)) {
      array_push(&walk->stack, walk->scratch, before);
    }
  }
}

/* What communicates in |computation|, in its order. */
static HloInstructionArray find_order(const Communications *all, const HloComputation *computation) {
  HloInstructionArray found = {0};
  OrderWalk walk = {.all = all, .scratch = all->context->scratch};
  int_map_init(&walk.state, walk.scratch);
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    if (communicates(all, computation->instructions.data[i]))
      array_push(&found, walk.scratch, computation->instructions.data[i]);
  }
  if (found.count > 1) qsort(found.data, (size_t)found.count, sizeof *found.data, compare_places);
  for (int64_t i = 0; i < found.count; i++) place(&walk, found.data[i]);
  return walk.order;
}

static void add_predecessor(HloInstruction *instruction, HloInstruction *before) {
  const HloAttr *old = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  HloAttr attr = old != NULL ? *old : (HloAttr){.id = HLO_ATTR_CONTROL_PREDECESSORS};
  int64_t count = old != NULL ? old->value.instructions.count : 0;
  HloInstruction **list = ARENA_NEW_ARRAY(instruction->parent->module->arena, HloInstruction *, count + 1);
  for (int64_t i = 0; i < count; i++) list[i] = old->value.instructions.data[i];
  list[count] = before;
  attr.value.instructions.count = count + 1;
  attr.value.instructions.data = list;
  hlo_instruction_set_attr(instruction, &attr);
}

/* --- beginnings and ends --- */

static HloComputation *wrap(const HloInstruction *collective, HloInstruction **parameters) {
  HloComputation *wrapped = hlo_module_add_computation(collective->parent->module, collective->name);
  for (int i = 0; i < collective->operand_count; i++)
    parameters[i] = hlo_computation_add_parameter(wrapped, i, collective->operands[i]->shape, SV("p"));
  HloInstruction *inside =
      hlo_computation_add_clone(wrapped, collective, collective->shape, parameters, collective->operand_count);
  hlo_computation_set_root(wrapped, inside);
  return wrapped;
}

static const Shape *start_shape(const HloInstruction *collective, Arena *scratch) {
  ShapeTable *shapes = collective->parent->module->shapes;
  const Shape **operands = ARENA_NEW_ARRAY(scratch, const Shape *, collective->operand_count);
  for (int i = 0; i < collective->operand_count; i++) operands[i] = collective->operands[i]->shape;
  const Shape *elements[] = {shape_tuple(shapes, operands, collective->operand_count), collective->shape};
  return shape_tuple(shapes, elements, 2);
}

/* The start of a pair in the place of |collective|. */
static HloInstruction *split(HloInstruction *collective, Arena *scratch) {
  HloComputation *computation = collective->parent;
  HloInstruction **parameters = ARENA_NEW_ARRAY(scratch, HloInstruction *, collective->operand_count);
  HloInstruction *start =
      hlo_computation_add(computation, HLO_ASYNC_START, start_shape(collective, scratch), collective->operands,
                          collective->operand_count, sv_printf(scratch, "%.*s-start", SV_ARG(collective->name)));
  hlo_instruction_set_computation(start, HLO_ATTR_CALLS, wrap(collective, parameters));
  HloInstruction *done =
      hlo_computation_add(computation, HLO_ASYNC_DONE, collective->shape, &start, 1, collective->name);
  hlo_instruction_inherit_metadata(start, collective);
  hlo_instruction_inherit_metadata(done, collective);
  StringView name = collective->name;
  hlo_computation_replace_instruction(computation, collective, done);
  hlo_instruction_computation(start, HLO_ATTR_CALLS)->root->name = name; /* free now: what failures are told by */
  return start;
}

/* Starts and ends that the text has have side effects, and are left. */
static bool is_splittable(const HloInstruction *instruction, const ControlEdges *edges) {
  return hlo_opcode_has(instruction->opcode, OP_COLLECTIVE) && !hlo_opcode_has(instruction->opcode, OP_SIDE_EFFECT) &&
         !control_edges_touch(edges, instruction);
}

/* What an earlier run of the pass has wrapped. */
static bool is_wrapped(const HloComputation *computation) {
  return computation != computation->module->entry && hlo_opcode_has(computation->root->opcode, OP_COLLECTIVE) &&
         computation->instructions.count == computation->parameters.count + 1;
}

/* Whether anything in |computation| communicates. */
static bool order_computation(const Communications *all, HloComputation *computation) {
  HloInstructionArray order = find_order(all, computation);
  ControlEdges edges;
  if (is_wrapped(computation)) return true;
  control_edges_init(&edges, computation, all->context->scratch);
  for (int64_t i = 0; i < order.count; i++) {
    if (is_splittable(order.data[i], &edges)) order.data[i] = split(order.data[i], all->context->scratch);
    if (i > 0) add_predecessor(order.data[i], order.data[i - 1]);
  }
  return order.count > 0;
}

static Status run_async_collectives(HloPassContext *context, HloModule *module, bool *out_changed) {
  Communications all = {.context = context, .module = module};
  int_map_init(&all.talking, context->scratch);
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count); /* callees first */
  for (int64_t i = 0; i < count; i++) {
    if (!order_computation(&all, computations[i])) continue;
    int_map_set(&all.talking, (uint64_t)computations[i]->id, 1);
    *out_changed = true;
  }
  return STATUS_OK;
}

const HloPass hlo_async_collectives_pass = {"async-collectives",
                                            "collectives begin and end in two instructions, and keep one order",
                                            run_async_collectives, false};
