/* Answers to questions about a module's memory before any of it is planned: what hlo/analysis knows, as text or JSON
 * (docs/analyses.md).  Nothing is decided here. */
#ifndef XLAC_CODEGEN_REPORT_ANALYSIS_REPORT_H
#define XLAC_CODEGEN_REPORT_ANALYSIS_REPORT_H

#include "codegen/report/report.h"
#include "hlo/analysis/buffer_analysis.h"
#include "hlo/analysis/fused_instruction.h"

/* What a question with names is about. */
typedef struct ReportSubject {
  BufferAnalysis *analysis;
  const BufferAssignment *assignment; /* NULL: memory is not planned */
  FusedInstructions fused;            /* so that what became part of a fusion is known by the name it had */
} ReportSubject;

/* Each answer takes |analysis| of a module and appends to |out|; |format| is TEXT or JSON. */

/* Every logical buffer with the positions at which it is seen, the points-to set of every position, which instructions'
 * sets are ambiguous or not distinct; must-alias sets, and where only a copy helps; what may live out, and what must
 * not. */
void report_points_to(StringBuilder *out, BufferAnalysis *analysis, ReportFormat format);

/* Which instructions are in order and which may run at once: the dependency order, the schedule if the module has one,
 * and, |streams| > 0, what so many streams leave of it.  STATUS_UNSUPPORTED of execution_order_build. */
MUST_USE Status report_ordering(StringBuilder *out, const BufferAnalysis *analysis, int64_t streams,
                                ReportFormat format, DiagSink *diag);

/* Which logical buffers may be needed at the same time, under each of these orders. */
MUST_USE Status report_interference(StringBuilder *out, const BufferAnalysis *analysis, int64_t streams,
                                    ReportFormat format, DiagSink *diag);

/* Of a scheduled module the live range of every value, in positions of the schedule; of another, after which readers
 * each logical buffer is free.  STATUS_UNSUPPORTED of execution_order_build. */
MUST_USE Status report_value_liveness(StringBuilder *out, const BufferAnalysis *analysis, ReportFormat format,
                                      DiagSink *diag);

/* |question| is NAME@POSITION: why the value at NAME, an instruction's name with an index in braces where its shape is
 * a tuple, is alive at POSITION of the schedule, a number or an instruction's name: who needs it there or later, as
 * what, and which loop comes back to it; or that it is not.  STATUS_INVALID (code "question") for names that are none,
 * or of what a fusion computes and does not store.  report_check_why_live has said that |question| has this form. */
MUST_USE Status report_why_live(StringBuilder *out, const ReportSubject *subject, StringView question,
                                ReportFormat format, DiagSink *diag);

/* |question| is A,B, named as above: whether the two share bytes, and the rules and instructions that make it so.  With
 * an assignment of the module about the places it gives them; without one about what must, may and cannot be.  Errors
 * as above.  report_check_explain_sharing has said that |question| has this form. */
MUST_USE Status report_explain_sharing(StringBuilder *out, const ReportSubject *subject, StringView question,
                                       ReportFormat format, DiagSink *diag);

/* Whether a question has the form that the two above want: STATUS_INVALID (code "usage") where not.  Asks no module. */
MUST_USE Status report_check_why_live(StringView question, DiagSink *diag);
MUST_USE Status report_check_explain_sharing(StringView question, DiagSink *diag);

#endif
