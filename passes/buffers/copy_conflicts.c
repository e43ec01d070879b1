/* Where values that must share memory are alive at once: the copies that part them. */
#include "base/array.h"
#include "passes/buffers/copy_insertion.h"

/* Conflicts of one place: the leaves of one tree of values that get copies. */
typedef struct Place {
  AliasEdge edge;
  HloInstruction *site;
  int32_t index;
} Place;

typedef struct Copier {
  HloModule *module;
  const BufferAnalysis *analysis;
  Arena *scratch;
  ShapeNodesCache shapes;
  bool *wanted;              /* by node of the tree at hand */
  const Shape *const *forms; /* by node: the shape its copy must have */
  bool *touched;             /* by computation id */
  IntMap resolved;           /* results that this round has dealt with for good */
  int64_t copies;
} Copier;

/* --- trees of values --- */

/* By index: the first get-tuple-element of |tuple|, NULL where there is none. */
static HloInstruction **existing_elements(const HloInstruction *tuple, Arena *scratch) {
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, tuple->shape->tuple_size + 1);
  for (int i = 0; i < tuple->user_count; i++) {
    HloInstruction *user = tuple->users[i];
    if (user->opcode != HLO_GET_TUPLE_ELEMENT) continue;
    HloInstruction **element = &elements[hlo_instruction_int(user, HLO_ATTR_INDEX, -1)];
    if (*element == NULL) *element = user;
  }
  return elements;
}

static HloInstruction *new_element(HloInstruction *tuple, int64_t index) {
  HloInstruction *element =
      hlo_computation_add(tuple->parent, HLO_GET_TUPLE_ELEMENT, tuple->shape->tuple[index], &tuple, 1, (StringView){0});
  hlo_instruction_set_int(element, HLO_ATTR_INDEX, index);
  const HloAttr *metadata =
      hlo_instruction_attr(tuple, HLO_ATTR_METADATA); /* not the sharding, which is the whole tuple's */
  if (metadata) hlo_instruction_set_attr(element, metadata);
  return element;
}

static HloInstruction *copy_of(Copier *copier, HloInstruction *value, const Shape *shape) {
  HloInstruction *copy = hlo_computation_add(value->parent, HLO_COPY, shape, &value, 1, (StringView){0});
  hlo_instruction_inherit_metadata(copy, value);
  copier->copies++;
  copier->touched[value->parent->id] = true;
  return copy;
}

static bool any_wanted(const Copier *copier, int32_t node, int32_t size) {
  bool any = false;
  for (int32_t i = node; i < node + size && !any; i++) any = copier->wanted[i];
  return any;
}

/* |tree|, which is the subtree at |node|, with copies of the wanted leaves in it. */
static HloInstruction *with_copies(Copier *copier, HloInstruction *tree, int32_t node) {
  const ShapeNodes *nodes = shape_nodes(&copier->shapes, tree->shape);
  if (!any_wanted(copier, node, nodes->count)) return tree;
  if (!shape_is_tuple(tree->shape)) return copy_of(copier, tree, copier->forms ? copier->forms[node] : tree->shape);
  HloInstruction **elements = ARENA_NEW_ARRAY(copier->scratch, HloInstruction *, nodes->child_count + 1);
  const Shape **shapes = ARENA_NEW_ARRAY(copier->scratch, const Shape *, nodes->child_count + 1);
  HloInstruction **existing = tree->opcode == HLO_TUPLE ? tree->operands : existing_elements(tree, copier->scratch);
  for (int32_t i = 0; i < nodes->child_count; i++) {
    HloInstruction *element = existing[i] ? existing[i] : new_element(tree, i);
    elements[i] = with_copies(copier, element, node + nodes->children[i]);
    shapes[i] = elements[i]->shape;
  }
  const Shape *shape = shape_tuple(copier->module->shapes, shapes, nodes->child_count);
  HloInstruction *tuple =
      hlo_computation_add(tree->parent, HLO_TUPLE, shape, elements, nodes->child_count, (StringView){0});
  hlo_instruction_inherit_metadata(tuple, tree);
  return tuple;
}

/* The same for an instruction that makes its elements itself: existing get-tuple-elements are readers and stay out of
 * it. */
