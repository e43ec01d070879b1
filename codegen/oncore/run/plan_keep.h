/* A plan whose Kernel finds arrays in the Buffer and leaves some there: what one Kernel of a run hands on to the next.
 */
#ifndef XLAC_CODEGEN_ONCORE_RUN_PLAN_KEEP_H
#define XLAC_CODEGEN_ONCORE_RUN_PLAN_KEEP_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

/* An array of a Kernel that is in the Buffer, as it would lie in memory: all of it, or its first elements. */
typedef struct PlanResident {
  int32_t buffer;   /* of the Kernel */
  int64_t begin;    /* its first byte in the Buffer */
  bool is_there;    /* OPERAND: before the first command; else the plan loads it */
  bool is_needed;   /* RESULT: in memory as well, where the plan stores it */
  int64_t elements; /* OPERAND: so many of them are in the Buffer, after which the plan can be split (plan_split.h); 0:
                       all */
} PlanResident;

/* What a plan is made for.  |held|, |walked|: of the Kernel's first PLAN_ROOM_BUFFERS, by bit. */
typedef struct PlanRoom {
  int64_t bytes;   /* of the Buffer; 0: all of it */
  uint64_t held;   /* those that the Buffer has anyway, beside the bytes */
  uint64_t walked; /* operands that a loop goes through from their first element to their last (tiling_memo_walk) */
} PlanRoom;

enum { PLAN_ROOM_BUFFERS = 64 };

static inline bool plan_room_is_same(PlanRoom a, PlanRoom b) {
  return a.bytes == b.bytes && a.held == b.held && a.walked == b.walked;
}

/* Where a Kernel stands in a run: what is resident around it. */
typedef struct PlanInterface {
  int64_t base;  /* bytes of the Buffer that are taken, residents of this Kernel and of others, or tiles of the one
                    before it; its own come after them */
  int64_t low;   /* at most |base|: from there on nothing is taken but tiles of the one before it */
  int64_t limit; /* where its own end at the latest; 0: with the Buffer */
  int32_t count;
  const PlanResident *residents; /* by rising number of their buffers */
  PlanRoom room;                 /* of the plan below it */
  bool sees;                     /* products see residents where they are if they can (plan_copies.h) */
} PlanInterface;

/* |plan|, which holds nothing, under |interface|, whose buffers may be resident (plan_may_keep): commands read and
 * write residents where they are, and tiles that were copies of them are gone.  NULL in |out_plan|: what is left does
 * not fit, or the plan cannot be split where a part stays.  In |arena|; refers to |plan|.  Status as that of
 * plan_edges_derive_any. */
MUST_USE Status plan_keep(Arena *arena, const Plan *plan, const MachineDescription *machine,
                          const PlanInterface *interface, DiagSink *diag, const Plan **out_plan);

#endif
