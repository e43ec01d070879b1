/* The shardings of a module's values as propagation leaves them, and where each is from (--print=sharding). */
#ifndef XLAC_PASSES_SPMD_SHARDING_REPORT_H
#define XLAC_PASSES_SPMD_SHARDING_REPORT_H

#include "hlo/ir/hlo_module.h"

/* Appends them as text, or as JSON, for the devices that |module|'s header has; the module is as it was before it is
 * divided.  Errors are those of spmd_propagate, and "question" where the text says nothing of several devices. */
MUST_USE Status sharding_report(HloModule *module, bool is_json, DiagSink *diag, StringBuilder *out);

#endif
