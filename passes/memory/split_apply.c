/* The rewrite: a loop over parts in place of a group. */
#include "base/checked_math.h"
#include "hlo/ir/fold_identity.h"
#include "passes/cleanup/control_edges.h"
#include "passes/expand/graph_builder.h"
#include "passes/memory/split.h"
#include "passes/memory/split_fit.h"
#include "passes/memory/split_loop.h"

/* Parts of so many units and more are whole multiples of that many, as vectors and blocks like them. */
enum { ALIGNED_UNITS = 16 };

/* |trips| parts of |size| units; then one of |rest|, or, where |overlaps|, the last part begins earlier so as to end
 * with the last unit. */
typedef struct Parts {
  int64_t trips, size, rest;
  bool overlaps;
} Parts;

/* What a sum begins with instead: the operand that is not |rest|. */
typedef struct Addition {
  HloInstruction *instruction;
  int rest;
} Addition;

typedef struct Rewrite {
  const HloSplit *split;
  Arena *scratch;
  Parts parts;
  PrimitiveType index_type;
  IntMap numbers;          /* members, and then captured values, by id */
  const bool *is_output;   /* of each member */
  int64_t *output_numbers; /* of members that are outputs, among these */
  ControlEdges edges;
  const bool *is_after; /* by id: what the group makes, and what needs that */
  Addition *additions;  /* of each member that begins with what is added to it */
  int64_t output_count;
  HloInstructionArray captured; /* what members read from outside; after the outputs among the values of the loop */
} Rewrite;

/* A part is made of operand 0, which is what the part before made. */
static bool is_carried(const HloSplitMember *member) {
  return split_is_folded(member) && member->fold == HLO_SCATTER;
}

/* --- sizes of parts --- */

static int64_t choose_size(int64_t units, int64_t parts) {
  int64_t most = (units + parts - 1) / parts;
  for (int64_t size = most; size > 0 && size * 4 >= most * 3; size--)
    if (units % size == 0) return size;
  return most >= 2 * ALIGNED_UNITS ? most / ALIGNED_UNITS * ALIGNED_UNITS : most;
}

static Parts choose_parts(const HloSplit *split, int64_t parts) {
  bool has_fold = false;
  for (int64_t i = 0; i < split->member_count; i++) has_fold |= split_is_folded(&split->members[i]);
  if (parts > split->units) parts = split->units;
  int64_t size = choose_size(split->units, parts < 2 ? 2 : parts);
  Parts chosen = {split->units / size, size, split->units % size, false};
  if (chosen.rest == 0 || has_fold) return chosen; /* what is folded counts once */
  return (Parts){chosen.trips + 1, size, 0, true};
}

/* --- what goes in and out --- */

static const HloSplitMember *find_member(const Rewrite *rewrite, const HloInstruction *instruction, int64_t *out) {
  if (!int_map_find(&rewrite->numbers, (uint64_t)instruction->id, out) || *out >= rewrite->split->member_count)
    return NULL;
  return &rewrite->split->members[*out];
}

static bool has_user_outside(const Rewrite *rewrite, const HloInstruction *instruction) {
  int64_t ignored;
  for (int u = 0; u < instruction->user_count; u++)
    if (find_member(rewrite, instruction->users[u], &ignored) == NULL) return true;
  return hlo_instruction_is_root(instruction);
}

SplitRange hlo_split_range(const HloSplitMember *member, int operand) {
  const SplitRead *read = &member->reads[operand];
  if (member->before + member->after == 0) return (SplitRange){read->before, read->after};
  return (SplitRange){member->before * read->scale / member->scale + read->before,
                      member->after * read->scale / member->scale + read->after};
}

static bool is_argument(const HloInstruction *instruction) {
  while (instruction->opcode == HLO_GET_TUPLE_ELEMENT) instruction = instruction->operands[0];
  return instruction->opcode == HLO_PARAMETER;
}

