/* The engine of communication among devices that are threads of one process (XlacCommunication in xlac/abi.h). */
#ifndef XLAC_RUNTIME_COLLECTIVES_LOCAL_ENGINE_H
#define XLAC_RUNTIME_COLLECTIVES_LOCAL_ENGINE_H

#include <stdbool.h>

#include "xlac/abi.h"

typedef struct LocalEngine LocalEngine;

/* For |count| devices that run the module of |descriptor|, which has to outlive it. */
LocalEngine *local_engine_create(const XlacDescriptor *descriptor, int64_t count);
/* Accepts NULL. */
void local_engine_destroy(LocalEngine *engine);

/* What the run of |device| is given. */
const XlacCommunication *local_engine_communication(LocalEngine *engine, int64_t device);

/* Calls body(context, device) for all devices at the same time, each in a thread, and returns when all have returned. A
 * body that returns false has failed, which ends the waits of all others. */
void local_engine_run(LocalEngine *engine, bool (*body)(void *context, int64_t device), void *context);

/* After a run: whether |device| was told of a failure that is another's, or everybody's. */
bool local_engine_was_interrupted(const LocalEngine *engine, int64_t device);
/* Why devices wait for ever; NULL: they do not, though one may have failed by itself.  Lives until the next run. */
const char *local_engine_mismatch(LocalEngine *engine);
/* The devices that it names, as rendezvous_failure_chain. */
int64_t local_engine_mismatch_chain(LocalEngine *engine, const int64_t **out_devices);

#endif
