#include "hlo/machine/stream/command_stream.h"

#include "base/checked_math.h"

/* --- boxes --- */

static void make_unreachable(ByteBox *box) {
  *box = (ByteBox){.base = INT64_MAX - 1, .bytes = 1};
}

/* Drops levels that add no byte and turns negative strides round.  False when addresses overflow. */
static bool straighten_levels(ByteBox *box) {
  int kept = 0;
  for (int i = 0; i < box->level_count; i++) {
    ByteLevel level = box->levels[i];
    if (level.count == 1 || level.stride == 0) continue;
    if (level.stride < 0) {
      int64_t span;
      if (level.stride == INT64_MIN) return false;
      if (!checked_mul(level.count - 1, level.stride, &span) || !checked_add(box->base, span, &box->base)) return false;
      box->align = greatest_common_divisor(box->align, span);
      level.stride = -level.stride;
    }
    box->levels[kept++] = level;
  }
  box->level_count = kept;
  return true;
}

static void sort_levels(ByteBox *box) {
  for (int i = 1; i < box->level_count; i++) {
    ByteLevel level = box->levels[i];
    int k = i;
    for (; k > 0 && box->levels[k - 1].stride < level.stride; k--) box->levels[k] = box->levels[k - 1];
    box->levels[k] = level;
  }
}

static bool end_of(const ByteBox *box, int64_t *out_end) {
  int64_t end;
  if (!checked_add(box->base, box->bytes, &end)) return false;
  for (int i = 0; i < box->level_count; i++) {
    int64_t span;
    if (!checked_mul(box->levels[i].count - 1, box->levels[i].stride, &span) || !checked_add(end, span, &end)) {
      return false;
    }
  }
  *out_end = end;
  return true;
}

/* Innermost first: a level whose steps touch makes the run longer, one that goes on where the inner one ends is one
 * with it. */
static void merge_levels(ByteBox *box) {
  while (box->level_count > 0) {
    ByteLevel *inner = &box->levels[box->level_count - 1];
    if (inner->stride > box->bytes) break;
    box->bytes += (inner->count - 1) * inner->stride;
    box->level_count--;
  }
  for (int i = box->level_count - 1; i > 0; i--) {
    ByteLevel *outer = &box->levels[i - 1], inner = box->levels[i];
    if (outer->stride % inner.stride != 0 || outer->stride / inner.stride > inner.count) continue;
    int64_t steps = outer->stride / inner.stride;
    *outer = (ByteLevel){(outer->count - 1) * steps + inner.count, inner.stride};
    for (int k = i; k + 1 < box->level_count; k++) box->levels[k] = box->levels[k + 1];
    box->level_count--;
  }
}

void byte_box_normalise(ByteBox *box) {
  XLAC_CHECK(box->level_count >= 0 && box->level_count <= BYTE_BOX_MAX_LEVELS);
  bool empty = box->bytes <= 0;
  for (int i = 0; i < box->level_count; i++) empty = empty || box->levels[i].count <= 0;
  box->align = max_i64(box->align, 1);
  if (empty) {
    box->bytes = 0;
    box->level_count = 0;
    return;
  }
  int64_t end;
  if (!straighten_levels(box) || !end_of(box, &end)) {
    make_unreachable(box);
    return;
  }
  sort_levels(box);
  merge_levels(box);
}

int64_t byte_box_end(const ByteBox *box) {
  int64_t end = 0;
  XLAC_CHECK(end_of(box, &end));
  return end;
}

bool byte_box_ascends(const ByteBox *box) {
  int64_t inner = box->bytes;
  for (int i = box->level_count - 1; i >= 0; i--) {
    if (box->levels[i].stride < inner) return false;
    inner += (box->levels[i].count - 1) * box->levels[i].stride;
  }
  return true;
}

int64_t byte_box_run_count(const ByteBox *box) {
  int64_t count = box->bytes > 0;
  for (int i = 0; i < box->level_count; i++) {
    if (!checked_mul(count, box->levels[i].count, &count)) return INT64_MAX;
  }
  return count;
}

int64_t byte_box_run(const ByteBox *box, int64_t number) {
  int64_t start = box->base;
  for (int i = box->level_count - 1; i >= 0; i--) {
    start += number % box->levels[i].count * box->levels[i].stride;
    number /= box->levels[i].count;
  }
  return start;
}

/* --- each box and form once --- */

