/* packing_solve and packing_verify against their definition: every moment, every address, every choice. */
#include <string.h>

#include "base/checked_math.h"
#include "base/fixture_testing.h"
#include "base/packing/packing.h"

enum { MOST_BUFFERS = 7, MOST_SLOTS = 16, MOST_GAPS = 2, LAST_TIME = 12, TALLEST = 100 };

typedef struct Example {
  PackingProblem problem;
  PackingBuffer buffers[MOST_BUFFERS];
  PackingGap gaps[MOST_BUFFERS][MOST_GAPS];
  PackingRegion regions[3];
  /* By slot, from the definition. */
  int slot_count;
  int buffer_of_slot[MOST_SLOTS];
  int64_t live;          /* the most bytes alive at one time of the straight line that can only be in region 0 */
  int order[MOST_SLOTS]; /* in which they are placed: first what has the least choice */
  bool meets[MOST_SLOTS][MOST_SLOTS];
} Example;

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

static int64_t below(uint64_t *seed, int64_t limit) {
  return (int64_t)(next_random(seed) % (uint64_t)limit);
}

/* ---- who meets whom ---- */

static bool is_alive_at(const PackingBuffer *buffer, int64_t time) {
  if (time < buffer->lower || time >= buffer->upper) return false;
  for (int64_t g = 0; g < buffer->gap_count; g++) {
    if (buffer->gaps[g].lower <= time && time < buffer->gaps[g].upper) return false;
  }
  return true;
}

/* Slot |k| of |buffer| at |time| of the steady state, iteration 0 of which started at time 0. */
static bool is_alive_in_loop(const Example *example, const PackingBuffer *buffer, int64_t k, int64_t time) {
  const PackingLoop *loop = &example->problem.loop;
  if (buffer->depth == 0) {
    for (int64_t t = loop->lower; t < loop->upper; t++) {
      if (is_alive_at(buffer, t)) return true;
    }
    return false;
  }
  for (int64_t i = -40; i < 80; i++) {
    int64_t slot = (i % buffer->depth + buffer->depth) % buffer->depth;
    if (slot == k && is_alive_at(buffer, time - i * loop->period)) return true;
  }
  return false;
}

static bool slots_meet(const Example *example, int a, int b, const int64_t *index) {
  const PackingBuffer *x = &example->buffers[example->buffer_of_slot[a]];
  const PackingBuffer *y = &example->buffers[example->buffer_of_slot[b]];
  const PackingLoop *loop = &example->problem.loop;
  if (x->size == 0 || y->size == 0) return false;
  if (x->depth == 0 && y->depth == 0) {
    for (int64_t t = -2; t < 2 * LAST_TIME; t++) {
      bool outside = loop->period == 0 || t < loop->lower || t >= loop->upper;
      if (outside && is_alive_at(x, t) && is_alive_at(y, t)) return true;
    }
  }
  for (int64_t t = 0; loop->period > 0 && t < 12 * loop->period; t++) { /* 12: a multiple of 1, 2, 3 and 4 */
    if (is_alive_in_loop(example, x, index[a], t) && is_alive_in_loop(example, y, index[b], t)) return true;
  }
  return false;
}

static void list_slots(Example *example) {
  int64_t index[MOST_SLOTS];
  example->slot_count = 0;
  for (int i = 0; i < example->problem.count; i++) {
    for (int64_t k = 0; k < max_i64(1, example->buffers[i].depth); k++) {
      index[example->slot_count] = k;
      example->buffer_of_slot[example->slot_count++] = i;
    }
  }
  for (int a = 0; a < example->slot_count; a++) {
    for (int b = 0; b < example->slot_count; b++) example->meets[a][b] = a != b && slots_meet(example, a, b, index);
  }
}

/* ---- the least height ---- */

static int64_t capacity_of(const Example *example, int region, int64_t height) {
  return region == 0 ? height : example->regions[region].capacity;
}

