#include "passes/fusion/fusion_groups.h"

#include "base/checked_math.h"
#include "hlo/analysis/complex_sums.h"
#include "hlo/analysis/in_place.h"
#include "hlo/analysis/narrow_products.h"
#include "hlo/machine/description/machine_abilities.h"
#include "passes/cleanup/control_edges.h"
#include "passes/fusion/fusion_decision.h"

/* Random numbers of ten rounds and their distribution are one fusion. */
enum {
  MAP_LIMIT = 16,
  MEMBER_LIMIT = 400,
  OPERAND_LIMIT = 60,
  ENDING_LIMIT = 128,
  READER_LIMIT = 64,
  PATH_LIMIT = 256
};

/* The map under which a group's root is computed. */
#define ROOT_MAP 1

#define NO_GROUP (-1)

/* How an instruction is computed in one group. */
typedef struct Membership {
  int32_t group;
  int32_t map_count;
  const uint64_t *maps; /* distinct */
  bool expanded, repeated, is_cut, is_factor, is_factor_again, misses_columns, is_looked_up, is_turned;
} Membership;

typedef struct MembershipList {
  int64_t count;
  const Membership *data;
} MembershipList;

/* A membership that is being considered. */
typedef struct Candidate {
  int32_t group;
  int32_t map_count;
  uint64_t maps[MAP_LIMIT]; /* distinct; more than fit count as MAP_LIMIT, which only generators may have */
  bool expanded, repeated, is_cut, is_factor, misses_columns;
  bool is_factor_again; /* of a contraction that reads its elements several times */
  bool is_looked_up;    /* at places that are known only when it runs */
  bool is_turned;       /* what lies side by side in it does not where the group stores it */
} Candidate;

typedef ARRAY(Candidate) CandidateArray;

/* A group reads a part of what |updater| then overwrites. */
typedef struct PrecedingRead {
  const HloInstruction *updater;
  struct PrecedingRead *next; /* of the same group */
} PrecedingRead;

typedef struct FusionGrouper {
  FusionGroups *result;
  ControlEdges control;
  const HloComputation *computation;
  MembershipList *memberships; /* per node */
  CandidateArray candidates;   /* of the producer at hand */
  ARRAY(int32_t) places;       /* by group: 1 + where it stands in |candidates| */
  IntMap read;                 /* group and instruction id: the group reads it */
  IntMap preceding;            /* root of a group → its PrecedingReads */
  const MachineDescription *machine;
  const HloDecisionObserver *observer;
} FusionGrouper;

static uint64_t read_key(int32_t group, const HloInstruction *value) {
  return (uint64_t)(uint32_t)group << 32 | (uint32_t)value->id;
}

static FusionGroup *group_at(const FusionGrouper *grouper, int32_t group) {
  return &grouper->result->groups.data[group];
}

static HloInstruction *root_of(const FusionGrouper *grouper, int32_t group) {
  return grouper->result->nodes[group_at(grouper, group)->root];
}

/* --- memberships --- */

static void add_map(Candidate *candidate, uint64_t map) {
  for (int32_t i = 0; i < candidate->map_count; i++) {
    if (candidate->maps[i] == map) return;
  }
  if (candidate->map_count < MAP_LIMIT) candidate->maps[candidate->map_count++] = map;
}

/* The candidate for |group|, made if there is none yet. */
static Candidate *candidate_for(FusionGrouper *grouper, int32_t group) {
  CandidateArray *candidates = &grouper->candidates;
  int32_t *place = &grouper->places.data[group];
  if (*place == 0) {
    array_push(candidates, grouper->result->arena, ((Candidate){.group = group}));
    *place = (int32_t)candidates->count;
  }
  return &candidates->data[*place - 1];
}

/* |user|, evaluated as |from| says, reads its operand number |operand|; |is_unrolled|: in loops that are unrolled along
 * the pieces of concatenations. */
