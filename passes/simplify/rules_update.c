/* Rules of slices and updates at run time, gather and scatter. */
#include "base/checked_math.h"
#include "hlo/analysis/in_place.h"
#include "passes/simplify/algebraic_rules.h"
#include "passes/simplify/integer_range.h"

enum { RANK_LIMIT = 64 }; /* lists on the stack; higher ranks are left alone */

static bool is_static(const HloInstruction *instruction) {
  return shape_is_static_array(instruction->shape) && instruction->shape->rank <= RANK_LIMIT;
}

/* dynamic-slice(x) of all of x → x: every start is clamped to 0 */
static HloInstruction *dynamic_slice_nothing(HloInstruction *instruction) {
  if (shape_is_dynamic(instruction->shape)) return NULL;
  return instruction->operands[0]->shape == instruction->shape ? instruction->operands[0] : NULL;
}

/* dynamic-slice(x, constants) → slice(x), starts clamped */
static HloInstruction *dynamic_slice_known(HloInstruction *instruction) {
  HloInstruction *x = instruction->operands[0];
  const Shape *from = x->shape, *to = instruction->shape;
  if (instruction->operand_count != 1 + from->rank || shape_is_dynamic(from) || shape_is_dynamic(to)) return NULL;
  for (int i = 0; i < from->rank; i++) {
    int64_t ignored;
    if (!hlo_constant_start(instruction->operands[1 + i], 0, &ignored)) return NULL;
  }
  Arena *arena = instruction->parent->module->arena;
  SliceDimension *dims = ARENA_NEW_ARRAY(arena, SliceDimension, from->rank + 1);
  for (int i = 0; i < from->rank; i++) {
    int64_t start = 0;
    (void)hlo_constant_start(instruction->operands[1 + i], from->dims[i] - to->dims[i], &start);
    dims[i] = (SliceDimension){start, start + to->dims[i], 1};
  }
  return algebraic_slice(x, to, dims);
}

/* dynamic-update-slice(x, u) of all of x → u */
static HloInstruction *dynamic_update_all(HloInstruction *instruction) {
  if (shape_is_dynamic(instruction->shape)) return NULL;
  return instruction->operands[1]->shape == instruction->shape ? instruction->operands[1] : NULL;
}

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

/* dynamic-slice(x, …, i, …), dynamic-update-slice(x, u, …, i, …) along a dimension taken whole → start 0, to which it
 * is clamped anyway */
static HloInstruction *start_of_all(HloInstruction *instruction) {
  bool updates = instruction->opcode == HLO_DYNAMIC_UPDATE_SLICE;
  const Shape *x = instruction->operands[0]->shape,
              *part = updates ? instruction->operands[1]->shape : instruction->shape;
  int first = updates ? 2 : 1, replaced = 0;
  if (instruction->operand_count != first + x->rank || x->rank > RANK_LIMIT) return NULL;
  if (shape_is_dynamic(x) || shape_is_dynamic(part)) return NULL;
  HloInstruction *operands[RANK_LIMIT + 2];
  for (int i = 0; i < instruction->operand_count; i++) {
    operands[i] = instruction->operands[i];
    if (i < first || x->dims[i - first] != part->dims[i - first] || operands[i]->opcode == HLO_CONSTANT) continue;
    operands[i] = algebraic_integer(operands[i], 0);
    replaced++;
  }
  if (replaced == 0) return NULL;
  return hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands,
                                   instruction->operand_count);
}

/* dynamic-update-slice(broadcast(a), u, constants) → pad(u, a): written once, and where it is read */
static HloInstruction *update_of_splat(HloInstruction *instruction) {
  HloInstruction *scalar = algebraic_splat_source(instruction->operands[0]), *update = instruction->operands[1];
  int rank = instruction->shape->rank;
  if (scalar == NULL || rank == 0 || instruction->operand_count != 2 + rank) return NULL;
  if (!is_static(instruction) || shape_is_dynamic(update->shape)) return NULL;
  Arena *arena = instruction->parent->module->arena;
  PaddingDimension dims[RANK_LIMIT];
  for (int i = 0; i < rank; i++) {
    int64_t start = 0, free = instruction->shape->dims[i] - update->shape->dims[i];
    if (!hlo_constant_start(instruction->operands[2 + i], free, &start)) return NULL;
    dims[i] = (PaddingDimension){start, free - start, 0};
  }
  PaddingConfig *padding = ARENA_NEW(arena, PaddingConfig);
  *padding = (PaddingConfig){rank, ARENA_COPY_ARRAY(arena, PaddingDimension, dims, rank)};
  HloInstruction *operands[2] = {update, scalar};
  HloInstruction *pad =
      hlo_computation_add(instruction->parent, HLO_PAD, instruction->shape, operands, 2, (StringView){0});
  hlo_instruction_set_attr(pad, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = padding});
  return pad;
}

