#include "hlo/ir/sharding_tiles.h"

#include <string.h>

#include "base/checked_math.h"
#include "hlo/ir/device_mesh.h"
#include "hlo/type/shape.h"

const HloSharding *hlo_sharding_of_leaf(const HloSharding *sharding, int64_t leaf) {
  if (sharding == NULL || sharding->kind != SHARDING_TUPLE) return sharding;
  return leaf < sharding->tuple_count ? &sharding->tuple[leaf] : NULL;
}

/* --- from shardings --- */

typedef struct TilesSite {
  Arena *arena;
  const HloSharding *sharding;
  const ShardedArray *array;
  DiagSink *diag;
  ShardingTiles *out;
} TilesSite;

static Status tiles_error(const TilesSite *site, Status status, const char *format, ...) PRINTF_LIKE(3, 4);
static Status tiles_error(const TilesSite *site, Status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = arena_vprintf(site->diag->arena, format, arguments);
  va_end(arguments);
  return diag_error(site->diag, status, site->array->loc, "sharding", "%.*s: %s", SV_ARG(site->array->label), text);
}

/* One tile, which every device has. */
static void fill_whole(const TilesSite *site) {
  int64_t rank = site->out->rank, *counts = ARENA_NEW_ARRAY(site->arena, int64_t, rank);
  for (int64_t i = 0; i < rank; i++) counts[i] = 1;
  site->out->counts = counts;
  site->out->places = ARENA_NEW_ARRAY(site->arena, int64_t, site->out->device_count *rank);
}

static Status check_devices(const TilesSite *site, Int64List devices) {
  int64_t count = site->out->device_count;
  bool *seen = ARENA_NEW_ARRAY(site->arena, bool, count);
  for (int64_t i = 0; i < devices.count; i++) {
    int64_t device = devices.data[i];
    if (device < 0 || device >= count || seen[device])
      return tiles_error(site, STATUS_INVALID, "the sharding names device %lld %s %lld", (long long)device,
                         device < 0 || device >= count ? "of" : "twice among", (long long)count);
    seen[device] = true;
  }
  return STATUS_OK;
}

static Status wrong_count(const TilesSite *site, int64_t devices) {
  return tiles_error(site, STATUS_INVALID, "the sharding is for %lld devices, there are %lld", (long long)devices,
                     (long long)site->out->device_count);
}

static Status fill_tiled(const TilesSite *site) {
  const HloSharding *sharding = site->sharding;
  ShardingTiles *out = site->out;
  int64_t listed = 1;
  for (int64_t i = 0; i < sharding->tile_dims.count; i++) {
    if (sharding->tile_dims.data[i] <= 0 || !checked_mul(listed, sharding->tile_dims.data[i], &listed))
      return wrong_count(site, INT64_MAX);
  }
  if (listed != out->device_count) return wrong_count(site, listed);
  if (sharding->iota != NULL && iota_tile_count(site->arena, sharding->iota) != listed)
    return tiles_error(site, STATUS_INVALID, "the sharding does not arrange %lld devices", (long long)listed);
  Int64List devices = sharding->iota != NULL ? iota_tile_devices(site->arena, sharding->iota) : sharding->devices;
  if (devices.count != listed)
    return tiles_error(site, STATUS_INVALID, "the sharding has %lld tiles for %lld devices", (long long)listed,
                       (long long)devices.count);
  RETURN_IF_ERROR(check_devices(site, devices));
  out->counts = sharding->tile_dims.data;
  int64_t copies = 1, *places = ARENA_NEW_ARRAY(site->arena, int64_t, out->device_count * out->rank);
  for (int64_t i = out->rank; i < sharding->tile_dims.count; i++) copies *= sharding->tile_dims.data[i];
  for (int64_t position = 0; position < devices.count; position++) {
    int64_t rest = position / copies;
    for (int i = out->rank - 1; i >= 0; i--) {
      places[devices.data[position] * out->rank + i] = rest % out->counts[i];
      rest /= out->counts[i];
    }
  }
  out->places = places;
  return STATUS_OK;
}

