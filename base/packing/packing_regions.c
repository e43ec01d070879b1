/* Regions: which items go to which, and each region placed on its own. */
#include "base/packing/packing_regions.h"

#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing_internal.h"

/* Every choice of regions is tried up to so many, and as the work allows that they take at least; some of those left
 * may need a search, and share the work. */
enum { MOST_CHOICES = 4096, CHOICE_STEPS = 1024, SHARES = 8, MOST_PINNED_PAIRS = 1 << 24 };

static int64_t region_base(const Solver *solver, int32_t region) {
  return solver->problem->region_count == 0 ? 0 : solver->problem->regions[region].base;
}

static bool may_be_in(const Item *item, int32_t region) {
  return (item->regions >> region & 1) != 0;
}

/* ---- a bound on every layout ---- */

enum { MOST_SUMS = 256, MOST_BOUND_STEPS = 1 << 21 };

/* The bytes alive in a section, in all regions. */
typedef struct Moment {
  int64_t all;
  int32_t section;
} Moment;

static int compare_moment(const void *left, const void *right) {
  const Moment *a = left, *b = right;
  if (a->all != b->all) return a->all > b->all ? -1 : 1;
  return a->section < b->section ? -1 : 1;
}

/* Sums that some of the sizes seen so far have, rising; |is_full|: of more of them than there is room for. */
typedef struct Sums {
  int64_t data[MOST_SUMS];
  int32_t count;
  int64_t most; /* all of them */
  bool is_full;
} Sums;

static void sums_add(Sums *sums, int64_t size, int64_t capacity) {
  int64_t merged[2 * MOST_SUMS];
  int32_t count = 0;
  sums->most += size;
  for (int32_t i = 0, k = 0; !sums->is_full && k < sums->count;) {
    int64_t next = sums->data[k] + size;
    if (i < sums->count && sums->data[i] < next)
      next = sums->data[i++];
    else
      k++;
    if (next > capacity) break;
    if (count == 0 || merged[count - 1] != next) merged[count++] = next;
  }
  sums->is_full |= count > MOST_SUMS;
  if (sums->is_full) return;
  memcpy(sums->data, merged, (size_t)count * sizeof(int64_t));
  sums->count = count;
}

/* Of what is alive at some time, in one region. */
typedef struct Held {
  int32_t region;
  int64_t all;  /* bytes that may lie there, each by itself */
  int64_t most; /* that can lie there together */
} Held;

static int compare_held(const void *left, const void *right) {
  const Held *a = left, *b = right;
  if (a->all != b->all) return a->all < b->all ? -1 : 1;
  return a->region < b->region ? -1 : 1;
}

/* Of what is not |seen| (NULL: of all). */
static Held held_in(const Solver *solver, int32_t t, int32_t region, const bool *seen) {
  const Instance *instance = solver->instance;
  int64_t capacity = solver->problem->regions[region].capacity, pinned = 0;
  Sums sums = {.count = 1};                  /* none of them: 0 */
  for (int32_t pass = 0; pass < 2; pass++) { /* what is pinned, then what may come */
    for (int32_t i = 0; i < instance->item_count; i++) {
      const Item *item = &instance->items[i];
      if (!may_be_in(item, region) || (item->pin >= 0) != (pass == 0)) continue;
      if (seen != NULL && seen[i] && item->pin < 0) continue;
      int64_t size = item_alive_bytes(item, t);
      if (pass == 0)
        pinned += size;
      else if (size > 0)
        sums_add(&sums, size, capacity - pinned);
    }
  }
  int64_t most = sums.is_full ? min_i64(sums.most, capacity - pinned) : sums.data[sums.count - 1];
  return (Held){region, pinned + sums.most, pinned + most};
}

/* Bytes alive in section |t| that may lie in |region| and were not |seen| in another. */
static int64_t new_bytes(const Solver *solver, int32_t t, int32_t region, bool *seen) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < solver->instance->item_count; i++) {
    const Item *item = &solver->instance->items[i];
    if (seen[i] || !may_be_in(item, region)) continue;
    seen[i] = true;
    bytes += item_alive_bytes(item, t);
  }
  return bytes;
}

/* The most that the regions but 0 can hold of what is alive in section |t|: any of them together hold no more than each
 * can, nor more than may lie in any of them; one more holds no more than it can of what may lie in none of the others,
 * beside all that may.  Those with the least choice first, which mostly may hold what the next
 * ones may as well. */
