#include "hlo/ir/device_mesh.h"

#include "hlo/ir/hlo_testing.h"

static void expect_devices(Int64List found, const int64_t *wanted, int64_t count) {
  assert_int_equal(found.count, count);
  for (int64_t i = 0; i < count; i++) assert_int_equal(found.data[i], wanted[i]);
}

static void mesh_device_count_multiplies_axes(void **state) {
  (void)state;
  MeshAxis axes[] = {{SV("a"), 4}, {SV("b"), 2}};
  assert_int_equal(mesh_device_count(&(Mesh){.axis_count = 2, .axes = axes}), 8);
  assert_int_equal(mesh_device_count(&(Mesh){0}), 1);
  axes[1].size = 0;
  assert_int_equal(mesh_device_count(&(Mesh){.axis_count = 2, .axes = axes}), -1);
  axes[0].size = axes[1].size = INT64_MAX;
  assert_int_equal(mesh_device_count(&(Mesh){.axis_count = 2, .axes = axes}), -1);
}

static void iota_tile_devices_transposes(void **state) {
  Arena *arena = ((Fixture *)*state)->arena;
  const int64_t dims[] = {2, 3}, swapped[] = {1, 0}, same[] = {0, 1};
  IotaTile tile = {2, dims, swapped};
  expect_devices(iota_tile_devices(arena, &tile), (int64_t[]){0, 3, 1, 4, 2, 5}, 6);
  tile.transpose_perm = same;
  expect_devices(iota_tile_devices(arena, &tile), (int64_t[]){0, 1, 2, 3, 4, 5}, 6);
  const int64_t cube[] = {2, 2, 2}, turned[] = {2, 0, 1};
  expect_devices(iota_tile_devices(arena, &(IotaTile){3, cube, turned}), (int64_t[]){0, 2, 4, 6, 1, 3, 5, 7}, 8);
  expect_devices(iota_tile_devices(arena, &(IotaTile){0}), (int64_t[]){0}, 1);
}

static void mesh_devices_are_those_listed_or_in_order(void **state) {
  Arena *arena = ((Fixture *)*state)->arena;
  const MeshAxis axes[] = {{SV("a"), 2}, {SV("b"), 2}};
  const int64_t ids[] = {3, 1, 0, 2}, dims[] = {2, 2}, perm[] = {1, 0};
  Mesh mesh = {.axis_count = 2, .axes = axes};
  expect_devices(mesh_devices(arena, &mesh), (int64_t[]){0, 1, 2, 3}, 4);
  mesh.device_ids = ids;
  mesh.device_count = 4;
  expect_devices(mesh_devices(arena, &mesh), ids, 4);
  mesh.device_iota = &(IotaTile){2, dims, perm};
  expect_devices(mesh_devices(arena, &mesh), (int64_t[]){0, 2, 1, 3}, 4);
  expect_devices(mesh_devices(arena, &(Mesh){.is_maximal = true, .maximal_device = 5}), (int64_t[]){5}, 1);
}

static void iota_tile_count_knows_what_arranges_nothing(void **state) {
  Arena *arena = ((Fixture *)*state)->arena;
  const int64_t dims[] = {2, 3}, empty[] = {2, 0}, huge[] = {INT64_MAX, 2};
  const int64_t swapped[] = {1, 0}, twice[] = {1, 1}, outside[] = {0, 2};
  assert_int_equal(iota_tile_count(arena, &(IotaTile){2, dims, swapped}), 6);
  assert_int_equal(iota_tile_count(arena, &(IotaTile){2, dims, twice}), -1);
  assert_int_equal(iota_tile_count(arena, &(IotaTile){2, dims, outside}), -1);
  assert_int_equal(iota_tile_count(arena, &(IotaTile){2, empty, swapped}), -1);
  assert_int_equal(iota_tile_count(arena, &(IotaTile){2, huge, swapped}), -1);
  const MeshAxis axes[] = {{SV("a"), 2}, {SV("b"), 2}};
  const Mesh mesh = {.axis_count = 2, .axes = axes, .device_iota = &(IotaTile){2, dims, swapped}};
  assert_int_equal(mesh_devices(arena, &mesh).count, 0);
}

static void mesh_axes_index_takes_parts_of_axes(void **state) {
  (void)state;
  const MeshAxis axes[] = {{SV("a"), 2}, {SV("b"), 4}};
  const Mesh mesh = {.axis_count = 2, .axes = axes};
  const MeshAxisRef major[] = {{SV("b"), 1, 2}, {SV("a"), 0, 0}}; /* the major half of b, then a */
  const MeshAxisRefs refs = {.count = 2, .refs = major};
  const int64_t indices[] = {0, 0, 2, 2, 1, 1, 3, 3}, origins[] = {0, 1, 0, 1, 0, 1, 0, 1};
  assert_int_equal(mesh_axes_size(&mesh, &refs), 4);
  for (int64_t position = 0; position < 8; position++) {
    assert_int_equal(mesh_axes_index(&mesh, &refs, position), indices[position]);
    assert_int_equal(mesh_axes_origin(&mesh, &refs, position), origins[position]);
  }
  assert_int_equal(mesh_axes_size(&mesh, &(MeshAxisRefs){0}), 1);
  assert_int_equal(mesh_axes_index(&mesh, &(MeshAxisRefs){0}, 6), 0);
}

static void mesh_find_axis_takes_names_and_numbers(void **state) {
  (void)state;
  const MeshAxis axes[] = {{SV("a"), 2}, {SV("0"), 4}};
  const Mesh mesh = {.axis_count = 2, .axes = axes};
  assert_int_equal(mesh_find_axis(&mesh, SV("a")), 0);
  assert_int_equal(mesh_find_axis(&mesh, SV("0")), 1); /* a name before a number */
  assert_int_equal(mesh_find_axis(&mesh, SV("1")), 1);
  assert_int_equal(mesh_find_axis(&mesh, SV("2")), -1);
  assert_int_equal(mesh_find_axis(&mesh, SV("")), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mesh_device_count_multiplies_axes),         TEST(iota_tile_devices_transposes),
      TEST(mesh_devices_are_those_listed_or_in_order), TEST(mesh_axes_index_takes_parts_of_axes),
      TEST(mesh_find_axis_takes_names_and_numbers),    TEST(iota_tile_count_knows_what_arranges_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
