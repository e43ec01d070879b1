/* Branches that are known, results and operands that branches need not carry, and choices that a select makes. */
#include "hlo/analysis/trip_count.h"
#include "passes/control/constant_value.h"
#include "passes/control/control_walk.h"
#include "passes/control/tuple_edit.h"

/* Both sides of a choice are computed by its select: so many operations each, on so many elements, cost less than the
 * branch and the kernels that it keeps apart. */
enum { MOST_OPERATIONS = 8, MOST_ELEMENTS = 1024, MOST_BRANCHES = 4 };

typedef struct Branches {
  HloInstruction *conditional;
  int count;
} Branches;

static HloComputation *branch_at(const Branches *branches, int index) {
  return hlo_instruction_called(branches->conditional, index);
}

static HloInstruction *operand_of(const Branches *branches, int index) {
  return branches->conditional->operands[1 + index];
}

/* --- one branch is all --- */

/* The branch that a constant predicate or index takes; -1: unknown. */
static int taken_branch(const Branches *branches) {
  const HloInstruction *predicate = branches->conditional->operands[0];
  if (branches->count == 1) return 0;
  if (predicate->opcode != HLO_CONSTANT || hlo_instruction_literal(predicate)->elided) return -1;
  int64_t value = literal_get_int(hlo_instruction_literal(predicate), 0);
  if (predicate->shape->type == TYPE_PRED) return value != 0 ? 0 : 1;
  return value >= 0 && value < branches->count ? (int)value : branches->count - 1;
}

/* All branches do the same with the same. */
static bool are_alike(const Branches *branches) {
  for (int k = 1; k < branches->count; k++) {
    if (operand_of(branches, k) != operand_of(branches, 0)) return false;
    if (!hlo_computation_equal(branch_at(branches, k), branch_at(branches, 0))) return false;
  }
  return true;
}

static bool inline_branch(ControlWalk *walk, const Branches *branches) {
  HloInstruction *conditional = branches->conditional;
  int taken = taken_branch(branches);
  bool is_known = taken >= 0;
  if (!is_known && !are_alike(branches)) return false;
  HloInstruction *argument = operand_of(branches, is_known ? taken : 0);
  const HloComputation *branch = branch_at(branches, is_known ? taken : 0);
  if (branch->root->shape != conditional->shape) return false;
  if (hlo_computation_parameter(branch, 0)->shape != argument->shape) return false;
  control_walk_note(walk, is_known ? "known-branch" : "same-branches", conditional);
  hlo_instruction_replace_all_uses(conditional, hlo_computation_inline(conditional->parent, branch, &argument));
  tuple_edit_retire(conditional, walk->context->scratch);
  return true;
}

/* --- choices without branches --- */

static bool is_small_array(const Shape *shape) {
  return shape_is_static_array(shape) && shape_element_count(shape) <= MOST_ELEMENTS;
}

static bool has_small_results(const Shape *shape) {
  if (!shape_is_tuple(shape)) return is_small_array(shape);
  for (int i = 0; i < shape->tuple_size; i++) {
    if (!is_small_array(shape->tuple[i])) return false;
  }
  return true;
}

static bool is_cheap_branch(const HloComputation *branch) {
  int operations = 0;
  for (int64_t i = 0; i < branch->instructions.count; i++) {
    const HloInstruction *instruction = branch->instructions.data[i];
    bool is_free = hlo_opcode_info(instruction->opcode)->cost == OP_COST_FREE;
    if (!hlo_opcode_is_cheap(instruction->opcode)) return false;
    if (hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS)) return false;
    operations += !is_free;
    if (operations > MOST_OPERATIONS || (!is_free && !is_small_array(instruction->shape))) return false;
  }
  return true;
}

static HloInstruction *add_constant_index(HloComputation *computation, const Shape *shape, int64_t value) {
  Literal *literal = literal_create(computation->module->arena, shape);
  literal_set_int(literal, 0, value);
  return hlo_computation_add_constant(computation, literal, (StringView){0});
}

/* Whether branch |index| is taken, for those but the last. */
static HloInstruction *branch_predicate(const Branches *branches, int index) {
  HloInstruction *selector = branches->conditional->operands[0];
  if (selector->shape->type == TYPE_PRED) return selector;
  HloComputation *parent = selector->parent;
  HloInstruction *operands[2] = {selector, add_constant_index(parent, selector->shape, index)};
  const Shape *pred = shape_scalar(parent->module->shapes, TYPE_PRED);
  HloInstruction *compare = hlo_computation_add(parent, HLO_COMPARE, pred, operands, 2, (StringView){0});
  hlo_instruction_set_int(compare, HLO_ATTR_DIRECTION, COMPARISON_DIRECTION_EQ);
  return compare;
}

