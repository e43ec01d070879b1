#include "passes/spmd/reshard_search.h"

#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "passes/spmd/reshard_bundles.h"

/* A state has the axes of each dimension one after the other, each list ended by END. */
enum { END = 0xff, MOST_STATES = 3000 };

typedef struct ReshardState {
  uint8_t *dims;
  int length;
  AxisMask partial;
  double bytes;
  int steps;
  int before; /* number of the state that it came from; -1: the first */
  bool is_done;
  ReshardStep step; /* from there */
} ReshardState;

typedef struct ReshardSearch {
  Arena *arena;
  const SpmdMesh *mesh;
  const Shape *whole;
  const AxisSharding *to;
  AxisMask wanted; /* axes of |to| */
  ARRAY(ReshardState) states;
  StringMap numbers; /* of states, by their bytes */
} ReshardSearch;

/* The dimensions of a state as lists. */
typedef struct ReshardDims {
  AxisList dims[SHAPE_MAX_RANK];
  AxisMask used;
} ReshardDims;

static ReshardDims read_state(const ReshardSearch *search, const ReshardState *state) {
  ReshardDims result = {.used = state->partial};
  const uint8_t *at = state->dims;
  for (int d = 0; d < search->whole->rank; d++) {
    const uint8_t *first = at;
    while (*at != END) at++;
    result.dims[d] = (AxisList){(int)(at - first), first};
    result.used |= axis_list_mask(result.dims[d]);
    at++;
  }
  return result;
}

static double unit_bytes(const Shape *shape) {
  return type_bits(shape->type) < 8 ? 1 : (double)type_bits(shape->type) / 8;
}

/* Bytes of a device's part. */
static double part_bytes(const ReshardSearch *search, const ReshardDims *dims) {
  double bytes = unit_bytes(search->whole);
  for (int d = 0; d < search->whole->rank; d++)
    bytes *= (double)reshard_tile(search->whole->dims[d], axis_list_size(search->mesh, dims->dims[d]));
  return bytes;
}

/* --- what is possible --- */

/* Tiles of |many| and of |few| begin at common borders; one tile is the whole. */
static bool tiles_align(const ReshardSearch *search, int dim, int64_t few, int64_t many) {
  int64_t size = search->whole->dims[dim];
  return few == 1 || reshard_tile(size, few) == reshard_tile(size, many) * (many / few);
}

static bool can_append(const ReshardSearch *search, const ReshardDims *dims, int dim, AxisList axes) {
  int64_t few = axis_list_size(search->mesh, dims->dims[dim]);
  return tiles_align(search, dim, few, few * axis_list_size(search->mesh, axes));
}

static bool can_drop(const ReshardSearch *search, const ReshardDims *dims, int dim, int count) {
  AxisList list = dims->dims[dim];
  int64_t few = axis_list_size(search->mesh, axis_list_part(list, 0, list.count - count));
  return tiles_align(search, dim, few, axis_list_size(search->mesh, list));
}

/* --- states --- */

static void add_state(ReshardSearch *search, const ReshardDims *dims, AxisMask partial, int before, double bytes,
                      ReshardStep step) {
  uint8_t *text = ARENA_NEW_ARRAY(search->arena, uint8_t, SPMD_MOST_AXES + SHAPE_MAX_RANK + sizeof partial + 1);
  int length = 0;
  for (int d = 0; d < search->whole->rank; d++) {
    if (dims->dims[d].count > 0) memcpy(text + length, dims->dims[d].axes, (size_t)dims->dims[d].count);
    length += dims->dims[d].count;
    text[length++] = END;
  }
  memcpy(text + length, &partial, sizeof partial);
  ReshardState state = {.dims = text, .length = length, .partial = partial, .before = before, .step = step};
  if (before >= 0) {
    state.bytes = search->states.data[before].bytes + bytes;
    state.steps = search->states.data[before].steps + 1;
  }
  StringView key = {(const char *)text, (size_t)length + sizeof partial};
  const int64_t *number = string_map_get(&search->numbers, key);
  if (number != NULL) {
    ReshardState *known = &search->states.data[*number];
    bool is_better = state.bytes < known->bytes || (state.bytes == known->bytes && state.steps < known->steps);
    if (!known->is_done && is_better) *known = state;
    return;
  }
  if (search->states.count >= MOST_STATES) return;
  string_map_set(&search->numbers, key, ARENA_COPY_ARRAY(search->arena, int64_t, &search->states.count, 1));
  array_push(&search->states, search->arena, state);
}

