/* A group of operations that are computed part by part: how it grows, and what of it stays. */
#include "passes/memory/split_group.h"

#include "base/checked_math.h"
#include "hlo/ir/hlo_module.h"
#include "passes/memory/split_loop.h"
#include "passes/memory/ties.h"

/* What is folded is that much smaller than what it is made of; windows add at most that part of a whole to a part of
 * it; a group grows to so many members; units become larger for a small value's sake only if so many of them are left.
 */
enum { SMALL_FOLD = 4, WIDENED_PART = 4, MOST_MEMBERS = 4096, FEWEST_UNITS = 16 };

typedef ARRAY(HloSplitMember) Members;

typedef struct Group {
  const SplitSearch *search;
  const SplitGraph *graph;
  const SplitReach *reach;
  int64_t units, coarser;
  Members members;
  ARRAY(int) windows; /* between the seed and each member */
  IntMap numbers;     /* id → index in |members|, or GONE */
  IntMap again;       /* ids of members that each part makes for itself, although they are there as a whole */
} Group;

enum { GONE = -1 };

static HloSplitMember *member_of(const Group *group, const HloInstruction *instruction) {
  int64_t number;
  if (!int_map_find(&group->numbers, (uint64_t)instruction->id, &number) || number == GONE) return NULL;
  return &group->members.data[number];
}

static bool is_large(const Group *group, const HloInstruction *instruction) {
  return shape_leaf_byte_size(instruction->shape) >= group->search->largest / group->reach->large_part;
}

/* --- views --- */

/* It costs nothing to make a part of it. */
static bool is_free(const HloInstruction *instruction) {
  return hlo_opcode_info(instruction->opcode)->cost == OP_COST_FREE;
}

static bool is_made_again(const Group *group, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(&group->again, (uint64_t)instruction->id, &ignored);
}

/* A view, or a repetition, of what is outside: each part makes its own, and nobody else needs that. */
static bool is_remade(const Group *group, const HloInstruction *instruction) {
  if (is_made_again(group, instruction)) return true;
  while (is_free(instruction)) {
    const HloInstruction *inside = NULL;
    for (int k = 0; k < instruction->operand_count && inside == NULL; k++)
      if (member_of(group, instruction->operands[k]) != NULL) inside = instruction->operands[k];
    if (inside == NULL) return true;
    instruction = inside;
  }
  return false;
}

/* --- joining --- */

static bool is_candidate(const Group *group, const HloInstruction *instruction) {
  if (hlo_opcode_has(instruction->opcode, OP_GIVEN) || control_edges_touch(&group->graph->edges, instruction))
    return false;
  if (!shape_is_tuple(instruction->shape)) return true;
  for (int i = 0; i < instruction->user_count; i++)
    if (instruction->users[i]->opcode != HLO_GET_TUPLE_ELEMENT) return false;
  return !hlo_instruction_is_root(instruction);
}

/* It reads elements of a part so far from those that are the part's own that each part would be made of too many. */
static bool reaches_far(const Group *group, const SplitRead *read) {
  int64_t most = split_nominal_size(group->units, read->scale) / WIDENED_PART;
  return read->before > most || read->after > most;
}

/* |reads| are of an instruction that has |operand| as an operand: at each place it reads what |member| makes. */
static bool reads_match(const Group *group, const HloInstruction *user, const SplitRead *reads,
                        const HloSplitMember *member) {
  for (int k = 0; k < user->operand_count; k++) {
    if (user->operands[k] != member->instruction) continue;
    if (split_is_folded(member) || reads[k].dimension != member->dimension || reads[k].scale != member->scale)
      return false;
    if (reaches_far(group, &reads[k])) return false;
  }
  return true;
}

