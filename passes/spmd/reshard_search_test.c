/* Ways between divisions among thousands of devices, whose axes are moved together, against bytes worked out by hand.
 */
#include "passes/spmd/reshard_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the above, as cmocka wants it */
#include <cmocka.h>

/* A mesh of 512 by 8: axes 0 … 8 and 9 … 11. */
enum { ROWS = 9, COLUMNS = 3 };
static const uint8_t all_axes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const AxisList x = {ROWS, all_axes}, y = {COLUMNS, all_axes + ROWS}, none = {0},
                      x_y = {ROWS + COLUMNS, all_axes};

typedef struct Way {
  AxisList from[2];
  bool is_partial; /* along x */
  AxisList to[2];
  double bytes;
  int count;
  ReshardKind kinds[3];
} Way;

static bool is_divided_as(AxisList list, const uint8_t *axes, int count) {
  return list.count == count && (count == 0 || memcmp(list.axes, axes, (size_t)count) == 0);
}

/* What the steps make of |from|: each takes its axes from the end of a dimension and puts them at the end of another.
 */
static void check_steps(const Way *way, const ReshardPlan *plan) {
  uint8_t axes[2][12] = {{0}};
  int counts[2];
  for (int d = 0; d < 2; d++) {
    counts[d] = way->from[d].count;
    memcpy(axes[d], way->from[d].count > 0 ? way->from[d].axes : all_axes, (size_t)counts[d]);
  }
  for (int i = 0; i < plan->count; i++) {
    const ReshardStep *step = &plan->steps[i];
    if (step->kind == RESHARD_PERMUTE) {
      for (int d = 0; d < 2; d++) {
        for (int k = 0; k < counts[d]; k++) axes[d][k] = step->axes.axes[axes[d][k]];
      }
      continue;
    }
    if (step->from >= 0) {
      counts[step->from] -= step->axes.count;
      assert_memory_equal(axes[step->from] + counts[step->from], step->axes.axes, (size_t)step->axes.count);
    }
    if (step->to < 0) continue;
    memcpy(axes[step->to] + counts[step->to], step->axes.axes, (size_t)step->axes.count);
    counts[step->to] += step->axes.count;
  }
  for (int d = 0; d < 2; d++) assert_true(is_divided_as(way->to[d], axes[d], counts[d]));
}

static void ways_among_thousands_of_devices(void **state) {
  (void)state;
  Arena *arena = arena_create();
  SpmdMesh *mesh = spmd_mesh_create(arena, (int64_t[]){512, 8}, 2, NULL, NULL);
  assert_int_equal(mesh->axis_count, ROWS + COLUMNS);
  const Shape *whole = shape_array(shape_table_create(arena), TYPE_F32, (int64_t[]){8192, 4096}, 2);
  const double bytes = 4.0 * 8192 * 4096;
  const Way ways[] = {
      /* all of it is gathered from 512 parts, or from 4096 */
      {{x, none}, false, {none, none}, bytes / 512 * 511, 1, {RESHARD_GATHER}},
      {{x_y, none}, false, {x, none}, bytes / 4096 * 7, 1, {RESHARD_GATHER}},
      {{x, none}, false, {x, y}, 0, 1, {RESHARD_SLICE}},
      /* 511 of 512 parts of a part go elsewhere */
      {{x, none}, false, {none, x}, bytes / 512 * 511 / 512, 1, {RESHARD_ALL_TO_ALL}},
      {{x, y}, false, {none, x}, bytes / 4096 * 7 + bytes / 512 * 511 / 512, 2, {RESHARD_GATHER, RESHARD_ALL_TO_ALL}},
      {{none, y}, true, {none, y}, 2 * bytes / 8 * 511 / 512, 1, {RESHARD_ALL_REDUCE}},
      {{none, none}, true, {x, none}, bytes * 511 / 512, 1, {RESHARD_REDUCE_SCATTER}},
  };
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    AxisSharding from = {.rank = 2, .dims = ways[i].from}, to = {.rank = 2, .dims = ways[i].to};
    ReshardPlan plan = spmd_plan_reshard(arena, mesh, whole, &from, ways[i].is_partial ? axis_list_mask(x) : 0, &to);
    assert_int_equal(plan.count, ways[i].count);
    for (int k = 0; k < plan.count; k++) assert_int_equal(plan.steps[k].kind, ways[i].kinds[k]);
    assert_true(plan.bytes > ways[i].bytes * (1 - 1e-12) - 1e-9 && plan.bytes < ways[i].bytes * (1 + 1e-12) + 1e-9);
    check_steps(&ways[i], &plan);
  }
  arena_destroy(arena);
}

/* 64 by 64: the one half of the devices along an axis takes the place of the other's. */
static void bundles_of_one_size_are_permuted(void **state) {
  (void)state;
  Arena *arena = arena_create();
  SpmdMesh *mesh = spmd_mesh_create(arena, (int64_t[]){64, 64}, 2, NULL, NULL);
  const Shape *whole = shape_array(shape_table_create(arena), TYPE_F32, (int64_t[]){64, 3}, 2);
  Way way = {{{6, all_axes}, none}, false, {{6, all_axes + 6}, none}, 12.0 * 63 / 64, 1, {RESHARD_PERMUTE}};
  AxisSharding from = {.rank = 2, .dims = way.from}, to = {.rank = 2, .dims = way.to};
  ReshardPlan plan = spmd_plan_reshard(arena, mesh, whole, &from, 0, &to);
  assert_int_equal(plan.count, 1);
  assert_int_equal(plan.steps[0].kind, RESHARD_PERMUTE);
  assert_true(plan.bytes == way.bytes);
  check_steps(&way, &plan);
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ways_among_thousands_of_devices),
      cmocka_unit_test(bundles_of_one_size_are_permuted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
