#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hlo_lexer.h"
#include "parser/parser_testing.h"

static Number scan(const char *text, size_t *out_size) {
  const char *c = text;
  Number number;
  assert_true(number_scan(&c, text + strlen(text), &number));
  *out_size = (size_t)(c - text);
  return number;
}

static void assert_real(const char *text) {
  size_t size;
  Number number = scan(text, &size);
  double expected = strtod(text, NULL);
  assert_false(number.is_integer);
  assert_int_equal(size, strlen(text));
  assert_memory_equal(&number.real, &expected, sizeof(double));
}

static void scan_number_rounds_like_strtod(void **state) {
  (void)state;
  static const char *const texts[] = {
      "0.0",
      "-0.0",
      "1.",
      "-.5",
      "1e0",
      "1E+5",
      "1.e3",
      "9007199254740993.0",
      "9007199254740992.5",
      "0.1",
      "123456789012345678901234567890.0",
      "2.2250738585072011e-308",
      "4.9406564584124654e-324",
      "2.4703282292062327e-324",
      "1.7976931348623157e308",
      "1.7976931348623159e308",
      "1e400",
      "-1e-400",
      "1e99999999999999999999",
      "1e-99999999999999999999",
      "0.000000000000000000000000000000000001e36",
      "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963302864166"
      "9288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557136695962"
      "2842914819860834936475292719074168444365510704342711559699508093042880.0",
      "0.500000000000000166533453693773481063544750213623046875",
      "9214843084008499.5",
      "1.00000000000000011102230246251565e0",
      "1.00000000000000011102230246251566e0",
      "18446744073709551615.5",
      "99999999999999999999.9"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) assert_real(texts[i]);
}

static void scan_number_rounds_random_decimals(void **state) {
  (void)state;
  srand(7);
  for (int i = 0; i < 200000; i++) {
    char text[64];
    uint64_t bits = ((uint64_t)rand() << 42) ^ ((uint64_t)rand() << 21) ^ (uint64_t)rand();
    double value;
    memcpy(&value, &bits, sizeof(value));
    if (!isfinite(value)) continue;
    snprintf(text, sizeof(text), "%.*e", rand() % 20, value);
    assert_real(text);
    value = (double)(rand() - RAND_MAX / 2) / (1 + rand() % 100000);
    snprintf(text, sizeof(text), "%.*f", 1 + rand() % 12, value);
    assert_real(text);
  }
}

/* A midpoint between two doubles is broken by a digit arbitrarily far to the right. */
static void scan_number_sees_far_digits(void **state) {
  (void)state;
  char text[3000] = "9007199254740993.";
  size_t size = strlen(text);
  memset(text + size, '0', 2000);
  strcpy(text + size + 2000, "1e0");
  assert_real(text);
}

static void scan_number_stops_where_the_pattern_does(void **state) {
  (void)state;
  size_t size;
  assert_true(scan("1e", &size).is_integer);
  assert_int_equal(size, 1);
  assert_true(scan("12x3", &size).is_integer);
  assert_int_equal(size, 2);
  assert_false(scan("1.5e+", &size).is_integer);
  assert_int_equal(size, 3);
  const char *empty = "-", *c = empty;
  Number number;
  assert_false(number_scan(&c, empty + 1, &number));
  assert_ptr_equal(c, empty);
}

static void scan_integer_is_modulo_64_bits(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool fits;
    int64_t value;
  } rows[] = {
      {"0", true, 0},
      {"00012", true, 12},
      {"9223372036854775807", true, INT64_MAX},
      {"9223372036854775808", true, INT64_MIN},
      {"18446744073709551615", true, -1},
      {"18446744073709551616", false, 0},
      {"-9223372036854775808", true, INT64_MIN},
      {"-9223372036854775809", false, 0},
      {"99999999999999999999999", false, 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const char *c = rows[i].text;
    int64_t value;
    assert_int_equal(number_scan_integer(&c, c + strlen(c), &value), rows[i].fits);
    if (rows[i].fits) assert_int_equal(value, rows[i].value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scan_number_rounds_like_strtod), cmocka_unit_test(scan_number_rounds_random_decimals),
      cmocka_unit_test(scan_number_sees_far_digits),    cmocka_unit_test(scan_number_stops_where_the_pattern_does),
      cmocka_unit_test(scan_integer_is_modulo_64_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
