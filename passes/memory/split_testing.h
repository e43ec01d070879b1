/* For tests of splits: a module is split in all ways that are found, and evaluated. */
#ifndef XLAC_PASSES_MEMORY_SPLIT_TESTING_H
#define XLAC_PASSES_MEMORY_SPLIT_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hlo/eval/hlo_evaluator.h"
#include "hlo/infer/hlo_verifier.h"
#include "parser/hlo_parser.h"
#include "passes/memory/split.h"
#include "runtime/arrays/seed_inputs.h"

enum { MOST_LARGE = 4 };

typedef struct Case {
  const char *instructions; /* of the entry; computations before it end with "ENTRY" */
  const char *large[MOST_LARGE];
  int candidates;   /* at least so many ways; 0: none */
  double tolerance; /* relative; 0: bit by bit */
  const char *computations;
} Case;

typedef struct Run {
  Arena *arena;
  DiagSink diag;
  SourceFile file;
  HloModule *module;
  HloSplitScope scope;
  HloSplitArray splits;
} Run;

static const char reducers[] =
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"
    "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n"
    "less2 { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n"
    "  ROOT r = pred[] compare(a, b), direction=LT }\n";

static inline void read_case(Run *run, const Case *test) {
  diag_sink_init(&run->diag, run->arena);
  const char *text = arena_printf(run->arena, "HloModule t\n%s%sENTRY main {\n%s\n}\n", reducers,
                                  test->computations ? test->computations : "", test->instructions);
  run->file = (SourceFile){SV("test"), sv_from_cstring(text)};
  ShapeTable *shapes = shape_table_create(run->arena);
  if (hlo_parse_module(run->arena, shapes, &run->file, &run->diag, &run->module) != STATUS_OK)
    fail_msg("%.*s\n%s", SV_ARG(run->diag.first->message), text);
  if (hlo_verify(run->module, &run->diag) != STATUS_OK) fail_msg("%.*s\n%s", SV_ARG(run->diag.first->message), text);
}

static inline HloInstruction *find(const HloModule *module, const char *name) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++)
      if (sv_equal_cstring(list->data[i]->name, name)) return list->data[i];
  }
  return NULL;
}

static inline void find_splits(Run *run, const Case *test) {
  const HloInstruction *large[MOST_LARGE];
  int count = 0;
  for (; count < MOST_LARGE && test->large[count] != NULL; count++) {
    large[count] = find(run->module, test->large[count]);
    assert_non_null(large[count]);
  }
  run->splits = hlo_find_splits(run->module, large, count, run->scope, run->arena);
}

static inline const Literal *evaluate(Run *run, const HloModule *module) {
  const HloInstructionArray *parameters = &module->entry->parameters;
  const Literal **arguments = ARENA_NEW_ARRAY(run->arena, const Literal *, parameters->count + 1);
  for (int64_t p = 0; p < parameters->count; p++) {
    const Shape *shape = parameters->data[p]->shape;
    Literal *value = literal_create(run->arena, shape);
    SeedRule rule = SEED_RULE_DEFAULT;
    const SeedArray array = {7, p, shape->type, shape->rank, shape->dims};
    assert_int_equal(seed_generate(run->arena, &rule, array, &run->diag, value->data), STATUS_OK);
    arguments[p] = value;
  }
  Literal *result;
  if (hlo_evaluate(run->arena, module, arguments, NULL, 0, &run->diag, &result) != STATUS_OK)
    fail_msg("%.*s", SV_ARG(run->diag.first->message));
  return result;
}

static inline bool is_near(const Literal *a, const Literal *b, double tolerance) {
  if (tolerance == 0) return literal_equal(a, b);
  if (shape_is_tuple(a->shape)) {
    bool is_each = true;
    for (int i = 0; i < a->shape->tuple_size; i++) is_each &= is_near(&a->tuple[i], &b->tuple[i], tolerance);
    return is_each;
  }
  for (int64_t i = 0; i < shape_element_count(a->shape); i++) {
    double want = literal_get_double(a, i);
    if (!(fabs(literal_get_double(b, i) - want) <= tolerance * (1 + fabs(want)))) return false;
  }
  return true;
}

static inline const char *text_of(const HloModule *module, Arena *arena) {
  StringBuilder out;
  sb_init(&out, arena);
  hlo_module_print(&out, module, &HLO_PRINT_DEFAULT);
  sb_append_char(&out, '\0');
  return out.data;
}

/* Candidate |number| in |parts|: the module is correct, loops, has the large values no more, and computes the same. */
static inline void check_split(const Case *test, HloSplitScope scope, int64_t number, int64_t parts) {
  Run run = {.arena = arena_create(), .scope = scope};
  read_case(&run, test);
  const Literal *want = evaluate(&run, run.module);
  find_splits(&run, test);
  const HloSplit *split = &run.splits.data[number];
  hlo_apply_split(run.module, split, parts, run.arena);
  const char *text = text_of(run.module, run.arena);
  if (hlo_verify(run.module, &run.diag) != STATUS_OK) fail_msg("%.*s\n%s", SV_ARG(run.diag.first->message), text);
  assert_non_null(strstr(text, " while("));
  /* Folds of any size: products are summed in parts. */
  double tolerance = scope != HLO_SPLIT_SAVING && test->tolerance < 1e-5 ? 1e-5 : test->tolerance;
  if (!is_near(want, evaluate(&run, run.module), tolerance))
    fail_msg("candidate %d in %d parts computes something else:\n%s", (int)number, (int)parts, text);
  arena_destroy(run.arena);
}

static inline void check_case(const Case *test, HloSplitScope scope) {
  static const int64_t parts[] = {2, 3, 5, 1000};
  Run run = {.arena = arena_create(), .scope = scope};
  read_case(&run, test);
  find_splits(&run, test);
  bool is_expected = test->candidates == 0 ? run.splits.count == 0 : run.splits.count >= test->candidates;
  if (!is_expected) {
    for (int64_t i = 0; i < run.splits.count; i++) {
      print_message("candidate: %d units, %d bytes gone, %d added\n", (int)run.splits.data[i].units,
                    (int)run.splits.data[i].bytes_gone, (int)run.splits.data[i].bytes_added);
      for (int64_t m = 0; m < run.splits.data[i].member_count; m++)
        print_message("  %.*s %d\n", SV_ARG(run.splits.data[i].members[m].instruction->name),
                      run.splits.data[i].members[m].dimension);
    }
    fail_msg("%d candidates\n%s", (int)run.splits.count, test->instructions);
  }
  for (int64_t i = 0; i < run.splits.count; i++)
    for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) check_split(test, scope, i, parts[p]);
  arena_destroy(run.arena);
}

#endif
