/* Reductions: reduce, reduce-window, select-and-scatter, scan. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

/* Operations that may be accumulated in work numbers and rounded or wrapped once at the end.  Floats below 16 bits are
 * rounded after every step, as in XLA (docs/numerics.md). */
static bool is_accumulated(HloOpcode opcode, PrimitiveType type) {
  return hlo_opcode_has(opcode, OP_ASSOCIATIVE) && !(type_is_float(type) && type_bits(type) < 16);
}

LaneKernel *eval_accumulating_kernel(const EvalFrame *region, PrimitiveType type) {
  HloOpcode opcode;
  LaneKernel *kernel = eval_region_kernel(region, type, &opcode);
  return kernel && is_accumulated(opcode, type) ? kernel : NULL;
}

/* ---- reduce ---- */

/* Result strides of the operand's dimensions: 0 for those that go. */
static void result_strides(const Shape *from, Int64List reduced, int64_t *out_strides) {
  int64_t stride = 1;
  for (int i = from->rank - 1; i >= 0; i--) {
    out_strides[i] = int64_list_has(reduced, i) ? 0 : stride;
    if (out_strides[i]) stride *= from->dims[i];
  }
}

/* One row of the innermost dimension into the sums; |stride| 0: into one of them. */
static void accumulate_row(LaneKernel *kernel, PrimitiveType type, const char *row, int64_t count, char *sums,
                           int64_t stride) {
  size_t unit = lane_bytes(lane_class(type)), storage = (size_t)type_storage_bytes(type);
  LaneBlock block;
  for (int64_t start = 0; start < count; start += LANES) {
    int64_t part = min_i64(LANES, count - start);
    lanes_load(type, row + (size_t)start * storage, 1, part, &block);
    if (stride != 0) {
      char *place = sums + (size_t)start * unit;
      kernel(type_bits(type), part, place, place, &block);
      continue;
    }
    for (int64_t i = 0; i < part; i++) kernel(type_bits(type), 1, sums, sums, (const char *)&block + (size_t)i * unit);
  }
}

static void reduce_by_kernel(EvalStep *step, LaneKernel *kernel, Literal *out, const int64_t *strides) {
  const Shape *from = eval_operand_shape(step, 0);
  PrimitiveType type = from->type;
  size_t unit = lane_bytes(lane_class(type));
  int64_t total = shape_element_count(out->shape), from_strides[EVAL_MAX_RANK], index[EVAL_MAX_RANK] = {0};
  Arena *arena = arena_create();
  char *sums = arena_alloc_array(arena, (size_t)total, unit);
  for (int64_t i = 0; i < total; i++) lanes_load(type, eval_operand(step, 1)->data, 0, 1, sums + (size_t)i * unit);
  eval_strides(from, from_strides);
  int outer = max_i64(0, from->rank - 1) > 0 ? from->rank - 1 : 0;
  int64_t row = from->rank > 0 ? from->dims[outer] : 1, stride = from->rank > 0 ? strides[outer] : 0;
  if (shape_element_count(from) > 0) {
    do {
      accumulate_row(kernel, type, literal_element(eval_operand(step, 0), eval_offset(outer, index, from_strides)), row,
                     sums + (size_t)eval_offset(outer, index, strides) * unit, stride);
    } while (eval_next_index(outer, from->dims, index));
  }
  lanes_store(type, out->data, total, sums);
  arena_destroy(arena);
}

/* The accumulators of |count| values in the types of the region's parameters, each set to its initial value. */
static Literal *accumulators(EvalStep *step, Arena *arena, EvalFrame *region, int count, int64_t total) {
  Literal *values = ARENA_NEW_ARRAY(arena, Literal, count);
  for (int i = 0; i < count; i++) {
    const Shape *shape = region->computation->parameters.data[i]->shape;
    values[i] = (Literal){.shape = shape,
                          .data = arena_alloc_array(arena, (size_t)total, (size_t)type_storage_bytes(shape->type))};
    for (int64_t j = 0; j < total; j++) eval_store_scalar(&values[i], j, eval_operand(step, count + i));
  }
  return values;
}

