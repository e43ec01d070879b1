#include "hlo/analysis/call_graph.h"

/* --- callees --- */

static int branch_count(const HloInstruction *instruction) {
  const HloAttr *list = hlo_instruction_attr(instruction, HLO_ATTR_BRANCH_COMPUTATIONS);
  return list ? (int)list->value.computations.count : 2;
}

int call_graph_callee_count(const HloInstruction *instruction) {
  switch (instruction->opcode) {
    case HLO_CALL: return 1;
    case HLO_WHILE: return 2;
    case HLO_CONDITIONAL: return branch_count(instruction);
    case HLO_ASYNC_START: return hlo_instruction_computation(instruction, HLO_ATTR_CALLS) ? 1 : 0;
    default: break;
  }
  if (hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW))
    XLAC_BUG("'%s' calls what is not known", hlo_opcode_text(instruction->opcode));
  return 0;
}

static HloComputation *branch(const HloInstruction *instruction, int index) {
  const HloAttr *list = hlo_instruction_attr(instruction, HLO_ATTR_BRANCH_COMPUTATIONS);
  if (list) return list->value.computations.data[index];
  return hlo_instruction_computation(instruction, index == 0 ? HLO_ATTR_TRUE_COMPUTATION : HLO_ATTR_FALSE_COMPUTATION);
}

HloComputation *call_graph_callee(const HloInstruction *instruction, int index) {
  switch (instruction->opcode) {
    case HLO_CALL: return hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY);
    case HLO_WHILE: return hlo_instruction_computation(instruction, index == 0 ? HLO_ATTR_CONDITION : HLO_ATTR_BODY);
    case HLO_CONDITIONAL: return branch(instruction, index);
    case HLO_ASYNC_START: return hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
    default: return NULL;
  }
}

/* --- building --- */

typedef struct Frame {
  HloComputation *computation;
  int64_t instruction;
  int callee;
} Frame;

typedef struct GraphBuilder {
  Arena *arena;
  DiagSink *diag;
  CallContext *contexts;
  HloInstruction **callers;
  int32_t *depths;
  const HloComputation **jumps;
  HloComputationArray order;
  ARRAY(Frame) stack;
} GraphBuilder;

/* Skip pointers of an ancestor tree (Myers, An applicative random-access stack): any depth is found in logarithmically
 * many steps. */
static void set_jump(GraphBuilder *builder, const HloComputation *callee, const HloComputation *caller) {
  const HloComputation *near = builder->jumps[caller->id], *far = builder->jumps[near->id];
  const int32_t *depths = builder->depths;
  bool is_even = depths[caller->id] - depths[near->id] == depths[near->id] - depths[far->id];
  builder->jumps[callee->id] = is_even ? far : caller;
}

static Status push_callee(GraphBuilder *builder, HloInstruction *site, HloComputation *callee) {
  if (!callee) {
    return diag_error(builder->diag, STATUS_INVALID, site->loc, "call-graph", "'%.*s' does not name what it calls",
                      SV_ARG(site->name));
  }
  if (builder->contexts[callee->id] == CALL_CONTEXT_SEQUENTIAL) {
    return diag_error(
        builder->diag, STATUS_INVALID, site->loc, "call-graph",
        "computation '%.*s' has more than one call site: memory can be planned after pass flatten-call-graph only",
        SV_ARG(callee->name));
  }
  builder->contexts[callee->id] = CALL_CONTEXT_SEQUENTIAL;
  builder->callers[callee->id] = site;
  builder->depths[callee->id] = builder->depths[site->parent->id] + 1;
  set_jump(builder, callee, site->parent);
  array_push(&builder->stack, builder->arena, ((Frame){callee, 0, 0}));
  return STATUS_OK;
}

/* One step of the walk: descends into the next callee, or ends the computation on top. */
static Status step(GraphBuilder *builder) {
  Frame *frame = &array_last(&builder->stack);
  const HloInstructionArray *list = &frame->computation->instructions;
  for (; frame->instruction < list->count; frame->instruction++, frame->callee = 0) {
    HloInstruction *instruction = list->data[frame->instruction];
    if (frame->callee < call_graph_callee_count(instruction)) {
      return push_callee(builder, instruction, call_graph_callee(instruction, frame->callee++));
    }
  }
  array_push(&builder->order, builder->arena, frame->computation);
  builder->stack.count--;
  return STATUS_OK;
}

static Status mark_embedded(GraphBuilder *builder, const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) continue;
    if (instruction->opcode == HLO_ASYNC_UPDATE || instruction->opcode == HLO_ASYNC_DONE) continue;
    for (int k = 0; k < hlo_instruction_called_count(instruction); k++) {
      const HloComputation *callee = hlo_instruction_called(instruction, k);
      if (builder->contexts[callee->id] == CALL_CONTEXT_SEQUENTIAL) {
        return diag_error(
            builder->diag, STATUS_INVALID, instruction->loc, "call-graph",
            "computation '%.*s' is called by control flow and applied by '%.*s': memory can be planned after pass "
            "flatten-call-graph only",
            SV_ARG(callee->name), SV_ARG(instruction->name));
      }
      builder->contexts[callee->id] = CALL_CONTEXT_EMBEDDED;
    }
  }
  return STATUS_OK;
}

