/* dot and its relatives: batches of matrix products, sums in the widest type and rounded once. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

/* One operand in the order of the product: batch, rows, columns. */
typedef struct DotSide {
  int rank;
  int64_t dims[EVAL_MAX_RANK], strides[EVAL_MAX_RANK];
  int64_t batch, free, contracting; /* sizes */
} DotSide;

static void add_dimensions(DotSide *side, const Shape *shape, Int64List list, int64_t *size) {
  int64_t strides[EVAL_MAX_RANK];
  eval_strides(shape, strides);
  for (int64_t i = 0; i < list.count; i++) {
    side->dims[side->rank] = shape->dims[list.data[i]];
    side->strides[side->rank++] = strides[list.data[i]];
    *size *= shape->dims[list.data[i]];
  }
}

/* |dropped|: a dimension that the caller takes care of, -1 none. */
static DotSide dot_side(const Shape *shape, Int64List batch, Int64List contracting, bool contracting_last,
                        int64_t dropped) {
  DotSide side = {.batch = 1, .free = 1, .contracting = 1};
  int64_t others[EVAL_MAX_RANK];
  Int64List free = {0, others};
  for (int64_t i = 0; i < shape->rank; i++)
    if (!int64_list_has(batch, i) && !int64_list_has(contracting, i) && i != dropped) others[free.count++] = i;
  add_dimensions(&side, shape, batch, &side.batch);
  if (contracting_last) {
    add_dimensions(&side, shape, free, &side.free);
    add_dimensions(&side, shape, contracting, &side.contracting);
  } else {
    add_dimensions(&side, shape, contracting, &side.contracting);
    add_dimensions(&side, shape, free, &side.free);
  }
  return side;
}

static void *load_side(Arena *arena, const Literal *from, int64_t start, const DotSide *side, PrimitiveType type) {
  void *numbers =
      arena_alloc_array(arena, (size_t)(side->batch * side->free * side->contracting), lane_bytes(LANE_COMPLEX));
  eval_load_box(from, start, side->rank, side->dims, side->strides, type, numbers);
  return numbers;
}

static void multiply_batches(LaneClass lane, const DotSide *lhs, const DotSide *rhs, const char *a, const char *b,
                             char *out) {
  size_t unit = lane_bytes(lane);
  int64_t m = lhs->free, k = lhs->contracting, n = rhs->free;
  for (int64_t i = 0; i < lhs->batch; i++)
    eval_matmul(lane, m, k, n, a + (size_t)(i * m * k) * unit, b + (size_t)(i * k * n) * unit,
                out + (size_t)(i * m * n) * unit);
}

Status eval_dot(EvalStep *step) {
  const HloInstruction *dot = step->instruction;
  DotSide lhs = dot_side(eval_operand_shape(step, 0), hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS),
                         hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS), true, -1);
  DotSide rhs = dot_side(eval_operand_shape(step, 1), hlo_instruction_ints(dot, HLO_ATTR_RHS_BATCH_DIMS),
                         hlo_instruction_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS), false, -1);
  PrimitiveType type = eval_sum_type(step);
  LaneClass lane = eval_sum_class(type);
  Arena *arena = arena_create();
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  void *a = load_side(arena, eval_operand(step, 0), 0, &lhs, type);
  void *b = load_side(arena, eval_operand(step, 1), 0, &rhs, type);
  void *sums = arena_alloc_array(arena, (size_t)total, lane_bytes(lane));
  multiply_batches(lane, &lhs, &rhs, a, b, sums);
  eval_store_sums(type, total, sums, out->shape->type, out->data);
  arena_destroy(arena);
  return STATUS_OK;
}

/* ---- scaled-dot ---- */

/* Multiplies loaded numbers by their block's scale: each dimension of the scales divides the operand's. */
static void apply_scales(const Literal *scales, const Shape *shape, const int64_t *order, const DotSide *side,
                         double *numbers) {
  int64_t strides[EVAL_MAX_RANK], index[EVAL_MAX_RANK] = {0};
  if (scales->shape->rank == 0 || side->batch * side->free * side->contracting == 0) return;
  eval_strides(scales->shape, strides);
  do {
    int64_t at = 0;
    for (int i = 0; i < side->rank; i++) {
      int64_t dimension = order[i], block = shape->dims[dimension] / max_i64(1, scales->shape->dims[dimension]);
      at += index[i] / max_i64(1, block) * strides[dimension];
    }
    *numbers++ *= literal_get_double(scales, at);
  } while (eval_next_index(side->rank, side->dims, index));
}

/* The operand dimension of each dimension of |side|: strides tell them apart, sizes of 1 do not matter. */
static void side_order(const Shape *shape, Int64List batch, Int64List contracting, bool contracting_last,
                       int64_t *out_order) {
  int count = 0;
  for (int64_t i = 0; i < batch.count; i++) out_order[count++] = batch.data[i];
  for (int64_t i = 0; i < contracting.count && !contracting_last; i++) out_order[count++] = contracting.data[i];
  for (int64_t i = 0; i < shape->rank; i++)
    if (!int64_list_has(batch, i) && !int64_list_has(contracting, i)) out_order[count++] = i;
  for (int64_t i = 0; i < contracting.count && contracting_last; i++) out_order[count++] = contracting.data[i];
}

