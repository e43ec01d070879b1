/* Which items of a part meet in time, as lists. */
#ifndef XLAC_BASE_PACKING_PART_CONFLICTS_H
#define XLAC_BASE_PACKING_PART_CONFLICTS_H

#include "base/packing/part.h"

/* Sizes and offsets in units, the common divisor of a part's sizes, alignments and obstacles. */
typedef int32_t Units;

enum { MOST_UNITS = 1 << 30 };

typedef struct Conflict {
  int32_t other; /* item */
  Units height;  /* of this item where the other is alive */
} Conflict;

typedef struct Conflicts {
  int64_t unit;
  int32_t *first; /* by item, and one more: where its conflicts begin in |rows| */
  Conflict *rows;
} Conflicts;

/* False when there are more than |most_pairs| pairs, or sizes beyond MOST_UNITS.  Lives in |arena|. */
bool conflicts_list(Arena *arena, const Part *part, int64_t most_pairs, Conflicts *out_conflicts);

#endif