static int64_t most_held(const Solver *solver, int32_t t) {
  int64_t count = solver->problem->region_count, most = 0, all = 0;
  Held held[PACKING_MOST_REGIONS];
  bool *seen = ARENA_NEW_ARRAY(solver->arena, bool, solver->instance->item_count + 1);
  for (int32_t r = 1; r < count; r++) held[r - 1] = held_in(solver, t, r, NULL);
  if (count > 2) qsort(held, (size_t)count - 1, sizeof(Held), compare_held);
  for (int64_t k = 0; k < count - 1; k++) {
    int64_t beside = k == 0 ? INT64_MAX : all + held_in(solver, t, held[k].region, seen).most;
    all += new_bytes(solver, t, held[k].region, seen);
    most = min_i64(min_i64(most + held[k].most, beside), all);
  }
  return most;
}

/* At any time region 0 holds what the others cannot: of the fullest times, what they can hold of what is alive then. */
static int64_t held_bound(const Solver *solver, const int64_t *all, int64_t bound) {
  const Instance *instance = solver->instance;
  Moment *moments = ARENA_NEW_ARRAY(solver->arena, Moment, instance->section_count + 1);
  for (int32_t t = 0; t < instance->section_count; t++) moments[t] = (Moment){all[t], t};
  if (instance->section_count > 1) qsort(moments, (size_t)instance->section_count, sizeof(Moment), compare_moment);
  int64_t steps = MOST_BOUND_STEPS;
  for (int32_t m = 0; m < instance->section_count && moments[m].all > bound && steps > 0; m++) {
    bound = max_i64(bound, moments[m].all - most_held(solver, moments[m].section));
    steps -= 4 * instance->item_count * solver->problem->region_count;
  }
  return bound;
}

/* At any time region 0 holds what may not be elsewhere, and what the others have no room for. */
static int64_t layout_bound(const Solver *solver) {
  const Instance *instance = solver->instance;
  int64_t *alone = ARENA_NEW_ARRAY(solver->arena, int64_t, instance->section_count + 1);
  int64_t *all = ARENA_NEW_ARRAY(solver->arena, int64_t, instance->section_count + 1);
  int64_t elsewhere = 0, bound = 0;
  for (int64_t r = 1; r < solver->problem->region_count; r++) {
    elsewhere = saturated_add(elsewhere, solver->problem->regions[r].capacity);
  }
  for (int32_t i = 0; i < instance->item_count; i++) {
    const Item *item = &instance->items[i];
    for (int32_t s = 0; s < item->span_count; s++) {
      const Span *span = &item->spans[s];
      all[span->lower] += span->size;
      all[span->upper] -= span->size;
      if (item->regions != 1) continue;
      alone[span->lower] += span->size;
      alone[span->upper] -= span->size;
    }
    if (item->pin >= 0 && item->regions == 1) bound = max_i64(bound, item->pin + item->size);
  }
  for (int32_t t = 0; t < instance->section_count; t++) {
    if (t > 0) {
      all[t] += all[t - 1];
      alone[t] += alone[t - 1];
    }
    bound = max_i64(bound, max_i64(alone[t], all[t] - min_i64(all[t], elsewhere)));
  }
  return elsewhere == 0 ? bound : held_bound(solver, all, bound);
}

/* ---- one region ---- */

/* The solution that stands highest and may still be lowered; -1: none. */
static int64_t highest_solution(const PartSolution *solutions, int64_t count, int64_t goal) {
  int64_t highest = -1;
  for (int64_t p = 0; p < count; p++) {
    if (solutions[p].height <= goal || (highest >= 0 && solutions[p].height <= solutions[highest].height)) continue;
    highest = p;
  }
  return highest;
}

/* What the highest part gets next. */
typedef struct Turn {
  PartAim aim;
  Work work;
  bool is_last; /* all that is left */
} Turn;

/* Part |p| shares the work that is |left| with all parts that must come down as well; where its share did not do, for
 * |turns| turns, it gets more.  Among many it comes down to a little below the next one. */
