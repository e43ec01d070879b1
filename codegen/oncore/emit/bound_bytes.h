/* Which bytes of arrays a module moves between memory and Buffer at least, whatever the plans of its Kernels. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_BOUND_BYTES_H
#define XLAC_CODEGEN_ONCORE_EMIT_BOUND_BYTES_H

#include "hlo/ir/hlo_module.h"
#include "hlo/machine/description/machine_description.h"

/* Of |value| those that its users read at least: two of them may read the same ones.  0 for what is no array. */
int64_t bound_bytes_read(const HloInstruction *value);

/* Those that making |value| writes at least; of a tuple, of all that it is made of. */
int64_t bound_bytes_written(const HloInstruction *value);

/* Those that loops load more than once: each iteration reads all of what no iteration changes (weights, most of the
 * time), and of these no more than the Buffer of |machine| are there when it begins.  So all iterations but the first
 * load what there is beyond the Buffer.  Of loops within one another the innermost alone count, and of those whose
 * iterations nobody knows none. */
int64_t bound_bytes_again(const HloModule *module, const MachineDescription *machine);

#endif
