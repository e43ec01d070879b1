/* Windows at places that an array of indices names. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

/* What gather and scatter have in common, in gather's words: slices of the operand, one for each index vector. */
typedef struct IndexMap {
  const Literal *indices;
  const Shape *operand;
  int64_t vector_dim, vector_stride; /* of the index vectors in |indices| */
  int batch_rank;                    /* dimensions of |indices| without the vectors */
  int64_t batch_dims[EVAL_MAX_RANK], index_strides[EVAL_MAX_RANK];
  int64_t operand_batch[EVAL_MAX_RANK]; /* per batch dimension: the operand's that it runs along, or -1 */
  Int64List start_map;                  /* operand dimension of each vector entry */
  int64_t operand_strides[EVAL_MAX_RANK];
} IndexMap;

static void index_map_init(IndexMap *map, const Literal *indices, const Shape *operand, int64_t vector_dim,
                           Int64List start_map, Int64List operand_batching, Int64List index_batching) {
  int64_t strides[EVAL_MAX_RANK];
  *map = (IndexMap){.indices = indices, .operand = operand, .vector_dim = vector_dim, .start_map = start_map};
  eval_strides(indices->shape, strides);
  eval_strides(operand, map->operand_strides);
  for (int i = 0; i < indices->shape->rank; i++) {
    if (i == vector_dim) {
      map->vector_stride = strides[i];
      continue;
    }
    int at = map->batch_rank++;
    map->batch_dims[at] = indices->shape->dims[i];
    map->index_strides[at] = strides[i];
    map->operand_batch[at] = -1;
    for (int64_t j = 0; j < index_batching.count; j++)
      if (index_batching.data[j] == i) map->operand_batch[at] = operand_batching.data[j];
  }
}

/* The start of the slice for the batch position: one index per operand dimension, unclamped. */
static void slice_start(const IndexMap *map, const int64_t *batch, int64_t *out_start) {
  int64_t at = eval_offset(map->batch_rank, batch, map->index_strides);
  for (int i = 0; i < map->operand->rank; i++) out_start[i] = 0;
  for (int64_t i = 0; i < map->start_map.count; i++) {
    int64_t value = literal_get_int(map->indices, at + i * map->vector_stride);
    if (value < 0 && type_is_unsigned(map->indices->shape->type)) value = INT64_MAX;
    out_start[map->start_map.data[i]] = value;
  }
  for (int i = 0; i < map->batch_rank; i++)
    if (map->operand_batch[i] >= 0) out_start[map->operand_batch[i]] = batch[i];
}

/* Operand dimensions that windows run along: neither left out nor batching. */
static int window_dimensions(int rank, Int64List left_out, Int64List batching, int64_t *out_dimensions) {
  int count = 0;
  for (int i = 0; i < rank; i++)
    if (!int64_list_has(left_out, i) && !int64_list_has(batching, i)) out_dimensions[count++] = i;
  return count;
}

/* Strides of the dimensions of |shape| in |list| (|inside|), or of the others. */
static int strides_of_dimensions(const Shape *shape, Int64List list, bool inside, int64_t *out_strides) {
  int64_t strides[EVAL_MAX_RANK];
  int count = 0;
  eval_strides(shape, strides);
  for (int i = 0; i < shape->rank; i++)
    if (int64_list_has(list, i) == inside) out_strides[count++] = strides[i];
  return count;
}

Status eval_gather(EvalStep *step) {
  const HloInstruction *gather = step->instruction;
  const Shape *operand = eval_operand_shape(step, 0);
  Int64List batching = hlo_instruction_ints(gather, HLO_ATTR_OPERAND_BATCHING_DIMS);
  Int64List offset_dims = hlo_instruction_ints(gather, HLO_ATTR_OFFSET_DIMS);
  Int64List sizes = hlo_instruction_ints(gather, HLO_ATTR_SLICE_SIZES);
  Literal *out = eval_result(step);
  if (shape_element_count(out->shape) == 0) return STATUS_OK;
  for (int64_t i = 0; i < sizes.count; i++) {
    if (sizes.data[i] == 0) return STATUS_OK; /* nothing is read: the result stays zero */
  }
  IndexMap map;
  index_map_init(&map, eval_operand(step, 1), operand, hlo_instruction_int(gather, HLO_ATTR_INDEX_VECTOR_DIM, 0),
                 hlo_instruction_ints(gather, HLO_ATTR_START_INDEX_MAP), batching,
                 hlo_instruction_ints(gather, HLO_ATTR_START_INDICES_BATCHING_DIMS));
  int64_t window[EVAL_MAX_RANK], dims[EVAL_MAX_RANK], from[EVAL_MAX_RANK], to[EVAL_MAX_RANK], outer[EVAL_MAX_RANK];
  int window_rank =
      window_dimensions(operand->rank, hlo_instruction_ints(gather, HLO_ATTR_COLLAPSED_SLICE_DIMS), batching, window);
  for (int i = 0; i < window_rank; i++) {
    dims[i] = sizes.data[window[i]];
    from[i] = map.operand_strides[window[i]];
  }
  strides_of_dimensions(out->shape, offset_dims, true, to);
  strides_of_dimensions(out->shape, offset_dims, false, outer);
  int64_t batch[EVAL_MAX_RANK] = {0}, start[EVAL_MAX_RANK];
  do {
    slice_start(&map, batch, start);
    for (int i = 0; i < operand->rank; i++) start[i] = max_i64(0, min_i64(start[i], operand->dims[i] - sizes.data[i]));
    eval_copy_box((size_t)type_storage_bytes(operand->type), window_rank, dims,
                  literal_element(out, eval_offset(map.batch_rank, batch, outer)), to,
                  literal_element(eval_operand(step, 0), eval_offset(operand->rank, start, map.operand_strides)), from);
  } while (eval_next_index(map.batch_rank, map.batch_dims, batch));
  return STATUS_OK;
}

