/* Strips of Kernels: which arrays they have a part of, and where these are read and written. */
#include "codegen/kernel/kernel_strip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codegen/kernel/kernel_draft.h"

static HloInstruction source = {.name = {"rows", 4}};

enum { NUMBERS, OF_COLUMN }; /* buffers */

/* A Kernel that reads |rows| rows of |columns| numbers, and one number of each column. */
static void begin(KernelDraft *draft, Arena *arena, int64_t rows, int64_t columns) {
  kernel_draft_init(draft, arena, &source);
  kernel_draft_add_buffer(draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, rows * columns, NUMBERS, 0});
  kernel_draft_add_buffer(draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, columns, OF_COLUMN, 0});
}

static const Kernel *finish(KernelDraft *draft) {
  DiagSink diag;
  const Kernel *kernel;
  diag_sink_init(&diag, draft->arena);
  assert_int_equal(kernel_draft_finish(draft, &diag, &kernel), STATUS_OK);
  return kernel;
}

/* |rows| rows of |columns| numbers, each plus one of its column: of an array of rows, or (|turns|) of columns. */
static const Kernel *sums(Arena *arena, int64_t rows, int64_t columns, bool turns) {
  KernelDraft draft;
  begin(&draft, arena, rows, columns);
  int32_t result = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, rows * columns, -1, 0});
  int32_t stage = kernel_draft_add_stage(&draft);
  IndexExpr row = kernel_draft_add_dim(&draft, rows, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr column = kernel_draft_add_dim(&draft, columns, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr place = index_add(&draft.space, index_scale(&draft.space, row, columns), column);
  IndexExpr turned = index_add(&draft.space, index_scale(&draft.space, column, rows), row);
  KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_F32), sum = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
  sum.opcode = HLO_ADD;
  sum.operand_count = 2;
  load.buffer = NUMBERS;
  load.address = turns ? turned : place;
  sum.operands[0] = kernel_draft_add_value(&draft, load);
  load.buffer = OF_COLUMN;
  load.address = column;
  sum.operands[1] = kernel_draft_add_value(&draft, load);
  int32_t stored = kernel_draft_add_value(&draft, sum);
  kernel_draft_add_store(&draft, stage, (KernelStore){result, place, stored, -1});
  return finish(&draft);
}

static void check_text(Arena *arena, const Kernel *kernel, const char *expected) {
  StringView text = kernel_text(arena, kernel);
  assert_string_equal(arena_printf(arena, "%.*s", SV_ARG(text)), expected);
}

static void strips_have_parts_of_rows(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = sums(arena, 8, 5, false);
  int64_t pieces[3];
  assert_int_equal(kernel_strip_dim(kernel, KERNEL_CUT_POINTS, pieces), 0);
  assert_int_equal(pieces[0], 5);
  assert_int_equal(pieces[1], 0);
  assert_int_equal(pieces[2], 5);
  const Kernel *first = kernel_strip_make(arena, kernel, (KernelStrip){.first = 0, .extent = 3}, NULL);
  assert_int_equal(first->buffers[0].element_count, 15);
  assert_int_equal(first->buffers[1].element_count, 5);
  StringView text = kernel_text(arena, first);
  const Kernel *last = kernel_strip_make(arena, kernel, (KernelStrip){.first = 5, .extent = 3}, NULL);
  check_text(arena, last, arena_printf(arena, "%.*s", SV_ARG(text)));
  check_text(arena, last, arena_printf(arena, "%.*s", SV_ARG(kernel_text(arena, sums(arena, 3, 5, false)))));
  arena_destroy(arena);
}

/* Of an array that is read across, a strip reads other elements than the first one does. */
static void strips_read_across(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = sums(arena, 8, 5, true);
  int64_t pieces[3], lower, upper;
  assert_int_equal(kernel_strip_dim(kernel, KERNEL_CUT_POINTS, pieces), 0);
  assert_int_equal(pieces[0], 0);
  assert_int_equal(pieces[2], 5);
  const Kernel *strip = kernel_strip_make(arena, kernel, (KernelStrip){.first = 5, .extent = 3}, NULL);
  assert_int_equal(strip->buffers[0].element_count, 40);
  assert_int_equal(strip->buffers[2].element_count, 15);
  index_range(&strip->space, strip->values[0].address, &lower, &upper);
  assert_int_equal(lower, 5);      /* column 0, row 5 */
  assert_int_equal(upper, 32 + 7); /* column 4, row 7 */
  arena_destroy(arena);
}

