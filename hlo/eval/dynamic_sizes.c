/* Arrays whose size is set at run time.  Their literals have the shape of the bound; the sizes stand beside the data.
 * Most operations are right on all that there is, whatever lies beyond the sizes; where that would enter, the rule runs
 * on arrays that are as large as the sizes say.  What it finds where is in both cases the rule's own business. */
#include <string.h>

#include "hlo/eval/eval_internal.h"
#include "hlo/ir/custom_call.h"
#include "hlo/ir/dimension_size.h"

static bool has_sizes(const Literal *literal) {
  if (literal->sizes) return true;
  bool found = false;
  for (int i = 0; shape_is_tuple(literal->shape) && i < literal->shape->tuple_size && !found; i++)
    found = has_sizes(&literal->tuple[i]);
  return found;
}

bool eval_sees_sizes(const EvalStep *step) {
  bool found = false;
  for (int i = 0; i < step->instruction->operand_count && !found; i++) found = has_sizes(eval_operand(step, i));
  return found;
}

static int64_t operand_size(const EvalStep *step, int operand, int64_t dimension) {
  const Literal *literal = eval_operand(step, operand);
  return literal->sizes ? literal->sizes[dimension] : literal->shape->dims[dimension];
}

/* --- sizes of results --- */

/* The size of the last operand that has sizes. */
static int64_t same_size(const EvalStep *step, const DimensionSize *size) {
  int end = size->operand + size->count, found = size->operand;
  for (int i = size->operand; i < end; i++)
    if (eval_operand(step, i)->sizes) found = i;
  return operand_size(step, found, found > size->operand && found == end - 1 ? size->last_dimension : size->dimension);
}

static int64_t common_size(const EvalStep *step, const DimensionSize *size, int rank) {
  int64_t common = -1;
  for (int i = 0; i < size->count; i++) {
    if (!eval_operand(step, i)->sizes || eval_operand(step, i)->shape->rank != rank) continue;
    int64_t next = operand_size(step, i, size->dimension), least = min_i64(next, common);
    common = common < 0 || (least == 1 && next > common) ? next : least == 1 ? common : least;
  }
  return common;
}

static int64_t window_places(const WindowDimension *window, int64_t size) {
  int64_t base = size == 0 ? 0 : (size - 1) * window->base_dilation + 1;
  int64_t room = window->pad_low + base + window->pad_high - ((window->size - 1) * window->window_dilation + 1);
  return room < 0 ? 0 : room / window->stride + 1;
}

/* A dimension whose size is set, whether or not to the bound. */
static bool varies(const Literal *array, int64_t dimension) {
  if (!array->sizes) return false;
  bool is_stated = array->shape->dynamic != NULL && array->shape->dynamic[dimension];
  return is_stated || array->sizes[dimension] != array->shape->dims[dimension];
}

/* False when there is no telling. */
static bool result_size(const EvalStep *step, const DimensionSize *size, const Shape *shape, int64_t dimension,
                        int64_t *out_size) {
  const PaddingDimension *padding = &size->padding;
  int64_t bound = shape->dims[dimension], value = size->kind == DIMENSION_SUM ? 0 : 1;
  switch (size->kind) {
    case DIMENSION_UNKNOWN: return false;
    case DIMENSION_AMBIGUOUS:
      for (int64_t d = size->dimension; d < size->dimension + size->count; d++)
        if (varies(eval_operand(step, 0), d)) return false;
      value = bound;
      break;
    case DIMENSION_BOUND: value = bound; break;
    case DIMENSION_SAME: value = same_size(step, size); break;
    case DIMENSION_COMMON: value = common_size(step, size, shape->rank); break;
    case DIMENSION_GIVEN: value = literal_get_int(eval_operand(step, size->operand), 0); break;
    case DIMENSION_SUM:
      for (int i = 0; i < size->count; i++) value += operand_size(step, i, size->dimension);
      break;
    case DIMENSION_PADDED:
      value = operand_size(step, 0, size->dimension);
      value += padding->low + padding->high + max_i64(value - 1, 0) * padding->interior;
      break;
    case DIMENSION_WINDOWED: value = window_places(&size->window, operand_size(step, 0, size->dimension)); break;
    case DIMENSION_RATIO:
      for (int i = 0; i < size->count; i++) value *= operand_size(step, 0, size->dimension + i);
      value /= size->divisor;
      break;
  }
  *out_size = max_i64(0, min_i64(value, bound));
  return true;
}

