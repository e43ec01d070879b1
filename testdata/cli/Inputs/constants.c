/* A model with its large constants in a file, and the same one with them in the object: both results, and what goes
 * wrong. */
#include "xlac/constants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apart.h"
#include "within.h"

static void tell(void *data, const XlacFailure *failure) {
  (void)data;
  printf("'%s', %s: %s\n", failure->instruction, failure->callee, failure->message);
}

static void try(const char *path, const XlacDescriptor *descriptor) {
  char why[256];
  const XlacConstants *constants = xlac_constants_open(path, descriptor, why, sizeof why);
  printf("%s\n", constants == NULL ? why : "opened");
  xlac_constants_close(constants);
}

int main(int argc, char **argv) {
  static float scale[1] = {2}, apart_result[2][3000], within_result[2][3000];
  static _Alignas(64) unsigned char workspace[1 << 20];
  const void *arguments[] = {scale};
  void *apart_results[] = {apart_result[0], apart_result[1]}, *within_results[] = {within_result[0], within_result[1]};
  if (argc != 3 || sizeof workspace < APART_WORKSPACE_BYTES) return 2;
  const XlacConstants *constants = xlac_constants_open(argv[1], &apart_descriptor, NULL, 0);
  if (constants == NULL) return 2;
  XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION, .on_failure = tell};
  printf("none: %d\n", apart(arguments, apart_results, workspace, NULL));
  printf("without: %d\n", apart(arguments, apart_results, workspace, &options));
  options.struct_size = offsetof(XlacRunOptions, constants);
  printf("older: %d\n", apart(arguments, apart_results, workspace, &options));
  options.struct_size = sizeof options;
  XlacConstants other = *constants;
  other.hash++;
  options.constants = &other;
  printf("other: %d\n", apart(arguments, apart_results, workspace, &options));
  options.constants = constants;
  printf("with: %d\n", apart(arguments, apart_results, workspace, &options));
  if (within(arguments, within_results, workspace, NULL) != 0) return 2;
  printf("%s\n", memcmp(apart_result, within_result, sizeof apart_result) == 0 ? "same" : "different");
  printf("%g %g %g\n", apart_result[0][0], apart_result[0][1], apart_result[0][2999]);
  xlac_constants_close(constants);
  try("nowhere.weights", &apart_descriptor);
  try(argv[2], &apart_descriptor);
  try("apart.h", &apart_descriptor);
  try(argv[1], &within_descriptor);
  return 0;
}
