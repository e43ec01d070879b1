#include "runtime/arrays/npz.h"

#include "base/fixture_testing.h"

/* zlib's deflate of a member "x.npy" holding uint8 zeros of shape (4096,), made by Python's zipfile. */
static const unsigned char deflated[] = {
    0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x80, 0x41, 0xc8, 0x48, 0x63,
    0x00, 0x00, 0x00, 0x80, 0x10, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x78, 0x2e, 0x6e, 0x70, 0x79, 0x9b, 0xec, 0x17,
    0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x5e,
    0x53, 0x6a, 0xa8, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a,
    0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x26, 0x06, 0x96,
    0x66, 0x3a, 0x9a, 0x3a, 0x0a, 0xb5, 0x0a, 0xe4, 0x02, 0x2e, 0x86, 0x51, 0x30, 0x0a, 0x46, 0xc1, 0x28, 0x18, 0x05,
    0xa3, 0x60, 0x14, 0x8c, 0x82, 0x51, 0x30, 0x0a, 0x46, 0xc1, 0x28, 0x18, 0x05, 0xa3, 0x60, 0x14, 0x0c, 0x7b, 0x00,
    0x00, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x80, 0x41,
    0xc8, 0x48, 0x63, 0x00, 0x00, 0x00, 0x80, 0x10, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x78, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05, 0x06, 0x00,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x33, 0x00, 0x00, 0x00, 0x86, 0x00, 0x00, 0x00, 0x00, 0x00};

static Status read_bytes(Fixture *fixture, const void *bytes, size_t size, ArrayFile *out) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  Status status = npz_read(fixture->arena, SV("a.npz"), (StringView){bytes, size}, &diag, out);
  assert_int_equal(diag.error_count, status != STATUS_OK);
  return status;
}

static StringView sample(Fixture *fixture) {
  static const int32_t data[] = {1, 2, 3};
  static const int64_t dims[] = {3};
  static const float half = 0.5f;
  ArrayMember members[] = {{SV("p0"), {{'i', 4}, 1, dims, 3, data}}, {SV("p1"), {{'f', 4}, 0, NULL, 1, &half}}};
  return npz_write(fixture->arena, members, 2);
}

static void npz_write_then_read_is_identity(void **state) {
  Fixture *fixture = *state;
  StringView bytes = sample(fixture), again = sample(fixture);
  assert_true(sv_equal(bytes, again));
  ArrayFile file;
  assert_int_equal(read_bytes(fixture, bytes.data, bytes.size, &file), STATUS_OK);
  assert_int_equal(file.count, 2);
  assert_int_equal(npy_get_int(array_file_find(&file, SV("p0")), 2), 3);
  assert_true(npy_get_double(array_file_find(&file, SV("p1")), 0, 0) == 0.5);
  assert_null(array_file_find(&file, SV("p2")));
}

static void npz_write_of_nothing_is_an_archive(void **state) {
  Fixture *fixture = *state;
  StringView bytes = npz_write(fixture->arena, NULL, 0);
  ArrayFile file;
  assert_int_equal(read_bytes(fixture, bytes.data, bytes.size, &file), STATUS_OK);
  assert_int_equal(file.count, 0);
}

static void npz_read_inflates(void **state) {
  Fixture *fixture = *state;
  ArrayFile file;
  assert_int_equal(read_bytes(fixture, deflated, sizeof deflated, &file), STATUS_OK);
  assert_int_equal(array_file_find(&file, SV("x"))->count, 4096);
  assert_int_equal(npy_get_int(array_file_find(&file, SV("x")), 4095), 0);
}

/* Every damaged byte and every truncation is either found or harmless; the sanitizers watch. */
static void npz_read_survives_damage(void **state) {
  Fixture *fixture = *state;
  StringView bytes = sample(fixture);
  ArrayFile file;
  int refused = 0;
  for (size_t size = 0; size < bytes.size; size += 3)
    refused += read_bytes(fixture, bytes.data, size, &file) == STATUS_INVALID;
  assert_true(refused > 0);
  for (size_t at = 0; at < bytes.size; at += 5) {
    char *copy = arena_copy(fixture->arena, bytes.data, bytes.size);
    copy[at] = (char)~copy[at];
    (void)!read_bytes(fixture, copy, bytes.size, &file);
  }
}

static void array_file_read_tells_a_missing_file(void **state) {
  Fixture *fixture = *state;
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  ArrayFile file;
  assert_int_equal(array_file_read(fixture->arena, "/nonexistent/x.npz", &diag, &file), STATUS_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(npz_write_then_read_is_identity, create, destroy),
      cmocka_unit_test_setup_teardown(npz_write_of_nothing_is_an_archive, create, destroy),
      cmocka_unit_test_setup_teardown(npz_read_inflates, create, destroy),
      cmocka_unit_test_setup_teardown(npz_read_survives_damage, create, destroy),
      cmocka_unit_test_setup_teardown(array_file_read_tells_a_missing_file, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
