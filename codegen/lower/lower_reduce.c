/* Reductions inside a nest: each a stage of folds, shared by those that walk the same elements of a row. */
#include "codegen/lower/lowering_internal.h"

#define MAX_TOGETHER 16

Status lowering_check_inputs(const Lowering *lowering, const HloInstruction *reduce) {
  if (reduce->operand_count / 2 <= MAX_REDUCE_INPUTS) return STATUS_OK;
  return diag_error(lowering->diag, STATUS_UNSUPPORTED, reduce->loc, "unsupported-op", "'%s' of more than %d arrays",
                    hlo_opcode_text(reduce->opcode), MAX_REDUCE_INPUTS);
}

/* |outer| is the row that the outer dims stand at. */
static bool is_row(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer) {
  const Shape *shape = shape_result(reduce->shape, 0);
  if (!lowering->has_rows || lowering->predicate >= 0) return false;
  return index_equal(lowering_linearize(lowering, outer, shape->dims, shape->rank), lowering->row);
}

static FoldedReduce *find_folded(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer) {
  for (int64_t i = 0; i < lowering->folded.count; i++) {
    FoldedReduce *folded = &lowering->folded.data[i];
    if (folded->reduce != reduce || folded->predicate != lowering->predicate) continue;
    bool same = true;
    for (int d = 0; d < shape_result(reduce->shape, 0)->rank; d++)
      same = same && index_equal(folded->outer[d], outer[d]);
    if (same) return folded;
  }
  return NULL;
}

/* --- which reductions share a stage --- */

/* Which reductions of a fused computation each of its instructions is made from, itself included: bits by number. */
typedef struct ReduceOrder {
  IntMap numbers;  /* instruction id → its number, in post-order */
  IntMap reduces;  /* id of a reduction → its bit */
  int64_t words;   /* of 64 bits for each instruction */
  uint64_t *above; /* by number */
} ReduceOrder;

