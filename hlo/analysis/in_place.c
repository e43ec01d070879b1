#include "hlo/analysis/in_place.h"

#include "base/array.h"
#include "base/checked_math.h"
#include "hlo/analysis/loop_nest.h"
#include "hlo/analysis/row_alignment.h"
#include "hlo/ir/hlo_worklist.h"

/* --- views --- */

/* Dimensions without those of size 1, most minor first. */
static int significant_dims(const Shape *shape, int64_t *out_dims, int64_t *out_numbers) {
  int count = 0;
  for (int i = 0; i < shape->rank; i++) {
    int64_t dim = shape->layout.minor_to_major[i];
    if (shape->dims[dim] == 1) continue;
    out_numbers[count] = dim;
    out_dims[count++] = shape->dims[dim];
  }
  return count;
}

static bool is_descending(const int64_t *numbers, int count) {
  for (int i = 1; i < count; i++) {
    if (numbers[i] > numbers[i - 1]) return false;
  }
  return true;
}

static bool is_plain_array(const Shape *shape) {
  return shape_is_static_array(shape) && shape->layout.tile_count == 0 && shape->layout.split_count == 0 &&
         shape_element_count(shape) >= 0;
}

enum { MAX_RANK = SHAPE_MAX_RANK };

/* Numbers of the dimensions that matter, counted among themselves. */
static void rank_numbers(int64_t *numbers, int count) {
  int64_t ranks[MAX_RANK];
  for (int i = 0; i < count; i++) {
    ranks[i] = 0;
    for (int j = 0; j < count; j++) ranks[i] += numbers[j] < numbers[i];
  }
  for (int i = 0; i < count; i++) numbers[i] = ranks[i];
}

bool hlo_same_element_order(const Shape *a, const Shape *b) {
  if (!is_plain_array(a) || !is_plain_array(b) || a->rank > MAX_RANK || b->rank > MAX_RANK) return false;
  if (shape_element_count(a) != shape_element_count(b)) return false;
  if (shape_has_default_layout(a) && shape_has_default_layout(b)) return true;
  int64_t dims_a[MAX_RANK], dims_b[MAX_RANK], numbers_a[MAX_RANK], numbers_b[MAX_RANK];
  int count_a = significant_dims(a, dims_a, numbers_a), count_b = significant_dims(b, dims_b, numbers_b);
  if (is_descending(numbers_a, count_a) && is_descending(numbers_b, count_b)) return true;
  if (count_a != count_b) return false;
  rank_numbers(numbers_a, count_a);
  rank_numbers(numbers_b, count_b);
  for (int i = 0; i < count_a; i++) {
    if (dims_a[i] != dims_b[i] || numbers_a[i] != numbers_b[i]) return false;
  }
  return true;
}

bool hlo_reshape_is_bitcast(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_RESHAPE) return false;
  const Shape *to = instruction->shape, *from = instruction->operands[0]->shape;
  return to->type == from->type && hlo_same_element_order(from, to) &&
         to->layout.memory_space == from->layout.memory_space;
}

bool hlo_is_view(const HloInstruction *instruction) {
  if (hlo_opcode_info(instruction->opcode)->flow != OP_FLOW_VIEW) return false;
  if (instruction->opcode == HLO_RESHAPE) return hlo_reshape_is_bitcast(instruction);
  const Shape *to = instruction->shape, *from = instruction->operands[0]->shape;
  return shape_is_array(to) && shape_is_array(from) && shape_byte_size(to) == shape_byte_size(from) &&
         shape_byte_size(to) >= 0 && to->layout.memory_space == from->layout.memory_space;
}

const HloInstruction *hlo_behind_views(const HloInstruction *value) {
  while (hlo_is_view(value)) value = value->operands[0];
  return value;
}

/* --- pairs --- */

typedef struct PairList {
  Arena *arena;
  ARRAY(InPlacePair) pairs;
} PairList;

static const Shape *leaf_of(const Shape *shape, int node) {
  if (node < 0 || node >= shape_node_count(shape)) return NULL;
  const Shape *leaf = shape_node(shape, node);
  return shape_is_array(leaf) ? leaf : NULL;
}

