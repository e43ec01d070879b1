/* Rules of reductions, windows and sorts. */
#include "hlo/ir/fold_identity.h"
#include "passes/simplify/algebraic_rules.h"

enum { RANK_LIMIT = 64 };

/* The operation of a region that combines its two parameters, in either order, by one that may be regrouped; HLO_TUPLE:
 * any other region. */
static HloOpcode combiner_of(const HloInstruction *instruction) {
  const HloInstruction *root = hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY)->root;
  if (instruction->operand_count != 2 || root->operand_count != 2) return HLO_TUPLE;
  const HloInstruction *a = root->operands[0], *b = root->operands[1];
  if (a->opcode != HLO_PARAMETER || b->opcode != HLO_PARAMETER || a == b) return HLO_TUPLE;
  return hlo_opcode_has(root->opcode, OP_ASSOCIATIVE) ? root->opcode : HLO_TUPLE;
}

/* Regrouping changes no bit: integers, and the larger or smaller of anything. */
static bool regroups_exactly(HloOpcode combiner, PrimitiveType type) {
  if (combiner == HLO_TUPLE) return false;
  if (type_is_integral(type) || type == TYPE_PRED) return true;
  return combiner == HLO_MAXIMUM || combiner == HLO_MINIMUM;
}

/* reduce(x, init) over dimensions of size one, by a single operation → operation(init, reshape(x)) */
static HloInstruction *reduce_of_ones(HloInstruction *instruction) {
  const HloInstruction *region = hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY)->root;
  HloInstruction *x = instruction->operands[0];
  if (instruction->operand_count != 2 || region->operand_count != 2 || !shape_is_static_array(instruction->shape))
    return NULL;
  if (!hlo_opcode_has(region->opcode, OP_ELEMENTWISE) || region->shape->type != instruction->shape->type) return NULL;
  if (shape_element_count(x->shape) != shape_element_count(instruction->shape) || !shape_is_static_array(x->shape))
    return NULL;
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

/* reduce(transpose(x)) → reduce(x) over the dimensions as they are called there, when those that stay keep their order.
 * Reductions by these operations have no order of their own (docs/numerics.md). */
static HloInstruction *reduce_transpose(HloInstruction *instruction) {
  HloInstruction *transpose = instruction->operands[0];
  if (combiner_of(instruction) == HLO_TUPLE || transpose->opcode != HLO_TRANSPOSE) return NULL;
  if (transpose->shape->rank > RANK_LIMIT) return NULL;
  Int64List permutation = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
  Int64List reduced = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  bool goes[RANK_LIMIT] = {false};
  int64_t dims[RANK_LIMIT], last = -1;
  for (int64_t i = 0; i < reduced.count; i++) goes[reduced.data[i]] = true;
  int64_t count = 0;
  for (int64_t i = 0; i < permutation.count; i++) {
    if (goes[i]) continue;
    if (permutation.data[i] < last) return NULL;
    last = permutation.data[i];
  }
  for (int64_t d = 0; d < permutation.count; d++) {
    for (int64_t i = 0; i < permutation.count; i++) {
      if (permutation.data[i] == d && goes[i]) dims[count++] = d;
    }
  }
  HloInstruction *operands[2] = {transpose->operands[0], instruction->operands[1]};
  HloInstruction *result = hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands, 2);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims, count);
  return result;
}

/* What |combiner| leaves everything as it is with; a zero of either sign counts for sums. */
static bool is_identity(HloOpcode combiner, HloInstruction *value) {
  const Literal *literal = algebraic_splat_literal(value);
  PrimitiveType type = value->shape->type;
  uint64_t identity[FOLD_IDENTITY_BYTES / sizeof(uint64_t)];
  if (literal == NULL || type_is_complex(type) || !hlo_fold_identity(combiner, type, identity)) return false;
  if (type_is_float(type)) return literal_get_double(literal, 0) == type_load_double(type, identity);
  return literal_get_int(literal, 0) == type_load_int(type, identity);
}

