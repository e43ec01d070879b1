#include "cli/process_end.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/temporary.h"
#include "cli/exit_code.h"
#include "compiler/options/build_kind.h"

/* What handlers, which are called without any context, have to know. */
static struct {
  volatile sig_atomic_t use_json;
  volatile sig_atomic_t has_outcome, outcome;
  atomic_flag is_ending;      /* a thread that has no memory says so */
  _Atomic(const char *) what; /* is being done: as process_end_doing was told */
  _Atomic(const char *) name; /* to what; NULL: nothing that has a name */
} state = {.is_ending = ATOMIC_FLAG_INIT};

void process_end_use_json(bool use_json) {
  state.use_json = use_json;
}

void process_end_doing(const char *what, const char *name) {
  atomic_store(&state.name, NULL);
  atomic_store(&state.what, what);
  atomic_store(&state.name, name);
}

void process_end_set_outcome(int code) {
  state.outcome = code;
  state.has_outcome = true;
}

static void write_text(const char *text, size_t size) {
  ssize_t ignored = write(STDERR_FILENO, text, size);
  (void)ignored;
}

/* --- no memory --- */

/* When it was: " while running pass 'fusion'".  A thread that goes on to something else just now costs the name: no
 * name stands beside another's |what|. */
static void describe_moment(char *text, size_t size) {
  const char *what = atomic_load(&state.what), *name = atomic_load(&state.name);
  if (atomic_load(&state.what) != what) name = NULL;
  if (state.has_outcome) {
    snprintf(text, size, " after the outputs were written");
  } else if (what != NULL) {
    snprintf(text, size, name != NULL ? " while %s '%s'" : " while %s", what, name);
  }
}

/* Nothing here allocates, whether directly or in the C library; what stands in stdout's buffer is dropped.  Of several
 * threads without memory the first one says so, and the others wait for the end. */
static void end_without_memory(size_t bytes) {
  while (atomic_flag_test_and_set(&state.is_ending)) pause();
  temporary_delete_all();
  char amount[64] = "", place[256] = "", text[512];
  if (bytes > 0) snprintf(amount, sizeof amount, " (%zu bytes more were needed)", bytes);
  const char *severity = state.has_outcome ? "warning" : "error";
  describe_moment(place, sizeof place);
  const char *format = state.use_json
                           ? "{\"file\":null,\"line\":0,\"column\":0,\"severity\":\"%s\",\"code\":\"out-of-memory\","
                             "\"message\":\"out of memory%s%s\",\"notes\":[]}\n"
                           : "xlac: %s: out of memory%s%s\n";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  int size = snprintf(text, sizeof text, format, severity, place, amount);
#pragma GCC diagnostic pop
  write_text(text, (size_t)size);
  _exit(state.has_outcome ? state.outcome : EXIT_SYSTEM);
}

/* --- signals; only what may be called in a handler --- */

/* Where a signal goes to another thread than main's, main's may be between two renames: there it would be held. */
static void end_by_signal(int number) {
  if (gettid() != getpid()) {
    tgkill(getpid(), getpid(), number);
    return;
  }
  process_end_running(number == SIGPIPE ? SIGTERM : number);
  temporary_delete_all();
  signal(number, SIG_DFL);
  raise(number); /* when this handler returns */
}

static const char report_text[] =
    "xlac: this is a bug in xlac; please report it with the command line, the message above and the input file\n";

static void report_bug(int number) {
  (void)number;
  temporary_delete_all();
  write_text(report_text, sizeof report_text - 1);
  _exit(EXIT_BUG);
}

static void install(const int *signals, size_t count, void (*handler)(int), int flags) {
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < count; i++) {
    bool is_ignored = sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!is_ignored) sigaction(signals[i], &action, NULL);
  }
}

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

void process_end_install(void) {
  /* A stack of its own: running out of the ordinary one is among the reasons to come here. */
  static char stack[1 << 16];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
#if BUILD_HAS_SANITIZER
  static const int crashes[] = {SIGABRT}; /* the sanitizer reports the others better */
#else
  static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#endif
  static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ};
  install(crashes, COUNT_OF(crashes), report_bug, SA_ONSTACK);
  install(ends, COUNT_OF(ends), end_by_signal, SA_ONSTACK | SA_RESTART);
  out_of_memory_set_handler(end_without_memory);
}
