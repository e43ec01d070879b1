#include "compiler/diagnostic_page.h"

#include <string.h>

enum { LINE_WIDTH = 80 };

static const DiagnosticPage pages[] = {
#define XLAC_DIAGNOSTIC(code, meaning, example, remedy) {code, meaning, example, remedy},
#include "compiler/diagnostic_pages.def"
#undef XLAC_DIAGNOSTIC
};

enum { PAGE_COUNT = sizeof pages / sizeof pages[0] };

static bool is_family(const DiagnosticPage *page) {
  return page->code[strlen(page->code) - 1] == '*';
}

const DiagnosticPage *diagnostic_page_find(StringView code) {
  const DiagnosticPage *found = NULL;
  size_t longest = 0;
  for (int i = 0; i < PAGE_COUNT; i++) {
    if (sv_equal_cstring(code, pages[i].code)) return &pages[i];
    size_t size = strlen(pages[i].code) - 1;
    if (!is_family(&pages[i]) || size <= longest || size >= code.size) continue;
    if (memcmp(code.data, pages[i].code, size) != 0) continue;
    found = &pages[i];
    longest = size;
  }
  return found;
}

void diagnostic_page_offer(NearestWord *nearest) {
  for (int i = 0; i < PAGE_COUNT; i++) {
    if (!is_family(&pages[i])) nearest_word_offer(nearest, sv_from_cstring(pages[i].code));
  }
}

/* The line has |column| columns already, the last of them a blank. */
static void append_wrapped(StringBuilder *out, const char *text, size_t column) {
  bool follows = false; /* a word of this text, on this line */
  while (*text != '\0') {
    size_t word = strcspn(text, " ");
    if (follows && column + 1 + word > LINE_WIDTH) {
      sb_append_char(out, '\n');
      follows = false;
      column = 0;
    }
    if (follows) sb_append_char(out, ' ');
    sb_append(out, (StringView){text, word});
    column += word + follows;
    follows = true;
    text += word + strspn(text + word, " ");
  }
  sb_append_char(out, '\n');
}

static void append_indented(StringBuilder *out, const char *text) {
  while (*text != '\0') {
    size_t line = strcspn(text, "\n");
    if (line > 0) sb_printf(out, "    %.*s", (int)line, text);
    sb_append_char(out, '\n');
    text += line + (text[line] == '\n');
  }
}

void diagnostic_page_print(StringBuilder *out, const DiagnosticPage *page, StringView code) {
  sb_append(out, code);
  if (is_family(page)) sb_printf(out, " (as all of '%s')", page->code);
  sb_append_cstring(out, "\n\n");
  append_wrapped(out, page->meaning, 0);
  if (page->example[0] != '\0') {
    sb_append_cstring(out, "\nAn example:\n\n");
    append_indented(out, page->example);
  }
  static const char heading[] = "What to do: ";
  sb_printf(out, "\n%s", heading);
  append_wrapped(out, page->remedy, sizeof heading - 1);
}
