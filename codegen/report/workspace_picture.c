#include <stdlib.h>

#include "base/checked_math.h"
#include "codegen/report/report_internal.h"

/* The workspace as a picture of characters: addresses from top to bottom, the schedule from left to right, a letter
 * for each large Buffer. */

enum { COLUMNS = 72, ROWS = 16 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

typedef struct Picture {
  const BufferAssignment *assignment;
  int32_t *order; /* temporaries, the largest first */
  int32_t count;
  int64_t height, length;
  int rows, columns;
  char cells[ROWS][COLUMNS];
} Picture;

static int compare_size(const void *left, const void *right, void *context) {
  const HloBuffer *buffers = context;
  const HloBuffer *a = &buffers[*(const int32_t *)left], *b = &buffers[*(const int32_t *)right];
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return a->id < b->id ? -1 : 1;
}

static bool is_drawn(const BufferAssignment *assignment, const HloBuffer *buffer) {
  return assignment->allocations[buffer->allocation].kind == ALLOCATION_TEMP && buffer->size > 0;
}

/* A cell shows the first buffer that touches it, the largest before smaller ones. */
static void draw(Picture *picture, const HloBuffer *buffer, char letter, Arena *scratch) {
  const BufferLiveRange *stretches;
  int64_t start = picture->assignment->allocations[buffer->allocation].workspace_offset + buffer->offset;
  int first = (int)((double)start / (double)picture->height * picture->rows);
  int last = (int)((double)(start + buffer->size - 1) / (double)picture->height * picture->rows);
  int32_t count = report_stretches(picture->assignment, buffer, scratch, &stretches);
  for (int32_t i = 0; i < count; i++) {
    int from = (int)((double)stretches[i].from / (double)picture->length * picture->columns);
    int to = (int)((double)stretches[i].to / (double)picture->length * picture->columns);
    for (int row = first; row <= last && row < picture->rows; row++) {
      for (int column = from; column <= to && column < picture->columns; column++) {
        if (picture->cells[row][column] == '.') picture->cells[row][column] = letter;
      }
    }
  }
}

static void print_legend(StringBuilder *out, const Picture *picture) {
  for (int32_t i = 0; i < picture->count && i < (int32_t)sizeof(letters) - 1; i++) {
    const HloBuffer *buffer = &picture->assignment->buffers[picture->order[i]];
    sb_printf(out, "%s%c ", i == 0 ? "  " : i % 6 == 0 ? "\n  " : "  ", letters[i]);
    report_value_name(out, &picture->assignment->values[buffer->values[0]]);
  }
  if (picture->count > (int32_t)sizeof(letters) - 1) sb_append_cstring(out, "  * smaller ones");
  sb_append_char(out, '\n');
}

void report_workspace_picture(StringBuilder *out, const BufferAssignment *assignment, Arena *scratch) {
  if (assignment->workspace_bytes == 0 || assignment->schedule_length == 0) return;
  Picture picture = {
      .assignment = assignment, .height = assignment->workspace_bytes, .length = assignment->schedule_length};
  picture.order = ARENA_NEW_ARRAY(scratch, int32_t, assignment->buffer_count + 1);
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    if (is_drawn(assignment, &assignment->buffers[i])) picture.order[picture.count++] = i;
  }
  qsort_r(picture.order, (size_t)picture.count, sizeof(int32_t), compare_size, assignment->buffers);
  picture.rows = (int)min_i64(ROWS, max_i64(picture.height / 64, 1));
  picture.columns = (int)min_i64(COLUMNS, picture.length);
  memset(picture.cells, '.', sizeof(picture.cells));
  for (int32_t i = 0; i < picture.count; i++) {
    char letter = i < (int32_t)sizeof(letters) - 1 ? letters[i] : '*';
    draw(&picture, &assignment->buffers[picture.order[i]], letter, scratch);
  }
  sb_printf(out, "\nworkspace: address upwards, 0 to %lld bytes; time from left, %lld instructions\n\n",
            (long long)picture.height, (long long)picture.length);
  for (int row = picture.rows - 1; row >= 0; row--) {
    int64_t address = (int64_t)((double)picture.height / picture.rows * row);
    sb_printf(out, "%12lld |%.*s|\n", (long long)address, picture.columns, picture.cells[row]);
  }
  if (picture.count > 0) {
    int64_t peak = (int64_t)((double)assignment->peak_position / (double)picture.length * picture.columns);
    sb_append_repeated(out, ' ', 14 + min_i64(peak, picture.columns - 1));
    sb_append_cstring(out, "^ peak\n\n");
  }
  print_legend(out, &picture);
}
