/* XLA's own layout: BufferAssignment::ToString, HloLiveRange::ToString. */
#include "codegen/report/report_internal.h"

static void print_value(StringBuilder *out, const BufferAssignment *assignment, const HloValue *value) {
  sb_printf(out, "<%d ", value->id);
  report_value_name(out, value);
  if (value->is_phi) sb_append_cstring(out, " (phi)");
  sb_printf(out, " @%lld>", (long long)assignment->buffers[value->buffer].colour);
}

/* The value that is the caller's parameter. */
static const HloValue *parameter_value(const BufferAssignment *assignment, const HloModule *module,
                                       const BufferAllocation *allocation) {
  for (int32_t i = 0; i < allocation->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[allocation->buffers[i]];
    for (int32_t k = 0; k < buffer->value_count; k++) {
      const HloValue *value = &assignment->values[buffer->values[k]];
      const HloInstruction *instruction = value->definition.instruction;
      if (instruction->opcode == HLO_PARAMETER && instruction->parent == module->entry) return value;
    }
  }
  return NULL;
}

static const HloValue *result_value(const BufferAssignment *assignment, const BufferAllocation *allocation) {
  for (int32_t i = 0; i < allocation->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[allocation->buffers[i]];
    for (int32_t k = 0; k < buffer->value_count; k++) {
      if (assignment->values[buffer->values[k]].live_out) return &assignment->values[buffer->values[k]];
    }
  }
  return NULL;
}

static void print_kind(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                       const BufferAllocation *allocation) {
  const HloValue *parameter =
      allocation->kind == ALLOCATION_PARAMETER ? parameter_value(assignment, module, allocation) : NULL;
  const HloValue *result = allocation->result >= 0 ? result_value(assignment, allocation) : NULL;
  if (parameter) {
    const HloInstruction *instruction = parameter->definition.instruction;
    sb_printf(out, ", parameter %lld, shape |", (long long)hlo_instruction_parameter_number(instruction));
    shape_print(out, hlo_value_shape(parameter), false);
    sb_append_cstring(out, "| at ShapeIndex ");
    report_index(out, instruction, parameter->definition.node);
  }
  if (result) {
    sb_append_cstring(out, ", output shape is |");
    shape_print(out, hlo_value_shape(result), false);
    sb_append_cstring(out, "|, maybe-live-out");
  }
  if (allocation->kind == ALLOCATION_CONSTANT) sb_append_cstring(out, ", constant");
  if (allocation->kind == ALLOCATION_TEMP) sb_append_cstring(out, ", preallocated-temp");
}

static void print_allocation(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                             const BufferAllocation *allocation) {
  sb_printf(out, "allocation %d: size %lld", allocation->index, (long long)allocation->size);
  if (allocation->colour != 0) sb_printf(out, ", color %lld", (long long)allocation->colour);
  print_kind(out, module, assignment, allocation);
  sb_append_cstring(out, ":\n");
  for (int32_t i = 0; i < allocation->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[allocation->buffers[i]];
    for (int32_t k = 0; k < buffer->value_count; k++) {
      const HloValue *value = &assignment->values[buffer->values[k]];
      sb_append_cstring(out, " value: ");
      print_value(out, assignment, value);
      sb_printf(out, " (size=%lld,offset=%lld): ", (long long)value->size, (long long)buffer->offset);
      shape_print(out, hlo_value_shape(value), true);
      sb_append_char(out, '\n');
    }
  }
}

static void print_total(StringBuilder *out, const BufferAssignment *assignment) {
  int64_t total = 0;
  for (int32_t i = 0; i < assignment->allocation_count; i++) total += assignment->allocations[i].size;
  sb_printf(out, "\nTotal bytes used: %lld (", (long long)total);
  report_human_bytes(out, total);
  sb_append_cstring(out, ")\n");
}

static void print_position(StringBuilder *out, const BufferPosition *position) {
  sb_printf(out, "  %.*s", SV_ARG(position->instruction->name));
  if (shape_is_tuple(position->instruction->shape)) {
    sb_append_char(out, ' ');
    report_index(out, position->instruction, position->node);
  }
  sb_append_char(out, '\n');
}

static void print_use(StringBuilder *out, const BufferUse *use) {
  const HloInstruction *operand = use->user->operands[use->operand];
  sb_printf(out, "  %.*s, operand %d", SV_ARG(use->user->name), use->operand);
  if (shape_is_tuple(operand->shape)) {
    sb_append_char(out, ' ');
    report_index(out, operand, use->node);
  }
  sb_append_char(out, '\n');
}

static void print_used_values(StringBuilder *out, const BufferAssignment *assignment) {
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  options.percent = true;
  options.metadata = false;
  options.max_constant_elements = 10;
  sb_append_cstring(out, "\nUsed values:\n");
  for (int32_t i = 0; i < assignment->value_count; i++) {
    const HloValue *value = &assignment->values[i];
    print_value(out, assignment, value);
    sb_append_cstring(out, "\n positions:\n");
    for (int32_t k = 0; k < value->position_count; k++) print_position(out, &value->positions[k]);
    sb_append_cstring(out, " uses:\n");
    for (int32_t k = 0; k < value->use_count; k++) print_use(out, &value->uses[k]);
    sb_append_cstring(out, " from instruction: ");
    hlo_instruction_print(out, value->definition.instruction, &options);
    sb_append_char(out, '\n');
  }
}

static void print_live_range(StringBuilder *out, const BufferAssignment *assignment) {
  sb_printf(out, "\nHloLiveRange (max %lld):\n  InstructionSequence:\n", (long long)assignment->schedule_length);
  for (int64_t i = 0; i < assignment->schedule_length; i++) {
    sb_printf(out, "    %lld:%.*s\n", (long long)i, SV_ARG(assignment->schedule[i]->name));
  }
  sb_append_cstring(out, "  BufferLiveRange:\n");
  for (int32_t i = 0; i < assignment->value_count; i++) {
    const HloValue *value = &assignment->values[i];
    sb_printf(out, "    %.*s", SV_ARG(value->definition.instruction->name));
    report_index(out, value->definition.instruction, value->definition.node);
    sb_printf(out, ":%lld-%lld\n", (long long)value->live_from, (long long)value->live_to);
  }
  sb_printf(out, "  Live ranges at %lld (peak):\n", (long long)assignment->peak_position);
  for (int32_t i = 0; i < assignment->value_count; i++) {
    const HloValue *value = &assignment->values[i];
    if (!hlo_value_is_live_at(value, assignment->peak_position)) continue;
    sb_printf(out, "    %.*s: %lld bytes\n", SV_ARG(value->definition.instruction->name), (long long)value->size);
  }
}

void report_buffer_assignment(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment) {
  sb_append_cstring(out, "BufferAssignment:\n");
  for (int32_t i = 0; i < assignment->allocation_count; i++)
    print_allocation(out, module, assignment, &assignment->allocations[i]);
  print_total(out, assignment);
  print_used_values(out, assignment);
  print_live_range(out, assignment);
}
