/* layout-assignment: a layout that is wanted of a value moves to what makes the value.
 *
 * After layout-normalizer a value that is wanted in another layout (a result of the entry, an operand of a custom call)
 * is made in the default one and copied.  Where everything else that reads it takes any layout, it can be made as it is
 * wanted.  As XLA's layout assignment does, the wish goes backward through elementwise operations to the products that
 * they start from, and forward through elementwise operations to reductions.  The layout becomes dimensions, as in
 * XLA's layout normalisation: the members of such a group are made with their dimensions in the order of memory, a
 * bitcast says what they are for whoever wanted the layout, a transpose for everyone else (reductions and products
 * absorb it: rules_reduce.c, rules_dot.c).  Arrays that are given in another layout go to these the same way. */
#include "base/hash_map.h"
#include "passes/cleanup/control_edges.h"
#include "passes/layout/turned_value.h"
#include "passes/pipeline/hlo_pass.h"
#include "passes/simplify/algebraic_rules.h"

enum { MEMBER_LIMIT = 64 /* a larger group stays as it is: each group costs at most so much time */ };

typedef struct LayoutGroup {
  HloComputation *computation;
  const ControlEdges *control;
  Arena *scratch;
  Layout layout;        /* what is wanted */
  const int64_t *order; /* dimensions from major to minor */
  int rank;
  HloInstruction *members[MEMBER_LIMIT];
  int member_count;
  bool is_too_large;
  IntMap is_member; /* ids */
  IntMap turned;    /* instruction → what is made in its place */
} LayoutGroup;

/* --- shapes --- */

/* A copy of an array from the default layout into one that differs in the order of dimensions only. */
static bool wants_layout(const HloInstruction *copy) {
  if (copy->opcode != HLO_COPY || copy->operands[0]->shape == copy->shape || !layout_may_turn(copy->shape))
    return false;
  if (!layout_is_plain(copy->operands[0])) return false;
  const Layout order = {.minor_to_major = copy->shape->layout.minor_to_major, .rank = copy->shape->rank};
  return copy->shape == shape_with_layout(copy->parent->module->shapes, copy->operands[0]->shape, &order);
}

static bool wants_this_layout(const LayoutGroup *group, const HloInstruction *copy) {
  return wants_layout(copy) && layout_equal(&copy->shape->layout, &group->layout);
}

/* |shape| with its dimensions in the order of memory. */
static const Shape *turned_shape(const LayoutGroup *group, const Shape *shape) {
  return layout_turned_shape(group->computation->module->shapes, shape, group->order);
}

/* --- members --- */

static bool is_member(const LayoutGroup *group, const HloInstruction *instruction) {
  int64_t is_one = false;
  return int_map_find(&group->is_member, (uint64_t)instruction->id, &is_one) && is_one;
}

static bool is_product(const LayoutGroup *group, const HloInstruction *instruction) {
  return instruction->opcode == HLO_DOT && algebraic_dot_exchanges(instruction, group->order);
}

static bool can_join(const LayoutGroup *group, const HloInstruction *instruction) {
  if (hlo_instruction_is_root(instruction) || control_edges_touch(group->control, instruction)) return false;
  return is_product(group, instruction) || layout_is_elementwise(instruction);
}

static void add_member(LayoutGroup *group, HloInstruction *instruction) {
  if (is_member(group, instruction)) return;
  if (group->member_count == MEMBER_LIMIT) {
    group->is_too_large = true;
    return;
  }
  int_map_set(&group->is_member, (uint64_t)instruction->id, true);
  group->members[group->member_count++] = instruction;
}

/* A value that has this layout already, or needs none: in the order of memory it costs nothing. */
static bool is_free_either_way(const LayoutGroup *group, HloInstruction *value) {
  if (shape_is_scalar(value->shape) || algebraic_splat_source(value) != NULL) return true;
  if (value->opcode == HLO_COPY) return layout_equal(&value->operands[0]->shape->layout, &group->layout);
  if (value->opcode == HLO_BROADCAST) return true;
  if (value->opcode != HLO_TRANSPOSE) return value->operand_count == 0 && value->opcode != HLO_PARAMETER;
  Int64List permutation = hlo_instruction_ints(value, HLO_ATTR_DIMENSIONS);
  for (int i = 0; i < group->rank; i++) {
    if (permutation.data[group->order[i]] != i) return false;
  }
  return true;
}

