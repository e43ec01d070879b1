/* A module on several devices by the reference evaluator: one evaluation for each device, in a thread of its own; they
 * meet at a rendezvous (hlo/eval/hlo_evaluator.h says what is asked of it). */
#ifndef XLAC_RUNTIME_COLLECTIVES_EVALUATOR_DEVICES_H
#define XLAC_RUNTIME_COLLECTIVES_EVALUATOR_DEVICES_H

#include "hlo/eval/hlo_evaluator.h"

/* More threads than this a run does not ask for. */
enum { EVALUATOR_MOST_DEVICES = 1024 };

/* What one device is given, and what it comes to. */
typedef struct DeviceEvaluation {
  const Literal *const *arguments; /* as for hlo_evaluate */
  Arena *arena;                    /* of the result; no other device's */
  Literal *result;
} DeviceEvaluation;

/* Evaluates |module| on all |devices| at once, at most EVALUATOR_MOST_DEVICES; |evaluations| has one entry for each, by
 * flat id.  |outside|, which may be NULL, executes what leads out of the module; it is asked by one device at a time.
 * |memory_limit|: as for hlo_evaluate, of each device.
 *
 * Errors are those of the first device that has one of its own, with a note that names it.  Devices that wait for one
 * another in places that never meet: STATUS_INVALID, code "deadlock", at the place of the first of them, with notes at
 * those of the others. */
MUST_USE Status evaluate_on_devices(const HloModule *module, DeviceCounts devices, DeviceEvaluation *evaluations,
                                    const HloHost *outside, int64_t memory_limit, DiagSink *diag);

#endif
