#include "compiler/html_text.h"

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

static const char page_style[] =
    "body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }\n"
    "pre, td, th { font: 12px/1.4 ui-monospace, monospace; text-align: left; vertical-align: top }\n"
    "table { border-collapse: collapse }\n"
    "td, th { padding: 1px 1em 1px 0; border-bottom: 1px solid #eee }\n"
    ".fused td:nth-child(2) { color: #06632d }\n"
    ".apart td:nth-child(2) { color: #a03000 }\n";

void html_begin_page(StringBuilder *out, StringView title) {
  sb_append_cstring(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
  html_append_text(out, title);
  sb_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", page_style);
  html_append_text(out, title);
  sb_append_cstring(out, "</h1>\n");
}

void html_end_page(StringBuilder *out) {
  sb_append_cstring(out, "</body>\n</html>\n");
}