/* From what is wanted backward. */
static void add_sources(LayoutGroup *group, HloInstruction *value) {
  if (!can_join(group, value)) return;
  add_member(group, value);
  for (int m = 0; m < group->member_count && !group->is_too_large; m++) {
    HloInstruction *member = group->members[m];
    if (is_product(group, member)) continue;
    for (int i = 0; i < member->operand_count; i++) {
      HloInstruction *operand = member->operands[i];
      if (!is_free_either_way(group, operand) && can_join(group, operand)) add_member(group, operand);
    }
  }
}

/* Broadcasts of rows go with row-wise reductions, which one loop computes over rows in the default layout. */
static bool reads_broadcast_rows(const LayoutGroup *group) {
  for (int m = 0; m < group->member_count; m++) {
    const HloInstruction *member = group->members[m];
    for (int i = 0; i < member->operand_count && !is_product(group, member); i++) {
      HloInstruction *operand = member->operands[i];
      if (operand->opcode == HLO_BROADCAST && algebraic_splat_source(operand) == NULL) return true;
    }
  }
  return false;
}

/* Something that reads its operand in any order of dimensions at no cost. */
static bool takes_any_layout(const HloInstruction *user) {
  if (user->opcode == HLO_REDUCE) return shape_is_array(user->shape) && user->shape->rank <= 1;
  return user->opcode == HLO_TRANSPOSE || (user->opcode == HLO_DOT && user->shape->rank == 2);
}

static bool reads_members_only(const LayoutGroup *group, HloInstruction *user) {
  if (user->opcode == HLO_DOT || !can_join(group, user)) return false;
  for (int i = 0; i < user->operand_count; i++) {
    if (!is_member(group, user->operands[i]) && !is_free_either_way(group, user->operands[i])) return false;
  }
  return true;
}

static bool is_read_in_any_layout(const LayoutGroup *group, const HloInstruction *value) {
  for (int32_t u = 0; u < value->user_count; u++) {
    if (!is_member(group, value->users[u]) && !takes_any_layout(value->users[u])) return false;
  }
  return true;
}

/* Takes members from |first| on out until all that remain are read in any layout and read members. */
static void drop_unfit_members(LayoutGroup *group, int first) {
  for (int m = group->member_count - 1; m >= first; m--) {
    HloInstruction *member = group->members[m];
    if (is_read_in_any_layout(group, member) && reads_members_only(group, member)) continue;
    int_map_set(&group->is_member, (uint64_t)member->id, false);
    group->members[m] = group->members[--group->member_count];
    m = group->member_count; /* from the end again */
  }
}

/* And forward: elementwise operations that only feed reductions and the like. */
static void add_followers(LayoutGroup *group) {
  int sources = group->member_count;
  for (int m = 0; m < group->member_count; m++) {
    const HloInstruction *member = group->members[m];
    for (int32_t u = 0; u < member->user_count; u++) {
      HloInstruction *user = member->users[u];
      if (group->member_count < MEMBER_LIMIT && reads_members_only(group, user)) add_member(group, user);
    }
  }
  drop_unfit_members(group, sources);
}

/* --- what it costs --- */

/* How often an array is read against the grain. */
typedef struct LayoutCost {
  int now, turned;
  bool has_stubborn_user, has_stored_product;
} LayoutCost;

static void count_users(const LayoutGroup *group, const HloInstruction *member, bool reads_rows, IntMap *seen,
                        LayoutCost *cost) {
  for (int32_t u = 0; u < member->user_count; u++) {
    const HloInstruction *user = member->users[u];
    int64_t ignored;
    if (is_member(group, user) || int_map_find(seen, (uint64_t)user->id, &ignored)) continue;
    int_map_set(seen, (uint64_t)user->id, 1);
    if (wants_this_layout(group, user)) {
      cost->now++;
    } else if (!takes_any_layout(user) || (user->opcode == HLO_REDUCE && user->shape->rank > 0 && reads_rows)) {
      cost->turned++;
      cost->has_stubborn_user = true;
    }
  }
}

