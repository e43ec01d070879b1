#include "base/packing/packing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/checked_math.h"

typedef struct Fixture {
  Arena *arena;
  Arena *scratch; /* reset between instances */
  DiagSink diag;
} Fixture;

static int create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  fixture->scratch = arena_create();
  diag_sink_init(&fixture->diag, arena);
  *state = fixture;
  return 0;
}

static int destroy(void **state) {
  Fixture *fixture = *state;
  arena_destroy(fixture->scratch);
  arena_destroy(fixture->arena);
  return 0;
}

static PackingBuffer buffer_of(int64_t lower, int64_t upper, int64_t size) {
  return (PackingBuffer){.lower = lower, .upper = upper, .size = size, .alignment = 1, .group = -1};
}

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

static int64_t random_below(uint64_t *seed, int64_t limit) {
  return (int64_t)(next_random(seed) % (uint64_t)limit);
}

static bool meet(const PackingBuffer *a, const PackingBuffer *b) {
  return a->size > 0 && b->size > 0 && a->lower < b->upper && b->lower < a->upper;
}

/* ---- a second implementation, from the definition: all pairs, every address ---- */

static int64_t slow_lower_bound(const PackingBuffer *buffers, int64_t count) {
  int64_t bound = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t sum = 0; /* the live bytes when buffer i starts: the sum only rises at starts */
    for (int64_t j = 0; j < count; j++) {
      bool live = buffers[j].lower <= buffers[i].lower && buffers[i].lower < buffers[j].upper;
      if (live && buffers[i].size > 0) sum += buffers[j].size;
    }
    bound = max_i64(bound, sum);
  }
  return bound;
}

/* Whether address |at| is used by a buffer that is placed and meets one of |members|. */
static bool is_used(const PackingBuffer *buffers, int64_t count, const int64_t *offsets, const bool *placed,
                    const bool *members, int64_t at) {
  for (int64_t i = 0; i < count; i++) {
    for (int64_t m = 0; placed[i] && m < count; m++) {
      bool here = offsets[i] <= at && at < offsets[i] + buffers[i].size;
      if (members[m] && here && meet(&buffers[i], &buffers[m])) return true;
    }
  }
  return false;
}

static int64_t slow_best_gap(const PackingBuffer *buffers, int64_t count, const int64_t *offsets, const bool *placed,
                             const bool *members, int64_t size, int64_t alignment) {
  enum { TOP = 400 }; /* above all that the small instances can reach */
  int64_t best = -1, best_size = INT64_MAX;
  for (int64_t start = 0; start < TOP;) {
    if (is_used(buffers, count, offsets, placed, members, start)) {
      start++;
      continue;
    }
    int64_t end = start, aligned = align_up(start, alignment);
    while (end < TOP && !is_used(buffers, count, offsets, placed, members, end)) end++;
    int64_t gap = end == TOP ? INT64_MAX - 1 : end - aligned;
    if (gap >= size && gap < best_size) {
      best = aligned;
      best_size = gap;
    }
    start = end;
  }
  return best;
}

/* Best fit without groups, by the words of the header. */
static void slow_best_fit(const PackingBuffer *buffers, int64_t count, int64_t *offsets) {
  bool placed[16] = {false};
  for (int64_t round = 0; round < count; round++) {
    int64_t chosen = -1;
    for (int64_t i = 0; i < count; i++) {
      if (placed[i]) continue;
      int64_t length = buffers[i].upper - buffers[i].lower;
      bool better = chosen < 0 || buffers[i].size > buffers[chosen].size ||
                    (buffers[i].size == buffers[chosen].size && length > buffers[chosen].upper - buffers[chosen].lower);
      if (better) chosen = i;
    }
    bool members[16] = {false};
    members[chosen] = true;
    offsets[chosen] = 0;
    if (buffers[chosen].size > 0) {
      offsets[chosen] =
          slow_best_gap(buffers, count, offsets, placed, members, buffers[chosen].size, buffers[chosen].alignment);
    }
    placed[chosen] = true;
  }
}

