#include "passes/spmd/spmd_builder.h"

#include "base/checked_math.h"

/* --- places --- */

/* partition-id, where the mesh numbers devices otherwise the position that it has there. */
static HloInstruction *position(SpmdBuilder *builder) {
  GraphBuilder *graph = &builder->graph;
  const SpmdMesh *mesh = builder->mesh;
  HloInstruction *id = graph_add(graph, HLO_PARTITION_ID, shape_scalar(graph_shapes(graph), TYPE_U32), NULL, 0);
  id = graph_convert(graph, id, TYPE_S32);
  if (mesh->devices == NULL) return id;
  const Shape *shape = shape_array(graph_shapes(graph), TYPE_S32, &mesh->device_count, 1);
  Literal *positions = literal_create(graph->computation->module->arena, shape);
  for (int64_t i = 0; i < mesh->device_count; i++) literal_set_int(positions, mesh->devices[i], i);
  HloInstruction *table = hlo_computation_add_constant(graph->computation, positions, (StringView){0});
  return graph_reshape(graph, graph_take(graph, table, 0, id), NULL, 0);
}

static HloInstruction *scalar(SpmdBuilder *builder, int64_t value) {
  return graph_integer(&builder->graph, TYPE_S32, value, NULL);
}

/* |value| / |divisor| % |size|, of which there are |limit|. */
static HloInstruction *digit(SpmdBuilder *builder, HloInstruction *value, int64_t divisor, int64_t size,
                             int64_t limit) {
  GraphBuilder *graph = &builder->graph;
  if (divisor > 1) value = graph_binary(graph, HLO_DIVIDE, value, scalar(builder, divisor));
  if (divisor * size < limit) value = graph_binary(graph, HLO_REMAINDER, value, scalar(builder, size));
  return value;
}

HloInstruction *spmd_coordinate(SpmdBuilder *builder, AxisList axes) {
  GraphBuilder *graph = &builder->graph;
  const SpmdMesh *mesh = builder->mesh;
  HloInstruction *id = axes.count == 0 ? NULL : position(builder), *place = NULL;
  for (int first = 0; first < axes.count;) {
    /* Neighbouring axes are one digit. */
    int64_t size = mesh->sizes[axes.axes[first]];
    int last = first;
    for (; last + 1 < axes.count && axes.axes[last + 1] == axes.axes[last] + 1; last++)
      size *= mesh->sizes[axes.axes[last + 1]];
    HloInstruction *next = digit(builder, id, mesh->strides[axes.axes[last]], size, mesh->device_count);
    if (place != NULL) {
      place = graph_binary(graph, HLO_MULTIPLY, place, scalar(builder, size));
      next = graph_binary(graph, HLO_ADD, place, next);
    }
    place = next;
    first = last + 1;
  }
  return place != NULL ? place : scalar(builder, 0);
}

HloInstruction *spmd_offset(SpmdBuilder *builder, AxisList axes, int64_t factor) {
  HloInstruction *place = spmd_coordinate(builder, axes);
  return factor == 1 ? place : graph_binary(&builder->graph, HLO_MULTIPLY, place, scalar(builder, factor));
}

/* --- groups --- */

/* Some collectives number all devices, others the partitions of each replica: groups are of so many replicas. */
static int64_t replicas_listed(const SpmdBuilder *builder, HloOpcode opcode) {
  return opcode == HLO_ALL_TO_ALL ? 1 : max_i64(builder->graph.computation->module->replica_count, 1);
}

/* Axes in the order of the listing: those that differ among groups, then those within one. */
static AxisList listing_order(const SpmdBuilder *builder, AxisList axes) {
  AxisMask every = ((AxisMask)1 << builder->mesh->axis_count) - 1;
  return axis_lists_join(builder->arena, axis_mask_list(builder->arena, every & ~axis_list_mask(axes)), axes);
}

/* Runs of neighbouring axes are one dimension; replicas are one more, before all others. */
static IotaTile groups_as_iota(SpmdBuilder *builder, AxisList order, int64_t replicas) {
  Arena *arena = builder->graph.computation->module->arena;
  const SpmdMesh *mesh = builder->mesh;
  int64_t *sizes = ARENA_NEW_ARRAY(arena, int64_t, order.count + 1);
  int *firsts = ARENA_NEW_ARRAY(arena, int, order.count + 1), count = 0;
  if (replicas > 1) {
    firsts[count] = -2;
    sizes[count++] = replicas;
  }
  for (int i = 0; i < order.count; i++) {
    if (i == 0 || order.axes[i] != order.axes[i - 1] + 1) {
      firsts[count] = order.axes[i];
      sizes[count++] = 1;
    }
    sizes[count - 1] *= mesh->sizes[order.axes[i]];
  }
  int64_t *reshape = ARENA_NEW_ARRAY(arena, int64_t, count), *perm = ARENA_NEW_ARRAY(arena, int64_t, count);
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) perm[i] += firsts[j] < firsts[i];
    reshape[perm[i]] = sizes[i];
  }
  return (IotaTile){count, reshape, perm};
}

