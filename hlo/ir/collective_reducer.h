/* Reducers that are one operation, and those of them that all-reduce and reduce-scatter have names for. */
#ifndef XLAC_HLO_IR_COLLECTIVE_REDUCER_H
#define XLAC_HLO_IR_COLLECTIVE_REDUCER_H

#include "hlo/ir/hlo_computation.h"

/* True where |reducer| (NULL: none) is an associative operation of its two parameters, in any order. */
bool hlo_reducer_opcode(const HloComputation *reducer, HloOpcode *out_opcode);

/* True where the computation that |collective| applies is an associative operation of its two parameters, of the type
 * of each operand, and one that engines of communication know for it: integers of 8 bits and more, pred, f16, bf16,
 * f32, f64; of complex numbers sums and products alone.  |out_opcode|: HLO_ADD, HLO_MULTIPLY, HLO_MINIMUM, HLO_MAXIMUM,
 * HLO_AND, HLO_OR or HLO_XOR; of pred one of the last three. */
bool collective_reducer(const HloInstruction *collective, HloOpcode *out_opcode);

#endif
