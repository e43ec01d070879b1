/* Costly work that every branch does with the same values is done before the branches.  One of them runs, so it is no
 * more work, and one Kernel instead of one in each. */
#include "hlo/analysis/trip_count.h"
#include "passes/cleanup/control_edges.h"
#include "passes/control/control_walk.h"
#include "passes/control/costly_operation.h"
#include "passes/control/tuple_edit.h"

/* Values that are equal whichever branch computes them. */
typedef struct ValueClass {
  HloInstruction *outside; /* the parent's value, or the copy of |made| there once it is needed */
  HloInstruction *made;    /* by some branch */
  const int64_t *operands; /* classes of its operands */
  int branches;            /* the first so many branches all have it */
  int64_t next;            /* with the same hash; -1 ends */
} ValueClass;

typedef struct Motion {
  HloInstruction *conditional;
  int count;
  ARRAY(ValueClass) classes;
  IntMap heads; /* hash → class */
  IntMap *of;   /* by branch: instruction id → class */
  Arena *scratch;
} Motion;

static HloComputation *branch_at(const Motion *motion, int branch) {
  return hlo_instruction_called(motion->conditional, branch);
}

/* The parent's value that |instruction| of a branch stands for, or NULL. */
static HloInstruction *value_outside(const Motion *motion, int branch, const HloInstruction *instruction) {
  HloInstruction *operand = motion->conditional->operands[1 + branch];
  const HloInstruction *parameter = hlo_computation_parameter(branch_at(motion, branch), 0);
  if (instruction == parameter) return shape_is_tuple(operand->shape) ? NULL : operand;
  int64_t element = trip_count_element(instruction, parameter);
  return element >= 0 && operand->opcode == HLO_TUPLE ? operand->operands[element] : NULL;
}

static bool is_class(const ValueClass *entry, const HloInstruction *outside, const HloInstruction *made,
                     const int64_t *operands) {
  if (outside != NULL || entry->made == NULL) return outside != NULL && entry->outside == outside;
  if (entry->made->opcode != made->opcode || entry->made->shape != made->shape) return false;
  if (entry->made->operand_count != made->operand_count) return false;
  for (int i = 0; i < made->operand_count; i++) {
    if (entry->operands[i] != operands[i]) return false;
  }
  return hlo_instruction_equal_attrs(entry->made, made);
}

static uint64_t class_hash(const HloInstruction *outside, const HloInstruction *made, const int64_t *operands) {
  if (outside != NULL) return hash_u64((uint64_t)outside->id);
  uint64_t hash = hash_combine((uint64_t)made->opcode + 1, hlo_instruction_attrs_hash(made));
  for (int i = 0; i < made->operand_count; i++) hash = hash_combine(hash, (uint64_t)operands[i]);
  return hash;
}

static int64_t find_class(Motion *motion, HloInstruction *outside, HloInstruction *made, const int64_t *operands) {
  uint64_t hash = class_hash(outside, made, operands);
  int64_t head = -1;
  int_map_find(&motion->heads, hash, &head);
  for (int64_t at = head; at >= 0; at = motion->classes.data[at].next) {
    if (is_class(&motion->classes.data[at], outside, made, operands)) return at;
  }
  int64_t added = motion->classes.count;
  ValueClass entry = {outside, outside != NULL ? NULL : made, operands, 0, head};
  array_push(&motion->classes, motion->scratch, entry);
  int_map_set(&motion->heads, hash, added);
  return added;
}

static bool is_pure(const HloInstruction *instruction) {
  if (hlo_opcode_has(instruction->opcode, OP_STAYS) || instruction->opcode == HLO_PARAMETER) return false;
  return shape_is_static_array(instruction->shape) && !hlo_instruction_has_side_effect(instruction);
}

static void classify(Motion *motion, int branch, HloInstruction *instruction) {
  HloInstruction *outside = value_outside(motion, branch, instruction);
  int64_t *operands = ARENA_NEW_ARRAY(motion->scratch, int64_t, instruction->operand_count + 1);
  if (outside == NULL && !is_pure(instruction)) return;
  for (int i = 0; outside == NULL && i < instruction->operand_count; i++) {
    if (!int_map_find(&motion->of[branch], (uint64_t)instruction->operands[i]->id, &operands[i])) return;
  }
  int64_t found = find_class(motion, outside, instruction, operands);
  int_map_set(&motion->of[branch], (uint64_t)instruction->id, found);
  ValueClass *entry = &motion->classes.data[found];
  if (entry->branches == branch) entry->branches = branch + 1;
}

static void classify_branches(Motion *motion) {
  motion->of = ARENA_NEW_ARRAY(motion->scratch, IntMap, motion->count + 1);
  int_map_init(&motion->heads, motion->scratch);
  for (int k = 0; k < motion->count; k++) {
    int64_t count;
    int_map_init(&motion->of[k], motion->scratch);
    HloInstruction **order = control_edges_free_order(branch_at(motion, k), motion->scratch, &count);
    for (int64_t i = 0; i < count; i++) classify(motion, k, order[i]);
  }
}