/* Whether |slot| may be there, given those that are |placed|. */
static bool may_be_at(const Example *example, int slot, int region, int64_t offset, int64_t height, const int *placed,
                      int placed_count, const int *regions, const int64_t *offsets) {
  const PackingBuffer *buffer = &example->buffers[example->buffer_of_slot[slot]];
  uint64_t allowed = buffer->regions == 0 ? 1 : buffer->regions;
  if (buffer->size == 0) return offset == 0;
  if ((allowed >> region & 1) == 0 || offset + buffer->size > capacity_of(example, region, height)) return false;
  if ((example->regions[region].base + offset) % buffer->alignment != 0) return false;
  if (buffer->is_pinned && buffer->pin != offset) return false;
  for (int p = 0; p < placed_count; p++) {
    int slot_there = placed[p];
    const PackingBuffer *other = &example->buffers[example->buffer_of_slot[slot_there]];
    if (other->size == 0) continue;
    bool same = regions[slot_there] == region;
    if (buffer->group >= 0 && buffer->group == other->group && (!same || offsets[slot_there] != offset)) return false;
    bool apart = offset + buffer->size <= offsets[slot_there] || offsets[slot_there] + other->size <= offset;
    if (same && example->meets[slot][slot_there] && !apart) return false;
  }
  return true;
}

static bool fits(const Example *example, int count, int64_t height, int *regions, int64_t *offsets) {
  if (count == example->slot_count) return true;
  int slot = example->order[count];
  for (int r = 0; r < example->problem.region_count; r++) {
    for (int64_t offset = 0; offset <= capacity_of(example, r, height); offset++) {
      if (!may_be_at(example, slot, r, offset, height, example->order, count, regions, offsets)) continue;
      regions[slot] = r;
      offsets[slot] = offset;
      if (fits(example, count + 1, height, regions, offsets)) return true;
    }
  }
  return false;
}

/* How much choice a slot has: pinned ones, groups, those that must be elsewhere, the rest. */
static int freedom(const Example *example, int slot) {
  const PackingBuffer *buffer = &example->buffers[example->buffer_of_slot[slot]];
  return buffer->is_pinned ? 0 : buffer->group >= 0 ? 1 : buffer->regions > 1 && buffer->regions % 2 == 0 ? 2 : 3;
}

static int64_t most_live(const Example *example) {
  int64_t most = 0;
  for (int64_t t = 0; t < 2 * LAST_TIME; t++) {
    int64_t live = 0;
    for (int64_t i = 0; i < example->problem.count; i++) {
      const PackingBuffer *buffer = &example->buffers[i];
      if (buffer->depth == 0 && buffer->regions <= 1 && is_alive_at(buffer, t)) live += buffer->size;
    }
    most = max_i64(most, live);
  }
  return most;
}

static void order_slots(Example *example) {
  int count = 0;
  for (int f = 0; f < 4; f++) {
    for (int s = 0; s < example->slot_count; s++) {
      if (freedom(example, s) == f) example->order[count++] = s;
    }
  }
}

/* -1: nothing fits at all. */
static int64_t least_height(const Example *example) {
  int regions[MOST_SLOTS];
  int64_t offsets[MOST_SLOTS];
  if (!fits(example, 0, TALLEST, regions, offsets)) return -1;
  for (int64_t height = example->live;; height++) {
    if (fits(example, 0, height, regions, offsets)) return height;
  }
}

static bool is_valid(const Example *example, const PackingSolution *solution) {
  int regions[MOST_SLOTS];
  int64_t height = 0;
  for (int i = 0; i < example->slot_count; i++) {
    int s = example->order[i];
    int64_t size = example->buffers[example->buffer_of_slot[s]].size;
    regions[s] = solution->regions[s];
    if (size > 0 && (regions[s] < 0 || regions[s] >= example->problem.region_count)) return false;
    if (solution->offsets[s] < 0) return false;
    if (regions[s] == 0 && size > 0) height = max_i64(height, solution->offsets[s] + size);
    if (!may_be_at(example, s, regions[s], solution->offsets[s], INT64_MAX / 2, example->order, i, regions,
                   solution->offsets))
      return false;
  }
  return height == solution->height;
}

/* ---- examples ---- */

enum { WITH_PINS = 1, WITH_ALIGNMENT = 2, WITH_GAPS = 4, WITH_GROUPS = 8, WITH_REGIONS = 16, WITH_LOOP = 32 };

static void add_gaps(Example *example, uint64_t *seed, int i) {
  PackingBuffer *buffer = &example->buffers[i];
  int64_t from = buffer->lower + (below(seed, 4) > 0);
  buffer->gaps = example->gaps[i];
  while (buffer->gap_count < MOST_GAPS && from + 1 < buffer->upper) {
    int64_t upper = from + 1 + below(seed, min_i64(3, buffer->upper - from - 1));
    example->gaps[i][buffer->gap_count++] = (PackingGap){from, upper};
    from = upper + 1 + below(seed, 2);
    if (below(seed, 2) == 0) break;
  }
}

