#include <string.h>

#include "passes/simplify/algebraic_rules.h"

static HloInstruction *same_shape(const HloInstruction *instruction, HloInstruction *value) {
  return value->shape == instruction->shape ? value : NULL;
}

/* Operand |other| of a binary operation whose operand |index| is all |number|. */
static HloInstruction *if_all(const HloInstruction *instruction, int index, double number) {
  if (!algebraic_is_all(instruction->operands[index], number)) return NULL;
  return same_shape(instruction, instruction->operands[1 - index]);
}

/* x + 0 → x for integers.  Not for floats: -0 + 0 is +0. */
static HloInstruction *add_zero(HloInstruction *instruction) {
  if (!type_is_integral(instruction->shape->type)) return NULL;
  HloInstruction *result = if_all(instruction, 1, 0);
  return result != NULL ? result : if_all(instruction, 0, 0);
}

/* x - 0 → x for integers; of floats the sign of the zero would have to be looked at */
static HloInstruction *subtract_zero(HloInstruction *instruction) {
  if (!type_is_integral(instruction->shape->type)) return NULL;
  return if_all(instruction, 1, 0);
}

/* x · 1 → x */
static HloInstruction *multiply_one(HloInstruction *instruction) {
  if (!type_is_integral(instruction->shape->type) && !type_is_float(instruction->shape->type)) return NULL;
  HloInstruction *result = if_all(instruction, 1, 1);
  return result != NULL ? result : if_all(instruction, 0, 1);
}

/* x / 1 → x */
static HloInstruction *divide_one(HloInstruction *instruction) {
  return if_all(instruction, 1, 1);
}

static bool is_pred(const HloInstruction *instruction) {
  return instruction->shape->type == TYPE_PRED;
}

/* x & true → x,  x & x → x */
static HloInstruction *and_true(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1]) return same_shape(instruction, instruction->operands[0]);
  if (!is_pred(instruction)) return NULL;
  HloInstruction *result = if_all(instruction, 1, 1);
  return result != NULL ? result : if_all(instruction, 0, 1);
}

/* x | false → x,  x | 0 → x,  x | x → x */
static HloInstruction *or_false(HloInstruction *instruction) {
  if (instruction->operands[0] == instruction->operands[1]) return same_shape(instruction, instruction->operands[0]);
  HloInstruction *result = if_all(instruction, 1, 0);
  return result != NULL ? result : if_all(instruction, 0, 0);
}

/* op(op(x)) → x for not and negate */
static HloInstruction *undo_twice(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  return inner->opcode == instruction->opcode ? same_shape(instruction, inner->operands[0]) : NULL;
}

/* select(p, x, x) → x,  select(true, x, y) → x,  select(false, x, y) → y */
static HloInstruction *select_known(HloInstruction *instruction) {
  if (instruction->operands[1] == instruction->operands[2]) return same_shape(instruction, instruction->operands[1]);
  if (algebraic_is_all(instruction->operands[0], 1)) return same_shape(instruction, instruction->operands[1]);
  if (algebraic_is_all(instruction->operands[0], 0)) return same_shape(instruction, instruction->operands[2]);
  return NULL;
}

/* convert(x) to the type it has → x */
static HloInstruction *convert_nothing(HloInstruction *instruction) {
  return same_shape(instruction, instruction->operands[0]);
}

/* real(complex(a, b)) → a,  imag(complex(a, b)) → b */
static HloInstruction *part_of_complex(HloInstruction *instruction) {
  const HloInstruction *whole = instruction->operands[0];
  if (whole->opcode != HLO_COMPLEX) return NULL;
  return same_shape(instruction, whole->operands[instruction->opcode == HLO_IMAG ? 1 : 0]);
}

static HloInstruction *scalar_of_splat(HloInstruction *constant, const Literal *literal) {
  HloModule *module = constant->parent->module;
  Literal *scalar = literal_create(module->arena, shape_scalar(module->shapes, constant->shape->type));
  memcpy(scalar->data, literal->data, (size_t)type_storage_bytes(constant->shape->type));
  return hlo_computation_add_constant(constant->parent, scalar, (StringView){0});
}

/* constant({c, c, …}) → broadcast(c) */
static HloInstruction *splat_constant(HloInstruction *instruction) {
  const Literal *literal = hlo_instruction_literal(instruction);
  if (!shape_is_array(instruction->shape) || shape_is_scalar(instruction->shape) || literal->elided) return NULL;
  if (shape_element_count(instruction->shape) < 1 || !literal_is_splat(literal)) return NULL;
  return algebraic_broadcast(scalar_of_splat(instruction, literal), instruction->shape, NULL);
}

AlgebraicRules algebraic_arith_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_ADD, "add-zero", add_zero},
      {HLO_SUBTRACT, "subtract-zero", subtract_zero},
      {HLO_MULTIPLY, "multiply-one", multiply_one},
      {HLO_DIVIDE, "divide-one", divide_one},
      {HLO_AND, "and-true", and_true},
      {HLO_OR, "or-false", or_false},
      {HLO_NOT, "not-not", undo_twice},
      {HLO_NEGATE, "negate-negate", undo_twice},
      {HLO_SELECT, "select-known", select_known},
      {HLO_CONVERT, "convert-nothing", convert_nothing},
      {HLO_BITCAST_CONVERT, "bitcast-convert-nothing", convert_nothing},
      {HLO_REAL, "real-of-complex", part_of_complex},
      {HLO_IMAG, "imag-of-complex", part_of_complex},
      {HLO_CONSTANT, "splat-constant", splat_constant},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