/* It lies in memory whoever reads it. */
static bool is_stored(const HloInstruction *value) {
  return value->opcode == HLO_PARAMETER || value->opcode == HLO_CONSTANT || value->opcode == HLO_GET_TUPLE_ELEMENT;
}

/* The array that |update| makes is needed, and no later update writes over what |slice| reads of it: its elements are
 * as near as those of what it was updated with, which would have to be kept beside it. */
static bool stays_readable(const HloInstruction *update, const HloInstruction *slice) {
  Arena *scratch = arena_create();
  bool is_needed = hlo_instruction_is_root(update), stays = true;
  for (int32_t u = 0; u < update->user_count; u++) {
    const HloInstruction *user = update->users[u];
    is_needed |= user->opcode != HLO_SLICE;
    if (hlo_opcode_has(user->opcode, OP_IN_PLACE) && user->operands[0] == update)
      stays &= hlo_reads_beside_update(slice, user, scratch);
  }
  arena_destroy(scratch);
  return is_needed && stays;
}

/* slice(dynamic-update-slice(x, u, constants)) → slice(u) or slice(x), when it is all of one of them */
static HloInstruction *slice_update(HloInstruction *slice) {
  const HloInstruction *update = slice->operands[0];
  if (update->opcode != HLO_DYNAMIC_UPDATE_SLICE || !is_static(slice) || !is_static(update)) return NULL;
  HloInstruction *part = update->operands[1];
  if (!is_static(part) || update->operand_count != 2 + update->shape->rank) return NULL;
  const SliceRanges *ranges = hlo_instruction_slice(slice);
  SliceDimension dims[RANK_LIMIT];
  bool inside = shape_element_count(slice->shape) > 0, outside = false;
  for (int i = 0; i < ranges->rank; i++) {
    int64_t start = 0, size = part->shape->dims[i];
    if (!hlo_constant_start(update->operands[2 + i], update->shape->dims[i] - size, &start)) return NULL;
    dims[i] = ranges->dims[i];
    int64_t last = dims[i].start + (slice->shape->dims[i] - 1) * dims[i].stride;
    inside &= dims[i].start >= start && last < start + size;
    outside |= last < start || dims[i].start >= start + size;
    dims[i].start -= start;
    dims[i].limit = last - start + 1;
  }
  /* An array that others see updated would be kept beside it. */
  if (!inside && (!outside || update->user_count > 1)) return NULL;
  if (inside && part->shape == slice->shape) return part;
  if (inside && !is_stored(part) && stays_readable(update, slice)) return NULL;
  HloInstruction *from = inside ? part : update->operands[0];
  HloInstruction *result = hlo_computation_add_clone(slice->parent, slice, slice->shape, &from, 1);
  if (!inside) return result;
  Arena *arena = slice->parent->module->arena;
  SliceRanges *moved = ARENA_NEW(arena, SliceRanges);
  *moved = (SliceRanges){ranges->rank, ARENA_COPY_ARRAY(arena, SliceDimension, dims, ranges->rank)};
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = moved});
  return result;
}

/* The elements of |x| that |update| of the same dimensions writes. */
static HloInstruction *read_where(const HloInstruction *update, HloInstruction *x) {
  const Shape *part = update->operands[1]->shape;
  HloInstruction *operands[RANK_LIMIT + 1] = {x};
  for (int i = 0; i < part->rank; i++) operands[1 + i] = update->operands[2 + i];
  const Shape *shape = shape_with_type(x->parent->module->shapes, part, x->shape->type);
  HloInstruction *slice =
      hlo_computation_add(x->parent, HLO_DYNAMIC_SLICE, shape, operands, 1 + part->rank, (StringView){0});
  hlo_instruction_set_ints(slice, HLO_ATTR_DYNAMIC_SLICE_SIZES, part->dims, part->rank);
  return slice;
}

/* |update| with another array and other elements. */
static HloInstruction *update_with(const HloInstruction *update, HloInstruction *x, HloInstruction *elements) {
  HloInstruction *result =
      hlo_computation_add_clone(update->parent, update, update->shape, update->operands, update->operand_count);
  hlo_instruction_replace_operand(result, 0, x);
  hlo_instruction_replace_operand(result, 1, elements);
  return result;
}

static bool is_lone_update(const HloInstruction *update, const HloInstruction *like) {
  return update->opcode == HLO_DYNAMIC_UPDATE_SLICE && update->user_count == 1 && update->shape == like->shape &&
         is_static(update) && update->operand_count == 2 + update->shape->rank &&
         !shape_is_dynamic(update->operands[1]->shape);
}

/* select(p, dynamic-update-slice(x, u, i), x) → dynamic-update-slice(x, select(p at i, u, x at i), i), and the other
 * way round: no more is read and written than u */
