/* What an object calls and does not have: the targets of its module's custom calls.  Includes nothing of LLVM. */
#ifndef XLAC_CODEGEN_CALL_CALL_TARGETS_H
#define XLAC_CODEGEN_CALL_CALL_TARGETS_H

#include "hlo/ir/hlo_module.h"

/* A function that the object calls and does not have. */
typedef struct CallTarget {
  StringView symbol;
  SourceLoc loc; /* of the first call that names it; where it is not known: NO_LOC */
} CallTarget;

typedef struct CallTargets {
  int64_t count;
  const CallTarget *targets;
} CallTargets;

/* The targets of the custom calls of a module that went through the passes, in order, each once. */
CallTargets call_targets(Arena *arena, const HloModule *module);

/* Bytes that the function which |call| names works in, at a multiple of 64; 0: it asks for nothing (all but LAPACK's).
 */
int64_t call_work_bytes(const HloInstruction *call);

/* Whether |symbol| is what an object with the entry |entry_name| defines: the function or its descriptor. */
bool call_target_is_entry(StringView symbol, StringView entry_name);

#endif
