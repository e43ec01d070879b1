/* Whether there is any race on in-order queues is told by what each queue has touched (queue_accesses_internal.h). What
 * exactly races, and what is wrong otherwise, is looked for in classes of bytes.
 *
 * Each class of bytes remembers who wrote and read it, latest first.  A write that comes after everything before it is
 * settled: a command that comes after it comes after all that, so a walk back ends there and the search is linear where
 * nothing is wrong. */
#include "hlo/machine/stream/hazards.h"

#include "base/checked_math.h"
#include "hlo/machine/stream/byte_classes_internal.h"
#include "hlo/machine/stream/command_order.h"
#include "hlo/machine/stream/hazards_internal.h"
#include "hlo/machine/stream/queue_accesses_internal.h"

typedef struct Visit {
  int32_t instance;
  int32_t earlier; /* the visit before, -1: none */
  bool is_settled; /* a write that comes after all visits before */
} Visit;

typedef struct ClassHistory {
  int32_t writes, reads; /* the latest visits, -1: none */
} ClassHistory;

/* Who waits for an instance. */
typedef struct Waiter {
  int32_t label, instance, next;
} Waiter;

typedef struct Check {
  Arena *arena, *scratch;
  const CommandStream *stream;
  const MachineDescription *machine;
  HazardLimits limits;
  DiagSink *diag;
  HazardReport *report;
  ARRAY(Hazard) hazards;
  CommandOrder order;
  ByteClasses classes;
  ClassHistory *histories;
  ARRAY(Visit) visits;
  int32_t *met_by;       /* by instance: the latest command found to race with it, -1: none */
  int32_t *first_waiter; /* by instance waited for, in |waiters| */
  ARRAY(Waiter) waiters;
  ARRAY(int32_t) producers; /* of the current command, sorted */
  ARRAY(StreamEdge) edges;  /* that take flags */
  EdgeCounts edge_counts;
} Check;

int64_t hazard_report_races(const HazardReport *report) {
  return report->counts[HAZARD_READ_AFTER_WRITE] + report->counts[HAZARD_WRITE_AFTER_READ] +
         report->counts[HAZARD_WRITE_AFTER_WRITE];
}

int64_t hazard_report_faults(const HazardReport *report) {
  int64_t faults = 0;
  for (int kind = 0; kind < HAZARD_KIND_COUNT; kind++) {
    if (kind != HAZARD_REDUNDANT_EDGE) faults += report->counts[kind];
  }
  return faults;
}

static bool keeps(const Check *check, HazardKind kind) {
  return check->report->counts[kind] < check->limits.kept;
}

static void add_hazard(Check *check, HazardKind kind, Hazard hazard) {
  hazard.kind = kind;
  if (keeps(check, kind)) array_push(&check->hazards, check->arena, hazard);
  check->report->counts[kind]++;
}

/* --- single accesses --- */

static void check_box(Check *check, int32_t instance, int32_t access) {
  int32_t number = stream_access_box(access);
  ByteBox box = command_stream_box(check->stream, number);
  int32_t at = check->stream->boxes.data[number].object;
  const StreamObject *object = &check->stream->objects.data[at];
  Hazard hazard = {0, -1, instance, at, box.base, byte_box_end(&box)};
  if (!byte_box_is_inside(&box, object->bytes)) add_hazard(check, HAZARD_BOUNDS, hazard);
  if (box.align > 1 && box.base % box.align != 0) add_hazard(check, HAZARD_ALIGNMENT, hazard);
  if (stream_access_writes(access) && (object->flags & OBJECT_READ_ONLY)) add_hazard(check, HAZARD_READ_ONLY, hazard);
}

static void check_boxes(Check *check) {
  for (int32_t i = 0; i < check->stream->commands.count; i++) {
    InstanceRange accesses = command_stream_accesses(check->stream, i);
    for (int64_t k = 0; k < accesses.count; k++) check_box(check, i, accesses.data[k]);
  }
}

/* --- edges --- */

static bool check_direction(Check *check) {
  bool has_forward = false;
  for (int32_t i = 0; i < check->stream->commands.count; i++) {
    InstanceRange edges = command_stream_edges(check->stream, i);
    for (int64_t k = 0; k < edges.count; k++) {
      if (edges.data[k] < i) continue;
      has_forward = true;
      add_hazard(check, HAZARD_FORWARD_EDGE, (Hazard){0, edges.data[k], i, -1, 0, 0});
    }
  }
  Hazard stuck = {.object = -1};
  if (has_forward &&
      stream_finds_deadlock(check->scratch, check->stream, check->machine, &stuck.first, &stuck.second)) {
    add_hazard(check, HAZARD_DEADLOCK, stuck);
  }
  return !has_forward;
}

