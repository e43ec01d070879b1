/* Guarded calls: how a program that must not end together with the compiler calls it.
 *
 * A lack of memory and a bug of xlac's own are no error values: out_of_memory and XLAC_BUG do not return
 * (base/status.h).  Inside a guarded call they come back to whoever made that call, by longjmp.  What lies between is
 * left as it was: arenas that were created inside the call are destroyed; what a library had allocated there, LLVM
 * above all, is lost, and a lock that it held stays locked.  So a guarded call that failed says: give up this piece of
 * work; it does not promise that the next one succeeds.
 *
 * A guard is of one thread.  A thread that works for a guarded one makes guarded calls itself and hands a failure on
 * (guarded_call_fail).  While the call lasts, an arena that it created is destroyed by its own thread alone. */
#ifndef XLAC_BASE_GUARDED_CALL_H
#define XLAC_BASE_GUARDED_CALL_H

#include <stdbool.h>

#include "base/arena.h"

typedef enum CallOutcome { CALL_RETURNED, CALL_OUT_OF_MEMORY, CALL_MET_BUG } CallOutcome;

typedef struct CallFailure {
  CallOutcome outcome;
  size_t bytes;      /* CALL_OUT_OF_MEMORY: how many more were needed, 0: not known */
  char message[512]; /* CALL_MET_BUG: file, line and what is wrong */
} CallFailure;

/* Calls |function|(|data|); CALL_RETURNED when it comes back, otherwise |out_failure| says why not.  Calls may be
 * nested: the innermost one fails. */
MUST_USE CallOutcome guarded_call(void (*function)(void *data), void *data, CallFailure *out_failure);

/* Whether this thread is inside a guarded call. */
bool guarded_call_is_active(void);

/* Ends the innermost guarded call of this thread, which must be inside one, with |failure|. */
_Noreturn void guarded_call_fail(const CallFailure *failure);

/* --- for arenas --- */

/* What a guarded call has to destroy when it fails; part of every arena. */
typedef struct GuardedArena {
  Arena *arena;
  struct GuardedArena *previous, *next;
  struct GuardedArena **list; /* of the call that it was created in; NULL: none, or that call is over */
} GuardedArena;

/* |entry| is of an arena that was just created. */
void guarded_call_add_arena(GuardedArena *entry, Arena *arena);
void guarded_call_remove_arena(GuardedArena *entry);

#endif
