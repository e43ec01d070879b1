/* Everything about one compilation in one text, JSON object or page, a section each.
 *
 * A new section is a row in the table of compilation_report.c: its name, and how it is written in each form. */
#ifndef XLAC_COMPILER_COMPILATION_REPORT_H
#define XLAC_COMPILER_COMPILATION_REPORT_H

#include "compiler/compilation.h"

typedef enum CompilationReportFormat {
  COMPILATION_REPORT_TEXT,
  COMPILATION_REPORT_JSON,
  COMPILATION_REPORT_HTML
} CompilationReportFormat;

/* What is known by now, of a compilation that has a module; decisions of passes if options.records_decisions.  Appended
 * to |out|. */
void compilation_print_report(const Compilation *compilation, CompilationReportFormat format, StringBuilder *out);

#endif
