/* What is known of a compilation's module before its memory is planned, or after: one question each, text or JSON
 * (docs/analyses.md). */
#ifndef XLAC_COMPILER_COMPILATION_ANALYSIS_H
#define XLAC_COMPILER_COMPILATION_ANALYSIS_H

#include "compiler/compilation.h"

typedef enum AnalysisKind {
  ANALYSIS_POINTS_TO,
  ANALYSIS_ORDERING,
  ANALYSIS_INTERFERENCE,
  ANALYSIS_LIVENESS,
  ANALYSIS_WHY_LIVE,
  ANALYSIS_EXPLAIN_SHARING,
  ANALYSIS_SHARDING /* of a module that is not divided yet */
} AnalysisKind;

typedef struct AnalysisQuestion {
  AnalysisKind kind;
  ReportFormat format; /* TEXT or JSON */
  int64_t streams;     /* ORDERING, INTERFERENCE: at least 1; 0: not asked */
  StringView names;    /* WHY_LIVE: NAME@POSITION; EXPLAIN_SHARING: A,B */
} AnalysisQuestion;

/* What can be said of a question before a module is there: STATUS_INVALID (code "usage") for |names| that have not the
 * form of its kind. */
MUST_USE Status compilation_check_question(const AnalysisQuestion *question, DiagSink *diag);

/* After compilation_check_question.  Appends the answer for the module as it is.  Errors are those of
 * buffer_analysis_build (a computation with two callers, a schedule that is none), of execution_order_build (a
 * computation too large), of sharding_report, and "question" for names that are none. */
MUST_USE Status compilation_answer(const Compilation *compilation, const AnalysisQuestion *question,
                                   StringBuilder *out);

#endif
