/* Short rows as one loop with what is around them. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_ROWS_H
#define XLAC_CODEGEN_KERNEL_KERNEL_ROWS_H

#include "codegen/kernel/kernel.h"

/* |kernel| with its last two outer dims as one, of which the last is short (the three numbers of a point): stores are
 * contiguous along it, what has a number for each row is read at its index / 3, what has one for each place at its
 * index % 3.  The same values, folds, stages and buffers.  NULL where it has no such dims or other stores.  In |arena|.
 */
const Kernel *kernel_join_rows(Arena *arena, const Kernel *kernel);

#endif
