#include "hlo/eval/hlo_evaluator.h"

#include <string.h>

#include "base/checked_math.h"
#include "hlo/eval/eval_internal.h"

/* More than this an element-wise copy of a hostile text must not ask for. */
#define MOST_BYTES ((int64_t)1 << 36)

static EvalRule *const rules[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = eval_##eval,
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

/* ---- frames ---- */

/* Marks what the root needs, and what has side effects. */
static bool *needed_instructions(Arena *arena, HloInstruction *const *order, int64_t count, const HloInstruction *root,
                                 IntMap *places) {
  bool *needed = ARENA_NEW_ARRAY(arena, bool, count);
  for (int64_t i = 0; i < count; i++) int_map_set(places, (uint64_t)(uintptr_t)order[i], i);
  for (int64_t i = count - 1; i >= 0; i--) {
    if (order[i] == root || hlo_instruction_has_side_effect(order[i])) needed[i] = true;
    if (!needed[i]) continue;
    for (int32_t j = 0; j < order[i]->operand_count; j++) {
      int64_t place = 0;
      if (int_map_find(places, (uint64_t)(uintptr_t)order[i]->operands[j], &place)) needed[place] = true;
    }
  }
  return needed;
}

static void step_init(EvalFrame *frame, EvalStep *step, const HloInstruction *instruction, const IntMap *steps) {
  Arena *arena = frame->evaluation->arena;
  *step = (EvalStep){.instruction = instruction, .rule = rules[instruction->opcode], .frame = frame};
  step->value.shape = instruction->shape;
  step->operands = ARENA_NEW_ARRAY(arena, EvalStep *, instruction->operand_count);
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    step->operands[i] = pointer_map_get(steps, instruction->operands[i]);
    const Shape *shape = instruction->operands[i]->shape;
    bool may_have = shape_is_tuple(shape) || (shape_is_array(shape) && shape->rank > 0);
    step->may_see_sizes = step->may_see_sizes || (frame->evaluation->is_dynamic && may_have);
  }
}

/* Whether steps with |rule| show values that others have made. */
static bool only_shows(EvalRule *rule) {
  static EvalRule *const showing[] = {
      eval_parameter,     eval_forward,        eval_token,     eval_tuple, eval_get_tuple_element,
      eval_first_element, eval_second_element, eval_recv_done, eval_call,  eval_conditional};
  for (size_t i = 0; i < sizeof showing / sizeof showing[0]; i++)
    if (rule == showing[i]) return true;
  return false;
}

/* Counts the storage of |step|'s value before there is any. */
static Status reserve(Evaluation *evaluation, const EvalStep *step) {
  if (evaluation->memory_limit == 0 || only_shows(step->rule)) return STATUS_OK;
  const HloInstruction *instruction = step->instruction;
  int64_t bytes = shape_leaf_byte_size(instruction->shape);
  if (checked_add(evaluation->reserved, bytes, &evaluation->reserved) &&
      evaluation->reserved <= evaluation->memory_limit)
    return STATUS_OK;
  return diag_error(evaluation->diag, STATUS_EXHAUSTED, instruction->loc, "memory-limit",
                    "with the %lld bytes of '%.*s', values to be interpreted need more than the %lld bytes that the "
                    "memory limit leaves for them",
                    (long long)bytes, SV_ARG(instruction->name), (long long)evaluation->memory_limit);
}

static Status frame_create(Evaluation *evaluation, const HloComputation *computation, int depth,
                           EvalFrame **out_frame) {
  Arena *arena = evaluation->arena;
  EvalFrame *frame = ARENA_NEW(arena, EvalFrame);
  *frame = (EvalFrame){.evaluation = evaluation, .computation = computation, .depth = depth};
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  IntMap places, steps;
  int_map_init(&places, arena);
  int_map_init(&steps, arena);
  bool *needed = needed_instructions(arena, order, count, computation->root, &places);
  frame->steps = ARENA_NEW_ARRAY(arena, EvalStep, count);
  for (int64_t i = 0; i < count; i++) {
    if (!needed[i]) continue;
    EvalStep *step = &frame->steps[frame->step_count++];
    step_init(frame, step, order[i], &steps);
    RETURN_IF_ERROR(reserve(evaluation, step));
    pointer_map_set(&steps, order[i], step);
  }
  frame->root = pointer_map_get(&steps, computation->root);
  *out_frame = frame;
  return STATUS_OK;
}

Status eval_frame_run(EvalFrame *frame, const Literal *const *arguments, const Literal **out_result) {
  frame->arguments = arguments;
  for (int64_t i = 0; i < frame->step_count; i++) {
    EvalStep *step = &frame->steps[i];
    bool is_sized = step->may_see_sizes && eval_sees_sizes(step);
    RETURN_IF_ERROR(is_sized ? eval_run_sized(step) : step->rule(step));
  }
  *out_result = &frame->root->value;
  return STATUS_OK;
}

