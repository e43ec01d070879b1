/* Graphs made by hand, for the tests of hlo/ir. */
#ifndef XLAC_HLO_IR_HLO_TESTING_H
#define XLAC_HLO_IR_HLO_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hlo/ir/hlo_module.h"

typedef struct Fixture {
  Arena *arena;
  ShapeTable *shapes;
  HloModule *module;
  HloComputation *main;             /* the entry, empty */
  const Shape *f32, *pred, *vector; /* f32[], pred[], f32[4] */
} Fixture;

static inline int fixture_create(void **state) {
  Arena *arena = arena_create();
  Fixture *fixture = ARENA_NEW(arena, Fixture);
  fixture->arena = arena;
  fixture->shapes = shape_table_create(arena);
  fixture->module = hlo_module_create(arena, fixture->shapes, SV("test"));
  fixture->main = hlo_module_add_computation(fixture->module, SV("main"));
  fixture->module->entry = fixture->main;
  fixture->f32 = shape_scalar(fixture->shapes, TYPE_F32);
  fixture->pred = shape_scalar(fixture->shapes, TYPE_PRED);
  fixture->vector = shape_array(fixture->shapes, TYPE_F32, (int64_t[]){4}, 1);
  *state = fixture;
  return 0;
}

static inline int fixture_destroy(void **state) {
  arena_destroy(((Fixture *)*state)->arena);
  return 0;
}

static inline HloInstruction *add_unary(HloComputation *computation, HloOpcode opcode, HloInstruction *operand) {
  return hlo_computation_add(computation, opcode, operand->shape, &operand, 1, SV(""));
}

static inline HloInstruction *add_binary(HloComputation *computation, HloOpcode opcode, HloInstruction *a,
                                         HloInstruction *b) {
  return hlo_computation_add(computation, opcode, a->shape, (HloInstruction *[]){a, b}, 2, SV(""));
}

static inline void set_control(HloInstruction *instruction, HloInstruction *predecessor) {
  HloInstruction **list = ARENA_NEW(instruction->parent->module->arena, HloInstruction *);
  *list = predecessor;
  hlo_instruction_set_attr(instruction,
                           &(HloAttr){.id = HLO_ATTR_CONTROL_PREDECESSORS, .value.instructions = {1, list}});
}

/* a + b on scalars, or another binary opcode */
static inline HloComputation *add_reducer(Fixture *fixture, HloOpcode opcode) {
  HloComputation *computation = hlo_module_add_computation(fixture->module, SV("reducer"));
  HloInstruction *a = hlo_computation_add_parameter(computation, 0, fixture->f32, SV("a"));
  HloInstruction *b = hlo_computation_add_parameter(computation, 1, fixture->f32, SV("b"));
  computation->root = add_binary(computation, opcode, a, b);
  return computation;
}

static inline HloInstruction *add_call(HloComputation *computation, const Shape *shape, HloInstruction *const *operands,
                                       int count, HloComputation *callee) {
  HloInstruction *call = hlo_computation_add(computation, HLO_CALL, shape, operands, count, SV(""));
  hlo_instruction_set_computation(call, HLO_ATTR_TO_APPLY, callee);
  return call;
}

static inline HloInstruction *add_scalar(Fixture *fixture, HloComputation *computation, double value) {
  Literal *literal = literal_create(fixture->arena, fixture->f32);
  literal_set_double(literal, 0, value);
  return hlo_computation_add_constant(computation, literal, SV(""));
}

/* Operands, users, uses, slots and control lists of every instruction agree. */
static inline void check_consistent(const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    assert_ptr_equal(instruction->parent, computation);
    if (i > 0) assert_true(computation->instructions.data[i - 1]->slot < instruction->slot);
    assert_true(instruction->slot < computation->slot_limit);
    for (int32_t j = 0; j < instruction->operand_count; j++) {
      assert_ptr_equal(instruction->operands[j]->parent, computation);
      assert_true(hlo_instruction_uses(instruction, instruction->operands[j]));
    }
    for (int32_t j = 0; j < instruction->user_count; j++) {
      const HloInstruction *user = instruction->users[j];
      int use = hlo_instruction_first_use(instruction, j);
      assert_true(use >= 0);
      for (int32_t k = 0; k < user->operand_count; k++) { /* the chain of uses names all positions in order */
        if (user->operands[k] != instruction) continue;
        assert_int_equal(use, k);
        use = hlo_instruction_next_use(user, k);
      }
      assert_int_equal(use, -1);
      for (int32_t k = 0; k < j; k++) assert_ptr_not_equal(instruction->users[k], user);
    }
    for (int32_t j = 0; j < instruction->successor_count; j++) {
      const HloAttr *control = hlo_instruction_attr(instruction->successors[j], HLO_ATTR_CONTROL_PREDECESSORS);
      bool named = false;
      for (int64_t k = 0; control && k < control->value.instructions.count; k++) {
        named = named || control->value.instructions.data[k] == instruction;
      }
      assert_true(named);
    }
  }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_create, fixture_destroy)

#endif
