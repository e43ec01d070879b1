#include "runtime/collectives/movement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void collective_group_finds_members_in_listed_order(void **state) {
  (void)state;
  static const int64_t first[] = {3, 0}, second[] = {1};
  static const XlacDeviceGroup groups[] = {{2, first}, {1, second}};
  const XlacCollective collective = {.group_count = 2, .groups = groups};
  int64_t member;
  assert_ptr_equal(collective_group(&collective, 0, &member), &groups[0]);
  assert_int_equal(member, 1);
  assert_ptr_equal(collective_group(&collective, 1, &member), &groups[1]);
  assert_int_equal(member, 0);
  assert_null(collective_group(&collective, 2, &member));
}

static void collective_source_is_nobody_without_a_pair(void **state) {
  (void)state;
  static const XlacDevicePair pairs[] = {{0, 1}, {2, 0}};
  const XlacCollective collective = {.pair_count = 2, .pairs = pairs};
  assert_int_equal(collective_source(&collective, 1), 0);
  assert_int_equal(collective_source(&collective, 2), -1);
  assert_int_equal(collective_target(&collective, 2), 0);
  assert_int_equal(collective_target(&collective, 1), -1);
}

static void ragged_number_reads_every_width(void **state) {
  (void)state;
  static const int16_t narrow[] = {7, -2};
  static const uint32_t wide[] = {0xFFFFFFFF};
  const void *operands[RAGGED_OPERANDS] = {[RAGGED_FROM] = narrow, [RAGGED_SIZES] = wide};
  static const XlacCollectiveBuffer buffers[RAGGED_OPERANDS] = {
      [RAGGED_FROM] = {.type = XLAC_S16, .operand_bytes = 4}, [RAGGED_SIZES] = {.type = XLAC_U32, .operand_bytes = 4}};
  const XlacCollective collective = {.buffer_count = RAGGED_OPERANDS, .buffers = buffers};
  assert_int_equal(ragged_number(&collective, operands, RAGGED_FROM, 1), -2);
  assert_true(ragged_number(&collective, operands, RAGGED_SIZES, 0) == 0xFFFFFFFF);
  assert_int_equal(ragged_runs(&collective, 2), 1);
}

typedef struct ClipCase {
  int64_t from, to, size, clipped_from, clipped_to, clipped_size;
} ClipCase;

/* Of 8 rows to 6. */
static void ragged_clip_leaves_out_what_is_no_row(void **state) {
  (void)state;
  static const ClipCase cases[] = {
      {1, 2, 3, 1, 2, 3},                    /* all */
      {6, 0, 5, 6, 0, 2},                    /* the input ends */
      {0, 4, 5, 0, 4, 2},                    /* the output ends */
      {-2, 0, 4, 0, 2, 2},                   /* the input begins later */
      {0, -3, 4, 3, 0, 1},                   /* the output begins later */
      {0, 0, -1, 0, 0, 0},                   /* nothing */
      {8, 0, 1, 0, 0, 0},                    /* after the input */
      {0, 6, 1, 0, 0, 0},                    /* after the output */
      {0, 0, INT64_MAX, 0, 0, 6},            /* more than there are */
      {-4, 0, 3, 0, 0, 0},                   /* before the input */
      {INT64_MIN + 1, 0, INT64_MAX, 0, 0, 0} /* far before it */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t from = cases[i].from, to = cases[i].to;
    int64_t size = ragged_clip(8, 6, &from, &to, cases[i].size);
    assert_int_equal(size, cases[i].clipped_size);
    if (size == 0) continue;
    assert_int_equal(from, cases[i].clipped_from);
    assert_int_equal(to, cases[i].clipped_to);
  }
}

static void move_runs_strides(void **state) {
  (void)state;
  char to[] = "......";
  move_runs("abcd", 2, to, 3, 2, 2);
  assert_string_equal(to, "ab.cd.");
  move_runs("x", 0, to, 0, 5, 0);
  assert_string_equal(to, "ab.cd.");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(collective_group_finds_members_in_listed_order),
      cmocka_unit_test(collective_source_is_nobody_without_a_pair),
      cmocka_unit_test(ragged_number_reads_every_width),
      cmocka_unit_test(ragged_clip_leaves_out_what_is_no_row),
      cmocka_unit_test(move_runs_strides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
