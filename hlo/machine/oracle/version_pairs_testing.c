/* Which pairs of commands an execution has to be looked for, and that execution. */
#include "base/hash_map.h"
#include "hlo/machine/oracle/byte_versions_testing.h"

/* An access of a byte. */
typedef struct Touch {
  int32_t access;
  int32_t earlier; /* -1: none */
} Touch;

/* What was done to a byte, as far as it matters to what comes: lists of touches, latest first, -1: empty. */
typedef struct ByteHistory {
  int32_t version; /* the access that wrote what was read last; -1: none, or nothing was read */
  int32_t readers; /* of that */
  int32_t unread;  /* the writes since; the first of the list is the version at hand */
} ByteHistory;

typedef struct PairSearch {
  const ByteVersions *versions;
  Arena *arena, *scratch;
  ByteHistory **histories; /* by object and byte; NULL: never written */
  ARRAY(Touch) touches;
  ARRAY(VersionPair) pairs;
  IntMap known;       /* pairs that have met */
  uint64_t last_pair; /* of them the last */
  bool *is_needed;    /* by instance: by |needed_by| */
  int32_t needed_by;
} PairSearch;

/* --- order --- */

/* Marks what |instance| needs, directly or not. */
static void mark_needs(const ByteVersions *versions, Arena *scratch, int32_t instance, bool *is_needed) {
  ARRAY(int32_t) open = {0};
  array_push(&open, scratch, instance);
  while (open.count > 0) {
    int32_t at = array_pop(&open);
    for (int32_t n = versions->first_need[at]; n < versions->first_need[at + 1]; n++) {
      int32_t need = versions->needs.data[n];
      if (is_needed[need]) continue;
      is_needed[need] = true;
      array_push(&open, scratch, need);
    }
  }
}

static bool is_ordered(PairSearch *search, int32_t first, int32_t second) {
  if (search->needed_by != second) {
    memset(search->is_needed, 0, (size_t)search->versions->stream->commands.count * sizeof(bool));
    mark_needs(search->versions, search->scratch, second, search->is_needed);
    search->needed_by = second;
  }
  return search->is_needed[first];
}

/* --- pairs --- */

/* |earlier| has to come before |later|. */
static void meet(PairSearch *search, int32_t earlier, int32_t later) {
  VersionPair pair = {search->versions->owners[earlier], search->versions->owners[later]};
  const int32_t *accesses = search->versions->stream->accesses.data;
  bool is_own = pair.first == pair.second;
  if (earlier == later) return; /* scratch that is read back */
  if (is_own && stream_accesses_are_update(accesses[earlier], accesses[later])) return;
  uint64_t key = (uint64_t)pair.first << 32 | (uint32_t)pair.second;
  int64_t seen;
  if (key == search->last_pair || int_map_find(&search->known, key, &seen)) return;
  int_map_set(&search->known, key, 1);
  search->last_pair = key;
  if (is_own || !is_ordered(search, pair.first, pair.second)) array_push(&search->pairs, search->arena, pair);
}

static int32_t add_touch(PairSearch *search, int32_t access, int32_t earlier) {
  Touch touch = {access, earlier};
  array_push(&search->touches, search->scratch, touch);
  return (int32_t)search->touches.count - 1;
}

static int32_t access_at(const PairSearch *search, int32_t touch) {
  return search->touches.data[touch].access;
}

/* The version at hand is read: what was never read comes before it. */
static void settle(PairSearch *search, ByteHistory *history) {
  if (history->unread < 0) return;
  *history = (ByteHistory){access_at(search, history->unread), -1, history->unread};
  for (int32_t t = search->touches.data[history->unread].earlier; t >= 0; t = search->touches.data[t].earlier)
    meet(search, access_at(search, t), history->version);
  history->unread = -1;
}

static void read_byte(PairSearch *search, ByteHistory *history, int32_t access) {
  settle(search, history);
  if (history->version >= 0) meet(search, history->version, access);
  history->readers = add_touch(search, access, history->readers);
}

