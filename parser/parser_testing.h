/* What the parser's tests share: parsing a text with everything it needs, and asking what was reported. */
#ifndef XLAC_PARSER_PARSER_TESTING_H
#define XLAC_PARSER_PARSER_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after the above, as cmocka wants it */
#include <cmocka.h>

#include "base/file_io.h"
#include "parser/hlo_parser.h"

typedef struct ParseResult {
  Arena *arena;
  ShapeTable *shapes;
  SourceFile file;
  DiagSink diag;
  HloModule *module; /* NULL: rejected */
} ParseResult;

static inline ParseResult *parse_view(StringView text) {
  Arena *arena = arena_create();
  ParseResult *result = ARENA_NEW(arena, ParseResult);
  *result = (ParseResult){.arena = arena, .shapes = shape_table_create(arena), .file = {SV("test.hlo"), text}};
  diag_sink_init(&result->diag, arena);
  Status status = hlo_parse_module(arena, result->shapes, &result->file, &result->diag, &result->module);
  assert_int_equal(status == STATUS_OK, result->module != NULL);
  assert_int_equal(status == STATUS_OK, result->diag.error_count == 0);
  return result;
}

static inline ParseResult *parse_text(const char *text) {
  return parse_view(sv_from_cstring(text));
}

static inline void parse_free(ParseResult *result) {
  arena_destroy(result->arena);
}

/* "line:column code" of every error, one a line. */
static inline const char *parse_errors(const ParseResult *result) {
  StringBuilder out;
  sb_init(&out, result->arena);
  sb_append_cstring(&out, "");
  for (const Diagnostic *d = result->diag.first; d; d = d->next) {
    sb_printf(&out, "%s%u:%u %s", out.size > 0 ? "\n" : "", d->loc.line, d->loc.column, d->code);
  }
  return arena_copy_string(result->arena, out.data ? out.data : "", out.size);
}

static inline void assert_rejected(const char *text, const char *errors) {
  ParseResult *result = parse_text(text);
  assert_null(result->module);
  assert_string_equal(parse_errors(result), errors);
  parse_free(result);
}

static inline void assert_accepted(const char *text) {
  ParseResult *result = parse_text(text);
  assert_string_equal(parse_errors(result), "");
  parse_free(result);
}

/* An ENTRY computation around |body|, so that columns are those of the body. */
static inline const char *in_entry(Arena *arena, const char *body) {
  return arena_printf(arena, "ENTRY e {\n%s\n}\n", body);
}

#endif
