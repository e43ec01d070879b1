/* Collectives: what each device computes of the operands of all members of its group. */
#include <string.h>

#include "hlo/eval/exchange_internal.h"

static Literal *start_part(Literal *out, int part, int index) {
  return shape_is_tuple(out->tuple[part].shape) ? &out->tuple[part].tuple[index] : &out->tuple[part];
}

/* The result for operand |index|: of a start operation in (operands, results, context…), of others the value itself or
 * an element of it. */
static Literal *result_of(EvalStep *step, Literal *out, bool is_start, int index) {
  if (is_start) return start_part(out, 1, index);
  bool is_whole = step->instruction->operand_count == 1 && shape_is_tuple(eval_operand_shape(step, 0));
  return is_whole ? out : eval_result_part(out, index);
}

static void clear_leaves(Literal *literal) {
  if (shape_is_array(literal->shape)) memset(literal->data, 0, (size_t)shape_byte_size(literal->shape));
  for (int i = 0; shape_is_tuple(literal->shape) && i < literal->shape->tuple_size; i++)
    clear_leaves(&literal->tuple[i]);
}

/* The results of a start operation are found after its operands. */
static Status check_start(EvalStep *step) {
  const Shape *shape = step->instruction->shape;
  if (!shape_is_tuple(shape) || shape->tuple_size < 2) return eval_error(step, "cannot be evaluated");
  for (int part = 0; part < 2; part++) {
    int count = shape_is_tuple(shape->tuple[part]) ? shape->tuple[part]->tuple_size : 1;
    if (count != step->instruction->operand_count) return eval_error(step, "cannot be evaluated with these operands");
  }
  return STATUS_OK;
}

static void copy_operands(EvalStep *step, Literal *out) {
  for (int i = 0; i < step->instruction->operand_count; i++)
    eval_copy_leaves(start_part(out, 0, i), eval_operand(step, i));
}

/* What a collective does between the meeting and its end; |is_start|: with results as above. */
typedef Status CollectiveRule(EvalStep *step, const Exchange *exchange, bool is_start, Literal *out);

static Status run_collective(EvalStep *step, CollectiveRule *rule, bool is_start) {
  Exchange exchange;
  if (is_start) RETURN_IF_ERROR(check_start(step));
  RETURN_IF_ERROR(eval_exchange_in_group(step, &exchange));
  Literal *out = eval_result(step);
  if (is_start) copy_operands(step, out);
  Status status = rule(step, &exchange, is_start, out);
  eval_exchange_end(step, &exchange);
  return status;
}

/* --- parts of arrays --- */

static int dimension_of(const EvalStep *step) {
  Int64List dimensions = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS);
  return dimensions.count == 1 ? (int)dimensions.data[0] : 0;
}

/* |size| slices along |dimension|, from |from_start| on to |to_start| on. */
static void copy_slices(const Literal *from, int64_t from_start, Literal *to, int64_t to_start, int64_t size,
                        int dimension) {
  int64_t dims[EVAL_MAX_RANK], from_strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  eval_strides(from->shape, from_strides);
  eval_strides(to->shape, to_strides);
  for (int i = 0; i < from->shape->rank; i++) dims[i] = i == dimension ? size : from->shape->dims[i];
  eval_copy_box((size_t)type_storage_bytes(from->shape->type), from->shape->rank, dims,
                literal_element(to, to_start * to_strides[dimension]), to_strides,
                literal_element(from, from_start * from_strides[dimension]), from_strides);
}

/* |wide| is |narrow| times the number of members along the dimension. */
static bool is_multiple(const Shape *wide, const Shape *narrow, int dimension, int64_t members) {
  int64_t size;
  return dimension < narrow->rank && checked_mul(narrow->dims[dimension], members, &size) &&
         size == wide->dims[dimension];
}

static Status size_error(const EvalStep *step, const Exchange *exchange) {
  return eval_error(step, "does not fit groups of %lld devices", (long long)exchange->members.count);
}

/* --- sums and other folds --- */

/* The parts of all members, in group order, by the operation that |region| is. */
static void fold_by_kernel(LaneKernel *kernel, const Literal *const *parts, int64_t count, Literal *out) {
  PrimitiveType type = out->shape->type;
  int64_t total = shape_element_count(out->shape);
  LaneBlock sums, block;
  for (int64_t start = 0; start < total; start += LANES) {
    int64_t size = min_i64(LANES, total - start);
    lanes_load(type, literal_element(parts[0], start), 1, size, &sums);
    for (int64_t i = 1; i < count; i++) {
      lanes_load(type, literal_element(parts[i], start), 1, size, &block);
      kernel(type_bits(type), size, &sums, &sums, &block);
    }
    lanes_store(type, literal_element(out, start), size, &sums);
  }
}

