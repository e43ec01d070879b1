/* Ejection: a solution is lowered by taking out what reaches above a lower height and placing it elsewhere.
 *
 * An item that is out goes into the tightest gap that holds it.  Where there is none it goes where those in its way
 * weigh least, and they come out.  Each time an item finds no gap its weight rises, so those that are hard to place
 * come to stay (guided ejection search: Nagata and Bräysy, "A powerful route minimization heuristic", 2009). */
#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/packing/packing_internal.h"
#include "base/packing/part_conflicts.h"

enum { OUT = -1, MOST_EJECTED_PAIRS = 1 << 23 };

typedef struct Extent32 {
  Units start, end;
  int32_t item;
  int64_t weight;
} Extent32;

typedef struct Ejection {
  const Part *part;
  Arena *scratch;
  Conflicts conflicts;
  Units *offsets; /* OUT: not placed */
  Units *sizes;
  int64_t *weights;
  int32_t *out; /* a stack */
  int32_t out_count;
  Units capacity;
  Extent32 *by_start, *by_end; /* what is in the way of the item at hand */
  int32_t in_way;
  uint64_t seed;
  Work *work;
} Ejection;

static uint32_t next_random(Ejection *ejection) {
  ejection->seed = ejection->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(ejection->seed >> 33);
}

static int compare_start(const void *left, const void *right) {
  const Extent32 *a = left, *b = right;
  return a->start != b->start ? compare_i64(a->start, b->start) : compare_i64(a->item, b->item);
}

static int compare_end(const void *left, const void *right) {
  const Extent32 *a = left, *b = right;
  return a->end != b->end ? compare_i64(a->end, b->end) : compare_i64(a->item, b->item);
}

/* The first place at |offset| or after it where item |i| is aligned and clear of what is taken. */
static Units next_free(const Ejection *ejection, int32_t i, Units offset) {
  int64_t unit = ejection->conflicts.unit;
  return (Units)(part_next_free(ejection->part, i, offset * unit) / unit);
}

/* Collects what meets item |i| and is placed. */
static void collect(Ejection *ejection, int32_t i) {
  const Conflicts *conflicts = &ejection->conflicts;
  int32_t count = 0;
  for (int32_t c = conflicts->first[i]; c < conflicts->first[i + 1]; c++) {
    int32_t other = conflicts->rows[c].other;
    if (ejection->offsets[other] == OUT) continue;
    ejection->by_start[count++] = (Extent32){
        ejection->offsets[other], ejection->offsets[other] + ejection->sizes[other], other, ejection->weights[other]};
  }
  ejection->work->left -= 16 * (conflicts->first[i + 1] - conflicts->first[i]) + 32;
  qsort(ejection->by_start, (size_t)count, sizeof(Extent32), compare_start);
  ejection->in_way = count;
}

/* The start of the tightest gap that holds item |i|, at random among some; OUT: none. */
static Units find_gap(Ejection *ejection, int32_t i) {
  Units top = next_free(ejection, i, 0), size = ejection->sizes[i], best = OUT, least = INT32_MAX;
  for (int32_t e = 0; e <= ejection->in_way; e++) {
    Units start = e < ejection->in_way ? ejection->by_start[e].start : ejection->capacity;
    if (start - top >= size && start - top < least) {
      best = top;
      least = start - top;
    }
    if (e < ejection->in_way && ejection->by_start[e].end > top)
      top = next_free(ejection, i, ejection->by_start[e].end);
  }
  return best;
}

/* Where those in the way of item |i| weigh least. */
static Units find_lightest(Ejection *ejection, int32_t i) {
  int32_t count = ejection->in_way;
  Units size = ejection->sizes[i], best = OUT;
  int64_t least = INT64_MAX;
  int ties = 0;
  memcpy(ejection->by_end, ejection->by_start, (size_t)count * sizeof(Extent32));
  qsort(ejection->by_end, (size_t)count, sizeof(Extent32), compare_end);
  /* Candidates: on top of each extent, and below each. */
  for (int below = 0; below < 2; below++) {
    int32_t started = 0, ended = 0;
    int64_t weight = 0;
    for (int32_t e = -1; e <= count; e++) {
      Units offset;
      if (e < 0) {
        if (below) continue;
        offset = 0;
      } else if (below) {
        offset = (e < count ? ejection->by_start[e].start : ejection->capacity) - size;
      } else {
        if (e == count) break;
        offset = ejection->by_end[e].end;
      }
      if (offset < 0) continue;
      if (next_free(ejection, i, offset) != offset) continue;
      if (offset + size > ejection->capacity) break;
      while (started < count && ejection->by_start[started].start < offset + size)
        weight += ejection->by_start[started++].weight;
      while (ended < count && ejection->by_end[ended].end <= offset) weight -= ejection->by_end[ended++].weight;
      if (weight > least) continue;
      ties = weight < least ? 1 : ties + 1;
      if (weight == least && next_random(ejection) % (uint32_t)ties != 0) continue;
      least = weight;
      best = offset;
    }
  }
  return best;
}

