/* Sharding annotations: tiles fit the array, devices are distinct and exist. */
#include "base/checked_math.h"
#include "hlo/infer/verifier_internal.h"
#include "hlo/ir/device_mesh.h"

typedef struct ShardingSite {
  Verifier *verifier;
  const HloInstruction *instruction;
  HloAttrId id;
} ShardingSite;

static void sharding_error(const ShardingSite *site, const char *format, ...) PRINTF_LIKE(2, 3);
static void sharding_error(const ShardingSite *site, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *message = arena_vprintf(site->verifier->scratch, format, arguments);
  va_end(arguments);
  verify_attr_error(site->verifier, site->instruction, site->id, "verify-sharding", "sharding %s", message);
}

/* Devices are numbered below the number of partitions, where the header says one and shardings are already for it. */
static bool check_device(const ShardingSite *site, int64_t device) {
  const HloModule *module = site->verifier->module;
  int64_t limit = module->num_partitions;
  if (device >= 0 && (limit <= 1 || module->fits_partitions || device < limit)) return true;
  sharding_error(site, "names device %lld, there are %lld", (long long)device, (long long)limit);
  return false;
}

static void check_devices_distinct(const ShardingSite *site, Int64List devices) {
  IntMap seen;
  int_map_init(&seen, site->verifier->scratch);
  for (int64_t i = 0; i < devices.count; i++) {
    int64_t before;
    if (!check_device(site, devices.data[i])) return;
    if (int_map_find(&seen, (uint64_t)devices.data[i], &before)) {
      sharding_error(site, "names device %lld twice", (long long)devices.data[i]);
      return;
    }
    int_map_set(&seen, (uint64_t)devices.data[i], 1);
  }
}

static void check_tiled(const ShardingSite *site, const HloSharding *sharding, const Shape *shape) {
  int64_t tiles = 1, rank = sharding->tile_dims.count - sharding->last_tile_dims.count;
  for (int64_t i = 0; i < sharding->tile_dims.count; i++) {
    if (sharding->tile_dims.data[i] > 0 && checked_mul(tiles, sharding->tile_dims.data[i], &tiles)) continue;
    sharding_error(site, "has %lld tiles in dimension %lld", (long long)sharding->tile_dims.data[i], (long long)i);
    return;
  }
  if (shape_is_array(shape) && rank != shape->rank) {
    sharding_error(site, "has tiles of rank %lld for %s", (long long)rank, verify_text(site->verifier, shape));
  }
  int64_t devices =
      sharding->iota != NULL ? iota_tile_count(site->verifier->scratch, sharding->iota) : sharding->devices.count;
  if (devices != tiles) {
    sharding_error(site, "has %lld tiles for %lld devices", (long long)tiles, (long long)devices);
  } else if (sharding->iota != NULL) {
    check_device(site, devices - 1);
  } else {
    check_devices_distinct(site, sharding->devices);
  }
}

static bool check_axes(const ShardingSite *site, const Mesh *mesh, const MeshAxisRefs *refs, bool *seen) {
  int64_t size = 1;
  const char *mistake = mesh_axes_mistake(mesh, refs, seen, &size);
  if (mistake == NULL) return true;
  sharding_error(site, "names %s", mistake);
  return false;
}

static void check_mesh(const ShardingSite *site, const HloSharding *sharding, const Shape *shape) {
  const Mesh *mesh = sharding->mesh;
  if (mesh == NULL) return;
  if (mesh->is_maximal) {
    check_device(site, mesh->maximal_device);
    return;
  }
  int64_t devices = mesh_device_count(mesh);
  if (devices < 0) {
    sharding_error(site, "has a mesh with an empty axis or too many devices");
    return;
  }
  int64_t listed = mesh->device_iota != NULL ? iota_tile_count(site->verifier->scratch, mesh->device_iota)
                   : mesh->device_count > 0  ? mesh->device_count
                                             : devices;
  if (listed != devices)
    sharding_error(site, "has a mesh of %lld devices and %lld device ids", (long long)devices, (long long)listed);
  if (mesh->device_count > 0) check_devices_distinct(site, (Int64List){mesh->device_count, mesh->device_ids});
  if (sharding->mesh_short != SHARDING_TILED) return;
  if (shape_is_array(shape) && sharding->mesh_dim_count != shape->rank) {
    sharding_error(site, "has axes for %lld dimensions of %s", (long long)sharding->mesh_dim_count,
                   verify_text(site->verifier, shape));
  }
  bool *seen = ARENA_NEW_ARRAY(site->verifier->scratch, bool, mesh->axis_count);
  for (int64_t i = 0; i < sharding->mesh_dim_count; i++) {
    if (!check_axes(site, mesh, &sharding->mesh_dims[i], seen)) return;
  }
  if (!check_axes(site, mesh, &sharding->mesh_replicated, seen) ||
      !check_axes(site, mesh, &sharding->mesh_unreduced, seen))
    return;
  check_axes(site, mesh, &sharding->mesh_manual, seen);
}

