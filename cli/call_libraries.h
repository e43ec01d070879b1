/* Functions outside the module, for `xlac run` and `check`: where targets of custom calls are found, and what is said
 * when a call fails. */
#ifndef XLAC_CLI_CALL_LIBRARIES_H
#define XLAC_CLI_CALL_LIBRARIES_H

#include "cli/driver.h"

/* The addresses of |targets|, in their order, by the names of --custom-call-symbol or their own: from the libraries of
 * --custom-call-library, the first that has one, then JAX's names of LAPACK's routines from xlac's own library; they
 * stay loaded.  STATUS_IO (code "call-library") for a library that cannot be loaded, STATUS_INVALID ("unknown-target")
 * at each call whose target none has, STATUS_UNSUPPORTED ("unsupported-lapack") where our own library is missing. */
MUST_USE Status call_libraries_resolve(Session *session, const CallTargets *targets, void *const **out_addresses);

/* The libraries, for questions about targets before there is code. */
typedef struct CallLibraries CallLibraries;

/* The libraries of --custom-call-library; STATUS_IO (code "call-library") for one that cannot be loaded. */
MUST_USE Status call_libraries_open(Session *session, CallLibraries **out_libraries);
/* Whether one of them has |target|, under the name that --custom-call-symbol gives it: an OutsideTargetFn. */
bool call_libraries_have(void *libraries, StringView target);

/* The name that --custom-call-symbol gives |target|, or |target| itself. */
const char *call_library_symbol(const Session *session, const char *target);

typedef struct FailureReporter {
  Session *session;
  const HloInstruction
      *call; /* where calls fail; NULL: the instruction of the session's module that the failure names */
} FailureReporter;

/* Where the session's module has the instruction that |failure| names; NO_LOC: nowhere. */
SourceLoc call_failure_place(const Session *session, const XlacFailure *failure);

/* XlacRunOptions.on_failure: an error (code "call-failed"); |reporter| is a FailureReporter. */
void call_failure_report(void *reporter, const XlacFailure *failure);

#endif
