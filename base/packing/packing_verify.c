/* The proof of a solution: one sweep over time with the live pieces in address order.  It shares no code with placement
 * except the checks of single buffers and what lifetimes are (packing_pieces). */
#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing_instance.h"
#include "base/packing/packing_internal.h"
#include "base/radix_sort.h"

Status packing_check_buffer(const PackingBuffer *buffer, DiagSink *diag) {
  long long id = (long long)buffer->id;
  if (buffer->size < 0) {
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-size", "buffer %lld has negative size %lld",
                      id, (long long)buffer->size);
  }
  if (buffer->alignment < 1) {
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-alignment", "buffer %lld has alignment %lld",
                      id, (long long)buffer->alignment);
  }
  if (buffer->size > 0 && buffer->lower >= buffer->upper) {
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-lifetime",
                      "buffer %lld has empty lifetime [%lld, %lld)", id, (long long)buffer->lower,
                      (long long)buffer->upper);
  }
  if (buffer->group < -1) {
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-group", "buffer %lld has group %lld", id,
                      (long long)buffer->group);
  }
  return STATUS_OK;
}

Status packing_overflow_error(DiagSink *diag, const PackingBuffer *buffer) {
  return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-overflow",
                    "buffer %lld makes the addresses overflow", (long long)buffer->id);
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
  PackingMoment moment;
  int64_t piece;
  bool starts;
} SweepEvent;

typedef struct Proof {
  Arena *scratch;
  const PackingProblem *problem;
  const PackingSolution *solution;
  PackingPieces pieces;
  DiagSink *diag;
  int violations;
  int64_t *by_place; /* pieces by region and offset */
  int64_t *rank;     /* their places therein */
  bool *live;
} Proof;

/* Reports one more violation; true when these are enough. */
static bool is_enough(Proof *proof, Status reported) {
  enum { MOST_VIOLATIONS = 5 };
  return reported != STATUS_OK && ++proof->violations >= MOST_VIOLATIONS;
}

static const PackingBuffer *buffer_of(const Proof *proof, int64_t slot) {
  return &proof->problem->buffers[proof->pieces.buffer_of_slot[slot]];
}

static int64_t region_of(const Proof *proof, int64_t slot) {
  return proof->solution->regions == NULL ? 0 : proof->solution->regions[slot];
}

static int64_t offset_of(const Proof *proof, int64_t piece) {
  return proof->solution->offsets[proof->pieces.data[piece].slot];
}

static int64_t end_of(const Proof *proof, int64_t piece) {
  return offset_of(proof, piece) + buffer_of(proof, proof->pieces.data[piece].slot)->size;
}

/* |slot| lies in a region that it may be in, aligned, and within it; of region 0 the solution's height is the end. */
MUST_USE static Status check_slot(const Proof *proof, int64_t slot) {
  const PackingBuffer *buffer = buffer_of(proof, slot);
  const PackingProblem *problem = proof->problem;
  long long id = (long long)buffer->id;
  int64_t region = region_of(proof, slot), offset = proof->solution->offsets[slot], end, address;
  if (buffer->size == 0) {
    if (offset == 0) return STATUS_OK;
    return diag_error(proof->diag, STATUS_INVALID, packing_loc(buffer), "packing-bounds",
                      "buffer %lld is empty but has offset %lld", id, (long long)offset);
  }
  uint64_t allowed = buffer->regions == 0 ? 1 : buffer->regions;
  if (region < 0 || region >= max_i64(1, problem->region_count) || (allowed >> region & 1) == 0) {
    return diag_error(proof->diag, STATUS_INVALID, packing_loc(buffer), "packing-region",
                      "buffer %lld may not be in region %lld", id, (long long)region);
  }
  int64_t limit = region == 0 ? proof->solution->height : problem->regions[region].capacity;
  int64_t base = problem->region_count == 0 ? 0 : problem->regions[region].base;
  if (offset < 0 || !checked_add(offset, buffer->size, &end) || end > limit) {
    return diag_error(proof->diag, STATUS_INVALID, packing_loc(buffer), "packing-bounds",
                      "buffer %lld of %lld bytes at offset %lld is not within the height %lld", id,
                      (long long)buffer->size, (long long)offset, (long long)limit);
  }
  if (!checked_add(base, offset, &address) || address % buffer->alignment != 0) {
    return diag_error(proof->diag, STATUS_INVALID, packing_loc(buffer), "packing-alignment",
                      "offset %lld of buffer %lld is not a multiple of %lld", (long long)offset, id,
                      (long long)buffer->alignment);
  }
  if (buffer->is_pinned && offset != buffer->pin) {
    return diag_error(proof->diag, STATUS_INVALID, packing_loc(buffer), "packing-pin",
                      "buffer %lld is pinned at %lld, its offset is %lld", id, (long long)buffer->pin,
                      (long long)offset);
  }
  return STATUS_OK;
}

