#include "passes/simplify/algebraic_rules.h"

HloInstruction *algebraic_of_shape(const HloInstruction *instruction, HloInstruction *value) {
  return value->shape == instruction->shape ? value : NULL;
}

bool algebraic_is_pred(const HloInstruction *instruction) {
  return instruction->shape->type == TYPE_PRED;
}

HloInstruction *algebraic_reshape(HloInstruction *value, const Shape *shape) {
  if (value->shape == shape) return value;
  return hlo_computation_add(value->parent, HLO_RESHAPE, shape, &value, 1, (StringView){0});
}

HloInstruction *algebraic_broadcast(HloInstruction *value, const Shape *shape, const int64_t *dims) {
  HloInstruction *result = hlo_computation_add(value->parent, HLO_BROADCAST, shape, &value, 1, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims, value->shape->rank);
  return result;
}

HloInstruction *algebraic_slice(HloInstruction *value, const Shape *shape, const SliceDimension *dims) {
  if (value->shape == shape) return value;
  Arena *arena = value->parent->module->arena;
  SliceRanges *ranges = ARENA_NEW(arena, SliceRanges);
  *ranges = (SliceRanges){value->shape->rank, ARENA_COPY_ARRAY(arena, SliceDimension, dims, value->shape->rank)};
  HloInstruction *slice = hlo_computation_add(value->parent, HLO_SLICE, shape, &value, 1, (StringView){0});
  hlo_instruction_set_attr(slice, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = ranges});
  return slice;
}

HloInstruction *algebraic_splat_source(HloInstruction *value) {
  if (value->opcode == HLO_BROADCAST && shape_is_scalar(value->operands[0]->shape)) return value->operands[0];
  return shape_is_scalar(value->shape) ? value : NULL;
}

const Literal *algebraic_splat_literal(HloInstruction *value) {
  const HloInstruction *scalar = algebraic_splat_source(value);
  if (scalar == NULL || scalar->opcode != HLO_CONSTANT) return NULL;
  const Literal *literal = hlo_instruction_literal(scalar);
  return literal->elided ? NULL : literal;
}

static HloInstruction *splat_like(const HloInstruction *like, Literal *scalar) {
  HloInstruction *constant = hlo_computation_add_constant(like->parent, scalar, (StringView){0});
  return shape_is_scalar(like->shape) ? constant : algebraic_broadcast(constant, like->shape, NULL);
}

static Literal *scalar_like(const HloInstruction *like) {
  HloModule *module = like->parent->module;
  return literal_create(module->arena, shape_scalar(module->shapes, like->shape->type));
}

HloInstruction *algebraic_number(const HloInstruction *like, double number) {
  Literal *scalar = scalar_like(like);
  literal_set_double(scalar, 0, number);
  return splat_like(like, scalar);
}

HloInstruction *algebraic_integer(const HloInstruction *like, int64_t number) {
  Literal *scalar = scalar_like(like);
  literal_set_int(scalar, 0, number);
  return splat_like(like, scalar);
}

HloInstruction *algebraic_unary(const HloInstruction *like, HloOpcode opcode, HloInstruction *a) {
  return hlo_computation_add(like->parent, opcode, like->shape, &a, 1, (StringView){0});
}

HloInstruction *algebraic_binary(const HloInstruction *like, HloOpcode opcode, HloInstruction *a, HloInstruction *b) {
  HloInstruction *operands[2] = {a, b};
  return hlo_computation_add(like->parent, opcode, like->shape, operands, 2, (StringView){0});
}

bool algebraic_is_exact(PrimitiveType type) {
  return type_is_integral(type) || type == TYPE_PRED;
}

bool algebraic_is_ieee(const HloInstruction *instruction) {
  switch (instruction->shape->type) {
    case TYPE_F16:
    case TYPE_BF16:
    case TYPE_F32:
    case TYPE_F64: return true;
    default: return false;
  }
}

bool algebraic_is_all(HloInstruction *value, double number) {
  if (value->opcode == HLO_BROADCAST) value = value->operands[0];
  const Literal *literal = value->opcode == HLO_CONSTANT ? hlo_instruction_literal(value) : NULL;
  if (literal == NULL || literal->elided || !shape_is_array(value->shape) || type_is_complex(value->shape->type))
    return false;
  /* Large constants are left alone: looking at every element again and again would cost more than it brings. */
  int64_t count = shape_element_count(value->shape);
  return count > 0 && count <= 4096 && literal_is_all(literal, number);
}

bool algebraic_is_all_ones(HloInstruction *value) {
  const Literal *literal = algebraic_splat_literal(value);
  PrimitiveType type = value->shape->type;
  if (literal == NULL || (type != TYPE_PRED && !type_is_integral(type))) return false;
  int64_t number = literal_get_int(literal, 0);
  if (type == TYPE_PRED) return number == 1;
  return type_is_signed(type) ? number == -1 : (uint64_t)number == type_int_max(type);
}

HloInstruction *algebraic_select(const HloInstruction *like, HloInstruction *predicate, HloInstruction *on_true,
                                 HloInstruction *on_false) {
  HloInstruction *operands[3] = {predicate, on_true, on_false};
  return hlo_computation_add(like->parent, HLO_SELECT, like->shape, operands, 3, (StringView){0});
}
