/* Pages: what generic buffers become, and that no text ends a script or an element. */
#include "base/page/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/page/html_text.h"

static StringView memory_page(Arena *arena, const char *name) {
  static const MemoryChartSpan lives[] = {{0, 3}, {5, 9}};
  MemoryChartBuffer buffer = {
      .name = sv_from_cstring(name), .kind = "buffer", .offset = 64, .size = 128, .lives = lives, .life_count = 2};
  MemoryChartRegion region = {.name = "plan", .size = 192, .lower_bound = 128};
  MemoryChart chart = {
      .unit = "time", .length = 9, .regions = &region, .region_count = 1, .buffers = &buffer, .buffer_count = 1};
  StringBuilder out;
  sb_init(&out, arena);
  page_print_memory(&out, sv_from_cstring(name), &chart);
  return sb_view(&out);
}

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) count++;
  return count;
}

static void page_memory_takes_buffers_without_values(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const char *page = memory_page(arena, "a").data;
  assert_non_null(strstr(page,
                         "{\"name\":\"a\",\"why\":\"\",\"kind\":\"buffer\",\"region\":0,\"offset\":64,\"size\":128,"
                         "\"lives\":[[0,3],[5,9]],\"values\":[{\"name\":\"a\",\"opcode\":\"\",\"shape\":\"\","
                         "\"source\":\"\",\"bytes\":128,\"lives\":[[0,3],[5,9]],\"readers\":[]}]}"));
  assert_non_null(strstr(page, "{\"name\":\"plan\",\"note\":\"\",\"size\":192,\"bound\":128,\"parts\":[]}"));
  arena_destroy(arena);
}

static void page_memory_lets_no_name_end_anything(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const char *plain = memory_page(arena, "a").data;
  const char *page = memory_page(arena, "</script><script>alert(1)</script><!--").data;
  assert_int_equal(count_of(page, "<script"), count_of(plain, "<script"));
  assert_int_equal(count_of(page, "</script"), count_of(plain, "</script"));
  assert_int_equal(count_of(page, "<!--"), 0);
  assert_non_null(strstr(page, "<title>&lt;/script&gt;"));
  assert_non_null(strstr(page, "\"name\":\"\\u003c/script>"));
  arena_destroy(arena);
}

static void html_table_escapes_cells(void **state) {
  (void)state;
  Arena *arena = arena_create();
  StringBuilder out;
  sb_init(&out, arena);
  html_begin_table(&out, (const char *const[]){"one", "two", NULL});
  html_begin_row(&out, NULL);
  html_cell(&out, SV("a < b & \"c\""));
  html_number_cell(&out, -7);
  html_end_row(&out);
  html_end_table(&out);
  assert_string_equal(
      out.data,
      "<table data-rows>\n<thead><tr><th>one</th><th>two</th></tr></thead>\n<tbody>\n"
      "<tr><td>a &lt; b &amp; &quot;c&quot;</td><td class=\"number\">-7</td></tr>\n</tbody>\n</table>\n");
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(page_memory_takes_buffers_without_values),
                                     cmocka_unit_test(page_memory_lets_no_name_end_anything),
                                     cmocka_unit_test(html_table_escapes_cells)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
