/* Lanes: elements of any type as numbers to compute with.
 *
 * A rule loads runs of elements into work numbers, computes, and stores the run, rounding or wrapping once.  All
 * integers are 64 bits wide (sign- or zero-extended), all real floating types are doubles, complex ones pairs of
 * doubles.  Add, subtract, multiply, divide and square root of f32 and narrower types, computed in double and rounded,
 * are what IEEE 754 prescribes for the type itself, because a double has more than twice the precision. */
#ifndef XLAC_HLO_EVAL_LANES_H
#define XLAC_HLO_EVAL_LANES_H

#include "hlo/ir/hlo_opcode.h"
#include "hlo/type/literal.h"

/* The longest run worth keeping on the stack. */
enum { LANES = 256 };

typedef enum LaneClass {
  LANE_PRED, /* uint64_t, 0 or 1 */
  LANE_SIGNED,
  LANE_UNSIGNED,
  LANE_FLOAT,
  LANE_COMPLEX,
  LANE_CLASS_COUNT
} LaneClass;

typedef struct LaneComplex {
  double re, im;
} LaneComplex;

typedef union LaneBlock {
  int64_t i[LANES];
  uint64_t u[LANES];
  double f[LANES];
  LaneComplex c[LANES];
} LaneBlock;

LaneClass lane_class(PrimitiveType type); /* of array types */
size_t lane_bytes(LaneClass lane);        /* of one work number */

/* |count| elements from |data| on, |stride| elements apart (0: the same one again), to work numbers at |out|. */
void lanes_load(PrimitiveType type, const void *data, int64_t stride, int64_t count, void *out);
/* Neighbouring elements from work numbers of the type's class: integers wrap, floats round to nearest even once. */
void lanes_store(PrimitiveType type, void *data, int64_t count, const void *values);

/* Work numbers of class |from| made of type |type|, to be stored as such: the meaning of 'convert'.  In place is
 * allowed. Floats to integers truncate and saturate, NaN is 0; to pred: whether it is not 0; a complex number loses
 * its imaginary part to a real type. */
void lanes_convert(LaneClass from, PrimitiveType type, int64_t count, const void *in, void *out);

/* One operation on runs; |bits| is the width of the operands' type.  Unary ones ignore |b|. */
typedef void LaneKernel(int bits, int64_t count, void *out, const void *a, const void *b);

/* The kernel of an elementwise opcode for operands of |lane|, NULL where it has no meaning. */
LaneKernel *lane_kernel(HloOpcode opcode, LaneClass lane);
LaneKernel *lane_compare_kernel(ComparisonDirection direction, LaneClass lane, bool total_order);

/* The tables behind it, by opcode. */
LaneKernel *lane_float_kernel(HloOpcode opcode);
LaneKernel *lane_complex_kernel(HloOpcode opcode);
LaneKernel *lane_integer_kernel(HloOpcode opcode, LaneClass lane); /* pred too */

#endif
