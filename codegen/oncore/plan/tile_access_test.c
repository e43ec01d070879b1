#include "codegen/oncore/plan/tile_access.h"

#include "codegen/oncore/emit/oncore_testing.h"
#include "codegen/oncore/plan/tile_parts.h"

/* All points of stages |first| to |last|. */
static TileAccesses accesses_of(Fixture *fixture, const Kernel *kernel, int32_t first, int32_t last, bool keeps) {
  PlanRange *points = ARENA_NEW_ARRAY(fixture->arena, PlanRange, kernel->dim_count);
  for (int32_t d = 0; d < kernel->dim_count; d++) points[d] = plan_range_whole(kernel->dims[d].extent);
  TileCover cover = {points, first, last, keeps, -1};
  return tile_accesses(fixture->arena, kernel, &cover);
}

static int count_of(const TileAccesses *accesses, TileAccessKind kind, bool is_written) {
  int count = 0;
  for (int32_t i = 0; i < accesses->count; i++) {
    count += accesses->accesses[i].kind == kind && accesses->accesses[i].is_written == is_written;
  }
  return count;
}

/* Softmax reads its row in several stages: one tile. */
static void access_shares_equal_loads(void **state) {
  const Kernel *kernel = make_kernel(*state, SOFTMAX("33", "70"));
  int loads = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    loads += kernel->values[v].kind == KERNEL_LOAD && kernel->buffers[kernel->values[v].buffer].role == KERNEL_OPERAND;
  }
  assert_true(loads > 1);
  TileAccesses accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
  assert_int_equal(count_of(&accesses, TILE_LOAD, false), 1);
  assert_int_equal(count_of(&accesses, TILE_STORE, true), 1);
  assert_int_equal(count_of(&accesses, TILE_ACCUMULATOR, true), 0);
}

/* One stage alone: its folds are Tensors, and so is what earlier stages came to. */
static void access_of_single_stage_has_accumulators(void **state) {
  const Kernel *kernel = make_kernel(*state, SOFTMAX("33", "70"));
  TileAccesses first = accesses_of(*state, kernel, 0, 0, true);
  assert_int_equal(count_of(&first, TILE_LOAD, false), 1);
  assert_int_equal(count_of(&first, TILE_ACCUMULATOR, true), 1);
  assert_int_equal(count_of(&first, TILE_STORE, true), 0);
  TileAccesses second = accesses_of(*state, kernel, 1, 1, true);
  assert_int_equal(count_of(&second, TILE_ACCUMULATOR, false), 1);
  assert_int_equal(count_of(&second, TILE_ACCUMULATOR, true), 1);
  /* what is read comes first */
  for (int32_t i = 1; i < second.count; i++) {
    assert_true(second.accesses[i].is_written >= second.accesses[i - 1].is_written);
  }
}

/* Real and imaginary parts lie side by side: one tile of pairs for each array, whatever is computed of them. */
static void access_holds_parts_of_complex_numbers(void **state) {
  const Kernel *kernel = make_kernel(
      *state, "ENTRY e { a = c64[50] parameter(0)\n b = c64[50] parameter(1)\n ROOT y = c64[50] multiply(a, b) }");
  TileAccesses accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
  assert_int_equal(accesses.count, 3);
  for (int32_t i = 0; i < accesses.count; i++) {
    assert_int_equal(accesses.accesses[i].parts, 2);
    assert_int_equal(accesses.accesses[i].axis_count, 1);
    assert_int_equal(tile_access_rank(&accesses.accesses[i]), 2);
  }
  assert_int_equal(count_of(&accesses, TILE_STORE, true), 1);
}

