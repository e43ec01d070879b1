/* What the reports on memory share. */
#ifndef XLAC_CODEGEN_REPORT_REPORT_INTERNAL_H
#define XLAC_CODEGEN_REPORT_REPORT_INTERNAL_H

#include "codegen/report/analysis_report.h"
#include "codegen/report/report.h"
#include "hlo/analysis/execution_order.h"

/* "add.3", "while.2{1,0}" */
void report_value_name(StringBuilder *out, const HloValue *value);
StringView report_value_name_text(Arena *arena, const HloValue *value);

/* The path of a node in a tuple, "{1,0}". */
void report_index(StringBuilder *out, const HloInstruction *instruction, int node);

/* "(while.2, {1,0})" */
void report_position(StringBuilder *out, BufferPosition position);

/* The orders that a question about order is answered for, at most three: dependency, the schedule of a scheduled
 * module, |streams| > 0 of them. */
typedef struct ReportOrders {
  int count;
  const ExecutionOrder *orders[3];
} ReportOrders;
MUST_USE Status report_orders(Arena *arena, const BufferAnalysis *analysis, int64_t streams, DiagSink *diag,
                              ReportOrders *out_orders);
/* "dependency", "sequential", "concurrent" */
const char *report_order_name(const ExecutionOrder *order);

/* The computations whose instructions a question may name.  |lack|: what an instruction of another one "is not" or
 * "has no", for the message. */
typedef struct ReportPlaces {
  const void *self;
  bool (*has)(const void *self, const HloComputation *computation);
  const char *lack;
} ReportPlaces;

/* The instruction of that name, with or without a '%' before it, in one of |places|; where several have the name, the
 * last, which is nearest the entry.  STATUS_INVALID (code "question") when there is none. */
MUST_USE Status report_find_instruction(const HloModule *module, StringView name, const ReportPlaces *places,
                                        DiagSink *diag, HloInstruction **out_instruction);

/* A value that a question names. */
typedef struct AskedValue {
  BufferPosition position;
  int32_t value;    /* of the analysis' dataflow */
  StringView fused; /* what it was called before it became what the position's fusion makes; empty: it is called so */
} AskedValue;

/* What a question names, STATUS_INVALID (code "question") when it is nothing or has no bytes: the value at a position,
 * "while.2{1,0}"; a position of the schedule, by number or by an instruction's name.  What became part of a fusion is
 * found by its name before where the fusion stores it. */
MUST_USE Status report_find_value(const ReportSubject *subject, StringView text, DiagSink *diag, AskedValue *out);
MUST_USE Status report_find_time(const ReportSubject *subject, StringView text, DiagSink *diag, int64_t *out_time);

/* "'sum' is made by a fusion, as (add_fusion, {})", a line where the question names what became part of a fusion; else
 * nothing. */
void report_asked_name(StringBuilder *out, const AskedValue *asked);
/* The fields of report_json_position, and "fused", the name asked for, of what became part of a fusion. */
void report_json_asked(JsonWriter *json, const AskedValue *asked);

/* The fields "instruction" and "index" of an object. */
void report_json_position(JsonWriter *json, BufferPosition position);

/* "512B", "1.5KiB", as XLA writes them. */
void report_human_bytes(StringBuilder *out, int64_t bytes);

const char *report_allocation_kind(const BufferAllocation *allocation);

/* Address × time of the workspace in characters; nothing when it is empty. */
void report_workspace_picture(StringBuilder *out, const BufferAssignment *assignment, Arena *scratch);

#endif
