#include "parser/hlo_lexer.h"

#include <string.h>

#include "parser/parser_testing.h"

typedef struct Row {
  const char *text;
  TokenKind kind;
  const char *token; /* its text */
} Row;

static Lexer lex_view(SourceFile *file, const char *text, size_t size) {
  *file = (SourceFile){SV("t"), {text, size}};
  Lexer lexer;
  lexer_init(&lexer, file);
  return lexer;
}

static void lexer_first_token(void **state) {
  (void)state;
  static const Row rows[] = {
      {"", TOKEN_END, ""},
      {" \t\r\n// c\n/* d */", TOKEN_END, ""},
      {"%add.1-x(", TOKEN_NAME, "add.1-x"},
      {"%f32", TOKEN_NAME, "f32"},
      {"p: f32", TOKEN_NAME, "p"},
      {"op_name=\"x\"", TOKEN_ATTRIBUTE, "op_name"},
      {"op_name =\"x\"", TOKEN_IDENTIFIER, "op_name"},
      {"f32[2]", TOKEN_TYPE, "f32"},
      {"f33[2]", TOKEN_IDENTIFIER, "f33"},
      {"tuple", TOKEN_IDENTIFIER, "tuple"},
      {"ROOT", TOKEN_KEYWORD, "ROOT"},
      {"inf", TOKEN_KEYWORD, "inf"},
      {"Inf", TOKEN_IDENTIFIER, "Inf"},
      {"foo->", TOKEN_IDENTIFIER, "foo-"},
      {"b01f_01io->b01f,", TOKEN_DIM_LABELS, "b01f_01io->b01f"},
      {"0bf_0io->0bf", TOKEN_DIM_LABELS, "0bf_0io->0bf"},
      {"?0bf_0io->0bf", TOKEN_DIM_LABELS, "?0bf_0io->0bf"},
      {"?", TOKEN_QUESTION, "?"},
      {"3x3x1 ", TOKEN_SIZES, "3x3x1"},
      {"0x10", TOKEN_SIZES, "0x10"},
      {"3x", TOKEN_INTEGER, "3"},
      {"1_2x-1_0_3 ", TOKEN_PADS, "1_2x-1_0_3"},
      {"-1_2", TOKEN_PADS, "-1_2"},
      {"-12", TOKEN_INTEGER, "-12"},
      {"1e", TOKEN_INTEGER, "1"},
      {"-.5", TOKEN_DECIMAL, "-.5"},
      {"5.", TOKEN_DECIMAL, "5."},
      {"1E+5", TOKEN_DECIMAL, "1E+5"},
      {"-inf", TOKEN_NEGATIVE_INF, "-inf"},
      {"nan", TOKEN_NAN, "nan"},
      {"nan(0x7f)", TOKEN_NAN, "nan(0x7f)"},
      {"-nan(0x1)", TOKEN_NAN, "-nan(0x1)"},
      {"->", TOKEN_ARROW, "->"},
      {"<=4", TOKEN_LESS_EQUAL, "<="},
      {"...", TOKEN_ELLIPSIS, "..."},
      {"'a\nb' c", TOKEN_STRING, "a\nb"},
      {"\"a\\\"b\"", TOKEN_STRING, "a\\\"b"},
      {"nan(0x0)", TOKEN_ERROR, NULL},
      {"nan(12)", TOKEN_ERROR, NULL},
      {"nan(0x10000000000000)", TOKEN_ERROR, NULL},
      {"18446744073709551616", TOKEN_ERROR, NULL},
      {"%0", TOKEN_ERROR, NULL},
      {"% p", TOKEN_ERROR, NULL},
      {".5", TOKEN_ERROR, NULL},
      {"..", TOKEN_ERROR, NULL},
      {"/ 2", TOKEN_ERROR, NULL},
      {"<4", TOKEN_ERROR, NULL},
      {"/* open", TOKEN_ERROR, NULL},
      {"\"open", TOKEN_ERROR, NULL},
      {"\f", TOKEN_ERROR, NULL},
      {"\xc3\xa9", TOKEN_ERROR, NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    SourceFile file;
    Lexer lexer = lex_view(&file, rows[i].text, strlen(rows[i].text));
    if (lexer.token.kind != rows[i].kind)
      fail_msg("'%s' is token %d, not %d", rows[i].text, lexer.token.kind, rows[i].kind);
    if (rows[i].token && !sv_equal_cstring(lexer.token.text, rows[i].token)) fail_msg("text of '%s'", rows[i].text);
  }
  SourceFile file;
  assert_int_equal(lex_view(&file, "\0", 1).token.kind, TOKEN_ERROR);
}

static void lexer_counts_lines_and_columns(void **state) {
  (void)state;
  static const char text[] = "a\r\n  b /* x\n y */ c\n'1\n2' d // e\n%f";
  static const struct {
    const char *text;
    uint32_t line, column;
    bool first;
  } rows[] = {{"a", 1, 1, true},    {"b", 2, 3, true},  {"c", 3, 7, true},
              {"1\n2", 4, 1, true}, {"d", 5, 4, false}, {"f", 6, 1, true}};
  SourceFile file;
  Lexer lexer = lex_view(&file, text, sizeof(text) - 1);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_true(sv_equal_cstring(lexer.token.text, rows[i].text));
    assert_int_equal(lexer.token.line, rows[i].line);
    assert_int_equal(lexer.token.column, rows[i].column);
    assert_int_equal(lexer.token.first_on_line, rows[i].first);
    lexer_advance(&lexer);
  }
  assert_int_equal(lexer.token.kind, TOKEN_END);
}

