/* The table of buffers: CSV in, CSV or JSON out. */
#include "cli/buffer_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/json_writer.h"

static const char *const COLUMN_NAMES[BUFFER_COLUMN_COUNT] = {"id",        "lower", "upper", "size",
                                                              "alignment", "gaps",  "offset"};

enum { MOST_ERRORS = 20 };

typedef struct TableReader {
  Arena *arena;
  const SourceFile *source;
  DiagSink *diag;
  const char *at, *end;
  const char *line_start;
  uint32_t line;
  int errors;
  BufferTable *table;
  int64_t alignment;
  ARRAY(StringView) fields;
  ARRAY(uint32_t) row_lines; /* where each row stands */
} TableReader;

#define TABLE_ERROR(reader, line, text, ...)                                                                \
  ((reader)->errors++,                                                                                      \
   diag_error((reader)->diag, STATUS_INVALID, (SourceLoc){(reader)->source, line, column_of(reader, text)}, \
              "plan-input", __VA_ARGS__))

/* The column of a place in the text, from 1. */
static uint32_t column_of(const TableReader *reader, const char *place) {
  const char *start = place;
  while (start > reader->source->text.data && start[-1] != '\n') start--;
  return (uint32_t)(place - start) + 1;
}

/* ---- lines and fields ---- */

/* The field at |at|, which moves to what follows it: a comma, the end of the line, or the text's. */
MUST_USE static Status read_field(TableReader *reader, StringView *out_field) {
  const char *start = reader->at;
  if (reader->at < reader->end && *reader->at == '"') {
    for (reader->at++; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
      if (*reader->at != '"') continue;
      if (reader->at + 1 < reader->end && reader->at[1] == '"')
        reader->at++;
      else
        break;
    }
    if (reader->at == reader->end || *reader->at == '\n')
      return TABLE_ERROR(reader, reader->line, start, "the quote that begins here does not end on its line");
    reader->at++;
    if (reader->at < reader->end && *reader->at != ',' && *reader->at != '\n' && *reader->at != '\r')
      return TABLE_ERROR(reader, reader->line, reader->at, "text after the end of a quote");
  }
  while (reader->at < reader->end && *reader->at != ',' && *reader->at != '\n') reader->at++;
  size_t size = (size_t)(reader->at - start);
  bool ends_line = reader->at == reader->end || *reader->at == '\n';
  if (ends_line && size > 0 && start[size - 1] == '\r') size--;
  *out_field = (StringView){start, size};
  return STATUS_OK;
}

/* Appends the fields of the line at hand; |out_count|: how many. */
MUST_USE static Status read_line(TableReader *reader, int64_t *out_count) {
  *out_count = 0;
  for (;;) {
    StringView field;
    RETURN_IF_ERROR(read_field(reader, &field));
    array_push(&reader->fields, reader->arena, field);
    ++*out_count;
    if (reader->at == reader->end) return STATUS_OK;
    if (*reader->at++ == '\n') {
      reader->line++;
      return STATUS_OK;
    }
  }
}

/* What a field says: without quotes, two of which in a row are one, and without blanks around it. */
static StringView unquoted(Arena *arena, StringView field) {
  while (field.size > 0 && (field.data[0] == ' ' || field.data[0] == '\t')) field = sv_sub(field, 1, field.size);
  while (field.size > 0 && (field.data[field.size - 1] == ' ' || field.data[field.size - 1] == '\t')) field.size--;
  if (field.size < 2 || field.data[0] != '"') return field;
  StringBuilder text;
  sb_init(&text, arena);
  for (size_t i = 1; i + 1 < field.size; i++) {
    sb_append_char(&text, field.data[i]);
    if (field.data[i] == '"') i++;
  }
  return sb_view(&text);
}

