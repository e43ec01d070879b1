/* The rewrite: a loop over parts in place of a group. */
#include "hlo/ir/fold_identity.h"
#include "passes/expand/graph_builder.h"
#include "passes/memory/split.h"

/* Parts of so many units and more are whole multiples of that many, as vectors and blocks like them. */
enum { ALIGNED_UNITS = 16 };

/* |trips| parts of |size| units; then one of |rest|, or, where |overlaps|, the last part begins earlier so as to end
 * with the last unit. */
typedef struct Parts {
  int64_t trips, size, rest;
  bool overlaps;
} Parts;

typedef struct Rewrite {
  const HloSplit *split;
  Arena *scratch;
  Parts parts;
  PrimitiveType index_type;
  IntMap numbers;        /* members and captured values, by id */
  const bool *is_output; /* of each member */
  int64_t output_count;
  HloInstructionArray
      captured; /* what members read from outside; they come after the outputs among the loop's values */
} Rewrite;

static bool is_folded(const HloSplitMember *member) {
  return member->dimension == HLO_SPLIT_FOLDED;
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
  for (int64_t i = 0; i < split->member_count; i++) has_fold |= is_folded(&split->members[i]);
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

/* A part makes it anew: it takes no memory. */
static bool is_scalar_constant(const HloInstruction *instruction) {
  return instruction->opcode == HLO_CONSTANT && shape_is_scalar(instruction->shape);
}

static void find_boundary(Rewrite *rewrite) {
  const HloSplit *split = rewrite->split;
  bool *is_output = ARENA_NEW_ARRAY(rewrite->scratch, bool, split->member_count);
  rewrite->is_output = is_output;
  int_map_init(&rewrite->numbers, rewrite->scratch);
  for (int64_t i = 0; i < split->member_count; i++)
    int_map_set(&rewrite->numbers, (uint64_t)split->members[i].instruction->id, i);
  for (int64_t i = 0; i < split->member_count; i++) {
    const HloInstruction *instruction = split->members[i].instruction;
    is_output[i] = shape_is_array(instruction->shape) && has_user_outside(rewrite, instruction);
    rewrite->output_count += is_output[i];
    for (int k = 0; k < instruction->operand_count; k++) {
      HloInstruction *operand = instruction->operands[k];
      int64_t ignored;
      if (is_scalar_constant(operand) || int_map_find(&rewrite->numbers, (uint64_t)operand->id, &ignored)) continue;
      int_map_set(&rewrite->numbers, (uint64_t)operand->id, split->member_count + rewrite->captured.count);
      array_push(&rewrite->captured, rewrite->scratch, operand);
    }
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
  HloInstruction *start; /* its first unit */
  int64_t size;          /* in units */
  HloInstruction *const *captured;
  HloInstruction **made; /* of each member */
  IntMap slices;         /* made for captured values, by their number and how they are read */
} Part;

static HloInstruction *scaled_start(Part *part, int64_t scale) {
  if (scale == 1) return part->start;
  HloInstruction *factor = graph_integer(part->builder, part->rewrite->index_type, scale, NULL);
  return graph_binary(part->builder, HLO_MULTIPLY, part->start, factor);
}

static const Shape *part_shape(Part *part, const Shape *shape, int dimension, int64_t scale) {
  ShapeTable *shapes = graph_shapes(part->builder);
  if (shape_is_tuple(shape)) {
    const Shape **elements = ARENA_NEW_ARRAY(part->rewrite->scratch, const Shape *, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++) elements[i] = part_shape(part, shape->tuple[i], dimension, scale);
    return shape_tuple(shapes, elements, shape->tuple_size);
  }
  int64_t *dims = ARENA_COPY_ARRAY(part->rewrite->scratch, int64_t, shape->dims, shape->rank);
  if (dimension >= 0) dims[dimension] = part->size * scale;
  return shape_array(shapes, shape->type, dims, shape->rank);
}

static HloInstruction *captured_operand(Part *part, int64_t number, const SplitRead *read) {
  HloInstruction *value = part->captured[number];
  if (read->dimension == SPLIT_READ_WHOLE) return value;
  int64_t key = number * SHAPE_MAX_RANK + read->dimension; /* the scale follows from these */
  HloInstruction *slice = pointer_map_get(&part->slices, (const void *)(intptr_t)key);
  if (slice != NULL) return slice;
  slice =
      graph_take_run(part->builder, value, read->dimension, scaled_start(part, read->scale), part->size * read->scale);
  pointer_map_set(&part->slices, (const void *)(intptr_t)key, slice);
  return slice;
}

static HloInstruction *part_operand(Part *part, const HloSplitMember *member, int k) {
  HloInstruction *operand = member->instruction->operands[k];
  if (is_folded(member) && member->instruction->opcode == HLO_REDUCE && k > 0) {
    char identity[FOLD_IDENTITY_BYTES];
    XLAC_CHECK(hlo_fold_identity(member->fold, operand->shape->type, identity));
    return graph_constant(part->builder, operand->shape->type, identity);
  }
  if (is_scalar_constant(operand))
    return hlo_computation_add_constant(part->builder->computation, hlo_instruction_literal(operand), (StringView){0});
  int64_t number;
  XLAC_CHECK(int_map_find(&part->rewrite->numbers, (uint64_t)operand->id, &number));
  if (number < part->rewrite->split->member_count) return part->made[number];
  return captured_operand(part, number - part->rewrite->split->member_count, &member->reads[k]);
}

/* Positions along the cut dimension go on where the part begins. */
static HloInstruction *part_of_iota(Part *part, const HloSplitMember *member, const Shape *shape) {
  GraphBuilder *builder = part->builder;
  PrimitiveType type = part->rewrite->index_type;
  HloInstruction *inside = graph_iota(builder, type, shape->dims, shape->rank, member->dimension);
  HloInstruction *start = graph_splat(builder, scaled_start(part, member->scale), shape);
  return graph_convert(builder, graph_binary(builder, HLO_ADD, inside, start), shape->type);
}

/* Attributes that spell out sizes. */
static void fit_sizes(HloInstruction *made, const HloSplitMember *member) {
  Arena *arena = made->parent->module->arena;
  const Shape *shape = made->shape;
  if (made->opcode == HLO_SLICE) {
    const SliceRanges *old = hlo_instruction_attr(made, HLO_ATTR_SLICE)->value.slice;
    SliceDimension *ranges = ARENA_COPY_ARRAY(arena, SliceDimension, old->dims, old->rank);
    ranges[member->dimension] = (SliceDimension){0, shape->dims[member->dimension], 1};
    SliceRanges *attribute = ARENA_NEW(arena, SliceRanges);
    *attribute = (SliceRanges){old->rank, ranges};
    hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = attribute});
  } else if (made->opcode == HLO_DYNAMIC_SLICE) {
    hlo_instruction_set_ints(made, HLO_ATTR_DYNAMIC_SLICE_SIZES, shape->dims, shape->rank);
  } else if (made->opcode == HLO_GATHER && member->reads[0].dimension != SPLIT_READ_WHOLE) {
    Int64List old = hlo_instruction_ints(made, HLO_ATTR_SLICE_SIZES);
    int64_t *sizes = ARENA_COPY_ARRAY(arena, int64_t, old.data, old.count);
    sizes[member->reads[0].dimension] = made->operands[0]->shape->dims[member->reads[0].dimension];
    hlo_instruction_set_ints(made, HLO_ATTR_SLICE_SIZES, sizes, old.count);
  }
}