static void add_pair(PairList *list, const HloInstruction *instruction, int64_t operand, int operand_node,
                     int result_node) {
  if (operand < 0 || operand >= instruction->operand_count) return;
  const Shape *from = leaf_of(instruction->operands[operand]->shape, operand_node);
  const Shape *to = leaf_of(instruction->shape, result_node);
  if (!from || !to || from->layout.memory_space != to->layout.memory_space) return;
  bool same = from == to || (shape_same_dims(from, to) && from->type == to->type && hlo_same_element_order(from, to));
  /* set-dimension-size changes the bound's meaning, not the bytes */
  same = same || (instruction->opcode == HLO_SET_DIMENSION_SIZE && from->type == to->type && shape_same_dims(from, to));
  if (!same) return;
  for (int64_t i = 0; i < list->pairs.count; i++) { /* an input has room for one result, and the other way round */
    const InPlacePair *pair = &list->pairs.data[i];
    if (pair->result_node == result_node || (pair->operand == operand && pair->operand_node == operand_node)) return;
  }
  array_push(&list->pairs, list->arena, ((InPlacePair){(int32_t)operand, operand_node, result_node}));
}

static void pair_first(PairList *list, const HloInstruction *instruction) {
  add_pair(list, instruction, 0, 0, 0);
}

/* Operands [first, first + count) with the elements of the result, or the only one with all of it. */
static void pair_elements(PairList *list, const HloInstruction *instruction, int first, int count) {
  if (count == 1 && !shape_is_tuple(instruction->shape)) {
    add_pair(list, instruction, first, 0, 0);
    return;
  }
  for (int i = 0; i < count && i < instruction->shape->tuple_size; i++) {
    add_pair(list, instruction, first + i, 0, shape_node_child(instruction->shape, 0, i));
  }
}

static void pair_scatter(PairList *list, const HloInstruction *instruction) {
  pair_elements(list, instruction, 0, (instruction->operand_count - 1) / 2);
}

static void pair_all_reduce_start(PairList *list, const HloInstruction *instruction) {
  pair_elements(list, instruction, 0, instruction->operand_count);
}

static void pair_collective_permute(PairList *list, const HloInstruction *instruction) {
  if (instruction->operand_count != 4) return;
  if (instruction->opcode == HLO_COLLECTIVE_PERMUTE) {
    add_pair(list, instruction, 1, 0, 0);
  } else if (shape_is_tuple(instruction->shape) && instruction->shape->tuple_size > 1) {
    add_pair(list, instruction, 1, 0, shape_node_child(instruction->shape, 0, 1));
  }
}

static void pair_declared(PairList *list, const HloInstruction *instruction) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  if (!attr) return;
  for (int64_t i = 0; i < attr->value.aliasing.count; i++) {
    const OperandAlias *alias = &attr->value.aliasing.data[i];
    if (alias->operand < 0 || alias->operand >= instruction->operand_count) continue;
    add_pair(list, instruction, alias->operand,
             shape_node_from_index(instruction->operands[alias->operand]->shape, alias->operand_index),
             shape_node_from_index(instruction->shape, alias->output));
  }
}

/* --- fusions --- */

typedef struct Leaf {
  const HloInstruction *instruction;
  int node;
} Leaf;

/* Back through tuples and get-tuple-elements to where a leaf is made. */
static Leaf trace_leaf(Leaf leaf) {
  for (;;) {
    const HloInstruction *instruction = leaf.instruction;
    if (instruction->opcode == HLO_TUPLE && leaf.node > 0) {
      int element = 0;
      while (element + 1 < instruction->operand_count &&
             shape_node_child(instruction->shape, 0, element + 1) <= leaf.node)
        element++;
      leaf = (Leaf){instruction->operands[element], leaf.node - shape_node_child(instruction->shape, 0, element)};
    } else if (instruction->opcode == HLO_GET_TUPLE_ELEMENT) {
      const HloInstruction *tuple = instruction->operands[0];
      leaf = (Leaf){tuple,
                    leaf.node + shape_node_child(tuple->shape, 0, hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0))};
    } else {
      return leaf;
    }
  }
}

bool hlo_constant_start(const HloInstruction *index, int64_t limit, int64_t *out_start) {
  const Literal *literal = index->opcode == HLO_CONSTANT ? hlo_instruction_literal(index) : NULL;
  if (literal == NULL || literal->elided || !shape_is_scalar(index->shape)) return false;
  int64_t start = literal_get_int(literal, 0);
  if (start < 0 && type_is_unsigned(index->shape->type)) start = limit; /* beyond any dimension */
  *out_start = max_i64(0, min_i64(start, limit));
  return true;
}

