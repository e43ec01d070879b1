/* A module as a graph: what is shown of it, in the DOT language. */
#include "codegen/report/module_graph.h"

#include "hlo/analysis/call_graph.h"

static void append_quoted(StringBuilder *out, StringView text) {
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] == '"' || text.data[i] == '\\') sb_append_char(out, '\\');
    sb_append_char(out, text.data[i]);
  }
}

static const char *style_of(const HloInstruction *instruction) {
  switch (instruction->opcode) {
    case HLO_PARAMETER: return ", shape=ellipse";
    case HLO_CONSTANT: return ", shape=plaintext";
    case HLO_FUSION: return ", style=filled";
    default: return "";
  }
}

static void draw_node(StringBuilder *out, const HloInstruction *instruction) {
  const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  sb_printf(out, "    i%d [label=\"", instruction->id);
  append_quoted(out, instruction->name);
  sb_printf(out, "\\n%s", hlo_opcode_text(instruction->opcode));
  if (instruction->opcode == HLO_FUSION && fused != NULL) {
    sb_printf(out, " of %lld", (long long)(fused->instructions.count - fused->parameters.count));
  }
  sb_append_cstring(out, "\\n");
  shape_print(out, instruction->shape, true);
  sb_printf(out, "\"%s%s];\n", style_of(instruction), hlo_instruction_is_root(instruction) ? ", peripheries=2" : "");
}

/* Operands by their number where there are several; control predecessors dotted. */
static void draw_edges(StringBuilder *out, const ModuleGraph *graph, const HloInstruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) {
    if (!graph->shown[instruction->operands[i]->id]) continue;
    sb_printf(out, "    i%d -> i%d", instruction->operands[i]->id, instruction->id);
    if (instruction->operand_count > 1) sb_printf(out, " [label=%d]", i);
    sb_append_cstring(out, ";\n");
  }
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  for (int64_t i = 0; control != NULL && i < control->value.instructions.count; i++) {
    if (!graph->shown[control->value.instructions.data[i]->id]) continue;
    sb_printf(out, "    i%d -> i%d [style=dotted];\n", control->value.instructions.data[i]->id, instruction->id);
  }
}

/* Their roots point at who calls them. */
static void draw_calls(StringBuilder *out, const ModuleGraph *graph, const HloInstruction *instruction) {
  for (int i = 0; i < call_graph_callee_count(instruction); i++) {
    const HloComputation *callee = call_graph_callee(instruction, i);
    if (!graph->shown[callee->root->id]) continue;
    sb_printf(out, "  i%d -> i%d [style=dashed, label=\"", callee->root->id, instruction->id);
    append_quoted(out, callee->name);
    sb_append_cstring(out, "\"];\n");
  }
}

static void draw_computation(StringBuilder *out, const ModuleGraph *graph, const HloComputation *computation) {
  const HloInstructionArray *list = &computation->instructions;
  sb_printf(out, "  subgraph cluster_%d {\n    label=\"", computation->id);
  append_quoted(out, computation->name);
  sb_append_cstring(out, "\";\n");
  for (int64_t i = 0; i < list->count; i++) {
    if (graph->shown[list->data[i]->id]) draw_node(out, list->data[i]);
  }
  for (int64_t i = 0; i < list->count; i++) {
    if (graph->shown[list->data[i]->id]) draw_edges(out, graph, list->data[i]);
  }
  sb_append_cstring(out, "  }\n");
}

static void draw(StringBuilder *out, const HloModule *module, const ModuleGraph *graph) {
  sb_append_cstring(out, "digraph \"");
  append_quoted(out, module->name);
  sb_append_cstring(out, "\" {\n  node [shape=box];\n");
  for (int64_t c = 0; c < graph->computations.count; c++) draw_computation(out, graph, graph->computations.data[c]);
  for (int64_t c = 0; c < graph->computations.count; c++) {
    const HloInstructionArray *list = &graph->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      if (graph->shown[list->data[i]->id]) draw_calls(out, graph, list->data[i]);
    }
  }
  sb_append_cstring(out, "}\n");
}

/* --- what is shown --- */

/* The entry and what control flow calls from there, each once, callers first. */
static void add_computation(Arena *arena, ModuleGraph *graph, HloComputation *computation, bool *seen) {
  if (seen[computation->id]) return;
  seen[computation->id] = true;
  array_push(&graph->computations, arena, computation);
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    HloInstruction *instruction = computation->instructions.data[i];
    for (int k = 0; k < call_graph_callee_count(instruction); k++)
      add_computation(arena, graph, call_graph_callee(instruction, k), seen);
  }
}

