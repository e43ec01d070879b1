/* From one leaf of the state that is cut, what is made of it and what it is made of, to a fixed point; then everything
 * is looked at once more. */
#include "passes/memory/split_loop.h"

#include "hlo/type/literal.h"
#include "passes/cleanup/control_edges.h"
#include "passes/memory/split_fit.h"

typedef struct Cutter {
  Arena *arena;
  HloInstruction *loop;
  const HloComputation *condition, *body;
  int64_t units;
  int64_t coarser; /* how many units would have to be one where it failed; 0: that would not help */
  SplitLeaf *leaves;
  ARRAY(HloSplitMember) members;
  IntMap numbers;
} Cutter;

static const HloSplitMember *find(const Cutter *cutter, const HloInstruction *instruction) {
  int64_t number;
  bool is_member = int_map_find(&cutter->numbers, (uint64_t)instruction->id, &number);
  return is_member ? &cutter->members.data[number] : NULL;
}

static void add(Cutter *cutter, HloSplitMember member) {
  int_map_set(&cutter->numbers, (uint64_t)member.instruction->id, cutter->members.count);
  array_push(&cutter->members, cutter->arena, member);
}

/* A leaf of the state, as the computations of the loop take it in. */
static bool is_leaf(const HloInstruction *instruction) {
  return instruction->opcode == HLO_GET_TUPLE_ELEMENT && instruction->operands[0]->opcode == HLO_PARAMETER;
}

static int64_t leaf_of(const HloInstruction *element) {
  return hlo_instruction_int(element, HLO_ATTR_INDEX, 0);
}

/* --- sums --- */

/* Operations that are linear in some operands: f of a sum is the sum of f of its parts, up to rounding. */
enum { EACH = 0, ONE_OF_THEM = -1 };

/* In which: bits by operand, EACH, or one, where the others are the same for each part.  |follows|: what is a sum for
 * its user's sake makes its own operands sums. */
static const struct Linear {
  bool is_linear;
  int operands;
  bool follows;
} linear[HLO_OPCODE_COUNT] = {
    [HLO_ADD] = {true, EACH, false},
    [HLO_BROADCAST] = {true, 1, true},
    [HLO_CONCATENATE] = {true, EACH, true},
    [HLO_COPY] = {true, EACH, true},
    [HLO_DIVIDE] = {true, 1, false},
    [HLO_DOT] = {true, ONE_OF_THEM, false},
    [HLO_DYNAMIC_SLICE] = {true, 1, true},
    [HLO_DYNAMIC_UPDATE_SLICE] = {true, 3, true},
    [HLO_MULTIPLY] = {true, ONE_OF_THEM, false},
    [HLO_NEGATE] = {true, EACH, true},
    [HLO_PAD] = {true, EACH, true},
    [HLO_RESHAPE] = {true, EACH, true},
    [HLO_REVERSE] = {true, EACH, true},
    [HLO_SELECT] = {true, 6, false},
    [HLO_SLICE] = {true, EACH, true},
    [HLO_SUBTRACT] = {true, EACH, false},
    [HLO_TRANSPOSE] = {true, EACH, true},
};

/* Whether operand |k| has to be a sum for the result to be one. */
static bool is_summed(const HloInstruction *instruction, int k) {
  int operands = linear[instruction->opcode].operands;
  return operands == EACH || (operands > 0 && (operands >> k & 1));
}

bool split_loop_is_zero(const HloInstruction *instruction) {
  while (instruction->opcode == HLO_BROADCAST) instruction = instruction->operands[0];
  return instruction->opcode == HLO_CONSTANT && literal_is_all(hlo_instruction_literal(instruction), 0);
}

/* --- marking --- */

static bool mark(Cutter *cutter, HloInstruction *instruction, SplitLeaf as);

