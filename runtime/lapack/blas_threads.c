#include "runtime/lapack/blas_threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* OpenBLAS's own names; weak: another BLAS does not have them. */
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int count) __attribute__((weak));

/* OpenBLAS has one number of threads for the whole process, so what it was is kept for the whole process too. */
static struct {
  pthread_mutex_t mutex;
  int64_t calls; /* under way */
  int before;    /* the program's number of threads; 1: nothing to put back */
} state = {PTHREAD_MUTEX_INITIALIZER, 0, 1};

static bool is_openblas(void) {
  return openblas_get_num_threads != NULL && openblas_set_num_threads != NULL;
}

void blas_threads_begin(void) {
  if (!is_openblas()) return;
  pthread_mutex_lock(&state.mutex);
  if (state.calls++ == 0) {
    state.before = openblas_get_num_threads();
    if (state.before != 1) openblas_set_num_threads(1);
  }
  pthread_mutex_unlock(&state.mutex);
}

void blas_threads_end(void) {
  if (!is_openblas()) return;
  pthread_mutex_lock(&state.mutex);
  bool is_ours = --state.calls == 0 && state.before != 1 && openblas_get_num_threads() == 1;
  if (is_ours) openblas_set_num_threads(state.before);
  pthread_mutex_unlock(&state.mutex);
}
