#include "codegen/oncore/language/plan_lexer.h"

#include <ctype.h>

typedef struct PlanLexer {
  Arena *arena;
  DiagSink *diag;
  StringView text;
  size_t at, line_start;
  SourceLoc base; /* of the text's first character */
  uint32_t line;
  Status status;
  int brackets; /* open ones */
  ARRAY(size_t) indents;
  PlanTokenArray tokens;
} PlanLexer;

static char peek(const PlanLexer *lexer, size_t ahead) {
  return lexer->at + ahead < lexer->text.size ? lexer->text.data[lexer->at + ahead] : '\0';
}

static bool at_end(const PlanLexer *lexer) {
  return lexer->at >= lexer->text.size;
}

static SourceLoc here(const PlanLexer *lexer) {
  SourceLoc loc = lexer->base;
  loc.line += lexer->line;
  loc.column = (uint32_t)(lexer->at - lexer->line_start) + (lexer->line == 0 ? lexer->base.column : 1);
  return loc;
}

static void add_token(PlanLexer *lexer, PlanTokenKind kind, SourceLoc loc, size_t start, size_t size) {
  PlanToken token = {.kind = kind, .text = sv_sub(lexer->text, start, size), .loc = loc};
  array_push(&lexer->tokens, lexer->arena, token);
}

static void fail(PlanLexer *lexer, const char *message) {
  lexer->status = diag_error(lexer->diag, STATUS_INVALID, here(lexer), "plan-syntax", "%s", message);
}

/* --- words and numbers --- */

