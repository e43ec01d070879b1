#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

/* The dimensions that are not of size one, most major first in memory. */
static int physical_dims(const Shape *shape, int64_t *out_dims) {
  int count = 0;
  for (int i = shape->rank - 1; i >= 0; i--) {
    int64_t dim = shape->layout.minor_to_major[i];
    if (shape->dims[dim] != 1) out_dims[count++] = dim;
  }
  return count;
}

static bool is_plain(const Shape *shape) {
  return shape_is_array(shape) && !shape_is_dynamic(shape) && shape->rank > 0 && shape->layout.tile_count == 0;
}

/* A transpose whose result lies in memory as its operand does. */
static bool keeps_order(const HloInstruction *transpose, Arena *scratch) {
  const Shape *from = transpose->operands[0]->shape, *to = transpose->shape;
  Int64List permutation = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
  int64_t *from_dims = ARENA_NEW_ARRAY(scratch, int64_t, from->rank + 1);
  int64_t *to_dims = ARENA_NEW_ARRAY(scratch, int64_t, to->rank + 1);
  int from_count = physical_dims(from, from_dims), to_count = physical_dims(to, to_dims);
  if (from_count != to_count) return false;
  for (int i = 0; i < to_count; i++) {
    if (permutation.data[to_dims[i]] != from_dims[i]) return false;
  }
  return true;
}

/* The same bytes in the same order.  Scalars stay: they live in registers, and a view would force them into memory. */
static bool is_view(const HloInstruction *instruction, Arena *scratch) {
  if (instruction->opcode != HLO_RESHAPE && instruction->opcode != HLO_TRANSPOSE) return false;
  if (!is_plain(instruction->shape) || !is_plain(instruction->operands[0]->shape)) return false;
  if (instruction->opcode == HLO_TRANSPOSE) return keeps_order(instruction, scratch);
  return shape_has_default_layout(instruction->shape) && shape_has_default_layout(instruction->operands[0]->shape);
}

static Status run_reshape_to_bitcast(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t computation_count;
  HloComputation **computations = control_computations(module, context->scratch, &computation_count);
  for (int64_t c = 0; c < computation_count; c++) {
    int64_t count;
    HloInstruction **order = hlo_computation_post_order(computations[c], context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      HloInstruction *old = order[i];
      if (!is_view(old, context->scratch) || hlo_instruction_attr(old, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) continue;
      HloInstruction *view = hlo_computation_add(computations[c], HLO_BITCAST, old->shape, old->operands, 1, (StringView){0});
      hlo_instruction_inherit_metadata(view, old);
      view->loc = old->loc;
      hlo_computation_replace_instruction(computations[c], old, view);
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_reshape_to_bitcast_pass = {"reshape-to-bitcast",
                                             "read reshapes and transposes that move no byte where their operand is",
                                             run_reshape_to_bitcast, false};