/* Both computations take it in like that, and the body hands it on like that. */
static bool mark_leaf(Cutter *cutter, int64_t number, SplitLeaf as) {
  SplitLeaf *leaf = &cutter->leaves[number];
  if (leaf->kind != SPLIT_LEAF_WHOLE)
    return leaf->kind == as.kind && leaf->dimension == as.dimension && leaf->scale == as.scale;
  *leaf = as;
  const HloComputation *const computations[] = {cutter->condition, cutter->body};
  for (int c = 0; c < 2; c++) {
    const HloInstruction *state = computations[c]->parameters.data[0];
    for (int u = 0; u < state->user_count; u++)
      if (leaf_of(state->users[u]) == number && !mark(cutter, state->users[u], as)) return false;
  }
  return mark(cutter, cutter->body->root->operands[number], as);
}

/* Positions are those of the whole. */
static bool counts_along(const HloInstruction *instruction, int dimension) {
  return instruction->opcode == HLO_IOTA && hlo_instruction_int(instruction, HLO_ATTR_IOTA_DIMENSION, 0) == dimension;
}

static const SplitRead *local_reads(Cutter *cutter, const HloInstruction *instruction, int dimension, int64_t scale) {
  SplitRead *reads = ARENA_NEW_ARRAY(cutter->arena, SplitRead, instruction->operand_count + 1);
  if (counts_along(instruction, dimension)) return NULL;
  if (!split_reads(instruction, dimension, scale, cutter->units, reads, &cutter->coarser)) return NULL;
  for (int k = 0; k < instruction->operand_count; k++)
    if (reads[k].dimension != SPLIT_READ_WHOLE && (reads[k].before != 0 || reads[k].after != 0)) return NULL;
  return reads;
}

static bool mark_cut(Cutter *cutter, HloInstruction *instruction, int dimension, int64_t scale) {
  const HloSplitMember *found = find(cutter, instruction);
  if (found != NULL) return found->dimension == dimension && found->scale == scale;
  if (!split_can_cut(instruction->shape, dimension, split_nominal_size(cutter->units, scale))) return false;
  HloSplitMember member = {.instruction = instruction, .dimension = dimension, .scale = scale, .fold = HLO_TUPLE};
  if (!is_leaf(instruction)) member.reads = local_reads(cutter, instruction, dimension, scale);
  if (!is_leaf(instruction) && member.reads == NULL) return false;
  add(cutter, member);
  if (!is_leaf(instruction)) return true;
  return mark_leaf(cutter, leaf_of(instruction), (SplitLeaf){SPLIT_LEAF_CUT, dimension, scale});
}

static bool mark_sum(Cutter *cutter, HloInstruction *instruction, const SplitRead *reads) {
  const HloSplitMember *found = find(cutter, instruction);
  if (found != NULL) return split_is_folded(found);
  if (split_loop_is_zero(instruction)) return true;
  add(cutter,
      (HloSplitMember){.instruction = instruction, .dimension = HLO_SPLIT_FOLDED, .fold = HLO_ADD, .reads = reads});
  return !is_leaf(instruction) || mark_leaf(cutter, leaf_of(instruction), (SplitLeaf){.kind = SPLIT_LEAF_SUM});
}

/* What an operand has to be.  Sums are found from what they sum as well: here only what they come from, the state, is
 * looked for. */
static bool mark(Cutter *cutter, HloInstruction *instruction, SplitLeaf as) {
  if (as.kind == SPLIT_LEAF_CUT) return mark_cut(cutter, instruction, as.dimension, as.scale);
  return !is_leaf(instruction) && !linear[instruction->opcode].follows ? true : mark_sum(cutter, instruction, NULL);
}

/* --- spreading --- */

static bool spread_to_operands(Cutter *cutter, HloSplitMember member) {
  const HloInstruction *instruction = member.instruction;
  if (is_leaf(instruction)) return true;
  for (int k = 0; k < instruction->operand_count; k++) {
    HloInstruction *operand = instruction->operands[k];
    SplitLeaf as = {SPLIT_LEAF_SUM, 0, 0};
    if (member.reads != NULL) as = (SplitLeaf){SPLIT_LEAF_CUT, member.reads[k].dimension, member.reads[k].scale};
    if (member.reads != NULL ? as.dimension == SPLIT_READ_WHOLE : !is_summed(instruction, k)) continue;
    if (!mark(cutter, operand, as)) return false;
  }
  return true;
}

