/* Leaves of literals, tuples flattened depth first, to and from the storage of tensors. */
#ifndef XLAC_CLI_LITERAL_LEAVES_H
#define XLAC_CLI_LITERAL_LEAVES_H

#include "hlo/type/literal.h"
#include "runtime/abi.h"

/* From tensor *|next| on, which is advanced; tokens have no elements. */
void literal_leaves_load(Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next);
void literal_leaves_store(const Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next);

#endif