static AxisList one_axis(Arena *arena, int axis) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, 1);
  axes[0] = (uint8_t)axis;
  return (AxisList){1, axes};
}

/* --- moves: each adds the states that one step leads to --- */

typedef struct ReshardMove {
  ReshardSearch *search;
  int number; /* of the state */
  ReshardDims dims;
  AxisMask partial;
  double bytes; /* of a part */
} ReshardMove;

static void add_slices(const ReshardMove *move) {
  ReshardSearch *search = move->search;
  for (int axis = 0; axis < search->mesh->axis_count; axis++) {
    if (!(search->wanted >> axis & 1) || (move->dims.used >> axis & 1)) continue;
    AxisList list = one_axis(search->arena, axis);
    for (int d = 0; d < search->whole->rank; d++) {
      if (search->to->dims[d].count == 0 || !can_append(search, &move->dims, d, list)) continue;
      ReshardDims next = move->dims;
      next.dims[d] = axis_lists_join(search->arena, next.dims[d], list);
      add_state(search, &next, move->partial, move->number, 0, (ReshardStep){RESHARD_SLICE, -1, d, list});
    }
  }
}

static void add_gathers(const ReshardMove *move) {
  ReshardSearch *search = move->search;
  for (int d = 0; d < search->whole->rank; d++) {
    AxisList list = move->dims.dims[d];
    for (int count = 1; count <= list.count; count++) {
      if (!can_drop(search, &move->dims, d, count)) continue;
      AxisList axes = axis_list_part(list, list.count - count, count);
      double members = (double)axis_list_size(search->mesh, axes);
      ReshardDims next = move->dims;
      next.dims[d] = axis_list_part(list, 0, list.count - count);
      add_state(search, &next, move->partial, move->number, move->bytes * (members - 1),
                (ReshardStep){RESHARD_GATHER, d, -1, axes});
    }
  }
}

static void add_all_to_alls(const ReshardMove *move) {
  ReshardSearch *search = move->search;
  for (int d = 0; d < search->whole->rank; d++) {
    AxisList list = move->dims.dims[d];
    for (int count = 1; count <= list.count; count++) {
      AxisList axes = axis_list_part(list, list.count - count, count);
      if (!can_drop(search, &move->dims, d, count)) continue;
      for (int e = 0; e < search->whole->rank; e++) {
        if (e == d || search->to->dims[e].count == 0 || !can_append(search, &move->dims, e, axes)) continue;
        int64_t members = axis_list_size(search->mesh, axes);
        int64_t size = search->whole->dims[e], tiles = axis_list_size(search->mesh, move->dims.dims[e]);
        ReshardDims next = move->dims;
        next.dims[d] = axis_list_part(list, 0, list.count - count);
        next.dims[e] = axis_lists_join(search->arena, next.dims[e], axes);
        double padded =
            move->bytes / (double)reshard_tile(size, tiles) * (double)(reshard_tile(size, tiles * members) * members);
        add_state(search, &next, move->partial, move->number, padded * (double)(members - 1) / (double)members,
                  (ReshardStep){RESHARD_ALL_TO_ALL, d, e, axes});
      }
    }
  }
}

/* Of the devices those whose part goes elsewhere when axis a takes the place of map[a]: not those with one digit along
 * all axes of each cycle. */
static double moving_share(const SpmdMesh *mesh, const uint8_t *map) {
  double staying = 1;
  AxisMask seen = 0;
  for (int a = 0; a < mesh->axis_count; a++) {
    for (int b = map[a]; !(seen >> b & 1) && b != a; b = map[b]) {
      seen |= (AxisMask)1 << b;
      staying /= (double)mesh->sizes[b];
    }
    seen |= (AxisMask)1 << a;
  }
  return 1 - staying;
}

/* Completes |map|, which has UNSET for axes that may become any other of their size. */
enum { UNSET = 0xff };
static bool complete_map(const SpmdMesh *mesh, uint8_t *map) {
  AxisMask targets = 0;
  for (int a = 0; a < mesh->axis_count; a++) {
    if (map[a] != UNSET) targets |= (AxisMask)1 << map[a];
  }
  for (int a = 0; a < mesh->axis_count; a++) {
    if (map[a] == UNSET && !(targets >> a & 1)) {
      map[a] = (uint8_t)a;
      targets |= (AxisMask)1 << a;
    }
  }
  for (int a = 0; a < mesh->axis_count; a++) {
    for (int b = 0; b < mesh->axis_count && map[a] == UNSET; b++) {
      if ((targets >> b & 1) || mesh->sizes[a] != mesh->sizes[b]) continue;
      map[a] = (uint8_t)b;
      targets |= (AxisMask)1 << b;
    }
    if (map[a] == UNSET) return false;
  }
  return true;
}

