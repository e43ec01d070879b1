#include "codegen/llvm/llvm_target.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <string.h>

#include "codegen/llvm/llvm_faults.h"
#include "codegen/llvm/llvm_target_pool.h"
#include "codegen/target/riscv.h"

/* LLVM's registries and command line are process-wide; they are set up once, before anything else of LLVM is used. */
static void initialize_llvm(void) {
  llvm_faults_install();
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser(); /* cpuid is inline assembly */
  LLVMInitializeRISCVTargetInfo();
  LLVMInitializeRISCVTarget();
  LLVMInitializeRISCVTargetMC();
  LLVMInitializeRISCVAsmPrinter();
  /* Measured on emitted vector code: strength reduction takes a fifth of emission time for no speed; moving masks and
   * constants to other registers a fiftieth, for the same code but for a few constants. */
  static const char *const arguments[] = {"xlac", "-disable-lsr", "-disable-x86-domain-reassignment",
                                          "-disable-constant-hoisting"};
  LLVMParseCommandLineOptions(sizeof arguments / sizeof *arguments, arguments, "");
}

void llvm_initialize(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize_llvm);
}

/* --- processors --- */

/* Code for another processor than those that --mcpu names. */
static bool has_own_isa(const LlvmOptions *options) {
  return options->machine != NULL && !machine_is_host(options->machine);
}

static bool is_native(StringView mcpu) {
  return mcpu.size == 0 || sv_equal_cstring(mcpu, "native");
}

bool llvm_is_native(const LlvmOptions *options) {
  return !has_own_isa(options) && is_native(options->mcpu);
}

static bool is_dispatch(StringView mcpu) {
  return sv_equal_cstring(mcpu, "dispatch");
}

static Status unknown_cpu(StringView mcpu, DiagSink *diag) {
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "unknown-cpu", "unknown CPU '%.*s'", SV_ARG(mcpu));
  StringBuilder known;
  sb_init(&known, diag->arena);
  NearestWord nearest = nearest_word_begin(mcpu);
  cpu_level_names(&known, &nearest);
  nearest_word_note(&nearest, diag);
  diag_note(diag, NO_LOC, "known CPUs: dispatch, native, %.*s", SV_ARG(sb_view(&known)));
  return status;
}

Status llvm_check_cpu(StringView mcpu, StringView mattr, DiagSink *diag) {
  if (is_dispatch(mcpu) && mattr.size > 0)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "cpu-features",
                      "'--mattr' needs '--mcpu=NAME': the variants of 'dispatch' have their own features");
  if (is_native(mcpu) || is_dispatch(mcpu) || cpu_level_find(mcpu) != NULL) return STATUS_OK;
  return unknown_cpu(mcpu, diag);
}

LlvmTripleKind llvm_triple_kind(StringView triple) {
  if (sv_starts_with(triple, SV("x86_64-")) && sv_contains(triple, SV("linux"))) return LLVM_TRIPLE_HOST;
  return riscv_is_triple(triple) ? LLVM_TRIPLE_OTHER : LLVM_TRIPLE_UNKNOWN;
}

Status llvm_triple_isa(StringView triple, StringView cpu, StringView features, Arena *arena, DiagSink *diag,
                       MachineIsa *out_isa) {
  *out_isa = riscv_isa(triple, cpu, features, arena);
  return riscv_check(out_isa, diag);
}

Status llvm_check_machine(const MachineDescription *machine, DiagSink *diag) {
  if (machine_is_host(machine)) return STATUS_OK;
  if (riscv_is_triple(machine->isa.triple)) return riscv_check(&machine->isa, diag);
  Status status =
      diag_error(diag, STATUS_UNSUPPORTED, machine->isa.loc, "unsupported-target",
                 "no code for '%.*s' yet, which '%.*s' needs", SV_ARG(machine->isa.triple), SV_ARG(machine->name));
  diag_note(diag, NO_LOC, "there is code for 'host' (x86_64) and 'riscv64-…'");
  return status;
}

