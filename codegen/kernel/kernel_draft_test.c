/* Kernels made by hand through a draft: what is shared, what finishing adds, what it refuses. */
#include "codegen/kernel/kernel_draft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static HloInstruction source = {.name = {"sums", 4}};

static KernelDraft draft_create(void) {
  KernelDraft draft;
  kernel_draft_init(&draft, arena_create(), &source);
  return draft;
}

static const Kernel *finish(KernelDraft *draft, Status expected, const char *code) {
  const Kernel *kernel;
  DiagSink diag;
  diag_sink_init(&diag, draft->arena);
  assert_int_equal(kernel_draft_finish(draft, &diag, &kernel), expected);
  if (code != NULL) assert_string_equal(diag.first->code, code);
  return kernel;
}

static KernelValue load_of(int32_t buffer, IndexExpr address) {
  KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_F32);
  load.buffer = buffer;
  load.address = address;
  return load;
}

static int32_t add_apply(KernelDraft *draft, HloOpcode opcode, int32_t left, int32_t right) {
  KernelValue value = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
  value.opcode = opcode;
  value.operand_count = 2;
  value.operands[0] = left;
  value.operands[1] = right;
  return kernel_draft_add_value(draft, value);
}

static int32_t add_accumulator(KernelDraft *draft, int32_t fold, bool is_final) {
  KernelValue value = kernel_value_blank(KERNEL_ACCUMULATOR, TYPE_F32);
  value.fold = fold;
  value.params[0] = is_final;
  return kernel_draft_add_value(draft, value);
}

/* The sums of |rows| rows of |columns|. */
static KernelDraft row_sums(int64_t rows, int64_t columns) {
  KernelDraft draft = draft_create();
  int32_t x = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, rows * columns, 0, 0});
  int32_t sums = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, rows, -1, 0});
  int32_t folding = kernel_draft_add_stage(&draft), storing = kernel_draft_add_stage(&draft);
  IndexExpr row = kernel_draft_add_dim(&draft, rows, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr column = kernel_draft_add_dim(&draft, columns, KERNEL_REDUCTION, folding);
  IndexExpr address = index_add(&draft.space, index_scale(&draft.space, row, columns), column);
  int32_t element = kernel_draft_add_value(&draft, load_of(x, address));
  int32_t seed = kernel_draft_add_value(&draft, kernel_value_blank(KERNEL_CONSTANT, TYPE_F32));
  int32_t fold = kernel_draft_add_fold(&draft, (KernelFold){.type = TYPE_F32, .stage = folding, .seed = seed});
  draft.folds.data[fold].next = add_apply(&draft, HLO_ADD, add_accumulator(&draft, fold, false), element);
  kernel_draft_add_store(&draft, storing, (KernelStore){sums, row, add_accumulator(&draft, fold, true), -1});
  return draft;
}

static void kernel_draft_finish_sets_stages_and_dims(void **state) {
  (void)state;
  KernelDraft draft = row_sums(64, 32);
  const Kernel *kernel = finish(&draft, STATUS_OK, NULL);
  const struct {
    int stage;
    uint64_t dims;
  } expected[] = {{0, 3}, {KERNEL_OUTER, 0}, {0, 3}, {0, 3}, {1, 1}}; /* load, seed, sum so far, next, sum */
  assert_int_equal(kernel->dim_count, 2);
  assert_int_equal(kernel->stage_count, 2);
  assert_int_equal(kernel->value_count, 5);
  for (int v = 0; v < 5; v++) {
    assert_int_equal(kernel->values[v].stage, expected[v].stage);
    assert_int_equal(kernel->values[v].dims, expected[v].dims);
  }
  arena_destroy(draft.arena);
}

static void kernel_draft_finish_verifies(void **state) {
  (void)state;
  KernelDraft small = row_sums(64, 32), open = row_sums(64, 32);
  small.buffers.data[0].element_count--;
  finish(&small, STATUS_INVALID, "kernel-address");
  open.folds.data[0].next = -1;
  finish(&open, STATUS_INVALID, "kernel-fold");
  arena_destroy(small.arena);
  arena_destroy(open.arena);
}

