/* The exact search: depth first over canonical placements.
 *
 * Items are placed by rising offset, ties by rank, each on what it meets of those before it.  Every placement that can
 * be pushed down no further is of this kind, so the search is complete.  What is cut off:
 *   - a section whose floor and what is still to come exceed the capacity; its floor is the least offset that one of
 *     its unplaced items may have, and not below the last offset (the order rises);
 *   - an item at or above a place where another would have ended: that one could go there (dominance);
 *   - other choices where an item failed that nobody unplaced meets: it is in nobody's way;
 *   - the second of two items that are alike, while the first is not placed;
 *   - states that failed before: which items are left, and how low each may go, says all.
 * Where a placement cuts time in two, both sides are searched apart.
 * Canonical placements, section bounds and decomposition: Moffitt, "MiniMalloc", ASPLOS 2023. */
#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing_internal.h"
#include "base/packing/part_conflicts.h"

enum { MOST_MEMORY_BITS = 18, PLACED = INT32_MAX, MOST_ITEMS = 2500 };

typedef struct Trail {
  int32_t *place; /* what was changed */
  int32_t was;
} Trail;

typedef struct UnitSpan {
  int32_t lower, upper; /* sections */
  Units size;
} UnitSpan;

/* An item in order of rank. */
typedef struct Placeable {
  const Item *item;
  const UnitSpan *spans;
  int32_t span_count;
  bool is_plain; /* any place above what is below it will do */
  int32_t first_conflict, end_conflict;
  int32_t twin;     /* the one before it that is alike; -1: none */
  int32_t number;   /* in the part */
  int32_t cut_rank; /* where time was cut */
} Placeable;

struct Search {
  const Part *part;
  Arena *arena;
  int64_t unit;
  int32_t count, section_count;
  Conflicts conflicts;
  /* By place in the order of rank; made by search_run. */
  Placeable *placeables;
  Units *size;
  uint64_t *weight; /* in the keys of states */
  UnitSpan *spans;
  Conflict *ranked_conflicts;
  int32_t *first_member; /* by section; section_count + 1 */
  int32_t *members;      /* by rank */
  /* What changes on the way down, and is undone on the way up. */
  Units *low;        /* by place: the least offset of an unplaced item, PLACED of others */
  Units *total;      /* by section: bytes to come */
  int32_t *watched;  /* by section: an unplaced item whose |low| is the least there; -1: none is left */
  Units *floor;      /* by section: that least */
  int32_t *crossing; /* by section: unplaced items that reach into the next one */
  Units *offset;     /* by place: of the placed */
  int32_t *stamp;    /* by section: the node that looked at it last */
  int32_t node;
  Units capacity;
  Work *work;
  ARRAY(Trail) trail;
  int32_t *raised;
  int32_t *order;   /* by place: where ties are decided; at first the place itself */
  Units *most;      /* by place: the most that is to come in one of its sections, when |order| was made */
  int32_t *pool;    /* lists of items, one after the other */
  uint64_t *memory; /* keys of states that failed, at their first |memory_bits| bits */
  int memory_bits;
};

/* ---- set-up ---- */