static LlvmVariant make_variant(const char *name, const char *cpu, const char *features, StringView mattr) {
  Arena *scratch = arena_create();
  const char *separator = mattr.size > 0 && features[0] != '\0' ? "," : "";
  LlvmVariant variant = {.name = name, .cpu = llvm_text(LLVMCreateMessage(cpu))};
  variant.features =
      llvm_text(LLVMCreateMessage(arena_printf(scratch, "%s%s%.*s", features, separator, SV_ARG(mattr))));
  variant.vec = cpu_vec_target(variant.features);
  arena_destroy(scratch);
  return variant;
}

/* This machine's processor, once it was asked for: where the machine is a virtual one, each answer takes as long as
 * some hundredths of a small compilation. */
static struct {
  char *cpu, *features; /* of LLVM's allocator; the process's */
} host_processor;

static void ask_processor(void) {
  host_processor.cpu = llvm_text(LLVMGetHostCPUName());
  host_processor.features = llvm_text(LLVMGetHostCPUFeatures());
}

static LlvmVariant native_variant(StringView mattr) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ask_processor);
  return make_variant(NULL, host_processor.cpu, host_processor.features, mattr);
}

static LlvmVariant machine_variant(const MachineIsa *isa) {
  Arena *scratch = arena_create();
  const char *features = riscv_features(isa, scratch);
  LlvmVariant variant = {.cpu = llvm_text(LLVMCreateMessage(riscv_cpu(isa, scratch))),
                         .features = llvm_text(LLVMCreateMessage(features)),
                         .vec = riscv_vec_target(features)};
  arena_destroy(scratch);
  return variant;
}

static void make_variants(const LlvmOptions *options, LlvmTarget *target) {
  if (has_own_isa(options)) {
    target->variants[target->variant_count++] = machine_variant(&options->machine->isa);
  } else if (is_native(options->mcpu)) {
    target->variants[target->variant_count++] = native_variant(options->mattr);
  } else if (is_dispatch(options->mcpu)) {
    int count = options->multiplies_narrow ? CPU_VARIANT_COUNT : CPU_VARIANT_NARROW;
    for (int i = 0; i < count; i++) {
      const CpuVariant *variant = cpu_variant((CpuVariantId)i);
      const CpuLevel *level = cpu_level_find(sv_from_cstring(variant->cpu));
      target->variants[target->variant_count++] = make_variant(variant->name, variant->base, level->features, SV(""));
    }
  } else {
    const CpuLevel *level = cpu_level_find(options->mcpu);
    target->variants[target->variant_count++] = make_variant(NULL, level->cpu, level->features, options->mattr);
  }
  for (int i = 0; i < target->variant_count; i++) {
    VecTarget *vec = &target->variants[i].vec;
    vec->has_fast_math = options->fast_math;
    vec->flushes_denormals = options->flush_denormals;
  }
}

/* As far as the variants of an object differ. */
static bool can_run(const VecTarget *host, const VecTarget *needed) {
  return host->vector_bits >= needed->vector_bits && host->has_fma >= needed->has_fma &&
         host->has_vnni >= needed->has_vnni && host->has_bf16_pairs >= needed->has_bf16_pairs &&
         host->has_f16_arithmetic >= needed->has_f16_arithmetic && host->has_matrix_s8 >= needed->has_matrix_s8 &&
         host->has_matrix_bf16 >= needed->has_matrix_bf16;
}

StringView llvm_native_variant(StringView name) {
  llvm_initialize();
  LlvmVariant host = native_variant(SV(""));
  StringView cpu = SV("native");
  for (int i = 0; i < CPU_VARIANT_COUNT; i++) {
    const CpuVariant *variant = cpu_variant((CpuVariantId)i);
    VecTarget needed = cpu_vec_target(cpu_level_find(sv_from_cstring(variant->cpu))->features);
    if (can_run(&host.vec, &needed) && sv_equal_cstring(name, variant->name)) cpu = sv_from_cstring(variant->cpu);
  }
  LLVMDisposeMessage(host.features);
  LLVMDisposeMessage(host.cpu);
  return cpu;
}