/* |user| reads |units| units of |member| at a time. */
static bool reads_so(const HloInstruction *user, const SplitRead *reads, const HloSplitMember *member, int64_t units) {
  for (int k = 0; k < user->operand_count; k++)
    if (user->operands[k] == member->instruction &&
        (reads[k].dimension != member->dimension || reads[k].scale != member->scale * units))
      return false;
  return true;
}

static bool cut_user(Cutter *cutter, HloInstruction *user, const HloSplitMember *member) {
  const Shape *shape = shape_is_tuple(user->shape) && user->shape->tuple_size > 0 ? user->shape->tuple[0] : user->shape;
  SplitRead *reads = ARENA_NEW_ARRAY(cutter->arena, SplitRead, user->operand_count + 1);
  int64_t coarser = 0;
  for (int d = 0; shape_is_array(shape) && d < shape->rank; d++) {
    int64_t units = split_reads_of_larger(user, d, cutter->units, reads);
    if (units == 0 || !reads_so(user, reads, member, units)) continue;
    if (units == 1) return mark_cut(cutter, user, d, shape->dims[d] / cutter->units);
    if (coarser == 0) coarser = units;
  }
  cutter->coarser = coarser;
  return false;
}

static bool sum_user(Cutter *cutter, HloInstruction *user, const HloSplitMember *member) {
  SplitRead *reads = ARENA_NEW_ARRAY(cutter->arena, SplitRead, user->operand_count + 1);
  for (int k = 0; k < user->operand_count; k++) {
    HloOpcode fold;
    if (user->operands[k] != member->instruction) continue;
    return split_fold_reads(user, k, member->dimension, member->scale, cutter->units, reads, &fold) &&
           fold == HLO_ADD && mark_sum(cutter, user, reads);
  }
  return false;
}

static bool spread_to_users(Cutter *cutter, HloSplitMember member) {
  for (int u = 0; u < member.instruction->user_count; u++) {
    HloInstruction *user = member.instruction->users[u];
    SplitLeaf as = {split_is_folded(&member) ? SPLIT_LEAF_SUM : SPLIT_LEAF_CUT,
                    split_is_folded(&member) ? 0 : member.dimension, member.scale};
    if (user->parent == cutter->condition) return false;
    if (user == cutter->body->root) {
      for (int k = 0; k < user->operand_count; k++)
        if (user->operands[k] == member.instruction && !mark_leaf(cutter, k, as)) return false;
    } else if (find(cutter, user) == NULL) {
      bool is_done = split_is_folded(&member) ? linear[user->opcode].is_linear && mark_sum(cutter, user, NULL)
                                              : cut_user(cutter, user, &member) || sum_user(cutter, user, &member);
      if (!is_done) return false;
    }
  }
  return true;
}

static bool spread(Cutter *cutter) {
  for (int64_t i = 0; i < cutter->members.count; i++) {
    if (!spread_to_operands(cutter, cutter->members.data[i])) return false;
    if (!spread_to_users(cutter, cutter->members.data[i])) return false;
  }
  return true;
}

/* --- the last look --- */

static bool operand_is(const Cutter *cutter, const HloInstruction *operand, SplitLeaf as) {
  const HloSplitMember *member = find(cutter, operand);
  switch (as.kind) {
    case SPLIT_LEAF_WHOLE: return member == NULL;
    case SPLIT_LEAF_CUT: return member != NULL && member->dimension == as.dimension && member->scale == as.scale;
    case SPLIT_LEAF_SUM: return member != NULL ? split_is_folded(member) : split_loop_is_zero(operand);
  }
  return false;
}