/* Vectors of indices name as many dimensions as there are; a scatter's arrays are as large as one another. */
static Status check_indices(const EvalStep *step) {
  const HloInstruction *instruction = step->instruction;
  HloOpcode opcode = instruction->opcode;
  if (opcode != HLO_GATHER && opcode != HLO_SCATTER) return STATUS_OK;
  int indices = instruction->operand_count / 2; /* gather's: 1 */
  const Literal *vectors = eval_operand(step, indices);
  int64_t vector = hlo_instruction_int(instruction, HLO_ATTR_INDEX_VECTOR_DIM, vectors->shape->rank);
  bool is_told = vector >= vectors->shape->rank || !varies(vectors, vector);
  for (int i = 1; i < indices; i++)
    for (int d = 0; d < instruction->operands[0]->shape->rank; d++)
      is_told = is_told && operand_size(step, i, d) == operand_size(step, 0, d);
  return is_told ? STATUS_OK : eval_error(step, "cannot be evaluated on an array whose size is set at run time");
}

/* The sizes of a leaf of the result, in |arena|; NULL: they are the bounds. */
static Status leaf_sizes(EvalStep *step, int leaf, const Shape *shape, Arena *arena, const int64_t **out_sizes) {
  int64_t *sizes = ARENA_NEW_ARRAY(arena, int64_t, shape->rank + 1);
  bool any = false;
  for (int i = 0; i < max_i64(shape->rank, 1); i++) {
    DimensionSize size = hlo_dimension_size(step->instruction, leaf, i);
    if (size.kind == DIMENSION_UNKNOWN || (shape->rank > 0 && !result_size(step, &size, shape, i, &sizes[i])))
      return eval_error(step, "cannot be evaluated on an array whose size is set at run time");
    any = any || size.kind != DIMENSION_BOUND;
  }
  *out_sizes = any ? sizes : NULL;
  return STATUS_OK;
}

/* --- rules on arrays of the actual sizes --- */

/* |shape| where |sizes| is NULL. */
static const Shape *sized_shape(const EvalStep *step, const Shape *shape, const int64_t *sizes) {
  if (!sizes) return shape;
  return shape_array(step->instruction->parent->module->shapes, shape->type, sizes, shape->rank);
}

/* From or to the corner that the sizes leave of an array. */
static void copy_corner(const Literal *from, Literal *to, const int64_t *sizes) {
  int64_t from_strides[EVAL_MAX_RANK], to_strides[EVAL_MAX_RANK];
  eval_strides(from->shape, from_strides);
  eval_strides(to->shape, to_strides);
  eval_copy_box((size_t)type_storage_bytes(from->shape->type), from->shape->rank, sizes, to->data, to_strides,
                from->data, from_strides);
}

/* --- dimensions of operands that are as large as one another --- */

typedef struct OperandSizes {
  int64_t **of; /* by operand and dimension */
} OperandSizes;

static void tie(OperandSizes *sizes, int a, int64_t a_dimension, int b, int64_t b_dimension) {
  int64_t *first = &sizes->of[a][a_dimension], *second = &sizes->of[b][b_dimension];
  *first = *second = min_i64(*first, *second);
}

static void tie_lists(OperandSizes *sizes, Int64List a, Int64List b) {
  for (int64_t i = 0; i < a.count && i < b.count; i++) tie(sizes, 0, a.data[i], 1, b.data[i]);
}

/* The first |count| operands, but for dimension |except|. */
static void tie_all(OperandSizes *sizes, int count, int rank, int64_t except) {
  for (int d = 0; d < rank; d++) {
    for (int i = 0; i < 2 * count && d != except; i++) tie(sizes, 0, d, i % count, d);
  }
}

