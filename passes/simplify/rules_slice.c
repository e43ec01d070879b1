#include "base/checked_math.h"
#include "passes/simplify/algebraic_rules.h"

enum { RANK_LIMIT = 64 }; /* ranges on the stack; higher ranks are left alone */

/* slice(x) of all of x → x */
static HloInstruction *slice_nothing(HloInstruction *instruction) {
  if (instruction->operands[0]->shape != instruction->shape || shape_is_dynamic(instruction->shape)) return NULL;
  /* Same sizes leave only full ranges: a stride above one would have made the result smaller, unless there was but one
   * element. */
  return instruction->operands[0];
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

/* --- slices of what is taken apart or put together --- */

static const SliceRanges *ranges_of(const HloInstruction *slice) {
  return hlo_instruction_attr(slice, HLO_ATTR_SLICE)->value.slice;
}

/* slice(x) of |shape| with the ranges |dims|, which are copied. */
static HloInstruction *make_slice(const HloInstruction *like, HloInstruction *x, const SliceDimension *dims) {
  Arena *arena = like->parent->module->arena;
  SliceRanges *ranges = ARENA_NEW(arena, SliceRanges);
  *ranges = (SliceRanges){x->shape->rank, ARENA_COPY_ARRAY(arena, SliceDimension, dims, x->shape->rank)};
  HloInstruction *slice = hlo_computation_add(like->parent, HLO_SLICE, like->shape, &x, 1, (StringView){0});
  hlo_instruction_set_attr(slice, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = ranges});
  return slice;
}

static bool is_static(const HloInstruction *instruction) {
  return shape_is_array(instruction->shape) && !shape_is_dynamic(instruction->shape) &&
         instruction->shape->rank <= RANK_LIMIT;
}

/* slice(slice(x)) → slice(x) */
static HloInstruction *slice_slice(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_SLICE || !is_static(instruction) || !is_static(inner->operands[0])) return NULL;
  const SliceRanges *from = ranges_of(inner), *to = ranges_of(instruction);
  SliceDimension dims[RANK_LIMIT];
  for (int i = 0; i < to->rank; i++) {
    int64_t stride = from->dims[i].stride * to->dims[i].stride, count = instruction->shape->dims[i];
    int64_t start = from->dims[i].start + to->dims[i].start * from->dims[i].stride;
    /* The limit is right behind the last element. */
    dims[i] = (SliceDimension){start, count > 0 ? start + (count - 1) * stride + 1 : start, stride};
  }
  return make_slice(instruction, inner->operands[0], dims);
}

/* slice(broadcast(x, d)) → broadcast(slice(x), d) */
static HloInstruction *slice_broadcast(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_BROADCAST || !is_static(instruction) || !is_static(inner->operands[0])) return NULL;
  HloInstruction *x = inner->operands[0];
  Int64List places = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS);
  const SliceRanges *ranges = ranges_of(instruction);
  SliceDimension dims[RANK_LIMIT];
  int64_t sizes[RANK_LIMIT];
  for (int i = 0; i < x->shape->rank; i++) {
    dims[i] = ranges->dims[places.data[i]];
    sizes[i] = instruction->shape->dims[places.data[i]];
  }
  HloInstruction part = *instruction; /* for its place only */
  part.shape = shape_array(instruction->parent->module->shapes, x->shape->type, sizes, x->shape->rank);
  HloInstruction *value = part.shape == x->shape ? x : make_slice(&part, x, dims);
  return algebraic_broadcast(value, instruction->shape, places.data);
}

/* slice(concatenate(…, x, …)) inside of x → slice(x) */
static HloInstruction *slice_concatenate(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_CONCATENATE || !is_static(instruction) || !is_static(inner)) return NULL;
  int64_t dimension = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS).data[0], begin = 0;
  SliceDimension dims[RANK_LIMIT];
  const SliceRanges *ranges = ranges_of(instruction);
  for (int i = 0; i < ranges->rank; i++) dims[i] = ranges->dims[i];
  SliceDimension *along = &dims[dimension];
  int64_t count = instruction->shape->dims[dimension], last = along->start + (count - 1) * along->stride;
  for (int i = 0; i < inner->operand_count && count > 0; i++) {
    HloInstruction *part = inner->operands[i];
    int64_t end = begin + part->shape->dims[dimension];
    if (shape_is_dynamic(part->shape)) return NULL;
    if (along->start >= begin && last < end) {
      along->start -= begin;
      along->limit = last - begin + 1;
      return part->shape == instruction->shape ? part : make_slice(instruction, part, dims);
    }
    begin = end;
  }
  return NULL;
}

