#include "passes/spmd/shardy_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the above, as cmocka wants it */
#include <cmocka.h>

static void append_axes(StringBuilder *out, AxisList axes) {
  for (int i = 0; i < axes.count; i++) sb_printf(out, "%s%d", i > 0 ? "," : "", axes.axes[i]);
}

/* "mesh [0,1 ?, 2 p1] but 3; …" */
static void append_sharding(StringBuilder *out, Arena *arena, const ShardySharding *sharding) {
  sb_printf(out, "%.*s [", SV_ARG(sharding->mesh->name));
  for (int d = 0; d < sharding->rank; d++) {
    const ShardyDim *dim = &sharding->dims[d];
    if (d > 0) sb_append_cstring(out, " | ");
    append_axes(out, dim->axes);
    if (dim->is_open) sb_append_char(out, '?');
    if (dim->priority != 0) sb_printf(out, " p%d", (int)dim->priority);
  }
  sb_append_char(out, ']');
  if (sharding->replicated == 0) return;
  sb_append_cstring(out, " but ");
  append_axes(out, axis_mask_list(arena, sharding->replicated));
}

static ShardySource source_of(Arena *arena, DiagSink *diag) {
  diag_sink_init(diag, arena);
  return (ShardySource){arena, SV("xla.sdy.sharding"), NO_LOC, diag};
}

/* "x" of 4 (axes 0, 1), "y" of 6 (2, 3); the one axis of "row"; a mesh of one device. */
static const char two_meshes[] =
    "{mesh = #sdy.mesh<[\"x\"=4, \"y\"=6]>, @row = #sdy.mesh<[\\\"all\\\"=3], device_ids=[2, 0, 1]>, "
    "one = #sdy.mesh<[], device_ids=[0]>}";

static void meshes_are_read(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  ShardySource source = source_of(arena, &diag);
  ShardyMeshes meshes;
  assert_int_equal(shardy_read_meshes(&source, sv_from_cstring(two_meshes), &meshes), STATUS_OK);
  assert_int_equal(meshes.count, 3);
  assert_true(sv_equal(meshes.data[0].name, SV("mesh")));
  assert_int_equal(meshes.data[0].mesh->device_count, 24);
  assert_null(meshes.data[0].mesh->devices);
  assert_memory_equal(meshes.data[0].firsts, ((int[]){0, 2, 4}), 3 * sizeof(int));
  assert_true(sv_equal(meshes.data[1].name, SV("row")));
  assert_memory_equal(meshes.data[1].mesh->devices, ((int64_t[]){2, 0, 1}), 3 * sizeof(int64_t));
  assert_null(meshes.data[2].mesh);
  arena_destroy(arena);
}

typedef struct ShardyCase {
  const char *text;
  const char *expected; /* "!" and a part of the message */
} ShardyCase;

static const ShardyCase sharding_cases[] = {
    {"#sdy.sharding<@mesh, []>", "mesh []"},
    {"#sdy.sharding<@mesh, [{}, {?}]>", "mesh [ | ?]"},
    {"#sdy.sharding<@mesh, [{\"x\"}, {\"y\", ?}]>", "mesh [0,1 | 2,3?]"},
    {"#sdy.sharding<@mesh, [{\\\"y\\\", \\\"x\\\"}]>", "mesh [2,3,0,1]"},
    {"#sdy.sharding<@mesh, [{\"x\"}p2, {?}p1]>", "mesh [0,1 p2 | ? p1]"},
    /* halves of an axis; the third of six is what is left after two */
    {"#sdy.sharding<@mesh, [{\"x\":(1)2}, {\"x\":(2)2}]>", "mesh [0 | 1]"},
    {"#sdy.sharding<@mesh, [{\"y\":(2)3}]>", "mesh [3]"},
    {"#sdy.sharding<@mesh, [{\"x\"}], replicated={\"y\"}>", "mesh [0,1] but 2,3"},
    {"#sdy.sharding<@mesh, [{\"x\"}], replicated={\"y\":(1)2}, unreduced={}>", "mesh [0,1] but 2"},
    {"#sdy.sharding_per_value<[]>", ""},
    {"#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>, <@row, [{\"all\"}, {}]>]>", "mesh [0,1]; row [0 | ]"},
    {"#sdy.sharding<@mesh, [{\"z\"}]>", "!names the axis 'z', which mesh 'mesh' does not have"},
    {"#sdy.sharding<@lattice, []>", "!names the mesh 'lattice', which the module does not have"},
    {"#sdy.sharding<@mesh, [{\"x\"}, {\"x\"}]>", "!needs an axis in one dimension only"},
    {"#sdy.sharding<@mesh, [{\"x\":(1)2, \"x\"}]>", "!needs each axis once"},
    {"#sdy.sharding<@mesh, [{\"y\":(1)3}]>", "!needs a part of an axis"},
    {"#sdy.sharding<@mesh, [{\"x\":(4)2}]>", "!needs a part of an axis"},
    {"#sdy.sharding<@mesh, [{}], unreduced={\"x\"}>", "!leaves partial sums on devices"},
    {"#sdy.sharding<@mesh, [{}]", "!needs '>' at ''"},
    {"#sdy.sharding<@mesh>", "!needs ',' at '>'"},
    {"sharding", "!needs '#sdy.sharding<' or '#sdy.sharding_per_value<' at 'sharding'"},
    {"#sdy.sharding<@mesh, [{}p99999999999999999999]>", "!needs a number"},
};