Status call_graph_build(Arena *arena, const HloModule *module, DiagSink *diag, const CallGraph **out_graph) {
  int32_t count = module->next_computation_id + 1;
  GraphBuilder builder = {.arena = arena,
                          .diag = diag,
                          .contexts = ARENA_NEW_ARRAY(arena, CallContext, count),
                          .callers = ARENA_NEW_ARRAY(arena, HloInstruction *, count),
                          .depths = ARENA_NEW_ARRAY(arena, int32_t, count),
                          .jumps = ARENA_NEW_ARRAY(arena, const HloComputation *, count)};
  builder.contexts[module->entry->id] = CALL_CONTEXT_SEQUENTIAL;
  builder.jumps[module->entry->id] = module->entry;
  array_push(&builder.stack, arena, ((Frame){module->entry, 0, 0}));
  while (builder.stack.count > 0) RETURN_IF_ERROR(step(&builder));
  for (int64_t i = 0; i < builder.order.count; i++) RETURN_IF_ERROR(mark_embedded(&builder, builder.order.data[i]));
  CallGraph *graph = ARENA_NEW(arena, CallGraph);
  graph->module = module;
  graph->contexts = builder.contexts;
  graph->callers = builder.callers;
  graph->depths = builder.depths;
  graph->jumps = builder.jumps;
  graph->sequential_count = (int32_t)builder.order.count;
  graph->sequential = builder.order.data;
  *out_graph = graph;
  return STATUS_OK;
}

/* --- questions --- */

bool call_graph_is_sequential(const CallGraph *graph, const HloComputation *computation) {
  return graph->contexts[computation->id] == CALL_CONTEXT_SEQUENTIAL;
}

HloInstruction *call_graph_caller(const CallGraph *graph, const HloComputation *computation) {
  return graph->callers[computation->id];
}

const HloComputation *call_graph_home(const CallGraph *graph, const HloComputation *computation) {
  const HloInstruction *site = graph->callers[computation->id];
  while (site != NULL && site->opcode != HLO_WHILE && site->opcode != HLO_CONDITIONAL) {
    computation = site->parent;
    site = graph->callers[computation->id];
  }
  return computation;
}

/* What calls |computation|, directly or not, at |depth|; itself when that is its own. */
static const HloComputation *caller_at(const CallGraph *graph, const HloComputation *computation, int32_t depth) {
  while (graph->depths[computation->id] > depth) {
    const HloComputation *jump = graph->jumps[computation->id];
    computation = graph->depths[jump->id] >= depth ? jump : graph->callers[computation->id]->parent;
  }
  return computation;
}

const HloInstruction *call_graph_ancestor(const CallGraph *graph, const HloInstruction *instruction,
                                          const HloComputation *ancestor) {
  if (instruction == NULL || instruction->parent == ancestor) return instruction;
  if (!call_graph_is_sequential(graph, instruction->parent) || !call_graph_is_sequential(graph, ancestor)) return NULL;
  int32_t depth = graph->depths[ancestor->id];
  if (graph->depths[instruction->parent->id] <= depth) return NULL;
  const HloInstruction *site = graph->callers[caller_at(graph, instruction->parent, depth + 1)->id];
  return site->parent == ancestor ? site : NULL;
}

const HloComputation *call_graph_common(const CallGraph *graph, const HloInstruction **a, const HloInstruction **b) {
  int32_t depth = graph->depths[(*a)->parent->id], depth_b = graph->depths[(*b)->parent->id];
  if (depth_b < depth) depth = depth_b;
  const HloComputation *of_a = caller_at(graph, (*a)->parent, depth), *of_b = caller_at(graph, (*b)->parent, depth);
  while (of_a != of_b) {
    /* At equal depths jumps are equally long. */
    const HloComputation *jump_a = graph->jumps[of_a->id], *jump_b = graph->jumps[of_b->id];
    bool is_far = jump_a != jump_b;
    of_a = is_far ? jump_a : graph->callers[of_a->id]->parent;
    of_b = is_far ? jump_b : graph->callers[of_b->id]->parent;
  }
  *a = call_graph_ancestor(graph, *a, of_a);
  *b = call_graph_ancestor(graph, *b, of_a);
  return of_a;
}

/* --- unfolding --- */

/* Adds what |instruction| calls, its callees' own calls unfolded, to |count|; false when that is more than |most|. */
static bool add_unfolded(const HloInstruction *instruction, const int64_t *counts, int64_t most, int64_t *count) {
  bool has_copies = hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW) || instruction->opcode == HLO_FUSION;
  for (int k = 0; has_copies && k < hlo_instruction_called_count(instruction) && *count <= most; k++) {
    const HloComputation *callee = hlo_instruction_called(instruction, k);
    *count += counts[callee->id] + callee->instructions.count;
  }
  return *count <= most;
}

Status call_graph_check_unfolding(const HloModule *module, DiagSink *diag) {
  Arena *scratch = arena_create();
  int64_t order_count, most = CALL_GRAPH_MOST_UNFOLDED;
  HloComputation **order = hlo_module_post_order(module, scratch, &order_count);
  for (int64_t c = 0; c < order_count; c++) most += order[c]->instructions.count;
  int64_t *counts = ARENA_NEW_ARRAY(scratch, int64_t, module->next_computation_id + 1);
  const HloInstruction *found = NULL;
  for (int64_t c = 0; c < order_count && !found; c++) {
    const HloInstructionArray *list = &order[c]->instructions;
    for (int64_t i = 0; i < list->count && !found; i++)
      if (!add_unfolded(list->data[i], counts, most, &counts[order[c]->id])) found = list->data[i];
  }
  arena_destroy(scratch);
  if (!found) return STATUS_OK;
  return diag_error(diag, STATUS_UNSUPPORTED, found->loc, "unfold-limit",
                    "nested calls at '%.*s' unfold to more than %d new instructions", SV_ARG(found->name),
                    CALL_GRAPH_MOST_UNFOLDED);
}
