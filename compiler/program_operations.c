#include "compiler/program_operations.h"

#include "base/nearest_word.h"
#include "codegen/oncore/plan/operation_kernel.h"
#include "hlo/analysis/in_place.h"
#include "hlo/infer/hlo_verifier.h"

/* What is asked for. */
typedef struct OperationRequest {
  ProgramOperations *operations;
  Arena *arena;
  DiagSink *diag;
  PlanBody body;
} OperationRequest;

/* --- operands --- */

static const Shape *shape_of_tile(const OperationRequest *request, const PlanTile *tile) {
  return shape_array(request->operations->compilation->shapes, tile->type, tile->extents, tile->rank);
}

/* Axes of one element aside. */
static bool has_extents(const Shape *shape, const PlanTile *tile) {
  int i = 0;
  for (int32_t k = 0; k < tile->rank; k++) {
    if (tile->extents[k] == 1) continue;
    while (i < shape->rank && shape->dims[i] == 1) i++;
    if (i == shape->rank || shape->dims[i++] != tile->extents[k]) return false;
  }
  while (i < shape->rank && shape->dims[i] == 1) i++;
  return i == shape->rank;
}

static Status check_tile(const OperationRequest *request, const char *what, int number, const Shape *shape,
                         const PlanTile *tile) {
  if (shape_is_array(shape) && shape->type == tile->type && has_extents(shape, tile)) return STATUS_OK;
  StringView wanted = shape_text(request->arena, shape, false);
  StringView given = shape_text(request->arena, shape_of_tile(request, tile), false);
  return diag_error(request->diag, STATUS_INVALID, request->body.loc, "plan-operands",
                    "%s %d of '%.*s' is %.*s, and the command has %.*s there", what, number, SV_ARG(request->body.name),
                    SV_ARG(wanted), SV_ARG(given));
}

static Status check_count(const OperationRequest *request, const char *what, int64_t wanted, int32_t given) {
  if (wanted == given) return STATUS_OK;
  return diag_error(request->diag, STATUS_INVALID, request->body.loc, "plan-operands",
                    "'%.*s' has %lld %s%s, and the command %d", SV_ARG(request->body.name), (long long)wanted, what,
                    plural_ending(wanted), (int)given);
}

/* --- the module of an operation --- */

static HloComputation *find_computation(const HloModule *module, StringView name) {
  for (int64_t c = 0; module != NULL && c < module->computations.count; c++) {
    if (sv_equal(module->computations.data[c]->name, name)) return module->computations.data[c];
  }
  return NULL;
}

static Status check_signature(const OperationRequest *request, const HloComputation *computation) {
  const Shape *result = computation->root->shape;
  int count = shape_is_tuple(result) ? result->tuple_size : 1;
  RETURN_IF_ERROR(check_count(request, "parameter", computation->parameters.count, request->body.source_count));
  if (request->body.target_count < count)
    RETURN_IF_ERROR(check_count(request, "result", count, request->body.target_count));
  for (int32_t i = 0; i < request->body.source_count; i++) {
    const Shape *shape = computation->parameters.data[i]->shape;
    RETURN_IF_ERROR(check_tile(request, "parameter", i, shape, &request->body.sources[i]));
  }
  for (int32_t i = 0; i < count; i++) {
    const Shape *shape = shape_result(result, i);
    RETURN_IF_ERROR(check_tile(request, "result", i, shape, &request->body.targets[i]));
  }
  return STATUS_OK;
}

/* A module whose entry is the computation. */
static Status module_of_computation(const OperationRequest *request, HloModule **out_module) {
  HloModule *module = hlo_module_clone(request->operations->computations, request->arena);
  module->entry = find_computation(module, request->body.name);
  module->entry_layout = (EntryLayout){0};
  hlo_module_remove_unreachable(module);
  *out_module = module;
  return check_signature(request, module->entry);
}

static Status tell_unknown(const OperationRequest *request) {
  Status status =
      diag_error(request->diag, STATUS_INVALID, request->body.loc, "plan-operation",
                 "'%.*s' is neither a computation of the program nor an opcode", SV_ARG(request->body.name));
  const HloModule *module = request->operations->computations;
  NearestWord nearest = nearest_word_begin(request->body.name);
  for (int64_t c = 0; module != NULL && c < module->computations.count; c++) {
    nearest_word_offer(&nearest, module->computations.data[c]->name);
    diag_note(request->diag, module->computations.data[c]->loc, "there is '%.*s'",
              SV_ARG(module->computations.data[c]->name));
  }
  for (int opcode = 0; opcode < HLO_OPCODE_COUNT; opcode++)
    nearest_word_offer(&nearest, sv_from_cstring(hlo_opcode_text((HloOpcode)opcode)));
  nearest_word_note(&nearest, request->diag);
  if (module == NULL) diag_note(request->diag, NO_LOC, "computations stand in a section 'hlo:'");
  return status;
}

