#include "codegen/oncore/emit/dependence_cone.h"

#include "codegen/oncore/emit/oncore_testing.h"

typedef struct Found {
  const HloModule *module;
  ConeGraph graph;
  Cone cone;
  bool *needed;
} Found;

static int32_t step_named(const Found *found, const char *name) {
  for (int32_t s = 0; s < found->graph.count; s++)
    if (sv_equal(found->graph.steps[s]->name, sv_from_cstring(name))) return s;
  fail_msg("no step '%s'", name);
  return -1;
}

/* The cone of |from| and what it needs. */
static Found find(Fixture *fixture, const char *text, const char *from) {
  Found found = {.module = make_module(fixture, text)};
  bool *is_known = ARENA_NEW_ARRAY(fixture->arena, bool, found.module->next_instruction_id);
  assert_true(cone_graph_make(fixture->arena, found.module, &found.graph));
  found.needed = ARENA_NEW_ARRAY(fixture->arena, bool, found.graph.count);
  int32_t step = step_named(&found, from);
  cone_find(fixture->arena, &found.graph, is_known, step, &found.cone);
  cone_needed(fixture->arena, &found.graph, is_known, step, found.needed);
  return found;
}

static double volume(const Found *found, const char *name) {
  int32_t step = step_named(found, name);
  return cone_part_volume(&found->cone.parts[step], found->graph.steps[step]->shape);
}

static double demanded(const Found *found, int64_t parameter) {
  double most = 0;
  for (int64_t d = 0; d < found->cone.demands.count; d++)
    if (found->cone.demands.data[d].parameter == parameter && found->cone.demands.data[d].bytes > most)
      most = found->cone.demands.data[d].bytes;
  return most;
}

/* An element meets a row of the first matrix, and what is made of it all of the second one. */
static void cone_of_dots_widens(void **state) {
  Found found = find(*state,
                     "HloModule m\nENTRY e { x = f32[4,8] parameter(0) a = f32[8,16] parameter(1)\n"
                     "  b = f32[16,32] parameter(2) e = f32[4,8] exponential(x)\n"
                     "  y = f32[4,16] dot(e, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                     "  flat = f32[64] reshape(y) z = f32[4,16] reshape(flat)\n"
                     "  ROOT r = f32[4,32] dot(z, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n",
                     "e");
  assert_true(volume(&found, "y") == 16);
  assert_true(demanded(&found, 1) == 16 * 4);
  assert_true(volume(&found, "flat") == 16);
  assert_true(found.cone.shares[step_named(&found, "y")] == 1 / 32.0);
  assert_true(demanded(&found, 2) < 16 * 32 * 4); /* which rows of it a run of 16 is, nobody knows */
  found = find(*state,
               "HloModule m\nENTRY e { x = f32[1,8] parameter(0) a = f32[8,16] parameter(1)\n"
               "  b = f32[32,16] parameter(2) e = f32[1,8] exponential(x)\n"
               "  y = f32[1,16] dot(e, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               "  t = f32[16,32] transpose(b), dimensions={1,0}\n"
               "  ROOT r = f32[1,32] dot(y, t), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n",
               "e");
  assert_true(demanded(&found, 2) == 16 * 32 * 4);
  assert_true(found.needed[step_named(&found, "x")]);
}

/* A corner of 8 x 8 is in the windows of 2 x 2 positions, at 4 taps of them; the next time of 3 x 3, and of all taps
 * but those that lie outside. */
static void cone_of_convolutions_widens(void **state) {
  Found found = find(*state,
                     "HloModule m\nENTRY e { x = f32[2,8,8,4] parameter(0) k = f32[3,3,4,6] parameter(1)\n"
                     "  l = f32[3,3,6,5] parameter(2) e = f32[2,8,8,4] exponential(x)\n"
                     "  y = f32[2,8,8,6] convolution(e, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
                     "  ROOT z = f32[2,8,8,5] convolution(y, l), window={size=3x3 pad=1_1x1_1},\n"
                     "    dim_labels=b01f_01io->b01f }\n",
                     "e");
  assert_true(volume(&found, "y") == 2 * 2 * 6);
  assert_true(demanded(&found, 1) == 2 * 2 * 6 * 4);
  assert_true(volume(&found, "z") == 3 * 3 * 5);
  assert_true(demanded(&found, 2) == 3 * 3 * 6 * 5 * 4);
}

/* Every second element is in no window; all of the image is not needed either. */
static void cone_passes_over_what_windows_leave_out(void **state) {
  const char *text =
      "HloModule m\nENTRY e { x = f32[1,8,4] parameter(0) k = f32[1,4,6] parameter(1)\n"
      "  e = f32[1,8,4] exponential(x)\n"
      "  ROOT y = f32[1,4,6] convolution(e, k), window={size=1 stride=2}, dim_labels=b0f_0io->b0f }\n";
  Found found = find(*state, text, "e");
  assert_true(volume(&found, "y") == 0);
  assert_true(demanded(&found, 1) == 0);
  found = find(*state, text, "y");
  assert_false(found.needed[step_named(&found, "e")]);
  assert_true(found.needed[step_named(&found, "k")]);
}

/* Through a fusion, and out of one with two results. */
static void cone_goes_through_fusions(void **state) {
  Found found = find(*state,
                     "HloModule m\n" SUM_REGION
                     "f { p = f32[4,8] parameter(0) q = f32[8] parameter(1)\n"
                     "  wide = f32[4,8] broadcast(q), dimensions={1} s = f32[4,8] add(p, wide)\n"
                     "  n = f32[4,8] negate(s) ROOT t = (f32[4,8], f32[4,8]) tuple(s, n) }\n"
                     "ENTRY e { x = f32[4,8] parameter(0) b = f32[8] parameter(1) z = f32[] constant(0)\n"
                     "  r = f32[4] reduce(x, z), dimensions={1}, to_apply=sum\n"
                     "  rows = f32[4,8] broadcast(r), dimensions={0}\n"
                     "  both = (f32[4,8], f32[4,8]) fusion(rows, b), kind=kLoop, calls=f\n"
                     "  ROOT second = f32[4,8] get-tuple-element(both), index=1 }\n",
                     "r");
  assert_true(volume(&found, "second") == 8);
  assert_true(demanded(&found, 1) == 8 * 4);
  found = find(*state,
               "HloModule m\nENTRY e { x = f32[8] parameter(0) e = f32[8] exponential(x)\n"
               "  ROOT s = f32[4] slice(e), slice={[0:4]} }\n",
               "e");
  assert_true(volume(&found, "s") == 0); /* it may be one that is left out */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(cone_of_dots_widens, create, destroy),
      cmocka_unit_test_setup_teardown(cone_of_convolutions_widens, create, destroy),
      cmocka_unit_test_setup_teardown(cone_passes_over_what_windows_leave_out, create, destroy),
      cmocka_unit_test_setup_teardown(cone_goes_through_fusions, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