/* Members around |wanted| read of one another what is made for each part. */
static bool agrees_with_operands(const Group *group, const HloSplitMember *wanted) {
  const HloInstruction *instruction = wanted->instruction;
  for (int k = 0; k < instruction->operand_count; k++) {
    const HloSplitMember *operand = member_of(group, instruction->operands[k]);
    if (operand != NULL && !reads_match(group, instruction, wanted->reads, operand)) return false;
    bool needs_operand = shape_is_tuple(instruction->operands[k]->shape);
    if (needs_operand && operand == NULL) return false;
  }
  return true;
}

static bool agrees_with_users(const Group *group, const HloSplitMember *wanted) {
  const HloInstruction *instruction = wanted->instruction;
  for (int u = 0; u < instruction->user_count; u++) {
    const HloSplitMember *user = member_of(group, instruction->users[u]);
    if (user != NULL && !reads_match(group, user->instruction, user->reads, wanted)) return false;
  }
  return true;
}

static bool has_room(const Group *group, int windows) {
  return group->members.count < MOST_MEMBERS && windows <= group->reach->windows;
}

static void push_member(Group *group, const HloSplitMember *member, int windows) {
  int_map_set(&group->numbers, (uint64_t)member->instruction->id, group->members.count);
  array_push(&group->members, group->search->arena, *member);
  array_push(&group->windows, group->search->arena, windows);
}

static bool add_member(Group *group, const HloSplitMember *wanted, int windows) {
  if (!has_room(group, windows) || !agrees_with_operands(group, wanted) || !agrees_with_users(group, wanted))
    return false;
  push_member(group, wanted, windows);
  return true;
}

static bool was_tried(const Group *group, const HloInstruction *instruction) {
  int64_t number;
  return int_map_find(&group->numbers, (uint64_t)instruction->id, &number);
}

/* --- loops: the tuple that the state begins as, the loop, and the elements of what it makes, all or none --- */

static bool is_of_loop(const HloInstruction *element) {
  return element->opcode == HLO_GET_TUPLE_ELEMENT && element->operands[0]->opcode == HLO_WHILE;
}

static HloSplitMember state_member(const Group *group, const SplitLoop *loop) {
  HloInstruction *state = loop->loop->operands[0];
  SplitRead *reads = ARENA_NEW_ARRAY(group->search->arena, SplitRead, state->operand_count + 1);
  for (int i = 0; i < state->operand_count; i++) {
    const SplitLeaf *leaf = &loop->leaves[i];
    bool is_cut = leaf->kind == SPLIT_LEAF_CUT;
    reads[i] = is_cut ? (SplitRead){leaf->dimension, leaf->scale, 0, 0} : (SplitRead){SPLIT_READ_WHOLE, 0, 0, 0};
  }
  return (HloSplitMember){.instruction = state, .scale = 1, .fold = HLO_TUPLE, .reads = reads, .loop = loop};
}

static HloSplitMember whole_reader(const Group *group, HloInstruction *instruction, int dimension, int64_t scale) {
  SplitRead *read = ARENA_NEW(group->search->arena, SplitRead);
  *read = (SplitRead){SPLIT_READ_WHOLE, 0, 0, 0};
  return (HloSplitMember){
      .instruction = instruction, .dimension = dimension, .scale = scale, .fold = HLO_ADD, .reads = read};
}

static HloSplitMember element_member(const Group *group, const SplitLoop *loop, HloInstruction *element) {
  const SplitLeaf *leaf = &loop->leaves[hlo_instruction_int(element, HLO_ATTR_INDEX, 0)];
  bool is_cut = leaf->kind == SPLIT_LEAF_CUT;
  return whole_reader(group, element, is_cut ? leaf->dimension : HLO_SPLIT_FOLDED, leaf->scale);
}

