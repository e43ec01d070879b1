/* QueueThreads: an engine for kernels of a vector processor (xlac/abi.h) that runs each queue on a thread of its
 * own.
 *
 * A queue's progress is a 64-bit counter that its thread alone advances; a thread that waits for it spins for a while
 * and then sleeps.  What a command wrote is visible to every command that has waited for it. */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_THREADS_H
#define XLAC_RUNTIME_ENGINES_QUEUE_THREADS_H

#include "base/arena.h"
#include "xlac/abi.h"

enum { QUEUE_THREADS_MOST = 64 };

typedef struct QueueThreads QueueThreads;

/* An observer of the engine.  |begin| and |end| are called in the caller's thread, before the first command of a kernel
 * and after the last; |waited| and |completed| in the thread of a queue: it has waited for |count| commands of |other|;
 * it has done its next command, and no other thread can know of that yet. */
typedef struct QueueWatcher {
  void *data;
  void (*begin)(void *data, const XlacOncoreKernel *kernel, const XlacOncoreContext *context);
  void (*waited)(void *data, int64_t queue, int64_t other, int64_t count);
  void (*completed)(void *data, int64_t queue);
  void (*end)(void *data);
} QueueWatcher;

/* Threads are started by the first kernels that need them.  |watcher|: NULL for none.  Lives in |arena|; ended by
 * queue_threads_destroy. */
QueueThreads *queue_threads_create(Arena *arena, const QueueWatcher *watcher);
void queue_threads_destroy(QueueThreads *threads);

/* XlacRunOptions.oncore_launch, with the QueueThreads as its data; one kernel at a time.  0 or
 * QUEUE_THREADS_TOO_FEW: the system gives no more threads, or the kernel has more than QUEUE_THREADS_MOST queues. */
enum { QUEUE_THREADS_TOO_FEW = 100 };
int queue_threads_launch(void *threads, const XlacOncoreKernel *kernel, const XlacOncoreContext *context);

#endif
