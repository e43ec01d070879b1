#include "passes/simplify/algebraic_rules.h"

/* Rules of the algebraic simplifier: reshape, transpose, broadcast. */

enum { RANK_LIMIT = 64 }; /* dimension lists on the stack; higher ranks are left alone */

static bool is_identity(Int64List permutation) {
  for (int64_t i = 0; i < permutation.count; i++) {
    if (permutation.data[i] != i) return false;
  }
  return true;
}

/* --- reshape --- */

/* reshape(x) to the shape it has → x */
static HloInstruction *reshape_nothing(HloInstruction *instruction) {
  return instruction->operands[0]->shape == instruction->shape ? instruction->operands[0] : NULL;
}

/* reshape(reshape(x)) → reshape(x) */
static HloInstruction *reshape_reshape(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_RESHAPE || !shape_is_static_array(instruction->shape) ||
      !shape_is_static_array(inner->operands[0]->shape))
    return NULL;
  return algebraic_reshape(inner->operands[0], instruction->shape);
}

/* reshape(constant) → constant: the data is dense and row major whatever the shape */
static HloInstruction *reshape_constant(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_CONSTANT || !shape_is_static_array(instruction->shape) ||
      !shape_is_static_array(inner->shape))
    return NULL;
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

/* transpose(broadcast(x, p), q) → broadcast(x, where q puts p) */
static HloInstruction *transpose_broadcast(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_BROADCAST || instruction->shape->rank > RANK_LIMIT) return NULL;
  Int64List from = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS);
  Int64List permutation = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  int64_t places[RANK_LIMIT + 1], dims[RANK_LIMIT + 1];
  for (int64_t i = 0; i < permutation.count; i++) places[permutation.data[i]] = i;
  for (int64_t i = 0; i < from.count; i++) {
    dims[i] = places[from.data[i]];
    /* Broadcasts of permuted dimensions are transposes again. */
    if (i > 0 && dims[i] < dims[i - 1]) return NULL;
  }
  return algebraic_broadcast(inner->operands[0], instruction->shape, dims);
}

/* transpose(iota) → iota along where its dimension went */
static HloInstruction *transpose_iota(HloInstruction *instruction) {
  const HloInstruction *iota = instruction->operands[0];
  if (iota->opcode != HLO_IOTA || !shape_is_static_array(instruction->shape)) return NULL;
  int64_t dimension = hlo_instruction_int(iota, HLO_ATTR_IOTA_DIMENSION, 0);
  Int64List permutation = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  HloInstruction *result =
      hlo_computation_add(instruction->parent, HLO_IOTA, instruction->shape, NULL, 0, (StringView){0});
  for (int64_t i = 0; i < permutation.count; i++) {
    if (permutation.data[i] == dimension) hlo_instruction_set_int(result, HLO_ATTR_IOTA_DIMENSION, i);
  }
  return result;
}

static bool same_permutation(const HloInstruction *a, const HloInstruction *b) {
  Int64List p = hlo_instruction_ints(a, HLO_ATTR_DIMENSIONS), q = hlo_instruction_ints(b, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < p.count; i++) {
    if (p.data[i] != q.data[i]) return false;
  }
  return p.count == q.count;
}

/* op(transpose(x), transpose(y)) → transpose(op(x, y)): one array is moved instead of two, which nothing else reads.
 * Scalars that are the same everywhere need not be moved. */
