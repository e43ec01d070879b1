#include "hlo/analysis/hlo_alias.h"

#include "base/checked_math.h"
#include "hlo/analysis/in_place.h"

/* --- the entry's leaves --- */

static void list_leaves(Arena *arena, const HloInstruction *instruction, BufferPosition *list, int32_t *count) {
  ShapeNodesCache cache;
  shape_nodes_init(&cache, arena);
  const ShapeNodes *nodes = shape_nodes(&cache, instruction->shape);
  for (int32_t node = 0; node < nodes->count; node++) {
    if (!shape_is_tuple(nodes->shapes[node])) list[(*count)++] = (BufferPosition){instruction, node};
  }
}

static int32_t find_leaf(const BufferPosition *list, int32_t count, const HloInstruction *instruction, int node) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i].instruction == instruction && list[i].node == node) return i;
  }
  return -1;
}

/* Pairs whose sizes differ are dropped: the verifier's business. */
static void match_aliases(const HloModule *module, const HloEntryLeaves *leaves, int32_t *donated_to,
                          int32_t *given_by) {
  const HloInstruction *root = module->entry->root;
  for (int64_t i = 0; i < module->aliases.count; i++) {
    const InputOutputAlias *alias = &module->aliases.data[i];
    const HloInstruction *parameter = hlo_computation_parameter(module->entry, alias->parameter);
    if (!parameter) continue;
    int node = shape_node_from_index(root->shape, alias->output);
    int parameter_node = shape_node_from_index(parameter->shape, alias->parameter_index);
    int32_t result = find_leaf(leaves->results, leaves->result_count, root, node);
    int32_t given = find_leaf(leaves->parameters, leaves->parameter_count, parameter, parameter_node);
    if (result < 0 || given < 0 || given_by[result] >= 0 || donated_to[given] >= 0) continue;
    const Shape *to = shape_node(root->shape, node), *from = shape_node(parameter->shape, parameter_node);
    if (!shape_is_array(to) || !shape_is_array(from) || shape_byte_size(to) != shape_byte_size(from)) continue;
    if (to->layout.memory_space != from->layout.memory_space) continue;
    given_by[result] = given;
    donated_to[given] = result;
  }
}

HloEntryLeaves hlo_entry_leaves(Arena *arena, const HloModule *module) {
  const HloComputation *entry = module->entry;
  int32_t parameter_room = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++)
    parameter_room += shape_node_count(entry->parameters.data[i]->shape);
  BufferPosition *parameters = ARENA_NEW_ARRAY(arena, BufferPosition, parameter_room + 1);
  BufferPosition *results = ARENA_NEW_ARRAY(arena, BufferPosition, shape_node_count(entry->root->shape) + 1);
  HloEntryLeaves leaves = {.parameters = parameters, .results = results};
  for (int64_t i = 0; i < entry->parameters.count; i++)
    list_leaves(arena, entry->parameters.data[i], parameters, &leaves.parameter_count);
  list_leaves(arena, entry->root, results, &leaves.result_count);
  leaves.first_prepared = leaves.result_count - (int32_t)module->prepared_count;
  int32_t *donated_to = ARENA_NEW_ARRAY(arena, int32_t, leaves.parameter_count + 1);
  int32_t *given_by = ARENA_NEW_ARRAY(arena, int32_t, leaves.result_count + 1);
  for (int32_t i = 0; i < leaves.parameter_count; i++) donated_to[i] = -1;
  for (int32_t i = 0; i < leaves.result_count; i++) given_by[i] = -1;
  match_aliases(module, &leaves, donated_to, given_by);
  leaves.donated_to = donated_to;
  leaves.given_by = given_by;
  return leaves;
}

/* --- sets --- */

int32_t hlo_alias_set(HloAlias *alias, int32_t value) {
  while (alias->parents[value] != value) value = alias->parents[value] = alias->parents[alias->parents[value]];
  return value;
}

