/* What the units that look for hazards share: an order of instances, and the search for a machine that is stuck. */
#ifndef XLAC_HLO_MACHINE_STREAM_HAZARDS_INTERNAL_H
#define XLAC_HLO_MACHINE_STREAM_HAZARDS_INTERNAL_H

#include "hlo/machine/description/machine_description.h"
#include "hlo/machine/stream/command_stream.h"

void instances_sort_latest_first(int32_t *instances, int64_t count);

/* Whether the machine gets stuck on the stream: commands are issued in program order, each queue takes up to its depth
 * and works on them in order (an unordered queue on any of them).  Then |out_waiting| waits for |out_awaited| for ever.
 */
bool stream_finds_deadlock(Arena *scratch, const CommandStream *stream, const MachineDescription *machine,
                           int32_t *out_awaited, int32_t *out_waiting);

#endif
