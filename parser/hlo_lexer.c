#include "parser/hlo_lexer.h"

#include <string.h>

/* --- characters --- */

static bool is_letter(char c) {
  return (unsigned char)((c | 0x20) - 'a') < 26 || c == '_';
}
static bool is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}
static bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '.' || c == '-';
}

static void enter_line(Lexer *lexer, const char *start) {
  lexer->line++;
  lexer->line_start = start;
}

static bool skip_block_comment(Lexer *lexer) {
  const Lexer before = *lexer;
  const char *c = lexer->cursor + 2;
  for (; c + 1 < lexer->end; c++) {
    if (c[0] == '*' && c[1] == '/') {
      lexer->cursor = c + 2;
      return true;
    }
    if (*c == '\n') enter_line(lexer, c + 1);
  }
  *lexer = before;
  return false;
}

/* White space and comments at the cursor; false at a comment without end. */
static bool lexer_skip_space(Lexer *lexer) {
  for (;;) {
    const char *c = lexer->cursor;
    while (c < lexer->end && (*c == ' ' || *c == '\t' || *c == '\r')) c++;
    lexer->cursor = c;
    if (c == lexer->end) return true;
    if (*c == '\n') {
      lexer->cursor++;
      enter_line(lexer, c + 1);
    } else if (*c == '/' && c + 1 < lexer->end && c[1] == '/') {
      while (c < lexer->end && *c != '\n' && *c != '\r') c++;
      lexer->cursor = c;
    } else if (*c == '/' && c + 1 < lexer->end && c[1] == '*') {
      if (!skip_block_comment(lexer)) return false;
    } else {
      return true;
    }
  }
}

/* --- words --- */

static const char *const keywords[] = {
    "true",          "false",         "inf",         "HloModule", "ENTRY",      "ROOT",   "FileNames",
    "FunctionNames", "FileLocations", "StackFrames", "maximal",   "replicated", "manual", "last_tile_dim_replicate",
    "shard_as",      "shard_like",    "unknown",     "unreduced",
};

static bool is_keyword(StringView text) {
  for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
    if (keywords[i][0] == text.data[0] && sv_equal_cstring(text, keywords[i])) return true;
  }
  return false;
}

/* Most words are no types; the second character rules them out cheaply. */
static PrimitiveType word_type(StringView text) {
  if (text.size < 2 || text.size > 16) return TYPE_INVALID;
  bool likely = is_digit(text.data[1]) || sv_equal_cstring(text, "bf16") || sv_equal_cstring(text, "pred") ||
                sv_equal_cstring(text, "token") || sv_equal_cstring(text, "opaque");
  return likely ? type_from_text(text) : TYPE_INVALID;
}

static const char *match_set(const char *c, const char *end, const char *letters) {
  const char *start = c;
  while (c < end && (is_digit(*c) || (*c && strchr(letters, *c)))) c++;
  return c - start >= 2 ? c : NULL;
}

/* b01f_01io->b01f */
static const char *match_dim_labels(const char *c, const char *end) {
  c = match_set(c, end, "bf?");
  if (!c || c == end || *c != '_') return NULL;
  c = match_set(c + 1, end, "io?");
  if (!c || end - c < 2 || c[0] != '-' || c[1] != '>') return NULL;
  return match_set(c + 2, end, "bf?");
}

static void fail(Lexer *lexer, const char *reason, const char *resume) {
  lexer->token.kind = TOKEN_ERROR;
  lexer->token.error = reason;
  lexer->token.text = (StringView){lexer->token.start, (size_t)(resume - lexer->token.start)};
  lexer->cursor = resume;
}

static void finish(Lexer *lexer, TokenKind kind, const char *end) {
  lexer->token.kind = kind;
  lexer->token.text = (StringView){lexer->token.start, (size_t)(end - lexer->token.start)};
  lexer->cursor = end;
}

/* "nan" is consumed up to |c|; an optional payload (0xHEX) follows without blanks. */
static void lex_nan(Lexer *lexer, const char *c, bool negative) {
  lexer->token.negative = negative;
  lexer->token.integer = 0;
  if (c == lexer->end || *c != '(') {
    finish(lexer, TOKEN_NAN, c);
    return;
  }
  const char *digit = c + 1;
  uint64_t payload = 0;
  bool valid = lexer->end - digit > 2 && digit[0] == '0' && digit[1] == 'x';
  int count = 0;
  for (digit += valid ? 2 : 0; valid && digit < lexer->end && *digit != ')'; digit++, count++) {
    char lower = (char)(*digit | 0x20);
    int value = is_digit(*digit) ? *digit - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    if (value < 0 || payload >> 52) {
      valid = false;
      break;
    }
    payload = payload * 16 + (uint64_t)value;
  }
  valid = valid && digit < lexer->end && count > 0 && payload > 0 && payload >> 52 == 0;
  if (!valid) {
    fail(lexer, "the payload of a nan is written (0xHEX), from 0x1 to 0xfffffffffffff", c + 1);
    return;
  }
  lexer->token.integer = (int64_t)payload;
  finish(lexer, TOKEN_NAN, digit + 1);
}