static Turn next_turn(const PartSolution *solutions, int64_t count, int64_t p, PartAim aim, int64_t left, int turns) {
  enum { FEW = 4, LEVELS = 32 };
  int64_t above = 0, next = 0;
  for (int64_t k = 0; k < count; k++) {
    above += solutions[k].height > max_i64(aim.goal, solutions[k].bound);
    if (k != p) next = max_i64(next, solutions[k].height);
  }
  int64_t shares = turns < 62 ? above >> turns : 0;
  Turn turn = {aim, {shares <= 1 ? left : left / shares}, shares <= 1};
  if (above > FEW && !aim.is_capacity) {
    turn.aim.goal = max_i64(aim.goal, next - solutions[p].bound / LEVELS);
    /* What is not needed for that is left to the others. */
    turn.is_last = shares <= 1 && turns > 0;
  }
  return turn;
}

/* Lowers the parts' solutions while there is work left, the highest first: nothing is gained by lowering one below
 * another that stays.  |bound|: no placement of all parts is lower; the one found by now is returned.  From |enough| on
 * there is nothing to gain. */
static int64_t improve_parts(Solver *solver, PartSolution *solutions, int64_t count, PartAim aim, int64_t enough,
                             int64_t bound) {
  int turns = 0; /* in which the highest part did not come down */
  for (int64_t stuck = -1;;) {
    int64_t p = highest_solution(solutions, count, aim.goal);
    if (bound >= enough) break;
    if (p < 0 || solutions[p].height <= solutions[p].bound || solver->work.left <= 0) break;
    int64_t before = solutions[p].height;
    turns = p == stuck ? turns + 1 : 0;
    Turn turn = next_turn(solutions, count, p, aim, solver->work.left, turns);
    solver->work.left -= turn.work.left;
    part_solution_improve(&solutions[p], turn.aim, &turn.work);
    solver->work.left += turn.work.left;
    bound = max_i64(bound, solutions[p].bound);
    if (!aim.is_capacity) aim.goal = max_i64(aim.goal, bound);
    if (solutions[p].height == before && turn.is_last) break;
    stuck = solutions[p].height == before ? p : -1;
  }
  return bound;
}

/* Places the items whose regions[] is |region| in it; their offsets go to |offsets|.  Region 0: as low as the work
 * allows, SEARCH_FOUND; |out_bound|: no placement of these items is lower.  Others: within their capacity, or
 * SEARCH_NONE (proved impossible) or SEARCH_LIMIT. */
static SearchResult solve_region(Solver *solver, const int32_t *regions, int32_t region, int64_t *offsets,
                                 int64_t *out_height, int64_t *out_bound) {
  const Instance *instance = solver->instance;
  Arena *scratch = arena_create();
  int32_t *chosen = ARENA_NEW_ARRAY(scratch, int32_t, instance->item_count + 1), count = 0;
  for (int32_t i = 0; i < instance->item_count; i++) {
    if (regions[i] != region) continue;
    chosen[count++] = i;
    offsets[i] = instance->items[i].pin;
  }
  PartArray parts = {0};
  SearchResult result = SEARCH_FOUND;
  if (!part_split(scratch, instance, chosen, count, region_base(solver, region), MOST_PINNED_PAIRS, &parts)) {
    arena_destroy(scratch);
    return SEARCH_LIMIT;
  }
  PartAim aim = solver->aim;
  if (region > 0) aim = (PartAim){solver->problem->regions[region].capacity, true};
  PartSolution *solutions = ARENA_NEW_ARRAY(scratch, PartSolution, parts.count + 1);
  int64_t bound = 0;
  for (int64_t p = 0; p < parts.count; p++) bound = max_i64(bound, parts.data[p].bound);
  aim.goal = max_i64(aim.goal, aim.is_capacity ? 0 : bound);
  for (int64_t p = 0; p < parts.count; p++)
    solutions[p] = part_solution_first(scratch, &parts.data[p], aim.goal, &solver->work);
  bound = improve_parts(solver, solutions, parts.count, aim, region == 0 ? solver->standing : INT64_MAX, bound);
  *out_height = 0;
  for (int64_t p = 0; p < parts.count; p++) {
    for (int32_t i = 0; i < parts.data[p].item_count; i++) offsets[parts.data[p].number[i]] = solutions[p].offsets[i];
    *out_height = max_i64(*out_height, solutions[p].height);
    bound = max_i64(bound, solutions[p].bound);
  }
  *out_bound = bound;
  if (region > 0 && *out_height > solver->problem->regions[region].capacity)
    result = bound > solver->problem->regions[region].capacity ? SEARCH_NONE : SEARCH_LIMIT;
  arena_destroy(scratch);
  return result;
}

