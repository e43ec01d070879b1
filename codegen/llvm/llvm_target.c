#include "codegen/llvm/llvm_target.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <string.h>

/* LLVM's registries and command line are process-wide; they are set up once, before anything else of LLVM is used. */
static void initialize_llvm(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  /* Measured on emitted vector code: a fifth of emission time for no speed. */
  static const char *const arguments[] = {"xlac", "-disable-lsr"};
  LLVMParseCommandLineOptions(2, arguments, "");
}

static bool has_feature(const char *features, const char *name) {
  size_t length = strlen(name);
  for (const char *at = features; (at = strstr(at, name)) != NULL; at += length) {
    bool starts = at > features && at[-1] == '+' && (at - 1 == features || at[-2] == ',');
    if (starts && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

/* What each CPU level brings; "native" comes with the host's own list. */
typedef struct CpuLevel {
  const char *cpu, *features;
} CpuLevel;

#define AVX2_FEATURES "+sse4.1,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt"
#define AVX512_FEATURES AVX2_FEATURES ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"

static const CpuLevel cpu_levels[] = {
    {"x86-64", ""},
    {"x86-64-v2", "+sse4.1,+popcnt"},
    {"nehalem", "+sse4.1,+popcnt"},
    {"x86-64-v3", AVX2_FEATURES},
    {"haswell", AVX2_FEATURES},
    {"skylake", AVX2_FEATURES},
    {"znver1", AVX2_FEATURES},
    {"znver2", AVX2_FEATURES},
    {"znver3", AVX2_FEATURES},
    {"alderlake", AVX2_FEATURES},
    {"x86-64-v4", AVX512_FEATURES},
    {"skylake-avx512", AVX512_FEATURES},
    {"cascadelake", AVX512_FEATURES},
    {"icelake-server", AVX512_FEATURES},
    {"sapphirerapids", AVX512_FEATURES},
    {"znver4", AVX512_FEATURES},
    {"znver5", AVX512_FEATURES},
};

static VecTarget describe(const char *features) {
  VecTarget target = {.vector_bits = 128, .register_count = 16};
  target.has_rounding = has_feature(features, "sse4.1");
  target.has_f16c = has_feature(features, "f16c");
  bool avx2 = has_feature(features, "avx2");
  target.has_fma = has_feature(features, "fma");
  if (avx2) {
    target.vector_bits = 256;
    target.has_masks_32 = true;
  }
  bool avx512 = has_feature(features, "avx512f") && has_feature(features, "avx512bw") && has_feature(features, "avx512dq") &&
                has_feature(features, "avx512vl");
  if (avx512) {
    target.vector_bits = 512;
    target.register_count = 32;
    target.has_masks = true;
  }
  return target;
}

/* Fills cpu and features from the options; false for a CPU that is not in the table. */
static bool resolve_cpu(const CodegenOptions *options, Arena *scratch, LlvmTarget *target) {
  if (options->mcpu.size == 0 || sv_equal_cstring(options->mcpu, "native")) {
    target->cpu = LLVMGetHostCPUName();
    char *host = LLVMGetHostCPUFeatures();
    target->features = LLVMCreateMessage(arena_printf(scratch, "%s%s%.*s", host, options->mattr.size > 0 ? "," : "", SV_ARG(options->mattr)));
    LLVMDisposeMessage(host);
    return true;
  }
  for (size_t i = 0; i < sizeof cpu_levels / sizeof *cpu_levels; i++) {
    if (!sv_equal_cstring(options->mcpu, cpu_levels[i].cpu)) continue;
    const char *separator = options->mattr.size > 0 && cpu_levels[i].features[0] != '\0' ? "," : "";
    target->cpu = LLVMCreateMessage(cpu_levels[i].cpu);
    target->features = LLVMCreateMessage(arena_printf(scratch, "%s%s%.*s", cpu_levels[i].features, separator, SV_ARG(options->mattr)));
    return true;
  }
  return false;
}

static Status unknown_cpu(const CodegenOptions *options, DiagSink *diag) {
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "unknown-cpu", "unknown CPU '%.*s'", SV_ARG(options->mcpu));
  StringBuilder known;
  sb_init(&known, diag->arena);
  for (size_t i = 0; i < sizeof cpu_levels / sizeof *cpu_levels; i++) {
    sb_printf(&known, "%s%s", i == 0 ? "" : ", ", cpu_levels[i].cpu);
  }
  diag_note(diag, NO_LOC, "known CPUs: native, %.*s", SV_ARG(sb_view(&known)));
  return status;
}

Status llvm_target_create(const CodegenOptions *options, DiagSink *diag, LlvmTarget *out_target) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize_llvm);
  LlvmTarget *target = out_target;
  *target = (LlvmTarget){.triple = LLVMCreateMessage("x86_64-pc-linux-gnu")};
  Arena *scratch = arena_create();
  bool known = resolve_cpu(options, scratch, target);
  arena_destroy(scratch);
  if (!known) return unknown_cpu(options, diag);
  target->vec = describe(target->features);
  LLVMTargetRef llvm_target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(target->triple, &llvm_target, &message)) XLAC_BUG("no X86 back end: %s", message);
  LLVMCodeGenOptLevel level = options->opt_level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelLess;
  target->machine = LLVMCreateTargetMachine(llvm_target, target->triple, target->cpu, target->features, level, LLVMRelocPIC,
                                            LLVMCodeModelDefault);
  target->data_layout = LLVMCreateTargetDataLayout(target->machine);
  return STATUS_OK;
}

