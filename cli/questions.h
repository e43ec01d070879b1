/* Questions about a module's memory on the command line: --print=points-to and its like, --why-live. */
#ifndef XLAC_CLI_QUESTIONS_H
#define XLAC_CLI_QUESTIONS_H

#include "cli/driver.h"

/* As --print lists them. */
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
  PRINT_INTERFERENCE,
  PRINT_SHARDING
};

/* Whether one is asked with an option of its own, besides --print. */
bool questions_are_asked(const Session *session);

/* Before any work: STATUS_INVALID (code "usage") for what makes no sense.  Where a question is asked, --report is the
 * form of the answer, TEXT or JSON, and a report is written only where --report-file says. */
MUST_USE Status questions_check(Session *session);

/* Of --print: the answer for the module after the passes. */
MUST_USE Status questions_print(Session *session, int64_t what, StringBuilder *out);

/* Of the options: the answers, one after the other. */
MUST_USE Status questions_answer(Session *session, StringBuilder *out);

#endif
