/* Occupancy: which addresses are in use at some time between two, where very many buffers are alive at once.
 *
 * Extents that touch are one, so that a packing without gaps takes little room however many buffers it has. */
#ifndef XLAC_BASE_PACKING_OCCUPANCY_H
#define XLAC_BASE_PACKING_OCCUPANCY_H

#include "base/array.h"
#include "base/packing/packing.h"

typedef struct Extent {
  int64_t start, end; /* bytes, half-open */
} Extent;

typedef ARRAY(Extent) ExtentArray;

typedef struct Occupancy Occupancy;

/* For lifetimes of |buffers|, none of which is placed yet. */
Occupancy *occupancy_create(Arena *arena, const PackingBuffer *buffers, int64_t count);

/* |buffer|, one of those above, is at |offset| from now on. */
void occupancy_add(Occupancy *occupancy, const PackingBuffer *buffer, int64_t offset);

/* Appends extents that together are what is in use while |buffer| is alive, in no order and some of them twice. */
void occupancy_find(const Occupancy *occupancy, const PackingBuffer *buffer, ExtentArray *extents, Arena *scratch);

#endif
