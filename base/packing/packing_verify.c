/* The proof of a plan: one sweep over time with the live buffers in address order.  It shares no code with placement
 * except the checks of single buffers. */
#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing_internal.h"

Status packing_check_buffer(const PackingBuffer *buffer, DiagSink *diag) {
  long long id = (long long)buffer->id;
  if (buffer->size < 0) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-size", "buffer %lld has negative size %lld", id,
                      (long long)buffer->size);
  }
  if (buffer->alignment < 1) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-alignment", "buffer %lld has alignment %lld", id,
                      (long long)buffer->alignment);
  }
  if (buffer->size > 0 && buffer->lower >= buffer->upper) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-lifetime", "buffer %lld has empty lifetime [%lld, %lld)",
                      id, (long long)buffer->lower, (long long)buffer->upper);
  }
  if (buffer->group < -1) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-group", "buffer %lld has group %lld", id,
                      (long long)buffer->group);
  }
  return STATUS_OK;
}

Status packing_overflow_error(DiagSink *diag, const PackingBuffer *buffer) {
  return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-overflow", "buffer %lld makes the addresses overflow",
                    (long long)buffer->id);
}

/* A set of small integers with neighbours: 64-way bit sets upon bit sets. */
enum { RANK_SET_LEVELS = 11 };

typedef struct RankSet {
  uint64_t *bits[RANK_SET_LEVELS]; /* bit i of level l + 1: word i of level l is not 0 */
  int levels;
} RankSet;

static void rank_set_init(RankSet *set, Arena *scratch, int64_t count) {
  set->levels = 0;
  do {
    count = count / 64 + 1;
    set->bits[set->levels++] = ARENA_NEW_ARRAY(scratch, uint64_t, count);
  } while (count > 1);
}

static void rank_set_insert(RankSet *set, int64_t rank) {
  for (int level = 0; level < set->levels; level++, rank /= 64) set->bits[level][rank / 64] |= UINT64_C(1) << rank % 64;
}

static void rank_set_remove(RankSet *set, int64_t rank) {
  for (int level = 0; level < set->levels; level++, rank /= 64) {
    set->bits[level][rank / 64] &= ~(UINT64_C(1) << rank % 64);
    if (set->bits[level][rank / 64] != 0) return;
  }
}

/* The largest member below |rank|, -1 when there is none. */
static int64_t rank_set_before(const RankSet *set, int64_t rank) {
  for (int level = 0; level < set->levels; level++, rank /= 64) {
    uint64_t word = set->bits[level][rank / 64] & ((UINT64_C(1) << rank % 64) - 1);
    if (word == 0) continue;
    int64_t found = rank / 64 * 64 + 63 - __builtin_clzll(word);
    while (level-- > 0) found = found * 64 + 63 - __builtin_clzll(set->bits[level][found]);
    return found;
  }
  return -1;
}

/* The smallest member above |rank|, -1 when there is none. */
static int64_t rank_set_after(const RankSet *set, int64_t rank) {
  for (int level = 0; level < set->levels; level++, rank /= 64) {
    uint64_t word = set->bits[level][rank / 64] & ~((UINT64_C(2) << rank % 64) - 1);
    if (word == 0) continue;
    int64_t found = rank / 64 * 64 + __builtin_ctzll(word);
    while (level-- > 0) found = found * 64 + __builtin_ctzll(set->bits[level][found]);
    return found;
  }
  return -1;
}

typedef struct SweepEvent {
  int64_t time;
  int64_t buffer;
  bool starts;
} SweepEvent;

typedef struct Proof {
  Arena *scratch;
  const PackingBuffer *buffers;
  int64_t count;
  const PackingPlan *plan;
  DiagSink *diag;
  int violations;
  int64_t *by_offset; /* buffers of a size other than 0 in order of offset */
  int64_t *rank;      /* their places therein */
  bool *live;
  int64_t live_count;
} Proof;

/* Reports one more violation; true when these are enough. */
static bool is_enough(Proof *proof, Status reported) {
  enum { MOST_VIOLATIONS = 5 };
  return reported != STATUS_OK && ++proof->violations >= MOST_VIOLATIONS;
}

