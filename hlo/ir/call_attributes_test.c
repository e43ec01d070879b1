#include "hlo/ir/call_attributes.h"

#include <string.h>

#include "hlo/ir/hlo_testing.h"

static Status parse(Fixture *f, const char *text, CallAttribute *out, DiagSink *diag) {
  HloInstruction *call = hlo_computation_add(f->main, HLO_CUSTOM_CALL, f->f32, NULL, 0, SV("call"));
  hlo_instruction_set_attr(call, &(HloAttr){.id = HLO_ATTR_BACKEND_CONFIG, .value.text = sv_from_cstring(text)});
  diag_sink_init(diag, f->arena);
  return call_attributes_parse(f->arena, call, diag, out);
}

static const CallAttribute *parse_one(Fixture *f, const char *value) {
  CallAttribute *dictionary = ARENA_NEW(f->arena, CallAttribute);
  DiagSink diag;
  if (parse(f, arena_printf(f->arena, "{a = %s}", value), dictionary, &diag) != STATUS_OK)
    fail_msg("%s: %.*s", value, SV_ARG(diag.first->message));
  assert_int_equal(dictionary->count, 1);
  return &dictionary->entries[0];
}

static void call_attributes_read_numbers(void **state) {
  static const struct {
    const char *text;
    PrimitiveType type;
    uint64_t bits;
  } cases[] = {
      {"1", TYPE_S64, 1},
      {"-1", TYPE_S64, UINT64_MAX},
      {"76 : ui8", TYPE_U8, 76},
      {"255 : ui8", TYPE_U8, 255},
      {"-128 : i8", TYPE_S8, 0x80},
      {"0xFF : i8", TYPE_S8, 0xff},
      {"-2 : si16", TYPE_S16, 0xfffe},
      {"7:i32", TYPE_S32, 7},
      {"-9223372036854775808", TYPE_S64, (uint64_t)1 << 63},
      {"18446744073709551615 : ui64", TYPE_U64, UINT64_MAX},
      {"1.5 : f32", TYPE_F32, 0x3fc00000},
      {"-1.5", TYPE_F64, 0xbff8000000000000},
      {"1.000000e+00 : f32", TYPE_F32, 0x3f800000},
      {"2.5e-1 : f64", TYPE_F64, 0x3fd0000000000000},
      {"0x7FC00000 : f32", TYPE_F32, 0x7fc00000},
      {"0xFFF0000000000000 : f64", TYPE_F64, 0xfff0000000000000},
      {"true", TYPE_PRED, 1},
      {"false", TYPE_PRED, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const CallAttribute *value = parse_one(*state, cases[i].text);
    uint64_t bits = 0;
    assert_int_equal(value->kind, CALL_ATTRIBUTE_SCALAR);
    assert_int_equal(value->type, cases[i].type);
    memcpy(&bits, value->data, (size_t)type_storage_bytes(value->type));
    if (bits != cases[i].bits) fail_msg("%s: %llx", cases[i].text, (unsigned long long)bits);
  }
}

static void call_attributes_read_strings(void **state) {
  const CallAttribute *value = parse_one(*state, "\"a\\\"b\\\\\\0A\\n{,}\"");
  assert_int_equal(value->kind, CALL_ATTRIBUTE_STRING);
  assert_int_equal(value->count, 9);
  assert_memory_equal(value->data, "a\"b\\\n\n{,}", 9);
  assert_int_equal(parse_one(*state, "\"\"")->count, 0);
}

static void call_attributes_read_arrays(void **state) {
  static const int64_t wide[] = {1, -2, 3};
  static const float narrow[] = {0.5f, 0.5f, 0.5f, 0.5f};
  static const int32_t matrix[] = {1, 2, 3, 4, 5, 6};
  const CallAttribute *value = parse_one(*state, "array<i64: 1, -2, 3>");
  assert_int_equal(value->kind, CALL_ATTRIBUTE_ARRAY);
  assert_int_equal(value->count, 3);
  assert_memory_equal(value->data, wide, sizeof wide);
  assert_int_equal(parse_one(*state, "array<f32>")->count, 0);
  value = parse_one(*state, "dense<5.0e-1> : tensor<2x2xf32>");
  assert_int_equal(value->count, 4);
  assert_memory_equal(value->data, narrow, sizeof narrow);
  assert_int_equal(parse_one(*state, "dense<> : tensor<0xi32>")->count, 0);
  value = parse_one(*state, "dense<\"0x01000000FEFFFFFF\"> : tensor<2xi32>");
  assert_int_equal(value->count, 2);
  assert_int_equal(((const int32_t *)value->data)[0], 1);
  assert_int_equal(((const int32_t *)value->data)[1], -2);
  value = parse_one(*state, "dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>");
  assert_int_equal(value->type, TYPE_S32);
  assert_memory_equal(value->data, matrix, sizeof matrix);
}

static void call_attributes_are_sorted_by_name(void **state) {
  Fixture *f = *state;
  CallAttribute dictionary;
  DiagSink diag;
  assert_int_equal(parse(f, "{b = 1, \"a b\" = {z = 1, y = {}}, B.x$ = 2}", &dictionary, &diag), STATUS_OK);
  assert_int_equal(dictionary.count, 3);
  assert_true(sv_equal_cstring(dictionary.entries[0].name, "B.x$"));
  assert_true(sv_equal_cstring(dictionary.entries[1].name, "a b"));
  assert_true(sv_equal_cstring(dictionary.entries[2].name, "b"));
  assert_int_equal(dictionary.entries[1].kind, CALL_ATTRIBUTE_DICTIONARY);
  assert_true(sv_equal_cstring(dictionary.entries[1].entries[0].name, "y"));
  assert_ptr_equal(call_attribute_find(&dictionary, SV("b")), &dictionary.entries[2]);
  assert_null(call_attribute_find(&dictionary, SV("c")));
}

static void call_attributes_refuse_mistakes(void **state) {
  static const char *const cases[] = {
      "{",
      "{a}",
      "{a = }",
      "{a = 1,}",
      "{a = 1} x",
      "{a = 1, a = 2}",
      "{a = 1 : f16}",
      "{a = 256 : ui8}",
      "{a = -1 : ui8}",
      "{a = 128 : i8}",
      "{a = 1.5 : i32}",
      "{a = \"x}",
      "{a = \"\\q\"}",
      "{a = [1, 2]}",
      "{a = array<i1: true>}",
      "{a = array<i8: 1 2>}",
      "{a = dense<[1]> : tensor<2xi8>}",
      "{a = unit}",
      "a = 1",
      "{a = 0x1FF : i8}",
      "{a = 18446744073709551616 : ui64}",
      "{a = - : i8}",
      "{a = 1e : f32}",
      "{a = dense<\"0x00\"> : tensor<2xi8>}",
      "{a = dense<\"0xG0\"> : tensor<1xi8>}",
      "{a = dense<1> : tensor<99999999999xi8>}",
      "{a = dense<1> : tensor<9999x9999xi8>}",
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CallAttribute dictionary;
    DiagSink diag;
    if (parse(*state, cases[i], &dictionary, &diag) != STATUS_INVALID) fail_msg("accepted: %s", cases[i]);
    assert_string_equal(diag.first->code, "call-attributes");
  }
}

static void call_attributes_refuse_deep_nesting(void **state) {
  Fixture *f = *state;
  StringBuilder text;
  sb_init(&text, f->arena);
  for (int i = 0; i < 100000; i++) sb_append_cstring(&text, "{a = ");
  CallAttribute dictionary;
  DiagSink diag;
  assert_int_equal(parse(f, text.data, &dictionary, &diag), STATUS_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(call_attributes_read_numbers),    TEST(call_attributes_read_strings),
      TEST(call_attributes_read_arrays),     TEST(call_attributes_are_sorted_by_name),
      TEST(call_attributes_refuse_mistakes), TEST(call_attributes_refuse_deep_nesting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