static void lexer_takes_dictionaries_raw(void **state) {
  (void)state;
  static const char text[] = "{a {\"}\\\"\"} 'x }b";
  SourceFile file;
  Lexer lexer = lex_view(&file, text, sizeof(text) - 1);
  StringView dictionary;
  assert_true(lexer_take_dictionary(&lexer, &dictionary));
  assert_true(sv_equal_cstring(dictionary, "{a {\"}\\\"\"} 'x }"));
  assert_true(sv_equal_cstring(lexer.token.text, "b"));
  lexer = lex_view(&file, "{{}", 3);
  assert_false(lexer_take_dictionary(&lexer, &dictionary));
}

static void string_escapes_are_resolved(void **state) {
  (void)state;
  static const struct {
    const char *text, *value; /* NULL: refused */
  } rows[] = {
      {"\"a\\n\\t\\\\\\\"\\'\\?\"", "a\n\t\\\"'?"},
      {"\"\\303\\251\"", "\303\251"},
      {"\"\\xe9\"", "\xe9"},
      {"\"\\u00e9\\U0001F600\"", "\303\251\360\237\230\200"},
      {"\"\\1\"", "\1"},
      {"\"\\q\"", NULL},
      {"\"\\777\"", NULL},
      {"\"\\x141\"", NULL},
      {"\"\\x\"", NULL},
      {"\"\\ud800\"", NULL},
      {"\"\\u12\"", NULL},
  };
  Arena *arena = arena_create();
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    SourceFile file;
    Lexer lexer = lex_view(&file, rows[i].text, strlen(rows[i].text));
    StringView value;
    const char *reason = NULL;
    bool valid = token_unescape(arena, &lexer.token, &value, &reason);
    if (valid != (rows[i].value != NULL)) fail_msg("%s", rows[i].text);
    if (valid) {
      assert_true(sv_equal_cstring(value, rows[i].value));
    } else {
      assert_non_null(reason);
    }
  }
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lexer_first_token),
      cmocka_unit_test(lexer_counts_lines_and_columns),
      cmocka_unit_test(lexer_takes_dictionaries_raw),
      cmocka_unit_test(string_escapes_are_resolved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