MUST_USE static Status read_header(TableReader *reader) {
  BufferTable *table = reader->table;
  uint32_t line = reader->line;
  RETURN_IF_ERROR(read_line(reader, &table->column_count));
  table->header = ARENA_NEW_ARRAY(reader->arena, StringView, table->column_count);
  for (int c = 0; c < BUFFER_COLUMN_COUNT; c++) table->columns[c] = -1;
  for (int64_t f = 0; f < table->column_count; f++) {
    table->header[f] = unquoted(reader->arena, reader->fields.data[f]);
    for (int c = 0; c < BUFFER_COLUMN_COUNT; c++) {
      if (!sv_equal_cstring(table->header[f], COLUMN_NAMES[c])) continue;
      if (table->columns[c] >= 0)
        return TABLE_ERROR(reader, line, reader->fields.data[f].data, "two columns are called '%s'", COLUMN_NAMES[c]);
      table->columns[c] = f;
    }
  }
  for (int c = BUFFER_COLUMN_ID; c <= BUFFER_COLUMN_SIZE; c++) {
    if (table->columns[c] < 0)
      return TABLE_ERROR(reader, line, reader->fields.data[0].data, "the header has no column '%s'", COLUMN_NAMES[c]);
  }
  return STATUS_OK;
}

static bool is_blank_to_the_end(const TableReader *reader) {
  for (const char *c = reader->at; c < reader->end; c++) {
    if (*c != '\n' && *c != '\r' && *c != ' ' && *c != '\t') return false;
  }
  return true;
}

MUST_USE static Status read_rows(TableReader *reader) {
  BufferTable *table = reader->table;
  reader->fields.count = 0;
  while (reader->at < reader->end && reader->errors < MOST_ERRORS && !is_blank_to_the_end(reader)) {
    uint32_t line = reader->line;
    const char *start = reader->at;
    int64_t count;
    RETURN_IF_ERROR(read_line(reader, &count));
    if (count != table->column_count) {
      Status status = TABLE_ERROR(reader, line, start, "%lld fields, the header has %lld", (long long)count,
                                  (long long)table->column_count);
      reader->fields.count -= count;
      if (status != STATUS_OK) continue;
    }
    array_push(&reader->row_lines, reader->arena, line);
    table->row_count++;
  }
  table->fields = reader->fields.data;
  return reader->errors == 0 ? STATUS_OK : STATUS_INVALID;
}

/* ---- what rows say ---- */

/* An integer at |*text|, which moves after it. */
static bool take_integer(StringView *text, int64_t *out_value) {
  bool is_negative = text->size > 0 && text->data[0] == '-';
  size_t digits = is_negative;
  while (digits < text->size && char_is_digit(text->data[digits])) digits++;
  int64_t value = 0;
  if (digits == (size_t)is_negative) return false;
  for (size_t i = is_negative; i < digits; i++) {
    int64_t digit = text->data[i] - '0';
    if (!checked_mul(value, 10, &value) || !checked_sub(value, digit, &value)) return false;
  }
  if (!is_negative && !checked_sub(0, value, &value)) return false;
  *out_value = value;
  *text = sv_sub(*text, digits, text->size - digits);
  return true;
}

static StringView field_at(const BufferTable *table, int64_t row, BufferColumn column) {
  return table->fields[row * table->column_count + table->columns[column]];
}

/* The integer of a column; false with a diagnostic. */
static bool read_integer(TableReader *reader, int64_t row, BufferColumn column, int64_t least, int64_t *out_value) {
  StringView field = field_at(reader->table, row, column), text = unquoted(reader->arena, field);
  if (take_integer(&text, out_value) && text.size == 0 && *out_value >= least) return true;
  StringView said = unquoted(reader->arena, field);
  Status status = TABLE_ERROR(reader, reader->row_lines.data[row], field.data, "'%s' needs an integer%s, not '%.*s'",
                              COLUMN_NAMES[column],
                              least == 0   ? " that is not negative"
                              : least == 1 ? " above zero"
                                           : "",
                              SV_ARG(said));
  return status == STATUS_OK;
}

static int compare_gap(const void *left, const void *right) {
  const PackingGap *a = left, *b = right;
  return (a->lower > b->lower) - (a->lower < b->lower);
}