bool hlo_alias_is_overwritten_by(const HloAlias *alias, int32_t earlier, int32_t later) {
  const HloValue *value = &alias->flow->values[earlier], *result = &alias->flow->values[later];
  const HloInstruction *maker = result->definition.instruction;
  bool reads = false;
  if (result->is_phi || maker->opcode == HLO_PARAMETER) return false;
  for (int32_t i = 0; i < value->use_count; i++) {
    const BufferUse *use = &value->uses[i];
    if (use->user != maker) continue;
    if (!hlo_may_share_operand(maker, use->operand, use->node, result->definition.node, alias->arena)) return false;
    reads = true;
  }
  return reads;
}

/* Of ranges; |earlier| starts no later than |later|. */
static bool follows(const HloAlias *alias, int32_t earlier, int32_t later) {
  const LiveRange *a = &alias->liveness->ranges[earlier], *b = &alias->liveness->ranges[later];
  if (a->to < b->from) return true;
  int32_t value_a = alias->liveness->values[earlier], value_b = alias->liveness->values[later];
  if (alias->flow->values[value_a].size == 0 || alias->flow->values[value_b].size == 0) return true;
  bool begins = later == alias->liveness->first_ranges[value_b];
  return a->from < b->from && a->to == b->from && begins && hlo_alias_is_overwritten_by(alias, value_a, value_b);
}

