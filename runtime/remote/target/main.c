/* The program around a module's object that runs on another machine (runtime/remote/remote_program.h).
 *
 *   program ENGINE WORKERS RUNS ARGUMENTS RESULTS
 *
 * Reads the arguments' bytes from the block file ARGUMENTS, executes the module RUNS times, and writes to RESULTS:
 * which call failed, if one did, the results' bytes, the seconds of each run, and the bytes of workspace used.  ENGINE:
 * 0 merged queues, 1 queues as threads.  Compiled with XLAC_ENTRY, the module's C symbol. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/engines/queue_threads.h"
#include "runtime/remote/program_blocks.h"
#include "xlac/thread_pool.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define XLAC_DESCRIPTOR JOIN(XLAC_ENTRY, _descriptor)

extern const XlacDescriptor XLAC_DESCRIPTOR;
int XLAC_ENTRY(const void *const *arguments, void *const *results, void *workspace, const XlacRunOptions *options);

enum { WORD_ENGINE = 1, WORD_WORKERS, WORD_RUNS, WORD_ARGUMENTS, WORD_RESULTS, WORD_COUNT };

/* A failure of a call is part of what is written, and no error here. */
static Status run_all(ModuleRun *run, ProgramOutcome *outcome, DiagSink *diag) {
  for (int64_t i = 0; i < outcome->run_count; i++) {
    Status status = runner_execute(run, diag, &outcome->seconds[i]);
    if (program_failure_is_set(&outcome->failure)) return STATUS_OK;
    RETURN_IF_ERROR(status);
  }
  return STATUS_OK;
}

static Status execute(Arena *arena, char **words, XlacRunOptions *options, DiagSink *diag) {
  ProgramOutcome outcome = {.run_count = strtoll(words[WORD_RUNS], NULL, 10)};
  outcome.seconds = ARENA_NEW_ARRAY(arena, double, outcome.run_count);
  options->on_failure = program_failure_keep;
  options->failure_data = &outcome.failure;
  ModuleRun *run = runner_create(arena, XLAC_ENTRY, &XLAC_DESCRIPTOR, options);
  FileBlocks arguments = program_argument_blocks(arena, run);
  RETURN_IF_ERROR(block_file_read(words[WORD_ARGUMENTS], arguments.data, arguments.count, diag));
  RETURN_IF_ERROR(run_all(run, &outcome, diag));
  outcome.workspace_bytes = run->workspace_bytes;
  FileBlocks results = program_result_blocks(arena, run, &outcome);
  return block_file_write(words[WORD_RESULTS], results.data, results.count, diag);
}

int main(int count, char **words) {
  if (count != WORD_COUNT) return 2;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  XlacThreadPool *threads = xlac_thread_pool_create(strtoll(words[WORD_WORKERS], NULL, 10));
  if (threads == NULL) out_of_memory(0);
  QueueThreads *queues = queue_threads_create(arena, NULL);
  bool has_queue_threads = words[WORD_ENGINE][0] == '1';
  XlacRunOptions options = {.struct_size = sizeof options,
                            .abi_version = XLAC_ABI_VERSION,
                            .user_data = threads,
                            .parallel_for = xlac_thread_pool_parallel_for,
                            .worker_count = xlac_thread_pool_worker_count(threads),
                            .oncore_launch = has_queue_threads ? queue_threads_launch : NULL,
                            .oncore_data = queues};
  Status status = execute(arena, words, &options, &diag);
  for (const Diagnostic *at = diag.first; at != NULL; at = at->next)
    fprintf(stderr, "%s: %.*s\n", words[0], SV_ARG(at->message));
  queue_threads_destroy(queues);
  xlac_thread_pool_destroy(threads);
  arena_destroy(arena);
  return status == STATUS_OK ? 0 : 1;
}