static void find_above(ReduceOrder *order, const HloInstruction *instruction, int64_t number) {
  uint64_t *bits = order->above + number * order->words;
  int64_t bit, operand;
  for (int i = 0; i < instruction->operand_count; i++) {
    int_map_find(&order->numbers, (uint64_t)instruction->operands[i]->id, &operand);
    for (int64_t w = 0; w < order->words; w++) bits[w] |= order->above[operand * order->words + w];
  }
  if (int_map_find(&order->reduces, (uint64_t)instruction->id, &bit)) bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

static ReduceOrder *reduce_order(Lowering *lowering) {
  if (lowering->reduce_order != NULL) return lowering->reduce_order;
  Arena *arena = lowering->arena;
  ReduceOrder *order = ARENA_NEW(arena, ReduceOrder);
  int64_t count;
  HloInstruction **list = hlo_computation_post_order(lowering->fused, arena, &count);
  int_map_init(&order->numbers, arena);
  int_map_init(&order->reduces, arena);
  for (int64_t i = 0; i < count; i++) {
    int_map_set(&order->numbers, (uint64_t)list[i]->id, i);
    if (list[i]->opcode == HLO_REDUCE) int_map_set(&order->reduces, (uint64_t)list[i]->id, order->reduces.count);
  }
  order->words = order->reduces.count / 64 + 1;
  order->above = ARENA_NEW_ARRAY(arena, uint64_t, count * order->words);
  for (int64_t i = 0; i < count; i++) find_above(order, list[i], i);
  return lowering->reduce_order = order;
}

/* |from| is made from |wanted|, or is it; both are reductions of the fusion. */
static bool reaches(Lowering *lowering, const HloInstruction *from, const HloInstruction *wanted) {
  const ReduceOrder *order = reduce_order(lowering);
  int64_t number, bit;
  if (!int_map_find(&order->numbers, (uint64_t)from->id, &number)) return false;
  if (!int_map_find(&order->reduces, (uint64_t)wanted->id, &bit)) return false;
  return order->above[number * order->words + bit / 64] >> bit % 64 & 1;
}

static bool are_independent(Lowering *lowering, const HloInstruction *a, const HloInstruction *b) {
  return !reaches(lowering, a, b) && !reaches(lowering, b, a);
}

/* |reduce| needs one that is being folded right now, and for whose stage the one asked for is wanted. */
static bool needs_unfinished(Lowering *lowering, const HloInstruction *reduce) {
  for (int64_t i = 0; i < lowering->folded.count; i++) {
    const FoldedReduce *folded = &lowering->folded.data[i];
    if (folded->values == NULL && reaches(lowering, reduce, folded->reduce)) return true;
  }
  return false;
}

/* |reduce| and others of the fusion along the same dims that can be folded at once; their number. */
static int collect_together(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer,
                            const HloInstruction **out_reduces) {
  int count = 1;
  out_reduces[0] = reduce;
  if (!is_row(lowering, reduce, outer)) return count;
  for (int64_t i = 0; i < lowering->fused->instructions.count && count < MAX_TOGETHER; i++) {
    const HloInstruction *other = lowering->fused->instructions.data[i];
    if (other->opcode != HLO_REDUCE || other == reduce || !hlo_same_reduced_dims(reduce, other)) continue;
    bool joins = find_folded(lowering, other, outer) == NULL && !needs_unfinished(lowering, other);
    for (int k = 0; joins && k < count; k++) joins = are_independent(lowering, out_reduces[k], other);
    if (joins) out_reduces[count++] = other;
  }
  return count;
}

/* --- one stage --- */

/* Begins a stage that walks the reduced dims of |reduce|; |out_index| of its input. */
static int begin_walk(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer, IndexExpr *out_index) {
  Int64List dimensions = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  const Shape *input = reduce->operands[0]->shape;
  int stage = lowering_begin_stage(lowering);
  for (int d = 0, next = 0; d < input->rank; d++) {
    bool is_reduced = int64_list_has(dimensions, d);
    out_index[d] = is_reduced ? lowering_dim(lowering, input->dims[d], KERNEL_REDUCTION, stage) : outer[next++];
  }
  return stage;
}

static Status fold_one(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *index, int32_t *values) {
  int count = reduce->operand_count / 2;
  int32_t inputs[MAX_REDUCE_INPUTS], inits[MAX_REDUCE_INPUTS];
  for (int i = 0; i < count; i++) inits[i] = values[i];
  for (int i = 0; i < count; i++) RETURN_IF_ERROR(lower_element(lowering, reduce->operands[i], index, &inputs[i]));
  return lowering_fold_inputs(lowering, reduce, &(FoldInputs){count, inputs, inits, -1}, values);
}

/* |made| needs no reduction but such as are done at this row. */
static bool is_ready(Lowering *lowering, const HloInstruction *made, const IndexExpr *outer, IntMap *seen) {
  int64_t ignored;
  if (int_map_find(seen, (uint64_t)made->id, &ignored)) return true;
  int_map_set(seen, (uint64_t)made->id, 1);
  if (made->opcode == HLO_REDUCE) {
    const FoldedReduce *folded = find_folded(lowering, made, outer);
    return folded != NULL && folded->values != NULL;
  }
  for (int i = 0; i < made->operand_count; i++) {
    if (!is_ready(lowering, made->operands[i], outer, seen)) return false;
  }
  return true;
}

/* Results that are elements of what the current stage walks are stored as it goes by. */
static Status store_alongside(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer,
                              const IndexExpr *index) {
  const Shape *input = reduce->operands[0]->shape;
  for (int i = 0; i < lowering->result_count; i++) {
    LoweringResult *result = &lowering->results[i];
    IntMap seen;
    int_map_init(&seen, lowering->arena);
    if (result->is_stored || !shape_same_dims(result->nest.shape, input)) continue;
    if (!is_ready(lowering, result->made, outer, &seen)) continue;
    KernelStore store = {.predicate = -1};
    RETURN_IF_ERROR(lower_element(lowering, result->made, index, &store.value));
    store.buffer = lowering_buffer(lowering, KERNEL_RESULT, -1, result->node, result->nest.shape);
    store.address = lowering_address(lowering, result->nest.shape, index);
    lowering_add_store(lowering, lowering->current_stage, &store);
    result->is_stored = true;
  }
  return STATUS_OK;
}

/* The results of |reduces| at |outer|; of |values|, each row of MAX_REDUCE_INPUTS holds the initial values. */
static Status fold_together(Lowering *lowering, const HloInstruction **reduces, int count, const IndexExpr *outer,
                            int32_t *values) {
  bool stores = is_row(lowering, reduces[0], outer);
  IndexExpr index[MAX_RANK];
  int outer_stage = lowering->current_stage, stage = begin_walk(lowering, reduces[0], outer, index);
  bool reduces_nothing = lowering->is_empty;
  lowering->is_empty = false;
  for (int i = 0; i < count && !reduces_nothing; i++)
    RETURN_IF_ERROR(fold_one(lowering, reduces[i], index, &values[i * MAX_REDUCE_INPUTS]));
  if (stores && !reduces_nothing) RETURN_IF_ERROR(store_alongside(lowering, reduces[0], outer, index));
  lowering_end_stage(lowering, stage, outer_stage);
  return STATUS_OK;
}

/* --- as an expression --- */

static bool value_moves(const Lowering *lowering, int32_t number, IntMap *seen);

static bool index_moves(const Lowering *lowering, IndexExpr expr, IntMap *seen) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &lowering->draft.space.atoms.data[expr.terms[i].atom];
    bool moves = false;
    switch (atom->kind) {
      case INDEX_ATOM_DIM: moves = lowering->draft.dims.data[atom->number].stage == lowering->current_stage; break;
      case INDEX_ATOM_VALUE: moves = value_moves(lowering, atom->number, seen); break;
      case INDEX_ATOM_DIV:
      case INDEX_ATOM_MOD: moves = index_moves(lowering, atom->inner, seen); break;
    }
    if (moves) return true;
  }
  return false;
}

