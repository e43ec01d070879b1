#include "compiler/diagnostic_printer.h"

#include <string.h>

#include "base/json_writer.h"
#include "base/utf8.h"

enum { LINE_WINDOW = 120 }; /* longer source lines are cut around the caret */

static const struct {
  const char *word, *color;
} severities[] = {[SEVERITY_ERROR] = {"error", "\033[1;31m"},
                  [SEVERITY_WARNING] = {"warning", "\033[1;35m"},
                  [SEVERITY_NOTE] = {"note", "\033[1;36m"}};

typedef struct Printer {
  StringBuilder *out;
  const DiagnosticStyle *style;
  const HloModule *module;
} Printer;

static Severity shown_severity(const Printer *printer, Severity severity) {
  return severity == SEVERITY_WARNING && printer->style->warnings_are_errors ? SEVERITY_ERROR : severity;
}

static void set_color(const Printer *printer, const char *color) {
  if (printer->style->color) sb_append_cstring(printer->out, color);
}

/* --- the Python line --- */

/* The last instruction that begins at or before |loc| on its line. */
static const HloInstruction *instruction_at(const HloModule *module, SourceLoc loc) {
  const HloInstruction *best = NULL;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (instruction->loc.file != loc.file || instruction->loc.line != loc.line) continue;
      if (!best || (instruction->loc.column <= loc.column && instruction->loc.column >= best->loc.column))
        best = instruction;
    }
  }
  return best;
}

/* What follows |key| in |line| up to |end|; empty without the key. */
static StringView text_behind(StringView line, StringView key, char end) {
  for (size_t i = 0; i + key.size <= line.size; i++) {
    if (!sv_equal(sv_sub(line, i, key.size), key)) continue;
    StringView rest = sv_sub(line, i + key.size, line.size);
    const char *stop = memchr(rest.data, end, rest.size);
    return stop ? sv_sub(rest, 0, (size_t)(stop - rest.data)) : rest;
  }
  return (StringView){0};
}

/* Without a module, after a mistake in the grammar: from the metadata as it stands on the line. */
static StringView python_line_of_text(Arena *arena, SourceLoc loc) {
  StringView line = source_loc_line(loc);
  StringView file = text_behind(line, SV("source_file=\""), '"'), number = text_behind(line, SV("source_line="), ' ');
  size_t digits = 0;
  while (digits < number.size && char_is_digit(number.data[digits])) digits++;
  if (file.size == 0 || digits == 0) return (StringView){0};
  return sv_printf(arena, "%.*s:%.*s", SV_ARG(file), (int)digits, number.data);
}

static StringView python_line(const Printer *printer, SourceLoc loc) {
  if (loc.line == 0) return (StringView){0};
  if (!printer->module) return python_line_of_text(printer->out->arena, loc);
  const HloInstruction *instruction = instruction_at(printer->module, loc);
  if (!instruction) return (StringView){0};
  return hlo_module_source_line(printer->module, instruction, printer->out->arena);
}

/* --- text --- */

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xC0) == 0x80;
}

/* The part of the line around the caret, and the caret's place in it. */
static StringView line_window(StringView line, size_t *caret) {
  if (line.size <= LINE_WINDOW) return line;
  size_t start = *caret > LINE_WINDOW / 2 ? *caret - LINE_WINDOW / 2 : 0;
  if (start > line.size - LINE_WINDOW) start = line.size - LINE_WINDOW;
  while (start > 0 && is_continuation(line.data[start])) start--;
  size_t end = start + LINE_WINDOW;
  while (end < line.size && is_continuation(line.data[end])) end++;
  *caret -= start;
  return sv_sub(line, start, end - start);
}

static void print_source(const Printer *printer, SourceLoc loc) {
  StringView line = source_loc_line(loc);
  if (line.size == 0) return;
  size_t caret = loc.column > 0 ? loc.column - 1 : 0;
  if (caret > line.size) caret = line.size;
  line = line_window(line, &caret);
  sb_append_visible(printer->out, line, false);
  sb_append_char(printer->out, '\n');
  for (size_t i = 0; i < caret; i++) {
    if (line.data[i] == '\t')
      sb_append_char(printer->out, '\t');
    else if (!is_continuation(line.data[i]))
      sb_append_char(printer->out, ' ');
  }
  set_color(printer, "\033[1;32m");
  sb_append_char(printer->out, '^');
  set_color(printer, "\033[0m");
  sb_append_char(printer->out, '\n');
}