/* Updates are as large as one another; their dimensions that are no window's are those of the indices without their
 * vectors. */
static void tie_scatter(OperandSizes *sizes, const HloInstruction *scatter) {
  Int64List windows = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  int count = scatter->operand_count / 2, indices_rank = scatter->operands[count]->shape->rank;
  int64_t vector = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, indices_rank);
  for (int pass = 0; pass < 2; pass++) {
    for (int i = count + 1; i < scatter->operand_count; i++) {
      int64_t from = 0;
      for (int d = 0; d < scatter->operands[i]->shape->rank; d++) {
        tie(sizes, count + 1, d, i, d);
        if (int64_list_has(windows, d)) continue;
        from += from == vector;
        tie(sizes, count, from++, i, d);
      }
    }
  }
}

static void tie_convolution(OperandSizes *sizes, const HloInstruction *convolution) {
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(convolution);
  bool has_groups = hlo_instruction_int(convolution, HLO_ATTR_FEATURE_GROUP_COUNT, 1) > 1;
  if (!has_groups) tie(sizes, 0, numbers->input.feature, 1, numbers->kernel.input_feature);
}

/* What lies beyond the size of one operand meets what lies beyond that of the other, or nothing at all. */
static void tie_operands(OperandSizes *sizes, const HloInstruction *instruction) {
  Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  int rank = instruction->operands[0]->shape->rank, count = instruction->operand_count;
  switch (instruction->opcode) {
    case HLO_CONCATENATE: tie_all(sizes, count, rank, dims.data[0]); break;
    case HLO_REDUCE:
    case HLO_REDUCE_WINDOW: tie_all(sizes, count / 2, rank, -1); break;
    case HLO_SORT: tie_all(sizes, count, rank, -1); break;
    case HLO_SCATTER: tie_scatter(sizes, instruction); break;
    case HLO_CONVOLUTION: tie_convolution(sizes, instruction); break;
    case HLO_DOT:
      tie_lists(sizes, hlo_instruction_ints(instruction, HLO_ATTR_LHS_CONTRACTING_DIMS),
                hlo_instruction_ints(instruction, HLO_ATTR_RHS_CONTRACTING_DIMS));
      tie_lists(sizes, hlo_instruction_ints(instruction, HLO_ATTR_LHS_BATCH_DIMS),
                hlo_instruction_ints(instruction, HLO_ATTR_RHS_BATCH_DIMS));
      break;
    default: break;
  }
}

static OperandSizes operand_sizes(const EvalStep *step) {
  Arena *arena = step->frame->evaluation->arena;
  OperandSizes sizes = {ARENA_NEW_ARRAY(arena, int64_t *, step->instruction->operand_count)};
  for (int i = 0; i < step->instruction->operand_count; i++) {
    int rank = eval_operand(step, i)->shape->rank;
    sizes.of[i] = ARENA_NEW_ARRAY(arena, int64_t, rank + 1);
    for (int d = 0; d < rank; d++) sizes.of[i][d] = operand_size(step, i, d);
  }
  tie_operands(&sizes, step->instruction);
  return sizes;
}

static void set_operand(EvalStep *sized, int index, const Literal *value, HloInstruction *operands) {
  Arena *arena = sized->frame->evaluation->arena;
  operands[index] = *sized->instruction->operands[index];
  operands[index].shape = value->shape;
  EvalStep *operand = ARENA_NEW(arena, EvalStep);
  *operand = *sized->operands[index];
  operand->value = *value;
  sized->operands[index] = operand;
}

