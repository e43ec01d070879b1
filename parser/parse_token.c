/* Tokens with a meaning of their own: numbers, strings, lists of integers. */
#include <math.h>

#include "base/checked_math.h"
#include "parser/parser_internal.h"

bool accept(Parser *parser, TokenKind kind) {
  if (!at(parser, kind)) return false;
  advance(parser);
  return true;
}

Status expect(Parser *parser, TokenKind kind, const char *what) {
  if (!at(parser, kind)) return parse_expected(parser, what);
  advance(parser);
  return STATUS_OK;
}

bool at_attribute(const Parser *parser, const char *name) {
  return at(parser, TOKEN_ATTRIBUTE) && sv_equal_cstring(current(parser)->text, name);
}

Status expect_attribute(Parser *parser, const char *name) {
  if (!at_attribute(parser, name)) {
    return parse_expected(parser, arena_printf(parser->scratch, "'%s='", name));
  }
  advance(parser);
  return STATUS_OK;
}

bool at_word(const Parser *parser, const char *word) {
  return (at(parser, TOKEN_IDENTIFIER) || at(parser, TOKEN_KEYWORD)) && sv_equal_cstring(current(parser)->text, word);
}

bool at_name(const Parser *parser) {
  return at(parser, TOKEN_NAME) || at(parser, TOKEN_IDENTIFIER);
}

bool at_reserved(const Parser *parser) {
  return at(parser, TOKEN_TYPE) || at(parser, TOKEN_KEYWORD) ||
         (at(parser, TOKEN_NAN) && sv_equal_cstring(current(parser)->text, "nan"));
}

const char *reserved_kind(const Token *token) {
  return token->kind == TOKEN_TYPE ? "type" : "keyword";
}

Status expect_name(Parser *parser, const char *what, StringView *out_name) {
  if (!at_name(parser)) {
    Status status = parse_expected(parser, what);
    if (at_reserved(parser)) {
      StringView word = current(parser)->text;
      parse_note(parser, NO_LOC, "'%.*s' is a %s; as a name it is written '%%%.*s'", SV_ARG(word),
                 reserved_kind(current(parser)), SV_ARG(word));
    }
    return status;
  }
  *out_name = current(parser)->text;
  advance(parser);
  return STATUS_OK;
}

Status parse_int64(Parser *parser, int64_t *out_value) {
  if (!at(parser, TOKEN_INTEGER)) return parse_expected(parser, "an integer");
  *out_value = current(parser)->integer;
  advance(parser);
  return STATUS_OK;
}

Status parse_int32(Parser *parser, int64_t *out_value) {
  SourceLoc loc = here(parser);
  RETURN_IF_ERROR(parse_int64(parser, out_value));
  if (*out_value < INT32_MIN || *out_value > INT32_MAX) {
    return parse_error(parser, loc, "parse-number", "%lld does not fit 32 bits", (long long)*out_value);
  }
  return STATUS_OK;
}

Status parse_bool(Parser *parser, bool *out_value) {
  *out_value = at_word(parser, "true");
  if (!*out_value && !at_word(parser, "false")) return parse_expected(parser, "'true' or 'false'");
  advance(parser);
  return STATUS_OK;
}

Status parse_string(Parser *parser, StringView *out_text) {
  if (!at(parser, TOKEN_STRING)) return parse_expected(parser, "a string");
  const char *reason;
  if (!token_unescape(parser->arena, current(parser), out_text, &reason)) {
    return parse_error(parser, here(parser), "parse-string", "%s", reason);
  }
  advance(parser);
  return STATUS_OK;
}

Status parse_real(Parser *parser, double *out_value) {
  const Token *token = current(parser);
  if (token->kind == TOKEN_INTEGER) {
    *out_value = (double)token->integer;
  } else if (token->kind == TOKEN_DECIMAL) {
    const char *c = token->start;
    Number number;
    if (!number_scan(&c, token->start + token->text.size, &number)) XLAC_BUG("a decimal token that is not a number");
    *out_value = number.real;
    if (isinf(number.real)) {
      return parse_error(parser, here(parser), "parse-number", "'%.*s' is out of range for any type",
                         SV_ARG(token->text));
    }
  } else if (token->kind == TOKEN_NEGATIVE_INF) {
    *out_value = -INFINITY;
  } else if (token->kind == TOKEN_NAN) {
    *out_value = token->negative ? -(double)NAN : (double)NAN;
  } else if (at_word(parser, "inf")) {
    *out_value = INFINITY;
  } else {
    return parse_expected(parser, "a number");
  }
  advance(parser);
  return STATUS_OK;
}

