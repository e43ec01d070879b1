/* --trace: phases, passes and a vector processor's queues over time, as Chrome's trace viewer and Perfetto read them.
 */
#ifndef XLAC_CLI_SESSION_TRACE_H
#define XLAC_CLI_SESSION_TRACE_H

#include "cli/driver.h"

/* An output of the session, when --trace asks for it: all phases so far. */
MUST_USE Status session_trace_add(Session *session);

#endif
