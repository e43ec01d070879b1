#include "base/packing/occupancy.h"

#include <stdlib.h>

#include "base/packing/packing_internal.h"

/* A node of a tree over time.  Disjoint extents by start, between any two of which there is a gap. */
typedef struct TimeNode {
  ExtentArray always; /* in use all the node's time, but for what is in use all its parent's */
  ExtentArray ever;   /* in use at some time of it, likewise */
} TimeNode;

struct Occupancy {
  Arena *arena;
  int64_t time_count;
  int64_t *times;     /* starts and ends of buffers, each once; leaf i is from times[i] to times[i + 1] */
  int64_t leaf_count; /* a power of two */
  TimeNode *nodes;    /* heap order from 1 */
};

static int compare_time(const void *left, const void *right) {
  return compare_i64(*(const int64_t *)left, *(const int64_t *)right);
}

Occupancy *occupancy_create(Arena *arena, const PackingBuffer *buffers, int64_t count) {
  Occupancy *occupancy = ARENA_NEW(arena, Occupancy);
  int64_t *times = ARENA_NEW_ARRAY(arena, int64_t, 2 * count + 1);
  int64_t time_count = 0, kept = 0;
  for (int64_t i = 0; i < count; i++) {
    if (buffers[i].size == 0) continue;
    times[time_count++] = buffers[i].lower;
    times[time_count++] = buffers[i].upper;
  }
  qsort(times, (size_t)time_count, sizeof(int64_t), compare_time);
  for (int64_t i = 0; i < time_count; i++) {
    if (kept == 0 || times[kept - 1] != times[i]) times[kept++] = times[i];
  }
  *occupancy = (Occupancy){.arena = arena, .times = times, .time_count = kept, .leaf_count = 1};
  while (occupancy->leaf_count < kept) occupancy->leaf_count *= 2;
  occupancy->nodes = ARENA_NEW_ARRAY(arena, TimeNode, 2 * occupancy->leaf_count);
  return occupancy;
}

/* The leaf that begins at |time|. */
static int64_t leaf_at(const Occupancy *occupancy, int64_t time) {
  const int64_t *found = bsearch(&time, occupancy->times, (size_t)occupancy->time_count, sizeof(int64_t), compare_time);
  XLAC_CHECK(found != NULL);
  return found - occupancy->times;
}

/* The first extent that ends at |address| or after it. */
static int64_t first_reaching(const ExtentArray *extents, int64_t address) {
  int64_t low = 0, high = extents->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (extents->data[middle].end < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* |extents| with |added|; all that it meets or touches becomes one. */
static void unite(ExtentArray *extents, Arena *arena, Extent added) {
  int64_t first = first_reaching(extents, added.start), last = first;
  for (; last < extents->count && extents->data[last].start <= added.end; last++) {
    if (extents->data[last].start < added.start) added.start = extents->data[last].start;
    if (extents->data[last].end > added.end) added.end = extents->data[last].end;
  }
  if (last == first) array_push(extents, arena, added); /* one place more */
  int64_t rest = last == first ? extents->count - 1 - last : extents->count - last;
  memmove(extents->data + first + 1, extents->data + last, (size_t)rest * sizeof(Extent));
  extents->data[first] = added;
  if (last > first) extents->count -= last - first - 1;
}

/* One node on the way down, with the leaves below it. */
typedef struct Visit {
  int64_t node, first, end;
} Visit;

enum { DEEPEST = 64 };

/* The way down to the nodes that a buffer's lifetime meets. */
typedef struct Descent {
  int64_t lower, upper; /* leaves */
  int depth;
  Visit stack[2 * DEEPEST];
} Descent;

static Descent descend(const Occupancy *occupancy, const PackingBuffer *buffer) {
  Descent descent = {
      .lower = leaf_at(occupancy, buffer->lower), .upper = leaf_at(occupancy, buffer->upper), .depth = 1};
  descent.stack[0] = (Visit){1, 0, occupancy->leaf_count};
  return descent;
}

/* The next node, or NULL; below one whose time the lifetime covers (|out_covered|) it goes no further. */
static TimeNode *next_node(const Occupancy *occupancy, Descent *descent, bool *out_covered) {
  while (descent->depth > 0) {
    Visit visit = descent->stack[--descent->depth];
    if (visit.end <= descent->lower || descent->upper <= visit.first) continue;
    *out_covered = descent->lower <= visit.first && visit.end <= descent->upper;
    if (!*out_covered) {
      int64_t middle = visit.first + (visit.end - visit.first) / 2;
      descent->stack[descent->depth++] = (Visit){2 * visit.node, visit.first, middle};
      descent->stack[descent->depth++] = (Visit){2 * visit.node + 1, middle, visit.end};
    }
    return &occupancy->nodes[visit.node];
  }
  return NULL;
}

void occupancy_add(Occupancy *occupancy, const PackingBuffer *buffer, int64_t offset) {
  Extent extent = {offset, offset + buffer->size};
  Descent descent = descend(occupancy, buffer);
  bool covered;
  for (TimeNode *node; (node = next_node(occupancy, &descent, &covered)) != NULL;) {
    unite(&node->ever, occupancy->arena, extent);
    if (covered) unite(&node->always, occupancy->arena, extent);
  }
}

static void append_all(ExtentArray *extents, Arena *arena, const ExtentArray *added) {
  if (added->count == 0) return;
  array_reserve(extents, arena, extents->count + added->count);
  memcpy(extents->data + extents->count, added->data, (size_t)added->count * sizeof(Extent));
  extents->count += added->count;
}

void occupancy_find(const Occupancy *occupancy, const PackingBuffer *buffer, ExtentArray *extents, Arena *scratch) {
  Descent descent = descend(occupancy, buffer);
  bool covered;
  for (const TimeNode *node; (node = next_node(occupancy, &descent, &covered)) != NULL;) {
    append_all(extents, scratch, covered ? &node->ever : &node->always);
  }
}