static uint64_t hash_form(const ByteBox *box) {
  uint64_t hash = hash_combine((uint64_t)box->bytes, (uint64_t)box->align);
  for (int i = 0; i < box->level_count; i++) {
    hash = hash_combine(hash_combine(hash, (uint64_t)box->levels[i].count), (uint64_t)box->levels[i].stride);
  }
  return hash;
}

static bool has_form(const CommandStream *stream, const StreamForm *form, const ByteBox *box) {
  if (form->bytes != box->bytes || form->align != box->align || form->level_count != box->level_count) return false;
  for (int i = 0; i < box->level_count; i++) {
    const ByteLevel *level = &stream->levels.data[form->first_level + i];
    if (level->count != box->levels[i].count || level->stride != box->levels[i].stride) return false;
  }
  return true;
}

static int32_t find_or_add_form(CommandStream *stream, const ByteBox *box) {
  uint64_t hash = hash_form(box);
  int64_t first = -1;
  if (!int_map_find(&stream->form_by_hash, hash, &first)) first = -1;
  for (int32_t i = (int32_t)first; i >= 0; i = stream->forms.data[i].same_hash) {
    if (has_form(stream, &stream->forms.data[i], box)) return i;
  }
  StreamForm form = {box->bytes, box->align, box->level_count, (int32_t)stream->levels.count, (int32_t)first};
  for (int i = 0; i < box->level_count; i++) array_push(&stream->levels, stream->arena, box->levels[i]);
  array_push(&stream->forms, stream->arena, form);
  int_map_set(&stream->form_by_hash, hash, stream->forms.count - 1);
  return (int32_t)stream->forms.count - 1;
}

static int32_t find_or_add_box(CommandStream *stream, int32_t object, const ByteBox *box) {
  int32_t form = find_or_add_form(stream, box);
  uint64_t hash = hash_combine(hash_combine((uint64_t)object, (uint64_t)box->base), (uint64_t)form);
  int64_t first = -1;
  if (!int_map_find(&stream->box_by_hash, hash, &first)) first = -1;
  for (int32_t i = (int32_t)first; i >= 0; i = stream->boxes.data[i].same_hash) {
    const StreamBox *known = &stream->boxes.data[i];
    if (known->object == object && known->base == box->base && known->form == form) return i;
  }
  StreamBox added = {box->base, object, form, (int32_t)first};
  array_push(&stream->boxes, stream->arena, added);
  int_map_set(&stream->box_by_hash, hash, stream->boxes.count - 1);
  return (int32_t)stream->boxes.count - 1;
}

/* --- building --- */

void command_stream_init(CommandStream *stream, Arena *arena, int64_t buffer_bytes) {
  *stream = (CommandStream){.arena = arena};
  int_map_init(&stream->box_by_hash, arena);
  int_map_init(&stream->form_by_hash, arena);
  command_stream_add_object(stream, SV("Buffer"), buffer_bytes, OBJECT_TEMPORARY);
}

int32_t command_stream_add_object(CommandStream *stream, StringView name, int64_t bytes, unsigned flags) {
  StreamObject object = {name, bytes, flags, 0};
  array_push(&stream->objects, stream->arena, object);
  return (int32_t)stream->objects.count - 1;
}

int32_t command_stream_add_resident(CommandStream *stream, StringView name, int64_t begin, int64_t bytes,
                                    unsigned flags) {
  int32_t object = command_stream_add_object(stream, name, bytes, flags | OBJECT_IN_BUFFER);
  stream->objects.data[object].begin = begin;
  return object;
}

void command_stream_free_objects(CommandStream *stream) {
  for (int64_t i = 0; i < stream->objects.count; i++) {
    StreamObject *object = &stream->objects.data[i];
    object->flags = (object->flags & OBJECT_IN_BUFFER) | OBJECT_INITIALISED;
  }
}

static StreamCommand *add_command(CommandStream *stream, int32_t label, int32_t queue) {
  XLAC_CHECK(stream->commands.count < INT32_MAX);
  StreamCommand command = {.label = label,
                           .queue = queue,
                           .first_access = (int32_t)stream->accesses.count,
                           .first_edge = (int32_t)stream->edges.count,
                           .rows = 1,
                           .descriptors = 1};
  array_push(&stream->commands, stream->arena, command);
  return &array_last(&stream->commands);
}

int32_t command_stream_add_transfer(CommandStream *stream, int32_t label, int32_t queue, int64_t bytes, int64_t rows) {
  StreamCommand *command = add_command(stream, label, queue);
  command->rows = (int32_t)max_i64(1, min_i64(rows, INT32_MAX));
  command->work.bytes = bytes;
  return (int32_t)stream->commands.count - 1;
}

