#include "cli/exit_code.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/build_kind.h"

static const int codes[] = {
    [STATUS_OK] = EXIT_DONE,           [STATUS_INVALID] = EXIT_INPUT,
    [STATUS_UNSUPPORTED] = EXIT_INPUT, [STATUS_EXHAUSTED] = EXIT_MEMORY_LIMIT,
    [STATUS_IO] = EXIT_SYSTEM,         [STATUS_MISMATCH] = EXIT_MISMATCH,
};

int exit_code_from_status(Status status) {
  return codes[status];
}

static const char report_text[] =
    "xlac: this is a bug in xlac; please report it with the command line, the message above and the input file\n";

/* Only what may be called in a signal handler. */
static void report_bug(int signal_number) {
  (void)signal_number;
  ssize_t ignored = write(STDERR_FILENO, report_text, sizeof report_text - 1);
  (void)ignored;
  _exit(EXIT_BUG);
}

void exit_code_install_handlers(void) {
  /* A stack of its own: running out of the ordinary one is among the reasons to come here. */
  static char stack[1 << 16];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = report_bug;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
#if BUILD_HAS_SANITIZER
  static const int signals[] = {SIGABRT}; /* the sanitizer reports the others better */
#else
  static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#endif
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) sigaction(signals[i], &action, NULL);
}
