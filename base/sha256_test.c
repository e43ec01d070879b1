/* The digests of FIPS 180-4's examples and of NIST's million letters. */
#include "base/sha256.h"

#include "base/fixture_testing.h"

static void assert_digest(StringView text, size_t step, const char *expected) {
  Sha256 hash;
  sha256_begin(&hash);
  for (size_t at = 0; at < text.size; at += step) sha256_add(&hash, sv_sub(text, at, step));
  Sha256Digest digest = sha256_end(&hash);
  char hex[SHA256_HEX_SIZE + 1];
  sha256_hex(&digest, hex);
  assert_string_equal(hex, expected);
}

static void sha256_gives_the_digests_of_the_standard(void **state) {
  (void)state;
  assert_digest(SV(""), 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_digest(SV("abc"), 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_digest(SV("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), 56,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void sha256_does_not_depend_on_how_content_is_cut(void **state) {
  const Fixture *fixture = *state;
  StringBuilder letters;
  sb_init(&letters, fixture->arena);
  sb_append_repeated(&letters, 'a', 1000000);
  static const size_t steps[] = {1000000, 1, 63, 64, 65, 1000};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
    assert_digest(sb_view(&letters), steps[i], "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha256_gives_the_digests_of_the_standard),
      cmocka_unit_test_setup_teardown(sha256_does_not_depend_on_how_content_is_cut, create, destroy),
  };
  return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
