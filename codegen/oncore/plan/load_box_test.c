#include "codegen/oncore/plan/load_box.h"

#include "codegen/oncore/emit/oncore_testing.h"

static bool holds(const Kernel *kernel, int32_t predicate, const int64_t *point) {
  if (predicate < 0) return true;
  const KernelValue *value = &kernel->values[predicate];
  if (value->kind == KERNEL_APPLY)
    return holds(kernel, value->operands[0], point) && holds(kernel, value->operands[1], point);
  assert_int_equal(value->kind, KERNEL_IN_RANGE);
  int64_t at = index_evaluate(&kernel->space, value->address, point, NULL);
  return value->lower <= at && at < value->upper;
}

/* Bytes that any of the points reads, one by one. */
static void mark_points(const Kernel *kernel, const KernelValue *load, int32_t dim, const int64_t *begins,
                        const int64_t *extents, int64_t *point, uint8_t *bytes) {
  if (dim == kernel->dim_count) {
    if (!holds(kernel, load->predicate, point)) return;
    int64_t at = index_evaluate(&kernel->space, load->address, point, NULL);
    assert_true(at >= 0 && at < kernel->buffers[load->buffer].element_count);
    memset(bytes + 4 * at, 1, 4);
    return;
  }
  for (int64_t i = 0; i < extents[dim]; i++) {
    point[dim] = begins[dim] + i;
    mark_points(kernel, load, dim + 1, begins, extents, point, bytes);
  }
}

static void check_box(Fixture *fixture, const Kernel *kernel, int32_t value, const int64_t *begins,
                      const int64_t *extents) {
  const KernelValue *load = &kernel->values[value];
  int64_t size = 4 * kernel->buffers[load->buffer].element_count, point[KERNEL_MAX_DIMS];
  uint8_t *expected = ARENA_NEW_ARRAY(fixture->arena, uint8_t, size), *found;
  found = ARENA_NEW_ARRAY(fixture->arena, uint8_t, size);
  ByteBox box;
  assert_true(load_box_find(kernel, value, begins, extents, &box));
  mark_points(kernel, load, 0, begins, extents, point, expected);
  for (int64_t run = 0; run < byte_box_run_count(&box) && box.bytes > 0; run++)
    memset(found + byte_box_run(&box, run), 1, (size_t)box.bytes);
  assert_memory_equal(found, expected, (size_t)size);
}

/* Positions of rows and columns with a tap each: what the padding is not. */
static void load_box_is_what_points_read(void **state) {
  Fixture *fixture = *state;
  const Kernel *kernel = make_kernel(fixture, DEPTHWISE);
  int32_t value = 0;
  while (kernel->values[value].kind != KERNEL_LOAD || kernel->values[value].predicate < 0) value++;
  static const int64_t rows[][2] = {{0, 5}, {7, 3}, {20, 4}, {0, 1}, {23, 1}, {22, 4}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    for (int64_t tap = 0; tap < 3; tap++) {
      int64_t begins[] = {rows[r][0], 2, 1, tap, 2}, extents[] = {rows[r][1], 16, 5, 1, 1};
      if (begins[0] + extents[0] > 24 && tap > 0) continue; /* out of the window */
      check_box(fixture, kernel, value, begins, extents);
    }
  }
  /* several taps and positions at once are no box */
  ByteBox box;
  int64_t begins[] = {0, 0, 0, 0, 0}, extents[] = {4, 4, 8, 3, 1};
  assert_false(load_box_find(kernel, value, begins, extents, &box));
  /* nothing but padding */
  int64_t last[] = {24, 0, 0, 1, 0}, one[] = {1, 4, 8, 1, 1};
  assert_true(load_box_find(kernel, value, last, one, &box));
  assert_int_equal(box.bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(load_box_is_what_points_read, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
