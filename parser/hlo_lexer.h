/* Tokens of HLO text.  The lexer holds one token and a cursor, allocates nothing and never looks further than asked;
 * saving and restoring a position is copying the struct.  Rules: longest-match and first-pattern decisions of XLA's own
 * lexer. */
#ifndef XLAC_PARSER_HLO_LEXER_H
#define XLAC_PARSER_HLO_LEXER_H

#include "base/diagnostic.h"
#include "hlo/type/primitive_type.h"

typedef enum TokenKind {
  TOKEN_END,
  TOKEN_ERROR, /* |error| says why */
  TOKEN_EQUAL,
  TOKEN_COMMA,
  TOKEN_COLON,
  TOKEN_STAR,
  TOKEN_HASH,
  TOKEN_PLUS,
  TOKEN_TILDE,
  TOKEN_QUESTION,
  TOKEN_ARROW,      /* -> */
  TOKEN_LESS_EQUAL, /* <= */
  TOKEN_ELLIPSIS,   /* ... */
  TOKEN_LEFT_BRACKET,
  TOKEN_RIGHT_BRACKET,
  TOKEN_LEFT_BRACE,
  TOKEN_RIGHT_BRACE,
  TOKEN_LEFT_PAREN,
  TOKEN_RIGHT_PAREN,
  TOKEN_NAME,      /* %name or name: */
  TOKEN_ATTRIBUTE, /* name= */
  TOKEN_IDENTIFIER,
  TOKEN_KEYWORD,
  TOKEN_TYPE,
  TOKEN_INTEGER,
  TOKEN_DECIMAL,
  TOKEN_NAN,          /* nan, -nan, with payload in |integer| (0: none) */
  TOKEN_NEGATIVE_INF, /* -inf; the positive one is a keyword */
  TOKEN_DIM_LABELS,
  TOKEN_SIZES, /* 3x3 */
  TOKEN_PADS,  /* 0_1x2_3_4 */
  TOKEN_STRING
} TokenKind;

typedef struct Token {
  TokenKind kind;
  PrimitiveType type; /* TYPE */
  uint32_t line, column;
  bool first_on_line;
  bool negative;     /* NAN */
  const char *start; /* first byte in the source */
  StringView text;   /* the word without '%', ':' or '='; a string without its quotes, escapes unresolved */
  int64_t integer;   /* INTEGER, read modulo 2^64; payload of NAN */
  const char *error; /* ERROR */
} Token;

typedef struct Lexer {
  const SourceFile *file;
  const char *cursor, *end; /* after the current token; end of the text */
  const char *line_start;
  uint32_t line;
  int64_t depth;       /* brackets opened and not closed before the current token */
  bool is_unclosed[2]; /* no later string in double, in single quotes ends: one was seen that does not */
  Token token;
} Lexer;

/* Starts at the beginning of |file|; the first token is current. */
void lexer_init(Lexer *lexer, const SourceFile *file);

/* Makes the next token current.  At the end of the text: TOKEN_END again and again.  After an error token lexing goes
 * on after the offending byte or, for an unterminated string, on the next line. */
void lexer_advance(Lexer *lexer);

/* The first byte of what follows the current token and white space; 0 at the end. */
char lexer_peek(Lexer *lexer);

/* With '{' as the current token: takes the raw text up to its matching brace, both included, and makes the token after
 * current. False when the text ends before. */
bool lexer_take_dictionary(Lexer *lexer, StringView *out_text);

SourceLoc lexer_loc(const Lexer *lexer);
SourceLoc token_loc(const Lexer *lexer, const Token *token);

/* "end of text", "','", "string "…": what stands there, for messages. */
StringView token_describe(Arena *arena, const Token *token);

/* Resolves the escapes of a string token.  Without escapes the result points into the source.  False with a reason when
 * an escape is unknown or out of range. */
bool token_unescape(Arena *arena, const Token *token, StringView *out_text, const char **out_error);

/* --- numbers --- */

/* Unsigned or negative decimal digits in [cursor, end) modulo 2^64; *cursor moves after them.  False without digits,
 * above 2^64-1 or below -2^63. */
bool number_scan_integer(const char **cursor, const char *end, int64_t *out_value);

/* A plain number in [cursor, end): what the integer and decimal tokens are, converted.  False (cursor unmoved) when
 * nothing of the kind stands there or an integer does not fit. */
typedef struct Number {
  bool is_integer;
  int64_t integer;
  double real; /* correctly rounded; infinite when out of double's range */
} Number;

bool number_scan(const char **cursor, const char *end, Number *out_number);

/* The extent of the decimal token at |cursor| (NULL: none): digits with a dot, an exponent, or both. */
const char *number_match_decimal(const char *cursor, const char *end);

#endif
