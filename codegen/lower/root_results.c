/* Kernels of fusions with several results, and of those that go on with what they reduce: one outer nest for all of
 * them. */
#include "codegen/lower/lowering_internal.h"

static const Shape *shape_of(const LoweringResult *result) {
  return result->nest.shape;
}

static KernelStore store_of(Lowering *lowering, const LoweringResult *result, const IndexExpr *index, int32_t value) {
  int32_t buffer = lowering_buffer(lowering, KERNEL_RESULT, -1, result->node, shape_of(result));
  return (KernelStore){buffer, lowering_address(lowering, shape_of(result), index), value, -1};
}

/* --- elements --- */

static Status make_elements(Lowering *lowering) {
  const Shape *walked = shape_of(&lowering->results[0]);
  IndexExpr walk[MAX_RANK], index[MAX_RANK];
  int64_t points = lowering_point_count(lowering), count = points * lowering->result_count;
  KernelStore *stores = ARENA_NEW_ARRAY(lowering->arena, KernelStore, count);
  for (int64_t point = 0; point < points; point++) {
    lowering_begin_point(lowering, point);
    lowering_dims_of_result(lowering, walked, walk);
    IndexExpr linear = lowering_linearize(lowering, walk, walked->dims, walked->rank);
    for (int i = 0; i < lowering->result_count; i++) {
      const LoweringResult *result = &lowering->results[i];
      int32_t value;
      lowering_delinearize(lowering, linear, shape_of(result)->dims, shape_of(result)->rank, index);
      RETURN_IF_ERROR(lower_element(lowering, result->made, index, &value));
      stores[i * points + point] = store_of(lowering, result, index, value); /* neighbours stand together */
    }
  }
  lowering_add_stage(lowering, stores, (int)count);
  return STATUS_OK;
}

/* --- rows --- */

static const LoweringResult *first_reduced(const Lowering *lowering) {
  for (int i = 0; i < lowering->result_count; i++) {
    if (lowering->results[i].nest.kind == LOOP_NEST_REDUCED) return &lowering->results[i];
  }
  return NULL;
}

/* Both have the same elements in a row. */
static bool same_row_dims(const Shape *a, const Shape *b, int64_t rows) {
  int from_a = hlo_row_dims(a, rows), from_b = hlo_row_dims(b, rows);
  if (a->rank - from_a != b->rank - from_b) return false;
  for (int d = from_a; d < a->rank; d++) {
    if (a->dims[d] != b->dims[d - from_a + from_b]) return false;
  }
  return true;
}

/* Stores |first| and all results of its kind whose rows are as long, in a stage of their own. */
static Status make_rows_like(Lowering *lowering, const LoweringResult *first, int64_t rows) {
  const Shape *shape = shape_of(first);
  IndexExpr inner[MAX_RANK], index[MAX_RANK];
  int leading = hlo_row_dims(shape, rows), inner_count = shape->rank - leading, stage = lowering_begin_stage(lowering);
  for (int d = 0; d < inner_count; d++)
    inner[d] = lowering_dim(lowering, shape->dims[leading + d], KERNEL_PARALLEL, stage);
  /* The first time begins the stages that the results need, the second finds what they computed in their rows; what
   * only the first made is dead. */
  for (int round = 0; round < 2; round++) {
    lowering_forget_rows(lowering);
    for (int i = 0; i < lowering->result_count; i++) {
      LoweringResult *result = &lowering->results[i];
      if (result->is_stored || result->nest.kind != first->nest.kind) continue;
      if (!same_row_dims(shape, shape_of(result), rows)) continue;
      int32_t value, own_leading = hlo_row_dims(shape_of(result), rows);
      lowering_delinearize(lowering, lowering->row, shape_of(result)->dims, own_leading, index);
      for (int d = 0; d < inner_count; d++) index[own_leading + d] = inner[d];
      RETURN_IF_ERROR(lower_element(lowering, result->made, index, &value));
      if (round == 0) continue;
      KernelStore store = store_of(lowering, result, index, value);
      lowering_add_store(lowering, stage, &store);
      result->is_stored = result != first;
    }
  }
  lowering_end_stage(lowering, stage, KERNEL_OUTER);
  return STATUS_OK;
}

/* Stages of reductions store what else goes by, so what begins them comes first. */
enum { PASS_ONE_A_ROW, PASS_ROWS, PASS_ELEMENTS, PASS_COUNT };

static int pass_of(const LoweringResult *result, int64_t rows) {
  if (result->nest.kind == LOOP_NEST_ELEMENTS) return PASS_ELEMENTS;
  return shape_element_count(shape_of(result)) == rows ? PASS_ONE_A_ROW : PASS_ROWS;
}

static Status make_rows(Lowering *lowering, const LoweringResult *frame) {
  const Shape *shape = shape_of(frame);
  int64_t rows = frame->nest.rows;
  IndexExpr outer[MAX_RANK];
  int leading = hlo_row_dims(shape, rows);
  for (int d = 0; d < leading; d++) outer[d] = lowering_dim(lowering, shape->dims[d], KERNEL_PARALLEL, KERNEL_OUTER);
  lowering->row = lowering_linearize(lowering, outer, shape->dims, leading);
  lowering->has_rows = true;
  for (int pass = 0; pass < PASS_COUNT; pass++) {
    for (int i = 0; i < lowering->result_count; i++) {
      LoweringResult *result = &lowering->results[i];
      if (result->is_stored || pass_of(result, rows) != pass) continue;
      RETURN_IF_ERROR(make_rows_like(lowering, result, rows));
      result->is_stored = true;
    }
  }
  return STATUS_OK;
}

Status root_results(Lowering *lowering, const HloInstruction *root) {
  (void)root;
  const LoweringResult *frame = first_reduced(lowering);
  return frame == NULL ? make_elements(lowering) : make_rows(lowering, frame);
}