/* ---- the choice of regions ---- */

/* Takes |regions| if it gives a lower layout than |best|; false when it cannot be said that it does not. */
static bool try_regions(Solver *solver, const int32_t *regions, Layout *best) {
  const Instance *instance = solver->instance;
  Arena *scratch = arena_create();
  int64_t *offsets = ARENA_NEW_ARRAY(scratch, int64_t, instance->item_count + 1), height, bound;
  bool is_sure = true, fits = true;
  for (int32_t r = 1; r < solver->problem->region_count && fits; r++) {
    SearchResult result = solve_region(solver, regions, r, offsets, &height, &bound);
    fits = result == SEARCH_FOUND;
    is_sure &= result != SEARCH_LIMIT;
  }
  if (fits) {
    SearchResult result = solve_region(solver, regions, 0, offsets, &height, &bound);
    bool is_beyond = solver->aim.is_capacity && bound > solver->aim.goal;
    is_sure &= result == SEARCH_FOUND && (height == bound || is_beyond || bound >= best->height);
    if (result == SEARCH_FOUND && height < best->height) {
      best->height = height;
      memcpy(best->regions, regions, (size_t)instance->item_count * sizeof(int32_t));
      memcpy(best->offsets, offsets, (size_t)instance->item_count * sizeof(int64_t));
    }
  }
  arena_destroy(scratch);
  return is_sure;
}

static int64_t choice_count(const Instance *instance) {
  int64_t count = 1;
  for (int32_t i = 0; i < instance->item_count && count <= MOST_CHOICES; i++)
    count *= __builtin_popcountll(instance->items[i].regions);
  return count;
}

/* Tries |regions| with a share of the work, since |choices| of them are left. */
static bool try_share(Solver *solver, const int32_t *regions, int64_t choices, Layout *best) {
  int64_t share = solver->work.left / (choices / SHARES + 1), kept = solver->work.left - share;
  solver->work.left = share;
  bool is_sure = try_regions(solver, regions, best);
  solver->work.left += kept;
  return is_sure;
}

/* Every choice for the items from |i| on; |choices|: how many are left in all.  True when the best one is proved. */
static bool try_all_regions(Solver *solver, int32_t *regions, int32_t i, int64_t *choices, Layout *best) {
  const Instance *instance = solver->instance;
  if (best->height <= max_i64(best->bound, solver->aim.goal)) return true;
  if (i == instance->item_count) return try_share(solver, regions, (*choices)--, best);
  bool is_sure = true;
  for (int32_t r = 0; r < max_i64(1, solver->problem->region_count); r++) {
    if (!may_be_in(&instance->items[i], r)) continue;
    regions[i] = r;
    is_sure &= try_all_regions(solver, regions, i + 1, choices, best);
  }
  return is_sure;
}

/* A guest, and what is in its way where it may go. */
typedef struct Guests {
  const Solver *solver;
  int32_t **in_region; /* by region: items placed there */
  int32_t *counts;
  int64_t *offsets;
} Guests;

int64_t lowest_room(const Solver *solver, Work *work, int32_t i, int32_t region, const RegionGuests *guests) {
  const Item *items = solver->instance->items;
  int64_t base = region_base(solver, region), capacity = solver->problem->regions[region].capacity;
  int64_t offset = items[i].pin >= 0 ? items[i].pin : align_up(base, items[i].alignment) - base;
  for (int32_t g = 0; g < guests->count; g++) {
    int32_t other = guests->items[g];
    int64_t taken = item_size_at(&items[other], &items[i]);
    if (work->left-- < 0) return -1;
    if (taken == 0 || guests->offsets[other] + taken <= offset ||
        offset + item_size_at(&items[i], &items[other]) <= guests->offsets[other])
      continue;
    if (items[i].pin >= 0) return -1;
    offset = align_up(base + guests->offsets[other] + taken, items[i].alignment) - base;
    g = -1; /* those passed may be in the way now */
  }
  return offset + items[i].size <= capacity ? offset : -1;
}

static int64_t room_in(Guests *guests, Work *work, int32_t i, int32_t region) {
  RegionGuests here = {guests->in_region[region], guests->counts[region], guests->offsets};
  return lowest_room(guests->solver, work, i, region, &here);
}