static void lex_word(Lexer *lexer) {
  const char *start = lexer->token.start, *c = start;
  while (c < lexer->end && is_name_char(*c)) c++;
  StringView text = {start, (size_t)(c - start)};
  char next = c < lexer->end ? *c : 0;
  if (next == ':' || next == '=') {
    finish(lexer, next == ':' ? TOKEN_NAME : TOKEN_ATTRIBUTE, c);
    lexer->cursor++;
    return;
  }
  PrimitiveType type = word_type(text);
  if (type != TYPE_INVALID) {
    lexer->token.type = type;
    finish(lexer, TOKEN_TYPE, c);
  } else if (sv_equal_cstring(text, "nan")) {
    lex_nan(lexer, c, false);
  } else if (is_keyword(text)) {
    finish(lexer, TOKEN_KEYWORD, c);
  } else {
    const char *labels = *start == 'b' || *start == 'f' ? match_dim_labels(start, lexer->end) : NULL;
    finish(lexer, labels ? TOKEN_DIM_LABELS : TOKEN_IDENTIFIER, labels ? labels : c);
  }
}

static void lex_name(Lexer *lexer) {
  const char *c = lexer->token.start + 1;
  if (c == lexer->end || !is_letter(*c)) {
    fail(lexer, "a name after '%' begins with a letter or '_'", lexer->token.start + 1);
    return;
  }
  while (c < lexer->end && is_name_char(*c)) c++;
  finish(lexer, TOKEN_NAME, c);
  lexer->token.text.data++;
  lexer->token.text.size--;
}

/* --- numbers and their relatives --- */

static const char *skip_digits(const char *c, const char *end) {
  const char *start = c;
  while (c < end && is_digit(*c)) c++;
  return c > start ? c : NULL;
}

static const char *skip_signed(const char *c, const char *end) {
  return skip_digits(c < end && *c == '-' ? c + 1 : c, end);
}

/* 3x3 */
static const char *match_sizes(const char *c, const char *end) {
  const char *match = NULL;
  c = skip_digits(c, end);
  while (c && c < end && *c == 'x') {
    c = skip_digits(c + 1, end);
    if (c) match = c;
  }
  return match;
}

/* lo_hi or lo_hi_interior */
static const char *match_pad(const char *c, const char *end) {
  c = skip_signed(c, end);
  if (!c || c == end || *c != '_') return NULL;
  c = skip_signed(c + 1, end);
  if (!c) return NULL;
  const char *interior = c < end && *c == '_' ? skip_digits(c + 1, end) : NULL;
  return interior ? interior : c;
}

static const char *match_pads(const char *c, const char *end) {
  const char *match = match_pad(c, end);
  c = match;
  while (c && c < end && *c == 'x') {
    c = match_pad(c + 1, end);
    if (c) match = c;
  }
  return match;
}

static bool starts_with(const char *c, const char *end, const char *word) {
  size_t size = strlen(word);
  return (size_t)(end - c) >= size && memcmp(c, word, size) == 0;
}

/* The patterns are tried in this order, the first that matches wins. */
static void lex_number(Lexer *lexer) {
  const char *start = lexer->token.start, *end = lexer->end, *match;
  if ((match = number_match_decimal(start, end))) {
    finish(lexer, TOKEN_DECIMAL, match);
  } else if ((match = match_dim_labels(start, end))) {
    finish(lexer, TOKEN_DIM_LABELS, match);
  } else if ((match = match_sizes(start, end))) {
    finish(lexer, TOKEN_SIZES, match);
  } else if ((match = match_pads(start, end))) {
    finish(lexer, TOKEN_PADS, match);
  } else if ((match = skip_signed(start, end))) {
    const char *c = start;
    if (number_scan_integer(&c, end, &lexer->token.integer)) {
      finish(lexer, TOKEN_INTEGER, c);
    } else {
      fail(lexer, "the integer does not fit 64 bits", match);
    }
  } else if (starts_with(start, end, "-inf")) {
    finish(lexer, TOKEN_NEGATIVE_INF, start + 4);
  } else if (starts_with(start, end, "-nan")) {
    lex_nan(lexer, start + 4, true);
  } else if (*start == '?') {
    finish(lexer, TOKEN_QUESTION, start + 1);
  } else {
    fail(lexer, "a number needs digits", start + 1);
  }
}

/* --- strings --- */