static HloInstruction *make_part(Part *part, const HloSplitMember *member) {
  const HloInstruction *instruction = member->instruction;
  const Shape *shape = part_shape(part, instruction->shape, member->dimension, member->scale);
  if (instruction->opcode == HLO_IOTA &&
      hlo_instruction_int(instruction, HLO_ATTR_IOTA_DIMENSION, 0) == member->dimension)
    return part_of_iota(part, member, shape);
  HloInstruction **operands = ARENA_NEW_ARRAY(part->rewrite->scratch, HloInstruction *, instruction->operand_count + 1);
  for (int k = 0; k < instruction->operand_count; k++) operands[k] = part_operand(part, member, k);
  HloInstruction *made =
      hlo_computation_add_clone(part->builder->computation, instruction, shape, operands, instruction->operand_count);
  hlo_instruction_remove_attr(made, HLO_ATTR_SHARDING);
  fit_sizes(made, member);
  return made;
}

/* Of |values|, the outputs with this part in them. */
static void put_part(Part *part, HloInstruction *const *values, HloInstruction **out_values) {
  const Rewrite *rewrite = part->rewrite;
  for (int64_t i = 0, output = 0; i < rewrite->split->member_count; i++) {
    const HloSplitMember *member = &rewrite->split->members[i];
    if (!rewrite->is_output[i]) continue;
    out_values[output] = is_folded(member) ? graph_binary(part->builder, member->fold, values[output], part->made[i])
                                           : graph_put(part->builder, values[output], part->made[i], member->dimension,
                                                       scaled_start(part, member->scale));
    output++;
  }
}

static void compute_part(Rewrite *rewrite, GraphBuilder *builder, HloInstruction *start, int64_t size,
                         HloInstruction *const *values, HloInstruction **out_values) {
  const HloSplit *split = rewrite->split;
  Part part = {.rewrite = rewrite,
               .builder = builder,
               .start = start,
               .size = size,
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

/* What an output is before the first part. */
static HloInstruction *first_value(GraphBuilder *builder, const HloSplitMember *member) {
  const HloInstruction *instruction = member->instruction;
  const Shape *shape = instruction->shape;
  if (is_folded(member) && instruction->opcode == HLO_REDUCE)
    return graph_splat(builder, instruction->operands[1], shape);
  return graph_zero(builder, shape->type, shape);
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
  }
}

HloSplit hlo_split_in_copy(const HloSplit *split, HloInstruction *const *by_id, Arena *arena) {
  HloSplit copy = *split;
  HloSplitMember *members = ARENA_COPY_ARRAY(arena, HloSplitMember, split->members, split->member_count);
  for (int64_t i = 0; i < copy.member_count; i++) members[i].instruction = by_id[members[i].instruction->id];
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
  for (int64_t i = 0, output = 0; i < split->member_count; i++)
    if (rewrite.is_output[i]) values[output++] = first_value(&builder, &split->members[i]);
  for (int64_t i = 0; i < rewrite.captured.count; i++) values[rewrite.output_count + i] = rewrite.captured.data[i];
  graph_loop(&builder, rewrite.parts.trips, values, (int)count, loop_body, &rewrite, values);
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
