/* FusionGroups: which instructions of a computation are computed in which fusion.
 *
 * Every instruction that can end a fusion and is needed in memory is the root of a group; a group's other members are
 * computed inside, some of them in several groups.  A group with its root alone stays a plain instruction. */
#ifndef XLAC_PASSES_FUSION_FUSION_GROUPS_H
#define XLAC_PASSES_FUSION_FUSION_GROUPS_H

#include "passes/pipeline/hlo_pass.h"

typedef ARRAY(int32_t) FusionMembers;

typedef struct FusionGroup {
  int32_t root;          /* node number */
  FusionMembers members; /* node numbers, users before operands, the root first */
  int32_t operand_count; /* distinct values read from outside, scalar constants excepted */
  bool has_contraction;  /* a dot, convolution or pooling is among the members */
  bool awaits_devices;   /* one of the members found so far reads what a collective makes */
} FusionGroup;

typedef struct FusionGroups {
  Arena *arena;
  int32_t node_count;
  HloInstruction *const *nodes; /* post-order of the computation */
  IntMap numbers;               /* instruction id → node number */
  ARRAY(FusionGroup) groups;    /* users before operands */
} FusionGroups;

/* Decides by fusion_decision.h, each instruction once, users before operands: near linear.  |machine|, the target, and
 * |observer| may be NULL. */
FusionGroups *fusion_groups_create(Arena *arena, const HloComputation *computation, const MachineDescription *machine,
                                   const HloDecisionObserver *observer);

#endif
