/* Attributes that spell out sizes, windows and borders of what is made for a part. */
#ifndef XLAC_PASSES_MEMORY_SPLIT_FIT_H
#define XLAC_PASSES_MEMORY_SPLIT_FIT_H

#include "passes/memory/split.h"

/* |made|, a clone of |member| (no fold) with the shape and the operands of a part, computes the part: attributes that
 * are about the cut dimension say what is there of it. */
void split_fit_attributes(HloInstruction *made, const HloSplitMember *member);

#endif
