#include "passes/schedule/memory_scheduler.h"

#include <stdlib.h>

#include "base/checked_math.h"

/* --- list: of the ready instructions always the one that frees most --- */

typedef struct ListEntry {
  int64_t gain; /* bytes freed minus bytes made */
  int32_t users;
  int32_t node;
  uint32_t version; /* entries of older versions are stale */
} ListEntry;

typedef struct ListScheduler {
  const ScheduleModel *model;
  int32_t *unread;      /* per buffer: readers not scheduled yet */
  int32_t *waiting_for; /* per node: predecessors not scheduled yet */
  uint32_t *version;    /* per node */
  bool *scheduled;
  ARRAY(ListEntry) heap;
} ListScheduler;

/* Larger gain, more users, earlier in post-order. */
static bool goes_first(const ListEntry *a, const ListEntry *b) {
  if (a->gain != b->gain) return a->gain > b->gain;
  if (a->users != b->users) return a->users > b->users;
  return a->node < b->node;
}

static void heap_push(ListScheduler *list, ListEntry entry) {
  array_push(&list->heap, list->model->arena, entry);
  int64_t at = list->heap.count - 1;
  while (at > 0 && goes_first(&entry, &list->heap.data[(at - 1) / 2])) {
    list->heap.data[at] = list->heap.data[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  list->heap.data[at] = entry;
}

static ListEntry heap_pop(ListScheduler *list) {
  ListEntry top = list->heap.data[0], last = array_pop(&list->heap);
  int64_t at = 0, count = list->heap.count;
  for (int64_t child = 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && goes_first(&list->heap.data[child + 1], &list->heap.data[child])) child++;
    if (!goes_first(&list->heap.data[child], &last)) break;
    list->heap.data[at] = list->heap.data[child];
    at = child;
  }
  if (count > 0) list->heap.data[at] = last;
  return top;
}

static ListEntry entry_of(const ListScheduler *list, int32_t number) {
  const ScheduleNode *node = &list->model->nodes[number];
  int64_t gain = -node->defined_bytes;
  for (int32_t i = 0; i < node->read_count; i++) {
    if (list->unread[node->reads[i]] == 1) gain = saturated_add(gain, list->model->buffers[node->reads[i]].bytes);
  }
  /* Scalars cost nothing to have early and make others ready. */
  const Shape *shape = node->instruction->shape;
  if (shape_is_array(shape) && shape_element_count(shape) == 1) gain = INT64_MAX;
  return (ListEntry){gain, node->instruction->user_count, number, list->version[number]};
}

/* |buffer| has one reader left: if that one is ready, it is worth more now. */
static void promote_last_reader(ListScheduler *list, int32_t buffer) {
  const ScheduleBuffer *read = &list->model->buffers[buffer];
  for (int32_t i = 0; i < read->reader_count; i++) {
    int32_t reader = read->readers[i];
    if (reader < 0 || list->scheduled[reader]) continue;
    if (list->waiting_for[reader] > 0) return;
    list->version[reader]++;
    heap_push(list, entry_of(list, reader));
    return;
  }
}

static void schedule_node(ListScheduler *list, int32_t number) {
  const ScheduleNode *node = &list->model->nodes[number];
  list->scheduled[number] = true;
  for (int32_t i = 0; i < node->read_count; i++) {
    if (--list->unread[node->reads[i]] == 1) promote_last_reader(list, node->reads[i]);
  }
  for (int32_t i = 0; i < node->successor_count; i++) {
    int32_t successor = node->successors[i];
    if (--list->waiting_for[successor] == 0) heap_push(list, entry_of(list, successor));
  }
}

static const int32_t *list_order(const ScheduleModel *model) {
  Arena *arena = model->arena;
  ListScheduler list = {.model = model,
                        .unread = ARENA_NEW_ARRAY(arena, int32_t, model->buffer_count + 1),
                        .waiting_for = ARENA_NEW_ARRAY(arena, int32_t, model->node_count + 1),
                        .version = ARENA_NEW_ARRAY(arena, uint32_t, model->node_count + 1),
                        .scheduled = ARENA_NEW_ARRAY(arena, bool, model->node_count + 1)};
  int32_t *order = ARENA_NEW_ARRAY(arena, int32_t, model->node_count + 1);
  int32_t count = 0;
  for (int32_t b = 0; b < model->buffer_count; b++) list.unread[b] = model->buffers[b].reader_count;
  for (int32_t n = 0; n < model->node_count; n++) list.waiting_for[n] = model->nodes[n].predecessor_count;
  for (int32_t n = 0; n < model->node_count; n++) {
    if (list.waiting_for[n] == 0) heap_push(&list, entry_of(&list, n));
  }
  while (list.heap.count > 0) {
    ListEntry entry = heap_pop(&list);
    if (list.scheduled[entry.node] || entry.version != list.version[entry.node]) continue;
    order[count++] = entry.node;
    schedule_node(&list, entry.node);
  }
  XLAC_CHECK(count == model->node_count);
  return order;
}

/* --- depth first: the operand with the most after it first --- */

typedef struct DepthFirst {
  const ScheduleModel *model;
  int64_t *extra_users; /* accumulated over what a node needs */
  int64_t *total_bytes;
  bool *visited;
  int32_t *order;
  int32_t count;
  ARRAY(int32_t) stack; /* nodes; ~node once its predecessors are pushed */
} DepthFirst;

typedef struct SortKey {
  int64_t extra_users, total_bytes;
  int32_t node;
} SortKey;

/* Descending by extra users, then bytes; ascending by number. */
static int compare_keys(const void *left, const void *right) {
  const SortKey *a = left, *b = right;
  if (a->extra_users != b->extra_users) return a->extra_users > b->extra_users ? -1 : 1;
  if (a->total_bytes != b->total_bytes) return a->total_bytes > b->total_bytes ? -1 : 1;
  return (a->node > b->node) - (a->node < b->node);
}

static void accumulate(DepthFirst *search) {
  /* Sums over paths, not sets, as in XLA; bounded so that they stay comparable. */
  const int64_t limit = INT64_MAX / 4;
  for (int32_t n = 0; n < search->model->node_count; n++) {
    const ScheduleNode *node = &search->model->nodes[n];
    int64_t users = max_i64(node->successor_count - 1, 0), bytes = min_i64(node->defined_bytes, limit);
    for (int32_t i = 0; i < node->predecessor_count; i++) {
      users = min_i64(users + search->extra_users[node->predecessors[i]], limit);
      bytes = min_i64(bytes + search->total_bytes[node->predecessors[i]], limit);
    }
    search->extra_users[n] = users;
    search->total_bytes[n] = bytes;
  }
}

/* Pushes so that the first to be visited is on top. */
static void push_sorted(DepthFirst *search, const int32_t *nodes, int32_t count) {
  Arena *arena = search->model->arena;
  SortKey *keys = ARENA_NEW_ARRAY(arena, SortKey, count + 1);
  for (int32_t i = 0; i < count; i++) {
    keys[i] = (SortKey){search->extra_users[nodes[i]], search->total_bytes[nodes[i]], nodes[i]};
  }
  qsort(keys, (size_t)count, sizeof(SortKey), compare_keys);
  for (int32_t i = count - 1; i >= 0; i--) {
    if (!search->visited[keys[i].node]) array_push(&search->stack, arena, keys[i].node);
  }
}

static void visit(DepthFirst *search, int32_t sink) {
  array_push(&search->stack, search->model->arena, sink);
  while (search->stack.count > 0) {
    int32_t top = array_pop(&search->stack);
    if (top < 0) {
      search->order[search->count++] = ~top;
      continue;
    }
    if (search->visited[top]) continue;
    search->visited[top] = true;
    array_push(&search->stack, search->model->arena, ~top);
    push_sorted(search, search->model->nodes[top].predecessors, search->model->nodes[top].predecessor_count);
  }
}

static const int32_t *depth_first_order(const ScheduleModel *model) {
  Arena *arena = model->arena;
  DepthFirst search = {.model = model,
                       .extra_users = ARENA_NEW_ARRAY(arena, int64_t, model->node_count + 1),
                       .total_bytes = ARENA_NEW_ARRAY(arena, int64_t, model->node_count + 1),
                       .visited = ARENA_NEW_ARRAY(arena, bool, model->node_count + 1),
                       .order = ARENA_NEW_ARRAY(arena, int32_t, model->node_count + 1)};
  accumulate(&search);
  for (int32_t n = 0; n < model->node_count; n++) {
    if (model->nodes[n].successor_count == 0) visit(&search, n);
  }
  XLAC_CHECK(search.count == model->node_count);
  return search.order;
}

/* --- the choice --- */

static const int32_t *post_order(const ScheduleModel *model) {
  int32_t *order = ARENA_NEW_ARRAY(model->arena, int32_t, model->node_count + 1);
  for (int32_t n = 0; n < model->node_count; n++) order[n] = n;
  return order;
}

/* |*best| becomes |order| where that has a lower peak, or is the first. */
static void try_order(const ScheduleModel *model, Schedule *best, const int32_t *order) {
  int64_t peak = schedule_model_peak(model, order);
  if (best->order == NULL || peak < best->peak) *best = (Schedule){peak, order};
}

Schedule schedule_by_heuristic(const ScheduleModel *model, ScheduleHeuristic heuristic) {
  static const int32_t *(*const makers[SCHEDULE_HEURISTIC_COUNT])(const ScheduleModel *) = {
      [SCHEDULE_LIST] = list_order, [SCHEDULE_DEPTH_FIRST] = depth_first_order, [SCHEDULE_POST_ORDER] = post_order};
  const int32_t *order = makers[heuristic](model);
  return (Schedule){schedule_model_peak(model, order), order};
}

/* No order needs less: while a node runs there are what it reads and what it makes. */
static int64_t least_peak(const ScheduleModel *model) {
  int64_t least = 0;
  for (int32_t n = 0; n < model->node_count; n++) {
    const ScheduleNode *node = &model->nodes[n];
    int64_t bytes = node->called_bytes;
    if (node->overwritable_count == 0) bytes = saturated_add(bytes, node->defined_bytes);
    for (int32_t i = 0; i < node->read_count; i++) bytes = saturated_add(bytes, model->buffers[node->reads[i]].bytes);
    least = max_i64(least, bytes);
  }
  return least;
}

Schedule schedule_for_memory(const ScheduleModel *model, const int32_t *given, bool prefer_given, int effort) {
  Schedule best = {0};
  if (given != NULL && prefer_given) try_order(model, &best, given);
  for (int h = 0; h < SCHEDULE_HEURISTIC_COUNT; h++) {
    Schedule schedule = schedule_by_heuristic(model, (ScheduleHeuristic)h);
    if (best.order == NULL || schedule.peak < best.peak) best = schedule;
  }
  if (given != NULL) try_order(model, &best, given);
  if (best.peak <= least_peak(model)) return best;
  const int32_t *found = schedule_search(model, best.peak, effort);
  if (found != NULL) try_order(model, &best, found);
  return best;
}
