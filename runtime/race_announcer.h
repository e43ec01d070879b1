/* RaceAnnouncer: tells a race detector what the commands of a vector processor's kernel touch.
 *
 * ThreadSanitizer knows what threads do to memory from instrumented code, and compiled modules have none.  So the bytes
 * of each command, known from the kernel's trace, are announced on the thread of its queue when it is complete, before
 * its count moves: what orders commands is then nothing but the counters of the engine, which the detector sees. */
#ifndef XLAC_RUNTIME_RACE_ANNOUNCER_H
#define XLAC_RUNTIME_RACE_ANNOUNCER_H

#include "runtime/queue_threads.h"

/* Told of consecutive bytes that the next command of |queue| has read or written; on that queue's thread. */
typedef void (*RaceListener)(void *data, int64_t queue, bool is_write, char *begin, int64_t bytes);

/* ThreadSanitizer, which needs no data; NULL where this was built without it. */
RaceListener race_listener_of_build(void);

/* What QueueThreads take; lives in |arena|. */
const QueueWatcher *race_announcer_create(Arena *arena, RaceListener listener, void *data);

#endif