/* Sums begin with zeros, and are small beside what is cut; nobody outside reads what is the same for each part. */
static bool loop_fits(const Group *group, const SplitLoop *loop) {
  const HloInstruction *state = loop->loop->operands[0];
  int64_t cut = 0, summed = 0;
  for (int i = 0; i < state->operand_count; i++) {
    const SplitLeaf *leaf = &loop->leaves[i];
    cut += leaf->kind == SPLIT_LEAF_CUT ? shape_byte_size(state->operands[i]->shape) : 0;
    summed += leaf->kind == SPLIT_LEAF_SUM ? shape_byte_size(state->operands[i]->shape) : 0;
    if (leaf->kind == SPLIT_LEAF_SUM && !split_loop_is_zero(state->operands[i])) return false;
  }
  for (int u = 0; u < loop->loop->user_count; u++) {
    HloInstruction *element = loop->loop->users[u];
    HloSplitMember member = element_member(group, loop, element);
    if (loop->leaves[hlo_instruction_int(element, HLO_ATTR_INDEX, 0)].kind == SPLIT_LEAF_WHOLE) return false;
    if (!is_candidate(group, element) || !agrees_with_users(group, &member)) return false;
  }
  return group->search->scope != HLO_SPLIT_SAVING || summed <= cut / SMALL_FOLD;
}

static bool add_loop(Group *group, HloInstruction *loop, int64_t leaf, int dimension, int64_t scale, int windows) {
  HloInstruction *state = loop->operands[0];
  if (was_tried(group, loop)) return false;
  int_map_set(&group->numbers, (uint64_t)loop->id, GONE);
  if (state->opcode != HLO_TUPLE || state->user_count != 1 || !has_room(group, windows)) return false;
  if (control_edges_touch(&group->graph->edges, state) || control_edges_touch(&group->graph->edges, loop)) return false;
  for (int u = 0; u < loop->user_count; u++)
    if (loop->users[u]->opcode != HLO_GET_TUPLE_ELEMENT) return false;
  int64_t coarser;
  const SplitLoop *cut = split_loop_find(loop, leaf, dimension, scale, group->units, group->search->arena, &coarser);
  if (cut == NULL && coarser > 1 && group->coarser == 0 && group->units / coarser >= FEWEST_UNITS)
    group->coarser = coarser;
  if (cut == NULL || hlo_instruction_is_root(loop) || !loop_fits(group, cut)) return false;
  HloSplitMember before = state_member(group, cut), itself = whole_reader(group, loop, 0, 1);
  itself.loop = cut;
  if (!agrees_with_operands(group, &before)) return false;
  push_member(group, &before, windows);
  push_member(group, &itself, windows);
  for (int u = 0; u < loop->user_count; u++) {
    HloSplitMember element = element_member(group, cut, loop->users[u]);
    push_member(group, &element, windows);
  }
  return true;
}

/* |state|, which has |member| as an operand, is what a loop begins with. */
static bool add_loop_of_state(Group *group, const HloInstruction *state, const HloSplitMember *member, int windows) {
  if (state->user_count != 1 || state->users[0]->opcode != HLO_WHILE) return false;
  for (int k = 0; k < state->operand_count; k++)
    if (state->operands[k] == member->instruction)
      return add_loop(group, state->users[0], k, member->dimension, member->scale, windows);
  return false;
}

static bool add_cut(Group *group, HloInstruction *instruction, int dimension, int64_t scale, int windows) {
  if (was_tried(group, instruction) || !is_candidate(group, instruction)) return false;
  if (is_of_loop(instruction))
    return add_loop(group, instruction->operands[0], hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0), dimension,
                    scale, windows);
  Arena *arena = group->search->arena;
  SplitRead *reads = ARENA_NEW_ARRAY(arena, SplitRead, instruction->operand_count + 1);
  HloSplitMember wanted = {
      .instruction = instruction, .dimension = dimension, .scale = scale, .fold = HLO_TUPLE, .reads = reads};
  int64_t coarser;
  if (!split_reads(instruction, dimension, scale, group->units, reads, &coarser)) {
    if (group->coarser == 0 && is_large(group, instruction)) group->coarser = coarser;
    return false;
  }
  if (instruction->opcode == HLO_GET_TUPLE_ELEMENT && member_of(group, instruction->operands[0]) == NULL)
    add_cut(group, instruction->operands[0], dimension, scale, windows);
  return add_member(group, &wanted, windows);
}