/* Elements that are P apart, as long as the last of P is in the array as well and P elements are few bytes. */
static void access_holds_what_lies_between_elements(void **state) {
  static const struct {
    const char *module;
    int64_t parts;
  } cases[] = {
      {"ENTRY e { a = f32[90] parameter(0)\n ROOT y = f32[30] slice(a), slice={[1:90:3]} }", 3},
      {"ENTRY e { a = f32[89] parameter(0)\n ROOT y = f32[30] slice(a), slice={[0:88:3]} }", 1},
      {"ENTRY e { a = f32[89] parameter(0)\n ROOT y = f32[29] slice(a), slice={[0:87:3]} }", 3},
      {"ENTRY e { a = f32[80] parameter(0)\n ROOT y = f32[10] slice(a), slice={[0:80:8]} }", 8},
      {"ENTRY e { a = f32[90] parameter(0)\n ROOT y = f32[10] slice(a), slice={[0:90:9]} }", 1},
      {"ENTRY e { a = s8[90] parameter(0)\n ROOT y = s8[10] slice(a), slice={[0:90:9]} }", 9},
      {"ENTRY e { a = f32[90] parameter(0)\n ROOT y = f32[30] slice(a), slice={[30:60]} }", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const Kernel *kernel = make_kernel(*state, cases[i].module);
    TileAccesses accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
    assert_int_equal(accesses.count, 2);
    assert_int_equal(accesses.accesses[0].parts, cases[i].parts);
    assert_int_equal(accesses.accesses[1].parts, 1);
  }
}

/* Reversed rows are held as they lie in memory; guarded ones, whose padding is made as they are loaded, as they are
 * asked for. */
static void access_holds_reversed_rows_as_they_lie(void **state) {
  const Kernel *kernel =
      make_kernel(*state, "ENTRY e { a = f32[20,30] parameter(0)\n ROOT y = f32[20,30] reverse(a), dimensions={1} }");
  TileAccesses accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
  assert_int_equal(accesses.accesses[0].axis_count, 2);
  assert_false(tile_load_descends(kernel, accesses.accesses[0].value, accesses.accesses[0].axes[0]));
  assert_true(tile_load_descends(kernel, accesses.accesses[0].value, accesses.accesses[0].axes[1]));
  kernel = make_kernel(*state,
                       "f { a = f32[20,30] parameter(0)\n c = f32[] constant(1)\n"
                       " r = f32[20,30] reverse(a), dimensions={1}\n"
                       " ROOT y = f32[20,40] pad(r, c), padding=0_0x3_7 }\n"
                       "ENTRY e { a = f32[20,30] parameter(0)\n"
                       " ROOT y = f32[20,40] fusion(a), kind=kLoop, calls=f }");
  accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
  for (int32_t i = 0; i < accesses.accesses[0].axis_count; i++)
    assert_false(tile_load_descends(kernel, accesses.accesses[0].value, accesses.accesses[0].axes[i]));
}

/* A product's second stage only stores what the first has summed up; a bias makes it more, rounding another type. */
static void access_knows_folds_that_are_results(void **state) {
  static const char *const modules[] = {
      "ENTRY e { a = f32[20,30] parameter(0)\n b = f32[30,40] parameter(1)\n"
      " ROOT y = f32[20,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
      "f { a = f32[20,30] parameter(0)\n b = f32[30,40] parameter(1)\n c = f32[20,40] parameter(2)\n"
      " d = f32[20,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      " ROOT y = f32[20,40] add(d, c) }\n"
      "ENTRY e { a = f32[20,30] parameter(0)\n b = f32[30,40] parameter(1)\n c = f32[20,40] parameter(2)\n"
      " ROOT y = f32[20,40] fusion(a, b, c), kind=kLoop, calls=f }",
      "ENTRY e { a = bf16[20,30] parameter(0)\n b = bf16[30,40] parameter(1)\n"
      " ROOT y = bf16[20,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
  };
  static const int32_t folds[] = {0, -1, -1};
  for (int m = 0; m < 3; m++) {
    const Kernel *kernel = make_kernel(*state, modules[m]);
    assert_int_equal(kernel->stage_count, 2);
    assert_int_equal(tile_stored_fold(kernel, 0), -1);
    assert_int_equal(tile_stored_fold(kernel, 1), folds[m]);
  }
}

/* A tile's axes follow memory: larger strides outside, on either side. */
static void access_axes_descend_by_stride(void **state) {
  const Kernel *kernel = make_kernel(*state, TRANSPOSE("90", "110"));
  TileAccesses accesses = accesses_of(*state, kernel, 0, 0, false);
  assert_int_equal(accesses.count, 2);
  const TileAccess *load = &accesses.accesses[0], *store = &accesses.accesses[1];
  assert_int_equal(load->axis_count, 2);
  assert_int_equal(store->axis_count, 2);
  assert_int_equal(load->axes[0], store->axes[1]);
  assert_int_equal(load->axes[1], store->axes[0]);
  assert_int_equal(kernel->dims[load->axes[0]].extent, 90);
}