Search *search_create(Arena *arena, const Part *part, int64_t most_pairs) {
  Search *search = ARENA_NEW(arena, Search);
  int32_t count = part->item_count, sections = part->section_count;
  *search = (Search){.part = part, .arena = arena, .count = count, .section_count = sections};
  int64_t members = 0, span_count = 0;
  for (int32_t i = 0; i < count; i++) {
    span_count += part->items[i].span_count;
    for (int32_t s = 0; s < part->items[i].span_count; s++)
      members += part->items[i].spans[s].upper - part->items[i].spans[s].lower;
  }
  if (members > 4 * most_pairs + 64 || count > MOST_ITEMS) return NULL;
  if (!conflicts_list(arena, part, most_pairs, &search->conflicts)) return NULL;
  search->unit = search->conflicts.unit;
  if (part->bound / search->unit >= MOST_UNITS) return NULL;
  search->placeables = ARENA_NEW_ARRAY(arena, Placeable, count + 1);
  search->ranked_conflicts = ARENA_NEW_ARRAY(arena, Conflict, search->conflicts.first[count] + 1);
  search->size = ARENA_NEW_ARRAY(arena, Units, count + 1);
  search->weight = ARENA_NEW_ARRAY(arena, uint64_t, count + 1);
  search->spans = ARENA_NEW_ARRAY(arena, UnitSpan, span_count + 1);
  search->first_member = ARENA_NEW_ARRAY(arena, int32_t, sections + 2);
  search->members = ARENA_NEW_ARRAY(arena, int32_t, members + 1);
  search->low = ARENA_NEW_ARRAY(arena, Units, count + 1);
  search->total = ARENA_NEW_ARRAY(arena, Units, sections + 1);
  search->watched = ARENA_NEW_ARRAY(arena, int32_t, sections + 1);
  search->floor = ARENA_NEW_ARRAY(arena, Units, sections + 1);
  search->crossing = ARENA_NEW_ARRAY(arena, int32_t, sections + 1);
  search->offset = ARENA_NEW_ARRAY(arena, Units, count + 1);
  search->stamp = ARENA_NEW_ARRAY(arena, int32_t, sections + 1);
  search->raised = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  search->order = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  search->most = ARENA_NEW_ARRAY(arena, Units, count + 1);
  search->pool = ARENA_NEW_ARRAY(arena, int32_t, (int64_t)(count + 2) * (count + 2));
  search->memory = ARENA_NEW_ARRAY(arena, uint64_t, 1 << MOST_MEMORY_BITS);
  return search;
}

int64_t search_unit(const Search *search) {
  return search->unit;
}

/* ---- the order of a run ---- */

static bool is_alike(const Search *search, const Item *a, const Item *b) {
  if (search->part->obstacles != NULL || a->alignment != b->alignment || a->span_count != b->span_count) return false;
  for (int32_t s = 0; s < a->span_count; s++) {
    const Span *x = &a->spans[s], *y = &b->spans[s];
    if (x->lower != y->lower || x->upper != y->upper || x->size != y->size) return false;
  }
  return true;
}

static uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
  return value ^ value >> 31;
}

/* Lists who is in each section, and what that comes to. */
static void list_members(Search *search) {
  int32_t *next = search->stamp; /* borrowed: cleared below */
  for (int32_t t = 0; t <= search->section_count; t++) search->first_member[t] = next[t] = 0;
  for (int32_t t = 0; t < search->section_count; t++) search->total[t] = search->crossing[t] = 0;
  for (int32_t p = 0; p < search->count; p++) {
    const Item *item = search->placeables[p].item;
    for (int32_t s = 0; s < item->span_count; s++) {
      for (int32_t t = item->spans[s].lower; t < item->spans[s].upper; t++) {
        search->first_member[t + 1]++;
        search->total[t] += (Units)(item->spans[s].size / search->unit);
      }
    }
    for (int32_t t = item->lower; t + 1 < item->upper; t++) search->crossing[t]++;
  }
  for (int32_t t = 0; t < search->section_count; t++) {
    search->first_member[t + 1] += search->first_member[t];
    next[t] = search->first_member[t];
  }
  for (int32_t p = 0; p < search->count; p++) {
    const Item *item = search->placeables[p].item;
    for (int32_t s = 0; s < item->span_count; s++) {
      for (int32_t t = item->spans[s].lower; t < item->spans[s].upper; t++) search->members[next[t]++] = p;
    }
  }
  for (int32_t t = 0; t <= search->section_count; t++) search->stamp[t] = 0;
}

