/* The control function: the entry computation as a sequence of Kernel calls, loops and branches, with scalars in
 * registers. */
#ifndef XLAC_CODEGEN_EMIT_CONTROL_EMITTER_H
#define XLAC_CODEGEN_EMIT_CONTROL_EMITTER_H

#include "codegen/kernel/kernel_table.h"
#include "codegen/vec/vec.h"
#include "hlo/analysis/buffer_assignment.h"

typedef struct ControlResult {
  int64_t kernel_count, distinct_kernel_count;
  int64_t workspace_bytes;          /* temporaries of the assignment, then the Kernels' scratch: of one worker */
  int64_t scratch_bytes_per_worker; /* of each further one */
} ControlResult;

/* Adds the function |name| of type XlacFunction to |vec->module| and all that it calls and reads.  |kernels| serves
 * further calls for other targets, which also share the constants.  |poison|: memory that holds no live value is
 * overwritten with 0xFF at once, so that a wrong live range or place shows in the results. */
MUST_USE Status control_emit(const VecBuilder *vec, const HloModule *module, const BufferAssignment *assignment,
                             KernelTable *kernels, const char *name, bool poison, DiagSink *diag,
                             ControlResult *out_result);

#endif