/* What takes all parts of |member| into one result, which is small beside it. */
static bool add_fold(Group *group, HloInstruction *instruction, const HloSplitMember *member) {
  int64_t bytes = shape_leaf_byte_size(member->instruction->shape);
  int64_t most = group->search->scope != HLO_SPLIT_SAVING ? bytes : bytes / SMALL_FOLD;
  if (shape_leaf_byte_size(instruction->shape) > most || !is_candidate(group, instruction)) return false;
  SplitRead *reads = ARENA_NEW_ARRAY(group->search->arena, SplitRead, instruction->operand_count + 1);
  HloSplitMember wanted = {
      .instruction = instruction, .dimension = HLO_SPLIT_FOLDED, .fold = HLO_TUPLE, .reads = reads};
  for (int k = 0; k < instruction->operand_count; k++) {
    if (instruction->operands[k] != member->instruction) continue;
    if (!split_fold_reads(instruction, k, member->dimension, member->scale, group->units, reads, &wanted.fold))
      return false;
    return reads_match(group, instruction, reads, member) && add_member(group, &wanted, 0);
  }
  return false;
}

/* --- growing --- */

/* It reads more than its own part. */
static bool is_windowed(const SplitRead *read) {
  return read->before + read->after > 0;
}

static void add_operand(Group *group, const HloSplitMember *member, int k, int windows) {
  const SplitRead *read = &member->reads[k];
  add_cut(group, member->instruction->operands[k], read->dimension, read->scale, windows + is_windowed(read));
}

static void add_operands(Group *group, HloSplitMember member, int windows) {
  for (int k = 0; k < member.instruction->operand_count; k++) {
    HloInstruction *operand = member.instruction->operands[k];
    if (member.reads[k].dimension == SPLIT_READ_WHOLE || was_tried(group, operand)) continue;
    if (is_large(group, operand) || is_free(operand)) add_operand(group, &member, k, windows);
  }
}

/* How many units of the group a unit has to be for |user| to keep |member|'s dimension as its dimension |d|; 0: it does
 * not. */
static int64_t units_kept(const Group *group, const HloInstruction *user, int d, const HloSplitMember *member,
                          bool *out_windowed) {
  SplitRead *reads = ARENA_NEW_ARRAY(group->search->arena, SplitRead, user->operand_count + 1);
  HloSplitMember merged = *member;
  int64_t kept = split_reads_of_larger(user, d, group->units, reads);
  if (kept == 0) return 0;
  merged.scale *= kept;
  *out_windowed = is_windowed(&reads[0]);
  return reads_match(group, user, reads, &merged) ? kept : 0;
}

/* Whether |user| keeps |member|'s dimension as its dimension |d|, but for some elements at the ends; |*out_scale| of
 * its elements are a unit then. */
static bool keeps_nearly(const Group *group, const HloInstruction *user, int d, const HloSplitMember *member,
                         int64_t *out_scale) {
  SplitRead *reads = ARENA_NEW_ARRAY(group->search->arena, SplitRead, user->operand_count + 1);
  int64_t coarser, size = user->shape->dims[d];
  if (size < 1 || !split_reads(user, d, 1, size, reads, &coarser)) return false;
  for (int k = 0; k < user->operand_count; k++) {
    if (user->operands[k] != member->instruction || reads[k].dimension == SPLIT_READ_WHOLE) continue;
    if (reads[k].dimension != member->dimension || member->scale % reads[k].scale != 0) return false;
    *out_scale = member->scale / reads[k].scale;
    return true;
  }
  return false;
}