static void access_of_gather_needs_index(void **state) {
  Fixture *fixture = *state;
  const Kernel *kernel = make_kernel(fixture, GATHER);
  int gathers = 0, value = -1;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind != KERNEL_LOAD || !tile_load_is_gather(kernel, v)) continue;
    gathers++;
    value = v;
  }
  assert_int_equal(gathers, 1);
  int32_t axes[KERNEL_MAX_DIMS];
  assert_int_equal(tile_load_axes(kernel, value, axes), 2);
  assert_int_equal(tile_index_axes(kernel, value, axes), 1);
  assert_int_equal(kernel->dims[axes[0]].extent, 70);
  PlanRange points[KERNEL_MAX_DIMS] = {0};
  points[axes[0]] = plan_range_whole(70);
  TileCover cover = {points, 0, 0, false, value};
  TileAccesses accesses = tile_accesses(fixture->arena, kernel, &cover);
  assert_int_equal(accesses.count, 2);
  assert_int_equal(accesses.accesses[0].type, TYPE_S32);
  assert_int_equal(accesses.accesses[1].kind, TILE_INDEX);
  assert_int_equal(accesses.accesses[1].type, TYPE_S64);
}

/* The result of a scatter is one Tensor for both reading and writing; places and updates are tiles. */
static void access_of_scatter_updates_whole_buffer(void **state) {
  const Kernel *kernel = make_kernel(*state, SCATTER);
  TileAccesses accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
  assert_int_equal(count_of(&accesses, TILE_UPDATED, true), 1);
  assert_int_equal(count_of(&accesses, TILE_LOAD, false), 2);
  assert_int_equal(accesses.count, 3);
  const TileAccess *updated = &accesses.accesses[2];
  assert_true(updated->is_read);
  assert_true(tile_is_updated(kernel, updated->buffer));
  assert_int_equal(kernel->buffers[updated->buffer].element_count, 19 * 23);
}

/* All updates go to the operand's first elements: what one leaves there the next one reads. */
static void access_of_scatter_without_places_updates_whole_buffer(void **state) {
  const Kernel *kernel =
      make_kernel(*state, "HloModule m\n" SUM_REGION
                          "ENTRY e { t = f32[19] parameter(0) i = s32[99,0] parameter(1)\n"
                          "  u = f32[99,7] parameter(2) ROOT r = f32[19] scatter(t, i, u), update_window_dims={1},\n"
                          "    inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=1, "
                          "to_apply=sum }\n");
  TileAccesses accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
  assert_int_equal(count_of(&accesses, TILE_UPDATED, true), 1);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_updated = value->kind == KERNEL_LOAD && kernel->buffers[value->buffer].role == KERNEL_IN_PLACE;
    if (is_updated) assert_int_equal(value->dims, 3); /* the windows' elements, and which window's turn it is */
  }
}

/* A plain result is filled by its Kernel. */
static void access_counts_stored_elements(void **state) {
  const Kernel *kernel = make_kernel(*state, TRANSPOSE("90", "110"));
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    int64_t expected = kernel->buffers[b].role == KERNEL_RESULT ? 9900 : 0;
    assert_int_equal(tile_stored_elements(kernel, b), expected);
    assert_false(tile_is_updated(kernel, b));
  }
}

static int32_t first_load(const Kernel *kernel, int32_t buffer) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind == KERNEL_LOAD && kernel->values[v].buffer == buffer) return v;
  }
  fail_msg("no load of buffer %d", buffer);
  return -1;
}

/* Rows and taps of rows are one axis, columns and their taps another; channels, and weights, are as they were. */
static void windows_join_positions_and_taps(void **state) {
  const Kernel *kernel = make_kernel(*state, DEPTHWISE);
  TileWindows windows;
  assert_true(tile_load_windows(kernel, first_load(kernel, 0), &windows));
  assert_int_equal(windows.axis_count, 5);
  int64_t whole[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < kernel->dim_count; d++) whole[d] = kernel->dims[d].extent;
  static const int64_t extents[] = {24 + 2, 1, 18 + 2, 1, 8};
  for (int32_t i = 0; i < 5; i++) {
    assert_int_equal(tile_window_extent(&windows, i, whole), extents[i]);
    assert_int_equal(tile_axis_is_windowed(&windows, i), i < 4);
    assert_int_equal(windows.steps[i], 1);
  }
  assert_int_equal(windows.along[1], 0);
  assert_int_equal(windows.along[3], 2);
  assert_false(tile_load_windows(kernel, first_load(kernel, 1), &windows));
}

