#include "cli/questions.h"

#include "compiler/compilation_analysis.h"
#include "compiler/compilation_report.h"

static const struct {
  OptionId option;
  AnalysisKind kind;
} asked_by[] = {{OPTION_WHY_LIVE, ANALYSIS_WHY_LIVE}, {OPTION_EXPLAIN_SHARING, ANALYSIS_EXPLAIN_SHARING}};

enum { ASKED_BY_COUNT = sizeof(asked_by) / sizeof(asked_by[0]) };

static const AnalysisKind printed[] = {[PRINT_LIVENESS] = ANALYSIS_LIVENESS,
                                       [PRINT_POINTS_TO] = ANALYSIS_POINTS_TO,
                                       [PRINT_ORDERING] = ANALYSIS_ORDERING,
                                       [PRINT_INTERFERENCE] = ANALYSIS_INTERFERENCE,
                                       [PRINT_SHARDING] = ANALYSIS_SHARDING};

bool questions_are_asked(const Session *session) {
  for (int i = 0; i < ASKED_BY_COUNT; i++) {
    if (session_option_given(session, asked_by[i].option)) return true;
  }
  return false;
}

static AnalysisQuestion question_of(const Session *session, int asked) {
  return (AnalysisQuestion){.kind = asked_by[asked].kind,
                            .names = sv_from_cstring(session_option_text(session, asked_by[asked].option, ""))};
}

static Status usage(Session *session, const char *message) {
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "%s", message);
}

Status questions_check(Session *session) {
  int64_t what = session_option_integer(session, OPTION_PRINT, PRINT_HLO);
  if (session_option_given(session, OPTION_STREAMS) && what != PRINT_ORDERING && what != PRINT_INTERFERENCE)
    return usage(session, "'--streams' is for '--print=ordering' and '--print=interference'");
  if (what <= PRINT_NONE && what != PRINT_LIVENESS && !questions_are_asked(session)) return STATUS_OK;
  session->report_is_answer = !session_option_given(session, OPTION_REPORT_FILE);
  if (session_option_integer(session, OPTION_REPORT, COMPILATION_REPORT_TEXT) == COMPILATION_REPORT_HTML)
    return usage(session, "analyses are printed as text or JSON, not HTML");
  for (int i = 0; i < ASKED_BY_COUNT; i++) {
    AnalysisQuestion question = question_of(session, i);
    if (session_option_given(session, asked_by[i].option))
      RETURN_IF_ERROR(compilation_check_question(&question, session->diag));
  }
  return STATUS_OK;
}

static ReportFormat answer_format(const Session *session) {
  int64_t form = session_option_integer(session, OPTION_REPORT, COMPILATION_REPORT_TEXT);
  return form == COMPILATION_REPORT_JSON ? REPORT_JSON : REPORT_TEXT;
}

/* Of what is placed, or, before that, of values; the CSV is a planner's input and needs places. */
static Status print_liveness(Session *session, StringBuilder *out) {
  Compilation *compilation = &session->compilation;
  ReportFormat format = (ReportFormat)session_option_integer(session, OPTION_LIVENESS_FORMAT, answer_format(session));
  if (compilation->assignment == NULL && format != REPORT_CSV)
    return compilation_answer(compilation, &(AnalysisQuestion){.kind = ANALYSIS_LIVENESS, .format = format}, out);
  RETURN_IF_ERROR(compilation_require_assignment(compilation));
  report_liveness(out, compilation->module, compilation->assignment, format);
  return STATUS_OK;
}

Status questions_print(Session *session, int64_t what, StringBuilder *out) {
  if (what == PRINT_LIVENESS) return print_liveness(session, out);
  AnalysisQuestion question = {.kind = printed[what],
                               .format = answer_format(session),
                               .streams = session_option_integer(session, OPTION_STREAMS, 0)};
  return compilation_answer(&session->compilation, &question, out);
}

Status questions_answer(Session *session, StringBuilder *out) {
  for (int i = 0; i < ASKED_BY_COUNT; i++) {
    if (!session_option_given(session, asked_by[i].option)) continue;
    AnalysisQuestion question = question_of(session, i);
    question.format = answer_format(session);
    RETURN_IF_ERROR(compilation_answer(&session->compilation, &question, out));
  }
  return STATUS_OK;
}