/* The largest of each number of |images| images of |rows| rows of |columns| numbers and that of the row below it, of
 * which the last row has none. */
static const Kernel *row_pairs(Arena *arena, int64_t images, int64_t rows, int64_t columns) {
  KernelDraft draft;
  begin(&draft, arena, images * rows, columns);
  int64_t count = images * rows * columns;
  int32_t result = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, count, -1, 0});
  int32_t stage = kernel_draft_add_stage(&draft);
  IndexExpr image = kernel_draft_add_dim(&draft, images, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr row = kernel_draft_add_dim(&draft, rows, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr column = kernel_draft_add_dim(&draft, columns, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr place = index_add(&draft.space, index_scale(&draft.space, row, columns), column);
  place = index_add(&draft.space, index_scale(&draft.space, image, rows * columns), place);
  KernelValue inside = kernel_value_blank(KERNEL_IN_RANGE, TYPE_PRED), load = kernel_value_blank(KERNEL_LOAD, TYPE_F32);
  KernelValue larger = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
  inside.address = index_add_constant(&draft.space, row, 1);
  inside.upper = rows;
  load.buffer = NUMBERS;
  load.address = place;
  larger.opcode = HLO_MAXIMUM;
  larger.operand_count = 2;
  larger.operands[0] = kernel_draft_add_value(&draft, load);
  load.predicate = kernel_draft_add_value(&draft, inside);
  load.address = index_add_constant(&draft.space, place, columns);
  larger.operands[1] = kernel_draft_add_value(&draft, load);
  int32_t stored = kernel_draft_add_value(&draft, larger);
  kernel_draft_add_store(&draft, stage, (KernelStore){result, place, stored, -1});
  return finish(&draft);
}

/* Rows of one image: a part of what they make, of the image that they read all. */
static void images_are_cut_along_rows(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = row_pairs(arena, 4, 6, 5);
  const int64_t *offsets;
  int64_t pieces[3];
  assert_int_equal(kernel_strip_dim(kernel, KERNEL_CUT_POINTS, pieces), 0);
  assert_true(pieces[0] == 30 && pieces[1] == 0 && pieces[2] == 30);
  assert_int_equal(kernel_strip_inner(kernel, KERNEL_CUT_POINTS, pieces), 6);
  assert_true(pieces[0] == 0 && pieces[1] == 0 && pieces[2] == 5); /* rows read those of others */
  KernelStrip strip = {.first = 2, .extent = 1, .inner_first = 4, .inner_extent = 2};
  assert_true(kernel_strip_fits(kernel, strip));
  check_text(arena, kernel_strip_make(arena, kernel, strip, &offsets),
             "kernel b0 f32[30] operand, b1 f32[5] operand, b2 f32[10] result\n"
             "outer d0 1 parallel, d1 2 parallel, d2 5 parallel:\n"
             "  v0 = f32 load b0[5*d1 + d2 + 20]\n"
             "  v1 = pred in-range 0 <= d1 + 5 < 6\n"
             "  v2 = f32 load b0[5*d1 + d2 + 25] if v1\n"
             "  v3 = f32 maximum v0 v2\n"
             "stage 0:\n"
             "  store b2[5*d1 + d2] = v3\n");
  assert_true(offsets[0] == 2 * 30 && offsets[2] == 2 * 30 + 4 * 5);
  strip.inner_first = 5;
  assert_false(kernel_strip_fits(kernel, strip));
  arena_destroy(arena);
}

/* Numbers x + 1, and of each column what their sum times a scale is. */
static const Kernel *column_sums(Arena *arena, int64_t rows, int64_t columns) {
  KernelDraft draft;
  begin(&draft, arena, rows, columns);
  int32_t numbers = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, rows * columns, -1, 1});
  int32_t result = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, columns, -1, 2});
  int32_t stage = kernel_draft_add_stage(&draft), last = kernel_draft_add_stage(&draft);
  int32_t fold = kernel_draft_add_fold(&draft, (KernelFold){.type = TYPE_F32, .stage = 0, .reassociable = true});
  IndexExpr column = kernel_draft_add_dim(&draft, columns, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr row = kernel_draft_add_dim(&draft, rows, KERNEL_REDUCTION, stage);
  IndexExpr place = index_add(&draft.space, index_scale(&draft.space, row, columns), column);
  KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_F32), both = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
  KernelValue constant = kernel_value_blank(KERNEL_CONSTANT, TYPE_F32);
  KernelValue sum = kernel_value_blank(KERNEL_ACCUMULATOR, TYPE_F32);
  both.operand_count = 2;
  both.opcode = HLO_ADD;
  load.buffer = NUMBERS;
  load.address = place;
  sum.fold = fold;
  constant.bits[0] = 0x80000000; /* -0 */
  draft.folds.data[fold].seed = kernel_draft_add_value(&draft, constant);
  constant.bits[0] = 0x3f800000; /* 1 */
  both.operands[0] = kernel_draft_add_value(&draft, load);
  both.operands[1] = kernel_draft_add_value(&draft, constant);
  int32_t number = kernel_draft_add_value(&draft, both);
  both.operands[0] = kernel_draft_add_value(&draft, sum);
  both.operands[1] = number;
  draft.folds.data[fold].next = kernel_draft_add_value(&draft, both);
  kernel_draft_add_store(&draft, stage, (KernelStore){numbers, place, number, -1});
  sum.params[0] = 1;
  load.buffer = OF_COLUMN;
  load.address = column;
  both.opcode = HLO_MULTIPLY;
  both.operands[0] = kernel_draft_add_value(&draft, sum);
  both.operands[1] = kernel_draft_add_value(&draft, load);
  int32_t scaled = kernel_draft_add_value(&draft, both);
  kernel_draft_add_store(&draft, last, (KernelStore){result, column, scaled, -1});
  return finish(&draft);
}

