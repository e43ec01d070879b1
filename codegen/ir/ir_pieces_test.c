#include "codegen/ir/ir_pieces.h"

#include "codegen/ir/ir_testing.h"

/* 16 floats: a sum, a shuffle that turns the first half, or changes lanes of both, a store. */
#define SUM_AND_SHUFFLE(lanes)                                                    \
  "define void @f(ptr %x, ptr %y) {\n"                                            \
  "entry:\n  %a = load <16 x float>, ptr %x, align 4\n"                           \
  "  %b = fadd <16 x float> %a, %a\n"                                             \
  "  %c = shufflevector <16 x float> %b, <16 x float> poison, <16 x i32> <" lanes \
  ">\n"                                                                           \
  "  store <16 x float> %c, ptr %y, align 4\n  ret void\n}\n"

static const char *const halves = SUM_AND_SHUFFLE(
    "i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0, "
    "i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15");
static const char *const across = SUM_AND_SHUFFLE(
    "i32 15, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0, "
    "i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 7");

static void ir_pieces_fit_into_registers(void **state) {
  (void)state;
  IrText text = ir_text_read(halves);
  IrBlocks blocks = ir_blocks_find(text.function, text.arena);
  assert_int_equal(ir_pieces_lanes(&blocks, 512), 16);
  assert_int_equal(ir_pieces_lanes(&blocks, 256), 8);
  assert_int_equal(ir_pieces_lanes(&blocks, 128), 4); /* quarters change places, each as a whole */
  ir_text_end(&text);
}

static void ir_pieces_do_not_mix(void **state) {
  (void)state;
  IrText text = ir_text_read(across);
  IrBlocks blocks = ir_blocks_find(text.function, text.arena);
  assert_int_equal(ir_pieces_lanes(&blocks, 512), 16);
  assert_int_equal(ir_pieces_lanes(&blocks, 256), 0);
  ir_text_end(&text);
}

static void ir_pieces_cut_does_all_lanes_once(void **state) {
  (void)state;
  IrText text = ir_text_read(halves);
  IrBlocks blocks = ir_blocks_find(text.function, text.arena);
  ir_pieces_cut(&blocks, 8, text.arena);
  ir_text_verify(&text);
  LLVMBasicBlockRef entry = ir_text_block(&text, "entry");
  assert_int_equal(ir_text_count(entry, LLVMLoad), 2);
  assert_int_equal(ir_text_count(entry, LLVMFAdd), 2);
  assert_int_equal(ir_text_count(entry, LLVMStore), 2);
  LLVMValueRef at = LLVMGetFirstInstruction(entry);
  for (; at != NULL; at = LLVMGetNextInstruction(at)) {
    LLVMTypeRef type = LLVMTypeOf(at);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) assert_int_equal(LLVMGetVectorSize(type), 8);
  }
  ir_text_end(&text);
}

/* Taking a half leaves nothing when halves are pieces; turning it does. */
static void ir_pieces_know_shuffles_of_whole_pieces(void **state) {
  (void)state;
  IrText text = ir_text_read(
      "define void @f(<8 x float> %x) {\n"
      "entry:\n  %upper = shufflevector <8 x float> %x, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, "
      "i32 7>\n  %turned = shufflevector <8 x float> %x, <8 x float> poison, <4 x i32> <i32 7, i32 6, i32 5, "
      "i32 4>\n  ret void\n}\n");
  LLVMValueRef upper = LLVMGetFirstInstruction(ir_text_block(&text, "entry"));
  assert_true(ir_pieces_keeps_lanes(upper, 4));
  assert_false(ir_pieces_keeps_lanes(upper, 8)); /* nothing is cut */
  assert_false(ir_pieces_keeps_lanes(LLVMGetNextInstruction(upper), 4));
  ir_text_end(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ir_pieces_fit_into_registers),
      cmocka_unit_test(ir_pieces_do_not_mix),
      cmocka_unit_test(ir_pieces_cut_does_all_lanes_once),
      cmocka_unit_test(ir_pieces_know_shuffles_of_whole_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
