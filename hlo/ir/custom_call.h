/* What is known of a custom call by the name of its target. */
#ifndef XLAC_HLO_IR_CUSTOM_CALL_H
#define XLAC_HLO_IR_CUSTOM_CALL_H

#include "hlo/ir/hlo_instruction.h"

/* A marker that XLA's front ends and partitioner leave in dumps: its value is its operand's. */
bool custom_call_is_marker(StringView target);

/* "lapack_spotrf_ffi" for |routine| "potrf": JAX's name of a LAPACK routine for any of the four types. */
bool custom_call_is_lapack(StringView target, StringView routine);

/* The integer of |name| among the attributes of a typed call ("{uplo = 76 : ui8}", hlo/ir/call_attributes.h), which is
 * not negative, or |fallback|. */
int64_t custom_call_integer(const HloInstruction *call, StringView name, int64_t fallback);

#endif
