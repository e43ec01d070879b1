/* The fixture of this room's tests: an arena and a shape table in it. */
#ifndef XLAC_HLO_TYPE_TYPE_TESTING_H
#define XLAC_HLO_TYPE_TYPE_TESTING_H

#include "hlo/type/shape.h"

typedef struct Fixture {
  Arena *arena;
  ShapeTable *table;
} Fixture;

static inline int create(void **state) {
  static Fixture fixture;
  fixture.arena = arena_create();
  fixture.table = shape_table_create(fixture.arena);
  *state = &fixture;
  return 0;
}

static inline int destroy(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

#endif
