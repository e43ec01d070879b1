#include "passes/spmd/reshard.h"

#include "passes/spmd/reshard_search.h"

/* --- orders --- */

static int64_t device_at(const SpmdMesh *mesh, const int64_t *order, int64_t position) {
  if (order != NULL) return order[position];
  return mesh->devices != NULL ? mesh->devices[position] : position;
}

/* By position in the mesh, where the part of a device goes whose place changes from |from|'s order to |to|'s. */
static int64_t *reorder_targets(Arena *arena, const SpmdMesh *mesh, const int64_t *from, const int64_t *to) {
  int64_t count = mesh->device_count, *targets = ARENA_NEW_ARRAY(arena, int64_t, count),
          *positions = ARENA_NEW_ARRAY(arena, int64_t, count);
  for (int64_t i = 0; i < count; i++) positions[device_at(mesh, NULL, i)] = i;
  for (int64_t i = 0; i < count; i++) targets[positions[device_at(mesh, from, i)]] = positions[device_at(mesh, to, i)];
  return targets;
}

static double moving_share(const SpmdMesh *mesh, const int64_t *targets) {
  int64_t moving = 0;
  for (int64_t i = 0; i < mesh->device_count; i++) moving += targets[i] >= 0 && targets[i] != i;
  return (double)moving / (double)mesh->device_count;
}

static double local_bytes(const SpmdMesh *mesh, const Shape *whole, const AxisSharding *sharding) {
  double bytes = type_bits(whole->type) < 8 ? 1 : (double)type_bits(whole->type) / 8;
  for (int d = 0; d < whole->rank; d++)
    bytes *= (double)reshard_tile(whole->dims[d], axis_sharding_tiles(mesh, sharding, d));
  return bytes;
}

/* --- bytes --- */

double spmd_reshard_bytes(Arena *scratch, const SpmdMesh *mesh, const Shape *whole, const AxisSharding *from,
                          AxisMask partial, const AxisSharding *to) {
  if (partial == 0 && axis_shardings_equal(from, to)) return 0;
  double bytes = 0;
  if (from->order != to->order && from->order != NULL && !axis_sharding_is_replicated(from))
    bytes += local_bytes(mesh, whole, from) * moving_share(mesh, reorder_targets(scratch, mesh, from->order, NULL));
  if (from->order != to->order && to->order != NULL && !axis_sharding_is_replicated(to))
    bytes += local_bytes(mesh, whole, to) * moving_share(mesh, reorder_targets(scratch, mesh, NULL, to->order));
  return bytes + spmd_plan_reshard(scratch, mesh, whole, from, partial, to).bytes;
}

/* --- steps --- */

typedef struct Resharding {
  SpmdBuilder *builder;
  const Shape *whole;
  HloComputation *reducer;
  HloInstruction *value;
  AxisList dims[SHAPE_MAX_RANK];
} Resharding;

static int64_t tile_with(const Resharding *reshard, int dim, AxisList axes) {
  return reshard_tile(reshard->whole->dims[dim], axis_list_size(reshard->builder->mesh, axes));
}

/* |dim| becomes |size| elements long, at its end. */
static void resize(Resharding *reshard, int dim, int64_t size) {
  GraphBuilder *graph = &reshard->builder->graph;
  int64_t has = reshard->value->shape->dims[dim];
  if (has < size)
    reshard->value =
        graph_pad(graph, reshard->value, graph_zero(graph, reshard->value->shape->type, NULL), dim, size - has);
  else if (has > size)
    reshard->value = graph_slice(graph, reshard->value, dim, 0, size);
}

static void append(Resharding *reshard, int dim, AxisList axes) {
  reshard->dims[dim] = axis_lists_join(reshard->builder->arena, reshard->dims[dim], axes);
}

static void drop(Resharding *reshard, int dim, int count) {
  reshard->dims[dim] = axis_list_part(reshard->dims[dim], 0, reshard->dims[dim].count - count);
}

static void do_slice(Resharding *reshard, const ReshardStep *step) {
  SpmdBuilder *builder = reshard->builder;
  append(reshard, step->to, step->axes);
  int64_t tile = tile_with(reshard, step->to, reshard->dims[step->to]);
  resize(reshard, step->to, tile * axis_list_size(builder->mesh, step->axes));
  HloInstruction *start = spmd_offset(builder, step->axes, tile);
  reshard->value = graph_take_run(&builder->graph, reshard->value, step->to, start, tile);
}

static void do_gather(Resharding *reshard, const ReshardStep *step) {
  drop(reshard, step->from, step->axes.count);
  reshard->value = spmd_all_gather(reshard->builder, reshard->value, step->axes, step->from);
  resize(reshard, step->from, tile_with(reshard, step->from, reshard->dims[step->from]));
}