static void use_order(Search *search, SearchOrder order) {
  const int32_t *rank = order.rank;
  const Part *part = search->part;
  Conflict *row = search->ranked_conflicts;
  UnitSpan *span = search->spans;
  for (int32_t i = 0; i < search->count; i++) {
    const Item *item = &part->items[i];
    bool has_obstacles = part->obstacles != NULL && part->obstacles[i].count > 0;
    search->placeables[rank[i]] = (Placeable){.item = item,
                                              .spans = span,
                                              .span_count = item->span_count,
                                              .is_plain = item->alignment == 1 && !has_obstacles,
                                              .twin = -1,
                                              .number = i,
                                              .cut_rank = order.cut_rank[i]};
    search->size[rank[i]] = (Units)(item->size / search->unit);
    search->weight[rank[i]] = mix((uint64_t)i * 2 + 1) | 1;
    for (int32_t k = 0; k < item->span_count; k++) {
      *span++ = (UnitSpan){item->spans[k].lower, item->spans[k].upper, (Units)(item->spans[k].size / search->unit)};
    }
  }
  for (int32_t p = 0; p < search->count; p++) {
    Placeable *placeable = &search->placeables[p];
    int32_t i = placeable->number;
    placeable->first_conflict = (int32_t)(row - search->ranked_conflicts);
    for (int32_t c = search->conflicts.first[i]; c < search->conflicts.first[i + 1]; c++) {
      int32_t other = rank[search->conflicts.rows[c].other];
      *row++ = (Conflict){other, search->conflicts.rows[c].height};
      /* Those alike meet, so the twin is among the conflicts. */
      bool is_before = other < p && other > placeable->twin;
      if (is_before && is_alike(search, placeable->item, &part->items[search->conflicts.rows[c].other]))
        placeable->twin = other;
    }
    placeable->end_conflict = (int32_t)(row - search->ranked_conflicts);
    search->low[p] = (Units)(part_next_free(part, i, 0) / search->unit);
  }
  list_members(search);
}

/* ---- one step down and up ---- */

static inline void change(Search *search, int32_t *place, int32_t value) {
  if (search->trail.count == search->trail.capacity)
    array_reserve(&search->trail, search->arena, 2 * search->trail.count + 1024);
  search->trail.data[search->trail.count++] = (Trail){place, *place};
  *place = value;
}

static void undo(Search *search, int64_t mark) {
  while (search->trail.count > mark) {
    Trail *trail = &search->trail.data[--search->trail.count];
    *trail->place = trail->was;
  }
}

/* Finds the unplaced item of section |t| that may lie lowest; false when the section cannot fit any more. */
static bool watch(Search *search, int32_t t, Units last) {
  Units least = PLACED;
  int32_t found = -1, end = search->first_member[t + 1];
  for (int32_t m = search->first_member[t]; m < end; m++) {
    int32_t member = search->members[m];
    if (search->low[member] < least) {
      least = search->low[member];
      found = member;
    }
  }
  search->work->left -= (end - search->first_member[t]) / 2;
  search->stamp[t] = search->node;
  if (search->watched[t] != found) change(search, &search->watched[t], found);
  if (found < 0) return true;
  if (search->floor[t] != least) change(search, &search->floor[t], least);
  return (least > last ? least : last) + search->total[t] <= search->capacity;
}

/* Raises what meets item |p|, which lies at |offset| now; false when one of these has no place left. */
static bool raise_others(Search *search, int32_t p, Units offset, int32_t *out_raised, bool *out_is_hatless) {
  const Placeable *placeable = &search->placeables[p];
  int32_t raised = 0;
  bool is_hatless = true;
  search->work->left -= placeable->end_conflict - placeable->first_conflict;
  for (int32_t c = placeable->first_conflict; c < placeable->end_conflict; c++) {
    int32_t other = search->ranked_conflicts[c].other;
    Units low = search->low[other], top = offset + search->ranked_conflicts[c].height;
    if (low == PLACED) continue;
    is_hatless = false;
    if (low >= top) continue;
    const Placeable *above = &search->placeables[other];
    if (!above->is_plain) top = (Units)(part_next_free(search->part, above->number, top * search->unit) / search->unit);
    change(search, &search->low[other], top);
    search->raised[raised++] = other;
    if (top + search->size[other] > search->capacity) return false;
  }
  *out_raised = raised;
  *out_is_hatless = is_hatless;
  return true;
}