/* |user| reads at all places of |member| what one of its dimensions is made of. */
static bool add_user(Group *group, HloInstruction *user, const HloSplitMember *member, int windows) {
  if (user->opcode == HLO_TUPLE) return add_loop_of_state(group, user, member, windows);
  const Shape *shape = shape_is_tuple(user->shape) && user->shape->tuple_size > 0 ? user->shape->tuple[0] : user->shape;
  for (int d = 0; shape_is_array(shape) && d < shape->rank; d++) {
    bool windowed;
    int64_t kept = units_kept(group, user, d, member, &windowed);
    bool is_fine = kept > 1 && (is_large(group, user) || group->units / kept >= FEWEST_UNITS);
    if (is_fine && group->coarser == 0) group->coarser = kept;
    if (kept == 1 && add_cut(group, user, d, shape->dims[d] / group->units, windows + windowed)) return true;
  }
  for (int d = 0; shape_is_array(user->shape) && d < shape->rank && !was_tried(group, user); d++) {
    int64_t scale;
    if (keeps_nearly(group, user, d, member, &scale) && add_cut(group, user, d, scale, windows)) return true;
  }
  return add_fold(group, user, member);
}

static void add_users(Group *group, HloSplitMember member, int windows) {
  bool is_seed = member.instruction == group->members.data[0].instruction;
  if (!is_seed && is_remade(group, member.instruction)) return;
  bool pulls = is_large(group, member.instruction) || shape_is_tuple(member.instruction->shape);
  if (split_is_folded(&member) || !pulls) return;
  for (int u = 0; u < member.instruction->user_count; u++) {
    HloInstruction *user = member.instruction->users[u];
    if (!was_tried(group, user)) add_user(group, user, &member, windows);
  }
}

static void grow(Group *group, int64_t from) {
  for (int64_t i = from; i < group->members.count; i++) {
    add_operands(group, group->members.data[i], group->windows.data[i]);
    add_users(group, group->members.data[i], group->windows.data[i]);
  }
}

/* --- closing --- */

static bool is_made_inside(const Group *group, const HloInstruction *instruction) {
  return member_of(group, instruction) != NULL && !is_remade(group, instruction);
}

/* By id: instructions that need the group's results, and so cannot be needed by it. */
static const bool *find_after(const Group *group) {
  const SplitGraph *graph = group->graph;
  bool *after = group->search->after;
  for (int64_t i = 0; i < graph->count; i++) {
    const HloInstruction *instruction = graph->order[i];
    after[instruction->id] = false;
    if (member_of(group, instruction) != NULL) continue;
    for (int k = 0; k < instruction->operand_count && !after[instruction->id]; k++)
      after[instruction->id] = after[instruction->operands[k]->id] || is_made_inside(group, instruction->operands[k]);
  }
  return after;
}

/* What lies between members joins them, where it can. */
static void add_between(Group *group) {
  bool is_closed = false;
  while (!is_closed) {
    const bool *after = find_after(group);
    int64_t before = group->members.count;
    for (int64_t i = 0; i < before; i++) {
      HloSplitMember member = group->members.data[i];
      for (int k = 0; k < member.instruction->operand_count; k++) {
        HloInstruction *operand = member.instruction->operands[k];
        if (member.reads[k].dimension != SPLIT_READ_WHOLE && after[operand->id])
          add_operand(group, &member, k, group->windows.data[i]);
      }
    }
    is_closed = group->members.count == before;
    grow(group, before);
  }
}

/* A member of a tuple whose elements are no members would have to be put together; elements need their tuple. */
static bool stands(const Group *group, const HloInstruction *instruction) {
  for (int u = 0; shape_is_tuple(instruction->shape) && u < instruction->user_count; u++)
    if (member_of(group, instruction->users[u]) == NULL) return false;
  return instruction->opcode != HLO_GET_TUPLE_ELEMENT || member_of(group, instruction->operands[0]) != NULL;
}

/* What |member| makes may be made once more. */
static bool can_be_made_again(const Group *group, const HloSplitMember *member) {
  const HloInstruction *instruction = member->instruction;
  return group->search->scope == HLO_SPLIT_AGAIN && !split_is_folded(member) && shape_is_array(instruction->shape) &&
         instruction->opcode != HLO_GET_TUPLE_ELEMENT && !hlo_instruction_has_side_effect(instruction) &&
         !hlo_fold_has_ties(instruction, group->search->arena);
}