HloInstruction *hlo_split_source(HloInstruction *operand) {
  bool is_converted = operand->opcode == HLO_CONVERT && is_argument(operand->operands[0]);
  return is_converted && shape_has_default_layout(operand->operands[0]->shape) ? operand->operands[0] : operand;
}

/* What a sum over the parts begins with for each of them: zeros, made there. */
static bool begins_sum(const HloSplitMember *member, int k) {
  return member->loop != NULL && member->instruction->opcode == HLO_TUPLE &&
         member->loop->leaves[k].kind == SPLIT_LEAF_SUM;
}

static void capture_operands(Rewrite *rewrite, const HloSplitMember *member) {
  const HloInstruction *instruction = member->instruction;
  for (int k = is_carried(member); k < instruction->operand_count; k++) {
    HloInstruction *operand = instruction->operands[k];
    int64_t ignored;
    if (hlo_instruction_is_scalar_constant(operand) || begins_sum(member, k)) continue;
    if (int_map_find(&rewrite->numbers, (uint64_t)operand->id, &ignored)) continue;
    operand = hlo_split_source(operand);
    if (int_map_find(&rewrite->numbers, (uint64_t)operand->id, &ignored)) continue;
    int_map_set(&rewrite->numbers, (uint64_t)operand->id, rewrite->split->member_count + rewrite->captured.count);
    array_push(&rewrite->captured, rewrite->scratch, operand);
  }
}

static void find_boundary(Rewrite *rewrite) {
  const HloSplit *split = rewrite->split;
  bool *is_output = ARENA_NEW_ARRAY(rewrite->scratch, bool, split->member_count);
  rewrite->is_output = is_output;
  rewrite->output_numbers = ARENA_NEW_ARRAY(rewrite->scratch, int64_t, split->member_count);
  int_map_init(&rewrite->numbers, rewrite->scratch);
  for (int64_t i = 0; i < split->member_count; i++)
    int_map_set(&rewrite->numbers, (uint64_t)split->members[i].instruction->id, i);
  for (int64_t i = 0; i < split->member_count; i++) {
    const HloInstruction *instruction = split->members[i].instruction;
    is_output[i] =
        shape_is_array(instruction->shape) && !split->members[i].is_remade && has_user_outside(rewrite, instruction);
    rewrite->output_numbers[i] = rewrite->output_count;
    rewrite->output_count += is_output[i];
    capture_operands(rewrite, &split->members[i]);
  }
}

static PrimitiveType index_type(const HloSplit *split) {
  PrimitiveType type = TYPE_S32;
  for (int64_t i = 0; i < split->member_count; i++) {
    const HloSplitMember *member = &split->members[i];
    if (member->scale > INT32_MAX / split->units) type = TYPE_S64;
    for (int k = 0; k < member->instruction->operand_count; k++)
      if (member->reads[k].scale > INT32_MAX / split->units) type = TYPE_S64;
  }
  return type;
}

/* --- one part --- */

typedef struct Part {
  Rewrite *rewrite;
  GraphBuilder *builder;
  HloInstruction *start;         /* its first unit */
  int64_t size;                  /* in units */
  HloInstruction *const *values; /* what the outputs are so far */
  HloInstruction *const *captured;
  HloInstruction **made; /* of each member */
  IntMap slices;         /* made for captured values, by their number and how they are read */
} Part;

static HloInstruction *scaled_start(Part *part, int64_t scale) {
  if (scale == 1) return part->start;
  HloInstruction *factor = graph_integer(part->builder, part->rewrite->index_type, scale, NULL);
  return graph_binary(part->builder, HLO_MULTIPLY, part->start, factor);
}