static bool slow_is_valid(const PackingBuffer *buffers, int64_t count, const int64_t *offsets) {
  for (int64_t i = 0; i < count; i++) {
    if (offsets[i] < 0 || offsets[i] % buffers[i].alignment != 0) return false;
    for (int64_t j = 0; j < i; j++) {
      bool apart = offsets[i] + buffers[i].size <= offsets[j] || offsets[j] + buffers[j].size <= offsets[i];
      if (meet(&buffers[i], &buffers[j]) && !apart) return false;
      bool together = buffers[i].group >= 0 && buffers[i].group == buffers[j].group;
      if (together && buffers[i].size > 0 && buffers[j].size > 0 && offsets[i] != offsets[j]) return false;
    }
  }
  return true;
}

static int64_t slow_height(const PackingBuffer *buffers, int64_t count, const int64_t *offsets) {
  int64_t height = 0;
  for (int64_t i = 0; i < count; i++) {
    if (buffers[i].size > 0) height = max_i64(height, offsets[i] + buffers[i].size);
  }
  return height;
}

static void random_instance(uint64_t *seed, PackingBuffer *buffers, int64_t count) {
  static const int64_t ALIGNMENTS[] = {1, 1, 1, 2, 4, 3};
  for (int64_t i = 0; i < count; i++) {
    int64_t lower = random_below(seed, 12) - 4;
    buffers[i] = buffer_of(lower, lower + 1 + random_below(seed, 8), random_below(seed, 12));
    buffers[i].id = i;
    buffers[i].alignment = ALIGNMENTS[random_below(seed, 6)];
  }
}

/* The solution lives until the next call. */
static PackingSolution solution_of(Fixture *fixture, const PackingBuffer *buffers, int64_t count) {
  PackingSolution solution;
  arena_reset(fixture->scratch);
  assert_int_equal(packing_best_fit(fixture->scratch, buffers, count, &fixture->diag, &solution), STATUS_OK);
  return solution;
}

static bool is_proved(Fixture *fixture, const PackingBuffer *buffers, int64_t count, const PackingSolution *solution) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->scratch);
  PackingProblem problem = {.buffers = buffers, .count = count};
  Status status = packing_verify(fixture->scratch, &problem, solution, &diag);
  assert_int_equal(status == STATUS_OK, diag.error_count == 0);
  return status == STATUS_OK;
}

static void best_fit_random_agrees_with_definition(void **state) {
  Fixture *fixture = *state;
  uint64_t seed = 7;
  for (int round = 0; round < 1000; round++) {
    PackingBuffer buffers[12];
    int64_t expected[12], count = random_below(&seed, 13);
    random_instance(&seed, buffers, count);
    slow_best_fit(buffers, count, expected);
    PackingSolution solution = solution_of(fixture, buffers, count);
    for (int64_t i = 0; i < count; i++) assert_int_equal(solution.offsets[i], expected[i]);
    assert_int_equal(solution.height, slow_height(buffers, count, expected));
    assert_int_equal(solution.lower_bound, slow_lower_bound(buffers, count));
    assert_true(is_proved(fixture, buffers, count, &solution));
  }
}

/* Whether the buffers from |next| on can be placed within |height|, trying every offset. */
static bool fits_within(const PackingBuffer *buffers, int64_t count, int64_t *offsets, int64_t next, int64_t height) {
  if (next == count) return true;
  for (int64_t offset = 0; offset + buffers[next].size <= height; offset++) {
    offsets[next] = offset;
    if (slow_is_valid(buffers, next + 1, offsets) && fits_within(buffers, count, offsets, next + 1, height))
      return true;
  }
  return false;
}

static void best_fit_is_between_bound_and_sum(void **state) {
  Fixture *fixture = *state;
  uint64_t seed = 3;
  for (int round = 0; round < 300; round++) {
    PackingBuffer buffers[5];
    int64_t offsets[5], sum = 0;
    for (int64_t i = 0; i < 5; i++) {
      int64_t lower = random_below(&seed, 6);
      buffers[i] = buffer_of(lower, lower + 1 + random_below(&seed, 4), 1 + random_below(&seed, 4));
      sum += buffers[i].size;
    }
    PackingSolution solution = solution_of(fixture, buffers, 5);
    assert_true(solution.lower_bound <= solution.height && solution.height <= sum);
    assert_false(fits_within(buffers, 5, offsets, 0, solution.lower_bound - 1));
    assert_true(fits_within(buffers, 5, offsets, 0, solution.height));
  }
}

