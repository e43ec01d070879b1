#include "passes/schedule/buffer_order.h"

#include <stdlib.h>

#include "base/checked_math.h"
#include "hlo/analysis/in_place.h"
#include "passes/schedule/memory_scheduler.h"

enum {
  LEAST_SHARE = 512,   /* arrays of less than one of so many parts of the Buffer do not count */
  LATE_SHARE = 8,      /* an array of one of so many parts of the Buffer takes room while it waits */
  LEAST_GAIN = 50,     /* an order is taken where bytes that cross are fewer by one of so many parts */
  MOST_NODES = 400000, /* of all orders that are looked at, together */
  MOST_ROUNDS = 64     /* orders that are improved, one after the other */
};

/* A node reads or makes an array. */
typedef struct ArrayTouch {
  int32_t array;
  bool makes;
} ArrayTouch;

/* What is kept. */
typedef struct KeptArray {
  int32_t array, next; /* the place of its next reader in the order */
  int64_t bytes;
} KeptArray;

/* So much of an array that is read at place |to| and was touched last at |from| has been given up in between. */
typedef struct Crossing {
  int64_t bytes;
  int32_t from, to;
} Crossing;

typedef struct BufferOrder {
  Arena *arena;
  const ScheduleModel *model;
  ScheduleModel inside; /* the model where what the root returns takes no bytes */
  int64_t capacity, work;
  int64_t *bytes;         /* by array: buffers of the model, then arrays that are given */
  ArrayTouch *touches;    /* by node, what it reads first */
  int32_t *begins;        /* by node, and after the last: its first touch */
  int32_t array_count;    /* … and for a walk: */
  int32_t *next;          /* by touch: the place of the next reader of its array, node_count: none */
  int32_t *coming, *last; /* by array: the reader that comes next, and the place that touched it last */
  int64_t *unstored;      /* by array: bytes of it that memory has not */
  KeptArray *kept;
  int32_t kept_count;
  int64_t kept_bytes;
  ARRAY(Crossing) crossings;
} BufferOrder;

/* --- what nodes touch --- */

/* The parameter, constant or element of a parameter whose bytes |instruction| is; NULL: it is none. */
static const HloInstruction *given_array(const HloInstruction *instruction) {
  instruction = hlo_behind_views(instruction);
  if (!shape_is_array(instruction->shape)) return NULL;
  const HloInstruction *holder = instruction;
  if (instruction->opcode == HLO_GET_TUPLE_ELEMENT) holder = instruction->operands[0];
  return hlo_opcode_info(holder->opcode)->flow == OP_FLOW_PARAMETER || instruction->opcode == HLO_CONSTANT ? instruction
                                                                                                           : NULL;
}

static bool counts(const BufferOrder *buffer, int64_t bytes) {
  return bytes >= buffer->capacity / LEAST_SHARE;
}

typedef struct TouchFinder {
  BufferOrder *buffer;
  ARRAY(ArrayTouch) touches;
  ARRAY(int64_t) bytes; /* as in BufferOrder */
  IntMap given;         /* the id of what a given array is → its number */
} TouchFinder;

static void add_touch(TouchFinder *finder, int64_t array, bool makes) {
  if (counts(finder->buffer, finder->bytes.data[array]))
    array_push(&finder->touches, finder->buffer->arena, ((ArrayTouch){(int32_t)array, makes}));
}

static void add_given(TouchFinder *finder, const HloInstruction *array) {
  int64_t number;
  if (!int_map_find(&finder->given, (uint64_t)array->id, &number)) {
    number = finder->bytes.count;
    int_map_set(&finder->given, (uint64_t)array->id, number);
    array_push(&finder->bytes, finder->buffer->arena, shape_byte_size(array->shape));
  }
  add_touch(finder, number, false);
}

static void add_touches(TouchFinder *finder, const ScheduleNode *node) {
  const HloInstruction *instruction = node->instruction;
  bool does_nothing = hlo_opcode_has(instruction->opcode, OP_TUPLES) || hlo_is_view(instruction);
  for (int32_t r = 0; r < node->read_count && !does_nothing; r++) add_touch(finder, node->reads[r], false);
  for (int i = 0; i < instruction->operand_count && !does_nothing; i++) {
    const HloInstruction *array = given_array(instruction->operands[i]);
    if (array != NULL) add_given(finder, array);
  }
  for (int32_t k = 0; k < node->leaf_count && node->defined_bytes > 0; k++)
    if (node->leaves[k] >= 0) add_touch(finder, node->leaves[k], true);
}