typedef enum WindowRead { WINDOW_MIXED, WINDOW_EXACT, WINDOW_OTHERS } WindowRead;

/* Which elements a slice with known bounds reads: those of the update's window, in its order, or none of them. */
static WindowRead window_read(const HloInstruction *slice, const HloInstruction *update) {
  const Shape *x = slice->operands[0]->shape, *part = update->operands[1]->shape;
  const SliceRanges *ranges = hlo_instruction_slice(slice);
  if (update->operand_count != 2 + x->rank) return WINDOW_MIXED;
  bool is_exact = shape_same_dims(slice->shape, part), is_apart = false;
  for (int i = 0; i < x->rank; i++) {
    const SliceDimension *range = &ranges->dims[i];
    int64_t start = 0, size = part->dims[i];
    if (!hlo_constant_start(update->operands[2 + i], x->dims[i] - size, &start)) {
      is_exact &= size == x->dims[i] && range->stride == 1;
      continue;
    }
    is_exact &= range->start == start && range->stride == 1;
    is_apart |= range->limit <= start || range->start >= start + size;
  }
  return is_apart ? WINDOW_OTHERS : is_exact ? WINDOW_EXACT : WINDOW_MIXED;
}

/* What |slice|, of the array that |update| (a dynamic-update-slice) updates, reads of the window that it writes. */
static WindowRead reads_window(const HloInstruction *slice, const HloInstruction *update) {
  if (update->opcode != HLO_DYNAMIC_UPDATE_SLICE) return WINDOW_MIXED;
  if (slice->operand_count == 0 || slice->operands[0] != update->operands[0]) return WINDOW_MIXED;
  if (shape_is_dynamic(slice->operands[0]->shape)) return WINDOW_MIXED;
  if (slice->opcode == HLO_SLICE) return window_read(slice, update);
  if (slice->opcode != HLO_DYNAMIC_SLICE || slice->operand_count + 1 != update->operand_count) return WINDOW_MIXED;
  if (!shape_same_dims(slice->shape, update->operands[1]->shape)) return WINDOW_MIXED;
  for (int i = 1; i < slice->operand_count; i++) {
    if (slice->operands[i] != update->operands[i + 1]) return WINDOW_MIXED;
  }
  return WINDOW_EXACT;
}

static bool is_elementwise(const HloInstruction *instruction) {
  return hlo_opcode_info(instruction->opcode)->access == ACCESS_ELEMENTWISE;
}

/* Everything that |from| reaches before |update| is elementwise, and it reaches nothing but the update's window. */
static bool feeds_update_elementwise(const HloInstruction *from, const HloInstruction *update, Arena *arena) {
  HloWorklist work;
  hlo_worklist_init(&work, arena);
  hlo_worklist_add(&work, from);
  for (const HloInstruction *instruction; (instruction = hlo_worklist_take(&work)) != NULL;) {
    if (hlo_instruction_is_root(instruction)) return false;
    for (int i = 0; i < instruction->user_count; i++) {
      const HloInstruction *user = instruction->users[i];
      if (user == update) {
        for (int k = 0; k < user->operand_count; k++) {
          if (user->operands[k] == instruction && k != 1) return false;
        }
        continue;
      }
      if (!is_elementwise(user) || !shape_same_dims(user->shape, from->shape)) return false;
      hlo_worklist_add(&work, user);
    }
  }
  return true;
}

bool hlo_reads_beside_update(const HloInstruction *slice, const HloInstruction *update, Arena *scratch) {
  WindowRead read = reads_window(slice, update);
  return read == WINDOW_OTHERS || (read == WINDOW_EXACT && feeds_update_elementwise(slice, update, scratch));
}

/* Nothing but |update| (once, as what it updates) reads |value|, or reads what it may. */
static bool only_updated_by(const HloInstruction *value, const HloInstruction *update, int operand, Arena *arena) {
  if (hlo_instruction_is_root(value)) return false;
  for (int i = 0; i < value->user_count; i++) {
    const HloInstruction *user = value->users[i];
    if (user == update) {
      for (int k = 0; k < user->operand_count; k++) {
        if (user->operands[k] == value && k != operand) return false;
      }
    } else if (!hlo_reads_beside_update(user, update, arena)) {
      return false;
    }
  }
  return true;
}

