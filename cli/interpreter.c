#include "cli/interpreter.h"

#include "hlo/eval/hlo_evaluator.h"
#include "runtime/tensor_values.h"

static XlacTensor tensor_of(const HloInstruction *instruction, const Shape *shape) {
  return (XlacTensor){.name = instruction->name.data,
                      .type = (int32_t)shape->type,
                      .rank = shape->rank,
                      .dims = shape->dims,
                      .minor_to_major = shape->layout.minor_to_major,
                      .bytes = shape_byte_size(shape),
                      .alignment = 1,
                      .alias = -1};
}

static void add_leaves(Arena *arena, const HloInstruction *instruction, XlacTensor *tensors, int64_t *count) {
  for (int node = 0; node < shape_node_count(instruction->shape); node++) {
    const Shape *shape = shape_node(instruction->shape, node);
    if (shape_is_tuple(shape)) continue;
    tensors[*count] = tensor_of(instruction, shape);
    tensors[(*count)++].name = sv_copy(arena, instruction->name).data;
  }
}

const XlacDescriptor *interpreter_descriptor(Arena *arena, const HloModule *module) {
  const HloComputation *entry = module->entry;
  XlacDescriptor *descriptor = ARENA_NEW(arena, XlacDescriptor);
  int64_t total = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++) total += shape_leaf_count(entry->parameters.data[i]->shape);
  XlacTensor *parameters = ARENA_NEW_ARRAY(arena, XlacTensor, total);
  XlacTensor *results = ARENA_NEW_ARRAY(arena, XlacTensor, shape_leaf_count(entry->root->shape));
  *descriptor = (XlacDescriptor){.struct_size = sizeof *descriptor,
                                 .abi_version = XLAC_ABI_VERSION,
                                 .module_name = sv_copy(arena, module->name).data,
                                 .parameters = parameters,
                                 .results = results,
                                 .workspace_alignment = 1};
  for (int64_t i = 0; i < entry->parameters.count; i++)
    add_leaves(arena, entry->parameters.data[i], parameters, &descriptor->parameter_count);
  add_leaves(arena, entry->root, results, &descriptor->result_count);
  return descriptor;
}

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