/* A string that is not closed has been read to the end of the text, and every later quote of its kind is escaped in it.
 * What begins at such a quote is read from there on in the same way, so it is not closed either and need not be read:
 * a text of such strings would take quadratic time. */
static void lex_string(Lexer *lexer) {
  const char *start = lexer->token.start, *c = start + 1;
  bool *is_unclosed = &lexer->is_unclosed[*start == '\''];
  if (*is_unclosed) c = lexer->end;
  uint32_t line = lexer->line;
  const char *line_start = lexer->line_start;
  for (; c < lexer->end && *c != *start; c++) {
    if (*c == '\\' && c + 1 < lexer->end) c++;
    if (*c == '\n') enter_line(lexer, c + 1);
  }
  if (c < lexer->end) {
    finish(lexer, TOKEN_STRING, c + 1);
    lexer->token.text = (StringView){start + 1, (size_t)(c - start - 1)};
    return;
  }
  *is_unclosed = true;
  lexer->line = line; /* go on after the line with the opening quote */
  lexer->line_start = line_start;
  const char *newline = memchr(start, '\n', (size_t)(lexer->end - start));
  fail(lexer, "the string is not closed", newline ? newline : lexer->end);
}

static int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  char lower = (char)(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static size_t put_utf8(uint32_t code, char *out) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3f));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
  }
  out[0] = (char)(0xf0 | code >> 18);
  out[1] = (char)(0x80 | (code >> 12 & 0x3f));
  out[2] = (char)(0x80 | (code >> 6 & 0x3f));
  out[3] = (char)(0x80 | (code & 0x3f));
  return 4;
}

/* One escape after its backslash at |*c|; writes at most four bytes, never more than it reads.  NULL or the reason it
 * is wrong. */
static const char *unescape_one(const char **c, const char *end, char *out, size_t *out_size) {
  static const char names[] = "ntrabfv\\'\"?", values[] = "\n\t\r\a\b\f\v\\'\"?";
  const char *at = *c;
  const char *simple = *at ? strchr(names, *at) : NULL;
  uint32_t value = 0;
  *out_size = 1;
  if (simple) {
    *out = values[simple - names];
    *c = at + 1;
    return NULL;
  }
  if (*at >= '0' && *at <= '7') {
    for (int i = 0; i < 3 && at < end && *at >= '0' && *at <= '7'; i++) value = value * 8 + (uint32_t)(*at++ - '0');
    if (value > 255) return "an octal escape goes up to \\377";
    *out = (char)value;
  } else if (*at == 'x' || *at == 'X') {
    at++;
    if (at == end || hex_value(*at) < 0) return "a hexadecimal escape needs digits";
    for (; at < end && hex_value(*at) >= 0; at++) {
      value = value * 16 + (uint32_t)hex_value(*at);
      if (value > 255) return "a hexadecimal escape goes up to \\xff";
    }
    *out = (char)value;
  } else if (*at == 'u' || *at == 'U') {
    int digits = *at++ == 'u' ? 4 : 8;
    for (int i = 0; i < digits; i++, at++) {
      if (at == end || hex_value(*at) < 0) return "\\u needs four, \\U eight hexadecimal digits";
      value = value * 16 + (uint32_t)hex_value(*at);
    }
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return "the escape names no Unicode character";
    *out_size = put_utf8(value, out);
  } else {
    return "unknown escape in a string";
  }
  *c = at;
  return NULL;
}

bool token_unescape(Arena *arena, const Token *token, StringView *out_text, const char **out_error) {
  StringView raw = token->text;
  if (raw.size == 0 || !memchr(raw.data, '\\', raw.size)) {
    *out_text = raw;
    return true;
  }
  char *buffer = arena_alloc(arena, raw.size + 4);
  size_t size = 0;
  const char *c = raw.data, *end = raw.data + raw.size;
  while (c < end) {
    if (*c != '\\') {
      buffer[size++] = *c++;
      continue;
    }
    c++;
    if (c == end) {
      *out_error = "unknown escape in a string";
      return false;
    }
    size_t written;
    *out_error = unescape_one(&c, end, buffer + size, &written);
    if (*out_error) return false;
    size += written;
  }
  *out_text = (StringView){buffer, size};
  return true;
}

/* --- the lexer --- */

static const uint8_t punctuation[256] = {
    ['='] = TOKEN_EQUAL,         [','] = TOKEN_COMMA,      [':'] = TOKEN_COLON,       ['*'] = TOKEN_STAR,
    ['#'] = TOKEN_HASH,          ['+'] = TOKEN_PLUS,       ['~'] = TOKEN_TILDE,       ['['] = TOKEN_LEFT_BRACKET,
    [']'] = TOKEN_RIGHT_BRACKET, ['{'] = TOKEN_LEFT_BRACE, ['}'] = TOKEN_RIGHT_BRACE, ['('] = TOKEN_LEFT_PAREN,
    [')'] = TOKEN_RIGHT_PAREN,
};