/* The updated result goes to the root alone: no other instruction of the fusion reads it. */
static bool only_returned(const HloInstruction *update) {
  const HloInstruction *root = update->parent->root;
  if (update == root) return true;
  return update->user_count == 1 && update->users[0] == root && root->opcode == HLO_TUPLE;
}

/* At most one element of a tuple parameter may be looked at this way: get-tuple-elements of it are told apart by their
 * uses. */
static bool parameter_is_free(const Leaf *source, const HloInstruction *value, const HloInstruction *update,
                              int operand, Arena *arena) {
  if (!only_updated_by(value, update, operand, arena)) return false;
  if (value == source->instruction) return true;
  for (int i = 0; i < source->instruction->user_count; i++) {
    const HloInstruction *user = source->instruction->users[i];
    if (user == value) continue;
    if (user->opcode != HLO_GET_TUPLE_ELEMENT) return false;
    int64_t index = hlo_instruction_int(user, HLO_ATTR_INDEX, 0);
    if (shape_node_child(source->instruction->shape, 0, index) == source->node) return false;
  }
  return true;
}

static void pair_fused_leaf(PairList *list, const HloInstruction *fusion, const HloComputation *fused,
                            int result_node) {
  Leaf made = trace_leaf((Leaf){fused->root, result_node});
  const HloInstruction *update = made.instruction;
  if (update->opcode == HLO_FUSION || update->opcode == HLO_PARAMETER || update->operand_count == 0) return;
  InPlacePairs inner = hlo_in_place_pairs(update, list->arena);
  if (!only_returned(update)) return;
  for (int i = 0; i < inner.count; i++) {
    if (inner.pairs[i].result_node != made.node || inner.pairs[i].operand_node != 0) continue;
    const HloInstruction *value = update->operands[inner.pairs[i].operand];
    Leaf source = trace_leaf((Leaf){value, 0});
    if (source.instruction->opcode != HLO_PARAMETER) continue;
    if (!parameter_is_free(&source, value, update, inner.pairs[i].operand, list->arena)) continue;
    add_pair(list, fusion, hlo_instruction_parameter_number(source.instruction), source.node, result_node);
  }
}

static void pair_fusion(PairList *list, const HloInstruction *instruction) {
  pair_declared(list, instruction);
  const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  if (!fused) return;
  int count = shape_node_count(instruction->shape);
  for (int node = 0; node < count; node++) {
    if (leaf_of(instruction->shape, node)) pair_fused_leaf(list, instruction, fused, node);
  }
}

typedef void (*PairRule)(PairList *list, const HloInstruction *instruction);

static const PairRule pair_rules[HLO_OPCODE_COUNT] = {
    [HLO_DYNAMIC_UPDATE_SLICE] = pair_first,
    [HLO_SCATTER] = pair_scatter,
    [HLO_SET_DIMENSION_SIZE] = pair_first,
    [HLO_ALL_REDUCE_START] = pair_all_reduce_start,
    [HLO_COLLECTIVE_PERMUTE] = pair_collective_permute,
    [HLO_COLLECTIVE_PERMUTE_START] = pair_collective_permute,
    [HLO_CUSTOM_CALL] = pair_declared,
    [HLO_FUSION] = pair_fusion,
};

InPlacePairs hlo_in_place_pairs(const HloInstruction *instruction, Arena *arena) {
  PairRule rule = pair_rules[instruction->opcode];
  if (!rule && hlo_opcode_has(instruction->opcode, OP_IN_PLACE))
    XLAC_BUG("'%s' updates what is not known", hlo_opcode_text(instruction->opcode));
  if (!rule) return (InPlacePairs){0, NULL};
  PairList list = {.arena = arena};
  rule(&list, instruction);
  return (InPlacePairs){(int32_t)list.pairs.count, list.pairs.data};
}

/* --- operands overwritten by results --- */

/* Elements of both are equally wide and aligned, and the k-th in memory of one is the k-th of the other. */
static bool same_places(const Shape *a, const Shape *b) {
  if (type_storage_bytes(a->type) != type_storage_bytes(b->type) ||
      type_is_complex(a->type) != type_is_complex(b->type))
    return false;
  if (a->layout.memory_space != b->layout.memory_space) return false;
  return a == b || hlo_same_element_order(a, b);
}

