/* SessionFacts: the numbers that sum up a compilation, for --stats and --report. */
#ifndef XLAC_CLI_SESSION_FACTS_H
#define XLAC_CLI_SESSION_FACTS_H

#include "cli/driver.h"

typedef struct SessionFact {
  const char *key;  /* as JSON has it */
  const char *text; /* as people read it, after the number */
  int64_t value;
} SessionFact;

typedef ARRAY(SessionFact) SessionFacts;

/* What is known by now: of the module, of passes, of code and of memory, in this order. */
SessionFacts session_facts(const Session *session, Arena *arena);

#endif