static void sums_go_on(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = column_sums(arena, 8, 5);
  const int64_t *offsets;
  int64_t pieces[4];
  assert_int_equal(kernel_strip_dim(kernel, KERNEL_CUT_SUMS, pieces), 1);
  assert_true(pieces[0] == 5 && pieces[1] == 0 && pieces[2] == 5 && pieces[3] == 0);
  assert_true(kernel_strip_leaves_sums(kernel, 3));
  assert_false(kernel_strip_leaves_sums(kernel, 2));
  KernelStrip strip = {.first = 6, .extent = 2, .leaves_open = true};
  check_text(arena, kernel_strip_make(arena, kernel, strip, &offsets),
             "kernel b0 f32[10] operand, b1 f32[10] result, b2 f32[5] result\n"
             "outer d0 5 parallel:\n"
             "  v0 = f32 constant -0.0 (0x80000000)\n"
             "  v2 = f32 constant 1 (0x3f800000)\n"
             "stage 0 d1 2 reduction:\n"
             "  v1 = f32 load b0[d0 + 5*d1]\n"
             "  v3 = f32 add v1 v2\n"
             "  v4 = f32 accumulator a0\n"
             "  v5 = f32 add v4 v3\n"
             "  fold a0 f32 from v0 by v5 reassociable\n"
             "  store b1[d0 + 5*d1] = v3\n"
             "stage 1:\n"
             "  v6 = f32 accumulator a0 final\n"
             "  store b2[d0] = v6\n");
  assert_true(offsets[0] == 30 && offsets[1] == 30 && offsets[2] == 0);
  assert_int_equal(kernel_strip_inner(kernel, KERNEL_CUT_SUMS, pieces), 0); /* rows have nothing more to fold over */
  strip = (KernelStrip){.first = 0, .extent = 6, .goes_on = true};
  const Kernel *last = kernel_strip_make(arena, kernel, strip, &offsets);
  check_text(arena, last,
             "kernel b0 f32[30] operand, b1 f32[5] operand, b2 f32[30] result, b3 f32[5] result, b4 f32[5] operand\n"
             "outer d0 5 parallel:\n"
             "  v0 = f32 constant -0.0 (0x80000000)\n"
             "  v2 = f32 constant 1 (0x3f800000)\n"
             "  v7 = f32 load b4[d0]\n"
             "  v9 = f32 load b1[d0]\n"
             "stage 0 d1 6 reduction:\n"
             "  v1 = f32 load b0[d0 + 5*d1]\n"
             "  v3 = f32 add v1 v2\n"
             "  v4 = f32 accumulator a0\n"
             "  v5 = f32 add v4 v3\n"
             "  fold a0 f32 from v0 by v5 reassociable\n"
             "  store b2[d0 + 5*d1] = v3\n"
             "stage 1:\n"
             "  v6 = f32 accumulator a0 final\n"
             "  v8 = f32 add v7 v6\n"
             "  v10 = f32 multiply v8 v9\n"
             "  store b3[d0] = v10\n");
  assert_true(last->buffers[4].operand == -1 && last->buffers[4].node == 2);
  arena_destroy(arena);
}

