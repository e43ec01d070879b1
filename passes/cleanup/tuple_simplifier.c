#include "passes/cleanup/shape_coercion.h"
#include "passes/pipeline/hlo_pass.h"

/* tuple-simplifier: tuple elements are read where they come from. */

/* get-tuple-element(tuple(a, b, …), i) → its element */
static HloInstruction *element_of_tuple(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
  const HloInstruction *tuple = instruction->operands[0];
  if (tuple->opcode != HLO_TUPLE) return NULL;
  int64_t index = hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0);
  if (index < 0 || index >= tuple->operand_count) return NULL;
  return shape_coerce(tuple->operands[index], instruction->shape);
}

/* tuple(get-tuple-element(x, 0), get-tuple-element(x, 1), …) → x, when that is all of x */
static HloInstruction *whole_of_elements(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_TUPLE || instruction->operand_count == 0) return NULL;
  if (instruction->operands[0]->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
  HloInstruction *whole = instruction->operands[0]->operands[0];
  if (whole->shape != instruction->shape) return NULL;
  for (int i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *element = instruction->operands[i];
    if (element->opcode != HLO_GET_TUPLE_ELEMENT || element->operands[0] != whole) return NULL;
    if (hlo_instruction_int(element, HLO_ATTR_INDEX, -1) != i) return NULL;
  }
  return whole;
}

/* A tuple of constants for |literal|.  |shape| has its types and dimensions and, unlike it, the layouts. */
static HloInstruction *make_parts(const HloInstruction *constant, const Literal *literal, const Shape *shape) {
  HloComputation *computation = constant->parent;
  Arena *arena = computation->module->arena;
  HloInstruction *made;
  if (shape_is_tuple(shape)) {
    HloInstruction **elements = ARENA_NEW_ARRAY(arena, HloInstruction *, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++) elements[i] = make_parts(constant, &literal->tuple[i], shape->tuple[i]);
    made = hlo_computation_add(computation, HLO_TUPLE, shape, elements, shape->tuple_size, (StringView){0});
  } else {
    Literal *part = ARENA_NEW(arena, Literal);
    *part = *literal;
    part->shape = shape;
    made = hlo_computation_add_constant(computation, part, (StringView){0});
  }
  hlo_instruction_inherit_metadata(made, constant);
  return made;
}

/* constant((1, 2)) → tuple(constant(1), constant(2)), at every level.  Code is made for constants that are arrays. */
static HloInstruction *tuple_of_constants(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_CONSTANT || !shape_is_tuple(instruction->shape)) return NULL;
  return make_parts(instruction, hlo_instruction_literal(instruction), instruction->shape);
}

typedef struct TupleRule {
  const char *name;
  HloInstruction *(*rewrite)(const HloInstruction *instruction); /* NULL: does not apply */
  bool keeps_order;                                              /* not for instructions that wait for others */
} TupleRule;

static const TupleRule rules[] = {
    {"element-of-tuple", element_of_tuple, true},
    {"tuple-of-elements", whole_of_elements, true},
    /* a constant has its value at any time */
    {"tuple-of-constants", tuple_of_constants, false},
};

/* What an instruction says of the division among devices, the instruction in its place has to say.  False: it says
 * something else. */
static bool keeps_sharding(const HloInstruction *instruction, HloInstruction *simpler) {
  const HloAttr *sharding = hlo_instruction_attr(instruction, HLO_ATTR_SHARDING);
  if (sharding == NULL || instruction->parent->module->num_partitions <= 1) return true;
  const HloAttr *other = hlo_instruction_attr(simpler, HLO_ATTR_SHARDING);
  if (other == NULL) hlo_instruction_set_attr(simpler, sharding);
  return other == NULL || hlo_attr_equal(sharding, other, NULL);
}

static HloInstruction *simplify(HloPassContext *context, const HloInstruction *instruction) {
  bool waits = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS) != NULL;
  for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
    HloInstruction *simpler = waits && rules[i].keeps_order ? NULL : rules[i].rewrite(instruction);
    if (simpler == NULL || !keeps_sharding(instruction, simpler)) continue;
    hlo_pass_count_rewrite(context, rules[i].name, instruction);
    return simpler;
  }
  return NULL;
}

static bool simplify_tuples(HloPassContext *context, HloComputation *computation) {
  bool changed = false;
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (!hlo_pass_may_rewrite(context)) break;
    HloInstruction *simpler = simplify(context, order[i]);
    if (simpler == NULL) continue;
    hlo_instruction_replace_all_uses(order[i], simpler);
    changed = true;
  }
  if (changed) hlo_computation_remove_dead(computation);
  return changed;
}

static Status run_tuple_simplifier(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t i = 0; i < module->computations.count; i++) {
    *out_changed |= simplify_tuples(context, module->computations.data[i]);
  }
  return STATUS_OK;
}

const HloPass hlo_tuple_simplifier_pass = {
    "tuple-simplifier", "read tuple elements where they come from, constants as arrays", run_tuple_simplifier, false};