static void add_permute(const ReshardMove *move, uint8_t *map) {
  ReshardSearch *search = move->search;
  if (!complete_map(search->mesh, map)) return;
  for (int a = 0; a < search->mesh->axis_count; a++) {
    if ((move->partial >> a & 1) && map[a] != a) return;
  }
  ReshardDims next = move->dims;
  for (int d = 0; d < search->whole->rank; d++) {
    uint8_t *axes = ARENA_COPY_ARRAY(search->arena, uint8_t, next.dims[d].axes, next.dims[d].count);
    for (int i = 0; i < next.dims[d].count; i++) axes[i] = map[axes[i]];
    next.dims[d].axes = axes;
  }
  add_state(search, &next, move->partial, move->number, move->bytes * moving_share(search->mesh, map),
            (ReshardStep){RESHARD_PERMUTE, -1, -1, {search->mesh->axis_count, map}});
}

static uint8_t *new_map(const ReshardSearch *search) {
  uint8_t *map = ARENA_NEW_ARRAY(search->arena, uint8_t, search->mesh->axis_count);
  for (int a = 0; a < search->mesh->axis_count; a++) map[a] = UNSET;
  return map;
}

/* Other axes of the same sizes where the result has them: one of them, or all. */
static void add_permutes(const ReshardMove *move) {
  ReshardSearch *search = move->search;
  const SpmdMesh *mesh = search->mesh;
  uint8_t *all = new_map(search);
  bool differs = false, fits = true;
  for (int d = 0; d < search->whole->rank; d++) {
    AxisList has = move->dims.dims[d], wants = search->to->dims[d];
    fits &= has.count == wants.count;
    for (int k = 0; k < has.count && k < wants.count; k++) {
      int x = has.axes[k], y = wants.axes[k];
      fits &= mesh->sizes[x] == mesh->sizes[y];
      all[x] = (uint8_t)y;
      differs |= x != y;
      if (x == y || mesh->sizes[x] != mesh->sizes[y]) continue;
      uint8_t *one = new_map(search);
      one[x] = (uint8_t)y;
      one[y] = (uint8_t)x;
      add_permute(move, one);
    }
  }
  if (differs && fits) add_permute(move, all);
}

static void add_reductions(const ReshardMove *move) {
  ReshardSearch *search = move->search;
  const SpmdMesh *mesh = search->mesh;
  if (move->partial == 0) return;
  AxisMask sets[2] = {move->partial, move->partial & ~search->wanted};
  for (int i = 0; i < 2; i++) {
    if (sets[i] == 0 || (i == 1 && sets[1] == sets[0])) continue;
    double members = (double)axis_mask_size(mesh, sets[i]);
    add_state(search, &move->dims, move->partial & ~sets[i], move->number, 2 * move->bytes * (members - 1) / members,
              (ReshardStep){RESHARD_ALL_REDUCE, -1, -1, axis_mask_list(search->arena, sets[i])});
  }
  for (int axis = 0; axis < mesh->axis_count; axis++) {
    if (!(move->partial >> axis & 1)) continue;
    AxisList list = one_axis(search->arena, axis);
    double members = (double)mesh->sizes[axis];
    for (int d = 0; d < search->whole->rank; d++) {
      int64_t tiles = axis_list_size(mesh, move->dims.dims[d]), tile = reshard_tile(search->whole->dims[d], tiles);
      if (!can_append(search, &move->dims, d, list) || tile < mesh->sizes[axis]) continue;
      ReshardDims next = move->dims;
      next.dims[d] = axis_lists_join(search->arena, next.dims[d], list);
      next.used &= ~((AxisMask)1 << axis);
      double padded = move->bytes / (double)tile *
                      (double)(reshard_tile(search->whole->dims[d], tiles * mesh->sizes[axis]) * mesh->sizes[axis]);
      add_state(search, &next, move->partial & ~((AxisMask)1 << axis), move->number, padded * (members - 1) / members,
                (ReshardStep){RESHARD_REDUCE_SCATTER, -1, d, list});
    }
  }
}

static void add_moves(ReshardSearch *search, int number) {
  const ReshardState state = search->states.data[number];
  ReshardMove move = {search, number, read_state(search, &state), state.partial, 0};
  move.bytes = part_bytes(search, &move.dims);
  add_slices(&move);
  add_all_to_alls(&move);
  add_permutes(&move);
  add_reductions(&move);
  add_gathers(&move);
}

