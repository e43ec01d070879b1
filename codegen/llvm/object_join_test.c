/* Objects of two LLVM modules, joined and run. */
#include "codegen/llvm/object_join.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/llvm/llvm_jit.h"
#include "codegen/llvm/llvm_target.h"

/* Both have constants of 8 bytes in a section that linkers merge, and functions that nobody else sees. */
static const char first_text[] =
    "@table = hidden constant [4 x double] [double 3.0, double 5.0, double 7.0, double 9.0], align 64\n"
    "@count = internal global i32 0, align 4\n"
    "define internal double @scale(double %x) noinline { %y = fmul double %x, 2.5 ret double %y }\n"
    "define hidden double @part(double %x) {\n"
    "  %n = load i32, ptr @count %m = add i32 %n, 1 store i32 %m, ptr @count\n"
    "  %y = call double @scale(double %x) ret double %y }\n"
    "define i32 @calls() { %n = load i32, ptr @count ret i32 %n }\n";
static const char second_text[] =
    "@table = external hidden constant [4 x double], align 64\n"
    "@count = internal global i32 40, align 4\n"
    "declare hidden double @part(double)\n"
    "define internal double @scale(double %x) noinline { %y = fadd double %x, 0.125 ret double %y }\n"
    "define double @entry(i64 %i) {\n"
    "  %p = getelementptr double, ptr @table, i64 %i %x = load double, ptr %p\n"
    "  %y = call double @part(double %x) %z = call double @scale(double %y)\n"
    "  %n = load i32, ptr @count %f = sitofp i32 %n to double %s = fadd double %z, %f ret double %s }\n";

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
  StringView objects[2];
} Fixture;

static StringView compile(Fixture *fixture, const char *text) {
  LlvmOptions options = {.mcpu = SV("x86-64"), .opt_level = 2};
  LlvmTarget target;
  assert_int_equal(llvm_target_create(&options, &fixture->diag, &target), STATUS_OK);
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "part");
  LLVMModuleRef module;
  char *message = NULL;
  assert_false(LLVMParseIRInContext(context, buffer, &module, &message));
  LLVMSetTarget(module, target.triple);
  LLVMSetModuleDataLayout(module, target.data_layout);
  StringView object;
  assert_int_equal(llvm_target_emit(&target, module, LLVM_OUTPUT_OBJECT, fixture->arena, &fixture->diag, &object),
                   STATUS_OK);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  llvm_target_dispose(&target);
  return object;
}

static int create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  fixture->objects[0] = compile(fixture, first_text);
  fixture->objects[1] = compile(fixture, second_text);
  *state = fixture;
  return 0;
}

static int destroy(void **state) {
  Fixture *fixture = *state;
  arena_destroy(fixture->arena);
  return 0;
}

static void *find(Fixture *fixture, const LlvmJit *jit, const char *name) {
  void *address;
  assert_int_equal(llvm_jit_find(jit, name, &fixture->diag, &address), STATUS_OK);
  return address;
}

static void check_runs(Fixture *fixture, StringView object) {
  LlvmJit *jit;
  assert_int_equal(llvm_jit_load(object, NULL, 0, &fixture->diag, &jit), STATUS_OK);
  void *found = find(fixture, jit, "entry");
  double (*entry)(int64_t);
  memcpy(&entry, &found, sizeof entry);
  int (*calls)(void);
  found = find(fixture, jit, "calls");
  memcpy(&calls, &found, sizeof calls);
  static const double expected[] = {3 * 2.5 + 0.125 + 40, 5 * 2.5 + 0.125 + 40, 7 * 2.5 + 0.125 + 40};
  for (int i = 0; i < 3; i++) assert_true(entry(i) == expected[i]);
  assert_int_equal(calls(), 3);
  llvm_jit_destroy(jit);
}

static void object_join_finds_what_other_parts_define(void **state) {
  Fixture *fixture = *state;
  check_runs(fixture, object_join(fixture->arena, fixture->objects, 2));
  StringView turned[] = {fixture->objects[1], fixture->objects[0]};
  check_runs(fixture, object_join(fixture->arena, turned, 2));
}

static void object_join_takes_objects_at_any_address(void **state) {
  Fixture *fixture = *state;
  StringView joined = object_join(fixture->arena, fixture->objects, 2), moved[2];
  for (int i = 0; i < 2; i++) {
    char *place = arena_alloc(fixture->arena, fixture->objects[i].size + 3);
    memcpy(place + 3, fixture->objects[i].data, fixture->objects[i].size);
    moved[i] = (StringView){place + 3, fixture->objects[i].size};
  }
  assert_true(sv_equal(joined, object_join(fixture->arena, moved, 2)));
}

/* Joined already, parts are local, so that two such objects do not meet. */
static void object_join_makes_hidden_symbols_local(void **state) {
  Fixture *fixture = *state;
  StringView joined = object_join(fixture->arena, fixture->objects, 2);
  LlvmJit *jit;
  void *address;
  assert_int_equal(llvm_jit_load(joined, NULL, 0, &fixture->diag, &jit), STATUS_OK);
  assert_int_equal(llvm_jit_find(jit, "part", &fixture->diag, &address), STATUS_IO);
  llvm_jit_destroy(jit);
  StringView again[] = {joined};
  check_runs(fixture, object_join(fixture->arena, again, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(object_join_finds_what_other_parts_define, create, destroy),
      cmocka_unit_test_setup_teardown(object_join_takes_objects_at_any_address, create, destroy),
      cmocka_unit_test_setup_teardown(object_join_makes_hidden_symbols_local, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
