/* The digests of nothing and of three letters are BLAKE3's known ones. */
#include "base/content_digest.h"

#include "base/fixture_testing.h"

static void assert_digest(StringView text, size_t step, const char *expected) {
  ContentHash hash;
  content_hash_begin(&hash);
  for (size_t at = 0; at < text.size; at += step) content_hash_add(&hash, sv_sub(text, at, step));
  ContentDigest digest = content_hash_end(&hash);
  char hex[CONTENT_DIGEST_HEX_SIZE + 1];
  content_digest_hex(&digest, hex);
  assert_string_equal(hex, expected);
}

static void content_digest_is_that_of_blake3(void **state) {
  (void)state;
  assert_digest(SV(""), 1, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  assert_digest(SV("abc"), 3, "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
}

static void content_digest_does_not_depend_on_how_content_is_cut(void **state) {
  const Fixture *fixture = *state;
  StringBuilder letters;
  sb_init(&letters, fixture->arena);
  sb_append_repeated(&letters, 'a', 1000000);
  ContentHash hash;
  content_hash_begin(&hash);
  content_hash_add(&hash, sb_view(&letters));
  ContentDigest whole = content_hash_end(&hash);
  char hex[CONTENT_DIGEST_HEX_SIZE + 1];
  content_digest_hex(&whole, hex);
  static const size_t steps[] = {1, 63, 64, 65, 1000};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) assert_digest(sb_view(&letters), steps[i], hex);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(content_digest_is_that_of_blake3),
      cmocka_unit_test_setup_teardown(content_digest_does_not_depend_on_how_content_is_cut, create, destroy),
  };
  return cmocka_run_group_tests_name("content_digest", tests, NULL, NULL);
}