static Status check_opcode(const OperationRequest *request, HloOpcode opcode) {
  const HloOpcodeInfo *info = hlo_opcode_info(opcode);
  const char *what = (info->traits & OP_ELEMENTWISE) == 0 ? "does not work element by element" : NULL;
  for (int i = 0; i < info->attr_count; i++) {
    if (info->attrs[i].required) what = "has attributes";
  }
  if (what == NULL) return STATUS_OK;
  Status status =
      diag_error(request->diag, STATUS_INVALID, request->body.loc, "plan-operation", "'%s' %s", info->text, what);
  diag_note(request->diag, NO_LOC, "a computation in the section 'hlo:' says how it is meant");
  return status;
}

/* A module of one instruction, whose operands all have the target's extents. */
static Status module_of_opcode(const OperationRequest *request, HloModule **out_module) {
  HloOpcode opcode;
  if (!hlo_opcode_from_text(request->body.name, &opcode)) return tell_unknown(request);
  RETURN_IF_ERROR(check_opcode(request, opcode));
  RETURN_IF_ERROR(check_count(request, "result", 1, request->body.target_count));
  const HloOpcodeInfo *info = hlo_opcode_info(opcode);
  if (request->body.source_count < info->min_operands || info->max_operands == VARIADIC)
    RETURN_IF_ERROR(check_count(request, "operand", info->min_operands, request->body.source_count));
  if (request->body.source_count > info->max_operands)
    RETURN_IF_ERROR(check_count(request, "operand", info->max_operands, request->body.source_count));
  const Shape *result = shape_of_tile(request, &request->body.targets[0]);
  ShapeTable *shapes = request->operations->compilation->shapes;
  HloModule *module = hlo_module_create(request->arena, shapes, request->body.name);
  HloComputation *entry = module->entry = hlo_module_add_computation(module, request->body.name);
  HloInstruction **operands = ARENA_NEW_ARRAY(request->arena, HloInstruction *, request->body.source_count);
  for (int32_t i = 0; i < request->body.source_count; i++) {
    const PlanTile *source = &request->body.sources[i];
    const Shape *shape = shape_array(shapes, source->type, result->dims, result->rank);
    RETURN_IF_ERROR(check_tile(request, "operand", i, shape, source));
    operands[i] = hlo_computation_add_parameter(entry, i, shape, SV("operand"));
    operands[i]->loc = request->body.loc;
  }
  HloInstruction *root =
      hlo_computation_add(entry, opcode, result, operands, request->body.source_count, request->body.name);
  root->loc = entry->loc = module->loc = request->body.loc;
  hlo_computation_set_root(entry, root);
  *out_module = module;
  return STATUS_OK;
}

/* --- its Kernel --- */

static Status unsupported(const OperationRequest *request, const char *what) {
  return diag_error(request->diag, STATUS_UNSUPPORTED, request->body.loc, "unsupported-operation",
                    "'%.*s' cannot be one command: %s", SV_ARG(request->body.name), what);
}

static Status tell_kernels(const OperationRequest *request, const KernelTable *kernels) {
  Status status = unsupported(request, kernels->rows.count == 0 ? "it computes no array" : "it takes several kernels");
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const HloInstruction *instruction = kernels->rows.data[r].instruction;
    diag_note(request->diag, instruction->loc, "one is '%.*s'", SV_ARG(instruction->name));
  }
  return status;
}

/* The result that leaf |node| of |maker| is, -1: none. */
static int32_t result_of(const HloInstruction *maker, int32_t node, const HloInstruction *root) {
  root = hlo_behind_views(root);
  if (root == maker) return node > 0 ? node - 1 : 0;
  if (root->opcode != HLO_TUPLE) return -1;
  for (int32_t i = 0; i < root->operand_count; i++) {
    const HloInstruction *leaf = hlo_behind_views(root->operands[i]);
    if (leaf == maker) return i;
    bool takes = leaf->opcode == HLO_GET_TUPLE_ELEMENT && leaf->operands[0] == maker;
    int64_t index = takes ? hlo_instruction_int(leaf, HLO_ATTR_INDEX, 0) : -1;
    if (takes && shape_node_child(maker->shape, 0, index) == node) return i;
  }
  return -1;
}

/* The target for what |buffer| keeps between the operation's stages; there is one more of these. */
static Status bind_scratch(const OperationRequest *request, const KernelBuffer *buffer, int32_t *targets) {
  int32_t number = (*targets)++;
  long long count = (long long)buffer->element_count;
  if (number >= request->body.target_count) {
    Status status = diag_error(request->diag, STATUS_INVALID, request->body.loc, "plan-operands",
                               "'%.*s' keeps %lld elements of type %s between its steps and has no target for them",
                               SV_ARG(request->body.name), count, type_text(buffer->type));
    diag_note(request->diag, NO_LOC, "name a Tensor of so many elements after the command's other targets");
    return status;
  }
  const PlanTile *tile = &request->body.targets[number];
  int64_t elements = 1;
  for (int32_t i = 0; i < tile->rank; i++) elements *= tile->extents[i];
  if (tile->type == buffer->type && elements == buffer->element_count) return STATUS_OK;
  return diag_error(request->diag, STATUS_INVALID, request->body.loc, "plan-operands",
                    "target %d of the command holds what '%.*s' keeps between its steps, %lld elements of type %s",
                    (int)number, SV_ARG(request->body.name), count, type_text(buffer->type));
}