/* Members that |seed| needs by way of what is no member leave the group: what they make is there before it.  Or each
 * part makes them again, and they are needed before it for others alone. */
static void remove_before(Group *group, const HloInstruction *seed) {
  const SplitGraph *graph = group->graph;
  bool *before = group->search->before;
  for (int64_t i = 0; i < graph->count; i++) before[graph->order[i]->id] = false;
  before[seed->id] = true;
  for (int64_t i = graph->count - 1; i >= 0; i--) {
    const HloInstruction *instruction = graph->order[i];
    bool is_needed_outside = false;
    for (int u = 0; u < instruction->user_count && instruction != seed; u++) {
      const HloInstruction *user = instruction->users[u];
      before[instruction->id] |= before[user->id];
      is_needed_outside |= before[user->id] && (member_of(group, user) == NULL || is_made_again(group, user));
    }
    /* A fold is there after the last part: what the seed needs of it, others make before. */
    const HloSplitMember *member = member_of(group, instruction);
    is_needed_outside |= member != NULL && split_is_folded(member) && before[instruction->id];
    if (!is_needed_outside || !is_made_inside(group, instruction)) continue;
    if (can_be_made_again(group, member))
      int_map_set(&group->again, (uint64_t)instruction->id, 1);
    else
      int_map_set(&group->numbers, (uint64_t)instruction->id, GONE);
  }
}

static bool has_user_outside(const Group *group, const HloInstruction *instruction) {
  if (hlo_instruction_is_root(instruction)) return true;
  for (int u = 0; u < instruction->user_count; u++)
    if (member_of(group, instruction->users[u]) == NULL) return true;
  return false;
}

/* The parts make all of it, and nothing else: otherwise they cannot be put together. */
static bool can_be_put(const Group *group, const HloSplitMember *member) {
  const Shape *shape = member->instruction->shape;
  if (split_is_folded(member) || shape_is_tuple(shape) || is_remade(group, member->instruction)) return true;
  bool is_whole = shape->dims[member->dimension] == split_nominal_size(group->units, member->scale);
  return is_whole || !has_user_outside(group, member->instruction);
}

/* Members that need what comes after the group leave it, until none does. */
static void remove_after(Group *group) {
  const SplitGraph *graph = group->graph;
  for (bool is_closed = false; !is_closed;) {
    is_closed = true;
    bool *after = group->search->after;
    for (int64_t i = 0; i < graph->count; i++) {
      const HloInstruction *instruction = graph->order[i];
      const HloSplitMember *member = member_of(group, instruction);
      bool is_after = false, has_member = false;
      for (int k = 0; k < instruction->operand_count; k++) {
        const HloSplitMember *operand = member_of(group, instruction->operands[k]);
        is_after |= after[instruction->operands[k]->id] || (operand != NULL && split_is_folded(operand));
        has_member |= is_made_inside(group, instruction->operands[k]);
      }
      if (member != NULL && (is_after || !stands(group, instruction) || !can_be_put(group, member))) {
        int_map_set(&group->numbers, (uint64_t)instruction->id, GONE);
        is_closed = false;
        member = NULL;
      }
      after[instruction->id] = member == NULL && (is_after || has_member);
    }
  }
}

/* --- what it brings --- */

/* The memory of the computation's callers: there whatever happens. */
static bool is_given(const HloInstruction *instruction) {
  while (instruction->opcode == HLO_GET_TUPLE_ELEMENT) instruction = instruction->operands[0];
  return hlo_opcode_has(instruction->opcode, OP_GIVEN);
}

static bool is_result(const HloInstruction *instruction) {
  if (hlo_instruction_is_root(instruction)) return true;
  for (int u = 0; u < instruction->user_count; u++) {
    const HloInstruction *user = instruction->users[u];
    if (user->opcode == HLO_TUPLE && hlo_instruction_is_root(user)) return true;
  }
  return false;
}