static HloInstruction *select_array(HloInstruction *predicate, HloInstruction *on_true, HloInstruction *on_false) {
  const Shape *shape = on_true->shape;
  HloComputation *parent = on_true->parent;
  if (on_true == on_false) return on_true;
  if (shape->rank > 0) {
    const Shape *wide = shape_with_type(parent->module->shapes, shape, TYPE_PRED);
    predicate = hlo_computation_add(parent, HLO_BROADCAST, wide, &predicate, 1, (StringView){0});
    hlo_instruction_set_ints(predicate, HLO_ATTR_DIMENSIONS, NULL, 0);
  }
  HloInstruction *operands[3] = {predicate, on_true, on_false};
  return hlo_computation_add(parent, HLO_SELECT, shape, operands, 3, (StringView){0});
}

static HloInstruction *select_value(HloInstruction *predicate, HloInstruction *on_true, HloInstruction *on_false,
                                    Arena *scratch) {
  const Shape *shape = on_true->shape;
  if (!shape_is_tuple(shape)) return select_array(predicate, on_true, on_false);
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, shape->tuple_size + 1);
  for (int i = 0; i < shape->tuple_size; i++) {
    elements[i] = select_array(predicate, tuple_element(on_true, i), tuple_element(on_false, i));
  }
  return hlo_computation_add(on_true->parent, HLO_TUPLE, shape, elements, shape->tuple_size, (StringView){0});
}

static bool replace_by_select(ControlWalk *walk, const Branches *branches) {
  HloInstruction *conditional = branches->conditional, *value = NULL;
  if (branches->count > MOST_BRANCHES || !has_small_results(conditional->shape)) return false;
  for (int k = 0; k < branches->count; k++) {
    const HloComputation *branch = branch_at(branches, k);
    if (!is_cheap_branch(branch) || branch->root->shape != conditional->shape) return false;
    if (hlo_computation_parameter(branch, 0)->shape != operand_of(branches, k)->shape) return false;
  }
  control_walk_note(walk, "to-select", conditional);
  for (int k = branches->count - 1; k >= 0; k--) {
    HloInstruction *argument = operand_of(branches, k);
    HloInstruction *result = hlo_computation_inline(conditional->parent, branch_at(branches, k), &argument);
    value = value == NULL ? result : select_value(branch_predicate(branches, k), result, value, walk->context->scratch);
  }
  hlo_instruction_replace_all_uses(conditional, value);
  return true;
}

/* --- results --- */

/* |value|, of branch |index|, as the parent knows it: what was handed in; NULL where the branch made it. */
static HloInstruction *value_outside(const Branches *branches, int index, HloInstruction *value) {
  HloInstruction *operand = operand_of(branches, index);
  const HloInstruction *parameter = hlo_computation_parameter(branch_at(branches, index), 0);
  if (value == parameter) return operand;
  int64_t element = trip_count_element(value, parameter);
  return element >= 0 && operand->opcode == HLO_TUPLE ? operand->operands[element] : NULL;
}

static HloInstruction *result_of(const Branches *branches, int index, int element) {
  HloInstruction *root = branch_at(branches, index)->root;
  return element < 0 ? root : root->operands[element];
}

/* Element |element| of every branch's result (-1: the whole) is one value that the parent has, or one constant. */
static HloInstruction *common_result(const Branches *branches, int element, const Shape *shape) {
  HloInstruction *first = result_of(branches, 0, element), *outside = value_outside(branches, 0, first);
  bool is_constant = constant_value_is(first);
  if (outside == NULL && !is_constant) return NULL;
  for (int k = 1; k < branches->count; k++) {
    HloInstruction *other = result_of(branches, k, element);
    if (outside != NULL && value_outside(branches, k, other) != outside) return NULL;
    if (is_constant && (!constant_value_is(other) || !constant_value_equal(first, other))) return NULL;
  }
  if (first->shape != shape || (outside != NULL && outside->shape != shape)) return NULL;
  return outside != NULL ? outside : constant_value_copy(branches->conditional->parent, first);
}

static bool all_roots_are_tuples(const Branches *branches) {
  for (int k = 0; k < branches->count; k++) {
    const HloInstruction *root = branch_at(branches, k)->root;
    if (root->opcode != HLO_TUPLE || root->user_count > 0 || root->shape != branches->conditional->shape) return false;
  }
  return true;
}

/* Two elements of the result are one value in every branch: one is enough. */
static bool read_twin_results(ControlWalk *walk, const Branches *branches) {
  enum { MOST_ELEMENTS_COMPARED = 64 };
  HloInstruction *conditional = branches->conditional;
  int count = conditional->shape->tuple_size;
  bool changed = false;
  if (count > MOST_ELEMENTS_COMPARED) return false;
  for (int b = 1; b < count; b++) {
    if (!tuple_element_is_read(conditional, b)) continue;
    for (int a = 0; a < b && hlo_pass_may_rewrite(walk->context); a++) {
      bool alike = conditional->shape->tuple[a] == conditional->shape->tuple[b];
      for (int k = 0; k < branches->count && alike; k++) {
        alike = result_of(branches, k, a) == result_of(branches, k, b);
      }
      if (!alike) continue;
      control_walk_note(walk, "same-results", conditional);
      changed |= tuple_redirect_element(conditional, b, tuple_element(conditional, a));
      break;
    }
  }
  return changed;
}