/* accumulators[to] = region(accumulators[to], operands[from]) */
static Status combine(EvalStep *step, EvalFrame *region, int count, Literal *values, int64_t to, int64_t from,
                      const Literal **results) {
  for (int i = 0; i < count; i++) {
    eval_region_set(region, i, &values[i], to);
    eval_region_set(region, count + i, eval_operand(step, i), from);
  }
  RETURN_IF_ERROR(eval_region_run(region, results, count));
  for (int i = 0; i < count; i++) eval_store_scalar(&values[i], to, results[i]);
  return STATUS_OK;
}

static void store_accumulators(const Literal *values, int count, int64_t total, Literal *out) {
  for (int i = 0; i < count; i++) {
    Literal *target = eval_result_part(out, i);
    for (int64_t j = 0; j < total; j++) {
      Literal one = {.shape = values[i].shape, .data = literal_element(&values[i], j)};
      eval_store_scalar(target, j, &one);
    }
  }
}

static Status reduce_by_region(EvalStep *step, EvalFrame *region, int count, Literal *out, const int64_t *strides) {
  const Shape *from = eval_operand_shape(step, 0);
  int64_t total = shape_element_count(eval_result_part(out, 0)->shape), from_strides[EVAL_MAX_RANK];
  int64_t index[EVAL_MAX_RANK] = {0};
  Arena *arena = arena_create();
  Literal *values = accumulators(step, arena, region, count, total);
  const Literal **results = ARENA_NEW_ARRAY(arena, const Literal *, count);
  Status status = STATUS_OK;
  eval_strides(from, from_strides);
  if (shape_element_count(from) > 0) {
    do {
      status = combine(step, region, count, values, eval_offset(from->rank, index, strides),
                       eval_offset(from->rank, index, from_strides), results);
    } while (status == STATUS_OK && eval_next_index(from->rank, from->dims, index));
  }
  store_accumulators(values, count, total, out);
  arena_destroy(arena);
  return status;
}

/* Elements in row-major order, the initial value first. */
Status eval_reduce(EvalStep *step) {
  int count = step->instruction->operand_count / 2;
  int64_t strides[EVAL_MAX_RANK];
  EvalFrame *region;
  RETURN_IF_ERROR(eval_callee(step, 0, &region));
  Literal *out = eval_result(step);
  const Shape *from = eval_operand_shape(step, 0);
  result_strides(from, hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS), strides);
  LaneKernel *kernel = count == 1 && eval_result_part(out, 0)->shape->type == from->type
                           ? eval_accumulating_kernel(region, from->type)
                           : NULL;
  if (!kernel) return reduce_by_region(step, region, count, out, strides);
  reduce_by_kernel(step, kernel, eval_result_part(out, 0), strides);
  return STATUS_OK;
}

/* ---- windows ---- */

/* The element offset that the window at |place| covers with its position |inner|; -1 outside and between elements. */
static int64_t window_offset(const Window *window, const Shape *from, const int64_t *strides, const int64_t *place,
                             const int64_t *inner) {
  int64_t offset = 0;
  for (int i = 0; i < from->rank; i++) {
    const WindowDimension *dim = &window->dims[i];
    int64_t at = dim->reversal ? dim->size - 1 - inner[i] : inner[i];
    int64_t padded = place[i] * dim->stride + at * dim->window_dilation - dim->pad_low;
    if (padded < 0 || padded % dim->base_dilation != 0 || padded / dim->base_dilation >= from->dims[i]) return -1;
    offset += padded / dim->base_dilation * strides[i];
  }
  return offset;
}

typedef struct WindowWalk {
  const Window *window;
  const Shape *from;
  int64_t sizes[EVAL_MAX_RANK], strides[EVAL_MAX_RANK];
} WindowWalk;

