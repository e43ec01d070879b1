#include "cli/exit_code.h"

static const int codes[] = {
    [STATUS_OK] = EXIT_DONE,           [STATUS_INVALID] = EXIT_INPUT,
    [STATUS_UNSUPPORTED] = EXIT_INPUT, [STATUS_EXHAUSTED] = EXIT_MEMORY_LIMIT,
    [STATUS_IO] = EXIT_SYSTEM,         [STATUS_MISMATCH] = EXIT_MISMATCH,
};

int exit_code_from_status(Status status) {
  return codes[status];
}
