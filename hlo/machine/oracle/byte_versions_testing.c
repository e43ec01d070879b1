#include "hlo/machine/oracle/byte_versions_testing.h"

#include "base/hash_map.h"

/* --- what has to be complete before a command starts: the definition, without shortcuts --- */

static bool is_barrier(const CommandStream *stream, int32_t instance) {
  return stream->commands.data[instance].queue == BARRIER_QUEUE;
}

static bool needs_earlier(const CommandStream *stream, const MachineDescription *machine, int32_t earlier,
                          int32_t instance) {
  int32_t queue = stream->commands.data[earlier].queue;
  if (queue == BARRIER_QUEUE) return true;
  if (is_barrier(stream, instance)) return stream_barrier_covers(&stream->commands.data[instance], queue);
  return queue == stream->commands.data[instance].queue && machine->queues[queue].complete == COMPLETE_IN_ORDER;
}

/* Of an in-order queue, and of barriers, the latest one will do: it needs those before it by itself. */
static void add_needs(ByteVersions *versions, const MachineDescription *machine, int32_t instance) {
  const CommandStream *stream = versions->stream;
  InstanceRange edges = command_stream_edges(stream, instance);
  for (int64_t i = 0; i < edges.count; i++) {
    XLAC_CHECK(edges.data[i] < instance);
    array_push(&versions->needs, versions->arena, edges.data[i]);
  }
  bool has_barrier = false, has_queue = false;
  for (int32_t i = instance - 1; i >= 0 && !(has_barrier && has_queue); i--) {
    if (!needs_earlier(stream, machine, i, instance)) continue;
    bool *has = is_barrier(stream, i) ? &has_barrier : &has_queue;
    if (!*has) array_push(&versions->needs, versions->arena, i);
    *has = is_barrier(stream, i) || !is_barrier(stream, instance);
  }
}

/* --- bytes --- */

/* Calls |each| with every run of bytes of an access, in ascending order as far as its levels are. */
typedef void RunVisitor(void *self, int32_t object, int64_t start, int64_t bytes);

static void visit_runs(const CommandStream *stream, int32_t access, RunVisitor *each, void *self) {
  int32_t number = stream_access_box(stream->accesses.data[access]);
  ByteBox box = command_stream_box(stream, number);
  int32_t object = stream->boxes.data[number].object;
  int64_t runs = byte_box_run_count(&box);
  for (int64_t i = 0; i < runs; i++) each(self, object, byte_box_run(&box, i), box.bytes);
}

static int32_t **new_bytes(const ByteVersions *versions, Arena *arena) {
  const CommandStream *stream = versions->stream;
  int32_t **bytes = ARENA_NEW_ARRAY(arena, int32_t *, stream->objects.count);
  for (int64_t o = 0; o < stream->objects.count; o++) {
    if (!versions->is_written[o]) continue;
    bytes[o] = ARENA_NEW_ARRAY(arena, int32_t, stream->objects.data[o].bytes);
    for (int64_t b = 0; b < stream->objects.data[o].bytes; b++) bytes[o][b] = FROM_BEFORE;
  }
  return bytes;
}

/* --- program order --- */

typedef struct Memory {
  ByteVersions *versions;
  int32_t **bytes; /* by object */
  int32_t access;
} Memory;

static void expect_run(void *self, int32_t object, int64_t start, int64_t bytes) {
  Memory *memory = self;
  ByteVersions *versions = memory->versions;
  for (int64_t b = start; b < start + bytes; b++)
    array_push(&versions->expected, versions->arena, memory->bytes[object][b]);
}

static void write_run(void *self, int32_t object, int64_t start, int64_t bytes) {
  Memory *memory = self;
  for (int64_t b = start; b < start + bytes; b++) memory->bytes[object][b] = memory->access;
}

static bool is_tracked(const ByteVersions *versions, int32_t access) {
  const CommandStream *stream = versions->stream;
  return versions->is_written[stream->boxes.data[stream_access_box(stream->accesses.data[access])].object];
}