static LayoutCost group_cost(const LayoutGroup *group) {
  LayoutCost cost = {0};
  IntMap seen;
  int_map_init(&seen, group->scratch);
  bool reads_rows = reads_broadcast_rows(group);
  for (int m = 0; m < group->member_count; m++) {
    const HloInstruction *member = group->members[m];
    count_users(group, member, reads_rows, &seen, &cost);
    cost.has_stored_product |= is_product(group, member) && member->user_count > 1;
    for (int i = 0; i < member->operand_count && !is_product(group, member); i++) {
      HloInstruction *operand = member->operands[i];
      int64_t ignored;
      if (is_member(group, operand) || int_map_find(&seen, (uint64_t)operand->id, &ignored)) continue;
      int_map_set(&seen, (uint64_t)operand->id, 1);
      if (!is_free_either_way(group, operand)) cost.turned++;
      if (operand->opcode == HLO_COPY && operand->user_count == 1) cost.now++;
    }
  }
  return cost;
}

/* A product that several read is stored: then it should be where it is wanted, at the same cost. */
static bool is_worth_it(const LayoutGroup *group) {
  LayoutCost cost = group_cost(group);
  if (cost.turned < cost.now) return true;
  return cost.turned == cost.now && cost.has_stored_product && !cost.has_stubborn_user;
}

/* --- the change --- */

static HloInstruction *turned_leaf(const LayoutGroup *group, HloInstruction *leaf) {
  if (shape_is_scalar(leaf->shape)) return leaf;
  const Shape *shape = turned_shape(group, leaf->shape);
  HloInstruction *splat = algebraic_splat_source(leaf);
  if (splat != NULL) return algebraic_broadcast(splat, shape, NULL);
  bool is_free = is_free_either_way(group, leaf);
  if (is_free && leaf->opcode == HLO_TRANSPOSE) return leaf->operands[0];
  if (is_free && leaf->opcode == HLO_COPY)
    return hlo_computation_add(leaf->parent, HLO_BITCAST, shape, leaf->operands, 1, (StringView){0});
  return layout_transposed(leaf, shape, group->order);
}

/* What is made in place of |value|; no deeper than a group is large. */
static HloInstruction *turned(LayoutGroup *group, HloInstruction *value) {
  HloInstruction *result = pointer_map_get(&group->turned, value);
  if (result != NULL) return result;
  if (!is_member(group, value)) {
    result = turned_leaf(group, value);
  } else if (is_product(group, value)) {
    result = algebraic_exchanged_dot(value, turned_shape(group, value->shape));
  } else {
    HloInstruction **operands = ARENA_NEW_ARRAY(group->scratch, HloInstruction *, value->operand_count);
    for (int i = 0; i < value->operand_count; i++) operands[i] = turned(group, value->operands[i]);
    result = hlo_computation_add_clone(value->parent, value, turned_shape(group, value->shape), operands,
                                       value->operand_count);
  }
  if (is_member(group, value)) {
    hlo_instruction_remove_sharding(result);
    hlo_instruction_inherit_metadata(result, value);
  }
  pointer_map_set(&group->turned, value, result);
  return result;
}

/* Users outside the group see |value| as it was. */
static void replace_for_users(LayoutGroup *group, HloInstruction *value) {
  HloInstruction *made = turned(group, value), *back = NULL;
  int32_t count = value->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(group->scratch, HloInstruction *, value->users, count);
  for (int32_t u = 0; u < count; u++) {
    HloInstruction *user = users[u];
    if (is_member(group, user)) continue;
    if (wants_this_layout(group, user)) {
      HloInstruction *wanted =
          hlo_computation_add(group->computation, HLO_BITCAST, user->shape, &made, 1, (StringView){0});
      hlo_instruction_inherit_metadata(wanted, user);
      hlo_computation_replace_instruction(group->computation, user, wanted);
      continue;
    }
    if (back == NULL) {
      int64_t *inverse = ARENA_NEW_ARRAY(group->scratch, int64_t, group->rank);
      for (int i = 0; i < group->rank; i++) inverse[group->order[i]] = i;
      back = layout_transposed(made, value->shape, inverse);
      hlo_instruction_inherit_metadata(back, value);
    }
    hlo_instruction_replace_use(value, user, back);
  }
}

