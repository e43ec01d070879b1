/* For the tests of this room: lane-wise operations compiled in memory as loops over arrays, at every level of the CPU
 * that the host has. Functions are static so that nothing of this is part of the compiler. */
#ifndef XLAC_CODEGEN_VEC_VEC_TESTING_H
#define XLAC_CODEGEN_VEC_VEC_TESTING_H

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "codegen/ir/ir_loop.h"
#include "codegen/llvm/llvm_target.h"
#include "codegen/vec/vec.h"

/* out[i] = op(a[i], b[i], c[i]) for i < count, a multiple of the lanes; arrays in memory form. */
typedef void (*VecTestFunction)(void *out, const void *a, const void *b, const void *c, int64_t count);

typedef struct VecTestLevel {
  const char *cpu;
  bool is_available;
} VecTestLevel;

#define VEC_TEST_LEVELS 4

static inline VecTestLevel vec_test_level(int index) {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd");
  /* which has AVX512-FP16; what else it has these functions do not take */
  bool half = avx512 && __builtin_cpu_supports("avx512fp16") && __builtin_cpu_supports("avx512bf16");
  const VecTestLevel levels[VEC_TEST_LEVELS] = {
      {"x86-64", true}, {"x86-64-v3", avx2}, {"x86-64-v4", avx512}, {"sapphirerapids", half}};
  return levels[index];
}

typedef struct VecTestModule {
  Arena *arena;
  DiagSink diag;
  LlvmTarget target;
  LLVMContextRef context;
  VecBuilder vec;
  LLVMOrcLLJITRef jit;
  int count;
} VecTestModule;

static inline void vec_test_begin(VecTestModule *module, const char *cpu) {
  *module = (VecTestModule){.arena = arena_create(), .context = LLVMContextCreate()};
  diag_sink_init(&module->diag, module->arena);
  LlvmOptions options = {.mcpu = sv_from_cstring(cpu), .opt_level = 2};
  if (llvm_target_create(&options, &module->diag, &module->target) != STATUS_OK) XLAC_BUG("no CPU '%s'", cpu);
  LLVMModuleRef code = LLVMModuleCreateWithNameInContext("test", module->context);
  LLVMSetTarget(code, module->target.triple);
  LLVMSetModuleDataLayout(code, module->target.data_layout);
  module->vec = (VecBuilder){module->context, code, LLVMCreateBuilderInContext(module->context),
                             &module->target.variants[0].vec, true};
}

/* How many lanes one register has for |op|. */
static inline int vec_test_native_lanes(const VecTestModule *module, const VecOp *op) {
  const VecTarget *target = &module->target.variants[0].vec;
  int bytes = type_storage_bytes(op->operand_type);
  if (op->operand_type == TYPE_BF16 || vec_is_widened(target, op, 2)) bytes = 4;
  return target->vector_bits / 8 / bytes;
}

static inline LLVMValueRef vec_test_element(const VecBuilder *vec, PrimitiveType type, LLVMValueRef base,
                                            LLVMValueRef index) {
  return LLVMBuildGEP2(vec->builder, vec_memory_type(vec, type, 1), base, &index, 1, "");
}

/* Adds the loop of an operation on |operand_types|; returns its number. */
static inline int vec_test_add(VecTestModule *module, const VecOp *op, const PrimitiveType *operand_types,
                               int operand_count, int lanes) {
  VecBuilder *vec = &module->vec;
  LLVMTypeRef pointer = LLVMPointerTypeInContext(module->context, 0);
  LLVMTypeRef parameters[] = {pointer, pointer, pointer, pointer, LLVMInt64TypeInContext(module->context)};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(module->context), parameters, 5, false);
  char name[32];
  snprintf(name, sizeof name, "test%d", module->count);
  LLVMValueRef function = LLVMAddFunction(vec->module, name, type);
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(module->context, function, ""));
  IrLoop loop = ir_loop_count(vec->builder, ir_range_below(LLVMGetParam(function, 4)), lanes, NULL, 0);
  LLVMValueRef operands[3];
  for (int i = 0; i < operand_count; i++) {
    LLVMValueRef at = vec_test_element(vec, operand_types[i], LLVMGetParam(function, (unsigned)i + 1), loop.index);
    operands[i] = vec_load(vec, operand_types[i], at, NULL, lanes);
  }
  LLVMValueRef result = vec_apply(vec, op, operands, lanes);
  vec_store(vec, op->type, result, vec_test_element(vec, op->type, LLVMGetParam(function, 0), loop.index), NULL, lanes);
  ir_loop_end(&loop);
  LLVMBuildRetVoid(vec->builder);
  return module->count++;
}

static inline void vec_test_check(LLVMErrorRef error) {
  if (error != NULL) XLAC_BUG("JIT: %s", LLVMGetErrorMessage(error));
}

/* Compiles what was added. */
static inline void vec_test_finish(VecTestModule *module) {
  StringView bytes;
  if (llvm_target_emit(&module->target, module->vec.module, LLVM_OUTPUT_OBJECT, module->arena, &module->diag, &bytes) !=
      STATUS_OK) {
    XLAC_BUG("no object");
  }
  vec_test_check(LLVMOrcCreateLLJIT(&module->jit, LLVMOrcCreateLLJITBuilder()));
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.data, bytes.size, "test");
  vec_test_check(LLVMOrcLLJITAddObjectFile(module->jit, LLVMOrcLLJITGetMainJITDylib(module->jit), buffer));
}

static inline VecTestFunction vec_test_function(VecTestModule *module, int number) {
  char name[32];
  snprintf(name, sizeof name, "test%d", number);
  LLVMOrcExecutorAddress address;
  vec_test_check(LLVMOrcLLJITLookup(module->jit, &address, name));
  return (VecTestFunction)(uintptr_t)address;
}

static inline void vec_test_end(VecTestModule *module) {
  if (module->jit != NULL) vec_test_check(LLVMOrcDisposeLLJIT(module->jit));
  LLVMDisposeBuilder(module->vec.builder);
  LLVMDisposeModule(module->vec.module);
  LLVMContextDispose(module->context);
  llvm_target_dispose(&module->target);
  arena_destroy(module->arena);
}

/* Distance of |got| from |want| in units of the last place of |want| rounded to f32 (f64); infinite when one is NaN or
 * infinite and the other is not the same.  Results beyond the greatest finite number may be infinite. */
static inline double vec_test_ulps_f32(float got, double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (got == (float)want)
    return fabs(((double)got - want)) > 0 && isfinite(got)
               ? fabs((double)got - want) / ldexp(1, fmax(ilogb(want), -126) - 23)
               : 0;
  if (!isfinite(got) || !isfinite((float)want)) return INFINITY;
  return fabs((double)got - want) / ldexp(1, (int)fmax(want == 0 ? -126 : ilogb(want), -126) - 23);
}

static inline double vec_test_ulps_f64(double got, long double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (got == (double)want && !isfinite(got)) return 0;
  if (!isfinite(got) || !isfinite((double)want)) return INFINITY;
  return (double)(fabsl((long double)got - want) / ldexpl(1, (int)fmax(want == 0 ? -1022 : ilogbl(want), -1022) - 52));
}

#endif
