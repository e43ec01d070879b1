#include "passes/cleanup/shape_coercion.h"
#include "passes/expand/graph_builder.h"

/* A sort whose lines are too long for a machine's Buffer, as sorts of parts of them, every other one descending, and a
 * bitonic network after that (Batcher 1968): runs of length h become runs of 2h by comparing i with i xor d for d = h,
 * h/2 … 1.  The partners of all elements are the array with the halves of its blocks exchanged, so that a step is one
 * loop.
 *
 * Positions go along: equal elements keep their order, and those beyond the end of a length that is no power of two
 * come last.
 *
 * Steps of small distance would move few elements at a time, and they are the most frequent.  So in the network the
 * lower digits of places (|low| of them) stand outermost in memory; innermost are the sorts of other lines and, if
 * these are few, the upper digits. */

enum { RUN_ELEMENTS = 64 }; /* that lie together in each step, if there are so many */

typedef struct SortNetwork {
  GraphBuilder *graph;
  HloComputation *comparator;
  int64_t outer, inner;   /* dimensions before and after that of the sort, as one */
  int64_t length, padded; /* along it; padded to a power of two */
  int64_t low, high;      /* padded = high * low; arrays are [low, outer, high, inner] */
  int64_t part;           /* length of what is sorted without the network */
  PrimitiveType type;     /* of positions */
  int count;
  HloInstruction **arrays; /* the operands, then the positions */
} SortNetwork;

/* The comparator of the sort on two arrays for each operand. */
static HloInstruction *compare(const SortNetwork *network, HloInstruction **first, HloInstruction **second) {
  GraphBuilder *graph = network->graph;
  HloInstruction **operands = ARENA_NEW_ARRAY(graph->scratch, HloInstruction *, 2 * network->count);
  for (int i = 0; i < network->count; i++) {
    operands[2 * i] = first[i];
    operands[2 * i + 1] = second[i];
  }
  const Shape *shape = first[0]->shape;
  shape = shape_array(graph_shapes(graph), TYPE_PRED, shape->dims, shape->rank);
  HloInstruction *map = graph_add(graph, HLO_MAP, shape, operands, 2 * network->count);
  int64_t *dims = ARENA_NEW_ARRAY(graph->scratch, int64_t, shape->rank);
  for (int i = 0; i < shape->rank; i++) dims[i] = i;
  hlo_instruction_set_ints(map, HLO_ATTR_DIMENSIONS, dims, shape->rank);
  hlo_instruction_set_computation(map, HLO_ATTR_TO_APPLY, network->comparator);
  return map;
}

/* Where |first| stands before |second|: never both ways around. */
static HloInstruction *is_before(const SortNetwork *network, HloInstruction **first, HloInstruction **second) {
  GraphBuilder *graph = network->graph;
  HloInstruction *at = first[network->count], *other = second[network->count];
  HloInstruction *came_first = graph_compare(graph, COMPARISON_DIRECTION_LT, at, other);
  HloInstruction *behind = compare(network, second, first);
  HloInstruction *tie = graph_select(graph, behind, graph_zero(graph, TYPE_PRED, behind->shape), came_first);
  HloInstruction *before = graph_binary(graph, HLO_OR, compare(network, first, second), tie);
  if (network->padded == network->length) return before;
  HloInstruction *last = graph_binary(graph, HLO_MAXIMUM, at, other);
  HloInstruction *end = graph_integer(graph, at->shape->type, network->length, at->shape);
  return graph_select(graph, graph_compare(graph, COMPARISON_DIRECTION_LT, last, end), before, came_first);
}

/* Where the index along |dimension| of |dims| has the bit |bit|. */
static HloInstruction *has_bit(const SortNetwork *network, const int64_t *dims, int64_t dimension, int64_t bit) {
  GraphBuilder *graph = network->graph;
  HloInstruction *index = graph_iota(graph, network->type, dims, 6, dimension);
  HloInstruction *masked = graph_binary(graph, HLO_AND, index, graph_integer(graph, network->type, bit, index->shape));
  return graph_compare(graph, COMPARISON_DIRECTION_NE, masked, graph_zero(graph, network->type, index->shape));
}

