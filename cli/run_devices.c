#include "cli/run_devices.h"

#include "base/checked_math.h"
#include "hlo/infer/device_check.h"
#include "runtime/arrays/tensor_values.h"
#include "runtime/collectives/evaluator_devices.h"

static Status count_devices(Session *session, DeviceCounts *out_counts) {
  const HloModule *module = session->compilation.module;
  RETURN_IF_ERROR(compilation_count_devices(&session->compilation));
  *out_counts = hlo_module_device_counts(module);
  int64_t wanted = device_counts_total(*out_counts);
  if (wanted < 1 || wanted > EVALUATOR_MOST_DEVICES)
    return diag_error(session->diag, STATUS_INVALID, module->loc, "devices", "a run has from 1 to %d devices, not %lld",
                      EVALUATOR_MOST_DEVICES, (long long)wanted);
  return STATUS_OK;
}

Status run_devices_load(Session *session, DeviceCounts *out_counts) {
  RETURN_IF_ERROR(driver_load(session, false));
  RETURN_IF_ERROR(count_devices(session, out_counts));
  const HloModule *module = session->compilation.module;
  if (!session_option_given(session, OPTION_PARTITIONS) && hlo_module_is_whole(module))
    *out_counts = (DeviceCounts){1, 1};
  else
    RETURN_IF_ERROR(compilation_partition(&session->compilation));
  return device_counts_total(*out_counts) > 1 ? hlo_check_partitioned(module, session->diag)
                                              : hlo_check_one_device(module, session->diag);
}

/* --- shardings --- */

/* One side of the module: what its leaves are, and what is said of how they lie. */
typedef struct Side {
  Session *session;
  DeviceCounts counts;
  int64_t leaf_count;
  const XlacTensor *tensors;
  const CaseLeaf *leaves; /* of meta.json */
  int64_t said_count;
  ShardingTiles *tiles;
  char letter; /* "p0", "r0" */
} Side;

static Status add_tiles(const Side *side, int64_t leaf, const HloSharding *sharding, SourceLoc loc) {
  Arena *arena = side->session->arena;
  StringView label = sv_printf(arena, "'%c%lld'", side->letter, (long long)leaf);
  if (sharding == NULL && leaf < side->said_count && side->leaves[leaf].sharding.size > 0) {
    label = sv_printf(arena, "%.*s of '%s'", SV_ARG(label), session_option_text(side->session, OPTION_META, ""));
    RETURN_IF_ERROR(
        compilation_parse_sharding(&side->session->compilation, label, side->leaves[leaf].sharding, &sharding));
  }
  const ShardedArray array = {side->tensors[leaf].rank, side->counts.partitions, loc, label};
  return sharding_tiles_create(arena, sharding, &array, side->session->diag, &side->tiles[leaf]);
}

static const HloSharding *result_sharding(const Session *session) {
  const HloSharding *noted = session->compilation.result_sharding;
  return noted != NULL ? noted : hlo_instruction_sharding(session->compilation.module->entry->root);
}

/* The leaves of |instruction|, which |sharding| is of, from |*next| on. */
static Status add_leaves(const Side *side, const HloInstruction *instruction, const HloSharding *sharding,
                         int64_t *next) {
  int64_t count = shape_leaf_count(instruction->shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t leaf = (*next)++;
    if (leaf < side->leaf_count)
      RETURN_IF_ERROR(add_tiles(side, leaf, hlo_sharding_of_leaf(sharding, i), instruction->loc));
  }
  return STATUS_OK;
}

/* Every result's sharding is known, by the root or meta.json. */
static bool knows_results(const HloSharding *sharding, const CaseMeta *meta, int64_t count) {
  if (sharding != NULL) return true;
  for (int64_t i = 0; i < count; i++)
    if (meta == NULL || i >= meta->result_count || meta->result_leaves[i].sharding.size == 0) return false;
  return count > 0;
}

static Status init_sides(Session *session, const XlacDescriptor *descriptor, RunDevices *devices) {
  const HloComputation *entry = session->compilation.module->entry;
  const CaseMeta *meta = devices->meta;
  const HloSharding *results = result_sharding(session);
  ShardingTiles *tiles = ARENA_NEW_ARRAY(session->arena, ShardingTiles, descriptor->parameter_count);
  Side side = {.session = session,
               .counts = devices->counts,
               .leaf_count = descriptor->parameter_count,
               .tensors = descriptor->parameters,
               .leaves = meta != NULL ? meta->parameter_leaves : NULL,
               .said_count = meta != NULL ? meta->parameter_count : 0,
               .tiles = tiles,
               .letter = 'p'};
  int64_t next = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++)
    RETURN_IF_ERROR(
        add_leaves(&side, entry->parameters.data[i], hlo_instruction_sharding(entry->parameters.data[i]), &next));
  devices->parameters = tiles;
  if (devices->counts.replicas > 1 || !knows_results(results, meta, descriptor->result_count)) return STATUS_OK;
  tiles = ARENA_NEW_ARRAY(session->arena, ShardingTiles, descriptor->result_count);
  side.leaf_count = descriptor->result_count;
  side.tensors = descriptor->results;
  side.leaves = meta != NULL ? meta->result_leaves : NULL;
  side.said_count = meta != NULL ? meta->result_count : 0;
  side.tiles = tiles;
  side.letter = 'r';
  next = 0;
  RETURN_IF_ERROR(add_leaves(&side, entry->root, results, &next));
  devices->results = tiles;
  return STATUS_OK;
}