static void write_byte(PairSearch *search, ByteHistory *history, int32_t access) {
  const int32_t *owners = search->versions->owners;
  for (int32_t t = history->readers; t >= 0; t = search->touches.data[t].earlier)
    meet(search, access_at(search, t), access);
  bool is_twice = history->unread >= 0 && owners[access_at(search, history->unread)] == owners[access];
  if (is_twice) meet(search, access_at(search, history->unread), access);
  history->unread = add_touch(search, access, history->unread);
}

static void touch_bytes(PairSearch *search, int32_t access, bool writes) {
  const CommandStream *stream = search->versions->stream;
  int32_t number = stream_access_box(stream->accesses.data[access]);
  ByteBox box = command_stream_box(stream, number);
  ByteHistory *histories = search->histories[stream->boxes.data[number].object];
  int64_t runs = histories != NULL ? byte_box_run_count(&box) : 0;
  for (int64_t i = 0; i < runs; i++) {
    int64_t start = byte_box_run(&box, i);
    for (int64_t b = start; b < start + box.bytes; b++) {
      if (writes)
        write_byte(search, &histories[b], access);
      else
        read_byte(search, &histories[b], access);
    }
  }
}

static void touch_in_program_order(PairSearch *search) {
  const CommandStream *stream = search->versions->stream;
  for (int32_t i = 0; i < stream->commands.count; i++) {
    int32_t first = stream->commands.data[i].first_access;
    int32_t end = first + (int32_t)command_stream_accesses(stream, i).count;
    for (int32_t k = first; k < end; k++)
      if (!stream_access_writes(stream->accesses.data[k])) touch_bytes(search, k, false);
    for (int32_t k = first; k < end; k++)
      if (stream_access_writes(stream->accesses.data[k])) touch_bytes(search, k, true);
    for (int32_t k = first; k < end; k++)
      if (stream_access_is_scratch(stream->accesses.data[k])) touch_bytes(search, k, false);
  }
}

void byte_versions_find_pairs(const ByteVersions *versions, Arena *arena, Arena *scratch, const VersionPair **out_pairs,
                              int64_t *out_count) {
  const CommandStream *stream = versions->stream;
  PairSearch search = {.versions = versions, .arena = arena, .scratch = scratch, .needed_by = -1};
  int_map_init(&search.known, scratch);
  search.last_pair = UINT64_MAX;
  search.is_needed = ARENA_NEW_ARRAY(scratch, bool, stream->commands.count);
  search.histories = ARENA_NEW_ARRAY(scratch, ByteHistory *, stream->objects.count);
  for (int64_t o = 0; o < stream->objects.count; o++) {
    if (!versions->is_written[o]) continue;
    search.histories[o] = ARENA_NEW_ARRAY(scratch, ByteHistory, stream->objects.data[o].bytes);
    for (int64_t b = 0; b < stream->objects.data[o].bytes; b++) search.histories[o][b] = (ByteHistory){-1, -1, -1};
  }
  touch_in_program_order(&search);
  for (int64_t o = 0; o < stream->objects.count; o++) {
    for (int64_t b = 0; versions->left[o] != NULL && b < stream->objects.data[o].bytes; b++)
      settle(&search, &search.histories[o][b]);
  }
  *out_pairs = search.pairs.data;
  *out_count = search.pairs.count;
}

/* --- executions --- */

typedef struct StepList {
  const ByteVersions *versions;
  Arena *arena;
  ARRAY(ExecutionStep) steps;
  bool *is_done; /* by instance */
} StepList;

static void push_step(StepList *list, int32_t instance, int32_t access) {
  ExecutionStep step = {instance, access};
  array_push(&list->steps, list->arena, step);
}

static void do_accesses(StepList *list, int32_t instance, bool (*is_wanted)(int32_t access)) {
  InstanceRange accesses = command_stream_accesses(list->versions->stream, instance);
  for (int32_t k = 0; k < accesses.count; k++)
    if (is_wanted(accesses.data[k])) push_step(list, instance, k);
}

static bool is_read(int32_t access) {
  return !stream_access_writes(access);
}