Status eval_callee(EvalStep *step, int index, EvalFrame **out_frame) {
  Evaluation *evaluation = step->frame->evaluation;
  if (!step->callees)
    step->callees = ARENA_NEW_ARRAY(evaluation->arena, EvalFrame *, hlo_instruction_called_count(step->instruction));
  if (!step->callees[index]) {
    if (step->frame->depth >= HLO_MOST_NESTED_CALLS) /* deeper ones would use up the stack */
      return eval_error(step, "nests more than %d calls", HLO_MOST_NESTED_CALLS);
    const HloComputation *callee = hlo_instruction_called(step->instruction, index);
    RETURN_IF_ERROR(frame_create(evaluation, callee, step->frame->depth + 1, &step->callees[index]));
  }
  *out_frame = step->callees[index];
  return STATUS_OK;
}

/* Operands before users, each once; |steps| knows those that are there already. */
static EvalStep *add_operand_steps(EvalFrame *frame, const HloInstruction *instruction, IntMap *steps) {
  EvalStep *known = pointer_map_get(steps, instruction);
  if (known) return known;
  for (int32_t i = 0; i < instruction->operand_count; i++) add_operand_steps(frame, instruction->operands[i], steps);
  EvalStep *step = &frame->steps[frame->step_count++];
  step_init(frame, step, instruction, steps);
  pointer_map_set(steps, instruction, step);
  return step;
}

static int64_t count_operands(const HloInstruction *instruction, IntMap *seen) {
  if (pointer_map_get(seen, instruction)) return 0;
  pointer_map_set(seen, instruction, (void *)(uintptr_t)instruction);
  int64_t count = 1;
  for (int32_t i = 0; i < instruction->operand_count; i++) count += count_operands(instruction->operands[i], seen);
  return count;
}

/* As much of a computation as |root| is made of. */
static EvalFrame *frame_create_for(Evaluation *evaluation, const HloInstruction *root) {
  Arena *arena = evaluation->arena;
  EvalFrame *frame = ARENA_NEW(arena, EvalFrame);
  *frame = (EvalFrame){.evaluation = evaluation, .computation = root->parent};
  IntMap seen, steps;
  int_map_init(&seen, arena);
  int_map_init(&steps, arena);
  frame->steps = ARENA_NEW_ARRAY(arena, EvalStep, count_operands(root, &seen));
  frame->root = add_operand_steps(frame, root, &steps);
  return frame;
}

/* ---- regions ---- */

Literal *eval_region_argument(EvalFrame *frame, int number) {
  int64_t count = frame->computation->parameters.count;
  Arena *arena = frame->evaluation->arena;
  if (!frame->region_arguments) {
    Literal **arguments = ARENA_NEW_ARRAY(arena, Literal *, count);
    for (int64_t i = 0; i < count; i++)
      arguments[i] = literal_create(arena, frame->computation->parameters.data[i]->shape);
    frame->region_arguments = (const Literal **)arguments;
  }
  return (Literal *)(uintptr_t)frame->region_arguments[number];
}

static void convert_element(PrimitiveType from, const void *source, PrimitiveType to, void *target) {
  if (from == to) {
    memcpy(target, source, (size_t)type_storage_bytes(to));
    return;
  }
  LaneComplex number;
  lanes_load(from, source, 1, 1, &number);
  lanes_convert(lane_class(from), to, 1, &number, &number);
  lanes_store(to, target, 1, &number);
}

void eval_region_set(EvalFrame *frame, int number, const Literal *source, int64_t index) {
  Literal *argument = eval_region_argument(frame, number);
  convert_element(source->shape->type, literal_element(source, index), argument->shape->type, argument->data);
}

Status eval_region_run(EvalFrame *frame, const Literal **out_results, int count) {
  if (frame->computation->parameters.count > 0) (void)eval_region_argument(frame, 0);
  const Literal *result;
  RETURN_IF_ERROR(eval_frame_run(frame, frame->region_arguments, &result));
  bool is_tuple = result->shape->type == TYPE_TUPLE;
  for (int i = 0; i < count; i++) out_results[i] = is_tuple ? &result->tuple[i] : result;
  return STATUS_OK;
}

void eval_store_scalar(Literal *target, int64_t index, const Literal *value) {
  convert_element(value->shape->type, value->data, target->shape->type, literal_element(target, index));
}

LaneKernel *eval_region_kernel(const EvalFrame *frame, PrimitiveType type, HloOpcode *out_opcode) {
  const HloInstruction *root = frame->computation->root;
  if (frame->computation->parameters.count != 2 || root->operand_count != 2) return NULL;
  if (!hlo_opcode_has(root->opcode, OP_ELEMENTWISE) || root->shape->type != type) return NULL;
  int64_t numbers[2];
  for (int i = 0; i < 2; i++) {
    const HloInstruction *operand = root->operands[i];
    if (operand->opcode != HLO_PARAMETER || operand->shape->type != type || operand->shape->rank != 0) return NULL;
    numbers[i] = hlo_instruction_parameter_number(operand);
  }
  bool is_in_order = numbers[0] == 0 && numbers[1] == 1;
  bool is_swapped = numbers[0] == 1 && numbers[1] == 0 && hlo_opcode_has(root->opcode, OP_COMMUTES);
  if (!is_in_order && !is_swapped) return NULL;
  if (out_opcode) *out_opcode = root->opcode;
  return lane_kernel(root->opcode, lane_class(type));
}

