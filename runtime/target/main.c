/* The program around a module's object that runs on another machine (runtime/remote_program.h).
 *
 *   program ENGINE WORKERS RUNS ARGUMENTS RESULTS
 *
 * Reads the arguments' bytes from the block file ARGUMENTS, executes the module RUNS times, and writes to RESULTS: the
 * results' bytes, the seconds of each run, and the bytes of workspace used.  ENGINE: 0 merged queues, 1 queues as
 * threads.  Compiled with XLAC_ENTRY, the module's C symbol. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/block_file.h"
#include "runtime/queue_threads.h"
#include "runtime/runner.h"
#include "runtime/thread_pool.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define XLAC_DESCRIPTOR JOIN(XLAC_ENTRY, _descriptor)

extern const XlacDescriptor XLAC_DESCRIPTOR;
int XLAC_ENTRY(const void *const *arguments, void *const *results, void *workspace, const XlacRunOptions *options);

enum { WORD_ENGINE = 1, WORD_WORKERS, WORD_RUNS, WORD_ARGUMENTS, WORD_RESULTS, WORD_COUNT };

static FileBlock *blocks_of(Arena *arena, const XlacTensor *tensors, void *const *storage, int64_t count,
                            int64_t extra) {
  FileBlock *blocks = ARENA_NEW_ARRAY(arena, FileBlock, count + extra);
  for (int64_t i = 0; i < count; i++) blocks[i] = (FileBlock){storage[i], tensors[i].bytes};
  return blocks;
}

static Status execute(Arena *arena, char **words, const XlacRunOptions *options, DiagSink *diag) {
  const XlacDescriptor *descriptor = &XLAC_DESCRIPTOR;
  int64_t runs = strtoll(words[WORD_RUNS], NULL, 10), results = descriptor->result_count;
  ModuleRun *run = runner_create(arena, XLAC_ENTRY, descriptor, options);
  FileBlock *blocks = blocks_of(arena, descriptor->parameters, run->arguments, descriptor->parameter_count, 0);
  RETURN_IF_ERROR(block_file_read(words[WORD_ARGUMENTS], blocks, descriptor->parameter_count, diag));
  double *seconds = ARENA_NEW_ARRAY(arena, double, runs);
  for (int64_t i = 0; i < runs; i++) RETURN_IF_ERROR(runner_execute(run, diag, &seconds[i]));
  blocks = blocks_of(arena, descriptor->results, run->results, results, 2);
  blocks[results] = (FileBlock){seconds, runs * (int64_t)sizeof *seconds};
  blocks[results + 1] = (FileBlock){&run->workspace_bytes, sizeof run->workspace_bytes};
  return block_file_write(words[WORD_RESULTS], blocks, results + 2, diag);
}

int main(int count, char **words) {
  if (count != WORD_COUNT) return 2;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  ThreadPool *threads = thread_pool_create(arena, strtoll(words[WORD_WORKERS], NULL, 10));
  QueueThreads *queues = queue_threads_create(arena, NULL);
  bool has_queue_threads = words[WORD_ENGINE][0] == '1';
  XlacRunOptions options = {.struct_size = sizeof options,
                            .abi_version = XLAC_ABI_VERSION,
                            .user_data = threads,
                            .parallel_for = thread_pool_parallel_for,
                            .worker_count = thread_pool_worker_count(threads),
                            .oncore_launch = has_queue_threads ? queue_threads_launch : NULL,
                            .oncore_data = queues};
  Status status = execute(arena, words, &options, &diag);
  for (const Diagnostic *at = diag.first; at != NULL; at = at->next)
    fprintf(stderr, "%s: %.*s\n", words[0], SV_ARG(at->message));
  queue_threads_destroy(queues);
  thread_pool_destroy(threads);
  arena_destroy(arena);
  return status == STATUS_OK ? 0 : 1;
}
