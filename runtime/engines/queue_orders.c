#include "runtime/engines/queue_orders.h"

#include <inttypes.h>
#include <string.h>

#include "base/file_io.h"

void queue_orders_print(StringBuilder *out, const QueueTrace *trace, const int32_t *order) {
  int64_t count = trace->commands.count;
  sb_printf(out, "launch %" PRId64 " %s\n", count, trace->kernel->name);
  for (int64_t i = 0; i < count; i++) {
    int64_t number = order == NULL ? i : order[i];
    sb_printf(out, "%" PRId64 " %s\n", number, queue_trace_command(trace, number)->label);
  }
}

/* --- reading --- */

typedef struct OrderReader {
  Arena *arena;
  DiagSink *diag;
  const SourceFile *file;
  StringView rest;
  int line;
} OrderReader;

static Status refuse(const OrderReader *reader, const char *expected) {
  SourceLoc loc = {reader->file, reader->line, 1};
  return diag_error(reader->diag, STATUS_INVALID, loc, "order-file", "%s expected", expected);
}

/* The next word of |line|, which loses it; empty at its end. */
static StringView take_word(StringView *line) {
  size_t start = 0, end;
  while (start < line->size && line->data[start] == ' ') start++;
  end = start;
  while (end < line->size && line->data[end] != ' ') end++;
  StringView word = sv_sub(*line, start, end - start);
  *line = sv_sub(*line, end, line->size - end);
  return word;
}

static StringView take_line(OrderReader *reader) {
  const char *end = memchr(reader->rest.data, '\n', reader->rest.size);
  size_t size = end != NULL ? (size_t)(end - reader->rest.data) : reader->rest.size;
  StringView line = sv_sub(reader->rest, 0, size);
  reader->rest = sv_sub(reader->rest, size + 1, reader->rest.size);
  reader->line++;
  return line;
}

static Status read_commands(OrderReader *reader, RecordedLaunch *launch) {
  int32_t *order = ARENA_NEW_ARRAY(reader->arena, int32_t, launch->count);
  bool *seen = ARENA_NEW_ARRAY(reader->arena, bool, launch->count);
  for (int64_t i = 0; i < launch->count; i++) {
    StringView line = take_line(reader);
    int64_t number;
    if (!sv_to_count(take_word(&line), &number) || number >= launch->count) return refuse(reader, "a command's number");
    if (seen[number]) return refuse(reader, "each command once: another number");
    seen[number] = true;
    order[i] = (int32_t)number;
  }
  launch->order = order;
  return STATUS_OK;
}

/* A launch has no more commands than there are lines for. */
static Status read_launch(OrderReader *reader, RecordedLaunch *out_launch) {
  StringView line = take_line(reader);
  *out_launch = (RecordedLaunch){.loc = {reader->file, reader->line, 1}};
  bool is_head = sv_equal_cstring(take_word(&line), "launch") && sv_to_count(take_word(&line), &out_launch->count);
  if (!is_head || out_launch->count > (int64_t)reader->rest.size) return refuse(reader, "'launch COUNT KERNEL'");
  out_launch->kernel = take_word(&line);
  return read_commands(reader, out_launch);
}

Status queue_orders_read(Arena *arena, const char *path, DiagSink *diag, QueueOrders *out_orders) {
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  *out_orders = (QueueOrders){0};
  file->name = sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(arena, path, diag, &file->text));
  OrderReader reader = {.arena = arena, .diag = diag, .file = file, .rest = file->text};
  while (reader.rest.size > 0) {
    RecordedLaunch launch;
    RETURN_IF_ERROR(read_launch(&reader, &launch));
    array_push(&out_orders->launches, arena, launch);
  }
  return STATUS_OK;
}
