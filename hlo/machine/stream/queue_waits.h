/* QueueWaits: why queues of a simulated stream were at rest, command by command and in all.
 *
 * A queue that is free starts its next command at once unless one of two things holds it up, which add up to all of its
 * rest up to its last command: the command is not there yet (the unit that issues commands stands before a queue that
 * is full, or in a barrier), or it is there and waits for the last of its edges.  The second is QueueUse.stall. */
#ifndef XLAC_HLO_MACHINE_STREAM_QUEUE_WAITS_H
#define XLAC_HLO_MACHINE_STREAM_QUEUE_WAITS_H

#include "hlo/machine/stream/edge_kinds.h"
#include "hlo/machine/stream/queue_simulation.h"

typedef enum WaitKind {
  WAIT_EDGE,   /* for a command to be complete, which an edge names */
  WAIT_ROOM,   /* to be issued: a queue is full */
  WAIT_BARRIER /* to be issued: a barrier lets nothing through */
} WaitKind;

/* What one command waited for while its queue was at rest. */
typedef struct CommandWait {
  WaitKind kind;
  int32_t cause;   /* EDGE: the producer that was complete last; ROOM: the command that found its queue full; BARRIER */
  double from, to; /* the rest; to > from */
} CommandWait;

/* Waits of |instance|: up to two, the time before it was issued first; their number. */
int command_waits_find(const CommandStream *stream, const QueueSimulation *simulation, int32_t instance,
                       const int32_t *issue_causes, CommandWait out_waits[2]);

/* For each instance the command for which the unit that issues stood last before it was issued itself, a barrier or
 * one that found no room; -1: it never stood.  In |arena|. */
const int32_t *command_issue_causes(Arena *arena, const CommandStream *stream, const QueueSimulation *simulation);

/* All waits of commands of one label for one label; ROOM: for one queue. */
typedef struct QueueWait {
  WaitKind kind;
  EdgeKind edge;        /* EDGE */
  int32_t queue;        /* that was at rest */
  int32_t label, cause; /* |cause|: EDGE: the producer's label; ROOM: the queue that was full; BARRIER: its label */
  int64_t count;
  double cycles, longest;
} QueueWait;

typedef struct QueueWaits {
  const QueueWait *rows; /* the longest in all first */
  int64_t count;
} QueueWaits;

/* In |arena|. */
QueueWaits queue_waits_find(Arena *arena, const CommandStream *stream, const QueueSimulation *simulation);

#endif
