#include "passes/control/weight_panels.h"

#include <string.h>

#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

/* Bytes of a panel's row: four lines of memory, which tiles of one to four vectors of every processor divide. */
enum { PANEL_BYTES = 256 };

/* More rows than the tallest tile has are packed for; so many that packing is some hundredth of the time are not worth
 * a second copy of the weights.  Short panels are read in place as they are, and weights that are deeper than wide
 * gain nothing by them (measured: README.md). */
enum { LEAST_ROWS = 15, MOST_ROWS = 64, LEAST_DEPTH = 64 };

static int64_t panel_columns(const Shape *shape) {
  return PANEL_BYTES / type_storage_bytes(shape->type);
}

/* The only dimension of an INT64_LIST attribute; -1: there are none, or several. */
static int64_t one_dimension(const HloInstruction *dot, HloAttrId id) {
  Int64List dims = hlo_instruction_ints(dot, id);
  return dims.count == 1 ? dims.data[0] : -1;
}

bool weight_panels_are_wanted(const HloInstruction *dot) {
  if (dot->opcode != HLO_DOT) return false;
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  bool is_plain = (rhs->type == TYPE_F32 || rhs->type == TYPE_F64) && lhs->type == rhs->type &&
                  dot->shape->type == rhs->type && rhs->rank == 2 && dot->operands[0] != dot->operands[1] &&
                  dot->shape->rank < SHAPE_MAX_RANK;
  int64_t lhs_depth = one_dimension(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  int64_t rhs_depth = one_dimension(dot, HLO_ATTR_RHS_CONTRACTING_DIMS);
  if (!is_plain || lhs_depth < 0 || rhs_depth < 0 || hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS).count > 0)
    return false;
  if (shape_is_dynamic(lhs) || shape_is_dynamic(rhs)) return false;
  int64_t depth = rhs->dims[rhs_depth], columns = rhs->dims[1 - rhs_depth];
  if (depth < LEAST_DEPTH || depth > columns || columns <= panel_columns(rhs) || columns % panel_columns(rhs) != 0)
    return false;
  int64_t rows = shape_element_count(lhs) / depth;
  return rows >= LEAST_ROWS && rows <= MOST_ROWS;
}

/* --- the panels --- */

static const Shape *panels_shape(const HloInstruction *dot) {
  const Shape *rhs = dot->operands[1]->shape;
  int64_t depth = one_dimension(dot, HLO_ATTR_RHS_CONTRACTING_DIMS), width = panel_columns(rhs);
  int64_t dims[] = {rhs->dims[1 - depth] / width, rhs->dims[depth], width};
  return shape_array(dot->parent->module->shapes, rhs->type, dims, 3);
}

static HloInstruction *constant_panels(const HloInstruction *dot) {
  HloInstruction *weights = dot->operands[1];
  const Literal *from = hlo_instruction_literal(weights);
  const Shape *shape = panels_shape(dot);
  Literal *to = literal_create(dot->parent->module->arena, shape);
  bool is_depth_first = one_dimension(dot, HLO_ATTR_RHS_CONTRACTING_DIMS) == 0;
  int64_t panels = shape->dims[0], depth = shape->dims[1], width = shape->dims[2];
  size_t size = (size_t)type_storage_bytes(shape->type);
  char *at = to->data;
  const char *data = from->data;
  for (int64_t p = 0; p < panels; p++) {
    for (int64_t k = 0; k < depth; k++) {
      for (int64_t c = p * width; c < (p + 1) * width; c++, at += size)
        memcpy(at, data + (size_t)(is_depth_first ? k * panels * width + c : c * depth + k) * size, size);
    }
  }
  HloInstruction *constant = hlo_computation_add_constant(dot->parent, to, weights->name);
  hlo_instruction_inherit_metadata(constant, weights);
  return constant;
}

