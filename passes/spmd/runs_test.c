#include "passes/spmd/runs.h"

#include "passes/spmd/spmd_testing.h"

/* --- what is sent, worked out by hand --- */

typedef struct RunsCase {
  int64_t count, size, length, first, step;
  double sent; /* elements that a device sends, on average */
  int64_t permutes, gathers;
} RunsCase;

/* f32[size] on |count| devices: device i has the run from first + i · step on. */
static const RunsCase runs_cases[] = {
    /* its own part */
    {4, 16, 4, 0, 4, 0, 0, 0},
    /* a halo of one element at both ends: three devices have a neighbour below, three one above */
    {4, 16, 6, -1, 4, 1.5, 2, 0},
    /* three elements of four more above: the last device has nobody there */
    {4, 16, 7, 0, 4, 2.25, 1, 0},
    /* the part of the neighbour below: every device but the last sends all of its own */
    {4, 16, 4, -4, 4, 3, 1, 0},
    /* elements [2, 10), two on each: the last two devices have theirs from the one below, which sends what either
     * needs, the first half or the second */
    {4, 16, 2, 2, 2, 2, 1, 0},
    /* everything on each: an all-gather, for which each part goes to three others */
    {4, 16, 16, 0, 0, 12, 0, 1},
    /* nothing of the array */
    {4, 16, 3, 16, 3, 0, 0, 0},
    {1, 5, 9, -2, 0, 0, 0, 0},
};

static void runs_are_sent_as_worked_out(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof runs_cases / sizeof *runs_cases; i++) {
    const RunsCase *test = &runs_cases[i];
    Arena *arena = arena_create();
    ShapeTable *shapes = shape_table_create(arena);
    const SpmdMesh *mesh = spmd_mesh_create(arena, &test->count, 1, NULL, NULL);
    DeviceProgram program;
    int64_t tile = test->size / test->count;
    device_program_begin(&program, arena, shapes, mesh, shape_array(shapes, TYPE_F32, &tile, 1));
    SpmdRuns runs = spmd_runs_affine(&program.builder, axis_mask_list(arena, ((AxisMask)1 << mesh->axis_count) - 1),
                                     test->size, test->length, test->first, test->step);
    HloInstruction *made = spmd_fetch_runs(&program.builder, program.part, 0, &runs, NULL);
    assert_int_equal(made->shape->dims[0], test->length);
    assert_float_equal(spmd_runs_sent(&program.builder, &runs), test->sent, 1e-9);
    assert_int_equal(count_of(&program, HLO_COLLECTIVE_PERMUTE), test->permutes);
    assert_int_equal(count_of(&program, HLO_ALL_GATHER), test->gathers);
    arena_destroy(arena);
  }
}

/* --- any runs --- */

enum { FILL = -5 };

typedef struct RunsDrawn {
  SpmdRuns runs;
  const SpmdMesh *mesh;
  const Shape *whole; /* with other dimensions, which are not divided */
  const AxisSharding *sharding;
  int dim;
  bool has_fill;
} RunsDrawn;

static RunsDrawn draw_runs(Arena *arena, ShapeTable *shapes, uint64_t *random) {
  RunsDrawn drawn = {.mesh = random_mesh(arena, random), .has_fill = draw(random, 2) == 0};
  int64_t dims[2] = {1 + draw(random, 3), 1 + draw(random, 3)}, size = 1 + draw(random, 20);
  drawn.dim = (int)draw(random, 2);
  dims[drawn.dim] = size;
  drawn.whole = shape_array(shapes, TYPE_S32, dims, 2);
  AxisList axes = random_sharding(arena, random, drawn.mesh, 1, 0)->dims[0];
  drawn.sharding = axis_sharding_with(arena, axis_sharding_replicated(arena, 2, 0), drawn.dim, axes);
  int64_t count = axis_list_size(drawn.mesh, axes), length = 1 + draw(random, 10), *firsts, *begins, *ends;
  firsts = ARENA_NEW_ARRAY(arena, int64_t, count);
  begins = ARENA_NEW_ARRAY(arena, int64_t, count);
  ends = ARENA_NEW_ARRAY(arena, int64_t, count);
  int64_t first = draw(random, 9) - 6, step = draw(random, 5) - 1;
  bool is_affine = draw(random, 2) == 0;
  for (int64_t i = 0; i < count; i++) {
    firsts[i] = is_affine ? first + i * step : draw(random, size + 12) - 8;
    begins[i] = firsts[i] + draw(random, length + 1);
    ends[i] = begins[i] + draw(random, firsts[i] + length - begins[i] + 1);
  }
  drawn.runs = (SpmdRuns){axes, count, size, length, firsts, NULL, NULL};
  if (draw(random, 3) == 0) {
    drawn.runs.needed_begins = begins;
    drawn.runs.needed_ends = ends;
  }
  return drawn;
}