/* Elements |distance| apart, on the way to runs of |run|. */
static void add_step(SortNetwork *network, int64_t run, int64_t distance) {
  GraphBuilder *graph = network->graph;
  int64_t low = network->low, outer = network->outer, high = network->high, inner = network->inner;
  bool is_low = distance < low;
  int64_t d = is_low ? distance : distance / low;
  const int64_t low_dims[] = {low / (2 * d), 2, d, outer, high, inner};
  const int64_t high_dims[] = {low, outer, high / (2 * d), 2, d, inner};
  const int64_t *dims = is_low ? low_dims : high_dims, halves = is_low ? 1 : 3;
  int count = network->count + 1;
  HloInstruction **own = ARENA_NEW_ARRAY(graph->scratch, HloInstruction *, count);
  HloInstruction **partners = ARENA_NEW_ARRAY(graph->scratch, HloInstruction *, count);
  for (int i = 0; i < count; i++) {
    own[i] = graph_reshape(graph, network->arrays[i], dims, 6);
    partners[i] = graph_reverse(graph, own[i], &halves, 1);
  }
  HloInstruction *changes = graph_binary(graph, HLO_XOR, is_before(network, partners, own),
                                         has_bit(network, dims, halves, 1)); /* the upper half takes the later one */
  if (run < network->padded) {
    bool in_blocks = !is_low || run < low;
    HloInstruction *descends =
        in_blocks ? has_bit(network, dims, halves - 1, run / (2 * distance)) : has_bit(network, dims, 4, run / low);
    changes = graph_binary(graph, HLO_XOR, changes, descends);
  }
  for (int i = 0; i < count; i++) network->arrays[i] = graph_select(graph, changes, partners[i], own[i]);
}

static void choose_sizes(SortNetwork *network, int dimension) {
  const Shape *shape = network->graph->origin->operands[0]->shape;
  network->outer = shape_extent(shape, 0, dimension);
  network->inner = shape_extent(shape, dimension + 1, shape->rank);
  network->length = shape->dims[dimension];
  for (network->padded = 1; network->padded < network->length;) network->padded *= 2;
  network->high = 1;
  while (network->outer * network->high * network->inner < RUN_ELEMENTS &&
         network->high * RUN_ELEMENTS < network->padded)
    network->high *= 2;
  network->low = network->padded / network->high;
  network->type = network->padded > INT32_MAX ? TYPE_S64 : TYPE_S32;
}

/* --- parts --- */

/* The order of elements with their positions; after these is an array that says where it is the reverse. */
static HloComputation *part_comparator(const SortNetwork *network) {
  HloModule *module = network->graph->computation->module;
  GraphBuilder inside = *network->graph;
  inside.computation = hlo_module_add_computation(module, SV("before"));
  int count = network->count + 2;
  HloInstruction **first = ARENA_NEW_ARRAY(inside.scratch, HloInstruction *, count);
  HloInstruction **second = ARENA_NEW_ARRAY(inside.scratch, HloInstruction *, count);
  for (int i = 0; i < count; i++) {
    const Shape *shape = shape_scalar(module->shapes, i > network->count ? TYPE_PRED : network->arrays[i]->shape->type);
    first[i] = hlo_computation_add_parameter(inside.computation, 2 * i, shape, SV("a"));
    second[i] = hlo_computation_add_parameter(inside.computation, 2 * i + 1, shape, SV("b"));
  }
  SortNetwork scalars = *network;
  scalars.graph = &inside;
  HloInstruction *before = is_before(&scalars, first, second);
  before = graph_binary(&inside, HLO_XOR, before, first[network->count + 1]);
  hlo_computation_set_root(inside.computation, before);
  return inside.computation;
}

/* Every other one descends. */
static void sort_parts(SortNetwork *network) {
  GraphBuilder *graph = network->graph;
  const int64_t dims[] = {network->outer, network->padded / network->part, network->part, network->inner}, along = 2;
  int count = network->count + 2;
  HloInstruction **operands = ARENA_NEW_ARRAY(graph->scratch, HloInstruction *, count);
  const Shape **shapes = ARENA_NEW_ARRAY(graph->scratch, const Shape *, count);
  for (int i = 0; i + 1 < count; i++) operands[i] = graph_reshape(graph, network->arrays[i], dims, 4);
  HloInstruction *part = graph_iota(graph, network->type, dims, 4, 1),
                 *one = graph_integer(graph, network->type, 1, part->shape);
  operands[count - 1] = graph_compare(graph, COMPARISON_DIRECTION_EQ, graph_binary(graph, HLO_AND, part, one), one);
  for (int i = 0; i < count; i++) shapes[i] = operands[i]->shape;
  HloInstruction *sorted = graph_add(graph, HLO_SORT, shape_tuple(graph_shapes(graph), shapes, count), operands, count);
  hlo_instruction_set_ints(sorted, HLO_ATTR_DIMENSIONS, &along, 1);
  hlo_instruction_set_computation(sorted, HLO_ATTR_TO_APPLY, part_comparator(network));
  for (int i = 0; i + 1 < count; i++) network->arrays[i] = graph_element(graph, sorted, i);
}

