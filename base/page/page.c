#include "base/page/page.h"

#include "base/page/html_text.h"

/* Pages around pictures and tables: what is always the same in them is read from the files beside this one. */

/* The assembler reads them while this file is compiled, from the root. */
#define PAGE_FILE(id, name)                                                                              \
  __asm__(".pushsection .rodata\nxlac_page_" #id ":\n.incbin \"base/page/" name "\"\nxlac_page_end_" #id \
          ":\n.byte 0\n.popsection\n");                                                                  \
  extern const char xlac_page_##id[], xlac_page_end_##id[];                                              \
  static void append_##id(StringBuilder *out) {                                                          \
    sb_append(out, (StringView){xlac_page_##id, (size_t)(xlac_page_end_##id - xlac_page_##id)});         \
  }
PAGE_FILE(style, "page.css")
PAGE_FILE(memory_html, "memory.html")
PAGE_FILE(processor_html, "processor.html")
PAGE_FILE(chart, "chart.js")
PAGE_FILE(picture, "picture.js")
PAGE_FILE(memory, "memory.js")
PAGE_FILE(processor, "processor.js")
PAGE_FILE(tables, "tables.js")

void page_begin(StringBuilder *out, StringView title, const char *const *sections) {
  sb_append_cstring(out,
                    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
  html_append_text(out, title);
  sb_append_cstring(out, "</title>\n<style>\n");
  append_style(out);
  sb_append_cstring(out, "</style>\n</head>\n<body>\n<h1>");
  html_append_text(out, title);
  sb_append_cstring(out, "</h1>\n");
  if (sections == NULL) return;
  sb_append_cstring(out, "<nav>\n");
  for (; *sections != NULL; sections++) sb_printf(out, "<a href=\"#%s\">%s</a>\n", *sections, *sections);
  sb_append_cstring(out, "</nav>\n");
}

/* Scripts come last: what they work on is there. */
void page_end(StringBuilder *out) {
  static void (*const scripts[])(StringBuilder *out) = {append_chart, append_picture, append_memory, append_processor,
                                                        append_tables};
  for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
    sb_append_cstring(out, "<script>\n");
    scripts[i](out);
    sb_append_cstring(out, "</script>\n");
  }
  sb_append_cstring(out, "</body>\n</html>\n");
}

void page_begin_section(StringBuilder *out, const char *name) {
  sb_printf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", name, name);
}

void page_end_section(StringBuilder *out) {
  sb_append_cstring(out, "</section>\n");
}

void page_add_memory(StringBuilder *out, const MemoryChart *chart) {
  Arena *scratch = arena_create();
  StringBuilder json;
  sb_init(&json, scratch);
  memory_chart_json(&json, chart);
  append_memory_html(out);
  sb_append_cstring(out, "<script type=\"application/json\" id=\"memory-data\">\n");
  html_append_json(out, sb_view(&json));
  sb_append_cstring(out, "</script>\n");
  arena_destroy(scratch);
}

void page_add_processor(StringBuilder *out, StringView json) {
  append_processor_html(out);
  sb_append_cstring(out, "<script type=\"application/json\" id=\"processor-data\">\n");
  html_append_json(out, json);
  sb_append_cstring(out, "</script>\n");
}

void page_print_memory(StringBuilder *out, StringView title, const MemoryChart *chart) {
  page_begin(out, title, NULL);
  page_add_memory(out, chart);
  page_end(out);
}