static void add_use(Candidate *candidate, const HloInstruction *user, int operand, const Membership *from,
                    bool is_unrolled) {
  bool is_element = from->map_count == 1 && from->maps[0] == ROOT_MAP, expands = fusion_edge_expands(user, operand);
  for (int32_t i = 0; i < from->map_count; i++) {
    uint64_t map = fusion_operand_map(user, operand, from->maps[i]);
    bool is_piece = user->opcode == HLO_CONCATENATE && (!is_unrolled || from->is_factor);
    add_map(candidate, is_piece ? hash_combine(map, (uint64_t)operand) : map);
  }
  candidate->expanded |= from->expanded || expands;
  candidate->misses_columns |= from->misses_columns || (from->expanded && !fusion_permutes(user));
  candidate->misses_columns |= expands && !(is_element && fusion_edge_is_column(user));
  candidate->is_cut |= from->is_cut || !fusion_permutes(user);
  candidate->repeated |= from->repeated;
  candidate->is_looked_up |= from->is_looked_up || (operand == 0 && fusion_looks_up(user));
  candidate->is_factor |= from->is_factor || fusion_is_contraction(user);
  bool reads_again = fusion_is_contraction(user) && !fusion_reads_factor_once(user, operand);
  candidate->is_factor_again |= from->is_factor_again || reads_again;
  candidate->is_turned |= from->is_turned || fusion_turns(user);
}

/* What is computed for one instruction alone, while it is searched backwards. */
typedef struct EndRegion {
  int count;
  const HloInstruction *members[ENDING_LIMIT];
  bool is_cut[ENDING_LIMIT];    /* beyond a broadcast, slice or the like */
  bool is_pieced[ENDING_LIMIT]; /* beyond that or a concatenate, with which no contraction ends */
} EndRegion;

static bool is_in_region(const EndRegion *region, const HloInstruction *instruction) {
  for (int i = 0; i < region->count; i++) {
    if (region->members[i] == instruction) return true;
  }
  return false;
}

static bool only_used_in(const EndRegion *region, const HloInstruction *instruction) {
  for (int32_t u = 0; u < instruction->user_count; u++) {
    if (!is_in_region(region, instruction->users[u])) return false;
  }
  return !hlo_instruction_is_root(instruction);
}

/* --- what one group says about one more member --- */

/* An update in place must not read what it overwrites anywhere else than where it is written. */
static bool reads_updated_operand(const HloInstruction *root, const HloInstruction *producer, Arena *scratch) {
  if (!hlo_opcode_has(root->opcode, OP_IN_PLACE)) return false;
  const HloInstruction *updated = root->operands[0];
  if (producer != updated && !hlo_instruction_uses(producer, updated)) return false;
  return !hlo_reads_beside_update(producer, root, scratch);
}

/* What updates, in its place, an array of which |producer| reads a part smaller than it; NULL: nothing. */
static const HloInstruction *updater_of_read(const HloInstruction *producer) {
  if (producer->operand_count == 0) return NULL;
  const HloInstruction *array = producer->operands[0];
  if (fusion_permutes(producer) || shape_byte_size(producer->shape) >= shape_byte_size(array->shape)) return NULL;
  for (int32_t u = 0; u < array->user_count && u < READER_LIMIT; u++) {
    const HloInstruction *user = array->users[u];
    if (hlo_opcode_has(user->opcode, OP_IN_PLACE) && user->operands[0] == array) return user;
  }
  return NULL;
}

/* |new|, which |update| writes, is made from more of what is overwritten, read elsewhere than it is written, than it
 * has bytes itself: those parts would all have to be stored in its place. */
