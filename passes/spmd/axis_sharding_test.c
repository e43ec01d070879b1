#include "passes/spmd/axis_sharding.h"

#include "hlo/ir/sharding_tiles.h"
#include "parser/hlo_parts.h"
#include "passes/spmd/spmd_testing.h"

static void axes_of_a_mesh_are_primes(void **state) {
  (void)state;
  Arena *arena = arena_create();
  int firsts[4];
  const SpmdMesh *mesh = spmd_mesh_create(arena, (int64_t[]){4, 1, 6}, 3, NULL, firsts);
  assert_int_equal(mesh->device_count, 24);
  assert_int_equal(mesh->axis_count, 4);
  assert_memory_equal(mesh->sizes, ((int64_t[]){2, 2, 2, 3}), 4 * sizeof(int64_t));
  assert_memory_equal(mesh->strides, ((int64_t[]){12, 6, 3, 1}), 4 * sizeof(int64_t));
  assert_memory_equal(firsts, ((int[]){0, 2, 2, 4}), sizeof firsts);
  assert_int_equal(spmd_mesh_create(arena, (int64_t[]){1}, 1, NULL, NULL)->device_count, 1);
  assert_int_equal(spmd_mesh_create(arena, (int64_t[]){7 * 11}, 1, NULL, NULL)->axis_count, 2);
  arena_destroy(arena);
}

/* Position 17 of [2,2,2,3] is 1, 0, 1, 2. */
static void places_along_axes(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const SpmdMesh *mesh = spmd_mesh_create(arena, (int64_t[]){8, 3}, 2, NULL, NULL);
  const uint8_t axes[] = {3, 0, 1, 2};
  assert_int_equal(axis_list_index(mesh, (AxisList){0}, 17), 0);
  assert_int_equal(axis_list_index(mesh, (AxisList){1, axes}, 17), 2);
  assert_int_equal(axis_list_index(mesh, (AxisList){4, axes}, 17), 2 * 8 + 5);
  assert_int_equal(axis_list_index(mesh, axis_list_part((AxisList){4, axes}, 1, 2), 17), 2);
  assert_int_equal(axis_list_size(mesh, (AxisList){2, axes}), 6);
  assert_int_equal(axis_mask_size(mesh, 0xa), 6);
  assert_true(axis_lists_equal(axis_mask_list(arena, 0x6), axis_list_part((AxisList){4, axes}, 2, 2)));
  arena_destroy(arena);
}

static void parts_are_rounded_up(void **state) {
  (void)state;
  Arena *arena = arena_create();
  ShapeTable *shapes = shape_table_create(arena);
  const SpmdMesh *mesh = spmd_mesh_create(arena, (int64_t[]){4, 3}, 2, NULL, NULL);
  const Shape *whole = shape_array(shapes, TYPE_BF16, (int64_t[]){9, 12, 5, 0}, 4);
  AxisSharding *sharding = axis_sharding_replicated(arena, 4, 0);
  assert_true(axis_sharding_is_replicated(sharding));
  sharding = axis_sharding_with(arena, sharding, 0, axis_mask_list(arena, 0x3));
  sharding = axis_sharding_with(arena, sharding, 1, axis_mask_list(arena, 0x4));
  assert_ptr_equal(axis_sharding_local(mesh, sharding, whole, shapes),
                   shape_array(shapes, TYPE_BF16, (int64_t[]){3, 4, 5, 0}, 4));
  assert_false(axis_sharding_is_even(mesh, sharding, whole, 0));
  assert_true(axis_sharding_is_even(mesh, sharding, whole, 1));
  assert_int_equal(axis_sharding_mask(sharding), 0x7);
  assert_false(axis_sharding_is_replicated(sharding));
  arena_destroy(arena);
}

/* --- HLO's words --- */

static const HloSharding *read_sharding(Arena *arena, const char *words) {
  DiagSink diag;
  diag_sink_init(&diag, arena);
  HloParts parts;
  hlo_parts_init(&parts, hlo_module_create(arena, shape_table_create(arena), SV("m")), arena, &diag);
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  *file = (SourceFile){SV("words"), sv_from_cstring(words)};
  HloAttr attr;
  if (hlo_parts_attribute(&parts, HLO_ATTR_SHARDING, file, &attr) != STATUS_OK)
    fail_msg("%s: %.*s", words, SV_ARG(diag.first->message));
  return attr.value.sharding;
}

/* "{0,1}{} manual {2}" */
static StringView axes_text(Arena *arena, const AxisSharding *sharding) {
  StringBuilder text;
  sb_init(&text, arena);
  for (int d = 0; d <= sharding->rank; d++) {
    AxisList axes = d < sharding->rank ? sharding->dims[d] : axis_mask_list(arena, sharding->manual);
    if (d == sharding->rank && axes.count == 0) break;
    if (d == sharding->rank) sb_append_cstring(&text, " manual ");
    sb_append_char(&text, '{');
    for (int i = 0; i < axes.count; i++) sb_printf(&text, "%s%d", i > 0 ? "," : "", axes.axes[i]);
    sb_append_char(&text, '}');
  }
  if (sharding->order != NULL) sb_append_cstring(&text, " in its own order");
  return sb_view(&text);
}

typedef struct WordsCase {
  const char *words;
  int rank;
  const char *axes;    /* of a mesh of 2 by 2 by 2, or the message */
  const char *written; /* NULL: as it was read */
} WordsCase;