static bool reads_what_is_there(const Cutter *cutter, const HloSplitMember *member) {
  const HloInstruction *instruction = member->instruction;
  for (int k = 0; k < instruction->operand_count; k++) {
    const SplitRead *read = &member->reads[k];
    bool is_whole = read->dimension == SPLIT_READ_WHOLE;
    SplitLeaf as = {is_whole ? SPLIT_LEAF_WHOLE : SPLIT_LEAF_CUT, read->dimension, read->scale};
    if (!operand_is(cutter, instruction->operands[k], as)) return false;
  }
  return true;
}

static bool sums_what_is_summed(const Cutter *cutter, const HloInstruction *instruction) {
  int sums = 0;
  for (int k = 0; k < instruction->operand_count; k++) {
    const HloSplitMember *operand = find(cutter, instruction->operands[k]);
    sums += operand != NULL;
    if (operand != NULL && !split_is_folded(operand)) return false;
    if (linear[instruction->opcode].operands == ONE_OF_THEM) continue;
    SplitLeaf as = {is_summed(instruction, k) ? SPLIT_LEAF_SUM : SPLIT_LEAF_WHOLE, 0, 0};
    if (!operand_is(cutter, instruction->operands[k], as)) return false;
  }
  return linear[instruction->opcode].is_linear && (linear[instruction->opcode].operands != ONE_OF_THEM || sums == 1);
}

static bool is_consistent(const Cutter *cutter, const HloInstruction *instruction) {
  const HloSplitMember *member = find(cutter, instruction);
  if (instruction == cutter->body->root) {
    for (int k = 0; k < instruction->operand_count; k++)
      if (!operand_is(cutter, instruction->operands[k], cutter->leaves[k])) return false;
    return true;
  }
  if (is_leaf(instruction) || instruction->opcode == HLO_PARAMETER) return true;
  if (member != NULL)
    return member->reads != NULL ? reads_what_is_there(cutter, member) : sums_what_is_summed(cutter, instruction);
  for (int k = 0; k < instruction->operand_count; k++)
    if (find(cutter, instruction->operands[k]) != NULL) return false;
  return true;
}

/* --- loops that can be cut at all --- */

/* One parameter, read leaf by leaf; nothing inside that is more than a value of its operands. */
static bool is_simple(const HloComputation *computation, Arena *arena) {
  ControlEdges edges;
  control_edges_init(&edges, computation, arena);
  if (computation->parameters.count != 1) return false;
  const HloInstruction *state = computation->parameters.data[0];
  for (int u = 0; u < state->user_count; u++)
    if (state->users[u]->opcode != HLO_GET_TUPLE_ELEMENT) return false;
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (hlo_opcode_has(instruction->opcode, OP_STAYS) || hlo_instruction_has_side_effect(instruction)) return false;
    if (control_edges_touch(&edges, instruction)) return false;
  }
  return true;
}

static bool can_be_cut(const HloInstruction *loop, Arena *arena) {
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  if (!shape_is_tuple(loop->shape)) return false;
  for (int i = 0; i < loop->shape->tuple_size; i++)
    if (!shape_is_array(loop->shape->tuple[i])) return false;
  return body->root->opcode == HLO_TUPLE && body->root->user_count == 0 && is_simple(body, arena) &&
         is_simple(hlo_instruction_computation(loop, HLO_ATTR_CONDITION), arena);
}

static SplitLoop *loop_of(const Cutter *cutter) {
  SplitLoop *cut = ARENA_NEW(cutter->arena, SplitLoop);
  *cut = (SplitLoop){cutter->loop, cutter->leaves, cutter->members.data, cutter->members.count, cutter->numbers};
  return cut;
}

