#include <stdlib.h>

#include "base/array.h"
#include "codegen/report/report_internal.h"

/* The largest Buffers that are alive where the module needs most memory. */

static int compare_size(const void *left, const void *right) {
  const HloValue *a = *(const HloValue *const *)left, *b = *(const HloValue *const *)right;
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return a->id < b->id ? -1 : 1;
}

/* A buffer that is handed over during the instruction at the peak shows once, with what comes first. */
static bool is_shown(const BufferAssignment *assignment, const HloValue *value, bool *seen) {
  if (value->size == 0 || !hlo_value_is_live_at(value, assignment->peak_position)) return false;
  bool first = !seen[value->buffer];
  seen[value->buffer] = true;
  return first;
}

void report_peak_buffers(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment, int limit) {
  Arena *scratch = arena_create();
  ARRAY(const HloValue *) live = {0};
  bool *seen = ARENA_NEW_ARRAY(scratch, bool, assignment->buffer_count + 1);
  for (int32_t i = 0; i < assignment->value_count; i++) {
    if (is_shown(assignment, &assignment->values[i], seen)) array_push(&live, scratch, &assignment->values[i]);
  }
  if (live.count > 0) qsort(live.data, (size_t)live.count, sizeof(live.data[0]), compare_size);
  sb_printf(out, "%14s  %-16s  %-24s  %s\n", "bytes", "memory", "shape", "made by");
  for (int64_t i = 0; i < live.count && i < limit; i++) {
    const HloValue *value = live.data[i];
    const HloInstruction *instruction = value->definition.instruction;
    StringView source = hlo_module_source_line(module, instruction, scratch);
    StringView shape = shape_text(scratch, hlo_value_shape(value), false);
    const BufferAllocation *allocation = &assignment->allocations[assignment->buffers[value->buffer].allocation];
    sb_printf(out, "%14lld  %-16s  %-24.*s  ", (long long)value->size, report_allocation_kind(allocation),
              SV_ARG(shape));
    report_value_name(out, value);
    sb_printf(out, " (%s)", hlo_opcode_text(instruction->opcode));
    if (source.size > 0) sb_printf(out, " from %.*s", SV_ARG(source));
    sb_append_char(out, '\n');
  }
  if (live.count > limit) sb_printf(out, "%14s  %lld more\n", "", (long long)(live.count - limit));
  arena_destroy(scratch);
}
