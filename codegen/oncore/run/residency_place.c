/* Where residents lie, and the room that they leave to tiles. */
#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing.h"
#include "codegen/oncore/run/residency_internal.h"

/* Bytes of a resident that takes no room to speak of: scales of a norm, sums. */
enum { LITTLE = 4096 };

static int compare_places(const void *left, const void *right) {
  const RunCandidate *a = *(RunCandidate *const *)left, *b = *(RunCandidate *const *)right;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return a < b ? -1 : a > b;
}

int64_t residency_room_left(const Chooser *chooser, int32_t event) {
  return chooser->limits[event] - chooser->bases[event];
}

/* Notes for events |first| to |last| that bytes |begin| to |end| are taken, and the room below them from |ends|, by
 * event, on. */
static void take_bytes(Chooser *chooser, int64_t *ends, int32_t first, int32_t last, int64_t begin, int64_t end) {
  for (int32_t e = first; e <= last; e++) {
    if (begin - ends[e] > residency_room_left(chooser, e)) {
      chooser->bases[e] = ends[e];
      chooser->limits[e] = begin;
    }
    ends[e] = max_i64(ends[e], end);
  }
}

/* Tiles lie in the largest room that residents leave, the lowest of several.  Residents are gone through from the
 * bottom up. */
static void find_bases(Chooser *chooser) {
  int32_t events = (int32_t)chooser->touches.events.count;
  int64_t count = chooser->candidates.all.count, used = 0, usable = machine_buffer_usable(chooser->placed->machine);
  RunCandidate **order = chooser->order;
  for (int64_t c = 0; c < count; c++)
    if (residency_candidate(chooser, c)->is_taken) order[used++] = residency_candidate(chooser, c);
  if (used > 1) qsort(order, (size_t)used, sizeof *order, compare_places);
  int64_t *ends = chooser->tiles;
  for (int32_t e = 0; e < events; e++) chooser->bases[e] = chooser->limits[e] = ends[e] = 0;
  for (int64_t i = 0; i < used; i++) {
    int64_t begin = order[i]->begin, end = begin + residency_aligned_bytes(chooser, order[i]);
    take_bytes(chooser, ends, order[i]->first, order[i]->last, begin, end);
  }
  take_bytes(chooser, ends, 0, events - 1, usable, usable);
  for (int32_t e = 0; e < events; e++) chooser->tiles[e] = chooser->bases[e];
}

bool residency_is_over(const Chooser *chooser, int32_t event) {
  for (int64_t i = 0; i < chooser->there[event].count; i++) {
    const RunCandidate *candidate = chooser->there[event].data[i];
    if (candidate->begin + candidate->held > machine_buffer_usable(chooser->placed->machine)) return true;
  }
  return false;
}

/* How many Kernels find no room for their tiles where residents lie. */
static int64_t count_tight(const Chooser *chooser) {
  int64_t count = 0;
  for (int32_t e = 0; e < chooser->touches.events.count; e++) {
    count += residency_own_bytes(chooser, e) > residency_room_left(chooser, e) || residency_is_over(chooser, e);
  }
  return count;
}

typedef int (*CompareCandidates)(const void *left, const void *right);

/* What stays longest first: then little that stays long lies above much that does not, and leaves tiles the room above.
 */
