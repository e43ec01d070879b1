/* cpuid, xgetbv and the bits asked for: Intel SDM volume 1, chapter 14.3 and 15.2; the list of features is that of the
 * psABI's x86-64-v3 and v4, which is what LLVM may use under those names. */
#include "codegen/llvm/cpu_dispatch.h"

#include <string.h>

#include "codegen/ir/ir_function.h"

enum { EAX, EBX, ECX, EDX, REGISTER_COUNT };

/* Bits that must all be set in one register. */
typedef struct CpuNeed {
  CpuVariantId variant;
  uint32_t leaf, subleaf;
  int reg;
  uint32_t bits;
  bool is_own; /* better variants do not ask for it */
} CpuNeed;

#define BIT(n) (1u << (n))
#define XCR0_LEAF UINT32_MAX /* not of cpuid: what the operating system saves */

/* The first letters of a vendor's name, which no other's has all bits of.  Others' products of two bf16 take longer
 * than those of f32 (Sapphire Rapids: 1.8 times the time), so without a matrix unit they are better off without. */
#define AMD_NAME 0x68747541u

static const CpuNeed needs[] = {
    /* sse3 ssse3 fma cx16 sse4.1 sse4.2 movbe popcnt osxsave avx f16c */
    {CPU_VARIANT_AVX2, 1, 0, ECX,
     BIT(0) | BIT(9) | BIT(12) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) | BIT(27) | BIT(28) | BIT(29), false},
    {CPU_VARIANT_AVX2, 7, 0, EBX, BIT(3) | BIT(5) | BIT(8), false},                          /* bmi avx2 bmi2 */
    {CPU_VARIANT_AVX2, 0x80000001u, 0, ECX, BIT(0) | BIT(5), false},                         /* lahf lzcnt */
    {CPU_VARIANT_AVX2, XCR0_LEAF, 0, EAX, BIT(1) | BIT(2), false},                           /* xmm ymm */
    {CPU_VARIANT_AVX512, 7, 0, EBX, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31), false}, /* f dq cd bw vl */
    {CPU_VARIANT_AVX512, XCR0_LEAF, 0, EAX, BIT(5) | BIT(6) | BIT(7), false},                /* k zmm0-15 zmm16-31 */
    {CPU_VARIANT_BF16, 7, 0, ECX, BIT(11), false},                                           /* vnni */
    {CPU_VARIANT_BF16, 7, 1, EAX, BIT(5), false}, /* bf16; zeros where there is no such subleaf */
    {CPU_VARIANT_BF16, 0, 0, EBX, AMD_NAME, true},
    {CPU_VARIANT_AMX, 7, 0, ECX, BIT(1), false},                                /* vbmi */
    {CPU_VARIANT_AMX, 7, 0, EDX, BIT(22) | BIT(23) | BIT(24) | BIT(25), false}, /* amx-bf16 fp16 amx-tile amx-int8 */
    {CPU_VARIANT_AMX, XCR0_LEAF, 0, EAX, BIT(17) | BIT(18), false},             /* tilecfg tiledata */
};

enum { OSXSAVE_BIT = 27, EXTENDED_FEATURES_LEAF = 7 };

typedef struct DispatchEmitter {
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTypeRef i32, pointer;
  LLVMValueRef function; /* the one being built */
  LLVMValueRef cpuid;    /* emit_cpuid's */
  int variant_count;
} DispatchEmitter;

static LLVMValueRef int_value(const DispatchEmitter *emitter, uint32_t value) {
  return LLVMConstInt(emitter->i32, value, false);
}

static LLVMBasicBlockRef add_block(const DispatchEmitter *emitter) {
  return LLVMAppendBasicBlockInContext(emitter->context, emitter->function, "");
}

static void position(const DispatchEmitter *emitter, LLVMBasicBlockRef block) {
  LLVMPositionBuilderAtEnd(emitter->builder, block);
}

static LLVMValueRef add_function(DispatchEmitter *emitter, const char *name, LLVMTypeRef type, bool is_public) {
  LLVMLinkage linkage = is_public ? LLVMExternalLinkage : LLVMInternalLinkage;
  emitter->function = ir_function_add(emitter->module, name, type, linkage);
  ir_function_leave_plain(emitter->function);
  position(emitter, add_block(emitter));
  return emitter->function;
}