static Status fold(EvalStep *step, const Literal *const *parts, int64_t count, Literal *out) {
  EvalFrame *region;
  RETURN_IF_ERROR(eval_callee(step, 0, &region));
  LaneKernel *kernel = eval_accumulating_kernel(region, out->shape->type);
  if (kernel != NULL) {
    fold_by_kernel(kernel, parts, count, out);
    return STATUS_OK;
  }
  eval_copy_leaves(out, parts[0]);
  int64_t total = shape_element_count(out->shape);
  for (int64_t i = 1; i < count; i++) {
    for (int64_t element = 0; element < total; element++) {
      const Literal *sum;
      eval_region_set(region, 0, out, element);
      eval_region_set(region, 1, parts[i], element);
      RETURN_IF_ERROR(eval_region_run(region, &sum, 1));
      eval_store_scalar(out, element, sum);
    }
  }
  return STATUS_OK;
}

static Status reduce_all(EvalStep *step, const Exchange *exchange, bool is_start, Literal *out) {
  Arena *arena = arena_create();
  int64_t count = exchange->members.count;
  const Literal **parts = ARENA_NEW_ARRAY(arena, const Literal *, count);
  Status status = STATUS_OK;
  for (int k = 0; k < step->instruction->operand_count && status == STATUS_OK; k++) {
    for (int64_t i = 0; i < count; i++) parts[i] = exchange->operands[i][k];
    status = fold(step, parts, count, result_of(step, out, is_start, k));
  }
  arena_destroy(arena);
  return status;
}

/* Also all-reduce-start, whose value is the result itself. */
Status eval_all_reduce(EvalStep *step) {
  return run_collective(step, reduce_all, false);
}

static Status reduce_parts(EvalStep *step, const Exchange *exchange, bool is_start, Literal *out) {
  Arena *arena = arena_create();
  int64_t count = exchange->members.count;
  int dimension = dimension_of(step);
  const Literal **parts = ARENA_NEW_ARRAY(arena, const Literal *, count);
  Status status = STATUS_OK;
  for (int k = 0; k < step->instruction->operand_count && status == STATUS_OK; k++) {
    Literal *result = result_of(step, out, is_start, k);
    if (!is_multiple(eval_operand_shape(step, k), result->shape, dimension, count)) {
      status = size_error(step, exchange);
      break;
    }
    int64_t size = result->shape->dims[dimension];
    for (int64_t i = 0; i < count; i++) {
      Literal *part = literal_create(arena, result->shape);
      copy_slices(exchange->operands[i][k], exchange->member * size, part, 0, size, dimension);
      parts[i] = part;
    }
    status = fold(step, parts, count, result);
  }
  arena_destroy(arena);
  return status;
}

Status eval_reduce_scatter(EvalStep *step) {
  return run_collective(step, reduce_parts, false);
}

/* --- data that only move --- */

static Status gather(EvalStep *step, const Exchange *exchange, bool is_start, Literal *out) {
  int dimension = dimension_of(step);
  for (int k = 0; k < step->instruction->operand_count; k++) {
    Literal *result = result_of(step, out, is_start, k);
    const Shape *shape = eval_operand_shape(step, k);
    if (!is_multiple(result->shape, shape, dimension, exchange->members.count)) return size_error(step, exchange);
    int64_t size = shape->dims[dimension];
    for (int64_t i = 0; i < exchange->members.count; i++)
      copy_slices(exchange->operands[i][k], 0, result, i * size, size, dimension);
  }
  return STATUS_OK;
}

Status eval_all_gather(EvalStep *step) {
  return run_collective(step, gather, false);
}

Status eval_all_gather_start(EvalStep *step) {
  return run_collective(step, gather, true);
}

/* Arrays are cut along a dimension; of several operands the j-th goes to member j. */
static Status exchange_all(EvalStep *step, const Exchange *exchange, bool is_start, Literal *out) {
  int64_t count = exchange->members.count;
  const Shape *shape = eval_operand_shape(step, 0);
  (void)is_start;
  if (hlo_instruction_attr(step->instruction, HLO_ATTR_DIMENSIONS) == NULL) {
    if (step->instruction->operand_count != count) return size_error(step, exchange);
    for (int64_t i = 0; i < count; i++)
      eval_copy_leaves(eval_result_part(out, (int)i), exchange->operands[i][exchange->member]);
    return STATUS_OK;
  }
  int dimension = dimension_of(step);
  if (dimension >= shape->rank || shape->dims[dimension] % count != 0) return size_error(step, exchange);
  int64_t size = shape->dims[dimension] / count;
  for (int64_t i = 0; i < count; i++)
    copy_slices(exchange->operands[i][0], exchange->member * size, out, i * size, size, dimension);
  return STATUS_OK;
}

