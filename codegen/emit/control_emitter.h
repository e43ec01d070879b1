/* The control function: the entry computation as a sequence of Kernel calls, loops and branches, with scalars in
 * registers. */
#ifndef XLAC_CODEGEN_EMIT_CONTROL_EMITTER_H
#define XLAC_CODEGEN_EMIT_CONTROL_EMITTER_H

#include "codegen/emit/kernel_emitter.h"
#include "codegen/kernel/kernel_table.h"
#include "codegen/vec/vec.h"
#include "hlo/analysis/buffer_assignment.h"

/* Makes the code of Kernels in place of kernel_emit (kernel_emitter.h): for a machine whose operations do not work on
 * memory itself. */
typedef struct KernelCoder {
  void *self;
  /* A function like kernel_emit's in one piece, with the run's options as a further parameter at the end; it returns
   * i32, and anything but 0 ends the module's function with that value. */
  Status (*emit)(void *self, const VecBuilder *vec, const KernelUse *use, const char *name, DiagSink *diag,
                 KernelCode *out_code);
} KernelCoder;

/* Adds the function |name| of type XlacFunction to |vec->module| and all that it calls and reads.  |kernels| are
 * those of |module|, |strategies| those of its Kernels on |vec->target|, by identity (NULL with a coder); calls for
 * several targets share the constants.  |poison|: memory that holds no live value is
 * overwritten with 0xFF at once, so that a wrong live range or place shows in the results.  |coder|: NULL for the host;
 * with one, all Kernels are its work, and so is all arithmetic on rank-0 floats; integers and predicates of rank 0 stay
 * in registers: they are what loops, branches and addresses are made of. */
MUST_USE Status control_emit(const VecBuilder *vec, const HloModule *module, const BufferAssignment *assignment,
                             const KernelTable *kernels, const KernelStrategy *strategies, const char *name,
                             bool poison, const KernelCoder *coder, DiagSink *diag);

#endif