static HloInstruction *with_new_elements(Copier *copier, HloInstruction *tree) {
  if (!shape_is_tuple(tree->shape)) return with_copies(copier, tree, 0);
  const ShapeNodes *nodes = shape_nodes(&copier->shapes, tree->shape);
  HloInstruction **elements = ARENA_NEW_ARRAY(copier->scratch, HloInstruction *, nodes->child_count + 1);
  for (int32_t i = 0; i < nodes->child_count; i++)
    elements[i] = with_copies(copier, new_element(tree, i), nodes->children[i]);
  HloInstruction *tuple =
      hlo_computation_add(tree->parent, HLO_TUPLE, tree->shape, elements, nodes->child_count, (StringView){0});
  hlo_instruction_inherit_metadata(tuple, tree);
  return tuple;
}

/* --- places --- */

static HloComputation *root_place(const Copier *copier, const Place *place) {
  switch (place->edge) {
    case ALIAS_LOOP_RESULT: return call_graph_callee(place->site, 1);
    case ALIAS_BRANCH: return call_graph_callee(place->site, place->index);
    case ALIAS_DONATION:
    case ALIAS_RESULT: return copier->module->entry;
    default: return NULL;
  }
}

static HloInstruction *tree_at(const Copier *copier, const Place *place) {
  const HloComputation *computation = root_place(copier, place);
  return computation ? computation->root : place->site->operands[place->index];
}

/* What the place hands its values to: copies take those layouts. */
static const Shape *form_at(const Copier *copier, const Place *place) {
  switch (place->edge) {
    case ALIAS_LOOP_INIT:
    case ALIAS_LOOP_RESULT: return call_graph_callee(place->site, 1)->parameters.data[0]->shape;
    case ALIAS_BRANCH: return place->site->shape;
    default: return tree_at(copier, place)->shape;
  }
}

static void remove_unused_tree(HloInstruction *tree) {
  if (!hlo_opcode_has(tree->opcode, OP_TUPLES) || tree->user_count > 0 || hlo_instruction_is_root(tree)) return;
  hlo_computation_remove(tree->parent, tree, false);
}

/* --- schedules --- */

typedef struct Visit {
  HloInstruction *instruction;
  int64_t next;
} Visit;

/* Puts what was added to the end of a schedule in front of its first reader; the rest stays at the end. */
static void restore_schedule(Copier *copier, HloComputation *computation) {
  int64_t count = computation->instructions.count, filled = 0;
  HloInstruction **order = ARENA_NEW_ARRAY(copier->scratch, HloInstruction *, count + 1);
  bool *placed = ARENA_NEW_ARRAY(copier->scratch, bool, copier->module->next_instruction_id + 1);
  ARRAY(Visit) stack = {0};
  for (int64_t i = 0; i < count; i++) {
    if (placed[computation->instructions.data[i]->id]) continue;
    array_push(&stack, copier->scratch, ((Visit){computation->instructions.data[i], 0}));
    while (stack.count > 0) {
      Visit *visit = &array_last(&stack);
      if (placed[visit->instruction->id] || visit->next == visit->instruction->operand_count) {
        if (!placed[visit->instruction->id]) order[filled++] = visit->instruction;
        placed[visit->instruction->id] = true;
        stack.count--;
        continue;
      }
      HloInstruction *operand = visit->instruction->operands[visit->next++];
      if (!placed[operand->id]) array_push(&stack, copier->scratch, ((Visit){operand, 0}));
    }
  }
  hlo_computation_set_order(computation, order, filled);
}

/* --- when one copy is not enough --- */

/* What stands at |node| of |tree|, as far as tuples show it; NULL beyond anything else. */
static HloInstruction *leaf_at(Copier *copier, HloInstruction *tree, int32_t node) {
  while (node > 0) {
    if (tree->opcode != HLO_TUPLE) return NULL;
    const ShapeNodes *nodes = shape_nodes(&copier->shapes, tree->shape);
    int32_t element = 0, end = nodes->child_count; /* the last child at |node| or before it */
    while (element + 1 < end) {
      int32_t middle = element + (end - element) / 2;
      if (nodes->children[middle] <= node) {
        element = middle;
      } else {
        end = middle;
      }
    }
    tree = tree->operands[element];
    node -= nodes->children[element];
  }
  return tree;
}

/* So many copies in a row exchange parts of a loop's state whatever else reads them, if the last waits for everything.
 */
enum { EXCHANGE_COPIES = 3 };

static bool is_read_twice(const HloInstruction *instruction) {
  if (instruction->user_count != 1) return instruction->user_count > 1;
  return hlo_instruction_next_use(instruction->users[0], hlo_instruction_first_use(instruction, 0)) >= 0;
}