static const Shape *part_shape(Part *part, const Shape *shape, const HloSplitMember *member) {
  ShapeTable *shapes = graph_shapes(part->builder);
  if (shape_is_tuple(shape)) {
    const Shape **elements = ARENA_NEW_ARRAY(part->rewrite->scratch, const Shape *, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++) elements[i] = part_shape(part, shape->tuple[i], member);
    return shape_tuple(shapes, elements, shape->tuple_size);
  }
  int64_t *dims = ARENA_COPY_ARRAY(part->rewrite->scratch, int64_t, shape->dims, shape->rank);
  if (!split_is_folded(member)) dims[member->dimension] = part->size * member->scale + member->before + member->after;
  return shape_array(shapes, shape->type, dims, shape->rank);
}

static HloInstruction *shifted_start(Part *part, int64_t scale, int64_t shift) {
  HloInstruction *start = scaled_start(part, scale);
  if (shift == 0) return start;
  return graph_binary(part->builder, HLO_SUBTRACT, start,
                      graph_integer(part->builder, part->rewrite->index_type, shift, NULL));
}

static HloInstruction *part_operand(Part *part, const HloSplitMember *member, int k);

/* Each loop has its own: one array for several would be there from the first to the last, and copied for each. */
static void keep_apart(HloInstruction *value) {
  HloModule *module = value->parent->module;
  StringView number = sv_printf(module->arena, "%d", (int)module->next_instruction_id);
  if (value->opcode == HLO_BROADCAST) hlo_instruction_set_frontend(value, SV("_xlac_split"), number);
}

static HloInstruction *loop_zero(GraphBuilder *builder, const Shape *shape) {
  HloInstruction *zero = graph_zero(builder, shape->type, shape);
  keep_apart(zero);
  return zero;
}

/* What |instruction| reads where there is nothing. */
static HloInstruction *part_fill(Part *part, const HloSplitMember *member, PrimitiveType type) {
  int operand = split_fill_operand(member->instruction);
  return operand < 0 ? graph_zero(part->builder, type, NULL) : part_operand(part, member, operand);
}

/* |value| with |low| and |high| times |fill| along |dimension|. */
static HloInstruction *add_borders(GraphBuilder *builder, HloInstruction *value, HloInstruction *fill, int dimension,
                                   int64_t low, int64_t high) {
  const Shape *from = value->shape;
  Arena *arena = builder->computation->module->arena;
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, from->dims, from->rank);
  dims[dimension] += low + high;
  const Shape *shape = shape_array(graph_shapes(builder), from->type, dims, from->rank);
  HloInstruction *padded = graph_add(builder, HLO_PAD, shape, (HloInstruction *[]){value, fill}, 2);
  PaddingDimension *padding = ARENA_NEW_ARRAY(arena, PaddingDimension, from->rank);
  padding[dimension] = (PaddingDimension){low, high, 0};
  PaddingConfig *config = ARENA_NEW(arena, PaddingConfig);
  *config = (PaddingConfig){from->rank, padding};
  hlo_instruction_set_attr(padded, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = config});
  return padded;
}

/* |length| elements of |whole| from |low| before the part's first one on, as if |low| and |high| elements of padding
 * stood around it: a slice that is all inside, with padding, of which the right elements are taken.  More padding than
 * |length| on a side is never in sight: what begins further away begins where all is padding. */
static HloInstruction *slice_with_borders(Part *part, const HloSplitMember *member, HloInstruction *whole,
                                          const SplitRead *read, int64_t length, int64_t low, int64_t high) {
  GraphBuilder *builder = part->builder;
  PrimitiveType type = part->rewrite->index_type;
  int64_t there = whole->shape->dims[read->dimension], inside = min_i64(length, there);
  HloInstruction *start = shifted_start(part, read->scale, low);
  int64_t above = min_i64(max_i64(high, 0) + length - inside, length), below = min_i64(max_i64(low, 0), length);
  HloInstruction *least = graph_binary(builder, HLO_MAXIMUM, start, graph_integer(builder, type, 0, NULL));
  HloInstruction *from = graph_binary(builder, HLO_MINIMUM, least, graph_integer(builder, type, there - inside, NULL));
  HloInstruction *slice = graph_take_run(builder, whole, read->dimension, from, inside);
  HloInstruction *fill = part_fill(part, member, whole->shape->type);
  HloInstruction *padded = add_borders(builder, slice, fill, read->dimension, below, above);
  HloInstruction *shift = graph_binary(builder, HLO_SUBTRACT, start, from);
  HloInstruction *begin = graph_binary(builder, HLO_ADD, shift, graph_integer(builder, type, below, NULL));
  return graph_take_run(builder, padded, read->dimension, begin, length);
}

