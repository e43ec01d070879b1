/* What code is made for, and in which form it is wanted: all that the rest of the compiler says to LLVM's room.
 * Includes nothing of LLVM. */
#ifndef XLAC_CODEGEN_LLVM_LLVM_OPTIONS_H
#define XLAC_CODEGEN_LLVM_LLVM_OPTIONS_H

#include "base/diagnostic.h"
#include "codegen/target/vec_target.h"
#include "hlo/machine/description/machine_description.h"

typedef enum LlvmOutput { LLVM_OUTPUT_OBJECT, LLVM_OUTPUT_ASSEMBLY, LLVM_OUTPUT_IR, LLVM_OUTPUT_BITCODE } LlvmOutput;

/* What compilations one after another make once, of LLVM's own; any number of threads use it.  The creator destroys it,
 * NULL included, when no compilation does any more.  There is not enough memory: out_of_memory. */
typedef struct LlvmTargetPool LlvmTargetPool;
LlvmTargetPool *llvm_target_pool_create(void);
void llvm_target_pool_destroy(LlvmTargetPool *pool);

typedef struct LlvmOptions {
  StringView mcpu;  /* LLVM CPU name, "native" (also when empty), or "dispatch": variants for baseline x86-64, AVX2,
                       AVX-512 */
  StringView mattr; /* LLVM feature list, may be empty; of one CPU only */
  int opt_level;    /* 0 … 3 */
  const MachineDescription *machine; /* NULL: the host; one with an [isa] of its own leaves mcpu and mattr unread */
  bool multiplies_narrow; /* "dispatch" has variants for processors that multiply narrow types faster as well */
  bool fast_math;         /* floats may be computed as if they were real numbers */
  bool flush_denormals;   /* subnormal operands and results are zeros, as in XLA:CPU */
  LlvmTargetPool *pool;   /* NULL: none; the code does not depend on it */
} LlvmOptions;

/* Whose code a triple, as LLVM writes it, asks for. */
typedef enum LlvmTripleKind {
  LLVM_TRIPLE_UNKNOWN, /* there is none */
  LLVM_TRIPLE_HOST,    /* x86_64-…-linux-…: System V's ABI, whoever made the machine */
  LLVM_TRIPLE_OTHER    /* riscv64-…, whose processor a MachineIsa says */
} LlvmTripleKind;
LlvmTripleKind llvm_triple_kind(StringView triple);

/* The processor of a triple of LLVM_TRIPLE_OTHER that a command line names (riscv_isa), in |arena|.  STATUS_INVALID as
 * llvm_check_machine. */
MUST_USE Status llvm_triple_isa(StringView triple, StringView cpu, StringView features, Arena *arena, DiagSink *diag,
                                MachineIsa *out_isa);

/* Whether there is code for these; else STATUS_INVALID with a diagnostic (code "unknown-cpu", the known ones in a note,
 * or "cpu-features"). */
MUST_USE Status llvm_check_cpu(StringView mcpu, StringView mattr, DiagSink *diag);

/* Whether there is code for the processor that |machine| describes: STATUS_UNSUPPORTED ("unsupported-target"), or
 * STATUS_INVALID ("machine-isa") for a cpu, features or an abi that it has not, at the description's line. */
MUST_USE Status llvm_check_machine(const MachineDescription *machine, DiagSink *diag);

/* The CPU to compile for where only this machine matters, but the variant |name| ("baseline", "avx2", …) is
 * asked for: that variant's CPU, or "native" when there is no such variant or the machine cannot run it. */
StringView llvm_native_variant(StringView name);

/* Whether code for |options| is for the processor of the machine that it is made on. */
bool llvm_is_native(const LlvmOptions *options);

/* Appends all that code for |options|, which have been checked, depends on besides them: LLVM's version, the triple,
 * and the name and features of each kind of processor, where "native" stands for this machine's.  Equal texts: the same
 * module becomes the same code. */
void llvm_describe_target(const LlvmOptions *options, StringBuilder *out);

/* The kinds of processors that code for |options|, which have been checked, is made for: a VecTarget for each; how many
 * there are. */
enum { LLVM_MOST_VARIANTS = 5 };
int llvm_vec_targets(const LlvmOptions *options, VecTarget out_targets[LLVM_MOST_VARIANTS]);

#endif
