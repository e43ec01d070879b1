/* Rows in a cache, against lines put into its sets one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/blocks/contraction_internal.h"

enum { SETS = 64, WAYS = 8 };

/* The most different lines of |rows|, |width| bytes of each and |stride| apart, that one set is to hold. */
static int fullest_set(int rows, int64_t stride, int64_t width) {
  int counts[SETS] = {0}, most = 0;
  int64_t last = -1;
  for (int row = 0; row < rows; row++) {
    for (int64_t line = row * stride / LINE_BYTES; line <= (row * stride + width - 1) / LINE_BYTES; line++) {
      if (line <= last) continue;
      last = line;
      int *count = &counts[line % SETS];
      *count += 1;
      if (*count > most) most = *count;
    }
  }
  return most;
}

static void cache_rows_that_nearly_meet_take_it_all(void **state) {
  (void)state;
  for (int64_t stride = 4; stride <= 16384; stride += 4) {
    double bytes = contraction_cache_bytes(SETS, 256, stride, 2 * LINE_BYTES);
    int most = fullest_set(256, stride, 2 * LINE_BYTES);
    if (most >= 6 * WAYS) assert_true(bytes > SETS * WAYS * LINE_BYTES);
    if (bytes > 4 * SETS * WAYS * LINE_BYTES) assert_true(most > WAYS);
  }
  assert_true(contraction_cache_bytes(SETS, 256, 4160, 2 * LINE_BYTES) == 256 * 2 * LINE_BYTES);
}

/* Rows of a tile: all begin at one and the same place of a page, or each a few bytes before or after the last one's. */
static void cache_rows_of_a_tile_meet_near_a_page(void **state) {
  (void)state;
  for (int64_t stride = 4096 - 8; stride <= 4096 + 8; stride += 4)
    assert_true(contraction_rows_meet(false, 14, stride));
  assert_true(contraction_rows_meet(false, 14, 3 * 4096 - 4));
  assert_false(contraction_rows_meet(false, 14, 4096 - 64));
  assert_false(contraction_rows_meet(false, 14, 4096 + 64));
  assert_false(contraction_rows_meet(false, 14, 4));
  assert_false(contraction_rows_meet(false, 4, 4096));
  /* Half a page apart they come to two sets in turn, seven to each. */
  assert_true(contraction_rows_meet(false, 14, 2048));
  assert_false(contraction_rows_meet(true, 14, 2048));
  assert_true(contraction_rows_meet(true, 14, 4096));
  assert_true(contraction_rows_meet(true, 7, 4096));
  for (int64_t stride = 4; stride <= 16384; stride += 4)
    if (fullest_set(14, stride, LINE_BYTES) >= 13) assert_true(contraction_rows_meet(false, 14, stride));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cache_rows_that_nearly_meet_take_it_all),
      cmocka_unit_test(cache_rows_of_a_tile_meet_near_a_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
