#include "runtime/engines/queue_trace.h"

#include <stddef.h>

static void record(void *data, int64_t command, int64_t variant, void *const *pointers, const int64_t *parameters) {
  QueueTrace *trace = data;
  const XlacOncoreCommand *of = &trace->kernel->commands[command];
  TracedCommand traced = {(int32_t)command, (int32_t)variant, trace->pointers.count, trace->parameters.count};
  for (int64_t p = 0; p < of->pointer_count; p++) array_push(&trace->pointers, trace->arena, pointers[p]);
  for (int64_t p = 0; p < of->parameter_count; p++) array_push(&trace->parameters, trace->arena, parameters[p]);
  array_push(&trace->commands, trace->arena, traced);
}

/* Growing done, parameters stand still: pointers to them can be set. */
static void bind_parameters(QueueTrace *trace) {
  for (int64_t i = 0; i < trace->commands.count; i++) {
    const TracedCommand *traced = &trace->commands.data[i];
    const XlacOncoreCommand *of = queue_trace_command(trace, i);
    if (of->parameter_count == 0) continue;
    for (int64_t p = 0; p < of->pointer_count; p++) {
      if (of->objects[p] != XLAC_ONCORE_PARAMETERS) continue;
      trace->pointers.data[traced->first_pointer + p] = trace->parameters.data + traced->first_parameter;
    }
  }
}

void queue_trace_record(QueueTrace *trace, Arena *arena, const XlacOncoreKernel *kernel,
                        const XlacOncoreContext *context) {
  *trace = (QueueTrace){.arena = arena, .kernel = kernel, .context = context};
  kernel->trace(context, trace, record);
  bind_parameters(trace);
}

const XlacOncoreCommand *queue_trace_command(const QueueTrace *trace, int64_t number) {
  return &trace->kernel->commands[trace->commands.data[number].command];
}

const XlacOncoreVariant *queue_trace_variant(const QueueTrace *trace, int64_t number) {
  return &queue_trace_command(trace, number)->variants[trace->commands.data[number].variant];
}

int64_t queue_trace_descriptors(const QueueTrace *trace, int64_t number) {
  const XlacOncoreKernel *kernel = trace->kernel;
  const TracedCommand *traced = &trace->commands.data[number];
  bool is_older = kernel->struct_size < offsetof(XlacOncoreKernel, descriptors) + sizeof kernel->descriptors;
  return is_older || kernel->descriptors == NULL ? 1 : kernel->descriptors[traced->command][traced->variant];
}

uint64_t queue_trace_barrier(const QueueTrace *trace, int64_t number) {
  const XlacOncoreKernel *kernel = trace->kernel;
  bool is_older = kernel->struct_size < offsetof(XlacOncoreKernel, barriers) + sizeof kernel->barriers;
  return is_older || kernel->barriers == NULL ? 0 : kernel->barriers[trace->commands.data[number].command];
}

XlacOncoreReach queue_trace_reach(const QueueTrace *trace, int64_t number, int64_t edge) {
  const XlacOncoreKernel *kernel = trace->kernel;
  bool is_older = kernel->struct_size < offsetof(XlacOncoreKernel, reaches) + sizeof kernel->reaches;
  if (is_older || kernel->reaches == NULL) return (XlacOncoreReach){0};
  return kernel->reaches[trace->commands.data[number].command][edge];
}

OwnBytes queue_trace_own(const QueueTrace *trace) {
  const XlacOncoreKernel *kernel = trace->kernel;
  bool is_older = kernel->struct_size < offsetof(XlacOncoreKernel, residents) + sizeof kernel->residents;
  if (is_older) return (OwnBytes){0, kernel->buffer_bytes, 0, NULL};
  return (OwnBytes){kernel->own_begin, kernel->own_end, kernel->resident_count, kernel->residents};
}

bool queue_trace_access(const QueueTrace *trace, int64_t number, int64_t access, TracedAccess *out_access) {
  const XlacOncoreAccess *of = &queue_trace_variant(trace, number)->accesses[access];
  int64_t object = queue_trace_command(trace, number)->objects[of->pointer];
  if (object == XLAC_ONCORE_PARAMETERS) return false;
  *out_access = (TracedAccess){.object = object, .is_write = (of->flags & XLAC_ONCORE_WRITES) != 0};
  if ((of->flags & XLAC_ONCORE_ANYWHERE) != 0) {
    out_access->begin = trace->context->objects[object];
    out_access->bytes = trace->kernel->objects[object].bytes;
    return true;
  }
  char *pointer = trace->pointers.data[trace->commands.data[number].first_pointer + of->pointer];
  out_access->begin = pointer + of->offset;
  out_access->bytes = of->bytes;
  out_access->level_count = of->level_count;
  out_access->levels = of->levels;
  return true;
}