/* Three groups whose members take turns, and four buffers without. */
static int64_t grouped_instance(uint64_t *seed, PackingBuffer *buffers) {
  int64_t count = 0;
  for (int64_t group = 0; group < 3; group++) {
    int64_t time = random_below(seed, 4), members = 1 + random_below(seed, 3);
    for (int64_t i = 0; i < members; i++) {
      int64_t upper = time + 1 + random_below(seed, 4);
      buffers[count] = buffer_of(time, upper, random_below(seed, 10));
      buffers[count].group = group * 7;
      buffers[count++].alignment = 1 + random_below(seed, 4);
      time = upper + random_below(seed, 2);
    }
  }
  random_instance(seed, buffers + count, 4);
  return count + 4;
}

static void best_fit_groups_share_offsets(void **state) {
  Fixture *fixture = *state;
  uint64_t seed = 11;
  for (int round = 0; round < 2000; round++) {
    PackingBuffer buffers[16];
    int64_t count = grouped_instance(&seed, buffers);
    PackingSolution solution = solution_of(fixture, buffers, count);
    assert_true(slow_is_valid(buffers, count, solution.offsets));
    assert_int_equal(solution.height, slow_height(buffers, count, solution.offsets));
    assert_true(is_proved(fixture, buffers, count, &solution));
  }
}

static void verify_mutants_agrees_with_definition(void **state) {
  Fixture *fixture = *state;
  uint64_t seed = 5;
  int rejected = 0, accepted = 0;
  for (int round = 0; round < 5000; round++) {
    PackingBuffer buffers[16];
    int64_t count = grouped_instance(&seed, buffers);
    PackingSolution solution = solution_of(fixture, buffers, count);
    int64_t victim = random_below(&seed, count);
    if (buffers[victim].size == 0) continue;
    solution.offsets[victim] += random_below(&seed, 13) - 6;
    if (round % 2 == 0) solution.height = slow_height(buffers, count, solution.offsets);
    bool valid = slow_is_valid(buffers, count, solution.offsets) &&
                 solution.height == slow_height(buffers, count, solution.offsets);
    assert_int_equal(is_proved(fixture, buffers, count, &solution), valid);
    accepted += valid;
    rejected += !valid;
  }
  assert_true(rejected > 1000 && accepted > 500);
}

static void verify_wrong_numbers_are_rejected(void **state) {
  Fixture *fixture = *state;
  PackingBuffer buffers[] = {buffer_of(0, 2, 10), buffer_of(1, 3, 20), buffer_of(0, 0, 0)};
  PackingSolution solution = solution_of(fixture, buffers, 3);
  assert_true(is_proved(fixture, buffers, 3, &solution));
  PackingSolution mutant = solution;
  mutant.height++;
  assert_false(is_proved(fixture, buffers, 3, &mutant));
  mutant.height = solution.height - 1;
  assert_false(is_proved(fixture, buffers, 3, &mutant));
  mutant = solution;
  mutant.lower_bound--;
  assert_false(is_proved(fixture, buffers, 3, &mutant));
  int64_t offsets[] = {0, INT64_MAX - 5, 0};
  mutant = solution;
  mutant.offsets = offsets;
  assert_false(is_proved(fixture, buffers, 3, &mutant));
  offsets[1] = 10;
  assert_true(is_proved(fixture, buffers, 3, &mutant));
  offsets[2] = 1;
  assert_false(is_proved(fixture, buffers, 3, &mutant));
}

static void verify_reports_a_few_with_ids(void **state) {
  Fixture *fixture = *state;
  PackingBuffer buffers[50];
  int64_t offsets[50] = {0};
  for (int i = 0; i < 50; i++) {
    buffers[i] = buffer_of(0, 1, 8);
    buffers[i].id = 1000 + i;
  }
  PackingSolution solution = {.offsets = offsets, .height = 8, .lower_bound = 400};
  PackingProblem problem = {.buffers = buffers, .count = 50};
  assert_int_equal(packing_verify(fixture->scratch, &problem, &solution, &fixture->diag), STATUS_INVALID);
  assert_in_range(fixture->diag.error_count, 2, 10);
  assert_string_equal(fixture->diag.first->message.data,
                      "buffers 1000 and 1001 overlap: bytes [0, 8) and [0, 8) are both live at 0");
}

static void assert_refused(Fixture *fixture, PackingBuffer buffer, const char *code) {
  PackingBuffer buffers[] = {buffer_of(0, 1, 1), buffer};
  PackingSolution solution;
  Status status = packing_best_fit(fixture->arena, buffers, 2, &fixture->diag, &solution);
  assert_int_equal(status, STATUS_INVALID);
  assert_string_equal(fixture->diag.last->code, code);
}