static Status fill_mesh(const TilesSite *site) {
  const HloSharding *sharding = site->sharding;
  ShardingTiles *out = site->out;
  int64_t listed = mesh_device_count(sharding->mesh);
  if (listed != out->device_count) return wrong_count(site, listed);
  Int64List devices = mesh_devices(site->arena, sharding->mesh);
  if (devices.count != listed)
    return tiles_error(site, STATUS_INVALID, "the sharding does not arrange %lld devices", (long long)listed);
  RETURN_IF_ERROR(check_devices(site, devices));
  bool *seen = ARENA_NEW_ARRAY(site->arena, bool, sharding->mesh->axis_count);
  int64_t *counts = ARENA_NEW_ARRAY(site->arena, int64_t, out->rank);
  int64_t *places = ARENA_NEW_ARRAY(site->arena, int64_t, out->device_count * out->rank);
  for (int i = 0; i < out->rank; i++) {
    int64_t size = 1;
    const char *mistake = mesh_axes_mistake(sharding->mesh, &sharding->mesh_dims[i], seen, &size);
    if (mistake != NULL) return tiles_error(site, STATUS_INVALID, "the sharding names %s", mistake);
    counts[i] = mesh_axes_size(sharding->mesh, &sharding->mesh_dims[i]);
    for (int64_t position = 0; position < devices.count; position++) {
      places[devices.data[position] * out->rank + i] =
          mesh_axes_index(sharding->mesh, &sharding->mesh_dims[i], position);
    }
  }
  out->counts = counts;
  out->places = places;
  return STATUS_OK;
}

static bool has_partial_sums(const HloSharding *sharding) {
  for (int64_t i = 0; i < sharding->last_tile_dims.count; i++) {
    if (sharding->last_tile_dims.data[i] == SHARDING_UNREDUCED) return true;
  }
  return sharding->kind == SHARDING_UNREDUCED || sharding->mesh_unreduced.count > 0 ||
         (sharding->kind == SHARDING_MESH && sharding->mesh_short == SHARDING_UNREDUCED);
}

/* The number of the one device that has the value; -1: none. */
static int64_t owner_of(const HloSharding *sharding) {
  if (sharding->kind == SHARDING_MAXIMAL) return sharding->device;
  bool is_maximal = sharding->kind == SHARDING_MESH && sharding->mesh != NULL && sharding->mesh->is_maximal;
  return is_maximal ? sharding->mesh->maximal_device : -1;
}

Status sharding_tiles_create(Arena *arena, const HloSharding *sharding, const ShardedArray *array, DiagSink *diag,
                             ShardingTiles *out_tiles) {
  TilesSite site = {arena, sharding, array, diag, out_tiles};
  *out_tiles = (ShardingTiles){.rank = array->rank, .device_count = array->device_count, .owner = -1};
  fill_whole(&site);
  if (sharding == NULL) return STATUS_OK;
  if (has_partial_sums(sharding)) return tiles_error(&site, STATUS_UNSUPPORTED, "devices hold partial sums");
  out_tiles->owner = owner_of(sharding);
  if (out_tiles->owner >= array->device_count) return check_devices(&site, (Int64List){1, &out_tiles->owner});
  bool has_axes = sharding->kind == SHARDING_MESH && sharding->mesh != NULL && out_tiles->owner < 0 &&
                  sharding->mesh_short == SHARDING_TILED;
  if (sharding->kind != SHARDING_TILED && !has_axes) return STATUS_OK;
  int64_t given = has_axes ? sharding->mesh_dim_count : sharding->tile_dims.count - sharding->last_tile_dims.count;
  if (given != array->rank)
    return tiles_error(&site, STATUS_INVALID, "the sharding is for %lld dimensions, there are %d", (long long)given,
                       array->rank);
  return has_axes ? fill_mesh(&site) : fill_tiled(&site);
}

bool sharding_tiles_is_split(const ShardingTiles *tiles) {
  for (int i = 0; i < tiles->rank; i++) {
    if (tiles->counts[i] > 1) return true;
  }
  return false;
}

/* --- tiles of arrays --- */

void sharding_tile_dims(const ShardingTiles *tiles, const int64_t *dims, int64_t *out_dims) {
  for (int i = 0; i < tiles->rank; i++) out_dims[i] = ceil_div(dims[i], tiles->counts[i]);
}

/* The part of a device's tile that is not padding, and its place in the whole. */
typedef struct TileBox {
  int rank;
  int64_t sizes[SHAPE_MAX_RANK], tile_strides[SHAPE_MAX_RANK], whole_strides[SHAPE_MAX_RANK];
  int64_t whole_start; /* in elements */
  bool is_empty;
} TileBox;

