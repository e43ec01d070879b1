/* UTF-8: where characters end, and which may be shown. */
#ifndef XLAC_BASE_UTF8_H
#define XLAC_BASE_UTF8_H

#include "base/string_view.h"

/* The length of the well-formed sequence at the start of |text|, which is not empty; 0 when there is none (RFC 3629,
 * section 4). */
size_t utf8_length(StringView text);

/* The character at the start of |text|, whose length is |length|, steers a terminal instead of being shown: C0 and C1
 * controls, DEL, and what changes the direction of writing. */
bool utf8_is_control(StringView text, size_t length);

/* Appends |text| as a terminal may get it: a '?' for each control character but tabs (and line ends with
 * |keeps_line_ends|) and for each byte that is no UTF-8. */
void sb_append_visible(StringBuilder *out, StringView text, bool keeps_line_ends);

#endif
