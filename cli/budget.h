/* --budget: a JSON object of limits by the names of the totals of --report=json; docs/ci.md. */
#ifndef XLAC_CLI_BUDGET_H
#define XLAC_CLI_BUDGET_H

#include "cli/driver.h"

typedef struct Total {
  StringView name;
  int64_t value;
} Total;

typedef ARRAY(Total) Totals;

/* The value of |name|, NULL: not known. */
const Total *totals_find(const Totals *totals, StringView name);

typedef struct BudgetLimit {
  StringView name;
  int64_t most;
  SourceLoc loc;
} BudgetLimit;

typedef struct Budget {
  const char *path; /* NULL: no --budget, no limits */
  ARRAY(BudgetLimit) limits;
} Budget;

/* The file of --budget, before any work; in the session's arena.  STATUS_INVALID for names that no total has, values
 * that are no counts, and when there is no limit in it ("budget-limit"), and as json_file_read. */
MUST_USE Status budget_read(Session *session, Budget *out_budget);

/* STATUS_EXHAUSTED ("budget") with a table of what exceeds; STATUS_INVALID ("budget-limit") when |totals| lack one that
 * is limited. */
MUST_USE Status budget_check(Session *session, const Budget *budget, const Totals *totals);
/* The same for what is known of the session's compilation by now. */
MUST_USE Status budget_check_compilation(Session *session, const Budget *budget);

#endif