/* In steps of 2 the positions step along the taps: 2 * 15 + 3 columns. */
static void windows_step_over_elements(void **state) {
  const Kernel *kernel = make_kernel(*state, POOL);
  TileWindows windows;
  assert_true(tile_load_windows(kernel, first_load(kernel, 0), &windows));
  assert_int_equal(windows.axis_count, 3);
  int64_t whole[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < kernel->dim_count; d++) whole[d] = kernel->dims[d].extent;
  assert_int_equal(whole[windows.axes[1]], 16);
  assert_int_equal(windows.along[1], 2);
  assert_int_equal(windows.steps[1], 2);
  assert_int_equal(tile_window_extent(&windows, 2, whole), 33);
  assert_int_equal(tile_window_extent(&windows, 1, whole), 1);
}

/* Of a gradient of weights: taps of rows, of columns, channels, then positions that are folded over, samples last. */
static void inner_axes_with_fewer_outer_ones_are_positions(void **state) {
  const Kernel *kernel =
      make_kernel(*state,
                  "HloModule m\nENTRY e { x = f32[3,16,20,8] parameter(0) dy = f32[3,8,10,4] parameter(1)\n"
                  "  ROOT dw = f32[3,3,8,4] convolution(x, dy), window={size=8x10 pad=0_1x0_1 rhs_dilate=2x2},\n"
                  "    dim_labels=f01b_i01o->01bf }\n");
  TileWindows windows;
  assert_true(tile_load_windows(kernel, first_load(kernel, 0), &windows));
  for (int32_t i = 0; i < windows.axis_count; i++) {
    const KernelDim *dim = &kernel->dims[windows.axes[i]];
    bool is_position = dim->extent == 8 || dim->extent == 10;
    if (dim->stage == KERNEL_OUTER || dim->extent == 3) is_position = false;
    assert_int_equal(tile_axis_is_position(kernel, &windows, i), is_position);
  }
  kernel = make_kernel(*state, DEPTHWISE); /* taps are the inner ones */
  assert_true(tile_load_windows(kernel, first_load(kernel, 0), &windows));
  for (int32_t i = 0; i < windows.axis_count; i++) assert_false(tile_axis_is_position(kernel, &windows, i));
}

/* Columns 4 … 10 of 16 with taps 1 and 2 of 3 see 2 * 4 + 1 … 2 * 9 + 2: ten of them and two more. */
static void window_of_points_is_a_range(void **state) {
  Fixture *fixture = *state;
  const Kernel *kernel = make_kernel(fixture, POOL);
  TileWindows windows;
  assert_true(tile_load_windows(kernel, first_load(kernel, 0), &windows));
  PlanRange points[KERNEL_MAX_DIMS] = {0};
  for (int32_t d = 0; d < kernel->dim_count; d++) points[d] = plan_range_whole(kernel->dims[d].extent);
  points[windows.axes[1]] = (PlanRange){index_constant(4), 6, false, index_constant(0)};
  points[windows.axes[2]] = (PlanRange){index_constant(1), 2, false, index_constant(0)};
  IndexSpace space;
  index_space_init(&space, fixture->arena);
  PlanRange range = tile_window_range(&space, &windows, 2, points);
  assert_int_equal(range.begin.constant, 9);
  assert_int_equal(range.extent, 12);
  assert_false(range.is_ragged);
  assert_int_equal(tile_window_range(&space, &windows, 1, points).extent, 1);
}

/* A dilated input's output of 2 * 9 positions is cut into phases; phase, position and step are one axis of 9 + 1 + 1
 * positions.  Of 3 taps one phase meets two and the other one: which, the tile does not know. */
static void windows_leave_guards_of_taps(void **state) {
  const Kernel *kernel = make_kernel(*state, DILATED);
  int32_t value = first_load(kernel, 0), guards = 0;
  TileWindows windows;
  assert_true(tile_load_windows(kernel, value, &windows));
  int64_t whole[KERNEL_MAX_DIMS], most = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) whole[d] = kernel->dims[d].extent;
  for (int32_t i = 0; i < windows.axis_count; i++) {
    int64_t extent = tile_window_extent(&windows, i, whole);
    if (extent > most) most = extent;
  }
  assert_int_equal(most, 9 + 1 + 1);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind != KERNEL_IN_RANGE) continue;
    assert_int_equal(tile_guard_is_of_taps(kernel, v, &windows), kernel->values[v].upper == 3);
    guards++;
  }
  assert_int_equal(guards, 2);
}

/* Its 3 taps are walked as 2 phases of 2, the last of which is beyond the array: they are a window that ends with it,
 * and a box but for the rest. */