static bool is_write(int32_t access) {
  return stream_access_writes(access);
}

static bool is_read_of_no_update(int32_t access) {
  return !stream_access_writes(access) && !stream_access_updates(access);
}

static void do_all_accesses(StepList *list, int32_t instance) {
  do_accesses(list, instance, is_read);
  do_accesses(list, instance, is_write);
}

static void do_command(StepList *list, int32_t instance) {
  if (list->is_done[instance]) return;
  list->is_done[instance] = true;
  push_step(list, instance, STEP_START);
  do_all_accesses(list, instance);
  push_step(list, instance, STEP_COMPLETE);
}

/* At once, the accesses of |earlier| before those of |later|. */
static void do_together(StepList *list, int32_t earlier, int32_t later) {
  list->is_done[earlier] = list->is_done[later] = true;
  push_step(list, earlier, STEP_START);
  do_all_accesses(list, earlier);
  push_step(list, later, STEP_START);
  do_all_accesses(list, later);
  push_step(list, earlier, STEP_COMPLETE);
  push_step(list, later, STEP_COMPLETE);
}

/* The reads of the update that |accesses|' |write| ends, unless a later write of the same place ends it too: they were
 * made before that one then. */
static void do_reads_of_update(StepList *list, int32_t instance, InstanceRange accesses, int32_t write) {
  for (int32_t k = write + 1; k < accesses.count; k++)
    if (accesses.data[k] == accesses.data[write]) return;
  for (int32_t r = 0; r < accesses.count; r++)
    if (stream_accesses_are_update(accesses.data[r], accesses.data[write])) push_step(list, instance, r);
}

/* As far from program order as can be: writes from the last to the first, then updates one by one, then reads. */
static void do_backwards(StepList *list, int32_t instance) {
  InstanceRange accesses = command_stream_accesses(list->versions->stream, instance);
  list->is_done[instance] = true;
  push_step(list, instance, STEP_START);
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t k = (int32_t)accesses.count - 1; k >= 0; k--) {
      bool is_update = stream_access_updates(accesses.data[k]);
      if (!is_write(accesses.data[k]) || is_update != (pass == 1)) continue;
      if (is_update) do_reads_of_update(list, instance, accesses, k);
      push_step(list, instance, k);
    }
  }
  do_accesses(list, instance, is_read_of_no_update);
  push_step(list, instance, STEP_COMPLETE);
}

Execution byte_versions_directed_execution(const ByteVersions *versions, Arena *arena, Arena *scratch, VersionPair pair,
                                           bool in_order) {
  int32_t count = (int32_t)versions->stream->commands.count;
  StepList list = {.versions = versions, .arena = arena, .is_done = ARENA_NEW_ARRAY(scratch, bool, count)};
  bool *is_needed = ARENA_NEW_ARRAY(scratch, bool, count);
  mark_needs(versions, scratch, pair.first, is_needed);
  mark_needs(versions, scratch, pair.second, is_needed);
  for (int32_t i = 0; i < count; i++)
    if (is_needed[i]) do_command(&list, i);
  if (pair.first == pair.second && !in_order)
    do_backwards(&list, pair.first);
  else if (pair.first != pair.second)
    do_together(&list, in_order ? pair.first : pair.second, in_order ? pair.second : pair.first);
  for (int32_t i = 0; i < count; i++) do_command(&list, i);
  return (Execution){list.steps.data, list.steps.count};
}

bool byte_versions_search(const ByteVersions *versions, Arena *scratch, VersionDifference *out_difference) {
  const VersionPair *pairs;
  int64_t count;
  bool differs = false;
  byte_versions_find_pairs(versions, scratch, scratch, &pairs, &count);
  for (int64_t i = 0; i < 2 * count && !differs; i++) {
    Arena *own = arena_create();
    Execution execution = byte_versions_directed_execution(versions, own, own, pairs[i / 2], i % 2 == 1);
    XLAC_CHECK(byte_versions_allow(versions, own, execution));
    differs = byte_versions_execute(versions, own, execution, NULL, out_difference);
    arena_destroy(own);
  }
  return differs;
}
