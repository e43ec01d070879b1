/* Other programs, run to their end. */
#ifndef XLAC_BASE_PROCESS_H
#define XLAC_BASE_PROCESS_H

#include "base/diagnostic.h"

/* Runs arguments[0], looked for in PATH, with |arguments| (NULL after the last) and waits for it.  It reads nothing;
 * both of its outputs are our standard error.  STATUS_IO with a diagnostic ("io-process") when it cannot be started or
 * ends with anything but 0, a signal included. */
MUST_USE Status process_run(const char *const *arguments, DiagSink *diag);

/* The same for a program whose end is an answer: |out_failure| (in |arena|) says how it ended, "'sh' ended with status
 * 1"; empty: with 0.  STATUS_IO only when it cannot be started or waited for. */
MUST_USE Status process_ask(Arena *arena, const char *const *arguments, DiagSink *diag, StringView *out_failure);

/* Sends the signal |number| to the program that process_run waits for, if there is one, and waits for its end, a second
 * at most; then it is killed.  Safe in a signal handler of the thread that waits; the process ends afterwards. */
void process_end_running(int number);

#endif
