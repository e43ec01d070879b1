/* For shared libraries of custom calls, which find these in the program that loads them; codegen/call/call_status.ll is
 * the same for programs that objects are linked into, which is why memory is the C library's. */
#include <stdlib.h>
#include <string.h>

#include "xlac/ffi.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus *status) {
  free(status->message);
  status->message = NULL;
}

EXPORTED void XlaCustomCallStatusSetFailure(XlaCustomCallStatus *status, const char *message, size_t message_size) {
  free(status->message);
  status->message = strndup(message, message_size);
  if (status->message == NULL) abort();
}
