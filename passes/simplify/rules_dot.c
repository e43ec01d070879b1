/* Rules of dot. */
#include "passes/simplify/algebraic_rules.h"

enum { RANK_LIMIT = 64 };

typedef struct DotSide {
  int operand;
  HloAttrId batch, contracting;
} DotSide;

static const DotSide sides[] = {
    {0, HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_LHS_CONTRACTING_DIMS},
    {1, HLO_ATTR_RHS_BATCH_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS},
};

/* The dims of the list as they are called before the transpose; marks them as taken in |taken| (dims behind it). */
static void dims_before(Int64List dims, Int64List permutation, bool *taken, int64_t *out_dims) {
  for (int64_t i = 0; i < dims.count; i++) {
    taken[dims.data[i]] = true;
    out_dims[i] = permutation.data[dims.data[i]];
  }
}

/* The free dims keep their order when the transpose goes: the result is then the same. */
static bool free_dims_keep_order(Int64List permutation, const bool *taken) {
  int64_t last = -1;
  for (int64_t d = 0; d < permutation.count; d++) {
    if (taken[d]) continue;
    if (permutation.data[d] < last) return false;
    last = permutation.data[d];
  }
  return true;
}

/* dot(transpose(x), y) → dot(x, y) with x's dims named as they are there; likewise for y.  The same sums in the same
 * order. */
static HloInstruction *dot_transpose(HloInstruction *dot) {
  for (int s = 0; s < 2; s++) {
    const HloInstruction *transpose = dot->operands[sides[s].operand];
    if (transpose->opcode != HLO_TRANSPOSE || transpose->shape->rank > RANK_LIMIT) continue;
    Int64List permutation = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
    Int64List batch = hlo_instruction_ints(dot, sides[s].batch),
              contracting = hlo_instruction_ints(dot, sides[s].contracting);
    bool taken[RANK_LIMIT] = {false};
    int64_t new_batch[RANK_LIMIT], new_contracting[RANK_LIMIT];
    dims_before(batch, permutation, taken, new_batch);
    dims_before(contracting, permutation, taken, new_contracting);
    if (!free_dims_keep_order(permutation, taken)) continue;
    HloInstruction *operands[2] = {dot->operands[0], dot->operands[1]};
    operands[sides[s].operand] = transpose->operands[0];
    HloInstruction *result = hlo_computation_add_clone(dot->parent, dot, dot->shape, operands, 2);
    if (batch.count > 0) hlo_instruction_set_ints(result, sides[s].batch, new_batch, batch.count);
    hlo_instruction_set_ints(result, sides[s].contracting, new_contracting, contracting.count);
    return result;
  }
  return NULL;
}

static const AlgebraicRule rules[] = {
    {HLO_DOT, "dot-transpose", dot_transpose},
};

AlgebraicRules algebraic_dot_rules(void) {
  return (AlgebraicRules){rules, sizeof rules / sizeof *rules};
}
