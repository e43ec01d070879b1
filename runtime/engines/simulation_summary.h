/* SimulationSummary: what a run on a simulated vector processor took, and why not less, as text and as JSON. */
#ifndef XLAC_RUNTIME_ENGINES_SIMULATION_SUMMARY_H
#define XLAC_RUNTIME_ENGINES_SIMULATION_SUMMARY_H

#include "base/json_writer.h"
#include "runtime/engines/queue_simulator.h"

/* What the compiler knows of a run of the module; 0: it does not. */
typedef struct SimulationForecast {
  double estimate; /* cycles of its plans, by the arithmetic that chose them */
  double bound;    /* cycles, whatever the plans */
  int64_t bytes;   /* of its arguments and results, which have to be moved once */
} SimulationForecast;

/* A wait of one kernel. */
typedef struct SummarisedWait {
  const SimulatedKernel *kernel;
  const QueueWait *wait;
  const XlacOncoreKernel *of; /* what is waited for is a command of this one */
} SummarisedWait;

/* Sums over all launches of the simulator's run. */
typedef struct SimulationSummary {
  const QueueSimulator *simulator;
  SimulationForecast forecast;
  SimulatedKernel all; /* |kernel| NULL, no waits */
  int64_t wait_count;
  const SummarisedWait *waits; /* the longest in all first */
} SimulationSummary;

/* In |arena|, of a simulator that stays as it is. */
SimulationSummary simulation_summary_make(Arena *arena, const QueueSimulator *simulator, SimulationForecast forecast);

/* A few lines: cycles, bounds, traffic, edges, queues, the longest waits with what they are for. */
void simulation_summary_text(StringBuilder *out, const SimulationSummary *summary);

/* An object with all of it, and a row for each kernel. */
void simulation_summary_json(JsonWriter *json, const SimulationSummary *summary);

#endif
