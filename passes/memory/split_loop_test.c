/* Loops that are computed part by part, against the evaluator. */
#include "passes/memory/split_loop.h"

#include "passes/memory/split_testing.h"

/* Loops over what they stack and sum: a scan of layers over a batch, forward and backward. */
static const char scan_computations[] =
    "forward { s = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n x = f32[12,4] get-tuple-element(s), index=1\n"
    "  xs = f32[3,12,4] get-tuple-element(s), index=2\n ws = f32[3,4,4] get-tuple-element(s), index=3\n"
    "  one = s32[] constant(1)\n zero = s32[] constant(0)\n j = s32[] add(i, one)\n"
    "  w1 = f32[1,4,4] dynamic-slice(ws, i, zero, zero), dynamic_slice_sizes={1,4,4}\n w = f32[4,4] reshape(w1)\n"
    "  y = f32[12,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n t = f32[12,4] tanh(y)\n"
    "  x1 = f32[1,12,4] reshape(t)\n xs1 = f32[3,12,4] dynamic-update-slice(xs, x1, i, zero, zero)\n"
    "  ROOT r = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4]) tuple(j, t, xs1, ws) }\n"
    "forward_goes_on { s = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n three = s32[] constant(3)\n"
    "  ROOT r = pred[] compare(i, three), direction=LT }\n"
    "backward { s = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4], f32[4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n g = f32[12,4] get-tuple-element(s), index=1\n"
    "  xs = f32[3,12,4] get-tuple-element(s), index=2\n dw = f32[3,4,4] get-tuple-element(s), index=3\n"
    "  db = f32[4] get-tuple-element(s), index=4\n two = s32[] constant(2)\n k = s32[] subtract(two, i)\n"
    "  one = s32[] constant(1)\n zero = s32[] constant(0)\n nil = f32[] constant(0)\n j = s32[] add(i, one)\n"
    "  x1 = f32[1,12,4] dynamic-slice(xs, k, zero, zero), dynamic_slice_sizes={1,12,4}\n x = f32[12,4] reshape(x1)\n"
    "  d = f32[4,4] dot(x, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n n = f32[4,4] negate(d)\n"
    "  d1 = f32[1,4,4] reshape(n)\n dw1 = f32[3,4,4] dynamic-update-slice(dw, d1, k, zero, zero)\n"
    "  b = f32[4] reduce(g, nil), dimensions={0}, to_apply=add\n db1 = f32[4] add(db, b)\n"
    "  g1 = f32[12,4] multiply(g, x)\n"
    "  ROOT r = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4], f32[4]) tuple(j, g1, xs, dw1, db1) }\n"
    "backward_goes_on { s = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4], f32[4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n three = s32[] constant(3)\n"
    "  ROOT r = pred[] compare(i, three), direction=LT }\n";

static const char scan_instructions[] =
    "x = f32[12,4] parameter(0)\n ws = f32[3,4,4] parameter(1)\n zero = f32[] constant(0)\n nought = s32[] "
    "constant(0)\n"
    "none = f32[3,12,4] broadcast(zero), dimensions={}\n"
    "s = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4]) tuple(nought, x, none, ws)\n"
    "f = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4]) while(s), condition=forward_goes_on, body=forward\n"
    "y = f32[12,4] get-tuple-element(f), index=1\n xs = f32[3,12,4] get-tuple-element(f), index=2\n"
    "g = f32[12,4] cosine(y)\n w0 = f32[3,4,4] broadcast(zero), dimensions={}\n b0 = f32[4] broadcast(zero), "
    "dimensions={}\n"
    "t = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4], f32[4]) tuple(nought, g, xs, w0, b0)\n"
    "b = (s32[], f32[12,4], f32[3,12,4], f32[3,4,4], f32[4]) while(t), condition=backward_goes_on, body=backward\n"
    "dw = f32[3,4,4] get-tuple-element(b), index=3\n db = f32[4] get-tuple-element(b), index=4\n"
    "ROOT r = (f32[3,4,4], f32[4]) tuple(dw, db)";

/* The batch goes through both loops in parts: none of what the first stacks for the second is there as a whole. */
static void loops_are_cut_along_what_they_do_not_mix(void **state) {
  (void)state;
  const Case test = {scan_instructions, {"none", "f", "b"}, 1, 1e-5, scan_computations};
  check_case(&test, HLO_SPLIT_ALL);
  Run run = {.arena = arena_create(), .scope = HLO_SPLIT_ALL};
  read_case(&run, &test);
  find_splits(&run, &test);
  int both = 0;
  for (int64_t i = 0; i < run.splits.count; i++) {
    int loops = 0;
    for (int64_t m = 0; m < run.splits.data[i].member_count; m++)
      loops += run.splits.data[i].members[m].instruction->opcode == HLO_WHILE;
    both += loops == 2;
  }
  assert_true(both > 0);
  arena_destroy(run.arena);
}

/* |body|, of a loop of three iterations over a state (s32[], f32[12,4]) whose elements it has as |i| and |x|; both are
 * read afterwards where |reads_counter|. */