/* Notes that |consumer| waits for |producer|; false if it comes after an instance of its label that did. */
static bool add_waiter(Check *check, int32_t producer, int32_t consumer) {
  int32_t label = check->stream->commands.data[consumer].label;
  for (int32_t i = check->first_waiter[producer]; i >= 0; i = check->waiters.data[i].next) {
    const Waiter *waiter = &check->waiters.data[i];
    if (waiter->label == label && command_order_knows(&check->order, waiter->instance)) return false;
  }
  Waiter waiter = {label, consumer, check->first_waiter[producer]};
  array_push(&check->waiters, check->scratch, waiter);
  check->first_waiter[producer] = (int32_t)check->waiters.count - 1;
  return true;
}

static void check_edge(Check *check, int32_t producer, int32_t consumer, bool is_redundant) {
  if (!add_waiter(check, producer, consumer)) return;
  if (check->machine->sync.kind == SYNC_FLAG)
    array_push(&check->edges, check->scratch, ((StreamEdge){producer, consumer}));
  check->report->edges++;
  edge_counts_add(&check->edge_counts, producer, consumer);
  if (is_redundant) add_hazard(check, HAZARD_REDUNDANT_EDGE, (Hazard){0, producer, consumer, -1, 0, 0});
}

/* Latest first: what a producer implies comes before it, so each is redundant exactly when those before it, the queue
 * and the barriers imply it. */
static Status order_command(Check *check, int32_t instance) {
  command_order_begin(&check->order);
  check->producers.count = 0;
  InstanceRange edges = command_stream_edges(check->stream, instance);
  for (int64_t i = 0; i < edges.count; i++) array_push(&check->producers, check->scratch, edges.data[i]);
  instances_sort_latest_first(check->producers.data, check->producers.count);
  for (int64_t i = 0; i < check->producers.count; i++) {
    int32_t producer = check->producers.data[i];
    bool is_redundant = command_order_knows(&check->order, producer);
    check_edge(check, producer, instance, is_redundant);
    if (!is_redundant) command_order_wait(&check->order, producer);
  }
  return command_order_end(&check->order, check->diag);
}

/* --- races --- */

/* The first bytes that |hazard->second| touches through the box and |hazard->first| by a write or by a read. */
static void locate(Check *check, Hazard *hazard, int32_t box_number, bool first_writes) {
  ByteBox box = command_stream_box(check->stream, box_number);
  const ByteClasses *classes = &check->classes;
  InstanceRange accesses = command_stream_accesses(check->stream, hazard->first);
  for (int64_t i = 0; i < accesses.count; i++) {
    int32_t other = stream_access_box(accesses.data[i]);
    if (stream_access_writes(accesses.data[i]) != first_writes) continue;
    for (int32_t a = classes->first_class[box_number]; a < classes->first_class[box_number + 1]; a++) {
      for (int32_t b = classes->first_class[other]; b < classes->first_class[other + 1]; b++) {
        if (classes->classes[a] != classes->classes[b]) continue;
        ByteBox met = command_stream_box(check->stream, other);
        XLAC_CHECK(byte_boxes_meet(check->scratch, &met, &box, &hazard->start, &hazard->end));
        return;
      }
    }
  }
  XLAC_BUG("commands %d and %d do not meet", hazard->first, hazard->second);
}

static void add_pair(Check *check, HazardKind kind, int32_t first, int32_t second, int32_t box) {
  Hazard hazard = {kind, first, second, check->stream->boxes.data[box].object, 0, 0};
  if (keeps(check, kind)) locate(check, &hazard, box, kind != HAZARD_WRITE_AFTER_READ);
  add_hazard(check, kind, hazard);
}

static void add_race(Check *check, HazardKind kind, int32_t first, int32_t second, int32_t box) {
  if (check->met_by[first] == second) return;
  check->met_by[first] = second;
  add_pair(check, kind, first, second, box);
}

/* Visits of a class that |instance| has to come after; returns whether it does.  |out_settled|: the write at which the
 * walk may end, -1: none. */
