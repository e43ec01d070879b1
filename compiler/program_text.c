#include "compiler/program_text.h"

#include <string.h>

/* From |at| to the line's end, which is the next line's beginning. */
static size_t line_size(StringView text, size_t at) {
  const char *end = memchr(text.data + at, '\n', text.size - at);
  return end == NULL ? text.size - at : (size_t)(end - (text.data + at)) + 1;
}

static bool is_blank_or_indented(StringView line) {
  return line.size == 0 || strchr(" \t\r\n", line.data[0]) != NULL;
}

/* Without the blanks at its end. */
static StringView trimmed(StringView line) {
  size_t size = line.size;
  while (size > 0 && strchr(" \t\r\n", line.data[size - 1]) != NULL) size--;
  return sv_sub(line, 0, size);
}

static bool is_blank(StringView line) {
  return trimmed(line).size == 0;
}

static bool begins_section(StringView line) {
  return sv_equal_cstring(trimmed(line), "hlo:");
}

static char *blanks_like(Arena *arena, StringView text) {
  char *copy = ARENA_NEW_ARRAY(arena, char, text.size + 1);
  for (size_t i = 0; i < text.size; i++) copy[i] = text.data[i] == '\n' ? '\n' : ' ';
  return copy;
}

static const SourceFile *new_source(Arena *arena, const SourceFile *like, const char *text) {
  SourceFile *source = ARENA_NEW(arena, SourceFile);
  *source = (SourceFile){like->name, {text, like->text.size}};
  return source;
}

Status program_text_split(Arena *arena, const SourceFile *source, DiagSink *diag, ProgramText *out_text) {
  StringView text = source->text;
  char *plan = blanks_like(arena, text), *computations = blanks_like(arena, text);
  bool is_inside = false;
  size_t first = 0;
  uint32_t number = 1;
  *out_text = (ProgramText){0};
  for (size_t at = 0, size; at < text.size; at += size, number++) {
    size = line_size(text, at);
    StringView line = sv_sub(text, at, size);
    if (begins_section(line)) {
      if (out_text->computations != NULL)
        return diag_error(diag, STATUS_INVALID, (SourceLoc){source, number, 1}, "plan-program",
                          "a program has one section 'hlo:'");
      out_text->computations = new_source(arena, source, computations);
      first = at;
      is_inside = true;
      out_text->section = line;
      continue;
    }
    is_inside = is_inside && is_blank_or_indented(line);
    memcpy((is_inside ? computations : plan) + at, line.data, size);
    if (is_inside && !is_blank(line)) out_text->section = sv_sub(text, first, at + size - first);
  }
  out_text->plan = new_source(arena, source, plan);
  return STATUS_OK;
}
