/* What tests of orders share: a computation of operations whose results are buffers of their own and overwrite nothing,
 * which custom calls are. */
#ifndef XLAC_PASSES_SCHEDULE_SCHEDULE_TESTING_H
#define XLAC_PASSES_SCHEDULE_SCHEDULE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "passes/schedule/schedule_model.h"

typedef struct Fixture {
  Arena *arena;
  HloModule *module;
  HloComputation *computation;
  IntMap peaks;
} Fixture;

static inline int set_up(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  fixture->module = hlo_module_create(arena, shape_table_create(arena), SV("m"));
  fixture->computation = hlo_module_add_computation(fixture->module, SV("main"));
  fixture->module->entry = fixture->computation;
  int_map_init(&fixture->peaks, arena);
  *state = fixture;
  return 0;
}

static inline int tear_down(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

static inline const Shape *bytes(Fixture *fixture, int64_t count) {
  return shape_array(fixture->module->shapes, TYPE_U8, &count, 1);
}

static inline HloInstruction *parameter(Fixture *fixture, int64_t size) {
  return hlo_computation_add_parameter(fixture->computation, fixture->computation->parameters.count,
                                       bytes(fixture, size), SV("p"));
}

/* An operation whose result is a buffer of |size| bytes of its own. */
static inline HloInstruction *operation(Fixture *fixture, int64_t size, HloInstruction **operands, int count) {
  return hlo_computation_add(fixture->computation, HLO_CUSTOM_CALL, bytes(fixture, size), operands, count, SV("c"));
}

static inline HloInstruction *unary(Fixture *fixture, int64_t size, HloInstruction *operand) {
  return operation(fixture, size, &operand, 1);
}

static inline HloInstruction *binary(Fixture *fixture, int64_t size, HloInstruction *a, HloInstruction *b) {
  return operation(fixture, size, (HloInstruction *[]){a, b}, 2);
}

static inline const ScheduleModel *model_of(Fixture *fixture, HloInstruction *root) {
  hlo_computation_set_root(fixture->computation, root);
  return schedule_model_create(fixture->arena, fixture->computation, &fixture->peaks);
}

static inline void assert_is_schedule(Fixture *fixture, const ScheduleModel *model, const int32_t *order) {
  bool *done = ARENA_NEW_ARRAY(fixture->arena, bool, model->node_count + 1);
  for (int32_t i = 0; i < model->node_count; i++) {
    const ScheduleNode *node = &model->nodes[order[i]];
    assert_false(done[order[i]]);
    for (int32_t k = 0; k < node->predecessor_count; k++) assert_true(done[node->predecessors[k]]);
    done[order[i]] = true;
  }
}

static inline uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 16;
}

#endif
