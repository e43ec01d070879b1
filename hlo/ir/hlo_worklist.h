/* HloWorklist: the instructions that a walk over operands or users has still to look at, each once however many ways
 * lead to it. The walk costs what it reaches, not the size of the module. */
#ifndef XLAC_HLO_IR_HLO_WORKLIST_H
#define XLAC_HLO_IR_HLO_WORKLIST_H

#include "base/array.h"
#include "base/hash_map.h"
#include "hlo/ir/hlo_instruction.h"

typedef struct HloWorklist {
  ARRAY(const HloInstruction *) open; /* added and not yet taken */
  IntMap added;                       /* by id */
} HloWorklist;

/* An empty list in |scratch|. */
void hlo_worklist_init(HloWorklist *list, Arena *scratch);

/* Nothing happens when |instruction| was added before, whether or not it has been taken since. */
void hlo_worklist_add(HloWorklist *list, const HloInstruction *instruction);

/* Each of its users, by hlo_worklist_add. */
void hlo_worklist_add_users(HloWorklist *list, const HloInstruction *instruction);

/* The instruction that was added last of those that are left; NULL: none is. */
const HloInstruction *hlo_worklist_take(HloWorklist *list);

/* |instruction| was added at some time. */
bool hlo_worklist_has(const HloWorklist *list, const HloInstruction *instruction);

#endif