static void do_all_to_all(Resharding *reshard, const ReshardStep *step) {
  drop(reshard, step->from, step->axes.count);
  append(reshard, step->to, step->axes);
  int64_t tile = tile_with(reshard, step->to, reshard->dims[step->to]);
  resize(reshard, step->to, tile * axis_list_size(reshard->builder->mesh, step->axes));
  reshard->value = spmd_all_to_all(reshard->builder, reshard->value, step->axes, step->to, step->from);
  resize(reshard, step->from, tile_with(reshard, step->from, reshard->dims[step->from]));
}

static void do_reduce_scatter(Resharding *reshard, const ReshardStep *step) {
  append(reshard, step->to, step->axes);
  int64_t tile = tile_with(reshard, step->to, reshard->dims[step->to]);
  resize(reshard, step->to, tile * axis_list_size(reshard->builder->mesh, step->axes));
  reshard->value = spmd_reduce_scatter(reshard->builder, reshard->value, step->axes, step->to, reshard->reducer);
}

static void do_all_reduce(Resharding *reshard, const ReshardStep *step) {
  reshard->value = spmd_all_reduce(reshard->builder, reshard->value, step->axes, reshard->reducer);
}

/* A device's part goes to the one that has its digit of each axis along the axis that takes the place. */
static void do_permute(Resharding *reshard, const ReshardStep *step) {
  SpmdBuilder *builder = reshard->builder;
  const SpmdMesh *mesh = builder->mesh;
  const uint8_t *map = step->axes.axes;
  int64_t *targets = ARENA_NEW_ARRAY(builder->arena, int64_t, mesh->device_count);
  for (int64_t at = 0; at < mesh->device_count; at++) {
    for (int a = 0; a < mesh->axis_count; a++)
      targets[at] += at / mesh->strides[a] % mesh->sizes[a] * mesh->strides[map[a]];
  }
  reshard->value = spmd_permute(builder, reshard->value, targets);
  for (int d = 0; d < reshard->whole->rank; d++) {
    uint8_t *axes = ARENA_COPY_ARRAY(builder->arena, uint8_t, reshard->dims[d].axes, reshard->dims[d].count);
    for (int i = 0; i < reshard->dims[d].count; i++) axes[i] = map[axes[i]];
    reshard->dims[d].axes = axes;
  }
}

static void (*const step_doers[])(Resharding *, const ReshardStep *) = {
    [RESHARD_SLICE] = do_slice,
    [RESHARD_GATHER] = do_gather,
    [RESHARD_ALL_TO_ALL] = do_all_to_all,
    [RESHARD_PERMUTE] = do_permute,
    [RESHARD_REDUCE_SCATTER] = do_reduce_scatter,
    [RESHARD_ALL_REDUCE] = do_all_reduce,
};

/* Neighbouring steps of one kind on one dimension are one. */
static int merge_steps(Arena *arena, const ReshardPlan *plan, ReshardStep *merged) {
  int count = 0;
  for (int i = 0; i < plan->count; i++) {
    const ReshardStep *step = &plan->steps[i];
    ReshardStep *last = count > 0 ? &merged[count - 1] : NULL;
    bool is_same = last != NULL && last->kind == step->kind && last->from == step->from && last->to == step->to;
    if (is_same && (step->kind == RESHARD_SLICE || step->kind == RESHARD_REDUCE_SCATTER))
      last->axes = axis_lists_join(arena, last->axes, step->axes);
    else if (is_same && step->kind == RESHARD_GATHER)
      last->axes = axis_lists_join(arena, step->axes, last->axes);
    else
      merged[count++] = *step;
  }
  return count;
}

static HloInstruction *reorder(SpmdBuilder *builder, HloInstruction *value, const int64_t *from, const int64_t *to) {
  int64_t *targets = reorder_targets(builder->arena, builder->mesh, from, to);
  return moving_share(builder->mesh, targets) == 0 ? value : spmd_permute(builder, value, targets);
}

HloInstruction *spmd_reshard(SpmdBuilder *builder, HloInstruction *local, const Shape *whole, const AxisSharding *from,
                             PartialResult partial, const AxisSharding *to) {
  if (partial.axes == 0 && axis_shardings_equal(from, to)) return local;
  Resharding reshard = {.builder = builder, .whole = whole, .reducer = partial.reducer, .value = local};
  for (int d = 0; d < whole->rank; d++) reshard.dims[d] = from->dims[d];
  bool reorders = from->order != to->order;
  if (reorders && from->order != NULL && !axis_sharding_is_replicated(from))
    reshard.value = reorder(builder, reshard.value, from->order, NULL);
  ReshardPlan plan = spmd_plan_reshard(builder->arena, builder->mesh, whole, from, partial.axes, to);
  ReshardStep *steps = ARENA_NEW_ARRAY(builder->arena, ReshardStep, plan.count + 1);
  int count = merge_steps(builder->arena, &plan, steps);
  for (int i = 0; i < count; i++) step_doers[steps[i].kind](&reshard, &steps[i]);
  if (reorders && to->order != NULL && !axis_sharding_is_replicated(to))
    reshard.value = reorder(builder, reshard.value, NULL, to->order);
  return reshard.value;
}