/* ---- scatter ---- */

typedef struct Scatter {
  EvalFrame *region;
  LaneKernel *kernel; /* of a region that is one operation */
  int count;          /* of operands */
  Literal *targets[EVAL_MAX_RANK];
  const Literal *updates[EVAL_MAX_RANK];
} Scatter;

static Status combine(Scatter *scatter, int64_t at, int64_t from) {
  Literal *target = scatter->targets[0];
  PrimitiveType type = target->shape->type;
  if (scatter->kernel) {
    LaneComplex a, b;
    lanes_load(type, literal_element(target, at), 1, 1, &a);
    lanes_load(type, literal_element(scatter->updates[0], from), 1, 1, &b);
    scatter->kernel(type_bits(type), 1, &a, &a, &b);
    lanes_store(type, literal_element(target, at), 1, &a);
    return STATUS_OK;
  }
  const Literal *results[EVAL_MAX_RANK];
  for (int i = 0; i < scatter->count; i++) {
    eval_region_set(scatter->region, i, scatter->targets[i], at);
    eval_region_set(scatter->region, scatter->count + i, scatter->updates[i], from);
  }
  RETURN_IF_ERROR(eval_region_run(scatter->region, results, scatter->count));
  for (int i = 0; i < scatter->count; i++) eval_store_scalar(scatter->targets[i], at, results[i]);
  return STATUS_OK;
}

static Status scatter_begin(EvalStep *step, Scatter *scatter) {
  int count = (step->instruction->operand_count - 1) / 2;
  if (count > EVAL_MAX_RANK) return eval_error(step, "has more than %d operands", EVAL_MAX_RANK);
  *scatter = (Scatter){.count = count};
  RETURN_IF_ERROR(eval_callee(step, 0, &scatter->region));
  Literal *out = eval_result(step);
  for (int i = 0; i < count; i++) {
    scatter->targets[i] = shape_is_tuple(out->shape) ? &out->tuple[i] : out;
    scatter->updates[i] = eval_operand(step, count + 1 + i);
    eval_copy_leaves(scatter->targets[i], eval_operand(step, i));
  }
  PrimitiveType type = scatter->targets[0]->shape->type;
  if (count == 1 && scatter->updates[0]->shape->type == type)
    scatter->kernel = eval_region_kernel(scatter->region, type, NULL);
  return STATUS_OK;
}

/* A window that does not lie inside the operand as a whole is dropped. */
static bool window_is_inside(const Shape *operand, const int64_t *start, int window_rank, const int64_t *window,
                             const int64_t *dims) {
  for (int i = 0; i < operand->rank; i++) {
    int64_t size = 1;
    for (int j = 0; j < window_rank; j++)
      if (window[j] == i) size = dims[j];
    if (start[i] < 0 || start[i] > operand->dims[i] - size) return false;
  }
  return true;
}

Status eval_scatter(EvalStep *step) {
  const HloInstruction *instruction = step->instruction;
  Scatter scatter;
  RETURN_IF_ERROR(scatter_begin(step, &scatter));
  const Shape *operand = eval_operand_shape(step, 0), *update = scatter.updates[0]->shape;
  Int64List batching = hlo_instruction_ints(instruction, HLO_ATTR_INPUT_BATCHING_DIMS);
  Int64List window_dims = hlo_instruction_ints(instruction, HLO_ATTR_UPDATE_WINDOW_DIMS);
  if (shape_element_count(update) == 0) return STATUS_OK;
  IndexMap map;
  index_map_init(&map, eval_operand(step, scatter.count), operand,
                 hlo_instruction_int(instruction, HLO_ATTR_INDEX_VECTOR_DIM, 0),
                 hlo_instruction_ints(instruction, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS), batching,
                 hlo_instruction_ints(instruction, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS));
  int64_t window[EVAL_MAX_RANK], dims[EVAL_MAX_RANK], from[EVAL_MAX_RANK], to[EVAL_MAX_RANK], outer[EVAL_MAX_RANK];
  int window_rank = window_dimensions(operand->rank, hlo_instruction_ints(instruction, HLO_ATTR_INSERTED_WINDOW_DIMS),
                                      batching, window);
  for (int i = 0; i < window_rank; i++) {
    dims[i] = update->dims[window_dims.data[i]];
    to[i] = map.operand_strides[window[i]];
  }
  strides_of_dimensions(update, window_dims, true, from);
  strides_of_dimensions(update, window_dims, false, outer);
  int64_t batch[EVAL_MAX_RANK] = {0}, start[EVAL_MAX_RANK];
  do {
    slice_start(&map, batch, start);
    if (!window_is_inside(operand, start, window_rank, window, dims)) continue;
    int64_t place[EVAL_MAX_RANK] = {0};
    int64_t to_start = eval_offset(operand->rank, start, map.operand_strides);
    int64_t from_start = eval_offset(map.batch_rank, batch, outer);
    do {
      RETURN_IF_ERROR(combine(&scatter, to_start + eval_offset(window_rank, place, to),
                              from_start + eval_offset(window_rank, place, from)));
    } while (eval_next_index(window_rank, dims, place));
  } while (eval_next_index(map.batch_rank, map.batch_dims, batch));
  return STATUS_OK;
}