static bool is_made_of_others(const HloInstruction *update, const HloInstruction *new, Arena *scratch) {
  const HloInstruction *updated = update->operands[0];
  EndRegion region = {.count = 1, .members = {new}};
  int64_t bytes = 0;
  for (int m = 0; m < region.count; m++) {
    const HloInstruction *member = region.members[m];
    bool reads = hlo_instruction_uses(member, updated);
    if (reads && !hlo_reads_beside_update(member, update, scratch)) bytes += shape_byte_size(member->shape);
    for (int i = 0; i < member->operand_count && !reads; i++) {
      const HloInstruction *operand = member->operands[i];
      if (is_in_region(&region, operand) || region.count == ENDING_LIMIT) continue;
      if (fusion_can_be_producer(operand).fuse && only_used_in(&region, operand))
        region.members[region.count++] = operand;
    }
  }
  return bytes > shape_byte_size(new->shape);
}

typedef struct Path {
  int32_t count;
  const HloInstruction *seen[PATH_LIMIT];
} Path;

static void add_to_path(Path *path, const HloInstruction *next) {
  for (int32_t i = 0; i < path->count; i++) {
    if (path->seen[i] == next) return;
  }
  if (path->count < PATH_LIMIT) path->seen[path->count++] = next;
}

/* |from| runs before |to|: it is read on the way there, or a way goes through what is overwritten. */
static bool must_run_before(const FusionGrouper *grouper, const HloInstruction *from, const HloInstruction *to) {
  Path path = {.count = 1, .seen = {from}};
  for (int32_t i = 0; i < path.count; i++) {
    const HloInstruction *at = path.seen[i];
    if (at == to) return true;
    for (int32_t u = 0; u < at->user_count; u++) add_to_path(&path, at->users[u]);
    const PrecedingRead *read = pointer_map_get(&grouper->preceding, at);
    for (; read != NULL; read = read->next) add_to_path(&path, read->updater);
  }
  return false;
}

/* A part of an array that is read in the group must be read before something else updates the array in place.  If that
 * runs before the group, the whole array would have to be copied for the part. */
static bool reads_too_late(const FusionGrouper *grouper, int32_t group, const HloInstruction *producer) {
  const HloInstruction *updater = updater_of_read(producer), *root = root_of(grouper, group);
  return updater != NULL && updater != root && must_run_before(grouper, updater, root);
}

static int32_t new_operand_count(const FusionGrouper *grouper, int32_t group, const HloInstruction *producer) {
  int64_t ignored;
  int32_t count = 0;
  for (int i = 0; i < producer->operand_count; i++) {
    const HloInstruction *operand = producer->operands[i];
    if (hlo_instruction_is_scalar_constant(operand)) continue;
    count += !int_map_find(&grouper->read, read_key(group, operand), &ignored);
  }
  return count;
}

/* Iotas, scalars and what is broadcast from them. */
static bool is_made_of_scalars(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_BROADCAST) return instruction->operands[0]->shape->rank == 0;
  return instruction->shape->rank == 0 || instruction->opcode == HLO_IOTA;
}

/* The features of a convolution of narrow numbers, as it makes them or with what is computed of each. */
static bool ends_narrow_features(const HloInstruction *producer) {
  EndRegion region = {.count = 1, .members = {producer}};
  for (int m = 0; m < region.count; m++) {
    const HloInstruction *member = region.members[m];
    if (hlo_makes_narrow_features(member)) return true;
    if (!hlo_opcode_has(member->opcode, OP_ELEMENTWISE)) continue;
    for (int i = 0; i < member->operand_count; i++) {
      const HloInstruction *operand = member->operands[i];
      if (is_in_region(&region, operand) || !only_used_in(&region, operand)) continue;
      if (region.count < ENDING_LIMIT) region.members[region.count++] = operand;
    }
  }
  return false;
}

/* Whether plans have a rule for |scatter| with |producer| inside: updates that repeat an array are read from that. */
static bool takes_in(const FusionGrouper *grouper, const HloInstruction *scatter, const HloInstruction *producer) {
  bool is_repeated = producer->opcode == HLO_BROADCAST && producer == scatter->operands[2];
  return machine_takes_scatters(grouper->machine) || is_repeated;
}

/* |producer| computes with rows that it reads of |table|: by itself it reads them where they are needed, while inside
 * of what overwrites them they would have to be kept from before. */
