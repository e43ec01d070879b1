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

/* The instruction of that name in one of |places|, the last of several; NULL: there is none.  |out_inside|: one of that
 * name elsewhere, NULL: none. */
static HloInstruction *find_in_places(const HloModule *module, StringView name, const ReportPlaces *places,
                                      HloInstruction **out_inside) {
  HloInstruction *found = NULL;
  *out_inside = NULL;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      HloInstruction *instruction = computation->instructions.data[i];
      if (!sv_equal(instruction->name, name)) continue;
      *(places->has(places->self, computation) ? &found : out_inside) = instruction;
    }
  }
  return found;
}

/* The fusion in one of |places| inside of which |instruction| is; NULL: something else applies its computation. */
static const HloInstruction *fusion_around(const HloModule *module, const HloInstruction *instruction,
                                           const ReportPlaces *places) {
  const HloInstruction *around = NULL;
  for (int64_t c = 0; c < module->computations.count && around == NULL; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      const HloInstruction *user = list->data[i];
      if (user->opcode == HLO_FUSION && hlo_instruction_computation(user, HLO_ATTR_CALLS) == instruction->parent)
        around = user;
    }
  }
  if (around == NULL || places->has(places->self, around->parent)) return around;
  return fusion_around(module, around, places); /* a fusion of fusions */
}

static Status inside_fusion(StringView name, const HloInstruction *fusion, const ReportPlaces *places, SourceLoc loc,
                            DiagSink *diag) {
  return diag_error(diag, STATUS_INVALID, loc, "question", "'%.*s' %s: it is computed inside of fusion '%.*s'",
                    SV_ARG(name), places->lack, SV_ARG(fusion->name));
}

static Status not_in_places(const HloModule *module, StringView name, const HloInstruction *inside,
                            const ReportPlaces *places, DiagSink *diag) {
  const HloInstruction *fusion = fusion_around(module, inside, places);
  if (fusion != NULL) return inside_fusion(name, fusion, places, inside->loc, diag);
  return diag_error(diag, STATUS_INVALID, inside->loc, "question",
                    "'%.*s' %s: computation '%.*s' is part of an instruction or never called", SV_ARG(name),
                    places->lack, SV_ARG(inside->parent->name));
}

static StringView without_percent(StringView name) {
  return name.size > 0 && name.data[0] == '%' ? sv_sub(name, 1, name.size - 1) : name;
}

Status report_find_instruction(const HloModule *module, StringView name, const ReportPlaces *places, DiagSink *diag,
                               HloInstruction **out_instruction) {
  HloInstruction *inside;
  name = without_percent(name);
  *out_instruction = find_in_places(module, name, places, &inside);
  if (*out_instruction != NULL) return STATUS_OK;
  return inside == NULL ? unknown_name(module, name, diag) : not_in_places(module, name, inside, places, diag);
}

static bool is_sequential(const void *self, const HloComputation *computation) {
  return call_graph_is_sequential(self, computation);
}

/* An instruction that a question names, or the fusion that makes it by now. */
typedef struct AskedInstruction {
  HloInstruction *instruction;
  StringView fused; /* AskedValue */
  int32_t result;   /* of the fusion, with |fused| */
} AskedInstruction;

/* The fusion, in one of |places|, that computes what was called |name|, one that stores it if there is any; NULL: there
 * is none. */
static AskedInstruction find_fused(const ReportSubject *subject, StringView name, const ReportPlaces *places) {
  AskedInstruction found = {.fused = name, .result = FUSED_INSIDE};
  const FusedInstruction *last = fused_instructions_last(&subject->fused, subject->analysis->flow->arena);
  for (int64_t i = 0; i < subject->fused.count && found.result == FUSED_INSIDE; i++) {
    if (!sv_equal(last[i].name, name)) continue;
    HloInstruction *inside, *fusion = find_in_places(subject->analysis->graph->module, last[i].fusion, places, &inside);
    if (fusion != NULL) found = (AskedInstruction){fusion, name, last[i].result};
  }
  return found;
}