/* What |member| reads of the captured |value| as operand |k|. */
static HloInstruction *captured_operand(Part *part, const HloSplitMember *member, int k, HloInstruction *value) {
  const SplitRead *read = &member->reads[k];
  if (read->dimension == SPLIT_READ_WHOLE) return value;
  SplitRange range = hlo_split_range(member, k);
  int64_t length = part->size * read->scale + range.before + range.after;
  int64_t end = part->rewrite->split->units * read->scale + range.after;
  int64_t high = max_i64(0, end - value->shape->dims[read->dimension]);
  if (range.before > 0 || high > 0) return slice_with_borders(part, member, value, read, length, range.before, high);
  if (range.before < 0)
    return graph_take_run(part->builder, value, read->dimension, shifted_start(part, read->scale, range.before),
                          length);
  int64_t key = (int64_t)value->id * SHAPE_MAX_RANK + read->dimension;
  HloInstruction *slice = pointer_map_get(&part->slices, (const void *)(intptr_t)key);
  if (slice != NULL && slice->shape->dims[read->dimension] == length) return slice;
  slice = graph_take_run(part->builder, value, read->dimension, scaled_start(part, read->scale), length);
  pointer_map_set(&part->slices, (const void *)(intptr_t)key, slice);
  return slice;
}

/* |fill| in place of what lies beyond the ends of a whole of |size| elements along the dimension of |read|; |value| is
 * a part that begins |before| elements early. */
static HloInstruction *fill_beyond(Part *part, HloInstruction *value, const SplitRead *read, int64_t before,
                                   HloInstruction *fill, int64_t size) {
  GraphBuilder *builder = part->builder;
  const Shape *shape = value->shape;
  PrimitiveType type = part->rewrite->index_type;
  HloInstruction *start = graph_splat(builder, shifted_start(part, read->scale, before), shape);
  HloInstruction *inside = graph_iota(builder, type, shape->dims, shape->rank, read->dimension);
  HloInstruction *position = graph_binary(builder, HLO_ADD, inside, start);
  HloInstruction *is_there = graph_binary(
      builder, HLO_AND,
      graph_compare(builder, COMPARISON_DIRECTION_GE, position, graph_integer(builder, type, 0, shape)),
      graph_compare(builder, COMPARISON_DIRECTION_LT, position, graph_integer(builder, type, size, shape)));
  return graph_select(builder, is_there, value, graph_splat(builder, fill, shape));
}

/* Of what |maker| makes for the part, what operand |k| of |member| is. */
static HloInstruction *made_operand(Part *part, const HloSplitMember *maker, HloInstruction *made,
                                    const HloSplitMember *member, int k) {
  const SplitRead *read = &member->reads[k];
  if (read->dimension == SPLIT_READ_WHOLE || shape_is_tuple(maker->instruction->shape)) return made;
  SplitRange range = hlo_split_range(member, k);
  int64_t size = maker->instruction->shape->dims[read->dimension];
  if (range.before != maker->before || range.after != maker->after) {
    int64_t begin = maker->before - range.before;
    int64_t length = part->size * read->scale + range.before + range.after;
    made = graph_slice(part->builder, made, read->dimension, begin, begin + length);
  }
  bool is_inside = read->before <= 0 && part->rewrite->split->units * read->scale + read->after <= size;
  if (is_inside || !split_fills(member->instruction)) return made;
  HloInstruction *fill = part_fill(part, member, made->shape->type);
  return fill_beyond(part, made, read, range.before, fill, size);
}

