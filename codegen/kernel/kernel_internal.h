/* Steps of finishing a KernelDraft, of kernel_table_share and of strips. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_INTERNAL_H
#define XLAC_CODEGEN_KERNEL_KERNEL_INTERNAL_H

#include "codegen/kernel/kernel_strip.h"

/* Sets stage and dims of |values|, which are those of |kernel|, from what they read. */
void kernel_values_depend(const Kernel *kernel, KernelValue *values);

/* |shared| for the place where |own| stood: its buffers are bound as those are, which texts do not say.  |shared| may
 * have further ones, which are bound to nothing. */
const Kernel *kernel_bound_as(Arena *arena, const Kernel *shared, const Kernel *own);

/* Joins to pieces[buffer] what |address|, guarded by |predicate| (-1: by nothing), says of it: the number of elements
 * of |buffer| that are one index's of dimension |dim|.  |pieces| by buffer: -1, no access has said anything yet; 0, one
 * has no such piece, or pieces are of unequal size. */
void kernel_join_piece(const Kernel *kernel, int32_t dim, int32_t buffer, IndexExpr address, int32_t predicate,
                       int64_t *pieces);
/* kernel_strip_dim and kernel_strip_make, for SUMS. */
int32_t kernel_sums_dim(const Kernel *kernel, int64_t *out_pieces);
const Kernel *kernel_sums_strip(Arena *arena, const Kernel *kernel, KernelStrip strip, const int64_t **out_offsets);
/* kernel_strip_make, for UPDATES. */
const Kernel *kernel_updates_strip(Arena *arena, const Kernel *kernel, KernelStrip strip, const int64_t **out_offsets);

/* The two halves of kernel_table_share, without verifying. */
void kernel_table_share_places(KernelTable *table, bool (*has_function)(const Kernel *kernel));
void kernel_table_share_constants(KernelTable *table, bool (*has_function)(const Kernel *kernel));

#endif
