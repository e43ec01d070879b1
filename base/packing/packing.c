#include "base/packing/packing.h"

#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/occupancy.h"
#include "base/packing/packing_internal.h"

/* What is placed as one: a buffer, or all buffers of a group. */
typedef struct PackingItem {
  int64_t first, count; /* its buffers: order[first] … order[first + count - 1] */
  int64_t size;         /* the largest of them */
  int64_t duration;     /* the sum of their lifetimes, saturating */
  int64_t alignment;    /* the least common multiple */
} PackingItem;

typedef struct Packing {
  Arena *scratch;
  const PackingBuffer *buffers;
  int64_t count;
  DiagSink *diag;
  int64_t live_count; /* buffers of a size other than 0 */
  int64_t *order;     /* these, by item */
  PackingItem *items;
  int64_t item_count;
} Packing;

/* ---- input ---- */

/* By group, then time; buffers without a group last, in input order. */
static int compare_membership(const void *left, const void *right, void *context) {
  const PackingBuffer *buffers = context;
  int64_t i = *(const int64_t *)left, j = *(const int64_t *)right;
  const PackingBuffer *a = &buffers[i], *b = &buffers[j];
  bool has_group = a->group >= 0;
  if (has_group != (b->group >= 0)) return has_group ? -1 : 1;
  if (has_group && a->group != b->group) return compare_i64(a->group, b->group);
  if (has_group && a->lower != b->lower) return compare_i64(a->lower, b->lower);
  return compare_i64(i, j);
}

static bool same_item(const PackingBuffer *a, const PackingBuffer *b) {
  return a->group >= 0 && a->group == b->group;
}

static int64_t duration_of(const PackingBuffer *buffer) {
  int64_t duration;
  return checked_sub(buffer->upper, buffer->lower, &duration) ? duration : INT64_MAX;
}

static bool least_common_multiple(int64_t a, int64_t b, int64_t *out) {
  int64_t x = a, y = b;
  while (y != 0) {
    int64_t rest = x % y;
    x = y;
    y = rest;
  }
  return checked_mul(a / x, b, out);
}

/* Collects order[first] and those of its group after it into |out_item|. */
MUST_USE static Status collect_item(Packing *packing, int64_t first, PackingItem *out_item) {
  PackingItem item = {.first = first, .alignment = 1};
  const PackingBuffer *previous = NULL;
  for (int64_t i = first; i < packing->live_count; i++) {
    const PackingBuffer *buffer = &packing->buffers[packing->order[i]];
    if (previous != NULL && !same_item(previous, buffer)) break;
    if (previous != NULL && buffer->lower < previous->upper) {
      return diag_error(packing->diag, STATUS_INVALID, packing_loc(buffer), "packing-group",
                        "buffers %lld and %lld of group %lld are alive together", (long long)previous->id,
                        (long long)buffer->id, (long long)buffer->group);
    }
    item.count++;
    item.size = max_i64(item.size, buffer->size);
    item.duration = saturated_add(item.duration, duration_of(buffer));
    if (!least_common_multiple(item.alignment, buffer->alignment, &item.alignment)) {
      return packing_overflow_error(packing->diag, buffer);
    }
    previous = buffer;
  }
  *out_item = item;
  return STATUS_OK;
}

MUST_USE static Status collect_items(Packing *packing) {
  packing->order = ARENA_NEW_ARRAY(packing->scratch, int64_t, packing->count);
  for (int64_t i = 0; i < packing->count; i++) {
    RETURN_IF_ERROR(packing_check_buffer(&packing->buffers[i], packing->diag));
    if (packing->buffers[i].size > 0) packing->order[packing->live_count++] = i;
  }
  qsort_r(packing->order, (size_t)packing->live_count, sizeof(int64_t), compare_membership,
          (void *)(uintptr_t)packing->buffers);
  packing->items = ARENA_NEW_ARRAY(packing->scratch, PackingItem, packing->live_count);
  for (int64_t first = 0; first < packing->live_count;) {
    PackingItem *item = &packing->items[packing->item_count++];
    RETURN_IF_ERROR(collect_item(packing, first, item));
    first += item->count;
  }
  return STATUS_OK;
}

