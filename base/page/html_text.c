#include "base/page/html_text.h"

static const char *entity_of(char character) {
  switch (character) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    default: return NULL;
  }
}

void html_append_text(StringBuilder *out, StringView text) {
  for (size_t i = 0; i < text.size; i++) {
    const char *entity = entity_of(text.data[i]);
    if (entity != NULL) {
      sb_append_cstring(out, entity);
    } else {
      sb_append_char(out, text.data[i]);
    }
  }
}

void html_append_json(StringBuilder *out, StringView json) {
  for (size_t i = 0; i < json.size; i++) {
    if (json.data[i] == '<') {
      sb_append_cstring(out, "\\u003c");
    } else {
      sb_append_char(out, json.data[i]);
    }
  }
}

void html_begin_table(StringBuilder *out, const char *const *headings) {
  sb_append_cstring(out, "<table data-rows>\n<thead><tr>");
  for (; *headings != NULL; headings++) sb_printf(out, "<th>%s</th>", *headings);
  sb_append_cstring(out, "</tr></thead>\n<tbody>\n");
}

void html_end_table(StringBuilder *out) {
  sb_append_cstring(out, "</tbody>\n</table>\n");
}

void html_begin_row(StringBuilder *out, const char *style_class) {
  if (style_class != NULL) {
    sb_printf(out, "<tr class=\"%s\">", style_class);
  } else {
    sb_append_cstring(out, "<tr>");
  }
}

void html_end_row(StringBuilder *out) {
  sb_append_cstring(out, "</tr>\n");
}

void html_cell(StringBuilder *out, StringView text) {
  sb_append_cstring(out, "<td>");
  html_append_text(out, text);
  sb_append_cstring(out, "</td>");
}

void html_styled_cell(StringBuilder *out, const char *style_class, StringView text) {
  sb_printf(out, "<td class=\"%s\">", style_class);
  html_append_text(out, text);
  sb_append_cstring(out, "</td>");
}

void html_number_cell(StringBuilder *out, int64_t number) {
  sb_printf(out, "<td class=\"number\">%lld</td>", (long long)number);
}

void html_name_cell(StringBuilder *out, StringView name) {
  html_styled_cell(out, "name", name);
}
