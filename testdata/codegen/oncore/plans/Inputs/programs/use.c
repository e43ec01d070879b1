/* Links the four programs and compares what they compute with loops that do the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "histogram.h"
#include "matmul.h"
#include "saxpy.h"
#include "softmax.h"

static int failures;

static void call(XlacFunction function, const XlacDescriptor *about, const void *const *arguments,
                 void *const *results) {
  size_t alignment = (size_t)about->workspace_alignment;
  size_t bytes = ((size_t)about->workspace_bytes + alignment - 1) / alignment * alignment;
  void *workspace = aligned_alloc(alignment, bytes);
  failures += function(arguments, results, workspace, NULL) != 0;
  free(workspace);
}

static void expect(const char *what, int place, double wanted, double found, double tolerance) {
  if (fabs(wanted - found) <= tolerance) return;
  if (failures++ < 10) printf("%s[%d]: %g, and it should be %g\n", what, place, found, wanted);
}

static float number(int i) {
  return (float)((i * 37 + 11) % 64 - 32) / 8;
}

static void try_saxpy(void) {
  static float a = 3, x[3072], y[3072], sum[3072];
  for (int i = 0; i < 3072; i++) x[i] = number(i), y[i] = number(i + 5);
  call(saxpy, &saxpy_descriptor, (const void *[]){&a, x, y}, (void *[]){sum});
  for (int i = 0; i < 3072; i++) expect("saxpy", i, a * x[i] + y[i], sum[i], 0);
}

static void try_softmax(void) {
  static float x[64][48], shares[64][48];
  for (int i = 0; i < 64 * 48; i++) x[i / 48][i % 48] = number(i);
  call(softmax, &softmax_descriptor, (const void *[]){x}, (void *[]){shares});
  for (int r = 0; r < 64; r++) {
    double sum = 0;
    for (int i = 0; i < 48; i++) sum += exp(x[r][i]);
    for (int i = 0; i < 48; i++) expect("softmax", r * 48 + i, exp(x[r][i]) / sum, shares[r][i], 1e-6);
  }
}

static void try_matmul(void) {
  static float a[32][64], b[64][48], c[32][48];
  for (int i = 0; i < 32 * 64; i++) a[i / 64][i % 64] = number(i);
  for (int i = 0; i < 64 * 48; i++) b[i / 48][i % 48] = number(i + 3);
  call(matmul, &matmul_descriptor, (const void *[]){a, b}, (void *[]){c});
  for (int m = 0; m < 32; m++) {
    for (int n = 0; n < 48; n++) {
      double sum = 0; /* of multiples of 1/64 below 2^10: exact in floats of any order */
      for (int k = 0; k < 64; k++) sum += (double)a[m][k] * b[k][n];
      expect("matmul", m * 48 + n, sum, c[m][n], 0);
    }
  }
}

static void try_histogram(void) {
  static int x[2048], counts[16], wanted[16];
  for (int i = 0; i < 2048; i++) x[i] = i * i % 23; /* some are of no class */
  for (int i = 0; i < 2048; i++) wanted[x[i] < 16 ? x[i] : 0] += x[i] < 16;
  call(histogram, &histogram_descriptor, (const void *[]){x}, (void *[]){counts});
  for (int i = 0; i < 16; i++) expect("histogram", i, wanted[i], counts[i], 0);
}

int main(void) {
  try_saxpy();
  try_softmax();
  try_matmul();
  try_histogram();
  printf("%d failures\n", failures);
  return failures > 0;
}
