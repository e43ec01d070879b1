#include "base/array.h"
#include "base/checked_math.h"
#include "base/page/page.h"
#include "cli/buffer_table.h"

/* The buffers of xlac plan as a picture. */

/* The stretches between gaps. */
static const MemoryChartSpan *lives_of(Arena *arena, const PackingBuffer *buffer, int32_t *out_count) {
  MemoryChartSpan *lives = ARENA_NEW_ARRAY(arena, MemoryChartSpan, buffer->gap_count + 1);
  int64_t from = buffer->lower;
  *out_count = 0;
  for (int64_t i = 0; i < buffer->gap_count; i++) {
    if (from < buffer->gaps[i].lower) lives[(*out_count)++] = (MemoryChartSpan){from, buffer->gaps[i].lower};
    from = buffer->gaps[i].upper;
  }
  if (from < buffer->upper) lives[(*out_count)++] = (MemoryChartSpan){from, buffer->upper};
  return lives;
}

static bool means_something(const BufferTable *table, int64_t column) {
  for (int i = 0; i < BUFFER_COLUMN_COUNT; i++) {
    if (table->columns[i] == column) return true;
  }
  return false;
}

/* What the other columns say. */
static StringView notes_of(Arena *arena, const BufferTable *table, int64_t row) {
  StringBuilder notes;
  sb_init(&notes, arena);
  for (int64_t column = 0; column < table->column_count; column++) {
    StringView field = table->fields[row * table->column_count + column];
    if (means_something(table, column) || field.size == 0) continue;
    sb_printf(&notes, "%s%.*s: %.*s", notes.size > 0 ? "; " : "", SV_ARG(table->header[column]), SV_ARG(field));
  }
  return sb_view(&notes);
}

void buffer_table_print_html(const BufferTable *table, const PackingSolution *plan, StringView title,
                             StringBuilder *out) {
  Arena *arena = arena_create();
  MemoryChartBuffer *buffers = ARENA_NEW_ARRAY(arena, MemoryChartBuffer, table->row_count);
  int64_t begin = INT64_MAX, end = INT64_MIN;
  int32_t count = 0;
  for (int64_t row = 0; row < table->row_count; row++) {
    const PackingBuffer *buffer = &table->buffers[row];
    if (buffer->size == 0) continue;
    MemoryChartBuffer *drawn = &buffers[count++];
    *drawn = (MemoryChartBuffer){.name = table->fields[row * table->column_count + table->columns[BUFFER_COLUMN_ID]],
                                 .reason = notes_of(arena, table, row),
                                 .kind = buffer->is_pinned ? "pinned" : "buffer",
                                 .offset = plan->offsets[row],
                                 .size = buffer->size};
    drawn->lives = lives_of(arena, buffer, &drawn->life_count);
    begin = min_i64(begin, buffer->lower);
    end = max_i64(end, buffer->upper);
  }
  MemoryChartRegion region = {
      .name = "plan",
      .note = plan->is_optimal ? SV("proved to be the least") : SV("not proved to be the least"),
      .size = plan->height,
      .lower_bound = plan->lower_bound};
  MemoryChart chart = {.unit = "time",
                       .begin = count > 0 ? begin : 0,
                       .length = count > 0 ? end - begin : 0,
                       .regions = &region,
                       .region_count = 1,
                       .buffers = buffers,
                       .buffer_count = count};
  page_print_memory(out, title, &chart);
  arena_destroy(arena);
}
