#include "codegen/ir/ir_blocks.h"

#include "codegen/ir/ir_testing.h"

/* A loop in a loop, a loop after both, and a block that nothing leads to.  The blocks stand in another order. */
static const char *const loops =
    "define void @f(i1 %c) {\n"
    "entry:\n  br label %outer\n"
    "last:\n  br i1 %c, label %last, label %end\n"
    "inner:\n  br i1 %c, label %inner, label %latch\n"
    "outer:\n  br label %inner\n"
    "lost:\n  br label %end\n"
    "latch:\n  br i1 %c, label %outer, label %last\n"
    "end:\n  ret void\n}\n";

/* |header| is entered from two blocks. */
static const char *const entered_twice =
    "define void @f(i1 %c) {\n"
    "entry:\n  br i1 %c, label %left, label %right\n"
    "left:\n  br label %header\n"
    "right:\n  br label %header\n"
    "header:\n  br i1 %c, label %header, label %end\n"
    "end:\n  ret void\n}\n";

static int place_of(const IrText *text, const IrBlocks *blocks, const char *name) {
  return ir_blocks_place(blocks, LLVMGetBasicBlockTerminator(ir_text_block(text, name)));
}

static void ir_blocks_stand_after_their_dominators(void **state) {
  (void)state;
  IrText text = ir_text_read(loops);
  IrBlocks blocks = ir_blocks_find(text.function, text.arena);
  static const char *const order[] = {"entry", "outer", "inner", "latch", "last", "end"};
  assert_int_equal(blocks.count, 6);
  for (int b = 0; b < 6; b++) assert_string_equal(LLVMGetBasicBlockName(blocks.blocks[b]), order[b]);
  for (int b = 0; b < 6; b++) assert_int_equal(blocks.dominators[b], b == 0 ? 0 : b - 1);
  assert_int_equal(place_of(&text, &blocks, "lost"), -1);
  ir_text_end(&text);
}

static void ir_blocks_find_loops_in_loops(void **state) {
  (void)state;
  IrText text = ir_text_read(loops);
  IrBlocks blocks = ir_blocks_find(text.function, text.arena);
  assert_int_equal(blocks.loop_count, 3);
  int outer = blocks.innermost[place_of(&text, &blocks, "latch")];
  int inner = blocks.innermost[place_of(&text, &blocks, "inner")];
  int last = blocks.innermost[place_of(&text, &blocks, "last")];
  assert_int_equal(blocks.innermost[place_of(&text, &blocks, "outer")], outer);
  assert_int_equal(blocks.innermost[place_of(&text, &blocks, "entry")], -1);
  assert_int_equal(blocks.innermost[place_of(&text, &blocks, "end")], -1);
  assert_int_equal(blocks.loops[outer].parent, -1);
  assert_int_equal(blocks.loops[inner].parent, outer);
  assert_int_equal(blocks.loops[last].parent, -1);
  assert_int_equal(blocks.loops[outer].before, place_of(&text, &blocks, "entry"));
  assert_int_equal(blocks.loops[inner].before, place_of(&text, &blocks, "outer"));
  assert_int_equal(blocks.loops[last].before, place_of(&text, &blocks, "latch"));
  assert_true(ir_blocks_is_around(&blocks, outer, inner) && ir_blocks_is_around(&blocks, -1, last));
  assert_false(ir_blocks_is_around(&blocks, inner, outer) || ir_blocks_is_around(&blocks, outer, last));
  assert_false(ir_blocks_is_innermost(&blocks, outer));
  assert_true(ir_blocks_is_innermost(&blocks, inner) && ir_blocks_is_innermost(&blocks, last));
  ir_text_end(&text);
}

static void ir_blocks_know_loops_without_one_block_before(void **state) {
  (void)state;
  IrText text = ir_text_read(entered_twice);
  IrBlocks blocks = ir_blocks_find(text.function, text.arena);
  assert_int_equal(blocks.loop_count, 1);
  assert_int_equal(blocks.loops[0].header, place_of(&text, &blocks, "header"));
  assert_int_equal(blocks.loops[0].before, -1);
  assert_int_equal(blocks.dominators[blocks.loops[0].header], 0); /* neither way to it */
  ir_text_end(&text);
}

static void ir_blocks_arrange_puts_loops_together(void **state) {
  (void)state;
  IrText text = ir_text_read(loops);
  IrBlocks blocks = ir_blocks_find(text.function, text.arena);
  ir_blocks_arrange(&blocks);
  LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(text.function);
  for (int b = 0; b < blocks.count; b++, at = LLVMGetNextBasicBlock(at)) assert_ptr_equal(at, blocks.blocks[b]);
  ir_text_end(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ir_blocks_stand_after_their_dominators),
      cmocka_unit_test(ir_blocks_find_loops_in_loops),
      cmocka_unit_test(ir_blocks_know_loops_without_one_block_before),
      cmocka_unit_test(ir_blocks_arrange_puts_loops_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
