#include "runtime/arrays/zip_archive.h"

#include "base/fixture_testing.h"

/* A stored member "x", "hello": every number of it and of the end that can be is in 64 bits; a comment of two bytes. */
static const unsigned char wide[] = {
    0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x86, 0xa6, 0x10, 0x36,
    0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x78, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
    0x50, 0x4b, 0x01, 0x02, 0x2d, 0x00, 0x2d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x86, 0xa6,
    0x10, 0x36, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x78, 0x01, 0x00, 0x18, 0x00, 0x05, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x50, 0x4b, 0x06, 0x06, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2d, 0x00, 0x2d,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x4b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x50, 0x4b, 0x06, 0x07, 0x00, 0x00, 0x00, 0x00, 0x6f, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x61, 0x62};

static const char *read_member(Fixture *fixture, const char *bytes, size_t size, StringView *out_bytes) {
  ZipArchive archive;
  const char *wrong = zip_archive_read(fixture->arena, (StringView){bytes, size}, &archive);
  if (wrong != NULL) return wrong;
  assert_int_equal(archive.count, 1);
  assert_true(sv_equal_cstring(archive.members[0].name, "x"));
  return zip_member_unpack(fixture->arena, &archive.members[0], out_bytes);
}

static void numbers_of_64_bits_are_read(void **state) {
  StringView bytes;
  assert_null(read_member(*state, (const char *)wide, sizeof wide, &bytes));
  assert_true(sv_equal_cstring(bytes, "hello"));
}

/* What |change| of the byte at |at| makes of the archive above. */
static const char *changed(Fixture *fixture, size_t at, unsigned char change) {
  char *copy = arena_copy(fixture->arena, wide, sizeof wide);
  copy[at] = (char)(copy[at] ^ change);
  StringView bytes;
  return read_member(fixture, copy, sizeof wide, &bytes);
}

static void damage_is_said(void **state) {
  enum { CONTENT = 31, ENTRY = CONTENT + 5, LOCATOR = ENTRY + 46 + 1 + 28 + 56 };
  assert_string_equal(changed(*state, CONTENT, 1), "a member is damaged");
  assert_string_equal(changed(*state, 0, 1), "a member is not where the directory says");
  assert_string_equal(changed(*state, ENTRY, 1), "its directory is damaged");
  assert_string_equal(changed(*state, ENTRY + 8, 1), "a member is encrypted");
  assert_string_equal(changed(*state, ENTRY + 10, 12), "a member is packed in another way than by deflate");
  assert_string_equal(changed(*state, LOCATOR + 8, 1), "its end is damaged");
}

/* What is written reads back; an archive of nothing is one. */
static void written_archives_are_read(void **state) {
  Fixture *fixture = *state;
  ZipMember members[] = {{.name = SV("a"), .stored = SV("one")}, {.name = SV("\xc3\xa4"), .stored = SV("")}};
  for (int64_t count = 0; count <= 2; count++) {
    ZipArchive archive;
    StringView bytes = zip_archive_write(fixture->arena, members, count);
    assert_null(zip_archive_read(fixture->arena, bytes, &archive));
    assert_int_equal(archive.count, count);
    for (int64_t i = 0; i < count; i++) {
      StringView unpacked;
      assert_null(zip_member_unpack(fixture->arena, &archive.members[i], &unpacked));
      assert_true(sv_equal(unpacked, members[i].stored) && sv_equal(archive.members[i].name, members[i].name));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(numbers_of_64_bits_are_read, create, destroy),
      cmocka_unit_test_setup_teardown(damage_is_said, create, destroy),
      cmocka_unit_test_setup_teardown(written_archives_are_read, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
