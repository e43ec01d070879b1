#include "passes/cleanup/shape_coercion.h"

static HloInstruction *coerce_tuple(HloInstruction *value, const Shape *shape) {
  HloComputation *computation = value->parent;
  Arena *arena = computation->module->arena;
  HloInstruction **elements = ARENA_NEW_ARRAY(arena, HloInstruction *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) {
    HloInstruction *element =
        hlo_computation_add(computation, HLO_GET_TUPLE_ELEMENT, value->shape->tuple[i], &value, 1, (StringView){0});
    hlo_instruction_set_int(element, HLO_ATTR_INDEX, i);
    elements[i] = shape_coerce(element, shape->tuple[i]);
  }
  return hlo_computation_add(computation, HLO_TUPLE, shape, elements, shape->tuple_size, (StringView){0});
}

HloInstruction *shape_coerce(HloInstruction *value, const Shape *shape) {
  if (value->shape == shape || !shape_compatible(value->shape, shape)) return value;
  if (shape_is_tuple(shape)) return coerce_tuple(value, shape);
  if (!shape_is_array(shape)) return value;
  HloInstruction *copy = hlo_computation_add(value->parent, HLO_COPY, shape, &value, 1, (StringView){0});
  hlo_instruction_inherit_metadata(copy, value);
  return copy;
}
