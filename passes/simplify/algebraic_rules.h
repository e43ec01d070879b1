/* Rewrite rules of the algebraic simplifier.
 *
 * A rule takes an instruction of its opcode and returns one of the same shape, layout included, that computes the same
 * bits (but for the payload of NaNs), or NULL.  New instructions go to the same computation; the old one is replaced by
 * the caller. */
#ifndef XLAC_PASSES_SIMPLIFY_ALGEBRAIC_RULES_H
#define XLAC_PASSES_SIMPLIFY_ALGEBRAIC_RULES_H

#include "hlo/ir/hlo_module.h"

typedef HloInstruction *(*AlgebraicRewrite)(HloInstruction *instruction);

typedef struct AlgebraicRule {
  HloOpcode opcode;
  const char *name; /* for statistics and tests */
  AlgebraicRewrite rewrite;
} AlgebraicRule;

typedef struct AlgebraicRules {
  const AlgebraicRule *rules;
  int count;
} AlgebraicRules;

AlgebraicRules algebraic_arith_rules(void); /* rules_arith.c: arithmetic, selection, conversion, constants */
AlgebraicRules algebraic_shape_rules(void); /* rules_shape.c: reshape, transpose, broadcast */
AlgebraicRules algebraic_slice_rules(void); /* rules_slice.c: slices, pads, concatenations, copies */
AlgebraicRules algebraic_dot_rules(void);   /* rules_dot.c */

/* --- what rules share --- */

/* reshape(value) as |shape|; |value| itself when it has it. */
HloInstruction *algebraic_reshape(HloInstruction *value, const Shape *shape);
/* broadcast(value) to |shape| along |dims| (as many as |value| has). */
HloInstruction *algebraic_broadcast(HloInstruction *value, const Shape *shape, const int64_t *dims);
/* The scalar that |value| holds at every element, if it is a scalar or a broadcast of one; NULL otherwise. */
HloInstruction *algebraic_splat_source(HloInstruction *value);
/* |value| is a constant or a broadcast of one, every element |number|. */
bool algebraic_is_all(HloInstruction *value, double number);

#endif
