#include <string.h>

#include "parser/parser_testing.h"

/* The literal of "ROOT c = |shape| constant(|value|)". */
static const Literal *read_literal(ParseResult **out_result, const char *shape, const char *value) {
  Arena *arena = arena_create();
  ParseResult *result = parse_text(arena_printf(arena, "ENTRY e { ROOT c = %s constant(%s) }", shape, value));
  if (!result->module) fail_msg("%s constant(%s): %.*s", shape, value, SV_ARG(result->diag.first->message));
  arena_destroy(arena); /* names may point there, values not */
  *out_result = result;
  return hlo_instruction_literal(result->module->entry->root);
}

typedef struct Row {
  const char *shape, *value;
  uint64_t bits[4]; /* of the first elements; a type wider than 64 bits takes several */
} Row;

static void literal_elements_have_the_bits_of_xla(void **state) {
  (void)state;
  static const Row rows[] = {
      {"pred[3]", "{true, 0, 7}", {1, 0, 1}},
      {"s4[2]", "{-8, 7}", {0xf8, 7}},
      {"s1[2]", "{-1, 0}", {0xff, 0}},
      {"u2[2]", "{0, 3}", {0, 3}},
      {"u8[]", "255", {255}},
      {"s32[]", "18446744073709551615", {0xffffffff}}, /* read modulo 2^64, then range-checked */
      {"s64[]", "9223372036854775808", {0x8000000000000000}},
      {"u64[]", "-1", {UINT64_MAX}},
      {"f32[4]", "{1, -0.0, inf, -inf}", {0x3f800000, 0x80000000, 0x7f800000, 0xff800000}},
      {"f32[]", "-0", {0}}, /* an integer token */
      {"f32[3]", "{nan, -nan, nan(0x1)}", {0x7fc00000, 0xffc00000, 0x7f800001}},
      {"f32[]", "3.4028235677973362e38", {0x7f7fffff}},
      {"f64[]", "nan(0xfffffffffffff)", {0x7fffffffffffffff}},
      {"f16[2]", "{65519, 1e-8}", {0x7bff, 0}},
      {"bf16[2]", "{0.1, nan}", {0x3dcd, 0x7fc0}},
      {"f8e4m3fn[3]", "{464, nan, -nan}", {0x7e, 0x7f, 0xff}},
      {"f8e5m2[2]", "{inf, nan(0x3)}", {0x7c, 0x7f}},
      {"f8e4m3fnuz[]", "nan", {0x80}},
      {"f8e8m0fnu[2]", "{1, 3}", {127, 129}},
      {"f4e2m1fn[4]", "{8, inf, nan, -0.5}", {7, 7, 8, 9}},
      {"c64[1]", "{(1, -2)}", {0xc00000003f800000}},
      {"c128[]", "(1e0, inf)", {0x3ff0000000000000, 0x7ff0000000000000}},
      {"f32[2,2]", "{ {1, 2}, {3, 4.5} }", {0x3f800000, 0x40000000, 0x40400000, 0x40900000}},
      {"f32[2,2]{0,1}", "{ /*i0=0*/ {1 2} {3,,4} }", {0x3f800000, 0x40000000, 0x40400000, 0x40800000}},
      {"f32[<=2]", "{1, 2}", {0x3f800000, 0x40000000}},
      {"f32[2,2]", "1.5", {0x3fc00000, 0, 0, 0}}, /* the first element, the others are zero */
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    ParseResult *result;
    const Literal *literal = read_literal(&result, rows[i].shape, rows[i].value);
    int bytes = type_storage_bytes(literal->shape->type), unit = bytes > 8 ? 8 : bytes;
    int64_t units = shape_byte_size(literal->shape) / unit;
    for (int64_t j = 0; j < units; j++) {
      uint64_t bits = 0;
      memcpy(&bits, (const char *)literal->data + j * unit, (size_t)unit);
      if (bits != rows[i].bits[j]) {
        fail_msg("%s constant(%s): unit %d is 0x%llx", rows[i].shape, rows[i].value, (int)j, (unsigned long long)bits);
      }
    }
    parse_free(result);
  }
}

static void literal_without_elements_is_braces(void **state) {
  (void)state;
  assert_accepted("ENTRY e { ROOT c = f32[0] constant({}) }");
  assert_accepted("ENTRY e { ROOT c = f32[2,0] constant({{},{}}) }");
  assert_accepted("ENTRY e { ROOT c = f32[0,2] constant({}) }");
  assert_rejected("ENTRY e { ROOT c = f32[2] constant({}) }", "1:37 parse-literal");
}

static void literal_tuples_nest(void **state) {
  (void)state;
  ParseResult *result;
  const Literal *literal = read_literal(&result, "(s32[], (f32[2], pred[]))", "( 1, ({1, 2}, true) )");
  assert_int_equal(literal_get_int(&literal->tuple[0], 0), 1);
  assert_true(literal_get_double(&literal->tuple[1].tuple[0], 1) == 2);
  parse_free(result);
}

