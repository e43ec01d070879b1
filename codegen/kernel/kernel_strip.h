/* Strips of a Kernel: the points of a range of its outermost dimension, as a Kernel of their own.  Run one after the
 * other, in any order, strips that make up all of it do what it does, to the bit: each point is computed as before. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_STRIP_H
#define XLAC_CODEGEN_KERNEL_KERNEL_STRIP_H

#include "codegen/kernel/kernel_table.h"

/* One use of a table and what takes its place, in the order in which it runs. */
typedef struct KernelCut {
  const KernelUse *use;
  int32_t count;
  const KernelStrip *strips;
} KernelCut;

/* Whether |kernel| can be cut along its outermost dimension, which then is parallel, and of whose results each point
 * makes a piece.  |out_pieces|, by buffer: so many elements side by side are one point's alone, so that a strip has a
 * part of the array to itself; 0: strips have all of it. */
bool kernel_strip_pieces(const Kernel *kernel, int64_t *out_pieces);

/* The points of |strip| of |kernel|, which can be cut, in |arena|: arrays of which it has a part begin with that. */
const Kernel *kernel_strip_make(Arena *arena, const Kernel *kernel, KernelStrip strip);

/* That of |use|; NULL: it is not cut. */
const KernelCut *kernel_cut_of(const KernelCut *cuts, int64_t count, const KernelUse *use);

/* |table| with |cuts|, whose Kernels can be cut, in |arena|; other uses are those of |table|, which stays as it is.
 * Strips have identities of their own, from |table|'s count on, equal ones the same. */
KernelTable *kernel_table_cut(Arena *arena, const KernelTable *table, const KernelCut *cuts, int64_t count);

#endif
