/* Roots of unity. */
#ifndef XLAC_BASE_UNIT_ROOT_H
#define XLAC_BASE_UNIT_ROOT_H

#include <stdint.h>

typedef struct UnitRoot {
  double re, im;
} UnitRoot;

/* exp(sign·2πi·i/n) for i >= 0, n >= 1, |sign| -1 or 1, by quadrants: what is 1, i, -1 or -i is so exactly, and there
 * is no -0.  i and n up to 2^60. */
UnitRoot unit_root(int64_t i, int64_t n, int sign);

#endif