static void random_buffer(Example *example, uint64_t *seed, int features, int i) {
  static const int64_t ALIGNMENTS[] = {1, 1, 2, 4, 3};
  int64_t lower = below(seed, LAST_TIME - 4), depth = 0;
  PackingBuffer *buffer = &example->buffers[i];
  if ((features & WITH_LOOP) != 0 && example->slot_count < 4 && below(seed, 2) == 0) depth = 1 + below(seed, 4);
  int64_t longest = depth > 0 ? min_i64(8, depth * example->problem.loop.period) : 7;
  *buffer = (PackingBuffer){.id = 100 + i,
                            .lower = lower,
                            .upper = lower + 1 + below(seed, longest),
                            .size = below(seed, 12) == 0 ? 0 : 1 + below(seed, (features & WITH_LOOP) != 0 ? 3 : 5),
                            .alignment = 1,
                            .group = -1,
                            .depth = depth};
  if ((features & WITH_ALIGNMENT) != 0) buffer->alignment = ALIGNMENTS[below(seed, 5)];
  if ((features & WITH_GAPS) != 0 && below(seed, 2) == 0) add_gaps(example, seed, i);
  if ((features & WITH_REGIONS) != 0 && below(seed, 2) == 0)
    buffer->regions = (uint64_t)(1 + below(seed, (INT64_C(1) << example->problem.region_count) - 1));
  if ((features & WITH_PINS) != 0 && depth <= 1 && below(seed, 4) == 0) {
    buffer->is_pinned = true;
    buffer->pin = below(seed, 8);
    buffer->regions &= -buffer->regions;
    int64_t base = example->regions[buffer->regions <= 1 ? 0 : buffer->regions == 2 ? 1 : 2].base;
    while ((base + buffer->pin) % buffer->alignment != 0) buffer->pin++;
  }
  example->slot_count += (int)max_i64(1, depth);
}

/* Makes group 7 of buffers that may share: no depth, the same kind of place, apart in time. */
static void add_group(Example *example) {
  int members[MOST_SLOTS], count = 0;
  for (int s = 0; s < example->slot_count; s++) {
    PackingBuffer *buffer = &example->buffers[example->buffer_of_slot[s]];
    bool joins = buffer->depth == 0 && buffer->size > 0 && !(buffer->is_pinned && count > 0);
    for (int m = 0; m < count; m++) {
      const PackingBuffer *other = &example->buffers[example->buffer_of_slot[members[m]]];
      joins &= !example->meets[s][members[m]] && other->regions == buffer->regions && !other->is_pinned;
    }
    if (joins) members[count++] = s;
  }
  for (int m = 0; m < count; m++) example->buffers[example->buffer_of_slot[members[m]]].group = 7;
}

static void random_example(Example *example, uint64_t *seed, int features) {
  memset(example, 0, sizeof *example);
  int count = 1 + (int)below(seed, (features & WITH_LOOP) != 0 ? 5 : MOST_BUFFERS);
  example->problem = (PackingProblem){.buffers = example->buffers,
                                      .count = count,
                                      .regions = example->regions,
                                      .region_count = (features & WITH_REGIONS) != 0 ? 1 + below(seed, 3) : 1,
                                      .effort = 5};
  for (int r = 0; r < 3; r++) {
    example->regions[r].capacity = r == 0 ? INT64_MAX : below(seed, 8);
    if ((features & WITH_ALIGNMENT) != 0) example->regions[r].base = below(seed, 4);
  }
  if ((features & WITH_LOOP) != 0) example->problem.loop = (PackingLoop){3, 4 + below(seed, 4), 1 + below(seed, 4)};
  for (int i = 0; i < count; i++) random_buffer(example, seed, features, i);
  list_slots(example);
  if ((features & WITH_GROUPS) != 0) add_group(example);
  order_slots(example);
  example->live = most_live(example);
}

/* ---- tests ---- */

static bool is_proved(Fixture *fixture, const Example *example, const PackingSolution *solution) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  return packing_verify(fixture->arena, &example->problem, solution, &diag) == STATUS_OK;
}