static int compare_lives(const void *left, const void *right) {
  const RunCandidate *a = *(RunCandidate *const *)left, *b = *(RunCandidate *const *)right;
  int32_t a_life = a->last - a->first, b_life = b->last - b->first;
  if (a_life != b_life) return a_life > b_life ? -1 : 1;
  if (a->held != b->held) return a->held > b->held ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* Little first, as above, then the largest: parts that follow one another lie right above what is little and below the
 * weights that come and go meanwhile. */
static int compare_sizes(const void *left, const void *right) {
  const RunCandidate *a = *(RunCandidate *const *)left, *b = *(RunCandidate *const *)right;
  bool a_is_little = a->held <= LITTLE, b_is_little = b->held <= LITTLE;
  if (a_is_little != b_is_little) return a_is_little ? -1 : 1;
  if (!a_is_little && a->held != b->held) return a->held > b->held ? -1 : 1;
  return compare_lives(left, right);
}

/* Each as low as those before it let it, in the order of |compare|. */
static void place_in_order(Chooser *chooser, CompareCandidates compare) {
  int64_t count = chooser->candidates.all.count, used = 0;
  RunCandidate **order = chooser->order;
  for (int64_t c = 0; c < count; c++)
    if (residency_candidate(chooser, c)->is_taken) order[used++] = residency_candidate(chooser, c);
  if (used > 1) qsort(order, (size_t)used, sizeof *order, compare);
  RunCandidate **placed = chooser->by_place;
  for (int64_t i = 0; i < used; i++) {
    RunCandidate *candidate = order[i];
    int64_t bytes = residency_aligned_bytes(chooser, candidate), at = i;
    candidate->begin = 0;
    for (int64_t o = 0; o < i && placed[o]->begin < candidate->begin + bytes; o++) {
      if (placed[o]->last < candidate->first || candidate->last < placed[o]->first) continue;
      candidate->begin = max_i64(candidate->begin, placed[o]->begin + residency_aligned_bytes(chooser, placed[o]));
    }
    for (; at > 0 && placed[at - 1]->begin > candidate->begin; at--) placed[at] = placed[at - 1];
    placed[at] = candidate;
  }
}

/* A search of many steps is made only where one of few leaves residents higher above the bound than tiles can spare. */
static Status pack(const Chooser *chooser, Arena *scratch, PackingProblem *problem, PackingSolution *out_packing) {
  enum { SPARED_PART = 256 };                                       /* of the Buffer */
  enum { LEAST_STEPS = 50000, FEW_STEPS = 100, MANY_STEPS = 2000 }; /* few or many more for each resident */
  int64_t spared = machine_buffer_usable(chooser->placed->machine) / SPARED_PART;
  problem->most_steps = LEAST_STEPS + FEW_STEPS * problem->count;
  RETURN_IF_ERROR(packing_solve(scratch, problem, chooser->diag, out_packing));
  if (out_packing->height <= out_packing->lower_bound + spared) return STATUS_OK;
  problem->most_steps = LEAST_STEPS + MANY_STEPS * problem->count;
  return packing_solve(scratch, problem, chooser->diag, out_packing);
}

static Status place_packed(Chooser *chooser) {
  int64_t count = chooser->candidates.all.count, used = 0;
  Arena *scratch = arena_create();
  PackingBuffer *buffers = ARENA_NEW_ARRAY(scratch, PackingBuffer, count);
  for (int64_t c = 0; c < count; c++) {
    RunCandidate *candidate = residency_candidate(chooser, c);
    if (!candidate->is_taken) continue;
    chooser->order[used] = candidate;
    buffers[used] = (PackingBuffer){.id = c, .lower = candidate->first, .upper = candidate->last + 1, .group = -1};
    buffers[used].size = candidate->held;
    buffers[used++].alignment = max_i64(chooser->placed->machine->buffer.align, 1);
  }
  PackingProblem problem = {.buffers = buffers, .count = used};
  PackingSolution packing;
  Status status = pack(chooser, scratch, &problem, &packing);
  for (int64_t i = 0; i < used && status == STATUS_OK; i++) chooser->order[i]->begin = packing.offsets[i];
  arena_destroy(scratch);
  return status;
}

Status residency_place(Chooser *chooser) {
  static const CompareCandidates orders[] = {compare_lives, compare_sizes};
  int64_t count = chooser->candidates.all.count;
  RETURN_IF_ERROR(place_packed(chooser));
  find_bases(chooser);
  int64_t tight = count_tight(chooser);
  for (size_t o = 0; o < sizeof orders / sizeof *orders && tight > 0; o++) {
    for (int64_t c = 0; c < count; c++) chooser->packed[c] = residency_candidate(chooser, c)->begin;
    place_in_order(chooser, orders[o]);
    find_bases(chooser);
    int64_t here = count_tight(chooser);
    if (here >= tight) {
      for (int64_t c = 0; c < count; c++) residency_candidate(chooser, c)->begin = chooser->packed[c];
    }
    tight = min_i64(tight, here);
  }
  find_bases(chooser);
  return STATUS_OK;
}
