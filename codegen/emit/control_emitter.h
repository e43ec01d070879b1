/* The control function: the entry computation as a sequence of Kernel calls, loops and branches, with scalars in
 * registers. */
#ifndef XLAC_CODEGEN_EMIT_CONTROL_EMITTER_H
#define XLAC_CODEGEN_EMIT_CONTROL_EMITTER_H

#include "codegen/collective/module_collectives.h"
#include "codegen/emit/constant_file.h"
#include "codegen/emit/kernel_emitter.h"
#include "codegen/kernel/kernel_table.h"
#include "codegen/vec/vec.h"
#include "hlo/analysis/buffer_assignment.h"

/* What is done before a loop, or after it. */
typedef struct CodeAround {
  KernelCode code;   /* a function of |leaves|, like kernel_emit's in one piece */
  int32_t count;     /* 0: nothing is done */
  const int *leaves; /* of the loop's state */
} CodeAround;

/* Makes the code of Kernels in place of kernel_emit (kernel_emitter.h): for a machine whose operations do not work on
 * memory itself. */
typedef struct KernelCoder {
  void *self;
  /* A function like kernel_emit's in one piece, with the run's options as a further parameter at the end; it returns
   * i32, and anything but 0 ends the module's function with that value. */
  Status (*emit)(void *self, const VecBuilder *vec, const KernelUse *use, const char *name, DiagSink *diag,
                 KernelCode *out_code);
  /* Uses with the same number have one function; dense from 0. */
  int32_t (*number)(void *self, const KernelUse *use);
  /* What is done before |loop|, or after it. */
  Status (*emit_around)(void *self, const VecBuilder *vec, const HloInstruction *loop, bool is_after, const char *name,
                        DiagSink *diag, CodeAround *out_around);
  /* Emits, where |vec|'s builder is, what is to be done right before |use| is called; |options|: the run's. */
  void (*emit_before)(void *self, const VecBuilder *vec, const KernelUse *use, LLVMValueRef options);
} KernelCoder;

/* Where the module's constants are, for a module whose code is in several LLVM modules that become one object. */
typedef enum ConstantPlace {
  CONSTANTS_PRIVATE,        /* here, and nobody else reads them */
  CONSTANTS_OF_ALL_PARTS,   /* here, for other LLVM modules as well */
  CONSTANTS_OF_ANOTHER_PART /* there */
} ConstantPlace;

typedef struct ControlOptions {
  const KernelTable *kernels;       /* those of the module */
  const KernelStrategy *strategies; /* of the Kernels on |vec->target|, by identity; NULL with a coder */
  const char *name;
  const char *prepare_name; /* of the function that computes what is prepared, where the module has such */
  bool poison;  /* memory that holds no live value is overwritten with 0xFF at once, so that a wrong live range or
                   place shows in the results */
  bool profile; /* counts what each instruction takes in the global NAME_profile (codegen_jit_profile) */
  bool has_no_kernels; /* Kernels have their functions in other LLVM modules, by control_part_kernel_name */
  ConstantPlace constants;
  const ConstantFile *constant_file;    /* has the large ones ("xlac.constants" is declared); NULL: none has */
  const ModuleCollectives *collectives; /* those of the module, declared in |vec->module| (collective_declare); NULL
                                           where it needs no devices (module_needs_devices) */
  const KernelCoder *coder; /* NULL for the host; with one, all Kernels are its work, and so is all arithmetic on rank-0
                               floats; integers and predicates of rank 0 stay in registers: they are what loops,
                               branches and addresses are made of */
} ControlOptions;

/* Adds the function |options->name| of type XlacFunction to |vec->module| and all that it calls and reads, and, where
 * |module| has a preparation, its XlacPrepareFunction ("xlac.prepared" is declared); calls for
 * several targets share the constants. */
MUST_USE Status control_emit(const VecBuilder *vec, const HloModule *module, const BufferAssignment *assignment,
                             const ControlOptions *options, DiagSink *diag);

/* What the function of a Kernel is called that another LLVM module has. */
const char *control_part_kernel_name(Arena *arena, int32_t identity);

#endif