static Case loop_case(Arena *arena, const char *body, const char *goes_on, bool reads_counter) {
  const char *computations = arena_printf(
      arena,
      "body { s = (s32[], f32[12,4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[12,4] get-tuple-element(s), index=1\n one = s32[] constant(1)\n zero = f32[] constant(0)\n%s\n"
      "  ROOT r = (s32[], f32[12,4]) tuple(j, y) }\n"
      "goes_on { s = (s32[], f32[12,4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[12,4] get-tuple-element(s), index=1\n three = s32[] constant(3)\n zero = f32[] constant(0)\n%s }\n",
      body, goes_on);
  const char *instructions = arena_printf(
      arena,
      "p = f32[12,4] parameter(0)\n e = f32[12,4] exponential(p)\n nought = s32[] constant(0)\n"
      "s = (s32[], f32[12,4]) tuple(nought, e)\n w = (s32[], f32[12,4]) while(s), condition=goes_on, body=body\n"
      "%sx = f32[12,4] get-tuple-element(w), index=1\n"
      "n = f32[12,4] negate(x)\n ROOT r = (f32[12,4]%s) tuple(n%s)",
      reads_counter ? "i = s32[] get-tuple-element(w), index=0\n " : "", reads_counter ? ", s32[]" : "",
      reads_counter ? ", i" : "");
  return (Case){instructions, {"e", "w"}, 0, 1e-6, computations};
}

static int loops_cut(const Case *test) {
  Run run = {.arena = arena_create(), .scope = HLO_SPLIT_ALL};
  int cut = 0;
  read_case(&run, test);
  find_splits(&run, test);
  for (int64_t i = 0; i < run.splits.count; i++)
    for (int64_t m = 0; m < run.splits.data[i].member_count; m++)
      cut += run.splits.data[i].members[m].instruction->opcode == HLO_WHILE;
  arena_destroy(run.arena);
  return cut;
}

static void loops_that_mix_places_stay_whole(void **state) {
  (void)state;
  static const char rows[] =
      "j = s32[] add(i, one)\n m = f32[12] reduce(x, zero), dimensions={1}, to_apply=add\n"
      "b = f32[12,4] broadcast(m), dimensions={0}\n y = f32[12,4] subtract(x, b)";
  static const char mixed[] =
      "j = s32[] add(i, one)\n m = f32[12] reduce(x, zero), dimensions={1}, to_apply=add\n"
      "b = f32[12,4] broadcast(m), dimensions={0}\n z = f32[12,4] subtract(x, b)\n y = f32[12,4] reverse(z), "
      "dimensions={0,1}";
  static const char counted[] = "ROOT r = pred[] compare(i, three), direction=LT";
  static const char asked[] =
      "m = f32[] reduce(x, zero), dimensions={0,1}, to_apply=max\n ROOT r = pred[] compare(m, zero), direction=GT";
  Arena *arena = arena_create();
  Case by_rows = loop_case(arena, rows, counted, false);
  assert_true(loops_cut(&by_rows) > 0);
  by_rows.candidates = 1;
  check_case(&by_rows, HLO_SPLIT_ALL);
  const Case whole[] = {
      loop_case(arena, mixed, counted, false),
      loop_case(arena, rows, asked, false),  /* how often depends on all places */
      loop_case(arena, rows, counted, true), /* what is the same for each part is read */
  };
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) assert_int_equal(loops_cut(&whole[i]), 0);
  arena_destroy(arena);
}

/* The square of a sum is not the sum of squares: a state that is more than added to is no sum of parts. */
static void sums_of_loops_are_linear(void **state) {
  (void)state;
  static const char format[] =
      "body { s = (s32[], f32[12,4], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[12,4] get-tuple-element(s), index=1\n a = f32[4] get-tuple-element(s), index=2\n"
      "  one = s32[] constant(1)\n zero = f32[] constant(0)\n j = s32[] add(i, one)\n y = f32[12,4] cosine(x)\n"
      "  m = f32[4] reduce(x, zero), dimensions={0}, to_apply=add\n c = f32[4] %s\n b = f32[4] add(c, m)\n"
      "  ROOT r = (s32[], f32[12,4], f32[4]) tuple(j, y, b) }\n"
      "goes_on { s = (s32[], f32[12,4], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      "  three = s32[] constant(3)\n ROOT r = pred[] compare(i, three), direction=LT }\n";
  static const char instructions[] =
      "p = f32[12,4] parameter(0)\n e = f32[12,4] exponential(p)\n nought = s32[] constant(0)\n zero = f32[] "
      "constant(0)\n a = f32[4] broadcast(zero), dimensions={}\n"
      "s = (s32[], f32[12,4], f32[4]) tuple(nought, e, a)\n"
      "w = (s32[], f32[12,4], f32[4]) while(s), condition=goes_on, body=body\n"
      "ROOT r = f32[4] get-tuple-element(w), index=2";
  static const struct {
    const char *carried;
    bool is_linear;
  } rows[] = {{"negate(a)", true}, {"cosine(a)", false}, {"multiply(a, a)", false}, {"add(a, a)", true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Arena *arena = arena_create();
    Case test = {instructions, {"e", "w"}, 1, 1e-5, arena_printf(arena, format, rows[i].carried)};
    /* along the rows, which are summed; columns are independent either way */
    Run run = {.arena = arena, .scope = HLO_SPLIT_ALL};
    int summed = 0;
    read_case(&run, &test);
    find_splits(&run, &test);
    for (int64_t k = 0; k < run.splits.count; k++)
      for (int64_t m = 0; m < run.splits.data[k].member_count; m++) {
        const HloSplitMember *member = &run.splits.data[k].members[m];
        summed += member->instruction->opcode == HLO_GET_TUPLE_ELEMENT && member->dimension == HLO_SPLIT_FOLDED;
      }
    if ((summed > 0) != rows[i].is_linear) fail_msg("%s", rows[i].carried);
    check_case(&test, HLO_SPLIT_ALL);
    arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_are_cut_along_what_they_do_not_mix),
      cmocka_unit_test(loops_that_mix_places_stay_whole),
      cmocka_unit_test(sums_of_loops_are_linear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
