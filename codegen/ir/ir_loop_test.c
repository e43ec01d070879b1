/* Functions with every kind of loop, verified, compiled in memory and called: each gives what the same loop in C does.
 */
#include "codegen/ir/ir_loop.h"

#include <llvm-c/Analysis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "codegen/ir/ir_outline.h"
#include "codegen/llvm/llvm_jit.h"
#include "codegen/llvm/llvm_target.h"

typedef int64_t (*Compiled)(int64_t a, int64_t b);

/* Writes the code of a function of two i64 and returns its i64 result. */
typedef LLVMValueRef (*Body)(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b);

typedef struct Program {
  Arena *arena;
  DiagSink diag;
  LlvmTarget target;
  LLVMContextRef context;
  unsigned block_count;
  LlvmJit *jit;
  Compiled call;
} Program;

static void program_write(Program *program, LLVMModuleRef module, Body body) {
  LLVMTypeRef index = LLVMInt64TypeInContext(program->context);
  LLVMValueRef function =
      LLVMAddFunction(module, "test", LLVMFunctionType(index, (LLVMTypeRef[]){index, index}, 2, false));
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(program->context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(program->context, function, ""));
  LLVMBuildRet(builder, body(builder, program->context, LLVMGetParam(function, 0), LLVMGetParam(function, 1)));
  LLVMDisposeBuilder(builder);
  program->block_count = LLVMCountBasicBlocks(function);
  char *message = NULL;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) fail_msg("%s", message);
  LLVMDisposeMessage(message);
}

static Program program_make(Body body) {
  Program program = {.arena = arena_create(), .context = LLVMContextCreate()};
  diag_sink_init(&program.diag, program.arena);
  LlvmOptions options = {.mcpu = SV("x86-64"), .opt_level = 2};
  assert_int_equal(llvm_target_create(&options, &program.diag, &program.target), STATUS_OK);
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("test", program.context);
  LLVMSetTarget(module, program.target.triple);
  LLVMSetModuleDataLayout(module, program.target.data_layout);
  program_write(&program, module, body);
  StringView bytes;
  void *address;
  assert_int_equal(llvm_target_emit(&program.target, module, LLVM_OUTPUT_OBJECT, program.arena, &program.diag, &bytes),
                   STATUS_OK);
  assert_int_equal(llvm_jit_load(bytes, NULL, 0, &program.diag, &program.jit), STATUS_OK);
  assert_int_equal(llvm_jit_find(program.jit, "test", &program.diag, &address), STATUS_OK);
  program.call = (Compiled)(uintptr_t)address;
  LLVMDisposeModule(module);
  return program;
}

static void program_end(Program *program) {
  llvm_jit_destroy(program->jit);
  LLVMContextDispose(program->context);
  llvm_target_dispose(&program->target);
  arena_destroy(program->arena);
}

/* --- counted loops --- */

/* 1000 · (rounds) + (sum of the indices), of the indices a, a + 3 … below b. */
static LLVMValueRef sum_up(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = ir_index(context, 0), rounds = sum, *carried[] = {&rounds, &sum};
  IrLoop loop = ir_loop_count_guarded(builder, (IndexRange){a, b}, 3, carried, 2);
  sum = LLVMBuildAdd(builder, sum, loop.index, "");
  rounds = LLVMBuildAdd(builder, rounds, ir_index(context, 1), "");
  ir_loop_end(&loop);
  return LLVMBuildAdd(builder, sum, ir_index_multiply(builder, rounds, 1000), "");
}

static void loop_counts_and_carries_or_has_no_round(void **state) {
  (void)state;
  Program program = program_make(sum_up);
  for (int64_t a = -5; a < 5; a++) {
    for (int64_t b = -7; b < 12; b++) {
      int64_t want = 0;
      for (int64_t i = a; i < b; i += 3) want += 1000 + i;
      assert_int_equal(program.call(a, b), want);
    }
  }
  program_end(&program);
}

/* For i < a, j in [i, a): counts pairs. */
static LLVMValueRef count_pairs(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef pairs = b, *carried[] = {&pairs};
  IrLoop outer = ir_loop_count(builder, ir_range_below(a), 1, carried, 1);
  IrLoop inner = ir_loop_count(builder, (IndexRange){outer.index, a}, 1, carried, 1);
  pairs = LLVMBuildAdd(builder, pairs, ir_index(context, 1), "");
  ir_loop_end(&inner);
  ir_loop_end(&outer);
  return pairs;
}

