#include <math.h>

#include "base/checked_math.h"
#include "passes/simplify/algebraic_rules.h"

/* Rules of the algebraic simplifier: slices, concatenations, pads, copies. */

enum { RANK_LIMIT = 64 }; /* ranges on the stack; higher ranks are left alone */

/* slice(x) of all of x → x */
static HloInstruction *slice_nothing(HloInstruction *instruction) {
  if (instruction->operands[0]->shape != instruction->shape || shape_is_dynamic(instruction->shape)) return NULL;
  /* Same sizes leave only full ranges: a stride above one would have made the result smaller, unless there was but one
   * element. */
  return instruction->operands[0];
}

/* pad(x) by nothing → x */
static HloInstruction *pad_nothing(HloInstruction *instruction) {
  const PaddingConfig *padding = hlo_instruction_padding(instruction);
  if (padding == NULL || instruction->operands[0]->shape != instruction->shape) return NULL;
  for (int i = 0; i < padding->rank; i++) {
    const PaddingDimension *dim = &padding->dims[i];
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

static bool is_static(const HloInstruction *instruction) {
  return shape_is_static_array(instruction->shape) && instruction->shape->rank <= RANK_LIMIT;
}

/* slice(slice(x)) → slice(x) */
static HloInstruction *slice_slice(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_SLICE || !is_static(instruction) || !is_static(inner->operands[0])) return NULL;
  const SliceRanges *from = hlo_instruction_slice(inner), *to = hlo_instruction_slice(instruction);
  SliceDimension dims[RANK_LIMIT];
  for (int i = 0; i < to->rank; i++) {
    int64_t stride = from->dims[i].stride * to->dims[i].stride, count = instruction->shape->dims[i];
    int64_t start = from->dims[i].start + to->dims[i].start * from->dims[i].stride;
    /* The limit is right after the last element. */
    dims[i] = (SliceDimension){start, count > 0 ? start + (count - 1) * stride + 1 : start, stride};
  }
  return algebraic_slice(inner->operands[0], instruction->shape, dims);
}

/* slice(broadcast(x, d)) → broadcast(slice(x), d) */
static HloInstruction *slice_broadcast(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_BROADCAST || !is_static(instruction) || !is_static(inner->operands[0])) return NULL;
  HloInstruction *x = inner->operands[0];
  Int64List places = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS);
  const SliceRanges *ranges = hlo_instruction_slice(instruction);
  SliceDimension dims[RANK_LIMIT];
  int64_t sizes[RANK_LIMIT];
  for (int i = 0; i < x->shape->rank; i++) {
    dims[i] = ranges->dims[places.data[i]];
    sizes[i] = instruction->shape->dims[places.data[i]];
  }
  const Shape *part = shape_array(instruction->parent->module->shapes, x->shape->type, sizes, x->shape->rank);
  return algebraic_broadcast(algebraic_slice(x, part, dims), instruction->shape, places.data);
}

/* Whether nothing but slices reads |whole|, and together they take at most a quarter of it. */
static bool is_read_in_small_slices(const HloInstruction *whole) {
  int64_t left = shape_element_count(whole->shape) / 4;
  for (int32_t i = 0; i < whole->user_count && left >= 0; i++) {
    if (whole->users[i]->opcode != HLO_SLICE) return false;
    left -= shape_element_count(whole->users[i]->shape);
  }
  return left >= 0 && whole != whole->parent->root;
}

