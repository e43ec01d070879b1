/* The graph: names, operands, order, roots, parameters, calls. */
#include "hlo/infer/verifier_internal.h"

typedef struct Graph {
  Verifier *verifier;
  int32_t *owner;  /* by instruction id: 1 + id of the computation that lists it, 0: none */
  bool *is_member; /* by computation id: the module lists it */
  StringMap names;
} Graph;

static int quoted(StringView name) {
  return name.size > 200 ? 200 : (int)name.size;
}
#define NAME(thing) quoted((thing)->name), (thing)->name.data

static void check_name(Graph *graph, StringMap *names, StringView name, SourceLoc loc, const char *what,
                       const void *thing) {
  if (name.size == 0) {
    verify_error(graph->verifier, loc, "verify-name", "%s without a name", what);
  } else if (string_map_set(names, name, (void *)(uintptr_t)thing) != NULL) {
    verify_error(graph->verifier, loc, "verify-name", "%s name '%.*s' is used twice", what, quoted(name), name.data);
  }
}

/* Enters every computation and instruction; false when ids or pointers are so wrong that nothing can be looked up. */
static bool enter_all(Graph *graph) {
  const HloModule *module = graph->verifier->module;
  StringMap computation_names;
  string_map_init(&computation_names, graph->verifier->arena);
  for (int64_t i = 0; i < module->computations.count; i++) {
    const HloComputation *computation = module->computations.data[i];
    if (computation->id < 0 || computation->id >= module->next_computation_id || graph->is_member[computation->id])
      return false;
    graph->is_member[computation->id] = true;
    check_name(graph, &computation_names, computation->name, computation->loc, "computation", computation);
    for (int64_t j = 0; j < computation->instructions.count; j++) {
      const HloInstruction *instruction = computation->instructions.data[j];
      if (instruction->id < 0 || instruction->id >= module->next_instruction_id || graph->owner[instruction->id] != 0)
        return false;
      graph->owner[instruction->id] = 1 + computation->id;
      check_name(graph, &graph->names, instruction->name, instruction->loc, "instruction", instruction);
    }
  }
  return true;
}

static bool belongs(const Graph *graph, const HloComputation *computation, const HloInstruction *instruction) {
  if (instruction == NULL || instruction->parent != computation) return false;
  if (instruction->id < 0 || instruction->id >= graph->verifier->module->next_instruction_id) return false;
  return graph->owner[instruction->id] == 1 + computation->id;
}

static void check_instruction(Graph *graph, const HloComputation *computation, const HloInstruction *instruction) {
  Verifier *verifier = graph->verifier;
  if (instruction->parent != computation || instruction->shape == NULL ||
      (unsigned)instruction->opcode >= HLO_OPCODE_COUNT) {
    verify_error(verifier, instruction->loc, "verify-structure", "'%.*s' is not a complete member of '%.*s'",
                 NAME(instruction), NAME(computation));
    return;
  }
  for (int i = 0; i < instruction->operand_count; i++) {
    if (belongs(graph, computation, instruction->operands[i])) continue;
    verify_error(verifier, instruction->loc, "verify-operand", "operand %d of '%.*s' is not in the same computation", i,
                 NAME(instruction));
  }
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  for (int64_t i = 0; control != NULL && i < control->value.instructions.count; i++) {
    if (belongs(graph, computation, control->value.instructions.data[i])) continue;
    verify_attr_error(verifier, instruction, HLO_ATTR_CONTROL_PREDECESSORS, "verify-operand",
                      "control predecessor %lld of '%.*s' is not in the same computation", (long long)i,
                      NAME(instruction));
  }
  for (int i = 0, count = hlo_instruction_called_count(instruction); i < count; i++) {
    const HloComputation *callee = hlo_instruction_called(instruction, i);
    if (callee != NULL && callee->id >= 0 && callee->id < verifier->module->next_computation_id &&
        graph->is_member[callee->id])
      continue;
    verify_error(verifier, instruction->loc, "verify-call", "'%.*s' calls a computation outside the module",
                 NAME(instruction));
  }
}

