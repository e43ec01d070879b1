#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void xlac_bug_at(const char *file, int line, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  /* What was already printed should stand before the message. */
  fflush(stdout);
  fprintf(stderr, "xlac: bug at %s:%d: %s\n", file, line, message);
  fflush(stderr);
  abort();
}
