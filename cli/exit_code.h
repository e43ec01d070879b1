/* Exit statuses: what scripts see. */
#ifndef XLAC_CLI_EXIT_CODE_H
#define XLAC_CLI_EXIT_CODE_H

#include "base/status.h"

enum {
  EXIT_DONE = 0,
  EXIT_INPUT = 1, /* the input is wrong or cannot be compiled */
  EXIT_USAGE = 2,
  EXIT_SYSTEM = 3, /* a file or system error */
  EXIT_MEMORY_LIMIT = 4,
  EXIT_MISMATCH = 5, /* results differ from --expect */
  EXIT_BUG = 70
};

/* The exit status for what a command ended with; that of STATUS_OK is 0. */
int exit_code_from_status(Status status);

#endif
