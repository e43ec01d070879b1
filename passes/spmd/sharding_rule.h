/* ShardingRule: how the dimensions of an operation's operands and results hang together.
 *
 * A factor is an index of the operation as an einsum has it: "ij,jk->ik" has three.  A dimension is a product of
 * factors, the slowest first (a reshape's [6,4] -> [2,12] has 2, 3 and 4), mostly of one.  What divides a factor along
 * some axes divides every dimension that has it.  Source: Shardy's rules of factors (OpShardingRule). */
#ifndef XLAC_PASSES_SPMD_SHARDING_RULE_H
#define XLAC_PASSES_SPMD_SHARDING_RULE_H

#include "hlo/ir/hlo_module.h"

typedef enum FactorKind {
  FACTOR_PASS,        /* devices compute their parts of the result from their parts of the operands alone */
  FACTOR_REDUCTION,   /* is in operands only: devices compute partial results, which are then reduced among them */
  FACTOR_PERMUTATION, /* parts of the result need other parts of the operand: neighbours', or all of one's */
  FACTOR_REPLICATED   /* has to be whole on every device while the operation runs */
} FactorKind;

typedef struct Factor {
  int64_t size;
  FactorKind kind;
  bool is_blocked; /* shardings do not propagate along it */
} Factor;

typedef struct FactorList {
  int count;
  const int16_t *factors; /* the slowest first; none: a dimension of size 1, or one that nothing hangs together with */
} FactorList;

/* Of one array operand or result leaf. */
typedef struct FactorMapping {
  int rank; /* 0 as well for what is no array */
  const FactorList *dims;
} FactorMapping;

typedef struct ShardingRule {
  int factor_count;
  const Factor *factors;
  int operand_count;
  const FactorMapping *operands;
  int result_count; /* leaves of the result */
  const FactorMapping *results;
} ShardingRule;

/* Of |instruction|, whose operands are arrays or tokens; in |arena|.  An operation without a rule (a custom call of
 * unknown target) has dimensions without factors.  Not for control flow, tuples and markers, whose values are those of
 * others.  Linear in what the instruction names. */
const ShardingRule *sharding_rule(Arena *arena, const HloInstruction *instruction);

/* By factor: it shares a dimension with others, so that it can only be divided in full tiles; others may be divided
 * unevenly, the last tiles filled up with padding.  In |arena|. */
const bool *sharding_rule_full_factors(Arena *arena, const HloInstruction *instruction, const ShardingRule *rule);

/* Dimension |dim| of operand |operand|. */
typedef struct SummedDim {
  int operand, dim;
} SummedDim;

/* |rule|, which has one result, with another factor, of |size| elements, that is summed over: |summed| are divided
 * along it, whatever factors they had, and |result_dim| of the result has none left.  In |arena|. */
const ShardingRule *sharding_rule_with_sum(Arena *arena, const ShardingRule *rule, int64_t size,
                                           const SummedDim *summed, int count, int result_dim);

/* |mapping| has |factor| in its dimension |*out_dim|, at |*out_place| of the list; false: nowhere. */
bool factor_find(const FactorMapping *mapping, int factor, int *out_dim, int *out_place);

#endif
