/* Why each buffer is where it is, and each copy there, as a sentence for the buffer map. */
#include "hlo/analysis/in_place.h"
#include "passes/buffers/assigner_internal.h"

static const char *name_of(const Assigner *assigner, const HloValue *value) {
  const HloInstruction *instruction = value->definition.instruction;
  if (!shape_is_tuple(instruction->shape)) return arena_printf(assigner->scratch, "'%.*s'", SV_ARG(instruction->name));
  StringBuilder text;
  int64_t path[64];
  sb_init(&text, assigner->scratch);
  sb_printf(&text, "'%.*s{", SV_ARG(instruction->name));
  int depth =
      shape_depth(instruction->shape) <= 64 ? shape_node_path(instruction->shape, value->definition.node, path) : 0;
  for (int i = 0; i < depth; i++) sb_printf(&text, "%s%lld", i ? "," : "", (long long)path[i]);
  sb_append_cstring(&text, "}'");
  return text.data;
}

/* --- where --- */

static void say_place(const Assigner *assigner, const HloBuffer *buffer, StringBuilder *out) {
  const BufferAllocation *allocation = &assigner->assignment->allocations[buffer->allocation];
  if (assigner->is_hosted[buffer->id]) {
    sb_printf(out, "temporary in the memory of result %lld while that holds nothing", (long long)allocation->result);
    return;
  }
  switch (allocation->kind) {
    case ALLOCATION_PARAMETER:
      sb_printf(out, "argument %lld", (long long)allocation->parameter);
      if (allocation->result >= 0) sb_printf(out, ", donated to result %lld", (long long)allocation->result);
      break;
    case ALLOCATION_RESULT: sb_printf(out, "result %lld", (long long)allocation->result); break;
    case ALLOCATION_PREPARED: sb_printf(out, "prepared %lld", (long long)allocation->prepared); break;
    case ALLOCATION_CONSTANT:
      sb_append_cstring(out, allocation->buffer_count > 1 && allocation->buffers[0] != buffer->id
                                 ? "constant with the contents of another"
                                 : "constant");
      break;
    case ALLOCATION_TEMP: sb_append_cstring(out, buffer->size == 0 ? "no bytes" : "temporary"); break;
  }
}

/* --- why together --- */

static bool is_updated_in_place(const Assigner *assigner, const HloValue *value) {
  const HloInstruction *instruction = value->definition.instruction;
  InPlacePairs pairs = hlo_in_place_pairs(instruction, assigner->scratch);
  for (int i = 0; i < pairs.count; i++) {
    if (pairs.pairs[i].result_node == value->definition.node) return true;
  }
  return false;
}

/* What made |value| join the buffer; at most the first few of many are told. */
static bool overwrites_rows(const Assigner *assigner, const HloInstruction *instruction, const HloValue *operand) {
  for (int i = 0; i < instruction->operand_count; i++) {
    if (instruction->operands[i] != operand->definition.instruction) continue;
    if (hlo_shared_row_bytes(instruction, i, assigner->scratch) > 0) return true;
  }
  return false;
}

static void say_joined(const Assigner *assigner, const HloValue *value, StringBuilder *out, int *said) {
  enum { TELL = 4 };
  const HloInstruction *instruction = value->definition.instruction;
  int32_t number = assigner->order[value->id];
  bool updates = false;
  if (assigner->overwrites[number] < 0 && !(value->is_phi && instruction->opcode != HLO_PARAMETER)) {
    updates = !value->is_phi && is_updated_in_place(assigner, value);
    if (!updates) return;
  }
  if (++*said > TELL) return;
  if (*said == TELL) {
    sb_append_cstring(out, "; and so on");
  } else if (assigner->overwrites[number] >= 0) {
    const HloValue *operand = &assigner->assignment->values[assigner->numbers[assigner->overwrites[number]]];
    bool by_rows = overwrites_rows(assigner, instruction, operand);
    sb_printf(out, "; %s overwrites %s, which it is the last to read, %s", name_of(assigner, value),
              name_of(assigner, operand), by_rows ? "row by row" : "element by element");
  } else if (updates) {
    sb_printf(out, "; %s updates in place", name_of(assigner, value));
  } else if (instruction->opcode == HLO_WHILE) {
    sb_printf(out, "; state of loop %s", name_of(assigner, value));
  } else {
    sb_printf(out, "; %s, whichever branch makes it", name_of(assigner, value));
  }
}