/* What the parts before have made of the array that goes from part to part; NULL: operand |k| is another. */
static HloInstruction *carried_operand(const Part *part, const HloSplitMember *member, int k) {
  if (!is_carried(member) || k > 0) return NULL;
  return part->values[part->rewrite->output_numbers[member - part->rewrite->split->members]];
}

static HloInstruction *part_operand(Part *part, const HloSplitMember *member, int k) {
  HloInstruction *operand = member->instruction->operands[k], *carried = carried_operand(part, member, k);
  if (carried != NULL) return carried;
  if (begins_sum(member, k)) return loop_zero(part->builder, operand->shape);
  if (split_is_folded(member) && member->instruction->opcode == HLO_REDUCE && k > 0) {
    char identity[FOLD_IDENTITY_BYTES];
    XLAC_CHECK(hlo_fold_identity(member->fold, operand->shape->type, identity));
    return graph_constant(part->builder, operand->shape->type, identity);
  }
  if (hlo_instruction_is_scalar_constant(operand))
    return hlo_computation_add_constant(part->builder->computation, hlo_instruction_literal(operand), (StringView){0});
  int64_t number;
  const HloSplitMember *maker = find_member(part->rewrite, operand, &number);
  if (maker == NULL) {
    XLAC_CHECK(int_map_find(&part->rewrite->numbers, (uint64_t)hlo_split_source(operand)->id, &number));
    HloInstruction *value = part->captured[number - part->rewrite->split->member_count];
    return graph_convert(part->builder, captured_operand(part, member, k, value), operand->shape->type);
  }
  return made_operand(part, maker, part->made[number], member, k);
}

/* Positions along the cut dimension go on where the part begins. */
static HloInstruction *part_of_iota(Part *part, const HloSplitMember *member, const Shape *shape) {
  GraphBuilder *builder = part->builder;
  PrimitiveType type = part->rewrite->index_type;
  HloInstruction *inside = graph_iota(builder, type, shape->dims, shape->rank, member->dimension);
  HloInstruction *start = graph_splat(builder, shifted_start(part, member->scale, member->before), shape);
  return graph_convert(builder, graph_binary(builder, HLO_ADD, inside, start), shape->type);
}

/* Of arrays that are joined along the cut dimension, at each place that which is there: the last one that has begun. */
static HloInstruction *part_of_joined(Part *part, const HloSplitMember *member, const Shape *shape) {
  GraphBuilder *builder = part->builder;
  PrimitiveType type = part->rewrite->index_type;
  const HloInstruction *concatenate = member->instruction;
  HloInstruction *start = graph_splat(builder, shifted_start(part, member->scale, member->before), shape);
  HloInstruction *inside = graph_iota(builder, type, shape->dims, shape->rank, member->dimension);
  HloInstruction *position = graph_binary(builder, HLO_ADD, inside, start);
  HloInstruction *made = part_operand(part, member, 0);
  for (int k = 1; k < concatenate->operand_count; k++) {
    HloInstruction *begin = graph_integer(builder, type, member->reads[k].before, shape);
    HloInstruction *has_begun = graph_compare(builder, COMPARISON_DIRECTION_GE, position, begin);
    made = graph_select(builder, has_begun, part_operand(part, member, k), made);
  }
  return made;
}

static bool is_joined_there(const HloSplitMember *member) {
  return member->instruction->opcode == HLO_CONCATENATE &&
         hlo_instruction_ints(member->instruction, HLO_ATTR_DIMENSIONS).data[0] == member->dimension;
}

