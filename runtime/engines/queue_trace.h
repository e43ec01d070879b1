/* QueueTrace: every command of one launch of a vector processor's kernel (xlac/abi.h), in program order, with the
 * bytes that it touches.  What an engine needs that looks at commands from outside. */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_TRACE_H
#define XLAC_RUNTIME_ENGINES_QUEUE_TRACE_H

#include <stdbool.h>

#include "base/array.h"
#include "xlac/abi.h"

typedef struct TracedCommand {
  int32_t command, variant;
  int64_t first_pointer, first_parameter;
} TracedCommand;

typedef struct QueueTrace {
  Arena *arena;
  const XlacOncoreKernel *kernel;
  const XlacOncoreContext *context;
  ARRAY(TracedCommand) commands;
  ARRAY(void *) pointers; /* those of a command from first_pointer on, as its function takes them */
  ARRAY(int64_t) parameters;
} QueueTrace;

/* Executes nothing.  Lives in |arena|; points into |kernel| and |context|. */
void queue_trace_record(QueueTrace *trace, Arena *arena, const XlacOncoreKernel *kernel,
                        const XlacOncoreContext *context);

/* Of instance |number|. */
const XlacOncoreCommand *queue_trace_command(const QueueTrace *trace, int64_t number);
const XlacOncoreVariant *queue_trace_variant(const QueueTrace *trace, int64_t number);
/* The queues that a barrier waits for, bit q for queue q; 0: no barrier. */
uint64_t queue_trace_barrier(const QueueTrace *trace, int64_t number);
/* More of its command's edge |edge|. */
XlacOncoreReach queue_trace_reach(const QueueTrace *trace, int64_t number, int64_t edge);
/* The bytes of the Buffer that are the kernel's own, and the arrays there that outlive it. */
typedef struct OwnBytes {
  int64_t begin, end;
  int64_t resident_count;
  const XlacOncoreResident *residents;
} OwnBytes;
OwnBytes queue_trace_own(const QueueTrace *trace);
/* Of a transfer: descriptors that the machine needs for it. */
int64_t queue_trace_descriptors(const QueueTrace *trace, int64_t number);

/* The bytes [begin + sum of i_k * stride_k, + bytes) for 0 <= i_k < count_k. */
typedef struct TracedAccess {
  int64_t object; /* of the kernel, or XLAC_ONCORE_BUFFER */
  bool is_write;
  char *begin;
  int64_t bytes, level_count;
  const XlacOncoreLevel *levels;
} TracedAccess;

/* Access |access| of instance |number|'s variant, all bytes of its object where it may be anywhere; false for one of
 * the instance's parameters, which no other instance shares. */
bool queue_trace_access(const QueueTrace *trace, int64_t number, int64_t access, TracedAccess *out_access);

#endif
