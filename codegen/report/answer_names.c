/* What a question names: a value, a position of the schedule. */
#include "base/nearest_word.h"
#include "codegen/report/report_internal.h"

static Status unknown_name(const HloModule *module, StringView name, DiagSink *diag) {
  NearestWord nearest = nearest_word_begin(name);
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "question", "no instruction is called '%.*s'", SV_ARG(name));
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) nearest_word_offer(&nearest, list->data[i]->name);
  }
  nearest_word_note(&nearest, diag);
  return status;
}

Status report_find_instruction(const HloModule *module, StringView name, const ReportPlaces *places, DiagSink *diag,
                               HloInstruction **out_instruction) {
  HloInstruction *found = NULL, *inside = NULL;
  if (name.size > 0 && name.data[0] == '%') name = sv_sub(name, 1, name.size - 1);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      HloInstruction *instruction = computation->instructions.data[i];
      if (!sv_equal(instruction->name, name)) continue;
      *(places->has(places->self, computation) ? &found : &inside) = instruction;
    }
  }
  *out_instruction = found;
  if (found) return STATUS_OK;
  if (!inside) return unknown_name(module, name, diag);
  return diag_error(diag, STATUS_INVALID, inside->loc, "question",
                    "'%.*s' %s: computation '%.*s' is part of an instruction or never called", SV_ARG(name),
                    places->lack, SV_ARG(inside->parent->name));
}

static bool is_sequential(const void *self, const HloComputation *computation) {
  return call_graph_is_sequential(self, computation);
}

static Status find_instruction(const BufferAnalysis *analysis, StringView name, DiagSink *diag,
                               HloInstruction **out_instruction) {
  ReportPlaces places = {analysis->graph, is_sequential, "has no memory of its own"};
  return report_find_instruction(analysis->graph->module, name, &places, diag, out_instruction);
}

/* "{1,0}", or nothing, as a node of |shape|; -1 when it is none. */
static int parse_index(StringView text, const Shape *shape) {
  int64_t path[64];
  int depth = 0;
  if (text.size == 0) return 0;
  if (text.size < 2 || text.data[text.size - 1] != '}') return -1;
  for (size_t at = 1; at + 1 < text.size;) {
    size_t end = at;
    while (end + 1 < text.size && text.data[end] != ',') end++;
    if (depth == 64 || !sv_to_count(sv_sub(text, at, end - at), &path[depth++])) return -1;
    at = end + 1;
  }
  return shape_node_from_index(shape, (ShapeIndex){depth, path});
}

/* A position, "while.2{1,0}". */
static Status report_find_position(const BufferAnalysis *analysis, StringView text, DiagSink *diag,
                                   BufferPosition *out_position) {
  HloInstruction *instruction;
  size_t size = 0;
  while (size < text.size && text.data[size] != '{') size++;
  RETURN_IF_ERROR(find_instruction(analysis, sv_sub(text, 0, size), diag, &instruction));
  int node = parse_index(sv_sub(text, size, text.size - size), instruction->shape);
  if (node < 0) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "question", "'%.*s' is no position of '%.*s', whose shape is %.*s",
                      SV_ARG(text), SV_ARG(instruction->name),
                      SV_ARG(shape_text(analysis->flow->arena, instruction->shape, false)));
  }
  *out_position = (BufferPosition){instruction, node};
  return STATUS_OK;
}

Status report_find_value(const BufferAnalysis *analysis, StringView text, DiagSink *diag, BufferPosition *out_position,
                         int32_t *out_value) {
  RETURN_IF_ERROR(report_find_position(analysis, text, diag, out_position));
  *out_value = hlo_dataflow_value(analysis->flow, out_position->instruction, out_position->node);
  if (*out_value >= 0) return STATUS_OK;
  const Shape *shape = shape_node(out_position->instruction->shape, out_position->node);
  return diag_error(diag, STATUS_INVALID, NO_LOC, "question",
                    shape_is_tuple(shape) ? "'%.*s' is a tuple, which has no bytes: name an element, such as '%.*s{0}'"
                                          : "'%.*s' has no bytes, nor has '%.*s'",
                    SV_ARG(text), SV_ARG(out_position->instruction->name));
}

Status report_find_time(const BufferAnalysis *analysis, StringView text, DiagSink *diag, int64_t *out_time) {
  HloInstruction *instruction;
  if (sv_to_count(text, out_time)) {
    if (*out_time < analysis->ordering->length) return STATUS_OK;
    return diag_error(diag, STATUS_INVALID, NO_LOC, "question", "the schedule has %lld positions, from 0 on",
                      (long long)analysis->ordering->length);
  }
  RETURN_IF_ERROR(find_instruction(analysis, text, diag, &instruction));
  *out_time = analysis->ordering->times[instruction->id];
  return STATUS_OK;
}
