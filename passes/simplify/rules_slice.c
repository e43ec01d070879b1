#include "base/checked_math.h"
#include "passes/simplify/algebraic_rules.h"

/* slice(x) of all of x → x */
static HloInstruction *slice_nothing(HloInstruction *instruction) {
  if (instruction->operands[0]->shape != instruction->shape || shape_is_dynamic(instruction->shape)) return NULL;
  /* Same sizes leave only full ranges: a stride above one would have made the result smaller, unless there was but one
   * element. */
  return instruction->operands[0];
}

/* slice(broadcast(scalar)) → broadcast(scalar) */
static HloInstruction *slice_splat(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_BROADCAST || instruction->shape->rank == 0 || shape_is_dynamic(instruction->shape))
    return NULL;
  HloInstruction *scalar = algebraic_splat_source(instruction->operands[0]);
  return scalar != NULL ? algebraic_broadcast(scalar, instruction->shape, NULL) : NULL;
}

/* dynamic-slice(x) of all of x → x: every start is clamped to 0 */
static HloInstruction *dynamic_slice_nothing(HloInstruction *instruction) {
  if (shape_is_dynamic(instruction->shape)) return NULL;
  return instruction->operands[0]->shape == instruction->shape ? instruction->operands[0] : NULL;
}

static bool constant_start(const HloInstruction *index, int64_t limit, int64_t *out_start) {
  const Literal *literal = index->opcode == HLO_CONSTANT ? hlo_instruction_literal(index) : NULL;
  if (literal == NULL || literal->elided || !shape_is_scalar(index->shape)) return false;
  int64_t start = literal_get_int(literal, 0);
  if (start < 0 && type_is_unsigned(index->shape->type)) start = limit; /* beyond any dimension */
  *out_start = max_i64(0, min_i64(start, limit));
  return true;
}

/* dynamic-slice(x, constants) → slice(x), starts clamped */
static HloInstruction *dynamic_slice_known(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0];
  const Shape *from = x->shape, *to = instruction->shape;
  if (instruction->operand_count != 1 + from->rank || shape_is_dynamic(from) || shape_is_dynamic(to)) return NULL;
  for (int i = 0; i < from->rank; i++) {
    int64_t ignored;
    if (!constant_start(instruction->operands[1 + i], 0, &ignored)) return NULL;
  }
  Arena *arena = instruction->parent->module->arena;
  SliceDimension *dims = ARENA_NEW_ARRAY(arena, SliceDimension, from->rank + 1);
  for (int i = 0; i < from->rank; i++) {
    int64_t start = 0;
    (void)constant_start(instruction->operands[1 + i], from->dims[i] - to->dims[i], &start);
    dims[i] = (SliceDimension){start, start + to->dims[i], 1};
  }
  SliceRanges *ranges = ARENA_NEW(arena, SliceRanges);
  *ranges = (SliceRanges){from->rank, dims};
  HloInstruction *slice = hlo_computation_add(instruction->parent, HLO_SLICE, to, &x, 1, (StringView){0});
  hlo_instruction_set_attr(slice, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = ranges});
  return slice;
}

/* dynamic-update-slice(x, u) of all of x → u */
static HloInstruction *dynamic_update_all(HloInstruction *instruction) {
  if (shape_is_dynamic(instruction->shape)) return NULL;
  return instruction->operands[1]->shape == instruction->shape ? instruction->operands[1] : NULL;
}

/* pad(x) by nothing → x */
static HloInstruction *pad_nothing(HloInstruction *instruction) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_PADDING);
  if (attr == NULL || instruction->operands[0]->shape != instruction->shape) return NULL;
  for (int i = 0; i < attr->value.padding->rank; i++) {
    const PaddingDimension *dim = &attr->value.padding->dims[i];
    if (dim->low != 0 || dim->high != 0 || dim->interior != 0) return NULL;
  }
  return instruction->operands[0];
}

/* reverse(x) along dimensions of size one → x */
static HloInstruction *reverse_nothing(HloInstruction *instruction) {
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  if (instruction->operands[0]->shape != instruction->shape) return NULL;
  for (int64_t i = 0; i < dims.count; i++) {
    if (instruction->shape->dims[dims.data[i]] > 1) return NULL;
  }
  return instruction->operands[0];
}

/* concatenate(x) → x */
static HloInstruction *concatenate_one(HloInstruction *instruction) {
  if (instruction->operand_count != 1 || instruction->operands[0]->shape != instruction->shape) return NULL;
  return instruction->operands[0];
}

/* concatenate(…, empty, …) → concatenate(…) */
static HloInstruction *concatenate_empty(HloInstruction *instruction) {
  int kept = 0;
  HloInstruction **operands =
      ARENA_NEW_ARRAY(instruction->parent->module->arena, HloInstruction *, instruction->operand_count + 1);
  if (shape_element_count(instruction->shape) <= 0) return NULL;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (shape_is_dynamic(instruction->operands[i]->shape)) return NULL;
    if (shape_element_count(instruction->operands[i]->shape) != 0) operands[kept++] = instruction->operands[i];
  }
  if (kept == instruction->operand_count || kept == 0) return NULL;
  return hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands, kept);
}

/* copy(x) without another layout → x: copies that aliasing asks for are inserted after this */
static HloInstruction *copy_nothing(HloInstruction *instruction) {
  return instruction->operands[0]->shape == instruction->shape ? instruction->operands[0] : NULL;
}

/* copy(copy(x)) → copy(x) */
static HloInstruction *copy_copy(HloInstruction *instruction) {
  HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_COPY) return NULL;
  return hlo_computation_add(instruction->parent, HLO_COPY, instruction->shape, inner->operands, 1, (StringView){0});
}

AlgebraicRules algebraic_slice_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_SLICE, "slice-nothing", slice_nothing},
      {HLO_SLICE, "slice-splat", slice_splat},
      {HLO_DYNAMIC_SLICE, "dynamic-slice-nothing", dynamic_slice_nothing},
      {HLO_DYNAMIC_SLICE, "dynamic-slice-known", dynamic_slice_known},
      {HLO_DYNAMIC_UPDATE_SLICE, "dynamic-update-all", dynamic_update_all},
      {HLO_PAD, "pad-nothing", pad_nothing},
      {HLO_REVERSE, "reverse-nothing", reverse_nothing},
      {HLO_CONCATENATE, "concatenate-one", concatenate_one},
      {HLO_CONCATENATE, "concatenate-empty", concatenate_empty},
      {HLO_COPY, "copy-nothing", copy_nothing},
      {HLO_COPY, "copy-copy", copy_copy},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
