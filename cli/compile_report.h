/* --report: everything about one compilation in one text, JSON object or page, a section each.
 *
 * A new section is a row in the table of compile_report.c: its name, and how it is written in each form. */
#ifndef XLAC_CLI_COMPILE_REPORT_H
#define XLAC_CLI_COMPILE_REPORT_H

#include "base/array.h"
#include "passes/pipeline/hlo_pass.h"

typedef struct Session Session;

/* One decision of a pass, as its observer is told. */
typedef struct FusionNote {
  const char *pass;
  StringView producer, consumer;
  bool taken;
  const char *reason;
} FusionNote;

/* What has to be written down while the compilation goes on; the rest is read from the session at its end. */
typedef struct CompileReport {
  Arena *arena;
  HloDecisionObserver observer;
  ARRAY(FusionNote) fusions;
} CompileReport;

/* |report->observer| is what passes take. */
void compile_report_init(CompileReport *report, Arena *arena);

/* Adds the report to the session's outputs, if --report asks for it. */
MUST_USE Status compile_report_add(Session *session);

#endif