/* Pinned ones, then those that must be elsewhere, then the largest. */
static int compare_guest(const void *left, const void *right, void *context) {
  const Instance *instance = context;
  int32_t i = *(const int32_t *)left, k = *(const int32_t *)right;
  const Item *a = &instance->items[i], *b = &instance->items[k];
  if ((a->pin >= 0) != (b->pin >= 0)) return a->pin >= 0 ? -1 : 1;
  if (may_be_in(a, 0) != may_be_in(b, 0)) return may_be_in(a, 0) ? 1 : -1;
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return i < k ? -1 : 1;
}

/* Which region a guest goes to, of those that have room for it.  In this order: of placements of one height that with
 * the fewest guests is taken. */
typedef enum GuestChoice {
  GUESTS_THAT_MUST, /* the first one, and only what may not lie in region 0 */
  GUESTS_AT_PEAKS,  /* only what must, and more where region 0 is fullest */
  GUESTS_IN_ORDER,  /* the first one */
  GUESTS_IN_RAREST, /* the one that the fewest may lie in */
  GUESTS_RELIEVED,  /* as in the best layout so far, changed where region 0 is fullest */
  GUEST_CHOICES
} GuestChoice;

static int compare_rarity(const void *left, const void *right, void *context) {
  const int32_t *takers = context;
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  if (takers[a] != takers[b]) return takers[a] < takers[b] ? -1 : 1;
  return a < b ? -1 : 1;
}

/* The regions but 0, as |choice| tries them. */
static void order_regions(const Solver *solver, GuestChoice choice, int32_t *out_order) {
  int32_t takers[PACKING_MOST_REGIONS] = {0}, count = (int32_t)solver->problem->region_count;
  for (int32_t r = 1; r < count; r++) {
    out_order[r - 1] = r;
    for (int32_t i = 0; i < solver->instance->item_count; i++)
      takers[r] += may_be_in(&solver->instance->items[i], r) && solver->instance->items[i].pin < 0;
  }
  if (choice == GUESTS_IN_RAREST && count > 2)
    qsort_r(out_order, (size_t)count - 1, sizeof(int32_t), compare_rarity, takers);
}

/* Sends to the other regions what fits there as it comes; what does not stays in region 0 if it may, in its first
 * region otherwise. */
static void send_guests(Solver *solver, GuestChoice choice, int32_t *regions, int64_t *offsets) {
  const Instance *instance = solver->instance;
  int32_t region_count = (int32_t)solver->problem->region_count, count = instance->item_count;
  Arena *scratch = arena_create();
  Guests guests = {solver, ARENA_NEW_ARRAY(scratch, int32_t *, region_count + 1),
                   ARENA_NEW_ARRAY(scratch, int32_t, region_count + 1), offsets};
  int32_t *order = ARENA_NEW_ARRAY(scratch, int32_t, count + 1);
  for (int32_t r = 0; r < region_count; r++) guests.in_region[r] = ARENA_NEW_ARRAY(scratch, int32_t, count + 1);
  for (int32_t i = 0; i < count; i++) order[i] = i;
  if (count > 1) qsort_r(order, (size_t)count, sizeof(int32_t), compare_guest, (void *)(uintptr_t)instance);
  int32_t tried[PACKING_MOST_REGIONS];
  order_regions(solver, choice, tried);
  for (int32_t k = 0; k < count; k++) {
    int32_t i = order[k];
    const Item *item = &instance->items[i];
    regions[i] = __builtin_ctzll(item->regions);
    if (choice <= GUESTS_AT_PEAKS && may_be_in(item, 0)) continue;
    for (int32_t n = 0; n < region_count - 1; n++) {
      int32_t r = tried[n];
      if (!may_be_in(item, r)) continue;
      int64_t offset = room_in(&guests, &solver->work, i, r);
      if (offset < 0) continue;
      guests.offsets[i] = offset;
      guests.in_region[r][guests.counts[r]++] = i;
      regions[i] = r;
      break;
    }
  }
  arena_destroy(scratch);
}

