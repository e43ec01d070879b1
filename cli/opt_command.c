/* xlac opt MODEL.hlo: named passes, then HLO or an analysis as text. */
#include "cli/driver.h"
#include "compiler/compilation_analysis.h"
#include "compiler/compilation_report.h"

/* As --print lists them; what follows PRINT_NONE are questions to analyses. */
enum {
  PRINT_HLO,
  PRINT_BUFFER_MAP,
  PRINT_LIVENESS,
  PRINT_BUFFER_ASSIGNMENT,
  PRINT_KERNELS,
  PRINT_PLAN,
  PRINT_NONE,
  PRINT_POINTS_TO,
  PRINT_ORDERING,
  PRINT_INTERFERENCE
};

static const AnalysisKind analyses[] = {[PRINT_POINTS_TO] = ANALYSIS_POINTS_TO,
                                        [PRINT_ORDERING] = ANALYSIS_ORDERING,
                                        [PRINT_INTERFERENCE] = ANALYSIS_INTERFERENCE};

static bool is_question(int64_t what) {
  return what > PRINT_NONE;
}

/* In the form of --report; the report itself is written only where --report-file asks for it. */
static Status print_answer(Session *session, int64_t what, StringBuilder *out) {
  int64_t form = session_option_integer(session, OPTION_REPORT, COMPILATION_REPORT_TEXT);
  AnalysisQuestion question = {.kind = analyses[what],
                               .format = form == COMPILATION_REPORT_JSON ? REPORT_JSON : REPORT_TEXT,
                               .streams = session_option_integer(session, OPTION_STREAMS, 0)};
  return compilation_answer(&session->compilation, &question, out);
}

static Status print_plans(Compilation *compilation, StringBuilder *out) {
  if (compilation->options.machine == NULL) {
    return diag_error(compilation->diag, STATUS_INVALID, NO_LOC, "target-host",
                      "plans are for vector processors: name one with --target");
  }
  RETURN_IF_ERROR(compilation_make_plans(compilation));
  compilation_print_plans(compilation, out);
  return STATUS_OK;
}

static Status print_module(Session *session, int64_t what, StringBuilder *out) {
  Compilation *compilation = &session->compilation;
  const HloModule *module = compilation->module;
  if (what == PRINT_HLO) {
    hlo_module_print(out, module, &HLO_PRINT_DEFAULT);
    return STATUS_OK;
  }
  if (what == PRINT_KERNELS) {
    RETURN_IF_ERROR(compilation_make_kernels(compilation));
    codegen_print_kernels(compilation->draft.kernels, out);
    return STATUS_OK;
  }
  if (what == PRINT_PLAN) return print_plans(compilation, out);
  if (what == PRINT_NONE) return STATUS_OK;
  if (is_question(what)) return print_answer(session, what, out);
  RETURN_IF_ERROR(compilation_require_assignment(compilation));
  const BufferAssignment *assignment = compilation->assignment;
  if (what == PRINT_BUFFER_MAP)
    compilation_print_map(compilation,
                          session_option_integer(session, OPTION_MAP_FORMAT, 0) == 1 ? REPORT_JSON : REPORT_TEXT, out);
  else if (what == PRINT_LIVENESS)
    report_liveness(out, module, assignment,
                    (ReportFormat)session_option_integer(session, OPTION_LIVENESS_FORMAT, REPORT_TEXT));
  else
    report_buffer_assignment(out, module, assignment);
  return STATUS_OK;
}

static Status opt(Session *session) {
  int64_t what = session_option_integer(session, OPTION_PRINT, PRINT_HLO);
  CompilationOptions *options = &session->compilation.options;
  options->without_code = true;
  options->passes = COMPILATION_PASSES_NONE;
  if (what == PRINT_PLAN) options->plans_detail = PLANS_PROVED;
  RETURN_IF_ERROR(driver_load(session, !session_option_given(session, OPTION_NO_VERIFY)));
  RETURN_IF_ERROR(driver_run_passes(session));
  RETURN_IF_ERROR(driver_add_graph(session));
  StringBuilder text;
  sb_init(&text, session->arena);
  RETURN_IF_ERROR(print_module(session, what, &text));
  if (what == PRINT_NONE) return STATUS_OK;
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

static Status usage(Session *session, const char *message) {
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "%s", message);
}

static Status prepare_answer(Session *session) {
  int64_t what = session_option_integer(session, OPTION_PRINT, PRINT_HLO);
  int64_t streams = session_option_integer(session, OPTION_STREAMS, 1);
  if (session_option_given(session, OPTION_STREAMS) && what != PRINT_ORDERING && what != PRINT_INTERFERENCE)
    return usage(session, "'--streams' is for '--print=ordering' and '--print=interference'");
  if (streams < 1 || streams > ANALYSIS_MOST_STREAMS) return usage(session, "'--streams' is a number from 1 to 1024");
  if (!is_question(what)) return STATUS_OK;
  session->report_is_answer = !session_option_given(session, OPTION_REPORT_FILE);
  if (session_option_integer(session, OPTION_REPORT, COMPILATION_REPORT_TEXT) == COMPILATION_REPORT_HTML)
    return usage(session, "analyses are printed as text or JSON, not HTML");
  return STATUS_OK;
}

int opt_command(Session *session) {
  if (driver_check_files(session, NULL, 0) != STATUS_OK || prepare_answer(session) != STATUS_OK)
    return session_end_usage(session);
  return session_end(session, opt(session));
}