/* --- the machine --- */

static char *make_triple(const LlvmOptions *options) {
  if (!has_own_isa(options)) return llvm_text(LLVMCreateMessage(HOST_TRIPLE));
  Arena *scratch = arena_create();
  StringView triple = options->machine->isa.triple;
  char *copy = llvm_text(LLVMCreateMessage(arena_copy_string(scratch, triple.data, triple.size)));
  arena_destroy(scratch);
  return copy;
}

static LLVMTargetMachineRef make_machine(const LlvmTarget *target, const LlvmOptions *options) {
  LLVMTargetRef llvm_target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(target->triple, &llvm_target, &message)) XLAC_BUG("no back end: %s", message);
  LLVMTargetMachineOptionsRef machine_options = LLVMCreateTargetMachineOptions();
  LLVMTargetMachineOptionsSetCPU(machine_options, target->variants[0].cpu);
  LLVMTargetMachineOptionsSetFeatures(machine_options, target->variants[0].features);
  if (has_own_isa(options)) {
    Arena *scratch = arena_create();
    StringView abi = options->machine->isa.abi;
    LLVMTargetMachineOptionsSetABI(machine_options, arena_copy_string(scratch, abi.data, abi.size));
    arena_destroy(scratch);
  }
  LLVMTargetMachineOptionsSetCodeGenOptLevel(machine_options,
                                             options->opt_level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelLess);
  LLVMTargetMachineOptionsSetRelocMode(machine_options, LLVMRelocPIC);
  LLVMTargetMachineOptionsSetCodeModel(machine_options,
                                       has_own_isa(options) ? LLVMCodeModelMedium : LLVMCodeModelDefault);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachineWithOptions(llvm_target, target->triple, machine_options);
  LLVMDisposeTargetMachineOptions(machine_options);
  return machine;
}

/* All that a machine depends on, but for settings of the process. */
static char *machine_key(const LlvmTarget *target, const LlvmOptions *options) {
  Arena *scratch = arena_create();
  StringView abi = has_own_isa(options) ? options->machine->isa.abi : SV("");
  const char *key = arena_printf(scratch, "%s %s %s %.*s %d", target->triple, target->variants[0].cpu,
                                 target->variants[0].features, SV_ARG(abi), options->opt_level > 0);
  char *copy = llvm_text(LLVMCreateMessage(key));
  arena_destroy(scratch);
  return copy;
}

/* Whether there is code for a processor that --mcpu does not name, and it does what was asked for. */
static Status check_own_isa(const LlvmOptions *options, DiagSink *diag) {
  const MachineIsa *isa = &options->machine->isa;
  RETURN_IF_ERROR(llvm_check_machine(options->machine, diag));
  if (!options->flush_denormals) return STATUS_OK;
  return diag_error(diag, STATUS_UNSUPPORTED, isa->loc, "unsupported-flush",
                    "'%.*s' has no mode that flushes subnormal numbers", SV_ARG(isa->triple));
}

Status llvm_target_create(const LlvmOptions *options, DiagSink *diag, LlvmTarget *out_target) {
  llvm_initialize();
  LlvmTarget *target = out_target;
  *target = (LlvmTarget){0};
  if (has_own_isa(options))
    RETURN_IF_ERROR(check_own_isa(options, diag));
  else
    RETURN_IF_ERROR(llvm_check_cpu(options->mcpu, options->mattr, diag));
  target->triple = make_triple(options);
  make_variants(options, target);
  if (options->pool != NULL) {
    target->pool = options->pool;
    target->key = machine_key(target, options);
    target->machine = llvm_target_pool_take(target->pool, target->key);
  }
  if (target->machine == NULL) target->machine = make_machine(target, options);
  target->data_layout = LLVMCreateTargetDataLayout(target->machine);
  return STATUS_OK;
}

