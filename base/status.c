#include "base/status.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/guarded_call.h"

_Noreturn void xlac_bug_at(const char *file, int line, const char *format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (guarded_call_is_active()) {
    CallFailure failure = {.outcome = CALL_MET_BUG};
    snprintf(failure.message, sizeof failure.message, "%s:%d: %s", file, line, message);
    guarded_call_fail(&failure);
  }
  /* What was already printed should stand before the message. */
  fflush(stdout);
  fprintf(stderr, "xlac: bug at %s:%d: %s\n", file, line, message);
  fflush(stderr);
  abort();
}

static _Atomic(OutOfMemoryHandler) out_of_memory_handler;

void out_of_memory_set_handler(OutOfMemoryHandler handler) {
  atomic_store(&out_of_memory_handler, handler);
}

bool out_of_memory_is_handled(void) {
  return guarded_call_is_active() || atomic_load(&out_of_memory_handler) != NULL;
}

_Noreturn void out_of_memory(size_t bytes) {
  if (guarded_call_is_active()) guarded_call_fail(&(CallFailure){.outcome = CALL_OUT_OF_MEMORY, .bytes = bytes});
  OutOfMemoryHandler handler = atomic_load(&out_of_memory_handler);
  if (handler != NULL) handler(bytes);
  fprintf(stderr, "xlac: out of memory: %zu bytes\n", bytes);
  abort();
}