static void shardings_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sharding_cases / sizeof *sharding_cases; i++) {
    Arena *arena = arena_create();
    DiagSink diag;
    ShardySource source = source_of(arena, &diag);
    ShardyMeshes meshes;
    const ShardySharding *shardings;
    int count;
    StringBuilder out;
    sb_init(&out, arena);
    const char *text = sharding_cases[i].text, *expected = sharding_cases[i].expected;
    assert_int_equal(shardy_read_meshes(&source, sv_from_cstring(two_meshes), &meshes), STATUS_OK);
    Status status = shardy_read_shardings(&source, sv_from_cstring(text), &meshes, &count, &shardings);
    for (int k = 0; status == STATUS_OK && k < count; k++) {
      if (k > 0) sb_append_cstring(&out, "; ");
      append_sharding(&out, arena, &shardings[k]);
    }
    if (status != STATUS_OK) sb_printf(&out, "!%.*s", SV_ARG(diag.first->message));
    sb_append_char(&out, '\0');
    bool is_good = expected[0] == '!' ? out.data[0] == '!' && strstr(out.data, expected + 1) != NULL
                                      : strcmp(out.data, expected) == 0;
    if (!is_good) fail_msg("%s: %s", text, out.data);
    arena_destroy(arena);
  }
}

static void meshes_that_are_none(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",
      "{mesh}",
      "{mesh = #sdy.mesh<[\"x\"=0]>}",
      "{mesh = #sdy.mesh<[\"x\"=2], device_ids=[0, 1, 2]>}",
      "{mesh = #sdy.mesh<[\"x\"=4294967296, \"y\"=4294967296]>}",
      "{mesh = #sdy.mesh<[x=2]>}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    Arena *arena = arena_create();
    DiagSink diag;
    ShardySource source = source_of(arena, &diag);
    ShardyMeshes meshes;
    assert_int_equal(shardy_read_meshes(&source, sv_from_cstring(texts[i]), &meshes), STATUS_INVALID);
    assert_string_equal(diag.first->code, "sharding");
    arena_destroy(arena);
  }
}

static void manual_axes_are_of_the_first_mesh_that_has_them(void **state) {
  (void)state;
  Arena *arena = arena_create();
  DiagSink diag;
  ShardySource source = source_of(arena, &diag);
  ShardyMeshes meshes;
  const ShardyMesh *mesh;
  AxisMask axes;
  assert_int_equal(
      shardy_read_meshes(&source, SV("{a = #sdy.mesh<[\"x\"=2]>, b = #sdy.mesh<[\"x\"=2, \"y\"=2]>}"), &meshes),
      STATUS_OK);
  assert_int_equal(shardy_read_manual_axes(&source, SV("#sdy<manual_axes{\"x\"}>"), &meshes, &mesh, &axes), STATUS_OK);
  assert_ptr_equal(mesh, &meshes.data[0]);
  assert_int_equal(axes, 1);
  assert_int_equal(shardy_read_manual_axes(&source, SV("#sdy<manual_axes{\"y\"}>"), &meshes, &mesh, &axes), STATUS_OK);
  assert_ptr_equal(mesh, &meshes.data[1]);
  assert_int_equal(axes, 2);
  assert_int_equal(shardy_read_manual_axes(&source, SV("#sdy<manual_axes{\"z\"}>"), &meshes, &mesh, &axes),
                   STATUS_INVALID);
  assert_int_equal(diag.error_count, 1);
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(meshes_are_read),
      cmocka_unit_test(meshes_that_are_none),
      cmocka_unit_test(shardings_are_read),
      cmocka_unit_test(manual_axes_are_of_the_first_mesh_that_has_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