void llvm_target_dispose(LlvmTarget *target) {
  if (target->data_layout != NULL) LLVMDisposeTargetData(target->data_layout);
  if (target->machine != NULL) LLVMDisposeTargetMachine(target->machine);
  if (target->triple != NULL) LLVMDisposeMessage(target->triple);
  if (target->cpu != NULL) LLVMDisposeMessage(target->cpu);
  if (target->features != NULL) LLVMDisposeMessage(target->features);
  *target = (LlvmTarget){0};
}

static StringView copy_buffer(Arena *arena, LLVMMemoryBufferRef buffer) {
  size_t size = LLVMGetBufferSize(buffer);
  StringView bytes = {arena_copy_string(arena, LLVMGetBufferStart(buffer), size), size};
  LLVMDisposeMemoryBuffer(buffer);
  return bytes;
}

Status llvm_target_emit(const LlvmTarget *target, LLVMModuleRef module, CodegenEmit emit, Arena *arena, DiagSink *diag,
                        StringView *out_bytes) {
  char *message = NULL;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) XLAC_BUG("LLVM's verifier: %s", message);
  LLVMDisposeMessage(message);
  if (emit == CODEGEN_LLVM_IR) {
    char *text = LLVMPrintModuleToString(module);
    *out_bytes = (StringView){arena_copy_string(arena, text, strlen(text)), strlen(text)};
    LLVMDisposeMessage(text);
    return STATUS_OK;
  }
  if (emit == CODEGEN_BITCODE) {
    *out_bytes = copy_buffer(arena, LLVMWriteBitcodeToMemoryBuffer(module));
    return STATUS_OK;
  }
  LLVMMemoryBufferRef buffer = NULL;
  LLVMCodeGenFileType type = emit == CODEGEN_ASSEMBLY ? LLVMAssemblyFile : LLVMObjectFile;
  message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(target->machine, module, type, &message, &buffer)) {
    Status status = diag_error(diag, STATUS_UNSUPPORTED, NO_LOC, "llvm-emit", "LLVM cannot emit the module: %s", message);
    LLVMDisposeMessage(message);
    return status;
  }
  *out_bytes = copy_buffer(arena, buffer);
  return STATUS_OK;
}
