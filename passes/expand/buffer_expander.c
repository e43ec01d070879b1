#include "hlo/ir/custom_call.h"
#include "passes/expand/graph_builder.h"

/* A buffer b(T) is updated in place by one user after the other, so it is the value that each of them leaves: an array.
 * Where it lives is decided with all other values; calls that update it say so by 'output_to_operand_aliasing'. */

typedef struct BufferExpansion {
  HloModule *module;
  Arena *scratch;
  IntMap shapes; /* shapes seen: what they are without buffers */
} BufferExpansion;

static const Shape *without_buffers(BufferExpansion *expansion, const Shape *shape) {
  int64_t known;
  if (shape->type == TYPE_BUFFER) return without_buffers(expansion, shape->tuple[0]);
  if (!shape_is_tuple(shape)) return shape;
  if (int_map_find(&expansion->shapes, (uintptr_t)shape, &known)) return (const Shape *)(uintptr_t)known;
  const Shape **elements = ARENA_NEW_ARRAY(expansion->scratch, const Shape *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) elements[i] = without_buffers(expansion, shape->tuple[i]);
  const Shape *result = shape_tuple(expansion->module->shapes, elements, shape->tuple_size);
  int_map_set(&expansion->shapes, (uintptr_t)shape, (int64_t)(uintptr_t)result);
  return result;
}

static void expand_constraints(BufferExpansion *expansion, HloInstruction *call) {
  const HloAttr *old = hlo_instruction_attr(call, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  if (old == NULL) return;
  HloAttr attr = *old;
  const Shape **shapes = ARENA_NEW_ARRAY(expansion->module->arena, const Shape *, attr.value.shapes.count);
  for (int64_t i = 0; i < attr.value.shapes.count; i++)
    shapes[i] = without_buffers(expansion, old->value.shapes.data[i]);
  attr.value.shapes.data = shapes;
  hlo_instruction_set_attr(call, &attr);
}

static bool expand_shapes(BufferExpansion *expansion) {
  bool changed = false;
  for (int64_t c = 0; c < expansion->module->computations.count; c++) {
    const HloInstructionArray *instructions = &expansion->module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      HloInstruction *instruction = instructions->data[i];
      const Shape *shape = without_buffers(expansion, instruction->shape);
      if (instruction->opcode == HLO_CUSTOM_CALL) expand_constraints(expansion, instruction);
      changed = changed || shape != instruction->shape;
      hlo_instruction_set_shape(instruction, shape);
    }
  }
  EntryLayout *layout = &expansion->module->entry_layout;
  if (layout->present) layout->result = without_buffers(expansion, layout->result);
  return changed;
}

/* The contents of a buffer that was never written are not defined: zeroes. */
static HloInstruction *expand_creation(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  if (!custom_call_calls(call, "CreateBuffer") || call->operand_count != 0) return NULL;
  return shape_is_array(call->shape) ? graph_zero(builder, call->shape->type, call->shape) : NULL;
}

static const GraphRuleRow rules[] = {{HLO_CUSTOM_CALL, expand_creation}};

static Status run_buffer_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  BufferExpansion expansion = {.module = module, .scratch = context->scratch};
  int_map_init(&expansion.shapes, context->scratch);
  *out_changed = expand_shapes(&expansion);
  return *out_changed ? graph_apply_rules(context, module, rules, 1, out_changed) : STATUS_OK;
}

const HloPass hlo_buffer_expander_pass = {"buffer-expander", "buffers that are updated in place are values of arrays",
                                          run_buffer_expander, false};