/* Everything that can be said of one slot at a time, and the height. */
static void check_each(Proof *proof) {
  int64_t height = 0;
  for (int64_t slot = 0; slot < proof->pieces.slot_count; slot++) {
    Status status = check_slot(proof, slot);
    if (is_enough(proof, status)) return;
    const PackingBuffer *buffer = buffer_of(proof, slot);
    if (status == STATUS_OK && buffer->size > 0 && region_of(proof, slot) == 0)
      height = max_i64(height, proof->solution->offsets[slot] + buffer->size);
  }
  if (proof->violations == 0 && height != proof->solution->height) {
    is_enough(proof, diag_error(proof->diag, STATUS_INVALID, NO_LOC, "packing-height",
                                "the height is %lld, the solution says %lld", (long long)height,
                                (long long)proof->solution->height));
  }
}

static int compare_group(const void *left, const void *right, void *context) {
  const Proof *proof = context;
  int64_t i = *(const int64_t *)left, j = *(const int64_t *)right;
  int64_t a = buffer_of(proof, i)->group, b = buffer_of(proof, j)->group;
  return a != b ? compare_i64(a, b) : compare_i64(i, j);
}

static void check_groups(Proof *proof) {
  int64_t *order = ARENA_NEW_ARRAY(proof->scratch, int64_t, proof->pieces.slot_count + 1), count = 0;
  for (int64_t slot = 0; slot < proof->pieces.slot_count; slot++) {
    if (buffer_of(proof, slot)->group >= 0 && buffer_of(proof, slot)->size > 0) order[count++] = slot;
  }
  if (count > 1) qsort_r(order, (size_t)count, sizeof(int64_t), compare_group, proof);
  for (int64_t i = 1; i < count; i++) {
    const PackingBuffer *a = buffer_of(proof, order[i - 1]), *b = buffer_of(proof, order[i]);
    if (a->group != b->group) continue;
    bool same = proof->solution->offsets[order[i - 1]] == proof->solution->offsets[order[i]] &&
                region_of(proof, order[i - 1]) == region_of(proof, order[i]);
    if (same) continue;
    Status status = diag_error(proof->diag, STATUS_INVALID, packing_loc(b), "packing-group",
                               "buffers %lld and %lld of group %lld have different offsets", (long long)a->id,
                               (long long)b->id, (long long)a->group);
    if (is_enough(proof, status)) return;
  }
}

/* By region, then by offset. */
static void rank_by_place(Proof *proof) {
  int64_t count = proof->pieces.count;
  int64_t *offsets = ARENA_NEW_ARRAY(proof->scratch, int64_t, count + 1);
  int64_t *regions = ARENA_NEW_ARRAY(proof->scratch, int64_t, count + 1);
  proof->by_place = ARENA_NEW_ARRAY(proof->scratch, int64_t, count + 1);
  proof->rank = ARENA_NEW_ARRAY(proof->scratch, int64_t, count + 1);
  proof->live = ARENA_NEW_ARRAY(proof->scratch, bool, count + 1);
  for (int64_t i = 0; i < count; i++) {
    proof->by_place[i] = i;
    offsets[i] = offset_of(proof, i);
    regions[i] = region_of(proof, proof->pieces.data[i].slot);
  }
  radix_sort(offsets, count, proof->by_place, proof->scratch);
  radix_sort(regions, count, proof->by_place, proof->scratch);
  for (int64_t i = 0; i < count; i++) proof->rank[proof->by_place[i]] = i;
}

/* The sweep goes from moment to moment; at one moment pieces go before others come. */
static SweepEvent *sorted_events(const Proof *proof) {
  int64_t count = proof->pieces.count, event_count = 2 * count;
  SweepEvent *events = arena_alloc_array(proof->scratch, (size_t)count + 1, 2 * sizeof(SweepEvent));
  SweepEvent *sorted = arena_alloc_array(proof->scratch, (size_t)count + 1, 2 * sizeof(SweepEvent));
  int64_t *order = ARENA_NEW_ARRAY(proof->scratch, int64_t, event_count + 1);
  int64_t *keys = ARENA_NEW_ARRAY(proof->scratch, int64_t, event_count + 1);
  for (int64_t i = 0; i < count; i++) {
    events[i] = (SweepEvent){proof->pieces.data[i].upper, i, false};
    events[count + i] = (SweepEvent){proof->pieces.data[i].lower, i, true};
  }
  for (int64_t i = 0; i < event_count; i++) {
    order[i] = i;
    keys[i] = events[i].moment.time;
  }
  radix_sort(keys, event_count, order, proof->scratch);
  for (int64_t i = 0; i < event_count; i++) keys[i] = events[i].moment.zone;
  radix_sort(keys, event_count, order, proof->scratch);
  for (int64_t i = 0; i < event_count; i++) sorted[i] = events[order[i]];
  return sorted;
}

