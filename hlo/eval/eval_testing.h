/* Cases of the evaluator's tests: instructions as text and the value of the root. */
#ifndef XLAC_HLO_EVAL_EVAL_TESTING_H
#define XLAC_HLO_EVAL_EVAL_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hlo/eval/hlo_evaluator.h"
#include "parser/hlo_parser.h"

typedef struct EvalCase {
  const char *text;     /* the instructions of the entry, the last one ROOT; or a whole module */
  const char *expected; /* as literal_print writes it; "!" and a part of the message */
} EvalCase;

/* What the module comes to, or "!" and its first message. */
static inline const char *evaluate_text(Arena *arena, const char *text) {
  bool is_module = strncmp(text, "HloModule", 9) == 0;
  StringView source = is_module ? sv_from_cstring(text) : sv_printf(arena, "HloModule t\nENTRY e {\n%s\n}\n", text);
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  *file = (SourceFile){SV("test"), source};
  DiagSink *diag = ARENA_NEW(arena, DiagSink);
  diag_sink_init(diag, arena);
  HloModule *module;
  Literal *result;
  Status status = hlo_parse_module(arena, shape_table_create(arena), file, diag, &module);
  if (status == STATUS_OK) status = hlo_evaluate(arena, module, NULL, NULL, 0, diag, &result);
  if (status != STATUS_OK) return arena_printf(arena, "!%.*s", SV_ARG(diag->first->message));
  StringBuilder out;
  sb_init(&out, arena);
  literal_print(&out, result, -1);
  sb_append_char(&out, '\0');
  return out.data;
}

static inline void check_cases(const EvalCase *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Arena *arena = arena_create();
    const char *found = evaluate_text(arena, cases[i].text);
    bool is_good = cases[i].expected[0] == '!' ? found[0] == '!' && strstr(found, cases[i].expected + 1) != NULL
                                               : strcmp(found, cases[i].expected) == 0;
    if (!is_good) print_error("case %zu: %s\n", i, cases[i].text);
    if (!is_good) assert_string_equal(found, cases[i].expected);
    arena_destroy(arena);
  }
}

#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof(cases)[0])

#endif
