/* One launch of a kernel as the simulator sees it, and the run that it is of. */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_SIMULATOR_INTERNAL_H
#define XLAC_RUNTIME_ENGINES_QUEUE_SIMULATOR_INTERNAL_H

#include "hlo/machine/stream/command_stream.h"
#include "runtime/engines/queue_simulator.h"
#include "runtime/engines/queue_trace.h"

/* An array in memory, or one that outlives the kernel in the Buffer, or several that share bytes. */
typedef struct MemoryRegion {
  const char *name;
  char *begin;
  int64_t bytes;
  int64_t flags;
  int32_t stream_object;
} MemoryRegion;

/* One launch.  What is to be known of it when its run ends lives in |arena|. */
typedef struct Launch {
  QueueSimulator *simulator;
  Arena *arena, *scratch;
  const XlacOncoreKernel *kernel;
  const XlacOncoreContext *context; /* gone when the run ends */
  QueueTrace trace;
  MemoryRegion *regions; /* those in memory, then residents of the Buffer from |first_resident| on */
  int64_t region_count, first_resident;
  int64_t *region_of_object;
  bool has_strayed; /* a command touches bytes of the Buffer that are neither the kernel's own nor residents of it */
  CommandStream stream;
} Launch;

/* The kernel of |launch| among those of the simulator's run. */
SimulatedKernel *simulated_kernel(QueueSimulator *simulator, const XlacOncoreKernel *kernel);
/* Keeps |launch|, which is judged and done, and the launch's arena. */
void simulated_run_add(QueueSimulator *simulator, const Launch *launch);
/* Times the launches kept, judges what they wait for of one another, and forgets them.  STATUS_INVALID with a
 * diagnostic ("oncore-hazard") for a hazard. */
MUST_USE Status simulated_run_end(QueueSimulator *simulator);

/* Forgets the launches kept, of a run that was broken off. */
void simulated_run_forget(QueueSimulator *simulator);

#endif
