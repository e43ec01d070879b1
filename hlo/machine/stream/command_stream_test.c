#include "hlo/machine/stream/command_stream.h"

#include "hlo/machine/stream/stream_testing.h"

static ByteBox normal(ByteBox box) {
  byte_box_normalise(&box);
  return box;
}

static void box_merges_what_continues(void **state) {
  (void)state;
  /* A tile of 4 x 8 x 16 elements of 4 bytes, dense but for rows of 100 bytes. */
  ByteBox box = normal((ByteBox){.base = 40, .bytes = 4, .level_count = 3, .levels = {{4, 800}, {8, 100}, {16, 4}}});
  assert_int_equal(box.bytes, 64);
  assert_int_equal(box.level_count, 1);
  assert_int_equal(box.levels[0].count, 32);
  assert_int_equal(box.levels[0].stride, 100);
  assert_int_equal(byte_box_run_count(&box), 32);
  assert_int_equal(byte_box_end(&box), 40 + 31 * 100 + 64);
  ByteBox dense = normal((ByteBox){.bytes = 4, .level_count = 3, .levels = {{4, 64}, {2, 32}, {8, 4}}});
  assert_int_equal(dense.bytes, 256);
  assert_int_equal(dense.level_count, 0);
  ByteBox turned = normal((ByteBox){.bytes = 4, .level_count = 3, .levels = {{8, 4}, {4, 64}, {2, 32}}});
  assert_int_equal(turned.bytes, 256);
  assert_int_equal(turned.level_count, 0);
}

static void box_drops_what_adds_no_byte(void **state) {
  (void)state;
  ByteBox box = normal((ByteBox){.bytes = 4, .level_count = 3, .levels = {{9, 0}, {1, 77}, {3, 8}}});
  assert_int_equal(box.level_count, 1);
  assert_int_equal(byte_box_run_count(&box), 3);
  ByteBox windows = normal((ByteBox){.bytes = 12, .level_count = 1, .levels = {{10, 4}}});
  assert_int_equal(windows.bytes, 48);
  assert_int_equal(windows.level_count, 0);
  assert_int_equal(normal((ByteBox){.bytes = 4, .level_count = 1, .levels = {{0, 4}}}).bytes, 0);
}

static void box_turns_negative_strides(void **state) {
  (void)state;
  ByteBox box =
      normal((ByteBox){.base = 96, .bytes = 4, .align = 32, .level_count = 2, .levels = {{2, 256}, {7, -16}}});
  assert_int_equal(box.base, 0);
  assert_int_equal(box.levels[0].stride, 256);
  assert_int_equal(box.levels[1].stride, 16);
  assert_int_equal(box.align, 32); /* 96 steps back keep it */
  ByteBox reversed = normal((ByteBox){.base = 60, .bytes = 4, .level_count = 1, .levels = {{16, -4}}});
  assert_int_equal(reversed.base, 0);
  assert_int_equal(reversed.bytes, 64);
}

static void box_beyond_64_bits_is_out_of_bounds(void **state) {
  (void)state;
  ByteBox box = normal((ByteBox){.base = 8, .bytes = 4, .level_count = 1, .levels = {{INT64_MAX, 4}}});
  assert_true(box.base == INT64_MAX - 1 && box.bytes == 1 && byte_box_end(&box) == INT64_MAX);
}

/* The set of bytes, by its definition. */
static void mark_bytes(const ByteBox *box, unsigned char *bytes) {
  int64_t count = byte_box_run_count(box);
  for (int64_t i = 0; i < count; i++) {
    for (int64_t k = 0; k < box->bytes; k++) bytes[byte_box_run(box, i) + k] = 1;
  }
}

static void box_stays_the_same_set(void **state) {
  (void)state;
  uint64_t random = 7;
  for (int i = 0; i < 20000; i++) {
    ByteBox box = {.base = 256, .bytes = 1 + (int64_t)draw(&random, 6)};
    box.level_count = (int)draw(&random, 4);
    for (int k = 0; k < box.level_count; k++) {
      box.levels[k].count = 1 + (int64_t)draw(&random, 4);
      box.levels[k].stride = (int64_t)draw(&random, 41) - 20;
    }
    unsigned char before[512] = {0}, after[512] = {0};
    mark_bytes(&box, before);
    ByteBox normalised = normal(box);
    mark_bytes(&normalised, after);
    assert_memory_equal(before, after, sizeof(before));
    int64_t runs = byte_box_run_count(&normalised);
    for (int64_t k = 1; k < runs && byte_box_ascends(&normalised); k++) {
      assert_true(byte_box_run(&normalised, k - 1) + normalised.bytes <= byte_box_run(&normalised, k));
    }
  }
}

static void stream_keeps_equal_boxes_once(void **state) {
  StreamFixture *fixture = *state;
  CommandStream *stream = &fixture->stream;
  for (int i = 0; i < 100; i++) {
    command_stream_add_operation(stream, 0, EX, 1);
    read_bytes(fixture, BUFFER_OBJECT, i % 2 * 64, 64);
    write_bytes(fixture, BUFFER_OBJECT, 128, 64);
    ByteBox empty = dense_box(0, 0);
    command_stream_add_read(stream, BUFFER_OBJECT, &empty);
  }
  assert_int_equal(stream->boxes.count, 3);
  assert_int_equal(stream->forms.count, 1);
  InstanceRange accesses = command_stream_accesses(stream, 99);
  assert_int_equal(accesses.count, 2);
  assert_false(stream_access_writes(accesses.data[0]));
  assert_int_equal(command_stream_box(stream, stream_access_box(accesses.data[0])).base, 64);
  assert_true(stream_access_writes(accesses.data[1]));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create_fixture, destroy_fixture)
  const struct CMUnitTest tests[] = {
      TEST(box_merges_what_continues),           TEST(box_drops_what_adds_no_byte), TEST(box_turns_negative_strides),
      TEST(box_beyond_64_bits_is_out_of_bounds), TEST(box_stays_the_same_set),      TEST(stream_keeps_equal_boxes_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
