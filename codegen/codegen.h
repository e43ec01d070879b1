/* codegen: a fused, scheduled module with its BufferAssignment → machine code.  The only room that knows LLVM. */
#ifndef XLAC_CODEGEN_CODEGEN_H
#define XLAC_CODEGEN_CODEGEN_H

#include "codegen/call/call.h"
#include "codegen/oncore/module_plans.h"
#include "hlo/analysis/buffer_assignment.h"
#include "hlo/ir/hlo_module.h"
#include "hlo/machine/machine_description.h"
#include "runtime/abi.h"

typedef enum CodegenEmit { CODEGEN_OBJECT, CODEGEN_ASSEMBLY, CODEGEN_LLVM_IR, CODEGEN_BITCODE } CodegenEmit;

typedef struct CodegenOptions {
  StringView entry_name; /* C symbol; the descriptor is <entry_name>_descriptor.  Empty: from the module's name */
  StringView mcpu;  /* LLVM CPU name, "native" (also when empty), or "dispatch": variants for baseline x86-64, AVX2 and
                       AVX-512 */
  StringView mattr; /* LLVM feature list, may be empty; of one CPU only */
  CodegenEmit emit;
  int opt_level;            /* 0 … 3 */
  const ModulePlans *plans; /* NULL: the host; a machine with an [isa] of its own leaves mcpu and mattr unread */
  bool flush_denormals;     /* subnormal operands and results are zeros, as in XLA:CPU */
  bool poison;              /* code that overwrites all memory that holds no live value with 0xFF, for tests */
} CodegenOptions;

typedef struct CompiledObject {
  StringView bytes;      /* what |emit| asked for */
  StringView entry_name; /* the C symbol used */
  StringView header;     /* C header declaring entry and descriptor */
  CallTargets targets;   /* what has to be linked besides */
  int64_t kernel_count, distinct_kernel_count;
} CompiledObject;

/* |module| must be verified, scheduled, and carry a BufferAssignment.  What xlac cannot compile: STATUS_UNSUPPORTED
 * with a located diagnostic (code "unsupported-…").  The result lives in |arena|. */
MUST_USE Status codegen_compile(Arena *arena, const HloModule *module, const CodegenOptions *options, DiagSink *diag,
                                CompiledObject *out_object);

/* Whether codegen_compile takes these; else STATUS_INVALID with a diagnostic (code "unknown-cpu", the known ones in a
 * note, or "cpu-features"). */
MUST_USE Status codegen_check_cpu(StringView mcpu, StringView mattr, DiagSink *diag);

/* Whether there is code for the processor that |machine| describes: STATUS_UNSUPPORTED ("unsupported-target"), or
 * STATUS_INVALID ("machine-isa") for a cpu, features or an abi that it has not, at the description's line. */
MUST_USE Status codegen_check_machine(const MachineDescription *machine, DiagSink *diag);

/* The CPU to compile for where only this machine matters, but the variant |name| ("baseline", "avx2", "avx512") is
 * asked for: that variant's CPU, or "native" when there is no such variant or the machine cannot run it. */
StringView codegen_native_variant(StringView name);

/* The module's name as a C identifier. */
StringView codegen_entry_name(Arena *arena, const HloModule *module);

/* All kernels of the module as text (codegen/kernel), for --dump-kernels and tests. */
MUST_USE Status codegen_print_kernels(Arena *arena, const HloModule *module, DiagSink *diag, StringBuilder *out);

/* Plans of |module|, proved ones, in the plan language. */
void codegen_print_plans(Arena *arena, const HloModule *module, const ModulePlans *plans, StringBuilder *out);

/* Object code in memory, ready to run. */
typedef struct CodegenJit CodegenJit;
/* Loads the object bytes; |targets|: addresses of object->targets, in their order, which must stay as long.
 * STATUS_INVALID with a diagnostic when symbols are missing.  Ended by codegen_jit_destroy. */
MUST_USE Status codegen_jit_load(const CompiledObject *object, void *const *targets, DiagSink *diag,
                                 CodegenJit **out_jit);
XlacFunction codegen_jit_function(const CodegenJit *jit);
const XlacDescriptor *codegen_jit_descriptor(const CodegenJit *jit);
void codegen_jit_destroy(CodegenJit *jit);

#endif