/* Whatever its size, for nothing is allocated. */
static void literal_elided_is_marked(void **state) {
  (void)state;
  ParseResult *result;
  const Literal *literal = read_literal(&result, "f32[1000000,1000000,100]", "{...}");
  assert_true(literal->elided);
  assert_null(literal->data);
  parse_free(result);
  literal = read_literal(&result, "f32[1000000,2]", "{{1, 2}, ...}");
  assert_true(literal->elided);
  assert_null(literal->data);
  parse_free(result);
  literal = read_literal(&result, "f32[4]", "{1, 2, ...}");
  assert_true(literal->elided);
  parse_free(result);
  assert_rejected("ENTRY e { ROOT c = f32[] constant({...}) }", "1:35 parse-literal");
  assert_rejected("ENTRY e { ROOT c = f32[2,2] constant({{...},{...}}) }", "1:40 parse-literal");
  assert_rejected("ENTRY e { ROOT c = f32[4] constant({1, ..., 4}) }", "1:45 parse-literal");
  assert_rejected("ENTRY e { ROOT c = f32[9999] constant({x, ...}) }", "1:40 parse-syntax");
}

static void literal_errors_are_located(void **state) {
  (void)state;
  static const struct {
    const char *shape, *value, *errors; /* the value begins in line 2 */
  } rows[] = {
      {"f32[2]", "{1, 2, 3}", "2:8 parse-literal"},
      {"f32[2]", "{1}", "2:3 parse-literal"},
      {"f32[2]", "(1, 2)", "2:1 parse-syntax"},
      {"f32[0]", "1", "2:1 parse-syntax"},
      {"f32[1000000000]", "1", "2:1 parse-literal"},
      {"f32[2,2]", "{1, 2}", "2:2 parse-syntax"},
      {"f32[2]", "{{1}, {2}}", "2:2 parse-literal"},
      {"f32[]", "", "2:1 parse-syntax"},
      {"f32[]", "1e999", "2:1 parse-literal-range"},
      {"f32[]", "3.5e38", "2:1 parse-literal-range"},
      {"f16[2]", "{1, 65520}", "2:5 parse-literal-range"},
      {"f8e4m3fn[]", "465", "2:1 parse-literal-range"},
      {"f8e8m0fnu[]", "-1", "2:1 parse-literal-range"},
      {"f32[]", "true", "2:1 parse-syntax"},
      {"s32[2]", "{1, 1.0}", "2:5 parse-syntax"},
      {"u4[2]", "{15,\n16}", "3:1 parse-literal-range"},
      {"s32[]", "2147483648", "2:1 parse-literal-range"},
      {"s64[]", "18446744073709551616", "2:1 parse-token"},
      {"c64[]", "1", "2:1 parse-syntax"},
      {"c64[]", "(1, 3.4028235677973362e39)", "2:5 parse-literal-range"},
      {"token[]", "1", "2:1 parse-literal"},
      {"(f32[])", "(1, 2)", "2:3 parse-syntax"},
      {"f32[?]", "{1}", "2:1 parse-literal"},
      {"f32[4611686018427387904]", "{1}", "2:1 parse-literal"},
      {"f32[4294967296,4294967296]", "{1}", "2:1 parse-literal"},
      {"f32[1000000000]", "{1}", "2:1 parse-literal"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    Arena *arena = arena_create();
    assert_rejected(arena_printf(arena, "ENTRY e { ROOT c = %s constant(\n%s) }", rows[i].shape, rows[i].value),
                    rows[i].errors);
    arena_destroy(arena);
  }
}

/* The fast path and the tokens must agree on where a number ends and which line an error is on. */
static void literal_long_rows_keep_lines(void **state) {
  (void)state;
  assert_accepted("ENTRY e { ROOT c = f32[6] constant({1, 2.5,\r\n3e2,nan, 5 /*x*/, -6}) }");
  assert_rejected("ENTRY e { ROOT c = s32[5] constant({1,\n2,\n 3, 4,\n  5.5}) }", "4:3 parse-syntax");
  assert_rejected("ENTRY e { ROOT c = s32[4] constant({1, 2, 3x4, 4}) }", "1:43 parse-syntax");
  assert_rejected("ENTRY e { ROOT c = s32[3] constant({1, 2, 3_4}) }", "1:43 parse-syntax");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(literal_elements_have_the_bits_of_xla),
      cmocka_unit_test(literal_without_elements_is_braces),
      cmocka_unit_test(literal_tuples_nest),
      cmocka_unit_test(literal_elided_is_marked),
      cmocka_unit_test(literal_errors_are_located),
      cmocka_unit_test(literal_long_rows_keep_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