/* ---- lower bound ---- */

typedef struct LiveEvent {
  int64_t time, change;
} LiveEvent;

/* At one time ends come before starts, since lifetimes are half-open. */
static int compare_event(const void *left, const void *right) {
  const LiveEvent *a = left, *b = right;
  return a->time != b->time ? compare_i64(a->time, b->time) : compare_i64(a->change, b->change);
}

/* The largest sum of live sizes; false on overflow. */
static bool live_peak(Arena *scratch, const PackingBuffer *buffers, int64_t count, int64_t *out_peak) {
  LiveEvent *events = arena_alloc_array(scratch, (size_t)count, 2 * sizeof(LiveEvent));
  int64_t event_count = 0;
  for (int64_t i = 0; i < count; i++) {
    if (buffers[i].size == 0) continue;
    events[event_count++] = (LiveEvent){buffers[i].lower, buffers[i].size};
    events[event_count++] = (LiveEvent){buffers[i].upper, -buffers[i].size};
  }
  qsort(events, (size_t)event_count, sizeof(LiveEvent), compare_event);
  int64_t live = 0, peak = 0;
  for (int64_t i = 0; i < event_count; i++) {
    if (!checked_add(live, events[i].change, &live)) return false;
    peak = max_i64(peak, live);
  }
  *out_peak = peak;
  return true;
}

/* ---- the placed buffers, found by time ---- */

/* A tree over all buffers in order of their start; a node knows the latest end of the placed ones below it. */
typedef struct TimeIndex {
  int64_t count, leaf_count; /* leaf_count: a power of two */
  int64_t *buffer_of_leaf;
  int64_t *leaf_of_buffer;
  int64_t *latest_end; /* heap order from 1; INT64_MIN: nothing placed */
} TimeIndex;

static int compare_start(const void *left, const void *right, void *context) {
  const PackingBuffer *buffers = context;
  int64_t i = *(const int64_t *)left, j = *(const int64_t *)right;
  if (buffers[i].lower != buffers[j].lower) return compare_i64(buffers[i].lower, buffers[j].lower);
  return compare_i64(i, j);
}

static void time_index_build(TimeIndex *index, Arena *scratch, const PackingBuffer *buffers, int64_t count) {
  index->count = count;
  index->leaf_count = 1;
  while (index->leaf_count < count) index->leaf_count *= 2;
  index->buffer_of_leaf = ARENA_NEW_ARRAY(scratch, int64_t, count);
  index->leaf_of_buffer = ARENA_NEW_ARRAY(scratch, int64_t, count);
  index->latest_end = ARENA_NEW_ARRAY(scratch, int64_t, 2 * index->leaf_count);
  for (int64_t i = 0; i < count; i++) index->buffer_of_leaf[i] = i;
  qsort_r(index->buffer_of_leaf, (size_t)count, sizeof(int64_t), compare_start, (void *)(uintptr_t)buffers);
  for (int64_t i = 0; i < count; i++) index->leaf_of_buffer[index->buffer_of_leaf[i]] = i;
  for (int64_t i = 0; i < 2 * index->leaf_count; i++) index->latest_end[i] = INT64_MIN;
}

static void time_index_insert(TimeIndex *index, int64_t buffer, int64_t upper) {
  int64_t node = index->leaf_count + index->leaf_of_buffer[buffer];
  for (; node >= 1 && index->latest_end[node] < upper; node /= 2) index->latest_end[node] = upper;
}

/* The next placed buffer that meets |wanted|, from leaf |from| on; -1 when there is none. */
static int64_t time_index_next(const TimeIndex *index, const PackingBuffer *buffers, const PackingBuffer *wanted,
                               int64_t from) {
  if (from >= index->count) return -1;
  int64_t node = index->leaf_count + from;
  for (;;) {
    if (index->latest_end[node] > wanted->lower) {
      while (node < index->leaf_count) {
        node *= 2;
        if (index->latest_end[node] <= wanted->lower) node++;
      }
      int64_t leaf = node - index->leaf_count;
      return buffers[index->buffer_of_leaf[leaf]].lower < wanted->upper ? leaf : -1;
    }
    /* On to the subtree right of this one. */
    while (node % 2 == 1) node /= 2;
    if (node == 0) return -1;
    node++;
  }
}

