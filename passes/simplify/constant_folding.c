/* Constant folding: what constants alone determine is computed now, as long as it is cheap and the result is small. */
#include "hlo/eval/hlo_evaluator.h"
#include "passes/cleanup/control_edges.h"
#include "passes/pipeline/hlo_pass.h"
#include "passes/simplify/algebraic_rules.h"

/* An object should not grow by arrays that a loop makes faster than they are read: a result may have so many bytes, or
 * as many as the constants that it replaces.  Work is counted in elements that the evaluator visits, some 20 ns each: a
 * module's folding takes less than a tenth of a second. */
enum { SMALL_RESULT_BYTES = 4096, MOST_WORK = 200 * 1000, MOST_MODULE_WORK = 2 * 1000 * 1000 };

typedef struct Folder {
  HloPassContext *context;
  HloModule *module;
  int64_t work_left;
  bool changed;
} Folder;

/* Its value follows from its operands, at a cost that their sizes tell. */
static bool is_foldable_opcode(HloOpcode opcode) {
  switch (opcode) {
    case HLO_PARAMETER:
    case HLO_CONSTANT:
    case HLO_IOTA:
    case HLO_BROADCAST:
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_FUSION:
    case HLO_CALL:
    case HLO_CUSTOM_CALL:
    case HLO_RNG:
    case HLO_RNG_GET_AND_UPDATE_STATE:
    case HLO_RNG_BIT_GENERATOR:
    case HLO_STOCHASTIC_CONVERT:
    case HLO_OPT_BARRIER:
    case HLO_AFTER_ALL:
    case HLO_ADD_DEPENDENCY:
    case HLO_DOMAIN:
    case HLO_COPY_START:
    case HLO_COPY_DONE:
    case HLO_PARTITION_ID:
    case HLO_REPLICA_ID: return false;
    default:
      return !hlo_opcode_has(opcode, OP_SIDE_EFFECT) && !hlo_opcode_has(opcode, OP_CONTROL_FLOW) &&
             !hlo_opcode_has(opcode, OP_COLLECTIVE);
  }
}

/* A constant, or made of nothing but one: what is computed again rather than stored. */
static bool is_constant_like(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_BROADCAST) return is_constant_like(instruction->operands[0]);
  if (instruction->opcode == HLO_CONSTANT) return !hlo_instruction_literal(instruction)->elided;
  return instruction->opcode == HLO_IOTA;
}

static bool has_constant_operands(const HloInstruction *instruction) {
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    if (!is_constant_like(instruction->operands[i])) return false;
  }
  return instruction->operand_count > 0;
}

static int64_t elements_of(const Shape *shape) {
  return shape->type == TYPE_TUPLE ? INT64_MAX / 4 : shape_element_count(shape);
}

/* Elements the evaluator visits, at most; generous for what has windows or regions. */
static int64_t work_of(const HloInstruction *instruction) {
  double result = (double)elements_of(instruction->shape), operands = 0, largest = 1;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    double elements = (double)elements_of(instruction->operands[i]->shape);
    operands += elements;
    if (elements > largest) largest = elements;
  }
  bool is_product = hlo_instruction_called_count(instruction) > 0 || instruction->opcode == HLO_DOT ||
                    instruction->opcode == HLO_CONVOLUTION;
  double work = is_product ? (result + 1) * largest : result + operands;
  return work > 1e15 ? (int64_t)1e15 : (int64_t)work;
}

static bool result_is_small(const HloInstruction *instruction) {
  if (instruction->shape->type == TYPE_TUPLE || instruction->shape->type == TYPE_TOKEN) return false;
  int64_t bytes = shape_leaf_byte_size(instruction->shape), replaced = 0;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    bool goes = operand->opcode == HLO_CONSTANT && operand->user_count == 1;
    if (goes) replaced += shape_leaf_byte_size(operand->shape);
  }
  return bytes >= 0 && (bytes <= SMALL_RESULT_BYTES || bytes <= replaced);
}

static Status replace_by_value(Folder *folder, HloInstruction *instruction, HloInstruction *evaluated) {
  Literal *literal;
  RETURN_IF_ERROR(hlo_evaluate_instruction(folder->module->arena, evaluated, folder->context->diag, &literal));
  HloInstruction *value = hlo_computation_add_constant(instruction->parent, literal, (StringView){0});
  hlo_instruction_inherit_metadata(value, instruction);
  if (value->shape != instruction->shape) value = algebraic_broadcast(value, instruction->shape, NULL);
  hlo_instruction_replace_all_uses(instruction, value);
  folder->changed = true;
  return STATUS_OK;
}

/* op(broadcast(c), broadcast(d)) is broadcast(op(c, d)): one element is computed however large the arrays are. */
static Status fold_splats(Folder *folder, HloInstruction *instruction, bool *out_folded) {
  HloInstruction *scalars[8];
  *out_folded = false;
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || instruction->operand_count > 8) return STATUS_OK;
  if (instruction->shape->rank == 0) return STATUS_OK;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    scalars[i] = algebraic_splat_source(instruction->operands[i]);
    if (scalars[i] == NULL || scalars[i]->opcode != HLO_CONSTANT || !is_constant_like(scalars[i])) return STATUS_OK;
  }
  const Shape *scalar = shape_scalar(folder->module->shapes, instruction->shape->type);
  HloInstruction *one =
      hlo_computation_add_clone(instruction->parent, instruction, scalar, scalars, instruction->operand_count);
  *out_folded = true;
  return replace_by_value(folder, instruction, one);
}

static Status fold_instruction(Folder *folder, HloInstruction *instruction) {
  if (!is_foldable_opcode(instruction->opcode) || !has_constant_operands(instruction)) return STATUS_OK;
  bool folded;
  RETURN_IF_ERROR(fold_splats(folder, instruction, &folded));
  int64_t work = folded ? 0 : work_of(instruction);
  if (folded || work > MOST_WORK || work > folder->work_left || !result_is_small(instruction)) return STATUS_OK;
  folder->work_left -= work;
  return replace_by_value(folder, instruction, instruction);
}

static Status fold_computation(Folder *folder, HloComputation *computation) {
  int64_t count;
  bool changed_before = folder->changed;
  folder->changed = false;
  ControlEdges edges;
  control_edges_init(&edges, computation, folder->context->scratch);
  HloInstruction **order = hlo_computation_post_order(computation, folder->context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (!control_edges_touch(&edges, order[i])) RETURN_IF_ERROR(fold_instruction(folder, order[i]));
  }
  if (folder->changed) hlo_computation_remove_dead(computation);
  folder->changed |= changed_before;
  return STATUS_OK;
}

static Status run_constant_folding(HloPassContext *context, HloModule *module, bool *out_changed) {
  Folder folder = {context, module, MOST_MODULE_WORK, false};
  for (int64_t c = 0; c < module->computations.count; c++) {
    RETURN_IF_ERROR(fold_computation(&folder, module->computations.data[c]));
  }
  *out_changed = folder.changed;
  return STATUS_OK;
}

const HloPass hlo_constant_folding_pass = {
    "constant-folding", "what constants alone determine, where that is cheap and small", run_constant_folding, false};