static bool is_made_of_rows_of(const HloInstruction *producer, const HloInstruction *table) {
  for (int i = 0; i < producer->operand_count; i++) {
    const HloInstruction *operand = producer->operands[i];
    if (operand->opcode == HLO_GATHER && operand->operands[0] == table) return true;
  }
  return false;
}

static FusionDecision has_room(const FusionGrouper *grouper, const Candidate *candidate,
                               const HloInstruction *producer) {
  const int32_t number = candidate->group;
  const FusionGroup *group = group_at(grouper, number);
  if (candidate->is_looked_up && fusion_has_guards(producer) && !machine_guards_looked_up(grouper->machine))
    return (FusionDecision){false, "which piece it is, or whether it is padding, is known only at run time"};
  if (candidate->is_turned && !machine_has_buffer(grouper->machine) && ends_narrow_features(producer))
    return (FusionDecision){false, "products of narrow numbers are made with the features side by side"};
  if (reads_updated_operand(root_of(grouper, number), producer, grouper->result->arena)) {
    return (FusionDecision){false, "the consumer overwrites what it reads"};
  }
  const HloInstruction *root = root_of(grouper, number);
  if (root->opcode == HLO_DYNAMIC_UPDATE_SLICE && root->operands[1] == producer &&
      is_made_of_others(root, producer, grouper->result->arena))
    return (FusionDecision){false, "it reads more of what the consumer overwrites than that writes"};
  if (root->opcode == HLO_SCATTER && !takes_in(grouper, root, producer))
    return (FusionDecision){false, "plans have no rule for places and updates that are computed"};
  if (root->opcode == HLO_SCATTER && is_made_of_rows_of(producer, root->operands[0]))
    return (FusionDecision){false, "it reads rows of what the consumer overwrites"};
  if (root->opcode == HLO_SCATTER && fusion_cost(producer) == FUSION_COST_HIGH)
    return (FusionDecision){false, "costly, and updates are made one after the other"};
  if (reads_too_late(grouper, number, producer))
    return (FusionDecision){false, "what it reads is overwritten before the consumer runs"};
  if (producer->opcode == HLO_REDUCE && root_of(grouper, number)->opcode != HLO_REDUCE) {
    return (FusionDecision){false, "a reduction is a loop of its own"};
  }
  if (group->members.count >= MEMBER_LIMIT && !is_made_of_scalars(producer))
    return (FusionDecision){false, "the fusion is large enough"};
  if (group->operand_count - 1 + new_operand_count(grouper, number, producer) > OPERAND_LIMIT) {
    return (FusionDecision){false, "the fusion has operands enough"};
  }
  return (FusionDecision){true, "fits"};
}

/* --- joining --- */

static void read_operands(FusionGrouper *grouper, int32_t number, const HloInstruction *member) {
  int64_t ignored;
  FusionGroup *group = group_at(grouper, number);
  for (int i = 0; i < member->operand_count; i++) {
    const HloInstruction *operand = member->operands[i];
    if (hlo_instruction_is_scalar_constant(operand)) continue;
    if (int_map_find(&grouper->read, read_key(number, operand), &ignored)) continue;
    int_map_set(&grouper->read, read_key(number, operand), 1);
    group->operand_count++;
  }
}

/* An operand comes from other devices. */
static bool reads_collective(const HloInstruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    while (hlo_opcode_info(operand->opcode)->flow == OP_FLOW_ELEMENT) operand = operand->operands[0];
    if (hlo_opcode_has(operand->opcode, OP_COLLECTIVE)) return true;
  }
  return false;
}

