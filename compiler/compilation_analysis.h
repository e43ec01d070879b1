/* What is known of a compilation's module before its memory is planned, or after: one question each, text or JSON
 * (docs/analyses.md). */
#ifndef XLAC_COMPILER_COMPILATION_ANALYSIS_H
#define XLAC_COMPILER_COMPILATION_ANALYSIS_H

#include "compiler/compilation.h"

typedef enum AnalysisQuestion { ANALYSIS_POINTS_TO } AnalysisQuestion;

/* Appends the answer for the module as it is, |format| TEXT or JSON.  Errors are those of buffer_analysis_build: a
 * computation with two callers, a schedule that is none. */
MUST_USE Status compilation_print_analysis(const Compilation *compilation, AnalysisQuestion question,
                                           ReportFormat format, StringBuilder *out);

#endif