static HloInstruction *elementwise_of_transposes(HloInstruction *instruction) {
  enum { MOST_OPERANDS = 3 };
  HloInstruction *operands[MOST_OPERANDS], *first = NULL;
  int moved = 0, count = instruction->operand_count;
  if (count < 2 || count > MOST_OPERANDS || !shape_is_static_array(instruction->shape)) return NULL;
  for (int i = 0; i < count; i++) {
    HloInstruction *operand = operands[i] = instruction->operands[i];
    if (operand->opcode == HLO_TRANSPOSE && operand->user_count == 1) {
      if (first == NULL) first = operand;
      if (!same_permutation(first, operand)) return NULL;
      operands[i] = operand->operands[0];
      moved += operand != first;
    } else if (algebraic_splat_source(operand) == NULL) {
      return NULL;
    }
  }
  if (moved == 0) return NULL;
  const Shape *inner =
      shape_with_type(instruction->parent->module->shapes, first->operands[0]->shape, instruction->shape->type);
  for (int i = 0; i < count; i++) {
    HloInstruction *operand = instruction->operands[i];
    if (operand->opcode == HLO_TRANSPOSE || shape_is_scalar(operand->shape)) continue;
    const Shape *shape = shape_with_type(instruction->parent->module->shapes, inner, operand->shape->type);
    operands[i] = algebraic_broadcast(algebraic_splat_source(operand), shape, NULL);
  }
  HloInstruction *made = hlo_computation_add_clone(instruction->parent, instruction, inner, operands, count);
  hlo_instruction_remove_sharding(made);
  HloInstruction *result = algebraic_unary(instruction, HLO_TRANSPOSE, made);
  Int64List dims = hlo_instruction_ints(first, HLO_ATTR_DIMENSIONS);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims.data, dims.count);
  return result;
}

/* transpose(x) that moves dimensions of size one only → reshape(x) */
static HloInstruction *transpose_of_ones(HloInstruction *instruction) {
  const Shape *from = instruction->operands[0]->shape;
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  int64_t last = -1;
  if (!shape_is_static_array(instruction->shape) || !shape_is_static_array(from) || shape_element_count(from) == 0)
    return NULL;
  for (int64_t i = 0; i < dims.count; i++) {
    if (from->dims[dims.data[i]] == 1) continue;
    if (dims.data[i] < last) return NULL;
    last = dims.data[i];
  }
  return algebraic_reshape(instruction->operands[0], instruction->shape);
}

/* --- transpose of what is made of broadcasts --- */

/* broadcast(x) with its dimension d at |places|[d]: x is transposed where that exchanges its dimensions. */
static HloInstruction *turned_broadcast(HloInstruction *broadcast, const Shape *shape, const int64_t *places) {
  HloInstruction *x = broadcast->operands[0];
  Int64List from = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  int64_t order[RANK_LIMIT + 1], dims[RANK_LIMIT + 1], sizes[RANK_LIMIT + 1];
  for (int64_t i = 0; i < from.count; i++) {
    int64_t k = i;
    for (; k > 0 && dims[k - 1] > places[from.data[i]]; k--) {
      dims[k] = dims[k - 1];
      order[k] = order[k - 1];
    }
    dims[k] = places[from.data[i]];
    order[k] = i;
  }
  if (!is_identity((Int64List){from.count, order})) {
    for (int64_t i = 0; i < from.count; i++) sizes[i] = x->shape->dims[order[i]];
    const Shape *turned = shape_array(x->parent->module->shapes, x->shape->type, sizes, (int)from.count);
    x = hlo_computation_add(x->parent, HLO_TRANSPOSE, turned, &x, 1, (StringView){0});
    hlo_instruction_set_ints(x, HLO_ATTR_DIMENSIONS, order, from.count);
  }
  return algebraic_broadcast(x, shape, dims);
}

/* |value| is made of broadcasts alone, in at most |depth| operations, and nothing but one user reads what is between.
 * Adds the elements that are broadcast to |read|. */
static bool is_of_broadcasts(const HloInstruction *value, int depth, int64_t *read) {
  if (!shape_is_static_array(value->shape)) return false;
  if (value->opcode == HLO_BROADCAST) {
    *read += shape_element_count(value->operands[0]->shape);
    return shape_is_static_array(value->operands[0]->shape);
  }
  if (depth == 0 || !hlo_opcode_has(value->opcode, OP_ELEMENTWISE) || value->user_count != 1) return false;
  for (int i = 0; i < value->operand_count; i++) {
    if (!shape_same_dims(value->operands[i]->shape, value->shape)) return false;
    if (!is_of_broadcasts(value->operands[i], depth - 1, read)) return false;
  }
  return value->operand_count > 0;
}

