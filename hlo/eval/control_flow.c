/* Calls, branches and loops. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

static const Literal **operand_values(EvalStep *step) {
  int count = step->instruction->operand_count;
  if (!step->state) step->state = ARENA_NEW_ARRAY(step->frame->evaluation->arena, const Literal *, count + 1);
  const Literal **values = step->state;
  for (int i = 0; i < count; i++) values[i] = eval_operand(step, i);
  return values;
}

Status eval_call(EvalStep *step) {
  EvalFrame *callee;
  const Literal *result;
  RETURN_IF_ERROR(eval_callee(step, 0, &callee));
  RETURN_IF_ERROR(eval_frame_run(callee, operand_values(step), &result));
  eval_forward_value(step, result);
  return STATUS_OK;
}

/* By pred: the first branch when true; by index: the last one when it is out of range. */
Status eval_conditional(EvalStep *step) {
  int count = hlo_instruction_called_count(step->instruction);
  const Literal *selector = eval_operand(step, 0);
  int64_t chosen = literal_get_int(selector, 0);
  if (selector->shape->type == TYPE_PRED)
    chosen = chosen ? 0 : 1;
  else if (chosen < 0 || chosen >= count)
    chosen = count - 1;
  EvalFrame *branch;
  const Literal *result, *argument = eval_operand(step, (int)chosen + 1);
  RETURN_IF_ERROR(eval_callee(step, (int)chosen, &branch));
  RETURN_IF_ERROR(eval_frame_run(branch, &argument, &result));
  eval_forward_value(step, result);
  return STATUS_OK;
}

/* ---- while ---- */

/* The arrays among the leaves, depth first. */
static void collect_leaves(Literal *literal, Literal **leaves, int *count) {
  if (literal->shape->type == TYPE_TUPLE) {
    for (int i = 0; i < literal->shape->tuple_size; i++) collect_leaves(&literal->tuple[i], leaves, count);
  } else if (shape_is_array(literal->shape)) {
    leaves[(*count)++] = literal;
  }
}

typedef struct LoopState {
  Literal *state, *view; /* the loop's own storage; the structure of a result, as it was found */
  Literal **leaves;      /* of |state| */
  Literal **found;       /* of the body's result */
  void **spare;          /* for leaves that trade places */
  int64_t **sizes;       /* of the leaves, where they are set at run time; NULL in modules that set none */
  int count;
} LoopState;

static LoopState *loop_state(EvalStep *step) {
  if (step->state) return step->state;
  Arena *arena = step->frame->evaluation->arena;
  int most = shape_leaf_count(step->instruction->shape);
  LoopState *loop = step->state = ARENA_NEW(arena, LoopState);
  loop->state = literal_create(arena, step->instruction->shape);
  loop->leaves = ARENA_NEW_ARRAY(arena, Literal *, most);
  loop->found = ARENA_NEW_ARRAY(arena, Literal *, most);
  loop->spare = ARENA_NEW_ARRAY(arena, void *, most);
  collect_leaves(loop->state, loop->leaves, &loop->count);
  if (!step->frame->evaluation->is_dynamic) return loop;
  loop->sizes = ARENA_NEW_ARRAY(arena, int64_t *, 2 * most); /* and as many for those found */
  for (int i = 0; i < 2 * loop->count; i++)
    loop->sizes[i] = ARENA_NEW_ARRAY(arena, int64_t, loop->leaves[i % loop->count]->shape->rank + 1);
  return loop;
}

/* The sizes of |found| for the leaves; some may be the leaves' own, and they may have traded places. */
static void store_sizes(LoopState *loop) {
  for (int i = 0; i < loop->count && loop->sizes; i++) {
    const int64_t *sizes = loop->found[i]->sizes;
    size_t bytes = (size_t)loop->leaves[i]->shape->rank * sizeof *sizes;
    if (sizes) memcpy(loop->sizes[loop->count + i], sizes, bytes);
  }
  for (int i = 0; i < loop->count && loop->sizes; i++) {
    bool has_sizes = loop->found[i]->sizes != NULL;
    size_t bytes = (size_t)loop->leaves[i]->shape->rank * sizeof(int64_t);
    if (has_sizes) memcpy(loop->sizes[i], loop->sizes[loop->count + i], bytes);
    loop->leaves[i]->sizes = has_sizes ? loop->sizes[i] : NULL;
  }
}

