/* For --excess-precision: what is rounded to 16 bits only to be computed with again is not rounded. */
#include "passes/simplify/algebraic_rules.h"

static bool is_short_float(PrimitiveType type) {
  return type == TYPE_BF16 || type == TYPE_F16;
}

static HloInstruction *as_f32(HloInstruction *value) {
  HloComputation *computation = value->parent;
  const Shape *shape = shape_with_type(computation->module->shapes, value->shape, TYPE_F32);
  return hlo_computation_add(computation, HLO_CONVERT, shape, &value, 1, SV(""));
}

/* An operation of numbers of one 16-bit type alone, which rounds its result to it. */
static bool rounds(const HloInstruction *instruction) {
  if (!is_short_float(instruction->shape->type) || instruction->opcode == HLO_CONVERT) return false;
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || hlo_opcode_has(instruction->opcode, OP_TAKES_SCALARS))
    return false;
  for (int k = 0; k < instruction->operand_count; k++) {
    if (instruction->operands[k]->shape->type != instruction->shape->type) return false;
  }
  return instruction->operand_count > 0 && !hlo_opcode_has(instruction->opcode, OP_EXACT);
}

/* The f32 that |value| is the rounding of; NULL where there is none, or where it would be computed twice. */
static HloInstruction *unrounded(HloInstruction *value) {
  if (value->opcode == HLO_CONVERT) {
    bool is_rounding = is_short_float(value->shape->type) && value->operands[0]->shape->type == TYPE_F32;
    return is_rounding ? value->operands[0] : NULL;
  }
  if (!rounds(value) || (value->user_count > 1 && !hlo_opcode_is_cheap(value->opcode))) return NULL;
  HloComputation *computation = value->parent;
  const Shape *shape = shape_with_type(computation->module->shapes, value->shape, TYPE_F32);
  HloInstruction **operands = ARENA_NEW_ARRAY(computation->module->arena, HloInstruction *, value->operand_count);
  for (int k = 0; k < value->operand_count; k++) operands[k] = as_f32(value->operands[k]);
  return hlo_computation_add_clone(computation, value, shape, operands, value->operand_count);
}

/* op(round(x), y) → round(op(x, y)), in f32 */
static HloInstruction *round_once(HloInstruction *instruction) {
  if (!rounds(instruction)) return NULL;
  HloComputation *computation = instruction->parent;
  int count = instruction->operand_count;
  HloInstruction **operands = ARENA_NEW_ARRAY(computation->module->arena, HloInstruction *, count);
  bool any = false;
  for (int k = 0; k < count; k++) any |= (operands[k] = unrounded(instruction->operands[k])) != NULL;
  if (!any) return NULL;
  for (int k = 0; k < count; k++) {
    if (operands[k] == NULL) operands[k] = as_f32(instruction->operands[k]);
  }
  const Shape *shape = shape_with_type(computation->module->shapes, instruction->shape, TYPE_F32);
  HloInstruction *wide = hlo_computation_add_clone(computation, instruction, shape, operands, count);
  return algebraic_unary(instruction, HLO_CONVERT, wide);
}

/* convert(round(x)) → convert(x) */
static HloInstruction *convert_unrounded(HloInstruction *instruction) {
  if (!type_is_float(instruction->shape->type) || type_bits(instruction->shape->type) < 32) return NULL;
  HloInstruction *x = unrounded(instruction->operands[0]);
  if (x == NULL) return NULL;
  return x->shape == instruction->shape ? x : algebraic_unary(instruction, HLO_CONVERT, x);
}

AlgebraicRules algebraic_excess_rules(void) {
  static const AlgebraicRule rules[] = {
      {ALGEBRAIC_ELEMENTWISE, "round-once", round_once},
      {HLO_CONVERT, "convert-unrounded", convert_unrounded},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