/* ---- best fit ---- */

/* An item that meets more than so many placed buffers asks the occupancy instead, which is built then. */
enum { MANY_CONFLICTS = 256 };

typedef struct Placement {
  const Packing *packing;
  int64_t *offsets;
  TimeIndex placed;
  Occupancy *occupancy; /* NULL until an item has many conflicts */
  int64_t item_count;   /* that are placed */
  ExtentArray extents;  /* in the way of the item at hand */
  ExtentArray spare;    /* room to sort them */
} Placement;

static bool starts_before(const Extent *a, const Extent *b) {
  return a->start != b->start ? a->start < b->start : a->end < b->end;
}

static void sort_few_extents(Extent *extents, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    Extent extent = extents[i];
    int64_t at = i;
    for (; at > 0 && starts_before(&extent, &extents[at - 1]); at--) extents[at] = extents[at - 1];
    extents[at] = extent;
  }
}

/* By merging, for the sort is most of the time where thousands are in the way, and qsort calls a function for each
 * comparison.  |spare| has room for all. */
static void sort_extents(Extent *extents, int64_t count, Extent *spare) {
  enum { FEW = 16 };
  if (count <= FEW) {
    sort_few_extents(extents, count);
    return;
  }
  int64_t half = count / 2, low = 0, high = half;
  sort_extents(extents, half, spare);
  sort_extents(extents + half, count - half, spare);
  if (!starts_before(&extents[half], &extents[half - 1])) return;
  memcpy(spare, extents, (size_t)half * sizeof *spare);
  for (int64_t i = 0; low < half; i++) {
    bool takes_high = high < count && starts_before(&extents[high], &spare[low]);
    extents[i] = takes_high ? extents[high] : spare[low];
    high += takes_high;
    low += !takes_high;
  }
}

/* Longer first, then larger, then as given. */
static int compare_duration(const void *left, const void *right, void *context) {
  const Packing *packing = context;
  const PackingItem *a = left, *b = right;
  if (a->duration != b->duration) return compare_i64(b->duration, a->duration);
  if (a->size != b->size) return compare_i64(b->size, a->size);
  return compare_i64(packing->order[a->first], packing->order[b->first]);
}

/* Larger first, then longer, then as given. */
static int compare_item(const void *left, const void *right, void *context) {
  const Packing *packing = context;
  const PackingItem *a = left, *b = right;
  if (a->size != b->size) return compare_i64(b->size, a->size);
  if (a->duration != b->duration) return compare_i64(b->duration, a->duration);
  return compare_i64(packing->order[a->first], packing->order[b->first]);
}

static bool checked_align(int64_t value, int64_t alignment, int64_t *out) {
  int64_t rest = value % alignment;
  return checked_add(value, rest == 0 ? 0 : alignment - rest, out);
}

/* Collects the extents of the placed buffers that |item| meets in time; false when there are many. */
static bool collect_few(Placement *placement, const PackingItem *item) {
  const Packing *packing = placement->packing;
  const PackingBuffer *buffers = packing->buffers;
  const TimeIndex *index = &placement->placed;
  for (int64_t i = item->first; i < item->first + item->count; i++) {
    const PackingBuffer *buffer = &buffers[packing->order[i]];
    int64_t leaf = time_index_next(index, buffers, buffer, 0);
    for (; leaf >= 0; leaf = time_index_next(index, buffers, buffer, leaf + 1)) {
      if (placement->extents.count == MANY_CONFLICTS) return false;
      int64_t other = index->buffer_of_leaf[leaf];
      Extent extent = {placement->offsets[other], placement->offsets[other] + buffers[other].size};
      array_push(&placement->extents, packing->scratch, extent);
    }
  }
  return true;
}

static void occupy(Placement *placement, const PackingItem *item) {
  const Packing *packing = placement->packing;
  for (int64_t i = item->first; i < item->first + item->count; i++) {
    int64_t buffer = packing->order[i];
    occupancy_add(placement->occupancy, &packing->buffers[buffer], placement->offsets[buffer]);
  }
}

