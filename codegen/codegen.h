/* codegen: a fused, scheduled module with its BufferAssignment → machine code.  The only room that knows LLVM, but
 * for the digest that base/content_digest.c takes from it. */
#ifndef XLAC_CODEGEN_CODEGEN_H
#define XLAC_CODEGEN_CODEGEN_H

#include "codegen/call/call_targets.h"
#include "codegen/code_draft.h"
#include "hlo/analysis/buffer_assignment.h"
#include "hlo/ir/hlo_module.h"
#include "hlo/machine/description/machine_description.h"
#include "xlac/abi.h"

typedef struct CodegenOptions {
  StringView entry_name;   /* C symbol; the descriptor is <entry_name>_descriptor.  Empty: made of |default_name| */
  StringView default_name; /* empty: the module's name (codegen/entry_name.h) */
  LlvmOutput output;
  const BufferAssignment *assignment;
  CodeDraft *draft;     /* for which target; Kernels and plans are made if they are not there */
  bool poison;          /* code that overwrites all memory that holds no live value with 0xFF, for tests */
  bool constants_apart; /* large constants are not in the object but in a file of their own (XlacConstants) */
  bool profile;         /* what each instruction takes is counted (codegen_jit_profile); runs are no more re-entrant */
  int threads;          /* at most so many make an object, this one included; it is the same whatever their number */
} CodegenOptions;

typedef struct CompiledObject {
  StringView bytes;      /* what |output| asked for */
  StringView entry_name; /* the C symbol used */
  bool has_changed_name; /* it is the name it was made of, but for more than characters (codegen/entry_name.h) */
  StringView header;     /* C header declaring entry and descriptor */
  StringView constants;  /* with |constants_apart|, the file of the large ones; empty: none is large */
  CallTargets targets;   /* what has to be linked besides */
  const XlacDescriptor *signature; /* what the descriptor in it says (codegen/module_signature.h) */
} CompiledObject;

/* |module| must be verified and scheduled, options->assignment and options->draft its own.  What xlac cannot compile:
 * STATUS_UNSUPPORTED with a located diagnostic (code "unsupported-…").  The result lives in |arena|. */
MUST_USE Status codegen_compile(Arena *arena, const HloModule *module, const CodegenOptions *options, DiagSink *diag,
                                CompiledObject *out_object);

/* All Kernels as text (codegen/kernel), each after the name of its instruction. */
void codegen_print_kernels(const KernelTable *kernels, StringBuilder *out);

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

/* Of all runs so far of an instruction of the scheduled module that the code was made of, without what it calls. */
typedef struct InstructionProfile {
  uint64_t cycles; /* of the processor's counter, which goes on at one rate */
  uint64_t runs;
} InstructionProfile;
/* By instruction id, of code with CodegenOptions.profile; STATUS_INVALID ("jit-load") of other code. */
MUST_USE Status codegen_jit_profile(const CodegenJit *jit, DiagSink *diag, const InstructionProfile **out_profile);

void codegen_jit_destroy(CodegenJit *jit);

#endif
