/* XlacThreadPool: threads for compiled code, as XlacRunOptions.parallel_for wants them (xlac/abi.h).
 *
 *   XlacThreadPool *pool = xlac_thread_pool_create(xlac_thread_pool_processor_count());
 *   XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION};
 *   options.user_data = pool;
 *   options.parallel_for = xlac_thread_pool_parallel_for;
 *   options.worker_count = xlac_thread_pool_worker_count(pool);
 *
 * Needs POSIX threads, C11's atomics, and nothing of xlac but this header and thread_pool.c.
 *
 * The thread that calls is worker 0 of its job and takes chunks like the others, from the first one up; the pool's own
 * threads, numbered from 1, help as soon as they get to it, from the last one down.  A job is over when all its chunks
 * are finished: a thread that is late, busy or was never started is not waited for.  Who waits, for chunks of others or
 * for the next job, spins for a quarter of the time that a chunk took, 100 to 250 microseconds, in which the next
 * Kernel usually comes, then for about as long as a chunk took, a millisecond at most, in which it lets others have the
 * processor, and then sleeps.
 *
 * Any number of threads may call at the same time, and a body may call again (it is worker 0 of the inner job): each
 * call is a job of its own in a list, newest first, so that inner jobs, which outer ones wait for, are helped first.
 * A thread works on one job at a time, hence bodies of one job that run at once have different worker numbers.
 *
 * Why there are no races.  The list and the counts of finished chunks and of helpers are only touched under the pool's
 * mutex.  A helper counts itself in before it reads the job, and out after its last look at it; the caller, on whose
 * stack the job lies, takes the job off the list and returns when no worker is counted in.  A chunk is claimed by one
 * atomic addition, and then is the caller's next from the first one up, or the next from the last one down, by another
 * addition: as no more are claimed than there are, each is run once.  Claiming orders nothing and need not: what the
 * caller wrote before the call is handed over by the mutex when the helper counts itself in, what bodies wrote when it
 * counts itself out. */
#ifndef XLAC_THREAD_POOL_H
#define XLAC_THREAD_POOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct XlacThreadPool XlacThreadPool;

/* A pool for |worker_count| >= 1 workers, the calling thread being one; threads start with the first job, fewer where
 * the system has no more.  NULL: there is not enough memory, or no worker.  Ended by xlac_thread_pool_destroy, when no
 * job is running.
 */
XlacThreadPool *xlac_thread_pool_create(int64_t worker_count);
void xlac_thread_pool_destroy(XlacThreadPool *pool); /* nothing for NULL */
int64_t xlac_thread_pool_worker_count(const XlacThreadPool *pool);

/* Runs |body|(|context|, i, worker) once for each i in [0, n) and returns when all are done.  |pool| is the
 * XlacThreadPool: this is XlacRunOptions.parallel_for with the pool as user_data. */
void xlac_thread_pool_parallel_for(void *pool, void (*body)(void *context, int64_t index, int64_t worker),
                                   void *context, int64_t n);

/* Processors that this process may run on: those of its affinity mask, and no more than control groups give it the time
 * of. */
int64_t xlac_thread_pool_processor_count(void);

/* How many processors' time, rounded up, Linux's control groups give the process that is in those that the file
 * |groups| lists (/proc/self/cgroup), whose files are below |mount| (/sys/fs/cgroup): the least of a group and those
 * above it, of either version (cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us).  0: no limit, or nothing to read. */
int64_t xlac_thread_pool_quota(const char *groups, const char *mount);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
