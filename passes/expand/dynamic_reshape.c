#include "hlo/ir/dimension_size.h"
#include "passes/expand/dynamic_sizes.h"

/* Reshapes of arrays whose size is set at run time.  The elements that are there keep their order, so that one's place
 * follows from the sizes: its number among the elements of the result, and from that its indices in the operand.  Where
 * sizes vary in the slowest dimensions only, elements stay where they are. */

/* Whether the first dimension from |first| on that is not 1 is the only one with a size. */
static bool varies_in_front(HloInstruction *const *sizes, const Shape *shape, int first, int end) {
  for (; first < end && shape->dims[first] == 1; first++) continue;
  for (int i = first + 1; i < end && sizes; i++)
    if (sizes[i] && shape->dims[i] != 1) return false;
  return true;
}

static bool stays_in_place(const DynamicSizes *sizes, const HloInstruction *reshape) {
  const Shape *from = reshape->operands[0]->shape, *to = reshape->shape;
  HloInstruction *const *from_sizes = dynamic_sizes_at(sizes, reshape->operands[0], 0);
  HloInstruction *const *to_sizes = dynamic_sizes_at(sizes, reshape, 0);
  if (reshape->opcode == HLO_DYNAMIC_RESHAPE)
    return varies_in_front(from_sizes, from, 0, from->rank) && varies_in_front(to_sizes, to, 0, to->rank);
  ReshapeGroup group = {0};
  while (hlo_next_reshape_group(from, to, &group)) {
    if (!varies_in_front(from_sizes, from, group.operand_first, group.operand_end)) return false;
    if (!varies_in_front(to_sizes, to, group.result_first, group.result_end)) return false;
  }
  return true;
}

/* As large as the result, of integers that can number its elements. */
typedef struct Numbering {
  GraphBuilder *builder;
  PrimitiveType type;
  const Shape *like;
} Numbering;

static HloInstruction *splat_size(const Numbering *numbering, HloInstruction *size) {
  return graph_splat(numbering->builder, graph_convert(numbering->builder, size, numbering->type), numbering->like);
}

static HloInstruction *add(const Numbering *numbering, HloInstruction *a, HloInstruction *b) {
  return a ? graph_binary(numbering->builder, HLO_ADD, a, b) : b;
}

/* The number of each element of the result among those that are there. */
static HloInstruction *numbers_of_result(const Numbering *numbering, const DynamicSizes *sizes,
                                         const HloInstruction *reshape) {
  GraphBuilder *builder = numbering->builder;
  const Shape *shape = reshape->shape;
  HloInstruction *stride = graph_integer(builder, numbering->type, 1, NULL), *number = NULL;
  for (int d = shape->rank - 1; d >= 0; d--) {
    HloInstruction *index = graph_iota(builder, numbering->type, shape->dims, shape->rank, d);
    number = add(numbering, number,
                 graph_binary(builder, HLO_MULTIPLY, index, graph_splat(builder, stride, numbering->like)));
    HloInstruction *size = dynamic_size_or_bound(sizes, builder, reshape, 0, d);
    stride = graph_binary(builder, HLO_MULTIPLY, stride, graph_convert(builder, size, numbering->type));
  }
  return number ? number : graph_integer(builder, numbering->type, 0, numbering->like);
}

/* Where the |number|-th element of the operand is in memory. */
static HloInstruction *places_in_operand(const Numbering *numbering, const DynamicSizes *sizes,
                                         const HloInstruction *operand, HloInstruction *number) {
  GraphBuilder *builder = numbering->builder;
  const Shape *shape = operand->shape;
  HloInstruction *place = NULL;
  int64_t stride = 1;
  for (int d = shape->rank - 1; d > 0; d--) {
    HloInstruction *size = splat_size(numbering, dynamic_size_or_bound(sizes, builder, operand, 0, d));
    HloInstruction *index = graph_binary(builder, HLO_REMAINDER, number, size);
    number = graph_binary(builder, HLO_DIVIDE, number, size);
    HloInstruction *step = graph_integer(builder, numbering->type, stride, numbering->like);
    place = add(numbering, place, graph_binary(builder, HLO_MULTIPLY, index, step));
    stride *= shape->dims[d];
  }
  HloInstruction *step = graph_integer(builder, numbering->type, stride, numbering->like);
  return add(numbering, place, graph_binary(builder, HLO_MULTIPLY, number, step));
}

/* values[places], |values| of rank 1. */
static HloInstruction *elements_at(GraphBuilder *builder, HloInstruction *values, HloInstruction *places) {
  const Shape *shape =
      shape_array(graph_shapes(builder), values->shape->type, places->shape->dims, places->shape->rank);
  HloInstruction *gather = graph_add(builder, HLO_GATHER, shape, (HloInstruction *[]){values, places}, 2);
  const int64_t zero = 0, one = 1;
  hlo_instruction_set_ints(gather, HLO_ATTR_OFFSET_DIMS, NULL, 0);
  hlo_instruction_set_ints(gather, HLO_ATTR_COLLAPSED_SLICE_DIMS, &zero, 1);
  hlo_instruction_set_ints(gather, HLO_ATTR_START_INDEX_MAP, &zero, 1);
  hlo_instruction_set_int(gather, HLO_ATTR_INDEX_VECTOR_DIM, places->shape->rank);
  hlo_instruction_set_ints(gather, HLO_ATTR_SLICE_SIZES, &one, 1);
  return gather;
}

HloInstruction *dynamic_reshape_expand(const DynamicSizes *sizes, GraphBuilder *builder) {
  HloInstruction *reshape = builder->origin, *operand = reshape->operands[0];
  const Shape *shape = reshape->shape;
  int64_t count = shape_element_count(shape);
  if (count == 0 || stays_in_place(sizes, reshape))
    return reshape->opcode == HLO_RESHAPE ? NULL : graph_add(builder, HLO_RESHAPE, shape, &operand, 1);
  const Shape *like = shape_array(graph_shapes(builder), TYPE_PRED, shape->dims, shape->rank);
  Numbering numbering = {builder, count <= INT32_MAX ? TYPE_S32 : TYPE_S64, like};
  HloInstruction *number = numbers_of_result(&numbering, sizes, reshape);
  return elements_at(builder, graph_reshape(builder, operand, &count, 1),
                     places_in_operand(&numbering, sizes, operand, number));
}
