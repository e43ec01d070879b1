/* Orders by integers, in a time that is linear in how many there are. */
#ifndef XLAC_BASE_RADIX_SORT_H
#define XLAC_BASE_RADIX_SORT_H

#include "base/arena.h"

/* Puts the |count| indices |order| in ascending order of their keys, keys[index]; those of equal keys stay in the order
 * they have.  So several keys are sorted by from the last one to the first.  By bytes, the least first (Knuth, The Art
 * of Computer Programming 3, 5.2.5): a pass for each byte in which keys differ. */
void radix_sort(const int64_t *keys, int64_t count, int64_t *order, Arena *scratch);

#endif
