#include "passes/simplify/algebraic_rules.h"

enum { RANK_LIMIT = 64 }; /* dimension lists on the stack; higher ranks are left alone */

static bool is_identity(Int64List permutation) {
  for (int64_t i = 0; i < permutation.count; i++) {
    if (permutation.data[i] != i) return false;
  }
  return true;
}

/* Equal element types, static, default layouts: a reshape between them keeps the bytes. */
static bool is_plain(const Shape *shape) {
  return shape_is_array(shape) && !shape_is_dynamic(shape);
}

/* --- reshape --- */

/* reshape(x) to the shape it has → x */
static HloInstruction *reshape_nothing(HloInstruction *instruction) {
  return instruction->operands[0]->shape == instruction->shape ? instruction->operands[0] : NULL;
}

/* reshape(reshape(x)) → reshape(x) */
static HloInstruction *reshape_reshape(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_RESHAPE || !is_plain(instruction->shape) || !is_plain(inner->operands[0]->shape))
    return NULL;
  return algebraic_reshape(inner->operands[0], instruction->shape);
}

/* reshape(broadcast(scalar)) → broadcast(scalar) */
static HloInstruction *reshape_splat(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_BROADCAST || !is_plain(instruction->shape) || instruction->shape->rank == 0) return NULL;
  HloInstruction *scalar = algebraic_splat_source(instruction->operands[0]);
  return scalar != NULL ? algebraic_broadcast(scalar, instruction->shape, NULL) : NULL;
}

/* reshape(constant) → constant: the data is dense and row major whatever the shape */
static HloInstruction *reshape_constant(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_CONSTANT || !is_plain(instruction->shape) || !is_plain(inner->shape)) return NULL;
  Literal *literal = ARENA_NEW(instruction->parent->module->arena, Literal);
  *literal = *hlo_instruction_literal(inner);
  literal->shape = instruction->shape;
  return hlo_computation_add_constant(instruction->parent, literal, inner->name);
}

/* --- transpose --- */

/* transpose(x) by the identity → x */
static HloInstruction *transpose_nothing(HloInstruction *instruction) {
  if (instruction->operands[0]->shape != instruction->shape) return NULL;
  return is_identity(hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS)) ? instruction->operands[0] : NULL;
}

/* transpose(transpose(x, p), q) → transpose(x, p∘q) */
static HloInstruction *transpose_transpose(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_TRANSPOSE || instruction->shape->rank > RANK_LIMIT) return NULL;
  Int64List outer_dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  Int64List inner_dims = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS);
  int64_t dims[RANK_LIMIT];
  for (int64_t i = 0; i < outer_dims.count; i++) dims[i] = inner_dims.data[outer_dims.data[i]];
  HloInstruction *result =
      hlo_computation_add(instruction->parent, HLO_TRANSPOSE, instruction->shape, inner->operands, 1, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims, outer_dims.count);
  return result;
}

/* transpose(broadcast(scalar)) → broadcast(scalar) */
static HloInstruction *transpose_splat(HloInstruction *instruction) {
  return reshape_splat(instruction);
}

/* transpose(x) that moves dimensions of size one only → reshape(x) */
static HloInstruction *transpose_of_ones(HloInstruction *instruction) {
  const Shape *from = instruction->operands[0]->shape;
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  int64_t last = -1;
  if (!is_plain(instruction->shape) || !is_plain(from) || shape_element_count(from) == 0) return NULL;
  for (int64_t i = 0; i < dims.count; i++) {
    if (from->dims[dims.data[i]] == 1) continue;
    if (dims.data[i] < last) return NULL;
    last = dims.data[i];
  }
  return algebraic_reshape(instruction->operands[0], instruction->shape);
}

/* --- broadcast --- */

/* broadcast(x) to the shape it has → x */
static HloInstruction *broadcast_nothing(HloInstruction *instruction) {
  if (instruction->operands[0]->shape != instruction->shape) return NULL;
  return is_identity(hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS)) ? instruction->operands[0] : NULL;
}

/* broadcast(broadcast(x, p), q) → broadcast(x, q∘p) */
static HloInstruction *broadcast_broadcast(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_BROADCAST || inner->operands[0]->shape->rank > RANK_LIMIT) return NULL;
  Int64List outer_dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  Int64List inner_dims = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS);
  int64_t dims[RANK_LIMIT + 1];
  for (int64_t i = 0; i < inner_dims.count; i++) dims[i] = outer_dims.data[inner_dims.data[i]];
  return algebraic_broadcast(inner->operands[0], instruction->shape, dims);
}

/* broadcast(x) that adds dimensions of size one only, in the order x has → reshape(x); not of scalars, which are worth
 * keeping visible */
static HloInstruction *broadcast_of_ones(HloInstruction *instruction) {
  const Shape *from = instruction->operands[0]->shape;
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  if (from->rank == 0 || !is_plain(instruction->shape) || !is_plain(from)) return NULL;
  if (shape_element_count(from) != shape_element_count(instruction->shape) || shape_element_count(from) == 0)
    return NULL;
  for (int64_t i = 1; i < dims.count; i++) {
    if (dims.data[i] < dims.data[i - 1]) return NULL;
  }
  return algebraic_reshape(instruction->operands[0], instruction->shape);
}

/* reduce(x, init) over dimensions of size one, by a single operation → operation(init, reshape(x)) */
static HloInstruction *reduce_of_ones(HloInstruction *instruction) {
  const HloInstruction *region = hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY)->root;
  HloInstruction *x = instruction->operands[0];
  if (instruction->operand_count != 2 || region->operand_count != 2 || !is_plain(instruction->shape)) return NULL;
  if (!hlo_opcode_has(region->opcode, OP_ELEMENTWISE) || region->shape->type != instruction->shape->type) return NULL;
  if (shape_element_count(x->shape) != shape_element_count(instruction->shape) || !is_plain(x->shape)) return NULL;
  HloInstruction *values[2] = {instruction->operands[1], x}, *operands[2];
  for (int i = 0; i < 2; i++) {
    if (region->operands[i]->opcode != HLO_PARAMETER || region->operands[i]->shape->type != x->shape->type) return NULL;
  }
  for (int i = 0; i < 2; i++) {
    int64_t number = hlo_instruction_parameter_number(region->operands[i]);
    operands[i] = number == 0 ? algebraic_broadcast(values[0], instruction->shape, NULL)
                              : algebraic_reshape(values[1], instruction->shape);
  }
  return hlo_computation_add_clone(instruction->parent, region, instruction->shape, operands, 2);
}

AlgebraicRules algebraic_shape_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_RESHAPE, "reshape-nothing", reshape_nothing},
      {HLO_RESHAPE, "reshape-reshape", reshape_reshape},
      {HLO_RESHAPE, "reshape-splat", reshape_splat},
      {HLO_RESHAPE, "reshape-constant", reshape_constant},
      {HLO_TRANSPOSE, "transpose-nothing", transpose_nothing},
      {HLO_TRANSPOSE, "transpose-transpose", transpose_transpose},
      {HLO_TRANSPOSE, "transpose-splat", transpose_splat},
      {HLO_TRANSPOSE, "transpose-of-ones", transpose_of_ones},
      {HLO_BROADCAST, "broadcast-nothing", broadcast_nothing},
      {HLO_BROADCAST, "broadcast-broadcast", broadcast_broadcast},
      {HLO_BROADCAST, "broadcast-of-ones", broadcast_of_ones},
      {HLO_REDUCE, "reduce-of-ones", reduce_of_ones},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
