/* Constant folding: what constants alone determine is computed now, as long as it is cheap and the result is small. */
#include "hlo/eval/hlo_evaluator.h"
#include "passes/cleanup/control_edges.h"
#include "passes/pipeline/hlo_pass.h"
#include "passes/simplify/algebraic_rules.h"

/* An object should not grow by arrays that a loop makes faster than they are read: a result may have so many bytes, or
 * as many as the constants that it replaces.  Work is counted in elements that the evaluator visits, some 20 ns each: a
 * module's folding takes less than a tenth of a second. */
enum { SMALL_RESULT_BYTES = 4096, MOST_WORK = 200 * 1000, MOST_MODULE_WORK = 2 * 1000 * 1000, MOST_OPERANDS = 8 };

typedef struct Folder {
  HloPassContext *context;
  HloModule *module;
  int64_t work_left;
} Folder;

/* A constant, or made of nothing but one: what is computed again rather than stored. */
static bool is_constant_like(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_BROADCAST) return is_constant_like(instruction->operands[0]);
  if (instruction->opcode == HLO_CONSTANT) return !hlo_instruction_literal(instruction)->elided;
  return instruction->opcode == HLO_IOTA;
}

/* Its value follows from constants alone, and nothing but its value is wanted.  An array of dynamic size is more than
 * the elements that a literal holds. */
static bool is_foldable(const HloInstruction *instruction) {
  if (hlo_opcode_has(instruction->opcode, OP_STAYS) || is_constant_like(instruction)) return false;
  if (shape_is_dynamic(instruction->shape) || instruction->operand_count == 0) return false;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    if (!is_constant_like(operand) || shape_is_dynamic(operand->shape)) return false;
  }
  return true;
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
  bool is_product =
      hlo_instruction_called_count(instruction) > 0 || hlo_opcode_has(instruction->opcode, OP_CONTRACTION);
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

/* A mask: positions in an array compared with each other or with one number.  A reader makes it of the index it
 * stands at, so it is worth a constant only where it is the same everywhere. */
static bool compares_positions(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_COMPARE || instruction->shape->rank == 0) return false;
  bool has_positions = false;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    while (operand->opcode == HLO_BROADCAST) operand = operand->operands[0];
    has_positions |= operand->opcode == HLO_IOTA;
    if (operand->opcode != HLO_IOTA && !shape_is_scalar(operand->shape)) return false;
  }
  return has_positions;
}

static bool is_read_element_by_element(const HloInstruction *instruction) {
  for (int32_t i = 0; i < instruction->user_count; i++) {
    if (!hlo_opcode_has(instruction->users[i]->opcode, OP_ELEMENTWISE)) return false;
  }
  return !hlo_instruction_is_root(instruction);
}

/* |evaluated|, which is |instruction| or one element of it, as a constant in its place; false where the evaluator has
 * no rule: then code will say what it thinks of it. */
static bool replace_by_value(Folder *folder, const char *rule, HloInstruction *instruction,
                             const HloInstruction *evaluated) {
  Literal *literal;
  DiagSink unheard;
  diag_sink_init(&unheard, folder->context->scratch);
  if (hlo_evaluate_instruction(folder->module->arena, evaluated, &unheard, &literal) != STATUS_OK) return false;
  if (compares_positions(instruction) && is_read_element_by_element(instruction) && !literal_is_splat(literal))
    return false;
  hlo_pass_count_rewrite(folder->context, rule, instruction);
  HloInstruction *value = hlo_computation_add_constant(instruction->parent, literal, (StringView){0});
  hlo_instruction_inherit_metadata(value, instruction);
  if (value->shape != instruction->shape) value = algebraic_broadcast(value, instruction->shape, NULL);
  hlo_instruction_replace_all_uses(instruction, value);
  return true;
}

/* op(broadcast(c), broadcast(d)) is broadcast(op(c, d)): one element is computed however large the arrays are. */
static bool fold_splats(Folder *folder, HloInstruction *instruction) {
  HloInstruction *scalars[MOST_OPERANDS];
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || instruction->operand_count > MOST_OPERANDS) return false;
  if (instruction->shape->rank == 0) return false;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    scalars[i] = algebraic_splat_source(instruction->operands[i]);
    if (scalars[i] == NULL || scalars[i]->opcode != HLO_CONSTANT || !is_constant_like(scalars[i])) return false;
  }
  const Shape *scalar = shape_scalar(folder->module->shapes, instruction->shape->type);
  HloInstruction *one =
      hlo_computation_add_clone(instruction->parent, instruction, scalar, scalars, instruction->operand_count);
  return replace_by_value(folder, "fold-splats", instruction, one);
}

static bool fold_instruction(Folder *folder, HloInstruction *instruction) {
  if (!is_foldable(instruction) || !hlo_pass_may_rewrite(folder->context)) return false;
  if (fold_splats(folder, instruction)) return true;
  int64_t work = work_of(instruction);
  if (work > MOST_WORK || work > folder->work_left || !result_is_small(instruction)) return false;
  folder->work_left -= work;
  return replace_by_value(folder, "fold", instruction, instruction);
}

static bool fold_computation(Folder *folder, HloComputation *computation) {
  int64_t count;
  bool changed = false;
  HloInstruction **order = control_edges_free_order(computation, folder->context->scratch, &count);
  for (int64_t i = 0; i < count; i++) changed |= fold_instruction(folder, order[i]);
  if (changed) hlo_computation_remove_dead(computation);
  return changed;
}

static Status run_constant_folding(HloPassContext *context, HloModule *module, bool *out_changed) {
  Folder folder = {context, module, MOST_MODULE_WORK};
  for (int64_t c = 0; c < module->computations.count; c++) {
    *out_changed |= fold_computation(&folder, module->computations.data[c]);
  }
  return STATUS_OK;
}

const HloPass hlo_constant_folding_pass = {
    "constant-folding", "what constants alone determine, where that is cheap and small", run_constant_folding, false};