/* |rows| x |columns|: the sum of each column's numbers and that of their squares, each plus 1 (|scales_first|: the
 * first one times 1), added. */
static const Kernel *two_column_sums(Arena *arena, int64_t rows, int64_t columns, bool scales_first) {
  KernelDraft draft;
  begin(&draft, arena, rows, columns);
  int32_t result = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_RESULT, TYPE_F32, columns, -1, 1});
  int32_t stage = kernel_draft_add_stage(&draft), last = kernel_draft_add_stage(&draft);
  IndexExpr column = kernel_draft_add_dim(&draft, columns, KERNEL_PARALLEL, KERNEL_OUTER);
  IndexExpr row = kernel_draft_add_dim(&draft, rows, KERNEL_REDUCTION, stage);
  KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_F32), both = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
  KernelValue constant = kernel_value_blank(KERNEL_CONSTANT, TYPE_F32);
  KernelValue sum = kernel_value_blank(KERNEL_ACCUMULATOR, TYPE_F32);
  both.operand_count = 2;
  load.buffer = NUMBERS;
  load.address = index_add(&draft.space, index_scale(&draft.space, row, columns), column);
  constant.bits[0] = 0x80000000; /* -0 */
  int32_t seed = kernel_draft_add_value(&draft, constant);
  constant.bits[0] = 0x3f800000; /* 1 */
  int32_t one = kernel_draft_add_value(&draft, constant);
  int32_t number = kernel_draft_add_value(&draft, load), finals[2];
  both.operands[0] = both.operands[1] = number;
  both.opcode = HLO_MULTIPLY;
  int32_t parts[2] = {number, kernel_draft_add_value(&draft, both)};
  for (int i = 0; i < 2; i++) {
    KernelFold of = {.type = TYPE_F32, .stage = stage, .seed = seed, .reassociable = true};
    sum.fold = kernel_draft_add_fold(&draft, of);
    sum.params[0] = 0;
    both.opcode = HLO_ADD;
    both.operands[0] = kernel_draft_add_value(&draft, sum);
    both.operands[1] = parts[i];
    draft.folds.data[sum.fold].next = kernel_draft_add_value(&draft, both);
    sum.params[0] = 1;
    both.opcode = scales_first && i == 0 ? HLO_MULTIPLY : HLO_ADD;
    both.operands[0] = kernel_draft_add_value(&draft, sum);
    both.operands[1] = one;
    finals[i] = kernel_draft_add_value(&draft, both);
  }
  both.opcode = HLO_ADD;
  both.operands[0] = finals[0];
  both.operands[1] = finals[1];
  int32_t all = kernel_draft_add_value(&draft, both);
  kernel_draft_add_store(&draft, last, (KernelStore){result, column, all, -1});
  return finish(&draft);
}

