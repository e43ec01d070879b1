/* CommandOrder: which commands of a stream are complete before which others start, whatever the timing.
 *
 * a comes before b if b waits for a, if both are on one in-order queue and a is issued first, if a barrier over a's
 * queue stands between them, or by transitivity; nothing else is promised.  Exact: commands are laid on chains, each of
 * which is totally ordered, and each command knows how much of every chain comes before it (vector clocks; an in-order
 * queue is one chain, an unordered queue gets a new chain when a command comes after none of the ends).  A pipeline of
 * depth D on unordered queues needs about D chains a queue, so a command costs some integers rather than one bit per
 * other command. */
#ifndef XLAC_HLO_MACHINE_STREAM_COMMAND_ORDER_H
#define XLAC_HLO_MACHINE_STREAM_COMMAND_ORDER_H

#include "hlo/machine/description/machine_description.h"
#include "hlo/machine/stream/command_stream.h"

typedef struct OrderChain {
  int32_t queue;
  int32_t length;
  int32_t last; /* instance */
} OrderChain;

typedef struct CommandOrder {
  Arena *arena;
  const CommandStream *stream;
  const MachineDescription *machine;
  int32_t count;      /* commands ordered so far: the first |count| of the stream */
  int32_t *chain;     /* by instance; -1 for barriers */
  int32_t *place;     /* by instance: its number on the chain, from 1 */
  int64_t *first_row; /* by instance: where its clock starts in |rows|; one entry more */
  ARRAY(int32_t) rows;
  ARRAY(OrderChain) chains;
  ARRAY(int32_t) floor; /* what the barriers so far have made complete, by chain */
  ARRAY(int32_t) clock; /* of the command being added, by chain */
} CommandOrder;

/* Of the commands of |stream|, none of which has been added yet; in |arena|. */
void command_order_init(CommandOrder *order, Arena *arena, const CommandStream *stream,
                        const MachineDescription *machine);

/* Commands are added in program order, in three steps: begin, which takes in barriers and the queue; wait, once for
 * each edge; end.  In between command_order_knows says whether an earlier command already comes before this one: an
 * edge to it would be redundant.  STATUS_EXHAUSTED ("stream-order") when unordered queues make the clocks too large. */
void command_order_begin(CommandOrder *order);
bool command_order_knows(const CommandOrder *order, int32_t earlier);
void command_order_wait(CommandOrder *order, int32_t earlier);
MUST_USE Status command_order_end(CommandOrder *order, DiagSink *diag);

/* Whether |a| is complete before |b| starts; both have been added, a < b, neither is a barrier. */
static inline bool command_order_precedes(const CommandOrder *order, int32_t a, int32_t b) {
  int64_t at = order->first_row[b] + order->chain[a];
  return at < order->first_row[b + 1] && order->rows.data[at] >= order->place[a];
}

#endif
