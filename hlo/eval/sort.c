/* Sorting: always stable, whatever the comparator does. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

typedef struct Sort {
  EvalStep *step;
  EvalFrame *comparator;
  int count;            /* operands */
  int64_t base, stride; /* of the line being sorted, in elements */
  LaneKernel *kernel;   /* of a comparator that compares one operand's elements */
  int key;              /* that operand */
  bool is_swapped;
  Status status;
} Sort;

/* A root compare(parameter 2k, parameter 2k + 1), or the other way round. */
static void find_kernel(Sort *sort) {
  const HloInstruction *root = sort->comparator->computation->root;
  if (root->opcode != HLO_COMPARE || root->operands[0]->opcode != HLO_PARAMETER ||
      root->operands[1]->opcode != HLO_PARAMETER)
    return;
  int64_t a = hlo_instruction_parameter_number(root->operands[0]);
  int64_t b = hlo_instruction_parameter_number(root->operands[1]);
  if (a / 2 != b / 2 || a == b) return;
  PrimitiveType type = root->operands[0]->shape->type;
  int64_t order = hlo_instruction_int(root, HLO_ATTR_COMPARISON_TYPE, COMPARISON_TYPE_FLOAT);
  ComparisonDirection direction = (ComparisonDirection)hlo_instruction_int(root, HLO_ATTR_DIRECTION, 0);
  sort->key = (int)(a / 2);
  sort->is_swapped = a > b;
  if (eval_operand_shape(sort->step, sort->key)->type != type) return;
  sort->kernel = lane_compare_kernel(direction, lane_class(type), order == COMPARISON_TYPE_TOTALORDER);
}

static bool comes_before(Sort *sort, int64_t a, int64_t b) {
  const Literal *operand;
  int64_t at_a = sort->base + a * sort->stride, at_b = sort->base + b * sort->stride;
  if (sort->kernel) {
    LaneComplex x, y;
    uint64_t verdict;
    operand = eval_operand(sort->step, sort->key);
    PrimitiveType type = operand->shape->type;
    lanes_load(type, literal_element(operand, at_a), 1, 1, &x);
    lanes_load(type, literal_element(operand, at_b), 1, 1, &y);
    sort->kernel(type_bits(type), 1, &verdict, sort->is_swapped ? &y : &x, sort->is_swapped ? &x : &y);
    return verdict != 0;
  }
  const Literal *result;
  for (int i = 0; i < sort->count; i++) {
    operand = eval_operand(sort->step, i);
    eval_region_set(sort->comparator, 2 * i, operand, at_a);
    eval_region_set(sort->comparator, 2 * i + 1, operand, at_b);
  }
  Status status = eval_region_run(sort->comparator, &result, 1);
  if (status != STATUS_OK) sort->status = status;
  return status == STATUS_OK && literal_get_int(result, 0) != 0;
}

/* Merges sorted runs of |width| in |from| into runs of twice that in |to|. */
static void merge_runs(Sort *sort, const int64_t *from, int64_t *to, int64_t count, int64_t width) {
  for (int64_t start = 0; start < count; start += 2 * width) {
    int64_t a = start, a_end = min_i64(start + width, count), b = a_end, end = min_i64(start + 2 * width, count);
    for (int64_t i = start; i < end; i++) {
      bool takes_b = a >= a_end || (b < end && comes_before(sort, from[b], from[a]));
      to[i] = takes_b ? from[b++] : from[a++];
    }
  }
}

/* The order of one line: |order| and |spare| hold |count| positions. */
static int64_t *sort_line(Sort *sort, int64_t *order, int64_t *spare, int64_t count) {
  for (int64_t i = 0; i < count; i++) order[i] = i;
  for (int64_t width = 1; width < count; width *= 2) {
    merge_runs(sort, order, spare, count, width);
    int64_t *swap = order;
    order = spare;
    spare = swap;
  }
  return order;
}

static void store_line(Sort *sort, Literal *out, const int64_t *order, int64_t count) {
  for (int i = 0; i < sort->count; i++) {
    const Literal *operand = eval_operand(sort->step, i);
    Literal *target = shape_is_tuple(out->shape) ? &out->tuple[i] : out;
    size_t unit = (size_t)type_storage_bytes(operand->shape->type);
    for (int64_t j = 0; j < count; j++)
      memcpy(literal_element(target, sort->base + j * sort->stride),
             literal_element(operand, sort->base + order[j] * sort->stride), unit);
  }
}

Status eval_sort(EvalStep *step) {
  const Shape *shape = eval_operand_shape(step, 0);
  Sort sort = {.step = step, .count = step->instruction->operand_count};
  RETURN_IF_ERROR(eval_callee(step, 0, &sort.comparator));
  find_kernel(&sort);
  Literal *out = eval_result(step);
  if (shape_element_count(shape) == 0) return STATUS_OK;
  int64_t dimension = hlo_instruction_ints(step->instruction, HLO_ATTR_DIMENSIONS).data[0];
  int64_t strides[EVAL_MAX_RANK], dims[EVAL_MAX_RANK], index[EVAL_MAX_RANK] = {0}, count = shape->dims[dimension];
  eval_strides(shape, strides);
  for (int i = 0; i < shape->rank; i++) dims[i] = i == dimension ? 1 : shape->dims[i];
  sort.stride = strides[dimension];
  Arena *arena = arena_create();
  int64_t *order = ARENA_NEW_ARRAY(arena, int64_t, count), *spare = ARENA_NEW_ARRAY(arena, int64_t, count);
  do {
    sort.base = eval_offset(shape->rank, index, strides);
    store_line(&sort, out, sort_line(&sort, order, spare, count), count);
  } while (sort.status == STATUS_OK && eval_next_index(shape->rank, dims, index));
  arena_destroy(arena);
  return sort.status;
}

/* ---- topk ---- */

/* (the k largest or smallest of each row in order, their positions); in the total order, the first of equals first. */
Status eval_topk(EvalStep *step) {
  const Shape *shape = eval_operand_shape(step, 0);
  bool largest = hlo_instruction_bool(step->instruction, HLO_ATTR_LARGEST, true);
  Sort sort = {.step = step, .count = 1, .stride = 1};
  sort.kernel =
      lane_compare_kernel(largest ? COMPARISON_DIRECTION_GT : COMPARISON_DIRECTION_LT, lane_class(shape->type), true);
  if (!sort.kernel) return eval_error(step, "cannot be evaluated for %s", type_text(shape->type));
  Literal *out = eval_result(step);
  int64_t count = shape->dims[shape->rank - 1], k = out->tuple[0].shape->dims[shape->rank - 1];
  int64_t rows = count == 0 ? 0 : shape_element_count(shape) / count;
  size_t unit = (size_t)type_storage_bytes(shape->type);
  Arena *arena = arena_create();
  int64_t *order = ARENA_NEW_ARRAY(arena, int64_t, count), *spare = ARENA_NEW_ARRAY(arena, int64_t, count);
  for (int64_t row = 0; row < rows; row++) {
    sort.base = row * count;
    const int64_t *sorted = sort_line(&sort, order, spare, count);
    for (int64_t i = 0; i < k; i++) {
      memcpy(literal_element(&out->tuple[0], row * k + i),
             literal_element(eval_operand(step, 0), sort.base + sorted[i]), unit);
      literal_set_int(&out->tuple[1], row * k + i, sorted[i]);
    }
  }
  arena_destroy(arena);
  return STATUS_OK;
}