static HloInstruction *select_update(HloInstruction *instruction) {
  HloInstruction *predicate = instruction->operands[0];
  for (int i = 1; i <= 2; i++) {
    HloInstruction *update = instruction->operands[i], *x = instruction->operands[3 - i];
    if (!is_lone_update(update, instruction) || update->operands[0] != x) continue;
    if (x->shape != instruction->shape) continue;
    HloInstruction *part = update->operands[1], *old = read_where(update, x);
    HloInstruction *at = shape_is_scalar(predicate->shape) ? predicate : read_where(update, predicate);
    HloInstruction *chosen = algebraic_select(part, at, i == 1 ? part : old, i == 1 ? old : part);
    return update_with(update, x, chosen);
  }
  return NULL;
}

static bool is_neutral_to_add(HloInstruction *value, bool fast) {
  const Literal *literal = algebraic_splat_literal(value);
  if (literal == NULL || type_is_complex(value->shape->type)) return false;
  if (type_is_integral(value->shape->type)) return literal_get_int(literal, 0) == 0;
  /* Of floats x + -0 is x, for x = -0 too. */
  double number = literal_get_double(literal, 0);
  return algebraic_is_ieee(value) && number == 0 && (fast || __builtin_signbit(number));
}

/* x + dynamic-update-slice(broadcast(0), u, i) → dynamic-update-slice(x, x at i + u, i) for a 0 that adds nothing */
static HloInstruction *add_update_of(HloInstruction *instruction, bool fast) {
  for (int i = 0; i < 2; i++) {
    HloInstruction *update = instruction->operands[i], *x = instruction->operands[1 - i];
    if (!is_lone_update(update, instruction) || !is_neutral_to_add(update->operands[0], fast)) continue;
    if (x->shape != instruction->shape) continue;
    HloInstruction *part = update->operands[1];
    return update_with(update, x, algebraic_binary(part, HLO_ADD, read_where(update, x), part));
  }
  return NULL;
}

static HloInstruction *add_update(HloInstruction *instruction) {
  return add_update_of(instruction, false);
}

static HloInstruction *add_update_fast(HloInstruction *instruction) {
  return add_update_of(instruction, true);
}

/* --- an array of which each part is updated --- */

enum { MOST_PARTS = 64 };

/* One part of a concatenation: where it begins, and what of the array's window there is updated. */
typedef struct UpdatedPart {
  HloInstruction *value, *slice;
  HloInstruction *update; /* NULL: the window as it is */
  int64_t start;
  int readable; /* the part after whose update the window is read */
} UpdatedPart;

/* |whole| is |part| with one more dimension, of one element, at |dimension|. */
static bool adds_unit(const Shape *whole, const Shape *part, int64_t dimension) {
  if (part->rank + 1 != whole->rank || whole->dims[dimension] != 1) return false;
  for (int d = 0; d < part->rank; d++) {
    if (part->dims[d] != whole->dims[d < dimension ? d : d + 1]) return false;
  }
  return true;
}

/* |slice| is all of an array but along |dimension|, from |start| on. */
static bool is_window(const HloInstruction *slice, int64_t dimension, int64_t start) {
  if (slice->opcode != HLO_SLICE || !is_static(slice) || !is_static(slice->operands[0])) return false;
  const SliceRanges *ranges = hlo_instruction_slice(slice);
  for (int d = 0; d < ranges->rank; d++) {
    if (ranges->dims[d].stride != 1 || ranges->dims[d].start != (d == dimension ? start : 0)) return false;
    if (d != dimension && slice->shape->dims[d] != slice->operands[0]->shape->dims[d]) return false;
  }
  return true;
}

/* slice(x), dynamic-update-slice(slice(x), …) of the whole extent along |dimension|, or the latter without that
 * dimension, which a reshape adds. */
static bool find_part(HloInstruction *value, int64_t dimension, UpdatedPart *part) {
  HloInstruction *inner = value->opcode == HLO_RESHAPE ? value->operands[0] : value;
  part->value = part->slice = value;
  part->update = NULL;
  if (inner->opcode == HLO_DYNAMIC_UPDATE_SLICE) {
    bool is_unit = inner != value;
    HloInstruction *window = inner->operands[0];
    if (!is_static(inner) || inner->shape->rank == 0 || inner->operand_count != 2 + inner->shape->rank) return false;
    if (!is_static(inner->operands[1]) || hlo_instruction_is_root(inner)) return false;
    if (type_storage_bytes(inner->operands[2]->shape->type) < 4) return false; /* it holds any start */
    if (is_unit && (!adds_unit(value->shape, inner->shape, dimension) || window->opcode != HLO_RESHAPE)) return false;
    if (!is_unit && inner->operands[1]->shape->dims[dimension] != inner->shape->dims[dimension]) return false;
    part->update = inner;
    part->slice = is_unit ? window->operands[0] : window;
  }
  return part->slice->shape == value->shape && is_window(part->slice, dimension, part->start);
}

