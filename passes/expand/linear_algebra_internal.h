/* Factorisation and substitution as graphs, on batches of matrices: [batch, rows, columns], of a real or complex type
 * of 32 bits or more.
 *
 * By halves down to blocks of LINEAR_ALGEBRA_BLOCK, so that most of the work is dots; a block is a loop over its rows
 * or columns.  One matrix of at most LINEAR_ALGEBRA_SMALL rows is factorised in scalars. */
#ifndef XLAC_PASSES_EXPAND_LINEAR_ALGEBRA_INTERNAL_H
#define XLAC_PASSES_EXPAND_LINEAR_ALGEBRA_INTERNAL_H

#include "passes/expand/graph_builder.h"

enum { LINEAR_ALGEBRA_BLOCK = 64, LINEAR_ALGEBRA_SMALL = 6 };

typedef struct Triangle {
  HloInstruction *matrix; /* [batch, n, n]; only its triangle counts */
  bool is_lower;
  bool is_unit; /* the diagonal is 1, whatever is there */
} Triangle;

/* x with triangle · x = b; |b| is [batch, n, m]. */
HloInstruction *solve_triangle(GraphBuilder *builder, const Triangle *triangle, HloInstruction *b);

/* The lower factor l of a = l · l*, zero above; of |a| the lower triangle is read.  NaN from the first minor on that is
 * not positive. */
HloInstruction *factorise_cholesky(GraphBuilder *builder, HloInstruction *a);

/* a = q r after Householder: r in the upper triangle, below it the vectors of the reflectors 1 - tau v v* whose product
 * is q, as LAPACK's geqrf leaves them.  |out_taus|: [batch, 1, min(rows, columns)]. */
HloInstruction *factorise_qr(GraphBuilder *builder, HloInstruction *a, HloInstruction **out_taus);

/* The first columns of the product of such reflectors, as many as |vectors| has; |taus| is [batch, 1, count]. */
HloInstruction *multiply_reflectors(GraphBuilder *builder, HloInstruction *vectors, HloInstruction *taus);

typedef struct EigenRule {
  bool is_lower;    /* the triangle that counts, with the diagonal's real part; else the upper one */
  bool is_sorted;   /* eigenvalues ascend; else they come in any order */
  int64_t sweeps;   /* at most */
  double tolerance; /* of the norm of what is beside the diagonal, as a share of the whole matrix's */
} EigenRule;

/* The eigenvectors of Hermitian matrices [batch, n, n] as columns, of length 1; |out_values| [batch, n], real. */
HloInstruction *find_eigenvectors(GraphBuilder *builder, HloInstruction *a, const EigenRule *rule,
                                  HloInstruction **out_values);

/* A sparse matrix by rows: row r has the elements from starts[r] to starts[r + 1], each in its column; those after the
 * last row's end do not count. */
typedef struct SparseRows {
  HloInstruction *elements, *columns; /* [elements] */
  HloInstruction *starts;             /* [rows + 1] */
} SparseRows;

/* Of |dense|, [columns, m]: [rows, m]. */
HloInstruction *multiply_sparse(GraphBuilder *builder, const SparseRows *rows, HloInstruction *dense);

HloInstruction *conjugate_matrices(GraphBuilder *builder, HloInstruction *value);

/* |real| as numbers of |type|, its own or the complex one of its width. */
HloInstruction *real_as_type(GraphBuilder *builder, HloInstruction *real, PrimitiveType type);

/* |value| [batch, 1, 1] in all of |like|. */
HloInstruction *spread_scalars(GraphBuilder *builder, HloInstruction *value, const Shape *like);

/* One matrix of so few rows, [1, n, n], real: its elements are worth scalars. */
bool is_small_matrix(const Shape *shape);
/* Such an element, as a scalar. */
HloInstruction *matrix_element(GraphBuilder *builder, HloInstruction *matrix, int64_t row, int64_t column);

/* [batch, columns, rows], conjugated where |conjugates|. */
HloInstruction *transpose_matrices(GraphBuilder *builder, HloInstruction *value, bool conjugates);

/* pred[batch, n, n]: in the lower (upper) triangle with its diagonal. */
HloInstruction *triangle_mask(GraphBuilder *builder, const Shape *shape, bool is_lower);

#endif