/* What is in the way of |item|, by start. */
static void collect_conflicts(Placement *placement, const PackingItem *item) {
  const Packing *packing = placement->packing;
  ExtentArray *extents = &placement->extents;
  extents->count = 0;
  if (!collect_few(placement, item)) {
    extents->count = 0;
    if (placement->occupancy == NULL) {
      placement->occupancy = occupancy_create(packing->scratch, packing->buffers, packing->count);
      for (int64_t i = 0; i < placement->item_count; i++) occupy(placement, &packing->items[i]);
    }
    for (int64_t i = item->first; i < item->first + item->count; i++)
      occupancy_find(placement->occupancy, &packing->buffers[packing->order[i]], extents, packing->scratch);
  }
  ExtentArray *spare = &placement->spare;
  array_reserve(spare, packing->scratch, extents->count);
  sort_extents(extents->data, extents->count, spare->data);
}

/* The start of the smallest gap between |extents| that holds |item|, the lowest of equals, or the place on top; false
 * on overflow.  A gap counts from its first aligned address. */
static bool best_gap(const ExtentArray *extents, const PackingItem *item, int64_t *out_offset) {
  int64_t top = 0, best_size = INT64_MAX;
  bool found = false;
  for (int64_t i = 0; i < extents->count; i++) {
    const Extent *extent = &extents->data[i];
    int64_t start;
    if (extent->start > top && checked_align(top, item->alignment, &start)) {
      int64_t size = extent->start - start;
      if (size >= item->size && size < best_size) {
        found = true;
        best_size = size;
        *out_offset = start;
      }
    }
    top = max_i64(top, extent->end);
  }
  int64_t end;
  return found || (checked_align(top, item->alignment, out_offset) && checked_add(*out_offset, item->size, &end));
}

MUST_USE static Status place_items(Packing *packing, PackingSolution *solution) {
  Placement placement = {.packing = packing, .offsets = solution->offsets};
  time_index_build(&placement.placed, packing->scratch, packing->buffers, packing->count);
  for (int64_t i = 0; i < packing->item_count; i++) {
    const PackingItem *item = &packing->items[i];
    int64_t offset = 0;
    collect_conflicts(&placement, item);
    if (!best_gap(&placement.extents, item, &offset)) {
      return packing_overflow_error(packing->diag, &packing->buffers[packing->order[item->first]]);
    }
    for (int64_t j = item->first; j < item->first + item->count; j++) {
      int64_t buffer = packing->order[j];
      solution->offsets[buffer] = offset;
      solution->height = max_i64(solution->height, offset + packing->buffers[buffer].size);
      time_index_insert(&placement.placed, buffer, packing->buffers[buffer].upper);
    }
    if (placement.occupancy != NULL) occupy(&placement, item);
    placement.item_count++;
  }
  return STATUS_OK;
}

MUST_USE static Status best_fit(Packing *packing, bool by_duration, PackingSolution *solution) {
  RETURN_IF_ERROR(collect_items(packing));
  if (!live_peak(packing->scratch, packing->buffers, packing->count, &solution->lower_bound)) {
    return diag_error(packing->diag, STATUS_INVALID, NO_LOC, "packing-overflow", "the sizes of live buffers overflow");
  }
  qsort_r(packing->items, (size_t)packing->item_count, sizeof(PackingItem),
          by_duration ? compare_duration : compare_item, packing);
  return place_items(packing, solution);
}

Status packing_best_fit_by(Arena *arena, const PackingBuffer *buffers, int64_t count, bool by_duration, DiagSink *diag,
                           PackingSolution *out_solution) {
  PackingSolution solution = {.offsets = ARENA_NEW_ARRAY(arena, int64_t, count)};
  Packing packing = {.scratch = arena_create(), .buffers = buffers, .count = count, .diag = diag};
  Status status = best_fit(&packing, by_duration, &solution);
  arena_destroy(packing.scratch);
  if (status == STATUS_OK) *out_solution = solution;
  return status;
}

Status packing_best_fit(Arena *arena, const PackingBuffer *buffers, int64_t count, DiagSink *diag,
                        PackingSolution *out_solution) {
  return packing_best_fit_by(arena, buffers, count, false, diag, out_solution);
}