/* Copies one after the other, up to and including |leaf|, that nothing else reads. */
static int chain_of(const HloInstruction *leaf) {
  int count = 0;
  for (; leaf && leaf->opcode == HLO_COPY && !is_read_twice(leaf); leaf = leaf->operands[0]) count++;
  return count;
}

static int copies_at(Copier *copier, const Place *place, int32_t node) {
  return chain_of(leaf_at(copier, tree_at(copier, place), node));
}

/* |last| runs after everything else in its computation but other copies of copies of copies, which wait as well. */
static void wait_for_all(Copier *copier, HloComputation *computation, HloInstruction *last) {
  ARRAY(HloInstruction *) others = {0};
  int32_t count = shape_nodes(&copier->shapes, computation->root->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    HloInstruction *leaf = leaf_at(copier, computation->root, node);
    if (!leaf || leaf->opcode == HLO_TUPLE || leaf->opcode == HLO_PARAMETER || leaf == last) continue;
    while (chain_of(leaf) >= EXCHANGE_COPIES) leaf = leaf->operands[0];
    array_push(&others, copier->module->arena, leaf);
  }
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->user_count > 0 || instruction == computation->root || instruction->opcode == HLO_PARAMETER)
      continue;
    array_push(&others, copier->module->arena, instruction);
  }
  HloAttr attr = {.id = HLO_ATTR_CONTROL_PREDECESSORS};
  attr.value.instructions.data = ARENA_NEW_ARRAY(copier->module->arena, HloInstruction *, others.count);
  for (int64_t i = 0; i < others.count; i++) {
    bool is_new = others.data[i] != last;
    for (int64_t k = 0; k < attr.value.instructions.count; k++)
      is_new &= attr.value.instructions.data[k] != others.data[i];
    if (is_new) attr.value.instructions.data[attr.value.instructions.count++] = others.data[i];
  }
  if (attr.value.instructions.count > 0) hlo_instruction_set_attr(last, &attr);
}

/* Every reader of leaf |node| of |instruction| reads a copy of it, so that the leaf shares memory with what makes it
 * and with nothing after it. */
static void isolate(Copier *copier, HloInstruction *instruction, int32_t node) {
  int count = instruction->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(copier->scratch, HloInstruction *, instruction->users, count);
  bool is_root = hlo_instruction_is_root(instruction);
  copier->wanted = ARENA_NEW_ARRAY(copier->scratch, bool, shape_nodes(&copier->shapes, instruction->shape)->count + 1);
  copier->forms = NULL;
  copier->wanted[node] = true;
  HloInstruction *copied = with_new_elements(copier, instruction);
  for (int i = 0; i < count; i++) hlo_instruction_replace_use(instruction, users[i], copied);
  if (is_root) hlo_computation_set_root(instruction->parent, copied);
}

static void copy_at(Copier *copier, const Place *place, const int32_t *nodes, int64_t count) {
  HloInstruction *tree = tree_at(copier, place);
  const ShapeNodes *form = shape_nodes(&copier->shapes, form_at(copier, place));
  copier->wanted = ARENA_NEW_ARRAY(copier->scratch, bool, shape_nodes(&copier->shapes, tree->shape)->count + 1);
  copier->forms = form->shapes;
  for (int64_t i = 0; i < count; i++) copier->wanted[nodes[i]] = true;
  copier->touched[tree->parent->id] = true;
  HloInstruction *copied = with_copies(copier, tree, 0);
  HloComputation *computation = root_place(copier, place);
  if (computation) {
    hlo_computation_set_root(computation, copied);
  } else {
    hlo_instruction_replace_operand(place->site, place->index, copied);
  }
  remove_unused_tree(tree);
  for (int64_t i = 0; i < count && computation; i++) {
    HloInstruction *leaf = leaf_at(copier, copied, nodes[i]);
    if (chain_of(leaf) >= EXCHANGE_COPIES) wait_for_all(copier, computation, leaf);
  }
}