static Int64List *groups_as_lists(SpmdBuilder *builder, AxisList order, int64_t replicas, int64_t size, int64_t count) {
  Arena *arena = builder->graph.computation->module->arena;
  const SpmdMesh *mesh = builder->mesh;
  Int64List *groups = ARENA_NEW_ARRAY(arena, Int64List, count);
  int64_t *members = ARENA_NEW_ARRAY(arena, int64_t, count *size), partitions = mesh->device_count;
  for (int64_t replica = 0; replica < replicas; replica++) {
    for (int64_t at = 0; at < partitions; at++)
      members[replica * partitions + axis_list_index(mesh, order, at)] = replica * partitions + mesh->devices[at];
  }
  for (int64_t i = 0; i < count; i++) groups[i] = (Int64List){size, members + i * size};
  return groups;
}

static void set_groups(SpmdBuilder *builder, HloInstruction *collective, AxisList axes) {
  Arena *arena = builder->graph.computation->module->arena;
  AxisList order = listing_order(builder, axes);
  int64_t replicas = replicas_listed(builder, collective->opcode), size = axis_list_size(builder->mesh, axes);
  int64_t count = builder->mesh->device_count / size * replicas;
  ReplicaGroups *groups = ARENA_NEW(arena, ReplicaGroups);
  if (builder->mesh->devices == NULL)
    *groups = (ReplicaGroups){.form = REPLICA_GROUPS_IOTA,
                              .iota_groups = count,
                              .iota_size = size,
                              .iota = groups_as_iota(builder, order, replicas)};
  else
    *groups = (ReplicaGroups){.form = REPLICA_GROUPS_LISTS,
                              .group_count = count,
                              .groups = groups_as_lists(builder, order, replicas, size, count)};
  hlo_instruction_set_attr(
      collective, &(HloAttr){.id = HLO_ATTR_REPLICA_GROUPS, .loc = collective->loc, .value.replica_groups = groups});
  hlo_instruction_set_int(collective, HLO_ATTR_CHANNEL_ID, 1);
  if (collective->opcode != HLO_ALL_TO_ALL) hlo_instruction_set_bool(collective, HLO_ATTR_USE_GLOBAL_DEVICE_IDS, true);
}

/* --- collectives --- */

/* Of |value|, with dimension |dim| of size |size|; -1: none changes. */
static HloInstruction *add_collective(SpmdBuilder *builder, HloOpcode opcode, HloInstruction *value, AxisList axes,
                                      int dim, int64_t size) {
  GraphBuilder *graph = &builder->graph;
  int64_t dims[SHAPE_MAX_RANK];
  for (int i = 0; i < value->shape->rank; i++) dims[i] = i == dim ? size : value->shape->dims[i];
  const Shape *shape = shape_array(graph_shapes(graph), value->shape->type, dims, value->shape->rank);
  value = graph_plain(graph, value);
  HloInstruction *made = graph_add(graph, opcode, shape, &value, 1);
  set_groups(builder, made, axes);
  if (dim >= 0) hlo_instruction_set_ints(made, HLO_ATTR_DIMENSIONS, (int64_t[]){dim}, 1);
  return made;
}

HloInstruction *spmd_all_reduce(SpmdBuilder *builder, HloInstruction *value, AxisList axes, HloComputation *reducer) {
  HloInstruction *made = add_collective(builder, HLO_ALL_REDUCE, value, axes, -1, 0);
  hlo_instruction_set_computation(made, HLO_ATTR_TO_APPLY, reducer);
  return made;
}

HloInstruction *spmd_reduce_scatter(SpmdBuilder *builder, HloInstruction *value, AxisList axes, int dim,
                                    HloComputation *reducer) {
  int64_t size = value->shape->dims[dim] / axis_list_size(builder->mesh, axes);
  HloInstruction *made = add_collective(builder, HLO_REDUCE_SCATTER, value, axes, dim, size);
  hlo_instruction_set_computation(made, HLO_ATTR_TO_APPLY, reducer);
  return made;
}

HloInstruction *spmd_all_gather(SpmdBuilder *builder, HloInstruction *value, AxisList axes, int dim) {
  int64_t size = value->shape->dims[dim] * axis_list_size(builder->mesh, axes);
  return add_collective(builder, HLO_ALL_GATHER, value, axes, dim, size);
}

