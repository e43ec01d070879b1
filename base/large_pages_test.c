#include "base/large_pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void arrays_without_a_large_page_begin_anywhere(void **state) {
  (void)state;
  assert_int_equal(large_page_alignment(0), 1);
  assert_int_equal(large_page_alignment(LARGE_PAGE_BYTES - 1), 1);
  assert_int_equal(large_page_alignment(LARGE_PAGE_BYTES), LARGE_PAGE_BYTES);
}

static void a_workspace_begins_at_a_page(void **state) {
  (void)state;
  assert_int_equal(workspace_page_alignment(64), 4096);
  assert_int_equal(workspace_page_alignment(LARGE_PAGE_BYTES - 1), 4096);
  assert_int_equal(workspace_page_alignment(LARGE_PAGE_BYTES), LARGE_PAGE_BYTES);
}

/* Whether the system was asked to hold |address| in large pages: "hg" among what it says of that piece of memory. */
static bool is_asked_for(const void *address) {
  FILE *file = fopen("/proc/self/smaps", "r");
  assert_non_null(file);
  char line[512];
  unsigned long begin, end;
  bool is_inside = false, found = false;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
      is_inside = begin <= (uintptr_t)address && (uintptr_t)address < end;
    else if (is_inside && strncmp(line, "VmFlags:", 8) == 0)
      found |= strstr(line, " hg") != NULL;
  }
  fclose(file);
  return found;
}

/* Whether the system has large pages at all. */
static bool has_large_pages(void) {
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
  if (file == NULL) return false;
  fclose(file);
  return true;
}

static void whole_pages_of_an_array_are_asked_for(void **state) {
  (void)state;
  if (!has_large_pages()) skip();
  char *memory = aligned_alloc(LARGE_PAGE_BYTES, 4 * LARGE_PAGE_BYTES);
  assert_non_null(memory);
  large_pages_ask(memory + 64, 2 * LARGE_PAGE_BYTES); /* its beginning and its end share pages with others */
  assert_false(is_asked_for(memory + 64));
  assert_true(is_asked_for(memory + LARGE_PAGE_BYTES));
  assert_false(is_asked_for(memory + 2 * LARGE_PAGE_BYTES));
  large_pages_ask(memory + 2 * LARGE_PAGE_BYTES + 64, LARGE_PAGE_BYTES); /* no whole one */
  assert_false(is_asked_for(memory + 2 * LARGE_PAGE_BYTES));
  free(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_without_a_large_page_begin_anywhere),
      cmocka_unit_test(a_workspace_begins_at_a_page),
      cmocka_unit_test(whole_pages_of_an_array_are_asked_for),
  };
  return cmocka_run_group_tests_name("large_pages", tests, NULL, NULL);
}