static bool meet_writes(Check *check, int32_t instance, int32_t from, HazardKind kind, int32_t box,
                        int32_t *out_settled) {
  bool is_ordered = true;
  *out_settled = -1;
  for (int32_t i = from; i >= 0; i = check->visits.data[i].earlier) {
    const Visit *visit = &check->visits.data[i];
    if (visit->instance == instance) continue;
    if (!command_order_precedes(&check->order, visit->instance, instance)) {
      is_ordered = false;
      add_race(check, kind, visit->instance, instance, box);
    } else if (visit->is_settled) {
      *out_settled = visit->instance;
      break;
    }
  }
  return is_ordered;
}

static bool meet_reads(Check *check, int32_t instance, int32_t from, int32_t settled, int32_t box) {
  bool is_ordered = true;
  for (int32_t i = from; i >= 0; i = check->visits.data[i].earlier) {
    const Visit *visit = &check->visits.data[i];
    if (visit->instance < settled) break;
    if (visit->instance == instance || command_order_precedes(&check->order, visit->instance, instance)) continue;
    is_ordered = false;
    add_race(check, HAZARD_WRITE_AFTER_READ, visit->instance, instance, box);
  }
  return is_ordered;
}

static int32_t add_visit(Check *check, int32_t instance, int32_t earlier, bool is_settled) {
  Visit visit = {instance, earlier, is_settled};
  array_push(&check->visits, check->scratch, visit);
  return (int32_t)check->visits.count - 1;
}

static void read_box(Check *check, int32_t instance, int32_t box) {
  int32_t settled, unwritten = -1, object = check->stream->boxes.data[box].object;
  bool is_initialised = (check->stream->objects.data[object].flags & OBJECT_INITIALISED) != 0;
  for (int32_t i = check->classes.first_class[box]; i < check->classes.first_class[box + 1]; i++) {
    int32_t number = check->classes.classes[i];
    ClassHistory *history = &check->histories[number];
    if (history->writes < 0 && !is_initialised && unwritten < 0) unwritten = number;
    meet_writes(check, instance, history->writes, HAZARD_READ_AFTER_WRITE, box, &settled);
    history->reads = add_visit(check, instance, history->reads, false);
  }
  if (unwritten < 0) return;
  const ClassRange *range = &check->classes.examples[unwritten];
  add_hazard(check, HAZARD_UNINITIALISED, (Hazard){0, -1, instance, object, range->start, range->end});
}

static void check_written_once(Check *check, int32_t instance, int32_t box) {
  const StreamObject *object = &check->stream->objects.data[check->stream->boxes.data[box].object];
  if (!(object->flags & OBJECT_WRITTEN_ONCE)) return;
  for (int32_t i = check->classes.first_class[box]; i < check->classes.first_class[box + 1]; i++) {
    int32_t writes = check->histories[check->classes.classes[i]].writes;
    int32_t first = writes < 0 ? instance : check->visits.data[writes].instance;
    if (first == instance) continue;
    add_pair(check, HAZARD_WRITTEN_TWICE, first, instance, box);
    return;
  }
}

static void write_box(Check *check, int32_t instance, int32_t box) {
  check_written_once(check, instance, box);
  for (int32_t i = check->classes.first_class[box]; i < check->classes.first_class[box + 1]; i++) {
    ClassHistory *history = &check->histories[check->classes.classes[i]];
    int32_t settled;
    bool is_settled = meet_writes(check, instance, history->writes, HAZARD_WRITE_AFTER_WRITE, box, &settled);
    is_settled = meet_reads(check, instance, history->reads, settled, box) && is_settled;
    history->writes = add_visit(check, instance, history->writes, is_settled);
  }
}

/* A command reads before it writes, as far as its own bytes are concerned. */
static void visit_command(Check *check, int32_t instance) {
  InstanceRange accesses = command_stream_accesses(check->stream, instance);
  for (int64_t i = 0; i < accesses.count; i++) {
    if (!stream_access_writes(accesses.data[i])) read_box(check, instance, stream_access_box(accesses.data[i]));
  }
  for (int64_t i = 0; i < accesses.count; i++) {
    if (stream_access_writes(accesses.data[i])) write_box(check, instance, stream_access_box(accesses.data[i]));
  }
}

/* --- results --- */

static void add_gap(Check *check, int32_t object, int64_t start, int64_t end) {
  if (start < end) add_hazard(check, HAZARD_NOT_WRITTEN, (Hazard){0, -1, -1, object, start, end});
}

