#include "hlo/machine/stream/reloads.h"

#include "hlo/machine/stream/stream_testing.h"

static void add_window(StreamFixture *fixture, int32_t object, int64_t base, int64_t bytes) {
  command_stream_add_transfer(&fixture->stream, LABEL_LD, LD, bytes, 1);
  read_bytes(fixture, object, base, bytes);
  write_bytes(fixture, BUFFER_OBJECT, 0, bytes);
}

static StreamLoads loads_of(StreamFixture *fixture) {
  return stream_loads_find(fixture->arena, &fixture->stream);
}

static void halos_are_loaded_again(void **state) {
  StreamFixture *fixture = *state;
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 256, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  int32_t y = command_stream_add_object(&fixture->stream, SV("y"), 256, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  for (int64_t i = 0; i < 4; i++) add_window(fixture, x, 64 * i, i < 3 ? 72 : 64);
  add_window(fixture, y, 0, 16);
  add_window(fixture, y, 32, 16);
  StreamLoads loads = loads_of(fixture);
  assert_true(loads.is_known);
  assert_int_equal(loads.count, 2);
  assert_int_equal(loads.objects[0].object, x);
  assert_int_equal(loads.objects[0].bytes, 3 * 72 + 64);
  assert_int_equal(loads.objects[0].distinct, 256);
  assert_int_equal(loads.objects[1].distinct, 32);
  assert_int_equal(stream_loads_again(&loads), 24);
}

/* Columns between one another share no byte; the same ones twice share all. */
static void strided_boxes_count_their_bytes(void **state) {
  StreamFixture *fixture = *state;
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 64, OBJECT_INITIALISED);
  for (int i = 0; i < 3; i++) {
    ByteBox box = {.base = i == 1 ? 8 : 0, .bytes = 8, .level_count = 1, .levels = {{4, 16}}};
    command_stream_add_transfer(&fixture->stream, LABEL_LD, LD, 32, 4);
    command_stream_add_read(&fixture->stream, x, &box);
  }
  StreamLoads loads = loads_of(fixture);
  assert_int_equal(loads.objects[0].bytes, 96);
  assert_int_equal(loads.objects[0].distinct, 64);
}

/* A load of 8 bytes that may be any of 64: which of them are read again nobody can say. */
static void places_of_run_time_are_hidden(void **state) {
  StreamFixture *fixture = *state;
  int32_t x = command_stream_add_object(&fixture->stream, SV("x"), 64, OBJECT_INITIALISED);
  command_stream_add_transfer(&fixture->stream, LABEL_LD, LD, 8, 1);
  read_bytes(fixture, x, 0, 64);
  StreamLoads loads = loads_of(fixture);
  assert_int_equal(loads.count, 1);
  assert_true(loads.objects[0].is_hidden);
  assert_int_equal(loads.objects[0].bytes, 8);
  assert_int_equal(stream_loads_again(&loads), 0);
}

static void stores_and_operations_load_nothing(void **state) {
  StreamFixture *fixture = *state;
  int32_t y = command_stream_add_object(&fixture->stream, SV("y"), 64, OBJECT_WRITTEN_ONCE);
  command_stream_add_operation(&fixture->stream, LABEL_EX, EX, 1);
  read_bytes(fixture, BUFFER_OBJECT, 0, 64);
  command_stream_add_transfer(&fixture->stream, LABEL_ST, ST, 64, 1);
  read_bytes(fixture, BUFFER_OBJECT, 0, 64);
  write_bytes(fixture, y, 0, 64);
  assert_int_equal(loads_of(fixture).count, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create_fixture, destroy_fixture)
  const struct CMUnitTest tests[] = {
      TEST(halos_are_loaded_again),
      TEST(strided_boxes_count_their_bytes),
      TEST(places_of_run_time_are_hidden),
      TEST(stores_and_operations_load_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
