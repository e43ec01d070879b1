/* Kernels of several instructions that take turns. */
#include "codegen/kernel/kernel_turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/kernel/kernel_draft.h"
#include "codegen/kernel/kernel_strip.h"

static HloInstruction first = {.name = {"first", 5}}, second = {.name = {"second", 6}}, third = {.name = {"third", 5}};

/* A Kernel that moves |count| numbers. */
static const Kernel *moves(Arena *arena, const HloInstruction *of, int64_t count) {
  KernelDraft draft;
  DiagSink diag;
  const Kernel *kernel;
  kernel_draft_init(&draft, arena, of);
  int32_t from = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, count, 0, 0});
  int32_t to = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, count, -1, 0});
  int32_t stage = kernel_draft_add_stage(&draft);
  IndexExpr place = kernel_draft_add_dim(&draft, count, KERNEL_PARALLEL, KERNEL_OUTER);
  KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_F32);
  load.buffer = from;
  load.address = place;
  kernel_draft_add_store(&draft, stage, (KernelStore){to, place, kernel_draft_add_value(&draft, load), -1});
  diag_sink_init(&diag, arena);
  assert_int_equal(kernel_draft_finish(&draft, &diag, &kernel), STATUS_OK);
  return kernel;
}

static void check_name(Arena *arena, const KernelUse *use, const char *expected) {
  StringView name = kernel_use_name(arena, use);
  assert_string_equal(arena_printf(arena, "%.*s", SV_ARG(name)), expected);
}

static void strips_take_turns(void **state) {
  (void)state;
  Arena *arena = arena_create();
  KernelTable *table = kernel_table_create(arena);
  const HloInstruction *instructions[] = {&first, &second, &third};
  for (int i = 0; i < 3; i++) {
    const Kernel *kernel = moves(arena, instructions[i], i == 1 ? 4 : 8);
    kernel_table_add(table, instructions[i], &kernel, 1);
  }
  const KernelUse *uses[3];
  for (int i = 0; i < 3; i++) uses[i] = kernel_table_find(table, instructions[i])->uses;
  const KernelStrip halves[] = {{.first = 0, .extent = 4}, {.first = 4, .extent = 4}};
  const KernelCut cuts[] = {{uses[0], 2, halves}, {uses[2], 2, halves}};
  KernelTable *cut = kernel_table_cut(arena, table, cuts, 2);
  const KernelTurn turns[] = {{uses[1], 0}, {uses[0], 0}, {uses[2], 0}, {uses[0], 1}, {uses[2], 1}};
  kernel_table_take_turns(cut, &(KernelTurns){&third, 5, turns});
  assert_true(kernel_table_find(cut, &first)->is_elsewhere);
  assert_int_equal(kernel_table_find(cut, &second)->count, 0);
  const KernelUses *row = kernel_table_find(cut, &third);
  assert_int_equal(row->count, 5);
  assert_false(row->is_elsewhere);
  const char *names[] = {"second", "first[0+4]", "third[0+4]", "first[4+4]", "third[4+4]"};
  for (int i = 0; i < 5; i++) check_name(arena, &row->uses[i], names[i]);
  assert_ptr_equal(row->uses[3].instruction, &first);
  assert_true(row->uses[0].is_moved);
  assert_int_equal(kernel_table_find(table, &first)->count, 1); /* the table before is as it was */
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(strips_take_turns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
