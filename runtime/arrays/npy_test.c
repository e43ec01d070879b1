#include "runtime/arrays/npy.h"

#include <string.h>

#include "base/fixture_testing.h"
#include "runtime/arrays/array_text.h"

/* A file with |header| and |data_size| bytes counting 0, 1, 2 ... */
static StringView make_file(Fixture *fixture, const char *header, size_t data_size) {
  size_t length = strlen(header);
  char *bytes = arena_alloc(fixture->arena, 10 + length + data_size);
  memcpy(bytes, "\x93NUMPY\x01\x00", 8);
  bytes[8] = (char)(length & 255);
  bytes[9] = (char)(length >> 8);
  memcpy(bytes + 10, header, length);
  for (size_t i = 0; i < data_size; i++) bytes[10 + length + i] = (char)i;
  return (StringView){bytes, 10 + length + data_size};
}

static Status read_file(Fixture *fixture, StringView bytes, NpyArray *out) {
  DiagSink diag;
  diag_sink_init(&diag, fixture->arena);
  Status status = npy_read(fixture->arena, SV("a"), bytes, &diag, out);
  assert_int_equal(diag.error_count, status != STATUS_OK);
  return status;
}

static void npy_write_is_what_numpy_writes(void **state) {
  Fixture *fixture = *state;
  float data[] = {1, 2, 3, 4, 5, 6};
  int64_t dims[] = {2, 3};
  NpyArray array = {{'f', 4}, 2, dims, 6, data};
  StringView bytes = npy_write(fixture->arena, &array);
  static const char header[] = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  assert_int_equal(bytes.size, 128 + sizeof data);
  assert_memory_equal(bytes.data, header, sizeof header - 1);
  assert_int_equal(bytes.data[127], '\n');
  assert_memory_equal(bytes.data + 128, data, sizeof data);
  NpyArray back;
  assert_int_equal(read_file(fixture, bytes, &back), STATUS_OK);
  assert_int_equal(back.count, 6);
  assert_true(npy_get_double(&back, 4, 0) == 5.0);
}

static void npy_read_scalars_and_empty_arrays(void **state) {
  Fixture *fixture = *state;
  NpyArray array;
  assert_int_equal(
      read_file(fixture, make_file(fixture, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1), &array),
      STATUS_OK);
  assert_int_equal(array.rank, 0);
  assert_int_equal(array.count, 1);
  assert_int_equal(
      read_file(
          fixture,
          make_file(fixture, "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 0, 99)}", 0),
          &array),
      STATUS_OK);
  assert_int_equal(array.count, 0);
}

static void npy_read_turns_columns_and_bytes_around(void **state) {
  Fixture *fixture = *state;
  NpyArray array;
  assert_int_equal(
      read_file(fixture, make_file(fixture, "{'shape': (2, 3), 'fortran_order': True, 'descr': '|i1'}", 6), &array),
      STATUS_OK);
  static const int want[] = {0, 2, 4, 1, 3, 5};
  for (int i = 0; i < 6; i++) assert_int_equal(npy_get_int(&array, i), want[i]);
  assert_int_equal(
      read_file(fixture, make_file(fixture, "{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", 4), &array),
      STATUS_OK);
  assert_int_equal(npy_get_int(&array, 0), 0x0001);
  assert_int_equal(npy_get_int(&array, 1), 0x0203);
}

static void npy_read_refuses_damage(void **state) {
  Fixture *fixture = *state;
  static const struct {
    const char *header;
    size_t data_size;
  } files[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7},                     /* too short */
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", 8}, /* too large to count */
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8},
      {"{'descr': '<f4', 'fortran_order': False, }", 8},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8}, /* Python objects */
      {"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }", 8},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", 8},
      {"{'descr': '<f4", 8},
      {"{'descr': '<f4', 'shape': (1,", 8},
      {"", 0},
  };
  NpyArray array;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    assert_int_equal(read_file(fixture, make_file(fixture, files[i].header, files[i].data_size), &array),
                     STATUS_INVALID);
  StringView good = make_file(fixture, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8);
  for (size_t size = 0; size < good.size; size++)
    assert_int_equal(read_file(fixture, (StringView){good.data, size}, &array), STATUS_INVALID);
}

static StringView printed(Fixture *fixture, const NpyArray *array) {
  StringBuilder text;
  sb_init(&text, fixture->arena);
  array_print(&text, array);
  return sb_view(&text);
}

static void assert_printed(Fixture *fixture, const NpyArray *array, const char *want) {
  StringView text = printed(fixture, array);
  assert_string_equal(arena_copy_string(fixture->arena, text.data, text.size), want);
}

static void array_print_aligns_columns(void **state) {
  Fixture *fixture = *state;
  float data[] = {1, -0.1f, 3.125f, 0.5f};
  int64_t dims[] = {2, 2};
  assert_printed(fixture, &(NpyArray){{'f', 4}, 2, dims, 4, data}, "[[ 1.    -0.1  ]\n [ 3.125  0.5  ]]");
  assert_printed(fixture, &(NpyArray){{'f', 4}, 0, NULL, 1, data}, "1.");
  bool flags[] = {true, false};
  int64_t two[] = {2};
  assert_printed(fixture, &(NpyArray){{'b', 1}, 1, two, 2, flags}, "[ True False]");
  int64_t none[] = {0};
  assert_printed(fixture, &(NpyArray){{'b', 1}, 1, none, 0, NULL}, "[]");
}

static void array_print_abbreviates_long_arrays(void **state) {
  Fixture *fixture = *state;
  static int32_t data[1001];
  for (int i = 0; i < 1001; i++) data[i] = i;
  int64_t dims[] = {1001};
  assert_printed(fixture, &(NpyArray){{'i', 4}, 1, dims, 1001, data}, "[   0    1    2 ...  998  999 1000]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(npy_write_is_what_numpy_writes, create, destroy),
      cmocka_unit_test_setup_teardown(npy_read_scalars_and_empty_arrays, create, destroy),
      cmocka_unit_test_setup_teardown(npy_read_turns_columns_and_bytes_around, create, destroy),
      cmocka_unit_test_setup_teardown(npy_read_refuses_damage, create, destroy),
      cmocka_unit_test_setup_teardown(array_print_aligns_columns, create, destroy),
      cmocka_unit_test_setup_teardown(array_print_abbreviates_long_arrays, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