static void loop_carries_through_a_nest(void **state) {
  (void)state;
  Program program = program_make(count_pairs);
  for (int64_t a = 1; a < 20; a++) assert_int_equal(program.call(a, 7), 7 + a * (a + 1) / 2);
  program_end(&program);
}

static LLVMValueRef one_round(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef *carried[] = {&a};
  IrLoop loop = ir_loop_count_guarded(builder, ir_range(context, 5, 8), 3, carried, 1);
  IndexRange round = ir_loop_round(&loop);
  a = LLVMBuildAdd(builder, a, LLVMBuildMul(builder, round.begin, round.end, ""), "");
  ir_loop_end(&loop);
  return LLVMBuildAdd(builder, a, b, "");
}

static void loop_of_one_known_round_is_no_loop(void **state) {
  (void)state;
  Program program = program_make(one_round);
  assert_int_equal(program.block_count, 1);
  assert_int_equal(program.call(100, 2), 142);
  program_end(&program);
}

/* Never has a round; what is carried stays. */
static LLVMValueRef no_round(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef *carried[] = {&a};
  assert_true(ir_range_is_empty(ir_range(context, 4, 4)));
  IrLoop loop = ir_loop_count_guarded(builder, ir_range(context, 4, 4), 3, carried, 1);
  a = b;
  ir_loop_end(&loop);
  return a;
}

static void loop_over_a_known_empty_range_has_no_round(void **state) {
  (void)state;
  Program program = program_make(no_round);
  assert_int_equal(program.call(3, 4), 3);
  program_end(&program);
}

/* Indices [a, b) in rounds of four, each index of a round added by a loop inside. */
static LLVMValueRef sum_rounds(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = ir_index(context, 0), *carried[] = {&sum};
  IrLoop rounds = ir_loop_count(builder, (IndexRange){a, b}, 4, carried, 1);
  IrLoop points = ir_loop_count(builder, ir_loop_round(&rounds), 1, carried, 1);
  sum = LLVMBuildAdd(builder, sum, points.index, "");
  ir_loop_end(&points);
  ir_loop_end(&rounds);
  return sum;
}

static void loop_rounds_cover_the_range_once(void **state) {
  (void)state;
  Program program = program_make(sum_rounds);
  for (int64_t b = 1; b < 14; b++) assert_int_equal(program.call(0, b), b * (b - 1) / 2);
  assert_int_equal(program.call(10, 13), 33);
  program_end(&program);
}

/* Whole steps of eight count 100 each, what is left 1 each. */
static LLVMValueRef cut(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  IndexRange whole, rest;
  LLVMValueRef sum = b, *carried[] = {&sum};
  ir_range_cut(builder, ir_range_below(a), 8, &whole, &rest);
  IrLoop steps = ir_loop_count_guarded(builder, whole, 8, carried, 1);
  sum = LLVMBuildAdd(builder, sum, ir_index(context, 100), "");
  ir_loop_end(&steps);
  IrLoop single = ir_loop_count_guarded(builder, rest, 1, carried, 1);
  sum = LLVMBuildAdd(builder, sum, ir_index(context, 1), "");
  ir_loop_end(&single);
  return sum;
}

static void range_is_cut_into_whole_steps_and_a_rest(void **state) {
  (void)state;
  Program program = program_make(cut);
  for (int64_t a = 0; a < 40; a++) assert_int_equal(program.call(a, 0), a / 8 * 100 + a % 8);
  program_end(&program);
}

/* --- loops that their body decides about --- */

/* The first n from |b| on with n² >= a: left inside, before what would be the next round's value is made. */
static LLVMValueRef search(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef n = b, *carried[] = {&n};
  IrLoop loop = ir_loop_begin(builder, carried, 1);
  LLVMValueRef square = LLVMBuildMul(builder, n, n, "");
  ir_loop_leave_unless(&loop, LLVMBuildICmp(builder, LLVMIntSLT, square, a, ""));
  ir_loop_leave_unless(&loop, LLVMBuildICmp(builder, LLVMIntSLT, n, ir_index(context, 50), ""));
  n = LLVMBuildAdd(builder, n, ir_index(context, 1), "");
  ir_loop_end(&loop);
  return n;
}

