#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/temporary.h"

extern char **environ;

/* The program that is being waited for; 0: none.  For the handler of a signal, which has no other way to it. */
static volatile sig_atomic_t running;

/* Signals are held until |running| is set, but not in the program.  errno or 0. */
static int spawn_with(const char *const *arguments, const posix_spawn_file_actions_t *actions) {
  posix_spawnattr_t attributes;
  int error = posix_spawnattr_init(&attributes);
  if (error != 0) return error;
  sigset_t before;
  pid_t child;
  temporary_hold_signals(&before);
  error = posix_spawnattr_setsigmask(&attributes, &before);
  if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  /* The standard's prototype lacks a const; the strings are only read. */
  if (error == 0) error = posix_spawnp(&child, arguments[0], actions, &attributes, (char *const *)arguments, environ);
  if (error == 0) running = child;
  temporary_release_signals(&before);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/* errno or 0. */
static int spawn(const char *const *arguments) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (error == 0) error = spawn_with(arguments, &actions);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* Waits for the end of |running|; errno or 0. */
static int wait_for_end(int *out_end) {
  siginfo_t ignored;
  while (waitid(P_PID, (id_t)running, &ignored, WEXITED | WNOWAIT) != 0)
    if (errno != EINTR) return errno;
  /* From here to its being forgotten the number may become another process's. */
  sigset_t before;
  temporary_hold_signals(&before);
  int error = waitpid(running, out_end, 0) < 0 ? errno : 0;
  running = 0;
  temporary_release_signals(&before);
  return error;
}

void process_end_running(int number) {
  enum { PATIENCE = 100 }; /* times 10 ms */
  static const struct timespec moment = {.tv_nsec = 10000000};
  pid_t child = running;
  if (child == 0) return;
  kill(child, number);
  for (int i = 0; i < PATIENCE; i++) {
    if (waitpid(child, NULL, WNOHANG) != 0) return;
    nanosleep(&moment, NULL);
  }
  kill(child, SIGKILL);
}

Status process_ask(Arena *arena, const char *const *arguments, DiagSink *diag, StringView *out_failure) {
  int error = spawn(arguments);
  if (error != 0)
    return diag_error(diag, STATUS_IO, NO_LOC, "io-process", "unable to run '%s': %s", arguments[0], strerror(error));
  int end;
  error = wait_for_end(&end);
  if (error != 0)
    return diag_error(diag, STATUS_IO, NO_LOC, "io-process", "unable to wait for '%s': %s", arguments[0],
                      strerror(error));
  *out_failure = SV("");
  if (WIFSIGNALED(end))
    *out_failure =
        sv_printf(arena, "'%s' was ended by signal %d (%s)", arguments[0], WTERMSIG(end), strsignal(WTERMSIG(end)));
  else if (WEXITSTATUS(end) != 0)
    *out_failure = sv_printf(arena, "'%s' ended with status %d", arguments[0], WEXITSTATUS(end));
  return STATUS_OK;
}

Status process_run(const char *const *arguments, DiagSink *diag) {
  StringView failure;
  RETURN_IF_ERROR(process_ask(diag->arena, arguments, diag, &failure));
  if (failure.size == 0) return STATUS_OK;
  return diag_error(diag, STATUS_IO, NO_LOC, "io-process", "%.*s", SV_ARG(failure));
}