/* |step| on operands without what lies beyond their sizes, for a result of |shape|. */
static EvalStep *sized_step(const EvalStep *step, const Shape *shape) {
  const HloInstruction *instruction = step->instruction;
  Arena *arena = step->frame->evaluation->arena;
  int count = instruction->operand_count;
  EvalStep *sized = ARENA_NEW(arena, EvalStep);
  *sized = (EvalStep){.instruction = instruction, .rule = step->rule, .frame = step->frame};
  sized->operands = ARENA_COPY_ARRAY(arena, EvalStep *, step->operands, count);
  HloInstruction *operands = ARENA_NEW_ARRAY(arena, HloInstruction, count);
  HloInstruction **pointers = ARENA_NEW_ARRAY(arena, HloInstruction *, count);
  OperandSizes sizes = operand_sizes(step);
  for (int i = 0; i < count; i++) {
    const Literal *value = eval_operand(step, i);
    Literal *cropped = literal_create(arena, sized_shape(step, value->shape, sizes.of[i]));
    copy_corner(value, cropped, sizes.of[i]);
    set_operand(sized, i, cropped, operands);
    pointers[i] = &operands[i];
  }
  HloInstruction *copy = ARENA_NEW(arena, HloInstruction);
  *copy = *instruction;
  copy->shape = shape;
  copy->operands = pointers;
  sized->instruction = copy;
  return sized;
}

static int leaf_count(const Shape *shape) {
  return shape_is_tuple(shape) ? shape->tuple_size : 1;
}

static Literal *leaf_value(Literal *value, int leaf) {
  return shape_is_tuple(value->shape) ? &value->tuple[leaf] : value;
}

static const Shape *sized_result(const EvalStep *step, const int64_t *const *sizes) {
  const Shape *shape = step->instruction->shape;
  if (!shape_is_tuple(shape)) return sized_shape(step, shape, sizes[0]);
  const Shape **leaves = ARENA_NEW_ARRAY(step->frame->evaluation->arena, const Shape *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) leaves[i] = sized_shape(step, shape->tuple[i], sizes[i]);
  return shape_tuple(step->instruction->parent->module->shapes, leaves, shape->tuple_size);
}

/* What the rule needs on the way goes with the arena, frames of computations that it calls as well. */
static Status run_on_corners(EvalStep *step, const int64_t *const *sizes) {
  Literal *out = eval_result(step);
  Evaluation *evaluation = step->frame->evaluation;
  Arena *arena = evaluation->arena;
  evaluation->arena = arena_create();
  EvalStep *sized = sized_step(step, sized_result(step, sizes));
  Status status = step->rule(sized);
  for (int i = 0; i < leaf_count(out->shape) && status == STATUS_OK; i++) {
    Literal *to = leaf_value(out, i), *from = leaf_value(&sized->value, i);
    memset(to->data, 0, (size_t)shape_byte_size(to->shape)); /* the same bytes beyond the sizes each time */
    copy_corner(from, to, from->shape->dims);
  }
  arena_destroy(evaluation->arena);
  evaluation->arena = arena;
  return status;
}

/* --- operands of which one element stands for all --- */

/* |value| with its first element along |dimension| at all places. */
static const Literal *repeated(Arena *arena, const Literal *value, int64_t dimension) {
  Literal *result = literal_create(arena, value->shape);
  int64_t from[EVAL_MAX_RANK], to[EVAL_MAX_RANK];
  eval_strides(value->shape, from);
  eval_strides(value->shape, to);
  from[dimension] = 0;
  eval_copy_box((size_t)type_storage_bytes(value->shape->type), value->shape->rank, value->shape->dims, result->data,
                to, value->data, from);
  result->sizes = value->sizes;
  return result;
}

/* Of two operands the one of size 1 is as large as the other. */
static void repeat_operands(EvalStep *step, Arena *arena) {
  if (!hlo_opcode_has(step->instruction->opcode, OP_ELEMENTWISE) || step->instruction->operand_count != 2) return;
  for (int64_t d = 0; d < step->instruction->shape->rank; d++) {
    for (int i = 0; i < 2; i++) {
      if (!eval_operand(step, 0)->sizes || !eval_operand(step, 1)->sizes || operand_size(step, i, d) != 1 ||
          operand_size(step, 1 - i, d) <= 1)
        continue;
      EvalStep *operand = ARENA_NEW(arena, EvalStep);
      *operand = *step->operands[i];
      operand->value = *repeated(arena, eval_operand(step, i), d);
      step->operands[i] = operand;
    }
  }
}

