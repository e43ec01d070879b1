/* GraphBuilder: instructions in place of one that is being expanded.
 *
 * Whatever is made inherits metadata and place in the source from |origin|, and has the default layout.  Operands
 * belong to |computation|. */
#ifndef XLAC_PASSES_EXPAND_GRAPH_BUILDER_H
#define XLAC_PASSES_EXPAND_GRAPH_BUILDER_H

#include "passes/pipeline/hlo_pass.h"

typedef struct GraphBuilder {
  HloComputation *computation;
  HloInstruction *origin;
  Arena *scratch;
} GraphBuilder;

/* The module's. */
ShapeTable *graph_shapes(const GraphBuilder *builder);

/* A new instruction of |count| |operands|, with |origin|'s metadata but not its frontend attributes and sharding. */
HloInstruction *graph_add(GraphBuilder *builder, HloOpcode opcode, const Shape *shape, HloInstruction *const *operands,
                          int count);

/* --- elementwise --- */

/* |value| in the default layout. */
HloInstruction *graph_plain(GraphBuilder *builder, HloInstruction *value);
HloInstruction *graph_operand(GraphBuilder *builder, int index); /* of the origin, in the default layout */
HloInstruction *graph_unary(GraphBuilder *builder, HloOpcode opcode, HloInstruction *a);
HloInstruction *graph_binary(GraphBuilder *builder, HloOpcode opcode, HloInstruction *a, HloInstruction *b);
HloInstruction *graph_compare(GraphBuilder *builder, ComparisonDirection direction, HloInstruction *a,
                              HloInstruction *b);
HloInstruction *graph_select(GraphBuilder *builder, HloInstruction *predicate, HloInstruction *on_true,
                             HloInstruction *on_false);
HloInstruction *graph_convert(GraphBuilder *builder, HloInstruction *value, PrimitiveType type);
/* |part|: HLO_REAL or HLO_IMAG, of a real number itself or zero. */
HloInstruction *graph_part(GraphBuilder *builder, HloOpcode part, HloInstruction *value);
HloInstruction *graph_bitcast_convert(GraphBuilder *builder, HloInstruction *value, PrimitiveType type);

/* --- constants: everywhere in an array of the dimensions of |like| (NULL: a scalar) --- */

HloInstruction *graph_zero(GraphBuilder *builder, PrimitiveType type, const Shape *like); /* of any type */
HloInstruction *graph_real(GraphBuilder *builder, PrimitiveType type, double value, const Shape *like);
HloInstruction *graph_integer(GraphBuilder *builder, PrimitiveType type, int64_t value, const Shape *like);
/* The scalar of one storage unit, as literals have it. */
HloInstruction *graph_constant(GraphBuilder *builder, PrimitiveType type, const void *element);
/* The index along |dimension|. */
HloInstruction *graph_iota(GraphBuilder *builder, PrimitiveType type, const int64_t *dims, int rank, int64_t dimension);

/* --- movement --- */

HloInstruction *graph_reshape(GraphBuilder *builder, HloInstruction *value, const int64_t *dims, int rank);
HloInstruction *graph_broadcast(GraphBuilder *builder, HloInstruction *value, const int64_t *dimensions, int count,
                                const int64_t *dims, int rank);
HloInstruction *graph_splat(GraphBuilder *builder, HloInstruction *scalar, const Shape *like);
HloInstruction *graph_slice(GraphBuilder *builder, HloInstruction *value, int dimension, int64_t start, int64_t limit);
/* |value| with |high| times |fill| (a scalar) after it along |dimension|. */
HloInstruction *graph_pad(GraphBuilder *builder, HloInstruction *value, HloInstruction *fill, int dimension,
                          int64_t high);
HloInstruction *graph_reverse(GraphBuilder *builder, HloInstruction *value, const int64_t *dimensions, int count);
HloInstruction *graph_transpose(GraphBuilder *builder, HloInstruction *value, const int64_t *permutation);
HloInstruction *graph_concatenate(GraphBuilder *builder, HloInstruction *const *values, int count, int64_t dimension);
/* One element of |value| along |dimension|, at |index| (a scalar); a size of 1 is left there. */
HloInstruction *graph_take(GraphBuilder *builder, HloInstruction *value, int dimension, HloInstruction *index);
/* Element |index| (a scalar) of |list|, an array of rank 1, as a scalar. */
HloInstruction *graph_scalar_at(GraphBuilder *builder, HloInstruction *list, HloInstruction *index);
/* |size| elements from |index| on. */
HloInstruction *graph_take_run(GraphBuilder *builder, HloInstruction *value, int dimension, HloInstruction *index,
                               int64_t size);
/* Element |index| of the diagonal of each matrix of |value|, [batch, n, n]: [batch, 1, 1]. */
HloInstruction *graph_take_diagonal(GraphBuilder *builder, HloInstruction *value, HloInstruction *index);
/* |value| with |update| at |index| along |dimension|. */
HloInstruction *graph_put(GraphBuilder *builder, HloInstruction *value, HloInstruction *update, int dimension,
                          HloInstruction *index);

/* --- the rest --- */

/* The first |batch| dimensions of both are batches; sums over one dimension of each. */
HloInstruction *graph_dot(GraphBuilder *builder, HloInstruction *lhs, HloInstruction *rhs, int batch,
                          int64_t lhs_contracting, int64_t rhs_contracting);
/* |opcode| of the elements along |dimensions|, from the scalar |init|. */
HloInstruction *graph_reduce(GraphBuilder *builder, HloOpcode opcode, HloInstruction *value, HloInstruction *init,
                             const int64_t *dimensions, int count);
HloInstruction *graph_tuple(GraphBuilder *builder, HloInstruction *const *elements, int count);
HloInstruction *graph_element(GraphBuilder *builder, HloInstruction *tuple, int64_t index);

/* Makes |out_values| (of the types of |values|) from |values|, which are inside the loop; |step| is an s32[]. */
typedef void GraphLoopBody(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                           HloInstruction **out_values);

/* |body| for steps 0 … |trips| - 1 on |count| values; all that it reads has to be among them. */
typedef struct GraphLoop {
  int64_t trips;
  int count;
  GraphLoopBody *body;
  void *context;  /* for |body| */
  bool asks_last; /* the loop ends before a step in which the last value, a pred[], is false */
} GraphLoop;

/* The values begin as |inits|; |out_values|, which may be |inits|: what they are in the end. */
void graph_loop(GraphBuilder *builder, const GraphLoop *loop, HloInstruction *const *inits,
                HloInstruction **out_values);

/* --- passes made of rules --- */

/* What stands for |builder->origin|, up to its layout; NULL: it stays as it is. */
typedef HloInstruction *GraphRule(GraphBuilder *builder);
typedef struct GraphRuleRow {
  HloOpcode opcode;
  GraphRule *expand;
} GraphRuleRow;

/* Applies the rule of its opcode to each instruction that |module| has, and to those of computations that rules add;
 * what rules add to a computation that was there stays.  An opcode has one row at most. */
MUST_USE Status graph_apply_rules(HloPassContext *context, HloModule *module, const GraphRuleRow *rules, int count,
                                  bool *out_changed);

#endif