/* slice(transpose(x)) → transpose(slice(x)), where most of what was moved is not read */
static HloInstruction *slice_transpose(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_TRANSPOSE || !is_static(instruction) || !is_static(inner)) return NULL;
  if (!is_read_in_small_slices(inner)) return NULL;
  Int64List from = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS);
  const SliceRanges *ranges = hlo_instruction_slice(instruction);
  SliceDimension dims[RANK_LIMIT];
  int64_t sizes[RANK_LIMIT];
  for (int i = 0; i < ranges->rank; i++) {
    dims[from.data[i]] = ranges->dims[i];
    sizes[from.data[i]] = instruction->shape->dims[i];
  }
  const Shape *part = shape_array(instruction->parent->module->shapes, inner->shape->type, sizes, ranges->rank);
  HloInstruction *slice = algebraic_slice(inner->operands[0], part, dims);
  HloInstruction *result =
      hlo_computation_add(instruction->parent, HLO_TRANSPOSE, instruction->shape, &slice, 1, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, from.data, from.count);
  return result;
}

/* slice(concatenate(…, x, …)) inside of x → slice(x) */
static HloInstruction *slice_concatenate(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_CONCATENATE || !is_static(instruction) || !is_static(inner)) return NULL;
  int64_t dimension = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS).data[0], begin = 0;
  SliceDimension dims[RANK_LIMIT];
  const SliceRanges *ranges = hlo_instruction_slice(instruction);
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
      return algebraic_slice(part, instruction->shape, dims);
    }
    begin = end;
  }
  return NULL;
}

/* slice(concatenate(…)) of some neighbours → slice(concatenate(these)), when nothing else reads the whole */
static HloInstruction *slice_of_parts(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_CONCATENATE || inner->user_count != 1) return NULL;
  if (!is_static(instruction) || !is_static(inner) || shape_element_count(instruction->shape) == 0) return NULL;
  int64_t dimension = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS).data[0], begin = 0, skipped = 0, size = 0;
  const SliceDimension *along = &hlo_instruction_slice(instruction)->dims[dimension];
  int64_t last = along->start + (instruction->shape->dims[dimension] - 1) * along->stride;
  int first = -1, count = 0;
  for (int i = 0; i < inner->operand_count; i++) {
    int64_t end = begin + inner->operands[i]->shape->dims[dimension];
    if (shape_is_dynamic(inner->operands[i]->shape)) return NULL;
    if (end <= along->start) skipped = end;
    if (end > along->start && begin <= last) {
      if (first < 0) first = i;
      count++;
      size += end - begin;
    }
    begin = end;
  }
  if (count < 2 || count == inner->operand_count) return NULL;
  SliceDimension dims[RANK_LIMIT];
  int64_t sizes[RANK_LIMIT];
  for (int i = 0; i < inner->shape->rank; i++) {
    dims[i] = hlo_instruction_slice(instruction)->dims[i];
    sizes[i] = i == dimension ? size : inner->shape->dims[i];
  }
  dims[dimension].start -= skipped;
  dims[dimension].limit -= skipped;
  const Shape *shape = shape_array(inner->parent->module->shapes, inner->shape->type, sizes, inner->shape->rank);
  HloInstruction *parts = hlo_computation_add_clone(inner->parent, inner, shape, inner->operands + first, count);
  hlo_instruction_remove_sharding(parts);
  return algebraic_slice(parts, instruction->shape, dims);
}

/* slice(pad(x)) inside of x → slice(x) */
static HloInstruction *slice_pad(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_PAD || !is_static(instruction) || !is_static(inner->operands[0])) return NULL;
  HloInstruction *x = inner->operands[0];
  const PaddingConfig *padding = hlo_instruction_padding(inner);
  const SliceRanges *ranges = hlo_instruction_slice(instruction);
  SliceDimension dims[RANK_LIMIT];
  for (int i = 0; i < ranges->rank; i++) {
    int64_t start = ranges->dims[i].start - padding->dims[i].low, stride = ranges->dims[i].stride;
    int64_t last = start + (instruction->shape->dims[i] - 1) * stride;
    if (padding->dims[i].interior != 0 || start < 0 || last < start || last >= x->shape->dims[i]) return NULL;
    dims[i] = (SliceDimension){start, last + 1, stride};
  }
  return algebraic_slice(x, instruction->shape, dims);
}