static HloInstruction *turned_value(HloInstruction *value, const Shape *like, const int64_t *places) {
  enum { MOST_OPERANDS = 3 };
  const Shape *shape = shape_with_type(value->parent->module->shapes, like, value->shape->type);
  if (value->opcode == HLO_BROADCAST) return turned_broadcast(value, shape, places);
  HloInstruction *operands[MOST_OPERANDS];
  XLAC_CHECK(value->operand_count <= MOST_OPERANDS);
  for (int i = 0; i < value->operand_count; i++) operands[i] = turned_value(value->operands[i], like, places);
  HloInstruction *made = hlo_computation_add_clone(value->parent, value, shape, operands, value->operand_count);
  hlo_instruction_remove_sharding(made);
  return made;
}

/* transpose(op(broadcast(x), broadcast(y))) → op(broadcast(x'), broadcast(y')), with x' = transpose(x) where the
 * dimensions of x change places, when all that reads it takes parts: at most half as much is moved, and the parts are
 * computed where they are read.  Read as a whole it may be as well to turn the array. */
static HloInstruction *transpose_of_broadcasts(HloInstruction *instruction) {
  enum { MOST_OPERATIONS = 4 };
  HloInstruction *inner = instruction->operands[0];
  int64_t places[RANK_LIMIT + 1], read = 0;
  Int64List permutation = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  if (inner->opcode == HLO_BROADCAST || permutation.count > RANK_LIMIT || !shape_is_static_array(instruction->shape))
    return NULL;
  for (int i = 0; i < instruction->user_count; i++) {
    if (instruction->users[i]->opcode != HLO_SLICE) return NULL;
  }
  if (instruction->user_count == 0 || hlo_instruction_is_root(instruction)) return NULL;
  if (!is_of_broadcasts(inner, MOST_OPERATIONS, &read)) return NULL;
  if (read > shape_element_count(instruction->shape) / 2) return NULL;
  for (int64_t i = 0; i < permutation.count; i++) places[permutation.data[i]] = i;
  return turned_value(inner, instruction->shape, places);
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
  if (from->rank == 0 || !shape_is_static_array(instruction->shape) || !shape_is_static_array(from)) return NULL;
  if (shape_element_count(from) != shape_element_count(instruction->shape) || shape_element_count(from) == 0)
    return NULL;
  for (int64_t i = 1; i < dims.count; i++) {
    if (dims.data[i] < dims.data[i - 1]) return NULL;
  }
  return algebraic_reshape(instruction->operands[0], instruction->shape);
}

AlgebraicRules algebraic_shape_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_RESHAPE, "reshape-nothing", reshape_nothing},
      {HLO_RESHAPE, "reshape-reshape", reshape_reshape},
      {HLO_RESHAPE, "reshape-constant", reshape_constant},
      {HLO_TRANSPOSE, "transpose-nothing", transpose_nothing},
      {HLO_TRANSPOSE, "transpose-transpose", transpose_transpose},
      {HLO_TRANSPOSE, "transpose-broadcast", transpose_broadcast},
      {HLO_TRANSPOSE, "transpose-iota", transpose_iota},
      {HLO_TRANSPOSE, "transpose-of-ones", transpose_of_ones},
      {HLO_TRANSPOSE, "transpose-of-broadcasts", transpose_of_broadcasts},
      {HLO_BROADCAST, "broadcast-nothing", broadcast_nothing},
      {HLO_BROADCAST, "broadcast-broadcast", broadcast_broadcast},
      {HLO_BROADCAST, "broadcast-of-ones", broadcast_of_ones},
      {ALGEBRAIC_ELEMENTWISE, "elementwise-of-transposes", elementwise_of_transposes},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