static void check_flags(Check *check) {
  int64_t count;
  const StreamEdge *missing = stream_flags_missing(check->scratch, check->scratch, &check->order, check->edges.data,
                                                   check->edges.count, &count, &check->report->flags);
  for (int64_t i = 0; i < count; i++)
    add_hazard(check, HAZARD_FLAGS, (Hazard){0, missing[i].producer, missing[i].consumer, -1, 0, 0});
}

static void check_covered(Check *check, int32_t object) {
  int64_t covered = 0;
  for (int64_t i = check->classes.first_range[object]; i < check->classes.first_range[object + 1]; i++) {
    const ClassRange *range = &check->classes.ranges[i];
    if (check->histories[range->byte_class].writes < 0) continue;
    add_gap(check, object, covered, range->start);
    covered = range->end;
  }
  add_gap(check, object, covered, check->stream->objects.data[object].bytes);
}

/* --- the whole --- */

/* Visits that all accesses come to. */
static int64_t count_visits(const Check *check) {
  const CommandStream *stream = check->stream;
  int64_t count = 0;
  for (int64_t a = 0; a < stream->accesses.count; a++) {
    int32_t box = stream_access_box(stream->accesses.data[a]);
    count += check->classes.first_class[box + 1] - check->classes.first_class[box];
  }
  return count;
}

/* By object: whether races are all that may be wrong with its bytes.  NULL: there is no such object. */
static const bool *find_free_objects(const Check *check) {
  bool *is_free = ARENA_NEW_ARRAY(check->scratch, bool, check->stream->objects.count), is_any = false;
  for (int64_t i = 0; i < check->stream->objects.count; i++) {
    unsigned flags = check->stream->objects.data[i].flags;
    is_free[i] = (flags & OBJECT_INITIALISED) && !(flags & (OBJECT_WRITTEN_ONCE | OBJECT_READ_ONLY));
    is_any = is_any || is_free[i];
  }
  return is_any ? is_free : NULL;
}

/* Whether no command races with one before it; false as well where that takes classes of bytes to be known. */
static Status find_quiet(const Check *check, Arena *scratch, bool *out_quiet) {
  CommandOrder order;
  QueueAccesses accesses;
  InstanceArray racing = {0};
  *out_quiet = queue_accesses_suit(check->stream, check->machine);
  if (!*out_quiet) return STATUS_OK;
  command_order_init(&order, scratch, check->stream, check->machine);
  queue_accesses_init(&accesses, scratch, check->stream, check->machine, &order);
  for (int32_t i = 0; i < check->stream->commands.count && *out_quiet; i++) {
    InstanceRange edges = command_stream_edges(check->stream, i);
    command_order_begin(&order);
    for (int64_t e = 0; e < edges.count; e++) command_order_wait(&order, edges.data[e]);
    queue_accesses_find(&accesses, i, &racing);
    *out_quiet = racing.count == 0;
    RETURN_IF_ERROR(command_order_end(&order, check->diag));
    queue_accesses_note(&accesses, i);
  }
  return STATUS_OK;
}

/* Which bytes are known by classes: all, or where no commands race only those that may be wrong without a race. */
static Status find_classes(Check *check) {
  const bool *skips = find_free_objects(check);
  if (skips != NULL) {
    bool is_quiet;
    Arena *scratch = arena_create();
    Status status = find_quiet(check, scratch, &is_quiet);
    arena_destroy(scratch);
    RETURN_IF_ERROR(status);
    if (!is_quiet) skips = NULL;
  }
  return byte_classes_find(check->scratch, check->scratch, check->stream, skips, check->diag, &check->classes);
}

static Status check_order(Check *check) {
  const CommandStream *stream = check->stream;
  int64_t count = stream->commands.count;
  RETURN_IF_ERROR(find_classes(check));
  array_reserve(&check->visits, check->scratch, count_visits(check));
  command_order_init(&check->order, check->scratch, stream, check->machine);
  edge_counts_init(&check->edge_counts, check->arena, stream);
  check->histories = ARENA_NEW_ARRAY(check->scratch, ClassHistory, check->classes.class_count);
  for (int32_t i = 0; i < check->classes.class_count; i++) check->histories[i] = (ClassHistory){-1, -1};
  check->met_by = ARENA_NEW_ARRAY(check->scratch, int32_t, count);
  check->first_waiter = ARENA_NEW_ARRAY(check->scratch, int32_t, count);
  for (int64_t i = 0; i < count; i++) check->met_by[i] = check->first_waiter[i] = -1;
  for (int32_t i = 0; i < count; i++) {
    RETURN_IF_ERROR(order_command(check, i));
    check->report->barriers += stream->commands.data[i].queue == BARRIER_QUEUE;
    visit_command(check, i);
    if (hazard_report_races(check->report) > check->limits.races) return STATUS_OK;
  }
  for (int32_t i = 0; i < stream->objects.count; i++) {
    if (stream->objects.data[i].flags & OBJECT_WRITTEN_ONCE) check_covered(check, i);
  }
  check_flags(check);
  check->report->complete = true;
  return STATUS_OK;
}