static TileBox box_of(const ShardingTiles *tiles, int64_t device, const int64_t *dims) {
  TileBox box = {.rank = tiles->rank};
  int64_t tile[SHAPE_MAX_RANK], tile_stride = 1, whole_stride = 1;
  sharding_tile_dims(tiles, dims, tile);
  for (int i = tiles->rank - 1; i >= 0; i--) {
    int64_t start = min_i64(tiles->places[device * tiles->rank + i] * tile[i], dims[i]);
    box.sizes[i] = min_i64(tile[i], dims[i] - start);
    box.tile_strides[i] = tile_stride;
    box.whole_strides[i] = whole_stride;
    box.whole_start += start * whole_stride;
    tile_stride *= tile[i];
    whole_stride *= dims[i];
    if (box.sizes[i] == 0) box.is_empty = true;
  }
  return box;
}

/* A run of elements of the box, in the tile and in the whole; false to stop. */
typedef bool RunVisitor(void *context, int64_t in_tile, int64_t in_whole, int64_t count);

static void visit_runs(const TileBox *box, RunVisitor *visit, void *context) {
  int64_t index[SHAPE_MAX_RANK] = {0}, in_tile = 0, in_whole = box->whole_start;
  int outer = box->rank > 0 ? box->rank - 1 : 0;
  int64_t row = box->rank > 0 ? box->sizes[outer] : 1;
  if (box->is_empty) return;
  while (visit(context, in_tile, in_whole, row)) {
    int i = outer - 1;
    for (; i >= 0; i--) {
      in_tile += box->tile_strides[i];
      in_whole += box->whole_strides[i];
      if (++index[i] < box->sizes[i]) break;
      in_tile -= box->sizes[i] * box->tile_strides[i];
      in_whole -= box->sizes[i] * box->whole_strides[i];
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

typedef struct TileCopy {
  size_t unit;
  char *to;
  const char *from;
  bool is_equal;
} TileCopy;

static bool copy_to_tile(void *context, int64_t in_tile, int64_t in_whole, int64_t count) {
  TileCopy *copy = context;
  memcpy(copy->to + (size_t)in_tile * copy->unit, copy->from + (size_t)in_whole * copy->unit,
         (size_t)count * copy->unit);
  return true;
}

static bool copy_to_whole(void *context, int64_t in_tile, int64_t in_whole, int64_t count) {
  return copy_to_tile(context, in_whole, in_tile, count);
}

static bool compare_run(void *context, int64_t in_tile, int64_t in_whole, int64_t count) {
  TileCopy *copy = context;
  copy->is_equal = memcmp(copy->to + (size_t)in_tile * copy->unit, copy->from + (size_t)in_whole * copy->unit,
                          (size_t)count * copy->unit) == 0;
  return copy->is_equal;
}

void sharding_tile_take(const ShardingTiles *tiles, int64_t device, const int64_t *dims, size_t unit, const void *whole,
                        void *out_tile) {
  int64_t tile[SHAPE_MAX_RANK], count = 1;
  sharding_tile_dims(tiles, dims, tile);
  for (int i = 0; i < tiles->rank; i++) count *= tile[i];
  memset(out_tile, 0, (size_t)count * unit);
  TileBox box = box_of(tiles, device, dims);
  visit_runs(&box, copy_to_tile, &(TileCopy){.unit = unit, .to = out_tile, .from = whole});
}

void sharding_tile_put(const ShardingTiles *tiles, int64_t device, const int64_t *dims, size_t unit, const void *tile,
                       void *whole) {
  TileBox box = box_of(tiles, device, dims);
  visit_runs(&box, copy_to_whole, &(TileCopy){.unit = unit, .to = whole, .from = tile});
}

bool sharding_tile_equal(const ShardingTiles *tiles, int64_t device, const int64_t *dims, size_t unit, const void *tile,
                         const void *whole) {
  TileBox box = box_of(tiles, device, dims);
  TileCopy copy = {.unit = unit, .to = (char *)(uintptr_t)tile, .from = whole, .is_equal = true};
  visit_runs(&box, compare_run, &copy);
  return copy.is_equal;
}
