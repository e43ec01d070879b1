/* Making a value fit a position that wants another layout of the same type. */
#ifndef XLAC_PASSES_CLEANUP_SHAPE_COERCION_H
#define XLAC_PASSES_CLEANUP_SHAPE_COERCION_H

#include "hlo/ir/hlo_module.h"

/* |value| if it has |shape| already, else the same elements in the layouts of |shape|: a copy per array leaf that
 * differs.  |shape| must have the types and dimensions of |value|'s; where it has not, |value| itself comes back. */
HloInstruction *shape_coerce(HloInstruction *value, const Shape *shape);

#endif