Status eval_scaled_dot(EvalStep *step) {
  const HloInstruction *dot = step->instruction;
  static const HloAttrId batch_ids[] = {HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_RHS_BATCH_DIMS};
  static const HloAttrId contracting_ids[] = {HLO_ATTR_LHS_CONTRACTING_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS};
  if (lane_class(dot->shape->type) != LANE_FLOAT) return eval_error(step, "cannot be evaluated for this type");
  Arena *arena = arena_create();
  DotSide sides[2];
  double *numbers[2];
  for (int i = 0; i < 2; i++) {
    Int64List batch = hlo_instruction_ints(dot, batch_ids[i]);
    Int64List contracting = hlo_instruction_ints(dot, contracting_ids[i]);
    const Shape *shape = eval_operand_shape(step, i);
    int64_t order[EVAL_MAX_RANK];
    sides[i] = dot_side(shape, batch, contracting, i == 0, -1);
    numbers[i] = load_side(arena, eval_operand(step, i), 0, &sides[i], TYPE_F64);
    side_order(shape, batch, contracting, i == 0, order);
    apply_scales(eval_operand(step, 2 + i), shape, order, &sides[i], numbers[i]);
  }
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape);
  double *sums = ARENA_NEW_ARRAY(arena, double, total);
  multiply_batches(LANE_FLOAT, &sides[0], &sides[1], (char *)numbers[0], (char *)numbers[1], (char *)sums);
  lanes_store(out->shape->type, out->data, total, sums);
  arena_destroy(arena);
  return STATUS_OK;
}

/* ---- ragged-dot ---- */

/* Clears what lies outside [from, to) along |ragged|, a dimension of |side| in its order. */
static void keep_range(LaneClass lane, const DotSide *side, int ragged, int64_t from, int64_t to, const char *in,
                       char *out) {
  size_t unit = lane_bytes(lane);
  int64_t inner = 1;
  for (int i = ragged + 1; i < side->rank; i++) inner *= side->dims[i];
  int64_t total = side->batch * side->free * side->contracting;
  for (int64_t i = 0; i < total; i++) {
    int64_t at = i / inner % side->dims[ragged];
    if (at >= from && at < to)
      memcpy(out + (size_t)i * unit, in + (size_t)i * unit, unit);
    else
      memset(out + (size_t)i * unit, 0, unit);
  }
}

typedef struct RaggedDot {
  int64_t ragged, group; /* dimension of lhs; group dimension of rhs, -1 none */
  bool is_contracting;
  int place; /* of the ragged dimension in the order of lhs */
  DotSide lhs, rhs;
} RaggedDot;

static RaggedDot ragged_dot(EvalStep *step) {
  const HloInstruction *dot = step->instruction;
  Int64List contracting = hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  Int64List batch = hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS);
  Int64List groups = hlo_instruction_ints(dot, HLO_ATTR_RHS_GROUP_DIMS);
  const Shape *lhs = eval_operand_shape(step, 0), *rhs = eval_operand_shape(step, 1);
  RaggedDot ragged = {.ragged = hlo_instruction_ints(dot, HLO_ATTR_LHS_RAGGED_DIMS).data[0],
                      .group = groups.count > 0 ? groups.data[0] : -1};
  ragged.is_contracting = int64_list_has(contracting, ragged.ragged);
  ragged.lhs = dot_side(lhs, batch, contracting, true, -1);
  ragged.rhs = dot_side(rhs, hlo_instruction_ints(dot, HLO_ATTR_RHS_BATCH_DIMS),
                        hlo_instruction_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS), false, ragged.group);
  int64_t order[EVAL_MAX_RANK];
  side_order(lhs, batch, contracting, true, order);
  while (order[ragged.place] != ragged.ragged) ragged.place++;
  return ragged;
}

/* One product per group, of the rows (or the part of the sum) that belong to it. */
Status eval_ragged_dot(EvalStep *step) {
  const HloInstruction *dot = step->instruction;
  const Literal *sizes = eval_operand(step, 2);
  Int64List lhs_ragged = hlo_instruction_ints(dot, HLO_ATTR_LHS_RAGGED_DIMS);
  Int64List lhs_batch = hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS);
  if (sizes->shape->rank != 1 || lhs_ragged.count != 1 || int64_list_has(lhs_batch, lhs_ragged.data[0]))
    return eval_error(step, "cannot be evaluated with groups along batch dimensions");
  RaggedDot ragged = ragged_dot(step);
  PrimitiveType type = eval_sum_type(step);
  LaneClass lane = eval_sum_class(type);
  Arena *arena = arena_create();
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape), groups = sizes->shape->dims[0], from = 0;
  int64_t rhs_strides[EVAL_MAX_RANK];
  eval_strides(eval_operand_shape(step, 1), rhs_strides);
  char *a = load_side(arena, eval_operand(step, 0), 0, &ragged.lhs, type);
  char *part =
      arena_alloc_array(arena, (size_t)(ragged.lhs.batch * ragged.lhs.free * ragged.lhs.contracting), lane_bytes(lane));
  char *sums = arena_alloc_array(arena, (size_t)total, lane_bytes(lane));
  size_t group_bytes = ragged.is_contracting && groups > 0 ? (size_t)(total / groups) * lane_bytes(lane) : 0;
  for (int64_t i = 0; i < groups; i++) {
    int64_t size = literal_get_int(sizes, i);
    keep_range(lane, &ragged.lhs, ragged.place, from, from + size, a, part);
    Arena *scratch = arena_create();
    char *b = load_side(scratch, eval_operand(step, 1), ragged.group >= 0 ? i * rhs_strides[ragged.group] : 0,
                        &ragged.rhs, type);
    multiply_batches(lane, &ragged.lhs, &ragged.rhs, part, b, sums + (size_t)i * group_bytes);
    arena_destroy(scratch);
    from += size;
  }
  eval_store_sums(type, total, sums, out->shape->type, out->data);
  arena_destroy(arena);
  return STATUS_OK;
}
