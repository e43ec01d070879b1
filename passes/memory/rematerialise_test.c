/* Rematerialisation against the evaluator, with a plan in the order of the text. */
#include "passes/memory/rematerialise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked_math.h"
#include "hlo/eval/hlo_evaluator.h"
#include "hlo/infer/hlo_verifier.h"
#include "parser/hlo_parser.h"

typedef struct Case {
  const char *instructions; /* of the entry; p is f32[64] parameter(0) */
  const char *value, *peak; /* names */
  bool is_deep;
  int clones; /* 0: nothing can be done */
} Case;

static HloModule *parse(Arena *arena, DiagSink *diag, const char *instructions) {
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  const char *text = arena_printf(arena,
                                  "HloModule t\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                                  "  ROOT r = f32[] add(a, b) }\nENTRY main {\n p = f32[64] parameter(0)\n%s\n}\n",
                                  instructions);
  *file = (SourceFile){SV("test"), sv_from_cstring(text)};
  HloModule *module;
  if (hlo_parse_module(arena, shape_table_create(arena), file, diag, &module) != STATUS_OK ||
      hlo_verify(module, diag) != STATUS_OK)
    fail_msg("%.*s\n%s", SV_ARG(diag->first->message), text);
  return module;
}

static HloInstruction *find(const HloModule *module, const char *name) {
  for (int64_t i = 0; i < module->entry->instructions.count; i++) {
    if (sv_equal_cstring(module->entry->instructions.data[i]->name, name)) return module->entry->instructions.data[i];
  }
  return NULL;
}

/* Everything runs in the order of the text, is stored, and kept until its last reader has run. */
static PlannedTimes times_of(const HloModule *module, Arena *arena) {
  int64_t count = module->next_instruction_id, *at = ARENA_NEW_ARRAY(arena, int64_t, count);
  PlannedTimes times = {count, at, at, ARENA_NEW_ARRAY(arena, int64_t, count)};
  for (int64_t i = 0; i < count; i++) at[i] = times.kept_to[i] = -1;
  const HloInstructionArray *all = &module->entry->instructions;
  for (int64_t i = 0; i < all->count; i++) {
    at[all->data[i]->id] = times.kept_to[all->data[i]->id] = i;
    for (int k = 0; k < all->data[i]->operand_count; k++) times.kept_to[all->data[i]->operands[k]->id] = i;
  }
  return times;
}

static const Literal *evaluate(HloModule *module, Arena *arena, DiagSink *diag) {
  Literal *argument = literal_create(arena, module->entry->parameters.data[0]->shape);
  for (int64_t i = 0; i < 64; i++) ((float *)argument->data)[i] = (float)i / 16 - 2;
  const Literal *arguments[] = {argument};
  Literal *result;
  assert_int_equal(hlo_evaluate(arena, module, arguments, NULL, 0, diag, &result), STATUS_OK);
  return result;
}

static int count_marked(const HloModule *module) {
  int marked = 0;
  for (int64_t i = 0; i < module->entry->instructions.count; i++)
    marked += hlo_instruction_attr(module->entry->instructions.data[i], HLO_ATTR_FRONTEND_ATTRIBUTES) != NULL;
  return marked;
}