static bool read_common_results(ControlWalk *walk, const Branches *branches) {
  HloInstruction *conditional = branches->conditional;
  bool changed = false;
  if (!shape_is_tuple(conditional->shape)) {
    bool is_read = conditional->user_count > 0 || hlo_instruction_is_root(conditional);
    HloInstruction *common = is_read ? common_result(branches, -1, conditional->shape) : NULL;
    if (common == NULL) return false;
    control_walk_note(walk, "same-result", conditional);
    hlo_instruction_replace_all_uses(conditional, common);
    return true;
  }
  if (!all_roots_are_tuples(branches)) return false;
  bool *read = ARENA_NEW_ARRAY(walk->context->scratch, bool, conditional->shape->tuple_size + 1);
  tuple_elements_read(conditional, read);
  for (int i = 0; i < conditional->shape->tuple_size && hlo_pass_may_rewrite(walk->context); i++) {
    if (!read[i]) continue;
    HloInstruction *common = common_result(branches, i, conditional->shape->tuple[i]);
    if (common == NULL) continue;
    control_walk_note(walk, "same-result", conditional);
    changed |= tuple_redirect_element(conditional, i, common);
  }
  changed |= read_twin_results(walk, branches);
  return changed;
}

/* --- results that nothing reads --- */

static bool drop_results(ControlWalk *walk, Branches *branches) {
  HloInstruction *conditional = branches->conditional;
  Arena *scratch = walk->context->scratch;
  if (!shape_is_tuple(conditional->shape) || tuple_is_read_whole(conditional)) return false;
  if (conditional->user_count == 0 || !all_roots_are_tuples(branches)) return false;
  bool *kept = ARENA_NEW_ARRAY(scratch, bool, conditional->shape->tuple_size + 1);
  int read = tuple_elements_read(conditional, kept);
  if (read == 0 || read == conditional->shape->tuple_size) return false;
  control_walk_note(walk, "dead-result", conditional);
  TupleEdit edit = tuple_edit_make(conditional->parent->module->shapes, conditional->shape, kept, NULL, 0, scratch);
  for (int k = 0; k < branches->count; k++) {
    HloComputation *branch = branch_at(branches, k);
    hlo_computation_set_root(branch, tuple_edit_operands(&edit, branch->root, NULL, scratch));
    hlo_computation_remove_dead(branch);
  }
  HloInstruction *narrow = hlo_computation_add_clone(conditional->parent, conditional, edit.shape,
                                                     conditional->operands, conditional->operand_count);
  tuple_edit_attributes(narrow);
  tuple_edit_readers(&edit, conditional, narrow, scratch);
  tuple_edit_retire(conditional, scratch);
  branches->conditional = narrow;
  return true;
}

static bool drop_operands(ControlWalk *walk, const Branches *branches, int index) {
  Arena *scratch = walk->context->scratch;
  HloInstruction *operand = operand_of(branches, index),
                 *parameter = hlo_computation_parameter(branch_at(branches, index), 0);
  if (operand->opcode != HLO_TUPLE || parameter->shape != operand->shape || tuple_is_read_whole(parameter))
    return false;
  bool *kept = ARENA_NEW_ARRAY(scratch, bool, operand->operand_count + 1);
  if (tuple_elements_read(parameter, kept) == operand->operand_count) return false;
  control_walk_note(walk, "dead-operand", branches->conditional);
  TupleEdit edit = tuple_edit_make(parameter->parent->module->shapes, operand->shape, kept, NULL, 0, scratch);
  HloInstruction *narrow = tuple_edit_operands(&edit, operand, NULL, scratch);
  hlo_computation_remove_dead(parameter->parent);
  tuple_edit_parameter(&edit, parameter, scratch);
  hlo_instruction_replace_operand(branches->conditional, 1 + index, narrow);
  return true;
}

/* --- the pass --- */

static bool simplify_conditional(ControlWalk *walk, HloInstruction *conditional) {
  Branches branches = {conditional, hlo_instruction_called_count(conditional)};
  if (conditional->operand_count != branches.count + 1) return false;
  if (inline_branch(walk, &branches) || replace_by_select(walk, &branches)) return true;
  bool changed = read_common_results(walk, &branches);
  if (!call_sites_own(&walk->sites, conditional)) return changed;
  if (hlo_pass_may_rewrite(walk->context)) changed |= drop_results(walk, &branches);
  for (int k = 0; k < branches.count && hlo_pass_may_rewrite(walk->context); k++) {
    changed |= drop_operands(walk, &branches, k);
  }
  return changed;
}

static Status run_conditional_simplifier(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= control_walk_run(context, module, HLO_CONDITIONAL, simplify_conditional);
  return STATUS_OK;
}

const HloPass hlo_conditional_simplifier_pass = {
    "conditional-simplifier",
    "branches that are known or cheap, and results and operands of branches that are not read",
    run_conditional_simplifier, false};
