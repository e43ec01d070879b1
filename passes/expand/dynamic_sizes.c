#include "passes/expand/dynamic_sizes.h"

#include "base/checked_math.h"
#include "hlo/ir/dimension_size.h"

void dynamic_sizes_init(DynamicSizes *sizes, Arena *scratch, DiagSink *diag) {
  *sizes = (DynamicSizes){.scratch = scratch, .diag = diag};
  int_map_init(&sizes->values, scratch);
  int_map_init(&sizes->given, scratch);
}

/* --- the table --- */

/* By node, then dimension. */
static HloInstruction ***nodes_of(const DynamicSizes *sizes, const HloInstruction *value) {
  int64_t found;
  return int_map_find(&sizes->values, (uint64_t)value->id, &found) ? (HloInstruction ***)(uintptr_t)found : NULL;
}

HloInstruction *const *dynamic_sizes_at(const DynamicSizes *sizes, const HloInstruction *value, int node) {
  HloInstruction ***nodes = nodes_of(sizes, value);
  return nodes ? nodes[node] : NULL;
}

bool dynamic_sizes_any(const DynamicSizes *sizes, const HloInstruction *value) {
  return nodes_of(sizes, value) != NULL;
}

HloInstruction *dynamic_size_of(const DynamicSizes *sizes, const HloInstruction *value, int64_t dimension) {
  HloInstruction *const *own = shape_is_array(value->shape) ? dynamic_sizes_at(sizes, value, 0) : NULL;
  return own ? own[dimension] : NULL;
}

HloInstruction *dynamic_size_or_bound(const DynamicSizes *sizes, GraphBuilder *builder, const HloInstruction *value,
                                      int node, int64_t dimension) {
  HloInstruction *const *own = dynamic_sizes_at(sizes, value, node);
  if (own && own[dimension]) return own[dimension];
  return graph_integer(builder, TYPE_S32, shape_node(value->shape, node)->dims[dimension], NULL);
}

void dynamic_sizes_set(DynamicSizes *sizes, const HloInstruction *value, int node, int64_t dimension,
                       HloInstruction *size) {
  HloInstruction ***nodes = nodes_of(sizes, value);
  if (!nodes) {
    nodes = ARENA_NEW_ARRAY(sizes->scratch, HloInstruction **, shape_node_count(value->shape));
    int_map_set(&sizes->values, (uint64_t)value->id, (int64_t)(uintptr_t)nodes);
  }
  if (!nodes[node])
    nodes[node] = ARENA_NEW_ARRAY(sizes->scratch, HloInstruction *, shape_node(value->shape, node)->rank);
  nodes[node][dimension] = size;
}

void dynamic_sizes_copy(DynamicSizes *sizes, const HloInstruction *to, int to_node, const HloInstruction *from,
                        int from_node) {
  if (!dynamic_sizes_any(sizes, from)) return;
  int count =
      min_i64(shape_node_count(shape_node(to->shape, to_node)), shape_node_count(shape_node(from->shape, from_node)));
  for (int i = 0; i < count; i++) {
    HloInstruction *const *own = dynamic_sizes_at(sizes, from, from_node + i);
    for (int d = 0; own && d < shape_node(from->shape, from_node + i)->rank; d++)
      if (own[d]) dynamic_sizes_set(sizes, to, to_node + i, d, own[d]);
  }
}

/* --- sizes of results --- */

static HloInstruction *number(GraphBuilder *builder, int64_t value) {
  return graph_integer(builder, TYPE_S32, value, NULL);
}

static HloInstruction *plus(GraphBuilder *builder, HloInstruction *size, int64_t more) {
  return more == 0 ? size : graph_binary(builder, HLO_ADD, size, number(builder, more));
}

static HloInstruction *times(GraphBuilder *builder, HloInstruction *size, int64_t factor) {
  return factor == 1 ? size : graph_binary(builder, HLO_MULTIPLY, size, number(builder, factor));
}

static HloInstruction *at_least(GraphBuilder *builder, HloInstruction *size, int64_t least) {
  return graph_binary(builder, HLO_MAXIMUM, size, number(builder, least));
}

