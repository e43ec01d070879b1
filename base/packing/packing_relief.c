/* Guests where they count: region 0's fullest times give items away to other regions, whose guests of other times come
 * back for them. */
#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing_regions.h"

/* Regions and offsets under change, and what is alive in region 0. */
typedef struct Relief {
  Solver *solver;
  const Item *items;
  int32_t count, sections;
  int32_t *regions;
  int64_t *offsets;
  int64_t *live;     /* by section, in region 0 */
  int64_t *returned; /* by section: of a move that is weighed, 0 otherwise */
} Relief;

/* Item |item| moves to |region| at |offset|; what lies in its way there returns to region 0. */
typedef struct Move {
  int32_t item, region;
  int64_t offset;
  int64_t peak; /* the most that is alive in region 0 while those that return are; the least is best */
} Move;

static void add_spans(int64_t *bytes, const Item *item, int64_t sign) {
  for (int32_t s = 0; s < item->span_count; s++) {
    for (int32_t t = item->spans[s].lower; t < item->spans[s].upper; t++) bytes[t] += sign * item->spans[s].size;
  }
}

static bool is_alive(const Item *item, int32_t t) {
  return item_alive_bytes(item, t) > 0;
}

/* Whether item |i| at |offset| in its region shares bytes with the guest |other|. */
static bool collides(const Relief *relief, int32_t i, int64_t offset, int32_t other) {
  const Item *items = relief->items;
  int64_t taken = item_size_at(&items[other], &items[i]);
  return taken > 0 && relief->offsets[other] + taken > offset &&
         offset + item_size_at(&items[i], &items[other]) > relief->offsets[other];
}

/* The most that would be alive in region 0 in the spans of |item|, with |gone| in another region. */
static int64_t most_alive(const Relief *relief, const Item *item, const Item *gone) {
  int64_t most = 0;
  for (int32_t s = 0; s < item->span_count; s++) {
    for (int32_t t = item->spans[s].lower; t < item->spans[s].upper; t++) {
      most = max_i64(most, relief->live[t] + relief->returned[t] - item_alive_bytes(gone, t));
    }
  }
  return most;
}

/* The peak of |move|; INT64_MAX: something in its way has to stay. */
static int64_t peak_of_move(Relief *relief, const Move *move) {
  const Item *items = relief->items, *item = &items[move->item];
  int64_t peak = 0;
  for (int32_t turn = 0; turn < 3; turn++) { /* those in the way return, are weighed together, and are as before */
    for (int32_t k = 0; k < relief->count; k++) {
      if (relief->regions[k] != move->region || !collides(relief, move->item, move->offset, k)) continue;
      relief->solver->work.left -= 1 + items[k].upper - items[k].lower;
      if (items[k].pin >= 0 || (items[k].regions & 1) == 0) return INT64_MAX;
      if (turn == 1) peak = max_i64(peak, most_alive(relief, &items[k], item));
      if (turn != 1) add_spans(relief->returned, &items[k], turn == 0 ? 1 : -1);
    }
    relief->solver->work.left -= relief->count;
  }
  return peak;
}

/* |best| becomes |move| at |offset| if that is better. */
static void weigh(Relief *relief, Move move, int64_t offset, Move *best) {
  const PackingRegion *region = &relief->solver->problem->regions[move.region];
  const Item *item = &relief->items[move.item];
  move.offset = align_up(region->base + max_i64(offset, 0), item->alignment) - region->base;
  if (move.offset > region->capacity - item->size) return;
  move.peak = peak_of_move(relief, &move);
  if (move.peak < best->peak) *best = move;
}

/* The best place for item |i| in |region|: at its beginning, or beside one of its guests. */
static void weigh_region(Relief *relief, int32_t i, int32_t region, Move *best) {
  const Item *item = &relief->items[i];
  Move move = {.item = i, .region = region};
  weigh(relief, move, 0, best);
  for (int32_t k = 0; k < relief->count && best->peak > 0 && relief->solver->work.left > 0; k++) {
    if (relief->regions[k] != region || item_size_at(&relief->items[k], item) == 0) continue;
    weigh(relief, move, relief->offsets[k] + relief->items[k].size, best);
    int64_t below = relief->offsets[k] - item->size;
    if (below > 0) weigh(relief, move, below - below % item->alignment, best);
  }
}