static bool is_in_large(const SplitSearch *search, const HloInstruction *instruction) {
  int64_t ignored;
  while (instruction->opcode == HLO_GET_TUPLE_ELEMENT) instruction = instruction->operands[0];
  return int_map_find(&search->large, (uint64_t)instruction->id, &ignored);
}

/* What is cut of the state, and of what iterations make. */
static void weigh_loop(const SplitSearch *search, const SplitLoop *loop, HloSplit *split) {
  const Shape *state = loop->loop->shape;
  for (int i = 0; i < state->tuple_size && is_in_large(search, loop->loop); i++)
    if (loop->leaves[i].kind == SPLIT_LEAF_CUT) split->bytes_gone += shape_byte_size(state->tuple[i]);
  for (int64_t i = 0; i < loop->member_count; i++) {
    const HloSplitMember *member = &loop->members[i];
    if (split_is_folded(member) || member->instruction->opcode == HLO_GET_TUPLE_ELEMENT) continue;
    if (is_in_large(search, member->instruction)) split->bytes_gone += shape_leaf_byte_size(member->instruction->shape);
  }
}

static void weigh_member(const Group *group, const HloSplitMember *member, HloSplit *split) {
  if (member->loop != NULL) {
    if (member->instruction->opcode == HLO_WHILE) weigh_loop(group->search, member->loop, split);
    return;
  }
  const HloInstruction *instruction = member->instruction;
  int64_t bytes = shape_leaf_byte_size(instruction->shape);
  bool is_known = is_in_large(group->search, instruction), is_element = instruction->opcode == HLO_GET_TUPLE_ELEMENT;
  bool stays = split_is_folded(member) || (!shape_is_tuple(instruction->shape) && has_user_outside(group, instruction));
  if (stays && is_known && is_element) split->bytes_gone -= bytes;
  if (!stays && is_known && !is_element) split->bytes_gone += bytes;
  if (stays && !is_known && !member->is_remade && !is_result(instruction)) split->bytes_added += bytes;
}

static void weigh(const Group *group, HloSplit *split) {
  IntMap seen;
  int_map_init(&seen, group->search->arena);
  for (int64_t i = 0; i < split->member_count; i++) {
    const HloSplitMember *member = &split->members[i];
    weigh_member(group, member, split);
    for (int k = 0; k < member->instruction->operand_count; k++) {
      const HloInstruction *operand = member->instruction->operands[k];
      int64_t ignored;
      if (member_of(group, operand) == NULL) operand = hlo_split_source(member->instruction->operands[k]);
      if (member_of(group, operand) != NULL || int_map_find(&seen, (uint64_t)operand->id, &ignored)) continue;
      int_map_set(&seen, (uint64_t)operand->id, 1);
      if (!is_given(operand) && !is_in_large(group->search, operand))
        split->bytes_added += shape_leaf_byte_size(operand->shape);
    }
  }
}

/* Beyond its part it makes as much as is made of whole elements of each operand. */
static void widen_to_whole_elements(HloSplitMember *member) {
  int64_t step = 1;
  if (split_is_folded(member)) return;
  for (int k = 0; k < member->instruction->operand_count; k++) {
    if (member->reads[k].dimension == SPLIT_READ_WHOLE) continue;
    int64_t its_step = member->scale / greatest_common_divisor(member->reads[k].scale, member->scale);
    step *= its_step / greatest_common_divisor(step, its_step);
  }
  member->before = ceil_div(member->before, step) * step;
  member->after = ceil_div(member->after, step) * step;
}