static HloInstruction *copy_outside(Motion *motion, int64_t index) {
  ValueClass *entry = &motion->classes.data[index];
  if (entry->outside != NULL) return entry->outside;
  HloInstruction **operands = ARENA_NEW_ARRAY(motion->scratch, HloInstruction *, entry->made->operand_count + 1);
  for (int i = 0; i < entry->made->operand_count; i++) operands[i] = copy_outside(motion, entry->operands[i]);
  entry->outside = hlo_computation_add_clone(motion->conditional->parent, entry->made, entry->made->shape, operands,
                                             entry->made->operand_count);
  return entry->outside;
}

/* Every branch takes what it gets as a tuple, or as one array. */
static bool takes_more(const Motion *motion) {
  for (int k = 0; k < motion->count; k++) {
    const HloInstruction *operand = motion->conditional->operands[1 + k],
                         *parameter = hlo_computation_parameter(branch_at(motion, k), 0);
    if (parameter->shape != operand->shape) return false;
    if (shape_is_array(operand->shape)) continue;
    if (operand->opcode != HLO_TUPLE || tuple_is_read_whole(parameter)) return false;
  }
  return true;
}

/* The branch's parameter becomes a tuple of itself and |added|; returns where those begin. */
static int widen_parameter(Motion *motion, int branch, HloInstruction *const *added, int count) {
  HloInstruction *operand = motion->conditional->operands[1 + branch],
                 *parameter = hlo_computation_parameter(branch_at(motion, branch), 0);
  bool is_array = shape_is_array(operand->shape);
  int first = is_array ? 1 : operand->operand_count;
  HloInstruction **elements = ARENA_NEW_ARRAY(motion->scratch, HloInstruction *, first + count);
  const Shape **shapes = ARENA_NEW_ARRAY(motion->scratch, const Shape *, first + count);
  for (int i = 0; i < first; i++) elements[i] = is_array ? operand : operand->operands[i];
  for (int i = 0; i < count; i++) elements[first + i] = added[i];
  for (int i = 0; i < first + count; i++) shapes[i] = elements[i]->shape;
  const Shape *shape = shape_tuple(parameter->parent->module->shapes, shapes, first + count);
  HloInstruction *tuple =
      hlo_computation_add(operand->parent, HLO_TUPLE, shape, elements, first + count, (StringView){0});
  hlo_instruction_replace_operand(motion->conditional, 1 + branch, tuple);
  hlo_instruction_set_shape(parameter, shape);
  tuple_edit_attributes(parameter);
  if (is_array) hlo_instruction_replace_all_uses(parameter, tuple_element(parameter, 0));
  return first;
}

/* In |branch| all values of the class |moved[i]| are read from the parameter. */
static void read_moved(Motion *motion, int branch, const int64_t *moved, int count, int first) {
  HloComputation *computation = branch_at(motion, branch);
  HloInstruction *parameter = hlo_computation_parameter(computation, 0);
  int64_t size, found;
  HloInstruction **list = hlo_computation_list(computation, motion->scratch, &size);
  for (int i = 0; i < count; i++) {
    HloInstruction *element = tuple_element(parameter, first + i);
    for (int64_t k = 0; k < size; k++) {
      bool has_class = int_map_find(&motion->of[branch], (uint64_t)list[k]->id, &found);
      if (has_class && found == moved[i]) hlo_instruction_replace_all_uses(list[k], element);
    }
  }
  hlo_computation_remove_dead(computation);
}

static bool move_common(ControlWalk *walk, Motion *motion) {
  enum { MOST_MOVED = 16 };
  int64_t moved[MOST_MOVED];
  HloInstruction *added[MOST_MOVED];
  int count = 0;
  classify_branches(motion);
  for (int64_t i = 0; i < motion->classes.count && count < MOST_MOVED; i++) {
    const ValueClass *entry = &motion->classes.data[i];
    if (entry->made != NULL && entry->branches == motion->count && costly_operation(entry->made)) moved[count++] = i;
  }
  if (count == 0 || !takes_more(motion)) return false;
  for (int i = 0; i < count; i++) {
    control_walk_note(walk, "move", motion->classes.data[moved[i]].made);
    added[i] = copy_outside(motion, moved[i]);
  }
  for (int k = 0; k < motion->count; k++) {
    read_moved(motion, k, moved, count, widen_parameter(motion, k, added, count));
  }
  return true;
}

static bool move_code(ControlWalk *walk, HloInstruction *conditional) {
  Motion motion = {.conditional = conditional, .scratch = walk->context->scratch};
  if (!call_sites_own(&walk->sites, conditional)) return false;
  motion.count = hlo_instruction_called_count(conditional);
  return move_common(walk, &motion);
}

static Status run_motion(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= control_walk_run(context, module, HLO_CONDITIONAL, move_code);
  return STATUS_OK;
}

const HloPass hlo_conditional_code_motion_pass = {
    "conditional-code-motion", "costly work that every branch does with the same values is done before them",
    run_motion, false};