static void apply(Relief *relief, const Move *move) {
  for (int32_t k = 0; k < relief->count; k++) {
    if (relief->regions[k] != move->region || !collides(relief, move->item, move->offset, k)) continue;
    relief->regions[k] = 0;
    add_spans(relief->live, &relief->items[k], 1);
  }
  relief->regions[move->item] = move->region;
  relief->offsets[move->item] = move->offset;
  add_spans(relief->live, &relief->items[move->item], -1);
}

/* The first of the fullest sections. */
static int32_t fullest_section(const Relief *relief) {
  int32_t fullest = 0;
  for (int32_t t = 1; t < relief->sections; t++) {
    if (relief->live[t] > relief->live[fullest]) fullest = t;
  }
  return fullest;
}

/* One item less in the fullest section, and none as full that was not; false where there is no such move.  Of moves
 * without anything in the way the largest item's. */
static bool relieve(Relief *relief, int32_t fullest) {
  Move best = {.item = -1, .peak = relief->live[fullest]};
  int32_t region_count = (int32_t)relief->solver->problem->region_count;
  for (int32_t i = 0; i < relief->count && relief->solver->work.left > 0; i++) {
    const Item *item = &relief->items[i];
    if (relief->regions[i] != 0 || item->pin >= 0 || item->regions == 1 || !is_alive(item, fullest)) continue;
    if (best.peak == 0 && item->size <= relief->items[best.item].size) continue;
    Move its = {.item = -1, .peak = relief->live[fullest]};
    for (int32_t r = 1; r < region_count && its.peak > 0; r++) {
      if ((item->regions >> r & 1) != 0) weigh_region(relief, i, r, &its);
    }
    if (its.item >= 0 && its.peak <= best.peak) best = its;
  }
  if (best.item < 0) return false;
  apply(relief, &best);
  return true;
}

/* --- a region filled anew --- */

enum { MOST_FILLING = 64, MOST_FILLINGS = 512 };

/* Items that fill a region together: one more than another filling. */
typedef struct Filling {
  int64_t bytes;
  int32_t item, rest; /* the other filling; 0 has nothing */
} Filling;

/* Longest first: of fillings of one size that is found first which returns least often. */
static int compare_life(const void *left, const void *right, void *context) {
  const Item *items = context, *a = &items[*(const int32_t *)left], *b = &items[*(const int32_t *)right];
  int32_t a_life = a->upper - a->lower, b_life = b->upper - b->lower;
  if (a_life != b_life) return a_life > b_life ? -1 : 1;
  return a->first_slot < b->first_slot ? -1 : 1;
}

/* What may fill |region| in section |t|; the first |MOST_FILLING|, longest first. */
static int32_t find_filling(const Relief *relief, int32_t region, int32_t t, int32_t *out_items) {
  int32_t count = 0;
  for (int32_t i = 0; i < relief->count && count < MOST_FILLING; i++) {
    const Item *item = &relief->items[i];
    bool is_near = relief->regions[i] == 0 || relief->regions[i] == region;
    if (item->pin < 0 && is_near && (item->regions & 1) != 0 && (item->regions >> region & 1) != 0 && is_alive(item, t))
      out_items[count++] = i;
  }
  if (count > 1) qsort_r(out_items, (size_t)count, sizeof *out_items, compare_life, (void *)(uintptr_t)relief->items);
  return count;
}

/* The fullest filling of |capacity| bytes, from its last item on, in |fillings|; its index. */
static int32_t fullest_filling(const Relief *relief, const int32_t *items, int32_t count, int64_t capacity,
                               Filling *fillings) {
  int32_t found = 1, best = 0;
  fillings[0] = (Filling){0};
  for (int32_t k = 0; k < count; k++) {
    for (int32_t f = 0, known = found; f < known && found < MOST_FILLINGS; f++) {
      int64_t bytes = fillings[f].bytes + relief->items[items[k]].size;
      bool is_new = bytes <= capacity;
      for (int32_t other = 0; other < found && is_new; other++) is_new = fillings[other].bytes != bytes;
      if (!is_new) continue;
      fillings[found] = (Filling){bytes, items[k], f};
      if (bytes > fillings[best].bytes) best = found;
      found++;
    }
    relief->solver->work.left -= (int64_t)found * found;
  }
  return best;
}

/* Fills |region| in section |t| with as many bytes as it can hold of what is alive then; false when that is impossible.
 * What it held then returns. */