static void best_fit_hostile_buffers_are_refused(void **state) {
  assert_refused(*state, buffer_of(0, 1, -1), "packing-size");
  assert_refused(*state, buffer_of(0, 1, INT64_MIN), "packing-size");
  assert_refused(*state, buffer_of(5, 5, 1), "packing-lifetime");
  assert_refused(*state, buffer_of(5, 4, 1), "packing-lifetime");
  assert_refused(*state, buffer_of(0, 1, INT64_MAX), "packing-overflow");
  PackingBuffer buffer = buffer_of(0, 1, 1);
  buffer.alignment = 0;
  assert_refused(*state, buffer, "packing-alignment");
  buffer.alignment = INT64_MIN;
  assert_refused(*state, buffer, "packing-alignment");
  buffer.alignment = 1;
  buffer.group = -2;
  assert_refused(*state, buffer, "packing-group");
}

static void best_fit_overflowing_addresses_are_refused(void **state) {
  Fixture *fixture = *state;
  PackingSolution solution;
  /* Live sizes fit, alignment takes the second one beyond the end. */
  PackingBuffer aligned[] = {buffer_of(0, 2, INT64_MAX / 2 + 10), buffer_of(1, 3, INT64_MAX / 2 - 20)};
  aligned[1].alignment = INT64_C(1) << 62;
  assert_int_equal(packing_best_fit(fixture->arena, aligned, 2, &fixture->diag, &solution), STATUS_INVALID);
  assert_string_equal(fixture->diag.last->code, "packing-overflow");
  /* The least common multiple of a group's alignments. */
  PackingBuffer grouped[] = {buffer_of(0, 1, 1), buffer_of(1, 2, 1)};
  grouped[0].group = grouped[1].group = 1;
  grouped[0].alignment = INT64_MAX;
  grouped[1].alignment = INT64_MAX - 1;
  assert_int_equal(packing_best_fit(fixture->arena, grouped, 2, &fixture->diag, &solution), STATUS_INVALID);
  assert_string_equal(fixture->diag.last->code, "packing-overflow");
}

static void best_fit_group_alive_together_is_refused(void **state) {
  Fixture *fixture = *state;
  PackingSolution solution;
  PackingBuffer buffers[] = {buffer_of(3, 6, 1), buffer_of(0, 4, 1)};
  buffers[0].group = buffers[1].group = 0;
  assert_int_equal(packing_best_fit(fixture->arena, buffers, 2, &fixture->diag, &solution), STATUS_INVALID);
  assert_string_equal(fixture->diag.last->code, "packing-group");
}

static void best_fit_extreme_values_are_placed(void **state) {
  Fixture *fixture = *state;
  PackingBuffer buffers[] = {buffer_of(INT64_MIN, INT64_MAX, 5), buffer_of(INT64_MIN, 0, INT64_MAX - 5),
                             buffer_of(0, INT64_MAX, INT64_MAX - 5), buffer_of(9, 3, 0)};
  PackingSolution solution = solution_of(fixture, buffers, 4);
  assert_true(solution.height == INT64_MAX);
  assert_true(solution.lower_bound == INT64_MAX);
  assert_true(is_proved(fixture, buffers, 4, &solution));
}

static void best_fit_nothing_has_height_zero(void **state) {
  Fixture *fixture = *state;
  PackingSolution solution = solution_of(fixture, NULL, 0);
  assert_int_equal(solution.height, 0);
  assert_int_equal(solution.lower_bound, 0);
  assert_true(is_proved(fixture, NULL, 0, &solution));
}

static void best_fit_touching_lifetimes_share(void **state) {
  Fixture *fixture = *state;
  PackingBuffer buffers[] = {buffer_of(0, 5, 64), buffer_of(5, 9, 64), buffer_of(4, 5, 32)};
  PackingSolution solution = solution_of(fixture, buffers, 3);
  assert_int_equal(solution.offsets[0], 0);
  assert_int_equal(solution.offsets[1], 0);
  assert_int_equal(solution.offsets[2], 64);
  assert_int_equal(solution.height, 96);
}

