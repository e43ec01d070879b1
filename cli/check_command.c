/* xlac check MODEL.hlo */
#include "cli/driver.h"
#include "hlo/infer/custom_call_targets.h"

int check_command(Session *session) {
  bool verify = !option_given(session, OPTION_NO_VERIFY);
  Status status = driver_load(session, verify);
  if (status == STATUS_OK && verify) status = hlo_check_custom_call_targets(session->module, session->diag);
  return session_end(session, status);
}