static bool is_name_start(char c) {
  return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name_part(char c) {
  return is_name_start(c) || isdigit((unsigned char)c) || c == '.';
}

static void read_name(PlanLexer *lexer) {
  SourceLoc loc = here(lexer);
  size_t start = lexer->at;
  while (is_name_part(peek(lexer, 0))) lexer->at++;
  add_token(lexer, PLAN_TOKEN_NAME, loc, start, lexer->at - start);
}

/* A word that begins with a digit: a number, or the text of a digest. */
static void read_number(PlanLexer *lexer) {
  SourceLoc loc = here(lexer);
  size_t start = lexer->at;
  bool exponent = false, other = false, point = false;
  while (is_name_part(peek(lexer, 0))) {
    char c = peek(lexer, 0);
    bool begins_exponent = (c == 'e' || c == 'E') && !exponent && !other;
    point |= c == '.';
    other |= !isdigit((unsigned char)c) && c != '.' && !begins_exponent;
    exponent |= begins_exponent;
    lexer->at++;
    bool has_sign = begins_exponent && (peek(lexer, 0) == '-' || peek(lexer, 0) == '+');
    if (has_sign && isdigit((unsigned char)peek(lexer, 1))) lexer->at++;
  }
  StringView text = sv_sub(lexer->text, start, lexer->at - start);
  int64_t value = 0;
  bool is_integer = sv_to_count(text, &value);
  PlanTokenKind kind = is_integer ? PLAN_TOKEN_INTEGER : other ? PLAN_TOKEN_NAME : PLAN_TOKEN_REAL;
  if (!is_integer && !exponent && !other && !point) {
    lexer->status = diag_error(lexer->diag, STATUS_INVALID, loc, "plan-syntax", "'%.*s' is too large", SV_ARG(text));
    kind = PLAN_TOKEN_BAD;
  }
  add_token(lexer, kind, loc, start, lexer->at - start);
  array_last(&lexer->tokens).integer = value;
}

static void read_string(PlanLexer *lexer) {
  SourceLoc loc = here(lexer);
  size_t start = ++lexer->at;
  loc.column++;
  while (!at_end(lexer) && peek(lexer, 0) != '"' && peek(lexer, 0) != '\n') lexer->at++;
  add_token(lexer, PLAN_TOKEN_STRING, loc, start, lexer->at - start);
  if (peek(lexer, 0) == '"') {
    lexer->at++;
  } else {
    fail(lexer, "expected '\"' at the end of a string");
  }
}

static void read_mark(PlanLexer *lexer) {
  static const char marks[] = "()[]:,=@+-*/%";
  char c = peek(lexer, 0);
  size_t size = (c == '<' && peek(lexer, 1) == '-') || (c == ':' && peek(lexer, 1) == '+') ? 2 : 1;
  if (size == 1 && (c == '\0' || strchr(marks, c) == NULL)) {
    bool is_told = lexer->tokens.count > 0 && array_last(&lexer->tokens).kind == PLAN_TOKEN_BAD;
    if (!is_told) fail(lexer, "no such character in the plan language");
    add_token(lexer, PLAN_TOKEN_BAD, here(lexer), lexer->at++, 1);
    return;
  }
  lexer->brackets += c == '(' || c == '[';
  if ((c == ')' || c == ']') && lexer->brackets > 0) lexer->brackets--;
  add_token(lexer, PLAN_TOKEN_MARK, here(lexer), lexer->at, size);
  lexer->at += size;
}

/* What stands here; false for blanks, comments and line ends. */
static bool read_token(PlanLexer *lexer) {
  char c = peek(lexer, 0);
  if (c == ' ' || c == '\r') return lexer->at++, false;
  if (c == '#') {
    while (!at_end(lexer) && peek(lexer, 0) != '\n') lexer->at++;
    return false;
  }
  if (is_name_start(c)) {
    read_name(lexer);
  } else if (isdigit((unsigned char)c)) {
    read_number(lexer);
  } else if (c == '"') {
    read_string(lexer);
  } else {
    read_mark(lexer);
  }
  return true;
}

/* --- lines --- */

static void begin_block(PlanLexer *lexer, size_t indent) {
  size_t open = array_last(&lexer->indents);
  if (indent > open) {
    array_push(&lexer->indents, lexer->arena, indent);
    add_token(lexer, PLAN_TOKEN_INDENT, here(lexer), lexer->at, 0);
    return;
  }
  while (indent < array_last(&lexer->indents)) {
    (void)array_pop(&lexer->indents);
    add_token(lexer, PLAN_TOKEN_DEDENT, here(lexer), lexer->at, 0);
  }
  if (indent != array_last(&lexer->indents)) fail(lexer, "the indent of this line fits no block around it");
}

/* Blanks in front of a line; false when there is nothing on it. */
static bool begin_line(PlanLexer *lexer) {
  while (peek(lexer, 0) == ' ') lexer->at++;
  if (peek(lexer, 0) == '\t') {
    fail(lexer, "blocks are indented with blanks, this is a tab");
    while (peek(lexer, 0) == ' ' || peek(lexer, 0) == '\t') lexer->at++;
  }
  char c = peek(lexer, 0);
  if (at_end(lexer) || c == '\n' || c == '\r' || c == '#') return false;
  begin_block(lexer, lexer->at - lexer->line_start);
  return true;
}

static void end_line(PlanLexer *lexer) {
  lexer->at++;
  lexer->line++;
  lexer->line_start = lexer->at;
}

static void read_line(PlanLexer *lexer) {
  bool has_tokens = begin_line(lexer);
  lexer->brackets = 0;
  while (!at_end(lexer)) {
    if (peek(lexer, 0) != '\n') {
      read_token(lexer);
      continue;
    }
    if (lexer->brackets == 0) break;
    end_line(lexer);
  }
  if (has_tokens) add_token(lexer, PLAN_TOKEN_NEWLINE, here(lexer), lexer->at, 0);
  if (!at_end(lexer)) end_line(lexer);
}

Status plan_lex(Arena *arena, const SourceFile *source, DiagSink *diag, PlanTokenArray *out_tokens) {
  PlanLexer lexer = {.arena = arena, .diag = diag, .text = source->text, .base = {source, 1, 1}};
  array_push(&lexer.indents, arena, 0);
  while (!at_end(&lexer)) read_line(&lexer);
  while (lexer.indents.count > 1) {
    (void)array_pop(&lexer.indents);
    add_token(&lexer, PLAN_TOKEN_DEDENT, here(&lexer), lexer.at, 0);
  }
  add_token(&lexer, PLAN_TOKEN_END, here(&lexer), lexer.at, 0);
  *out_tokens = lexer.tokens;
  return lexer.status;
}

Status plan_lex_string(Arena *arena, StringView text, SourceLoc loc, DiagSink *diag, PlanTokenArray *out_tokens) {
  PlanLexer lexer = {.arena = arena, .diag = diag, .text = text, .base = loc};
  while (!at_end(&lexer)) read_token(&lexer);
  add_token(&lexer, PLAN_TOKEN_NEWLINE, here(&lexer), lexer.at, 0);
  add_token(&lexer, PLAN_TOKEN_END, here(&lexer), lexer.at, 0);
  *out_tokens = lexer.tokens;
  return lexer.status;
}