/* Element |index| of the dimension, number |number| of the array when it has it, on device |i|. */
static void check_element(const RunsDrawn *drawn, int64_t i, int64_t index, int64_t number, int64_t found) {
  const SpmdRuns *runs = &drawn->runs;
  bool is_inside = index >= 0 && index < runs->size,
       counts = runs->needed_begins == NULL || (index >= runs->needed_begins[i] && index < runs->needed_ends[i]);
  if (is_inside && counts) assert_int_equal(found, number);
  if (!is_inside && drawn->has_fill) assert_int_equal(found, FILL);
}

static void check_runs(const RunsDrawn *drawn, const Shape *shape, const Literal **results) {
  for (int64_t position = 0; position < drawn->mesh->device_count; position++) {
    const Literal *result = results[test_device(drawn->mesh, NULL, position)];
    int64_t i = axis_list_index(drawn->mesh, drawn->runs.axes, position);
    for (int64_t k = 0; k < shape_element_count(shape); k++) {
      int64_t at[2] = {k / shape->dims[1], k % shape->dims[1]};
      at[drawn->dim] += drawn->runs.firsts[i];
      check_element(drawn, i, at[drawn->dim], at[0] * drawn->whole->dims[1] + at[1], literal_get_int(result, k));
    }
  }
}

static Literal **parts_of(Arena *arena, const RunsDrawn *drawn, const Shape *local) {
  Literal **parts = ARENA_NEW_ARRAY(arena, Literal *, drawn->mesh->device_count);
  for (int64_t position = 0; position < drawn->mesh->device_count; position++) {
    Literal *part = parts[test_device(drawn->mesh, NULL, position)] = literal_create(arena, local);
    for (int64_t i = 0; i < shape_element_count(local); i++) {
      int64_t number = whole_element(drawn->mesh, drawn->sharding, drawn->whole, local, position, i);
      literal_set_int(part, i, number < 0 ? TEST_PADDING : number);
    }
  }
  return parts;
}

static void any_runs_are_fetched(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 600; seed++) {
    Arena *arena = arena_create();
    ShapeTable *shapes = shape_table_create(arena);
    uint64_t random = seed << 20;
    RunsDrawn drawn = draw_runs(arena, shapes, &random);
    const Shape *local = axis_sharding_local(drawn.mesh, drawn.sharding, drawn.whole, shapes);
    DeviceProgram program;
    device_program_begin(&program, arena, shapes, drawn.mesh, local);
    HloInstruction *fill = drawn.has_fill ? graph_integer(&program.builder.graph, TYPE_S32, FILL, NULL) : NULL;
    HloInstruction *made = spmd_fetch_runs(&program.builder, program.part, drawn.dim, &drawn.runs, fill);
    check_runs(&drawn, made->shape, device_program_run(&program, made, parts_of(arena, &drawn, local)));
    arena_destroy(arena);
  }
}

/* --- numbers by device --- */

static void numbers_differ_from_device_to_device(void **state) {
  (void)state;
  static const int64_t numbers[][6] = {{3, 5, 7, 9, 11, 13}, {4, 4, 4, 4, 4, 4}, {1, 0, -8, 2, 2, 9}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    Arena *arena = arena_create();
    ShapeTable *shapes = shape_table_create(arena);
    const int64_t devices[] = {5, 3, 1, 0, 2, 4};
    const SpmdMesh *mesh = spmd_mesh_create(arena, (int64_t[]){6}, 1, devices, NULL);
    AxisList axes = axis_mask_list(arena, 3);
    DeviceProgram program;
    device_program_begin(&program, arena, shapes, mesh, shape_scalar(shapes, TYPE_S32));
    Literal *parts[6], *none = literal_create(arena, shape_scalar(shapes, TYPE_S32));
    for (int k = 0; k < 6; k++) parts[k] = none;
    const Literal **results = device_program_run(&program, spmd_by_device(&program.builder, axes, numbers[i]), parts);
    for (int k = 0; k < 6; k++) assert_int_equal(literal_get_int(results[devices[k]], 0), numbers[i][k]);
    arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_are_sent_as_worked_out),
      cmocka_unit_test(any_runs_are_fetched),
      cmocka_unit_test(numbers_differ_from_device_to_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