static bool is_state_of_another(const LoopState *loop, int leaf, const void *data) {
  for (int i = 0; i < loop->count; i++)
    if (i != leaf && loop->leaves[i]->data == data) return true;
  return false;
}

/* state = result, where the result may hold leaves of the state, in other places as well. */
static void store_state(Arena *arena, LoopState *loop, const Literal *result) {
  int count = 0;
  collect_leaves((Literal *)(uintptr_t)result, loop->found, &count);
  store_sizes(loop);
  for (int i = 0; i < count; i++) {
    size_t bytes = (size_t)shape_byte_size(loop->leaves[i]->shape);
    if (bytes == 0 || !is_state_of_another(loop, i, loop->found[i]->data)) continue;
    if (!loop->spare[i]) loop->spare[i] = arena_alloc(arena, bytes);
    memcpy(loop->spare[i], loop->found[i]->data, bytes);
  }
  for (int i = 0; i < count; i++) {
    size_t bytes = (size_t)shape_byte_size(loop->leaves[i]->shape);
    const void *from = loop->found[i]->data;
    if (bytes == 0 || from == loop->leaves[i]->data) continue;
    memcpy(loop->leaves[i]->data, is_state_of_another(loop, i, from) ? loop->spare[i] : from, bytes);
  }
}

Status eval_while(EvalStep *step) {
  EvalFrame *condition, *body;
  RETURN_IF_ERROR(eval_callee(step, 0, &condition));
  RETURN_IF_ERROR(eval_callee(step, 1, &body));
  LoopState *loop = loop_state(step);
  store_state(step->frame->evaluation->arena, loop, eval_operand(step, 0));
  for (;;) {
    const Literal *argument = loop->state, *result;
    RETURN_IF_ERROR(eval_frame_run(condition, &argument, &result));
    if (literal_get_int(result, 0) == 0) break;
    RETURN_IF_ERROR(eval_frame_run(body, &argument, &result));
    store_state(step->frame->evaluation->arena, loop, result);
  }
  eval_forward_value(step, loop->state);
  return STATUS_OK;
}

/* ---- map ---- */

Status eval_map(EvalStep *step) {
  EvalFrame *region;
  RETURN_IF_ERROR(eval_callee(step, 0, &region));
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  for (int64_t i = 0; i < total; i++) {
    const Literal *value;
    for (int j = 0; j < step->instruction->operand_count; j++) eval_region_set(region, j, eval_operand(step, j), i);
    RETURN_IF_ERROR(eval_region_run(region, &value, 1));
    eval_store_scalar(out, i, value);
  }
  return STATUS_OK;
}

/* ---- asynchronous wrappers: everything happens at the start ---- */

/* ((arguments…), result, context…) */
Status eval_async_start(EvalStep *step) {
  EvalFrame *callee;
  const Literal *result;
  RETURN_IF_ERROR(eval_callee(step, 0, &callee));
  RETURN_IF_ERROR(eval_frame_run(callee, operand_values(step), &result));
  Literal *out = eval_result(step);
  for (int i = 0; i < step->instruction->operand_count; i++)
    eval_copy_leaves(&out->tuple[0].tuple[i], eval_operand(step, i));
  eval_copy_leaves(&out->tuple[1], result);
  literal_copy_sizes(step->frame->evaluation->arena, &out->tuple[1], result);
  step->value = *out;
  return STATUS_OK;
}

/* (copy, operand, context) */
Status eval_copy_start(EvalStep *step) {
  Literal *out = eval_result(step);
  for (int i = 0; i < 2; i++) {
    eval_copy_leaves(&out->tuple[i], eval_operand(step, 0));
    literal_copy_sizes(step->frame->evaluation->arena, &out->tuple[i], eval_operand(step, 0));
  }
  return STATUS_OK;
}
