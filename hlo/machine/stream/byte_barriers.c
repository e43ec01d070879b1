/* Barriers of bytes as edges, class of bytes by class: who touched one before its last barrier is waited for by all
 * that touch it after that. */
#include "hlo/machine/stream/byte_classes_internal.h"
#include "hlo/machine/stream/command_order.h"
#include "hlo/machine/stream/hazards.h"
#include "hlo/machine/stream/hazards_internal.h"

typedef struct ClassFence {
  InstanceArray before; /* the last barrier */
  InstanceArray since;
} ClassFence;

typedef struct Fencing {
  Arena *scratch;
  const CommandStream *stream;
  CommandOrder order;
  ByteClasses classes;
  ClassFence *fences;
  int32_t *wanted_by; /* by instance: the latest command that waits for it, -1: none */
  InstanceArray producers, edges;
} Fencing;

static void raise_fence(ClassFence *fence) {
  if (fence->since.count == 0) return; /* who comes next waits for whom the last ones waited for */
  fence->before = fence->since;
  fence->since = (InstanceArray){0};
}

static void meet_class(Fencing *fencing, int32_t instance, ClassFence *fence) {
  for (int64_t i = 0; i < fence->before.count; i++) {
    int32_t producer = fence->before.data[i];
    if (producer == instance || fencing->wanted_by[producer] == instance) continue;
    fencing->wanted_by[producer] = instance;
    array_push(&fencing->producers, fencing->scratch, producer);
  }
  bool is_noted = fence->since.count > 0 && array_last(&fence->since) == instance;
  if (!is_noted) array_push(&fence->since, fencing->scratch, instance);
}

static void visit_accesses(Fencing *fencing, int32_t instance, bool is_barrier) {
  InstanceRange accesses = command_stream_accesses(fencing->stream, instance);
  for (int64_t a = 0; a < accesses.count; a++) {
    int32_t box = stream_access_box(accesses.data[a]);
    for (int32_t i = fencing->classes.first_class[box]; i < fencing->classes.first_class[box + 1]; i++) {
      ClassFence *fence = &fencing->fences[fencing->classes.classes[i]];
      if (is_barrier)
        raise_fence(fence);
      else
        meet_class(fencing, instance, fence);
    }
  }
}

static Status visit_command(Fencing *fencing, int32_t instance, DiagSink *diag) {
  CommandOrder *order = &fencing->order;
  InstanceRange given = command_stream_edges(fencing->stream, instance);
  bool is_barrier = fencing->stream->commands.data[instance].queue == BARRIER_QUEUE;
  command_order_begin(order);
  for (int64_t i = 0; i < given.count; i++) {
    command_order_wait(order, given.data[i]);
    array_push(&fencing->edges, fencing->scratch, given.data[i]);
  }
  fencing->producers.count = 0;
  visit_accesses(fencing, instance, is_barrier);
  instances_wait_for(order, &fencing->producers, fencing->scratch, &fencing->edges);
  return command_order_end(order, diag);
}

Status hazards_apply_barriers(Arena *arena, Arena *scratch, const CommandStream *stream,
                              const MachineDescription *machine, DiagSink *diag, CommandStream *out_stream) {
  int64_t count = stream->commands.count;
  Fencing fencing = {.scratch = scratch, .stream = stream};
  RETURN_IF_ERROR(byte_classes_find(scratch, scratch, stream, NULL, diag, &fencing.classes));
  command_order_init(&fencing.order, scratch, stream, machine);
  fencing.fences = ARENA_NEW_ARRAY(scratch, ClassFence, fencing.classes.class_count);
  fencing.wanted_by = ARENA_NEW_ARRAY(scratch, int32_t, count);
  for (int64_t i = 0; i < count; i++) fencing.wanted_by[i] = -1;
  int32_t *first_edges = ARENA_NEW_ARRAY(scratch, int32_t, count + 1);
  for (int32_t i = 0; i < count; i++) {
    RETURN_IF_ERROR(visit_command(&fencing, i, diag));
    XLAC_CHECK(fencing.edges.count <= INT32_MAX);
    first_edges[i + 1] = (int32_t)fencing.edges.count;
  }
  *out_stream = command_stream_with_edges(arena, stream, first_edges, fencing.edges.data);
  return STATUS_OK;
}
