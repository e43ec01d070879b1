#include "base/guarded_call.h"

#include <setjmp.h>
#include <stddef.h>

typedef struct Guard {
  jmp_buf place;
  CallFailure *failure;
  GuardedArena *arenas; /* created inside the call and not destroyed, the newest first */
  struct Guard *outer;
} Guard;

static _Thread_local Guard *innermost;

static void destroy_arenas(Guard *guard) {
  while (guard->arenas != NULL) arena_destroy(guard->arenas->arena);
}

/* They are what the call made. */
static void release_arenas(Guard *guard) {
  for (GuardedArena *entry = guard->arenas, *next; entry != NULL; entry = next) {
    next = entry->next;
    *entry = (GuardedArena){.arena = entry->arena};
  }
}

CallOutcome guarded_call(void (*function)(void *data), void *data, CallFailure *out_failure) {
  Guard guard = {.failure = out_failure, .outer = innermost};
  *out_failure = (CallFailure){0};
  innermost = &guard;
  if (setjmp(guard.place) == 0) {
    function(data);
    innermost = guard.outer;
    release_arenas(&guard);
    return CALL_RETURNED;
  }
  innermost = guard.outer;
  destroy_arenas(&guard);
  return out_failure->outcome;
}

bool guarded_call_is_active(void) {
  return innermost != NULL;
}

_Noreturn void guarded_call_fail(const CallFailure *failure) {
  Guard *guard = innermost;
  *guard->failure = *failure;
  longjmp(guard->place, 1);
}

void guarded_call_add_arena(GuardedArena *entry, Arena *arena) {
  entry->arena = arena;
  if (innermost == NULL) return;
  GuardedArena **list = &innermost->arenas;
  *entry = (GuardedArena){.arena = arena, .next = *list, .list = list};
  if (*list != NULL) (*list)->previous = entry;
  *list = entry;
}

void guarded_call_remove_arena(GuardedArena *entry) {
  if (entry->list == NULL) return;
  if (entry->next != NULL) entry->next->previous = entry->previous;
  *(entry->previous != NULL ? &entry->previous->next : entry->list) = entry->next;
}