/* The parts are all of one array, in order; how many.  0: they are not, or no update is read but as a part. */
static int find_parts(const HloInstruction *concatenate, int64_t dimension, UpdatedPart parts[MOST_PARTS]) {
  int count = concatenate->operand_count;
  int64_t start = 0;
  bool is_read = false;
  if (!is_static(concatenate) || count > MOST_PARTS) return 0;
  for (int i = 0; i < count; i++) {
    parts[i].start = start;
    if (!find_part(concatenate->operands[i], dimension, &parts[i])) return 0;
    if (parts[i].slice->operands[0] != parts[0].slice->operands[0]) return 0;
    is_read |= parts[i].update != NULL && parts[i].update->user_count > 1;
    start += parts[i].value->shape->dims[dimension];
  }
  return is_read && parts[0].slice->operands[0]->shape == concatenate->shape ? count : 0;
}

/* By id: what the elements and starts of |update| are made of. */
static bool *made_of(const HloInstruction *update, Arena *scratch) {
  int32_t ids = update->parent->module->next_instruction_id;
  bool *seen = ARENA_NEW_ARRAY(scratch, bool, ids);
  const HloInstruction **open = ARENA_NEW_ARRAY(scratch, const HloInstruction *, ids);
  int64_t count = 0;
  for (int first = 1; first < update->operand_count || count > 0;) {
    const HloInstruction *value = count > 0 ? open[--count] : update;
    for (int i = value == update ? first++ : 0; i < value->operand_count; i++) {
      const HloInstruction *operand = value->operands[i];
      if (!seen[operand->id]) open[count++] = operand;
      seen[operand->id] = true;
      if (value == update) break;
    }
  }
  return seen;
}

/* Whatever reads |value|, but for |part|, is among what is |seen|. */
static bool is_read_before(const HloInstruction *value, const HloInstruction *part, const bool *seen) {
  if (hlo_instruction_is_root(value)) return false;
  for (int32_t u = 0; u < value->user_count; u++) {
    const HloInstruction *user = value->users[u];
    bool is_view = user->opcode == HLO_SLICE || user->opcode == HLO_RESHAPE;
    if (user == part) continue;
    if (is_view ? !is_read_before(user, NULL, seen) : !seen[user->id]) return false;
  }
  return true;
}

/* Each update can wait for those before it.  What reads a part reads the array after the last update that does not wait
 * for this, and is done before the next: then all of them may be in place.  False where that is not so. */
static bool find_readable(UpdatedPart *parts, int count, const HloInstruction *concatenate) {
  Arena *scratch = arena_create();
  const bool *seen[MOST_PARTS];
  bool found = true;
  for (int i = 0; i < count; i++) seen[i] = parts[i].update != NULL ? made_of(parts[i].update, scratch) : NULL;
  for (int i = 0; i < count && found; i++) {
    const HloInstruction *update = parts[i].update;
    if (update == NULL) continue;
    for (int k = 0; k < i; k++) found &= seen[k] == NULL || !seen[k][update->id];
    int next = i + 1;
    while (next < count && (seen[next] == NULL || !seen[next][update->id])) next++;
    parts[i].readable = next - 1;
    const HloInstruction *part = parts[i].value != update ? parts[i].value : concatenate;
    found &= next == count || is_read_before(update, part, seen[next]);
  }
  arena_destroy(scratch);
  return found;
}

/* |x| with the part's window updated. */
static HloInstruction *update_part_of(HloInstruction *x, const UpdatedPart *part, int64_t dimension) {
  const HloInstruction *update = part->update;
  HloInstruction *operands[RANK_LIMIT + 2] = {x};
  int rank = x->shape->rank;
  bool is_unit = update->shape->rank < rank;
  int64_t sizes[RANK_LIMIT];
  for (int d = 0; d < rank; d++) {
    int inner = is_unit && d > dimension ? d - 1 : d;
    bool is_along = d == dimension;
    sizes[d] = is_unit && is_along ? 1 : update->operands[1]->shape->dims[inner];
    operands[2 + d] = is_along ? algebraic_integer(update->operands[2], part->start) : update->operands[2 + inner];
  }
  operands[1] =
      algebraic_reshape(update->operands[1], shape_array(x->parent->module->shapes, x->shape->type, sizes, rank));
  HloInstruction *result =
      hlo_computation_add(x->parent, HLO_DYNAMIC_UPDATE_SLICE, x->shape, operands, 2 + rank, (StringView){0});
  hlo_instruction_inherit_metadata(result, update);
  return result;
}