LLVMModuleRef llvm_target_module(const LlvmTarget *target, LLVMContextRef context) {
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("xlac", context);
  LLVMSetTarget(module, target->triple);
  LLVMSetModuleDataLayout(module, target->data_layout);
  return module;
}

static void dispose_variants(LlvmTarget *target) {
  for (int i = 0; i < target->variant_count; i++) {
    LLVMDisposeMessage(target->variants[i].cpu);
    LLVMDisposeMessage(target->variants[i].features);
  }
  target->variant_count = 0;
}

void llvm_target_dispose(LlvmTarget *target) {
  if (target->data_layout != NULL) LLVMDisposeTargetData(target->data_layout);
  if (target->pool != NULL && target->machine != NULL)
    llvm_target_pool_give(target->pool, target->key, target->machine);
  else if (target->machine != NULL)
    LLVMDisposeTargetMachine(target->machine);
  if (target->key != NULL) LLVMDisposeMessage(target->key);
  if (target->triple != NULL) LLVMDisposeMessage(target->triple);
  dispose_variants(target);
  *target = (LlvmTarget){0};
}

int llvm_vec_targets(const LlvmOptions *options, VecTarget out_targets[LLVM_MOST_VARIANTS]) {
  _Static_assert((int)CPU_VARIANT_COUNT <= (int)LLVM_MOST_VARIANTS, "room for all variants");
  llvm_initialize();
  LlvmTarget target = {0};
  make_variants(options, &target);
  int count = target.variant_count;
  for (int i = 0; i < count; i++) out_targets[i] = target.variants[i].vec;
  dispose_variants(&target);
  return count;
}

void llvm_describe_target(const LlvmOptions *options, StringBuilder *out) {
  llvm_initialize();
  LlvmTarget target = {.triple = make_triple(options)};
  make_variants(options, &target);
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  sb_printf(out, "LLVM %u.%u.%u, %s", major, minor, patch, target.triple);
  for (int i = 0; i < target.variant_count; i++)
    sb_printf(out, "; %s %s", target.variants[i].cpu, target.variants[i].features);
  dispose_variants(&target);
  LLVMDisposeMessage(target.triple);
}

/* --- marks of a variant --- */

static void add_attribute(LLVMValueRef function, const char *name, const char *value) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  LLVMAttributeRef attribute =
      LLVMCreateStringAttribute(context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
}

static void add_suffix(LLVMValueRef function, const char *suffix) {
  size_t size;
  const char *name = LLVMGetValueName2(function, &size);
  Arena *scratch = arena_create();
  const char *longer = arena_printf(scratch, "%.*s.%s", (int)size, name, suffix);
  LLVMSetValueName2(function, longer, strlen(longer));
  arena_destroy(scratch);
}

void llvm_variant_mark(const LlvmVariant *variant, LLVMModuleRef module, LLVMValueRef last) {
  LLVMValueRef function = last == NULL ? LLVMGetFirstFunction(module) : LLVMGetNextFunction(last);
  for (; function != NULL; function = LLVMGetNextFunction(function)) {
    bool is_elsewhere = LLVMIsDeclaration(function);
    if (is_elsewhere && variant->name != NULL && LLVMGetVisibility(function) == LLVMHiddenVisibility)
      add_suffix(function, variant->name);
    if (is_elsewhere) continue;
    /* Left to itself LLVM prefers 256 bits on some processors; the emitter has decided already. */
    if (variant->vec.vector_bits == 512) add_attribute(function, "prefer-vector-width", "512");
    if (variant->vec.flushes_denormals) add_attribute(function, "denormal-fp-math", "preserve-sign,preserve-sign");
    if (variant->name == NULL) continue;
    add_attribute(function, "target-cpu", variant->cpu);
    add_attribute(function, "target-features", variant->features);
    add_suffix(function, variant->name);
  }
}

