/* Jobs that do not need one another, done by several threads. */
#ifndef XLAC_BASE_JOB_THREADS_H
#define XLAC_BASE_JOB_THREADS_H

#include <stdint.h>

/* Calls |job|(|self|, n) once for each 0 <= n < |count|, by at most |threads| threads, this one included; they are
 * begun in order of their numbers.  Where the system gives no more threads, those that there are do the work.  Inside a
 * guarded call (base/guarded_call.h) a failure of any job is one of that call, once all threads have ended; arenas that
 * outlive a job are made by who calls this. */
void job_threads_run(int threads, int64_t count, void (*job)(void *self, int64_t number), void *self);

#endif