/* Of what it reads; one that was |seen| does not move. */
static bool value_moves(const Lowering *lowering, int32_t number, IntMap *seen) {
  int64_t ignored;
  if (number < 0 || int_map_find(seen, (uint64_t)number, &ignored)) return false;
  int_map_set(seen, (uint64_t)number, 1);
  const KernelValue *value = &lowering->draft.values.data[number];
  if (value->kind == KERNEL_ACCUMULATOR)
    return value->params[0] == 0 && lowering->draft.folds.data[value->fold].stage == lowering->current_stage;
  for (int i = 0; i < value->operand_count; i++)
    if (value_moves(lowering, value->operands[i], seen)) return true;
  return value_moves(lowering, value->predicate, seen) || index_moves(lowering, value->address, seen);
}

/* |outer| moves with the loops of the current stage, by itself or by what is looked up there; no other stage can run
 * inside of these. */
static bool is_inside_stage(const Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer) {
  if (lowering->current_stage == KERNEL_OUTER) return false;
  IntMap seen;
  int_map_init(&seen, lowering->arena);
  for (int i = 0; i < shape_result(reduce->shape, 0)->rank; i++)
    if (index_moves(lowering, outer[i], &seen)) return true;
  return false;
}

/* The next element of |reduce|'s input in row-major order, at the same |outer|; false after the last. */
static bool next_element(const HloInstruction *reduce, IndexExpr *index) {
  Int64List dimensions = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  for (int d = reduce->operands[0]->shape->rank - 1; d >= 0; d--) {
    if (!int64_list_has(dimensions, d)) continue;
    if (++index[d].constant < reduce->operands[0]->shape->dims[d]) return true;
    index[d].constant = 0;
  }
  return false;
}

