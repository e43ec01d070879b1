/* Equality and hash of computations and modules, blind to names and to the order of instructions.
 *
 * Two computations are walked in step: an instruction's partner is fixed by the way it was reached (root first, then
 * the other instructions without users in a canonical order), so one pass compares everything. */
#include <stdlib.h>
#include <string.h>

#include "hlo/ir/hlo_ir_internal.h"
#include "hlo/ir/hlo_module.h"

/* --- hash --- */

typedef struct Hasher {
  Arena *arena;
  uint64_t *values; /* by slot */
  const IntMap *callees;
} Hasher;

/* What is seen of a callee without going further: enough to tell the usual reducers apart. */
static uint64_t hash_outline(const HloComputation *computation) {
  uint64_t hash = hash_combine((uint64_t)computation->instructions.count, (uint64_t)computation->parameters.count);
  if (!computation->root) return hash;
  hash = hash_combine(hash, (uint64_t)computation->root->opcode);
  hash = hash_combine(hash, hlo_instruction_attrs_hash(computation->root));
  return hash_combine(hash, shape_hash(computation->root->shape));
}

static uint64_t hash_callee(const Hasher *hasher, const HloComputation *callee) {
  int64_t known;
  if (hasher->callees && int_map_find(hasher->callees, (uint64_t)callee->id, &known)) return (uint64_t)known;
  return hash_outline(callee);
}

/* All that is below an instruction, operands' values being known. */
static uint64_t hash_instruction(const Hasher *hasher, const HloInstruction *instruction) {
  uint64_t hash = hash_combine((uint64_t)instruction->opcode, shape_hash(instruction->shape));
  hash = hash_combine(hash, hlo_instruction_attrs_hash(instruction));
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    hash = hash_combine(hash, hasher->values[instruction->operands[i]->slot]);
  }
  int called = hlo_instruction_called_count(instruction);
  for (int i = 0; i < called; i++) {
    hash = hash_combine(hash, hash_callee(hasher, hlo_instruction_called(instruction, i)));
  }
  return hash;
}

static void hasher_init(Hasher *hasher, const HloComputation *computation, const IntMap *callees, Arena *arena) {
  *hasher = (Hasher){.arena = arena, .callees = callees};
  hasher->values = ARENA_NEW_ARRAY(arena, uint64_t, computation->slot_limit + 1);
}

static void hash_all(const Hasher *hasher, const HloComputation *computation) {
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, hasher->arena, &count);
  for (int64_t i = 0; i < count; i++) hasher->values[order[i]->slot] = hash_instruction(hasher, order[i]);
}

/* As hlo_computation_hash; callees hash as |callee_hashes| (by id) says, NULL: by their outline. */
static uint64_t hlo_computation_hash_with(const HloComputation *computation, const IntMap *callee_hashes) {
  Arena *arena = arena_create();
  Hasher hasher;
  hasher_init(&hasher, computation, callee_hashes, arena);
  hash_all(&hasher, computation);
  uint64_t sum = 0; /* of the ends: their order does not count */
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->user_count == 0) sum += hash_u64(hasher.values[instruction->slot]);
  }
  uint64_t hash = hash_combine(sum, (uint64_t)computation->instructions.count);
  if (computation->root) hash = hash_combine(hash, hasher.values[computation->root->slot]);
  hash = hash_text_after(hash, computation->execution_thread);
  arena_destroy(arena);
  return hash;
}

uint64_t hlo_computation_hash(const HloComputation *computation) {
  return hlo_computation_hash_with(computation, NULL);
}

/* --- pairs of computations --- */

typedef struct Pair {
  const HloComputation *a, *b;
} Pair;

/* Calls make no cycles, so pairs may be taken for equal until one turns out different. */
typedef struct Comparison {
  Arena *arena;
  IntMap known; /* |pairs| by both ids */
  ARRAY(Pair) pairs;
  int64_t compared; /* of the pairs, the first */
  IntMap partners;  /* within the present pair: instruction of a → instruction of b */
} Comparison;

