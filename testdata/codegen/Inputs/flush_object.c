/* Calls 'flushing' with threads of its own whose mode is the default, and looks at the mode of each afterwards. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <xmmintrin.h>

#include "flushing.h"

enum { COUNT = 400000, WORKERS = 2 };

typedef struct Work {
  void (*body)(void *context, int64_t index, int64_t worker);
  void *context;
  int64_t count, worker;
  unsigned mode;
} Work;

static void *work(void *argument) {
  Work *own = argument;
  for (int64_t i = own->worker; i < own->count; i += WORKERS) own->body(own->context, i, own->worker);
  own->mode = _mm_getcsr();
  return NULL;
}

static unsigned modes;
static int jobs;

static void parallel_for(void *user_data, void (*body)(void *, int64_t, int64_t), void *context, int64_t n) {
  Work works[WORKERS];
  pthread_t threads[WORKERS];
  unsigned mine = _mm_getcsr();
  (void)user_data;
  jobs++;
  _mm_setcsr(0x1f80); /* threads inherit it, as those would that were there before */
  for (int i = 0; i < WORKERS; i++) {
    works[i] = (Work){body, context, n, i, 0};
    pthread_create(&threads[i], NULL, work, &works[i]);
  }
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
  _mm_setcsr(mine);
  for (int i = 0; i < WORKERS; i++) modes |= works[i].mode;
}

static void report(const char *who, const float *result) {
  int zeros = 0;
  for (int i = 0; i < COUNT; i++) zeros += result[i] == 0;
  printf("%s: %d zeros, modes %s\n", who, zeros, (modes | _mm_getcsr()) & 0x8040 ? "changed" : "as before");
}

int main(void) {
  float *x = malloc(COUNT * sizeof *x), *result = malloc(COUNT * sizeof *result);
  for (int i = 0; i < COUNT; i++) x[i] = i % 2 ? 1e-39f : 2e-38f; /* half of each, both subnormal */
  void *workspace =
      malloc((size_t)(flushing_descriptor.workspace_bytes + flushing_descriptor.scratch_bytes_per_worker) + 64);
  flushing((const void *[]){x}, (void *[]){result}, workspace, NULL);
  report("alone", result);
  XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION};
  options.parallel_for = parallel_for;
  options.worker_count = WORKERS;
  flushing((const void *[]){x}, (void *[]){result}, workspace, &options);
  report(jobs > 0 ? "threads" : "nobody", result);
  return 0;
}