/* HLO's all-to-all of one array splits and concatenates one dimension: the parts become a dimension of their own, which
 * is moved to where they are put together. */
HloInstruction *spmd_all_to_all(SpmdBuilder *builder, HloInstruction *value, AxisList axes, int split_dim,
                                int concat_dim) {
  GraphBuilder *graph = &builder->graph;
  int rank = value->shape->rank;
  int64_t count = axis_list_size(builder->mesh, axes), dims[SHAPE_MAX_RANK + 1], permutation[SHAPE_MAX_RANK + 1];
  for (int i = 0, at = 0; i < rank; i++) {
    if (i == split_dim) dims[at++] = count;
    dims[at++] = i == split_dim ? value->shape->dims[i] / count : value->shape->dims[i];
  }
  HloInstruction *parts = graph_reshape(graph, value, dims, rank + 1);
  parts = add_collective(builder, HLO_ALL_TO_ALL, parts, axes, split_dim, count);
  int at = 0;
  for (int i = 0; i <= rank; i++) {
    if (i == split_dim) continue;
    int old_dim = i > split_dim ? i - 1 : i;
    if (old_dim == concat_dim) permutation[at++] = split_dim;
    permutation[at++] = i;
  }
  parts = graph_transpose(graph, parts, permutation);
  for (int i = 0; i < rank; i++) dims[i] = value->shape->dims[i];
  dims[split_dim] /= count;
  dims[concat_dim] *= count;
  return graph_reshape(graph, parts, dims, rank);
}

HloInstruction *spmd_permute(SpmdBuilder *builder, HloInstruction *value, const int64_t *targets) {
  GraphBuilder *graph = &builder->graph;
  Arena *arena = graph->computation->module->arena;
  const SpmdMesh *mesh = builder->mesh;
  Int64List *pairs = ARENA_NEW_ARRAY(arena, Int64List, mesh->device_count);
  int64_t count = 0;
  for (int64_t at = 0; at < mesh->device_count; at++) {
    if (targets[at] < 0) continue;
    int64_t *pair = ARENA_NEW_ARRAY(arena, int64_t, 2);
    pair[0] = mesh->devices != NULL ? mesh->devices[at] : at;
    pair[1] = mesh->devices != NULL ? mesh->devices[targets[at]] : targets[at];
    pairs[count++] = (Int64List){2, pair};
  }
  value = graph_plain(graph, value);
  HloInstruction *made = graph_add(graph, HLO_COLLECTIVE_PERMUTE, value->shape, &value, 1);
  hlo_instruction_set_attr(
      made, &(HloAttr){.id = HLO_ATTR_SOURCE_TARGET_PAIRS, .loc = made->loc, .value.int_lists = {count, pairs}});
  hlo_instruction_set_int(made, HLO_ATTR_CHANNEL_ID, 1);
  return made;
}

/* --- reducers --- */

HloComputation *spmd_reducer(SpmdBuilder *builder, HloOpcode opcode, PrimitiveType type) {
  HloModule *module = builder->graph.computation->module;
  StringView name = sv_printf(module->arena, "spmd_%s_%s", hlo_opcode_text(opcode), type_text(type));
  for (int64_t c = module->computations.count - 1; c >= 0; c--) {
    if (sv_equal(module->computations.data[c]->name, name)) return module->computations.data[c];
  }
  HloComputation *reducer = hlo_module_add_computation(module, name);
  const Shape *shape = shape_scalar(module->shapes, type);
  HloInstruction *operands[2] = {hlo_computation_add_parameter(reducer, 0, shape, SV("a")),
                                 hlo_computation_add_parameter(reducer, 1, shape, SV("b"))};
  hlo_computation_set_root(reducer, hlo_computation_add(reducer, opcode, shape, operands, 2, (StringView){0}));
  return reducer;
}

/* --- parts --- */

HloInstruction *spmd_mask(SpmdBuilder *builder, HloInstruction *value, int dim, AxisList axes, int64_t whole_size,
                          HloInstruction *fill) {
  GraphBuilder *graph = &builder->graph;
  const Shape *shape = value->shape;
  if (shape->dims[dim] * axis_list_size(builder->mesh, axes) == whole_size) return value;
  HloInstruction *index = graph_iota(graph, TYPE_S32, shape->dims, shape->rank, dim);
  HloInstruction *first = spmd_offset(builder, axes, shape->dims[dim]);
  index = graph_binary(graph, HLO_ADD, index, graph_splat(graph, first, index->shape));
  HloInstruction *end = graph_integer(graph, TYPE_S32, whole_size, index->shape);
  HloInstruction *is_inside = graph_compare(graph, COMPARISON_DIRECTION_LT, index, end);
  return graph_select(graph, is_inside, value, graph_splat(graph, fill, shape));
}