static void find_touches(BufferOrder *buffer) {
  const ScheduleModel *model = buffer->model;
  TouchFinder finder = {.buffer = buffer};
  int_map_init(&finder.given, buffer->arena);
  for (int32_t b = 0; b < model->buffer_count; b++) array_push(&finder.bytes, buffer->arena, model->buffers[b].bytes);
  buffer->begins = ARENA_NEW_ARRAY(buffer->arena, int32_t, model->node_count + 1);
  for (int32_t n = 0; n < model->node_count; n++) {
    add_touches(&finder, &model->nodes[n]);
    buffer->begins[n + 1] = (int32_t)finder.touches.count;
  }
  buffer->touches = finder.touches.data;
  buffer->bytes = finder.bytes.data;
  buffer->array_count = (int32_t)finder.bytes.count;
}

/* --- what crosses --- */

static void find_next_readers(BufferOrder *buffer, const int32_t *order) {
  int32_t count = buffer->model->node_count;
  for (int32_t a = 0; a < buffer->array_count; a++) buffer->coming[a] = count;
  for (int32_t i = count - 1; i >= 0; i--) {
    int32_t begin = buffer->begins[order[i]], end = buffer->begins[order[i] + 1];
    for (int32_t t = begin; t < end; t++) buffer->next[t] = buffer->coming[buffer->touches[t].array];
    for (int32_t t = begin; t < end; t++)
      if (!buffer->touches[t].makes) buffer->coming[buffer->touches[t].array] = i;
  }
}

/* What is kept of |array|, which is not kept any longer. */
static int64_t take_kept(BufferOrder *buffer, int32_t array) {
  for (int32_t k = 0; k < buffer->kept_count; k++) {
    int64_t bytes = buffer->kept[k].bytes;
    if (buffer->kept[k].array != array) continue;
    buffer->kept[k] = buffer->kept[--buffer->kept_count];
    buffer->kept_bytes -= bytes;
    return bytes;
  }
  return 0;
}

/* Gives up what is used again latest until the rest has room in |capacity|; the bytes that have to be stored for it. */
static int64_t make_room(BufferOrder *buffer, int64_t capacity) {
  int64_t stored = 0;
  while (buffer->kept_bytes > capacity) {
    KeptArray *latest = &buffer->kept[0];
    for (int32_t k = 1; k < buffer->kept_count; k++) {
      KeptArray *other = &buffer->kept[k];
      bool is_later = other->next > latest->next || (other->next == latest->next && other->array > latest->array);
      if (is_later) latest = other;
    }
    bool is_whole = buffer->bytes[latest->array] <= buffer->capacity;
    int64_t given_up = is_whole ? latest->bytes : min_i64(latest->bytes, buffer->kept_bytes - capacity);
    int64_t *unstored = &buffer->unstored[latest->array], more = min_i64(given_up, *unstored);
    *unstored -= more;
    stored += more;
    latest->bytes -= given_up;
    buffer->kept_bytes -= given_up;
    if (latest->bytes == 0) take_kept(buffer, latest->array);
  }
  return stored;
}

/* What crosses at place |i|, where |node| is. */
static int64_t step(BufferOrder *buffer, int32_t i, int32_t node) {
  /* what it calls needs the Buffer for itself */
  bool calls = hlo_opcode_has(buffer->model->nodes[node].instruction->opcode, OP_CONTROL_FLOW);
  int64_t crossed = calls ? make_room(buffer, 0) : 0;
  for (int32_t t = buffer->begins[node]; t < buffer->begins[node + 1]; t++) {
    int32_t array = buffer->touches[t].array, last = buffer->last[array];
    int64_t bytes = buffer->bytes[array], lost = bytes - take_kept(buffer, array);
    if (buffer->touches[t].makes) {
      buffer->unstored[array] = bytes;
    } else if (lost > 0 && last >= 0 && last < i) {
      crossed += lost;
      array_push(&buffer->crossings, buffer->arena, ((Crossing){lost, last, i}));
    }
    buffer->last[array] = i;
    if (buffer->next[t] == buffer->model->node_count) continue;
    buffer->kept[buffer->kept_count++] = (KeptArray){array, buffer->next[t], bytes};
    buffer->kept_bytes += bytes;
  }
  return crossed + make_room(buffer, buffer->capacity);
}

static int64_t crossing_bytes(BufferOrder *buffer, const int32_t *order) {
  int64_t crossed = 0;
  find_next_readers(buffer, order);
  buffer->kept_count = 0;
  buffer->kept_bytes = 0;
  buffer->crossings.count = 0;
  for (int32_t a = 0; a < buffer->array_count; a++) {
    buffer->unstored[a] = 0;
    buffer->last[a] = -1;
  }
  for (int32_t i = 0; i < buffer->model->node_count; i++) crossed += step(buffer, i, order[i]);
  buffer->work += buffer->model->node_count;
  return crossed;
}

