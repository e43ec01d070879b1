/* Errors and the nearest known words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/checked_math.h"
#include "parser/parser_internal.h"

static StringView format_text(Arena *arena, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int size = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (size < 0) return SV("");
  char *text = arena_alloc(arena, (size_t)size + 1);
  vsnprintf(text, (size_t)size + 1, format, arguments);
  return (StringView){text, (size_t)size};
}

static Status report(Parser *parser, SourceLoc loc, const char *code, StringView text) {
  parser->failed = true;
  if (++parser->error_count >= MAX_ERRORS) parser->stopped = true;
  return diag_error(parser->diag, STATUS_INVALID, loc, code, "%.*s", SV_ARG(text));
}

Status parse_error(Parser *parser, SourceLoc loc, const char *code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  StringView text = format_text(parser->scratch, format, arguments);
  va_end(arguments);
  return report(parser, loc, code, text);
}

void report_error(Parser *parser, SourceLoc loc, const char *code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  StringView text = format_text(parser->scratch, format, arguments);
  va_end(arguments);
  if (report(parser, loc, code, text) == STATUS_OK) XLAC_BUG("an error that is none");
}

void parse_note(Parser *parser, SourceLoc loc, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  StringView text = format_text(parser->scratch, format, arguments);
  va_end(arguments);
  diag_note(parser->diag, loc, "%.*s", SV_ARG(text));
}

Status parse_expected(Parser *parser, const char *what) {
  const Token *token = current(parser);
  StringView found = token_describe(parser->scratch, token);
  if (token->kind == TOKEN_ERROR) {
    const char *code = *token->start == '"' || *token->start == '\'' ? "parse-string" : "parse-token";
    return parse_error(parser, here(parser), code, "%s: %.*s", token->error, SV_ARG(found));
  }
  return parse_error(parser, here(parser), "parse-syntax", "expected %s, found %.*s", what, SV_ARG(found));
}

Status parse_too_deep(Parser *parser, SourceLoc loc, const char *what) {
  Status status = parse_error(parser, loc, "parse-nesting", "%s nested too deeply", what);
  parser->stopped = true; /* what follows is more of the same, for as long as the text lasts */
  return status;
}

/* Other languages' words. */
typedef struct Alias {
  const char *text, *meant;
} Alias;

static bool note_alias(Parser *parser, const Alias *aliases, size_t count, StringView text) {
  for (size_t i = 0; i < count; i++) {
    if (!sv_equal_cstring(text, aliases[i].text)) continue;
    parse_note(parser, NO_LOC, "did you mean '%s'?", aliases[i].meant);
    return true;
  }
  return false;
}

void suggest_opcode(Parser *parser, StringView text) {
  static const Alias aliases[] = {
      {"mul", "multiply"},
      {"exp", "exponential"},
      {"expm1", "exponential-minus-one"},
      {"log1p", "log-plus-one"},
      {"matmul", "dot"},
      {"dot_general", "dot"},
      {"gte", "get-tuple-element"},
      {"sigmoid", "logistic"},
      {"cast", "convert"},
      {"if", "conditional"},
      {"case", "conditional"},
      {"argument", "parameter"},
      {"maxpool", "reduce-window"},
      {"concat", "concatenate"},
      {"pow", "power"},
      {"max", "maximum"},
      {"min", "minimum"},
      {"rem", "remainder"},
      {"neg", "negate"},
      {"sin", "sine"},
      {"cos", "cosine"},
      {"where", "select"},
  };
  if (note_alias(parser, aliases, sizeof(aliases) / sizeof(aliases[0]), text)) return;
  NearestWord nearest = nearest_word_begin(text);
  for (int i = 0; i < HLO_OPCODE_COUNT; i++) {
    nearest_word_offer(&nearest, sv_from_cstring(hlo_opcode_text((HloOpcode)i)));
  }
  nearest_word_note(&nearest, parser->diag);
}

void suggest_type(Parser *parser, StringView text) {
  static const Alias aliases[] = {
      {"float", "f32"},   {"double", "f64"},    {"half", "f16"},    {"bool", "pred"},   {"i1", "pred"},
      {"i4", "s4"},       {"i8", "s8"},         {"i16", "s16"},     {"i32", "s32"},     {"i64", "s64"},
      {"int", "s32"},     {"int32", "s32"},     {"int64", "s64"},   {"float32", "f32"}, {"float64", "f64"},
      {"float16", "f16"}, {"bfloat16", "bf16"}, {"f8", "f8e4m3fn"},
  };
  if (note_alias(parser, aliases, sizeof(aliases) / sizeof(aliases[0]), text)) return;
  NearestWord nearest = nearest_word_begin(text);
  for (int i = TYPE_INVALID + 1; i < PRIMITIVE_TYPE_COUNT; i++) {
    if (i != TYPE_TUPLE && i != TYPE_BUFFER) nearest_word_offer(&nearest, sv_from_cstring(type_text((PrimitiveType)i)));
  }
  nearest_word_note(&nearest, parser->diag);
}

void suggest_enum(Parser *parser, HloEnumId id, StringView text) {
  NearestWord nearest = nearest_word_begin(text);
  StringBuilder words;
  sb_init(&words, parser->scratch);
  for (int64_t i = 0; i < hlo_enum_count(id); i++) {
    const char *word = hlo_enum_text(id, i);
    if (text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0) {
      parse_note(parser, NO_LOC, "did you mean '%s'?", word);
      return;
    }
    nearest_word_offer(&nearest, sv_from_cstring(word));
    if (i > 0) sb_append_cstring(&words, ", ");
    sb_append_cstring(&words, word);
  }
  nearest_word_note(&nearest, parser->diag);
  if (nearest.word.size == 0) parse_note(parser, NO_LOC, "known are: %.*s", SV_ARG(sb_view(&words)));
}

void suggest_name(Parser *parser, const StringViewArray *names, StringView text) {
  enum { MOST = 20000 }; /* names looked at, the latest ones */
  NearestWord nearest = nearest_word_begin(text);
  int64_t first = max_i64(0, names->count - MOST);
  for (int64_t i = names->count; i-- > first;) nearest_word_offer(&nearest, names->data[i]);
  nearest_word_note(&nearest, parser->diag);
}
