/* Bounds of integer arrays, from what makes them: iota, sums, products, masks, remainders, clamps, conversions of
 * narrower types. */
#ifndef XLAC_PASSES_SIMPLIFY_INTEGER_RANGE_H
#define XLAC_PASSES_SIMPLIFY_INTEGER_RANGE_H

#include "hlo/ir/hlo_module.h"

/* Every element is at least |low| and at most |high|; |high| INT64_MAX may mean more than that for u64. */
typedef struct IntegerRange {
  int64_t low, high;
} IntegerRange;

/* Of a value of an integer type or pred (false is 0).  Looks at a bounded number of instructions. */
IntegerRange integer_range(const HloInstruction *value);

/* Every element of the first is less than, or at least, every element of the second. */
bool integer_range_below(IntegerRange a, IntegerRange b);
bool integer_range_not_below(IntegerRange a, IntegerRange b);

/* No element of |value|, of integers or floats, has its sign set but NaN; |value| may be all of it. */
bool integer_range_is_non_negative(const HloInstruction *value);

#endif
