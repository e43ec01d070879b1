/* xlac info MODEL.hlo: what a module takes, gives and does. */
#include "cli/driver.h"

static Status info(Session *session) {
  RETURN_IF_ERROR(driver_load(session, true));
  bool is_json = session_option_integer(session, OPTION_FORMAT, FORMAT_TEXT) == FORMAT_JSON;
  StringBuilder text;
  sb_init(&text, session->arena);
  report_module_info(&text, session->compilation.module, is_json ? REPORT_JSON : REPORT_TEXT);
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

static Status check_usage(Session *session) {
  RETURN_IF_ERROR(driver_check_format(session, (const int[]){FORMAT_TEXT, FORMAT_JSON}, 2));
  return driver_check_files(session, NULL, 0);
}

int info_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  return session_end(session, info(session));
}
