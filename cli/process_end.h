/* Ends of the process that do not come from main: signals, crashes, no memory.  Whichever it is, no temporary file is
 * left (base/temporary.h), and outputs are in place or not there. */
#ifndef XLAC_CLI_PROCESS_END_H
#define XLAC_CLI_PROCESS_END_H

#include <stdbool.h>

/* From now on
 * - signals that ask for the end (SIGINT, SIGTERM, ...) still end the process, unless they were ignored before;
 * - a lack of memory ends it with EXIT_SYSTEM and a plain message;
 * - a broken invariant or a crash says how to report it and ends with EXIT_BUG. */
void process_end_install(void);

/* Messages are JSON, as with --diagnostics-format=json. */
void process_end_use_json(bool use_json);

/* What the message of a lack of memory will say that the process was doing: "out of memory while |what| '|name|'".
 * |name| may be NULL.  Both have to stay. */
void process_end_doing(const char *what, const char *name);

/* All outputs are in place and the exit status is |code|: a lack of memory does not change that any more. */
void process_end_set_outcome(int code);

#endif