static void loop_left_inside_keeps_the_values_of_its_round(void **state) {
  (void)state;
  Program program = program_make(search);
  assert_int_equal(program.call(0, 4), 4); /* no round is completed */
  assert_int_equal(program.call(26, 4), 6);
  assert_int_equal(program.call(1000000, 4), 50); /* the second way out */
  program_end(&program);
}

/* Greatest common divisor, b > 0: two variables that trade places. */
static LLVMValueRef divisor(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef *carried[] = {&a, &b};
  IrLoop loop = ir_loop_begin(builder, carried, 2);
  LLVMValueRef rest = LLVMBuildSRem(builder, a, b, "");
  a = b;
  b = rest;
  ir_loop_end_while(&loop, LLVMBuildICmp(builder, LLVMIntNE, rest, ir_index(context, 0), ""));
  return a;
}

static void loop_tested_at_its_end_carries_the_last_values(void **state) {
  (void)state;
  Program program = program_make(divisor);
  assert_int_equal(program.call(84, 36), 12);
  assert_int_equal(program.call(36, 84), 12);
  assert_int_equal(program.call(7, 7), 7);
  program_end(&program);
}

/* --- pieces (ir_outline.h) --- */

/* Adds b + i to the number at |sum| for i < a, in a piece of its own. */
static void add_all(LLVMBuilderRef builder, LLVMValueRef sum, LLVMValueRef a, LLVMValueRef b) {
  IrOutline piece = ir_outline_begin(builder);
  IrLoop loop = ir_loop_count_guarded(builder, ir_range_below(a), 1, NULL, 0);
  LLVMValueRef more = LLVMBuildAdd(builder, b, loop.index, "");
  LLVMValueRef now = LLVMBuildLoad2(builder, LLVMTypeOf(a), sum, "");
  LLVMBuildStore(builder, LLVMBuildAdd(builder, now, more, ""), sum);
  ir_loop_end(&loop);
  ir_outline_end(&piece);
}

/* Σ over i < a of Σ over j < i of 2·b + j, and the same over j < b. */
static LLVMValueRef sum_in_pieces(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = LLVMBuildAlloca(builder, LLVMTypeOf(a), "");
  LLVMBuildStore(builder, ir_index(context, 0), sum);
  LLVMValueRef twice = LLVMBuildAdd(builder, b, b, "");
  IrLoop loop = ir_loop_count_guarded(builder, ir_range_below(a), 1, NULL, 0);
  add_all(builder, sum, loop.index, twice);
  add_all(builder, sum, b, twice);
  ir_loop_end(&loop);
  return LLVMBuildLoad2(builder, LLVMTypeOf(a), sum, "");
}

static void piece_is_a_function_of_what_it_uses(void **state) {
  (void)state;
  Program program = program_make(sum_in_pieces);
  assert_int_equal(program.block_count, 3); /* before, in and after the loop: those of the pieces are elsewhere */
  for (int64_t a = 0; a < 5; a++) {
    for (int64_t b = -1; b < 5; b++) {
      int64_t want = 0;
      for (int64_t i = 0; i < a; i++) {
        for (int64_t j = 0; j < i; j++) want += 2 * b + j;
        for (int64_t j = 0; j < b; j++) want += 2 * b + j;
      }
      assert_int_equal(program.call(a, b), want);
    }
  }
  program_end(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loop_counts_and_carries_or_has_no_round),
      cmocka_unit_test(loop_carries_through_a_nest),
      cmocka_unit_test(loop_of_one_known_round_is_no_loop),
      cmocka_unit_test(loop_over_a_known_empty_range_has_no_round),
      cmocka_unit_test(loop_rounds_cover_the_range_once),
      cmocka_unit_test(range_is_cut_into_whole_steps_and_a_rest),
      cmocka_unit_test(loop_left_inside_keeps_the_values_of_its_round),
      cmocka_unit_test(loop_tested_at_its_end_carries_the_last_values),
      cmocka_unit_test(piece_is_a_function_of_what_it_uses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
