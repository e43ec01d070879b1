/* DynamicSizes: the instructions that compute the sizes of arrays whose size is set at run time.
 *
 * Sizes are s32 scalars of the computation of the value, between 0 and the bound.  An array that has none is as large
 * as its bound, whatever its shape says. */
#ifndef XLAC_PASSES_EXPAND_DYNAMIC_SIZES_H
#define XLAC_PASSES_EXPAND_DYNAMIC_SIZES_H

#include "passes/expand/graph_builder.h"

typedef struct DynamicSizes {
  Arena *scratch;
  DiagSink *diag;
  IntMap values; /* by id of the instruction */
  IntMap given;  /* sizes made of values, by the value and the bound: one for both is one size */
} DynamicSizes;

/* No sizes are known yet; in |scratch|. */
void dynamic_sizes_init(DynamicSizes *sizes, Arena *scratch, DiagSink *diag);

/* By dimension, of the array at |node| of the value's shape; NULL: it has none, as dimensions may have none. */
HloInstruction *const *dynamic_sizes_at(const DynamicSizes *sizes, const HloInstruction *value, int node);
bool dynamic_sizes_any(const DynamicSizes *sizes, const HloInstruction *value);
/* NULL: none. */
HloInstruction *dynamic_size_of(const DynamicSizes *sizes, const HloInstruction *value, int64_t dimension);
/* The bound where there is none. */
HloInstruction *dynamic_size_or_bound(const DynamicSizes *sizes, GraphBuilder *builder, const HloInstruction *value,
                                      int node, int64_t dimension);

void dynamic_sizes_set(DynamicSizes *sizes, const HloInstruction *value, int node, int64_t dimension,
                       HloInstruction *size);
/* What |from| has from |from_node| on, for as much of |to|. */
void dynamic_sizes_copy(DynamicSizes *sizes, const HloInstruction *to, int to_node, const HloInstruction *from,
                        int from_node);

/* |size| (s32[]), not below 0 and not above |bound|. */
HloInstruction *dynamic_size_given(DynamicSizes *sizes, GraphBuilder *builder, HloInstruction *size, int64_t bound);

/* Gives the builder's origin, which is no control flow and no tuple, the sizes that follow from its operands'; an
 * error, code "unsupported-dynamic", where there is no telling. */
MUST_USE Status dynamic_sizes_infer(DynamicSizes *sizes, GraphBuilder *builder);

/* That |user| cannot take |operand|, which has sizes; or, where that is itself, that those it makes are not known. */
MUST_USE Status dynamic_sizes_refuse(const DynamicSizes *sizes, const HloInstruction *user,
                                     const HloInstruction *operand);

/* --- what reads an array sees nothing beyond its sizes (dynamic_operands.c) --- */

/* Makes the builder's origin right for operands that are as large as their bounds; |out_result| stands for it, NULL
 * where it does so itself.  Its sizes are known. */
MUST_USE Status dynamic_operands_hide(DynamicSizes *sizes, GraphBuilder *builder, HloInstruction **out_result);

/* --- elements in order (dynamic_reshape.c) --- */

/* A reshape or dynamic-reshape whose sizes are known. */
HloInstruction *dynamic_reshape_expand(const DynamicSizes *sizes, GraphBuilder *builder);

#endif
