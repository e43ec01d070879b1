/* Loops inside a nest: each element of the state that varies is a fold over the rounds, from its value before them. */
#include "codegen/lower/lowering_internal.h"
#include "hlo/analysis/trip_count.h"

bool lowering_in_loop(const Lowering *lowering, const HloInstruction *element) {
  if (element->opcode != HLO_GET_TUPLE_ELEMENT) return false;
  for (int64_t i = 0; i < lowering->loops.count; i++) {
    if (lowering->loops.data[i].parameter == element->operands[0]) return true;
  }
  return false;
}

Status lower_loop_state(Lowering *lowering, const HloInstruction *element, const IndexExpr *index, int32_t *out_value) {
  int64_t number = hlo_instruction_int(element, HLO_ATTR_INDEX, 0);
  const LoweredLoop *inside = lowering->loops.data;
  while (inside->parameter != element->operands[0]) inside++;
  *out_value = inside->state[number];
  if (*out_value >= 0) return STATUS_OK;
  return lower_element(lowering, inside->loop->operands[0]->operands[number], index, out_value);
}

static const FoldedReduce *find_lowered(const Lowering *lowering, const HloInstruction *loop, const IndexExpr *index,
                                        int rank) {
  for (int64_t i = 0; i < lowering->folded.count; i++) {
    const FoldedReduce *folded = &lowering->folded.data[i];
    bool is_same = folded->reduce == loop && folded->predicate == lowering->predicate;
    for (int d = 0; is_same && d < rank; d++) is_same = index_equal(folded->outer[d], index[d]);
    if (is_same) return folded;
  }
  return NULL;
}

typedef struct LoopFolds {
  const HloInstruction *loop, *root; /* of the body */
  int count;                         /* elements of the state */
  int rank;                          /* of its arrays that vary */
  int32_t *folds;                    /* by element; -1: does not vary, or the counter */
  int32_t *state;
} LoopFolds;

static bool varies(const LoopFolds *folds, const TripCount *count, int element) {
  const HloInstruction *parameter = folds->root->parent->parameters.data[0];
  return element != count->index && trip_count_element(folds->root->operands[element], parameter) != element;
}

/* Every fold's value after a round, in terms of those before it. */
static Status lower_round(Lowering *lowering, const LoopFolds *folds, const IndexExpr *index) {
  int32_t *next = ARENA_NEW_ARRAY(lowering->arena, int32_t, folds->count);
  for (int i = 0; i < folds->count; i++) {
    if (folds->folds[i] < 0) continue;
    RETURN_IF_ERROR(lower_element(lowering, folds->root->operands[i], index, &next[i]));
  }
  for (int i = 0; i < folds->count; i++) {
    if (folds->folds[i] >= 0) lowering_set_fold_next(lowering, folds->folds[i], next[i]);
  }
  return STATUS_OK;
}

static Status lower_rounds(Lowering *lowering, LoopFolds *folds, const TripCount *count, const IndexExpr *index) {
  const HloInstruction *init = folds->loop->operands[0];
  int32_t *seeds = ARENA_NEW_ARRAY(lowering->arena, int32_t, folds->count);
  int outer_stage = lowering->current_stage;
  for (int i = 0; i < folds->count; i++) {
    folds->folds[i] = folds->state[i] = -1;
    if (varies(folds, count, i)) RETURN_IF_ERROR(lower_element(lowering, init->operands[i], index, &seeds[i]));
  }
  int stage = lowering_begin_stage(lowering);
  IndexExpr round = lowering_dim(lowering, count->trips, KERNEL_REDUCTION, stage);
  IndexExpr counter =
      index_add_constant(&lowering->draft.space, index_scale(&lowering->draft.space, round, count->step), count->first);
  for (int i = 0; i < folds->count; i++) {
    PrimitiveType type = init->operands[i]->shape->type;
    if (i == count->index) folds->state[i] = lowering_index_value(lowering, type, counter);
    if (!varies(folds, count, i)) continue;
    folds->folds[i] = lowering_add_fold(lowering, type, stage, seeds[i]);
    folds->state[i] = lowering_accumulator(lowering, folds->folds[i], false);
  }
  LoweredLoop inside = {folds->loop, folds->root->parent->parameters.data[0], folds->state};
  array_push(&lowering->loops, lowering->arena, inside);
  Status status = lower_round(lowering, folds, index);
  lowering->loops.count--;
  RETURN_IF_ERROR(status);
  for (int i = 0; i < folds->count; i++)
    folds->state[i] = folds->folds[i] < 0 ? -1 : lowering_accumulator(lowering, folds->folds[i], true);
  lowering_end_stage(lowering, stage, outer_stage);
  return STATUS_OK;
}

Status lower_loop(Lowering *lowering, const HloInstruction *loop, const IndexExpr *index, const int32_t **out_values) {
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY);
  LoopFolds folds = {.loop = loop, .root = body->root, .count = loop->operands[0]->operand_count};
  folds.folds = ARENA_NEW_ARRAY(lowering->arena, int32_t, folds.count);
  folds.state = ARENA_NEW_ARRAY(lowering->arena, int32_t, folds.count);
  TripCount count;
  bool is_known = trip_count_find(loop, &count) && body->root->opcode == HLO_TUPLE;
  if (!is_known || loop->operands[0]->opcode != HLO_TUPLE || lowering->current_stage != KERNEL_OUTER) {
    return diag_error(lowering->diag, STATUS_UNSUPPORTED, loop->loc, "unsupported-op",
                      "'while' inside a fusion goes a number of rounds that is not known, or inside another loop");
  }
  for (int i = 0; i < folds.count; i++) {
    int rank = loop->operands[0]->operands[i]->shape->rank;
    if (varies(&folds, &count, i) && rank > folds.rank) folds.rank = rank;
  }
  const FoldedReduce *found = find_lowered(lowering, loop, index, folds.rank);
  if (found == NULL) {
    RETURN_IF_ERROR(lower_rounds(lowering, &folds, &count, index));
    FoldedReduce made = {loop, ARENA_COPY_ARRAY(lowering->arena, IndexExpr, index, folds.rank), lowering->predicate,
                         folds.state};
    array_push(&lowering->folded, lowering->arena, made);
    found = &lowering->folded.data[lowering->folded.count - 1];
  }
  *out_values = found->values;
  return STATUS_OK;
}

Status root_loop(Lowering *lowering, const HloInstruction *root) {
  IndexExpr index[MAX_RANK];
  int count = root->opcode == HLO_TUPLE ? root->operand_count : 1;
  KernelStore *stores = ARENA_NEW_ARRAY(lowering->arena, KernelStore, count);
  lowering_dims_of_shape(lowering, lowering_result_leaf(lowering, 0), KERNEL_PARALLEL, KERNEL_OUTER, index);
  if (lowering->is_empty) return STATUS_OK;
  for (int i = 0; i < count; i++) {
    int32_t value;
    RETURN_IF_ERROR(lower_element(lowering, root->opcode == HLO_TUPLE ? root->operands[i] : root, index, &value));
    stores[i] = lowering_result_store(lowering, i, index, value);
  }
  lowering_add_stage(lowering, stores, count);
  return STATUS_OK;
}