static void take_out(Ejection *ejection, int32_t i) {
  ejection->offsets[i] = OUT;
  ejection->out[ejection->out_count++] = i;
}

/* Places the item that came out last; false when it cannot be placed at all. */
static bool put_in(Ejection *ejection) {
  int32_t i = ejection->out[--ejection->out_count];
  collect(ejection, i);
  Units offset = find_gap(ejection, i);
  if (offset == OUT) {
    ejection->weights[i] += 1 + ejection->weights[i] / 8;
    offset = find_lightest(ejection, i);
    if (offset == OUT) return false;
    for (int32_t e = 0; e < ejection->in_way; e++) {
      const Extent32 *extent = &ejection->by_start[e];
      bool is_hit = extent->start < offset + ejection->sizes[i] && offset < extent->end;
      if (is_hit) take_out(ejection, extent->item);
    }
  }
  ejection->offsets[i] = offset;
  return true;
}

/* Takes out all above |capacity| and places until all are in; false when the work is done first. */
static bool lower_to(Ejection *ejection, Units capacity) {
  ejection->capacity = capacity;
  ejection->out_count = 0;
  for (int32_t i = 0; i < ejection->part->item_count; i++) {
    if (ejection->offsets[i] + ejection->sizes[i] > capacity) take_out(ejection, i);
  }
  while (ejection->out_count > 0) {
    if (ejection->work->left <= 0 || !put_in(ejection)) return false;
  }
  return true;
}

int64_t part_eject(const Part *part, int64_t goal, Work *work, int64_t height, int64_t *offsets) {
  Ejection ejection = {.part = part, .scratch = arena_create(), .seed = 1, .work = work};
  int32_t count = part->item_count, most = 0;
  int64_t largest = 0;
  for (int32_t i = 0; i < count; i++) largest = max_i64(largest, part->items[i].size);
  bool is_listed = conflicts_list(ejection.scratch, part, MOST_EJECTED_PAIRS, &ejection.conflicts);
  int64_t unit = is_listed ? ejection.conflicts.unit : 1;
  if (!is_listed || (height + largest) / unit > INT32_MAX) {
    arena_destroy(ejection.scratch);
    return height;
  }
  work->left -= 2 * ejection.conflicts.first[count];
  ejection.offsets = ARENA_NEW_ARRAY(ejection.scratch, Units, count + 1);
  ejection.sizes = ARENA_NEW_ARRAY(ejection.scratch, Units, count + 1);
  ejection.weights = ARENA_NEW_ARRAY(ejection.scratch, int64_t, count + 1);
  ejection.out = ARENA_NEW_ARRAY(ejection.scratch, int32_t, count + 1);
  for (int32_t i = 0; i < count; i++) {
    int32_t row = ejection.conflicts.first[i + 1] - ejection.conflicts.first[i];
    if (row > most) most = row;
    ejection.offsets[i] = (Units)(offsets[i] / unit);
    ejection.sizes[i] = (Units)(part->items[i].size / unit);
    ejection.weights[i] = 8;
  }
  ejection.by_start = ARENA_NEW_ARRAY(ejection.scratch, Extent32, most + 1);
  ejection.by_end = ARENA_NEW_ARRAY(ejection.scratch, Extent32, most + 1);
  while (height > goal && work->left > 0) {
    int64_t step = max_i64(unit, part->bound / 256);
    if (!lower_to(&ejection, (Units)(max_i64(goal, height - step) / unit))) break;
    for (int32_t i = 0; i < count; i++) offsets[i] = ejection.offsets[i] * unit;
    height = part_height(part, offsets);
  }
  arena_destroy(ejection.scratch);
  return height;
}
