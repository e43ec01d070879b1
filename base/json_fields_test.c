#include "base/json_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void json_fields_read_objects_lists_and_scalars(void **state) {
  (void)state;
  static const struct {
    const char *path;
    int64_t count;
    const char *last;
  } expected[] = {{"a.b", 1, "x y"}, {"a.c", 2, "-2.5"}, {"a.e", 0, ""}, {"d", 0, ""}, {"f", 1, "true"}};
  Arena *arena = arena_create();
  JsonFields fields;
  StringView text = SV(" {\"a\": {\"b\": \"x y\",\n\"c\":[1 ,-2.5], \"e\":[]}, \"d\": {}, \"f\":true} ");
  assert_null(json_fields_read(arena, text, &fields));
  assert_int_equal(fields.count, sizeof expected / sizeof *expected);
  for (int64_t i = 0; i < fields.count; i++) {
    const JsonTexts *values = &fields.data[i].values;
    assert_true(sv_equal_cstring(fields.data[i].path, expected[i].path));
    assert_int_equal(values->count, expected[i].count);
    if (values->count > 0) assert_true(sv_equal_cstring(array_last(values), expected[i].last));
  }
  arena_destroy(arena);
}

static void json_fields_refuse_what_is_no_object(void **state) {
  (void)state;
  static const char *const texts[] = {"",           "[1]",          "{",          "{a:1}",           "{\"a\"}",
                                      "{\"a\":}",   "{\"a\":1",     "{\"a\":[1}", "{\"a\":\"\\n\"}", "{\"a\":\"b}",
                                      "{\"a\":1}2", "{\"a\":[{}]}", "{\"a\":1,}"};
  Arena *arena = arena_create();
  JsonFields fields;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (json_fields_read(arena, sv_from_cstring(texts[i]), &fields) == NULL) fail_msg("taken: %s", texts[i]);
  }
  StringBuilder deep;
  sb_init(&deep, arena);
  for (int i = 0; i < 100000; i++) sb_append_cstring(&deep, "{\"a\":");
  assert_non_null(json_fields_read(arena, sb_view(&deep), &fields));
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_fields_read_objects_lists_and_scalars),
      cmocka_unit_test(json_fields_refuse_what_is_no_object),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