/* slice(pad(x, a)) of padding alone → broadcast(a) */
static HloInstruction *slice_padding(HloInstruction *instruction) {
  const HloInstruction *pad = instruction->operands[0];
  if (pad->opcode != HLO_PAD || !is_static(instruction) || !is_static(pad->operands[0])) return NULL;
  const PaddingConfig *padding = hlo_instruction_padding(pad);
  const SliceRanges *ranges = hlo_instruction_slice(instruction);
  if (shape_element_count(instruction->shape) == 0 || shape_element_count(pad->operands[0]->shape) == 0) return NULL;
  for (int i = 0; i < ranges->rank; i++) {
    int64_t low = padding->dims[i].low;
    int64_t end = low + (pad->operands[0]->shape->dims[i] - 1) * (padding->dims[i].interior + 1) + 1;
    int64_t last = ranges->dims[i].start + (instruction->shape->dims[i] - 1) * ranges->dims[i].stride;
    if (last < low || ranges->dims[i].start >= end) {
      if (shape_is_scalar(instruction->shape)) return NULL;
      return algebraic_broadcast(pad->operands[1], instruction->shape, NULL);
    }
  }
  return NULL;
}

/* --- pads --- */

static HloInstruction *make_pad(const HloInstruction *like, HloInstruction *x, HloInstruction *value,
                                const PaddingDimension *dims) {
  Arena *arena = like->parent->module->arena;
  HloInstruction *operands[2] = {x, value};
  PaddingConfig *padding = ARENA_NEW(arena, PaddingConfig);
  *padding = (PaddingConfig){x->shape->rank, ARENA_COPY_ARRAY(arena, PaddingDimension, dims, x->shape->rank)};
  HloInstruction *pad = hlo_computation_add(like->parent, HLO_PAD, like->shape, operands, 2, (StringView){0});
  hlo_instruction_set_attr(pad, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = padding});
  return pad;
}

/* pad(x) that only cuts → slice(x) */
static HloInstruction *pad_to_slice(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0];
  const PaddingConfig *padding = hlo_instruction_padding(instruction);
  if (!is_static(instruction) || !is_static(x)) return NULL;
  SliceDimension dims[RANK_LIMIT];
  for (int i = 0; i < padding->rank; i++) {
    const PaddingDimension *by = &padding->dims[i];
    int64_t start = -by->low, limit = x->shape->dims[i] + by->high;
    if (by->low > 0 || by->high > 0 || by->interior != 0 || limit < start) return NULL;
    dims[i] = (SliceDimension){start, limit, 1};
  }
  return algebraic_slice(x, instruction->shape, dims);
}

static bool same_scalar(const HloInstruction *a, const HloInstruction *b) {
  if (a == b) return true;
  if (a->opcode != HLO_CONSTANT || b->opcode != HLO_CONSTANT || a->shape != b->shape) return false;
  return literal_equal(hlo_instruction_literal(a), hlo_instruction_literal(b));
}

/* pad(pad(x, a), a) → pad(x, a) */
static HloInstruction *pad_pad(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_PAD || !same_scalar(inner->operands[1], instruction->operands[1])) return NULL;
  if (!is_static(instruction) || !is_static(inner->operands[0])) return NULL;
  const PaddingConfig *a = hlo_instruction_padding(inner), *b = hlo_instruction_padding(instruction);
  PaddingDimension dims[RANK_LIMIT];
  for (int i = 0; i < a->rank; i++) {
    /* What the first cuts off is lost to the second. */
    if (a->dims[i].low < 0 || a->dims[i].high < 0 || b->dims[i].interior != 0) return NULL;
    dims[i] =
        (PaddingDimension){a->dims[i].low + b->dims[i].low, a->dims[i].high + b->dims[i].high, a->dims[i].interior};
  }
  return make_pad(instruction, inner->operands[0], instruction->operands[1], dims);
}