static void do_program_order(ByteVersions *versions) {
  const CommandStream *stream = versions->stream;
  Memory memory = {.versions = versions, .bytes = new_bytes(versions, versions->arena)};
  for (int32_t i = 0; i < stream->commands.count; i++) {
    int32_t first = stream->commands.data[i].first_access;
    int32_t end = first + (int32_t)command_stream_accesses(stream, i).count;
    for (memory.access = first; memory.access < end; memory.access++) {
      if (stream_access_writes(stream->accesses.data[memory.access]) || !is_tracked(versions, memory.access)) continue;
      versions->first_expected[memory.access] = versions->expected.count;
      visit_runs(stream, memory.access, expect_run, &memory);
    }
    for (memory.access = first; memory.access < end; memory.access++) {
      if (stream_access_writes(stream->accesses.data[memory.access]))
        visit_runs(stream, memory.access, write_run, &memory);
    }
  }
  versions->left = memory.bytes;
  for (int64_t o = 0; o < stream->objects.count; o++) {
    if (stream->objects.data[o].flags & OBJECT_TEMPORARY) versions->left[o] = NULL;
  }
}

void byte_versions_init(ByteVersions *versions, Arena *arena, const CommandStream *stream,
                        const MachineDescription *machine) {
  int64_t count = stream->commands.count;
  *versions = (ByteVersions){.arena = arena, .stream = stream};
  versions->first_need = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  versions->owners = ARENA_NEW_ARRAY(arena, int32_t, stream->accesses.count);
  versions->first_expected = ARENA_NEW_ARRAY(arena, int64_t, stream->accesses.count);
  versions->is_written = ARENA_NEW_ARRAY(arena, bool, stream->objects.count);
  for (int32_t i = 0; i < count; i++) {
    add_needs(versions, machine, i);
    versions->first_need[i + 1] = (int32_t)versions->needs.count;
    int32_t first = stream->commands.data[i].first_access;
    for (int64_t k = 0; k < command_stream_accesses(stream, i).count; k++) versions->owners[first + k] = i;
  }
  for (int64_t k = 0; k < stream->accesses.count; k++) {
    int32_t access = stream->accesses.data[k];
    versions->first_expected[k] = -1;
    if (stream_access_writes(access)) versions->is_written[stream->boxes.data[stream_access_box(access)].object] = true;
  }
  do_program_order(versions);
}

/* --- executions --- */

typedef struct Progress {
  bool *is_started, *is_complete; /* by instance */
  bool *is_made;                  /* by access */
} Progress;

static bool may_start(const ByteVersions *versions, const Progress *progress, int32_t instance) {
  if (progress->is_started[instance]) return false;
  for (int32_t n = versions->first_need[instance]; n < versions->first_need[instance + 1]; n++) {
    if (!progress->is_complete[versions->needs.data[n]]) return false;
  }
  return true;
}

/* The write of an update comes after its read. */
static bool may_access(const ByteVersions *versions, const Progress *progress, int32_t access) {
  const CommandStream *stream = versions->stream;
  int32_t first = stream->commands.data[versions->owners[access]].first_access;
  int64_t count = command_stream_accesses(stream, versions->owners[access]).count;
  if (progress->is_made[access]) return false;
  for (int64_t k = first; k < first + count; k++) {
    bool is_half = stream_accesses_are_update(stream->accesses.data[k], stream->accesses.data[access]);
    if (is_half && !progress->is_made[k]) return false;
  }
  return true;
}

static bool may_complete(const ByteVersions *versions, const Progress *progress, int32_t instance) {
  int32_t first = versions->stream->commands.data[instance].first_access;
  int64_t count = command_stream_accesses(versions->stream, instance).count;
  if (!progress->is_started[instance] || progress->is_complete[instance]) return false;
  for (int64_t k = 0; k < count; k++) {
    if (!progress->is_made[first + k]) return false;
  }
  return true;
}

static bool do_step(const ByteVersions *versions, Progress *progress, ExecutionStep step) {
  if (step.access == STEP_START) {
    if (!may_start(versions, progress, step.instance)) return false;
    progress->is_started[step.instance] = true;
    return true;
  }
  if (step.access == STEP_COMPLETE) {
    if (!may_complete(versions, progress, step.instance)) return false;
    progress->is_complete[step.instance] = true;
    return true;
  }
  bool is_running = progress->is_started[step.instance] && !progress->is_complete[step.instance];
  bool is_there = step.access >= 0 && step.access < command_stream_accesses(versions->stream, step.instance).count;
  if (!is_running || !is_there) return false;
  int32_t access = versions->stream->commands.data[step.instance].first_access + step.access;
  if (!may_access(versions, progress, access)) return false;
  progress->is_made[access] = true;
  return true;
}

