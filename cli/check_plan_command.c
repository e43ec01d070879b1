/* xlac check-plan --target=T [MODEL.hlo] PLAN.vplan: the plans of a file for the kernels of a module, or a program of
 * its own, proved and priced. */
#include "cli/driver.h"
#include "compiler/options/target.h"

static Status check_plan(Session *session) {
  Compilation *compilation = &session->compilation;
  compilation->options.without_code = true;
  RETURN_IF_ERROR(driver_check_places(session));
  RETURN_IF_ERROR(driver_load_to_run(session));
  if (session->options->operands.count > 1)
    RETURN_IF_ERROR(driver_read_plan_file(session, session->options->operands.data[1]));
  RETURN_IF_ERROR(driver_run_passes(session));
  RETURN_IF_ERROR(compilation_read_plans(compilation));
  if (session_option_given(session, OPTION_DUMP_PLAN)) {
    StringBuilder plans;
    sb_init(&plans, session->arena);
    compilation_print_written_plans(compilation, &plans);
    RETURN_IF_ERROR(driver_add_output(session, session_option_text(session, OPTION_DUMP_PLAN, "-"), sb_view(&plans)));
  }
  StringBuilder text;
  sb_init(&text, session->arena);
  compilation_print_written_costs(compilation, &text);
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

int check_plan_command(Session *session) {
  if (target_check_plans(session->options, session->diag) != STATUS_OK ||
      driver_check_files(session, NULL, 0) != STATUS_OK)
    return session_end_usage(session);
  return session_end(session, check_plan(session));
}
