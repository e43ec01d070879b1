#include "passes/control/costly_operation.h"

static const HloOpcode costly_opcodes[] = {HLO_DOT,
                                           HLO_RAGGED_DOT,
                                           HLO_SCALED_DOT,
                                           HLO_CONVOLUTION,
                                           HLO_REDUCE,
                                           HLO_REDUCE_WINDOW,
                                           HLO_SORT,
                                           HLO_GATHER,
                                           HLO_SCATTER,
                                           HLO_FFT,
                                           HLO_CHOLESKY,
                                           HLO_TRIANGULAR_SOLVE,
                                           HLO_TOPK,
                                           HLO_EXPONENTIAL,
                                           HLO_LOG,
                                           HLO_TANH,
                                           HLO_LOGISTIC,
                                           HLO_SINE,
                                           HLO_COSINE,
                                           HLO_POWER,
                                           HLO_ERF,
                                           HLO_TAN,
                                           HLO_LOG_PLUS_ONE,
                                           HLO_CBRT,
                                           HLO_ATAN2,
                                           HLO_SINH,
                                           HLO_COSH,
                                           HLO_ASIN,
                                           HLO_ACOS,
                                           HLO_SELECT_AND_SCATTER,
                                           HLO_RNG_BIT_GENERATOR,
                                           HLO_EXPONENTIAL_MINUS_ONE};

enum { COSTLY_COUNT = sizeof(costly_opcodes) / sizeof(costly_opcodes[0]) };

bool costly_operation(const HloInstruction *instruction) {
  if (shape_is_scalar(instruction->shape)) return false;
  for (int i = 0; i < COSTLY_COUNT; i++) {
    if (instruction->opcode != costly_opcodes[i]) continue;
    /* One value per broadcast element would be stored instead of the value. */
    return !hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || instruction->operands[0]->opcode != HLO_BROADCAST;
  }
  return false;
}
