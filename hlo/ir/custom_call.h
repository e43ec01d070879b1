/* What is known of a custom call by the name of its target. */
#ifndef XLAC_HLO_IR_CUSTOM_CALL_H
#define XLAC_HLO_IR_CUSTOM_CALL_H

#include "hlo/ir/hlo_instruction.h"

/* What |instruction|, a custom call, names; empty: it is none, or names nothing. */
StringView custom_call_target(const HloInstruction *instruction);
/* Whether |instruction| is a custom call of |target|. */
bool custom_call_calls(const HloInstruction *instruction, const char *target);

/* A marker that XLA's front ends and partitioners leave in dumps. */
bool custom_call_is_marker(StringView target);
/* A marker where a manual region begins or ends: outside shapes are those of whole arrays, inside of one device's. */
bool custom_call_is_border(StringView target);

/* What the value of a call of a marker is on one device. */
typedef enum MarkerValue {
  MARKER_UNKNOWN, /* no marker, or between shapes that differ */
  MARKER_OPERAND, /* its operand */
  MARKER_TUPLE    /* the tuple of its first operands, as many as the result has elements (() for a mere remark) */
} MarkerValue;
MarkerValue custom_call_marker_value(const HloInstruction *call);

/* A call of a function in the Python process that made the module (jax.pure_callback, jax.debug.print and the like). */
bool custom_call_is_callback(const HloInstruction *instruction);

/* Calls that fail when they are reached, whatever their version: the target is the prefix, then the one that would have
 * been called. */
#define CUSTOM_CALL_TRAP_PREFIX "xlac.trap:"
void custom_call_make_trap(HloInstruction *call);
bool custom_call_is_trap(const HloInstruction *instruction);

/* XLA's own calls around computations on arrays whose size is set at run time: "SliceToDynamic" of (array, the size of
 * each dimension) is the array with those sizes, "PadToStatic" of an array is (array, the size of each dimension).  Of
 * operands and results as they have to be. */
bool custom_call_slices_to_dynamic(const HloInstruction *instruction);
bool custom_call_pads_to_static(const HloInstruction *instruction);

/* "lapack_spotrf_ffi" for |routine| "potrf": JAX's name of a LAPACK routine for any of the four types. */
bool custom_call_is_lapack(StringView target, StringView routine);

/* The integer of |name| among the attributes of a typed call ("{uplo = 76 : ui8}", hlo/ir/call_attributes.h), which is
 * not negative, or |fallback|. */
int64_t custom_call_integer(const HloInstruction *call, StringView name, int64_t fallback);

#endif