/* --- from the operands to the results --- */

static void begin(SortNetwork *network) {
  GraphBuilder *graph = network->graph;
  const int64_t dims[] = {network->outer, network->length, network->inner};
  const int64_t padded[] = {network->outer, network->padded, network->inner};
  const int64_t split[] = {network->outer, network->high, network->low, network->inner};
  const int64_t permutation[] = {2, 0, 1, 3};
  for (int i = 0; i < network->count; i++) {
    HloInstruction *array = graph_reshape(graph, graph_operand(graph, i), dims, 3);
    HloInstruction *fill = graph_zero(graph, array->shape->type, NULL);
    int64_t missing = network->padded - network->length;
    network->arrays[i] = missing > 0 ? graph_pad(graph, array, fill, 1, missing) : array;
  }
  network->arrays[network->count] = graph_iota(graph, network->type, padded, 3, 1);
  if (network->part > 1) sort_parts(network);
  for (int i = 0; i <= network->count; i++)
    network->arrays[i] = graph_transpose(graph, graph_reshape(graph, network->arrays[i], split, 4), permutation);
}

static HloInstruction *end(const SortNetwork *network) {
  GraphBuilder *graph = network->graph;
  const Shape *shape = graph->origin->operands[0]->shape;
  const int64_t places[] = {network->low, network->outer, network->high, network->inner};
  const int64_t permutation[] = {1, 2, 0, 3};
  const int64_t padded[] = {network->outer, network->padded, network->inner};
  HloInstruction **results = ARENA_NEW_ARRAY(graph->scratch, HloInstruction *, network->count);
  for (int i = 0; i < network->count; i++) {
    HloInstruction *array = graph_reshape(graph, network->arrays[i], places, 4);
    array = graph_reshape(graph, graph_transpose(graph, array, permutation), padded, 3);
    results[i] = graph_reshape(graph, graph_slice(graph, array, 1, 0, network->length), shape->dims, shape->rank);
  }
  return shape_is_tuple(graph->origin->shape) ? graph_tuple(graph, results, network->count) : results[0];
}

/* Bytes of one element of all operands. */
static int64_t element_bytes(const HloInstruction *sort) {
  int64_t bytes = 0;
  for (int i = 0; i < sort->operand_count; i++) bytes += type_storage_bytes(sort->operands[i]->shape->type);
  return bytes;
}

static bool is_too_long(const HloInstruction *sort, int64_t room) {
  const Shape *shape = sort->operands[0]->shape;
  int64_t dimension = hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[0];
  return !shape_is_dynamic(shape) && shape->dims[dimension] > room / element_bytes(sort);
}

/* |room|: bytes of a line of all operands. */
static HloInstruction *expand_sort(GraphBuilder *builder, int64_t room) {
  HloInstruction *sort = builder->origin;
  SortNetwork network = {.graph = builder, .part = 1, .count = sort->operand_count};
  network.comparator = hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY);
  network.arrays = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, network.count + 1);
  choose_sizes(&network, (int)hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[0]);
  int64_t bytes = element_bytes(sort) + type_storage_bytes(network.type) + type_storage_bytes(TYPE_PRED);
  while (network.part * 2 <= room / bytes && network.part * 2 < network.padded) network.part *= 2;
  begin(&network);
  for (int64_t run = 2 * network.part; run <= network.padded; run *= 2) {
    for (int64_t distance = run / 2; distance >= 1; distance /= 2) add_step(&network, run, distance);
  }
  return end(&network);
}

static Status run_sort_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t room = machine_line_bytes(context->options->machine) / 2; /* as much for the result */
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t count;
    HloInstruction **candidates = hlo_computation_list(computation, context->scratch, &count);
    for (int64_t i = 0; i < count; i++) {
      if (candidates[i]->opcode != HLO_SORT || !is_too_long(candidates[i], room)) continue;
      GraphBuilder builder = {computation, candidates[i], context->scratch};
      HloInstruction *result = expand_sort(&builder, room);
      hlo_computation_replace_instruction(computation, candidates[i], shape_coerce(result, candidates[i]->shape));
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_sort_expander_pass = {"sort-expander",
                                        "sort lines that a Buffer does not hold in parts, and these by a network",
                                        run_sort_expander, false};