static HloInstruction *make_part(Part *part, const HloSplitMember *member) {
  const HloInstruction *instruction = member->instruction;
  const Shape *shape = member->loop == NULL ? part_shape(part, instruction->shape, member) : NULL;
  if (instruction->opcode == HLO_IOTA &&
      hlo_instruction_int(instruction, HLO_ATTR_IOTA_DIMENSION, 0) == member->dimension)
    return part_of_iota(part, member, shape);
  if (is_joined_there(member)) return part_of_joined(part, member, shape);
  HloInstruction **operands = ARENA_NEW_ARRAY(part->rewrite->scratch, HloInstruction *, instruction->operand_count + 1);
  for (int k = 0; k < instruction->operand_count; k++) operands[k] = part_operand(part, member, k);
  if (instruction->opcode == HLO_WHILE) return split_loop_make(part->builder, member->loop, operands[0], part->size);
  if (instruction->opcode == HLO_TUPLE) return graph_tuple(part->builder, operands, instruction->operand_count);
  HloInstruction *made =
      hlo_computation_add_clone(part->builder->computation, instruction, shape, operands, instruction->operand_count);
  hlo_instruction_remove_sharding(made);
  if (!split_is_folded(member)) split_fit_attributes(made, member);
  return made;
}

/* |made|, what |member| makes for the part, without what is there for its neighbours alone. */
static HloInstruction *own_part(Part *part, const HloSplitMember *member, HloInstruction *made) {
  if (member->before == 0 && member->after == 0) return made;
  return graph_slice(part->builder, made, member->dimension, member->before,
                     member->before + part->size * member->scale);
}

/* |output| with what |member| made for this part in it. */
static HloInstruction *put_one(Part *part, const HloSplitMember *member, HloInstruction *output, HloInstruction *made) {
  if (is_carried(member)) return made;
  if (split_is_folded(member)) return graph_binary(part->builder, member->fold, output, made);
  return graph_put(part->builder, output, own_part(part, member, made), member->dimension,
                   scaled_start(part, member->scale));
}

/* Of |values|, the outputs with this part in them. */
static void put_part(Part *part, HloInstruction *const *values, HloInstruction **out_values) {
  const Rewrite *rewrite = part->rewrite;
  for (int64_t i = 0; i < rewrite->split->member_count; i++) {
    int64_t output = rewrite->output_numbers[i];
    if (rewrite->is_output[i])
      out_values[output] = put_one(part, &rewrite->split->members[i], values[output], part->made[i]);
  }
}

static void compute_part(Rewrite *rewrite, GraphBuilder *builder, HloInstruction *start, int64_t size,
                         HloInstruction *const *values, HloInstruction **out_values) {
  const HloSplit *split = rewrite->split;
  Part part = {.rewrite = rewrite,
               .builder = builder,
               .start = start,
               .size = size,
               .values = values,
               .captured = values + rewrite->output_count,
               .made = ARENA_NEW_ARRAY(rewrite->scratch, HloInstruction *, split->member_count)};
  int_map_init(&part.slices, rewrite->scratch);
  for (int64_t i = 0; i < split->member_count; i++) part.made[i] = make_part(&part, &split->members[i]);
  put_part(&part, values, out_values);
}

/* --- the loop --- */

static void loop_body(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                      HloInstruction **out_values) {
  Rewrite *rewrite = context;
  const Parts *parts = &rewrite->parts;
  PrimitiveType type = rewrite->index_type;
  HloInstruction *size = graph_integer(inside, type, parts->size, NULL);
  HloInstruction *start = graph_binary(inside, HLO_MULTIPLY, graph_convert(inside, step, type), size);
  if (parts->overlaps) {
    HloInstruction *last = graph_integer(inside, type, rewrite->split->units - parts->size, NULL);
    start = graph_binary(inside, HLO_MINIMUM, start, last);
  }
  compute_part(rewrite, inside, start, parts->size, values, out_values);
  for (int64_t i = 0; i < rewrite->captured.count; i++)
    out_values[rewrite->output_count + i] = values[rewrite->output_count + i];
}

