/* The main of a program that holds all unit tests of a room: runs the one by whose path it is called,
 * BUILD/test/ROOM/NAME_test. UNIT_TESTS is a file that the Makefile writes: UNIT_TEST(end of the path, main of the
 * test) for each. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNIT_TEST(path, test_main) int test_main(int argc, char **argv);
#include UNIT_TESTS
#undef UNIT_TEST

static bool ends_with(const char *text, const char *end) {
  size_t size = strlen(text), end_size = strlen(end);
  return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

int main(int argc, char **argv) {
#define UNIT_TEST(path, test_main) \
  if (ends_with(argv[0], path)) return test_main(argc, argv);
#include UNIT_TESTS
#undef UNIT_TEST
  fprintf(stderr, "%s: no unit test has this path\n", argv[0]);
  return 2;
}