/* ---- entry ---- */

/* Before anything is allocated: an instruction's array may be larger than any memory. */
static Status check_sizes(const HloComputation *computation, DiagSink *diag) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    int64_t bytes = shape_leaf_byte_size(instruction->shape);
    if (bytes < 0 || bytes > MOST_BYTES)
      return diag_error(diag, STATUS_EXHAUSTED, instruction->loc, "eval", "'%.*s' is too large to be evaluated",
                        SV_ARG(instruction->name));
    if (instruction->shape->rank > EVAL_MAX_RANK)
      return diag_error(diag, STATUS_UNSUPPORTED, instruction->loc, "eval", "'%.*s' has more than %d dimensions",
                        SV_ARG(instruction->name), EVAL_MAX_RANK);
  }
  return STATUS_OK;
}

static Status evaluate_frame(Arena *arena, EvalFrame *frame, const Literal *const *arguments, Literal **out_result) {
  const Literal *result;
  RETURN_IF_ERROR(eval_frame_run(frame, arguments, &result));
  *out_result = literal_create(arena, frame->root->instruction->shape);
  eval_copy_leaves(*out_result, result);
  literal_copy_sizes(arena, *out_result, result);
  return STATUS_OK;
}

/* The first instruction that sets a size at run time, or has one that is; NULL: there is none. */
static const HloInstruction *find_set_size(const HloModule *module) {
  for (int64_t i = 0; i < module->computations.count; i++) {
    const HloComputation *computation = module->computations.data[i];
    for (int64_t j = 0; j < computation->instructions.count; j++) {
      const HloInstruction *instruction = computation->instructions.data[j];
      if (shape_is_dynamic(instruction->shape) || instruction->opcode == HLO_SET_DIMENSION_SIZE) return instruction;
    }
  }
  return NULL;
}

static Status evaluate_computation(Arena *arena, const HloComputation *computation, const Literal *const *arguments,
                                   const HloHost *host, int64_t memory_limit, DiagSink *diag, Literal **out_result) {
  const HloModule *module = computation->module;
  for (int64_t i = 0; i < module->computations.count; i++)
    RETURN_IF_ERROR(check_sizes(module->computations.data[i], diag));
  Status status = STATUS_OK;
  Evaluation evaluation = {
      .arena = arena_create(), .diag = diag, .host = host, .memory_limit = memory_limit, .random_state = 1};
  evaluation.devices = hlo_module_device_counts(module);
  if (host != NULL && device_counts_total(host->devices) > 1) {
    evaluation.knows_devices = true;
    evaluation.devices = host->devices;
    evaluation.device = host->device;
  }
  const HloInstruction *sized = find_set_size(module);
  evaluation.is_dynamic = sized != NULL;
  if (sized != NULL && evaluation.knows_devices) /* their shapes are made while it runs, in one table */
    status = diag_error(diag, STATUS_UNSUPPORTED, sized->loc, "eval",
                        "'%.*s' has a size that is set at run time, which cannot be evaluated on several devices",
                        SV_ARG(sized->name));
  EvalFrame *frame;
  if (status == STATUS_OK) status = frame_create(&evaluation, computation, 0, &frame);
  if (status == STATUS_OK) status = evaluate_frame(arena, frame, arguments, out_result);
  if (evaluation.knows_devices) host->withdraw(host->self);
  arena_destroy(evaluation.arena);
  return status;
}

Status hlo_evaluate_computation(Arena *arena, const HloComputation *computation, const Literal *const *arguments,
                                DiagSink *diag, Literal **out_result) {
  return evaluate_computation(arena, computation, arguments, NULL, 0, diag, out_result);
}

Status hlo_evaluate_instruction(Arena *arena, const HloInstruction *instruction, DiagSink *diag, Literal **out_result) {
  Evaluation evaluation = {.arena = arena_create(), .diag = diag, .random_state = 1};
  evaluation.devices = hlo_module_device_counts(instruction->parent->module);
  Status status = evaluate_frame(arena, frame_create_for(&evaluation, instruction), NULL, out_result);
  arena_destroy(evaluation.arena);
  return status;
}

Status hlo_evaluate(Arena *arena, const HloModule *module, const Literal *const *arguments, const HloHost *host,
                    int64_t memory_limit, DiagSink *diag, Literal **out_result) {
  return evaluate_computation(arena, module->entry, arguments, host, memory_limit, diag, out_result);
}