static bool assume_computations(void *context, const HloComputation *a, const HloComputation *b) {
  Comparison *comparison = (Comparison *)context;
  uint64_t key = (uint64_t)(uint32_t)a->id << 32 | (uint32_t)b->id;
  int64_t known;
  if (int_map_find(&comparison->known, key, &known)) return true;
  int_map_set(&comparison->known, key, 1);
  array_push(&comparison->pairs, comparison->arena, ((Pair){a, b}));
  return true;
}

static bool are_partners(void *context, const HloInstruction *a, const HloInstruction *b) {
  const Comparison *comparison = (const Comparison *)context;
  return pointer_map_get(&comparison->partners, a) == b;
}

/* --- one pair --- */

typedef struct End {
  HloInstruction *instruction;
  uint64_t hash;
  int64_t position; /* in the list: decides between ends that are alike */
} End;

static int compare_ends(const void *left, const void *right) {
  const End *a = (const End *)left, *b = (const End *)right;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  return (a->position > b->position) - (a->position < b->position);
}

typedef struct Walk {
  Arena *arena;
  bool *seen; /* by slot */
  HloInstruction **order;
  int64_t count;
  HloInstructionArray stack;
} Walk;

/* In the order of discovery, operands from the first; an order that operands alone decide. */
static void walk_from(Walk *walk, HloInstruction *start) {
  if (walk->seen[start->slot]) return;
  walk->seen[start->slot] = true;
  array_push(&walk->stack, walk->arena, start);
  while (walk->stack.count > 0) {
    HloInstruction *instruction = array_pop(&walk->stack);
    walk->order[walk->count++] = instruction;
    for (int32_t i = instruction->operand_count - 1; i >= 0; i--) {
      HloInstruction *operand = instruction->operands[i];
      if (walk->seen[operand->slot]) continue;
      walk->seen[operand->slot] = true;
      array_push(&walk->stack, walk->arena, operand);
    }
  }
}

/* Every instruction: what the root needs, parameters by number, then the other ends by what they compute. */
static HloInstruction **canonical_order(const HloComputation *computation, Arena *arena) {
  int64_t count = computation->instructions.count;
  Walk walk = {.arena = arena};
  walk.seen = ARENA_NEW_ARRAY(arena, bool, computation->slot_limit + 1);
  walk.order = ARENA_NEW_ARRAY(arena, HloInstruction *, count + 1);
  if (computation->root) walk_from(&walk, computation->root);
  for (int64_t i = 0; i < computation->parameters.count; i++) walk_from(&walk, computation->parameters.data[i]);
  if (walk.count == count) return walk.order;
  Hasher hasher;
  hasher_init(&hasher, computation, NULL, arena);
  hash_all(&hasher, computation);
  End *ends = ARENA_NEW_ARRAY(arena, End, count);
  int64_t end_count = 0;
  for (int64_t i = 0; i < count; i++) {
    HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->user_count > 0) continue;
    ends[end_count++] = (End){instruction, hasher.values[instruction->slot], i};
  }
  qsort(ends, (size_t)end_count, sizeof(*ends), compare_ends);
  for (int64_t i = 0; i < end_count; i++) walk_from(&walk, ends[i].instruction);
  return walk.order;
}

static bool same_instruction(const HloInstruction *a, const HloInstruction *b, Comparison *comparison) {
  if (a->opcode != b->opcode || a->shape != b->shape || a->operand_count != b->operand_count) return false;
  for (int32_t i = 0; i < a->operand_count; i++) {
    if (!are_partners(comparison, a->operands[i], b->operands[i])) return false;
  }
  HloAttrEquality equality = {assume_computations, are_partners, comparison};
  return hlo_instruction_same_attrs(a, b, &equality);
}