/* What read |part| reads its window of |x|. */
static void read_window_of(HloInstruction *x, const UpdatedPart *part) {
  HloInstruction *window = hlo_computation_add_clone(x->parent, part->slice, part->slice->shape, &x, 1);
  hlo_instruction_replace_all_uses(part->update, algebraic_reshape(window, part->update->shape));
}

/* concatenate(…, dynamic-update-slice(slice(x, a..b), u, i), …) of all of x → dynamic-update-slice(x, u, a + i), …, one
 * after the other; what reads a part reads a slice of x as it is by then.  So x, the caches of a model's layers, is
 * copied once at most, and no part alone. */
static HloInstruction *concatenate_updates(HloInstruction *instruction) {
  UpdatedPart parts[MOST_PARTS];
  int64_t dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0];
  int count = find_parts(instruction, dimension, parts);
  if (count == 0 || !find_readable(parts, count, instruction)) return NULL;
  HloInstruction *x = parts[0].slice->operands[0];
  for (int i = 0; i < count; i++) {
    if (parts[i].update != NULL) x = update_part_of(x, &parts[i], dimension);
    for (int k = 0; k <= i; k++) {
      if (parts[k].update != NULL && parts[k].readable == i) read_window_of(x, &parts[k]);
    }
  }
  return x;
}

/* --- gather and scatter --- */

/* The indices are one vector; its scalars in the order of |map|, or false. */
static bool single_index(HloInstruction *indices, int64_t vector_dimension, Int64List map,
                         HloInstruction **out_scalars) {
  const Shape *shape = indices->shape;
  if (!shape_is_array(shape) || shape_is_dynamic(shape) || shape_element_count(shape) != map.count) return false;
  if (vector_dimension < shape->rank ? shape->dims[vector_dimension] != map.count : map.count != 1) return false;
  ShapeTable *shapes = indices->parent->module->shapes;
  const Shape *scalar = shape_scalar(shapes, shape->type);
  HloInstruction *flat = algebraic_reshape(indices, shape_array(shapes, shape->type, &map.count, 1));
  for (int64_t i = 0; i < map.count; i++) {
    const int64_t size = 1;
    const SliceDimension range = {i, i + 1, 1};
    HloInstruction *one = algebraic_slice(flat, shape_array(shapes, shape->type, &size, 1), &range);
    out_scalars[i] = algebraic_reshape(one, scalar);
  }
  return true;
}

/* The slice at |map|'s |scalars|, and at 0 along the other dimensions: operands after those of |first|. */
static int starts_of(Int64List map, HloInstruction *const *scalars, int rank, HloInstruction **operands, int first) {
  for (int d = 0; d < rank; d++) {
    operands[first + d] = NULL;
    for (int64_t i = 0; i < map.count; i++) {
      if (map.data[i] == d) operands[first + d] = scalars[i];
    }
    if (operands[first + d] == NULL) operands[first + d] = algebraic_integer(scalars[0], 0);
  }
  return first + rank;
}

