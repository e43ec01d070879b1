#include "base/unit_root.h"

#include <math.h>

#define PI 3.14159265358979323846

UnitRoot unit_root(int64_t i, int64_t n, int sign) {
  i %= n;
  int64_t quadrant = 4 * i / n;
  double angle = PI / 2 * (double)(4 * i - quadrant * n) / (double)n, c = cos(angle), s = sin(angle);
  UnitRoot root = quadrant == 0   ? (UnitRoot){c, s}
                  : quadrant == 1 ? (UnitRoot){-s, c}
                  : quadrant == 2 ? (UnitRoot){-c, -s}
                                  : (UnitRoot){s, -c};
  return (UnitRoot){root.re + 0.0, sign * root.im + 0.0}; /* -0 becomes 0 */
}