static void best_fit_many_buffers_are_proved(void **state) {
  enum { COUNT = 20000 };
  Fixture *fixture = *state;
  uint64_t seed = 1;
  PackingBuffer *buffers = ARENA_NEW_ARRAY(fixture->arena, PackingBuffer, COUNT);
  for (int64_t i = 0; i < COUNT; i++) {
    int64_t lower = random_below(&seed, COUNT), length = 1 + random_below(&seed, i % 50 == 0 ? COUNT : 30);
    buffers[i] = buffer_of(lower, lower + length, 1 + random_below(&seed, 1 << 20));
    buffers[i].id = i;
    buffers[i].alignment = 64;
  }
  PackingSolution solution = solution_of(fixture, buffers, COUNT);
  assert_true(is_proved(fixture, buffers, COUNT, &solution));
  assert_true(solution.height < solution.lower_bound + solution.lower_bound / 2);
  solution.offsets[COUNT / 2] += 64;
  solution.offsets[COUNT / 3] -= solution.offsets[COUNT / 3] > 0 ? 64 : 0;
  assert_false(is_proved(fixture, buffers, COUNT, &solution));
}

static int compare_start(const void *left, const void *right) {
  const int64_t *a = *(const int64_t *const *)left, *b = *(const int64_t *const *)right;
  return (a[0] > b[0]) - (a[0] < b[0]);
}

/* Where best fit puts buffer |chosen| among those that are placed already; by definition, without an index. */
static int64_t gap_among(const PackingBuffer *buffers, int64_t count, int64_t (*extents)[2], const bool *placed,
                         int64_t chosen) {
  enum { MOST = 2000 };
  const int64_t *met[MOST];
  int64_t met_count = 0, top = 0, best = -1, best_size = INT64_MAX;
  for (int64_t i = 0; i < count; i++) {
    if (placed[i] && meet(&buffers[i], &buffers[chosen])) met[met_count++] = extents[i];
  }
  qsort(met, (size_t)met_count, sizeof(met[0]), compare_start);
  for (int64_t i = 0; i < met_count; i++) {
    int64_t start = align_up(top, buffers[chosen].alignment), size = met[i][0] - start;
    if (met[i][0] > top && size >= buffers[chosen].size && size < best_size) {
      best = start;
      best_size = size;
    }
    top = max_i64(top, met[i][1]);
  }
  return best >= 0 ? best : align_up(top, buffers[chosen].alignment);
}

/* Hundreds alive together, so that the occupancy answers. */
static void best_fit_many_alive_agrees_with_definition(void **state) {
  enum { COUNT = 1500 };
  Fixture *fixture = *state;
  uint64_t seed = 9;
  for (int round = 0; round < 4; round++) {
    PackingBuffer buffers[COUNT];
    for (int64_t i = 0; i < COUNT; i++) {
      int64_t lower = random_below(&seed, 60), length = 1 + random_below(&seed, round % 2 == 0 ? 60 : 20);
      /* Sizes fall, so that the order of placement is the order here. */
      buffers[i] = buffer_of(lower, lower + length, 10 * (COUNT - i) + random_below(&seed, 9) + 1);
      buffers[i].id = i;
      buffers[i].alignment = 1 + random_below(&seed, 3) * 31;
    }
    PackingSolution solution = solution_of(fixture, buffers, COUNT);
    static int64_t extents[COUNT][2];
    bool placed[COUNT] = {false};
    for (int64_t i = 0; i < COUNT; i++) {
      extents[i][0] = gap_among(buffers, COUNT, extents, placed, i);
      extents[i][1] = extents[i][0] + buffers[i].size;
      placed[i] = true;
      assert_int_equal(solution.offsets[i], extents[i][0]);
    }
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(best_fit_random_agrees_with_definition),   TEST(best_fit_many_alive_agrees_with_definition),
      TEST(best_fit_is_between_bound_and_sum),        TEST(best_fit_groups_share_offsets),
      TEST(best_fit_hostile_buffers_are_refused),     TEST(best_fit_overflowing_addresses_are_refused),
      TEST(best_fit_group_alive_together_is_refused), TEST(best_fit_extreme_values_are_placed),
      TEST(best_fit_nothing_has_height_zero),         TEST(best_fit_touching_lifetimes_share),
      TEST(best_fit_many_buffers_are_proved),         TEST(verify_mutants_agrees_with_definition),
      TEST(verify_wrong_numbers_are_rejected),        TEST(verify_reports_a_few_with_ids),
  };
  return cmocka_run_group_tests_name("packing", tests, NULL, NULL);
}
