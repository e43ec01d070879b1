/* QueueAccesses: what the commands of each queue have touched, for machines on which all queues complete in order.
 *
 * Of the commands of an in-order queue that touch the same bytes, whoever waits for the latest comes after all of them.
 * So what a command has to wait for is, of each other queue, the latest command that conflicts with it, and it is only
 * looked for among those that the command does not know to be complete: back from the latest one to the first one that
 * it knows.  That are few where queues keep pace, whatever the boxes look like.  By classes of bytes
 * (byte_classes_internal.h) a command looks at as many classes as the boxes of all times cut its own into, which in a
 * run of many Kernels, in memory that is used again and again, are hundreds.
 *
 * Time for each access: the commands of other queues since those that are known, a comparison of hulls each, and of
 * boxes where hulls meet. */
#ifndef XLAC_HLO_MACHINE_STREAM_QUEUE_ACCESSES_INTERNAL_H
#define XLAC_HLO_MACHINE_STREAM_QUEUE_ACCESSES_INTERNAL_H

#include "hlo/machine/stream/hazards_internal.h"

/* All bytes of a box are in [begin, end). */
typedef struct ByteHull {
  int64_t begin, end; /* no bytes: no access to the box can be a hazard */
} ByteHull;

typedef struct LoggedAccess {
  ByteHull hull;
  int32_t instance, place; /* its number on the chain of its queue (command_order.h) */
  int32_t box;
} LoggedAccess;

typedef ARRAY(LoggedAccess) AccessLog; /* in program order */

typedef struct QueueAccesses {
  Arena *arena;
  const CommandStream *stream;
  const CommandOrder *order; /* of the commands so far */
  int32_t queues;
  const ByteHull *hulls; /* by box */
  AccessLog *logs;       /* of each object and queue: reads, then writes */
} QueueAccesses;

/* Whether each access of |stream| is by a command of a queue that completes in order; else this knows too little. */
bool queue_accesses_suit(const CommandStream *stream, const MachineDescription *machine);

/* Nothing is touched yet.  Lives in |arena|.  |order| outlives it. */
void queue_accesses_init(QueueAccesses *accesses, Arena *arena, const CommandStream *stream,
                         const MachineDescription *machine, const CommandOrder *order);

/* Appends to |producers|, in the arena, of each other queue and for each access of |instance|, which |order| has begun,
 * the latest command that it conflicts with and that it does not know to be complete.  None: it races with no command
 * before it. */
void queue_accesses_find(const QueueAccesses *accesses, int32_t instance, InstanceArray *producers);

/* From now on |instance|, which |order| has, is the last command of its queue. */
void queue_accesses_note(QueueAccesses *accesses, int32_t instance);

#endif
