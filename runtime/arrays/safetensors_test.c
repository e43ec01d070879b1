#include "runtime/arrays/safetensors.h"

#include <stdio.h>
#include <string.h>

#include "base/fixture_testing.h"

/* A file with |header| and |data|. */
static StringView make_file(Arena *arena, const char *header, const void *data, size_t data_size) {
  size_t length = strlen(header);
  char *bytes = arena_alloc(arena, 8 + length + data_size);
  for (int i = 0; i < 8; i++) bytes[i] = (char)((uint64_t)length >> (8 * i));
  memcpy(bytes + 8, header, length);
  if (data_size > 0) memcpy(bytes + 8 + length, data, data_size);
  return (StringView){bytes, 8 + length + data_size};
}

static Status read_bytes(Fixture *fixture, StringView bytes, ArrayFile *out) {
  diag_sink_init(&fixture->diag, fixture->arena);
  Status status = safetensors_read(fixture->arena, SV("a.safetensors"), bytes, &fixture->diag, out);
  assert_int_equal(fixture->diag.error_count, status != STATUS_OK);
  return status;
}

static void safetensors_read_knows_the_types(void **state) {
  Fixture *fixture = *state;
  static const unsigned char data[] = {0x80, 0x3F, 0x20, 0xC0, /* bf16 1, -2.5 */
                                       0x38, 0x7E,             /* f8e4m3fn 1, 448 */
                                       0x3C, 0x7C,             /* f8e5m2 1, inf */
                                       0xA3, 0x0F,             /* f4 1.5, -1, -6, 0: low half first */
                                       0x7E, 0x81,             /* f8e8m0 1/2, 4 */
                                       0x01, 0x00,             /* bool */
                                       0,    0,    0,    0,    0,    0,    0xF0, 0x3F,  /* f64 1 */
                                       0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,  /* u64 */
                                       0,    0,    0x80, 0x3F, 0,    0,    0,    0x40}; /* c64 1+2i */
  static const char header[] =
      "{\"__metadata__\":{\"format\":\"pt\"},\"u\":{\"dtype\":\"U64\",\"shape\":[],\"data_offsets\":[22,30]},"
      "\"h\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},"
      "\"n\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,1],\"data_offsets\":[4,6]},"
      "\"m\":{\"dtype\":\"F8_E5M2\",\"shape\":[2],\"data_offsets\":[6,8]},"
      "\"q\":{\"dtype\":\"F4\",\"shape\":[2,2],\"data_offsets\":[8,10]},"
      "\"s\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[10,12]},"
      "\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[12,14]},"
      "\"none\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[14,14]},"
      "\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[14,22]},"
      "\"z\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[30,38]}}   ";
  ArrayFile file;
  assert_int_equal(read_bytes(fixture, make_file(fixture->arena, header, data, sizeof data), &file), STATUS_OK);
  assert_int_equal(file.count, 10);
  static const struct {
    const char *name;
    int64_t index;
    int part;
    double want;
  } rows[] = {{"h", 0, 0, 1},  {"h", 1, 0, -2.5}, {"n", 1, 0, 448}, {"m", 0, 0, 1},   {"q", 0, 0, 1.5},
              {"q", 1, 0, -1}, {"q", 2, 0, -6},   {"q", 3, 0, 0},   {"s", 0, 0, 0.5}, {"s", 1, 0, 4},
              {"b", 0, 0, 1},  {"b", 1, 0, 0},    {"d", 0, 0, 1},   {"z", 0, 0, 1},   {"z", 0, 1, 2}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const NpyArray *array = array_file_find(&file, sv_from_cstring(rows[i].name));
    if (npy_get_double(array, rows[i].index, rows[i].part) != rows[i].want)
      fail_msg("%s[%d]: %g", rows[i].name, (int)rows[i].index, npy_get_double(array, rows[i].index, rows[i].part));
  }
  assert_int_equal(npy_get_int(array_file_find(&file, SV("u")), 0), -1);
  assert_int_equal(array_file_find(&file, SV("n"))->rank, 2);
  assert_int_equal(array_file_find(&file, SV("none"))->count, 0);
  assert_string_equal(npy_type_text(array_file_find(&file, SV("h"))->type), "bfloat16");
}

