#include "hlo/ir/sharding_tiles.h"

#include <stdlib.h>

#include "hlo/ir/hlo_testing.h"
#include "parser/hlo_parts.h"

static const HloSharding *parse(Fixture *fixture, const char *text) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  HloParts parts;
  hlo_parts_init(&parts, fixture->module, fixture->arena, &diag);
  SourceFile *file = ARENA_NEW(fixture->arena, SourceFile);
  *file = (SourceFile){SV("sharding"), sv_from_cstring(text)};
  HloAttr attr;
  assert_int_equal(hlo_parts_attribute(&parts, HLO_ATTR_SHARDING, file, &attr), STATUS_OK);
  return attr.value.sharding;
}

/* What is wrong with |text| for an array, NULL: nothing. */
static const char *create(Fixture *fixture, const char *text, int rank, int64_t devices, ShardingTiles *out) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  const ShardedArray array = {rank, devices, NO_LOC, SV("x")};
  Status status = sharding_tiles_create(fixture->arena, parse(fixture, text), &array, &diag, out);
  return status == STATUS_OK ? NULL : sv_copy(fixture->arena, diag.first->message).data;
}

/* A sharding and the numbers of an array of 0, 1, 2 … that each device has, 0 where it is padding. */
typedef struct TileCase {
  const char *sharding;
  int rank;
  int64_t dims[3];
  int64_t devices;
  const char *tiles;
} TileCase;

static const char *tiles_text(Fixture *fixture, const TileCase *test) {
  ShardingTiles tiles;
  assert_null(create(fixture, test->sharding, test->rank, test->devices, &tiles));
  int64_t tile_dims[3], count = 1, size = 1, whole[64], tile[64];
  sharding_tile_dims(&tiles, test->dims, tile_dims);
  for (int i = 0; i < test->rank; i++) {
    count *= test->dims[i];
    size *= tile_dims[i];
  }
  for (int64_t i = 0; i < count; i++) whole[i] = i;
  StringBuilder text;
  sb_init(&text, fixture->arena);
  for (int64_t device = 0; device < test->devices; device++) {
    sharding_tile_take(&tiles, device, test->dims, sizeof *whole, whole, tile);
    sb_append_char(&text, '{');
    for (int64_t i = 0; i < size; i++) sb_printf(&text, "%s%lld", i > 0 ? "," : "", (long long)tile[i]);
    sb_append_char(&text, '}');
  }
  sb_append_char(&text, '\0');
  return text.data;
}