/* One element after the other, from the initial value on. */
static Status fold_expression(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer,
                              int32_t *out_value) {
  const HloComputation *region = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY);
  Int64List dimensions = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  IndexExpr index[MAX_RANK];
  for (int d = 0, next = 0; d < reduce->operands[0]->shape->rank; d++)
    index[d] = int64_list_has(dimensions, d) ? index_constant(0) : outer[next++];
  HloOpcode opcode;
  bool is_simple = lowering_simple_region(region, &opcode);
  PrimitiveType type = reduce->shape->type, wide = is_simple ? lowering_fold_type(opcode, type) : type;
  int32_t arguments[2];
  RETURN_IF_ERROR(lower_element(lowering, reduce->operands[1], NULL, &arguments[0]));
  arguments[0] = lowering_convert(lowering, arguments[0], wide);
  do {
    RETURN_IF_ERROR(lower_element(lowering, reduce->operands[0], index, &arguments[1]));
    arguments[1] = lowering_convert(lowering, arguments[1], wide);
    if (is_simple) {
      arguments[0] = lowering_apply(lowering, opcode, wide, arguments, 2);
    } else {
      RETURN_IF_ERROR(lower_region(lowering, region, arguments, &arguments[0], 1));
    }
  } while (next_element(reduce, index));
  *out_value = lowering_convert(lowering, arguments[0], type);
  return STATUS_OK;
}

Status lower_reduce(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer,
                    const int32_t **out_values) {
  if (is_inside_stage(lowering, reduce, outer)) {
    return diag_error(lowering->diag, STATUS_UNSUPPORTED, reduce->loc, "unsupported-op",
                      "'%s' of many elements inside the loops of another one of its fusion is not supported yet",
                      hlo_opcode_text(reduce->opcode));
  }
  const FoldedReduce *known = find_folded(lowering, reduce, outer);
  if (known != NULL) {
    if (known->values == NULL) XLAC_BUG("a reduction that needs itself");
    *out_values = known->values;
    return STATUS_OK;
  }
  const HloInstruction *reduces[MAX_TOGETHER];
  int count = collect_together(lowering, reduce, outer, reduces);
  int64_t first = lowering->folded.count;
  const IndexExpr *point = ARENA_COPY_ARRAY(lowering->arena, IndexExpr, outer, shape_result(reduce->shape, 0)->rank);
  int64_t most_values = (int64_t)count * MAX_REDUCE_INPUTS;
  int32_t *values = ARENA_NEW_ARRAY(lowering->arena, int32_t, most_values);
  for (int i = 0; i < count; i++) {
    int inputs = reduces[i]->operand_count / 2;
    RETURN_IF_ERROR(lowering_check_inputs(lowering, reduces[i]));
    for (int k = 0; k < inputs; k++)
      RETURN_IF_ERROR(
          lower_element(lowering, reduces[i]->operands[inputs + k], NULL, &values[i * MAX_REDUCE_INPUTS + k]));
    array_push(&lowering->folded, lowering->arena, ((FoldedReduce){reduces[i], point, lowering->predicate, NULL}));
  }
  RETURN_IF_ERROR(fold_together(lowering, reduces, count, outer, values));
  for (int i = 0; i < count; i++) lowering->folded.data[first + i].values = &values[i * MAX_REDUCE_INPUTS];
  *out_values = values;
  return STATUS_OK;
}

Status element_reduce(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *index, int32_t *out_value) {
  const int32_t *values;
  if (hlo_reduce_is_short(reduce) && is_inside_stage(lowering, reduce, index))
    return fold_expression(lowering, reduce, index, out_value);
  RETURN_IF_ERROR(lower_reduce(lowering, reduce, index, &values));
  *out_value = values[0];
  return STATUS_OK;
}
