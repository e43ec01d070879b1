/* The order of least peak, by search.
 *
 * What is live depends on which nodes are done, not on their order, so states are sets of nodes.  They are taken in
 * order of the peak on the way to them (Dijkstra's algorithm with a maximum in place of the sum): the first complete
 * one is an optimum.  A ready node that needs no more than the peak so far and leaves no more live than there was is
 * taken at once: any order that takes it later can be changed to take it now without a higher peak, since what it frees
 * only grows with the nodes done before. */
#include "base/checked_math.h"
#include "passes/schedule/memory_scheduler.h"

enum {
  NODE_LIMIT = 192,
  NODE_LIMIT_WITH_EFFORT = 1024,
  WORK_LIMIT = 8000, /* states looked at times nodes: a millisecond or two at most; twice as many with each effort */
  WORD_BITS = 64
};

typedef struct SearchState {
  int32_t parent;      /* -1: the start */
  int32_t added_count; /* after the parent's nodes, in order */
  const int32_t *added;
  int32_t done_count;
  const uint64_t *done; /* set of nodes */
  int64_t peak;
  bool is_stale; /* taken already, or the same set was reached with a lower peak */
} SearchState;

typedef struct ScheduleSearch {
  const ScheduleModel *model;
  Arena *arena;
  int64_t below; /* peaks from here on are of no interest */
  int32_t word_count;
  ARRAY(SearchState) states;
  ARRAY(int32_t) heap; /* of states */
  IntMap known;        /* hash of a set → the first state with it + 1 */
  int64_t work;
  /* the state being expanded, and how it was before the node at hand */
  ScheduleWalk walk, saved_walk;
  uint64_t *done, *saved_done;
  int32_t done_count, saved_count;
  ARRAY(int32_t) added;
} ScheduleSearch;

static bool has_node(const uint64_t *set, int32_t node) {
  return (set[node / WORD_BITS] >> (node % WORD_BITS) & 1) != 0;
}

static bool is_ready(const ScheduleSearch *search, int32_t number) {
  const ScheduleNode *node = &search->model->nodes[number];
  if (has_node(search->done, number)) return false;
  for (int32_t i = 0; i < node->predecessor_count; i++) {
    if (!has_node(search->done, node->predecessors[i])) return false;
  }
  return true;
}

/* --- the queue: lower peaks first, then more nodes, then earlier ones --- */

static bool goes_first(const ScheduleSearch *search, int32_t a, int32_t b) {
  const SearchState *x = &search->states.data[a], *y = &search->states.data[b];
  if (x->peak != y->peak) return x->peak < y->peak;
  if (x->done_count != y->done_count) return x->done_count > y->done_count;
  return a < b;
}

static void push(ScheduleSearch *search, int32_t state) {
  array_push(&search->heap, search->arena, state);
  int64_t at = search->heap.count - 1;
  for (; at > 0 && goes_first(search, state, search->heap.data[(at - 1) / 2]); at = (at - 1) / 2)
    search->heap.data[at] = search->heap.data[(at - 1) / 2];
  search->heap.data[at] = state;
}

static int32_t pop(ScheduleSearch *search) {
  int32_t top = search->heap.data[0], last = array_pop(&search->heap);
  int64_t at = 0, count = search->heap.count;
  for (int64_t child = 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && goes_first(search, search->heap.data[child + 1], search->heap.data[child])) child++;
    if (!goes_first(search, search->heap.data[child], last)) break;
    search->heap.data[at] = search->heap.data[child];
    at = child;
  }
  if (count > 0) search->heap.data[at] = last;
  return top;
}

/* --- states --- */

static uint64_t hash_of_set(const ScheduleSearch *search, const uint64_t *set) {
  uint64_t hash = 0;
  for (int32_t w = 0; w < search->word_count; w++) hash = hash_combine(hash, set[w]);
  return hash;
}

/* The state with the set at hand; NULL when there is none, and |*out_hash| is where to note one. */
static SearchState *find_state(const ScheduleSearch *search, uint64_t *out_hash) {
  size_t bytes = (size_t)search->word_count * sizeof(uint64_t);
  int64_t found;
  *out_hash = hash_of_set(search, search->done);
  while (int_map_find(&search->known, *out_hash, &found)) {
    SearchState *state = &search->states.data[found - 1];
    if (memcmp(state->done, search->done, bytes) == 0) return state;
    *out_hash = hash_u64(*out_hash);
  }
  return NULL;
}

/* Notes where the walk stands, unless it has been there with as low a peak. */
static void add_state(ScheduleSearch *search, int32_t parent) {
  uint64_t hash;
  SearchState *known = find_state(search, &hash);
  if (search->walk.peak >= search->below || (known != NULL && known->peak <= search->walk.peak)) return;
  if (known != NULL) known->is_stale = true;
  SearchState state = {.parent = parent, .peak = search->walk.peak, .done_count = search->done_count};
  state.added_count = (int32_t)search->added.count;
  state.added = ARENA_COPY_ARRAY(search->arena, int32_t, search->added.data, search->added.count);
  state.done = ARENA_COPY_ARRAY(search->arena, uint64_t, search->done, search->word_count);
  array_push(&search->states, search->arena, state);
  int_map_set(&search->known, hash, search->states.count);
  push(search, (int32_t)search->states.count - 1);
}