static void check_case(const Case *test) {
  Arena *arena = arena_create();
  DiagSink diag;
  bool changed;
  diag_sink_init(&diag, arena);
  HloModule *module = parse(arena, &diag, test->instructions);
  const Literal *want = evaluate(module, arena, &diag);
  PlannedTimes times = times_of(module, arena);
  HloInstruction *value = find(module, test->value);
  Rematerialisation remat = {value, times.first[find(module, test->peak)->id], &times, test->is_deep};
  uint64_t before = hlo_module_hash(module);
  assert_int_equal(rematerialise(&remat), test->clones > 0);
  if (test->clones == 0) assert_true(hlo_module_hash(module) == before);
  assert_int_equal(hlo_verify(module, &diag), STATUS_OK);
  assert_int_equal(count_marked(module), test->clones);
  HloPassContext context = {.scratch = arena, .diag = &diag, .options = &(HloPassOptions){.opt_level = 2}};
  assert_int_equal(hlo_cse_pass.run(&context, module, &changed), STATUS_OK);
  assert_int_equal(count_marked(module), test->clones);
  for (int u = 0; u < value->user_count && test->clones > 0; u++)
    assert_true(times.first[value->users[u]->id] <= remat.peak || value->users[u]->id >= times.count);
  const Literal *got = evaluate(module, arena, &diag);
  assert_memory_equal(got->data, want->data, (size_t)shape_byte_size(module->entry->root->shape));
  arena_destroy(arena);
}

static void rematerialise_clones_what_is_read_late(void **state) {
  (void)state;
  static const Case cases[] = {
      /* a chain from a parameter */
      {" e = f32[64] exponential(p)\n t = f32[64] tanh(e)\n n = f32[64] negate(t)\n s = f32[64] sine(n)\n"
       " ROOT r = f32[64] add(s, t)",
       "t", "s", false, 2},
      /* what is kept as long as that is read, not computed again */
      {" e = f32[64] exponential(p)\n t = f32[64] tanh(e)\n n = f32[64] negate(t)\n s = f32[64] sine(n)\n"
       " a = f32[64] add(s, t)\n ROOT r = f32[64] add(a, e)",
       "t", "s", false, 1},
      /* nothing reads it late */
      {" e = f32[64] exponential(p)\n t = f32[64] tanh(e)\n ROOT s = f32[64] sine(t)", "e", "s", false, 0},
      /* a product only if folds may be computed again */
      {" d = f32[64,64] dot(p, p), lhs_contracting_dims={}, rhs_contracting_dims={}\n n = f32[64,64] negate(d)\n"
       " s = f32[64,64] sine(n)\n ROOT r = f32[64,64] add(s, d)",
       "d", "s", false, 0},
      {" d = f32[64,64] dot(p, p), lhs_contracting_dims={}, rhs_contracting_dims={}\n n = f32[64,64] negate(d)\n"
       " s = f32[64,64] sine(n)\n ROOT r = f32[64,64] add(s, d)",
       "d", "s", true, 1},
      /* nor if it is compared with its own maximum: that could be another number */
      {" d = f32[64,64] dot(p, p), lhs_contracting_dims={}, rhs_contracting_dims={}\n n = f32[64,64] negate(d)\n"
       " s = f32[64,64] sine(n)\n z = f32[] constant(0)\n m = f32[] reduce(d, z), dimensions={0,1}, to_apply=add\n"
       " w = f32[64,64] broadcast(m), dimensions={}\n c = pred[64,64] compare(d, w), direction=GE\n"
       " ROOT r = f32[64,64] select(c, s, d)",
       "d", "s", true, 0},
      {" d = f32[64,64] dot(p, p), lhs_contracting_dims={}, rhs_contracting_dims={}\n n = f32[64,64] negate(d)\n"
       " s = f32[64,64] sine(n)\n z = f32[] constant(0)\n w = f32[64,64] broadcast(z), dimensions={}\n"
       " c = pred[64,64] compare(d, w), direction=GE\n e = pred[64,64] compare(d, d), direction=NE\n"
       " a = pred[64,64] or(c, e)\n ROOT r = f32[64,64] select(a, s, d)",
       "d", "s", true, 1},
      /* a broadcast of a sum that is kept: the sum is small beside it */
      {" z = f32[] constant(0)\n q = f32[] reduce(p, z), dimensions={0}, to_apply=add\n"
       " w = f32[64] broadcast(q), dimensions={}\n n = f32[64] add(w, p)\n s = f32[64] sine(n)\n"
       " ROOT r = f32[64] add(s, w)",
       "w", "s", false, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_case(&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rematerialise_clones_what_is_read_late)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
