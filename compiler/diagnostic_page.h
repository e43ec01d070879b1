/* The page on a diagnostic: what it means, an example, what to do.  The table is diagnostic_pages.def. */
#ifndef XLAC_COMPILER_DIAGNOSTIC_PAGE_H
#define XLAC_COMPILER_DIAGNOSTIC_PAGE_H

#include "base/nearest_word.h"
#include "base/string_view.h"

typedef struct DiagnosticPage {
  const char *code; /* of one diagnostic, or with '*' at its end of all that begin so */
  const char *meaning;
  const char *example; /* a module or a command line, ends with a new line; "": none */
  const char *remedy;
} DiagnosticPage;

/* The page with this code, else that of the longest beginning; NULL where there is neither. */
const DiagnosticPage *diagnostic_page_find(StringView code);

/* All codes with a page of their own are offered. */
void diagnostic_page_offer(NearestWord *nearest);

/* Appends the page that was found for |code| as text in lines of some 80 columns. */
void diagnostic_page_print(StringBuilder *out, const DiagnosticPage *page, StringView code);

#endif
