/* The text of a program of its own (docs/plan-language.md): a plan, and in a section of it computations in HLO.
 *
 *   hlo:
 *     add { a = f32[] parameter(0)
 *       ... }
 *   Memory x(shape=4096, dtype=f32) arg 0
 *   ...
 *
 * The section is a line 'hlo:' that begins in the first column, and the lines after it that are blank or do not. */
#ifndef XLAC_COMPILER_PROGRAM_TEXT_H
#define XLAC_COMPILER_PROGRAM_TEXT_H

#include "base/diagnostic.h"

typedef struct ProgramText {
  /* Each has the name and the lines of the whole text, with blanks in place of what is the other's, so that places in
   * them are places in the file. */
  const SourceFile *plan, *computations; /* |computations|: NULL without a section */
  StringView section;                    /* as it stands in the text, its first line included; empty: none */
} ProgramText;

/* In |arena|; sections share |source|'s text.  STATUS_INVALID ("plan-program") for a second section. */
MUST_USE Status program_text_split(Arena *arena, const SourceFile *source, DiagSink *diag, ProgramText *out_text);

#endif
