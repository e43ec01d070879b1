/* xlac check MODEL.hlo */
#include "cli/call_libraries.h"
#include "cli/driver.h"
#include "hlo/infer/custom_call_targets.h"

static Status check_targets(Session *session) {
  CallLibraries *libraries;
  RETURN_IF_ERROR(call_libraries_open(session, &libraries));
  return hlo_check_custom_call_targets(session->compilation.module, call_libraries_have, libraries, session->diag);
}

int check_command(Session *session) {
  bool verify = !session_option_given(session, OPTION_NO_VERIFY);
  Status status = driver_load(session, verify);
  if (status == STATUS_OK && verify) status = check_targets(session);
  return session_end(session, status);
}