/* Takes what was pushed since |mark| off the stack. */
static Int64List pop_ints(Parser *parser, int64_t mark) {
  Int64List list = {parser->ints.count - mark, NULL};
  if (list.count > 0) list.data = ARENA_COPY_ARRAY(parser->arena, int64_t, parser->ints.data + mark, list.count);
  parser->ints.count = mark;
  return list;
}

Status parse_int_list(Parser *parser, TokenKind open, TokenKind close, Int64List *out_list) {
  const char *opening = open == TOKEN_LEFT_BRACE ? "'{'" : open == TOKEN_LEFT_BRACKET ? "'['" : "'('";
  const char *closing = close == TOKEN_RIGHT_BRACE     ? "',' or '}'"
                        : close == TOKEN_RIGHT_BRACKET ? "',' or ']'"
                                                       : "',' or ')'";
  int64_t mark = parser->ints.count;
  RETURN_IF_ERROR(expect(parser, open, opening));
  if (!at(parser, close)) {
    do {
      int64_t value = 0;
      RETURN_IF_ERROR(parse_int64(parser, &value));
      array_push(&parser->ints, parser->scratch, value);
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, close, closing));
  *out_list = pop_ints(parser, mark);
  return STATUS_OK;
}

Status parse_int_lists(Parser *parser, int64_t *out_count, const Int64List **out_lists) {
  ARRAY(Int64List) lists = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      Int64List list;
      RETURN_IF_ERROR(parse_int_list(parser, TOKEN_LEFT_BRACE, TOKEN_RIGHT_BRACE, &list));
      array_push(&lists, parser->arena, list);
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'"));
  *out_count = lists.count;
  *out_lists = lists.data;
  return STATUS_OK;
}

/* XLA tolerates a comma at the end here. */
Status parse_shape_index(Parser *parser, ShapeIndex *out_index) {
  int64_t mark = parser->ints.count;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a shape index"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    int64_t value = 0;
    RETURN_IF_ERROR(parse_int64(parser, &value));
    array_push(&parser->ints, parser->scratch, value);
    if (!accept(parser, TOKEN_COMMA)) break;
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'"));
  Int64List list = pop_ints(parser, mark);
  *out_index = (ShapeIndex){(int)min_i64(list.count, INT32_MAX), list.data};
  return STATUS_OK;
}

Status push_token_numbers(Parser *parser, const Token *token) {
  const char *c = token->start, *end = c + token->text.size;
  while (c < end) {
    int64_t value = 0;
    if (!number_scan_integer(&c, end, &value)) {
      return parse_error(parser, token_loc(&parser->lexer, token), "parse-number", "an integer does not fit 64 bits");
    }
    array_push(&parser->ints, parser->scratch, value);
    if (c < end) c++; /* 'x' or '_' */
  }
  return STATUS_OK;
}

Status parse_field_name(Parser *parser, const char *owner, const FieldTable *table, uint64_t *seen, int *out_field) {
  if (!at(parser, TOKEN_ATTRIBUTE)) {
    return parse_expected(parser, arena_printf(parser->scratch, "a field of %s", owner));
  }
  StringView name = current(parser)->text;
  SourceLoc loc = here(parser);
  for (int i = 0; i < table->count; i++) {
    if (!sv_equal_cstring(name, table->names[i])) continue;
    if (*seen >> i & 1)
      return parse_error(parser, loc, "parse-duplicate-attribute", "'%s' stands twice in %s", table->names[i], owner);
    *seen |= (uint64_t)1 << i;
    *out_field = i;
    advance(parser);
    return STATUS_OK;
  }
  Status status = parse_error(parser, loc, "parse-attribute", "%s has no field '%.*s'", owner, SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name);
  for (int i = 0; i < table->count; i++) nearest_word_offer(&nearest, sv_from_cstring(table->names[i]));
  nearest_word_note(&nearest, parser->diag);
  return status;
}
