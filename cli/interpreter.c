#include "cli/interpreter.h"

#include "hlo/eval/hlo_evaluator.h"
#include "runtime/tensor_values.h"

/* Copies leaves between a literal and the storage of tensors, from *|next| on. */
static void load_leaves(Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next) {
  if (shape_is_tuple(literal->shape)) {
    for (int i = 0; i < literal->shape->tuple_size; i++) load_leaves(&literal->tuple[i], tensors, storage, next);
    return;
  }
  if (shape_is_array(literal->shape)) tensor_load_logical(&tensors[*next], storage[*next], literal->data);
  ++*next;
}

static void store_leaves(const Literal *literal, const XlacTensor *tensors, void *const *storage, int64_t *next) {
  if (shape_is_tuple(literal->shape)) {
    for (int i = 0; i < literal->shape->tuple_size; i++) store_leaves(&literal->tuple[i], tensors, storage, next);
    return;
  }
  if (shape_is_array(literal->shape)) tensor_store_logical(&tensors[*next], literal->data, storage[*next]);
  ++*next;
}

Status interpreter_execute(Session *session, ModuleRun *run, double *out_seconds) {
  Arena *arena = arena_create();
  const HloComputation *entry = session->module->entry;
  const Literal **arguments = ARENA_NEW_ARRAY(arena, const Literal *, entry->parameters.count);
  int64_t next = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++) {
    Literal *argument = literal_create(arena, entry->parameters.data[i]->shape);
    load_leaves(argument, run->descriptor->parameters, run->arguments, &next);
    arguments[i] = argument;
  }
  Literal *result;
  double start = driver_seconds_now();
  Status status = hlo_evaluate(arena, session->module, arguments, session->diag, &result);
  if (out_seconds) *out_seconds = driver_seconds_now() - start;
  next = 0;
  if (status == STATUS_OK) store_leaves(result, run->descriptor->results, run->results, &next);
  arena_destroy(arena);
  return status;
}