bool byte_versions_allow(const ByteVersions *versions, Arena *scratch, Execution execution) {
  int64_t count = versions->stream->commands.count;
  Progress progress = {ARENA_NEW_ARRAY(scratch, bool, count), ARENA_NEW_ARRAY(scratch, bool, count),
                       ARENA_NEW_ARRAY(scratch, bool, versions->stream->accesses.count)};
  for (int64_t i = 0; i < execution.count; i++) {
    if (!do_step(versions, &progress, execution.steps[i])) return false;
  }
  for (int64_t i = 0; i < count; i++) {
    if (!progress.is_complete[i]) return false;
  }
  return true;
}

typedef struct Observation {
  const ByteVersions *versions;
  int32_t **bytes;
  int32_t access;
  int64_t next_expected;
  bool differs;
  VersionDifference difference;
  bool *readers; /* by instance; NULL: the first difference is enough */
} Observation;

static int32_t owner_of(const ByteVersions *versions, int32_t version) {
  return version < 0 ? FROM_BEFORE : versions->owners[version];
}

static void note(Observation *observation, int32_t reader, int32_t object, int64_t byte, int32_t expected,
                 int32_t seen) {
  const ByteVersions *versions = observation->versions;
  if (seen == expected) return;
  if (observation->readers != NULL && reader >= 0) observation->readers[reader] = true;
  if (observation->differs) return;
  observation->differs = true;
  observation->difference =
      (VersionDifference){reader, object, byte, owner_of(versions, expected), owner_of(versions, seen)};
}

static void observe_run(void *self, int32_t object, int64_t start, int64_t bytes) {
  Observation *observation = self;
  const ByteVersions *versions = observation->versions;
  for (int64_t b = start; b < start + bytes; b++) {
    note(observation, versions->owners[observation->access], object, b,
         versions->expected.data[observation->next_expected++], observation->bytes[object][b]);
  }
}

static void change_run(void *self, int32_t object, int64_t start, int64_t bytes) {
  Observation *observation = self;
  for (int64_t b = start; b < start + bytes; b++) observation->bytes[object][b] = observation->access;
}

static void observe_end(Observation *observation) {
  const ByteVersions *versions = observation->versions;
  for (int32_t o = 0; o < versions->stream->objects.count; o++) {
    for (int64_t b = 0; versions->left[o] != NULL && b < versions->stream->objects.data[o].bytes; b++)
      note(observation, AT_THE_END, o, b, versions->left[o][b], observation->bytes[o][b]);
  }
}

static void read_back_run(void *self, int32_t object, int64_t start, int64_t bytes) {
  Observation *observation = self;
  for (int64_t b = start; b < start + bytes; b++) {
    note(observation, observation->versions->owners[observation->access], object, b, observation->access,
         observation->bytes[object][b]);
  }
}

static void observe_completion(Observation *observation, int32_t instance) {
  const CommandStream *stream = observation->versions->stream;
  InstanceRange accesses = command_stream_accesses(stream, instance);
  for (int32_t k = 0; k < accesses.count; k++) {
    observation->access = stream->commands.data[instance].first_access + k;
    if (stream_access_is_scratch(accesses.data[k])) visit_runs(stream, observation->access, read_back_run, observation);
  }
}

bool byte_versions_execute(const ByteVersions *versions, Arena *scratch, Execution execution, bool *readers,
                           VersionDifference *out_difference) {
  const CommandStream *stream = versions->stream;
  Observation observation = {.versions = versions, .bytes = new_bytes(versions, scratch), .readers = readers};
  for (int64_t i = 0; i < execution.count && (readers != NULL || !observation.differs); i++) {
    ExecutionStep step = execution.steps[i];
    if (step.access == STEP_COMPLETE) observe_completion(&observation, step.instance);
    if (step.access < 0) continue;
    observation.access = stream->commands.data[step.instance].first_access + step.access;
    bool writes = stream_access_writes(stream->accesses.data[observation.access]);
    observation.next_expected = versions->first_expected[observation.access];
    if (writes) visit_runs(stream, observation.access, change_run, &observation);
    if (!writes && observation.next_expected >= 0) visit_runs(stream, observation.access, observe_run, &observation);
  }
  if (!observation.differs) observe_end(&observation);
  if (observation.differs) *out_difference = observation.difference;
  return observation.differs;
}

