/* What a command does with an operand besides reading a source and writing a target: targets that it goes on from, and
 * targets that may lie where a source lies. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_OPERAND_USES_H
#define XLAC_CODEGEN_ONCORE_PLAN_OPERAND_USES_H

#include "codegen/oncore/plan/plan.h"

typedef struct OperandUses {
  int32_t target_count;
  const bool *goes_on;    /* by target: what it holds is read, unless the command starts it from its seeds */
  const bool *reads_back; /* by target: what is written there is read again before the command is complete */
  /* What operand_in_place goes by: */
  Arena *arena;
  const Plan *plan;
  const PlanCommand *command;
  bool *in_place; /* by source, then target; NULL: nobody has asked yet */
} OperandUses;

/* Of |command|, in |arena|.
 *
 * A command is free to read and write when it likes, with one exception: a target may take the very bytes of a source
 * if the element of each point is read before the point's element is written.  So it is with a load's tile and a
 * store's that have elements of one size and the same axes, unless a later stage reads the source again; tiles of one
 * row may be read along other axes in stages before, where all of the row is read first.  Of commands without a Kernel,
 * OP is taken to be elementwise. */
OperandUses operand_uses(Arena *arena, const Plan *plan, const PlanCommand *command);
/* Whether |target| may lie where |source| does.  Found when it is asked for first: hardly any do. */
bool operand_in_place(OperandUses *uses, int32_t source, int32_t target);

#endif