MUST_USE static Status check_offset(const PackingBuffer *buffer, int64_t offset, int64_t height, DiagSink *diag) {
  long long id = (long long)buffer->id;
  int64_t end;
  if (buffer->size == 0) {
    if (offset == 0) return STATUS_OK;
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-bounds", "buffer %lld is empty but has offset %lld", id,
                      (long long)offset);
  }
  if (offset < 0 || !checked_add(offset, buffer->size, &end) || end > height) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-bounds",
                      "buffer %lld of %lld bytes at offset %lld is not within the height %lld", id,
                      (long long)buffer->size, (long long)offset, (long long)height);
  }
  if (offset % buffer->alignment != 0) {
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-alignment",
                      "offset %lld of buffer %lld is not a multiple of %lld", (long long)offset, id,
                      (long long)buffer->alignment);
  }
  return STATUS_OK;
}

/* Everything that can be said of one buffer at a time, and the height. */
static void check_each(Proof *proof) {
  int64_t height = 0;
  for (int64_t i = 0; i < proof->count; i++) {
    const PackingBuffer *buffer = &proof->buffers[i];
    int64_t offset = proof->plan->offsets[i];
    Status status = packing_check_buffer(buffer, proof->diag);
    if (status == STATUS_OK) status = check_offset(buffer, offset, proof->plan->height, proof->diag);
    if (is_enough(proof, status)) return;
    if (status == STATUS_OK && buffer->size > 0) height = max_i64(height, offset + buffer->size);
  }
  if (proof->violations == 0 && height != proof->plan->height) {
    is_enough(proof,
              diag_error(proof->diag, STATUS_INVALID, NO_LOC, "packing-height",
                         "the height is %lld, the plan says %lld", (long long)height, (long long)proof->plan->height));
  }
}

static int compare_group(const void *left, const void *right, void *context) {
  const PackingBuffer *buffers = context;
  int64_t i = *(const int64_t *)left, j = *(const int64_t *)right;
  return buffers[i].group != buffers[j].group ? compare_i64(buffers[i].group, buffers[j].group) : compare_i64(i, j);
}

static void check_groups(Proof *proof) {
  int64_t *order = ARENA_NEW_ARRAY(proof->scratch, int64_t, proof->count), count = 0;
  for (int64_t i = 0; i < proof->count; i++) {
    if (proof->buffers[i].group >= 0 && proof->buffers[i].size > 0) order[count++] = i;
  }
  qsort_r(order, (size_t)count, sizeof(int64_t), compare_group, (void *)(uintptr_t)proof->buffers);
  for (int64_t i = 1; i < count; i++) {
    const PackingBuffer *a = &proof->buffers[order[i - 1]], *b = &proof->buffers[order[i]];
    if (a->group != b->group || proof->plan->offsets[order[i - 1]] == proof->plan->offsets[order[i]]) continue;
    Status status = diag_error(proof->diag, STATUS_INVALID, NO_LOC, "packing-group",
                               "buffers %lld and %lld of group %lld have different offsets", (long long)a->id,
                               (long long)b->id, (long long)a->group);
    if (is_enough(proof, status)) return;
  }
}

static int compare_offset(const void *left, const void *right, void *context) {
  const int64_t *offsets = context;
  int64_t i = *(const int64_t *)left, j = *(const int64_t *)right;
  return offsets[i] != offsets[j] ? compare_i64(offsets[i], offsets[j]) : compare_i64(i, j);
}

static void rank_by_offset(Proof *proof) {
  proof->by_offset = ARENA_NEW_ARRAY(proof->scratch, int64_t, proof->count);
  proof->rank = ARENA_NEW_ARRAY(proof->scratch, int64_t, proof->count);
  proof->live = ARENA_NEW_ARRAY(proof->scratch, bool, proof->count);
  for (int64_t i = 0; i < proof->count; i++) {
    if (proof->buffers[i].size > 0) proof->by_offset[proof->live_count++] = i;
  }
  qsort_r(proof->by_offset, (size_t)proof->live_count, sizeof(int64_t), compare_offset, proof->plan->offsets);
  for (int64_t i = 0; i < proof->live_count; i++) proof->rank[proof->by_offset[i]] = i;
}