/* --- what the processor says --- */

static LLVMValueRef call_assembly(const DispatchEmitter *emitter, const char *text, const char *constraints,
                                  unsigned output_count, LLVMValueRef *inputs, unsigned input_count) {
  LLVMTypeRef fields[REGISTER_COUNT] = {emitter->i32, emitter->i32, emitter->i32, emitter->i32};
  LLVMTypeRef result = LLVMStructTypeInContext(emitter->context, fields, output_count, false);
  LLVMTypeRef type = LLVMFunctionType(result, fields, input_count, false);
  LLVMValueRef assembly = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), true, false,
                                           LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(emitter->builder, type, assembly, inputs, input_count, "");
}

/* xlac.cpuid(leaf, subleaf): the four registers.  A function of its own: to select a piece of assembly with so many
 * registers takes LLVM longer than all the rest here. */
static void emit_cpuid(DispatchEmitter *emitter) {
  LLVMTypeRef fields[REGISTER_COUNT] = {emitter->i32, emitter->i32, emitter->i32, emitter->i32};
  LLVMTypeRef registers = LLVMStructTypeInContext(emitter->context, fields, REGISTER_COUNT, false);
  LLVMTypeRef type = LLVMFunctionType(registers, fields, 2, false);
  emitter->cpuid = add_function(emitter, "xlac.cpuid", type, false);
  LLVMValueRef inputs[2] = {LLVMGetParam(emitter->cpuid, 0), LLVMGetParam(emitter->cpuid, 1)};
  LLVMValueRef values = call_assembly(emitter, "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}",
                                      REGISTER_COUNT, inputs, 2);
  LLVMBuildRet(emitter->builder, values);
}

static LLVMValueRef cpuid(const DispatchEmitter *emitter, uint32_t leaf, uint32_t subleaf) {
  LLVMValueRef inputs[2] = {int_value(emitter, leaf), int_value(emitter, subleaf)};
  return LLVMBuildCall2(emitter->builder, LLVMGlobalGetValueType(emitter->cpuid), emitter->cpuid, inputs, 2, "");
}

static LLVMValueRef read_xcr0(const DispatchEmitter *emitter) {
  LLVMValueRef input = int_value(emitter, 0);
  return call_assembly(emitter, "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", 2, &input, 1);
}

static LLVMValueRef has_bits(const DispatchEmitter *emitter, LLVMValueRef registers, int reg, uint32_t bits) {
  LLVMValueRef value = LLVMBuildExtractValue(emitter->builder, registers, (unsigned)reg, "");
  value = LLVMBuildAnd(emitter->builder, value, int_value(emitter, bits), "");
  return LLVMBuildICmp(emitter->builder, LLVMIntEQ, value, int_value(emitter, bits), "");
}

/* The best variant all of whose needs are met, those of lower ones included. */
static LLVMValueRef best_variant(const DispatchEmitter *emitter) {
  LLVMBuilderRef builder = emitter->builder;
  LLVMValueRef best = int_value(emitter, 0), met = LLVMConstInt(LLVMInt1TypeInContext(emitter->context), 1, false);
  LLVMValueRef xcr0 = read_xcr0(emitter);
  for (int variant = 1; variant < emitter->variant_count; variant++) {
    LLVMValueRef own = LLVMConstInt(LLVMInt1TypeInContext(emitter->context), 1, false);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
      if ((int)needs[i].variant != variant) continue;
      LLVMValueRef registers = needs[i].leaf == XCR0_LEAF ? xcr0 : cpuid(emitter, needs[i].leaf, needs[i].subleaf);
      LLVMValueRef has = has_bits(emitter, registers, needs[i].reg, needs[i].bits);
      LLVMValueRef *all = needs[i].is_own ? &own : &met;
      *all = LLVMBuildAnd(builder, *all, has, "");
    }
    best =
        LLVMBuildSelect(builder, LLVMBuildAnd(builder, met, own, ""), int_value(emitter, (uint32_t)variant), best, "");
  }
  return best;
}

