/* What the tests of this room share: arrays whose elements say where they stand, divided among devices, and programs of
 * devices made by a SpmdBuilder and evaluated on all of them. */
#ifndef XLAC_PASSES_SPMD_SPMD_TESTING_H
#define XLAC_PASSES_SPMD_SPMD_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the above, as cmocka wants it */
#include <cmocka.h>

#include "base/hash_map.h"
#include "hlo/infer/hlo_verifier.h"
#include "passes/spmd/spmd_builder.h"
#include "runtime/collectives/evaluator_devices.h"

enum { MOST_TEST_DEVICES = 16, TEST_PADDING = -77 };

static inline int64_t draw(uint64_t *random, int64_t below) {
  return (int64_t)(hash_u64((*random)++ * UINT64_C(0x9e3779b97f4a7c15)) % (uint64_t)below);
}

/* --- divided arrays --- */

/* The device at |position|, where tiles are numbered by |order| (AxisSharding.order). */
static inline int64_t test_device(const SpmdMesh *mesh, const int64_t *order, int64_t position) {
  if (order != NULL) return order[position];
  return mesh->devices != NULL ? mesh->devices[position] : position;
}

/* The row-major number in |whole| of element |element| of the part at |position|; -1: padding. */
static inline int64_t whole_element(const SpmdMesh *mesh, const AxisSharding *sharding, const Shape *whole,
                                    const Shape *local, int64_t position, int64_t element) {
  int64_t number = 0, stride = 1;
  for (int d = whole->rank - 1; d >= 0; d--) {
    int64_t index = element % local->dims[d] + axis_list_index(mesh, sharding->dims[d], position) * local->dims[d];
    element /= local->dims[d];
    if (index >= whole->dims[d]) return -1;
    number += index * stride;
    stride *= whole->dims[d];
  }
  return number;
}

/* Any order of |count| things. */
static inline int64_t *random_order(Arena *arena, uint64_t *random, int64_t count) {
  int64_t *order = ARENA_NEW_ARRAY(arena, int64_t, count + 1);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = draw(random, i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  return order;
}

/* Of at most MOST_TEST_DEVICES devices, now and then numbered in another way than by position. */
static inline SpmdMesh *random_mesh(Arena *arena, uint64_t *random) {
  int64_t sizes[3], count = 1 + draw(random, 3), devices = 1;
  for (int64_t i = 0; i < count; i++) {
    sizes[i] = 1 + draw(random, 6);
    if (devices * sizes[i] > MOST_TEST_DEVICES) sizes[i] = 1;
    devices *= sizes[i];
  }
  return spmd_mesh_create(arena, sizes, (int)count, draw(random, 3) == 0 ? random_order(arena, random, devices) : NULL,
                          NULL);
}

/* Each axis in any dimension or in none, in any order; none of |without|. */
static inline AxisSharding *random_sharding(Arena *arena, uint64_t *random, const SpmdMesh *mesh, int rank,
                                            AxisMask without) {
  AxisSharding *sharding = axis_sharding_replicated(arena, rank, 0);
  const int64_t *order = random_order(arena, random, mesh->axis_count);
  for (int i = 0; i < mesh->axis_count; i++) {
    int dim = (int)draw(random, rank + 1);
    AxisMask axis = (AxisMask)1 << order[i];
    if (dim == rank || without & axis) continue;
    AxisList axes = axis_lists_join(arena, sharding->dims[dim], axis_mask_list(arena, axis));
    sharding = axis_sharding_with(arena, sharding, dim, axes);
  }
  return sharding;
}

static inline StringView sharding_words(Arena *arena, const SpmdMesh *mesh, const AxisSharding *sharding) {
  StringBuilder text;
  sb_init(&text, arena);
  hlo_sharding_print(&text, axis_sharding_to_hlo(arena, mesh, sharding));
  return sb_view(&text);
}

/* --- programs --- */

typedef struct DeviceProgram {
  Arena *arena;
  HloModule *module;
  SpmdBuilder builder;
  HloInstruction *part; /* the parameter */
} DeviceProgram;

/* Of the devices of |mesh|, with a parameter of shape |local|, which is of |shapes|. */
static inline void device_program_begin(DeviceProgram *program, Arena *arena, ShapeTable *shapes, const SpmdMesh *mesh,
                                        const Shape *local) {
  *program = (DeviceProgram){.arena = arena, .module = hlo_module_create(arena, shapes, SV("program"))};
  program->module->num_partitions = mesh->device_count;
  HloComputation *entry = hlo_module_add_computation(program->module, SV("main"));
  program->module->entry = entry;
  program->part = hlo_computation_add_parameter(entry, 0, local, SV("part"));
  program->builder = (SpmdBuilder){{entry, program->part, arena}, mesh, arena};
}

/* |root| on each device, for their |parts|; both by the device's number. */
static inline const Literal **device_program_run(DeviceProgram *program, HloInstruction *root, Literal *const *parts) {
  Arena *arena = program->arena;
  int64_t count = program->builder.mesh->device_count;
  hlo_computation_set_root(program->builder.graph.computation, root);
  DeviceEvaluation *evaluations = ARENA_NEW_ARRAY(arena, DeviceEvaluation, count);
  const Literal **arguments = ARENA_NEW_ARRAY(arena, const Literal *, count),
                **results = ARENA_NEW_ARRAY(arena, const Literal *, count);
  for (int64_t i = 0; i < count; i++) {
    arguments[i] = parts[i];
    evaluations[i] = (DeviceEvaluation){.arguments = &arguments[i], .arena = arena_create()};
  }
  DiagSink diag;
  diag_sink_init(&diag, arena);
  Status status = hlo_verify(program->module, &diag);
  if (status == STATUS_OK)
    status = evaluate_on_devices(program->module, (DeviceCounts){1, count}, evaluations, NULL, 0, &diag);
  if (status != STATUS_OK) fail_msg("%.*s", SV_ARG(diag.first->message));
  for (int64_t i = 0; i < count; i++) {
    results[i] = literal_copy(arena, evaluations[i].result);
    arena_destroy(evaluations[i].arena);
  }
  return results;
}

static inline int64_t count_of(const DeviceProgram *program, HloOpcode opcode) {
  const HloInstructionArray *all = &program->builder.graph.computation->instructions;
  int64_t count = 0;
  for (int64_t i = 0; i < all->count; i++) count += all->data[i]->opcode == opcode;
  return count;
}

#endif
