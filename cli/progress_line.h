/* ProgressLine: --progress, a thread that says what is being done when that takes long. */
#ifndef XLAC_CLI_PROGRESS_LINE_H
#define XLAC_CLI_PROGRESS_LINE_H

#include "cli/options.h"

typedef struct ProgressLine ProgressLine;

/* Shows nothing for two seconds.  Then what is being done and for how long, on standard error: one line that changes
 * where that is a terminal, else a line for each thing.  NULL when |options| ask for none: with '--progress=auto', that
 * is, by default, anywhere but on a terminal.  In |arena|; ended by progress_line_end, before anything else is printed.
 */
ProgressLine *progress_line_start(Arena *arena, const Options *options);
/* Takes the line away; nothing for NULL. */
void progress_line_end(ProgressLine *line);

/* What is being done: |what| and, unless NULL, |name| in quotes; both have to stay.  Nothing for a |line| of NULL. */
void progress_line_doing(ProgressLine *line, const char *what, const char *name);

#endif