static void kernel_draft_add_dim_makes_no_loop_of_one_round(void **state) {
  (void)state;
  KernelDraft draft = draft_create();
  int64_t value;
  assert_true(index_is_constant(kernel_draft_add_dim(&draft, 1, KERNEL_PARALLEL, KERNEL_OUTER), &value));
  assert_int_equal(value, 0);
  assert_int_equal(draft.dims.count, 0);
  assert_false(index_is_constant(kernel_draft_add_dim(&draft, 2, KERNEL_PARALLEL, KERNEL_OUTER), &value));
  assert_int_equal(draft.dims.count, 1);
  arena_destroy(draft.arena);
}

/* What a stage leaves in scratch is there after it, whether or not the address moves in the stage that reads. */
static void kernel_draft_finish_waits_for_scratch(void **state) {
  (void)state;
  KernelDraft draft = draft_create();
  int32_t x = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, 8, 0, 0});
  int32_t row = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_SCRATCH, TYPE_F32, 8, -1, -1});
  int32_t result = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, 1, -1, 0});
  int32_t filling = kernel_draft_add_stage(&draft), reading = kernel_draft_add_stage(&draft);
  IndexExpr i = kernel_draft_add_dim(&draft, 8, KERNEL_PARALLEL, filling);
  int32_t element = kernel_draft_add_value(&draft, load_of(x, i));
  kernel_draft_add_store(&draft, filling, (KernelStore){row, i, element, -1});
  int32_t sixth = kernel_draft_add_value(&draft, load_of(row, index_constant(5)));
  int32_t first = kernel_draft_add_value(&draft, load_of(x, index_constant(0)));
  int32_t product = add_apply(&draft, HLO_MULTIPLY, sixth, first);
  kernel_draft_add_store(&draft, reading, (KernelStore){result, index_constant(0), product, -1});
  const Kernel *kernel = finish(&draft, STATUS_OK, NULL);
  assert_int_equal(kernel->values[sixth].stage, reading);
  assert_int_equal(kernel->values[product].stage, reading);
  assert_int_equal(kernel->values[first].stage, KERNEL_OUTER);
  arena_destroy(draft.arena);
}

static void kernel_draft_share_value_finds_equal_ones(void **state) {
  (void)state;
  KernelDraft draft = draft_create();
  int32_t x = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, 64, 0, 0});
  IndexExpr i = kernel_draft_add_dim(&draft, 32, KERNEL_PARALLEL, KERNEL_OUTER);
  int32_t first = kernel_draft_share_value(&draft, load_of(x, i));
  int32_t other = kernel_draft_share_value(&draft, load_of(x, index_add_constant(&draft.space, i, 32)));
  assert_int_not_equal(first, other);
  assert_int_equal(kernel_draft_share_value(&draft, load_of(x, i)), first);
  assert_int_equal(draft.values.count, 2);
  assert_int_equal(kernel_draft_add_value(&draft, load_of(x, i)), 2); /* is not shared */
  arena_destroy(draft.arena);
}

static void kernel_draft_bind_buffer_finds_the_bound(void **state) {
  (void)state;
  KernelDraft draft = draft_create();
  KernelBuffer operand = {KERNEL_OPERAND, TYPE_F32, 8, 0, 0}, leaf = {KERNEL_OPERAND, TYPE_F32, 8, 0, 1};
  assert_int_equal(kernel_draft_bind_buffer(&draft, operand), 0);
  assert_int_equal(kernel_draft_bind_buffer(&draft, leaf), 1);
  assert_int_equal(kernel_draft_bind_buffer(&draft, operand), 0);
  assert_int_equal(kernel_draft_add_buffer(&draft, operand), 2);
  arena_destroy(draft.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_draft_finish_sets_stages_and_dims),
      cmocka_unit_test(kernel_draft_finish_verifies),
      cmocka_unit_test(kernel_draft_add_dim_makes_no_loop_of_one_round),
      cmocka_unit_test(kernel_draft_finish_waits_for_scratch),
      cmocka_unit_test(kernel_draft_share_value_finds_equal_ones),
      cmocka_unit_test(kernel_draft_bind_buffer_finds_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
