#include "base/checked_math.h"
#include "hlo/machine/stream/queue_accesses_internal.h"

/* --- whether boxes meet --- */

/* A box with its outermost levels at some step. */
typedef struct BoxPart {
  int64_t base, bytes;
  const ByteLevel *levels; /* those that are left, strides descending; NULL where the box has none */
  int level_count;
} BoxPart;

static BoxPart whole_box(const CommandStream *stream, int32_t number) {
  const StreamBox *box = &stream->boxes.data[number];
  const StreamForm *form = &stream->forms.data[box->form];
  const ByteLevel *levels = form->level_count > 0 ? &stream->levels.data[form->first_level] : NULL;
  return (BoxPart){box->base, form->bytes, levels, form->level_count};
}

static int64_t part_end(const BoxPart *part) {
  int64_t end = part->base + part->bytes;
  for (int i = 0; i < part->level_count; i++) end += (part->levels[i].count - 1) * part->levels[i].stride;
  return end;
}

static int64_t outer_stride(const BoxPart *part) {
  return part->level_count > 0 ? part->levels[0].stride : 0;
}

/* |part| without its outermost level. */
static BoxPart inner_part(const BoxPart *part) {
  return (BoxPart){part->base, part->bytes, part->levels + 1, part->level_count - 1};
}

static bool parts_meet(BoxPart a, BoxPart b);

/* Whether |inner| meets |other| when it is moved by one of |count| multiples of |stride| > 0, from 0 on.  Only those by
 * which it comes to |other|'s hull are looked at. */
static bool meets_moved(BoxPart inner, ByteLevel level, BoxPart other) {
  int64_t base = inner.base, span = part_end(&inner) - base, stride = level.stride;
  int64_t first = other.base - span - base + 1, last = part_end(&other) - 1 - base; /* where it may be moved to */
  if (last < 0) return false;
  int64_t from = first <= 0 ? 0 : (first + stride - 1) / stride, to = min_i64(last / stride, level.count - 1);
  for (int64_t i = from; i <= to; i++) {
    inner.base = base + i * stride;
    if (parts_meet(inner, other)) return true;
  }
  return false;
}

/* Whether |a| and |b| have a byte in common.  The one with larger steps is taken apart.  Where both have the same
 * steps, as tiles of one array have, only the distances between steps of one and of the other matter. */
static bool parts_meet(BoxPart a, BoxPart b) {
  if (a.base >= part_end(&b) || b.base >= part_end(&a)) return false;
  if (a.level_count == 0 && b.level_count == 0) return true;
  if (outer_stride(&a) < outer_stride(&b)) {
    BoxPart swapped = a;
    a = b;
    b = swapped;
  }
  BoxPart inner = inner_part(&a);
  ByteLevel level = a.levels[0];
  if (outer_stride(&b) == level.stride) {
    int64_t others = b.levels[0].count - 1;
    inner.base -= others * level.stride;
    level.count += others;
    b = inner_part(&b);
  }
  return meets_moved(inner, level, b);
}

/* --- logs --- */

static AccessLog *log_of(const QueueAccesses *accesses, int32_t object, int32_t queue, bool writes) {
  return &accesses->logs[2 * ((int64_t)object * accesses->queues + queue) + writes];
}

/* Those of boxes in objects that no command writes, and of such as leave their object, have no bytes. */
static const ByteHull *find_hulls(Arena *arena, const CommandStream *stream) {
  bool *written = ARENA_NEW_ARRAY(arena, bool, stream->objects.count);
  for (int64_t a = 0; a < stream->accesses.count; a++) {
    int32_t access = stream->accesses.data[a];
    if (stream_access_writes(access)) written[stream->boxes.data[stream_access_box(access)].object] = true;
  }
  ByteHull *hulls = ARENA_NEW_ARRAY(arena, ByteHull, stream->boxes.count);
  for (int32_t i = 0; i < stream->boxes.count; i++) {
    BoxPart box = whole_box(stream, i);
    int64_t end = part_end(&box);
    int32_t object = stream->boxes.data[i].object;
    bool is_inside = box.base >= 0 && end <= stream->objects.data[object].bytes;
    if (is_inside && written[object]) hulls[i] = (ByteHull){box.base, end};
  }
  return hulls;
}

bool queue_accesses_suit(const CommandStream *stream, const MachineDescription *machine) {
  for (int32_t i = 0; i < stream->commands.count; i++) {
    int32_t queue = stream->commands.data[i].queue;
    bool is_in_order = queue != BARRIER_QUEUE && machine->queues[queue].complete == COMPLETE_IN_ORDER;
    if (!is_in_order && command_stream_accesses(stream, i).count > 0) return false;
  }
  return true;
}

void queue_accesses_init(QueueAccesses *accesses, Arena *arena, const CommandStream *stream,
                         const MachineDescription *machine, const CommandOrder *order) {
  *accesses = (QueueAccesses){.arena = arena, .stream = stream, .order = order, .queues = machine->queue_count};
  accesses->hulls = find_hulls(arena, stream);
  accesses->logs = ARENA_NEW_ARRAY(arena, AccessLog, 2 * stream->objects.count * machine->queue_count);
}

/* The latest command in |log| that touches box |number|; -1: none that the command at hand does not know. */
static int32_t latest_conflict(const QueueAccesses *accesses, const AccessLog *log, int32_t number) {
  if (log->count == 0) return -1;
  const CommandOrder *order = accesses->order;
  ByteHull hull = accesses->hulls[number];
  int32_t known = order->clock.data[order->chain[log->data[0].instance]];
  for (int64_t k = log->count - 1; k >= 0 && log->data[k].place > known; k--) {
    const LoggedAccess *logged = &log->data[k];
    if (logged->hull.end <= hull.begin || hull.end <= logged->hull.begin) continue;
    BoxPart box = whole_box(accesses->stream, number), other = whole_box(accesses->stream, logged->box);
    if (number == logged->box || parts_meet(box, other)) return logged->instance;
  }
  return -1;
}

void queue_accesses_find(const QueueAccesses *accesses, int32_t instance, InstanceArray *producers) {
  const CommandStream *stream = accesses->stream;
  InstanceRange own = command_stream_accesses(stream, instance);
  for (int64_t a = 0; a < own.count; a++) {
    int32_t number = stream_access_box(own.data[a]), object = stream->boxes.data[number].object;
    if (accesses->hulls[number].begin == accesses->hulls[number].end) continue;
    for (int32_t q = 0; q < accesses->queues; q++) {
      if (q == stream->commands.data[instance].queue) continue;
      for (int writes = !stream_access_writes(own.data[a]); writes <= 1; writes++) {
        int32_t found = latest_conflict(accesses, log_of(accesses, object, q, writes), number);
        if (found >= 0) array_push(producers, accesses->arena, found);
      }
    }
  }
}

void queue_accesses_note(QueueAccesses *accesses, int32_t instance) {
  const CommandStream *stream = accesses->stream;
  InstanceRange own = command_stream_accesses(stream, instance);
  for (int64_t a = 0; a < own.count; a++) {
    int32_t number = stream_access_box(own.data[a]);
    ByteHull hull = accesses->hulls[number];
    if (hull.begin == hull.end) continue;
    AccessLog *log = log_of(accesses, stream->boxes.data[number].object, stream->commands.data[instance].queue,
                            stream_access_writes(own.data[a]));
    if (log->count > 0 && array_last(log).box == number) log->count--; /* the later one implies it */
    LoggedAccess logged = {hull, instance, accesses->order->place[instance], number};
    array_push(log, accesses->arena, logged);
  }
}