static bool same_body(const HloComputation *a, const HloComputation *b, Comparison *comparison) {
  if (a->instructions.count != b->instructions.count || a->parameters.count != b->parameters.count ||
      !sv_equal(a->execution_thread, b->execution_thread) || (a->root == NULL) != (b->root == NULL)) {
    return false;
  }
  int64_t count = a->instructions.count;
  Arena *scratch = arena_create();
  HloInstruction **order_a = canonical_order(a, scratch), **order_b = canonical_order(b, scratch);
  int_map_init(&comparison->partners, scratch);
  for (int64_t i = 0; i < count; i++) pointer_map_set(&comparison->partners, order_a[i], order_b[i]);
  bool same = a->root == NULL || are_partners(comparison, a->root, b->root);
  for (int64_t i = 0; i < count && same; i++) same = same_instruction(order_a[i], order_b[i], comparison);
  arena_destroy(scratch);
  return same;
}

static bool same_pairs(Comparison *comparison) {
  bool same = true;
  while (comparison->compared < comparison->pairs.count && same) {
    Pair pair = comparison->pairs.data[comparison->compared++];
    same = pair.a == pair.b || same_body(pair.a, pair.b, comparison);
  }
  return same;
}

bool hlo_computation_equal(const HloComputation *a, const HloComputation *b) {
  if (a == b) return true;
  Comparison comparison = {.arena = arena_create()};
  int_map_init(&comparison.known, comparison.arena);
  assume_computations(&comparison, a, b);
  bool same = same_pairs(&comparison);
  arena_destroy(comparison.arena);
  return same;
}

static bool equal_computations(void *context, const HloComputation *a, const HloComputation *b) {
  (void)context;
  return hlo_computation_equal(a, b);
}

bool hlo_instruction_equal_attrs(const HloInstruction *a, const HloInstruction *b) {
  static const HloAttrEquality equality = {.same_computation = equal_computations};
  return hlo_instruction_same_attrs(a, b, &equality);
}

/* --- modules --- */

static bool same_aliases(const HloModule *a, const HloModule *b) {
  if (a->aliases.count != b->aliases.count || a->donors.count != b->donors.count ||
      a->alias_passthrough_params != b->alias_passthrough_params) {
    return false;
  }
  for (int64_t i = 0; i < a->aliases.count; i++) {
    const InputOutputAlias *x = &a->aliases.data[i], *y = &b->aliases.data[i];
    if (x->parameter != y->parameter || x->kind != y->kind || !shape_index_equal(x->output, y->output) ||
        !shape_index_equal(x->parameter_index, y->parameter_index)) {
      return false;
    }
  }
  for (int64_t i = 0; i < a->donors.count; i++) {
    const BufferDonor *x = &a->donors.data[i], *y = &b->donors.data[i];
    if (x->parameter != y->parameter || !shape_index_equal(x->parameter_index, y->parameter_index)) return false;
  }
  return true;
}

/* The boundary's shape of parameter |number|, stated or taken from the entry. */
static const Shape *entry_parameter_shape(const HloModule *module, int64_t number) {
  if (module->entry_layout.present) return module->entry_layout.parameters[number];
  return module->entry->parameters.data[number]->shape;
}

static int64_t entry_parameter_count(const HloModule *module) {
  return module->entry_layout.present ? module->entry_layout.parameter_count : module->entry->parameters.count;
}

static const Shape *entry_result_shape(const HloModule *module) {
  return module->entry_layout.present ? module->entry_layout.result : module->entry->root->shape;
}

static bool same_entry_layout(const HloModule *a, const HloModule *b) {
  if (entry_parameter_count(a) != entry_parameter_count(b) || entry_result_shape(a) != entry_result_shape(b))
    return false;
  for (int64_t i = 0; i < entry_parameter_count(a); i++) {
    if (entry_parameter_shape(a, i) != entry_parameter_shape(b, i)) return false;
  }
  return true;
}