/* slice(pad(x)) inside of x → slice(x) */
static HloInstruction *slice_pad(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_PAD || !is_static(instruction) || !is_static(inner->operands[0])) return NULL;
  HloInstruction *x = inner->operands[0];
  const PaddingConfig *padding = hlo_instruction_attr(inner, HLO_ATTR_PADDING)->value.padding;
  const SliceRanges *ranges = ranges_of(instruction);
  SliceDimension dims[RANK_LIMIT];
  for (int i = 0; i < ranges->rank; i++) {
    int64_t start = ranges->dims[i].start - padding->dims[i].low, stride = ranges->dims[i].stride;
    int64_t last = start + (instruction->shape->dims[i] - 1) * stride;
    if (padding->dims[i].interior != 0 || start < 0 || last < start || last >= x->shape->dims[i]) return NULL;
    dims[i] = (SliceDimension){start, last + 1, stride};
  }
  return x->shape == instruction->shape ? x : make_slice(instruction, x, dims);
}

/* concatenate(concatenate(a, b), c) → concatenate(a, b, c) along the same dimension */
static HloInstruction *concatenate_concatenate(HloInstruction *instruction) {
  enum { MOST_PARTS = 64 };
  HloInstruction *parts[MOST_PARTS];
  int count = 0;
  bool found = false;
  int64_t dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0];
  for (int i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *part = instruction->operands[i];
    bool opens = part->opcode == HLO_CONCATENATE && part->user_count == 1 &&
                 hlo_instruction_ints(part, HLO_ATTR_DIMENSIONS).data[0] == dimension;
    int inner = opens ? part->operand_count : 1;
    if (count + inner > MOST_PARTS || shape_is_dynamic(part->shape)) return NULL;
    for (int k = 0; k < inner; k++) parts[count++] = opens ? part->operands[k] : instruction->operands[i];
    found |= opens;
  }
  if (!found) return NULL;
  return hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, parts, count);
}

/* |next| begins where |last| ends along |dimension|, and they agree otherwise; both slices of one array, without
 * strides. */
static bool continues(const HloInstruction *last, const HloInstruction *next, int64_t dimension) {
  if (last->opcode != HLO_SLICE || next->opcode != HLO_SLICE || last->operands[0] != next->operands[0]) return false;
  const SliceRanges *a = ranges_of(last), *b = ranges_of(next);
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i].stride != 1 || b->dims[i].stride != 1) return false;
    bool fits = i == dimension ? a->dims[i].limit == b->dims[i].start
                               : a->dims[i].start == b->dims[i].start && a->dims[i].limit == b->dims[i].limit;
    if (!fits) return false;
  }
  return true;
}

/* concatenate(slice(x, a..b), slice(x, b..c)) → slice(x, a..c), when that is all there is to it */
static HloInstruction *concatenate_slices(HloInstruction *instruction) {
  int64_t dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0];
  if (!is_static(instruction) || instruction->operand_count < 2) return NULL;
  for (int i = 1; i < instruction->operand_count; i++) {
    if (!continues(instruction->operands[i - 1], instruction->operands[i], dimension)) return NULL;
  }
  const HloInstruction *first = instruction->operands[0], *last = instruction->operands[instruction->operand_count - 1];
  if (!is_static(first->operands[0])) return NULL;
  SliceDimension dims[RANK_LIMIT];
  for (int i = 0; i < first->shape->rank; i++) dims[i] = ranges_of(first)->dims[i];
  dims[dimension].limit = ranges_of(last)->dims[dimension].limit;
  HloInstruction *x = first->operands[0];
  return x->shape == instruction->shape ? x : make_slice(instruction, x, dims);
}

