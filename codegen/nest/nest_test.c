/* Functions as the emitter writes them: which get a body of assembly, and that it computes what C does. */
#include "codegen/nest/nest.h"

#include "codegen/ir/ir_testing.h"
#include "codegen/llvm/llvm_jit.h"
#include "codegen/llvm/llvm_target.h"
#include "codegen/target/cpu_level.h"

#define TEST                                                              \
  "define void @test(ptr %x, ptr %y) {\n  call void @f(ptr %x, ptr %y)\n" \
  "  ret void\n}\n"                                                       \
  "attributes #0 = { noinline nounwind \"xlac-short\" }\n"

/* y[i, j] = 2 x[i - 1, j] where there is such a row, and 0 elsewhere: 6 rows of 24, 4 of x, by eights. */
static const char *const rows =
    "define internal void @f(ptr %x, ptr %y) #0 {\n"
    "entry:\n  br label %outer\n"
    "outer:\n  %i = phi i64 [ 0, %entry ], [ %i2, %latch ]\n"
    "  %before = add i64 %i, -1\n  %guard = icmp ult i64 %before, 4\n  br label %inner\n"
    "inner:\n  %j = phi i64 [ 0, %outer ], [ %j2, %inner ]\n"
    "  %row = mul i64 %i, 24\n  %shifted = add i64 %row, -24\n  %from = add i64 %shifted, %j\n"
    "  %safe = select i1 %guard, i64 %from, i64 0\n  %p = getelementptr float, ptr %x, i64 %safe\n"
    "  %v = load <8 x float>, ptr %p, align 4\n"
    "  %w = select i1 %guard, <8 x float> %v, <8 x float> zeroinitializer\n"
    "  %z = fadd <8 x float> %w, %w\n  %to = add i64 %row, %j\n  %q = getelementptr float, ptr %y, i64 %to\n"
    "  store <8 x float> %z, ptr %q, align 4\n"
    "  %j2 = add nsw i64 %j, 8\n  %more = icmp slt i64 %j2, 24\n  br i1 %more, label %inner, label %latch\n"
    "latch:\n  %i2 = add nsw i64 %i, 1\n  %next = icmp slt i64 %i2, 6\n  br i1 %next, label %outer, label %end\n"
    "end:\n  ret void\n}\n" TEST;

/* A call of something else. */
static const char *const calls =
    "declare float @sinf(float)\n"
    "define internal void @f(ptr %x, ptr %y) #0 {\n"
    "entry:\n  br label %loop\n"
    "loop:\n  %i = phi i64 [ 0, %entry ], [ %i2, %loop ]\n  %p = getelementptr float, ptr %x, i64 %i\n"
    "  %v = load float, ptr %p, align 4\n  %s = call float @sinf(float %v)\n"
    "  %q = getelementptr float, ptr %y, i64 %i\n  store float %s, ptr %q, align 4\n"
    "  %i2 = add nsw i64 %i, 1\n  %more = icmp slt i64 %i2, 9\n  br i1 %more, label %loop, label %end\n"
    "end:\n  ret void\n}\n" TEST;

static VecTarget of_cpu(const char *cpu) {
  return cpu_vec_target(cpu_level_find(sv_from_cstring(cpu))->features);
}

/* Whether the function has nothing but assembly, which does not return to the IR. */
static bool is_assembly(const IrText *text) {
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(text->function);
  return LLVMCountBasicBlocks(text->function) == 1 && ir_text_count(block, LLVMCall) == 1 &&
         ir_text_count(block, LLVMUnreachable) == 1 && ir_text_count(block, LLVMLoad) == 0;
}

static bool becomes_assembly(const char *source, const char *cpu, const char *mark) {
  IrText text = ir_text_read(source);
  if (mark == NULL) LLVMRemoveStringAttributeAtIndex(text.function, LLVMAttributeFunctionIndex, "xlac-short", 10);
  VecTarget target = of_cpu(cpu);
  nest_functions(&target, text.module, NULL);
  ir_text_verify(&text);
  bool result = is_assembly(&text);
  ir_text_end(&text);
  return result;
}

static void nest_takes_short_loops_of_known_instructions(void **state) {
  (void)state;
  assert_true(becomes_assembly(rows, "haswell", "short"));
  assert_true(becomes_assembly(rows, "znver4", "short"));
  assert_false(becomes_assembly(rows, "haswell", NULL));
  assert_false(becomes_assembly(rows, "x86-64", "short")); /* no AVX2 */
  assert_false(becomes_assembly(calls, "haswell", "short"));
}

static void nest_leaves_public_functions(void **state) {
  (void)state;
  IrText text = ir_text_read(rows);
  LLVMSetLinkage(text.function, LLVMExternalLinkage);
  VecTarget target = of_cpu("haswell");
  nest_functions(&target, text.module, NULL);
  assert_false(is_assembly(&text));
  ir_text_end(&text);
}

static void nest_computes_guarded_rows(void **state) {
  (void)state;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) skip();
  IrText text = ir_text_read(rows);
  DiagSink diag;
  diag_sink_init(&diag, text.arena);
  LlvmTarget target;
  LlvmOptions options = {.mcpu = SV("haswell"), .opt_level = 2};
  assert_int_equal(llvm_target_create(&options, &diag, &target), STATUS_OK);
  LLVMSetTarget(text.module, target.triple);
  LLVMSetModuleDataLayout(text.module, target.data_layout);
  VecTarget vec = of_cpu("haswell");
  nest_functions(&vec, text.module, NULL);
  assert_true(is_assembly(&text));
  StringView object;
  LlvmJit *jit;
  void *address;
  assert_int_equal(llvm_target_emit(&target, text.module, LLVM_OUTPUT_OBJECT, text.arena, &diag, &object), STATUS_OK);
  assert_int_equal(llvm_jit_load(object, NULL, 0, &diag, &jit), STATUS_OK);
  assert_int_equal(llvm_jit_find(jit, "test", &diag, &address), STATUS_OK);
  float x[4 * 24], y[6 * 24 + 8];
  for (int i = 0; i < 4 * 24; i++) x[i] = (float)(i * i) - 100;
  for (int i = 0; i < 6 * 24 + 8; i++) y[i] = -1;
  ((void (*)(const float *, float *))(uintptr_t)address)(x, y);
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 24; j++) assert_true(y[24 * i + j] == (i == 0 || i == 5 ? 0 : 2 * x[24 * (i - 1) + j]));
  }
  for (int i = 0; i < 8; i++) assert_true(y[6 * 24 + i] == -1);
  llvm_jit_destroy(jit);
  llvm_target_dispose(&target);
  ir_text_end(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nest_takes_short_loops_of_known_instructions),
      cmocka_unit_test(nest_leaves_public_functions),
      cmocka_unit_test(nest_computes_guarded_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
