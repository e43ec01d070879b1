/* Short rows: a loop over an array whose last dimension is short (the three colours of an image), of which a few
 * numbers each go with one place in the row (means, scales, biases), becomes one over rows of several such rows
 * (sixteen where their number allows), for which the numbers are repeated once: all lanes of a register are used, and
 * loads and stores are contiguous.  The same operations on the same elements. */
#include "base/hash_map.h"
#include "passes/cleanup/control_edges.h"
#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

enum {
  LEAST_ROW = 3,
  MOST_ROW = 15,
  BEST_ROWS = 16,          /* in one: whole registers of any element type's lanes */
  LEAST_ROWS = 4,          /* fewer leave too many lanes idle */
  MOST_ROWS = 64,          /* what is repeated stays in the first cache beside what is read with it */
  LEAST_ELEMENTS = 1 << 15 /* below, what is repeated would weigh */
};

/* A fusion, and the shapes that it gets. */
typedef struct ShortRows {
  HloInstruction *fusion;
  const HloComputation *fused;
  ShapeTable *shapes;
  const Shape *root;
  int64_t row, rows; /* elements of a row, rows in one */
  int64_t wide_dims[2];
} ShortRows;

static bool is_whole(const ShortRows *rows, const Shape *shape) {
  return shape_is_array(shape) && shape == shape_with_type(rows->shapes, rows->root, shape->type);
}

/* One row of numbers. */
static bool is_row(const ShortRows *rows, const Shape *shape) {
  return shape_is_static_array(shape) && shape->rank == 1 && shape->dims[0] == rows->row;
}

/* Of a scalar, or of one row to all rows. */
static bool is_broadcast(const ShortRows *rows, const HloInstruction *part) {
  if (part->opcode != HLO_BROADCAST || !is_whole(rows, part->shape)) return false;
  const HloInstruction *operand = part->operands[0];
  if (shape_is_scalar(operand->shape)) return true;
  Int64List dims = hlo_instruction_ints(part, HLO_ATTR_DIMENSIONS);
  return operand->opcode == HLO_PARAMETER && is_row(rows, operand->shape) && dims.data[0] == rows->root->rank - 1;
}

static bool is_parameter(const ShortRows *rows, const HloInstruction *part) {
  if (part->opcode != HLO_PARAMETER) return false;
  if (shape_is_scalar(part->shape) || is_whole(rows, part->shape)) return true;
  for (int32_t i = 0; i < part->user_count; i++) {
    if (!is_broadcast(rows, part->users[i])) return false;
  }
  return is_row(rows, part->shape);
}

static bool is_elementwise(const ShortRows *rows, const HloInstruction *part) {
  if (!hlo_opcode_has(part->opcode, OP_ELEMENTWISE) || !is_whole(rows, part->shape)) return false;
  for (int32_t i = 0; i < part->operand_count; i++) {
    if (!is_whole(rows, part->operands[i]->shape)) return false;
  }
  return true;
}

/* How many of |count| rows become one, such that none is left over; 0: no such number is worthwhile. */
static int64_t rows_in_one(int64_t count) {
  if (count % BEST_ROWS == 0) return BEST_ROWS;
  int64_t rows = MOST_ROWS;
  while (rows >= LEAST_ROWS && count % rows != 0) rows--;
  return rows >= LEAST_ROWS ? rows : 0;
}

/* A row of a power of two fills a register with others as it is. */
static bool find_rows(HloInstruction *fusion, ShortRows *out) {
  const HloComputation *fused = hlo_instruction_fused(fusion);
  const Shape *shape = fusion->shape;
  if (fused == NULL || !shape_is_static_array(shape) || shape->rank < 2 || !shape_has_default_layout(shape))
    return false;
  int64_t row = shape->dims[shape->rank - 1], elements = shape_element_count(shape);
  if (row < LEAST_ROW || row > MOST_ROW || (row & (row - 1)) == 0) return false;
  if (elements < LEAST_ELEMENTS) return false;
  int64_t count = elements / row, rows = rows_in_one(count);
  if (rows == 0) return false;
  *out = (ShortRows){fusion, fused, fusion->parent->module->shapes, shape, row, rows, {count / rows, row * rows}};
  bool has_rows = false;
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *part = fused->instructions.data[i];
    bool is_scalar = part->opcode == HLO_CONSTANT && shape_is_scalar(part->shape);
    if (!is_scalar && !is_parameter(out, part) && !is_broadcast(out, part) && !is_elementwise(out, part)) return false;
    has_rows |= is_row(out, part->shape);
  }
  return has_rows;
}

