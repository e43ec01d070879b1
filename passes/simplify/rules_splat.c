/* Rules of arrays that are the same everywhere, and of arrays without elements. */
#include "passes/simplify/algebraic_rules.h"

enum { MOST_OPERANDS = 3 };

/* Its value is asked for and nothing else. */
static bool is_pure(const HloInstruction *instruction) {
  if (hlo_opcode_has(instruction->opcode, OP_STAYS)) return false;
  return instruction->opcode != HLO_PARAMETER && instruction->opcode != HLO_FUSION;
}

/* an array without elements → the constant of its shape, whatever makes it */
static HloInstruction *no_elements(HloInstruction *instruction) {
  const Shape *shape = instruction->shape;
  if (!shape_is_static_array(shape) || shape_element_count(shape) != 0 || !is_pure(instruction)) return NULL;
  if (instruction->opcode == HLO_CONSTANT || hlo_instruction_has_side_effect(instruction)) return NULL;
  return hlo_computation_add_constant(instruction->parent, literal_create(instruction->parent->module->arena, shape),
                                      (StringView){0});
}

/* op(broadcast(a), broadcast(b)) → broadcast(op(a, b)) for scalars a and b: one element is computed.  The same bits:
 * every element was computed from these. */
static HloInstruction *elementwise_of_splats(HloInstruction *instruction) {
  HloInstruction *scalars[MOST_OPERANDS];
  const Shape *shape = instruction->shape;
  if (shape->rank == 0 || instruction->operand_count > MOST_OPERANDS || instruction->opcode == HLO_COPY) return NULL;
  if (!shape_is_static_array(shape) || instruction->opcode == HLO_STOCHASTIC_CONVERT) return NULL;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    scalars[i] = algebraic_splat_source(instruction->operands[i]);
    if (scalars[i] == NULL) return NULL;
  }
  const Shape *scalar = shape_scalar(instruction->parent->module->shapes, shape->type);
  HloInstruction *one =
      hlo_computation_add_clone(instruction->parent, instruction, scalar, scalars, instruction->operand_count);
  hlo_instruction_remove_sharding(one);
  return algebraic_broadcast(one, shape, NULL);
}

static HloInstruction *splat_as(HloInstruction *instruction, HloInstruction *value) {
  HloInstruction *scalar = algebraic_splat_source(value);
  if (scalar == NULL || !shape_is_static_array(instruction->shape)) return NULL;
  if (shape_is_scalar(instruction->shape)) return scalar->shape == instruction->shape ? scalar : NULL;
  return algebraic_broadcast(scalar, instruction->shape, NULL);
}

/* Whatever elements of broadcast(a) are taken, in whatever order → broadcast(a).  Indices are clamped: none is outside.
 */
static HloInstruction *move_splat(HloInstruction *instruction) {
  return splat_as(instruction, instruction->operands[0]);
}

/* concatenate(broadcast(a), broadcast(a)) → broadcast(a), and pad(broadcast(a), a) → broadcast(a) */
static HloInstruction *join_splats(HloInstruction *instruction) {
  HloInstruction *scalar = algebraic_splat_source(instruction->operands[0]);
  for (int32_t i = 1; i < instruction->operand_count; i++) {
    if (scalar == NULL || algebraic_splat_source(instruction->operands[i]) != scalar) return NULL;
  }
  return splat_as(instruction, instruction->operands[0]);
}

/* pad(x, a) of an x without elements → broadcast(a) */
static HloInstruction *pad_no_elements(HloInstruction *instruction) {
  if (shape_element_count(instruction->operands[0]->shape) != 0) return NULL;
  return splat_as(instruction, instruction->operands[1]);
}

/* reduce(x, init) or reduce-window(x, init) of an x without elements → broadcast(init); of several, their tuple */
static HloInstruction *reduce_no_elements(HloInstruction *instruction) {
  int count = instruction->operand_count / 2;
  if (count > MOST_OPERANDS || shape_element_count(instruction->operands[0]->shape) != 0) return NULL;
  if (!shape_is_tuple(instruction->shape)) return splat_as(instruction, instruction->operands[1]);
  HloInstruction *values[MOST_OPERANDS];
  for (int i = 0; i < count; i++) {
    const Shape *shape = instruction->shape->tuple[i];
    values[i] = instruction->operands[count + i];
    if (!shape_is_static_array(shape) || !shape_is_scalar(values[i]->shape)) return NULL;
    if (shape != values[i]->shape) values[i] = algebraic_broadcast(values[i], shape, NULL);
  }
  return hlo_computation_add(instruction->parent, HLO_TUPLE, instruction->shape, values, count, (StringView){0});
}

/* dot(x, y) or convolution(x, y) of no elements → 0 */
static HloInstruction *product_no_elements(HloInstruction *instruction) {
  if (!shape_is_static_array(instruction->shape) || type_is_complex(instruction->shape->type)) return NULL;
  for (int i = 0; i < 2; i++) {
    if (shape_element_count(instruction->operands[i]->shape) == 0) return algebraic_number(instruction, 0);
  }
  return NULL;
}

/* dynamic-update-slice(x, u) and scatter(x, indices, u) of a u without elements → x */
static HloInstruction *update_no_elements(HloInstruction *instruction) {
  int last = instruction->opcode == HLO_SCATTER ? 2 : 1;
  if (instruction->opcode == HLO_SCATTER && instruction->operand_count != 3) return NULL;
  if (shape_element_count(instruction->operands[last]->shape) != 0) return NULL;
  return instruction->operands[0]->shape == instruction->shape ? instruction->operands[0] : NULL;
}

/* iota along a dimension of size one → 0 */
static HloInstruction *iota_of_one(HloInstruction *instruction) {
  int64_t dimension = hlo_instruction_int(instruction, HLO_ATTR_IOTA_DIMENSION, 0);
  PrimitiveType type = instruction->shape->type;
  if (!shape_is_static_array(instruction->shape) || instruction->shape->dims[dimension] != 1) return NULL;
  return type_is_complex(type) ? NULL : algebraic_number(instruction, 0);
}

AlgebraicRules algebraic_splat_rules(void) {
  static const AlgebraicRule rules[] = {
      {ALGEBRAIC_ANY, "no-elements", no_elements},
      {ALGEBRAIC_ELEMENTWISE, "elementwise-of-splats", elementwise_of_splats},
      {HLO_RESHAPE, "move-splat", move_splat},
      {HLO_TRANSPOSE, "move-splat", move_splat},
      {HLO_SLICE, "move-splat", move_splat},
      {HLO_REVERSE, "move-splat", move_splat},
      {HLO_DYNAMIC_SLICE, "move-splat", move_splat},
      {HLO_GATHER, "move-splat", move_splat},
      {HLO_CONCATENATE, "join-splats", join_splats},
      {HLO_PAD, "join-splats", join_splats},
      {HLO_PAD, "pad-no-elements", pad_no_elements},
      {HLO_REDUCE, "reduce-no-elements", reduce_no_elements},
      {HLO_REDUCE_WINDOW, "reduce-no-elements", reduce_no_elements},
      {HLO_DOT, "product-no-elements", product_no_elements},
      {HLO_CONVOLUTION, "product-no-elements", product_no_elements},
      {HLO_DYNAMIC_UPDATE_SLICE, "update-no-elements", update_no_elements},
      {HLO_SCATTER, "update-no-elements", update_no_elements},
      {HLO_IOTA, "iota-of-one", iota_of_one},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