/* At one time ends come before starts. */
static int compare_sweep_event(const void *left, const void *right) {
  const SweepEvent *a = left, *b = right;
  if (a->time != b->time) return compare_i64(a->time, b->time);
  if (a->starts != b->starts) return a->starts ? 1 : -1;
  return compare_i64(a->buffer, b->buffer);
}

static SweepEvent *sorted_events(const Proof *proof) {
  SweepEvent *events = arena_alloc_array(proof->scratch, (size_t)proof->live_count, 2 * sizeof(SweepEvent));
  for (int64_t i = 0; i < proof->live_count; i++) {
    int64_t buffer = proof->by_offset[i];
    events[2 * i] = (SweepEvent){proof->buffers[buffer].lower, buffer, true};
    events[2 * i + 1] = (SweepEvent){proof->buffers[buffer].upper, buffer, false};
  }
  qsort(events, 2 * (size_t)proof->live_count, sizeof(SweepEvent), compare_sweep_event);
  return events;
}

/* STATUS_OK when the live buffers of |lower_rank| and |upper_rank| (-1: none) are apart. */
MUST_USE static Status check_apart(const Proof *proof, int64_t lower_rank, int64_t upper_rank) {
  if (lower_rank < 0 || upper_rank < 0) return STATUS_OK;
  int64_t low = proof->by_offset[lower_rank], high = proof->by_offset[upper_rank];
  const int64_t *offsets = proof->plan->offsets;
  const PackingBuffer *a = &proof->buffers[low], *b = &proof->buffers[high];
  if (offsets[low] + a->size <= offsets[high]) return STATUS_OK;
  return diag_error(proof->diag, STATUS_INVALID, NO_LOC, "packing-overlap",
                    "buffers %lld and %lld overlap: bytes [%lld, %lld) and [%lld, %lld) are both live at %lld",
                    (long long)a->id, (long long)b->id, (long long)offsets[low], (long long)(offsets[low] + a->size),
                    (long long)offsets[high], (long long)(offsets[high] + b->size),
                    (long long)max_i64(a->lower, b->lower));
}

/* Lets the buffers come and go in time.  Those live are disjoint, so a new one need only be compared with its two
 * neighbours in address order; one that overlaps does not come. */
static void sweep(Proof *proof) {
  RankSet set;
  rank_set_init(&set, proof->scratch, proof->live_count);
  const SweepEvent *events = sorted_events(proof);
  int64_t live_bytes = 0, peak = 0;
  for (int64_t i = 0; i < 2 * proof->live_count; i++) {
    int64_t buffer = events[i].buffer, rank = proof->rank[buffer];
    if (!events[i].starts) {
      if (!proof->live[buffer]) continue;
      rank_set_remove(&set, rank);
      live_bytes -= proof->buffers[buffer].size;
      continue;
    }
    Status status = check_apart(proof, rank_set_before(&set, rank), rank);
    if (status == STATUS_OK) status = check_apart(proof, rank, rank_set_after(&set, rank));
    if (is_enough(proof, status)) return;
    if (status != STATUS_OK) continue;
    rank_set_insert(&set, rank);
    proof->live[buffer] = true;
    live_bytes += proof->buffers[buffer].size; /* disjoint within the height: no overflow */
    peak = max_i64(peak, live_bytes);
  }
  if (proof->violations == 0 && peak != proof->plan->lower_bound) {
    is_enough(proof, diag_error(proof->diag, STATUS_INVALID, NO_LOC, "packing-lower-bound",
                                "the lower bound is %lld, the plan says %lld", (long long)peak,
                                (long long)proof->plan->lower_bound));
  }
}

Status packing_verify(Arena *scratch, const PackingBuffer *buffers, int64_t count, const PackingPlan *plan,
                      DiagSink *diag) {
  Proof proof = {.scratch = scratch, .buffers = buffers, .count = count, .plan = plan, .diag = diag};
  check_each(&proof);
  if (proof.violations == 0) check_groups(&proof);
  if (proof.violations == 0) {
    rank_by_offset(&proof);
    sweep(&proof);
  }
  return proof.violations == 0 ? STATUS_OK : STATUS_INVALID;
}