static void check_parameters(Graph *graph, const HloComputation *computation) {
  int64_t listed = 0;
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    listed += computation->instructions.data[i]->opcode == HLO_PARAMETER;
  }
  bool fits = listed == computation->parameters.count;
  for (int64_t i = 0; fits && i < listed; i++) {
    const HloInstruction *parameter = computation->parameters.data[i];
    fits = belongs(graph, computation, parameter) && parameter->opcode == HLO_PARAMETER;
    if (!fits || hlo_instruction_parameter_number(parameter) == i) continue;
    verify_error(graph->verifier, parameter->loc, "verify-parameter", "computation '%.*s' has no parameter %lld",
                 NAME(computation), (long long)i);
    return;
  }
  if (fits) return;
  verify_error(graph->verifier, computation->loc, "verify-parameter", "computation '%.*s' does not list its parameters",
               NAME(computation));
}

/* --- order --- */

/* Visits what |instruction| waits for. */
static int predecessor_count(const HloInstruction *instruction) {
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  return instruction->operand_count + (control == NULL ? 0 : (int)control->value.instructions.count);
}

static const HloInstruction *predecessor(const HloInstruction *instruction, int i) {
  if (i < instruction->operand_count) return instruction->operands[i];
  return hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS)
      ->value.instructions.data[i - instruction->operand_count];
}

typedef struct OrderFrame {
  const HloInstruction *instruction;
  int next;
} OrderFrame;

enum { UNVISITED, OPEN, DONE };

/* Depth first from |start|; a way back to an open instruction is a cycle.  Text order makes the search shallow. */
static bool finds_cycle(const HloInstruction *start, char *states, OrderFrame *stack) {
  int64_t depth = 0;
  stack[depth++] = (OrderFrame){start, 0};
  states[start->id] = OPEN;
  while (depth > 0) {
    OrderFrame *frame = &stack[depth - 1];
    if (frame->next == predecessor_count(frame->instruction)) {
      states[frame->instruction->id] = DONE;
      depth--;
      continue;
    }
    const HloInstruction *before = predecessor(frame->instruction, frame->next++);
    if (states[before->id] == OPEN) return true;
    if (states[before->id] == DONE) continue;
    states[before->id] = OPEN;
    stack[depth++] = (OrderFrame){before, 0};
  }
  return false;
}

/* In a scheduled module the list is the order of execution; otherwise any order will do that exists. */
static void check_order(Graph *graph, const HloComputation *computation, char *states) {
  Verifier *verifier = graph->verifier;
  OrderFrame *stack = ARENA_NEW_ARRAY(verifier->scratch, OrderFrame, computation->instructions.count);
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    for (int j = 0; verifier->module->is_scheduled && j < predecessor_count(instruction); j++) {
      if (states[predecessor(instruction, j)->id] == DONE) continue;
      verify_error(verifier, instruction->loc, "verify-order", "'%.*s' is scheduled before '%.*s', which it uses",
                   NAME(instruction), NAME(predecessor(instruction, j)));
      return;
    }
    if (states[instruction->id] != UNVISITED || !finds_cycle(instruction, states, stack)) continue;
    verify_error(verifier, instruction->loc, "verify-cycle", "'%.*s' depends on itself", NAME(instruction));
    return;
  }
}

/* --- calls --- */

typedef struct CallFrame {
  const HloComputation *computation;
  int64_t instruction;
  int callee;
} CallFrame;

/* The next computation called from |frame|, NULL when there is none left. */
static const HloComputation *next_callee(CallFrame *frame) {
  const HloInstructionArray *list = &frame->computation->instructions;
  for (; frame->instruction < list->count; frame->instruction++, frame->callee = 0) {
    const HloInstruction *instruction = list->data[frame->instruction];
    if (frame->callee < hlo_instruction_called_count(instruction))
      return hlo_instruction_called(instruction, frame->callee++);
  }
  return NULL;
}

static bool check_recursion(Graph *graph) {
  const HloModule *module = graph->verifier->module;
  char *states = ARENA_NEW_ARRAY(graph->verifier->scratch, char, module->next_computation_id);
  CallFrame *stack = ARENA_NEW_ARRAY(graph->verifier->scratch, CallFrame, module->computations.count);
  for (int64_t i = 0; i < module->computations.count; i++) {
    int64_t depth = 0;
    if (states[module->computations.data[i]->id] != UNVISITED) continue;
    stack[depth++] = (CallFrame){module->computations.data[i], 0, 0};
    while (depth > 0) {
      CallFrame *frame = &stack[depth - 1];
      states[frame->computation->id] = OPEN;
      const HloComputation *callee = next_callee(frame);
      if (callee == NULL) {
        states[frame->computation->id] = DONE;
        depth--;
      } else if (states[callee->id] == OPEN) {
        verify_error(graph->verifier, frame->computation->loc, "verify-recursion", "computation '%.*s' calls itself",
                     NAME(callee));
        return false;
      } else if (states[callee->id] == UNVISITED) {
        stack[depth++] = (CallFrame){callee, 0, 0};
      }
    }
  }
  return true;
}