static void check_leaf(const ShardingSite *site, const HloSharding *sharding, const Shape *shape) {
  switch (sharding->kind) {
    case SHARDING_MAXIMAL: check_device(site, sharding->device); break;
    case SHARDING_TILED: check_tiled(site, sharding, shape); break;
    case SHARDING_MESH: check_mesh(site, sharding, shape); break;
    case SHARDING_REPLICATED:
    case SHARDING_MANUAL:
    case SHARDING_UNKNOWN:
    case SHARDING_UNREDUCED:
    case SHARDING_TUPLE: break; /* name no devices of their own */
  }
}

/* Leaves in depth-first order; |next| counts them. */
static void check_leaves(const ShardingSite *site, const HloSharding *sharding, const Shape *shape, int64_t *next) {
  if (!shape_is_tuple(shape)) {
    check_leaf(site, &sharding->tuple[(*next)++], shape);
    return;
  }
  for (int i = 0; i < shape->tuple_size; i++) check_leaves(site, sharding, shape->tuple[i], next);
}

static void check_sharding(const ShardingSite *site, const HloSharding *sharding, const Shape *shape) {
  if (sharding->kind != SHARDING_TUPLE) {
    /* one for all leaves: ranks are compared where there is one array only */
    check_leaf(site, sharding, shape);
    return;
  }
  int64_t next = 0, leaves = shape_leaf_count(shape);
  if (shape_is_tuple(shape) && sharding->tuple_count == leaves) {
    check_leaves(site, sharding, shape, &next);
  } else if (sharding->tuple_count == 1 && (!shape_is_tuple(shape) || leaves == 0)) {
    check_leaf(site, &sharding->tuple[0], shape); /* {{replicated}} on an array, or on a result without leaves */
  } else if (shape_is_tuple(shape) || sharding->tuple_count != 0) {
    sharding_error(site, "is for %lld leaves, %s has %lld", (long long)sharding->tuple_count,
                   verify_text(site->verifier, shape), (long long)leaves);
  }
}

/* --- what a value goes through unchanged --- */

/* Of the places that a value of |instruction| has, all that say a sharding say the same. */
typedef struct SharedSharding {
  Verifier *verifier;
  const HloInstruction *instruction, *first; /* the first place that has a sharding, NULL: none yet */
} SharedSharding;

static void share_sharding(SharedSharding *shared, const HloInstruction *place) {
  const HloAttr *attr = hlo_instruction_attr(place, HLO_ATTR_SHARDING);
  if (attr == NULL) return;
  if (shared->first == NULL) {
    shared->first = place;
    return;
  }
  const HloAttr *first = hlo_instruction_attr(shared->first, HLO_ATTR_SHARDING);
  if (hlo_attr_equal(first, attr, &(HloAttrEquality){0})) return;
  verify_attr_error(shared->verifier, place, HLO_ATTR_SHARDING, "verify-sharding",
                    "sharding of '%.*s' differs from that of '%.*s', in the %s '%.*s'", SV_ARG(place->name),
                    SV_ARG(shared->first->name), hlo_opcode_text(shared->instruction->opcode),
                    SV_ARG(shared->instruction->name));
}

/* The state of a loop, and what the branches of a conditional return. */
static void verify_shared_sharding(Verifier *verifier, const HloInstruction *instruction) {
  SharedSharding shared = {.verifier = verifier, .instruction = instruction};
  if (instruction->opcode != HLO_WHILE && instruction->opcode != HLO_CONDITIONAL) return;
  share_sharding(&shared, instruction);
  for (int i = 0; i < hlo_instruction_called_count(instruction); i++) {
    const HloComputation *callee = hlo_instruction_called(instruction, i);
    bool is_condition = callee == hlo_instruction_computation(instruction, HLO_ATTR_CONDITION);
    if (instruction->opcode == HLO_CONDITIONAL || !is_condition) share_sharding(&shared, callee->root);
    if (instruction->opcode == HLO_WHILE && callee->parameters.count == 1)
      share_sharding(&shared, callee->parameters.data[0]);
  }
}

void verify_sharding(Verifier *verifier, const HloInstruction *instruction) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_SHARDING);
  ShardingSite site = {verifier, instruction, HLO_ATTR_SHARDING};
  /* that of an outfeed or send describes the data, not the result */
  bool is_of_data = instruction->opcode == HLO_OUTFEED || instruction->opcode == HLO_SEND ||
                    instruction->opcode == HLO_RECV || instruction->opcode == HLO_SEND_DONE ||
                    instruction->opcode == HLO_RECV_DONE;
  if (attr != NULL && !is_of_data) check_sharding(&site, attr->value.sharding, instruction->shape);
  verify_shared_sharding(verifier, instruction);
  if (instruction->opcode != HLO_DOMAIN) return;
  const HloAttr *domain = hlo_instruction_attr(instruction, HLO_ATTR_DOMAIN);
  if (domain == NULL) return;
  site.id = HLO_ATTR_DOMAIN;
  check_sharding(&site, domain->value.domain->entry, instruction->shape);
  check_sharding(&site, domain->value.domain->exit, instruction->shape);
}
