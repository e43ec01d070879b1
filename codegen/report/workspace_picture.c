#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "codegen/report/report_internal.h"

/* The workspace as a picture of characters: addresses from top to bottom, the schedule from left to right, from where
 * the first temporary begins to where the last one ends; a letter for each large Buffer or scratch of a Kernel.
 * Residents come after what is drawn. */

enum { COLUMNS = 72, ROWS = 16 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* A Buffer, or scratch. */
typedef struct Area {
  int64_t start, size;   /* bytes in the workspace */
  const HloValue *value; /* the Buffer's first; NULL: scratch */
  const BufferLiveRange *lives;
  int32_t life_count, number; /* in order of Buffers, then scratch */
} Area;

typedef struct Picture {
  const BufferAssignment *assignment;
  ARRAY(Area) areas; /* the largest first */
  int64_t height;
  int64_t first, last; /* positions that are drawn */
  int rows, columns;
  char cells[ROWS][COLUMNS];
} Picture;

static int compare_areas(const void *left, const void *right) {
  const Area *a = left, *b = right;
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return a->number < b->number ? -1 : 1;
}

static void add_area(Picture *picture, Area area, Arena *scratch) {
  area.number = (int32_t)picture->areas.count;
  picture->first = min_i64(picture->first, area.lives[0].from);
  picture->last = max_i64(picture->last, area.lives[area.life_count - 1].to);
  array_push(&picture->areas, scratch, area);
}

static void add_buffer(Picture *picture, const HloBuffer *buffer, Arena *scratch) {
  const BufferAllocation *allocation = &picture->assignment->allocations[buffer->allocation];
  if (allocation->kind != ALLOCATION_TEMP || buffer->size == 0) return;
  Area area = {.start = allocation->workspace_offset + buffer->offset,
               .size = buffer->size,
               .value = &picture->assignment->values[buffer->values[0]]};
  area.life_count = buffer_assignment_stretches(picture->assignment, buffer, scratch, &area.lives);
  add_area(picture, area, scratch);
}

static void add_scratch(Picture *picture, const BufferScratch *taken, Arena *scratch) {
  BufferLiveRange *life = ARENA_NEW(scratch, BufferLiveRange);
  *life = (BufferLiveRange){taken->position, taken->position, -1};
  Area area = {.start = picture->assignment->allocations[taken->allocation].workspace_offset + taken->offset,
               .size = taken->size,
               .lives = life,
               .life_count = 1};
  add_area(picture, area, scratch);
}

static int column_of(const Picture *picture, int64_t position) {
  return (int)((double)(position - picture->first) / (double)(picture->last + 1 - picture->first) * picture->columns);
}

/* A cell shows the first area that touches it, the largest before smaller ones. */
static void draw(Picture *picture, const Area *area, char letter) {
  int first = (int)((double)area->start / (double)picture->height * picture->rows);
  int last = (int)((double)(area->start + area->size - 1) / (double)picture->height * picture->rows);
  for (int32_t i = 0; i < area->life_count; i++) {
    int from = column_of(picture, area->lives[i].from), to = column_of(picture, area->lives[i].to);
    for (int row = first; row <= last && row < picture->rows; row++) {
      for (int column = from; column <= to && column < picture->columns; column++) {
        if (picture->cells[row][column] == '.') picture->cells[row][column] = letter;
      }
    }
  }
}

/* Gives letters to the largest Buffers, draws everything and explains the letters in |legend|. */
static void draw_all(Picture *picture, StringBuilder *legend) {
  const int32_t letter_count = (int32_t)sizeof(letters) - 1;
  int32_t named = 0;
  bool has_smaller = false, has_scratch = false;
  for (int64_t i = 0; i < picture->areas.count; i++) {
    const Area *area = &picture->areas.data[i];
    char letter = area->value == NULL ? '#' : named < letter_count ? letters[named] : '*';
    draw(picture, area, letter);
    has_scratch |= letter == '#';
    has_smaller |= letter == '*';
    if (letter == '#' || letter == '*') continue;
    sb_printf(legend, "%s%c ", named > 0 && named % 6 == 0 ? "\n  " : "  ", letter);
    report_value_name(legend, area->value);
    named++;
  }
  if (has_smaller) sb_append_cstring(legend, "  * smaller ones");
  if (has_scratch) sb_append_cstring(legend, "  # scratch of kernels");
}

void report_workspace_picture(StringBuilder *out, const BufferAssignment *assignment, Arena *scratch) {
  Picture picture = {
      .assignment = assignment, .height = assignment->workspace_bytes - assignment->resident_bytes, .first = INT64_MAX};
  for (int32_t i = 0; i < assignment->buffer_count; i++) add_buffer(&picture, &assignment->buffers[i], scratch);
  for (int32_t i = 0; i < assignment->scratch_count; i++) add_scratch(&picture, &assignment->scratches[i], scratch);
  if (picture.areas.count == 0) return;
  qsort(picture.areas.data, (size_t)picture.areas.count, sizeof(Area), compare_areas);
  picture.rows = (int)min_i64(ROWS, max_i64(picture.height / 64, 1));
  picture.columns = (int)min_i64(COLUMNS, picture.last + 1 - picture.first);
  memset(picture.cells, '.', sizeof(picture.cells));
  StringBuilder legend;
  sb_init(&legend, scratch);
  draw_all(&picture, &legend);
  sb_printf(out, "\nworkspace: address upwards, 0 to %lld bytes; time from left, positions %lld to %lld of %lld\n\n",
            (long long)picture.height, (long long)picture.first, (long long)picture.last,
            (long long)assignment->schedule_length);
  for (int row = picture.rows - 1; row >= 0; row--) {
    int64_t address = (int64_t)((double)picture.height / picture.rows * row);
    sb_printf(out, "%12lld |%.*s|\n", (long long)address, picture.columns, picture.cells[row]);
  }
  sb_append_repeated(out, ' ', 14 + column_of(&picture, assignment->peak_position));
  sb_append_cstring(out, "^ peak\n\n");
  sb_printf(out, "%.*s\n", SV_ARG(sb_view(&legend)));
}
