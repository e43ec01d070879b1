/* PlanSplit: a plan whose loads bring either what is before an element of an array or what comes after it, so that the
 * part before may stay in the Buffer.
 *
 * Loops of which each iteration loads the next piece of the array become two, one after the other: the first for the
 * part, the second for the rest.  In the first one tiles of arrays that are resident have Tensors of their own, since
 * what they are copies of is there, and in the second one it may not be. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_PLAN_SPLIT_H
#define XLAC_CODEGEN_ONCORE_RUN_PLAN_SPLIT_H

#include "codegen/oncore/run/plan_keep.h"

/* Where |plan| can be split for |buffer|, an operand that may be resident (plan_may_keep): after multiples of so many
 * elements; 0: nowhere. */
int64_t plan_split_step(const Plan *plan, int32_t buffer);

/* |plan| split for all residents of |interface| of which a part stays; |plan| itself where there are none, NULL where
 * it cannot be split so.  Its edges are not derived.  In |arena|; refers to |plan|. */
const Plan *plan_split(Arena *arena, const Plan *plan, const PlanInterface *interface);

/* Whether what |command| of a plan that is split moves of |resident| is the part that stays. */
bool plan_moves_part(const Plan *plan, const PlanCommand *command, const PlanResident *resident);

#endif