/* gather(x) by one index → reshape(dynamic-slice(x)): both clamp it alike */
static HloInstruction *gather_of_one(HloInstruction *gather) {
  HloInstruction *x = gather->operands[0], *scalars[RANK_LIMIT], *operands[RANK_LIMIT + 1] = {x};
  Int64List map = hlo_instruction_ints(gather, HLO_ATTR_START_INDEX_MAP),
            sizes = hlo_instruction_ints(gather, HLO_ATTR_SLICE_SIZES),
            offsets = hlo_instruction_ints(gather, HLO_ATTR_OFFSET_DIMS);
  if (!is_static(gather) || !is_static(x) || map.count < 1 || x->shape->rank == 0) return NULL;
  if (hlo_instruction_ints(gather, HLO_ATTR_OPERAND_BATCHING_DIMS).count > 0) return NULL;
  for (int64_t i = 1; i < offsets.count; i++) {
    if (offsets.data[i] < offsets.data[i - 1]) return NULL;
  }
  int64_t vector_dimension = hlo_instruction_int(gather, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  const Shape *shape = shape_array(x->parent->module->shapes, x->shape->type, sizes.data, x->shape->rank);
  if (shape_element_count(shape) == 0) return NULL;
  if (!single_index(gather->operands[1], vector_dimension, map, scalars)) return NULL;
  int count = starts_of(map, scalars, x->shape->rank, operands, 1);
  HloInstruction *slice =
      hlo_computation_add(gather->parent, HLO_DYNAMIC_SLICE, shape, operands, count, (StringView){0});
  hlo_instruction_set_ints(slice, HLO_ATTR_DYNAMIC_SLICE_SIZES, sizes.data, sizes.count);
  return algebraic_reshape(slice, gather->shape);
}

/* gather(x) whose slices are all of x → broadcast(x): every start is clamped to 0 */
static HloInstruction *gather_of_all(HloInstruction *gather) {
  HloInstruction *x = gather->operands[0];
  if (shape_element_count(x->shape) == 0) return NULL;
  Int64List sizes = hlo_instruction_ints(gather, HLO_ATTR_SLICE_SIZES),
            collapsed = hlo_instruction_ints(gather, HLO_ATTR_COLLAPSED_SLICE_DIMS),
            offsets = hlo_instruction_ints(gather, HLO_ATTR_OFFSET_DIMS);
  if (!is_static(gather) || !is_static(x) || x->shape->type != gather->shape->type) return NULL;
  if (hlo_instruction_ints(gather, HLO_ATTR_OPERAND_BATCHING_DIMS).count > 0) return NULL;
  int64_t kept[RANK_LIMIT];
  int count = 0;
  for (int d = 0; d < x->shape->rank; d++) {
    if (sizes.data[d] != x->shape->dims[d]) return NULL;
    if (!int64_list_has(collapsed, d)) kept[count++] = x->shape->dims[d];
  }
  if (count != offsets.count) return NULL;
  const Shape *shape = shape_array(x->parent->module->shapes, x->shape->type, kept, count);
  return algebraic_broadcast(algebraic_reshape(x, shape), gather->shape, offsets.data);
}

typedef enum ScatterKind { SCATTER_OTHER, SCATTER_SET, SCATTER_ADD } ScatterKind;

/* What a scatter of one array does with an element and its update. */
static ScatterKind kind_of_scatter(const HloInstruction *scatter) {
  const HloComputation *region = hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY);
  if (scatter->operand_count != 3 || region == NULL) return SCATTER_OTHER;
  const HloInstruction *root = region->root;
  if (root->opcode == HLO_PARAMETER && root->shape->type == scatter->shape->type)
    return hlo_instruction_parameter_number(root) == 1 ? SCATTER_SET : SCATTER_OTHER;
  if (root->opcode != HLO_ADD || root->operands[0] == root->operands[1]) return SCATTER_OTHER;
  bool parameters = root->operands[0]->opcode == HLO_PARAMETER && root->operands[1]->opcode == HLO_PARAMETER;
  return parameters && root->shape->type == scatter->shape->type ? SCATTER_ADD : SCATTER_OTHER;
}

/* scatter(x, i, u) at one index that is inside of x → dynamic-update-slice(x, u, i), or of x at i + u */
static HloInstruction *scatter_of_one(HloInstruction *scatter) {
  ScatterKind kind = kind_of_scatter(scatter);
  if (kind == SCATTER_OTHER || !is_static(scatter) || scatter->shape->rank == 0) return NULL;
  HloInstruction *x = scatter->operands[0], *indices = scatter->operands[1], *update = scatter->operands[2];
  Int64List map = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
            inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS),
            window = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  int rank = x->shape->rank;
  int64_t sizes[RANK_LIMIT], next = 0;
  if (map.count < 1 || hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS).count > 0) return NULL;
  if (shape_element_count(indices->shape) != map.count || !is_static(update)) return NULL;
  IntegerRange range = integer_range(indices);
  for (int d = 0; d < rank; d++) {
    sizes[d] = int64_list_has(inserted, d) || next == window.count ? 1 : update->shape->dims[window.data[next++]];
    if (!int64_list_has(map, d)) continue;
    /* What would be outside is dropped, not clamped. */
    if (range.low < 0 || range.high > x->shape->dims[d] - sizes[d]) return NULL;
  }
  for (int64_t i = 1; i < window.count; i++) {
    if (window.data[i] < window.data[i - 1]) return NULL;
  }
  HloInstruction *scalars[RANK_LIMIT], *operands[RANK_LIMIT + 2] = {x};
  int64_t vector_dimension = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  if (!single_index(indices, vector_dimension, map, scalars)) return NULL;
  operands[1] = algebraic_reshape(update, shape_array(x->parent->module->shapes, x->shape->type, sizes, rank));
  int count = starts_of(map, scalars, rank, operands, 2);
  HloInstruction *result =
      hlo_computation_add(scatter->parent, HLO_DYNAMIC_UPDATE_SLICE, scatter->shape, operands, count, (StringView){0});
  if (kind == SCATTER_SET) return result;
  return update_with(result, x, algebraic_binary(operands[1], HLO_ADD, read_where(result, x), operands[1]));
}

/* Dimensions of |list| are those of |rank| but |left_out|, in order. */
static bool are_all_but(Int64List list, int rank, int64_t left_out) {
  if (list.count != rank - 1) return false;
  for (int64_t i = 0; i < list.count; i++) {
    if (list.data[i] != (i < left_out ? i : i + 1)) return false;
  }
  return true;
}

static bool is_ascending(Int64List list) {
  for (int64_t i = 1; i < list.count; i++) {
    if (list.data[i] <= list.data[i - 1]) return false;
  }
  return true;
}

