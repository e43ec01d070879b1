#include "base/checked_math.h"
#include "codegen/report/report_internal.h"
#include "hlo/analysis/peak_buffers.h"

/* The largest Buffers that are alive where the module needs most memory. */

static void text_buffer(StringBuilder *out, Arena *scratch, const HloModule *module, const PeakBuffer *buffer) {
  StringView source = hlo_module_source_line(module, buffer->instruction, scratch);
  StringView shape = peak_buffer_shape(scratch, buffer);
  sb_printf(out, "%14lld  %-16s  %-24.*s  ", (long long)buffer->bytes,
            buffer->value ? report_allocation_kind(buffer->allocation) : "scratch", SV_ARG(shape));
  if (buffer->value)
    report_value_name(out, buffer->value);
  else
    sb_append(out, buffer->instruction->name);
  sb_printf(out, " (%s)", hlo_opcode_text(buffer->instruction->opcode));
  if (source.size > 0) sb_printf(out, " from %.*s", SV_ARG(source));
  sb_append_char(out, '\n');
}

static void text_part(StringBuilder *out, const HloModule *module, const PeakBuffer *buffers, int64_t count,
                      int64_t limit, const char *where) {
  Arena *scratch = arena_create();
  int64_t bytes = 0;
  for (int64_t i = 0; i < count && i < limit; i++) text_buffer(out, scratch, module, &buffers[i]);
  for (int64_t i = limit; i < count; i++) bytes += buffers[i].bytes;
  if (count > limit) sb_printf(out, "%14lld  %lld more %s\n", (long long)bytes, (long long)(count - limit), where);
  arena_destroy(scratch);
}

void report_peak_buffers(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment, int limit) {
  Arena *scratch = arena_create();
  PeakBuffers peak = peak_buffers_find(scratch, assignment);
  int64_t others = peak.count - peak.in_workspace;
  /* of others at least a quarter, of the workspace all that they leave */
  int64_t shown = min_i64(peak.in_workspace, limit - min_i64(others, limit / 4));
  sb_printf(out, "%14s  %-16s  %-24s  %s\n", "bytes", "memory", "shape", "made by");
  text_part(out, module, peak.buffers, peak.in_workspace, shown, "in the workspace");
  text_part(out, module, peak.buffers + peak.in_workspace, others, limit - shown, "of the caller and constants");
  arena_destroy(scratch);
}
