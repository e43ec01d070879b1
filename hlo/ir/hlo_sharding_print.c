#include "hlo/ir/hlo_ir_internal.h"

/* Shardings and meshes as HLO text, in the spelling in which they were read. */

void hlo_int_list_print(StringBuilder *out, const int64_t *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) sb_append_char(out, ',');
    sb_append_int(out, values[i]);
  }
}

void hlo_iota_tile_print(StringBuilder *out, const IotaTile *iota) {
  sb_append_char(out, '[');
  hlo_int_list_print(out, iota->reshape_dims, iota->rank);
  sb_append_char(out, ']');
  if (iota->rank < 2) return;
  sb_append_cstring(out, "T(");
  hlo_int_list_print(out, iota->transpose_perm, iota->rank);
  sb_append_char(out, ')');
}

/* XLA writes axis names in single quotes. */
static void print_axis_name(StringBuilder *out, StringView name) {
  sb_append_char(out, '\'');
  hlo_string_escape(out, name);
  sb_append_char(out, '\'');
}

void hlo_mesh_print(StringBuilder *out, const Mesh *mesh) {
  if (mesh->is_maximal) {
    sb_printf(out, "maximal_mesh[device_id=%lld]", (long long)mesh->maximal_device);
    return;
  }
  sb_append_cstring(out, "mesh[");
  for (int i = 0; i < mesh->axis_count; i++) {
    if (i > 0) sb_append_char(out, ',');
    print_axis_name(out, mesh->axes[i].name);
    sb_printf(out, "=%lld", (long long)mesh->axes[i].size);
  }
  sb_append_char(out, ']');
  if (!mesh->device_iota && mesh->device_count == 0) return;
  sb_append_cstring(out, ", device_ids=(");
  if (mesh->device_iota) {
    hlo_iota_tile_print(out, mesh->device_iota);
  } else {
    hlo_int_list_print(out, mesh->device_ids, mesh->device_count);
  }
  sb_append_char(out, ')');
}

void hlo_axis_refs_print(StringBuilder *out, const MeshAxisRefs *refs) {
  sb_append_char(out, '{');
  for (int i = 0; i < refs->count; i++) {
    const MeshAxisRef *ref = &refs->refs[i];
    if (i > 0) sb_append_cstring(out, ", ");
    print_axis_name(out, ref->name);
    if (ref->size > 0) sb_printf(out, ":(%lld)%lld", (long long)ref->pre_size, (long long)ref->size);
  }
  if (refs->open) sb_append_cstring(out, refs->count > 0 ? ", ?" : "?");
  sb_append_char(out, '}');
}

static const char *kind_word(ShardingKind kind) {
  static const char *const words[] = {
      [SHARDING_REPLICATED] = "replicated", [SHARDING_MAXIMAL] = "maximal",     [SHARDING_MANUAL] = "manual",
      [SHARDING_UNKNOWN] = "unknown",       [SHARDING_UNREDUCED] = "unreduced",
  };
  XLAC_CHECK(kind <= SHARDING_UNREDUCED);
  return words[kind];
}

static void print_metadata_list(StringBuilder *out, const HloSharding *sharding) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < sharding->metadata_count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    hlo_metadata_print(out, &sharding->metadata[i]);
  }
  sb_append_char(out, '}');
}

static bool is_replicate_only(Int64List types) {
  return types.count == 1 && types.data[0] == SHARDING_REPLICATED;
}

static void print_tile(StringBuilder *out, const HloSharding *sharding) {
  sb_append_cstring(out, "devices=[");
  hlo_int_list_print(out, sharding->tile_dims.data, sharding->tile_dims.count);
  sb_append_char(out, ']');
  if (sharding->iota) {
    sb_append_cstring(out, "<=");
    hlo_iota_tile_print(out, sharding->iota);
  } else {
    hlo_int_list_print(out, sharding->devices.data, sharding->devices.count);
  }
  Int64List types = sharding->last_tile_dims;
  if (is_replicate_only(types)) {
    sb_append_cstring(out, " last_tile_dim_replicate");
  } else if (types.count > 0) {
    sb_append_cstring(out, " last_tile_dims={");
    for (int64_t i = 0; i < types.count; i++) {
      if (i > 0) sb_append_cstring(out, ", ");
      sb_append_cstring(out, kind_word((ShardingKind)types.data[i]));
    }
    sb_append_char(out, '}');
  }
}

static void print_named_axes(StringBuilder *out, const char *name, const MeshAxisRefs *refs) {
  if (refs->count == 0 && !refs->open) return;
  sb_printf(out, ", %s=", name);
  hlo_axis_refs_print(out, refs);
}

static void print_mesh_form(StringBuilder *out, const HloSharding *sharding) {
  hlo_mesh_print(out, sharding->mesh);
  if (sharding->mesh->is_maximal) {
    /* the mesh says all */
  } else if (sharding->mesh_short != SHARDING_TILED) {
    sb_printf(out, ", %s", kind_word(sharding->mesh_short));
  } else {
    sb_append_cstring(out, ", [");
    for (int64_t i = 0; i < sharding->mesh_dim_count; i++) {
      if (i > 0) sb_append_cstring(out, ", ");
      hlo_axis_refs_print(out, &sharding->mesh_dims[i]);
    }
    sb_append_char(out, ']');
    print_named_axes(out, "replicated", &sharding->mesh_replicated);
    print_named_axes(out, "unreduced", &sharding->mesh_unreduced);
    print_named_axes(out, "manual", &sharding->mesh_manual);
  }
  if (sharding->metadata_count > 0) {
    sb_append_cstring(out, ", metadata=");
    print_metadata_list(out, sharding);
  }
}

static void print_single(StringBuilder *out, const HloSharding *sharding) {
  sb_append_char(out, '{');
  if (sharding->kind == SHARDING_MESH) {
    print_mesh_form(out, sharding);
    sb_append_char(out, '}');
    return;
  }
  if (sharding->kind == SHARDING_TILED) {
    print_tile(out, sharding);
  } else {
    sb_append_cstring(out, kind_word(sharding->kind));
    if (sharding->kind == SHARDING_MAXIMAL) sb_printf(out, " device=%lld", (long long)sharding->device);
  }
  if (sharding->shard_as >= 0) sb_printf(out, " shard_as %lld", (long long)sharding->shard_as);
  if (sharding->shard_like >= 0) sb_printf(out, " shard_like %lld", (long long)sharding->shard_like);
  if (sharding->metadata_count == 1) {
    sb_append_cstring(out, " metadata=");
    hlo_metadata_print(out, &sharding->metadata[0]);
  } else if (sharding->metadata_count > 1) {
    sb_append_cstring(out, " metadata=");
    print_metadata_list(out, sharding);
  }
  sb_append_char(out, '}');
}

void hlo_sharding_print(StringBuilder *out, const HloSharding *sharding) {
  if (sharding->kind != SHARDING_TUPLE) {
    print_single(out, sharding);
    return;
  }
  sb_append_char(out, '{');
  for (int64_t i = 0; i < sharding->tuple_count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    print_single(out, &sharding->tuple[i]);
  }
  sb_append_char(out, '}');
}
