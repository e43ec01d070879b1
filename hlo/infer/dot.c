/* Contractions: dot, ragged-dot, scaled-dot. */
#include "hlo/infer/infer_internal.h"

/* What each dimension of one operand is to a contraction. */
typedef struct DotSide {
  const Shape *shape;
  HloAttrId batch_id, contracting_id;
  Int64List batch, contracting;
  bool *is_taken; /* batch or contracting; or group */
} DotSide;

static Status make_side(const InferContext *context, const Shape *shape, HloAttrId batch_id, HloAttrId contracting_id,
                        DotSide *side) {
  *side = (DotSide){shape,
                    batch_id,
                    contracting_id,
                    hlo_instruction_ints(context->instruction, batch_id),
                    hlo_instruction_ints(context->instruction, contracting_id),
                    ARENA_NEW_ARRAY(context->scratch, bool, shape->rank)};
  RETURN_IF_ERROR(infer_mark_dimensions(context, batch_id, shape->rank, side->is_taken));
  return infer_mark_dimensions(context, contracting_id, shape->rank, side->is_taken);
}

static Status check_pairs(const InferContext *context, const DotSide *lhs, const DotSide *rhs, HloAttrId id,
                          Int64List a, Int64List b, const char *kind) {
  if (a.count != b.count) {
    return infer_attr_error(context, id,
                            "needs as many %s dimensions of the left as of the right operand, got %lld and %lld", kind,
                            (long long)a.count, (long long)b.count);
  }
  for (int64_t i = 0; i < a.count; i++) {
    if (infer_sizes_agree(lhs->shape->dims[a.data[i]], rhs->shape->dims[b.data[i]])) continue;
    return infer_attr_error(context, id, "has %s dimensions of different sizes: %lld of %s and %lld of %s", kind,
                            (long long)a.data[i], infer_text(context, lhs->shape), (long long)b.data[i],
                            infer_text(context, rhs->shape));
  }
  return STATUS_OK;
}

static Status make_sides(const InferContext *context, DotSide *lhs, DotSide *rhs) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 2));
  RETURN_IF_ERROR(
      make_side(context, infer_operand(context, 0), HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_LHS_CONTRACTING_DIMS, lhs));
  RETURN_IF_ERROR(
      make_side(context, infer_operand(context, 1), HLO_ATTR_RHS_BATCH_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS, rhs));
  RETURN_IF_ERROR(
      check_pairs(context, lhs, rhs, lhs->contracting_id, lhs->contracting, rhs->contracting, "contracting"));
  return check_pairs(context, lhs, rhs, lhs->batch_id, lhs->batch, rhs->batch, "batch");
}

static void push_free(ShapeDraft *draft, const DotSide *side) {
  for (int i = 0; i < side->shape->rank; i++) {
    if (!side->is_taken[i]) infer_draft_push_dim(draft, side->shape, i);
  }
}