static bool fill(Relief *relief, int32_t region, int32_t t, Arena *scratch) {
  int32_t items[MOST_FILLING];
  Filling *fillings = ARENA_NEW_ARRAY(scratch, Filling, MOST_FILLINGS);
  RegionGuests stays = {ARENA_NEW_ARRAY(scratch, int32_t, relief->count), 0, relief->offsets};
  int64_t room = relief->solver->problem->regions[region].capacity;
  int32_t count = find_filling(relief, region, t, items);
  for (int32_t i = 0; i < relief->count; i++) {
    bool has_to_stay = relief->items[i].pin >= 0 || (relief->items[i].regions & 1) == 0;
    if (relief->regions[i] != region || !has_to_stay) continue;
    stays.items[stays.count++] = i;
    room -= item_alive_bytes(&relief->items[i], t);
  }
  int32_t chosen = fullest_filling(relief, items, count, room, fillings), first = MOST_FILLING;
  for (int32_t k = 0; k < count; k++) {
    if (relief->regions[items[k]] == region) add_spans(relief->live, &relief->items[items[k]], 1);
    relief->regions[items[k]] = 0;
  }
  for (int32_t f = chosen; f != 0; f = fillings[f].rest)
    items[--first] = fillings[f].item; /* the longest comes first */
  for (int32_t k = first; k < MOST_FILLING; k++) {
    Move move = {.item = items[k], .region = region};
    move.offset = lowest_room(relief->solver, &relief->solver->work, items[k], region, &stays);
    if (move.offset < 0) return false;
    apply(relief, &move);
    stays.items[stays.count++] = items[k];
  }
  return true;
}

/* How many sections have |bytes| in region 0. */
static int32_t sections_with(const Relief *relief, int64_t bytes) {
  int32_t count = 0;
  for (int32_t t = 0; t < relief->sections; t++) count += relief->live[t] == bytes;
  return count;
}

/* What returned finds other places until no section has more than |peak|, or as many as |sections| have as much; false
 * where it does not. */
static bool settle(Relief *relief, int64_t peak, int32_t sections) {
  for (;;) {
    int32_t fullest = fullest_section(relief);
    if (relief->live[fullest] < peak) return true;
    if (relief->live[fullest] == peak && sections_with(relief, peak) < sections) return true;
    if (relief->solver->work.left <= 0 || !relieve(relief, fullest)) return false;
  }
}

/* Less in the fullest section, or fewer as full, by one region filled anew. */
static bool refill(Relief *relief, int32_t fullest) {
  Arena *scratch = arena_create();
  size_t count = (size_t)relief->count;
  int32_t *regions = ARENA_COPY_ARRAY(scratch, int32_t, relief->regions, relief->count);
  int64_t *offsets = ARENA_COPY_ARRAY(scratch, int64_t, relief->offsets, relief->count);
  int64_t *live = ARENA_COPY_ARRAY(scratch, int64_t, relief->live, relief->sections);
  int64_t peak = live[fullest];
  int32_t sections = sections_with(relief, peak);
  bool is_better = false;
  for (int32_t r = 1; r < (int32_t)relief->solver->problem->region_count && !is_better; r++) {
    is_better = fill(relief, r, fullest, scratch) && settle(relief, peak, sections);
    relief->solver->work.left -= relief->count + relief->sections;
    if (is_better) break;
    memcpy(relief->regions, regions, count * sizeof *regions);
    memcpy(relief->offsets, offsets, count * sizeof *offsets);
    memcpy(relief->live, live, (size_t)relief->sections * sizeof *live);
  }
  arena_destroy(scratch);
  return is_better;
}

void relieve_fullest(Solver *solver, int64_t goal, int32_t *regions, int64_t *offsets) {
  const Instance *instance = solver->instance;
  Arena *scratch = arena_create();
  Relief relief = {.solver = solver,
                   .items = instance->items,
                   .count = instance->item_count,
                   .sections = instance->section_count,
                   .regions = regions,
                   .offsets = offsets,
                   .live = ARENA_NEW_ARRAY(scratch, int64_t, instance->section_count + 1),
                   .returned = ARENA_NEW_ARRAY(scratch, int64_t, instance->section_count + 1)};
  for (int32_t i = 0; i < relief.count; i++) {
    if (regions[i] == 0) add_spans(relief.live, &instance->items[i], 1);
  }
  bool is_changing = relief.sections > 0;
  while (is_changing && solver->work.left > 0) {
    int32_t fullest = fullest_section(&relief);
    is_changing = relief.live[fullest] > goal && (relieve(&relief, fullest) || refill(&relief, fullest));
  }
  arena_destroy(scratch);
}