static void join(FusionGrouper *grouper, int32_t node, const Candidate *candidate) {
  FusionGroup *group = group_at(grouper, candidate->group);
  array_push(&group->members, grouper->result->arena, node);
  group->operand_count--; /* it was read until now */
  group->has_contraction |= fusion_has_nest(grouper->result->nodes[node]);
  group->awaits_devices |= reads_collective(grouper->result->nodes[node]);
  read_operands(grouper, candidate->group, grouper->result->nodes[node]);
  const HloInstruction *updater = updater_of_read(grouper->result->nodes[node]),
                       *root = root_of(grouper, candidate->group);
  if (updater == NULL || updater == root) return;
  PrecedingRead *read = ARENA_NEW(grouper->result->arena, PrecedingRead);
  *read = (PrecedingRead){updater, pointer_map_get(&grouper->preceding, root)};
  pointer_map_set(&grouper->preceding, root, read);
}

/* Joins all candidate groups. */
static void join_all(FusionGrouper *grouper, int32_t node) {
  Arena *arena = grouper->result->arena;
  const CandidateArray *candidates = &grouper->candidates;
  Membership *memberships = ARENA_NEW_ARRAY(arena, Membership, candidates->count);
  for (int64_t i = 0; i < candidates->count; i++) {
    const Candidate *candidate = &candidates->data[i];
    join(grouper, node, candidate);
    memberships[i] = (Membership){.group = candidate->group,
                                  .map_count = candidate->map_count,
                                  .maps = ARENA_COPY_ARRAY(arena, uint64_t, candidate->maps, candidate->map_count),
                                  .expanded = candidate->expanded,
                                  .is_cut = candidate->is_cut,
                                  .is_factor = candidate->is_factor,
                                  .is_factor_again = candidate->is_factor_again,
                                  .misses_columns = candidate->misses_columns,
                                  .is_looked_up = candidate->is_looked_up,
                                  .is_turned = candidate->is_turned,
                                  .repeated = candidate->repeated};
  }
  grouper->memberships[node] = (MembershipList){candidates->count, memberships};
}

static void start_group(FusionGrouper *grouper, int32_t node) {
  Arena *arena = grouper->result->arena;
  int32_t number = (int32_t)grouper->result->groups.count;
  const HloInstruction *root = grouper->result->nodes[node];
  FusionGroup group = {
      .root = node, .has_contraction = fusion_has_nest(root), .awaits_devices = reads_collective(root)};
  array_push(&group.members, arena, node);
  array_push(&grouper->result->groups, arena, group);
  array_push(&grouper->places, arena, 0);
  read_operands(grouper, number, grouper->result->nodes[node]);
  static const uint64_t root_map = ROOT_MAP;
  MembershipList *list = &grouper->memberships[node];
  Membership *memberships = ARENA_NEW_ARRAY(arena, Membership, list->count + 1);
  for (int64_t i = 0; i < list->count; i++) memberships[i] = list->data[i];
  memberships[list->count] = (Membership){.group = number, .map_count = 1, .maps = &root_map};
  *list = (MembershipList){list->count + 1, memberships};
}

/* --- one producer --- */

/* Takes in operands that nothing else reads; true at something that is stored, once, and could end with all of it. */
static bool grow_to_kernel(EndRegion *region) {
  for (int m = 0; m < region->count; m++) {
    const HloInstruction *member = region->members[m];
    bool permutes = fusion_permutes(member);
    bool is_cut = region->is_cut[m] || (!permutes && member->opcode != HLO_CONCATENATE);
    bool is_pieced = region->is_pieced[m] || !permutes;
    for (int i = 0; i < member->operand_count; i++) {
      const HloInstruction *operand = member->operands[i];
      if (is_made_of_scalars(operand)) continue;
      if (is_in_region(region, operand) || !only_used_in(region, operand)) continue;
      FusionCost cost = fusion_cost(operand);
      bool ends = fusion_has_nest(operand) ? !is_pieced : !is_cut;
      if (operand->opcode == HLO_REDUCE || (ends && cost == FUSION_COST_HIGH)) return true;
      if (cost == FUSION_COST_NONE || fusion_is_contraction(operand) || region->count == ENDING_LIMIT) continue;
      region->is_cut[region->count] = is_cut;
      region->is_pieced[region->count] = is_pieced;
      region->members[region->count++] = operand;
    }
  }
  return false;
}

