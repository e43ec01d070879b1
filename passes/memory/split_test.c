/* Splits against the evaluator: what a module computes is the same in parts of any size. */
#include "passes/memory/split.h"

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
#include "runtime/arrays/seed_inputs.h"

enum { MOST_LARGE = 4 };

typedef struct Case {
  const char *instructions; /* of the entry; computations before it end with "ENTRY" */
  const char *large[MOST_LARGE];
  int candidates;   /* how many ways there are */
  double tolerance; /* relative; 0: bit by bit */
  const char *computations;
} Case;

typedef struct Run {
  Arena *arena;
  DiagSink diag;
  SourceFile file;
  HloModule *module;
  HloSplitArray splits;
} Run;

static const char reducers[] =
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"
    "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n"
    "less2 { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n"
    "  ROOT r = pred[] compare(a, b), direction=LT }\n";

static void read_case(Run *run, const Case *test) {
  diag_sink_init(&run->diag, run->arena);
  const char *text = arena_printf(run->arena, "HloModule t\n%s%sENTRY main {\n%s\n}\n", reducers,
                                  test->computations ? test->computations : "", test->instructions);
  run->file = (SourceFile){SV("test"), sv_from_cstring(text)};
  ShapeTable *shapes = shape_table_create(run->arena);
  if (hlo_parse_module(run->arena, shapes, &run->file, &run->diag, &run->module) != STATUS_OK)
    fail_msg("%.*s\n%s", SV_ARG(run->diag.first->message), text);
  if (hlo_verify(run->module, &run->diag) != STATUS_OK) fail_msg("%.*s\n%s", SV_ARG(run->diag.first->message), text);
}

static HloInstruction *find(const HloModule *module, const char *name) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++)
      if (sv_equal_cstring(list->data[i]->name, name)) return list->data[i];
  }
  return NULL;
}

static void find_splits(Run *run, const Case *test) {
  const HloInstruction *large[MOST_LARGE];
  int count = 0;
  for (; count < MOST_LARGE && test->large[count] != NULL; count++) {
    large[count] = find(run->module, test->large[count]);
    assert_non_null(large[count]);
  }
  run->splits = hlo_find_splits(run->module, large, count, run->arena);
}

static const Literal *evaluate(Run *run, const HloModule *module) {
  const HloInstructionArray *parameters = &module->entry->parameters;
  const Literal **arguments = ARENA_NEW_ARRAY(run->arena, const Literal *, parameters->count + 1);
  for (int64_t p = 0; p < parameters->count; p++) {
    const Shape *shape = parameters->data[p]->shape;
    Literal *value = literal_create(run->arena, shape);
    SeedRule rule = SEED_RULE_DEFAULT;
    assert_int_equal(
        seed_generate(run->arena, &rule, 7, p, shape->type, shape->dims, shape->rank, &run->diag, value->data),
        STATUS_OK);
    arguments[p] = value;
  }
  Literal *result;
  if (hlo_evaluate(run->arena, module, arguments, NULL, 0, &run->diag, &result) != STATUS_OK)
    fail_msg("%.*s", SV_ARG(run->diag.first->message));
  return result;
}

static bool is_near(const Literal *a, const Literal *b, double tolerance) {
  if (tolerance == 0) return literal_equal(a, b);
  for (int64_t i = 0; i < shape_element_count(a->shape); i++) {
    double want = literal_get_double(a, i);
    if (!(fabs(literal_get_double(b, i) - want) <= tolerance * (1 + fabs(want)))) return false;
  }
  return true;
}

static const char *text_of(const HloModule *module, Arena *arena) {
  StringBuilder out;
  sb_init(&out, arena);
  hlo_module_print(&out, module, &HLO_PRINT_DEFAULT);
  sb_append_char(&out, '\0');
  return out.data;
}

/* Candidate |number| in |parts|: the module is correct, loops, has the large values no more, and computes the same. */
static void check_split(const Case *test, int64_t number, int64_t parts) {
  Run run = {.arena = arena_create()};
  read_case(&run, test);
  const Literal *want = evaluate(&run, run.module);
  find_splits(&run, test);
  const HloSplit *split = &run.splits.data[number];
  bool is_whole = split->bytes_gone == 0; /* only of what is there at the peak */
  assert_false(is_whole);
  hlo_apply_split(run.module, split, parts, run.arena);
  const char *text = text_of(run.module, run.arena);
  if (hlo_verify(run.module, &run.diag) != STATUS_OK) fail_msg("%.*s\n%s", SV_ARG(run.diag.first->message), text);
  assert_non_null(strstr(text, " while("));
  if (!is_near(want, evaluate(&run, run.module), test->tolerance))
    fail_msg("candidate %d in %d parts computes something else:\n%s", (int)number, (int)parts, text);
  arena_destroy(run.arena);
}

static void check_case(const Case *test) {
  static const int64_t parts[] = {2, 3, 5, 1000};
  Run run = {.arena = arena_create()};
  read_case(&run, test);
  find_splits(&run, test);
  if (run.splits.count != test->candidates) {
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
    for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) check_split(test, i, parts[p]);
  arena_destroy(run.arena);
}

/* --- kinds --- */

static const Case cases[] = {
    /* what stands between two operations that keep rows */
    {"p = f32[12,10] parameter(0)\n zero = f32[] constant(0)\n e = f32[12,10] exponential(p)\n"
     "ROOT r = f32[12] reduce(e, zero), dimensions={1}, to_apply=add",
     {"e"},
     2,
     1e-6,
     NULL},
    /* attention: rows of the scores */
    {"q = f32[13,4] parameter(0)\n k = f32[11,4] parameter(1)\n v = f32[11,5] parameter(2)\n"
     "s = f32[13,11] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "low = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
     "m = f32[13] reduce(s, low), dimensions={1}, to_apply=max\n mb = f32[13,11] broadcast(m), dimensions={0}\n"
     "d = f32[13,11] subtract(s, mb)\n e = f32[13,11] exponential(d)\n"
     "t = f32[13] reduce(e, zero), dimensions={1}, to_apply=add\n tb = f32[13,11] broadcast(t), dimensions={0}\n"
     "w = f32[13,11] divide(e, tb)\n"
     "ROOT r = f32[13,5] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     {"s", "e", "w"},
     1,
     0,
     NULL},
};

static void splits_compute_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) check_case(&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(splits_compute_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
