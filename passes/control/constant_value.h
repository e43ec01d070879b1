/* Values that no operand is needed for: constants, iotas, broadcasts of these and a few cheap operations on them, such
 * as a mask.  Making them again costs less than handing them on. */
#ifndef XLAC_PASSES_CONTROL_CONSTANT_VALUE_H
#define XLAC_PASSES_CONTROL_CONSTANT_VALUE_H

#include "hlo/ir/hlo_module.h"

bool constant_value_is(const HloInstruction *value);
/* Of two of them: the same elements in the same layout, made alike. */
bool constant_value_equal(const HloInstruction *a, const HloInstruction *b);
HloInstruction *constant_value_copy(HloComputation *computation, const HloInstruction *value);

#endif
