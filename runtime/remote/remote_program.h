/* RemoteProgram: a compiled module as a program of its own, for a machine that this process is not.
 *
 * The object is linked statically, by that machine's C compiler, with the sources that xlac carries (target_sources.h):
 * the same runner, threads and checks as in this process.  Some command, an emulator say, runs the program;
 * arguments and results pass through files (block_file.h). */
#ifndef XLAC_RUNTIME_REMOTE_REMOTE_PROGRAM_H
#define XLAC_RUNTIME_REMOTE_REMOTE_PROGRAM_H

#include "base/scratch_folder.h"
#include "runtime/engines/runner.h"

typedef struct RemoteOptions {
  const char *compiler;   /* driver of the C compiler, such as "riscv64-linux-gnu-gcc" */
  const char *runner;     /* command, as the shell reads it, that the program's name and arguments are added to; may be
                             empty */
  bool has_queue_threads; /* queues of a vector processor run as threads */
  int64_t worker_count;
  const char *const *link_words; /* further words for the linker, NULL after the last: files and options */
  void (*on_failure)(void *data, const XlacFailure *failure); /* told of a call that failed there */
  void *failure_data;
} RemoteOptions;

typedef struct RemoteProgram {
  RemoteOptions options;
  ScratchFolder folder;
  int64_t workspace_bytes; /* after remote_program_run */
} RemoteProgram;

/* Links |object|, whose function is |entry_name|.  What goes wrong with files, compiler or linker is STATUS_IO; what
 * the tools say goes to standard error.  In any case ended by remote_program_remove. */
MUST_USE Status remote_program_build(Arena *arena, StringView object, StringView entry_name,
                                     const RemoteOptions *options, DiagSink *diag, RemoteProgram *out_program);

/* Executes the module |count| times in one process, with run->arguments, and fills run->results and |seconds|, the
 * time in the module of each.  |run| has the module's descriptor but no function.  STATUS_IO when the program fails,
 * STATUS_INVALID after on_failure was told of a call. */
MUST_USE Status remote_program_run(RemoteProgram *program, ModuleRun *run, int64_t count, double *seconds,
                                   DiagSink *diag);

/* Deletes its files; nothing on a zeroed one. */
void remote_program_remove(const RemoteProgram *program);

#endif
