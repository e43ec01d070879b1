/* Leaves of literals, tuples flattened depth first, to and from the storage of tensors. */
#ifndef XLAC_CLI_LITERAL_LEAVES_H
#define XLAC_CLI_LITERAL_LEAVES_H

#include "hlo/type/literal.h"
#include "xlac/abi.h"

/* From tensor *|next| on, which is advanced; tokens have no elements. */
void literal_leaves_load(Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next);
/* Sizes set at run time: from the tensors that they are, into |arena|, and back; |first| is the number of the first
 * leaf of |literal|.  Sizes of other leaves are left alone. */
void literal_leaves_load_sizes(Arena *arena, Literal *literal, int64_t first, const XlacLeafSize *sizes, int64_t count,
                               void *const *storage);
void literal_leaves_store_sizes(const Literal *literal, const XlacLeafSize *sizes, int64_t count, void *const *storage);
void literal_leaves_store(const Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next);

#endif
