/* A model with a function that prepares, and the same one without: both results, in one thread and in two, and what
 * goes wrong. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixed.h"
#include "free.h"
#include "xlac/thread_pool.h"

static float x[40 * 24], w[96 * 24], gamma_[96], spread[96], v[96 * 32];
static float want[2][40 * 96], got[2][40 * 96];
static _Alignas(64) unsigned char workspace[1 << 20];
static _Alignas(FIXED_PREPARED_ALIGNMENT) unsigned char prepared[FIXED_PREPARED_BYTES + 64];

static void fill(float *values, int count, float from) {
  for (int i = 0; i < count; i++) values[i] = from + (float)(i * 37 % 101) / 101;
}

static void tell(void *data, const XlacFailure *failure) {
  (void)data;
  printf("'%s', %s: %s\n", failure->instruction, failure->callee, failure->message);
}

static const char *compare(void) {
  const char *same = memcmp(want, got, sizeof want) == 0 ? "same" : "different";
  memset(got, 0, sizeof got);
  return same;
}

int main(void) {
  const void *arguments[] = {x, w, gamma_, spread, v}, *weights[] = {NULL, w, gamma_, spread, v},
             *others[] = {x, NULL, NULL, NULL, v};
  void *wants[] = {want[0], want[1]}, *results[] = {got[0], got[1]};
  if (sizeof workspace < FREE_MODEL_WORKSPACE_BYTES || sizeof workspace < FIXED_WORKSPACE_BYTES) return 2;
  fill(x, 40 * 24, -0.5f), fill(w, 96 * 24, -0.4f), fill(gamma_, 96, 0.5f), fill(spread, 96, 0.1f), fill(v, 96 * 32, -0.6f);
  if (free_model(arguments, wants, workspace, NULL) != 0) return 2;
  printf("without: %lld %d\n", (long long)free_model_descriptor.prepared_bytes, free_model_descriptor.prepare == NULL);
  XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION, .on_failure = tell};
  printf("no options: %d\n", fixed(arguments, results, workspace, NULL));
  printf("not prepared: %d\n", fixed(arguments, results, workspace, &options));
  memset(prepared, 7, sizeof prepared);
  printf("prepare: %d\n", fixed_prepare(weights, prepared, workspace, NULL));
  for (int i = 0; i < 64; i++)
    if (prepared[FIXED_PREPARED_BYTES + i] != 7) return 3;
  options.prepared = prepared;
  options.struct_size = offsetof(XlacRunOptions, prepared);
  printf("older: %d\n", fixed(arguments, results, workspace, &options));
  options.struct_size = sizeof options;
  for (int i = 0; i < 2; i++) {
    memset(workspace, 0xFF, sizeof workspace);
    printf("run: %d", fixed(others, results, workspace, &options));
    printf(" %s\n", compare());
  }
  XlacThreadPool *threads = xlac_thread_pool_create(2);
  options.user_data = threads;
  options.parallel_for = xlac_thread_pool_parallel_for;
  options.worker_count = 2;
  const XlacDescriptor *about = &fixed_descriptor;
  if (about->prepared_bytes != FIXED_PREPARED_BYTES || about->prepared_alignment != FIXED_PREPARED_ALIGNMENT) return 4;
  memset(prepared, 0xFF, sizeof prepared);
  printf("prepare with threads: %d\n", about->prepare(weights, prepared, workspace, &options));
  printf("run with threads: %d", fixed(others, results, workspace, &options));
  printf(" %s\n", compare());
  xlac_thread_pool_destroy(threads);
  return 0;
}