#define ONE(dtype, shape, offsets) "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/* Headers before eight bytes of data. */
static void safetensors_read_refuses_headers(void **state) {
  Fixture *fixture = *state;
  static const struct {
    const char *header, *message;
  } rows[] = {
      {"", "the header is not a JSON object"},
      {"[]", "the header is not a JSON object"},
      {" {}", "the header is not a JSON object"},
      {"{", "the header is damaged"},
      {"{} x", "something after"},
      {"{}", "bytes after the last array"},
      {"{\"a\":1}", "not an object"},
      {"{\"a\":{}}", "no 'dtype'"},
      {"{\"a\":{\"dtype\":\"F32\"}}", "the shape is not a list"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "not two sizes"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F64\"}}", "fields other than"},
      {"{\"a\":{\"type\":\"F32\"}}", "fields other than"},
      {ONE("7", "[2]", "[0,8]"), "no 'dtype'"},
      {ONE("\"F128\"", "[2]", "[0,8]"), "elements of type 'F128', which xlac does not read"},
      {ONE("\"F32\"", "2", "[0,8]"), "the shape is not a list"},
      {ONE("\"F32\"", "[-2]", "[0,8]"), "not a size"},
      {ONE("\"F32\"", "[1.5]", "[0,8]"), "not a size"},
      {ONE("\"F32\"", "[1e300]", "[0,8]"), "not a size"},
      {ONE("\"F32\"", "[4294967296,4294967296,4]", "[0,8]"), "too large"},
      {ONE("\"F32\"", "[4503599627370496,64]", "[0,8]"), "too large"},
      {ONE("\"F32\"", "[2]", "[0]"), "not two sizes"},
      {ONE("\"F32\"", "[2]", "[0,4,8]"), "not two sizes"},
      {ONE("\"F32\"", "[2]", "[0,7]"), "do not suit"},
      {ONE("\"F32\"", "[2]", "[8,0]"), "do not suit"},
      {ONE("\"F4\"", "[3]", "[0,8]"), "do not suit"},
      {ONE("\"F32\"", "[1]", "[4,8]"), "a gap before its bytes"},
      {ONE("\"F32\"", "[1]", "[0,4]"), "bytes after the last array"},
      {ONE("\"F32\"", "[3]", "[0,12]"), "the data end early"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
       "overlap those of another array"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
       "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
       "has it twice"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ArrayFile file;
    StringView bytes = make_file(fixture->arena, rows[i].header, "abcdefgh", 8);
    Status status = read_bytes(fixture, bytes, &file);
    StringView message = status == STATUS_OK ? SV("accepted") : fixture->diag.first->message;
    if (status != STATUS_INVALID || !sv_contains(message, sv_from_cstring(rows[i].message)))
      fail_msg("%s: %.*s", rows[i].header, SV_ARG(message));
  }
}

static StringView sample(Fixture *fixture) {
  static const int64_t two[] = {2}, square[] = {2, 2};
  static const uint16_t halves[] = {0x3F80, 0xC020};
  static const int32_t integers[] = {7, -8};
  static const unsigned char nibbles[] = {3, 10, 15, 0};
  const ArrayMember members[] = {{SV("r0"), {npy_type_of(TYPE_BF16), 1, two, 2, halves}},
                                 {SV("r1"), {npy_type_of(TYPE_F4E2M1FN), 2, square, 4, nibbles}},
                                 {SV("r2"), {npy_type_of(TYPE_S32), 1, two, 2, integers}}};
  StringView bytes;
  assert_int_equal(safetensors_write(fixture->arena, SV("a.safetensors"), members, 3, &fixture->diag, &bytes),
                   STATUS_OK);
  return bytes;
}

static void safetensors_write_puts_wide_elements_first(void **state) {
  Fixture *fixture = *state;
  static const char header[] =
      "{\"r2\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]},"
      "\"r0\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]},"
      "\"r1\":{\"dtype\":\"F4\",\"shape\":[2,2],\"data_offsets\":[12,14]}}";
  static const unsigned char data[] = {7, 0, 0, 0, 0xF8, 0xFF, 0xFF, 0xFF, 0x80, 0x3F, 0x20, 0xC0, 0xA3, 0x0F};
  StringView bytes = sample(fixture), want = make_file(fixture->arena, header, data, sizeof data);
  assert_int_equal(bytes.size, want.size);
  assert_memory_equal(bytes.data, want.data, want.size);
}

static void safetensors_write_widens_what_the_format_lacks(void **state) {
  Fixture *fixture = *state;
  static const int64_t three[] = {3};
  static const unsigned char eights[] = {0x38, 0x40, 0x30}, fours[] = {2, 4, 1};
  static const double complex_number[] = {1, 2};
  ArrayMember members[] = {{SV("r0"), {npy_type_of(TYPE_F8E4M3), 1, three, 3, eights}},
                           {SV("r1"), {npy_type_of(TYPE_F4E2M1FN), 1, three, 3, fours}}}; /* 12 bits: no whole bytes */
  StringView bytes;
  assert_int_equal(safetensors_write(fixture->arena, SV("a"), members, 2, &fixture->diag, &bytes), STATUS_OK);
  assert_int_equal((bytes.size - 24) % 8, 0); /* blanks after the header align the data */
  ArrayFile file;
  assert_int_equal(read_bytes(fixture, bytes, &file), STATUS_OK);
  for (int i = 0; i < 2; i++) {
    assert_string_equal(npy_type_text(file.members[i].array.type), "float32");
    assert_true(npy_get_double(&file.members[i].array, 0, 0) == 1);
    assert_true(npy_get_double(&file.members[i].array, 1, 0) == 2);
    assert_true(npy_get_double(&file.members[i].array, 2, 0) == 0.5);
  }
  members[0].array = (NpyArray){npy_type_of(TYPE_C128), 0, NULL, 1, complex_number};
  assert_int_equal(safetensors_write(fixture->arena, SV("a"), members, 1, &fixture->diag, &bytes), STATUS_INVALID);
}

/* Every damaged byte and every truncation is either found or harmless; the sanitizers watch. */
static void safetensors_read_survives_damage(void **state) {
  Fixture *fixture = *state;
  StringView bytes = sample(fixture);
  ArrayFile file;
  for (size_t size = 0; size < bytes.size; size++)
    assert_int_equal(read_bytes(fixture, (StringView){arena_copy(fixture->arena, bytes.data, size), size}, &file),
                     STATUS_INVALID);
  for (size_t at = 0; at < bytes.size; at++)
    for (int bit = 0; bit < 8; bit++) {
      char *copy = arena_copy(fixture->arena, bytes.data, bytes.size);
      copy[at] = (char)(copy[at] ^ 1 << bit);
      (void)!read_bytes(fixture, (StringView){copy, bytes.size}, &file);
    }
}

static void safetensors_matches_its_own(void **state) {
  Fixture *fixture = *state;
  assert_true(safetensors_matches(sample(fixture)));
  assert_false(safetensors_matches(SV("PK\3\4 an archive")));
  assert_false(safetensors_matches(SV("{\0\0\0\0\0\0\0")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(safetensors_read_knows_the_types, create, destroy),
      cmocka_unit_test_setup_teardown(safetensors_read_refuses_headers, create, destroy),
      cmocka_unit_test_setup_teardown(safetensors_matches_its_own, create, destroy),
      cmocka_unit_test_setup_teardown(safetensors_write_puts_wide_elements_first, create, destroy),
      cmocka_unit_test_setup_teardown(safetensors_write_widens_what_the_format_lacks, create, destroy),
      cmocka_unit_test_setup_teardown(safetensors_read_survives_damage, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
