/* Calls an object's function (made with --entry-name=entry) with exactly the memory that its descriptor asks for, on a
 * small stack: alone, and with four workers.  Says what it allocated meanwhile, as count_allocations.c saw it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlac/abi.h"

enum { WORKERS = 4, STACK_BYTES = 256 << 10, MARGIN = 4096, MARK = 0xA5 };

extern const XlacDescriptor entry_descriptor;
int entry(const void *const *arguments, void *const *results, void *workspace, const XlacRunOptions *options);
void allocations_read(int64_t *out_count, int64_t *out_bytes) __attribute__((weak));

/* |bytes| between marked margins. */
static char *guarded(int64_t bytes, int64_t alignment) {
  size_t size = ((size_t)bytes + 2 * MARGIN + (size_t)alignment - 1) / (size_t)alignment * (size_t)alignment;
  char *memory = aligned_alloc((size_t)alignment, size);
  if (memory == NULL) abort();
  memset(memory, 0, size);
  memset(memory, MARK, MARGIN);
  memset(memory + MARGIN + bytes, MARK, MARGIN);
  return memory + MARGIN;
}

static int is_intact(const char *memory, int64_t bytes) {
  for (int i = 0; i < MARGIN; i++) {
    if ((unsigned char)memory[i - MARGIN] != MARK || (unsigned char)memory[bytes + i] != MARK) return 0;
  }
  return 1;
}

static char *argument(const XlacTensor *tensor) {
  char *memory = guarded(tensor->bytes, 64);
  for (int64_t i = 0; tensor->type == XLAC_F32 && i < tensor->bytes / 4; i++)
    ((float *)(void *)memory)[i] = (float)(i * 7 % 16) / 16 + 0.03125f;
  return memory;
}

static void run_in_turn(void *user_data, void (*body)(void *context, int64_t index, int64_t worker), void *context,
                        int64_t n) {
  (void)user_data;
  for (int64_t i = 0; i < n; i++) body(context, i, i % WORKERS);
}

typedef struct Call {
  const void *const *arguments;
  void *const *results;
  void *workspace;
  const XlacRunOptions *options;
  int status;
  int64_t count, bytes;
} Call;

static void *make_call(void *data) {
  Call *call = data;
  int64_t count = 0, bytes = 0;
  if (allocations_read != NULL) allocations_read(&count, &bytes);
  call->status = entry(call->arguments, call->results, call->workspace, call->options);
  if (allocations_read != NULL) allocations_read(&call->count, &call->bytes);
  call->count -= count;
  call->bytes -= bytes;
  return NULL;
}

static int call_on_small_stack(Call *call) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0) return 0;
  if (pthread_create(&thread, &attributes, make_call, call) != 0) return 0;
  pthread_join(thread, NULL);
  return call->status == 0;
}

int main(void) {
  const XlacDescriptor *about = &entry_descriptor;
  const void **arguments = calloc((size_t)about->parameter_count + 1, sizeof *arguments);
  void **results = calloc((size_t)about->result_count + 1, sizeof *results);
  for (int64_t i = 0; i < about->parameter_count; i++) arguments[i] = argument(&about->parameters[i]);
  for (int64_t i = 0; i < about->result_count; i++) results[i] = guarded(about->results[i].bytes, 64);
  int good = allocations_read != NULL;
  for (int workers = 1; workers <= WORKERS; workers += WORKERS - 1) {
    int64_t bytes = about->workspace_bytes + (workers - 1) * about->scratch_bytes_per_worker;
    char *workspace = guarded(bytes, about->workspace_alignment < 64 ? 64 : about->workspace_alignment);
    XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION};
    options.parallel_for = workers > 1 ? run_in_turn : NULL;
    options.worker_count = workers;
    Call call = {arguments, results, workspace, &options, 1, 0, 0};
    good &= call_on_small_stack(&call);
    good &= is_intact(workspace, bytes);
    for (int64_t i = 0; i < about->result_count; i++) good &= is_intact(results[i], about->results[i].bytes);
    printf("%d workers: %lld bytes of workspace, %lld allocations of %lld bytes\n", workers, (long long)bytes,
           (long long)call.count, (long long)call.bytes);
  }
  if (!good) printf("FAILED\n");
  return good ? 0 : 1;
}
