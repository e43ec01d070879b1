/* What would help: the estimate for a Kernel on machines that are better in one respect. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_ADVICE_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_ADVICE_H

#include "base/json_writer.h"
#include "codegen/oncore/tiling/tiler.h"

typedef enum MachineChange {
  CHANGE_MEMORY,     /* memory.bytes_per_cycle twice as large */
  CHANGE_TRANSFERS,  /* and bytes_per_cycle of every queue that moves bytes */
  CHANGE_LOADS,      /* another queue like the first that loads */
  CHANGE_EXECS,      /* another one like the first that computes */
  CHANGE_OPERATIONS, /* operations in half the cycles */
  CHANGE_SETUP,      /* no cycles before a command does anything */
  MACHINE_CHANGE_COUNT
} MachineChange;

typedef struct PlanAdvice {
  bool known;                          /* false: it was not looked for */
  double now;                          /* estimate for the machine as it is */
  double cycles[MACHINE_CHANGE_COUNT]; /* estimates; infinity where the machine has no such thing */
} PlanAdvice;

/* As long as tiler_estimate takes seven times.  Of a Kernel that has no plan on |machine| nothing is known. */
PlanAdvice plan_advice_find(const Kernel *kernel, const MachineDescription *machine, const TilerOptions *options);

/* The member "advice": an array of what there is. */
void plan_advice_json(JsonWriter *json, const PlanAdvice *advice);

#endif