Status run_devices_init(Session *session, DeviceCounts counts, const CaseMeta *meta, const XlacDescriptor *descriptor,
                        RunDevices *out_devices) {
  int64_t total = device_counts_total(counts);
  *out_devices = (RunDevices){.counts = counts, .count = total, .are_several = total > 1, .meta = meta};
  return out_devices->are_several ? init_sides(session, descriptor, out_devices) : STATUS_OK;
}

/* --- tiles --- */

static bool tiles_are(const ShardingTiles *tiles, const int64_t *dims, const XlacTensor *tensor) {
  int64_t tile[SHAPE_MAX_RANK];
  sharding_tile_dims(tiles, dims, tile);
  for (int i = 0; i < tensor->rank; i++)
    if (tile[i] != tensor->dims[i]) return false;
  return true;
}

Status run_devices_whole_dims(Session *session, const RunDevices *devices, bool is_result, int64_t leaf,
                              const XlacTensor *tensor, const int64_t **out_dims) {
  const ShardingTiles *tiles = is_result ? &devices->results[leaf] : &devices->parameters[leaf];
  const CaseMeta *meta = devices->meta;
  int64_t said_count = meta == NULL ? 0 : is_result ? meta->result_count : meta->parameter_count;
  const CaseLeaf *said = leaf >= said_count ? NULL
                         : is_result        ? &meta->result_leaves[leaf]
                                            : &meta->parameter_leaves[leaf];
  if (said != NULL && said->dims != NULL) {
    if (said->rank != tensor->rank || !tiles_are(tiles, said->dims, tensor))
      return diag_error(session->diag, STATUS_INVALID, NO_LOC, "devices",
                        "'%s': '%c%lld' of shape %.*s has no tiles of %.*s on %lld partitions",
                        session_option_text(session, OPTION_META, ""), is_result ? 'r' : 'p', (long long)leaf,
                        SV_ARG(npy_shape_text(session->arena, said->dims, said->rank)),
                        SV_ARG(tensor_text(session->arena, tensor)), (long long)devices->counts.partitions);
    *out_dims = said->dims;
    return STATUS_OK;
  }
  const WholeShapes *whole = &session->compilation.whole;
  if (whole->parameters != NULL) {
    *out_dims = (is_result ? whole->results : whole->parameters)[leaf]->dims;
    return STATUS_OK;
  }
  int64_t *dims = ARENA_NEW_ARRAY(session->arena, int64_t, tensor->rank);
  for (int i = 0; i < tensor->rank; i++) dims[i] = tensor->dims[i] * tiles->counts[i];
  *out_dims = dims;
  return STATUS_OK;
}

Status run_devices_take(Arena *arena, const RunDevices *devices, const RunTile *tile, const NpyArray *whole,
                        DiagSink *diag, NpyArray *out_tile) {
  const ShardingTiles *tiles = &devices->parameters[tile->leaf];
  const XlacTensor *tensor = tile->tensor;
  *out_tile = *whole;
  if (!sharding_tiles_is_split(tiles)) return STATUS_OK;
  if (whole->rank != tensor->rank || !tiles_are(tiles, whole->dims, tensor))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "input",
                      "'%.*s' of shape %.*s has no tiles of %.*s on %lld partitions", SV_ARG(tile->label),
                      SV_ARG(npy_shape_text(arena, whole->dims, whole->rank)), SV_ARG(tensor_text(arena, tensor)),
                      (long long)devices->counts.partitions);
  size_t unit = (size_t)whole->type.bytes;
  out_tile->dims = tensor->dims;
  out_tile->count = tensor_element_count(tensor);
  void *data = arena_alloc_array(arena, (size_t)out_tile->count, unit);
  sharding_tile_take(tiles, tile->device % devices->counts.partitions, whole->dims, unit, whole->data, data);
  out_tile->data = data;
  return STATUS_OK;
}

NpyArray run_devices_join(Arena *arena, const RunDevices *devices, int64_t leaf, const int64_t *dims,
                          const NpyArray *tiles, int64_t *out_differing) {
  const ShardingTiles *places = &devices->results[leaf];
  NpyArray whole = tiles[0];
  size_t unit = (size_t)whole.type.bytes;
  whole.dims = dims;
  whole.count = 1;
  for (int i = 0; i < whole.rank; i++) whole.count *= dims[i];
  void *data = arena_alloc_array(arena, (size_t)whole.count, unit);
  *out_differing = -1;
  /* Of several copies the first device's is taken. */
  for (int64_t device = devices->counts.partitions - 1; device >= 0; device--) {
    if (places->owner < 0 || places->owner == device)
      sharding_tile_put(places, device, dims, unit, tiles[device].data, data);
  }
  for (int64_t device = 0; device < devices->counts.partitions && *out_differing < 0; device++) {
    bool counts = places->owner < 0 || places->owner == device;
    if (counts && !sharding_tile_equal(places, device, dims, unit, tiles[device].data, data)) *out_differing = device;
  }
  whole.data = data;
  return whole;
}