/* All elements of a tuple are as wide as the widest of them. */
static void widen_elements(Members *members, const IntMap *places, const HloSplitMember *tuple) {
  for (int u = 0; shape_is_tuple(tuple->instruction->shape) && u < tuple->instruction->user_count; u++) {
    int64_t place;
    if (!int_map_find(places, (uint64_t)tuple->instruction->users[u]->id, &place)) continue;
    members->data[place].before = tuple->before;
    members->data[place].after = tuple->after;
  }
}

/* Users before operands.  False where windows on windows reach too far. */
static bool widen_members(const Group *group, Members *members) {
  IntMap places;
  int_map_init(&places, group->search->arena);
  for (int64_t i = 0; i < members->count; i++) int_map_set(&places, (uint64_t)members->data[i].instruction->id, i);
  for (int64_t i = members->count - 1; i >= 0; i--) {
    HloSplitMember *user = &members->data[i];
    widen_to_whole_elements(user);
    widen_elements(members, &places, user);
    if (user->loop != NULL && user->before + user->after > 0) return false; /* iterations would widen it further */
    if (!split_is_folded(user) && user->before + user->after > group->units * user->scale / WIDENED_PART) return false;
    for (int k = 0; k < user->instruction->operand_count; k++) {
      int64_t place;
      if (!int_map_find(&places, (uint64_t)user->instruction->operands[k]->id, &place)) continue;
      if (split_is_folded(user)) continue;
      SplitRange range = hlo_split_range(user, k);
      members->data[place].before = max_i64(members->data[place].before, range.before);
      members->data[place].after = max_i64(members->data[place].after, range.after);
    }
  }
  return true;
}

/* Views that members needed which have left. */
static void remove_unread(Group *group) {
  const SplitGraph *graph = group->graph;
  for (int64_t i = graph->count - 1; i >= 0; i--) {
    const HloInstruction *instruction = graph->order[i];
    bool is_read = false;
    if (member_of(group, instruction) == NULL || !is_remade(group, instruction)) continue;
    for (int u = 0; u < instruction->user_count; u++) is_read |= member_of(group, instruction->users[u]) != NULL;
    if (!is_read) int_map_set(&group->numbers, (uint64_t)instruction->id, GONE);
  }
}

static bool close(const Group *group, HloSplit *out_split) {
  const SplitGraph *graph = group->graph;
  Members members = {0};
  for (int64_t i = 0; i < graph->count; i++) {
    const HloSplitMember *member = member_of(group, graph->order[i]);
    if (member == NULL) continue;
    array_push(&members, group->search->arena, *member);
    array_last(&members).is_remade = is_remade(group, member->instruction);
  }
  if (!widen_members(group, &members)) return false;
  *out_split = (HloSplit){graph->computation, members.data, members.count, group->units, 0, 0};
  weigh(group, out_split);
  return group->search->scope != HLO_SPLIT_SAVING || hlo_split_bytes_saved(out_split, out_split->units) > 0;
}

int64_t hlo_split_bytes_saved(const HloSplit *split, int64_t parts) {
  if (parts > split->units) parts = split->units;
  return split->bytes_gone - split->bytes_gone / (parts < 1 ? 1 : parts) - split->bytes_added;
}

bool split_group_grow(const SplitSearch *search, const SplitGraph *graph, HloInstruction *seed, int dimension,
                      const SplitReach *reach, HloSplit *out) {
  const Shape *shape = shape_result(seed->shape, 0);
  int64_t scale = 1;
  Group group;
  do {
    group = (Group){.search = search, .graph = graph, .reach = reach, .units = shape->dims[dimension] / scale};
    int_map_init(&group.numbers, search->arena);
    int_map_init(&group.again, search->arena);
    if (group.units < 2 || !add_cut(&group, seed, dimension, scale, 0)) return false;
    grow(&group, 0);
    scale *= group.coarser;
  } while (group.coarser > 1 && group.units % group.coarser == 0 && group.units / group.coarser > 1);
  add_between(&group);
  remove_before(&group, seed);
  remove_after(&group);
  remove_unread(&group);
  if (member_of(&group, seed) == NULL) return false;
  return close(&group, out);
}
