/* The exact search, and ejection, against all orders in which buffers can be stacked. */
#include "base/checked_math.h"
#include "base/fixture_testing.h"
#include "base/packing/part.h"

enum { MOST_BUFFERS = 7, LAST_TIME = 14, MOST_SIZE = 6, ROUNDS = 400 };

static int64_t below(uint64_t *seed, int64_t limit) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((*seed >> 33) % (uint64_t)limit);
}

static bool meet(const PackingBuffer *a, const PackingBuffer *b) {
  return a->lower < b->upper && b->lower < a->upper;
}

/* The least height over all orders of stacking, each buffer on all it meets: every lowest placement is of this kind. */
static int64_t least_height(const PackingBuffer *buffers, int count, int64_t *tops, bool *is_placed, int64_t height) {
  int64_t least = INT64_MAX;
  bool is_whole = true;
  for (int i = 0; i < count; i++) {
    if (is_placed[i]) continue;
    int64_t offset = 0;
    is_whole = false;
    for (int k = 0; k < count; k++) {
      if (is_placed[k] && meet(&buffers[i], &buffers[k])) offset = max_i64(offset, tops[k]);
    }
    tops[i] = offset + buffers[i].size;
    is_placed[i] = true;
    least = min_i64(least, least_height(buffers, count, tops, is_placed, max_i64(height, tops[i])));
    is_placed[i] = false;
  }
  return is_whole ? height : least;
}

static bool is_placement(const Part *part, const int64_t *offsets, int64_t capacity) {
  for (int32_t i = 0; i < part->item_count; i++) {
    const Item *a = &part->items[i];
    if (offsets[i] < 0 || offsets[i] + a->size > capacity) return false;
    for (int32_t k = 0; k < i; k++) {
      const Item *b = &part->items[k];
      bool shares_time = a->lower < b->upper && b->lower < a->upper;
      if (shares_time && offsets[i] < offsets[k] + b->size && offsets[k] < offsets[i] + a->size) return false;
    }
  }
  return true;
}

/* Buffers of which the first holds all together, so that they are one part. */
static int random_buffers(uint64_t *seed, PackingBuffer *buffers) {
  int count = 3 + (int)below(seed, MOST_BUFFERS - 2);
  for (int i = 0; i < count; i++) {
    int64_t lower = i == 0 ? 0 : below(seed, LAST_TIME), upper = i == 0 ? LAST_TIME : lower + 1 + below(seed, 6);
    buffers[i] = (PackingBuffer){
        .id = i, .lower = lower, .upper = upper, .size = 1 + below(seed, MOST_SIZE), .alignment = 1, .group = -1};
  }
  return count;
}

static Part part_of(Fixture *fixture, const PackingBuffer *buffers, int count) {
  PackingProblem problem = {.buffers = buffers, .count = count};
  DiagSink diag;
  Instance instance;
  PartArray parts = {0};
  int32_t chosen[MOST_BUFFERS];
  diag_sink_init(&diag, fixture->arena);
  assert_int_equal(instance_build(fixture->arena, &problem, &diag, &instance), STATUS_OK);
  for (int32_t i = 0; i < count; i++) chosen[i] = i;
  assert_true(part_split(fixture->arena, &instance, chosen, count, 0, 100, &parts));
  assert_int_equal(parts.count, 1);
  return parts.data[0];
}

/* Whatever decides between equals, at first and where time is cut, the least height is found and no lower one. */
static void search_any_order_is_exact(void **state) {
  static const char *const letters[] = {"TWA", "W", "ZTW", "TWU", "LA"};
  enum { LETTERS = sizeof letters / sizeof letters[0] };
  Fixture round = *(Fixture *)*state;
  round.arena = arena_create();
  uint64_t seed = 5;
  for (int i = 0; i < ROUNDS; i++) {
    PackingBuffer buffers[MOST_BUFFERS];
    int count = random_buffers(&seed, buffers);
    int64_t tops[MOST_BUFFERS], offsets[MOST_BUFFERS];
    bool is_placed[MOST_BUFFERS] = {false};
    int64_t least = least_height(buffers, count, tops, is_placed, 0);
    Part part = part_of(&round, buffers, count);
    Search *search = search_create(round.arena, &part, 100);
    int32_t rank[MOST_BUFFERS], cut_rank[MOST_BUFFERS];
    part_rank(&part, round.arena, letters[i % LETTERS], rank);
    part_rank(&part, round.arena, letters[i / LETTERS % LETTERS], cut_rank);
    Work work = {INT64_C(1) << 40};
    assert_int_equal(search_run(search, (SearchOrder){rank, cut_rank}, least, &work, offsets), SEARCH_FOUND);
    assert_true(is_placement(&part, offsets, least));
    assert_int_equal(search_run(search, (SearchOrder){rank, cut_rank}, least - 1, &work, offsets), SEARCH_NONE);
    arena_reset(round.arena);
  }
  arena_destroy(round.arena);
}

/* A stack of all is lowered, never below the least height. */
static void eject_lowers_to_a_placement(void **state) {
  Fixture round = *(Fixture *)*state;
  round.arena = arena_create();
  uint64_t seed = 6;
  int reached = 0;
  for (int i = 0; i < ROUNDS; i++) {
    PackingBuffer buffers[MOST_BUFFERS];
    int count = random_buffers(&seed, buffers);
    int64_t tops[MOST_BUFFERS], offsets[MOST_BUFFERS], top = 0;
    bool is_placed[MOST_BUFFERS] = {false};
    int64_t least = least_height(buffers, count, tops, is_placed, 0);
    Part part = part_of(&round, buffers, count);
    for (int k = 0; k < count; k++) {
      offsets[k] = top;
      top += part.items[k].size;
    }
    Work work = {100000};
    int64_t height = part_eject(&part, part.bound, &work, top, offsets);
    assert_int_equal(height, part_height(&part, offsets));
    assert_true(is_placement(&part, offsets, height));
    assert_true(height >= least);
    reached += height == least;
    arena_reset(round.arena);
  }
  assert_true(reached > ROUNDS * 9 / 10);
  arena_destroy(round.arena);
}

/* More is alive than fits below the goal that is asked for, so items find no gap millions of times: weights stay within
 * their type (the sanitizers look on), and the solution is left as it was. */
static void eject_goes_on_without_end(void **state) {
  Fixture *fixture = *state;
  enum { COUNT = MOST_BUFFERS };
  PackingBuffer buffers[COUNT];
  int64_t offsets[COUNT], before[COUNT], top = 0;
  for (int k = 0; k < COUNT; k++) {
    buffers[k] = (PackingBuffer){.id = k, .lower = 0, .upper = 10, .size = 5 + k, .alignment = 1, .group = -1};
    offsets[k] = top;
    top += 5 + k;
  }
  Part part = part_of(fixture, buffers, COUNT);
  for (int k = 0, at = 0; k < COUNT; at += (int)part.items[k++].size) before[k] = offsets[k] = at;
  Work work = {20000000};
  assert_int_equal(part_eject(&part, top - 3, &work, top, offsets), top);
  assert_true(work.left <= 0);
  assert_memory_equal(offsets, before, sizeof before);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(search_any_order_is_exact),
      TEST(eject_lowers_to_a_placement),
      TEST(eject_goes_on_without_end),
  };
  return cmocka_run_group_tests_name("part_search", tests, NULL, NULL);
}
