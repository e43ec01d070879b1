/* The verifier: everything a module must satisfy beyond syntax (after XLA's HloVerifier, layout-insensitive by
 * default).
 *
 * Reports each mistake once, located, several per run; codes "verify-…".  Rules: operand counts and kinds, stated
 * shapes against inferred ones, called computations against their call sites, unique names, no recursion, layouts are
 * permutations, header aliases and entry layout, sharding, replica groups, start/done pairing, elided constants (with
 * the advice how to dump them in full). Opcodes that xlac cannot compile are no business of the verifier. */
#ifndef XLAC_HLO_INFER_HLO_VERIFIER_H
#define XLAC_HLO_INFER_HLO_VERIFIER_H

#include "hlo/ir/hlo_module.h"

/* STATUS_INVALID when anything was reported. */
MUST_USE Status hlo_verify(const HloModule *module, DiagSink *diag);

/* Sends and receives between devices that can never end, "verify-transfer": for a verified module as it was written,
 * since it trusts the order of the text.  Says nothing where that is no schedule (is_scheduled=true), where a send or
 * receive does not say between which devices (the frontend attribute _xla_send_recv_source_target_pairs) or stands
 * outside of the entry, since how often loops, branches and groups run is not known.  Stops at the first mistake. */
MUST_USE Status hlo_verify_transfers_end(const HloModule *module, DiagSink *diag);

#endif
