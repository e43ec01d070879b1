#include "base/diagnostic.h"

#include <stdarg.h>
#include <string.h>

void diag_sink_init(DiagSink *sink, Arena *arena) {
  *sink = (DiagSink){.arena = arena};
}

static Diagnostic *diagnostic_create(DiagSink *sink, Severity severity, SourceLoc loc, const char *code,
                                     const char *format, va_list arguments) {
  Diagnostic *diagnostic = ARENA_NEW(sink->arena, Diagnostic);
  diagnostic->severity = severity;
  diagnostic->code = code;
  diagnostic->loc = loc;
  diagnostic->message = sv_from_cstring(arena_vprintf(sink->arena, format, arguments));
  return diagnostic;
}

static void sink_append(DiagSink *sink, Diagnostic *diagnostic) {
  if (sink->last != NULL) {
    sink->last->next = diagnostic;
  } else {
    sink->first = diagnostic;
  }
  sink->last = diagnostic;
  sink->drops_notes = false;
}

Status diag_error(DiagSink *sink, Status status, SourceLoc loc, const char *code, const char *format, ...) {
  XLAC_CHECK(status != STATUS_OK);
  sink->error_count++;
  if (sink->error_limit > 0 && sink->error_count > sink->error_limit) {
    sink->drops_notes = true;
    return status;
  }
  va_list arguments;
  va_start(arguments, format);
  sink_append(sink, diagnostic_create(sink, SEVERITY_ERROR, loc, code, format, arguments));
  va_end(arguments);
  return status;
}

void diag_warning(DiagSink *sink, SourceLoc loc, const char *code, const char *format, ...) {
  sink->warning_count++;
  va_list arguments;
  va_start(arguments, format);
  sink_append(sink, diagnostic_create(sink, SEVERITY_WARNING, loc, code, format, arguments));
  va_end(arguments);
}

void diag_remark(DiagSink *sink, SourceLoc loc, const char *code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  sink_append(sink, diagnostic_create(sink, SEVERITY_NOTE, loc, code, format, arguments));
  va_end(arguments);
}

void diag_note(DiagSink *sink, SourceLoc loc, const char *format, ...) {
  if (sink->drops_notes) return;
  if (sink->last == NULL) XLAC_BUG("a note without a diagnostic");
  va_list arguments;
  va_start(arguments, format);
  Diagnostic *note = diagnostic_create(sink, SEVERITY_NOTE, loc, sink->last->code, format, arguments);
  va_end(arguments);
  Diagnostic **end = &sink->last->notes;
  while (*end != NULL) end = &(*end)->next;
  *end = note;
}

StringView source_loc_line(SourceLoc loc) {
  if (loc.file == NULL || loc.line == 0) return (StringView){"", 0};
  StringView rest = loc.file->text;
  for (uint32_t line = 1;; line++) {
    const char *end = rest.size != 0 ? memchr(rest.data, '\n', rest.size) : NULL;
    size_t size = end != NULL ? (size_t)(end - rest.data) : rest.size;
    if (line == loc.line) {
      if (size != 0 && rest.data[size - 1] == '\r') size--;
      return size != 0 ? sv_sub(rest, 0, size) : (StringView){"", 0};
    }
    if (end == NULL) return (StringView){"", 0};
    rest = sv_sub(rest, size + 1, rest.size);
  }
}
