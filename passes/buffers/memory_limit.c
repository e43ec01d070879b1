#include "passes/buffers/memory_limit.h"

#include "base/checked_math.h"
#include "hlo/analysis/peak_buffers.h"

enum { NOTED_BUFFERS = 10 };

static void note_largest(const HloModule *module, const BufferAssignment *assignment, DiagSink *diag) {
  Arena *scratch = arena_create();
  PeakBuffers peak = peak_buffers_find(scratch, assignment);
  for (int64_t i = 0; i < peak.count && i < NOTED_BUFFERS; i++) {
    const PeakBuffer *buffer = &peak.buffers[i];
    StringView shape = peak_buffer_shape(scratch, buffer);
    StringView source = hlo_module_source_line(module, buffer->instruction, scratch);
    diag_note(diag, buffer->instruction->loc, "%lld bytes: %.*s %s'%.*s' (%s)%s%.*s", (long long)buffer->bytes,
              SV_ARG(shape), buffer->value ? "" : "of scratch of ", SV_ARG(buffer->instruction->name),
              hlo_opcode_text(buffer->instruction->opcode), source.size > 0 ? " from " : "", SV_ARG(source));
  }
  arena_destroy(scratch);
}

/* What is known of plans that need less. */
static StringView explain(Arena *scratch, const BufferAssignment *assignment, int64_t limit,
                          const MemoryReduction *reduction) {
  int64_t outside = buffer_assignment_outside_bytes(assignment);
  if (outside > limit) return SV("arguments and results alone are more, which proves that nothing helps");
  StringView bound =
      sv_printf(scratch, "no placement needs less than %lld in this order, which proves nothing of others",
                (long long)(outside + assignment->lower_bound_bytes));
  if (reduction == NULL) return bound;
  return sv_printf(scratch, "%lld steps of %lld plans tried%s brought it there from %lld; %.*s",
                   (long long)reduction->steps.count, (long long)reduction->trials,
                   reduction->is_exhausted ? " (all that '--effort' allows)" : "", (long long)reduction->bytes_before,
                   SV_ARG(bound));
}

Status memory_limit_check(const HloModule *module, const BufferAssignment *assignment, int64_t limit,
                          const MemoryReduction *reduction, DiagSink *diag) {
  int64_t total = 0;
  bool fits = limit <= 0 ||
              (checked_add(assignment->argument_bytes, assignment->result_bytes - assignment->aliased_bytes, &total) &&
               checked_add(total, assignment->prepared_bytes, &total) &&
               checked_add(total, assignment->workspace_bytes, &total) && total <= limit);
  if (fits) return STATUS_OK;
  Arena *scratch = arena_create();
  const char *prepared = assignment->prepared_bytes == 0
                             ? ""
                             : arena_printf(scratch, "what is prepared %lld, ", (long long)assignment->prepared_bytes);
  StringView why = explain(scratch, assignment, limit, reduction);
  Status status =
      diag_error(diag, STATUS_EXHAUSTED, module->loc, "memory-limit",
                 "the module needs %lld bytes (arguments %lld, results %lld of which %lld share with arguments, %s%s "
                 "%lld), more than the limit of %lld: %.*s",
                 (long long)total, (long long)assignment->argument_bytes, (long long)assignment->result_bytes,
                 (long long)assignment->aliased_bytes, prepared,
                 assignment->scratch_count > 0 ? "temporaries and scratch" : "temporaries",
                 (long long)assignment->workspace_bytes, (long long)limit, SV_ARG(why));
  arena_destroy(scratch);
  note_largest(module, assignment, diag);
  return status;
}