bool byte_versions_uninitialised(const ByteVersions *versions, VersionDifference *out_difference) {
  const CommandStream *stream = versions->stream;
  for (int32_t k = 0; k < stream->accesses.count; k++) {
    int32_t number = stream_access_box(stream->accesses.data[k]);
    int32_t object = stream->boxes.data[number].object;
    bool is_there = (stream->objects.data[object].flags & OBJECT_INITIALISED) != 0;
    if (stream_access_writes(stream->accesses.data[k]) || is_there) continue;
    ByteBox box = command_stream_box(stream, number);
    int64_t bytes = byte_box_run_count(&box) * box.bytes, first = versions->first_expected[k];
    for (int64_t b = 0; b < bytes; b++) {
      if (first >= 0 && versions->expected.data[first + b] != FROM_BEFORE) continue;
      int64_t at = byte_box_run(&box, b / box.bytes) + b % box.bytes;
      *out_difference = (VersionDifference){versions->owners[k], object, at, FROM_BEFORE, FROM_BEFORE};
      return true;
    }
  }
  return false;
}

/* --- random executions --- */

typedef struct RandomRun {
  const ByteVersions *versions;
  Arena *arena, *scratch;
  Progress progress;
  ARRAY(int32_t) waiting; /* in program order, the first ones of those not started */
  ARRAY(int32_t) running;
  ARRAY(ExecutionStep) steps;
  int32_t next;
  uint64_t random;
} RandomRun;

static int64_t draw(RandomRun *run, int64_t below) {
  run->random += UINT64_C(0x9e3779b97f4a7c15);
  return (int64_t)(hash_u64(run->random) % (uint64_t)below);
}

static void make_step(RandomRun *run, int32_t instance, int32_t access) {
  ExecutionStep step = {instance, access};
  XLAC_CHECK(do_step(run->versions, &run->progress, step));
  array_push(&run->steps, run->arena, step);
}

/* One of the commands that may start; some are looked at only when others are through. */
static bool start_some(RandomRun *run) {
  enum { WINDOW = 64 };
  while (run->next < run->versions->stream->commands.count && run->waiting.count < WINDOW)
    array_push(&run->waiting, run->scratch, run->next++);
  if (run->waiting.count == 0) return false;
  int64_t from = draw(run, run->waiting.count);
  for (int64_t i = 0; i < run->waiting.count; i++) {
    int64_t at = (from + i) % run->waiting.count;
    int32_t instance = run->waiting.data[at];
    if (!may_start(run->versions, &run->progress, instance)) continue;
    make_step(run, instance, STEP_START);
    array_push(&run->running, run->scratch, instance);
    for (; at + 1 < run->waiting.count; at++) run->waiting.data[at] = run->waiting.data[at + 1];
    run->waiting.count--;
    return true;
  }
  return false;
}

static void go_on_with_some(RandomRun *run) {
  int64_t at = draw(run, run->running.count);
  int32_t instance = run->running.data[at];
  int32_t first = run->versions->stream->commands.data[instance].first_access;
  int64_t count = command_stream_accesses(run->versions->stream, instance).count,
          from = count > 0 ? draw(run, count) : 0;
  for (int64_t i = 0; i < count; i++) {
    int32_t access = (int32_t)((from + i) % count);
    if (!may_access(run->versions, &run->progress, first + access)) continue;
    make_step(run, instance, access);
    return;
  }
  make_step(run, instance, STEP_COMPLETE);
  run->running.data[at] = array_last(&run->running);
  run->running.count--;
}

Execution byte_versions_random_execution(const ByteVersions *versions, Arena *arena, Arena *scratch, uint64_t seed) {
  int64_t count = versions->stream->commands.count;
  RandomRun run = {.versions = versions, .arena = arena, .scratch = scratch, .random = hash_u64(seed)};
  run.progress = (Progress){ARENA_NEW_ARRAY(scratch, bool, count), ARENA_NEW_ARRAY(scratch, bool, count),
                            ARENA_NEW_ARRAY(scratch, bool, versions->stream->accesses.count)};
  while (run.next < count || run.waiting.count > 0 || run.running.count > 0) {
    bool starts = run.running.count == 0 || draw(&run, 3) == 0;
    if (starts && start_some(&run)) continue;
    go_on_with_some(&run);
  }
  return (Execution){run.steps.data, run.steps.count};
}
