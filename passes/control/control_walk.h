/* ControlWalk: what the passes of this room have in common, the walk over the loops, or the branches, of a module. */
#ifndef XLAC_PASSES_CONTROL_CONTROL_WALK_H
#define XLAC_PASSES_CONTROL_CONTROL_WALK_H

#include "passes/control/call_sites.h"
#include "passes/pipeline/hlo_pass.h"

typedef struct ControlWalk {
  HloPassContext *context;
  CallSites sites;
  bool changed;
} ControlWalk;

/* Edits |instruction|, which has no control dependencies, and its computations; returns whether anything in the
 * computation that it stands in has changed. */
typedef bool (*ControlWalkFunction)(ControlWalk *walk, HloInstruction *instruction);

/* Counts a rewrite of |instruction| by |rule|; every rewrite is to be noted. */
void control_walk_note(ControlWalk *walk, const char *rule, const HloInstruction *instruction);

/* Offers each instruction of |opcode| to |edit|, callees before callers, as long as --pass-limit allows a rewrite, and
 * removes what dies by it; again while anything changes, a few rounds: what was inlined has loops and branches of its
 * own, and call sites that are gone leave others alone with their computations.  Returns whether anything changed. */
bool control_walk_run(HloPassContext *context, HloModule *module, HloOpcode opcode, ControlWalkFunction edit);

#endif