/* --- the peak without results --- */

static void find_inside(BufferOrder *buffer) {
  const ScheduleModel *model = buffer->model;
  ScheduleModel *inside = &buffer->inside;
  *inside = *model;
  inside->arena = buffer->arena;
  inside->nodes = ARENA_COPY_ARRAY(buffer->arena, ScheduleNode, model->nodes, model->node_count);
  inside->buffers = ARENA_COPY_ARRAY(buffer->arena, ScheduleBuffer, model->buffers, model->buffer_count);
  for (int32_t n = 0; n < model->node_count; n++) {
    const ScheduleNode *node = &model->nodes[n];
    if (node->instruction != node->instruction->parent->root) continue;
    for (int32_t k = 0; k < node->leaf_count; k++)
      if (node->leaves[k] >= 0) inside->buffers[node->leaves[k]].bytes = 0;
  }
  for (int32_t n = 0; n < model->node_count; n++) {
    ScheduleNode *node = &inside->nodes[n];
    for (int32_t k = 0; k < node->leaf_count && node->defined_bytes > 0; k++) {
      int32_t leaf = node->leaves[k];
      if (leaf >= 0) node->defined_bytes -= model->buffers[leaf].bytes - inside->buffers[leaf].bytes;
    }
  }
}

/* --- moves --- */

/* Moves what stands at |to| and all that it needs after |from| right behind that: |is_back|; or what stands at |from|
 * and all that needs it before |to| right before that. */
static void move_group(const BufferOrder *buffer, const int32_t *order, const Crossing *crossing, bool is_back,
                       int32_t *out_order) {
  const ScheduleModel *model = buffer->model;
  int32_t count = model->node_count, first = crossing->from + is_back, end = crossing->to + is_back, made = first;
  bool *is_moved = ARENA_NEW_ARRAY(buffer->arena, bool, count + 1);
  memcpy(out_order, order, (size_t)count * sizeof *order);
  is_moved[order[is_back ? end - 1 : first]] = true;
  for (int32_t k = 0; k < end - first; k++) {
    const ScheduleNode *node = &model->nodes[order[is_back ? end - 1 - k : first + k]];
    if (!is_moved[node - model->nodes]) continue;
    int32_t near = is_back ? node->predecessor_count : node->successor_count;
    for (int32_t s = 0; s < near; s++) is_moved[is_back ? node->predecessors[s] : node->successors[s]] = true;
  }
  /* what moves comes first where it goes back, last where it goes on */
  for (int pass = 0; pass < 2; pass++) {
    bool takes_moved = (pass == 0) == is_back;
    for (int32_t i = first; i < end; i++)
      if (is_moved[order[i]] == takes_moved) out_order[made++] = order[i];
  }
}

static int compare_crossings(const void *left, const void *right) {
  const Crossing *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->to < b->to ? -1 : a->to > b->to;
}

typedef struct OrderCost {
  int64_t crossing, peak, inside;
} OrderCost;

static OrderCost cost_of(BufferOrder *buffer, const int32_t *order) {
  return (OrderCost){crossing_bytes(buffer, order), schedule_model_peak(buffer->model, order),
                     schedule_model_peak(&buffer->inside, order)};
}

/* Takes |tried| for |order| where fewer bytes cross and no peak is higher than |most| says. */
static bool take_better(BufferOrder *buffer, const int32_t *tried, const OrderCost *most, int32_t *order,
                        int64_t *crossing) {
  OrderCost cost = cost_of(buffer, tried);
  int64_t least = max_i64(1, buffer->capacity / LEAST_SHARE);
  if (cost.crossing + least > *crossing || cost.peak > most->peak || cost.inside > most->inside) return false;
  memcpy(order, tried, (size_t)buffer->model->node_count * sizeof *order);
  *crossing = cost.crossing;
  return true;
}

/* One round of moves for what crosses under |order|, the largest first; false: none of them helps. */
static bool improve(BufferOrder *buffer, const OrderCost *most, int32_t *order, int64_t *crossing) {
  int32_t *tried = ARENA_NEW_ARRAY(buffer->arena, int32_t, buffer->model->node_count + 1);
  crossing_bytes(buffer, order);
  int64_t count = buffer->crossings.count;
  Crossing *crossings = ARENA_COPY_ARRAY(buffer->arena, Crossing, buffer->crossings.data, count);
  if (count > 1) qsort(crossings, (size_t)count, sizeof *crossings, compare_crossings);
  for (int64_t c = 0; c < count; c++) {
    for (int is_back = 0; is_back < 2; is_back++) {
      if (buffer->work > MOST_NODES) return false;
      move_group(buffer, order, &crossings[c], is_back, tried);
      if (take_better(buffer, tried, most, order, crossing)) return true;
    }
  }
  return false;
}