static Status bind_buffer(const OperationRequest *request, const HloModule *module, const KernelUses *row,
                          const KernelBuffer *buffer, int32_t *targets, int32_t *out_operand) {
  if (buffer->role == KERNEL_IN_PLACE && buffer->operand < 0 && buffer->node < 0) {
    *out_operand = *targets;
    return bind_scratch(request, buffer, targets);
  }
  if (buffer->role == KERNEL_OPERAND) {
    const HloInstruction *operand = hlo_behind_views(row->instruction->operands[buffer->operand]);
    if (operand->opcode != HLO_PARAMETER) return unsupported(request, "it reads a constant array");
    *out_operand = (int32_t)hlo_instruction_parameter_number(operand);
    return STATUS_OK;
  }
  *out_operand = buffer->role == KERNEL_RESULT ? result_of(row->instruction, buffer->node, module->entry->root) : -1;
  return *out_operand >= 0 ? STATUS_OK : unsupported(request, "its results are not all made there");
}

static int32_t result_count(const HloModule *module) {
  const Shape *shape = module->entry->root->shape;
  return shape_is_tuple(shape) ? shape->tuple_size : 1;
}

/* Each result is written by the one Kernel there is, and no target is left. */
static Status check_targets(const OperationRequest *request, const PlanOperation *operation, int32_t results,
                            int32_t targets) {
  for (int32_t t = 0; t < results; t++) {
    int32_t writers = 0;
    for (int32_t b = 0; b < operation->kernel->buffer_count; b++)
      writers += operation->kernel->buffers[b].role == KERNEL_RESULT && operation->operands[b] == t;
    if (writers != 1) return unsupported(request, "its results are not all made there");
  }
  return check_count(request, "target", targets, request->body.target_count);
}

static Status operation_of(const OperationRequest *request, const HloModule *module, const KernelTable *kernels,
                           const PlanOperation **out_operation) {
  if (kernels->rows.count != 1 || kernels->rows.data[0].count != 1) return tell_kernels(request, kernels);
  const KernelUses *row = &kernels->rows.data[0];
  const Kernel *kernel = row->uses[0].kernel;
  if (kernel->part_count > 0 || row->uses[0].offsets != NULL) return tell_kernels(request, kernels);
  RETURN_IF_ERROR(operation_kernel_make(request->arena, kernel, request->diag, &kernel));
  int32_t *operands = ARENA_NEW_ARRAY(request->arena, int32_t, kernel->buffer_count);
  int32_t results = result_count(module), targets = results;
  for (int32_t b = 0; b < kernel->buffer_count; b++)
    RETURN_IF_ERROR(bind_buffer(request, module, row, &kernel->buffers[b], &targets, &operands[b]));
  PlanOperation *operation = ARENA_NEW(request->arena, PlanOperation);
  *operation = (PlanOperation){kernel, operands};
  *out_operation = operation;
  return check_targets(request, operation, results, targets);
}

static Status find(void *self, const PlanBody *body, DiagSink *diag, const PlanOperation **out_operation) {
  ProgramOperations *operations = self;
  const Compilation *program = operations->compilation;
  OperationRequest request = {operations, program->arena, diag, *body};
  bool is_computation = find_computation(operations->computations, body->name) != NULL;
  HloModule *module = NULL;
  RETURN_IF_ERROR(is_computation ? module_of_computation(&request, &module) : module_of_opcode(&request, &module));
  RETURN_IF_ERROR(hlo_verify(module, diag));
  CompilationOptions options = {.machine = program->options.machine,
                                .opt_level = program->options.opt_level,
                                .fast_math = program->options.fast_math,
                                .excess_precision = program->options.excess_precision,
                                .flush_denormals = program->options.flush_denormals,
                                .verifies_each = program->options.verifies_each,
                                .effort = program->options.effort,
                                .without_code = true};
  Compilation compilation;
  compilation_init(&compilation, program->arena, &options, diag);
  compilation_take_module(&compilation, module);
  RETURN_IF_ERROR(compilation_run_passes(&compilation));
  RETURN_IF_ERROR(compilation_make_kernels(&compilation));
  return operation_of(&request, module, compilation.draft.kernels, out_operation);
}

PlanOperations program_operations(ProgramOperations *operations) {
  return (PlanOperations){operations, find};
}