Status eval_all_to_all(EvalStep *step) {
  return run_collective(step, exchange_all, false);
}

static Status broadcast(EvalStep *step, const Exchange *exchange, bool is_start, Literal *out) {
  (void)is_start;
  if (exchange->members.count == 0) clear_leaves(out);
  for (int k = 0; k < step->instruction->operand_count && exchange->members.count > 0; k++)
    eval_copy_leaves(result_of(step, out, false, k), exchange->operands[0][k]);
  return STATUS_OK;
}

Status eval_collective_broadcast(EvalStep *step) {
  return run_collective(step, broadcast, false);
}

enum { RAGGED_INPUT, RAGGED_OUTPUT, RAGGED_FROM, RAGGED_SIZES, RAGGED_TO };

/* One member's rows that go to this device; rows outside input or output are left out. */
static void take_rows(const Literal *const *operands, int64_t first, int64_t runs, Literal *out) {
  const Literal *input = operands[RAGGED_INPUT];
  int64_t rows = out->shape->dims[0], input_rows = input->shape->dims[0];
  size_t bytes = (size_t)(shape_element_count(out->shape) / rows * type_storage_bytes(out->shape->type));
  for (int64_t i = first; i < first + runs; i++) {
    int64_t from = literal_get_int(operands[RAGGED_FROM], i), to = literal_get_int(operands[RAGGED_TO], i);
    for (int64_t k = 0; k < literal_get_int(operands[RAGGED_SIZES], i); k++) {
      int64_t source, target;
      if (!checked_add(from, k, &source) || !checked_add(to, k, &target)) break;
      if (source >= input_rows || target >= rows) break;
      if (source < 0 || target < 0) continue;
      memcpy((char *)out->data + (size_t)target * bytes, (const char *)input->data + (size_t)source * bytes, bytes);
    }
  }
}

/* Offsets and sizes have as many numbers for each receiver, in listed order. */
static Status exchange_rows(EvalStep *step, const Exchange *exchange, bool is_start, Literal *out) {
  int64_t count = exchange->members.count, numbers = shape_element_count(eval_operand_shape(step, RAGGED_FROM));
  (void)is_start;
  if (numbers % count != 0) return size_error(step, exchange);
  eval_copy_leaves(out, eval_operand(step, RAGGED_OUTPUT));
  if (shape_element_count(out->shape) == 0) return STATUS_OK;
  int64_t runs = numbers / count;
  for (int64_t i = 0; i < count; i++) take_rows(exchange->operands[i], exchange->member * runs, runs, out);
  return STATUS_OK;
}

Status eval_ragged_all_to_all(EvalStep *step) {
  return run_collective(step, exchange_rows, false);
}

/* --- collective-permute --- */

/* A device that is sent nothing has zeroes. */
static Status permute(EvalStep *step, bool is_start) {
  Exchange exchange;
  int64_t source;
  if (hlo_instruction_attr(step->instruction, HLO_ATTR_PERMUTE_SLICE_SIZES) != NULL)
    return eval_error(step, "in place cannot be evaluated");
  if (is_start) RETURN_IF_ERROR(check_start(step));
  RETURN_IF_ERROR(eval_exchange_in_pairs(step, &exchange, &source));
  Literal *out = eval_result(step);
  if (is_start) copy_operands(step, out);
  for (int k = 0; k < step->instruction->operand_count; k++) {
    Literal *result = result_of(step, out, is_start, k);
    if (source < 0)
      clear_leaves(result);
    else
      eval_copy_leaves(result, exchange.operands[source][k]);
  }
  eval_exchange_end(step, &exchange);
  return STATUS_OK;
}

Status eval_collective_permute(EvalStep *step) {
  return permute(step, false);
}

Status eval_collective_permute_start(EvalStep *step) {
  return permute(step, true);
}

/* --- which device --- */

Status eval_partition_id(EvalStep *step) {
  const Evaluation *evaluation = step->frame->evaluation;
  RETURN_IF_ERROR(eval_check_devices(step));
  literal_set_int(eval_result(step), 0, evaluation->device % evaluation->devices.partitions);
  return STATUS_OK;
}

Status eval_replica_id(EvalStep *step) {
  const Evaluation *evaluation = step->frame->evaluation;
  RETURN_IF_ERROR(eval_check_devices(step));
  literal_set_int(eval_result(step), 0, evaluation->device / evaluation->devices.partitions);
  return STATUS_OK;
}
