/* Values with their dimensions in another order, as the passes of this room make them. */
#ifndef XLAC_PASSES_LAYOUT_TURNED_VALUE_H
#define XLAC_PASSES_LAYOUT_TURNED_VALUE_H

#include "hlo/ir/hlo_module.h"

enum { LAYOUT_RANK_LIMIT = 64 };

/* An array of at least two dimensions and of LAYOUT_RANK_LIMIT at most, static. */
bool layout_may_turn(const Shape *shape);
/* |instruction| makes such an array, in the default layout. */
bool layout_is_plain(const HloInstruction *instruction);
/* A plain value whose elements depend on those in the same places of plain operands, and on scalars. */
bool layout_is_elementwise(const HloInstruction *instruction);

/* |shape|, which may turn, with dimension |order|[i] as its dimension i; of default layout. */
const Shape *layout_turned_shape(ShapeTable *shapes, const Shape *shape, const int64_t *order);
/* transpose(value) of |shape|, whose dimension i is |dims|[i] of |value|. */
HloInstruction *layout_transposed(HloInstruction *value, const Shape *shape, const int64_t *dims);

#endif
