#include "base/utf8.h"

size_t utf8_length(StringView text) {
  const unsigned char *bytes = (const unsigned char *)text.data;
  unsigned char first = bytes[0];
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size < length) return 0;
  unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (bytes[1] < low || bytes[1] > high) return 0;
  for (size_t i = 2; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool utf8_is_control(StringView text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text.data;
  if (length == 1) return bytes[0] < 0x20 || bytes[0] == 0x7f;
  if (length == 2) return bytes[0] == 0xc2 && bytes[1] < 0xa0;
  if (length != 3 || bytes[0] != 0xe2) return false;
  bool embeds = bytes[1] == 0x80 && bytes[2] >= 0xaa && bytes[2] <= 0xae;   /* U+202A to U+202E */
  bool isolates = bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9; /* U+2066 to U+2069 */
  return embeds || isolates;
}

void sb_append_visible(StringBuilder *out, StringView text, bool keeps_line_ends) {
  for (size_t i = 0; i < text.size;) {
    StringView rest = sv_sub(text, i, text.size);
    size_t length = utf8_length(rest);
    bool is_kept = rest.data[0] == '\t' || (keeps_line_ends && rest.data[0] == '\n');
    if (is_kept || (length > 0 && !utf8_is_control(rest, length)))
      sb_append(out, sv_sub(rest, 0, length));
    else
      sb_append_char(out, '?');
    i += length > 0 ? length : 1;
  }
}
