/* Strips of a Kernel: the points of a range of one dimension, as a Kernel of their own.
 *
 * Cut along its outermost dimension (POINTS), strips run in any order and do what the Kernel does, to the bit: each
 * point is computed as before.  Cut along a dimension over which it folds (SUMS), they run one after the other and each
 * goes on from the sums that the one before it has left where the results will be; the last one makes these of them.
 * Folds are reassociable, so that ranges may follow one another in any order.  A Kernel that scatters is cut along the
 * array that it updates (UPDATES): each strip goes through all points, in order, and makes the updates of its part.
 *
 * A strip of one index may be cut once more along another dimension: where an image is as large as a Buffer, its rows
 * are. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_STRIP_H
#define XLAC_CODEGEN_KERNEL_KERNEL_STRIP_H

#include "codegen/kernel/kernel_table.h"

typedef enum KernelCutWay { KERNEL_CUT_POINTS, KERNEL_CUT_SUMS, KERNEL_CUT_UPDATES } KernelCutWay;

/* One use of a table and what takes its place, in the order in which it runs. */
typedef struct KernelCut {
  const KernelUse *use;
  int32_t count;
  const KernelStrip *strips;
} KernelCut;

/* That of |strip|, which is not all of a Kernel that does not scatter. */
KernelCutWay kernel_strip_way(KernelStrip strip);

/* The dimension along which |kernel| is cut by |way|, -1: it cannot be.  POINTS: the outermost, parallel, and each
 * point makes a piece of the results.  SUMS: one over which all folds go on to the last, with a result of the type of
 * each of them, or of those that are only added to one another, to leave it in.  |out_pieces|, by buffer: so many
 * elements side by side are one index's alone, so that a strip has a part of the array to itself; 0: strips have all of
 * it. */
int32_t kernel_strip_dim(const Kernel *kernel, KernelCutWay way, int64_t *out_pieces);

/* Whether strips of |kernel|, which can be cut by SUMS, leave sums in result |buffer|; other results that do not come
 * in parts only the last of them writes. */
bool kernel_strip_leaves_sums(const Kernel *kernel, int32_t buffer);

/* Indices of the dimension along which a strip of one index of kernel_strip_dim's is cut by |way| once more, 0: it
 * cannot be.  |out_pieces|, by buffer of |kernel|: elements side by side that are one of these indices' alone. */
int64_t kernel_strip_inner(const Kernel *kernel, KernelCutWay way, int64_t *out_pieces);
/* Elements of the one array that |kernel| scatters into, along which it is cut by UPDATES; 0: it cannot be.
 * |out_pieces|, by buffer: 1 of that array, 0 of others. */
int64_t kernel_strip_updates(const Kernel *kernel, int64_t *out_pieces);
/* Whether |strip| is one that |kernel| can be cut into. */
bool kernel_strip_fits(const Kernel *kernel, KernelStrip strip);

/* Strip |strip| of |kernel|, which can be cut so, in |arena|: arrays of which it has a part begin with that.  It has
 * those buffers that it needs, in the Kernel's order, and then the sums that it goes on from, which are bound as the
 * results are in which they are left.  |out_offsets|, by buffer of its: where in the array it begins; may be NULL. */
const Kernel *kernel_strip_make(Arena *arena, const Kernel *kernel, KernelStrip strip, const int64_t **out_offsets);

/* That of |use|; NULL: it is not cut. */
const KernelCut *kernel_cut_of(const KernelCut *cuts, int64_t count, const KernelUse *use);

/* |table| with |cuts|, whose Kernels can be cut, in |arena|; other uses are those of |table|, which stays as it is.
 * Strips have identities of their own, from |table|'s count on, equal ones the same. */
KernelTable *kernel_table_cut(Arena *arena, const KernelTable *table, const KernelCut *cuts, int64_t count);

#endif