Status hazards_check(Arena *arena, Arena *scratch, const CommandStream *stream, const MachineDescription *machine,
                     HazardLimits limits, DiagSink *diag, HazardReport *out_report) {
  *out_report = (HazardReport){0};
  Check check = {.arena = arena,
                 .scratch = scratch,
                 .stream = stream,
                 .machine = machine,
                 .limits = limits,
                 .diag = diag,
                 .report = out_report};
  check_boxes(&check);
  if (check_direction(&check)) RETURN_IF_ERROR(check_order(&check));
  out_report->edge_counts = check.edge_counts.counts.data;
  out_report->edge_count_count = check.edge_counts.counts.count;
  out_report->hazards = check.hazards.data;
  out_report->hazard_count = check.hazards.count;
  return STATUS_OK;
}

/* --- text --- */

/* $2: the second command, $1: the first, $b: the bytes. */
static const char *const SENTENCES[HAZARD_KIND_COUNT] = {
    [HAZARD_READ_AFTER_WRITE] = "$2 reads $b, $1 writes them, and nothing orders the two",
    [HAZARD_WRITE_AFTER_READ] = "$2 writes $b, $1 reads them, and nothing orders the two",
    [HAZARD_WRITE_AFTER_WRITE] = "$2 writes $b, $1 writes them, and nothing orders the two",
    [HAZARD_UNINITIALISED] = "$2 reads $b, which nothing has written",
    [HAZARD_BOUNDS] = "$2 leaves its object with $b",
    [HAZARD_ALIGNMENT] = "$2 begins $b at a place that is not aligned",
    [HAZARD_READ_ONLY] = "$2 writes $b, which may only be read",
    [HAZARD_WRITTEN_TWICE] = "$2 writes $b, which $1 writes too",
    [HAZARD_NOT_WRITTEN] = "nothing writes $b",
    [HAZARD_FORWARD_EDGE] = "$2 waits for $1, which does not come before it",
    [HAZARD_DEADLOCK] = "$2 waits for $1 for ever",
    [HAZARD_OWN_OPERANDS] = "$2 writes $b, which is part of another of its operands",
    [HAZARD_FLAGS] = "$2 waits for $1 when all flags between their queues are up",
    [HAZARD_REDUNDANT_EDGE] = "$2 waits for $1, which is complete anyway",
};

static void print_command(void *context, StringBuilder *out, int32_t instance) {
  const CommandStream *stream = context;
  sb_printf(out, "command %d", instance);
  if (instance >= 0 && instance < stream->commands.count)
    sb_printf(out, " (label %d)", stream->commands.data[instance].label);
}

static void print_bytes(void *context, StringBuilder *out, const Hazard *hazard) {
  const CommandStream *stream = context;
  sb_printf(out, "bytes [%lld, %lld) of '%.*s'", (long long)hazard->start, (long long)hazard->end,
            SV_ARG(stream->objects.data[hazard->object].name));
}

const char *hazard_text(Arena *arena, const CommandStream *stream, const Hazard *hazard, const HazardNames *names) {
  CommandStream numbered = *stream;
  HazardNames numbers = {&numbered, print_command, print_bytes};
  if (names == NULL) names = &numbers;
  StringBuilder out;
  sb_init(&out, arena);
  for (const char *at = SENTENCES[hazard->kind]; *at != '\0'; at++) {
    if (*at != '$') {
      sb_append_char(&out, *at);
    } else if (*++at == 'b') {
      names->bytes(names->context, &out, hazard);
    } else {
      names->command(names->context, &out, *at == '1' ? hazard->first : hazard->second);
    }
  }
  StringView text = sb_view(&out);
  return arena_copy_string(arena, text.data, text.size);
}
