#include "passes/spmd/axis_sharding.h"

#include <string.h>

#include "base/checked_math.h"
#include "hlo/ir/device_mesh.h"
#include "hlo/ir/sharding_tiles.h"

/* --- meshes --- */

SpmdMesh *spmd_mesh_create(Arena *arena, const int64_t *sizes, int count, const int64_t *devices, int *out_first) {
  SpmdMesh *mesh = ARENA_NEW(arena, SpmdMesh);
  int64_t *primes = ARENA_NEW_ARRAY(arena, int64_t, SPMD_MOST_AXES);
  for (int i = 0; i < count; i++) {
    if (out_first != NULL) out_first[i] = mesh->axis_count;
    int64_t rest = sizes[i];
    for (int64_t prime = 2; rest > 1; prime++) {
      if (prime > rest / prime) prime = rest; /* nothing smaller divides it */
      for (; rest % prime == 0; rest /= prime) primes[mesh->axis_count++] = prime;
    }
  }
  if (out_first != NULL) out_first[count] = mesh->axis_count;
  int64_t *strides = ARENA_NEW_ARRAY(arena, int64_t, mesh->axis_count);
  mesh->device_count = 1;
  for (int a = mesh->axis_count - 1; a >= 0; a--) {
    strides[a] = mesh->device_count;
    mesh->device_count *= primes[a];
  }
  mesh->sizes = primes;
  mesh->strides = strides;
  mesh->devices = devices;
  return mesh;
}

int64_t axis_list_size(const SpmdMesh *mesh, AxisList axes) {
  int64_t size = 1;
  for (int i = 0; i < axes.count; i++) size *= mesh->sizes[axes.axes[i]];
  return size;
}

int64_t axis_mask_size(const SpmdMesh *mesh, AxisMask axes) {
  int64_t size = 1;
  for (int a = 0; a < mesh->axis_count; a++) {
    if (axes >> a & 1) size *= mesh->sizes[a];
  }
  return size;
}

AxisMask axis_list_mask(AxisList axes) {
  AxisMask mask = 0;
  for (int i = 0; i < axes.count; i++) mask |= (AxisMask)1 << axes.axes[i];
  return mask;
}

int64_t axis_list_index(const SpmdMesh *mesh, AxisList axes, int64_t position) {
  int64_t index = 0;
  for (int i = 0; i < axes.count; i++) {
    int axis = axes.axes[i];
    index = index * mesh->sizes[axis] + position / mesh->strides[axis] % mesh->sizes[axis];
  }
  return index;
}

bool axis_lists_equal(AxisList a, AxisList b) {
  return a.count == b.count && (a.count == 0 || memcmp(a.axes, b.axes, (size_t)a.count) == 0);
}

AxisList axis_mask_list(Arena *arena, AxisMask mask) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, SPMD_MOST_AXES);
  int count = 0;
  for (int a = 0; a < SPMD_MOST_AXES; a++) {
    if (mask >> a & 1) axes[count++] = (uint8_t)a;
  }
  return (AxisList){count, axes};
}

AxisList axis_lists_join(Arena *arena, AxisList a, AxisList b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, a.count + b.count);
  memcpy(axes, a.axes, (size_t)a.count);
  memcpy(axes + a.count, b.axes, (size_t)b.count);
  return (AxisList){a.count + b.count, axes};
}

AxisList axis_list_part(AxisList a, int first, int count) {
  return (AxisList){count, count == 0 ? NULL : a.axes + first};
}

bool axis_list_starts_with(AxisList axes, AxisList prefix) {
  return axes.count >= prefix.count && axis_lists_equal(axis_list_part(axes, 0, prefix.count), prefix);
}

/* --- shardings --- */

AxisSharding *axis_sharding_replicated(Arena *arena, int rank, AxisMask manual) {
  AxisSharding *sharding = ARENA_NEW(arena, AxisSharding);
  *sharding = (AxisSharding){.rank = rank, .dims = ARENA_NEW_ARRAY(arena, AxisList, rank), .manual = manual};
  return sharding;
}

AxisSharding *axis_sharding_with(Arena *arena, const AxisSharding *sharding, int dim, AxisList axes) {
  AxisSharding *result = ARENA_NEW(arena, AxisSharding);
  AxisList *dims = ARENA_COPY_ARRAY(arena, AxisList, sharding->dims, sharding->rank);
  dims[dim] = axes;
  *result = *sharding;
  result->dims = dims;
  return result;
}