/* Loops may need two copies in a row to exchange parts of their state; elsewhere a second one is of no use. */
static bool resolve_otherwise(Copier *copier, const AliasConflict *conflict) {
  Place place = {conflict->edge, conflict->site, conflict->index};
  bool is_loop =
      conflict->edge == ALIAS_LOOP_RESULT || conflict->edge == ALIAS_DONATION || conflict->edge == ALIAS_RESULT;
  bool any = false;
  int64_t ignored;
  if (conflict->site == NULL) return false;
  int32_t result = conflict->edge == ALIAS_IN_PLACE ? conflict->result_node : conflict->node;
  uint64_t key = hash_combine((uint64_t)conflict->site->id, (uint64_t)result);
  if (int_map_find(&copier->resolved, key, &ignored)) return true;
  if (copies_at(copier, &place, conflict->node) < (is_loop ? EXCHANGE_COPIES : 1)) return false;
  int_map_set(&copier->resolved, key, 1);
  for (int j = 0; conflict->edge == ALIAS_BRANCH && j < call_graph_callee_count(conflict->site); j++) {
    Place branch = {ALIAS_BRANCH, conflict->site, j};
    if (copies_at(copier, &branch, conflict->node) > 0) continue;
    copy_at(copier, &branch, &conflict->node, 1);
    any = true;
  }
  if (any) return true;
  isolate(copier, conflict->site, result);
  return true;
}

/* --- which of two mentions is copied --- */

/* Whether all that reads |value| runs before |loop| has come to its end. */
static bool ends_with(const Copier *copier, const HloValue *value, const HloInstruction *loop) {
  const int32_t *times = copier->analysis->ordering->times;
  for (int32_t i = 0; i < value->use_count; i++) {
    if (times[value->uses[i].user->id] > times[loop->id]) return false;
  }
  return !value->live_out;
}

/* Where a loop begins with a value that it changes, and reads the same value as one that it leaves alone, either of the
 * two may be the copy.  The one that is only read: it ends with the loop, and what the loop changes stays in the memory
 * in which the value was made.  The node of that mention; -1 where there is none, several, or a later reader. */
static int32_t lasting_mention(Copier *copier, const AliasConflict *conflict) {
  if (conflict->edge != ALIAS_LOOP_INIT || conflict->is_move || conflict->refusal.kind != ALIAS_OVERLAP) return -1;
  const HloDataflow *flow = copier->analysis->flow;
  const HloInstruction *loop = conflict->site, *state = loop->operands[0];
  int32_t value = hlo_dataflow_value(flow, state, conflict->node), found = -1;
  if (!ends_with(copier, &flow->values[value], loop)) return -1;
  int32_t count = shape_nodes(&copier->shapes, state->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    if (node == conflict->node || hlo_dataflow_value(flow, state, node) != value) continue;
    if (found >= 0 || hlo_dataflow_is_carried(flow, loop, node)) return -1;
    found = node;
  }
  return found;
}

/* --- rounds --- */

static int64_t conflicts_of_place(Copier *copier, int64_t first, bool moves_only, int32_t *out_nodes,
                                  int64_t *out_end) {
  const AliasConflict *list = copier->analysis->alias->conflicts.data;
  int64_t count = 0, i = first;
  for (; i < copier->analysis->alias->conflicts.count; i++) {
    if (list[i].edge != list[first].edge || list[i].site != list[first].site || list[i].index != list[first].index)
      break;
    if (moves_only && !list[i].is_move) continue;
    if (resolve_otherwise(copier, &list[i])) continue;
    int32_t mention = lasting_mention(copier, &list[i]);
    out_nodes[count++] = mention >= 0 ? mention : list[i].node;
  }
  *out_end = i;
  return count;
}

/* Values that are only passed on need their copies whatever happens, and once they have them many another conflict is
 * gone: they go first. */
int64_t copy_conflicts(HloModule *module, const BufferAnalysis *analysis) {
  Copier copier = {.module = module, .analysis = analysis, .scratch = arena_create()};
  shape_nodes_init(&copier.shapes, copier.scratch);
  int_map_init(&copier.resolved, copier.scratch);
  copier.touched = ARENA_NEW_ARRAY(copier.scratch, bool, module->next_computation_id + 1);
  int64_t total = analysis->alias->conflicts.count;
  int32_t *nodes = ARENA_NEW_ARRAY(copier.scratch, int32_t, total + 1);
  bool moves_only = false;
  for (int64_t i = 0; i < total; i++) moves_only |= analysis->alias->conflicts.data[i].is_move;
  for (int64_t i = 0, end = 0; i < total; i = end) {
    const AliasConflict *conflict = &analysis->alias->conflicts.data[i];
    int64_t count = conflicts_of_place(&copier, i, moves_only, nodes, &end);
    Place place = {conflict->edge, conflict->site, conflict->index};
    if (count > 0) copy_at(&copier, &place, nodes, count);
  }
  for (int64_t i = 0; i < module->computations.count && module->is_scheduled; i++) {
    if (copier.touched[module->computations.data[i]->id]) restore_schedule(&copier, module->computations.data[i]);
  }
  arena_destroy(copier.scratch);
  return copier.copies;
}