/* --- the way --- */

static bool is_goal(const ReshardSearch *search, const ReshardState *state) {
  if (state->partial != 0) return false;
  ReshardDims dims = read_state(search, state);
  for (int d = 0; d < search->whole->rank; d++) {
    if (!axis_lists_equal(dims.dims[d], search->to->dims[d])) return false;
  }
  return true;
}

static int cheapest(const ReshardSearch *search) {
  int best = -1;
  for (int i = 0; i < search->states.count; i++) {
    const ReshardState *state = &search->states.data[i];
    if (state->is_done) continue;
    if (best < 0 || state->bytes < search->states.data[best].bytes ||
        (state->bytes == search->states.data[best].bytes && state->steps < search->states.data[best].steps))
      best = i;
  }
  return best;
}

static ReshardPlan way_to(const ReshardSearch *search, int number) {
  const ReshardState *last = &search->states.data[number];
  ReshardStep *steps = ARENA_NEW_ARRAY(search->arena, ReshardStep, last->steps + 1);
  for (int at = number; search->states.data[at].before >= 0; at = search->states.data[at].before)
    steps[search->states.data[at].steps - 1] = search->states.data[at].step;
  return (ReshardPlan){last->steps, steps, last->bytes};
}

/* Always possible: reduce, gather what is divided otherwise, slice. */
static ReshardPlan plain_way(const ReshardSearch *search) {
  ReshardStep *steps = ARENA_NEW_ARRAY(search->arena, ReshardStep, 2 * search->whole->rank + 1);
  ReshardPlan plan = {0, steps, 0};
  const ReshardState first = search->states.data[0];
  ReshardDims dims = read_state(search, &first);
  double bytes = part_bytes(search, &dims);
  if (first.partial != 0) {
    double members = (double)axis_mask_size(search->mesh, first.partial);
    steps[plan.count++] = (ReshardStep){RESHARD_ALL_REDUCE, -1, -1, axis_mask_list(search->arena, first.partial)};
    plan.bytes += 2 * bytes * (members - 1) / members;
  }
  for (int d = 0; d < search->whole->rank; d++) {
    if (dims.dims[d].count == 0 || axis_lists_equal(dims.dims[d], search->to->dims[d])) continue;
    double members = (double)axis_list_size(search->mesh, dims.dims[d]);
    steps[plan.count++] = (ReshardStep){RESHARD_GATHER, d, -1, dims.dims[d]};
    plan.bytes += bytes * (members - 1);
    bytes *= members;
  }
  for (int d = 0; d < search->whole->rank; d++) {
    if (search->to->dims[d].count == 0 || axis_lists_equal(dims.dims[d], search->to->dims[d])) continue;
    steps[plan.count++] = (ReshardStep){RESHARD_SLICE, -1, d, search->to->dims[d]};
  }
  return plan;
}

static ReshardPlan search_way(Arena *arena, const SpmdMesh *mesh, const Shape *whole, const AxisSharding *from,
                              AxisMask partial, const AxisSharding *to) {
  ReshardSearch search = {.arena = arena, .mesh = mesh, .whole = whole, .to = to, .wanted = axis_sharding_mask(to)};
  string_map_init(&search.numbers, arena);
  ReshardDims dims = {0};
  for (int d = 0; d < whole->rank; d++) dims.dims[d] = from->dims[d];
  add_state(&search, &dims, partial, -1, 0, (ReshardStep){0});
  for (int number = 0; number >= 0; number = cheapest(&search)) {
    if (is_goal(&search, &search.states.data[number])) return way_to(&search, number);
    search.states.data[number].is_done = true;
    add_moves(&search, number);
  }
  return plain_way(&search);
}

/* What the search looks at is many times what it finds, so it has an arena of its own. */
ReshardPlan spmd_plan_reshard(Arena *arena, const SpmdMesh *mesh, const Shape *whole, const AxisSharding *from,
                              AxisMask partial, const AxisSharding *to) {
  Arena *scratch = arena_create();
  ReshardBundles bundles = reshard_bundles_create(scratch, mesh, from, partial, to);
  ReshardPlan plan = search_way(scratch, bundles.mesh, whole, &bundles.from, bundles.partial, &bundles.to);
  plan = reshard_bundles_expand(arena, &bundles, &plan);
  arena_destroy(scratch);
  return plan;
}