/* A repetition is made anew for each loop, as below. */
static HloInstruction *carried_value(GraphBuilder *builder, HloInstruction *value) {
  if (value->opcode != HLO_BROADCAST) return value;
  return hlo_computation_add_clone(builder->computation, value, value->shape, value->operands, value->operand_count);
}

/* What an output is before the first part. */
static HloInstruction *first_value(GraphBuilder *builder, const HloSplitMember *member) {
  const HloInstruction *instruction = member->instruction;
  const Shape *shape = instruction->shape;
  bool is_reduced = split_is_folded(member) && instruction->opcode == HLO_REDUCE;
  HloInstruction *value = is_carried(member) ? carried_value(builder, instruction->operands[0])
                          : is_reduced       ? graph_splat(builder, instruction->operands[1], shape)
                                             : graph_zero(builder, shape->type, shape);
  keep_apart(value);
  return value;
}

/* --- sums that begin with what is added to them --- */

/* By id: what the group makes, and what needs that. */
static const bool *find_made_after(const Rewrite *rewrite) {
  const HloComputation *computation = rewrite->split->computation;
  bool *is_after = ARENA_NEW_ARRAY(rewrite->scratch, bool, computation->module->next_instruction_id + 1);
  int64_t count, ignored;
  HloInstruction **order = hlo_computation_post_order(computation, rewrite->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    const HloSplitMember *member = find_member(rewrite, order[i], &ignored);
    bool needs = member != NULL && !member->is_remade;
    for (int k = 0; k < order[i]->operand_count; k++) needs |= is_after[order[i]->operands[k]->id];
    is_after[order[i]->id] = needs;
  }
  return is_after;
}

static HloInstruction *only_user(const HloInstruction *instruction) {
  return instruction->user_count == 1 && !hlo_instruction_is_root(instruction) ? instruction->users[0] : NULL;
}

static HloInstruction *reshaped(GraphBuilder *builder, HloInstruction *value, const Shape *shape) {
  return value->shape == shape ? value : graph_reshape(builder, value, shape->dims, shape->rank);
}

/* What |sum|, alone or through a reshape, is added to, as the only thing that happens to it; NULL: it is not.
 * |*out_addition| is what comes of it. */
static HloInstruction *find_addend(const Rewrite *rewrite, const HloInstruction *sum, HloInstruction **out_addition) {
  const ControlEdges *edges = &rewrite->edges;
  HloInstruction *user = only_user(sum);
  if (user != NULL && user->opcode == HLO_RESHAPE && !control_edges_touch(edges, user)) {
    sum = user;
    user = only_user(user);
  }
  int64_t ignored;
  if (user == NULL || user->opcode != HLO_ADD || find_member(rewrite, user, &ignored) != NULL) return NULL;
  if (control_edges_touch(edges, user) || !shape_has_default_layout(user->shape)) return NULL;
  HloInstruction *addend = user->operands[user->operands[0] == sum];
  if (rewrite->is_after[addend->id]) return NULL;
  *out_addition = user;
  return addend;
}

/* A residual that is added to the sum: the loop adds to that, and there is one array where there were two.  What is
 * repeated (a bias) is added afterwards, as before.  NULL: nothing is. */
static HloInstruction *take_addend(Rewrite *rewrite, GraphBuilder *builder, int64_t number) {
  const HloSplitMember *member = &rewrite->split->members[number];
  const HloInstruction *sum = member->instruction;
  if (!split_is_folded(member) || member->fold != HLO_ADD || sum->opcode != HLO_DOT) return NULL;
  for (;;) {
    HloInstruction *addition, *addend = find_addend(rewrite, sum, &addition);
    if (addend == NULL) return NULL;
    sum = addition;
    if (addend->opcode == HLO_BROADCAST) continue;
    rewrite->additions[number] = (Addition){addition, addition->operands[0] == addend};
    return reshaped(builder, addend, member->instruction->shape);
  }
}