/* FusionUse.is_ending: until the region grows no more, since a value may be read by what joins later. */
static bool ends_kernel(const HloInstruction *producer) {
  EndRegion region = {.count = 1, .members = {producer}};
  if (is_made_of_scalars(producer)) return false;
  for (int before = 0; before < region.count;) {
    before = region.count;
    if (grow_to_kernel(&region)) return true;
  }
  return false;
}

/* |root| ends with what a contraction makes, element by element. */
static bool ends_contraction(const HloInstruction *root) {
  EndRegion region = {.count = 1, .members = {root}};
  for (int m = 0; m < region.count; m++) {
    const HloInstruction *member = region.members[m];
    if (!fusion_permutes(member)) continue;
    for (int i = 0; i < member->operand_count; i++) {
      const HloInstruction *operand = member->operands[i];
      if (fusion_is_deep_contraction(operand)) return operand->user_count == 1;
      if (fusion_cost(operand) == FUSION_COST_NONE || is_made_of_scalars(operand)) continue;
      if (is_in_region(&region, operand) || region.count == ENDING_LIMIT) continue;
      region.members[region.count++] = operand;
    }
  }
  return false;
}

/* FusionUse.is_column of the only candidate; the contraction may still have to join. */
static bool is_column_of_contraction(const FusionGrouper *grouper, const CandidateArray *candidates) {
  const Candidate *candidate = &candidates->data[0];
  if (candidates->count != 1 || !candidate->expanded || candidate->misses_columns || candidate->is_factor) return false;
  return ends_contraction(root_of(grouper, candidate->group));
}

static void observe(const FusionGrouper *grouper, const HloInstruction *producer, int32_t group,
                    FusionDecision decision) {
  if (grouper->observer == NULL) return;
  grouper->observer->decided(grouper->observer->context, "fusion", producer, root_of(grouper, group), decision.fuse,
                             decision.reason);
}

/* Says of each user, or of those that cannot cross, why |producer| is stored. */
static void observe_users(const FusionGrouper *grouper, const HloInstruction *producer, const char *reason) {
  if (grouper->observer == NULL) return;
  for (int32_t u = 0; u < producer->user_count; u++) {
    grouper->observer->decided(grouper->observer->context, "fusion", producer, producer->users[u], false, reason);
  }
}

static void observe_crossing(const FusionGrouper *grouper, const HloInstruction *producer, const HloInstruction *user,
                             FusionDecision decision) {
  if (grouper->observer == NULL || decision.fuse) return;
  grouper->observer->decided(grouper->observer->context, "fusion", producer, user, false, decision.reason);
}

static MembershipList memberships_of(const FusionGrouper *grouper, const HloInstruction *instruction) {
  int64_t number;
  if (!int_map_find(&grouper->result->numbers, (uint64_t)instruction->id, &number)) return (MembershipList){0, NULL};
  return grouper->memberships[number];
}

/* Collects the groups that could compute |producer|; false when a user needs it in memory. */
static bool collect_candidates(FusionGrouper *grouper, const HloInstruction *producer) {
  bool all = producer != grouper->computation->root;
  grouper->candidates.count = 0;
  for (int32_t u = 0; u < producer->user_count; u++) {
    const HloInstruction *user = producer->users[u];
    MembershipList memberships = memberships_of(grouper, user);
    bool crosses = memberships.count > 0;
    int first = hlo_instruction_first_use(producer, u);
    for (int i = first; i >= 0; i = hlo_instruction_next_use(user, i)) {
      FusionDecision decision = fusion_can_cross(user, i);
      observe_crossing(grouper, producer, user, decision);
      crosses = crosses && decision.fuse;
    }
    all &= crosses;
    for (int64_t m = 0; crosses && m < memberships.count; m++) {
      Candidate *candidate = candidate_for(grouper, memberships.data[m].group);
      bool is_unrolled = root_of(grouper, memberships.data[m].group)->opcode != HLO_REDUCE;
      for (int i = first; i >= 0; i = hlo_instruction_next_use(user, i))
        add_use(candidate, user, i, &memberships.data[m], is_unrolled);
    }
  }
  return all;
}

