/* Diagnostics: what the user is told, and where it happened.
 *
 * Functions that can fail take a DiagSink and report into it; the sink keeps the order and decides nothing.  Only cli
 * prints it.  Messages are in git's manner: lower case, no full stop, names in single quotes. */
#ifndef XLAC_BASE_DIAGNOSTIC_H
#define XLAC_BASE_DIAGNOSTIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/string_view.h"

/* A text and its name as the user gave it.  Owned by the caller that loaded it; must outlive the sink that mentions it.
 */
typedef struct SourceFile {
  StringView name;
  StringView text;
} SourceFile;

/* A byte position in a source file.  line 0: no position known.  Lines and columns count from 1. */
typedef struct SourceLoc {
  const SourceFile *file;
  uint32_t line, column;
} SourceLoc;

#define NO_LOC ((SourceLoc){0})

typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE } Severity;

typedef struct Diagnostic {
  Severity severity;
  const char *code; /* stable and grep-able, for example "verify-shape"; listed in docs/diagnostics.md */
  SourceLoc loc;
  StringView message;
  struct Diagnostic *notes; /* severity NOTE; linked by next */
  struct Diagnostic *next;
} Diagnostic;

typedef struct DiagSink {
  Arena *arena; /* owns the diagnostics */
  Diagnostic *first, *last;
  int error_count, warning_count;
  int error_limit;  /* 0: none; beyond it errors are counted but not kept */
  bool drops_notes; /* the latest error was not kept, so its notes are not either */
} DiagSink;

/* An empty sink; what is recorded lives in |arena|.  May be called again, which forgets what was recorded. */
void diag_sink_init(DiagSink *sink, Arena *arena);

/* Records an error and returns |status|, so that a caller can write: return diag_error(diag, STATUS_INVALID, ...). */
MUST_USE Status diag_error(DiagSink *sink, Status status, SourceLoc loc, const char *code, const char *format, ...)
    PRINTF_LIKE(5, 6);
void diag_warning(DiagSink *sink, SourceLoc loc, const char *code, const char *format, ...) PRINTF_LIKE(4, 5);

/* A note that stands by itself: worth knowing, although nothing is wrong. */
void diag_remark(DiagSink *sink, SourceLoc loc, const char *code, const char *format, ...) PRINTF_LIKE(4, 5);

/* Adds a note to the latest diagnostic. */
void diag_note(DiagSink *sink, SourceLoc loc, const char *format, ...) PRINTF_LIKE(3, 4);

/* The line of |loc| in its file without its line end; empty when unknown. */
StringView source_loc_line(SourceLoc loc);

#endif
