/* Strips of Kernels: which arrays they have a part of, and where these are read and written. */
#include "codegen/kernel/kernel_strip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/kernel/kernel_draft.h"

static HloInstruction source = {.name = {"rows", 4}};

/* |rows| rows of |columns| numbers, each plus one of its column: of an array of rows, or (|turns|) of columns. */
static const Kernel *sums(Arena *arena, int64_t rows, int64_t columns, bool turns) {
  KernelDraft draft;
  DiagSink diag;
  const Kernel *kernel;
  kernel_draft_init(&draft, arena, &source);
  diag_sink_init(&diag, arena);
  int32_t x = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, rows * columns, 0, 0});
  int32_t bias = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, columns, 1, 0});
  int32_t result = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, rows * columns, -1, 0});
  int32_t stage = kernel_draft_add_stage(&draft);
  IndexExpr row = kernel_draft_add_dim(&draft, rows, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr column = kernel_draft_add_dim(&draft, columns, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr place = index_add(&draft.space, index_scale(&draft.space, row, columns), column);
  IndexExpr turned = index_add(&draft.space, index_scale(&draft.space, column, rows), row);
  KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_F32), sum = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
  sum.opcode = HLO_ADD;
  sum.operand_count = 2;
  load.buffer = x;
  load.address = turns ? turned : place;
  sum.operands[0] = kernel_draft_add_value(&draft, load);
  load.buffer = bias;
  load.address = column;
  sum.operands[1] = kernel_draft_add_value(&draft, load);
  int32_t stored = kernel_draft_add_value(&draft, sum);
  kernel_draft_add_store(&draft, stage, (KernelStore){result, place, stored, -1});
  assert_int_equal(kernel_draft_finish(&draft, &diag, &kernel), STATUS_OK);
  return kernel;
}

static void check_text(Arena *arena, const Kernel *kernel, const char *expected) {
  StringView text = kernel_text(arena, kernel);
  assert_string_equal(arena_printf(arena, "%.*s", SV_ARG(text)), expected);
}

static void strips_have_parts_of_rows(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = sums(arena, 8, 5, false);
  int64_t pieces[3];
  assert_true(kernel_strip_pieces(kernel, pieces));
  assert_int_equal(pieces[0], 5);
  assert_int_equal(pieces[1], 0);
  assert_int_equal(pieces[2], 5);
  const Kernel *first = kernel_strip_make(arena, kernel, (KernelStrip){0, 3});
  assert_int_equal(first->buffers[0].element_count, 15);
  assert_int_equal(first->buffers[1].element_count, 5);
  StringView text = kernel_text(arena, first);
  const Kernel *last = kernel_strip_make(arena, kernel, (KernelStrip){5, 3});
  check_text(arena, last, arena_printf(arena, "%.*s", SV_ARG(text)));
  check_text(arena, last, arena_printf(arena, "%.*s", SV_ARG(kernel_text(arena, sums(arena, 3, 5, false)))));
  arena_destroy(arena);
}

/* Of an array that is read across, a strip reads other elements than the first one does. */
static void strips_read_across(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = sums(arena, 8, 5, true);
  int64_t pieces[3], lower, upper;
  assert_true(kernel_strip_pieces(kernel, pieces));
  assert_int_equal(pieces[0], 0);
  assert_int_equal(pieces[2], 5);
  const Kernel *strip = kernel_strip_make(arena, kernel, (KernelStrip){5, 3});
  assert_int_equal(strip->buffers[0].element_count, 40);
  assert_int_equal(strip->buffers[2].element_count, 15);
  index_range(&strip->space, strip->values[0].address, &lower, &upper);
  assert_int_equal(lower, 5);      /* column 0, row 5 */
  assert_int_equal(upper, 32 + 7); /* column 4, row 7 */
  arena_destroy(arena);
}

static void names_of_strips_are_read(void **state) {
  (void)state;
  KernelStrip strip;
  assert_true(kernel_strip_read(SV("[12+30]"), &strip));
  assert_int_equal(strip.first, 12);
  assert_int_equal(strip.extent, 30);
  assert_false(kernel_strip_read(SV("[12]"), &strip));
  assert_false(kernel_strip_read(SV("[+3]"), &strip));
  assert_false(kernel_strip_read(SV("[1+-3]"), &strip));
  assert_false(kernel_strip_read(SV("12+30"), &strip));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strips_have_parts_of_rows),
      cmocka_unit_test(strips_read_across),
      cmocka_unit_test(names_of_strips_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
