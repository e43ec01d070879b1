/* Which computations have one call site, so that a pass may edit them with their caller.  Modules that
 * flatten-call-graph has not seen share them. */
#ifndef XLAC_PASSES_CONTROL_CALL_SITES_H
#define XLAC_PASSES_CONTROL_CALL_SITES_H

#include "hlo/ir/hlo_module.h"

typedef struct CallSites {
  IntMap counts; /* by computation id */
} CallSites;

void call_sites_init(CallSites *sites, const HloModule *module, Arena *scratch);
/* |instruction| is the only one that calls its computations, and calls each once. */
bool call_sites_own(const CallSites *sites, const HloInstruction *instruction);

/* Any instruction of |module| has |opcode|: most modules have nothing for a pass of this room. */
bool call_sites_exist(const HloModule *module, HloOpcode opcode);

#endif
