/* RaceAnnouncer: tells ThreadSanitizer what the commands of a vector processor's kernel touch and what they wait for.
 *
 * ThreadSanitizer knows what threads do to memory from instrumented code, and compiled modules have none.  So the bytes
 * of each command, known from the kernel's trace, are announced by the thread of its queue when it is complete, before
 * its count moves.  What orders two commands is what the object asks for and nothing else: each queue is a context of
 * the detector of its own (a fiber), and waiting for the n-th command of another one orders what comes after that
 * command, not after whatever the other has done by then.  So a wait that is missing shows in every run, however the
 * threads were scheduled.  That the engine's counters keep what they promise is a matter of its own: queue_threads_test
 * has instrumented commands for it. */
#ifndef XLAC_RUNTIME_ENGINES_RACE_ANNOUNCER_H
#define XLAC_RUNTIME_ENGINES_RACE_ANNOUNCER_H

#include "runtime/engines/queue_threads.h"

/* What QueueThreads take, in |arena|; NULL where this is built without ThreadSanitizer. */
const QueueWatcher *race_announcer_create(Arena *arena);
/* |watcher|: one of the above, or NULL. */
void race_announcer_destroy(const QueueWatcher *watcher);

#endif
