#include "base/job_threads.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/checked_math.h"
#include "base/guarded_call.h"

typedef struct JobRun {
  void (*job)(void *self, int64_t number);
  void *self;
  int64_t count;
  atomic_llong next; /* job that nobody has begun */
  bool is_guarded;   /* the caller's call is */
  atomic_flag has_failure;
  CallFailure failure; /* the first one */
} JobRun;

static void do_jobs(void *data) {
  JobRun *run = data;
  for (;;) {
    int64_t number = atomic_fetch_add(&run->next, 1);
    if (number >= run->count) return;
    run->job(run->self, number);
  }
}

static void *help(void *data) {
  JobRun *run = data;
  CallFailure failure;
  if (!run->is_guarded) {
    do_jobs(run);
  } else if (guarded_call(do_jobs, run, &failure) != CALL_RETURNED) {
    atomic_store(&run->next, run->count); /* nobody begins another one */
    if (!atomic_flag_test_and_set(&run->has_failure)) run->failure = failure;
  }
  return NULL;
}

void job_threads_run(int threads, int64_t count, void (*job)(void *self, int64_t number), void *self) {
  JobRun run = {.job = job, .self = self, .count = count, .is_guarded = guarded_call_is_active()};
  atomic_init(&run.next, 0);
  atomic_flag_clear(&run.has_failure);
  Arena *scratch = arena_create();
  int64_t most = min_i64(threads, count) - 1, helpers = 0;
  pthread_t *others = ARENA_NEW_ARRAY(scratch, pthread_t, max_i64(most, 0) + 1);
  while (helpers < most && pthread_create(&others[helpers], NULL, help, &run) == 0) helpers++;
  help(&run);
  for (int64_t i = 0; i < helpers; i++) pthread_join(others[i], NULL);
  arena_destroy(scratch);
  if (run.failure.outcome != CALL_RETURNED) guarded_call_fail(&run.failure);
}
