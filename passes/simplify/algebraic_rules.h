/* Rewrite rules of the algebraic simplifier.
 *
 * A rule takes an instruction of its opcode and returns one of the same shape, layout included, that computes the same
 * bits (but for the payload of NaNs, for functions that are spelled out, and for rules of --fast-math and
 * --excess-precision), or NULL.  New instructions
 * go to the same computation; the old one is replaced by the caller. */
#ifndef XLAC_PASSES_SIMPLIFY_ALGEBRAIC_RULES_H
#define XLAC_PASSES_SIMPLIFY_ALGEBRAIC_RULES_H

#include "hlo/ir/hlo_module.h"

typedef HloInstruction *(*AlgebraicRewrite)(HloInstruction *instruction);

/* In place of an opcode: every elementwise operation, or every operation that makes an array. */
#define ALGEBRAIC_ELEMENTWISE ((HloOpcode)HLO_OPCODE_COUNT)
#define ALGEBRAIC_ANY ((HloOpcode)(HLO_OPCODE_COUNT + 1))

typedef struct AlgebraicRule {
  HloOpcode opcode;
  const char *name; /* for statistics and tests */
  AlgebraicRewrite rewrite;
} AlgebraicRule;

typedef struct AlgebraicRules {
  const AlgebraicRule *rules;
  int count;
} AlgebraicRules;

AlgebraicRules algebraic_splat_rules(void);    /* rules_splat.c: what is the same everywhere, or has no elements */
AlgebraicRules algebraic_arith_rules(void);    /* rules_arith.c: arithmetic, constants */
AlgebraicRules algebraic_logic_rules(void);    /* rules_logic.c: bits, selection, conversion */
AlgebraicRules algebraic_compare_rules(void);  /* rules_compare.c: comparison, what integer ranges decide */
AlgebraicRules algebraic_shape_rules(void);    /* rules_shape.c: reshape, transpose, broadcast */
AlgebraicRules algebraic_slice_rules(void);    /* rules_slice.c: slices, pads, concatenations, copies */
AlgebraicRules algebraic_update_rules(void);   /* rules_update.c: slices and updates at run time, gather, scatter */
AlgebraicRules algebraic_reduce_rules(void);   /* rules_reduce.c: reductions, windows, sorts */
AlgebraicRules algebraic_window_rules(void);   /* rules_window.c: windows over what is the same everywhere */
AlgebraicRules algebraic_dot_rules(void);      /* rules_dot.c: dot, convolution */
AlgebraicRules algebraic_function_rules(void); /* rules_functions.c: functions that are spelled out */
AlgebraicRules algebraic_floor_rules(void);    /* rules_floor.c: floor division by powers of two that is spelled out */

/* For --fast-math only: other roundings, signs of zeros, no regard for NaN and infinities.  Those of functions are in
 * rules_fast.c, the others beside what they are like. */
AlgebraicRules algebraic_fast_rules(void);
AlgebraicRules algebraic_fast_arith_rules(void);
AlgebraicRules algebraic_fast_update_rules(void);
AlgebraicRules algebraic_fast_reduce_rules(void);
AlgebraicRules algebraic_fast_dot_rules(void);

/* For --excess-precision only: fewer roundings to 16-bit floats.  rules_excess.c */
AlgebraicRules algebraic_excess_rules(void);

/* For the host only, whose `logistic` costs more than an exponential and a quotient.  rules_functions.c */
AlgebraicRules algebraic_host_function_rules(void);

/* For the host only: a machine with a Buffer loads what one gather takes by itself.  rules_gather.c */
AlgebraicRules algebraic_host_gather_rules(void);

/* For machines with a Buffer only.  rules_slice.c: every part of a sum of pads would be moved for each element;
 * rules_compare.c: a loop that reads what is there anyway makes it again on the host. */
AlgebraicRules algebraic_oncore_rules(void);
AlgebraicRules algebraic_oncore_compare_rules(void);

/* --- what rules share --- */

/* |value| where it has the shape of |instruction|, so that it may stand for it; else NULL. */
HloInstruction *algebraic_of_shape(const HloInstruction *instruction, HloInstruction *value);
bool algebraic_is_pred(const HloInstruction *instruction);
/* reshape(value) as |shape|; |value| itself when it has it. */
HloInstruction *algebraic_reshape(HloInstruction *value, const Shape *shape);
/* broadcast(value) to |shape| along |dims| (as many as |value| has). */
HloInstruction *algebraic_broadcast(HloInstruction *value, const Shape *shape, const int64_t *dims);
/* slice(value) of |shape| by the ranges |dims| (as many as |value| has), which are copied; |value| itself when it has
 * |shape|. */
HloInstruction *algebraic_slice(HloInstruction *value, const Shape *shape, const SliceDimension *dims);
/* The scalar that |value| holds at every element, if it is a scalar or a broadcast of one; NULL otherwise. */
HloInstruction *algebraic_splat_source(HloInstruction *value);
/* The scalar constant that |value| holds at every element; NULL otherwise. */
const Literal *algebraic_splat_literal(HloInstruction *value);
/* A constant like |like|: everywhere |number|, an integer in the second case (-1: all bits). */
HloInstruction *algebraic_number(const HloInstruction *like, double number);
HloInstruction *algebraic_integer(const HloInstruction *like, int64_t number);
/* opcode(a) and opcode(a, b) with the shape of |like|. */
HloInstruction *algebraic_unary(const HloInstruction *like, HloOpcode opcode, HloInstruction *a);
HloInstruction *algebraic_binary(const HloInstruction *like, HloOpcode opcode, HloInstruction *a, HloInstruction *b);
/* select(predicate, on_true, on_false) with the shape of |like|. */
HloInstruction *algebraic_select(const HloInstruction *like, HloInstruction *predicate, HloInstruction *on_true,
                                 HloInstruction *on_false);
/* |permutation| of the dimensions of |dot| exchanges what is free of its operands: dot(y, x) has the transposed result.
 */
bool algebraic_dot_exchanges(const HloInstruction *dot, const int64_t *permutation);
/* dot(y, x) of |shape| for dot(x, y), of which algebraic_dot_exchanges holds: the same products, summed in the same
 * order. */
HloInstruction *algebraic_exchanged_dot(HloInstruction *dot, const Shape *shape);
/* f16, bf16, f32, f64: with two zeros, infinities and NaN. */
bool algebraic_is_ieee(const HloInstruction *instruction);
/* |value| is a constant or a broadcast of one, every element |number|. */
bool algebraic_is_all(HloInstruction *value, double number);
/* |value| is everywhere all bits: true, -1, the largest of an unsigned type. */
bool algebraic_is_all_ones(HloInstruction *value);
/* Integers, and pred: no rounding, no NaN. */
bool algebraic_is_exact(PrimitiveType type);

#endif
