/* Watcher: a thread beside the work, which is told what is being done and acts as time passes. */
#ifndef XLAC_CLI_WATCHER_H
#define XLAC_CLI_WATCHER_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

typedef struct Watcher {
  pthread_t thread;
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t changed;
  bool is_over;
  const char *what, *name; /* what is being done, and to what; |name|: NULL for nothing of a name */
} Watcher;

/* Runs |body| with |data| in a thread of its own, until watcher_end.  Not 0: errno's number, and no thread. */
int watcher_start(Watcher *watcher, void *(*body)(void *data), void *data);
/* |is_over| becomes true; waits for the thread. */
void watcher_end(Watcher *watcher);

/* Both texts have to stay. */
void watcher_doing(Watcher *watcher, const char *what, const char *name);

/* The moment |seconds| from now, for watcher_wait. */
struct timespec watcher_time_after(double seconds);
/* For |body|, which holds the mutex: waits for |end| or until it is over, without the mutex meanwhile.  Whether it is
 * over. */
bool watcher_wait(Watcher *watcher, const struct timespec *end);

#endif