/* Why the first value did not take over an operand that dies with it. */
static void say_not_shared(const Assigner *assigner, const HloBuffer *buffer, StringBuilder *out) {
  int32_t number = assigner->order[buffer->values[0]];
  AliasRefusal refusal = assigner->refusals[number];
  if (refusal.kind == ALIAS_GRANTED) return;
  sb_printf(out, "; takes no operand's place: %s",
            hlo_alias_refusal_text(assigner->analysis.alias, refusal, assigner->scratch));
}

static const char *explain_buffer(Assigner *assigner, const HloBuffer *buffer) {
  StringBuilder text;
  int said = 0;
  sb_init(&text, assigner->arena);
  say_place(assigner, buffer, &text);
  for (int32_t i = 0; i < buffer->value_count; i++)
    say_joined(assigner, &assigner->assignment->values[buffer->values[i]], &text, &said);
  say_not_shared(assigner, buffer, &text);
  return text.data;
}

/* --- copies --- */

static bool is_array_copy(const HloInstruction *instruction) {
  return instruction->opcode == HLO_COPY && shape_is_array(instruction->shape);
}

/* Uniting source and copy fails for a reason, which is the copy's. */
static const char *explain_copy(Assigner *assigner, const HloInstruction *copy) {
  HloAlias *alias = assigner->analysis.alias;
  int32_t source = hlo_dataflow_value(assigner->analysis.flow, copy->operands[0], 0);
  int32_t made = hlo_dataflow_value(assigner->analysis.flow, copy, 0);
  if (source < 0 || made < 0) return "asked for by the module";
  if (!hlo_same_element_order(copy->shape, copy->operands[0]->shape)) return "changes the layout";
  AliasRefusal refusal = hlo_alias_refusal_to_unite(alias, source, made);
  if (refusal.kind == ALIAS_GRANTED) return "asked for by the module";
  if (refusal.kind != ALIAS_OVERLAP) return hlo_alias_refusal_text(alias, refusal, assigner->arena);
  /* What the copy itself has to do with it says more than some other value of the sets. */
  bool direct = hlo_alias_overlaps(alias, source, made, &refusal) || hlo_alias_overlaps(alias, made, source, &refusal);
  bool dies_here =
      hlo_liveness_ends_at(assigner->analysis.liveness, source, assigner->analysis.liveness->hulls[made].from);
  if (!direct || (dies_here && refusal.b == made)) return "set aside until its place is free";
  return hlo_alias_refusal_text(alias, refusal, assigner->arena);
}

static void explain_copies(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  int32_t count = 0;
  for (int64_t i = 0; i < assignment->schedule_length; i++) count += is_array_copy(assignment->schedule[i]);
  BufferCopyReason *copies = ARENA_NEW_ARRAY(assigner->arena, BufferCopyReason, count + 1);
  for (int64_t i = 0; i < assignment->schedule_length; i++) {
    const HloInstruction *instruction = assignment->schedule[i];
    if (!is_array_copy(instruction)) continue;
    copies[assignment->copy_count++] = (BufferCopyReason){instruction, explain_copy(assigner, instruction)};
  }
  assignment->copies = copies;
}

void assigner_explain(Assigner *assigner) {
  for (int32_t i = 0; i < assigner->assignment->buffer_count; i++) {
    assigner->assignment->buffers[i].reason = explain_buffer(assigner, &assigner->assignment->buffers[i]);
  }
  explain_copies(assigner);
}