HloInstruction *weight_panels_of(const HloInstruction *dot) {
  HloInstruction *weights = dot->operands[1];
  if (weights->opcode == HLO_CONSTANT) return constant_panels(dot);
  const Shape *shape = panels_shape(dot);
  bool is_depth_first = one_dimension(dot, HLO_ATTR_RHS_CONTRACTING_DIMS) == 0;
  int64_t panels = shape->dims[0], depth = shape->dims[1], width = shape->dims[2];
  int64_t along_rows[] = {depth, panels, width}, along_depth[] = {panels, width, depth};
  static const int64_t turn_rows[] = {1, 0, 2}, turn_depth[] = {0, 2, 1};
  const Shape *split =
      shape_array(dot->parent->module->shapes, shape->type, is_depth_first ? along_rows : along_depth, 3);
  HloInstruction *view = hlo_computation_add(dot->parent, HLO_RESHAPE, split, &weights, 1, SV(""));
  HloInstruction *turned = hlo_computation_add(dot->parent, HLO_TRANSPOSE, shape, &view, 1, SV(""));
  hlo_instruction_set_ints(turned, HLO_ATTR_DIMENSIONS, is_depth_first ? turn_rows : turn_depth, 3);
  hlo_instruction_inherit_metadata(view, weights);
  hlo_instruction_inherit_metadata(turned, weights);
  return turned;
}

/* --- the product --- */

void weight_panels_use(HloInstruction *dot, HloInstruction *panels) {
  int64_t dims[SHAPE_MAX_RANK];
  int rank = dot->shape->rank;
  for (int i = 0; i + 1 < rank; i++) dims[i] = dot->shape->dims[i];
  dims[rank - 1] = panels->shape->dims[0];
  dims[rank] = panels->shape->dims[2];
  const Shape *shape = shape_array(dot->parent->module->shapes, dot->shape->type, dims, rank + 1);
  HloInstruction *operands[] = {dot->operands[0], panels};
  HloInstruction *product = hlo_computation_add_clone(dot->parent, dot, shape, operands, 2);
  static const int64_t depth[] = {1};
  hlo_instruction_set_ints(product, HLO_ATTR_RHS_CONTRACTING_DIMS, depth, 1);
  hlo_instruction_remove_sharding(product);
  HloInstruction *view = hlo_computation_add(dot->parent, HLO_RESHAPE, dot->shape, &product, 1, SV(""));
  hlo_instruction_inherit_metadata(view, dot);
  hlo_instruction_replace_all_uses(dot, view);
}

/* --- the pass: weights that are constants --- */

/* The only reader but for others that want the same panels: the object holds one form alone. */
static bool is_in_one_form(const HloInstruction *weights, int64_t depth) {
  for (int i = 0; i < weights->user_count; i++) {
    const HloInstruction *user = weights->users[i];
    if (!weight_panels_are_wanted(user) || user->operands[1] != weights ||
        one_dimension(user, HLO_ATTR_RHS_CONTRACTING_DIMS) != depth)
      return false;
  }
  return !hlo_instruction_is_root(weights);
}

static void turn_constant(HloPassContext *context, HloInstruction *weights, bool *out_changed) {
  const Literal *literal = hlo_instruction_literal(weights);
  if (weights->user_count == 0 || literal->elided || literal_is_splat(literal)) return;
  if (!weight_panels_are_wanted(weights->users[0]) || !hlo_pass_may_rewrite(context)) return;
  if (!is_in_one_form(weights, one_dimension(weights->users[0], HLO_ATTR_RHS_CONTRACTING_DIMS))) return;
  HloInstruction **users = ARENA_COPY_ARRAY(context->scratch, HloInstruction *, weights->users, weights->user_count);
  int count = weights->user_count;
  HloInstruction *panels = weight_panels_of(users[0]);
  for (int i = 0; i < count; i++) weight_panels_use(users[i], panels);
  hlo_pass_count_rewrite(context, "weight-panels", panels);
  *out_changed = true;
}

static Status run_weight_panels(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t c = 0; c < count; c++) {
    int64_t instructions;
    HloInstruction **list = hlo_computation_list(computations[c], context->scratch, &instructions);
    for (int64_t i = 0; i < instructions; i++)
      if (list[i]->opcode == HLO_CONSTANT && shape_is_array(list[i]->shape))
        turn_constant(context, list[i], out_changed);
  }
  if (*out_changed) hlo_module_remove_dead(module);
  return STATUS_OK;
}

const HloPass hlo_weight_panels_pass = {"weight-panels", "constant weights of products as code reads them",
                                        run_weight_panels, false};
