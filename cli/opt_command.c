/* xlac opt MODEL.hlo: named passes, then HLO or an analysis as text. */
#include "cli/network_question.h"
#include "cli/questions.h"
#include "compiler/options/target.h"
#include "hlo/infer/device_check.h"

static Status print_plans(Compilation *compilation, StringBuilder *out) {
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
  if (what > PRINT_NONE || what == PRINT_LIVENESS) return questions_print(session, what, out);
  RETURN_IF_ERROR(compilation_require_assignment(compilation));
  const BufferAssignment *assignment = compilation->assignment;
  if (what == PRINT_BUFFER_MAP)
    compilation_print_map(compilation,
                          session_option_integer(session, OPTION_MAP_FORMAT, 0) == 1 ? REPORT_JSON : REPORT_TEXT, out);
  else
    report_buffer_assignment(out, module, assignment);
  return STATUS_OK;
}

/* With --partitions the module is divided before any pass that is named, unless it is asked how it will be. */
static Status load(Session *session, int64_t what) {
  bool verifies = !session_option_given(session, OPTION_NO_VERIFY);
  Compilation *compilation = &session->compilation;
  RETURN_IF_ERROR(driver_load(session, verifies));
  if (!session_option_given(session, OPTION_PARTITIONS)) return STATUS_OK;
  RETURN_IF_ERROR(hlo_set_device_count(compilation->module, compilation->options.partitions, session->diag));
  if (verifies) RETURN_IF_ERROR(compilation_verify(compilation)); /* collectives are for so many devices */
  return what == PRINT_SHARDING ? STATUS_OK : compilation_partition(compilation);
}

/* What is printed when nothing is said of it: the module, unless something is asked about it. */
static int64_t printed_by_default(const Session *session) {
  return questions_are_asked(session) || network_question_is_asked(session) ? PRINT_NONE : PRINT_HLO;
}

static Status opt(Session *session) {
  int64_t what = session_option_integer(session, OPTION_PRINT, printed_by_default(session));
  bool is_planned = network_question_is_asked(session); /* memory with all that code needs */
  CompilationOptions *options = &session->compilation.options;
  options->without_code = !is_planned;
  options->passes = is_planned ? COMPILATION_PASSES_STANDARD : COMPILATION_PASSES_NONE;
  if (what == PRINT_PLAN) options->plans_detail = PLANS_PROVED;
  RETURN_IF_ERROR(driver_check_places(session));
  RETURN_IF_ERROR(load(session, what));
  RETURN_IF_ERROR(driver_run_passes(session));
  RETURN_IF_ERROR(network_question_answer(session));
  RETURN_IF_ERROR(driver_add_graph(session));
  StringBuilder text;
  sb_init(&text, session->arena);
  RETURN_IF_ERROR(print_module(session, what, &text));
  RETURN_IF_ERROR(questions_answer(session, &text));
  network_question_print(session, &text);
  if (what == PRINT_NONE && text.size == 0) return STATUS_OK;
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

static Status check_usage(Session *session) {
  RETURN_IF_ERROR(driver_check_files(session, NULL, 0));
  if (session_option_integer(session, OPTION_PRINT, PRINT_HLO) == PRINT_PLAN)
    RETURN_IF_ERROR(target_check_plans(session->options, session->diag));
  RETURN_IF_ERROR(questions_check(session));
  return network_question_check(session);
}

int opt_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  return session_end(session, opt(session));
}