/* reduce(reduce(x, identity), init) → reduce(x, init) over the dimensions of both, for what regroups exactly */
static HloInstruction *reduce_reduce_of(HloInstruction *instruction, bool fast) {
  const HloInstruction *inner = instruction->operands[0];
  HloOpcode combiner = combiner_of(instruction);
  if (inner->opcode != HLO_REDUCE || combiner == HLO_TUPLE) return NULL;
  if (!regroups_exactly(combiner, instruction->shape->type) && !(fast && algebraic_is_ieee(instruction))) return NULL;
  if (combiner_of(inner) != combiner || !is_identity(combiner, inner->operands[1])) return NULL;
  const Shape *x = inner->operands[0]->shape;
  if (x->rank > RANK_LIMIT) return NULL;
  bool goes[RANK_LIMIT] = {false}, outer[RANK_LIMIT] = {false};
  Int64List inner_dims = hlo_instruction_ints(inner, HLO_ATTR_DIMENSIONS),
            outer_dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < inner_dims.count; i++) goes[inner_dims.data[i]] = true;
  for (int64_t i = 0; i < outer_dims.count; i++) outer[outer_dims.data[i]] = true;
  int64_t dims[RANK_LIMIT], count = 0;
  for (int d = 0, kept = 0; d < x->rank; d++) {
    if (goes[d] || outer[kept]) dims[count++] = d;
    kept += !goes[d];
  }
  HloInstruction *operands[2] = {inner->operands[0], instruction->operands[1]};
  HloInstruction *result = hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands, 2);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dims, count);
  return result;
}

static HloInstruction *reduce_reduce(HloInstruction *instruction) {
  return reduce_reduce_of(instruction, false);
}

static HloInstruction *reduce_reduce_fast(HloInstruction *instruction) {
  return reduce_reduce_of(instruction, true);
}

/* reduce(broadcast(a), init) of scalars → broadcast(init ∘ a), where taking a twice changes nothing */
static HloInstruction *reduce_splat(HloInstruction *instruction) {
  HloOpcode combiner = combiner_of(instruction);
  if (!hlo_opcode_has(combiner, OP_IDEMPOTENT)) return NULL;
  HloInstruction *operands[2] = {instruction->operands[1], algebraic_splat_source(instruction->operands[0])};
  if (operands[1] == NULL || shape_element_count(instruction->operands[0]->shape) < 1) return NULL;
  if (operands[1]->shape != operands[0]->shape || !shape_is_static_array(instruction->shape)) return NULL;
  HloInstruction *one =
      hlo_computation_add(instruction->parent, combiner, operands[0]->shape, operands, 2, (StringView){0});
  return shape_is_scalar(instruction->shape) ? one : algebraic_broadcast(one, instruction->shape, NULL);
}

/* What becomes of each dimension of a broadcast that is reduced. */
typedef enum BroadcastFate { FATE_STAYS, FATE_HOISTED, FATE_DROPPED } BroadcastFate;

/* How often a reduction meets each element of |broadcast| again along dimensions that are not its own: they go where
 * taking an element more often changes nothing, or is a product. */
static bool fates_of(const HloInstruction *reduce, HloOpcode combiner, bool fast, BroadcastFate *out_fates,
                     int64_t *out_times) {
  const HloInstruction *broadcast = reduce->operands[0];
  Int64List places = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS),
            reduced = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  bool goes[RANK_LIMIT] = {false}, own[RANK_LIMIT] = {false}, changed = false;
  for (int64_t i = 0; i < reduced.count; i++) goes[reduced.data[i]] = true;
  for (int64_t i = 0; i < places.count; i++) own[places.data[i]] = true;
  bool selects = combiner == HLO_MAXIMUM || combiner == HLO_MINIMUM || combiner == HLO_AND || combiner == HLO_OR;
  bool multiplies =
      combiner == HLO_ADD && (type_is_integral(reduce->shape->type) || (fast && algebraic_is_ieee(reduce)));
  *out_times = 1;
  for (int d = 0; d < broadcast->shape->rank; d++) {
    out_fates[d] = FATE_STAYS;
    if (own[d]) continue;
    if (!goes[d]) out_fates[d] = FATE_HOISTED;
    if (goes[d] && (selects || multiplies)) out_fates[d] = FATE_DROPPED;
    if (out_fates[d] == FATE_DROPPED) {
      *out_times = (int64_t)((uint64_t)*out_times * (uint64_t)broadcast->shape->dims[d]);
    }
    changed |= out_fates[d] != FATE_STAYS;
  }
  if (!multiplies) *out_times = 1;
  return changed;
}

/* reduce(broadcast(x)) → broadcast(reduce(x)): along dimensions that x does not have, every sum is the same; of the
 * larger, the smaller, and, or, and of integers the elements that are met again need no second look */