bool axis_shardings_equal(const AxisSharding *a, const AxisSharding *b) {
  if (a == b) return true;
  if (a->rank != b->rank || a->manual != b->manual || a->order != b->order) return false;
  for (int i = 0; i < a->rank; i++) {
    if (!axis_lists_equal(a->dims[i], b->dims[i])) return false;
  }
  return true;
}

AxisMask axis_sharding_mask(const AxisSharding *sharding) {
  AxisMask mask = 0;
  for (int i = 0; i < sharding->rank; i++) mask |= axis_list_mask(sharding->dims[i]);
  return mask;
}

bool axis_sharding_is_replicated(const AxisSharding *sharding) {
  for (int i = 0; i < sharding->rank; i++) {
    if (sharding->dims[i].count > 0) return false;
  }
  return true;
}

int64_t axis_sharding_tiles(const SpmdMesh *mesh, const AxisSharding *sharding, int dim) {
  return axis_list_size(mesh, sharding->dims[dim]);
}

const Shape *axis_sharding_local(const SpmdMesh *mesh, const AxisSharding *sharding, const Shape *whole,
                                 ShapeTable *shapes) {
  int64_t dims[SHAPE_MAX_RANK];
  for (int i = 0; i < whole->rank; i++) {
    int64_t tiles = axis_sharding_tiles(mesh, sharding, i);
    dims[i] = whole->dims[i] / tiles + (whole->dims[i] % tiles != 0);
  }
  return shape_array_with(shapes, whole->type, dims, whole->dynamic, whole->rank, NULL);
}

bool axis_sharding_is_even(const SpmdMesh *mesh, const AxisSharding *sharding, const Shape *whole, int dim) {
  return whole->dims[dim] % axis_sharding_tiles(mesh, sharding, dim) == 0;
}

/* --- from HLO's words --- */

typedef struct AxisReader {
  Arena *arena;
  const SpmdMesh *mesh;
  const ShardingTiles *tiles;
} AxisReader;

static int64_t place_of(const AxisReader *reader, int64_t position, int dim) {
  const SpmdMesh *mesh = reader->mesh;
  int64_t device = mesh->devices != NULL ? mesh->devices[position] : position;
  return reader->tiles->places[device * reader->tiles->rank + dim];
}

/* The axes along which the tile number of |dim| grows, the one that it grows by most first; false when it is not what
 * these axes make of a position. */
static bool find_axes(const AxisReader *reader, int dim, AxisList *out_axes) {
  const SpmdMesh *mesh = reader->mesh;
  uint8_t *axes = ARENA_NEW_ARRAY(reader->arena, uint8_t, SPMD_MOST_AXES);
  int64_t steps[SPMD_MOST_AXES];
  int count = 0;
  for (int a = 0; a < mesh->axis_count; a++) {
    int64_t step = place_of(reader, mesh->strides[a], dim);
    if (step == 0) continue;
    int at = count++;
    for (; at > 0 && steps[at - 1] < step; at--) {
      steps[at] = steps[at - 1];
      axes[at] = axes[at - 1];
    }
    steps[at] = step;
    axes[at] = (uint8_t)a;
  }
  *out_axes = (AxisList){count, axes};
  for (int64_t position = 0; position < mesh->device_count; position++) {
    if (axis_list_index(mesh, *out_axes, position) != place_of(reader, position, dim)) return false;
  }
  return true;
}

/* Any axes that make the tile counts. */
static void choose_axes(const AxisReader *reader, AxisList *dims) {
  AxisMask used = 0;
  for (int i = 0; i < reader->tiles->rank; i++) {
    uint8_t *axes = ARENA_NEW_ARRAY(reader->arena, uint8_t, SPMD_MOST_AXES);
    int64_t rest = reader->tiles->counts[i];
    int count = 0;
    for (int a = 0; a < reader->mesh->axis_count && rest > 1; a++) {
      if (used >> a & 1 || rest % reader->mesh->sizes[a] != 0) continue;
      used |= (AxisMask)1 << a;
      axes[count++] = (uint8_t)a;
      rest /= reader->mesh->sizes[a];
    }
    dims[i] = (AxisList){count, axes};
  }
}