/* convert(pad(x, c)) → pad(convert(x), convert(c)): what takes a padded operand finds the pad */
static HloInstruction *convert_pad(HloInstruction *instruction) {
  const HloInstruction *pad = instruction->operands[0];
  if (pad->opcode != HLO_PAD || pad->user_count != 1 || !is_static(instruction)) return NULL;
  HloInstruction *x = pad->operands[0], *value = pad->operands[1];
  if (value->opcode != HLO_CONSTANT || !is_static(x)) return NULL;
  ShapeTable *shapes = instruction->parent->module->shapes;
  HloInstruction *operands[2] = {x, value};
  for (int i = 0; i < 2; i++) {
    const Shape *shape = shape_with_type(shapes, operands[i]->shape, instruction->shape->type);
    operands[i] = hlo_computation_add_clone(instruction->parent, instruction, shape, &operands[i], 1);
    hlo_instruction_remove_sharding(operands[i]);
  }
  return make_pad(instruction, operands[0], operands[1], hlo_instruction_padding(pad)->dims);
}

/* --- sums of pads --- */

enum { PART_LIMIT = 4 }; /* what a loop along a concatenation takes in */

/* The parts of a sum of pads. */
typedef struct PaddedParts {
  int64_t dimension; /* along which all of them lie side by side; -1: no pad has told yet */
  int count;
  HloInstruction *parts[PART_LIMIT]; /* by their beginnings */
  int64_t begins[PART_LIMIT];
  int sums; /* that have been looked at: long chains of them end the search */
} PaddedParts;

/* Integers, or floats, of the zero that is the same as none but for the sign of zeros. */
static bool is_plain_zero(HloInstruction *value) {
  if (algebraic_is_exact(value->shape->type)) return value->shape->type != TYPE_PRED && algebraic_is_all(value, 0);
  const Literal *literal = algebraic_is_ieee(value) ? algebraic_splat_literal(value) : NULL;
  return literal != NULL && literal_get_double(literal, 0) == 0 && !signbit(literal_get_double(literal, 0));
}

static bool add_part(const HloInstruction *pad, PaddedParts *found) {
  const PaddingConfig *padding = hlo_instruction_padding(pad);
  if (found->count == PART_LIMIT || !is_static(pad) || !is_plain_zero(pad->operands[1])) return false;
  for (int i = 0; i < padding->rank; i++) {
    const PaddingDimension *dim = &padding->dims[i];
    if (dim->low < 0 || dim->high < 0 || dim->interior != 0) return false;
    if (dim->low == 0 && dim->high == 0) continue;
    if (found->dimension >= 0 && found->dimension != i) return false;
    found->dimension = i;
  }
  if (found->dimension < 0) return false;
  int place = found->count++;
  int64_t begin = padding->dims[found->dimension].low;
  for (; place > 0 && found->begins[place - 1] > begin; place--) {
    found->begins[place] = found->begins[place - 1];
    found->parts[place] = found->parts[place - 1];
  }
  found->begins[place] = begin;
  found->parts[place] = pad->operands[0];
  return true;
}

/* All that |sum| adds are pads. */
static bool find_parts(const HloInstruction *sum, PaddedParts *found) {
  if (++found->sums == PART_LIMIT) return false;
  for (int i = 0; i < 2; i++) {
    const HloInstruction *operand = sum->operands[i];
    if (operand->opcode == HLO_PAD ? !add_part(operand, found)
                                   : operand->opcode != HLO_ADD || !find_parts(operand, found))
      return false;
  }
  return true;
}

/* pad(x, 0) + pad(y, 0) + … side by side → concatenate(x, y, …) + 0: what the gradient of slices is.  The 0 makes +0 of
 * -0, as the pads do. */