/* --- writing --- */

static const Shape *wide_shape(const ShortRows *rows, const Shape *shape) {
  if (shape_is_scalar(shape)) return shape;
  if (is_row(rows, shape)) return shape_array(rows->shapes, shape->type, &rows->wide_dims[1], 1);
  return shape_array(rows->shapes, shape->type, rows->wide_dims, 2);
}

static HloInstruction *add_reshape(HloInstruction *value, const Shape *shape) {
  return hlo_computation_add(value->parent, HLO_RESHAPE, shape, &value, 1, (StringView){0});
}

/* An operand of the fusion as the loop over wide rows reads it. */
static HloInstruction *wide_operand(const ShortRows *rows, HloInstruction *operand) {
  const Shape *shape = wide_shape(rows, operand->shape);
  if (shape == operand->shape) return operand;
  if (!is_row(rows, operand->shape)) return add_reshape(operand, shape);
  int64_t dims[2] = {rows->rows, rows->row}, place = 1;
  const Shape *repeated = shape_array(rows->shapes, operand->shape->type, dims, 2);
  HloInstruction *copies = hlo_computation_add(operand->parent, HLO_BROADCAST, repeated, &operand, 1, (StringView){0});
  hlo_instruction_set_ints(copies, HLO_ATTR_DIMENSIONS, &place, 1);
  return add_reshape(copies, shape);
}

static HloComputation *widen_body(const ShortRows *rows, Arena *arena) {
  HloComputation *wide = hlo_module_add_computation(rows->fusion->parent->module, rows->fused->name);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(rows->fused, arena, &count);
  IntMap made;
  int_map_init(&made, arena);
  for (int64_t i = 0; i < count; i++) {
    HloInstruction *part = order[i], *copy;
    const Shape *shape = wide_shape(rows, part->shape);
    if (part->opcode == HLO_PARAMETER) {
      copy = hlo_computation_add_parameter(wide, hlo_instruction_parameter_number(part), shape, part->name);
    } else {
      HloInstruction **operands = ARENA_NEW_ARRAY(arena, HloInstruction *, part->operand_count + 1);
      for (int32_t k = 0; k < part->operand_count; k++) operands[k] = pointer_map_get(&made, part->operands[k]);
      copy = hlo_computation_add_clone(wide, part, shape, operands, part->operand_count);
      int64_t last = 1;
      if (part->opcode == HLO_BROADCAST && is_row(rows, part->operands[0]->shape))
        hlo_instruction_set_ints(copy, HLO_ATTR_DIMENSIONS, &last, 1);
    }
    pointer_map_set(&made, part, copy);
  }
  hlo_computation_set_root(wide, pointer_map_get(&made, rows->fused->root));
  return wide;
}

static void widen(const ShortRows *rows, Arena *arena) {
  HloInstruction *fusion = rows->fusion;
  HloInstruction **operands = ARENA_NEW_ARRAY(arena, HloInstruction *, fusion->operand_count);
  for (int32_t i = 0; i < fusion->operand_count; i++) operands[i] = wide_operand(rows, fusion->operands[i]);
  HloInstruction *wide = hlo_computation_add_clone(fusion->parent, fusion, wide_shape(rows, fusion->shape), operands,
                                                   fusion->operand_count);
  hlo_instruction_set_computation(wide, HLO_ATTR_CALLS, widen_body(rows, arena));
  hlo_instruction_remove_sharding(wide);
  hlo_instruction_replace_all_uses(fusion, add_reshape(wide, fusion->shape));
}

static Status run_short_rows(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    int64_t candidates;
    bool changed = false;
    HloInstruction **order = control_edges_free_order(computations[i], context->scratch, &candidates);
    for (int64_t k = 0; k < candidates; k++) {
      ShortRows rows;
      if (order[k]->opcode != HLO_FUSION || !find_rows(order[k], &rows) || !hlo_pass_may_rewrite(context)) continue;
      hlo_pass_count_rewrite(context, "short-rows", order[k]);
      widen(&rows, context->scratch);
      changed = true;
    }
    if (changed) hlo_computation_remove_dead(computations[i]);
    *out_changed |= changed;
  }
  return STATUS_OK;
}

const HloPass hlo_short_rows_pass = {
    "short-rows", "loops over short rows with a number for each place go over several rows at a time", run_short_rows,
    false};