/* --- what is made from given arrays --- */

/* The place of the first reader of what stands at |place| of |order|, where that is made from given arrays alone and
 * nothing reads it before another node has its turn; -1: it has no reason to wait. */
static int32_t first_reader(const BufferOrder *buffer, const int32_t *order, int32_t place) {
  int32_t node = order[place], reader = buffer->model->node_count;
  int64_t bytes = 0;
  bool reads = false;
  if (buffer->model->nodes[node].read_count > 0) return -1;
  for (int32_t t = buffer->begins[node]; t < buffer->begins[node + 1]; t++) {
    reads = reads || !buffer->touches[t].makes;
    if (!buffer->touches[t].makes) continue;
    reader = (int32_t)min_i64(reader, buffer->next[t]);
    bytes += buffer->bytes[buffer->touches[t].array];
  }
  if (!reads || reader == buffer->model->node_count || bytes < buffer->capacity / LATE_SHARE) return -1;
  for (int32_t i = place + 1; i < reader; i++)
    if (buffer->begins[order[i]] < buffer->begins[order[i] + 1]) return reader;
  return -1;
}

/* Moves what is made from given arrays alone, and may be made at any time, right before its first reader, where no more
 * crosses and no peak rises: until then it would only take room from others. */
static void make_late(BufferOrder *buffer, int32_t *order) {
  int32_t count = buffer->model->node_count;
  int32_t *tried = ARENA_NEW_ARRAY(buffer->arena, int32_t, count + 1);
  OrderCost most = cost_of(buffer, order);
  for (int32_t i = count - 1; i >= 0 && buffer->work <= MOST_NODES; i--) {
    Crossing way = {0, i, first_reader(buffer, order, i)};
    if (way.to < 0) continue;
    move_group(buffer, order, &way, false, tried);
    OrderCost cost = cost_of(buffer, tried);
    bool is_worse = cost.crossing > most.crossing || cost.peak > most.peak || cost.inside > most.inside;
    if (!is_worse) memcpy(order, tried, (size_t)count * sizeof *order);
    crossing_bytes(buffer, order);
  }
}

/* --- what finds them --- */

static BufferOrder begin(Arena *arena, const ScheduleModel *model, int64_t capacity) {
  BufferOrder buffer = {.arena = arena, .model = model, .capacity = capacity};
  find_touches(&buffer);
  buffer.next = ARENA_NEW_ARRAY(arena, int32_t, buffer.begins[model->node_count] + 1);
  buffer.coming = ARENA_NEW_ARRAY(arena, int32_t, buffer.array_count + 1);
  buffer.last = ARENA_NEW_ARRAY(arena, int32_t, buffer.array_count + 1);
  buffer.unstored = ARENA_NEW_ARRAY(arena, int64_t, buffer.array_count + 1);
  buffer.kept = ARENA_NEW_ARRAY(arena, KeptArray, buffer.array_count + 1);
  return buffer;
}

int64_t schedule_crossing_bytes(const ScheduleModel *model, int64_t capacity, const int32_t *order) {
  Arena *arena = arena_create();
  BufferOrder buffer = begin(arena, model, capacity);
  int64_t bytes = crossing_bytes(&buffer, order);
  arena_destroy(arena);
  return bytes;
}

void schedule_for_buffer(const ScheduleModel *model, int64_t capacity, int32_t *order) {
  Arena *arena = arena_create();
  BufferOrder buffer = begin(arena, model, capacity);
  find_inside(&buffer);
  OrderCost most = cost_of(&buffer, order);
  int64_t crossing = most.crossing;
  int32_t *found = ARENA_COPY_ARRAY(arena, int32_t, order, model->node_count);
  for (int h = 0; h < SCHEDULE_HEURISTIC_COUNT && crossing > 0; h++)
    take_better(&buffer, schedule_by_heuristic(model, (ScheduleHeuristic)h).order, &most, found, &crossing);
  for (int round = 0; round < MOST_ROUNDS && crossing > 0; round++)
    if (!improve(&buffer, &most, found, &crossing)) break;
  if (most.crossing - crossing >= most.crossing / LEAST_GAIN)
    memcpy(order, found, (size_t)model->node_count * sizeof *order);
  buffer.work = 0;
  make_late(&buffer, order);
  arena_destroy(arena);
}