static const WordsCase words_cases[] = {
    {"{replicated}", 2, "{}{}", NULL},
    {"{maximal device=3}", 1, "{}", "{replicated}"},
    {"{unknown}", 1, "{}", "{replicated}"},
    {"{manual}", 2, "{}{} manual {0,1,2}", NULL},
    {"{devices=[8]<=[8]}", 1, "{0,1,2}", NULL},
    {"{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2, "{0}{}", NULL},
    {"{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", 2, "{}{2}", NULL},
    {"{devices=[4,2]<=[2,4]T(1,0)}", 2, "{1,2}{0}", NULL},
    {"{devices=[2,4]0,1,2,3,4,5,6,7}", 2, "{0}{1,2}", "{devices=[2,4]<=[8]}"},
    {"{devices=[2,2,2]0,2,1,3,4,6,5,7}", 3, "{0}{2}{1}", "{devices=[2,2,2]<=[2,2,2]T(0,2,1)}"},
    /* copies may be listed in any order */
    {"{devices=[2,4]3,1,2,0,4,6,5,7 last_tile_dim_replicate}", 1, "{0}",
     "{devices=[2,4]<=[8] last_tile_dim_replicate}"},
    /* backwards: along no axis does the number of the tile grow */
    {"{devices=[8]7,6,5,4,3,2,1,0}", 1, "{0,1,2} in its own order", NULL},
    {"{devices=[1,4,2]<=[8] last_tile_dims={manual, replicated}}", 1, "{} manual {0,1}", NULL},
    {"{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}", 1, "{0} manual {1}", NULL},
    {"{mesh['a'=4,'b'=2], [{'b'}, {'a':(2)2}]}", 2, "{2}{1}",
     "{devices=[2,2,2]<=[2,2,2]T(2,1,0) last_tile_dim_replicate}"},
    {"{mesh['a'=4,'b'=2], [{'b', ?}], manual={'a'}}", 1, "{2} manual {0,1}",
     "{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"},
    {"{devices=[2,4]<=[8]}", 1, "!", NULL},
    {"{devices=[4]<=[4]}", 1, "!", NULL},
};

static void hlo_words_become_axes_and_back(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof words_cases / sizeof *words_cases; i++) {
    const WordsCase *test = &words_cases[i];
    Arena *arena = arena_create();
    const SpmdMesh *mesh = spmd_mesh_create(arena, (int64_t[]){8}, 1, NULL, NULL);
    DiagSink diag;
    diag_sink_init(&diag, arena);
    const AxisSharding *found;
    Status status =
        axis_sharding_from_hlo(arena, mesh, read_sharding(arena, test->words), test->rank, NO_LOC, &diag, &found);
    if (test->axes[0] == '!') {
      assert_int_equal(status, STATUS_INVALID);
      assert_string_equal(diag.first->code, "sharding");
    } else {
      assert_int_equal(status, STATUS_OK);
      const char *written = test->written != NULL ? test->written : test->words;
      if (!sv_equal(axes_text(arena, found), sv_from_cstring(test->axes)) ||
          !sv_equal(sharding_words(arena, mesh, found), sv_from_cstring(written)))
        fail_msg("%s: %.*s, written %.*s", test->words, SV_ARG(axes_text(arena, found)),
                 SV_ARG(sharding_words(arena, mesh, found)));
    }
    arena_destroy(arena);
  }
}

/* Each device has the tile that its place along the axes says. */
static void check_tiles(const SpmdMesh *mesh, const AxisSharding *sharding, const ShardingTiles *tiles) {
  for (int64_t position = 0; position < mesh->device_count; position++) {
    int64_t device = test_device(mesh, sharding->order, position);
    for (int d = 0; d < sharding->rank; d++)
      assert_int_equal(tiles->places[device * sharding->rank + d], axis_list_index(mesh, sharding->dims[d], position));
  }
}

/* What is written gives each device its tile, and is read as what does the same: as the same axes, but where devices
 * that have copies were listed in another order. */
static void check_written(Arena *arena, const SpmdMesh *mesh, const AxisSharding *sharding) {
  DiagSink diag;
  diag_sink_init(&diag, arena);
  const char *words = arena_printf(arena, "%.*s", SV_ARG(sharding_words(arena, mesh, sharding)));
  const HloSharding *written = read_sharding(arena, words);
  ShardingTiles tiles;
  const AxisSharding *again;
  const ShardedArray array = {sharding->rank, mesh->device_count, NO_LOC, SV("it")};
  assert_int_equal(sharding_tiles_create(arena, written, &array, &diag, &tiles), STATUS_OK);
  check_tiles(mesh, sharding, &tiles);
  assert_int_equal(axis_sharding_from_hlo(arena, mesh, written, sharding->rank, NO_LOC, &diag, &again), STATUS_OK);
  check_tiles(mesh, again, &tiles);
  if (sharding->order == NULL && !axis_shardings_equal(sharding, again))
    fail_msg("%s: %.*s was %.*s", words, SV_ARG(axes_text(arena, again)), SV_ARG(axes_text(arena, sharding)));
}

static void any_sharding_is_written_and_read(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    Arena *arena = arena_create();
    uint64_t random = seed << 20;
    const SpmdMesh *mesh = random_mesh(arena, &random);
    AxisSharding *sharding = random_sharding(arena, &random, mesh, (int)draw(&random, 4), 0);
    if (draw(&random, 4) == 0) sharding->order = random_order(arena, &random, mesh->device_count);
    check_written(arena, mesh, sharding);
    arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axes_of_a_mesh_are_primes),
      cmocka_unit_test(places_along_axes),
      cmocka_unit_test(parts_are_rounded_up),
      cmocka_unit_test(hlo_words_become_axes_and_back),
      cmocka_unit_test(any_sharding_is_written_and_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
