/* Text inside HTML pages. */
#ifndef XLAC_BASE_PAGE_HTML_TEXT_H
#define XLAC_BASE_PAGE_HTML_TEXT_H

#include "base/string_view.h"

/* Appends |text| with the characters that mean something in HTML written out, for contents and quoted attributes. */
void html_append_text(StringBuilder *out, StringView text);

/* Appends |json| for the inside of a script element, which nothing in it can end: every < is written as an escape of
 * JSON's, which it can only be part of a string as. */
void html_append_json(StringBuilder *out, StringView json);

/* --- tables: a row of heads, then rows of cells --- */

/* Headings are those up to NULL.  Rows of long tables can be filtered where scripts run. */
void html_begin_table(StringBuilder *out, const char *const *headings);
void html_end_table(StringBuilder *out);

/* |style_class|: one or none (NULL). */
void html_begin_row(StringBuilder *out, const char *style_class);
void html_end_row(StringBuilder *out);

void html_cell(StringBuilder *out, StringView text);
void html_styled_cell(StringBuilder *out, const char *style_class, StringView text);
void html_number_cell(StringBuilder *out, int64_t number);
/* The name of an instruction, which leads to its buffer where there is a picture of memory. */
void html_name_cell(StringBuilder *out, StringView name);

#endif
