/* Short rows joined with the dim around them: what is read where, and which are not joined. */
#include "codegen/kernel/kernel_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/kernel/kernel_draft.h"

static HloInstruction source = {.name = {"rows", 4}};

/* |rows| rows of |columns| numbers, each from the one at the opposite place of its row, less a number of the row and
 * one of the place; stored as rows, or (|turns|) as columns. */
static const Kernel *differences(Arena *arena, int64_t rows, int64_t columns, bool turns) {
  KernelDraft draft;
  DiagSink diag;
  const Kernel *kernel;
  kernel_draft_init(&draft, arena, &source);
  const int64_t counts[] = {rows * columns, rows, columns};
  for (int b = 0; b < 3; b++)
    kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, counts[b], b, 0});
  int32_t result = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, rows * columns, -1, 0});
  int32_t stage = kernel_draft_add_stage(&draft);
  IndexExpr row = kernel_draft_add_dim(&draft, rows, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr column = kernel_draft_add_dim(&draft, columns, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr first = index_add_constant(&draft.space, index_scale(&draft.space, row, columns), columns - 1);
  IndexExpr opposite = index_add(&draft.space, first, index_scale(&draft.space, column, -1));
  const IndexExpr addresses[] = {opposite, row, column};
  int32_t sum = -1;
  for (int b = 0; b < 3; b++) {
    KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_F32),
                difference = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
    load.buffer = b;
    load.address = addresses[b];
    int32_t loaded = kernel_draft_add_value(&draft, load);
    difference.opcode = HLO_SUBTRACT;
    difference.operand_count = 2;
    difference.operands[0] = sum;
    difference.operands[1] = loaded;
    sum = b == 0 ? loaded : kernel_draft_add_value(&draft, difference);
  }
  IndexExpr place = index_add(&draft.space, index_scale(&draft.space, row, columns), column);
  IndexExpr turned = index_add(&draft.space, index_scale(&draft.space, column, rows), row);
  kernel_draft_add_store(&draft, stage, (KernelStore){result, turns ? turned : place, sum, -1});
  diag_sink_init(&diag, arena);
  assert_int_equal(kernel_draft_finish(&draft, &diag, &kernel), STATUS_OK);
  return kernel;
}

static void rows_joined_are_read_at_quotients_and_remainders(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  const Kernel *joined = kernel_join_rows(arena, differences(arena, 100, 3, false));
  assert_non_null(joined);
  assert_int_equal(kernel_verify(joined, &diag), STATUS_OK);
  StringView text = kernel_text(arena, joined);
  assert_string_equal(arena_printf(arena, "%.*s", SV_ARG(text)),
                      "kernel b0 f32[300] operand, b1 f32[100] operand, b2 f32[3] operand, b3 f32[300] result\n"
                      "outer d0 300 parallel:\n"
                      "  v0 = f32 load b0[3*((d0) / 3) + -1*((d0) % 3) + 2]\n"
                      "  v1 = f32 load b1[((d0) / 3)]\n"
                      "  v2 = f32 subtract v0 v1\n"
                      "  v3 = f32 load b2[((d0) % 3)]\n"
                      "  v4 = f32 subtract v2 v3\n"
                      "stage 0:\n"
                      "  store b3[d0] = v4\n");
  arena_destroy(arena);
}

static void rows_long_few_or_stored_otherwise_stay(void **state) {
  (void)state;
  Arena *arena = arena_create();
  assert_non_null(kernel_join_rows(arena, differences(arena, 100, 15, false)));
  assert_null(kernel_join_rows(arena, differences(arena, 100, 16, false)));
  assert_null(kernel_join_rows(arena, differences(arena, 7, 4, false)));
  assert_null(kernel_join_rows(arena, differences(arena, 100, 3, true)));
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_joined_are_read_at_quotients_and_remainders),
      cmocka_unit_test(rows_long_few_or_stored_otherwise_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
