/* What while-simplifier and conditional-simplifier have in common: the walk over the instructions they are about. */
#ifndef XLAC_PASSES_CONTROL_SIMPLIFIER_H
#define XLAC_PASSES_CONTROL_SIMPLIFIER_H

#include "passes/control/call_sites.h"
#include "passes/pipeline/hlo_pass.h"

typedef struct Simplifier {
  HloPassContext *context;
  CallSites sites;
  bool changed;
} Simplifier;

/* Edits |instruction| and its computations; returns whether anything in its own computation has changed. */
typedef bool (*SimplifyFunction)(Simplifier *simplifier, HloInstruction *instruction);

/* Counts a rewrite of |instruction| by |rule|; every rewrite is to be noted. */
void simplifier_note(Simplifier *simplifier, const char *rule, const HloInstruction *instruction);

/* Offers each instruction of |opcode| without control dependencies to |simplify|, callees before callers, and removes
 * what dies by it; again while anything changes, a few rounds: what was inlined has loops and branches of its own, and
 * call sites that are gone leave others alone with their computations. */
bool simplifier_run(HloPassContext *context, HloModule *module, HloOpcode opcode, SimplifyFunction simplify);

#endif
