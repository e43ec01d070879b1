/* Loads of which a mask leaves lanes out: they are zeros, and nothing is read there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/vec/vec_testing.h"

enum { MOST_LANES = 32, FEWEST_COUNT = 20 };

static const PrimitiveType types[] = {TYPE_F32, TYPE_F64}; /* which all processors with masks can mask */
static const int lane_counts[] = {4, 8, 16, 32};

enum { TYPE_COUNT = sizeof types / sizeof *types, LANE_COUNTS = sizeof lane_counts / sizeof *lane_counts };

/* out[i] = i < |kept| and count < FEWEST_COUNT ? a[i] : 0 for i < |lanes|. */
static void add_load(VecTestModule *module, PrimitiveType type, int lanes, int kept) {
  VecBuilder *vec = &module->vec;
  LLVMTypeRef pointer = LLVMPointerTypeInContext(module->context, 0), s64 = LLVMInt64TypeInContext(module->context);
  LLVMTypeRef parameters[] = {pointer, pointer, pointer, pointer, s64};
  char name[32];
  snprintf(name, sizeof name, "test%d", module->count++);
  LLVMTypeRef signature = LLVMFunctionType(LLVMVoidTypeInContext(module->context), parameters, 5, false);
  LLVMValueRef function = LLVMAddFunction(vec->module, name, signature);
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(module->context, function, ""));
  LLVMValueRef first[MOST_LANES];
  for (int i = 0; i < lanes; i++) first[i] = LLVMConstInt(LLVMInt1TypeInContext(module->context), i < kept, false);
  LLVMValueRef few =
      LLVMBuildICmp(vec->builder, LLVMIntULT, LLVMGetParam(function, 4), LLVMConstInt(s64, FEWEST_COUNT, false), "");
  LLVMValueRef mask =
      LLVMBuildAnd(vec->builder, vec_splat(vec, few, lanes), LLVMConstVector(first, (unsigned)lanes), "");
  vec_store(vec, type, vec_load(vec, type, LLVMGetParam(function, 1), mask, lanes), LLVMGetParam(function, 0), NULL,
            lanes);
  LLVMBuildRetVoid(vec->builder);
}

static int kept_of(int lanes, int number) {
  const int kept[] = {1, lanes / 4, lanes / 2 - 1, lanes / 2, lanes * 5 / 8 - 1, lanes - 1};
  return kept[number];
}

enum { KEPT_COUNTS = 6 };

static void check_load(VecTestFunction function, PrimitiveType type, int lanes, int kept, const char *cpu) {
  char in[MOST_LANES * 8], out[MOST_LANES * 8], want[MOST_LANES * 8] = {0};
  memset(in, 0x41, sizeof in);
  size_t bytes = (size_t)type_storage_bytes(type);
  function(out, in, NULL, NULL, FEWEST_COUNT);
  if (memcmp(out, want, (size_t)lanes * bytes) != 0) fail_msg("%d lanes of %zu bytes, none: %s", lanes, bytes, cpu);
  memset(want, 0x41, (size_t)kept * bytes);
  function(out, in, NULL, NULL, 0);
  if (memcmp(out, want, (size_t)lanes * bytes) != 0)
    fail_msg("%d of %d lanes of %zu bytes: %s", kept, lanes, bytes, cpu);
}

static void lanes_that_are_left_out_are_zeros(void **state) {
  (void)state;
  for (int level = 0; level < VEC_TEST_LEVELS; level++) {
    VecTestLevel cpu = vec_test_level(level);
    if (!cpu.is_available) continue;
    VecTestModule module;
    vec_test_begin(&module, cpu.cpu);
    bool has_masks = module.vec.target->has_masks || module.vec.target->has_masks_32;
    for (int t = 0; t < TYPE_COUNT && has_masks; t++)
      for (int l = 0; l < LANE_COUNTS; l++)
        for (int k = 0; k < KEPT_COUNTS; k++) add_load(&module, types[t], lane_counts[l], kept_of(lane_counts[l], k));
    vec_test_finish(&module);
    for (int number = 0; number < module.count; number++) {
      int lanes = lane_counts[number / KEPT_COUNTS % LANE_COUNTS];
      check_load(vec_test_function(&module, number), types[number / KEPT_COUNTS / LANE_COUNTS], lanes,
                 kept_of(lanes, number % KEPT_COUNTS), cpu.cpu);
    }
    vec_test_end(&module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_that_are_left_out_are_zeros)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
