/* FusionReads: under which index maps an operation, or a fusion, reads its operands.
 *
 * A map is relative to the loops that make the result: FUSION_MAP_IDENTITY reads element by element what those loops
 * walk, which for a reduction is what it reduces. */
#ifndef XLAC_PASSES_FUSION_FUSION_READS_H
#define XLAC_PASSES_FUSION_FUSION_READS_H

#include "hlo/ir/hlo_module.h"

#define FUSION_MAP_IDENTITY 1

typedef struct FusionRead {
  const HloInstruction *operand;
  uint64_t map;
} FusionRead;

typedef ARRAY(FusionRead) FusionReads;

/* Each operand with each of its maps once; of an operand with very many maps the first few.  Time linear in the
 * fusion. */
FusionReads fusion_reads(const HloInstruction *instruction, Arena *arena);

/* |operand| is read, and under no map but the identity. */
bool fusion_reads_in_place(const FusionReads *reads, const HloInstruction *operand);
/* Both read |operand| under some common map. */
bool fusion_reads_agree(const FusionReads *a, const FusionReads *b, const HloInstruction *operand);

#endif
