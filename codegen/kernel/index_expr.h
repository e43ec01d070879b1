/* IndexExpr: an integer function of a Kernel's loop dimensions, in normal form: constant + Σ coefficient × atom.
 *
 * Atoms are loop dimensions, run-time integers (values of the Kernel: dynamic-slice starts, gather indices), and
 * floor-divisions and remainders by positive constants that could not be simplified away.  Expressions are immutable,
 * live in the Kernel's arena, and two equal functions built alike are structurally equal.  All arithmetic is 64-bit;
 * extents are checked when a Kernel is built. */
#ifndef XLAC_CODEGEN_KERNEL_INDEX_EXPR_H
#define XLAC_CODEGEN_KERNEL_INDEX_EXPR_H

#include "base/array.h"
#include "base/string_view.h"

typedef struct IndexTerm {
  int64_t coefficient; /* never 0 */
  int32_t atom;        /* terms ascend by atom */
} IndexTerm;

typedef struct IndexExpr {
  int64_t constant;
  int32_t term_count;
  const IndexTerm *terms;
} IndexExpr;

typedef enum IndexAtomKind { INDEX_ATOM_DIM, INDEX_ATOM_VALUE, INDEX_ATOM_DIV, INDEX_ATOM_MOD } IndexAtomKind;

typedef struct IndexAtom {
  IndexAtomKind kind;
  int32_t number;       /* DIM: the dimension; VALUE: the value */
  IndexExpr inner;      /* DIV, MOD: never negative, so that truncation is floor */
  int64_t divisor;      /* DIV, MOD: > 0 */
  int64_t lower, upper; /* what values it can take, inclusive */
} IndexAtom;

/* The atoms of one Kernel, numbered densely; equal atoms get one number. */
typedef struct IndexSpace {
  Arena *arena;
  ARRAY(IndexAtom) atoms;
} IndexSpace;

/* No atoms yet; they will live in |arena|. */
void index_space_init(IndexSpace *space, Arena *arena);

IndexExpr index_constant(int64_t value);
IndexExpr index_dim(IndexSpace *space, int dim, int64_t extent);
IndexExpr index_value(IndexSpace *space, int value, int64_t lower, int64_t upper);
IndexExpr index_add(IndexSpace *space, IndexExpr a, IndexExpr b);
IndexExpr index_add_constant(IndexSpace *space, IndexExpr a, int64_t constant);
IndexExpr index_scale(IndexSpace *space, IndexExpr a, int64_t factor);
/* Floor division and remainder (sign of the divisor, which is positive), simplified as far as known ranges allow:
 * (q·d + r) / d = q and its remainder r when 0 ≤ r < d. */
IndexExpr index_div(IndexSpace *space, IndexExpr a, int64_t divisor);
IndexExpr index_mod(IndexSpace *space, IndexExpr a, int64_t divisor);

bool index_is_constant(IndexExpr a, int64_t *out_value);
bool index_equal(IndexExpr a, IndexExpr b);
/* Smallest and largest value, inclusive. */
void index_range(const IndexSpace *space, IndexExpr a, int64_t *out_lower, int64_t *out_upper);

/* The coefficient of dimension |dim| among the plain terms (0: none), and whether |a| depends on it through a DIV or
 * MOD. */
int64_t index_dim_coefficient(const IndexSpace *space, IndexExpr a, int dim);
bool index_depends_nonlinearly(const IndexSpace *space, IndexExpr a, int dim);
/* Whether |a| has an atom of |kind|, also within a DIV or MOD. */
bool index_has_atom(const IndexSpace *space, IndexExpr a, IndexAtomKind kind);
/* |a| without its plain term of |dim|. */
IndexExpr index_without_dim(const IndexSpace *space, IndexExpr a, int dim);

/* |a| of space |from| in terms of another space: dimension n stands for dims[n], run-time value v for value values[v];
 * divisions and remainders are simplified anew. */
IndexExpr index_substitute(IndexSpace *to, const IndexSpace *from, IndexExpr a, const IndexExpr *dims,
                           const int32_t *values);

/* |a| where dimension n is dims[n] and run-time value v is values[v]. */
int64_t index_evaluate(const IndexSpace *space, IndexExpr a, const int64_t *dims, const int64_t *values);

/* "4*d0 + d1 + 3", values as v7, "(d0 / 3)", "(d0 % 3)". */
void index_print(StringBuilder *out, const IndexSpace *space, IndexExpr a);

/* A sum of multiples of dims and a constant: nothing divided, nothing that is only known at run time. */
bool index_is_linear(const IndexSpace *space, IndexExpr expr);

#endif