static HloInstruction *reduce_broadcast_of(HloInstruction *reduce, bool fast) {
  const HloInstruction *broadcast = reduce->operands[0];
  if (reduce->operand_count != 2 || broadcast->opcode != HLO_BROADCAST || !shape_is_static_array(reduce->shape))
    return NULL;
  const Shape *from = broadcast->shape;
  HloInstruction *x = broadcast->operands[0];
  if (from->rank > RANK_LIMIT || !shape_is_static_array(x->shape) || shape_element_count(from) == 0) return NULL;
  BroadcastFate fates[RANK_LIMIT];
  int64_t times, sizes[RANK_LIMIT], kept_sizes[RANK_LIMIT], dims[RANK_LIMIT], spread[RANK_LIMIT], place[RANK_LIMIT];
  if (!fates_of(reduce, combiner_of(reduce), fast, fates, &times)) return NULL;
  Int64List reduced = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS),
            own = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  bool goes[RANK_LIMIT] = {false};
  for (int64_t i = 0; i < reduced.count; i++) goes[reduced.data[i]] = true;
  int rank = 0, kept = 0, still = 0;
  for (int d = 0, result = 0; d < from->rank; d++) {
    if (fates[d] == FATE_STAYS) {
      place[d] = rank;
      if (goes[d]) dims[still++] = rank;
      if (!goes[d]) {
        spread[kept] = result;
        kept_sizes[kept++] = from->dims[d];
      }
      sizes[rank++] = from->dims[d];
    }
    result += !goes[d];
  }
  int64_t places[RANK_LIMIT];
  for (int64_t i = 0; i < own.count; i++) places[i] = place[own.data[i]];
  ShapeTable *table = reduce->parent->module->shapes;
  PrimitiveType type = x->shape->type;
  if (times != 1)
    x = algebraic_binary(x, HLO_MULTIPLY, x,
                         type_is_integral(type) ? algebraic_integer(x, times) : algebraic_number(x, (double)times));
  HloInstruction *value = algebraic_broadcast(x, shape_array(table, type, sizes, rank), places);
  const Shape *shape = shape_array(table, type, kept_sizes, kept);
  HloInstruction *operands[2] = {value, reduce->operands[1]};
  if (still == 0 && combiner_of(reduce) == HLO_TUPLE) return NULL;
  if (still > 0) {
    value = hlo_computation_add_clone(reduce->parent, reduce, shape, operands, 2);
    hlo_instruction_set_ints(value, HLO_ATTR_DIMENSIONS, dims, still);
    hlo_instruction_remove_sharding(value);
  } else {
    HloInstruction *init = kept > 0 ? algebraic_broadcast(operands[1], shape, NULL) : operands[1];
    HloInstruction *both[2] = {init, value};
    value = hlo_computation_add(reduce->parent, combiner_of(reduce), shape, both, 2, (StringView){0});
  }
  return shape == reduce->shape ? value : algebraic_broadcast(value, reduce->shape, spread);
}

static HloInstruction *reduce_broadcast(HloInstruction *reduce) {
  return reduce_broadcast_of(reduce, false);
}

static HloInstruction *reduce_broadcast_fast(HloInstruction *reduce) {
  return reduce_broadcast_of(reduce, true);
}

/* --- windows --- */

static bool is_one_element(const Window *window) {
  for (int i = 0; i < window->rank; i++) {
    const WindowDimension *dim = &window->dims[i];
    if (dim->size != 1 || dim->stride != 1 || dim->base_dilation != 1 || dim->pad_low != 0 || dim->pad_high != 0)
      return false;
  }
  return true;
}

/* reduce-window(x, init) of windows of one element → init ∘ x */
static HloInstruction *window_of_one(HloInstruction *instruction) {
  const Window *window = hlo_instruction_window(instruction);
  HloOpcode combiner = combiner_of(instruction);
  HloInstruction *x = instruction->operands[0];
  if (combiner == HLO_TUPLE || window == NULL || !is_one_element(window)) return NULL;
  if (x->shape != instruction->shape || !shape_is_static_array(x->shape)) return NULL;
  HloInstruction *init = instruction->operands[1];
  if (x->shape->rank > 0) init = algebraic_broadcast(init, x->shape, NULL);
  return algebraic_binary(instruction, combiner, init, x);
}