/* One example with the least height that it can have. */
static void agree(Fixture *fixture, Example *example, uint64_t *seed) {
  PackingSolution solution, again;
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  int64_t least = least_height(example);
  Status status = packing_solve(fixture->arena, &example->problem, &diag, &solution);
  if (least < 0) {
    assert_int_not_equal(status, STATUS_OK);
    assert_true(diag.error_count > 0);
    return;
  }
  if (status != STATUS_OK) fail_msg("%s", diag.first->message.data);
  assert_true(is_valid(example, &solution));
  assert_true(is_proved(fixture, example, &solution));
  assert_int_equal(solution.height, least);
  assert_true(solution.is_optimal);
  assert_int_equal(solution.lower_bound, least);
  assert_int_equal(packing_solve(fixture->arena, &example->problem, &diag, &again), STATUS_OK);
  assert_memory_equal(solution.offsets, again.offsets, (size_t)example->slot_count * sizeof(int64_t));
  assert_int_equal(solution.work, again.work);
  /* With a capacity: reached if it can be, else proved. */
  int64_t capacity = max_i64(0, least - 2 + below(seed, 5));
  example->regions[0].capacity = capacity;
  assert_int_equal(packing_solve(fixture->arena, &example->problem, &diag, &solution), STATUS_OK);
  assert_true(is_proved(fixture, example, &solution));
  assert_int_equal(solution.height <= capacity, least <= capacity);
  if (least > capacity) assert_true(solution.lower_bound > capacity && solution.lower_bound <= least);
  example->regions[0].capacity = INT64_MAX;
}

static void agree_with(void **state, int features, int rounds) {
  Fixture *fixture = *state;
  Fixture round = *fixture;
  round.arena = arena_create();
  uint64_t seed = (uint64_t)features + 1;
  for (int i = 0; i < rounds; i++) {
    Example example;
    random_example(&example, &seed, features);
    agree(&round, &example, &seed);
    arena_reset(round.arena);
  }
  arena_destroy(round.arena);
}

static void solve_lifetimes_are_least(void **state) {
  agree_with(state, 0, 600);
}

static void solve_pinned_are_least(void **state) {
  agree_with(state, WITH_PINS, 600);
}

static void solve_aligned_are_least(void **state) {
  agree_with(state, WITH_ALIGNMENT, 600);
}

static void solve_gaps_are_least(void **state) {
  agree_with(state, WITH_GAPS, 600);
}

static void solve_groups_are_least(void **state) {
  agree_with(state, WITH_GROUPS, 600);
}

static void solve_regions_are_least(void **state) {
  agree_with(state, WITH_REGIONS, 600);
}

static void solve_rings_are_least(void **state) {
  agree_with(state, WITH_LOOP, 600);
}

static void solve_everything_is_least(void **state) {
  agree_with(state, WITH_PINS | WITH_ALIGNMENT | WITH_GAPS | WITH_GROUPS | WITH_REGIONS | WITH_LOOP, 1200);
}

/* ---- what the bound counts without a search ---- */

static PackingSolution solve(Fixture *fixture, PackingProblem problem) {
  PackingSolution solution;
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  assert_int_equal(packing_solve(fixture->arena, &problem, &diag, &solution), STATUS_OK);
  return solution;
}

static PackingSolution solve_in_one_step(Fixture *fixture, PackingProblem problem) {
  problem.most_steps = 1;
  return solve(fixture, problem);
}

/* Three of 100 bytes at multiples of 64 take 128 each but for the topmost; one of 4 bytes goes between. */
static void solve_bound_counts_alignment_of_some(void **state) {
  PackingBuffer buffers[4];
  for (int i = 0; i < 4; i++) buffers[i] = (PackingBuffer){i, 0, 2, i < 3 ? 100 : 4, i < 3 ? 64 : 4, .group = -1};
  PackingSolution solution = solve_in_one_step(*state, (PackingProblem){.buffers = buffers, .count = 4});
  assert_int_equal(solution.lower_bound, 356);
}

/* Of three of 40 bytes a region of 100 holds two, and of three of 60 one; what is pinned there takes its part. */
static void solve_bound_counts_what_regions_hold(void **state) {
  enum { COUNT = 4 };
  PackingRegion regions[] = {{.capacity = INT64_MAX}, {.capacity = 100}};
  PackingBuffer buffers[COUNT];
  PackingProblem problem = {.buffers = buffers, .count = COUNT - 1, .regions = regions, .region_count = 2};
  for (int i = 0; i < COUNT; i++) buffers[i] = (PackingBuffer){i, 0, 2, 40, 1, .group = -1, .regions = 3};
  buffers[3] = (PackingBuffer){3, 1, 2, 30, 1, .group = -1, .regions = 2, .is_pinned = true, .pin = 0};
  assert_int_equal(solve_in_one_step(*state, problem).lower_bound, 40);
  problem.count = COUNT;
  assert_int_equal(solve_in_one_step(*state, problem).lower_bound, 80);
  problem.count = COUNT - 1;
  for (int i = 0; i < 3; i++) buffers[i].size = 60;
  assert_int_equal(solve_in_one_step(*state, problem).lower_bound, 120);
}