static bool reads_elementwise(const HloInstruction *user, const HloInstruction *operand) {
  if (hlo_is_view(user)) return true;
  return is_elementwise(user) && shape_is_array(user->shape) && shape_same_dims(user->shape, operand->shape) &&
         hlo_same_element_order(user->shape, operand->shape);
}

/* What a fusion can run as one loop over elements, with sums of rows in between. */
static bool runs_in_a_plain_loop(const HloInstruction *instruction) {
  OpAccess access = hlo_opcode_info(instruction->opcode)->access;
  if (hlo_opcode_has(instruction->opcode, OP_GIVEN | OP_TUPLES)) return true;
  return access == ACCESS_ELEMENTWISE || access == ACCESS_AFFINE || instruction->opcode == HLO_REDUCE;
}

static bool is_plain_loop(const HloComputation *fused) {
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *instruction = fused->instructions.data[i];
    if (!runs_in_a_plain_loop(instruction)) return false;
    if (instruction->opcode == HLO_DYNAMIC_UPDATE_SLICE) return false; /* part of the result is not computed at all */
  }
  return true;
}

/* One contraction, and what else there is goes element by element: code keeps sums in registers or scratch and writes
 * each element of a result once, after it has read the other operands' elements at the same place for all that it makes
 * at once. */
static bool is_one_contraction(const HloComputation *fused) {
  int count = 0;
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *instruction = fused->instructions.data[i];
    bool contracts = hlo_opcode_has(instruction->opcode, OP_CONTRACTION);
    count += contracts;
    if (instruction->opcode == HLO_REDUCE || instruction->opcode == HLO_DYNAMIC_UPDATE_SLICE) return false;
    if (!contracts && !runs_in_a_plain_loop(instruction)) return false;
  }
  return count == 1;
}

typedef struct FusedUse {
  bool elementwise;   /* all that the parameter reaches it reaches element by element */
  bool reaches_other; /* it reaches another leaf of the root than the one asked for */
} FusedUse;

static bool is_result(const HloComputation *fused, const HloInstruction *instruction) {
  return fused->root->opcode == HLO_TUPLE && instruction->user_count == 1 && instruction->users[0] == fused->root;
}

static FusedUse follow_parameter(const HloComputation *fused, const HloInstruction *start, const HloInstruction *wanted,
                                 Arena *scratch) {
  FusedUse use = {true, false};
  HloWorklist work;
  hlo_worklist_init(&work, scratch);
  hlo_worklist_add(&work, start);
  for (const HloInstruction *instruction; use.elementwise && (instruction = hlo_worklist_take(&work)) != NULL;) {
    for (int i = 0; i < instruction->user_count; i++) {
      const HloInstruction *user = instruction->users[i];
      if (user->opcode == HLO_TUPLE && user == fused->root) {
        use.reaches_other |= instruction != wanted;
        continue;
      }
      if (is_result(fused, user) && user->opcode == HLO_REDUCE && user->operands[0] == instruction) {
        use.reaches_other = true; /* whether in the same loop, the results say */
        continue;
      }
      use.elementwise &= reads_elementwise(user, instruction);
      hlo_worklist_add(&work, user);
    }
  }
  return use;
}

/* |made|, by |nest|, comes out of one loop over the elements of |shape|: elements in that order, or a reduction of them
 * along the same dimensions as |*reduce|, which is set by the first. */
static bool made_in_one_loop(const HloInstruction *made, const LoopNest *nest, const Shape *shape,
                             const HloInstruction **reduce) {
  if (nest->kind == LOOP_NEST_ELEMENTS || nest->kind == LOOP_NEST_SUMS)
    return shape_same_dims(made->shape, shape) && hlo_same_element_order(made->shape, shape);
  if (nest->kind != LOOP_NEST_REDUCED || nest->reduce != made) return false;
  if (*reduce == NULL) *reduce = made;
  return shape_same_dims(made->operands[0]->shape, shape) && hlo_same_reduced_dims(made, *reduce);
}

enum { ONE_LOOP_LIMIT = 16 }; /* more reductions may take turns */

