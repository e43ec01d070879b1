/* The least that a unit test works with: an arena and a sink, made for each test and gone after it. */
#ifndef XLAC_BASE_FIXTURE_TESTING_H
#define XLAC_BASE_FIXTURE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/diagnostic.h"

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
} Fixture;

static inline int create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  *state = fixture;
  return 0;
}

static inline int destroy(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

#endif