static Status find_instruction(const ReportSubject *subject, StringView name, DiagSink *diag, AskedInstruction *out) {
  const CallGraph *graph = subject->analysis->graph;
  ReportPlaces places = {graph, is_sequential, "has no memory of its own"};
  HloInstruction *inside;
  name = without_percent(name);
  *out = (AskedInstruction){find_in_places(graph->module, name, &places, &inside), {0}, FUSED_WHOLE};
  if (out->instruction != NULL) return STATUS_OK;
  *out = find_fused(subject, name, &places);
  if (out->instruction == NULL) return report_find_instruction(graph->module, name, &places, diag, &out->instruction);
  if (out->result != FUSED_INSIDE) return STATUS_OK;
  return inside_fusion(name, out->instruction, &places, NO_LOC, diag);
}

/* "{1,0}", or nothing, as a node of |shape|, within element |result| unless that is FUSED_WHOLE; -1 when it is none. */
static int parse_index(StringView text, const Shape *shape, int32_t result) {
  int64_t path[64] = {result};
  int depth = result == FUSED_WHOLE ? 0 : 1;
  if (text.size == 1 || (text.size > 1 && text.data[text.size - 1] != '}')) return -1;
  for (size_t at = 1; at + 1 < text.size;) {
    size_t end = at;
    while (end + 1 < text.size && text.data[end] != ',') end++;
    if (depth == 64 || !sv_to_count(sv_sub(text, at, end - at), &path[depth++])) return -1;
    at = end + 1;
  }
  return depth == 0 ? 0 : shape_node_from_index(shape, (ShapeIndex){depth, path});
}

/* A position, "while.2{1,0}". */
static Status report_find_position(const ReportSubject *subject, StringView text, DiagSink *diag, AskedValue *out) {
  AskedInstruction asked;
  size_t size = 0;
  while (size < text.size && text.data[size] != '{') size++;
  RETURN_IF_ERROR(find_instruction(subject, sv_sub(text, 0, size), diag, &asked));
  const HloInstruction *instruction = asked.instruction;
  int node = parse_index(sv_sub(text, size, text.size - size), instruction->shape, asked.result);
  if (node < 0) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "question", "'%.*s' is no position of '%.*s', whose shape is %.*s",
                      SV_ARG(text), SV_ARG(instruction->name),
                      SV_ARG(shape_text(subject->analysis->flow->arena, instruction->shape, false)));
  }
  *out = (AskedValue){.position = {asked.instruction, node}, .fused = asked.fused};
  return STATUS_OK;
}

Status report_find_value(const ReportSubject *subject, StringView text, DiagSink *diag, AskedValue *out) {
  RETURN_IF_ERROR(report_find_position(subject, text, diag, out));
  const HloInstruction *instruction = out->position.instruction;
  out->value = hlo_dataflow_value(subject->analysis->flow, instruction, out->position.node);
  if (out->value >= 0) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, NO_LOC, "question",
                    shape_is_tuple(shape_node(instruction->shape, out->position.node))
                        ? "'%.*s' is a tuple, which has no bytes: name an element, such as '%.*s{0}'"
                        : "'%.*s' has no bytes, nor has '%.*s'",
                    SV_ARG(text), SV_ARG(instruction->name));
}

Status report_find_time(const ReportSubject *subject, StringView text, DiagSink *diag, int64_t *out_time) {
  const HloOrdering *ordering = subject->analysis->ordering;
  AskedInstruction asked;
  if (sv_to_count(text, out_time)) {
    if (*out_time < ordering->length) return STATUS_OK;
    return diag_error(diag, STATUS_INVALID, NO_LOC, "question", "the schedule has %lld positions, from 0 on",
                      (long long)ordering->length);
  }
  RETURN_IF_ERROR(find_instruction(subject, text, diag, &asked));
  *out_time = ordering->times[asked.instruction->id];
  return STATUS_OK;
}