static bool assign_layout(HloPassContext *context, const ControlEdges *control, HloInstruction *copy) {
  HloInstruction *value = copy->operands[0];
  LayoutGroup *group = ARENA_NEW(context->scratch, LayoutGroup);
  int64_t *order = ARENA_NEW_ARRAY(context->scratch, int64_t, copy->shape->rank);
  *group = (LayoutGroup){.computation = copy->parent,
                         .control = control,
                         .scratch = context->scratch,
                         .layout = copy->shape->layout,
                         .order = order,
                         .rank = copy->shape->rank};
  int_map_init(&group->is_member, context->scratch);
  int_map_init(&group->turned, context->scratch);
  for (int i = 0; i < group->rank; i++) order[i] = copy->shape->layout.minor_to_major[group->rank - 1 - i];
  add_sources(group, value);
  if (group->is_too_large || group->member_count == 0) return false;
  add_followers(group);
  if (!is_worth_it(group)) return false;
  hlo_pass_count_rewrite(context, "layout", copy);
  for (int m = 0; m < group->member_count; m++) turned(group, group->members[m]);
  for (int m = 0; m < group->member_count; m++) replace_for_users(group, group->members[m]);
  return true;
}

/* --- what is given in another layout --- */

/* A copy of an array that was given in another layout, into the default one. */
static bool reads_layout(const HloInstruction *copy) {
  if (copy->opcode != HLO_COPY || copy->operands[0]->shape == copy->shape || !layout_is_plain(copy)) return false;
  const Shape *given = copy->operands[0]->shape;
  if (!layout_may_turn(given)) return false;
  const Layout order = {.minor_to_major = given->layout.minor_to_major, .rank = given->rank};
  return given == shape_with_layout(copy->parent->module->shapes, copy->shape, &order);
}

/* Products and reductions read the array as it was given. */
static bool read_as_given(HloPassContext *context, HloInstruction *copy) {
  int32_t count = copy->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(context->scratch, HloInstruction *, copy->users, count);
  const Shape *given = copy->operands[0]->shape;
  HloInstruction *back = NULL;
  for (int32_t u = 0; u < count; u++) {
    if (!takes_any_layout(users[u])) continue;
    if (back == NULL) {
      int64_t dims[LAYOUT_RANK_LIMIT], inverse[LAYOUT_RANK_LIMIT];
      for (int i = 0; i < given->rank; i++) {
        int from = (int)given->layout.minor_to_major[given->rank - 1 - i];
        dims[i] = given->dims[from];
        inverse[from] = i;
      }
      const Shape *shape = shape_array(copy->parent->module->shapes, given->type, dims, given->rank);
      HloInstruction *bytes = hlo_computation_add(copy->parent, HLO_BITCAST, shape, copy->operands, 1, (StringView){0});
      back = layout_transposed(bytes, copy->shape, inverse);
      hlo_instruction_inherit_metadata(bytes, copy);
      hlo_instruction_inherit_metadata(back, copy);
      hlo_pass_count_rewrite(context, "as-given", copy);
    }
    hlo_instruction_replace_use(copy, users[u], back);
  }
  return back != NULL;
}

static Status run_layout_assignment(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t count;
    ControlEdges control;
    control_edges_init(&control, computation, context->scratch);
    HloInstruction **order = control_edges_free_order(computation, context->scratch, &count);
    for (int64_t i = 0; i < count && hlo_pass_may_rewrite(context); i++) {
      if (order[i]->parent != computation) continue;
      bool is_changed = (wants_layout(order[i]) && assign_layout(context, &control, order[i])) ||
                        (reads_layout(order[i]) && read_as_given(context, order[i]));
      *out_changed |= is_changed;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_layout_assignment_pass = {"layout-assignment", "a value is made in the layout that is wanted of it",
                                            run_layout_assignment, false};
