/* What the units that look for hazards share: an order of instances, the search for a machine that is stuck, flags. */
#ifndef XLAC_HLO_MACHINE_STREAM_HAZARDS_INTERNAL_H
#define XLAC_HLO_MACHINE_STREAM_HAZARDS_INTERNAL_H

#include "hlo/machine/description/machine_description.h"
#include "hlo/machine/stream/command_order.h"
#include "hlo/machine/stream/command_stream.h"

typedef ARRAY(int32_t) InstanceArray;

void instances_sort_latest_first(int32_t *instances, int64_t count);

/* The command that |order| has begun waits for those of |producers|, sorted here, that it does not know through others;
 * they are appended to |edges|, in |arena|. */
void instances_wait_for(CommandOrder *order, InstanceArray *producers, Arena *arena, InstanceArray *edges);

/* Whether the machine gets stuck on the stream: commands are issued in program order, each queue takes up to its depth
 * and works on them in order (an unordered queue on any of them).  Then |out_waiting| waits for |out_awaited| for ever.
 */
bool stream_finds_deadlock(Arena *scratch, const CommandStream *stream, const MachineDescription *machine,
                           int32_t *out_awaited, int32_t *out_waiting);

typedef struct StreamEdge {
  int32_t producer, consumer; /* instances */
} StreamEdge;

/* On a machine with flags each edge takes one of the sync.ids that its two queues have from when its producer is
 * complete until its consumer starts.  |order| has all commands.  Those of |edges| for which none is left in some
 * execution, in |arena|; |out_most|: flags that some pair of queues needs at once, sync.ids at most. */
StreamEdge *stream_flags_missing(Arena *arena, Arena *scratch, const CommandOrder *order, const StreamEdge *edges,
                                 int64_t count, int64_t *out_count, int64_t *out_most);

#endif