/* Of integers that tell |extent| places from each other. */
static bool tells_places(PrimitiveType type, int64_t extent) {
  return type_is_integral(type) && type_storage_bytes(type) >= 4 && extent <= INT32_MAX;
}

/* |index| = iota along |along|. */
static HloInstruction *is_place(HloInstruction *index, int64_t along) {
  HloInstruction *operands[2] = {hlo_computation_add(index->parent, HLO_IOTA, index->shape, NULL, 0, (StringView){0}),
                                 index};
  hlo_instruction_set_int(operands[0], HLO_ATTR_IOTA_DIMENSION, along);
  const Shape *shape = shape_with_type(index->parent->module->shapes, index->shape, TYPE_PRED);
  HloInstruction *result = hlo_computation_add(index->parent, HLO_COMPARE, shape, operands, 2, (StringView){0});
  hlo_instruction_set_int(result, HLO_ATTR_DIRECTION, COMPARISON_DIRECTION_EQ);
  return result;
}

/* scatter(broadcast(a), i, u) of one element in each line along a dimension → select(i = iota, u, a), with a + u where
 * it adds: what reads a one-hot array makes it of places.  What would be outside is at no place. */
static HloInstruction *scatter_of_places(HloInstruction *scatter) {
  ScatterKind kind = kind_of_scatter(scatter);
  if (kind == SCATTER_OTHER || !is_static(scatter) || scatter->shape->rank == 0) return NULL;
  HloInstruction *a = scatter->operands[0], *indices = scatter->operands[1], *update = scatter->operands[2];
  Int64List map = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
            inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  if (algebraic_splat_source(a) == NULL || map.count != 1 || inserted.count != 1 || inserted.data[0] != map.data[0])
    return NULL;
  int rank = scatter->shape->rank;
  int64_t along = map.data[0], dims[RANK_LIMIT], sizes[RANK_LIMIT];
  if (!are_all_but(hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS), rank, along)) return NULL;
  if (!is_ascending(hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS))) return NULL;
  if (!is_static(indices) || !is_static(update)) return NULL;
  if (!tells_places(indices->shape->type, scatter->shape->dims[along])) return NULL;
  for (int d = 0; d < rank - 1; d++) {
    dims[d] = d < along ? d : d + 1;
    sizes[d] = scatter->shape->dims[dims[d]];
  }
  ShapeTable *shapes = scatter->parent->module->shapes;
  const Shape *lines = shape_array(shapes, scatter->shape->type, sizes, rank - 1);
  const Shape *places = shape_with_type(shapes, scatter->shape, indices->shape->type);
  int64_t count = shape_element_count(lines);
  if (shape_element_count(indices->shape) != count || shape_element_count(update->shape) != count) return NULL;
  HloInstruction *index = algebraic_reshape(indices, shape_with_type(shapes, lines, indices->shape->type));
  HloInstruction *value = algebraic_broadcast(algebraic_reshape(update, lines), scatter->shape, dims);
  if (kind == SCATTER_ADD) value = algebraic_binary(scatter, HLO_ADD, a, value);
  return algebraic_select(scatter, is_place(algebraic_broadcast(index, places, dims), along), value, a);
}

/* Indices of a scatter along one dimension of |extent|, whole otherwise: known ones that go through it in order,
 * each as often as the others.  So often; 0: they are others. */
static int64_t repeats_of(HloInstruction *indices, int64_t vector_dimension, int64_t extent) {
  enum { MOST_INDICES = 4096 }; /* that are looked at again and again */
  const Literal *literal = indices->opcode == HLO_CONSTANT ? hlo_instruction_literal(indices) : NULL;
  if (literal == NULL || literal->elided || !is_static(indices) || !type_is_integral(indices->shape->type)) return 0;
  int64_t count = shape_element_count(indices->shape);
  bool is_line = indices->shape->rank - (vector_dimension < indices->shape->rank) == 1;
  if (vector_dimension < indices->shape->rank && indices->shape->dims[vector_dimension] != 1) return 0;
  if (!is_line || count == 0 || count > MOST_INDICES || extent == 0 || count % extent != 0) return 0;
  int64_t repeats = count / extent;
  for (int64_t i = 0; i < count; i++) {
    if (literal_get_int(literal, i) != i / repeats) return 0;
  }
  return repeats;
}

/* |from| with dimension |along| followed by one of |repeats|. */
static const Shape *repeated_shape(const HloInstruction *from, int64_t along, int64_t repeats) {
  int64_t dims[RANK_LIMIT + 1];
  int rank = 0;
  for (int d = 0; d < from->shape->rank; d++) {
    dims[rank++] = from->shape->dims[d];
    if (d == along) dims[rank++] = repeats;
  }
  return shape_array(from->parent->module->shapes, from->shape->type, dims, rank);
}

