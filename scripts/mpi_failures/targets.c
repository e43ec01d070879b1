/* Custom calls that go wrong on device 1: operands are an f32[4], which is the result, and the device's u32[]. */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "xlac/ffi.h"

static int is_here(void *out, const void **in) {
  memcpy(out, in[0], 4 * sizeof(float));
  return *(const uint32_t *)in[1] == 1;
}

void fails_here(void *out, const void **in, XlaCustomCallStatus *status);
void dies_here(void *out, const void **in, XlaCustomCallStatus *status);
void hangs_here(void *out, const void **in, XlaCustomCallStatus *status);

void fails_here(void *out, const void **in, XlaCustomCallStatus *status) {
  if (is_here(out, in)) XlaCustomCallStatusSetFailure(status, "not here", 8);
}

void dies_here(void *out, const void **in, XlaCustomCallStatus *status) {
  (void)status;
  if (is_here(out, in)) kill(getpid(), SIGKILL);
}

void hangs_here(void *out, const void **in, XlaCustomCallStatus *status) {
  (void)status;
  if (!is_here(out, in)) return;
  for (;;) pause();
}