/* "a-b" pairs apart by blanks. */
static void read_gaps(TableReader *reader, int64_t row, PackingBuffer *buffer) {
  StringView field = field_at(reader->table, row, BUFFER_COLUMN_GAPS), text = unquoted(reader->arena, field);
  ARRAY(PackingGap) gaps = {0};
  bool is_read = true;
  while (is_read && text.size > 0) {
    PackingGap gap;
    if (text.data[0] == ' ') {
      text = sv_sub(text, 1, text.size - 1);
      continue;
    }
    is_read = take_integer(&text, &gap.lower) && text.size > 0 && text.data[0] == '-';
    if (is_read) text = sv_sub(text, 1, text.size - 1);
    is_read = is_read && take_integer(&text, &gap.upper) && (text.size == 0 || text.data[0] == ' ');
    if (is_read) array_push(&gaps, reader->arena, gap);
  }
  if (gaps.count > 1) qsort(gaps.data, (size_t)gaps.count, sizeof(PackingGap), compare_gap);
  int64_t from = buffer->lower;
  for (int64_t g = 0; g < gaps.count && is_read; g++) {
    is_read = gaps.data[g].lower >= from && gaps.data[g].upper > gaps.data[g].lower;
    from = gaps.data[g].upper;
  }
  if (!is_read || from > buffer->upper) {
    StringView said = unquoted(reader->arena, field);
    (void)!TABLE_ERROR(reader, reader->row_lines.data[row], field.data,
                       "'gaps' needs parts 'a-b' of the lifetime, apart from one another, not '%.*s'", SV_ARG(said));
    return;
  }
  buffer->gaps = gaps.data;
  buffer->gap_count = gaps.count;
}

static bool has_value(const TableReader *reader, int64_t row, BufferColumn column) {
  if (reader->table->columns[column] < 0) return false;
  return unquoted(reader->arena, field_at(reader->table, row, column)).size > 0;
}

static void read_buffer(TableReader *reader, int64_t row) {
  PackingBuffer *buffer = &reader->table->buffers[row];
  StringView id = unquoted(reader->arena, field_at(reader->table, row, BUFFER_COLUMN_ID));
  *buffer = (PackingBuffer){.alignment = reader->alignment, .group = -1};
  if (!sv_to_count(id, &buffer->id)) buffer->id = row;
  SourceLoc *loc = ARENA_NEW(reader->arena, SourceLoc);
  const char *text = field_at(reader->table, row, BUFFER_COLUMN_ID).data;
  *loc = (SourceLoc){reader->source, reader->row_lines.data[row], column_of(reader, text)};
  buffer->loc = loc;
  bool is_read = read_integer(reader, row, BUFFER_COLUMN_LOWER, INT64_MIN, &buffer->lower);
  is_read &= read_integer(reader, row, BUFFER_COLUMN_UPPER, INT64_MIN, &buffer->upper);
  is_read &= read_integer(reader, row, BUFFER_COLUMN_SIZE, 0, &buffer->size);
  if (has_value(reader, row, BUFFER_COLUMN_ALIGNMENT))
    is_read &= read_integer(reader, row, BUFFER_COLUMN_ALIGNMENT, 1, &buffer->alignment);
  if (has_value(reader, row, BUFFER_COLUMN_OFFSET)) {
    is_read &= read_integer(reader, row, BUFFER_COLUMN_OFFSET, 0, &buffer->pin);
    buffer->is_pinned = true;
  }
  if (!is_read) return;
  const char *upper = field_at(reader->table, row, BUFFER_COLUMN_UPPER).data;
  if (buffer->size > 0 && buffer->lower >= buffer->upper)
    (void)!TABLE_ERROR(reader, reader->row_lines.data[row], upper, "the lifetime [%lld, %lld) is empty",
                       (long long)buffer->lower, (long long)buffer->upper);
  else if (buffer->is_pinned && buffer->pin % buffer->alignment != 0)
    (void)!TABLE_ERROR(reader, reader->row_lines.data[row], field_at(reader->table, row, BUFFER_COLUMN_OFFSET).data,
                       "offset %lld is not a multiple of the alignment %lld", (long long)buffer->pin,
                       (long long)buffer->alignment);
  else if (buffer->size > 0 && has_value(reader, row, BUFFER_COLUMN_GAPS))
    read_gaps(reader, row, buffer);
}