/* [leading,] batch, left free, right free. */
static Status finish_dot(const InferContext *context, const DotSide *lhs, const DotSide *rhs, int64_t leading,
                         const Shape **out_shape) {
  ShapeDraft draft = infer_draft(context, infer_contraction_type(context), lhs->shape->rank + rhs->shape->rank + 1);
  if (leading >= 0) infer_draft_push(&draft, leading, false);
  for (int64_t i = 0; i < lhs->batch.count; i++) {
    const Shape *known = lhs->shape->dims[lhs->batch.data[i]] == SHAPE_UNBOUNDED ? rhs->shape : lhs->shape;
    infer_draft_push_dim(&draft, known, known == lhs->shape ? lhs->batch.data[i] : rhs->batch.data[i]);
  }
  push_free(&draft, lhs);
  push_free(&draft, rhs);
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

Status infer_dot(const InferContext *context, const Shape **out_shape) {
  DotSide lhs, rhs;
  RETURN_IF_ERROR(make_sides(context, &lhs, &rhs));
  return finish_dot(context, &lhs, &rhs, -1, out_shape);
}

/* --- ragged-dot: (lhs, rhs, group sizes); one dimension of lhs comes in groups --- */

typedef struct RaggedDot {
  DotSide lhs, rhs;
  int ragged;          /* dimension of lhs */
  int64_t group_count; /* the last dimension of the group sizes */
} RaggedDot;

/* Group sizes are [groups] for all, or [outer..., groups] where the outer dimensions of lhs stand before the ragged
 * one: its batch dimensions and those of the ragged one's own kind. */
static Status check_group_sizes(const InferContext *context, RaggedDot *dot) {
  const Shape *sizes = infer_operand(context, 2), *lhs = dot->lhs.shape;
  RETURN_IF_ERROR(infer_check_array(context, 2));
  if (!type_is_integral(sizes->type) || sizes->rank == 0) {
    return infer_error(context, "needs integer group sizes, got %s", infer_text(context, sizes));
  }
  dot->group_count = sizes->dims[sizes->rank - 1];
  if (sizes->rank == 1) return STATUS_OK;
  int64_t *outer = ARENA_NEW_ARRAY(context->scratch, int64_t, lhs->rank);
  int count = 0;
  bool found = false;
  for (int64_t i = 0; i < dot->lhs.batch.count && !found; i++) {
    found = dot->lhs.batch.data[i] == dot->ragged;
    if (!found) outer[count++] = lhs->dims[dot->lhs.batch.data[i]];
  }
  bool is_contracting = int64_list_has(dot->lhs.contracting, dot->ragged);
  for (int64_t i = 0; i < dot->lhs.contracting.count && is_contracting && !found; i++) {
    found = dot->lhs.contracting.data[i] == dot->ragged;
    if (!found) outer[count++] = lhs->dims[dot->lhs.contracting.data[i]];
  }
  for (int i = 0; i < dot->ragged && !found; i++) {
    if (!dot->lhs.is_taken[i]) outer[count++] = lhs->dims[i];
  }
  bool fits = sizes->rank == count + 1;
  for (int i = 0; fits && i < count; i++) fits = infer_sizes_agree(sizes->dims[i], outer[i]);
  if (fits) return STATUS_OK;
  return infer_error(context, "needs group sizes of rank 1 or with the outer dimensions of %s in front, got %s",
                     infer_text(context, lhs), infer_text(context, sizes));
}

/* A ragged free dimension of lhs goes with one group dimension of rhs, which is as large as there are groups. */
static Status take_group_dimension(const InferContext *context, RaggedDot *dot) {
  Int64List group = hlo_instruction_ints(context->instruction, HLO_ATTR_RHS_GROUP_DIMS);
  bool is_free = !dot->lhs.is_taken[dot->ragged];
  if (group.count != (is_free ? 1 : 0)) {
    return infer_attr_error(context, HLO_ATTR_RHS_GROUP_DIMS,
                            "needs %s of 'rhs_group_dims' with a ragged dimension that is %s", is_free ? "one" : "none",
                            is_free ? "free" : "contracted or batch");
  }
  if (!is_free) return STATUS_OK;
  RETURN_IF_ERROR(infer_mark_dimensions(context, HLO_ATTR_RHS_GROUP_DIMS, dot->rhs.shape->rank, dot->rhs.is_taken));
  if (infer_sizes_agree(dot->rhs.shape->dims[group.data[0]], dot->group_count)) return STATUS_OK;
  return infer_attr_error(context, HLO_ATTR_RHS_GROUP_DIMS, "has %lld groups, but group dimension %lld of %s",
                          (long long)dot->group_count, (long long)group.data[0], infer_text(context, dot->rhs.shape));
}

Status infer_ragged_dot(const InferContext *context, const Shape **out_shape) {
  RaggedDot dot;
  RETURN_IF_ERROR(make_sides(context, &dot.lhs, &dot.rhs));
  Int64List ragged = hlo_instruction_ints(context->instruction, HLO_ATTR_LHS_RAGGED_DIMS);
  if (ragged.count != 1 || ragged.data[0] < 0 || ragged.data[0] >= dot.lhs.shape->rank) {
    return infer_attr_error(context, HLO_ATTR_LHS_RAGGED_DIMS, "needs exactly one dimension of %s in 'lhs_ragged_dims'",
                            infer_text(context, dot.lhs.shape));
  }
  dot.ragged = (int)ragged.data[0];
  RETURN_IF_ERROR(check_group_sizes(context, &dot));
  RETURN_IF_ERROR(take_group_dimension(context, &dot));
  bool is_contracting = int64_list_has(dot.lhs.contracting, dot.ragged);
  return finish_dot(context, &dot.lhs, &dot.rhs, is_contracting ? dot.group_count : -1, out_shape);
}

/* --- scaled-dot: (lhs, rhs, lhs scale, rhs scale) --- */

/* A scale is a scalar or has the operand's rank and divides each of its sizes; both are real. */
static Status check_scale(const InferContext *context, int operand_index, int scale_index) {
  const Shape *operand = infer_operand(context, operand_index), *scale = infer_operand(context, scale_index);
  if (type_is_complex(operand->type) || type_is_complex(scale->type)) {
    return infer_error(context, "cannot scale %s by %s: both must be real", infer_text(context, operand),
                       infer_text(context, scale));
  }
  if (scale->rank == 0) return STATUS_OK;
  bool fits = scale->rank == operand->rank;
  for (int i = 0; fits && i < scale->rank; i++) {
    int64_t size = operand->dims[i], steps = scale->dims[i];
    fits = size == steps || size == SHAPE_UNBOUNDED || (steps > 0 && size % steps == 0);
  }
  if (fits) return STATUS_OK;
  return infer_error(context, "cannot scale %s by %s: sizes must be multiples", infer_text(context, operand),
                     infer_text(context, scale));
}

Status infer_scaled_dot(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 4));
  if (infer_operand(context, 2)->rank == 0 && infer_operand(context, 3)->rank == 0) {
    return infer_error(context, "needs at least one scale that is not a scalar");
  }
  RETURN_IF_ERROR(check_scale(context, 0, 2));
  RETURN_IF_ERROR(check_scale(context, 1, 3));
  return infer_dot(context, out_shape);
}
