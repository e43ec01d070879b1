/* Compiled code on several devices of `xlac run` that are threads of this process (--engine=local). */
#ifndef XLAC_CLI_LOCAL_DEVICES_H
#define XLAC_CLI_LOCAL_DEVICES_H

#include "cli/driver.h"
#include "runtime/engines/runner.h"

typedef struct LocalDevices LocalDevices;

/* Memory for |count| devices, in the session's arena; |runs| gets a run for each.  Each runs on one thread, with
 * |options| but for what its device is. */
LocalDevices *local_devices_create(Session *session, XlacFunction function, const XlacDescriptor *descriptor,
                                   const XlacRunOptions *options, int64_t count, ModuleRun **runs);
/* Accepts NULL. */
void local_devices_destroy(LocalDevices *devices);

/* Runs all once; |out_seconds| (may be NULL) is the longest time inside the module.  The error is that of the first
 * device that has one of its own (code "call-failed" or "run"), with a note that names it; devices that wait for one
 * another for ever: code "deadlock". */
MUST_USE Status local_devices_execute(LocalDevices *devices, double *out_seconds);

#endif