/* --- what LLVM cannot take as it is --- */

/* Lanes of which constants leave some, and put 0 in place of the others, are compared. */
static bool compares_masked_lanes(LLVMValueRef instruction) {
  if (LLVMGetInstructionOpcode(instruction) != LLVMSelect) return false;
  LLVMValueRef mask = LLVMGetOperand(instruction, 0), other = LLVMGetOperand(instruction, 2);
  if (!LLVMIsConstant(mask) || LLVMGetTypeKind(LLVMTypeOf(mask)) != LLVMVectorTypeKind) return false;
  if (!LLVMIsConstant(other) || !LLVMIsNull(other)) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(instruction); use != NULL; use = LLVMGetNextUse(use)) {
    if (LLVMGetInstructionOpcode(LLVMGetUser(use)) == LLVMICmp) return true;
  }
  return false;
}

static bool any_compares_masked_lanes(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f)) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block != NULL; block = LLVMGetNextBasicBlock(block)) {
      LLVMValueRef at = LLVMGetFirstInstruction(block);
      for (; at != NULL; at = LLVMGetNextInstruction(at)) {
        if (compares_masked_lanes(at)) return true;
      }
    }
  }
  return false;
}

/* Instruction selection of LLVM 19 goes on for ever over some of these, where there is no SSE4.1.  As instcombine
 * leaves them they are good; it takes time and changes other code, and is run where there are any. */
static void settle_masked_lanes(const LlvmTarget *target, LLVMModuleRef module) {
  bool has_oldest = false;
  for (int i = 0; i < target->variant_count; i++) has_oldest |= !target->variants[i].vec.has_rounding;
  if (!has_oldest || !any_compares_masked_lanes(module)) return;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, "function(instcombine<no-verify-fixpoint>)", target->machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (error != NULL) XLAC_BUG("LLVM's instcombine: %s", LLVMGetErrorMessage(error));
}

/* --- output --- */

/* NULL is a lack of memory. */
static StringView copy_buffer(Arena *arena, LLVMMemoryBufferRef buffer) {
  if (buffer == NULL) out_of_memory(0);
  size_t size = LLVMGetBufferSize(buffer);
  StringView bytes = {arena_copy_string(arena, LLVMGetBufferStart(buffer), size), size};
  LLVMDisposeMemoryBuffer(buffer);
  return bytes;
}

Status llvm_target_emit(const LlvmTarget *target, LLVMModuleRef module, LlvmOutput output, Arena *arena, DiagSink *diag,
                        StringView *out_bytes) {
  char *message = NULL;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) XLAC_BUG("LLVM's verifier: %s", message);
  LLVMDisposeMessage(message);
  if (output == LLVM_OUTPUT_IR) {
    char *text = llvm_text(LLVMPrintModuleToString(module));
    *out_bytes = (StringView){arena_copy_string(arena, text, strlen(text)), strlen(text)};
    LLVMDisposeMessage(text);
    return STATUS_OK;
  }
  if (output == LLVM_OUTPUT_BITCODE) {
    *out_bytes = copy_buffer(arena, LLVMWriteBitcodeToMemoryBuffer(module));
    return STATUS_OK;
  }
  settle_masked_lanes(target, module);
  LLVMMemoryBufferRef buffer = NULL;
  LLVMCodeGenFileType type = output == LLVM_OUTPUT_ASSEMBLY ? LLVMAssemblyFile : LLVMObjectFile;
  message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(target->machine, module, type, &message, &buffer)) {
    Status status =
        diag_error(diag, STATUS_UNSUPPORTED, NO_LOC, "llvm-emit", "LLVM cannot emit the module: %s", message);
    LLVMDisposeMessage(message);
    return status;
  }
  *out_bytes = copy_buffer(arena, buffer);
  return STATUS_OK;
}
