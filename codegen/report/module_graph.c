/* A module as a graph in the DOT language. */
#include "codegen/report/report.h"
#include "hlo/analysis/call_graph.h"

typedef struct GraphWriter {
  StringBuilder *out;
  bool *is_drawn; /* by computation id */
} GraphWriter;

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
static void draw_edges(StringBuilder *out, const HloInstruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) {
    sb_printf(out, "    i%d -> i%d", instruction->operands[i]->id, instruction->id);
    if (instruction->operand_count > 1) sb_printf(out, " [label=%d]", i);
    sb_append_cstring(out, ";\n");
  }
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  for (int64_t i = 0; control != NULL && i < control->value.instructions.count; i++) {
    sb_printf(out, "    i%d -> i%d [style=dotted];\n", control->value.instructions.data[i]->id, instruction->id);
  }
}

static void draw_computation(GraphWriter *writer, const HloComputation *computation);

/* Their roots point at who calls them. */
static void draw_callees(GraphWriter *writer, const HloInstruction *instruction) {
  for (int i = 0; i < call_graph_callee_count(instruction); i++) {
    const HloComputation *callee = call_graph_callee(instruction, i);
    draw_computation(writer, callee);
    sb_printf(writer->out, "  i%d -> i%d [style=dashed, label=\"", callee->root->id, instruction->id);
    append_quoted(writer->out, callee->name);
    sb_append_cstring(writer->out, "\"];\n");
  }
}

static void draw_computation(GraphWriter *writer, const HloComputation *computation) {
  StringBuilder *out = writer->out;
  const HloInstructionArray *list = &computation->instructions;
  if (writer->is_drawn[computation->id]) return;
  writer->is_drawn[computation->id] = true;
  sb_printf(out, "  subgraph cluster_%d {\n    label=\"", computation->id);
  append_quoted(out, computation->name);
  sb_append_cstring(out, "\";\n");
  for (int64_t i = 0; i < list->count; i++) draw_node(out, list->data[i]);
  for (int64_t i = 0; i < list->count; i++) draw_edges(out, list->data[i]);
  sb_append_cstring(out, "  }\n");
  for (int64_t i = 0; i < list->count; i++) draw_callees(writer, list->data[i]);
}

void report_graph(StringBuilder *out, const HloModule *module) {
  Arena *scratch = arena_create();
  int32_t ids = 0;
  for (int64_t i = 0; i < module->computations.count; i++) {
    if (module->computations.data[i]->id >= ids) ids = module->computations.data[i]->id + 1;
  }
  GraphWriter writer = {out, ARENA_NEW_ARRAY(scratch, bool, ids)};
  sb_append_cstring(out, "digraph \"");
  append_quoted(out, module->name);
  sb_append_cstring(out, "\" {\n  node [shape=box];\n");
  draw_computation(&writer, module->entry);
  sb_append_cstring(out, "}\n");
  arena_destroy(scratch);
}