static void print_place(const Printer *printer, SourceLoc loc) {
  set_color(printer, "\033[1m");
  if (!loc.file) {
    sb_append_cstring(printer->out, "xlac: ");
  } else {
    sb_append_visible(printer->out, loc.file->name, false);
    if (loc.line > 0) sb_printf(printer->out, ":%u:%u", loc.line, loc.column);
    sb_append_cstring(printer->out, ": ");
  }
  set_color(printer, "\033[0m");
}

static void print_message(const Printer *printer, Severity severity, StringView message, const char *code) {
  set_color(printer, severities[severity].color);
  sb_printf(printer->out, "%s: ", severities[severity].word);
  set_color(printer, "\033[0m");
  sb_append_visible(printer->out, message, true);
  if (code && printer->style->show_codes) sb_printf(printer->out, " [%s]", code);
  if (!sv_ends_with(message, SV("\n"))) sb_append_char(printer->out, '\n');
}

static bool same_place(SourceLoc a, SourceLoc b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

static void print_text(const Printer *printer, const Diagnostic *diagnostic) {
  print_place(printer, diagnostic->loc);
  print_message(printer, shown_severity(printer, diagnostic->severity), diagnostic->message, diagnostic->code);
  print_source(printer, diagnostic->loc);
  for (const Diagnostic *note = diagnostic->notes; note; note = note->next) {
    bool placed = note->loc.file != NULL;
    print_place(printer, placed ? note->loc : diagnostic->loc);
    print_message(printer, SEVERITY_NOTE, note->message, NULL);
    if (placed && !same_place(note->loc, diagnostic->loc)) print_source(printer, note->loc);
  }
  StringView python = python_line(printer, diagnostic->loc);
  if (python.size == 0) return;
  print_place(printer, diagnostic->loc);
  print_message(printer, SEVERITY_NOTE, sv_printf(printer->out->arena, "it came from %.*s", SV_ARG(python)), NULL);
}

/* --- JSON --- */

static void json_place(JsonWriter *json, SourceLoc loc) {
  if (loc.file) {
    json_field_string(json, "file", loc.file->name);
  } else {
    json_key(json, "file");
    json_null(json);
  }
  json_field_int(json, "line", loc.line);
  json_field_int(json, "column", loc.column);
}

static void json_note(JsonWriter *json, SourceLoc loc, StringView message) {
  json_begin_object(json);
  json_place(json, loc);
  json_field_string(json, "message", message);
  json_end_object(json);
}

static void print_json(const Printer *printer, const Diagnostic *diagnostic) {
  JsonWriter json;
  json_init(&json, printer->out, false);
  json_begin_object(&json);
  json_place(&json, diagnostic->loc);
  json_field_string(&json, "severity", sv_from_cstring(severities[shown_severity(printer, diagnostic->severity)].word));
  json_field_string(&json, "code", sv_from_cstring(diagnostic->code));
  json_field_string(&json, "message", diagnostic->message);
  json_key(&json, "notes");
  json_begin_array(&json);
  for (const Diagnostic *note = diagnostic->notes; note; note = note->next) json_note(&json, note->loc, note->message);
  StringView python = python_line(printer, diagnostic->loc);
  if (python.size > 0) json_note(&json, NO_LOC, sv_printf(printer->out->arena, "it came from %.*s", SV_ARG(python)));
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(printer->out, '\n');
}

void diagnostics_print(StringBuilder *out, const DiagSink *sink, const DiagnosticStyle *style,
                       const HloModule *module) {
  Printer printer = {out, style, module};
  int errors_shown = 0;
  for (const Diagnostic *diagnostic = sink->first; diagnostic; diagnostic = diagnostic->next) {
    errors_shown += diagnostic->severity == SEVERITY_ERROR;
    if (diagnostic->severity != SEVERITY_ERROR && style->hide_warnings) continue;
    style->json ? print_json(&printer, diagnostic) : print_text(&printer, diagnostic);
  }
  if (!style->json && sink->error_count > errors_shown)
    sb_printf(out, "xlac: %d further errors are not shown\n", sink->error_count - errors_shown);
}
