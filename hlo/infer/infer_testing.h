/* Tables of inference: HLO text of one instruction and what comes of it. */
#ifndef XLAC_HLO_INFER_INFER_TESTING_H
#define XLAC_HLO_INFER_INFER_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hlo/infer/hlo_infer.h"
#include "parser/hlo_parser.h"

/* |expected|: the inferred shape with layouts, or "!" and a part of the message. */
typedef struct InferCase {
  const char *text, *expected;
} InferCase;

/* The shape of the text's root, or "!CODE: message". */
static inline const char *infer_root(Arena *arena, const char *text) {
  DiagSink diag;
  diag_sink_init(&diag, arena);
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  *file = (SourceFile){SV("test"), sv_from_cstring(text)};
  ShapeTable *shapes = shape_table_create(arena);
  HloModule *module = NULL;
  const Shape *shape = NULL;
  Status status = hlo_parse_module(arena, shapes, file, &diag, &module);
  if (status == STATUS_OK) status = hlo_infer_shape(module->entry->root, shapes, arena, &diag, &shape);
  if (status != STATUS_OK) return arena_printf(arena, "!%s: %.*s", diag.first->code, SV_ARG(diag.first->message));
  StringView result = shape_text(arena, shape, true);
  return arena_copy_string(arena, result.data, result.size);
}

static inline void check_case(const InferCase *row) {
  Arena *arena = arena_create();
  const char *result = infer_root(arena, row->text);
  bool fits = row->expected[0] == '!' ? result[0] == '!' && strstr(result, row->expected + 1) != NULL : strcmp(result, row->expected) == 0;
  if (!fits) fail_msg("%s\n  expected %s\n  got      %s", row->text, row->expected, result);
  arena_destroy(arena);
}

static inline void check_cases(const InferCase *rows, size_t count) {
  for (size_t i = 0; i < count; i++) check_case(&rows[i]);
}

#define CHECK_CASES(rows) check_cases((rows), sizeof(rows) / sizeof((rows)[0]))

#endif
