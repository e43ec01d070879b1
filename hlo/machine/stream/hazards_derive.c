/* The fewest edges, command by command in program order: what a command depends on, latest first, less what it knows to
 * be complete already.  An earlier producer is implied by a later one or not at all, so one pass is the transitive
 * reduction. */
#include <stdlib.h>

#include "hlo/machine/stream/byte_classes_internal.h"
#include "hlo/machine/stream/command_order.h"
#include "hlo/machine/stream/hazards.h"
#include "hlo/machine/stream/hazards_internal.h"

typedef struct Read {
  int32_t instance;
  int32_t earlier; /* the read before, since the last write; -1: none */
} Read;

typedef struct ClassUse {
  int32_t write; /* the last one, -1: none */
  int32_t reads; /* the last one since, -1: none */
} ClassUse;

typedef struct Derivation {
  Arena *scratch;
  const CommandStream *stream;
  CommandOrder order;
  ByteClasses classes;
  ClassUse *uses;
  ARRAY(Read) reads;
  int32_t free_reads; /* of classes that were written since, -1: none */
  int32_t *wanted_by; /* by instance: the latest command that depends on it, -1: none */
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

static void depend(Derivation *derivation, int32_t producer, int32_t consumer) {
  if (producer < 0 || producer == consumer || derivation->wanted_by[producer] == consumer) return;
  derivation->wanted_by[producer] = consumer;
  array_push(&derivation->producers, derivation->scratch, producer);
}

static void collect(Derivation *derivation, int32_t instance, int32_t access) {
  const ByteClasses *classes = &derivation->classes;
  int32_t box = stream_access_box(access);
  for (int32_t i = classes->first_class[box]; i < classes->first_class[box + 1]; i++) {
    const ClassUse *use = &derivation->uses[classes->classes[i]];
    depend(derivation, use->write, instance);
    if (!stream_access_writes(access)) continue;
    for (int32_t k = use->reads; k >= 0; k = derivation->reads.data[k].earlier) {
      depend(derivation, derivation->reads.data[k].instance, instance);
    }
  }
}

static void add_read(Derivation *derivation, int32_t instance, ClassUse *use) {
  int32_t place = derivation->free_reads;
  if (place >= 0) {
    derivation->free_reads = derivation->reads.data[place].earlier;
  } else {
    place = (int32_t)derivation->reads.count;
    array_push(&derivation->reads, derivation->scratch, ((Read){0, 0}));
  }
  derivation->reads.data[place] = (Read){instance, use->reads};
  use->reads = place;
}

/* What was read before |use|'s bytes were written is no matter any more. */
static void free_reads(Derivation *derivation, const ClassUse *use) {
  for (int32_t next, k = use->reads; k >= 0; k = next) {
    next = derivation->reads.data[k].earlier;
    derivation->reads.data[k].earlier = derivation->free_reads;
    derivation->free_reads = k;
  }
}

static void record(Derivation *derivation, int32_t instance, int32_t access) {
  const ByteClasses *classes = &derivation->classes;
  int32_t box = stream_access_box(access);
  for (int32_t i = classes->first_class[box]; i < classes->first_class[box + 1]; i++) {
    ClassUse *use = &derivation->uses[classes->classes[i]];
    if (stream_access_writes(access)) {
      free_reads(derivation, use);
      *use = (ClassUse){instance, -1};
    } else {
      add_read(derivation, instance, use);
    }
  }
}

/* Reads before writes: a command that does both has the write as its last word on those bytes. */
static void record_command(Derivation *derivation, int32_t instance, InstanceRange accesses) {
  for (int64_t i = 0; i < accesses.count; i++) {
    if (!stream_access_writes(accesses.data[i])) record(derivation, instance, accesses.data[i]);
  }
  for (int64_t i = 0; i < accesses.count; i++) {
    if (stream_access_writes(accesses.data[i])) record(derivation, instance, accesses.data[i]);
  }
}

static Status derive_command(Derivation *derivation, int32_t instance, DiagSink *diag) {
  CommandOrder *order = &derivation->order;
  InstanceRange given = command_stream_edges(derivation->stream, instance);
  InstanceRange accesses = command_stream_accesses(derivation->stream, instance);
  command_order_begin(order);
  for (int64_t i = 0; i < given.count; i++) {
    command_order_wait(order, given.data[i]);
    array_push(&derivation->edges, derivation->scratch, given.data[i]);
  }
  derivation->producers.count = 0;
  for (int64_t i = 0; i < accesses.count; i++) collect(derivation, instance, accesses.data[i]);
  instances_wait_for(order, &derivation->producers, derivation->scratch, &derivation->edges);
  RETURN_IF_ERROR(command_order_end(order, diag));
  record_command(derivation, instance, accesses);
  return STATUS_OK;
}

Status hazards_derive_edges(Arena *arena, Arena *scratch, const CommandStream *stream,
                            const MachineDescription *machine, DiagSink *diag, CommandStream *out_stream) {
  int64_t count = stream->commands.count;
  Derivation derivation = {.scratch = scratch, .stream = stream, .free_reads = -1};
  RETURN_IF_ERROR(byte_classes_find(scratch, scratch, stream, diag, &derivation.classes));
  command_order_init(&derivation.order, scratch, stream, machine);
  derivation.uses = ARENA_NEW_ARRAY(scratch, ClassUse, derivation.classes.class_count);
  for (int32_t i = 0; i < derivation.classes.class_count; i++) derivation.uses[i] = (ClassUse){-1, -1};
  derivation.wanted_by = ARENA_NEW_ARRAY(scratch, int32_t, count);
  array_reserve(&derivation.edges, scratch, stream->edges.count);
  int32_t *first_edges = ARENA_NEW_ARRAY(scratch, int32_t, count + 1);
  for (int64_t i = 0; i < count; i++) derivation.wanted_by[i] = -1;
  for (int32_t i = 0; i < count; i++) {
    RETURN_IF_ERROR(derive_command(&derivation, i, diag));
    XLAC_CHECK(derivation.edges.count <= INT32_MAX);
    first_edges[i + 1] = (int32_t)derivation.edges.count;
  }
  *out_stream = command_stream_with_edges(arena, stream, first_edges, derivation.edges.data);
  return STATUS_OK;
}