static void sums_that_are_added_go_on_as_one(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = two_column_sums(arena, 8, 5, false);
  int64_t pieces[3];
  assert_int_equal(kernel_strip_dim(kernel, KERNEL_CUT_SUMS, pieces), 1);
  KernelStrip strip = {.first = 6, .extent = 2, .leaves_open = true};
  check_text(arena, kernel_strip_make(arena, kernel, strip, NULL),
             "kernel b0 f32[10] operand, b1 f32[5] result\n"
             "outer d0 5 parallel:\n"
             "  v0 = f32 constant -0.0 (0x80000000)\n"
             "stage 0 d1 2 reduction:\n"
             "  v1 = f32 load b0[d0 + 5*d1]\n"
             "  v2 = f32 multiply v1 v1\n"
             "  v3 = f32 accumulator a0\n"
             "  v4 = f32 add v3 v1\n"
             "  v5 = f32 accumulator a1\n"
             "  v6 = f32 add v5 v2\n"
             "  fold a0 f32 from v0 by v4 reassociable\n"
             "  fold a1 f32 from v0 by v6 reassociable\n"
             "stage 1:\n"
             "  v7 = f32 accumulator a0 final\n"
             "  v8 = f32 accumulator a1 final\n"
             "  v9 = f32 add v7 v8\n"
             "  store b1[d0] = v9\n");
  strip = (KernelStrip){.first = 0, .extent = 2, .goes_on = true};
  /* the first sum is that of both strips and both folds, the second one is what it begins with */
  check_text(arena, kernel_strip_make(arena, kernel, strip, NULL),
             "kernel b0 f32[10] operand, b1 f32[5] result, b2 f32[5] operand\n"
             "outer d0 5 parallel:\n"
             "  v0 = f32 constant -0.0 (0x80000000)\n"
             "  v1 = f32 constant 1 (0x3f800000)\n"
             "  v9 = f32 load b2[d0]\n"
             "  v14 = f32 add v0 v1\n"
             "stage 0 d1 2 reduction:\n"
             "  v2 = f32 load b0[d0 + 5*d1]\n"
             "  v3 = f32 multiply v2 v2\n"
             "  v4 = f32 accumulator a0\n"
             "  v5 = f32 add v4 v2\n"
             "  v12 = f32 accumulator a1\n"
             "  v13 = f32 add v12 v3\n"
             "  fold a0 f32 from v0 by v5 reassociable\n"
             "  fold a1 f32 from v0 by v13 reassociable\n"
             "stage 1:\n"
             "  v6 = f32 accumulator a0 final\n"
             "  v7 = f32 accumulator a1 final\n"
             "  v8 = f32 add v6 v7\n"
             "  v10 = f32 add v9 v8\n"
             "  v11 = f32 add v10 v1\n"
             "  v15 = f32 add v11 v14\n"
             "  store b1[d0] = v15\n");
  /* each is looked at before they are added: one result has no place for both */
  assert_int_equal(kernel_strip_dim(two_column_sums(arena, 8, 5, true), KERNEL_CUT_SUMS, pieces), -1);
  arena_destroy(arena);
}

static void names_of_strips_are_read(void **state) {
  (void)state;
  KernelStrip strip;
  assert_true(kernel_strip_read(SV("[12+30]"), &strip));
  assert_int_equal(strip.first, 12);
  assert_int_equal(strip.extent, 30);
  assert_int_equal(kernel_strip_way(strip), KERNEL_CUT_POINTS);
  assert_true(kernel_strip_read(SV("[8+8+]"), &strip));
  assert_true(strip.first == 8 && strip.extent == 8 && !strip.goes_on && strip.leaves_open);
  assert_true(kernel_strip_read(SV("[+4+4+]"), &strip));
  assert_true(strip.first == 4 && strip.extent == 4 && strip.goes_on && strip.leaves_open);
  assert_true(kernel_strip_read(SV("[+0+4]"), &strip));
  assert_true(strip.first == 0 && strip.extent == 4 && strip.goes_on && !strip.leaves_open);
  assert_int_equal(kernel_strip_way(strip), KERNEL_CUT_SUMS);
  assert_true(kernel_strip_read(SV("[+7.10+54]"), &strip));
  assert_true(strip.first == 7 && strip.extent == 1 && strip.inner_first == 10 && strip.inner_extent == 54);
  assert_true(strip.goes_on && !strip.leaves_open);
  assert_false(kernel_strip_read(SV("[7.+54]"), &strip));
  assert_false(kernel_strip_read(SV("[7.10]"), &strip));
  assert_false(kernel_strip_read(SV("[+]"), &strip));
  assert_false(kernel_strip_read(SV("[++]"), &strip));
  assert_false(kernel_strip_read(SV("[12]"), &strip));
  assert_false(kernel_strip_read(SV("[+3]"), &strip));
  assert_false(kernel_strip_read(SV("[3+]"), &strip));
  assert_false(kernel_strip_read(SV("[1+-3]"), &strip));
  assert_false(kernel_strip_read(SV("12+30"), &strip));
}

