/* What a unit test of files works with: an arena, a sink and an empty folder, made for each test and gone after it. */
#ifndef XLAC_BASE_FOLDER_TESTING_H
#define XLAC_BASE_FOLDER_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scratch_folder.h"

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
  ScratchFolder folder;
} Fixture;

static inline int create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  *state = fixture;
  return scratch_folder_create(arena, &fixture->diag, &fixture->folder) == STATUS_OK ? 0 : -1;
}

static inline int destroy(void **state) {
  Fixture *fixture = *state;
  scratch_folder_remove(&fixture->folder);
  arena_destroy(fixture->arena);
  return 0;
}

static inline const char *path_of(const Fixture *fixture, const char *name) {
  return scratch_folder_path(&fixture->folder, name);
}

#endif
