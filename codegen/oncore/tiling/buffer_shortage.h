/* What to say when not even the smallest tiles fit: every Tensor with its bytes, the largest of them, and the Buffer
 * that would do. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_BUFFER_SHORTAGE_H
#define XLAC_CODEGEN_ONCORE_TILING_BUFFER_SHORTAGE_H

#include "codegen/oncore/tiling/tiling.h"

/* Reports "oncore-too-small" for |least|, the tiling with the smallest footprint, which is more than |buffer_bytes|;
 * returns STATUS_EXHAUSTED. */
Status buffer_shortage_report(const Kernel *kernel, const MachineDescription *machine, const Tiling *least,
                              int64_t buffer_bytes, DiagSink *diag);

#endif