/* Offsets of 60 bits and ranks of 10 do not fit one word together: dives compare them in larger units. */
static void solve_sizes_near_the_limit_as_small_ones(void **state) {
  enum { COUNT = 1000, SCALE = 44 };
  PackingBuffer *buffers = ARENA_NEW_ARRAY(((Fixture *)*state)->arena, PackingBuffer, COUNT);
  uint64_t seed = 5;
  int64_t heights[2];
  for (int large = 0; large < 2; large++) {
    for (int i = 0; i < COUNT; i++) {
      int64_t lower = below(&seed, 200);
      if (!large)
        buffers[i] = (PackingBuffer){i, lower, lower + 1 + below(&seed, 40), 1 + below(&seed, 90), 1, .group = -1};
      if (large) buffers[i].size <<= SCALE;
    }
    PackingProblem problem = {.buffers = buffers, .count = COUNT, .effort = 1};
    PackingSolution solution;
    DiagSink diag;
    diag_sink_init(&diag, ((Fixture *)*state)->arena);
    assert_int_equal(packing_solve(((Fixture *)*state)->arena, &problem, &diag, &solution), STATUS_OK);
    assert_int_equal(packing_verify(((Fixture *)*state)->arena, &problem, &solution, &diag), STATUS_OK);
    heights[large] = solution.height;
  }
  assert_int_equal(heights[0] << SCALE, heights[1]);
}

/* What may lie in two regions lies in one of them. */
static void solve_bound_counts_each_guest_once(void **state) {
  enum { COUNT = 4 };
  PackingRegion regions[] = {{.capacity = INT64_MAX}, {.capacity = 50}, {.capacity = 50}, {.capacity = 40}};
  PackingBuffer buffers[COUNT];
  for (int i = 0; i < COUNT; i++) {
    buffers[i] = (PackingBuffer){i, 0, 2, 40, 1, .group = -1, .regions = i == 0 ? 7 : 9};
  }
  PackingProblem problem = {.buffers = buffers, .count = COUNT, .regions = regions, .region_count = 4};
  assert_int_equal(solve_in_one_step(*state, problem).lower_bound, 80);
}

/* The first buffer may be in either region, the second one, which meets it, in the first alone; so many others that not
 * every choice is tried. */
static void solve_guests_leave_room_for_others(void **state) {
  enum { OTHERS = 13, COUNT = OTHERS + 3 };
  PackingRegion regions[] = {{.capacity = INT64_MAX}, {.capacity = 20}, {.capacity = 20}};
  PackingBuffer buffers[COUNT] = {{0, 0, 9, 20, 1, .group = -1, .regions = 7},
                                  {1, 5, 20, 20, 1, .group = -1, .regions = 7},
                                  {2, 10, 30, 20, 1, .group = -1, .regions = 4, .is_pinned = true, .pin = 0}};
  for (int i = 3; i < COUNT; i++) buffers[i] = (PackingBuffer){i, 100, 101, 1, 1, .group = -1, .regions = 3};
  PackingProblem problem = {.buffers = buffers, .count = COUNT, .regions = regions, .region_count = 3};
  PackingSolution solution = solve(*state, problem);
  assert_int_equal(solution.height, 0);
}

/* Guests that lower nothing are none: what is alive without the largest buffer fits below it. */
static void solve_guests_are_few(void **state) {
  enum { OTHERS = 13, COUNT = OTHERS + 2 };
  PackingRegion regions[] = {{.capacity = INT64_MAX}, {.capacity = 4}};
  PackingBuffer buffers[COUNT] = {{0, 0, 10, 20, 1, .group = -1, .regions = 3},
                                  {1, 5, 20, 4, 1, .group = -1, .regions = 3}};
  for (int i = 2; i < COUNT; i++) buffers[i] = (PackingBuffer){i, 20, 21, 1, 1, .group = -1, .regions = 3};
  PackingProblem problem = {.buffers = buffers, .count = COUNT, .regions = regions, .region_count = 2};
  PackingSolution solution = solve(*state, problem);
  assert_int_equal(solution.height, 20);
  for (int i = 0; i < COUNT; i++) assert_int_equal(solution.regions[i], i == 1);
}

/* A region of 7 is full with 4 and three of the ones; the 5, which is there longest, may be the guest at no time.  So
 * many others that not every choice is tried. */