static void windows_end_with_taps(void **state) {
  const Kernel *kernel = make_kernel(*state, DILATED);
  int32_t value = first_load(kernel, 1), ends = 0;
  TileWindows windows;
  uint64_t dims;
  assert_true(tile_load_windows(kernel, value, &windows));
  assert_true(tile_windows_end(&windows, &dims));
  assert_int_equal(__builtin_popcountll(dims), 2);
  assert_true(tile_windows_are_box(kernel, value, &windows));
  int64_t whole[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < kernel->dim_count; d++) whole[d] = kernel->dims[d].extent;
  for (int32_t i = 0; i < windows.axis_count; i++) {
    if (windows.ends[i] == 0) continue;
    assert_int_equal(tile_window_extent(&windows, i, whole), 3);
    ends++;
  }
  assert_int_equal(ends, 1);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind != KERNEL_IN_RANGE) continue;
    assert_int_equal(tile_guard_is_of_taps(kernel, v, &windows), kernel->values[v].upper == 3);
  }
  assert_true(tile_load_windows(kernel, first_load(kernel, 0), &windows));
  assert_false(tile_windows_end(&windows, &dims));
}

/* What stands for elements that are not there is in the tile: the choice is the load, and the load by itself is not
 * needed. */
static void access_of_padded_load_has_padding(void **state) {
  const Kernel *kernel = make_kernel(*state, PADDED_POOL);
  TileAccesses accesses = accesses_of(*state, kernel, 0, kernel->stage_count - 1, false);
  assert_int_equal(count_of(&accesses, TILE_LOAD, false), 1);
  int32_t value = accesses.accesses[0].value, load = first_load(kernel, 0);
  assert_int_equal(kernel->values[value].opcode, HLO_SELECT);
  assert_ptr_equal(tile_load_value(kernel, value), &kernel->values[load]);
  int32_t padding = tile_load_padding(kernel, value);
  assert_int_equal(kernel->values[padding].bits[0], 0xff800000);
  assert_int_equal(tile_load_padding(kernel, load), -1);
  TileWindows windows;
  assert_true(tile_load_windows(kernel, value, &windows));
}

/* Neither do the rows of a matrix overlap, nor do windows that follow one another, nor what is gathered. */
static void windows_are_where_points_overlap(void **state) {
  static const char *const modules[] = {MATMUL("65", "130", "70"), TRANSPOSE("90", "110"), SOFTMAX("33", "70"), GATHER,
                                        PAD};
  TileWindows windows;
  for (size_t m = 0; m < sizeof modules / sizeof *modules; m++) {
    const Kernel *kernel = make_kernel(*state, modules[m]);
    for (int32_t v = 0; v < kernel->value_count; v++)
      assert_false(kernel->values[v].kind == KERNEL_LOAD && tile_load_windows(kernel, v, &windows));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(access_holds_parts_of_complex_numbers, create, destroy),
      cmocka_unit_test_setup_teardown(access_holds_what_lies_between_elements, create, destroy),
      cmocka_unit_test_setup_teardown(access_holds_reversed_rows_as_they_lie, create, destroy),
      cmocka_unit_test_setup_teardown(access_shares_equal_loads, create, destroy),
      cmocka_unit_test_setup_teardown(access_of_single_stage_has_accumulators, create, destroy),
      cmocka_unit_test_setup_teardown(access_knows_folds_that_are_results, create, destroy),
      cmocka_unit_test_setup_teardown(access_axes_descend_by_stride, create, destroy),
      cmocka_unit_test_setup_teardown(access_of_gather_needs_index, create, destroy),
      cmocka_unit_test_setup_teardown(access_of_scatter_updates_whole_buffer, create, destroy),
      cmocka_unit_test_setup_teardown(windows_join_positions_and_taps, create, destroy),
      cmocka_unit_test_setup_teardown(windows_step_over_elements, create, destroy),
      cmocka_unit_test_setup_teardown(inner_axes_with_fewer_outer_ones_are_positions, create, destroy),
      cmocka_unit_test_setup_teardown(window_of_points_is_a_range, create, destroy),
      cmocka_unit_test_setup_teardown(windows_leave_guards_of_taps, create, destroy),
      cmocka_unit_test_setup_teardown(windows_end_with_taps, create, destroy),
      cmocka_unit_test_setup_teardown(access_of_padded_load_has_padding, create, destroy),
      cmocka_unit_test_setup_teardown(windows_are_where_points_overlap, create, destroy),
      cmocka_unit_test_setup_teardown(access_of_scatter_without_places_updates_whole_buffer, create, destroy),
      cmocka_unit_test_setup_teardown(access_counts_stored_elements, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