static HloInstruction *add_pads(HloInstruction *instruction) {
  PaddedParts found = {.dimension = -1};
  if (!is_static(instruction) || !find_parts(instruction, &found)) return NULL;
  int64_t end = 0;
  for (int i = 0; i < found.count; i++) {
    if (found.begins[i] != end) return NULL;
    end += found.parts[i]->shape->dims[found.dimension];
  }
  if (end != instruction->shape->dims[found.dimension]) return NULL;
  HloInstruction *joined = hlo_computation_add(instruction->parent, HLO_CONCATENATE, instruction->shape, found.parts,
                                               found.count, (StringView){0});
  hlo_instruction_set_ints(joined, HLO_ATTR_DIMENSIONS, &found.dimension, 1);
  return algebraic_binary(instruction, HLO_ADD, joined, algebraic_number(instruction, 0));
}

/* --- concatenations --- */

/* concatenate(x, x, …) → reshape(broadcast(x)): one loop instead of many */
static HloInstruction *concatenate_same(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0];
  int64_t dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0];
  int count = instruction->operand_count, rank = x->shape->rank;
  if (count < 3 || !is_static(instruction) || !is_static(x) || rank == RANK_LIMIT) return NULL;
  for (int i = 1; i < count; i++) {
    if (instruction->operands[i] != x) return NULL;
  }
  int64_t sizes[RANK_LIMIT], places[RANK_LIMIT];
  for (int i = 0; i < rank; i++) {
    places[i] = i < dimension ? i : i + 1;
    sizes[places[i]] = x->shape->dims[i];
  }
  sizes[dimension] = count;
  const Shape *shape = shape_array(x->parent->module->shapes, x->shape->type, sizes, rank + 1);
  return algebraic_reshape(algebraic_broadcast(x, shape, places), instruction->shape);
}

/* concatenate(broadcast(a), x, broadcast(a)) → pad(x, a), with an a on either side or both */
static HloInstruction *concatenate_to_pad(HloInstruction *instruction) {
  int64_t dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0], around[2] = {0, 0};
  HloInstruction *x = NULL, *value = NULL;
  if (!is_static(instruction) || instruction->operand_count > 3) return NULL;
  for (int i = 0; i < instruction->operand_count; i++) {
    HloInstruction *part = instruction->operands[i], *scalar = algebraic_splat_source(part);
    if (shape_is_dynamic(part->shape)) return NULL;
    if (scalar == NULL) {
      if (x != NULL) return NULL;
      x = part;
      continue;
    }
    if (value != NULL && !same_scalar(value, scalar)) return NULL;
    value = scalar;
    around[x != NULL ? 1 : 0] += part->shape->dims[dimension];
  }
  if (x == NULL || value == NULL) return NULL;
  PaddingDimension dims[RANK_LIMIT] = {{0, 0, 0}};
  dims[dimension].low = around[0];
  dims[dimension].high = around[1];
  return make_pad(instruction, x, value, dims);
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
  const SliceRanges *a = hlo_instruction_slice(last), *b = hlo_instruction_slice(next);
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i].stride != 1 || b->dims[i].stride != 1) return false;
    bool fits = i == dimension ? a->dims[i].limit == b->dims[i].start
                               : a->dims[i].start == b->dims[i].start && a->dims[i].limit == b->dims[i].limit;
    if (!fits) return false;
  }
  return true;
}

/* concatenate(…, slice(x, a..b), slice(x, b..c), …) → concatenate(…, slice(x, a..c), …), without it when nothing else
 * is left */
