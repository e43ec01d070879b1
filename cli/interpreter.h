/* The interpreter: `xlac run --engine=interpret`, a module run by the reference evaluator behind the interface of
 * compiled ones. */
#ifndef XLAC_CLI_INTERPRETER_H
#define XLAC_CLI_INTERPRETER_H

#include "cli/run_devices.h"
#include "hlo/eval/hlo_evaluator.h"
#include "runtime/engines/runner.h"

/* Evaluates the session's module on the run's arguments into its results, once; |host| executes what leads out of the
 * module.  |memory_limit|: as for hlo_evaluate.  |out_seconds| may be NULL. */
MUST_USE Status interpreter_execute(Session *session, ModuleRun *run, const HloHost *host, int64_t memory_limit,
                                    double *out_seconds);

/* The same on several devices at once, one of |runs| each (evaluate_on_devices); |memory_limit| is for all of them. */
MUST_USE Status interpreter_execute_devices(Session *session, const RunDevices *devices, ModuleRun *const *runs,
                                            const HloHost *host, int64_t memory_limit, double *out_seconds);

#endif
