#include "codegen/ir/ir_address.h"

#include "codegen/ir/ir_testing.h"

static void settle(const IrText *text) {
  IrBlocks blocks = ir_blocks_find(text->function, text->arena);
  ir_addresses_settle(&blocks, text->arena);
  ir_text_verify(text);
}

/* Elements 40 i + j + 3 and 40 i + j + 4, that is (j + 40 i) + 3 and (j + 4) + 40 i, and element i of another array. */
static const char *const rows =
    "define void @f(ptr %x, ptr %y) {\n"
    "entry:\n  br label %outer\n"
    "outer:\n  %i = phi i64 [ 0, %entry ], [ %i2, %latch ]\n  br label %inner\n"
    "inner:\n  %j = phi i64 [ 0, %outer ], [ %j2, %inner ]\n"
    "  %a = mul i64 %i, 40\n  %b = add i64 %j, %a\n  %c = add i64 %b, 3\n"
    "  %p = getelementptr float, ptr %x, i64 %c\n  %v = load float, ptr %p\n"
    "  %d = add i64 %j, 4\n  %e = mul i64 %i, 40\n  %g = add i64 %d, %e\n"
    "  %q = getelementptr float, ptr %x, i64 %g\n  store float %v, ptr %q\n"
    "  %r = getelementptr float, ptr %y, i64 %i\n  store float %v, ptr %r\n"
    "  %j2 = add i64 %j, 1\n  %more = icmp slt i64 %j2, 9\n  br i1 %more, label %inner, label %latch\n"
    "latch:\n  %i2 = add i64 %i, 1\n  %next = icmp slt i64 %i2, 7\n  br i1 %next, label %outer, label %end\n"
    "end:\n  ret void\n}\n";

static void ir_addresses_are_sums_where_their_loops_begin(void **state) {
  (void)state;
  IrText text = ir_text_read(rows);
  settle(&text);
  LLVMBasicBlockRef outer = ir_text_block(&text, "outer"), inner = ir_text_block(&text, "inner");
  assert_int_equal(ir_text_count(outer, LLVMMul), 1); /* 40 i, for both */
  assert_int_equal(ir_text_count(inner, LLVMMul), 0);
  assert_int_equal(ir_text_count(inner, LLVMAdd), 2); /* 40 i + j, for both, and the counter's step */
  /* x + (40 i + j), twice, each with its constant, and y + i */
  assert_int_equal(ir_text_count(inner, LLVMGetElementPtr), 5);
  ir_text_end(&text);
}

/* 2 i - 2 i + 5: nothing but the constant is left. */
static void ir_addresses_leave_out_what_cancels(void **state) {
  (void)state;
  IrText text = ir_text_read(
      "define float @f(ptr %x, i64 %n) {\n"
      "entry:\n  %i = add i64 %n, 0\n  %a = mul i64 %n, 2\n  %b = mul i64 %n, -2\n"
      "  %c = add i64 %a, %b\n  %d = add i64 %c, 5\n"
      "  %p = getelementptr float, ptr %x, i64 %d\n  %v = load float, ptr %p\n  ret float %v\n}\n");
  settle(&text);
  LLVMBasicBlockRef entry = ir_text_block(&text, "entry");
  assert_int_equal(ir_text_count(entry, LLVMAdd) + ir_text_count(entry, LLVMMul), 0);
  LLVMValueRef address = LLVMGetFirstInstruction(entry);
  assert_int_equal(LLVMGetInstructionOpcode(address), LLVMGetElementPtr);
  assert_int_equal(LLVMConstIntGetSExtValue(LLVMGetOperand(address, 1)), 5);
  ir_text_end(&text);
}

/* A loop that two blocks lead to has no place before it: its addresses stay as they are. */
static void ir_addresses_stay_where_a_loop_has_no_place_before(void **state) {
  (void)state;
  IrText text = ir_text_read(
      "define void @f(ptr %x, i1 %c, i64 %n) {\n"
      "entry:\n  br i1 %c, label %left, label %right\n"
      "left:\n  br label %loop\n"
      "right:\n  br label %loop\n"
      "loop:\n  %a = mul i64 %n, 8\n  %b = add i64 %a, 1\n"
      "  %p = getelementptr float, ptr %x, i64 %b\n  store float 0.0, ptr %p\n"
      "  br i1 %c, label %loop, label %end\n"
      "end:\n  ret void\n}\n");
  settle(&text);
  LLVMBasicBlockRef loop = ir_text_block(&text, "loop");
  assert_int_equal(ir_text_count(loop, LLVMMul), 1);
  assert_int_equal(ir_text_count(loop, LLVMGetElementPtr), 1);
  ir_text_end(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ir_addresses_are_sums_where_their_loops_begin),
      cmocka_unit_test(ir_addresses_leave_out_what_cancels),
      cmocka_unit_test(ir_addresses_stay_where_a_loop_has_no_place_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