/* Leaf 7 answers nonsense where it does not exist, and xgetbv faults where it is switched off. */
static LLVMValueRef emit_cpu_best(DispatchEmitter *emitter) {
  LLVMValueRef function = add_function(emitter, "xlac.cpu_best", LLVMFunctionType(emitter->i32, NULL, 0, false), false);
  LLVMBasicBlockRef old = add_block(emitter), has_leaf = add_block(emitter), saves = add_block(emitter);
  LLVMValueRef last_leaf = LLVMBuildExtractValue(emitter->builder, cpuid(emitter, 0, 0), EAX, "");
  LLVMValueRef exists =
      LLVMBuildICmp(emitter->builder, LLVMIntUGE, last_leaf, int_value(emitter, EXTENDED_FEATURES_LEAF), "");
  LLVMBuildCondBr(emitter->builder, exists, has_leaf, old);
  position(emitter, has_leaf);
  LLVMBuildCondBr(emitter->builder, has_bits(emitter, cpuid(emitter, 1, 0), ECX, BIT(OSXSAVE_BIT)), saves, old);
  position(emitter, old);
  LLVMBuildRet(emitter->builder, int_value(emitter, 0));
  position(emitter, saves);
  LLVMBuildRet(emitter->builder, best_variant(emitter));
  return function;
}

/* --- what the user says --- */

static LLVMValueRef library_function(const DispatchEmitter *emitter, const char *name, LLVMTypeRef type) {
  LLVMValueRef function = LLVMGetNamedFunction(emitter->module, name);
  return function != NULL ? function : LLVMAddFunction(emitter->module, name, type);
}

static LLVMValueRef string_value(const DispatchEmitter *emitter, const char *text) {
  LLVMValueRef data = LLVMConstStringInContext2(emitter->context, text, strlen(text), false);
  LLVMValueRef global = LLVMAddGlobal(emitter->module, LLVMTypeOf(data), "name");
  LLVMSetInitializer(global, data);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  return global;
}

static LLVMValueRef is_string(const DispatchEmitter *emitter, LLVMValueRef text, const char *other) {
  LLVMTypeRef parameters[2] = {emitter->pointer, emitter->pointer};
  LLVMTypeRef type = LLVMFunctionType(emitter->i32, parameters, 2, false);
  LLVMValueRef arguments[2] = {text, string_value(emitter, other)};
  LLVMValueRef order =
      LLVMBuildCall2(emitter->builder, type, library_function(emitter, "strcmp", type), arguments, 2, "");
  return LLVMBuildICmp(emitter->builder, LLVMIntEQ, order, int_value(emitter, 0), "");
}

/* The lower of the best variant and the one that XLAC_CPU names, if it names one. */
static LLVMValueRef emit_cpu_choice(DispatchEmitter *emitter) {
  LLVMValueRef known = LLVMGetNamedFunction(emitter->module, "xlac.cpu_choice"); /* of another entry */
  if (known != NULL) return known;
  emit_cpuid(emitter);
  LLVMValueRef cpu_best = emit_cpu_best(emitter);
  LLVMTypeRef type = LLVMFunctionType(emitter->i32, NULL, 0, false);
  LLVMTypeRef getenv_type = LLVMFunctionType(emitter->pointer, &emitter->pointer, 1, false);
  LLVMValueRef function = add_function(emitter, "xlac.cpu_choice", type, false);
  LLVMValueRef best = LLVMBuildCall2(emitter->builder, type, cpu_best, NULL, 0, "");
  LLVMValueRef name = string_value(emitter, "XLAC_CPU");
  LLVMValueRef text =
      LLVMBuildCall2(emitter->builder, getenv_type, library_function(emitter, "getenv", getenv_type), &name, 1, "");
  LLVMBasicBlockRef forced = add_block(emitter), free_choice = add_block(emitter);
  LLVMBuildCondBr(emitter->builder, LLVMBuildIsNull(emitter->builder, text, ""), free_choice, forced);
  position(emitter, free_choice);
  LLVMBuildRet(emitter->builder, best);
  position(emitter, forced);
  LLVMValueRef choice = best;
  for (int i = 0; i < emitter->variant_count; i++) {
    LLVMValueRef variant = int_value(emitter, (uint32_t)i);
    LLVMValueRef lower = LLVMBuildICmp(emitter->builder, LLVMIntULT, variant, best, "");
    LLVMValueRef named = is_string(emitter, text, cpu_variant((CpuVariantId)i)->name);
    choice = LLVMBuildSelect(emitter->builder, LLVMBuildAnd(emitter->builder, lower, named, ""), variant, choice, "");
  }
  LLVMBuildRet(emitter->builder, choice);
  return function;
}

