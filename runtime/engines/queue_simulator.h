/* QueueSimulator: an engine for kernels of a vector processor (xlac/abi.h) that looks at every command.
 *
 * A kernel's commands are recorded with the bytes they touch, and judged by hlo/machine: races, reads of bytes that
 * no command wrote, bounds, redundant edges, cycles.  Then they are done, in program order and in random orders that
 * the edges allow, each time with the Buffer full of 0xFF: all orders have to leave the same bytes in memory.  Or they
 * are done in one recorded order, unjudged. */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_SIMULATOR_H
#define XLAC_RUNTIME_ENGINES_QUEUE_SIMULATOR_H

#include "base/array.h"
#include "base/diagnostic.h"
#include "base/string_view.h"
#include "hlo/machine/stream/queue_waits.h"
#include "runtime/engines/queue_orders.h"
#include "runtime/engines/queue_timeline.h"
#include "xlac/abi.h"

/* What one of a kernel's commands waited for: |of| is the kernel of the command that is waited for, which in a run may
 * be one of an earlier launch. */
typedef struct SimulatedWait {
  QueueWait wait; /* labels: numbers of the kernels' commands */
  const XlacOncoreKernel *of;
} SimulatedWait;

/* One kernel, all its launches together.  In a run of launches (XlacOncoreRun) a launch takes the cycles from the
 * end of all before it to its own end. */
typedef struct SimulatedKernel {
  const XlacOncoreKernel *kernel;
  int64_t launches, commands, edges, redundant, barriers, races;
  int64_t bytes;        /* moved */
  int64_t again;        /* of these, loaded more than once in a launch; -1: too much to look at */
  double cycles, bound; /* the bound of its own commands */
  const char *limit;    /* of the last launch */
  QueueUse *queues;     /* by queue of the machine */
  ARRAY(SimulatedWait) waits;
} SimulatedKernel;

typedef struct QueueSimulator {
  Arena *arena;
  const MachineDescription *machine;
  int64_t order_count;       /* random orders beside the program's */
  StringBuilder *recording;  /* of each launch the order that was done last (queue_orders.h); NULL: not wanted */
  const QueueOrders *replay; /* the only orders that are done, from the first again after the last; NULL: none */
  int64_t replayed;          /* launches */
  QueueTimeline *timeline;   /* what is kept of the simulated times; NULL: nothing */
  DiagSink *diag;
  const XlacOncoreRun *next_run;    /* what the next launch begins; NULL: none */
  const XlacOncoreRun *open_run;    /* what |run| is the beginning of; NULL: launches that are in none */
  ARRAY(const struct Launch *) run; /* launches of a run that has not ended yet */
  ARRAY(SimulatedKernel) kernels;   /* of the run, in the order of their first launches */
  Status status;
} QueueSimulator;

/* All arguments have to outlive the simulator. */
void queue_simulator_init(QueueSimulator *simulator, Arena *arena, const MachineDescription *machine,
                          int64_t order_count, DiagSink *diag);

/* What is counted, in |kernels|, is counted from here on: another run of the module begins. */
void queue_simulator_begin_run(QueueSimulator *simulator);

/* XlacRunOptions.oncore_launch, with the QueueSimulator as its data.  1 after a diagnostic: a hazard ("oncore-…"), or
 * orders that differ ("oncore-orders"), or one to be done again that is of another kernel or not allowed
 * ("oncore-replay").  Memory holds what program order left, or the one done again. */
int queue_simulator_launch(void *simulator, const XlacOncoreKernel *kernel, const XlacOncoreContext *context);

/* XlacRunOptions.oncore_run: the launches of a run are timed together, when the last one is done, and hazards between
 * them are looked for.  Each is executed by itself, in the order of the launches. */
void queue_simulator_run(void *simulator, const XlacOncoreRun *run);

/* A table of kernels with a line for all. */
void queue_simulator_print(StringBuilder *out, const QueueSimulator *simulator);

#endif