/* One loop makes every result where it reads the operand, whose element is then loaded. */
static bool all_results_alike(const HloInstruction *fusion, const HloComputation *fused, const Shape *shape,
                              Arena *scratch) {
  if (!shape_is_tuple(fusion->shape)) return true;
  if (fused->root->opcode != HLO_TUPLE || fused->root->operand_count > ONE_LOOP_LIMIT) return false;
  const HloInstruction *reduce = NULL;
  LoopNest nests[ONE_LOOP_LIMIT];
  for (int i = 0; i < fused->root->operand_count; i++) {
    nests[i] = hlo_loop_nest(fused->root->operands[i], false, scratch);
    if (!made_in_one_loop(fused->root->operands[i], &nests[i], shape, &reduce)) return false;
  }
  return hlo_loop_nests_unite(nests, fused->root->operand_count);
}

/* What |start| reaches it reaches element by element, or through sums of the rows of a nest with so many |rows|. */
static bool reaches_by_rows(const HloInstruction *start, int64_t rows, Arena *scratch) {
  HloWorklist work;
  hlo_worklist_init(&work, scratch);
  hlo_worklist_add(&work, start);
  for (const HloInstruction *instruction; (instruction = hlo_worklist_take(&work)) != NULL;) {
    for (int i = 0; i < instruction->user_count; i++) {
      const HloInstruction *user = instruction->users[i];
      if (user->opcode == HLO_REDUCE && shape_is_array(user->shape) && shape_element_count(user->shape) == rows)
        continue;
      if (!reads_elementwise(user, instruction)) return false;
      hlo_worklist_add(&work, user);
    }
  }
  return true;
}

/* The fusion goes from row to row: sums of a row are complete before its result is written, which reads each element of
 * the parameter where it is overwritten; rows never read one another. */
static bool writes_row_by_row(const HloComputation *fused, const HloInstruction *parameter, Arena *scratch) {
  if (!shape_is_array(fused->root->shape) || !is_plain_loop(fused)) return false;
  LoopNest nest = hlo_loop_nest(fused->root, false, scratch);
  return nest.kind == LOOP_NEST_REDUCED && row_aligned_fused(fused, parameter, nest.rows, scratch) &&
         reaches_by_rows(parameter, nest.rows, scratch);
}

static bool fusion_may_share(const HloInstruction *fusion, int operand, int node, int result_node, Arena *scratch) {
  const HloComputation *fused = hlo_instruction_computation(fusion, HLO_ATTR_CALLS);
  if (!fused || node != 0 || operand >= fused->parameters.count) return false;
  if (!is_plain_loop(fused) && !is_one_contraction(fused)) return false;
  const HloInstruction *parameter = fused->parameters.data[operand];
  Leaf wanted = trace_leaf((Leaf){fused->root, result_node});
  if (wanted.instruction == parameter) return false;
  FusedUse use = follow_parameter(fused, parameter, wanted.instruction, scratch);
  if (!use.elementwise) return writes_row_by_row(fused, parameter, scratch);
  return !use.reaches_other || all_results_alike(fusion, fused, parameter->shape, scratch);
}

bool hlo_may_share_operand(const HloInstruction *user, int operand, int node, int result_node, Arena *scratch) {
  const Shape *from = leaf_of(user->operands[operand]->shape, node), *to = leaf_of(user->shape, result_node);
  if (!from || !to || user->opcode == HLO_COPY) return false;
  InPlacePairs pairs = hlo_in_place_pairs(user, scratch);
  for (int i = 0; i < pairs.count; i++) {
    const InPlacePair *pair = &pairs.pairs[i];
    if (pair->operand == operand && pair->operand_node == node && pair->result_node == result_node) return true;
  }
  if (!same_places(from, to)) return false;
  if (user->opcode == HLO_FUSION) return fusion_may_share(user, operand, node, result_node, scratch);
  return hlo_opcode_has(user->opcode, OP_ELEMENTWISE) && reads_elementwise(user, user->operands[operand]);
}

int64_t hlo_shared_row_bytes(const HloInstruction *user, int operand, Arena *scratch) {
  const HloComputation *fused = hlo_instruction_computation(user, HLO_ATTR_CALLS);
  if (user->opcode != HLO_FUSION || fused == NULL || operand >= fused->parameters.count) return 0;
  const HloInstruction *parameter = fused->parameters.data[operand];
  if (!shape_is_array(parameter->shape) || !shape_is_array(user->shape)) return 0;
  if (follow_parameter(fused, parameter, fused->root, scratch).elementwise) return 0;
  if (!writes_row_by_row(fused, parameter, scratch)) return 0;
  return shape_byte_size(parameter->shape) / hlo_loop_nest(fused->root, false, scratch).rows;
}