static void take(ScheduleSearch *search, int32_t number) {
  schedule_walk_step(&search->walk, number);
  search->done[number / WORD_BITS] |= UINT64_C(1) << (number % WORD_BITS);
  search->done_count++;
  array_push(&search->added, search->arena, number);
}

/* Takes what costs nothing, until nothing does. */
static void take_free(ScheduleSearch *search) {
  for (bool took = true; took;) {
    took = false;
    for (int32_t n = 0; n < search->model->node_count; n++) {
      int64_t during, growth;
      if (!is_ready(search, n)) continue;
      schedule_walk_cost(&search->walk, n, &during, &growth);
      if (during > search->walk.peak || growth > 0) continue;
      take(search, n);
      took = true;
    }
  }
}

/* The walk as it is after |number|; the start for -1. */
static void enter(ScheduleSearch *search, int32_t number) {
  schedule_walk_begin(&search->walk);
  memset(search->done, 0, (size_t)search->word_count * sizeof(uint64_t));
  search->done_count = 0;
  search->added.count = 0;
  if (number < 0) return;
  int32_t path[NODE_LIMIT_WITH_EFFORT], length = 0;
  for (int32_t s = number; s >= 0; s = search->states.data[s].parent) path[length++] = s;
  while (length > 0) {
    const SearchState *state = &search->states.data[path[--length]];
    for (int32_t i = 0; i < state->added_count; i++) take(search, state->added[i]);
  }
  search->added.count = 0;
}

static void copy_walk(const ScheduleSearch *search, ScheduleWalk *to, const ScheduleWalk *from) {
  memcpy(to->unread, from->unread, (size_t)search->model->buffer_count * sizeof(int32_t));
  to->live = from->live;
  to->peak = from->peak;
}

static void save(ScheduleSearch *search) {
  copy_walk(search, &search->saved_walk, &search->walk);
  memcpy(search->saved_done, search->done, (size_t)search->word_count * sizeof(uint64_t));
  search->saved_count = search->done_count;
}

static void restore(ScheduleSearch *search) {
  copy_walk(search, &search->walk, &search->saved_walk);
  memcpy(search->done, search->saved_done, (size_t)search->word_count * sizeof(uint64_t));
  search->done_count = search->saved_count;
  search->added.count = 0;
}

static void expand(ScheduleSearch *search, int32_t number) {
  enter(search, number);
  save(search);
  for (int32_t n = 0; n < search->model->node_count; n++) {
    if (!is_ready(search, n)) continue;
    take(search, n);
    take_free(search);
    add_state(search, number);
    restore(search);
    search->work += search->model->node_count;
  }
}

static int32_t *order_of(const ScheduleSearch *search, int32_t number) {
  int32_t *order = ARENA_NEW_ARRAY(search->model->arena, int32_t, search->model->node_count + 1);
  int32_t at = search->model->node_count;
  for (int32_t s = number; s >= 0; s = search->states.data[s].parent) {
    const SearchState *state = &search->states.data[s];
    at -= state->added_count;
    for (int32_t i = 0; i < state->added_count; i++) order[at + i] = state->added[i];
  }
  XLAC_CHECK(at == 0);
  return order;
}

const int32_t *schedule_search(const ScheduleModel *model, int64_t below, int effort) {
  if (model->node_count > (effort > 0 ? NODE_LIMIT_WITH_EFFORT : NODE_LIMIT) || model->node_count == 0) return NULL;
  int64_t most_work = (int64_t)WORK_LIMIT << effort;
  Arena *arena = arena_create();
  ScheduleSearch search = {.model = model, .arena = arena, .below = below};
  search.word_count = (model->node_count + WORD_BITS - 1) / WORD_BITS;
  search.done = ARENA_NEW_ARRAY(arena, uint64_t, search.word_count);
  search.saved_done = ARENA_NEW_ARRAY(arena, uint64_t, search.word_count);
  search.walk = schedule_walk_create(model, arena);
  search.saved_walk = schedule_walk_create(model, arena);
  int_map_init(&search.known, arena);
  enter(&search, -1);
  take_free(&search);
  add_state(&search, -1);
  const int32_t *found = NULL;
  while (found == NULL && search.heap.count > 0 && search.work < most_work) {
    int32_t next = pop(&search);
    SearchState *state = &search.states.data[next];
    if (state->is_stale) continue;
    state->is_stale = true;
    if (state->done_count == model->node_count) {
      found = order_of(&search, next);
    } else {
      expand(&search, next);
    }
  }
  arena_destroy(arena);
  return found;
}