/* A single false is the same as nothing. */
static bool same_bools(const bool *a, int64_t a_count, const bool *b, int64_t b_count) {
  if (a_count == 1 && !a[0]) a_count = 0;
  if (b_count == 1 && !b[0]) b_count = 0;
  if (a_count != b_count) return false;
  for (int64_t i = 0; i < a_count; i++) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

static bool same_frontend(const HloModule *a, const HloModule *b) {
  HloAttr x = {.id = HLO_ATTR_FRONTEND_ATTRIBUTES, .value.frontend = {a->frontend_count, a->frontend}};
  HloAttr y = {.id = HLO_ATTR_FRONTEND_ATTRIBUTES, .value.frontend = {b->frontend_count, b->frontend}};
  return hlo_attr_equal(&x, &y, NULL);
}

static bool same_origin_node(const OriginNode *a, const OriginNode *b) {
  HloOrigin x = {false, *a}, y = {false, *b};
  HloAttr left = {.id = HLO_ATTR_ORIGIN, .value.origin = &x}, right = {.id = HLO_ATTR_ORIGIN, .value.origin = &y};
  return hlo_attr_equal(&left, &right, NULL);
}

static bool same_origin_recovery(const HloModule *a, const HloModule *b) {
  if (a->origin_recovery_count != b->origin_recovery_count) return false;
  for (int64_t i = 0; i < a->origin_recovery_count; i++) {
    const OriginRecoveryEntry *x = &a->origin_recovery[i], *y = &b->origin_recovery[i];
    if (x->has_module != y->has_module || (x->has_module && !sv_equal(x->module_text, y->module_text)) ||
        !same_origin_node(&x->from, &y->from) || !same_origin_node(&x->to, &y->to)) {
      return false;
    }
  }
  return true;
}

/* Stack frames are metadata and do not count. */
static bool same_header(const HloModule *a, const HloModule *b) {
  return sv_equal(a->name, b->name) && a->is_scheduled == b->is_scheduled && a->replica_count == b->replica_count &&
         a->num_partitions == b->num_partitions && same_aliases(a, b) &&
         same_bools(a->spmd_parameters, a->spmd_parameter_count, b->spmd_parameters, b->spmd_parameter_count) &&
         same_bools(a->spmd_outputs, a->spmd_output_count, b->spmd_outputs, b->spmd_output_count) &&
         same_frontend(a, b) && same_origin_recovery(a, b);
}

static bool same_schedule(const HloComputation *a, const HloComputation *b) {
  Comparison comparison = {.arena = arena_create()};
  int_map_init(&comparison.known, comparison.arena);
  int_map_init(&comparison.partners, comparison.arena);
  bool same = a->instructions.count == b->instructions.count;
  for (int64_t i = 0; i < a->instructions.count && same; i++) {
    const HloInstruction *x = a->instructions.data[i], *y = b->instructions.data[i];
    /* assume_computations always agrees here: the contents have been compared */
    same = same_instruction(x, y, &comparison);
    pointer_map_set(&comparison.partners, x, (void *)(uintptr_t)y);
  }
  arena_destroy(comparison.arena);
  return same;
}

/* Those of |module| that |reached| lacks, by ascending post order; their number in |out_count|. */
static HloComputation **unreached(const HloModule *module, const bool *reached, Arena *arena, int64_t *out_count) {
  int64_t count;
  HloComputation **order = hlo_module_post_order(module, arena, &count);
  *out_count = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!reached[order[i]->id]) order[(*out_count)++] = order[i];
  }
  return order;
}