static int64_t tile_number(const ShardingTiles *tiles, const int64_t *place) {
  int64_t number = 0;
  for (int i = 0; i < tiles->rank; i++) number = number * tiles->counts[i] + place[i];
  return number;
}

/* Which device stands at each position so that |dims| say what the tiles do: copies go by number. */
static const int64_t *order_for(const AxisReader *reader, const AxisList *dims) {
  const ShardingTiles *tiles = reader->tiles;
  int64_t count = reader->mesh->device_count, *order = ARENA_NEW_ARRAY(reader->arena, int64_t, count);
  int64_t *next = ARENA_NEW_ARRAY(reader->arena, int64_t, count),
          *first = ARENA_NEW_ARRAY(reader->arena, int64_t, count);
  for (int64_t i = 0; i < count; i++) first[i] = -1;
  for (int64_t device = count - 1; device >= 0; device--) {
    int64_t tile = tile_number(tiles, tiles->places + device * tiles->rank);
    next[device] = first[tile];
    first[tile] = device;
  }
  for (int64_t position = 0; position < count; position++) {
    int64_t place[SHAPE_MAX_RANK + 8];
    for (int i = 0; i < tiles->rank; i++) place[i] = axis_list_index(reader->mesh, dims[i], position);
    int64_t tile = tile_number(tiles, place);
    order[position] = first[tile];
    first[tile] = next[first[tile]];
  }
  return order;
}

/* The subgroups of |sharding| up to the last manual one become dimensions. */
static HloSharding with_manual_dims(const HloSharding *sharding, int *out_extra) {
  HloSharding wide = *sharding;
  *out_extra = 0;
  for (int64_t i = 0; i < sharding->last_tile_dims.count; i++) {
    if (sharding->last_tile_dims.data[i] == SHARDING_MANUAL) *out_extra = (int)i + 1;
  }
  wide.last_tile_dims.count -= *out_extra;
  if (wide.last_tile_dims.count > 0) wide.last_tile_dims.data += *out_extra;
  return wide;
}

static bool is_all_manual(const HloSharding *sharding) {
  return sharding->kind == SHARDING_MANUAL ||
         (sharding->kind == SHARDING_MESH && sharding->mesh_short == SHARDING_MANUAL);
}

/* The axes of "manual={…}" of a named mesh. */
static AxisMask named_manual_axes(const SpmdMesh *mesh, const HloSharding *sharding) {
  AxisMask manual = 0;
  if (sharding->kind != SHARDING_MESH || sharding->mesh_manual.count == 0) return 0;
  for (int a = 0; a < mesh->axis_count; a++) {
    if (mesh_axes_index(sharding->mesh, &sharding->mesh_manual, mesh->strides[a]) != 0) manual |= (AxisMask)1 << a;
  }
  return manual;
}

Status axis_sharding_from_hlo(Arena *arena, const SpmdMesh *mesh, const HloSharding *sharding, int rank, SourceLoc loc,
                              DiagSink *diag, const AxisSharding **out_sharding) {
  AxisSharding *result = axis_sharding_replicated(arena, rank, 0);
  *out_sharding = result;
  if (sharding == NULL) return STATUS_OK;
  if (is_all_manual(sharding)) {
    result->manual = ((AxisMask)1 << mesh->axis_count) - 1;
    return STATUS_OK;
  }
  int extra;
  HloSharding wide = with_manual_dims(sharding, &extra);
  ShardingTiles tiles;
  const ShardedArray array = {rank + extra, mesh->device_count, loc, SV("the value")};
  RETURN_IF_ERROR(sharding_tiles_create(arena, &wide, &array, diag, &tiles));
  if (tiles.owner >= 0) return STATUS_OK;
  AxisReader reader = {arena, mesh, &tiles};
  AxisList *dims = ARENA_NEW_ARRAY(arena, AxisList, rank + extra);
  bool has_axes = true;
  for (int i = 0; i < rank + extra && has_axes; i++) has_axes = find_axes(&reader, i, &dims[i]);
  if (!has_axes) {
    choose_axes(&reader, dims);
    result->order = order_for(&reader, dims);
  }
  for (int i = 0; i < extra; i++) {
    if (sharding->last_tile_dims.data[i] == SHARDING_MANUAL) result->manual |= axis_list_mask(dims[rank + i]);
  }
  result->manual |= named_manual_axes(mesh, sharding);
  result->dims = dims;
  return STATUS_OK;
}