const SplitLoop *split_loop_find(HloInstruction *loop, int64_t leaf, int dimension, int64_t scale, int64_t units,
                                 Arena *arena, int64_t *out_coarser) {
  *out_coarser = 0;
  if (!can_be_cut(loop, arena)) return NULL;
  Cutter cutter = {.arena = arena,
                   .loop = loop,
                   .condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION),
                   .body = hlo_instruction_computation(loop, HLO_ATTR_BODY),
                   .units = units,
                   .leaves = ARENA_NEW_ARRAY(arena, SplitLeaf, loop->shape->tuple_size)};
  int_map_init(&cutter.numbers, arena);
  if (!mark_leaf(&cutter, leaf, (SplitLeaf){SPLIT_LEAF_CUT, dimension, scale}) || !spread(&cutter)) {
    *out_coarser = cutter.coarser;
    return NULL;
  }
  for (int64_t i = 0; i < cutter.body->instructions.count; i++)
    if (!is_consistent(&cutter, cutter.body->instructions.data[i])) return NULL;
  return loop_of(&cutter);
}

const SplitLoop *split_loop_in_copy(const SplitLoop *loop, HloInstruction *const *by_id, Arena *arena) {
  Cutter copy = {.arena = arena, .loop = by_id[loop->loop->id]};
  int_map_init(&copy.numbers, arena);
  for (int64_t i = 0; i < loop->member_count; i++) {
    HloSplitMember member = loop->members[i];
    member.instruction = by_id[member.instruction->id];
    add(&copy, member);
  }
  SplitLoop *result = loop_of(&copy);
  result->leaves = loop->leaves;
  return result;
}

/* --- the loop of a part --- */

static const Shape *shape_for_part(ShapeTable *shapes, const Shape *shape, const HloSplitMember *member, int64_t size,
                                   Arena *scratch) {
  if (shape_is_tuple(shape)) {
    const Shape **elements = ARENA_NEW_ARRAY(scratch, const Shape *, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++)
      elements[i] = shape_for_part(shapes, shape->tuple[i], member, size, scratch);
    return shape_tuple(shapes, elements, shape->tuple_size);
  }
  int64_t *dims = ARENA_COPY_ARRAY(scratch, int64_t, shape->dims, shape->rank);
  dims[member->dimension] = size * member->scale;
  return shape_array(shapes, shape->type, dims, shape->rank);
}

static HloComputation *computation_for_part(GraphBuilder *builder, const SplitLoop *loop, const HloComputation *from,
                                            const Shape *state, int64_t size) {
  HloModule *module = builder->computation->module;
  HloComputation *to = hlo_module_add_computation(module, from->name);
  HloInstruction **made = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, module->next_instruction_id);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(from, builder->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    const HloInstruction *old = order[i];
    int64_t number;
    const HloSplitMember *member =
        int_map_find(&loop->numbers, (uint64_t)old->id, &number) ? &loop->members[number] : NULL;
    bool is_cut = member != NULL && !split_is_folded(member);
    HloInstruction **operands = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, old->operand_count + 1);
    for (int k = 0; k < old->operand_count; k++) operands[k] = made[old->operands[k]->id];
    const Shape *shape = is_cut ? shape_for_part(module->shapes, old->shape, member, size, builder->scratch)
                         : old == from->root && old->opcode == HLO_TUPLE ? state
                                                                         : old->shape;
    if (old->opcode == HLO_PARAMETER) {
      made[old->id] = hlo_computation_add_parameter(to, 0, state, old->name);
      continue;
    }
    made[old->id] = hlo_computation_add_clone(to, old, shape, operands, old->operand_count);
    hlo_instruction_remove_sharding(made[old->id]);
    if (is_cut) split_fit_attributes(made[old->id], member);
  }
  hlo_computation_set_root(to, made[from->root->id]);
  return to;
}

HloInstruction *split_loop_make(GraphBuilder *builder, const SplitLoop *loop, HloInstruction *init, int64_t size) {
  HloInstruction *made = hlo_computation_add_clone(builder->computation, loop->loop, init->shape, &init, 1);
  hlo_instruction_remove_sharding(made);
  static const HloAttrId called[] = {HLO_ATTR_CONDITION, HLO_ATTR_BODY};
  for (int i = 0; i < 2; i++) {
    const HloComputation *from = hlo_instruction_computation(loop->loop, called[i]);
    hlo_instruction_set_computation(made, called[i], computation_for_part(builder, loop, from, init->shape, size));
  }
  return made;
}
