#include "cli/watcher.h"

#include <errno.h>

int watcher_start(Watcher *watcher, void *(*body)(void *data), void *data) {
  *watcher = (Watcher){.what = "beginning"};
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&watcher->mutex, NULL);
  pthread_cond_init(&watcher->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  return pthread_create(&watcher->thread, NULL, body, data);
}

void watcher_end(Watcher *watcher) {
  pthread_mutex_lock(&watcher->mutex);
  watcher->is_over = true;
  pthread_cond_signal(&watcher->changed);
  pthread_mutex_unlock(&watcher->mutex);
  pthread_join(watcher->thread, NULL);
  pthread_cond_destroy(&watcher->changed);
  pthread_mutex_destroy(&watcher->mutex);
}

void watcher_doing(Watcher *watcher, const char *what, const char *name) {
  pthread_mutex_lock(&watcher->mutex);
  watcher->what = what;
  watcher->name = name;
  pthread_mutex_unlock(&watcher->mutex);
}

struct timespec watcher_time_after(double seconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time_t whole = (time_t)seconds;
  time.tv_sec += whole;
  time.tv_nsec += (long)((seconds - (double)whole) * 1e9);
  if (time.tv_nsec >= 1000000000) {
    time.tv_sec++;
    time.tv_nsec -= 1000000000;
  }
  return time;
}

bool watcher_wait(Watcher *watcher, const struct timespec *end) {
  int error = 0;
  while (!watcher->is_over && error != ETIMEDOUT)
    error = pthread_cond_timedwait(&watcher->changed, &watcher->mutex, end);
  return watcher->is_over;
}