/* scatter(broadcast(a), i, u) that adds to every index along a dimension, to each as often → reduce(reshape(u), a): the
 * gradient of an image made larger.  Of floats only two and a zero: more could be summed in another order. */
static HloInstruction *scatter_of_repeats(HloInstruction *scatter) {
  if (kind_of_scatter(scatter) != SCATTER_ADD || !is_static(scatter)) return NULL;
  HloInstruction *a = scatter->operands[0], *indices = scatter->operands[1], *update = scatter->operands[2];
  Int64List map = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
            inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  HloInstruction *splat = algebraic_splat_source(a);
  if (splat == NULL || !is_static(update) || map.count != 1 || inserted.count != 1) return NULL;
  int64_t along = map.data[0], rank = scatter->shape->rank;
  if (inserted.data[0] != along || update->shape->rank != rank || rank == RANK_LIMIT) return NULL;
  if (!are_all_but(hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS), (int)rank, along)) return NULL;
  for (int64_t d = 0; d < rank; d++) {
    if (d != along && update->shape->dims[d] != scatter->shape->dims[d]) return NULL;
  }
  int64_t vector_dimension = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  int64_t repeats = repeats_of(indices, vector_dimension, scatter->shape->dims[along]);
  bool is_same = algebraic_is_exact(scatter->shape->type) || (repeats <= 2 && algebraic_is_all(a, 0));
  if (repeats == 0 || !is_same) return NULL;
  HloInstruction *operands[2] = {algebraic_reshape(update, repeated_shape(scatter, along, repeats)), splat};
  HloInstruction *sum = hlo_computation_add(scatter->parent, HLO_REDUCE, scatter->shape, operands, 2, (StringView){0});
  const int64_t folded = along + 1;
  hlo_instruction_set_ints(sum, HLO_ATTR_DIMENSIONS, &folded, 1);
  hlo_instruction_set_computation(sum, HLO_ATTR_TO_APPLY, hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY));
  return sum;
}

/* x + scatter(broadcast(0), i, u) that adds → scatter(x, i, u), for integers: of floats the sums would be others */
static HloInstruction *add_scatter_of(HloInstruction *instruction, bool fast) {
  if (!type_is_integral(instruction->shape->type) && !(fast && algebraic_is_ieee(instruction))) return NULL;
  for (int i = 0; i < 2; i++) {
    HloInstruction *scatter = instruction->operands[i], *x = instruction->operands[1 - i];
    if (scatter->opcode != HLO_SCATTER || scatter->user_count != 1 || x->shape != instruction->shape) continue;
    if (kind_of_scatter(scatter) != SCATTER_ADD || !is_neutral_to_add(scatter->operands[0], fast)) continue;
    HloInstruction *operands[3] = {x, scatter->operands[1], scatter->operands[2]};
    return hlo_computation_add_clone(instruction->parent, scatter, instruction->shape, operands, 3);
  }
  return NULL;
}

static HloInstruction *add_scatter(HloInstruction *instruction) {
  return add_scatter_of(instruction, false);
}

static HloInstruction *add_scatter_fast(HloInstruction *instruction) {
  return add_scatter_of(instruction, true);
}

AlgebraicRules algebraic_update_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_DYNAMIC_SLICE, "dynamic-slice-nothing", dynamic_slice_nothing},
      {HLO_DYNAMIC_SLICE, "dynamic-slice-known", dynamic_slice_known},
      {HLO_DYNAMIC_SLICE, "start-of-all", start_of_all},
      {HLO_DYNAMIC_SLICE, "read-update", read_update},
      {HLO_DYNAMIC_UPDATE_SLICE, "dynamic-update-all", dynamic_update_all},
      {HLO_DYNAMIC_UPDATE_SLICE, "update-of-splat", update_of_splat},
      {HLO_DYNAMIC_UPDATE_SLICE, "start-of-all", start_of_all},
      {HLO_DYNAMIC_UPDATE_SLICE, "update-again", update_again},
      {HLO_SLICE, "slice-update", slice_update},
      {HLO_CONCATENATE, "concatenate-updates", concatenate_updates},
      {HLO_SELECT, "select-update", select_update},
      {HLO_ADD, "add-update", add_update},
      {HLO_ADD, "add-scatter", add_scatter},
      {HLO_GATHER, "gather-of-all", gather_of_all},
      {HLO_GATHER, "gather-of-one", gather_of_one},
      {HLO_SCATTER, "scatter-of-one", scatter_of_one},
      {HLO_SCATTER, "scatter-of-places", scatter_of_places},
      {HLO_SCATTER, "scatter-of-repeats", scatter_of_repeats},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}

AlgebraicRules algebraic_fast_update_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_ADD, "add-update-fast", add_update_fast},
      {HLO_ADD, "add-scatter-fast", add_scatter_fast},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