/* reduce-window(pad(x, identity), identity) → reduce-window(x) with a padded window.  The padding takes no part: of
 * sums from +0 on, no more than a +0 among the summands. */
static HloInstruction *window_of_pad(HloInstruction *instruction) {
  const HloInstruction *pad = instruction->operands[0];
  const Window *window = hlo_instruction_window(instruction);
  HloOpcode combiner = combiner_of(instruction);
  if (pad->opcode != HLO_PAD || window == NULL || combiner == HLO_TUPLE ||
      !shape_is_static_array(pad->operands[0]->shape))
    return NULL;
  if (!is_identity(combiner, instruction->operands[1]) || !is_identity(combiner, pad->operands[1])) return NULL;
  if (combiner == HLO_ADD && pad->operands[1] != instruction->operands[1]) return NULL;
  const PaddingConfig *padding = hlo_instruction_padding(pad);
  Arena *arena = instruction->parent->module->arena;
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, window->dims, padding->rank);
  for (int i = 0; i < padding->rank; i++) {
    if (padding->dims[i].interior != 0 || padding->dims[i].low < 0 || padding->dims[i].high < 0) return NULL;
    if (dims[i].base_dilation != 1) return NULL;
    dims[i].pad_low += padding->dims[i].low;
    dims[i].pad_high += padding->dims[i].high;
  }
  Window *wider = ARENA_NEW(arena, Window);
  *wider = (Window){padding->rank, dims};
  HloInstruction *operands[2] = {pad->operands[0], instruction->operands[1]};
  HloInstruction *result = hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands, 2);
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = wider});
  return result;
}

/* Whether the windows, from one element to the next, hold at most one element of x: pad(x) has so many others between
 * its own. */
static bool holds_one_at_most(const Window *window, const PaddingConfig *padding) {
  bool repeats = false;
  for (int i = 0; i < window->rank; i++) {
    const WindowDimension *dim = &window->dims[i];
    bool is_plain_window = dim->stride == 1 && dim->base_dilation == 1 && dim->window_dilation == 1 && !dim->reversal &&
                           dim->pad_low == 0 && dim->pad_high == 0;
    if (!is_plain_window || padding->dims[i].interior != dim->size - 1) return false;
    repeats |= dim->size > 1;
  }
  return repeats;
}

/* x with each element as often as |window| is long, along all dimensions. */
static HloInstruction *repeat_elements(HloInstruction *x, const Window *window) {
  ShapeTable *table = x->parent->module->shapes;
  int64_t apart[RANK_LIMIT], places[RANK_LIMIT], together[RANK_LIMIT];
  int count = 0;
  for (int i = 0; i < window->rank; i++) {
    places[i] = count;
    apart[count++] = x->shape->dims[i];
    if (window->dims[i].size > 1) apart[count++] = window->dims[i].size;
    together[i] = x->shape->dims[i] * window->dims[i].size;
  }
  HloInstruction *spread = algebraic_broadcast(x, shape_array(table, x->shape->type, apart, count), places);
  return algebraic_reshape(spread, shape_array(table, x->shape->type, together, window->rank));
}

/* reduce-window(pad(x, identity), identity), which is the gradient of an average pool: where each window holds one
 * element of x, or none at the edges → pad(repeated(identity ∘ x), identity) */
static HloInstruction *window_of_holes(HloInstruction *instruction) {
  HloInstruction *pad = instruction->operands[0], *init = instruction->operands[1];
  const Window *window = hlo_instruction_window(instruction);
  HloOpcode combiner = combiner_of(instruction);
  if (pad->opcode != HLO_PAD || window == NULL || combiner == HLO_TUPLE) return NULL;
  HloInstruction *x = pad->operands[0];
  const PaddingConfig *padding = hlo_instruction_padding(pad);
  if (2 * padding->rank > RANK_LIMIT || !shape_is_static_array(x->shape) || !shape_is_static_array(instruction->shape))
    return NULL;
  if (!is_identity(combiner, init) || pad->operands[1] != init || x->shape->type != instruction->shape->type)
    return NULL;
  if (!holds_one_at_most(window, padding) || shape_element_count(instruction->shape) == 0) return NULL;
  if (shape_element_count(x->shape) == 0) return NULL;
  HloInstruction *first = algebraic_binary(x, combiner, algebraic_broadcast(init, x->shape, NULL), x);
  HloInstruction *repeated = repeat_elements(first, window);
  if (repeated->shape == instruction->shape) return repeated;
  Arena *arena = instruction->parent->module->arena;
  PaddingConfig *edges = ARENA_NEW(arena, PaddingConfig);
  PaddingDimension *dims = ARENA_NEW_ARRAY(arena, PaddingDimension, padding->rank);
  *edges = (PaddingConfig){padding->rank, dims};
  for (int i = 0; i < padding->rank; i++) {
    int64_t reach = window->dims[i].size - 1;
    dims[i] = (PaddingDimension){.low = padding->dims[i].low - reach, .high = padding->dims[i].high - reach};
  }
  HloInstruction *operands[2] = {repeated, init};
  HloInstruction *result =
      hlo_computation_add(instruction->parent, HLO_PAD, instruction->shape, operands, 2, (StringView){0});
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = edges});
  return result;
}

