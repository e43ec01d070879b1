/* Custom-call targets: which of them are known to be provided.
 *
 * Typed FFI calls name handlers that users link or load, so any target may exist.  The older, untyped calls have no
 * such registry in a dump: only the markers of XLA's own passes are known and what the user has, and anything else is
 * what XLA reports as having no implementation. */
#ifndef XLAC_HLO_INFER_CUSTOM_CALL_TARGETS_H
#define XLAC_HLO_INFER_CUSTOM_CALL_TARGETS_H

#include "hlo/ir/hlo_module.h"

/* Whether the user has a function for |target|. */
typedef bool OutsideTargetFn(void *user, StringView target);

/* Reports every untyped custom call whose target is not known and that |has_target| (NULL: none) does not have either,
 * code "unknown-target", and calls to oneDNN that cannot be read, code "onednn".  Linear time. */
MUST_USE Status hlo_check_custom_call_targets(const HloModule *module, OutsideTargetFn *has_target, void *user,
                                              DiagSink *diag);

#endif
