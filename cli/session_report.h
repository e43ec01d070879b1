/* What a session says on standard error at its end: diagnostics, --time-report, --stats. */
#ifndef XLAC_CLI_SESSION_REPORT_H
#define XLAC_CLI_SESSION_REPORT_H

#include "cli/driver.h"
#include "compiler/diagnostic_printer.h"

/* From --diagnostics-format, --color, NO_COLOR, -Werror, -q and -v. */
DiagnosticStyle session_report_style(const Options *options);

/* Prints the diagnostics alone, for a command line that was not understood. */
void session_report_diagnostics(const Options *options, const DiagSink *diag, const HloModule *module);

/* All that a command says on standard error when it has ended: messages, and what --pass-limit, --stats, --time-report
 * and a simulation have to tell. */
void session_report_print(const Session *session);

#endif