Status buffer_table_read(Arena *arena, const SourceFile *source, int64_t alignment, DiagSink *diag,
                         BufferTable *out_table) {
  *out_table = (BufferTable){0};
  StringView text = source->text;
  if (sv_starts_with(text, SV("\xEF\xBB\xBF"))) text = sv_sub(text, 3, text.size - 3);
  TableReader reader = {.arena = arena,
                        .source = source,
                        .diag = diag,
                        .at = text.data,
                        .end = text.data + text.size,
                        .line = 1,
                        .table = out_table,
                        .alignment = alignment};
  RETURN_IF_ERROR(read_header(&reader));
  RETURN_IF_ERROR(read_rows(&reader));
  out_table->buffers = ARENA_NEW_ARRAY(arena, PackingBuffer, out_table->row_count + 1);
  for (int64_t row = 0; row < out_table->row_count && reader.errors < MOST_ERRORS; row++) read_buffer(&reader, row);
  return reader.errors == 0 ? STATUS_OK : STATUS_INVALID;
}

/* ---- the rows again ---- */

void buffer_table_print_csv(const BufferTable *table, const PackingSolution *plan, StringBuilder *out) {
  int64_t offset_column = table->columns[BUFFER_COLUMN_OFFSET];
  for (int64_t f = 0; f < table->column_count; f++) {
    bool is_quoted = sv_contains(table->header[f], SV(",")) || sv_contains(table->header[f], SV("\""));
    if (f > 0) sb_append_char(out, ',');
    for (size_t c = 0; c < table->header[f].size; c++) {
      if (is_quoted && c == 0) sb_append_char(out, '"');
      if (table->header[f].data[c] == '"') sb_append_char(out, '"');
      sb_append_char(out, table->header[f].data[c]);
    }
    if (is_quoted) sb_append_char(out, '"');
  }
  sb_append_cstring(out, offset_column < 0 ? ",offset\n" : "\n");
  for (int64_t row = 0; row < table->row_count; row++) {
    for (int64_t f = 0; f < table->column_count; f++) {
      if (f > 0) sb_append_char(out, ',');
      if (f == offset_column)
        sb_append_int(out, plan->offsets[row]);
      else
        sb_append(out, table->fields[row * table->column_count + f]);
    }
    if (offset_column < 0) {
      sb_append_char(out, ',');
      sb_append_int(out, plan->offsets[row]);
    }
    sb_append_char(out, '\n');
  }
}

static bool is_number_column(const BufferTable *table, int64_t f) {
  return f == table->columns[BUFFER_COLUMN_LOWER] || f == table->columns[BUFFER_COLUMN_UPPER] ||
         f == table->columns[BUFFER_COLUMN_SIZE] || f == table->columns[BUFFER_COLUMN_ALIGNMENT];
}

void buffer_table_print_json(const BufferTable *table, const PackingSolution *plan, StringBuilder *out) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_int(&json, "height", plan->height);
  json_field_int(&json, "lower_bound", plan->lower_bound);
  json_field_bool(&json, "optimal", plan->is_optimal);
  json_key(&json, "buffers");
  json_begin_array(&json);
  for (int64_t row = 0; row < table->row_count; row++) {
    json_begin_object(&json);
    for (int64_t f = 0; f < table->column_count; f++) {
      StringView text = unquoted(out->arena, table->fields[row * table->column_count + f]), rest = text;
      int64_t value;
      if (f == table->columns[BUFFER_COLUMN_OFFSET]) continue;
      json_key(&json, sv_copy(out->arena, table->header[f]).data);
      if (is_number_column(table, f) && take_integer(&rest, &value) && rest.size == 0)
        json_int(&json, value);
      else
        json_string(&json, text);
    }
    json_field_int(&json, "offset", plan->offsets[row]);
    json_end_object(&json);
  }
  json_end_array(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}
