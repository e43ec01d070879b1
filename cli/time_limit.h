/* TimeLimit: --timeout, a thread that ends the process when a run takes too long. */
#ifndef XLAC_CLI_TIME_LIMIT_H
#define XLAC_CLI_TIME_LIMIT_H

#include "cli/options.h"

typedef struct TimeLimit TimeLimit;

/* Starts to count |seconds|.  When they are over, the program that is waited for (base/process.h) is ended, no
 * temporary file is left, the message is printed in the style of |options| and the process ends with EXIT_SYSTEM.  NULL
 * with a diagnostic when there is no thread for it.  Ended by time_limit_end. */
TimeLimit *time_limit_start(Arena *arena, const Options *options, double seconds, DiagSink *diag);
void time_limit_end(TimeLimit *limit);

/* Every function below does nothing for NULL. */

/* What the message will say that the run was doing: |what| and, unless NULL, |name| in quotes.  Both have to stay. */
void time_limit_doing(TimeLimit *limit, const char *what, const char *name);
/* Between these two, temporary files may be made: the process does not end. */
void time_limit_hold(TimeLimit *limit);
void time_limit_release(TimeLimit *limit);

#endif
