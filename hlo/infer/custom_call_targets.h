/* Custom-call targets: which of them are known to be provided.
 *
 * Typed FFI calls name handlers that users link or load, so any target may exist.  The older, untyped calls have no
 * such registry in a dump: only the markers of XLA's own passes are known, and anything else is what XLA reports as
 * having no implementation. */
#ifndef XLAC_HLO_INFER_CUSTOM_CALL_TARGETS_H
#define XLAC_HLO_INFER_CUSTOM_CALL_TARGETS_H

#include "hlo/ir/hlo_module.h"

/* Reports every untyped custom call whose target is not known, code "unknown-target"; linear time. */
MUST_USE Status hlo_check_custom_call_targets(const HloModule *module, DiagSink *diag);

#endif