/* STATUS_OK when the live pieces of |lower_rank| and |upper_rank| (-1: none) are apart. */
MUST_USE static Status check_apart(const Proof *proof, int64_t lower_rank, int64_t upper_rank) {
  if (lower_rank < 0 || upper_rank < 0) return STATUS_OK;
  int64_t low = proof->by_place[lower_rank], high = proof->by_place[upper_rank];
  const PackingPiece *a = &proof->pieces.data[low], *b = &proof->pieces.data[high];
  if (region_of(proof, a->slot) != region_of(proof, b->slot)) return STATUS_OK;
  if (end_of(proof, low) <= offset_of(proof, high)) return STATUS_OK;
  PackingMoment met = packing_compare_moment(a->lower, b->lower) < 0 ? b->lower : a->lower;
  const PackingBuffer *lower = buffer_of(proof, a->slot), *upper = buffer_of(proof, b->slot);
  Status status =
      diag_error(proof->diag, STATUS_INVALID, packing_loc(lower), "packing-overlap",
                 "buffers %lld and %lld overlap: bytes [%lld, %lld) and [%lld, %lld) are both live at %lld%s",
                 (long long)lower->id, (long long)upper->id, (long long)offset_of(proof, low),
                 (long long)end_of(proof, low), (long long)offset_of(proof, high), (long long)end_of(proof, high),
                 (long long)met.time, met.zone == 1 ? " of the loop" : "");
  if (upper->loc != NULL) diag_note(proof->diag, *upper->loc, "buffer %lld", (long long)upper->id);
  return status;
}

/* Whether |piece| counts for the bound: only region 0 will do for it. */
static bool is_bound(const Proof *proof, int64_t piece) {
  return buffer_of(proof, proof->pieces.data[piece].slot)->regions <= 1;
}

/* Lets the pieces come and go in time.  Those live are disjoint, so a new one need only be compared with its two
 * neighbours in address order; one that overlaps does not come. */
static void sweep(Proof *proof) {
  RankSet set;
  int64_t count = proof->pieces.count;
  rank_set_init(&set, proof->scratch, count);
  const SweepEvent *events = sorted_events(proof);
  int64_t live_bytes = 0, peak = 0;
  for (int64_t i = 0; i < 2 * count; i++) {
    int64_t piece = events[i].piece, rank = proof->rank[piece];
    int64_t size = buffer_of(proof, proof->pieces.data[piece].slot)->size;
    if (!events[i].starts) {
      if (!proof->live[piece]) continue;
      rank_set_remove(&set, rank);
      if (is_bound(proof, piece)) live_bytes -= size;
      continue;
    }
    Status status = check_apart(proof, rank_set_before(&set, rank), rank);
    if (status == STATUS_OK) status = check_apart(proof, rank, rank_set_after(&set, rank));
    if (is_enough(proof, status)) return;
    if (status != STATUS_OK) continue;
    rank_set_insert(&set, rank);
    proof->live[piece] = true;
    if (is_bound(proof, piece)) live_bytes += size; /* disjoint within the height: no overflow */
    peak = max_i64(peak, live_bytes);
  }
  const PackingSolution *solution = proof->solution;
  bool bound_holds = solution->lower_bound >= peak && solution->lower_bound <= solution->height &&
                     (!solution->is_optimal || solution->lower_bound == solution->height);
  if (proof->violations == 0 && !bound_holds) {
    is_enough(proof,
              diag_error(proof->diag, STATUS_INVALID, NO_LOC, "packing-lower-bound",
                         "%lld bytes are live at once and the height is %lld, the solution's lower bound is %lld%s",
                         (long long)peak, (long long)solution->height, (long long)solution->lower_bound,
                         solution->is_optimal ? " and called optimal" : ""));
  }
}

Status packing_verify(Arena *scratch, const PackingProblem *problem, const PackingSolution *solution, DiagSink *diag) {
  Proof proof = {.scratch = scratch, .problem = problem, .solution = solution, .diag = diag};
  RETURN_IF_ERROR(packing_pieces(scratch, problem, diag, &proof.pieces));
  check_each(&proof);
  if (proof.violations == 0) check_groups(&proof);
  if (proof.violations == 0) {
    rank_by_place(&proof);
    sweep(&proof);
  }
  return proof.violations == 0 ? STATUS_OK : STATUS_INVALID;
}