/* Call sites on the longest way down from a computation. */
typedef struct Depth {
  int32_t calls, loops;
} Depth;

/* Adds what |instruction| calls to the |depth| of its computation; false, with a diagnostic, when that is too deep. */
static bool add_depth(Verifier *verifier, const HloInstruction *instruction, const Depth *depths, Depth *depth) {
  for (int i = 0, count = hlo_instruction_called_count(instruction); i < count; i++) {
    Depth inside = depths[hlo_instruction_called(instruction, i)->id];
    if (inside.calls + 1 > depth->calls) depth->calls = inside.calls + 1;
    int32_t loops = inside.loops + (instruction->opcode == HLO_WHILE);
    if (loops > depth->loops) depth->loops = loops;
  }
  bool is_loop = depth->loops > HLO_MOST_NESTED_LOOPS;
  if (!is_loop && depth->calls <= HLO_MOST_NESTED_CALLS) return true;
  verify_error(verifier, instruction->loc, "verify-nesting", "'%.*s' begins a nest of more than %d %s",
               NAME(instruction), is_loop ? HLO_MOST_NESTED_LOOPS : HLO_MOST_NESTED_CALLS, is_loop ? "loops" : "calls");
  return false;
}

/* Without recursion; callees come first. */
static void check_nesting(const Graph *graph) {
  Verifier *verifier = graph->verifier;
  const HloModule *module = verifier->module;
  Depth *depths = ARENA_NEW_ARRAY(verifier->scratch, Depth, module->next_computation_id);
  int64_t count;
  HloComputation **order = hlo_module_post_order(module, verifier->scratch, &count);
  for (int64_t c = 0; c < count; c++) {
    const HloInstructionArray *list = &order[c]->instructions;
    for (int64_t i = 0; i < list->count; i++)
      if (!add_depth(verifier, list->data[i], depths, &depths[order[c]->id])) return;
  }
}

static void check_computation(Graph *graph, const HloComputation *computation) {
  Verifier *verifier = graph->verifier;
  for (int64_t i = 0; i < computation->instructions.count; i++)
    check_instruction(graph, computation, computation->instructions.data[i]);
  if (!belongs(graph, computation, computation->root)) {
    verify_error(verifier, computation->loc, "verify-root", "computation '%.*s' has no root", NAME(computation));
  }
  check_parameters(graph, computation);
}

static void check_entry(Graph *graph) {
  const HloModule *module = graph->verifier->module;
  if (module->name.size == 0) verify_error(graph->verifier, module->loc, "verify-name", "module without a name");
  const HloComputation *entry = module->entry;
  if (entry == NULL || entry->id < 0 || entry->id >= module->next_computation_id || !graph->is_member[entry->id]) {
    verify_error(graph->verifier, module->loc, "verify-entry", "the module has no entry computation");
  }
}

void verify_structure(Verifier *verifier) {
  const HloModule *module = verifier->module;
  Graph graph = {.verifier = verifier,
                 .owner = ARENA_NEW_ARRAY(verifier->scratch, int32_t, module->next_instruction_id),
                 .is_member = ARENA_NEW_ARRAY(verifier->scratch, bool, module->next_computation_id)};
  string_map_init(&graph.names, verifier->scratch);
  if (!enter_all(&graph)) {
    verify_error(verifier, module->loc, "verify-structure", "an instruction or computation is listed twice");
    return;
  }
  check_entry(&graph);
  for (int64_t i = 0; i < module->computations.count; i++) check_computation(&graph, module->computations.data[i]);
  if (verifier->has_failed) return;
  char *states = ARENA_NEW_ARRAY(verifier->scratch, char, module->next_instruction_id);
  for (int64_t i = 0; i < module->computations.count; i++) check_order(&graph, module->computations.data[i], states);
  if (check_recursion(&graph)) check_nesting(&graph);
  arena_reset(verifier->scratch);
}
