/* LoopNest: the loops that compute a result, as far as they say which results can be computed by one nest of loops.
 *
 * Passes ask before they give a fusion several results, code generation asks how many Kernels such a fusion is. */
#ifndef XLAC_HLO_ANALYSIS_LOOP_NEST_H
#define XLAC_HLO_ANALYSIS_LOOP_NEST_H

#include "hlo/ir/hlo_module.h"

typedef enum LoopNestKind {
  LOOP_NEST_NONE,     /* of another kind (windows, updates in place), or not static arrays row by row */
  LOOP_NEST_ELEMENTS, /* each element of the result by itself */
  LOOP_NEST_SUMS,     /* it is a contraction of real numbers, or each of its elements is made from that of one */
  LOOP_NEST_REDUCED   /* it is a reduction, or is made from reductions: a row of elements for each of their results */
} LoopNestKind;

typedef struct LoopNest {
  LoopNestKind kind;
  const Shape *shape;                /* of the result; of a reduction with several, of the first */
  const HloInstruction *reduce;      /* REDUCED: one that depends on no other; all of them have as many results, but for
                                      * short ones inside, which have more */
  const HloInstruction *contraction; /* SUMS */
  int64_t rows;                      /* REDUCED: results of each reduction */
  int64_t columns; /* ELEMENTS: how many columns of one element each (up to 8) a concatenation inside joins
                    * to what the last dim of |shape| walks; 0: none */
} LoopNest;

/* Leading dimensions of |shape| that multiply to |rows| (those of size 1 after them included), or -1. */
int hlo_row_dims(const Shape *shape, int64_t rows);

/* A reduction to one array that folds so few elements that it may be computed as one expression of them, where it is
 * needed: inside the loops of another reduction too, as no other can. */
bool hlo_reduce_is_short(const HloInstruction *reduce);

/* Two reductions of arrays of equal dimensions along the same ones. */
bool hlo_same_reduced_dims(const HloInstruction *a, const HloInstruction *b);

/* |reduce| to |rows| results folds what stands side by side: its reduced dimensions come after those that are kept. */
bool hlo_reduces_rows(const HloInstruction *reduce, int64_t rows);

/* The loops of |made|, an operation that stands for itself (|alone|), or an element of a fusion's root with all that it
 * is made from inside the fusion. */
LoopNest hlo_loop_nest(const HloInstruction *made, bool alone, Arena *scratch);

/* True when one nest of loops computes all results: the same elements, of one contraction at most; or the same rows; or
 * reductions of equal dimensions of equally large arrays, and elements of such arrays.  Joined columns do not stand in
 * longer rows beside reductions: a nest of elements alone computes all columns of a point at once, in lanes over the
 * points. */
bool hlo_loop_nests_unite(const LoopNest *nests, int count);

#endif
