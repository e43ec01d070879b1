/* Calls a module without threads and with a parallel_for that runs chunks backwards as three workers, writing nonsense
 * over the scratch in between; says whether the results have the same bits and how many jobs and chunks there were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_module.h"

enum { SIDE = 300, WORKERS = 3 };

typedef struct Jobs {
  unsigned char *scratch;
  size_t scratch_bytes;
  int job_count, chunk_count;
} Jobs;

static void run_backwards(void *user_data, void (*body)(void *context, int64_t index, int64_t worker), void *context,
                          int64_t n) {
  Jobs *jobs = user_data;
  jobs->job_count++;
  for (int64_t i = n - 1; i >= 0; i--) {
    memset(jobs->scratch, 0xFF, jobs->scratch_bytes);
    body(context, i, i % WORKERS);
    jobs->chunk_count++;
  }
}

int main(void) {
  static float x[SIDE * SIDE], alone[SIDE * SIDE], shared[SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) x[i] = (float)(i % 1001) / 997;
  const XlacDescriptor *about = &shared_module_descriptor;
  size_t further = (WORKERS - 1) * (size_t)about->scratch_bytes_per_worker;
  size_t bytes = ((size_t)about->workspace_bytes + further + 63) / 64 * 64;
  unsigned char *workspace = aligned_alloc((size_t)about->workspace_alignment, bytes + 64);
  memset(workspace + bytes, 0xA5, 64);
  const void *arguments[] = {x};
  void *results[] = {alone};
  if (shared_module(arguments, results, workspace, NULL) != 0) return 1;
  Jobs jobs = {workspace + bytes - further, further, 0, 0};
  XlacRunOptions options = {sizeof options, XLAC_ABI_VERSION, 0, &jobs, run_backwards, WORKERS};
  results[0] = shared;
  if (shared_module(arguments, results, workspace, &options) != 0) return 1;
  int one_job = jobs.job_count;
  options.worker_count = 1; /* not worth a job */
  if (shared_module(arguments, results, workspace, &options) != 0) return 1;
  for (int i = 0; i < 64; i++) {
    if (workspace[bytes + (size_t)i] != 0xA5) return 2;
  }
  printf("%s bits, %d jobs, %d more, %s\n", memcmp(alone, shared, sizeof alone) == 0 ? "same" : "other", one_job,
         jobs.job_count - one_job, jobs.chunk_count > jobs.job_count ? "several chunks each" : "whole");
  free(workspace);
  return 0;
}
