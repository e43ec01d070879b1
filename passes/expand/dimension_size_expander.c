#include "passes/cleanup/control_edges.h"
#include "passes/cleanup/shape_coercion.h"
#include "passes/pipeline/hlo_pass.h"

/* dimension-size-expander: sizes that are known when the module is compiled become constants. */

/* get-dimension-size of a static dimension → its size; NULL when it is not known here. */
static HloInstruction *known_size(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_GET_DIMENSION_SIZE) return NULL;
  const Shape *shape = instruction->operands[0]->shape;
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  if (dims.count != 1 || dims.data[0] < 0 || dims.data[0] >= shape->rank || shape_is_dynamic(shape)) return NULL;
  if (instruction->shape->type != TYPE_S32 || !shape_is_scalar(instruction->shape)) return NULL;
  Literal *literal = literal_create(instruction->parent->module->arena, instruction->shape);
  literal_set_int(literal, 0, shape->dims[dims.data[0]]);
  return hlo_computation_add_constant(instruction->parent, literal, (StringView){0});
}

/* set-dimension-size to the bound, of an array that is static before and after it → its operand. */
static HloInstruction *known_array(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_SET_DIMENSION_SIZE) return NULL;
  HloInstruction *array = instruction->operands[0], *size = instruction->operands[1];
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  if (dims.count != 1 || size->opcode != HLO_CONSTANT || shape_is_dynamic(instruction->shape)) return NULL;
  if (shape_is_dynamic(array->shape) || !shape_compatible(array->shape, instruction->shape)) return NULL;
  return literal_get_int(hlo_instruction_literal(size), 0) == array->shape->dims[dims.data[0]] ? array : NULL;
}

static bool expand_sizes(HloComputation *computation, Arena *scratch) {
  int64_t count;
  bool changed = false;
  HloInstruction **order = control_edges_free_order(computation, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    HloInstruction *size = known_size(order[i]), *array = known_array(order[i]);
    if (size == NULL && array == NULL) continue;
    if (size != NULL) hlo_instruction_inherit_metadata(size, order[i]);
    if (array != NULL) array = shape_coerce(array, order[i]->shape);
    hlo_computation_replace_instruction(computation, order[i], size != NULL ? size : array);
    changed = true;
  }
  return changed;
}

static Status run_dimension_size_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t i = 0; i < module->computations.count; i++) {
    *out_changed |= expand_sizes(module->computations.data[i], context->scratch);
  }
  return STATUS_OK;
}

const HloPass hlo_dimension_size_expander_pass = {"dimension-size-expander", "sizes of static dimensions are constants",
                                                  run_dimension_size_expander, false};
