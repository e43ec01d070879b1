/* BufferTable: the buffers of `xlac plan`, as CSV with a header (docs/plan-command.md), and the same rows with the
 * offsets of a plan. */
#ifndef XLAC_CLI_BUFFER_TABLE_H
#define XLAC_CLI_BUFFER_TABLE_H

#include "base/packing/packing.h"

/* The columns that mean something; any others are kept. */
typedef enum BufferColumn {
  BUFFER_COLUMN_ID,
  BUFFER_COLUMN_LOWER,
  BUFFER_COLUMN_UPPER,
  BUFFER_COLUMN_SIZE,
  BUFFER_COLUMN_ALIGNMENT,
  BUFFER_COLUMN_GAPS,
  BUFFER_COLUMN_OFFSET,
  BUFFER_COLUMN_COUNT
} BufferColumn;

typedef struct BufferTable {
  int64_t column_count;
  StringView *header;                   /* without quotes */
  int64_t columns[BUFFER_COLUMN_COUNT]; /* where each stands; -1: nowhere */
  int64_t row_count;
  StringView *fields;     /* by row, then column, as they are written */
  PackingBuffer *buffers; /* by row */
} BufferTable;

/* Everything lives in |arena|, texts in |source|'s.  |alignment| is that of rows that say none.  STATUS_INVALID with a
 * diagnostic for each mistake, up to twenty, at its line and column. */
MUST_USE Status buffer_table_read(Arena *arena, const SourceFile *source, int64_t alignment, DiagSink *diag,
                                  BufferTable *out_table);

/* The rows as CSV: |plan|'s offsets in the column 'offset', which becomes the last one where there is none. */
void buffer_table_print_csv(const BufferTable *table, const PackingSolution *plan, StringBuilder *out);

/* One object: height, lower_bound, optimal, and the rows as objects, by column; numbers where the column's are. */
void buffer_table_print_json(const BufferTable *table, const PackingSolution *plan, StringBuilder *out);

/* A page with a picture of the plan (base/page).  |title|: what is planned. */
void buffer_table_print_html(const BufferTable *table, const PackingSolution *plan, StringView title,
                             StringBuilder *out);

#endif