/* Computations that the entries do not reach are partners in the order of the modules. */
static bool same_unreached(const HloModule *a, const HloModule *b, Comparison *comparison) {
  Arena *arena = comparison->arena;
  bool *reached_a = ARENA_NEW_ARRAY(arena, bool, a->next_computation_id + 1);
  bool *reached_b = ARENA_NEW_ARRAY(arena, bool, b->next_computation_id + 1);
  for (int64_t i = 0; i < comparison->pairs.count; i++) {
    reached_a[comparison->pairs.data[i].a->id] = true;
    reached_b[comparison->pairs.data[i].b->id] = true;
  }
  int64_t count_a, count_b;
  HloComputation **rest_a = unreached(a, reached_a, arena, &count_a);
  HloComputation **rest_b = unreached(b, reached_b, arena, &count_b);
  if (count_a != count_b) return false;
  for (int64_t i = 0; i < count_a; i++) assume_computations(comparison, rest_a[i], rest_b[i]);
  return same_pairs(comparison);
}

static bool same_schedules(const HloModule *a, const Comparison *comparison) {
  bool *scheduled = hlo_module_scheduled_computations(a, comparison->arena);
  for (int64_t i = 0; i < comparison->pairs.count; i++) {
    Pair pair = comparison->pairs.data[i];
    if (scheduled[pair.a->id] && !same_schedule(pair.a, pair.b)) return false;
  }
  return true;
}

bool hlo_module_equal(const HloModule *a, const HloModule *b) {
  if (!same_header(a, b) || a->computations.count != b->computations.count) return false;
  if (!a->entry || !b->entry) return a->entry == b->entry;
  if (!same_entry_layout(a, b)) return false;
  Comparison comparison = {.arena = arena_create()};
  int_map_init(&comparison.known, comparison.arena);
  assume_computations(&comparison, a->entry, b->entry);
  bool same = same_pairs(&comparison) && same_unreached(a, b, &comparison) && same_schedules(a, &comparison);
  arena_destroy(comparison.arena);
  return same;
}

static uint64_t hash_header(const HloModule *module) {
  uint64_t hash = hash_text_after(0, module->name);
  hash = hash_combine(hash, module->is_scheduled);
  hash = hash_combine(hash, (uint64_t)module->replica_count);
  hash = hash_combine(hash, (uint64_t)module->num_partitions);
  for (int64_t i = 0; i < module->aliases.count; i++) {
    const InputOutputAlias *alias = &module->aliases.data[i];
    hash = hash_combine(hash, (uint64_t)alias->parameter * 2 + (uint64_t)alias->kind);
    for (int j = 0; j < alias->output.depth; j++) hash = hash_combine(hash, (uint64_t)alias->output.path[j]);
    hash = hash_combine(hash, (uint64_t)alias->output.depth);
    for (int j = 0; j < alias->parameter_index.depth; j++)
      hash = hash_combine(hash, (uint64_t)alias->parameter_index.path[j]);
  }
  for (int64_t i = 0; i < module->donors.count; i++)
    hash = hash_combine(hash, (uint64_t)module->donors.data[i].parameter);
  hash = hash_combine(hash, module->alias_passthrough_params);
  for (int64_t i = 0; i < module->frontend_count; i++) {
    hash = hash_text_after(hash_text_after(hash, module->frontend[i].key), module->frontend[i].value);
  }
  for (int64_t i = 0; module->entry && i < entry_parameter_count(module); i++) {
    hash = hash_combine(hash, shape_hash(entry_parameter_shape(module, i)));
  }
  return module->entry ? hash_combine(hash, shape_hash(entry_result_shape(module))) : hash;
}

uint64_t hlo_module_hash(const HloModule *module) {
  Arena *arena = arena_create();
  IntMap hashes;
  int_map_init(&hashes, arena);
  uint64_t hash = hash_header(module);
  int64_t count;
  HloComputation **order = hlo_module_post_order(module, arena, &count);
  for (int64_t i = 0; i < count; i++) {
    uint64_t value = hlo_computation_hash_with(order[i], &hashes);
    int_map_set(&hashes, (uint64_t)order[i]->id, (int64_t)value);
    if (order[i] == module->entry || !module->entry) hash = hash_combine(hash, value);
  }
  hash = hash_combine(hash, (uint64_t)count);
  arena_destroy(arena);
  return hash;
}
