/* A `while` that is computed part by part: which of its state is cut along which dimension.
 *
 * A scan over layers, for example: what its iterations hand on has a dimension (a batch) whose places they never mix,
 * so a part of the batch can go through all iterations before the next one begins.  Weights and counters are the same
 * for each part; what sums the places (the gradients of weights) is a sum of the parts'. */
#ifndef XLAC_PASSES_MEMORY_SPLIT_LOOP_H
#define XLAC_PASSES_MEMORY_SPLIT_LOOP_H

#include "passes/expand/graph_builder.h"
#include "passes/memory/split.h"

typedef enum SplitLeafKind {
  SPLIT_LEAF_WHOLE, /* the same for each part */
  SPLIT_LEAF_CUT,
  SPLIT_LEAF_SUM /* begins with zeros, and is the sum of what it is for each part */
} SplitLeafKind;

typedef struct SplitLeaf {
  SplitLeafKind kind;
  int dimension; /* SPLIT_LEAF_CUT: |scale| elements along it are a unit */
  int64_t scale;
} SplitLeaf;

/* Of a loop whose state is a tuple of arrays. */
struct SplitLoop {
  HloInstruction *loop;
  const SplitLeaf *leaves; /* of the state */
  /* Instructions of its computations that are not the same for each part.  Sums have the dimension HLO_SPLIT_FOLDED,
   * and reads only where they sum operands that are cut. */
  const HloSplitMember *members;
  int64_t member_count;
  IntMap numbers; /* id → index in |members| */
};

/* How |loop| is cut where |units| units of |scale| elements along |dimension| are the whole of leaf |leaf| of its
 * state; NULL where its iterations mix them; where they might not mix larger units, |*out_coarser| is how many would
 * make one, otherwise it is 0.  In |arena|; holds until the module changes. */
const SplitLoop *split_loop_find(HloInstruction *loop, int64_t leaf, int dimension, int64_t scale, int64_t units,
                                 Arena *arena, int64_t *out_coarser);

/* It is zero everywhere, and so the sum of as many of it as there are parts. */
bool split_loop_is_zero(const HloInstruction *instruction);

/* |loop| as one of a copy of its module; |by_id|: the copies of instructions, by the ids of the originals. */
const SplitLoop *split_loop_in_copy(const SplitLoop *loop, HloInstruction *const *by_id, Arena *arena);

/* The loop for a part of |size| units, where its state begins as |init|, a tuple of what each leaf is for the part. */
HloInstruction *split_loop_make(GraphBuilder *builder, const SplitLoop *loop, HloInstruction *init, int64_t size);

#endif