static void sharding_tile_take_follows_every_form(void **state) {
  static const TileCase cases[] = {
      {"{replicated}", 1, {3}, 2, "{0,1,2}{0,1,2}"},
      {"{manual}", 1, {3}, 2, "{0,1,2}{0,1,2}"},
      {"{maximal device=1}", 1, {3}, 2, "{0,1,2}{0,1,2}"},
      {"{devices=[2]<=[2]}", 1, {4}, 2, "{0,1}{2,3}"},
      {"{devices=[2]1,0}", 1, {4}, 2, "{2,3}{0,1}"},
      {"{devices=[4]<=[4]}", 1, {5}, 4, "{0,1}{2,3}{4,0}{0,0}"},
      {"{devices=[2,2]<=[4]}", 2, {2, 4}, 4, "{0,1}{2,3}{4,5}{6,7}"},
      {"{devices=[2,2]<=[2,2]T(1,0)}", 2, {2, 4}, 4, "{0,1}{4,5}{2,3}{6,7}"},
      {"{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", 2, {2, 4}, 4, "{0,1,4,5}{2,3,6,7}{0,1,4,5}{2,3,6,7}"},
      {"{devices=[2,1,2]<=[4] last_tile_dims={manual, replicated}}", 1, {4}, 4, "{0,1}{0,1}{2,3}{2,3}"},
      {"{devices=[2,2]<=[4] last_tile_dims={manual, replicated}}", 0, {0}, 4, "{0}{0}{0}{0}"},
      {"{mesh['a'=2,'b'=2], [{'b'}]}", 1, {4}, 4, "{0,1}{2,3}{0,1}{2,3}"},
      {"{mesh['a'=2,'b'=2], [{'b','a'}]}", 1, {4}, 4, "{0}{2}{1}{3}"},
      {"{mesh['a'=4], [{'a':(1)2},{'a':(2)2}]}", 2, {2, 2}, 4, "{0}{1}{2}{3}"},
      {"{mesh['a'=4], [{'a':(2)2},{'a':(1)2}]}", 2, {2, 2}, 4, "{0}{2}{1}{3}"},
      {"{mesh['a'=2,'b'=2], replicated}", 1, {2}, 4, "{0,1}{0,1}{0,1}{0,1}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(tiles_text(*state, &cases[i]), cases[i].tiles);
}

static void sharding_tiles_create_refuses_what_does_not_fit(void **state) {
  ShardingTiles tiles;
  assert_string_equal(create(*state, "{devices=[2]<=[2]}", 1, 4, &tiles),
                      "x: the sharding is for 2 devices, there are 4");
  assert_string_equal(create(*state, "{devices=[2]<=[2]}", 2, 2, &tiles),
                      "x: the sharding is for 1 dimensions, there are 2");
  assert_string_equal(create(*state, "{devices=[2]0,2}", 1, 2, &tiles), "x: the sharding names device 2 of 2");
  assert_string_equal(create(*state, "{devices=[2]1,1}", 1, 2, &tiles), "x: the sharding names device 1 twice among 2");
  assert_string_equal(create(*state, "{maximal device=2}", 1, 2, &tiles), "x: the sharding names device 2 of 2");
  assert_string_equal(create(*state, "{unreduced}", 1, 2, &tiles), "x: devices hold partial sums");
  assert_string_equal(create(*state, "{devices=[4]<=[2]}", 1, 4, &tiles), "x: the sharding does not arrange 4 devices");
  assert_string_equal(create(*state, "{devices=[4]0,1}", 1, 4, &tiles), "x: the sharding has 4 tiles for 2 devices");
  assert_string_equal(create(*state, "{mesh['a'=2], [{'a','a'}]}", 1, 2, &tiles),
                      "x: the sharding names an axis twice");
  assert_null(create(*state, "{maximal device=1}", 1, 2, &tiles));
  assert_int_equal(tiles.owner, 1);
}

/* Random shapes and meshes: tiles, put together, are the array, and every tile is that of the array. */
static void sharding_tiles_join_to_the_whole(void **state) {
  Fixture *fixture = *state;
  unsigned seed = 1;
  for (int round = 0; round < 300; round++) {
    int rank = rand_r(&seed) % 4;
    int64_t dims[3] = {1, 1, 1}, counts[4], devices = 1, count = 1;
    for (int i = 0; i < rank; i++) {
      dims[i] = 1 + rand_r(&seed) % 9;
      counts[i] = 1 + rand_r(&seed) % 3;
      devices *= counts[i];
      count *= dims[i];
    }
    counts[rank] = 1 + rand_r(&seed) % 2; /* copies */
    devices *= counts[rank];
    int64_t *order = ARENA_NEW_ARRAY(fixture->arena, int64_t, devices);
    for (int64_t i = 0; i < devices; i++) {
      int64_t at = rand_r(&seed) % (i + 1);
      order[i] = order[at];
      order[at] = i;
    }
    const int64_t copies = SHARDING_REPLICATED;
    const HloSharding sharding = {.kind = SHARDING_TILED,
                                  .tile_dims = {rank + 1, counts},
                                  .devices = {devices, order},
                                  .last_tile_dims = {1, &copies}};
    ShardingTiles tiles;
    DiagSink diag;
    diag_sink_init(&diag, fixture->arena);
    const ShardedArray array = {rank, devices, NO_LOC, SV("x")};
    assert_int_equal(sharding_tiles_create(fixture->arena, &sharding, &array, &diag, &tiles), STATUS_OK);
    int16_t *whole = ARENA_NEW_ARRAY(fixture->arena, int16_t, count),
            *joined = ARENA_NEW_ARRAY(fixture->arena, int16_t, count);
    for (int64_t i = 0; i < count; i++) whole[i] = (int16_t)(i + 1);
    int64_t tile_dims[3], size = 1;
    sharding_tile_dims(&tiles, dims, tile_dims);
    for (int i = 0; i < rank; i++) size *= tile_dims[i];
    int16_t *tile = ARENA_NEW_ARRAY(fixture->arena, int16_t, size);
    for (int64_t device = 0; device < devices; device++) {
      sharding_tile_take(&tiles, device, dims, sizeof *whole, whole, tile);
      assert_true(sharding_tile_equal(&tiles, device, dims, sizeof *whole, tile, whole));
      sharding_tile_put(&tiles, device, dims, sizeof *whole, tile, joined);
    }
    assert_memory_equal(joined, whole, (size_t)count * sizeof *whole);
    whole[count - 1] ^= 1; /* one of the devices has it */
    bool are_equal = true;
    for (int64_t device = 0; device < devices; device++) {
      sharding_tile_take(&tiles, device, dims, sizeof *whole, joined, tile);
      are_equal = are_equal && sharding_tile_equal(&tiles, device, dims, sizeof *whole, tile, whole);
    }
    assert_false(are_equal);
  }
}

static void hlo_sharding_of_leaf_counts_in_tuples(void **state) {
  const HloSharding *sharding = parse(*state, "{{replicated}, {maximal device=1}}");
  assert_int_equal(hlo_sharding_of_leaf(sharding, 1)->kind, SHARDING_MAXIMAL);
  assert_null(hlo_sharding_of_leaf(sharding, 2));
  assert_null(hlo_sharding_of_leaf(NULL, 0));
  sharding = parse(*state, "{manual}");
  assert_ptr_equal(hlo_sharding_of_leaf(sharding, 5), sharding);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sharding_tile_take_follows_every_form),
      TEST(sharding_tiles_create_refuses_what_does_not_fit),
      TEST(sharding_tiles_join_to_the_whole),
      TEST(hlo_sharding_of_leaf_counts_in_tuples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