static HloInstruction *same_size(const DynamicSizes *sizes, const HloInstruction *user, const DimensionSize *size) {
  HloInstruction *found = NULL;
  for (int i = 0; i < size->count; i++) {
    bool is_last = i > 0 && i == size->count - 1;
    HloInstruction *next =
        dynamic_size_of(sizes, user->operands[size->operand + i], is_last ? size->last_dimension : size->dimension);
    found = next ? next : found;
  }
  return found;
}

/* Where one is 1 the other, else the less. */
static HloInstruction *common_of(GraphBuilder *builder, HloInstruction *a, HloInstruction *b) {
  if (a == NULL || b == NULL || a == b) return a ? a : b;
  HloInstruction *less = graph_binary(builder, HLO_MINIMUM, a, b), *greater = graph_binary(builder, HLO_MAXIMUM, a, b);
  HloInstruction *is_one = graph_compare(builder, COMPARISON_DIRECTION_EQ, less, number(builder, 1));
  return graph_select(builder, is_one, greater, less);
}

static HloInstruction *common_size(const DynamicSizes *sizes, GraphBuilder *builder, const DimensionSize *size) {
  HloInstruction *common = NULL;
  for (int i = 0; i < size->count; i++) {
    const HloInstruction *operand = builder->origin->operands[i];
    if (operand->shape->rank != builder->origin->shape->rank) continue;
    common = common_of(builder, common, dynamic_size_of(sizes, operand, size->dimension));
  }
  return common;
}

HloInstruction *dynamic_size_given(DynamicSizes *sizes, GraphBuilder *builder, HloInstruction *size, int64_t bound) {
  uint64_t key = (uint64_t)size->id << 32 | (uint32_t)bound;
  int64_t known;
  if (int_map_find(&sizes->given, key, &known)) return (HloInstruction *)(uintptr_t)known;
  HloInstruction *given = graph_binary(builder, HLO_MINIMUM, at_least(builder, size, 0), number(builder, bound));
  int_map_set(&sizes->given, key, (int64_t)(uintptr_t)given);
  return given;
}

static HloInstruction *sum_of_sizes(const DynamicSizes *sizes, GraphBuilder *builder, const DimensionSize *size) {
  HloInstruction *sum = NULL;
  int64_t rest = 0;
  for (int i = 0; i < size->count; i++) {
    const HloInstruction *operand = builder->origin->operands[i];
    HloInstruction *next = dynamic_size_of(sizes, operand, size->dimension);
    if (next == NULL)
      rest += operand->shape->dims[size->dimension];
    else
      sum = sum ? graph_binary(builder, HLO_ADD, sum, next) : next;
  }
  return sum ? plus(builder, sum, rest) : NULL;
}

static HloInstruction *padded_size(GraphBuilder *builder, HloInstruction *size, const PaddingDimension *padding) {
  HloInstruction *padded = size;
  if (padding->interior > 0) {
    HloInstruction *gaps = at_least(builder, plus(builder, size, -1), 0);
    padded = graph_binary(builder, HLO_ADD, size, times(builder, gaps, padding->interior));
  }
  padded = plus(builder, padded, padding->low + padding->high);
  return padding->low + padding->high < 0 ? at_least(builder, padded, 0) : padded;
}

/* (room + stride) / stride, where room is what is left of the array after one window. */
static HloInstruction *windowed_size(GraphBuilder *builder, HloInstruction *size, const WindowDimension *window) {
  HloInstruction *base = size;
  if (window->base_dilation > 1)
    base = at_least(builder, plus(builder, times(builder, size, window->base_dilation), 1 - window->base_dilation), 0);
  int64_t rest = window->pad_low + window->pad_high - ((window->size - 1) * window->window_dilation + 1);
  HloInstruction *room = at_least(builder, plus(builder, base, rest + window->stride), 0);
  return window->stride == 1 ? room : graph_binary(builder, HLO_DIVIDE, room, number(builder, window->stride));
}