static void lex(Lexer *lexer) {
  uint32_t line = lexer->line;
  bool at_start = lexer->cursor == lexer->file->text.data;
  Token *token = &lexer->token;
  bool closed = lexer_skip_space(lexer);
  const char *c = lexer->cursor;
  token->start = c;
  token->line = lexer->line;
  token->column = (uint32_t)(lexer->cursor - lexer->line_start) + 1;
  token->first_on_line = at_start || lexer->line != line;
  if (!closed) {
    fail(lexer, "the comment is not closed", lexer->end);
    return;
  }
  if (c == lexer->end) {
    finish(lexer, TOKEN_END, c);
    return;
  }
  if (punctuation[(unsigned char)*c]) {
    finish(lexer, (TokenKind)punctuation[(unsigned char)*c], c + 1);
  } else if (is_letter(*c)) {
    lex_word(lexer);
  } else if (*c == '%') {
    lex_name(lexer);
  } else if (starts_with(c, lexer->end, "->")) {
    finish(lexer, TOKEN_ARROW, c + 2);
  } else if (is_digit(*c) || *c == '-' || *c == '?') {
    lex_number(lexer);
  } else if (*c == '"' || *c == '\'') {
    lex_string(lexer);
  } else if (starts_with(c, lexer->end, "<=")) {
    finish(lexer, TOKEN_LESS_EQUAL, c + 2);
  } else if (starts_with(c, lexer->end, "...")) {
    finish(lexer, TOKEN_ELLIPSIS, c + 3);
  } else {
    fail(lexer, "unexpected character", c + 1);
  }
}

void lexer_init(Lexer *lexer, const SourceFile *file) {
  const char *text = file->text.size ? file->text.data : "";
  if (sv_starts_with(file->text, SV("\xef\xbb\xbf"))) text += 3; /* what Windows' editors put before UTF-8 */
  *lexer = (Lexer){.file = file, .cursor = text, .line_start = text, .line = 1};
  lexer->end = file->text.size ? file->text.data + file->text.size : text;
  lex(lexer);
}

void lexer_advance(Lexer *lexer) {
  switch (lexer->token.kind) {
    case TOKEN_LEFT_BRACE:
    case TOKEN_LEFT_BRACKET:
    case TOKEN_LEFT_PAREN: lexer->depth++; break;
    case TOKEN_RIGHT_BRACE:
    case TOKEN_RIGHT_BRACKET:
    case TOKEN_RIGHT_PAREN: lexer->depth--; break;
    default: break;
  }
  lex(lexer);
}

char lexer_peek(Lexer *lexer) {
  Lexer ahead = *lexer;
  if (!lexer_skip_space(&ahead) || ahead.cursor == ahead.end) return 0;
  return *ahead.cursor;
}

bool lexer_take_dictionary(Lexer *lexer, StringView *out_text) {
  const char *start = lexer->token.start;
  int64_t depth = 0;
  bool in_string = false;
  for (const char *c = start; c < lexer->end; c++) {
    if (*c == '\n') enter_line(lexer, c + 1);
    if (in_string) {
      if (*c == '\\' && c + 1 < lexer->end) {
        c++;
        if (*c == '\n') enter_line(lexer, c + 1);
      } else if (*c == '"') {
        in_string = false;
      }
    } else if (*c == '"') {
      in_string = true;
    } else if (*c == '{') {
      depth++;
    } else if (*c == '}' && --depth == 0) {
      *out_text = (StringView){start, (size_t)(c + 1 - start)};
      lexer->cursor = c + 1;
      lex(lexer);
      return true;
    }
  }
  return false;
}

SourceLoc lexer_loc(const Lexer *lexer) {
  return token_loc(lexer, &lexer->token);
}

SourceLoc token_loc(const Lexer *lexer, const Token *token) {
  return (SourceLoc){lexer->file, token->line, token->column};
}

StringView token_describe(Arena *arena, const Token *token) {
  enum { LONGEST = 40 };
  if (token->kind == TOKEN_END) return SV("end of text");
  StringBuilder out;
  sb_init(&out, arena);
  if (token->kind == TOKEN_STRING) sb_append_cstring(&out, "string ");
  sb_append_char(&out, '\'');
  StringView text = token->text;
  for (size_t i = 0; i < text.size && i < LONGEST; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c >= 0x20 && c < 0x7f) {
      sb_append_char(&out, (char)c);
    } else {
      sb_printf(&out, "\\x%02x", c);
    }
  }
  sb_append_cstring(&out, text.size > LONGEST ? "…'" : "'");
  return sb_view(&out);
}
