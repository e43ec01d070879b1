/* Text in the plan language → tokens: words, numbers, strings, marks, and where lines and blocks begin and end. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_LEXER_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_LEXER_H

#include "base/array.h"
#include "base/diagnostic.h"

typedef enum PlanTokenKind {
  PLAN_TOKEN_END,
  PLAN_TOKEN_NEWLINE, /* a line with something on it ends */
  PLAN_TOKEN_INDENT,  /* the next line stands deeper */
  PLAN_TOKEN_DEDENT,  /* one for each block that ends */
  PLAN_TOKEN_NAME,    /* letters, digits, '_' and '.', not beginning with a digit; any bytes beyond ASCII */
  PLAN_TOKEN_INTEGER,
  PLAN_TOKEN_REAL,
  PLAN_TOKEN_STRING, /* |text| without the quotes; there are no escapes */
  PLAN_TOKEN_MARK,   /* one of ()[]:,=@+-*\/%, or '<-', or ':+' */
  PLAN_TOKEN_BAD     /* what is none of these, and was told */
} PlanTokenKind;

typedef struct PlanToken {
  PlanTokenKind kind;
  StringView text;
  int64_t integer; /* INTEGER */
  SourceLoc loc;   /* STRING: of the first character after the quote */
} PlanToken;

typedef ARRAY(PlanToken) PlanTokenArray;

/* The tokens of a file, in |arena|; the last one is END.  Comments begin with '#'; lines go on inside brackets; blanks
 * indent, tabs do not.  STATUS_INVALID with a diagnostic per mistake ("plan-syntax"), characters
 * beside one another that no token begins with being one. */
MUST_USE Status plan_lex(Arena *arena, const SourceFile *source, DiagSink *diag, PlanTokenArray *out_tokens);

/* The tokens of a string's text that begins at |loc|: one line without blocks. */
MUST_USE Status plan_lex_string(Arena *arena, StringView text, SourceLoc loc, DiagSink *diag,
                                PlanTokenArray *out_tokens);

#endif
