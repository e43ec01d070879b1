/* Calls a module for a vector processor: without options, with options of a time before engines, with an engine that runs
 * the kernel itself, and with one that fails. */
#include <stdio.h>
#include <string.h>

#include "oncore_module.h"

enum { COUNT = 5000 };

static _Alignas(64) char workspace[1 << 20];
static float x[COUNT], y[COUNT];

typedef struct Seen {
  int kernels, commands;
  int result;
} Seen;

static void count_command(void *data, int64_t command, int64_t variant, void *const *pointers, const int64_t *parameters) {
  Seen *seen = data;
  (void)command, (void)variant, (void)pointers, (void)parameters;
  seen->commands++;
}

static int launch(void *data, const XlacOncoreKernel *kernel, const XlacOncoreContext *context) {
  Seen *seen = data;
  seen->kernels++;
  kernel->trace(context, seen, count_command);
  if (seen->result == 0) kernel->run(context);
  return seen->result;
}

static const char *verdict(void) {
  for (int i = 0; i < COUNT; i++)
    if (y[i] != x[i] * x[i] + 1) return "wrong";
  return "right";
}

static int call(const XlacRunOptions *options) {
  const void *arguments[] = {x};
  void *results[] = {y};
  memset(y, 0xFF, sizeof y);
  return oncore_module(arguments, results, workspace, options);
}

int main(void) {
  if (oncore_module_descriptor.workspace_bytes > (int64_t)sizeof workspace) return 1;
  for (int i = 0; i < COUNT; i++) x[i] = (float)(i % 97);
  int result = call(NULL);
  printf("alone: %d %s\n", result, verdict());
  Seen seen = {0};
  XlacRunOptions options = {
      .struct_size = 48, .abi_version = XLAC_ABI_VERSION, .oncore_launch = launch, .oncore_data = &seen};
  result = call(&options);
  printf("older options: %d %s, %d kernels\n", result, verdict(), seen.kernels);
  options.struct_size = sizeof options;
  result = call(&options);
  printf("engine: %d %s, %d kernels, %s commands\n", result, verdict(), seen.kernels, seen.commands > 0 ? "some" : "no");
  seen.result = 3;
  printf("failing engine: %d\n", call(&options));
  return 0;
}