/* reverse(reverse(x)) → x */
static HloInstruction *reverse_reverse(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_REVERSE || inner->operands[0]->shape != instruction->shape) return NULL;
  Int64List a = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS),
            b = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < a.count; i++) {
    bool found = false;
    for (int64_t k = 0; k < b.count; k++) found |= a.data[i] == b.data[k];
    if (!found) return NULL;
  }
  return a.count == b.count ? inner->operands[0] : NULL;
}

/* --- slices at run time --- */

/* The starts of both are the same scalars. */
static bool same_starts(const HloInstruction *a, int a_first, const HloInstruction *b, int b_first) {
  if (a->operand_count - a_first != b->operand_count - b_first) return false;
  for (int i = 0; a_first + i < a->operand_count; i++) {
    const HloInstruction *x = a->operands[a_first + i], *y = b->operands[b_first + i];
    if (x == y) continue;
    if (x->opcode != HLO_CONSTANT || y->opcode != HLO_CONSTANT) return false;
    if (!literal_equal(hlo_instruction_literal(x), hlo_instruction_literal(y))) return false;
  }
  return true;
}

/* dynamic-slice(dynamic-update-slice(x, u, i), i) → u, when it is as large: both clamp alike */
static HloInstruction *read_update(HloInstruction *instruction) {
  const HloInstruction *update = instruction->operands[0];
  if (update->opcode != HLO_DYNAMIC_UPDATE_SLICE || shape_is_dynamic(update->shape)) return NULL;
  if (update->operands[1]->shape != instruction->shape || !same_starts(instruction, 1, update, 2)) return NULL;
  return update->operands[1];
}

/* dynamic-update-slice(x, dynamic-slice(x, i), i) → x;
 * dynamic-update-slice(dynamic-update-slice(x, u, i), v, i) → dynamic-update-slice(x, v, i) for a v as large as u */
static HloInstruction *update_again(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0], *update = instruction->operands[1];
  if (shape_is_dynamic(instruction->shape)) return NULL;
  if (update->opcode == HLO_DYNAMIC_SLICE && update->operands[0] == x && same_starts(update, 1, instruction, 2))
    return x->shape == instruction->shape ? x : NULL;
  if (x->opcode != HLO_DYNAMIC_UPDATE_SLICE || x->operands[1]->shape != update->shape) return NULL;
  if (!same_starts(x, 2, instruction, 2) || x->user_count != 1) return NULL;
  HloInstruction *result = hlo_computation_add_clone(instruction->parent, instruction, instruction->shape,
                                                     instruction->operands, instruction->operand_count);
  hlo_instruction_replace_operand(result, 0, x->operands[0]);
  return result;
}

AlgebraicRules algebraic_slice_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_SLICE, "slice-nothing", slice_nothing},
      {HLO_DYNAMIC_SLICE, "dynamic-slice-nothing", dynamic_slice_nothing},
      {HLO_DYNAMIC_SLICE, "dynamic-slice-known", dynamic_slice_known},
      {HLO_DYNAMIC_UPDATE_SLICE, "dynamic-update-all", dynamic_update_all},
      {HLO_PAD, "pad-nothing", pad_nothing},
      {HLO_REVERSE, "reverse-nothing", reverse_nothing},
      {HLO_CONCATENATE, "concatenate-one", concatenate_one},
      {HLO_CONCATENATE, "concatenate-empty", concatenate_empty},
      {HLO_SLICE, "slice-slice", slice_slice},
      {HLO_SLICE, "slice-broadcast", slice_broadcast},
      {HLO_SLICE, "slice-concatenate", slice_concatenate},
      {HLO_SLICE, "slice-pad", slice_pad},
      {HLO_DYNAMIC_SLICE, "read-update", read_update},
      {HLO_DYNAMIC_UPDATE_SLICE, "update-again", update_again},
      {HLO_REVERSE, "reverse-reverse", reverse_reverse},
      {HLO_CONCATENATE, "concatenate-concatenate", concatenate_concatenate},
      {HLO_CONCATENATE, "concatenate-slices", concatenate_slices},
      {HLO_COPY, "copy-nothing", copy_nothing},
      {HLO_COPY, "copy-copy", copy_copy},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