typedef struct Neighbours {
  Arena *arena;
  bool *shown;
  HloInstructionArray next; /* those at the distance after */
} Neighbours;

static void show(Neighbours *found, HloInstruction *instruction) {
  if (found->shown[instruction->id]) return;
  found->shown[instruction->id] = true;
  array_push(&found->next, found->arena, instruction);
}

static void show_neighbours(Neighbours *found, const HloInstruction *instruction, HloInstruction *const *caller_of) {
  for (int i = 0; i < instruction->operand_count; i++) show(found, instruction->operands[i]);
  for (int i = 0; i < instruction->user_count; i++) show(found, instruction->users[i]);
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  for (int64_t i = 0; control != NULL && i < control->value.instructions.count; i++)
    show(found, control->value.instructions.data[i]);
  for (int k = 0; k < call_graph_callee_count(instruction); k++) show(found, call_graph_callee(instruction, k)->root);
  HloInstruction *caller = caller_of[instruction->parent->id];
  if (hlo_instruction_is_root(instruction) && caller != NULL) show(found, caller);
}

/* By computation id, one of those that call it. */
static HloInstruction **find_callers(Arena *arena, const HloModule *module, const ModuleGraph *graph) {
  HloInstruction **caller_of = ARENA_NEW_ARRAY(arena, HloInstruction *, module->next_computation_id);
  for (int64_t c = 0; c < graph->computations.count; c++) {
    const HloInstructionArray *list = &graph->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      for (int k = 0; k < call_graph_callee_count(list->data[i]); k++)
        caller_of[call_graph_callee(list->data[i], k)->id] = list->data[i];
    }
  }
  return caller_of;
}

static bool has_computation(const void *self, const HloComputation *computation) {
  const ModuleGraph *graph = self;
  for (int64_t c = 0; c < graph->computations.count; c++) {
    if (graph->computations.data[c] == computation) return true;
  }
  return false;
}

static Status show_around(Arena *arena, const HloModule *module, ModuleGraph *graph, const GraphView *view,
                          DiagSink *diag) {
  ReportPlaces places = {graph, has_computation, "is not in the graph"};
  HloInstruction *around;
  RETURN_IF_ERROR(report_find_instruction(module, sv_from_cstring(view->around), &places, diag, &around));
  HloInstruction *const *caller_of = find_callers(arena, module, graph);
  Neighbours found = {.arena = arena, .shown = graph->shown};
  show(&found, around);
  for (int64_t distance = 0; distance < view->depth && found.next.count > 0; distance++) {
    HloInstructionArray now = found.next;
    found.next = (HloInstructionArray){0};
    for (int64_t i = 0; i < now.count; i++) show_neighbours(&found, now.data[i], caller_of);
  }
  return STATUS_OK;
}

static bool shows_any(const ModuleGraph *graph, const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    if (graph->shown[computation->instructions.data[i]->id]) return true;
  }
  return false;
}

static void show_all(ModuleGraph *graph) {
  for (int64_t c = 0; c < graph->computations.count; c++) {
    const HloInstructionArray *list = &graph->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) graph->shown[list->data[i]->id] = true;
  }
}

static Status find_graph(Arena *arena, const HloModule *module, const GraphView *view, DiagSink *diag,
                         ModuleGraph *out_graph) {
  *out_graph = (ModuleGraph){.shown = ARENA_NEW_ARRAY(arena, bool, module->next_instruction_id)};
  add_computation(arena, out_graph, module->entry, ARENA_NEW_ARRAY(arena, bool, module->next_computation_id));
  if (view->around == NULL) {
    show_all(out_graph);
    return STATUS_OK;
  }
  RETURN_IF_ERROR(show_around(arena, module, out_graph, view, diag));
  int64_t kept = 0;
  for (int64_t c = 0; c < out_graph->computations.count; c++) {
    HloComputation *computation = out_graph->computations.data[c];
    if (shows_any(out_graph, computation)) out_graph->computations.data[kept++] = computation;
  }
  out_graph->computations.count = kept;
  return STATUS_OK;
}

Status report_graph(StringBuilder *out, const HloModule *module, const GraphView *view, ReportFormat format,
                    DiagSink *diag) {
  Arena *scratch = arena_create();
  ModuleGraph graph;
  Status status = find_graph(scratch, module, view, diag, &graph);
  if (status == STATUS_OK && format == REPORT_HTML) module_graph_page(out, module, &graph, scratch);
  if (status == STATUS_OK && format != REPORT_HTML) draw(out, module, &graph);
  arena_destroy(scratch);
  return status;
}