/* Places item |p|; false when that leads nowhere.  The caller undoes it. */
static bool place(Search *search, int32_t p, bool *out_is_hatless) {
  const Placeable *placeable = &search->placeables[p];
  Units offset = search->low[p];
  int32_t raised;
  search->node++;
  search->offset[p] = offset;
  change(search, &search->low[p], PLACED);
  *out_is_hatless = false;
  if (!raise_others(search, p, offset, &raised, out_is_hatless)) return false;
  for (int32_t s = 0; s < placeable->span_count; s++) {
    UnitSpan span = placeable->spans[s];
    for (int32_t t = span.lower; t < span.upper; t++) {
      change(search, &search->total[t], search->total[t] - span.size);
      if (!watch(search, t, offset)) return false;
    }
  }
  for (int32_t r = 0; r < raised; r++) {
    int32_t other = search->raised[r];
    const Placeable *above = &search->placeables[other];
    for (int32_t s = 0; s < above->span_count; s++) {
      UnitSpan span = above->spans[s];
      search->work->left -= (span.upper - span.lower) / 4;
      for (int32_t t = span.lower; t < span.upper; t++) {
        if (search->watched[t] == other && search->stamp[t] != search->node && !watch(search, t, offset)) return false;
      }
    }
  }
  return true;
}

/* ---- the search ---- */

/* Unplaced items of a range of sections that no unplaced item leaves. */
typedef struct State {
  int32_t *list; /* by rank */
  int32_t count;
  int32_t lower, upper;
  Units last; /* where the one before was placed, and its rank: no lower, and no earlier there */
  int32_t last_order;
  int32_t *free; /* the pool after the list */
} State;

/* The least end that an unplaced item could have, the key of the state, and the items that may come next. */
static int32_t find_candidates(Search *search, const State *state, int32_t *candidates, uint64_t *out_key) {
  Units least_end = PLACED;
  uint64_t key = 0;
  int32_t count = 0;
  search->work->left -= state->count;
  for (int32_t k = 0; k < state->count; k++) {
    int32_t p = state->list[k];
    Units low = search->low[p], end = low + search->size[p];
    if (end < least_end) least_end = end;
    bool may_come = low > state->last || (low == state->last && search->order[p] > state->last_order);
    key += search->weight[p] * (uint64_t)(may_come ? low + 2 : 1);
    if (may_come) candidates[count++] = p;
  }
  int32_t kept = 0;
  for (int32_t c = 0; c < count; c++) {
    int32_t p = candidates[c], k = kept;
    Units low = search->low[p];
    if (low >= least_end) continue;
    while (k > 0 && search->low[candidates[k - 1]] > low) {
      candidates[k] = candidates[k - 1];
      k--;
    }
    candidates[k] = p;
    kept++;
  }
  *out_key = mix(key);
  return kept;
}

/* Whether what is left anywhere still fits above |offset|. */
static bool fits_above(Search *search, const State *state, Units offset) {
  Units most = search->capacity - offset;
  search->work->left -= (state->upper - state->lower) / 4;
  for (int32_t t = state->lower; t < state->upper; t++) {
    if (search->total[t] > most) return false;
  }
  return true;
}

static SearchResult explore(Search *search, const State *state);

/* By what is to come in the most crowded of an item's sections; the order of the run decides between equals. */
static int compare_most(const void *left, const void *right, void *context) {
  const Search *search = context;
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  if (search->most[a] != search->most[b]) return search->most[a] > search->most[b] ? -1 : 1;
  return search->placeables[a].cut_rank < search->placeables[b].cut_rank ? -1 : 1;
}

/* Ties in a part are decided anew, by what is still to come in it. */
static void reorder(Search *search, State *state) {
  for (int32_t k = 0; k < state->count; k++) {
    int32_t p = state->list[k];
    const Item *item = search->placeables[p].item;
    Units most = 0;
    for (int32_t s = 0; s < item->span_count; s++) {
      for (int32_t t = item->spans[s].lower; t < item->spans[s].upper; t++) {
        if (search->total[t] > most) most = search->total[t];
      }
    }
    search->most[p] = most;
  }
  if (state->count > 1) qsort_r(state->list, (size_t)state->count, sizeof(int32_t), compare_most, search);
  for (int32_t k = 0; k < state->count; k++) change(search, &search->order[state->list[k]], k);
}