/* --- to HLO's words --- */

/* The axes in the order of the tile array: those of dimensions, manual ones, the rest. */
static AxisList tile_order(Arena *arena, const SpmdMesh *mesh, const AxisSharding *sharding) {
  AxisList all = {0};
  for (int i = 0; i < sharding->rank; i++) all = axis_lists_join(arena, all, sharding->dims[i]);
  AxisMask divided = axis_list_mask(all), every = ((AxisMask)1 << mesh->axis_count) - 1;
  all = axis_lists_join(arena, all, axis_mask_list(arena, sharding->manual));
  return axis_lists_join(arena, all, axis_mask_list(arena, every & ~divided & ~sharding->manual));
}

/* Runs of neighbouring axes are one dimension of the iota. */
static const IotaTile *order_as_iota(Arena *arena, const SpmdMesh *mesh, AxisList order) {
  IotaTile *iota = ARENA_NEW(arena, IotaTile);
  int64_t *run_sizes = ARENA_NEW_ARRAY(arena, int64_t, order.count + 1),
          *perm = ARENA_NEW_ARRAY(arena, int64_t, order.count + 1);
  int run_first[SPMD_MOST_AXES], count = 0;
  for (int i = 0; i < order.count; i++) {
    bool goes_on = i > 0 && order.axes[i] == order.axes[i - 1] + 1;
    if (!goes_on) {
      run_first[count] = order.axes[i];
      run_sizes[count++] = 1;
    }
    run_sizes[count - 1] *= mesh->sizes[order.axes[i]];
  }
  int64_t *reshape = ARENA_NEW_ARRAY(arena, int64_t, count + 1);
  for (int i = 0; i < count; i++) {
    int rank = 0;
    for (int j = 0; j < count; j++) rank += run_first[j] < run_first[i];
    perm[i] = rank;
    reshape[rank] = run_sizes[i];
  }
  *iota = (IotaTile){count, reshape, perm};
  return iota;
}

static Int64List order_as_list(Arena *arena, const SpmdMesh *mesh, const int64_t *devices, AxisList order) {
  int64_t *list = ARENA_NEW_ARRAY(arena, int64_t, mesh->device_count);
  for (int64_t position = 0; position < mesh->device_count; position++) {
    list[axis_list_index(mesh, order, position)] = devices[position];
  }
  return (Int64List){mesh->device_count, list};
}

const HloSharding *axis_sharding_to_hlo(Arena *arena, const SpmdMesh *mesh, const AxisSharding *sharding) {
  HloSharding *result = ARENA_NEW(arena, HloSharding);
  *result = (HloSharding){.kind = SHARDING_REPLICATED, .shard_as = -1, .shard_like = -1};
  int64_t manual = axis_mask_size(mesh, sharding->manual);
  if (manual == mesh->device_count && manual > 1) result->kind = SHARDING_MANUAL;
  if (result->kind == SHARDING_MANUAL || (manual == 1 && axis_sharding_is_replicated(sharding))) return result;
  result->kind = SHARDING_TILED;
  int64_t *tiles = ARENA_NEW_ARRAY(arena, int64_t, sharding->rank + 2), copies = mesh->device_count / manual;
  int64_t *subgroups = ARENA_NEW_ARRAY(arena, int64_t, 2);
  int count = sharding->rank, groups = 0;
  for (int i = 0; i < sharding->rank; i++) {
    tiles[i] = axis_sharding_tiles(mesh, sharding, i);
    copies /= tiles[i];
  }
  if (manual > 1) {
    tiles[count++] = manual;
    subgroups[groups++] = SHARDING_MANUAL;
  }
  if (copies > 1) {
    tiles[count++] = copies;
    subgroups[groups++] = SHARDING_REPLICATED;
  }
  result->tile_dims = (Int64List){count, tiles};
  result->last_tile_dims = (Int64List){groups, subgroups};
  AxisList order = tile_order(arena, mesh, sharding);
  const int64_t *devices = sharding->order != NULL ? sharding->order : mesh->devices;
  if (devices == NULL)
    result->iota = order_as_iota(arena, mesh, order);
  else
    result->devices = order_as_list(arena, mesh, devices, order);
  return result;
}