static void solve_guests_fill_regions_where_most_is_alive(void **state) {
  enum { ONES = 8, OTHERS = 13, COUNT = ONES + 3 + OTHERS };
  PackingRegion regions[] = {{.capacity = INT64_MAX}, {.capacity = 7}};
  PackingBuffer buffers[COUNT] = {{0, 0, 30, 5, 1, .group = -1, .regions = 3},
                                  {1, 20, 40, 4, 1, .group = -1, .regions = 3},
                                  {2, 25, 28, 16, 1, .group = -1}};
  for (int i = 0; i < ONES; i++) buffers[3 + i] = (PackingBuffer){3 + i, i, 50, 1, 1, .group = -1, .regions = 3};
  for (int i = 3 + ONES; i < COUNT; i++) buffers[i] = (PackingBuffer){i, 100, 101, 1, 1, .group = -1, .regions = 3};
  PackingProblem problem = {.buffers = buffers, .count = COUNT, .regions = regions, .region_count = 2};
  PackingSolution solution = solve(*state, problem);
  assert_int_equal(solution.height, 5 + 4 + 16 + ONES - 7);
  assert_true(solution.is_optimal);
}

/* Of 1, 2 and 5 bytes a region of 4 holds 3; one of 1 holds the same 1, not another. */
static void solve_bound_counts_what_is_left_of_guests(void **state) {
  enum { COUNT = 3 };
  PackingRegion regions[] = {{.capacity = INT64_MAX}, {.capacity = 1}, {.capacity = 4}};
  PackingBuffer buffers[COUNT] = {{0, 0, 2, 1, 1, .group = -1, .regions = 7},
                                  {1, 0, 2, 2, 1, .group = -1, .regions = 5},
                                  {2, 0, 2, 5, 1, .group = -1, .regions = 5}};
  PackingProblem problem = {.buffers = buffers, .count = COUNT, .regions = regions, .region_count = 3};
  assert_int_equal(solve_in_one_step(*state, problem).lower_bound, 5);
}

static void verify_mutants_agrees_with_definition(void **state) {
  Fixture *fixture = *state;
  Arena *arena = arena_create();
  Fixture round = *fixture;
  round.arena = arena;
  uint64_t seed = 99;
  int rejected = 0, accepted = 0;
  for (int i = 0; i < 4000; i++) {
    Example example;
    PackingSolution solution;
    DiagSink diag;
    arena_reset(arena);
    diag_sink_init(&diag, arena);
    random_example(&example, &seed, (int)below(&seed, 64));
    if (packing_solve(arena, &example.problem, &diag, &solution) != STATUS_OK) continue;
    int64_t victim = below(&seed, example.slot_count), before = solution.height;
    if (below(&seed, 4) == 0)
      solution.regions[victim] = (int32_t)below(&seed, 3);
    else
      solution.offsets[victim] += below(&seed, 9) - 4;
    solution.height = 0;
    for (int s = 0; s < example.slot_count; s++) {
      int64_t size = example.buffers[example.buffer_of_slot[s]].size;
      if (solution.regions[s] == 0 && size > 0) solution.height = max_i64(solution.height, solution.offsets[s] + size);
    }
    solution.is_optimal = false;
    if (solution.height < before) continue; /* the bound of the solution is above it: said to be wrong for that alone */
    bool valid = is_valid(&example, &solution);
    assert_int_equal(is_proved(&round, &example, &solution), valid);
    accepted += valid;
    rejected += !valid;
  }
  arena_destroy(arena);
  assert_true(rejected > 500 && accepted > 500);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(solve_lifetimes_are_least),
      TEST(solve_pinned_are_least),
      TEST(solve_aligned_are_least),
      TEST(solve_gaps_are_least),
      TEST(solve_groups_are_least),
      TEST(solve_regions_are_least),
      TEST(solve_rings_are_least),
      TEST(solve_everything_is_least),
      TEST(verify_mutants_agrees_with_definition),
      TEST(solve_bound_counts_alignment_of_some),
      TEST(solve_bound_counts_what_regions_hold),
      TEST(solve_sizes_near_the_limit_as_small_ones),
      TEST(solve_bound_counts_each_guest_once),
      TEST(solve_guests_leave_room_for_others),
      TEST(solve_guests_are_few),
      TEST(solve_guests_fill_regions_where_most_is_alive),
      TEST(solve_bound_counts_what_is_left_of_guests),
  };
  return cmocka_run_group_tests_name("packing_solve", tests, NULL, NULL);
}
