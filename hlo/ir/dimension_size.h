/* Where sizes of results come from when those of operands are set at run time.
 *
 * What each opcode says of the dimensions of its result, for the evaluator, which knows the sizes, and for passes,
 * which have instructions for them.  After XLA's DynamicDimensionInference. */
#ifndef XLAC_HLO_IR_DIMENSION_SIZE_H
#define XLAC_HLO_IR_DIMENSION_SIZE_H

#include "hlo/ir/hlo_instruction.h"

typedef enum DimensionSizeKind {
  DIMENSION_UNKNOWN,   /* not known, if an operand has sizes */
  DIMENSION_AMBIGUOUS, /* the same, if one of |count| dimensions of operand 0 has one; otherwise the bound */
  DIMENSION_BOUND,     /* the bound, whatever the sizes of the operands */
  DIMENSION_SAME,      /* that of the last of the operands named that has one, below */
  DIMENSION_COMMON,   /* of all operands of the result's rank: where two differ and the less is 1, the greater (what has
                         one element stands for all), otherwise the less */
  DIMENSION_GIVEN,    /* the value of an operand, between 0 and the bound */
  DIMENSION_SUM,      /* the sum over all operands */
  DIMENSION_PADDED,   /* of operand 0, padded */
  DIMENSION_WINDOWED, /* the places of a window on operand 0 */
  DIMENSION_RATIO     /* the product over |count| dimensions of operand 0, divided by |divisor| */
} DimensionSizeKind;

typedef struct DimensionSize {
  DimensionSizeKind kind;
  int operand, count; /* GIVEN: the operand; SAME: the first one, and how many; RATIO, AMBIGUOUS: |count| dimensions */
  int64_t dimension;  /* of the operands; RATIO, AMBIGUOUS: the first one */
  int64_t last_dimension; /* SAME: of the last operand, where it is another */
  int64_t divisor;
  PaddingDimension padding;
  WindowDimension window;
} DimensionSize;

/* Of dimension |dimension| of the array that is leaf |leaf| of the result (0 unless it is a tuple); of a scalar BOUND
 * where the opcode has a rule.  Control flow, tuples and calls hand sizes on with the values that have them and are
 * UNKNOWN here, like all that has no rule. */
DimensionSize hlo_dimension_size(const HloInstruction *instruction, int leaf, int64_t dimension);

/* Dimensions of the operand and of the result of a reshape that hold the same elements. */
typedef struct ReshapeGroup {
  int operand_first, operand_end, result_first, result_end;
} ReshapeGroup;

/* The group after |group| (all 0 before the first one); false when there are no more. */
bool hlo_next_reshape_group(const Shape *operand, const Shape *result, ReshapeGroup *group);

#endif