/* --- sort --- */

/* sort(x) along a dimension of at most one element → x; of several arrays, their tuple */
static HloInstruction *sort_nothing(HloInstruction *instruction) {
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  if (dims.count != 1 || instruction->operands[0]->shape->dims[dims.data[0]] > 1) return NULL;
  if (shape_is_dynamic(instruction->shape)) return NULL;
  if (instruction->operand_count == 1 && !shape_is_tuple(instruction->shape))
    return instruction->operands[0]->shape == instruction->shape ? instruction->operands[0] : NULL;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (instruction->operands[i]->shape != instruction->shape->tuple[i]) return NULL;
  }
  return hlo_computation_add(instruction->parent, HLO_TUPLE, instruction->shape, instruction->operands,
                             instruction->operand_count, (StringView){0});
}

/* Which operands of |sort| are asked for: their results are read, or they are compared. */
static int find_live_operands(const HloInstruction *sort, bool *out_live) {
  const HloComputation *region = hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY);
  int count = 0;
  for (int i = 0; i < sort->operand_count; i++) {
    for (int side = 0; side < 2; side++) {
      const HloInstruction *parameter = hlo_computation_parameter(region, 2 * i + side);
      out_live[i] |= parameter == NULL || parameter->user_count > 0 || region->root == parameter;
    }
  }
  for (int i = 0; i < sort->user_count; i++) {
    const HloInstruction *reader = sort->users[i];
    bool dead = hlo_instruction_is_unread(reader);
    if (!dead) out_live[hlo_instruction_int(reader, HLO_ATTR_INDEX, 0)] = true;
  }
  for (int i = 0; i < sort->operand_count; i++) count += out_live[i];
  return count;
}

/* sort(x, y, …) whose sorted y is neither read nor compared → sort(x, …); its place in the tuple holds y as it was */
static HloInstruction *sort_dead_operands(HloInstruction *sort) {
  HloInstruction *operands[RANK_LIMIT], *elements[RANK_LIMIT];
  const Shape *shapes[RANK_LIMIT];
  bool live[RANK_LIMIT] = {false};
  int count = sort->operand_count, kept = 0;
  if (!shape_is_tuple(sort->shape) || count < 2 || count > RANK_LIMIT || hlo_instruction_is_root(sort)) return NULL;
  for (int i = 0; i < sort->user_count; i++) {
    if (sort->users[i]->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
  }
  for (int i = 0; i < count; i++) {
    if (sort->operands[i]->shape != sort->shape->tuple[i] || shape_is_dynamic(sort->operands[i]->shape)) return NULL;
  }
  int alive = find_live_operands(sort, live);
  if (alive == count || alive == 0) return NULL;
  HloModule *module = sort->parent->module;
  HloComputation *region =
      hlo_computation_clone(hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY), module, (StringView){0});
  for (int i = count - 1; i >= 0; i--) {
    for (int side = 1; side >= 0 && !live[i]; side--) {
      hlo_computation_remove(region, hlo_computation_parameter(region, 2 * i + side), true);
    }
  }
  for (int i = 0; i < count; i++) {
    if (!live[i]) continue;
    shapes[kept] = sort->shape->tuple[i];
    operands[kept++] = sort->operands[i];
  }
  const Shape *shape = kept == 1 ? shapes[0] : shape_tuple(module->shapes, shapes, kept);
  HloInstruction *made = hlo_computation_add_clone(sort->parent, sort, shape, operands, kept);
  hlo_instruction_set_computation(made, HLO_ATTR_TO_APPLY, region);
  hlo_instruction_remove_sharding(made);
  for (int i = 0, next = 0; i < count; i++) {
    elements[i] = sort->operands[i];
    if (!live[i]) continue;
    elements[i] = made;
    if (kept > 1) {
      elements[i] =
          hlo_computation_add(sort->parent, HLO_GET_TUPLE_ELEMENT, sort->shape->tuple[i], &made, 1, (StringView){0});
      hlo_instruction_set_int(elements[i], HLO_ATTR_INDEX, next++);
    }
  }
  return hlo_computation_add(sort->parent, HLO_TUPLE, sort->shape, elements, count, (StringView){0});
}