/* Takes out the groups that have no room.  False when there was one. */
static bool drop_full_groups(const FusionGrouper *grouper, const HloInstruction *producer, CandidateArray *candidates) {
  int64_t kept = 0;
  for (int64_t i = 0; i < candidates->count; i++) {
    FusionDecision room = has_room(grouper, &candidates->data[i], producer);
    if (room.fuse) {
      candidates->data[kept++] = candidates->data[i];
    } else {
      observe(grouper, producer, candidates->data[i].group, room);
    }
  }
  bool all = kept == candidates->count;
  candidates->count = kept;
  return all;
}

/* producer->users[number] reads it somewhere where it cannot be computed. */
static bool reads_from_memory(const HloInstruction *producer, int32_t number) {
  const HloInstruction *user = producer->users[number];
  for (int i = hlo_instruction_first_use(producer, number); i >= 0; i = hlo_instruction_next_use(user, i)) {
    if (!fusion_can_cross(user, i).fuse) return true;
  }
  return false;
}

/* A group that reads |producer| at a position it cannot be computed for, too, keeps it as an operand: it is then no
 * candidate. */
static void drop_reading_groups(FusionGrouper *grouper, const HloInstruction *producer) {
  CandidateArray *candidates = &grouper->candidates;
  for (int32_t u = 0; u < producer->user_count && candidates->count > 0; u++) {
    MembershipList memberships = memberships_of(grouper, producer->users[u]);
    if (memberships.count == 0 || !reads_from_memory(producer, u)) continue;
    for (int64_t m = 0; m < memberships.count; m++) {
      int32_t *place = &grouper->places.data[memberships.data[m].group];
      if (*place > 0) candidates->data[*place - 1].group = NO_GROUP;
      *place = 0;
    }
  }
  int64_t kept = 0;
  for (int64_t i = 0; i < candidates->count; i++) {
    if (candidates->data[i].group != NO_GROUP) candidates->data[kept++] = candidates->data[i];
  }
  candidates->count = kept;
}

static void forget_places(FusionGrouper *grouper) {
  for (int64_t i = 0; i < grouper->candidates.count; i++) grouper->places.data[grouper->candidates.data[i].group] = 0;
}

/* What group |number| makes is |producer|, rearranged. */
static bool only_rearranges(const FusionGrouper *grouper, int32_t number, const HloInstruction *producer) {
  const HloInstruction *made = root_of(grouper, number);
  while (made != producer && hlo_moves_all(made)) made = made->operands[0];
  return made == producer;
}

/* What reads |producer|, sums of complex numbers, needs both parts of them, and the machine makes these apart. */
static bool needs_parts_together(const FusionGrouper *grouper, const HloInstruction *producer) {
  if (machine_has_buffer(grouper->machine) || !fusion_is_deep_contraction(producer)) return false;
  const HloInstruction *user = producer->users[0];
  if (!hlo_sums_parts_apart(producer) || hlo_reads_one_part(user)) return false;
  if (!hlo_moves_all(user)) return true;
  return hlo_rearranges_parts(producer) && !only_rearranges(grouper, grouper->candidates.data[0].group, producer);
}

static bool ends_in_loop(const FusionGrouper *grouper, int32_t group) {
  HloOpcode root = root_of(grouper, group)->opcode;
  return root != HLO_REDUCE && !hlo_opcode_has(root, OP_IN_PLACE);
}

/* The only candidate's root is a reduction. */
static bool ends_in_reduction(const FusionGrouper *grouper, const CandidateArray *candidates) {
  return candidates->count == 1 && root_of(grouper, candidates->data[0].group)->opcode == HLO_REDUCE;
}