static bool window_walk_init(const EvalStep *step, WindowWalk *walk) {
  walk->from = eval_operand_shape(step, 0);
  walk->window = hlo_instruction_window(step->instruction);
  if ((walk->window ? walk->window->rank : 0) != walk->from->rank) return false;
  for (int i = 0; i < walk->from->rank; i++) walk->sizes[i] = walk->window->dims[i].size;
  eval_strides(walk->from, walk->strides);
  return true;
}

/* One window by kernel: |sum| holds the initial value, then the result. */
static void fold_window(const EvalStep *step, const WindowWalk *walk, LaneKernel *kernel, const int64_t *place,
                        LaneComplex *sum) {
  PrimitiveType type = walk->from->type;
  int64_t inner[EVAL_MAX_RANK] = {0};
  do {
    int64_t offset = window_offset(walk->window, walk->from, walk->strides, place, inner);
    if (offset < 0) continue;
    LaneComplex element;
    lanes_load(type, literal_element(eval_operand(step, 0), offset), 1, 1, &element);
    kernel(type_bits(type), 1, sum, sum, &element);
  } while (eval_next_index(walk->from->rank, walk->sizes, inner));
}

/* The dimension along which each window is all that came before (1) or comes after (-1), and trivial elsewhere:
 * running sums, quadratic otherwise.  0: no such windows. */
static int running_direction(const WindowWalk *walk, int *out_dimension) {
  int direction = 0;
  for (int i = 0; i < walk->from->rank; i++) {
    const WindowDimension *dim = &walk->window->dims[i];
    if (dim->stride != 1 || dim->base_dilation != 1 || dim->window_dilation != 1) return 0;
    if (dim->size == 1 && dim->pad_low == 0 && dim->pad_high == 0) continue;
    if (direction != 0 || dim->size < walk->from->dims[i]) return 0;
    if (dim->pad_low == dim->size - 1 && dim->pad_high == 0)
      direction = 1;
    else if (dim->pad_low == 0 && dim->pad_high == dim->size - 1)
      direction = -1;
    else
      return 0;
    *out_dimension = i;
  }
  return direction;
}

static void running_windows(EvalStep *step, const WindowWalk *walk, LaneKernel *kernel, int direction, int dimension,
                            Literal *out) {
  PrimitiveType type = walk->from->type;
  size_t unit = lane_bytes(lane_class(type));
  int64_t total = shape_element_count(out->shape), stride = walk->strides[dimension];
  int64_t last = walk->from->dims[dimension] - 1;
  Arena *arena = arena_create();
  char *sums = arena_alloc_array(arena, (size_t)total, unit);
  for (int64_t i = 0; i < total; i++) {
    int64_t at = direction > 0 ? i : total - 1 - i, position = at / stride % (last + 1);
    LaneComplex before, element;
    if (position == (direction > 0 ? 0 : last))
      lanes_load(type, eval_operand(step, 1)->data, 1, 1, &before);
    else
      memcpy(&before, sums + (size_t)(at - direction * stride) * unit, unit);
    lanes_load(type, literal_element(eval_operand(step, 0), at), 1, 1, &element);
    kernel(type_bits(type), 1, sums + (size_t)at * unit, &before, &element);
  }
  lanes_store(type, out->data, total, sums);
  arena_destroy(arena);
}

static void windows_by_kernel(EvalStep *step, const WindowWalk *walk, LaneKernel *kernel, Literal *out) {
  PrimitiveType type = walk->from->type;
  int64_t place[EVAL_MAX_RANK] = {0}, at = 0;
  int dimension = 0, direction = running_direction(walk, &dimension);
  if (direction != 0) {
    running_windows(step, walk, kernel, direction, dimension, out);
    return;
  }
  do {
    LaneComplex sum;
    lanes_load(type, eval_operand(step, 1)->data, 1, 1, &sum);
    fold_window(step, walk, kernel, place, &sum);
    lanes_store(type, literal_element(out, at++), 1, &sum);
  } while (eval_next_index(out->shape->rank, out->shape->dims, place));
}