/* --- conversions of what is reduced --- */

/* |opcode| of two scalars of |type|. */
static HloComputation *add_combiner(HloModule *module, HloOpcode opcode, PrimitiveType type) {
  HloComputation *region = hlo_module_add_computation(module, SV("narrow"));
  const Shape *scalar = shape_scalar(module->shapes, type);
  HloInstruction *operands[2];
  for (int i = 0; i < 2; i++) operands[i] = hlo_computation_add_parameter(region, i, scalar, SV("number"));
  region->root = hlo_computation_add(region, opcode, scalar, operands, 2, (StringView){0});
  return region;
}

/* convert(reduce(convert(x), init)) → reduce(x, convert(init)) of integers of x' type, which is narrower: what wraps
 * later wraps to the same. */
static HloInstruction *reduce_narrow(HloInstruction *instruction) {
  HloInstruction *reduce = instruction->operands[0], *made, *operands[2];
  PrimitiveType type = instruction->shape->type;
  if (reduce->opcode != HLO_REDUCE || reduce->user_count != 1 || reduce->operand_count != 2) return NULL;
  PrimitiveType wide = reduce->shape->type;
  HloOpcode combiner = combiner_of(reduce);
  bool wraps = combiner == HLO_ADD || combiner == HLO_MULTIPLY || combiner == HLO_AND || combiner == HLO_OR ||
               combiner == HLO_XOR;
  if (!wraps || !type_is_integral(type) || !type_is_integral(wide) || type_bits(type) >= type_bits(wide)) return NULL;
  const HloInstruction *convert = reduce->operands[0];
  if (convert->opcode != HLO_CONVERT || convert->operands[0]->shape->type != type) return NULL;
  HloModule *module = instruction->parent->module;
  if (shape_with_type(module->shapes, reduce->shape, type) != instruction->shape) return NULL;
  const Shape *scalar = shape_scalar(module->shapes, type);
  operands[0] = convert->operands[0];
  operands[1] = hlo_computation_add(instruction->parent, HLO_CONVERT, scalar, &reduce->operands[1], 1, (StringView){0});
  made = hlo_computation_add_clone(instruction->parent, reduce, instruction->shape, operands, 2);
  hlo_instruction_set_computation(made, HLO_ATTR_TO_APPLY, add_combiner(module, combiner, type));
  return made;
}

AlgebraicRules algebraic_reduce_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_REDUCE, "reduce-of-ones", reduce_of_ones},
      {HLO_REDUCE, "reduce-transpose", reduce_transpose},
      {HLO_REDUCE, "reduce-reduce", reduce_reduce},
      {HLO_REDUCE, "reduce-splat", reduce_splat},
      {HLO_REDUCE, "reduce-broadcast", reduce_broadcast},
      {HLO_REDUCE_WINDOW, "window-of-one", window_of_one},
      {HLO_REDUCE_WINDOW, "window-of-pad", window_of_pad},
      {HLO_REDUCE_WINDOW, "window-of-holes", window_of_holes},
      {HLO_SORT, "sort-nothing", sort_nothing},
      {HLO_SORT, "sort-dead-operands", sort_dead_operands},
      {HLO_CONVERT, "reduce-narrow", reduce_narrow},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}

AlgebraicRules algebraic_fast_reduce_rules(void) {
  static const AlgebraicRule rules[] = {
      {HLO_REDUCE, "reduce-reduce-fast", reduce_reduce_fast},
      {HLO_REDUCE, "reduce-broadcast-fast", reduce_broadcast_fast},
  };
  return (AlgebraicRules){rules, sizeof(rules) / sizeof(rules[0])};
}