void command_stream_set_descriptors(CommandStream *stream, int64_t descriptors) {
  array_last(&stream->commands).descriptors = (int32_t)max_i64(1, min_i64(descriptors, INT32_MAX));
}

int32_t command_stream_add_operation(CommandStream *stream, int32_t label, int32_t queue, double cycles) {
  add_command(stream, label, queue)->work.cycles = cycles;
  return (int32_t)stream->commands.count - 1;
}

int32_t command_stream_add_barrier(CommandStream *stream, int32_t label, uint64_t queues) {
  add_command(stream, label, BARRIER_QUEUE)->work.queues = queues;
  return (int32_t)stream->commands.count - 1;
}

enum { ACCESS_WRITES = 1, ACCESS_UPDATES = 2, ACCESS_IS_SCRATCH = 4, ACCESS_FLAGS = 8 };

static void add_access(CommandStream *stream, int32_t object, const ByteBox *box, int32_t flags) {
  XLAC_CHECK(stream->commands.count > 0);
  XLAC_CHECK(object >= 0 && object < stream->objects.count);
  XLAC_CHECK(stream->accesses.count < INT32_MAX && stream->boxes.count < INT32_MAX / ACCESS_FLAGS);
  ByteBox normal = *box;
  byte_box_normalise(&normal);
  if (normal.bytes == 0) return;
  int32_t access = ACCESS_FLAGS * find_or_add_box(stream, object, &normal) + flags;
  array_push(&stream->accesses, stream->arena, access);
}

void command_stream_add_read(CommandStream *stream, int32_t object, const ByteBox *box) {
  add_access(stream, object, box, 0);
}

void command_stream_add_write(CommandStream *stream, int32_t object, const ByteBox *box) {
  add_access(stream, object, box, ACCESS_WRITES);
}

void command_stream_add_update_read(CommandStream *stream, int32_t object, const ByteBox *box) {
  add_access(stream, object, box, ACCESS_UPDATES);
}

void command_stream_add_update_write(CommandStream *stream, int32_t object, const ByteBox *box) {
  add_access(stream, object, box, ACCESS_UPDATES | ACCESS_WRITES);
}

void command_stream_add_scratch(CommandStream *stream, int32_t object, const ByteBox *box) {
  add_access(stream, object, box, ACCESS_IS_SCRATCH | ACCESS_WRITES);
}

void command_stream_add_edge(CommandStream *stream, int32_t producer) {
  XLAC_CHECK(stream->commands.count > 0);
  XLAC_CHECK(producer >= 0 && stream->edges.count < INT32_MAX);
  array_push(&stream->edges, stream->arena, producer);
}

/* --- reading --- */

InstanceRange command_stream_edges(const CommandStream *stream, int32_t instance) {
  int32_t first = stream->commands.data[instance].first_edge;
  bool is_last = instance + 1 == stream->commands.count;
  int64_t end = is_last ? stream->edges.count : stream->commands.data[instance + 1].first_edge;
  return (InstanceRange){end > first ? stream->edges.data + first : NULL, end - first};
}

InstanceRange command_stream_accesses(const CommandStream *stream, int32_t instance) {
  int32_t first = stream->commands.data[instance].first_access;
  bool is_last = instance + 1 == stream->commands.count;
  int64_t end = is_last ? stream->accesses.count : stream->commands.data[instance + 1].first_access;
  return (InstanceRange){end > first ? stream->accesses.data + first : NULL, end - first};
}

ByteBox command_stream_box(const CommandStream *stream, int32_t number) {
  const StreamBox *box = &stream->boxes.data[number];
  const StreamForm *form = &stream->forms.data[box->form];
  ByteBox result = {.base = box->base, .bytes = form->bytes, .align = form->align, .level_count = form->level_count};
  for (int i = 0; i < form->level_count; i++) result.levels[i] = stream->levels.data[form->first_level + i];
  return result;
}

CommandStream command_stream_with_edges(Arena *arena, const CommandStream *stream, const int32_t *first_edges,
                                        const int32_t *edges) {
  CommandStream result = *stream;
  int64_t count = stream->commands.count;
  result.arena = arena;
  result.commands.data = ARENA_COPY_ARRAY(arena, StreamCommand, stream->commands.data, count);
  result.commands.capacity = count;
  for (int64_t i = 0; i < count; i++) result.commands.data[i].first_edge = first_edges[i];
  result.edges.count = result.edges.capacity = first_edges[count];
  result.edges.data = ARENA_COPY_ARRAY(arena, int32_t, edges, first_edges[count]);
  return result;
}
