/* The bytes that a load of the Kernel reads of its array at a range of points, where they are a box. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_LOAD_BOX_H
#define XLAC_CODEGEN_ONCORE_PLAN_LOAD_BOX_H

#include "codegen/kernel/kernel.h"
#include "hlo/machine/stream/command_stream.h"

/* Of load |value| at |extents| points from |begins| on, each by dim of |kernel|: the elements for which its guard
 * holds, none of them outside of the array; an empty box where it holds nowhere.  False where that is no box, or where
 * only run-time values, divisions or remainders tell: then it may be any part of the array. */
bool load_box_find(const Kernel *kernel, int32_t value, const int64_t *begins, const int64_t *extents,
                   ByteBox *out_box);

#endif
