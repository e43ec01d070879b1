/* --runner=CMD: the module as a program of its own, linked for its machine and run by CMD. */
#ifndef XLAC_CLI_REMOTE_RUN_H
#define XLAC_CLI_REMOTE_RUN_H

#include "cli/call_libraries.h"
#include "runtime/remote/remote_program.h"

/* Code that was or is to be generated can be executed: in this process, or by --runner; else STATUS_INVALID. */
MUST_USE Status remote_run_check(const Session *session);

/* Links the session's object with the C compiler of the session's machine, on Debian named after the triple:
 * riscv64-linux-gnu-gcc.  Targets of custom calls come from the files of --custom-call-library, here archives, objects
 * or C sources, under the names of --custom-call-symbol; STATUS_INVALID (code "call-library") for shared libraries,
 * STATUS_UNSUPPORTED ("unsupported-call") when there is no file.  |reporter|, which has to stay, is told of calls that
 * fail.  In any case ended by remote_program_remove. */
MUST_USE Status remote_run_build(Session *session, bool has_queue_threads, int64_t worker_count,
                                 FailureReporter *reporter, RemoteProgram *out_program);

#endif