/* --- the entry --- */

/* 0: not chosen yet; else the variant and 1. */
static LLVMValueRef chosen_word(const DispatchEmitter *emitter) {
  LLVMValueRef known = LLVMGetNamedGlobal(emitter->module, "xlac.cpu_chosen");
  if (known != NULL) return known;
  LLVMValueRef word = LLVMAddGlobal(emitter->module, emitter->i32, "xlac.cpu_chosen");
  LLVMSetInitializer(word, int_value(emitter, 0));
  LLVMSetLinkage(word, LLVMInternalLinkage);
  LLVMSetAlignment(word, 4);
  return word;
}

static void make_atomic(LLVMValueRef access) {
  LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
  LLVMSetAlignment(access, 4);
}

/* The word's value, filled if need be: several threads may do so at once, with the same value. */
static LLVMValueRef chosen(const DispatchEmitter *emitter, LLVMValueRef cpu_choice) {
  LLVMBuilderRef builder = emitter->builder;
  LLVMValueRef word = chosen_word(emitter), zero = int_value(emitter, 0);
  LLVMValueRef known = LLVMBuildLoad2(builder, emitter->i32, word, "");
  make_atomic(known);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(builder), choose = add_block(emitter), behind = add_block(emitter);
  LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntEQ, known, zero, ""), choose, behind);
  position(emitter, choose);
  LLVMTypeRef type = LLVMFunctionType(emitter->i32, NULL, 0, false);
  LLVMValueRef choice = LLVMBuildCall2(builder, type, cpu_choice, NULL, 0, "");
  choice = LLVMBuildAdd(builder, choice, int_value(emitter, 1), "");
  make_atomic(LLVMBuildStore(builder, choice, word));
  LLVMBuildBr(builder, behind);
  position(emitter, behind);
  LLVMValueRef value = LLVMBuildPhi(builder, emitter->i32, ""), values[2] = {known, choice};
  LLVMBasicBlockRef blocks[2] = {start, choose};
  LLVMAddIncoming(value, values, blocks, 2);
  return value;
}

static void emit_calls(const DispatchEmitter *emitter, LLVMValueRef choice, LLVMTypeRef type,
                       const LLVMValueRef *variants) {
  LLVMBuilderRef builder = emitter->builder;
  LLVMBasicBlockRef start = LLVMGetInsertBlock(builder), blocks[CPU_VARIANT_COUNT];
  LLVMValueRef arguments[8];
  unsigned count = LLVMCountParams(emitter->function);
  XLAC_CHECK(count <= sizeof arguments / sizeof *arguments);
  LLVMGetParams(emitter->function, arguments);
  for (int i = 0; i < emitter->variant_count; i++) {
    blocks[i] = add_block(emitter);
    position(emitter, blocks[i]);
    LLVMValueRef status = LLVMBuildCall2(builder, type, variants[i], arguments, count, "");
    LLVMSetTailCall(status, true);
    LLVMBuildRet(builder, status);
  }
  position(emitter, start);
  LLVMValueRef branch = LLVMBuildSwitch(builder, choice, blocks[0], (unsigned)emitter->variant_count);
  for (int i = 1; i < emitter->variant_count; i++) LLVMAddCase(branch, int_value(emitter, (uint32_t)i + 1), blocks[i]);
}

void cpu_dispatch_emit(LLVMModuleRef module, const char *name, const LLVMValueRef *variants, int count) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  DispatchEmitter emitter = {
      .context = context, .module = module, .builder = LLVMCreateBuilderInContext(context), .variant_count = count};
  emitter.i32 = LLVMInt32TypeInContext(context);
  emitter.pointer = LLVMPointerTypeInContext(context, 0);
  LLVMValueRef cpu_choice = emit_cpu_choice(&emitter);
  LLVMTypeRef type = LLVMGlobalGetValueType(variants[0]);
  add_function(&emitter, name, type, true);
  emit_calls(&emitter, chosen(&emitter, cpu_choice), type, variants);
  LLVMDisposeBuilder(emitter.builder);
}
