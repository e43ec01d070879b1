#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* errno or 0. */
static int spawn(const char *const *arguments, pid_t *out_child) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  /* The standard's prototype lacks a const; the strings are only read. */
  if (error == 0) error = posix_spawnp(out_child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Status process_run(const char *const *arguments, DiagSink *diag) {
  pid_t child;
  int error = spawn(arguments, &child);
  if (error != 0)
    return diag_error(diag, STATUS_IO, NO_LOC, "io-process", "unable to run '%s': %s", arguments[0], strerror(error));
  int end;
  while (waitpid(child, &end, 0) < 0)
    if (errno != EINTR)
      return diag_error(diag, STATUS_IO, NO_LOC, "io-process", "unable to wait for '%s': %s", arguments[0],
                        strerror(errno));
  if (WIFSIGNALED(end))
    return diag_error(diag, STATUS_IO, NO_LOC, "io-process", "'%s' was ended by signal %d (%s)", arguments[0],
                      WTERMSIG(end), strsignal(WTERMSIG(end)));
  if (WEXITSTATUS(end) != 0)
    return diag_error(diag, STATUS_IO, NO_LOC, "io-process", "'%s' ended with status %d", arguments[0],
                      WEXITSTATUS(end));
  return STATUS_OK;
}