static FusionUse summary_of(const FusionGrouper *grouper, const CandidateArray *candidates, bool stored) {
  FusionUse use = {.group_count = (int)candidates->count, .stored = stored};
  use.is_read_once = !machine_has_buffer(grouper->machine);
  for (int64_t i = 0; i < candidates->count; i++) {
    use.map_count = (int)max_i64(use.map_count, candidates->data[i].map_count);
    use.expanded |= candidates->data[i].expanded;
    use.repeated |= candidates->data[i].repeated;
    use.is_cut |= candidates->data[i].is_cut;
    use.is_reduced |= !ends_in_loop(grouper, candidates->data[i].group);
    use.is_factor |= candidates->data[i].is_factor;
    use.is_read_once &= !candidates->data[i].is_factor_again;
    use.has_contraction |= group_at(grouper, candidates->data[i].group)->has_contraction;
    use.awaits_devices |= group_at(grouper, candidates->data[i].group)->awaits_devices;
  }
  return use;
}

/* Joins the groups that may compute |node|; false when it is needed in memory as well. */
static bool join_consumers(FusionGrouper *grouper, int32_t node) {
  const HloInstruction *producer = grouper->result->nodes[node];
  FusionDecision decision = fusion_can_be_producer(producer);
  if (!decision.fuse && fusion_can_be_root(producer)) observe_users(grouper, producer, decision.reason);
  if (!decision.fuse || producer->user_count == 0 || control_edges_touch(&grouper->control, producer)) return false;
  CandidateArray *candidates = &grouper->candidates;
  bool everywhere = collect_candidates(grouper, producer);
  if (!everywhere) drop_reading_groups(grouper, producer);
  forget_places(grouper);
  everywhere &= drop_full_groups(grouper, producer, candidates);
  if (candidates->count == 0) return false;
  FusionUse use = summary_of(grouper, candidates, !everywhere);
  use.is_ending = (use.is_factor || producer->opcode == HLO_REDUCE) && ends_kernel(producer);
  use.is_summed_end = ends_in_reduction(grouper, candidates) && fusion_cost(producer) != FUSION_COST_FREE &&
                      !fusion_is_contraction(producer) && ends_contraction(producer);
  use.needs_parts = needs_parts_together(grouper, producer);
  use.is_column = is_column_of_contraction(grouper, candidates);
  bool repeats = false;
  decision = fusion_decide(producer, &use, &repeats);
  for (int64_t i = 0; i < candidates->count; i++) {
    observe(grouper, producer, candidates->data[i].group, decision);
    candidates->data[i].repeated |= repeats;
  }
  if (decision.fuse) join_all(grouper, node);
  return decision.fuse && everywhere;
}

static bool can_start(const FusionGrouper *grouper, const HloInstruction *root) {
  bool can = fusion_can_be_root(root) || fusion_can_scatter(root);
  return can && !control_edges_touch(&grouper->control, root);
}

FusionGroups *fusion_groups_create(Arena *arena, const HloComputation *computation, const MachineDescription *machine,
                                   const HloDecisionObserver *observer) {
  int64_t count;
  FusionGroups *groups = ARENA_NEW(arena, FusionGroups);
  FusionGrouper grouper = {.result = groups, .computation = computation, .machine = machine, .observer = observer};
  control_edges_init(&grouper.control, computation, arena);
  int_map_init(&grouper.read, arena);
  int_map_init(&grouper.preceding, arena);
  int_map_init(&groups->numbers, arena);
  groups->arena = arena;
  groups->nodes = hlo_computation_post_order(computation, arena, &count);
  groups->node_count = (int32_t)count;
  grouper.memberships = ARENA_NEW_ARRAY(arena, MembershipList, count + 1);
  for (int32_t n = 0; n < groups->node_count; n++) int_map_set(&groups->numbers, (uint64_t)groups->nodes[n]->id, n);
  for (int32_t n = groups->node_count - 1; n >= 0; n--) {
    const HloInstruction *instruction = groups->nodes[n];
    if (join_consumers(&grouper, n)) continue;
    if (can_start(&grouper, instruction)) start_group(&grouper, n);
  }
  return groups;
}
