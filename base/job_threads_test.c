#include "base/job_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/guarded_call.h"

enum { JOBS = 100 };

static void count_job(void *self, int64_t number) {
  atomic_fetch_add(&((atomic_int *)self)[number], 1);
}

static void job_threads_do_each_job_once(void **state) {
  (void)state;
  const int threads[] = {0, 1, 2, 7, 1000};
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    atomic_int counts[JOBS] = {0};
    job_threads_run(threads[t], JOBS, count_job, counts);
    for (int i = 0; i < JOBS; i++) assert_int_equal(counts[i], 1);
  }
  job_threads_run(2, 0, count_job, NULL);
}

static void fail_at_three(void *self, int64_t number) {
  count_job(self, number);
  if (number == 3) XLAC_BUG("job %d is wrong", (int)number);
}

static void run_failing_jobs(void *data) {
  job_threads_run(2, JOBS, fail_at_three, data);
}

/* Of this thread or another. */
static void job_threads_hand_failures_on(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    atomic_int counts[JOBS] = {0};
    CallFailure failure;
    assert_int_equal(guarded_call(run_failing_jobs, counts, &failure), CALL_MET_BUG);
    assert_non_null(strstr(failure.message, "job 3 is wrong"));
    assert_int_equal(counts[3], 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(job_threads_do_each_job_once),
      cmocka_unit_test(job_threads_hand_failures_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