/* The first of |set|'s ranges that starts after |from|. */
static int32_t first_behind(const HloAlias *alias, const HloAliasSet *set, int64_t from) {
  int32_t low = 0, high = set->count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (alias->liveness->ranges[set->ranges[middle]].from <= from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool refuse_overlap(const HloAlias *alias, int32_t earlier, int32_t later, AliasRefusal *out_refusal) {
  *out_refusal = (AliasRefusal){ALIAS_OVERLAP, alias->liveness->values[earlier], alias->liveness->values[later]};
  return false;
}

static bool ranges_fit(const HloAlias *alias, const HloAliasSet *large, const HloAliasSet *small,
                       AliasRefusal *out_refusal) {
  for (int32_t i = 0; i < small->count; i++) {
    int32_t range = small->ranges[i], next = first_behind(alias, large, alias->liveness->ranges[range].from);
    if (next > 0 && !follows(alias, large->ranges[next - 1], range))
      return refuse_overlap(alias, large->ranges[next - 1], range, out_refusal);
    if (next < large->count && !follows(alias, range, large->ranges[next]))
      return refuse_overlap(alias, range, large->ranges[next], out_refusal);
  }
  return true;
}

/* After the last place that changes nothing is touched, so appending in order of time is cheap. */
static void insert_ranges(HloAlias *alias, HloAliasSet *large, const HloAliasSet *small) {
  const LiveRange *ranges = alias->liveness->ranges;
  int32_t total = large->count + small->count;
  if (total > large->capacity) {
    large->capacity = total > 2 * large->capacity ? total : 2 * large->capacity;
    int32_t *grown = ARENA_NEW_ARRAY(alias->arena, int32_t, large->capacity);
    memcpy(grown, large->ranges, (size_t)large->count * sizeof(int32_t));
    large->ranges = grown;
  }
  int32_t i = large->count - 1, at = total - 1;
  for (int32_t j = small->count - 1; j >= 0; at--) {
    bool takes_large = i >= 0 && ranges[large->ranges[i]].from > ranges[small->ranges[j]].from;
    large->ranges[at] = takes_large ? large->ranges[i--] : small->ranges[j--];
  }
  large->count = total;
}

int32_t hlo_alias_first_value(const HloAlias *alias, const HloAliasSet *set) {
  return alias->liveness->values[set->ranges[0]];
}

static bool homes_agree(const HloAlias *alias, const HloAliasSet *a, const HloAliasSet *b) {
  int32_t parameter = (int32_t)max_i64(a->parameter, b->parameter), result = (int32_t)max_i64(a->result, b->result);
  if (a->parameter >= 0 && b->parameter >= 0) return false;
  if (a->result >= 0 && b->result >= 0) return false;
  if (parameter < 0) return true;
  int32_t home = alias->leaves.donated_to[parameter];
  if (result >= 0 && home != result) return false;
  const BufferPosition *given = &alias->leaves.parameters[parameter];
  int32_t value = hlo_dataflow_value(alias->flow, given->instruction, given->node);
  return max_i64(a->size, b->size) <= alias->flow->values[value].size;
}

static const Shape *shape_seen(const HloAlias *alias, const HloInstruction *instruction, int32_t node) {
  return shape_nodes(alias->flow->shapes, instruction->shape)->shapes[node];
}

/* The caller aligns a result for its own elements.  A bitcast shows larger ones as such. */
static bool fits_result(const HloAlias *alias, const HloAliasSet *set, int32_t result) {
  const BufferPosition *leaf = &alias->leaves.results[result];
  return set->alignment <= type_alignment(shape_seen(alias, leaf->instruction, leaf->node)->type);
}

static AliasRefusal may_unite(HloAlias *alias, int32_t a, int32_t b, const HloAliasSet *set_a,
                              const HloAliasSet *set_b) {
  AliasRefusal refusal = {ALIAS_GRANTED, a, b};
  if (set_a->is_read_only || set_b->is_read_only) {
    return (AliasRefusal){ALIAS_READ_ONLY, hlo_alias_first_value(alias, set_a->is_read_only ? set_a : set_b), b};
  }
  if (set_a->colour != set_b->colour) return (AliasRefusal){ALIAS_LAYOUT, a, b};
  if (!homes_agree(alias, set_a, set_b)) return (AliasRefusal){ALIAS_TWO_HOMES, a, b};
  int32_t result = (int32_t)max_i64(set_a->result, set_b->result);
  if (result >= 0 && !(fits_result(alias, set_a, result) && fits_result(alias, set_b, result)))
    return (AliasRefusal){ALIAS_ALIGNMENT, a, b};
  const HloAliasSet *large = set_a->count >= set_b->count ? set_a : set_b;
  ranges_fit(alias, large, large == set_a ? set_b : set_a, &refusal);
  return refusal;
}

AliasRefusal hlo_alias_unite(HloAlias *alias, int32_t a, int32_t b) {
  int32_t root_a = hlo_alias_set(alias, a), root_b = hlo_alias_set(alias, b);
  if (root_a == root_b) return (AliasRefusal){ALIAS_GRANTED, a, b};
  HloAliasSet *set_a = &alias->sets[root_a], *set_b = &alias->sets[root_b];
  AliasRefusal refusal = may_unite(alias, a, b, set_a, set_b);
  if (refusal.kind != ALIAS_GRANTED) return refusal;
  bool a_stays = set_a->count >= set_b->count;
  HloAliasSet *large = a_stays ? set_a : set_b, *small = a_stays ? set_b : set_a;
  alias->parents[a_stays ? root_b : root_a] = a_stays ? root_a : root_b;
  insert_ranges(alias, large, small);
  large->parameter = (int32_t)max_i64(large->parameter, small->parameter);
  large->result = (int32_t)max_i64(large->result, small->result);
  large->size = max_i64(large->size, small->size);
  large->alignment = max_i64(large->alignment, small->alignment);
  return refusal;
}

AliasRefusal hlo_alias_refusal_to_unite(HloAlias *alias, int32_t a, int32_t b) {
  int32_t root_a = hlo_alias_set(alias, a), root_b = hlo_alias_set(alias, b);
  if (root_a == root_b) return (AliasRefusal){ALIAS_GRANTED, a, b};
  return may_unite(alias, a, b, &alias->sets[root_a], &alias->sets[root_b]);
}

bool hlo_alias_overlaps(HloAlias *alias, int32_t value, int32_t other, AliasRefusal *out_refusal) {
  int32_t first = alias->liveness->first_ranges[value], count = alias->liveness->first_ranges[value + 1] - first;
  HloAliasSet alone = {.count = count, .ranges = ARENA_NEW_ARRAY(alias->arena, int32_t, count)};
  for (int32_t i = 0; i < count; i++) alone.ranges[i] = first + i;
  return !ranges_fit(alias, &alias->sets[hlo_alias_set(alias, other)], &alone, out_refusal);
}

/* --- edges --- */

static void add_conflict(HloAlias *alias, AliasEdge edge, HloInstruction *site, int32_t index, int32_t node,
                         bool is_move, AliasRefusal refusal) {
  is_move |= refusal.kind == ALIAS_READ_ONLY || refusal.kind == ALIAS_LAYOUT;
  array_push(&alias->conflicts, alias->arena, ((AliasConflict){edge, site, index, node, 0, is_move, refusal}));
}

/* Whether an edge was granted, which is then remembered. */
static bool join(HloAlias *alias, AliasEdge edge, const HloInstruction *site, int32_t index, int32_t node,
                 AliasRefusal refusal) {
  if (refusal.kind != ALIAS_GRANTED) return false;
  if (refusal.a >= 0 && refusal.b >= 0)
    array_push(&alias->joins, alias->arena, ((AliasJoin){edge, site, index, node, refusal.a, refusal.b}));
  return true;
}

/* Bytes change their meaning between differently laid out shapes. */
static AliasRefusal unite_alike(HloAlias *alias, int32_t a, const Shape *shape_a, int32_t b, const Shape *shape_b) {
  bool alike = shape_a == shape_b || shape_a->rank != shape_b->rank;
  if (!alike) {
    alike = true;
    for (int i = 0; i < shape_a->rank; i++)
      alike &= shape_a->layout.minor_to_major[i] == shape_b->layout.minor_to_major[i];
    alike |= hlo_same_element_order(shape_a, shape_b);
  }
  return alike ? hlo_alias_unite(alias, a, b) : (AliasRefusal){ALIAS_LAYOUT, a, b};
}

static AliasRefusal unite_positions(HloAlias *alias, const HloInstruction *a, int32_t node_a, const HloInstruction *b,
                                    int32_t node_b) {
  int32_t value_a = hlo_dataflow_value(alias->flow, a, node_a), value_b = hlo_dataflow_value(alias->flow, b, node_b);
  if (value_a < 0 || value_b < 0) return (AliasRefusal){ALIAS_GRANTED, value_a, value_b};
  return unite_alike(alias, value_a, shape_seen(alias, a, node_a), value_b, shape_seen(alias, b, node_b));
}

static void unite_in_place(HloAlias *alias, HloInstruction *instruction) {
  InPlacePairs pairs = hlo_in_place_pairs(instruction, alias->arena);
  for (int i = 0; i < pairs.count; i++) {
    const InPlacePair *pair = &pairs.pairs[i];
    AliasRefusal refusal = unite_positions(alias, instruction->operands[pair->operand], pair->operand_node, instruction,
                                           pair->result_node);
    if (join(alias, ALIAS_IN_PLACE, instruction, pair->operand, pair->operand_node, refusal)) continue;
    add_conflict(alias, ALIAS_IN_PLACE, instruction, pair->operand, pair->operand_node, false, refusal);
    array_last(&alias->conflicts).result_node = pair->result_node;
  }
}

static bool comes_from_outside(const HloAlias *alias, const HloInstruction *root, int32_t node) {
  const HloInstruction *maker = alias->flow->values[hlo_dataflow_value(alias->flow, root, node)].definition.instruction;
  return maker->opcode == HLO_PARAMETER || call_graph_ancestor(alias->flow->graph, maker, root->parent) == NULL;
}

/* Another node of |instruction| before |node| shows the same value. */
static bool is_second_mention(const HloAlias *alias, const HloInstruction *instruction, int32_t node) {
  int32_t value = hlo_dataflow_value(alias->flow, instruction, node);
  const HloValue *seen = &alias->flow->values[value];
  for (int32_t i = 0; i < seen->position_count; i++) {
    if (seen->positions[i].instruction == instruction && seen->positions[i].node < node) return true;
  }
  return false;
}

/* What no copy can part: nothing else is united yet. */
static void unite_loop_state(HloAlias *alias, HloInstruction *loop) {
  const HloInstruction *tested = call_graph_callee(loop, 0)->parameters.data[0];
  const HloInstruction *given = call_graph_callee(loop, 1)->parameters.data[0];
  int32_t count = shape_nodes(alias->flow->shapes, loop->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    if (!hlo_dataflow_is_carried(alias->flow, loop, node)) continue;
    AliasRefusal refusal = unite_positions(alias, given, node, tested, node);
    if (join(alias, ALIAS_LOOP_STATE, loop, 0, node, refusal))
      refusal = unite_positions(alias, given, node, loop, node);
    if (!join(alias, ALIAS_LOOP_STATE, loop, 1, node, refusal))
      add_conflict(alias, ALIAS_LOOP_STATE, loop, 0, node, false, refusal);
  }
}

static void unite_loop_leaf(HloAlias *alias, HloInstruction *loop, int32_t node) {
  const HloComputation *body = call_graph_callee(loop, 1);
  const HloInstruction *given = body->parameters.data[0];
  AliasRefusal refusal = unite_positions(alias, body->root, node, given, node);
  if (!join(alias, ALIAS_LOOP_RESULT, loop, 0, node, refusal)) {
    bool is_move = comes_from_outside(alias, body->root, node) || is_second_mention(alias, body->root, node);
    add_conflict(alias, ALIAS_LOOP_RESULT, loop, 0, node, is_move, refusal);
  }
}

static void unite_loop(HloAlias *alias, HloInstruction *loop) {
  int32_t count = shape_nodes(alias->flow->shapes, loop->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    if (hlo_dataflow_is_carried(alias->flow, loop, node)) unite_loop_leaf(alias, loop, node);
  }
  for (int32_t node = 0; node < count; node++) {
    if (!hlo_dataflow_is_carried(alias->flow, loop, node)) continue;
    AliasRefusal refusal =
        unite_positions(alias, loop->operands[0], node, call_graph_callee(loop, 1)->parameters.data[0], node);
    if (join(alias, ALIAS_LOOP_INIT, loop, 0, node, refusal)) continue;
    add_conflict(alias, ALIAS_LOOP_INIT, loop, 0, node, is_second_mention(alias, loop->operands[0], node), refusal);
  }
}

static void unite_conditional(HloAlias *alias, HloInstruction *conditional) {
  int32_t count = shape_nodes(alias->flow->shapes, conditional->shape)->count;
  for (int j = 0; j < call_graph_callee_count(conditional); j++) {
    const HloInstruction *root = call_graph_callee(conditional, j)->root;
    for (int32_t node = 0; node < count; node++) {
      int32_t value = hlo_dataflow_value(alias->flow, conditional, node);
      if (value < 0 || alias->flow->values[value].definition.instruction != conditional) continue;
      AliasRefusal refusal = unite_positions(alias, root, node, conditional, node);
      if (join(alias, ALIAS_BRANCH, conditional, j, node, refusal)) continue;
      bool is_move = comes_from_outside(alias, root, node) || is_second_mention(alias, root, node);
      add_conflict(alias, ALIAS_BRANCH, conditional, j, node, is_move, refusal);
    }
  }
}

/* --- the caller's memory --- */

static void mark_parameters(HloAlias *alias) {
  for (int32_t leaf = 0; leaf < alias->leaves.parameter_count; leaf++) {
    const BufferPosition *position = &alias->leaves.parameters[leaf];
    int32_t value = hlo_dataflow_value(alias->flow, position->instruction, position->node);
    if (value < 0) continue;
    alias->sets[value].parameter = leaf;
    alias->sets[value].is_read_only = alias->leaves.donated_to[leaf] < 0;
  }
}

static void mark_results(HloAlias *alias) {
  for (int32_t leaf = 0; leaf < alias->leaves.result_count; leaf++) {
    const BufferPosition *position = &alias->leaves.results[leaf];
    int32_t value = hlo_dataflow_value(alias->flow, position->instruction, position->node);
    if (value < 0) continue;
    HloAliasSet *set = &alias->sets[hlo_alias_set(alias, value)];
    AliasRefusal refusal = {ALIAS_GRANTED, value, value};
    if (set->is_read_only) {
      refusal.kind = ALIAS_READ_ONLY;
    } else if (set->result >= 0 || (set->parameter >= 0 && alias->leaves.donated_to[set->parameter] != leaf)) {
      refusal.kind = ALIAS_TWO_HOMES;
    } else if (!fits_result(alias, set, leaf)) {
      refusal.kind = ALIAS_ALIGNMENT;
    }
    if (refusal.kind != ALIAS_GRANTED) {
      add_conflict(alias, ALIAS_RESULT, NULL, 0, position->node, true, refusal);
      continue;
    }
    set->result = leaf;
    if (alias->leaves.given_by[leaf] < 0) continue;
    const BufferPosition *given = &alias->leaves.parameters[alias->leaves.given_by[leaf]];
    /* One value after the other in the same bytes: their layouts may differ. */
    refusal = hlo_alias_unite(alias, hlo_dataflow_value(alias->flow, given->instruction, given->node), value);
    if (join(alias, ALIAS_DONATION, NULL, 0, position->node, refusal)) continue;
    set->result = -1;
    add_conflict(alias, ALIAS_DONATION, NULL, 0, position->node,
                 comes_from_outside(alias, position->instruction, position->node), refusal);
  }
}

/* --- building --- */

static void init_sets(HloAlias *alias) {
  int32_t count = alias->flow->value_count;
  alias->parents = ARENA_NEW_ARRAY(alias->arena, int32_t, count + 1);
  alias->sets = ARENA_NEW_ARRAY(alias->arena, HloAliasSet, count + 1);
  int32_t *numbers = ARENA_NEW_ARRAY(alias->arena, int32_t, alias->liveness->range_count + 1);
  for (int32_t i = 0; i < alias->liveness->range_count; i++) numbers[i] = i;
  for (int32_t i = 0; i < count; i++) {
    const HloValue *value = &alias->flow->values[i];
    const Shape *shape = shape_seen(alias, value->definition.instruction, value->definition.node);
    int32_t first = alias->liveness->first_ranges[i], ranges = alias->liveness->first_ranges[i + 1] - first;
    alias->parents[i] = i;
    alias->sets[i] = (HloAliasSet){.count = ranges,
                                   .capacity = ranges,
                                   .ranges = &numbers[first],
                                   .is_read_only = value->definition.instruction->opcode == HLO_CONSTANT,
                                   .parameter = -1,
                                   .result = -1,
                                   .size = value->size,
                                   .colour = shape->layout.memory_space,
                                   .alignment = type_alignment(shape->type)};
  }
}

/* Loop state and donations first, for they have no alternative; then inner computations before outer ones, since what
 * happens in loops costs most. */
HloAlias *hlo_alias_build(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering,
                          const HloLiveness *liveness) {
  const CallGraph *graph = dataflow->graph;
  HloAlias *alias = ARENA_NEW(arena, HloAlias);
  alias->arena = arena;
  alias->flow = dataflow;
  alias->ordering = ordering;
  alias->liveness = liveness;
  alias->leaves = hlo_entry_leaves(arena, graph->module);
  init_sets(alias);
  for (int64_t i = 0; i < ordering->length; i++) {
    if (ordering->schedule[i]->opcode == HLO_WHILE) unite_loop_state(alias, ordering->schedule[i]);
  }
  mark_parameters(alias);
  mark_results(alias);
  for (int32_t c = 0; c < graph->sequential_count; c++) {
    const HloSequence *sequence = &dataflow->sequences[graph->sequential[c]->id];
    for (int64_t i = 0; i < sequence->count; i++) {
      HloInstruction *instruction = sequence->instructions[i];
      unite_in_place(alias, instruction);
      if (instruction->opcode == HLO_WHILE) unite_loop(alias, instruction);
      if (instruction->opcode == HLO_CONDITIONAL) unite_conditional(alias, instruction);
    }
  }
  return alias;
}

/* --- words --- */

const char *hlo_alias_value_name(const HloAlias *alias, int32_t value, Arena *arena) {
  const BufferPosition *at = &alias->flow->values[value].definition;
  if (!shape_is_tuple(at->instruction->shape)) return arena_printf(arena, "'%.*s'", SV_ARG(at->instruction->name));
  StringBuilder text;
  int64_t path[64];
  sb_init(&text, arena);
  sb_printf(&text, "'%.*s{", SV_ARG(at->instruction->name));
  int depth = shape_depth(at->instruction->shape) < 64 ? shape_node_path(at->instruction->shape, at->node, path) : 0;
  for (int i = 0; i < depth; i++) sb_printf(&text, "%s%lld", i ? "," : "", (long long)path[i]);
  sb_append_cstring(&text, "}'");
  return text.data;
}

/* What keeps |earlier| alive at the time of |later|: a reader there or later, or NULL when control flow alone does. */
static const HloInstruction *late_reader(const HloAlias *alias, int32_t earlier, int32_t later) {
  const HloValue *value = &alias->flow->values[earlier];
  const HloInstruction *latest = NULL;
  for (int32_t i = 0; i < value->use_count; i++) {
    const HloInstruction *user = value->uses[i].user;
    if (4 * (int64_t)alias->ordering->times[user->id] < alias->liveness->hulls[later].from) continue;
    if (!latest || alias->ordering->times[user->id] > alias->ordering->times[latest->id]) latest = user;
  }
  return latest;
}

const char *hlo_alias_refusal_text(const HloAlias *alias, AliasRefusal refusal, Arena *arena) {
  const char *a = hlo_alias_value_name(alias, refusal.a, arena), *b = hlo_alias_value_name(alias, refusal.b, arena);
  switch (refusal.kind) {
    case ALIAS_GRANTED: return "nothing stands against it";
    case ALIAS_READ_ONLY: {
      bool constant = alias->flow->values[refusal.a].definition.instruction->opcode == HLO_CONSTANT;
      return arena_printf(arena, constant ? "%s is a constant" : "%s is the caller's and not donated", a);
    }
    case ALIAS_LAYOUT: return arena_printf(arena, "%s and %s differ in layout or memory space", a, b);
    case ALIAS_TWO_HOMES: return arena_printf(arena, "%s has a place in the caller's memory already", a);
    case ALIAS_ALIGNMENT: return arena_printf(arena, "%s or %s has larger elements than the result", a, b);
    case ALIAS_OVERLAP: break;
  }
  const HloInstruction *reader = late_reader(alias, refusal.a, refusal.b);
  const HloInstruction *writer = alias->flow->values[refusal.b].definition.instruction;
  if (alias->flow->values[refusal.b].is_phi) return arena_printf(arena, "%s and %s hold values at the same time", a, b);
  if (!reader) return arena_printf(arena, "%s is still needed when %s is written", a, b);
  if (reader == writer) return arena_printf(arena, "'%.*s' reads %s while it writes %s", SV_ARG(reader->name), a, b);
  return arena_printf(arena, "%s is still read by '%.*s' when %s is written", a, SV_ARG(reader->name), b);
}
