/* Prints s * -1 + a * a, s being a * a rounded, as the compiled dot product sums it: 0 with two roundings a step, what
 * the rounding lost with fma.  Then whether all elements are equal, and the workspace's size. */
#include <stdio.h>
#include <stdlib.h>

#include "residual.h"

enum { M = 48, K = 64, N = 96 };

int main(void) {
  static float x[M * K], y[K * N], out[M * N];
  const float a = 1.0f + 1.0f / 4096, square = 1.0f + 1.0f / 2048; /* exactly: + 2^-24 */
  for (int i = 0; i < M; i++) x[i * K] = square, x[i * K + 1] = a;
  for (int j = 0; j < N; j++) y[j] = -1, y[N + j] = a;
  const void *arguments[] = {x, y};
  void *results[] = {out};
  size_t bytes = (size_t)residual_descriptor.workspace_bytes;
  void *workspace = aligned_alloc((size_t)residual_descriptor.workspace_alignment, (bytes + 64) / 64 * 64);
  if (residual(arguments, results, workspace, NULL) != 0) return 1;
  int equal = 1;
  for (int i = 0; i < M * N; i++) equal &= out[i] == out[0];
  printf("%g %s %zu\n", (double)out[0], equal ? "everywhere" : "in places", bytes);
  free(workspace);
  return 0;
}