static Status windows_by_region(EvalStep *step, const WindowWalk *walk, EvalFrame *region, int count, Literal *out) {
  const Shape *shape = eval_result_part(out, 0)->shape;
  int64_t place[EVAL_MAX_RANK] = {0}, total = shape_element_count(shape), at = 0;
  Arena *arena = arena_create();
  Literal *values = accumulators(step, arena, region, count, total);
  const Literal **results = ARENA_NEW_ARRAY(arena, const Literal *, count);
  Status status = STATUS_OK;
  do {
    int64_t inner[EVAL_MAX_RANK] = {0};
    do {
      int64_t offset = window_offset(walk->window, walk->from, walk->strides, place, inner);
      if (offset >= 0) status = combine(step, region, count, values, at, offset, results);
    } while (status == STATUS_OK && eval_next_index(walk->from->rank, walk->sizes, inner));
    at++;
  } while (status == STATUS_OK && eval_next_index(shape->rank, shape->dims, place));
  store_accumulators(values, count, total, out);
  arena_destroy(arena);
  return status;
}

/* Padding and holes take no part: the initial value enters once per window. */
Status eval_reduce_window(EvalStep *step) {
  int count = step->instruction->operand_count / 2;
  WindowWalk walk;
  EvalFrame *region;
  RETURN_IF_ERROR(eval_callee(step, 0, &region));
  if (!window_walk_init(step, &walk)) return eval_error(step, "needs a window for every dimension");
  Literal *out = eval_result(step), *first = eval_result_part(out, 0);
  if (shape_element_count(first->shape) == 0) return STATUS_OK;
  LaneKernel *kernel =
      count == 1 && first->shape->type == walk.from->type ? eval_accumulating_kernel(region, walk.from->type) : NULL;
  if (!kernel) return windows_by_region(step, &walk, region, count, out);
  windows_by_kernel(step, &walk, kernel, first);
  return STATUS_OK;
}

/* ---- select-and-scatter ---- */

/* The element that the window at |place| selects: the first, until one is preferred to it; -1 when it covers none. */
static Status select_element(EvalStep *step, const WindowWalk *walk, EvalFrame *select, const int64_t *place,
                             int64_t *out_offset) {
  const Literal *operand = eval_operand(step, 0), *keeps;
  int64_t inner[EVAL_MAX_RANK] = {0};
  *out_offset = -1;
  do {
    int64_t offset = window_offset(walk->window, walk->from, walk->strides, place, inner);
    if (offset < 0) continue;
    if (*out_offset >= 0) {
      eval_region_set(select, 0, operand, *out_offset);
      eval_region_set(select, 1, operand, offset);
      RETURN_IF_ERROR(eval_region_run(select, &keeps, 1));
      if (literal_get_int(keeps, 0) != 0) continue;
    }
    *out_offset = offset;
  } while (eval_next_index(walk->from->rank, walk->sizes, inner));
  return STATUS_OK;
}

Status eval_select_and_scatter(EvalStep *step) {
  EvalFrame *select, *scatter;
  WindowWalk walk;
  RETURN_IF_ERROR(eval_callee(step, 0, &select));
  RETURN_IF_ERROR(eval_callee(step, 1, &scatter));
  if (!window_walk_init(step, &walk)) return eval_error(step, "needs a window for every dimension");
  const Literal *source = eval_operand(step, 1), *result;
  Literal *out = eval_result(step);
  int64_t total = shape_element_count(out->shape), place[EVAL_MAX_RANK] = {0}, at = 0;
  for (int64_t i = 0; i < total; i++) eval_store_scalar(out, i, eval_operand(step, 2));
  if (shape_element_count(source->shape) == 0) return STATUS_OK;
  do {
    int64_t offset;
    RETURN_IF_ERROR(select_element(step, &walk, select, place, &offset));
    if (offset >= 0) {
      eval_region_set(scatter, 0, out, offset);
      eval_region_set(scatter, 1, source, at);
      RETURN_IF_ERROR(eval_region_run(scatter, &result, 1));
      eval_store_scalar(out, offset, result);
    }
    at++;
  } while (eval_next_index(source->shape->rank, source->shape->dims, place));
  return STATUS_OK;
}

