/* The fewest edges, command by command in program order: what a command depends on, latest first, less what it knows to
 * be complete already.  An earlier producer is implied by a later one or not at all, so one pass is the transitive
 * reduction. */
#include <stdlib.h>

#include "hlo/machine/stream/command_order.h"
#include "hlo/machine/stream/hazards.h"
#include "hlo/machine/stream/hazards_internal.h"
#include "hlo/machine/stream/last_uses_internal.h"
#include "hlo/machine/stream/queue_accesses_internal.h"

typedef struct Derivation {
  Arena *scratch;
  const CommandStream *stream;
  CommandOrder order;
  bool has_accesses; /* all queues complete in order: |accesses| knows what |uses| knows of others */
  QueueAccesses accesses;
  LastUses uses;
  InstanceArray producers, edges;
} Derivation;

static int compare_latest_first(const void *a, const void *b) {
  int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
  return (left < right) - (left > right);
}

void instances_sort_latest_first(int32_t *instances, int64_t count) {
  if (count > 1) qsort(instances, (size_t)count, sizeof(int32_t), compare_latest_first);
}

void instances_wait_for(CommandOrder *order, InstanceArray *producers, Arena *arena, InstanceArray *edges) {
  instances_sort_latest_first(producers->data, producers->count);
  for (int64_t i = 0; i < producers->count; i++) {
    int32_t producer = producers->data[i];
    if (command_order_knows(order, producer)) continue;
    command_order_wait(order, producer);
    array_push(edges, arena, producer);
  }
}

static void find_producers(Derivation *derivation, int32_t instance) {
  derivation->producers.count = 0;
  if (derivation->has_accesses)
    queue_accesses_find(&derivation->accesses, instance, &derivation->producers);
  else
    last_uses_find(&derivation->uses, instance, &derivation->producers);
}

static void note_command(Derivation *derivation, int32_t instance) {
  if (derivation->has_accesses)
    queue_accesses_note(&derivation->accesses, instance);
  else
    last_uses_note(&derivation->uses, instance);
}

static Status derive_command(Derivation *derivation, int32_t instance, DiagSink *diag) {
  CommandOrder *order = &derivation->order;
  InstanceRange given = command_stream_edges(derivation->stream, instance);
  command_order_begin(order);
  for (int64_t i = 0; i < given.count; i++) {
    command_order_wait(order, given.data[i]);
    array_push(&derivation->edges, derivation->scratch, given.data[i]);
  }
  find_producers(derivation, instance);
  instances_wait_for(order, &derivation->producers, derivation->scratch, &derivation->edges);
  RETURN_IF_ERROR(command_order_end(order, diag));
  note_command(derivation, instance);
  return STATUS_OK;
}

Status hazards_derive_edges(Arena *arena, Arena *scratch, const CommandStream *stream,
                            const MachineDescription *machine, DiagSink *diag, CommandStream *out_stream) {
  int64_t count = stream->commands.count;
  Derivation derivation = {.scratch = scratch, .stream = stream};
  command_order_init(&derivation.order, scratch, stream, machine);
  derivation.has_accesses = queue_accesses_suit(stream, machine);
  if (derivation.has_accesses)
    queue_accesses_init(&derivation.accesses, scratch, stream, machine, &derivation.order);
  else
    RETURN_IF_ERROR(last_uses_init(&derivation.uses, scratch, stream, &derivation.order, diag));
  array_reserve(&derivation.edges, scratch, stream->edges.count);
  int32_t *first_edges = ARENA_NEW_ARRAY(scratch, int32_t, count + 1);
  for (int32_t i = 0; i < count; i++) {
    RETURN_IF_ERROR(derive_command(&derivation, i, diag));
    XLAC_CHECK(derivation.edges.count <= INT32_MAX);
    first_edges[i + 1] = (int32_t)derivation.edges.count;
  }
  *out_stream = command_stream_with_edges(arena, stream, first_edges, derivation.edges.data);
  return STATUS_OK;
}
