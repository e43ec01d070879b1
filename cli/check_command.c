/* xlac check MODEL.hlo */
#include "cli/driver.h"

int check_command(Session *session) {
  return session_end(session, driver_load(session, !option_given(session, OPTION_NO_VERIFY)));
}