/* What follows after item |p| was placed: both sides apart where it was the last that kept them together. */
static SearchResult descend(Search *search, const State *state, int32_t p, int32_t *free) {
  const Item *item = search->placeables[p].item;
  Units offset = search->offset[p];
  SearchResult result = SEARCH_FOUND;
  bool is_cut = false;
  for (int32_t t = item->lower; t + 1 < item->upper; t++) is_cut |= --search->crossing[t] == 0;
  int32_t lower = is_cut ? state->lower : state->upper;
  if (!is_cut) {
    State below = {free, 0, state->lower, state->upper, offset, search->order[p], NULL};
    for (int32_t k = 0; k < state->count; k++) {
      if (state->list[k] != p) free[below.count++] = state->list[k];
    }
    below.free = free + below.count;
    result = explore(search, &below);
  }
  while (lower < state->upper && result == SEARCH_FOUND) {
    int32_t upper = lower + 1;
    while (upper < state->upper && search->crossing[upper - 1] > 0) upper++;
    State below = {free, 0, lower, upper, offset, -1, NULL};
    for (int32_t k = 0; k < state->count; k++) {
      const Item *other = search->placeables[state->list[k]].item;
      if (state->list[k] != p && other->lower >= lower && other->lower < upper) free[below.count++] = state->list[k];
    }
    below.free = free + below.count;
    reorder(search, &below);
    result = explore(search, &below);
    lower = upper;
  }
  for (int32_t t = item->lower; t + 1 < item->upper; t++) search->crossing[t]++;
  return result;
}

static SearchResult explore(Search *search, const State *state) {
  if (state->count == 0) return SEARCH_FOUND;
  if (search->work->left < 0) return SEARCH_LIMIT;
  uint64_t key;
  int32_t *candidates = state->free;
  int32_t count = find_candidates(search, state, candidates, &key);
  uint64_t *memory = &search->memory[key >> (64 - search->memory_bits)];
  if (*memory == key) return SEARCH_NONE;
  for (int32_t c = 0; c < count; c++) {
    int32_t p = candidates[c], twin = search->placeables[p].twin;
    if (twin >= 0 && search->low[twin] != PLACED && search->order[twin] < search->order[p]) continue;
    int64_t mark = search->trail.count;
    Units offset = search->low[p];
    bool is_hatless = false;
    SearchResult result = SEARCH_NONE;
    if (place(search, p, &is_hatless) && fits_above(search, state, offset))
      result = descend(search, state, p, state->free + count);
    undo(search, mark);
    if (result != SEARCH_NONE) return result;
    if (is_hatless) break;
  }
  *memory = key;
  return SEARCH_NONE;
}

SearchResult search_run(Search *search, SearchOrder order, int64_t capacity, Work *work, int64_t *offsets) {
  if (search->part->bound > capacity) return SEARCH_NONE;
  capacity = min_i64(capacity / search->unit, MOST_UNITS - 1);
  use_order(search, order);
  search->capacity = (Units)capacity;
  search->work = work;
  search->trail.count = 0;
  search->node = 0;
  search->memory_bits = 6;
  while (search->memory_bits < MOST_MEMORY_BITS && work->left >> (search->memory_bits + 6) > 0) search->memory_bits++;
  memset(search->memory, 0, sizeof(uint64_t) << search->memory_bits);
  work->left -= search->count + (INT64_C(1) << search->memory_bits) / 8;
  for (int32_t p = 0; p < search->count; p++) {
    if (search->low[p] + search->size[p] > search->capacity) return SEARCH_NONE;
  }
  for (int32_t p = 0; p < search->count; p++) search->order[p] = p;
  State state = {search->pool, search->count, 0, search->section_count, 0, -1, search->pool + search->count};
  for (int32_t p = 0; p < search->count; p++) state.list[p] = p;
  for (int32_t t = 0; t < search->section_count; t++) {
    search->floor[t] = 0;
    search->watched[t] = -1;
    search->node = 1;
    if (!watch(search, t, 0)) return SEARCH_NONE;
  }
  search->trail.count = 0;
  SearchResult result = explore(search, &state);
  for (int32_t p = 0; result == SEARCH_FOUND && p < search->count; p++)
    offsets[search->placeables[p].number] = search->offset[p] * search->unit;
  return result;
}