static HloInstruction *ratio_size(const DynamicSizes *sizes, GraphBuilder *builder, const DimensionSize *size) {
  const HloInstruction *operand = builder->origin->operands[0];
  HloInstruction *product = NULL;
  int64_t rest = 1, divisor = size->divisor;
  for (int i = 0; i < size->count; i++) {
    HloInstruction *next = dynamic_size_of(sizes, operand, size->dimension + i);
    if (next == NULL)
      rest *= operand->shape->dims[size->dimension + i];
    else
      product = product ? graph_binary(builder, HLO_MULTIPLY, product, next) : next;
  }
  if (product == NULL) return NULL;
  if (rest % divisor == 0) return times(builder, product, rest / divisor);
  return graph_binary(builder, HLO_DIVIDE, times(builder, product, rest), number(builder, divisor));
}

/* NULL: the bound. */
static HloInstruction *size_by(DynamicSizes *sizes, GraphBuilder *builder, const DimensionSize *size, int64_t bound) {
  HloInstruction *user = builder->origin;
  HloInstruction *of_first = user->operand_count > 0 && shape_is_array(user->operands[0]->shape) &&
                                     size->dimension < user->operands[0]->shape->rank
                                 ? dynamic_size_of(sizes, user->operands[0], size->dimension)
                                 : NULL;
  switch (size->kind) {
    case DIMENSION_UNKNOWN:
    case DIMENSION_AMBIGUOUS:
    case DIMENSION_BOUND: return NULL;
    case DIMENSION_SAME: return same_size(sizes, user, size);
    case DIMENSION_COMMON: return common_size(sizes, builder, size);
    case DIMENSION_GIVEN: return dynamic_size_given(sizes, builder, user->operands[size->operand], bound);
    case DIMENSION_SUM: return sum_of_sizes(sizes, builder, size);
    case DIMENSION_PADDED: return of_first ? padded_size(builder, of_first, &size->padding) : NULL;
    case DIMENSION_WINDOWED: return of_first ? windowed_size(builder, of_first, &size->window) : NULL;
    case DIMENSION_RATIO: return ratio_size(sizes, builder, size);
  }
  XLAC_BUG("size of kind %d", (int)size->kind);
}

Status dynamic_sizes_refuse(const DynamicSizes *sizes, const HloInstruction *user, const HloInstruction *operand) {
  if (user == operand)
    return diag_error(sizes->diag, STATUS_UNSUPPORTED, user->loc, "unsupported-dynamic",
                      "'%s' makes '%.*s', whose size cannot be known", hlo_opcode_text(user->opcode),
                      SV_ARG(user->name));
  return diag_error(sizes->diag, STATUS_UNSUPPORTED, user->loc, "unsupported-dynamic",
                    "'%s' cannot take '%.*s', whose size is set at run time", hlo_opcode_text(user->opcode),
                    SV_ARG(operand->name));
}

static const HloInstruction *sized_operand(const DynamicSizes *sizes, const HloInstruction *user) {
  for (int i = 0; i < user->operand_count; i++)
    if (dynamic_sizes_any(sizes, user->operands[i])) return user->operands[i];
  return NULL;
}

Status dynamic_sizes_infer(DynamicSizes *sizes, GraphBuilder *builder) {
  HloInstruction *user = builder->origin;
  const HloInstruction *sized = sized_operand(sizes, user);
  bool is_tuple = shape_is_tuple(user->shape);
  for (int i = 0; i < (is_tuple ? user->shape->tuple_size : 1); i++) {
    int node = is_tuple ? shape_node_child(user->shape, 0, i) : 0;
    const Shape *shape = shape_node(user->shape, node);
    for (int64_t d = 0; d < max_i64(shape->rank, 1); d++) {
      DimensionSize size = hlo_dimension_size(user, i, d);
      bool is_unknown = size.kind == DIMENSION_UNKNOWN && sized;
      for (int k = 0; k < size.count && size.kind == DIMENSION_AMBIGUOUS; k++)
        is_unknown = is_unknown || dynamic_size_of(sizes, user->operands[0], size.dimension + k);
      if (is_unknown) return dynamic_sizes_refuse(sizes, user, sized);
      if (shape->rank == 0) continue;
      HloInstruction *computed = size_by(sizes, builder, &size, shape->dims[d]);
      if (computed) dynamic_sizes_set(sizes, user, node, d, computed);
    }
  }
  return STATUS_OK;
}
