/* Text inside HTML pages. */
#ifndef XLAC_COMPILER_HTML_TEXT_H
#define XLAC_COMPILER_HTML_TEXT_H

#include "base/string_view.h"

/* Appends |text| with the characters that mean something in HTML written out, for contents and quoted attributes. */
void html_append_text(StringBuilder *out, StringView text);

/* Begins a page that needs nothing but itself: no other file, no font, nothing fetched.  |title| is its title and first
 * heading. */
void html_begin_page(StringBuilder *out, StringView title);
void html_end_page(StringBuilder *out);

#endif
