/* Factorisation and substitution as graphs, on batches of matrices: [batch, rows, columns], of a real or complex type
 * of 32 bits or more.
 *
 * By halves down to blocks of LINEAR_ALGEBRA_BLOCK, so that most of the work is dots; a block is a loop over its rows
 * or columns. */
#ifndef XLAC_PASSES_EXPAND_LINEAR_ALGEBRA_INTERNAL_H
#define XLAC_PASSES_EXPAND_LINEAR_ALGEBRA_INTERNAL_H

#include "passes/expand/graph_builder.h"

enum { LINEAR_ALGEBRA_BLOCK = 64 };

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

/* [batch, columns, rows], conjugated where |conjugates|. */
HloInstruction *transpose_matrices(GraphBuilder *builder, HloInstruction *value, bool conjugates);

/* pred[batch, n, n]: in the lower (upper) triangle with its diagonal. */
HloInstruction *triangle_mask(GraphBuilder *builder, const Shape *shape, bool is_lower);

#endif