/* Rows of 5, each of 7 added to the one of 8 that its number says. */
static const Kernel *scattered(Arena *arena) {
  KernelDraft draft;
  kernel_draft_init(&draft, arena, NULL);
  IndexExpr update = kernel_draft_add_dim(&draft, 7, KERNEL_SEQUENTIAL, KERNEL_OUTER);
  IndexExpr column = kernel_draft_add_dim(&draft, 5, KERNEL_APART, KERNEL_OUTER);
  int32_t numbers = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_S64, 7, 0, 0});
  int32_t table = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_IN_PLACE, TYPE_F32, 40, -1, 0});
  int32_t rows = kernel_draft_add_buffer(&draft, (KernelBuffer){KERNEL_OPERAND, TYPE_F32, 35, 1, 0});
  KernelValue load = kernel_value_blank(KERNEL_LOAD, TYPE_S64), row = kernel_value_blank(KERNEL_IN_RANGE, TYPE_PRED);
  load.buffer = numbers;
  load.address = update;
  int32_t number = kernel_draft_add_value(&draft, load);
  row.address = index_value(&draft.space, number, INT32_MIN, INT32_MAX);
  row.upper = 8;
  KernelStore store = {table, column, -1, kernel_draft_add_value(&draft, row)};
  store.address = index_add(&draft.space, column, index_scale(&draft.space, row.address, 5));
  KernelValue old = kernel_value_blank(KERNEL_LOAD, TYPE_F32), sum = kernel_value_blank(KERNEL_APPLY, TYPE_F32);
  old.buffer = table;
  old.address = store.address;
  old.predicate = store.predicate;
  load = kernel_value_blank(KERNEL_LOAD, TYPE_F32);
  load.buffer = rows;
  load.address = index_add(&draft.space, column, index_scale(&draft.space, update, 5));
  sum.opcode = HLO_ADD;
  sum.operand_count = 2;
  sum.operands[0] = kernel_draft_add_value(&draft, old);
  sum.operands[1] = kernel_draft_add_value(&draft, load);
  store.value = kernel_draft_add_value(&draft, sum);
  kernel_draft_add_store(&draft, kernel_draft_add_stage(&draft), store);
  return finish(&draft);
}

/* A strip goes through all updates and makes those of its elements, of the third row's last four and the fourth row. */
static void strips_of_updates_have_parts_of_the_table(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const Kernel *kernel = scattered(arena);
  int64_t pieces[3];
  const int64_t *offsets;
  assert_int_equal(kernel_strip_dim(kernel, KERNEL_CUT_POINTS, pieces), -1);
  assert_int_equal(kernel_strip_updates(kernel, pieces), 40);
  assert_true(pieces[0] == 0 && pieces[1] == 1 && pieces[2] == 0);
  KernelStrip strip = {.first = 11, .extent = 9};
  assert_true(kernel_strip_fits(kernel, strip));
  assert_false(kernel_strip_fits(kernel, (KernelStrip){.first = 32, .extent = 9}));
  const Kernel *made = kernel_strip_make(arena, kernel, strip, &offsets);
  assert_true(offsets[0] == 0 && offsets[1] == 11 && offsets[2] == 0);
  check_text(arena, made,
             "kernel b0 s64[7] operand, b1 f32[9] in-place, b2 f32[35] operand\n"
             "outer d0 7 sequential, d1 5 apart:\n"
             "  v0 = s64 load b0[d0]\n"
             "  v1 = pred in-range 0 <= v0 < 8\n"
             "  v2 = pred in-range 0 <= d1 + 5*v0 + -11 < 9\n"
             "  v3 = pred and v1 v2\n"
             "  v4 = f32 load b1[d1 + 5*v0 + -11] if v3\n"
             "  v5 = f32 load b2[5*d0 + d1]\n"
             "  v6 = f32 add v4 v5\n"
             "stage 0:\n"
             "  store b1[d1 + 5*v0 + -11] = v6 if v3\n");
  assert_int_equal(kernel_strip_updates(sums(arena, 8, 5, false), pieces), 0);
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strips_have_parts_of_rows),
      cmocka_unit_test(strips_read_across),
      cmocka_unit_test(images_are_cut_along_rows),
      cmocka_unit_test(sums_go_on),
      cmocka_unit_test(sums_that_are_added_go_on_as_one),
      cmocka_unit_test(names_of_strips_are_read),
      cmocka_unit_test(strips_of_updates_have_parts_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
