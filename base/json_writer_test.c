#include "base/json_writer.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Fixture {
  Arena *arena;
  StringBuilder text;
  JsonWriter writer;
} Fixture;

static int create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  sb_init(&fixture->text, arena);
  json_init(&fixture->writer, &fixture->text, false);
  *state = fixture;
  return 0;
}

static int destroy(void **state) {
  Fixture *fixture = *state;
  arena_destroy(fixture->arena);
  return 0;
}

static void object_and_arrays_have_commas_where_due(void **state) {
  Fixture *fixture = *state;
  JsonWriter *writer = &fixture->writer;
  json_begin_object(writer);
  json_field_int(writer, "a", 1);
  json_key(writer, "b");
  json_begin_array(writer);
  json_begin_array(writer);
  json_end_array(writer);
  json_begin_object(writer);
  json_end_object(writer);
  json_null(writer);
  json_bool(writer, false);
  json_end_array(writer);
  json_field_bool(writer, "c", true);
  json_field_string(writer, "d", SV("x"));
  json_field_double(writer, "e", 0.5);
  json_end_object(writer);
  assert_string_equal(fixture->text.data, "{\"a\":1,\"b\":[[],{},null,false],\"c\":true,\"d\":\"x\",\"e\":0.5}");
}

static void pretty_indents_two_blanks(void **state) {
  Fixture *fixture = *state;
  json_init(&fixture->writer, &fixture->text, true);
  json_begin_object(&fixture->writer);
  json_key(&fixture->writer, "a");
  json_begin_array(&fixture->writer);
  json_int(&fixture->writer, 1);
  json_int(&fixture->writer, -2);
  json_end_array(&fixture->writer);
  json_key(&fixture->writer, "b");
  json_begin_object(&fixture->writer);
  json_end_object(&fixture->writer);
  json_end_object(&fixture->writer);
  assert_string_equal(fixture->text.data, "{\n  \"a\": [\n    1,\n    -2\n  ],\n  \"b\": {}\n}");
}

static void string_control_characters_are_escaped(void **state) {
  Fixture *fixture = *state;
  json_string(&fixture->writer, SV("\"\\\n\r\t\x01\0/\x7f"));
  assert_string_equal(fixture->text.data, "\"\\\"\\\\\\n\\r\\t\\u0001\\u0000/\\u007f\"");
  sb_init(&fixture->text, fixture->arena);
  json_init(&fixture->writer, &fixture->text, false);
  json_string(&fixture->writer, SV("\xc2\x9b\xe2\x80\xae\xc2\xa0"));
  assert_string_equal(fixture->text.data, "\"\\u009b\\u202e\xc2\xa0\"");
}

static void string_utf8_stays_and_other_bytes_are_replaced(void **state) {
  Fixture *fixture = *state;
  json_string(&fixture->writer, SV("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  assert_string_equal(fixture->text.data, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  /* alone, overlong, surrogate, beyond U+10FFFF, cut off */
  static const char *const BAD[] = {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    StringBuilder text;
    JsonWriter writer;
    sb_init(&text, fixture->arena);
    json_init(&writer, &text, false);
    json_string(&writer, sv_from_cstring(BAD[i]));
    assert_int_equal(text.size, 2 + 6 * strlen(BAD[i]));
    assert_memory_equal(text.data, "\"\\ufffd", 7);
  }
}

static const char *double_text(Fixture *fixture, double value) {
  StringBuilder text;
  JsonWriter writer;
  sb_init(&text, fixture->arena);
  json_init(&writer, &text, false);
  json_double(&writer, value);
  return text.data;
}

static void double_is_shortest(void **state) {
  static const struct {
    double value;
    const char *text;
  } ROWS[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {0.1, "0.1"},
      {1.0 / 3, "0.3333333333333333"},
      {0.1 + 0.2, "0.30000000000000004"},
      {5e-324, "5e-324"},
      {100, "100"},
      {1e100, "1e+100"},
      {NAN, "\"nan\""},
      {INFINITY, "\"inf\""},
      {-INFINITY, "\"-inf\""},
      {DBL_MAX, "1.7976931348623157e+308"},
  };
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    assert_string_equal(double_text(*state, ROWS[i].value), ROWS[i].text);
  }
}

static void double_random_bits_read_back_exactly(void **state) {
  uint64_t bits = 1;
  for (int i = 0; i < 20000; i++) {
    bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    assert_true(strtod(double_text(*state, value), NULL) == value);
  }
}

static void nested_text_is_read_by_another_reader(void **state) {
  Fixture *fixture = *state;
  enum { DEPTH = 500 };
  for (int i = 0; i < DEPTH; i++) {
    json_begin_object(&fixture->writer);
    json_key(&fixture->writer, "k\"\n");
    json_begin_array(&fixture->writer);
    json_int(&fixture->writer, i);
  }
  for (int i = 0; i < DEPTH; i++) {
    json_end_array(&fixture->writer);
    json_end_object(&fixture->writer);
  }
  cJSON *root = cJSON_Parse(fixture->text.data);
  assert_non_null(root);
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "k\"\n");
  assert_int_equal(cJSON_GetArraySize(list), 2);
  cJSON_Delete(root);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(object_and_arrays_have_commas_where_due),
      TEST(pretty_indents_two_blanks),
      TEST(string_control_characters_are_escaped),
      TEST(string_utf8_stays_and_other_bytes_are_replaced),
      TEST(double_is_shortest),
      TEST(double_random_bits_read_back_exactly),
      TEST(nested_text_is_read_by_another_reader),
  };
  return cmocka_run_group_tests_name("json_writer", tests, NULL, NULL);
}