/* ---- scan ---- */

/* A slice of |whole| at |position| of |dimension| as its own array, or back. */
static void copy_slice(const Literal *whole, Literal *slice, int64_t dimension, int64_t position, bool out_of_whole) {
  const Shape *shape = whole->shape;
  int64_t strides[EVAL_MAX_RANK], from[EVAL_MAX_RANK], to[EVAL_MAX_RANK], dims[EVAL_MAX_RANK];
  int rank = 0;
  eval_strides(shape, strides);
  eval_strides(slice->shape, to);
  for (int i = 0; i < shape->rank; i++) {
    if (i == dimension) continue;
    dims[rank] = shape->dims[i];
    from[rank++] = strides[i];
  }
  char *place = literal_element(whole, position * strides[dimension]);
  size_t unit = (size_t)type_storage_bytes(shape->type);
  if (out_of_whole)
    eval_copy_box(unit, rank, dims, slice->data, to, place, from);
  else
    eval_copy_box(unit, rank, dims, place, from, slice->data, to);
}

typedef struct Scan {
  EvalFrame *body;
  int inputs, carries, outputs;
  int64_t dimension, length;
  Literal *out;
} Scan;

/* body(input slices…, carries…) → (output slices…, carries…), from one end of the dimension to the other. */
static Status scan_step(EvalStep *step, const Scan *scan, int64_t position) {
  const Literal *result;
  for (int i = 0; i < scan->inputs; i++)
    copy_slice(eval_operand(step, i), eval_region_argument(scan->body, i), scan->dimension, position, true);
  RETURN_IF_ERROR(eval_frame_run(scan->body, scan->body->region_arguments, &result));
  bool is_tuple = shape_is_tuple(result->shape);
  for (int i = 0; i < scan->outputs; i++) {
    Literal slice = is_tuple ? result->tuple[i] : *result;
    copy_slice(eval_result_part(scan->out, i), &slice, scan->dimension, position, false);
  }
  /* A carry may be another one's argument: through the result, which is only read. */
  for (int i = 0; i < scan->carries; i++) {
    const Literal *carry = is_tuple ? &result->tuple[scan->outputs + i] : result;
    eval_copy_leaves(eval_result_part(scan->out, scan->outputs + i), carry);
  }
  for (int i = 0; i < scan->carries; i++)
    eval_copy_leaves(eval_region_argument(scan->body, scan->inputs + i),
                     eval_result_part(scan->out, scan->outputs + i));
  return STATUS_OK;
}

Status eval_scan(EvalStep *step) {
  const HloInstruction *instruction = step->instruction;
  Scan scan = {.carries = (int)hlo_instruction_int(instruction, HLO_ATTR_NUM_CARRIES, 0),
               .dimension = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0]};
  RETURN_IF_ERROR(eval_callee(step, 0, &scan.body));
  scan.inputs = instruction->operand_count - scan.carries;
  scan.out = eval_result(step);
  scan.outputs = (shape_is_tuple(scan.out->shape) ? scan.out->shape->tuple_size : 1) - scan.carries;
  if (scan.inputs == 0) return eval_error(step, "cannot be evaluated without inputs");
  scan.length = eval_operand_shape(step, 0)->dims[scan.dimension];
  bool is_reverse = hlo_instruction_bool(instruction, HLO_ATTR_IS_REVERSE, false);
  for (int i = 0; i < scan.carries; i++) {
    const Literal *init = eval_operand(step, scan.inputs + i);
    eval_copy_leaves(eval_region_argument(scan.body, scan.inputs + i), init);
    eval_copy_leaves(eval_result_part(scan.out, scan.outputs + i), init);
  }
  for (int64_t i = 0; i < scan.length; i++)
    RETURN_IF_ERROR(scan_step(step, &scan, is_reverse ? scan.length - 1 - i : i));
  return STATUS_OK;
}