/* Regions for all items, by |choice|. */
static void choose_guests(Solver *solver, GuestChoice choice, const Layout *best, int32_t *regions) {
  Arena *scratch = arena_create();
  int32_t count = solver->instance->item_count;
  int64_t *offsets = ARENA_NEW_ARRAY(scratch, int64_t, count + 1);
  if (choice == GUESTS_RELIEVED && best->height < INT64_MAX) {
    memcpy(regions, best->regions, (size_t)count * sizeof *regions);
    memcpy(offsets, best->offsets, (size_t)count * sizeof *offsets);
  } else {
    send_guests(solver, choice, regions, offsets);
  }
  if (choice == GUESTS_RELIEVED || choice == GUESTS_AT_PEAKS) relieve_fullest(solver, best->bound, regions, offsets);
  arena_destroy(scratch);
}

/* Whether what is pinned in |region| leaves a place for item |i| at all. */
static bool has_room(Guests *guests, Work *work, int32_t i, int32_t region) {
  return room_in(guests, work, i, region) >= 0 || work->left < 0;
}

/* Strikes from each item's regions those in which pinned items leave no room for it, unless nothing is left then. */
static void strike_regions(Solver *solver) {
  const Instance *instance = solver->instance;
  int32_t region_count = (int32_t)solver->problem->region_count, count = instance->item_count;
  Arena *scratch = arena_create();
  Guests guests = {solver, ARENA_NEW_ARRAY(scratch, int32_t *, region_count + 1),
                   ARENA_NEW_ARRAY(scratch, int32_t, region_count + 1), ARENA_NEW_ARRAY(scratch, int64_t, count + 1)};
  for (int32_t r = 1; r < region_count; r++) {
    guests.in_region[r] = ARENA_NEW_ARRAY(scratch, int32_t, count + 1);
    for (int32_t i = 0; i < count; i++) {
      if (instance->items[i].pin < 0 || !may_be_in(&instance->items[i], r)) continue;
      guests.offsets[i] = instance->items[i].pin;
      guests.in_region[r][guests.counts[r]++] = i;
    }
  }
  for (int32_t i = 0; i < count; i++) {
    Item *item = &instance->items[i];
    uint64_t left = item->regions;
    for (int32_t r = 1; r < region_count && item->pin < 0; r++) {
      if (may_be_in(item, r) && !has_room(&guests, &solver->work, i, r)) left &= ~(UINT64_C(1) << r);
    }
    if (left != 0) item->regions = left;
  }
  arena_destroy(scratch);
}

Status solve_layout(Solver *solver, Layout *out_layout) {
  const Instance *instance = solver->instance;
  strike_regions(solver);
  Layout best = {.regions = ARENA_NEW_ARRAY(solver->arena, int32_t, instance->item_count + 1),
                 .offsets = ARENA_NEW_ARRAY(solver->arena, int64_t, instance->item_count + 1),
                 .height = INT64_MAX,
                 .bound = layout_bound(solver)};
  int32_t *regions = ARENA_NEW_ARRAY(solver->arena, int32_t, instance->item_count + 1);
  if (!solver->aim.is_capacity) solver->aim.goal = best.bound;
  bool is_proved;
  if (solver->problem->region_count <= 1) {
    if (solve_region(solver, regions, 0, best.offsets, &best.height, &best.bound) != SEARCH_FOUND)
      best.height = INT64_MAX;
    is_proved = false; /* |bound| says it */
  } else {
    int64_t choices = choice_count(instance);
    bool is_few = choices <= min_i64(MOST_CHOICES, solver->work.left / CHOICE_STEPS);
    for (int c = 0; c < GUEST_CHOICES && best.height > best.bound; c++) {
      choose_guests(solver, (GuestChoice)c, &best, regions);
      (void)try_share(solver, regions, is_few ? choices : SHARES * (GUEST_CHOICES - 1 - c), &best);
    }
    is_proved = is_few && try_all_regions(solver, regions, 0, &choices, &best);
  }
  if (best.height == INT64_MAX)
    return diag_error(solver->diag, STATUS_EXHAUSTED, NO_LOC, "packing-region",
                      is_proved ? "buffers that may not lie in region 0 have no place"
                                : "no place was found for buffers that may not lie in region 0");
  /* Within a capacity the search ends at the first layout that fits, and where none does at the proof of that. */
  if (is_proved && !solver->aim.is_capacity) best.bound = best.height;
  if (is_proved && best.height > solver->aim.goal) best.bound = max_i64(best.bound, solver->aim.goal + 1);
  *out_layout = best;
  return STATUS_OK;
}
