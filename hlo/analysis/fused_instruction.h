/* FusedInstruction: which fusion computes an instruction by now, and as what. */
#ifndef XLAC_HLO_ANALYSIS_FUSED_INSTRUCTION_H
#define XLAC_HLO_ANALYSIS_FUSED_INSTRUCTION_H

#include "base/arena.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "hlo/ir/hlo_instruction.h"

/* Instead of a number of a result. */
enum {
  FUSED_INSIDE = -2, /* it is computed where it is used, and not stored */
  FUSED_WHOLE = -1   /* it is what the fusion makes */
};

/* An instruction, itself perhaps a fusion, that a pass made part of a fusion.  Both are names: the instruction is gone,
 * and the fusion may become part of another one. */
typedef struct FusedInstruction {
  StringView name, fusion;
  int32_t result; /* the element of the fusion's tuple that it is, FUSED_INSIDE or FUSED_WHOLE */
} FusedInstruction;

/* In the order in which it happened. */
typedef struct FusedInstructions {
  int64_t count;
  const FusedInstruction *data;
} FusedInstructions;

/* FusedInstruction.result of an instruction that is |copy| inside of a fusion which ends with |root|. */
int32_t fused_instruction_result(const HloInstruction *root, const HloInstruction *copy);

/* What became of each in the end, by number: the fusion that is part of no other one, and as what that stores it. */
const FusedInstruction *fused_instructions_last(const FusedInstructions *fused, Arena *arena);

/* Those of one fusion, in the order of FusedInstructions. */
typedef ARRAY(FusedInstruction) FusedMembers;

/* The same by fusion: its name → FusedMembers. */
StringMap fused_instructions_by_fusion(const FusedInstructions *fused, Arena *arena);

#endif
