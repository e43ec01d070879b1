/* What the tests of hlo/analysis share: an arena with a module read from text. */
#ifndef XLAC_HLO_ANALYSIS_ANALYSIS_TESTING_H
#define XLAC_HLO_ANALYSIS_ANALYSIS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the above, as cmocka wants it */
#include <cmocka.h>

#include "hlo/analysis/buffer_assignment.h"
#include "parser/hlo_parser.h"

typedef struct Fixture {
  Arena *arena;
  DiagSink diag;
  SourceFile file;
  HloModule *module;            /* the one read last */
  BufferAssignment *assignment; /* of |module|, where a test makes one */
} Fixture;

static inline int set_up(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  diag_sink_init(&fixture->diag, arena);
  *state = fixture;
  return 0;
}

static inline int tear_down(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

/* |text| must be a module without mistakes. */
static inline HloModule *read_module(Fixture *fixture, const char *text) {
  fixture->file = (SourceFile){SV("test"), sv_from_cstring(text)};
  ShapeTable *shapes = shape_table_create(fixture->arena);
  assert_int_equal(hlo_parse_module(fixture->arena, shapes, &fixture->file, &fixture->diag, &fixture->module),
                   STATUS_OK);
  return fixture->module;
}

/* The instruction of that name in any computation; it is there. */
static inline const HloInstruction *find_instruction(const HloModule *module, const char *name) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      if (sv_equal_cstring(list->data[i]->name, name)) return list->data[i];
    }
  }
  fail_msg("no instruction '%s'", name);
  return NULL;
}

#endif