/* --- steps --- */

/* Rules that hand values on as they are, sizes and all, or ask for sizes themselves. */
static const bool hands_on[HLO_OPCODE_COUNT] = {
    [HLO_ADD_DEPENDENCY] = true,
    [HLO_ASYNC_DONE] = true,
    [HLO_ASYNC_START] = true,
    [HLO_ASYNC_UPDATE] = true,
    [HLO_BITCAST] = true,
    [HLO_CALL] = true,
    [HLO_CONDITIONAL] = true,
    [HLO_COPY] = true,
    [HLO_COPY_DONE] = true,
    [HLO_COPY_START] = true,
    [HLO_DOMAIN] = true,
    [HLO_FUSION] = true,
    [HLO_GET_DIMENSION_SIZE] = true,
    [HLO_GET_TUPLE_ELEMENT] = true,
    [HLO_OPT_BARRIER] = true,
    [HLO_SET_DIMENSION_SIZE] = true,
    [HLO_TUPLE] = true,
    [HLO_WHILE] = true,
};

/* Rules whose results within their sizes depend on what lies beyond those of operands, if they see it. */
static const bool needs_corners[HLO_OPCODE_COUNT] = {
    [HLO_BATCH_NORM_GRAD] = true,
    [HLO_BATCH_NORM_INFERENCE] = true,
    [HLO_BATCH_NORM_TRAINING] = true,
    [HLO_CONCATENATE] = true,
    [HLO_CONVOLUTION] = true,
    [HLO_DOT] = true,
    [HLO_DYNAMIC_RESHAPE] = true,
    [HLO_PAD] = true,
    [HLO_REDUCE] = true,
    [HLO_REDUCE_WINDOW] = true,
    [HLO_RESHAPE] = true,
    [HLO_REVERSE] = true,
    [HLO_SCATTER] = true,
    [HLO_SELECT_AND_SCATTER] = true,
    [HLO_SORT] = true,
    [HLO_TOPK] = true,
};

static bool is_call_of_sizes(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_CUSTOM_CALL) return false;
  StringView target = custom_call_target(instruction);
  return custom_call_is_marker(target) || custom_call_pads_to_static(instruction) ||
         custom_call_slices_to_dynamic(instruction);
}

Status eval_run_sized(EvalStep *step) {
  HloOpcode opcode = step->instruction->opcode;
  if (hands_on[opcode] || is_call_of_sizes(step->instruction)) return step->rule(step);
  Arena *arena = arena_create();
  const Shape *shape = step->instruction->shape;
  int count = leaf_count(shape);
  const int64_t **sizes = ARENA_NEW_ARRAY(arena, const int64_t *, count);
  Status status = check_indices(step);
  for (int i = 0; i < count && status == STATUS_OK; i++)
    status = leaf_sizes(step, i, shape_result(shape, i), arena, &sizes[i]);
  EvalStep **operands = step->operands;
  if (status == STATUS_OK && !needs_corners[opcode]) {
    step->operands = ARENA_COPY_ARRAY(arena, EvalStep *, operands, step->instruction->operand_count);
    repeat_operands(step, arena);
  }
  if (status == STATUS_OK) status = needs_corners[opcode] ? run_on_corners(step, sizes) : step->rule(step);
  step->operands = operands;
  if (status == STATUS_OK && !step->sizes)
    step->sizes = ARENA_NEW_ARRAY(step->frame->evaluation->arena, int64_t *, count);
  for (int i = 0; i < count && status == STATUS_OK; i++) {
    int rank = shape_result(shape, i)->rank;
    if (!step->sizes[i]) step->sizes[i] = ARENA_NEW_ARRAY(step->frame->evaluation->arena, int64_t, rank + 1);
    if (sizes[i]) memcpy(step->sizes[i], sizes[i], (size_t)rank * sizeof(int64_t));
  }
  for (int i = 0; i < count && status == STATUS_OK; i++)
    leaf_value(&step->value, i)->sizes = sizes[i] ? step->sizes[i] : NULL;
  arena_destroy(arena);
  return status;
}