static HloInstruction *concatenate_slices(HloInstruction *instruction) {
  enum { MOST_PARTS = 64 };
  HloInstruction *parts[MOST_PARTS];
  int count = 0, operands = instruction->operand_count;
  int64_t dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0];
  if (!is_static(instruction) || operands < 2 || operands > MOST_PARTS) return NULL;
  for (int i = 0, next; i < operands; i = next) {
    HloInstruction *first = instruction->operands[i];
    for (next = i + 1; next < operands; next++) {
      if (!continues(instruction->operands[next - 1], instruction->operands[next], dimension)) break;
    }
    if (next > i + 1) {
      HloInstruction *x = first->operands[0];
      SliceDimension dims[RANK_LIMIT];
      int64_t sizes[RANK_LIMIT];
      if (!is_static(x)) return NULL;
      for (int d = 0; d < x->shape->rank; d++) {
        dims[d] = hlo_instruction_slice(first)->dims[d];
        sizes[d] = first->shape->dims[d];
      }
      dims[dimension].limit = hlo_instruction_slice(instruction->operands[next - 1])->dims[dimension].limit;
      sizes[dimension] = dims[dimension].limit - dims[dimension].start;
      const Shape *whole = shape_array(x->parent->module->shapes, x->shape->type, sizes, x->shape->rank);
      first = algebraic_slice(x, whole, dims);
    }
    parts[count++] = first;
  }
  if (count == operands) return NULL;
  if (count == 1) return parts[0]->shape == instruction->shape ? parts[0] : NULL;
  return hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, parts, count);
}

/* reverse(reverse(x)) → reverse(x) along what only one of them reverses, or x */
static HloInstruction *reverse_reverse(HloInstruction *instruction) {
  const HloInstruction *inner = instruction->operands[0];
  if (inner->opcode != HLO_REVERSE || inner->operands[0]->shape != instruction->shape) return NULL;
  if (!is_static(instruction)) return NULL;
  bool reversed[RANK_LIMIT] = {false};
  const HloInstruction *both[2] = {instruction, inner};
  for (int k = 0; k < 2; k++) {
    Int64List dims = hlo_instruction_ints(both[k], HLO_ATTR_DIMENSIONS);
    for (int64_t i = 0; i < dims.count; i++) reversed[dims.data[i]] ^= true;
  }
  int64_t dims[RANK_LIMIT], count = 0;
  for (int i = 0; i < instruction->shape->rank; i++) {
    if (reversed[i]) dims[count++] = i;
  }
  if (count == 0) return inner->operands[0];
  HloInstruction *result = algebraic_unary(instruction, HLO_REVERSE, inner->operands[0]);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims, count);
  return result;
}

AlgebraicRules algebraic_slice_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_SLICE, "slice-nothing", slice_nothing},
      {HLO_PAD, "pad-nothing", pad_nothing},
      {HLO_REVERSE, "reverse-nothing", reverse_nothing},
      {HLO_CONCATENATE, "concatenate-one", concatenate_one},
      {HLO_CONCATENATE, "concatenate-empty", concatenate_empty},
      {HLO_SLICE, "slice-slice", slice_slice},
      {HLO_SLICE, "slice-broadcast", slice_broadcast},
      {HLO_SLICE, "slice-transpose", slice_transpose},
      {HLO_SLICE, "slice-concatenate", slice_concatenate},
      {HLO_SLICE, "slice-of-parts", slice_of_parts},
      {HLO_SLICE, "slice-pad", slice_pad},
      {HLO_SLICE, "slice-padding", slice_padding},
      {HLO_PAD, "pad-to-slice", pad_to_slice},
      {HLO_PAD, "pad-pad", pad_pad},
      {HLO_CONVERT, "convert-pad", convert_pad},
      {HLO_REVERSE, "reverse-reverse", reverse_reverse},
      {HLO_CONCATENATE, "concatenate-concatenate", concatenate_concatenate},
      {HLO_CONCATENATE, "concatenate-slices", concatenate_slices},
      {HLO_CONCATENATE, "concatenate-same", concatenate_same},
      {HLO_CONCATENATE, "concatenate-to-pad", concatenate_to_pad},
      {HLO_COPY, "copy-nothing", copy_nothing},
      {HLO_COPY, "copy-copy", copy_copy},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}

AlgebraicRules algebraic_oncore_rules(void) {
  static const AlgebraicRule rules[] = {{HLO_ADD, "add-pads", add_pads}};
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
