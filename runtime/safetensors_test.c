#include "runtime/safetensors.h"

#include <string.h>

#include "base/fixture_testing.h"

/* The format's bytes: the header's length, the header, the data. */
static StringView file_of(Arena *arena, const char *header, const void *data, size_t data_size) {
  StringBuilder out;
  sb_init(&out, arena);
  uint64_t length = strlen(header);
  for (int i = 0; i < 8; i++) sb_append_char(&out, (char)(length >> (8 * i)));
  sb_append_cstring(&out, header);
  sb_append(&out, (StringView){data, data_size});
  return sb_view(&out);
}

static const unsigned char bytes[] = {0x80, 0x3f, 0x00, 0xc0, 0x38, 0xff, 7, 0, 0, 0};
static const char header[] =
    "{\"__metadata__\":{\"format\":\"pt\"},\"p1\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[4,6]},"
    "\"p0\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[0,4]},"
    "\"n\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[6,10]}}  ";

static void safetensors_parse_reads_types_shapes_and_places(void **state) {
  Fixture *fixture = *state;
  StringView content = file_of(fixture->arena, header, bytes, sizeof bytes);
  SafetensorsFile file;
  assert_true(safetensors_matches(content));
  assert_int_equal(safetensors_parse(fixture->arena, SV("f"), content, &fixture->diag, &file), STATUS_OK);
  assert_int_equal(file.count, 3);
  int64_t p0 = safetensors_find(&file, SV("p0")), p1 = safetensors_find(&file, SV("p1"));
  int64_t n = safetensors_find(&file, SV("n"));
  assert_int_equal(safetensors_find(&file, SV("p")), -1);
  assert_int_equal(file.tensors[p0].type, XLAC_BF16);
  assert_int_equal(file.tensors[p0].rank, 2);
  assert_int_equal(file.tensors[p0].dims[1], 2);
  assert_int_equal(file.tensors[p0].minor_to_major[0], 1);
  assert_memory_equal(file.data[p0], bytes, 4);
  assert_int_equal(file.tensors[p1].type, XLAC_F8E4M3FN);
  assert_memory_equal(file.data[p1], bytes + 4, 2);
  assert_int_equal(file.tensors[n].rank, 0);
  assert_int_equal(file.tensors[n].bytes, 4);
  assert_memory_equal(file.data[n], bytes + 6, 4);
}

static void safetensors_parse_refuses_what_does_not_fit(void **state) {
  Fixture *fixture = *state;
  static const char *const headers[] = {
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}",                    /* behind the end */
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",                     /* too few bytes */
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}",                     /* backwards */
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",                    /* no size */
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[0.5],\"data_offsets\":[0,2]}}",                   /* half a row */
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", /* 2^66 bytes */
      "{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}",                      /* packed */
      "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}",
      "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}",
      "{\"a\":1}",
      "{\"a\":",
  };
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    SafetensorsFile file;
    StringView content = file_of(fixture->arena, headers[i], bytes, sizeof bytes);
    assert_int_equal(safetensors_parse(fixture->arena, SV("f"), content, &fixture->diag, &file), STATUS_INVALID);
    assert_int_equal(fixture->diag.error_count, i + 1);
  }
}

static void safetensors_parse_survives_damage(void **state) {
  Fixture *fixture = *state;
  StringView content = file_of(fixture->arena, header, bytes, sizeof bytes);
  SafetensorsFile file;
  for (size_t size = 0; size < content.size; size++)
    (void)!safetensors_parse(fixture->arena, SV("f"), sv_sub(content, 0, size), &fixture->diag, &file);
  for (size_t at = 0; at < content.size; at++) {
    char *copy = arena_copy(fixture->arena, content.data, content.size);
    copy[at] = (char)~copy[at];
    (void)!safetensors_parse(fixture->arena, SV("f"), (StringView){copy, content.size}, &fixture->diag, &file);
  }
  assert_false(safetensors_matches(SV("PK\3\4 an archive")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(safetensors_parse_reads_types_shapes_and_places, create, destroy),
      cmocka_unit_test_setup_teardown(safetensors_parse_refuses_what_does_not_fit, create, destroy),
      cmocka_unit_test_setup_teardown(safetensors_parse_survives_damage, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