/* --- the rewrite --- */

static void replace(HloInstruction *old, HloInstruction *value) {
  hlo_instruction_replace_all_uses(old, value);
  if (hlo_instruction_is_root(old)) hlo_computation_set_root(old->parent, value);
}

static void replace_outputs(const Rewrite *rewrite, HloInstruction *const *values) {
  for (int64_t i = 0, output = 0; i < rewrite->split->member_count; i++) {
    HloInstruction *old = rewrite->split->members[i].instruction;
    int64_t ignored;
    if (!rewrite->is_output[i]) continue;
    HloInstruction *value = values[output++];
    HloInstruction **users = ARENA_COPY_ARRAY(rewrite->scratch, HloInstruction *, old->users, old->user_count);
    for (int u = 0, count = old->user_count; u < count; u++)
      if (find_member(rewrite, users[u], &ignored) == NULL) hlo_instruction_replace_use(old, users[u], value);
    if (hlo_instruction_is_root(old)) hlo_computation_set_root(old->parent, value);
    const Addition *addition = &rewrite->additions[i];
    if (addition->instruction == NULL) continue;
    HloInstruction *rest = addition->instruction->operands[addition->rest];
    replace(addition->instruction, rest);
  }
}

HloSplit hlo_split_in_copy(const HloSplit *split, HloInstruction *const *by_id, Arena *arena) {
  HloSplit copy = *split;
  HloSplitMember *members = ARENA_COPY_ARRAY(arena, HloSplitMember, split->members, split->member_count);
  for (int64_t i = 0; i < copy.member_count; i++) {
    members[i].instruction = by_id[members[i].instruction->id];
    if (members[i].loop != NULL) members[i].loop = split_loop_in_copy(members[i].loop, by_id, arena);
  }
  copy.members = members;
  copy.computation = members[0].instruction->parent;
  return copy;
}

void hlo_apply_split(HloModule *module, const HloSplit *split, int64_t parts, Arena *scratch) {
  Rewrite rewrite = {
      .split = split, .scratch = scratch, .parts = choose_parts(split, parts), .index_type = index_type(split)};
  XLAC_CHECK(split->computation->module == module);
  find_boundary(&rewrite);
  int64_t count = rewrite.output_count + rewrite.captured.count;
  HloInstruction **values = ARENA_NEW_ARRAY(scratch, HloInstruction *, count + 1);
  GraphBuilder builder = {split->computation, split->members[split->member_count - 1].instruction, scratch};
  control_edges_init(&rewrite.edges, split->computation, scratch);
  rewrite.is_after = find_made_after(&rewrite);
  rewrite.additions = ARENA_NEW_ARRAY(scratch, Addition, split->member_count);
  for (int64_t i = 0, output = 0; i < split->member_count; i++) {
    if (!rewrite.is_output[i]) continue;
    HloInstruction *addend = take_addend(&rewrite, &builder, i);
    values[output++] = addend != NULL ? addend : first_value(&builder, &split->members[i]);
  }
  for (int64_t i = 0; i < rewrite.captured.count; i++) values[rewrite.output_count + i] = rewrite.captured.data[i];
  graph_loop(&builder,
             &(GraphLoop){.trips = rewrite.parts.trips, .count = (int)count, .body = loop_body, .context = &rewrite},
             values, values);
  if (rewrite.parts.rest > 0) {
    int64_t done = split->units - rewrite.parts.rest;
    for (int64_t i = 0; i < rewrite.captured.count; i++) values[rewrite.output_count + i] = rewrite.captured.data[i];
    compute_part(&rewrite, &builder, graph_integer(&builder, rewrite.index_type, done, NULL), rewrite.parts.rest,
                 values, values);
  }
  replace_outputs(&rewrite, values);
  hlo_computation_remove_dead(split->computation);
  module->is_scheduled = false;
}
