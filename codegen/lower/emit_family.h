/* EmitFamily: the `emit` column of hlo_opcode.def as a value, so that each consumer (Kernel lowering, control code)
 * looks at families only. */
#ifndef XLAC_CODEGEN_LOWER_EMIT_FAMILY_H
#define XLAC_CODEGEN_LOWER_EMIT_FAMILY_H

#include "hlo/ir/hlo_instruction.h"

typedef enum EmitFamily {
  EMIT_unsupported,
  EMIT_elementwise,
  EMIT_copy,
  EMIT_forward, /* the value is operand 0's (get-tuple-element: an element of it), or there is none (tokens) */
  EMIT_parameter,
  EMIT_constant,
  EMIT_tuple,
  EMIT_indexed, /* index(name): moves data, by an index map of its own */
  EMIT_bitcast_convert,
  EMIT_dynamic_update_slice,
  EMIT_scatter,
  EMIT_map,
  EMIT_reduce,
  EMIT_reduce_window,
  EMIT_select_and_scatter,
  EMIT_dot,
  EMIT_convolution,
  EMIT_fusion,
  EMIT_sort,
  EMIT_fft,
  EMIT_rng_state,
  EMIT_outside_call,
  EMIT_collective, /* of several devices: one of them, its start or its end */
  EMIT_device_id,
  EMIT_call,
  EMIT_while,
  EMIT_conditional,
  EMIT_FAMILY_COUNT
} EmitFamily;

EmitFamily emit_family(HloOpcode opcode);
/* Whether its instructions become Kernels (rank-0 arithmetic need not: control code has it in registers). */
bool emit_family_makes_kernels(EmitFamily family);

/* What a lane-wise operation needs to know beside its types, as KernelValue and VecOp carry it: compare's direction and
 * type (that of the operands when none is stated), reduce-precision's exponent and mantissa bits; 0 otherwise. */
void emit_lane_params(const HloInstruction *instruction, int64_t out_params[2]);

/* The operand whose type says which code an operation needs: the first, but for OP_TAKES_SCALARS the second. */
int emit_typed_operand(HloOpcode opcode);

#endif
