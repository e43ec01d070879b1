/* Copies of attributes: with other computations and instructions, or into another arena. */
#include "hlo/ir/hlo_ir_internal.h"

HloAttr hlo_attr_remap(const HloAttr *attr, const HloAttrRemap *remap) {
  HloAttr result = *attr;
  switch (hlo_attr_info(attr->id)->kind) {
    case HLO_ATTR_KIND_COMPUTATION: {
      HloComputation *mapped = NULL;
      if (remap->computations) mapped = (HloComputation *)pointer_map_get(remap->computations, attr->value.computation);
      if (mapped) result.value.computation = mapped;
      return result;
    }
    case HLO_ATTR_KIND_COMPUTATION_LIST: {
      int64_t count = attr->value.computations.count;
      if (!remap->computations || count == 0) return result;
      result.value.computations.data = ARENA_NEW_ARRAY(remap->arena, HloComputation *, count);
      for (int64_t i = 0; i < count; i++) {
        HloComputation *old = attr->value.computations.data[i];
        HloComputation *mapped = (HloComputation *)pointer_map_get(remap->computations, old);
        result.value.computations.data[i] = mapped ? mapped : old;
      }
      return result;
    }
    case HLO_ATTR_KIND_INSTRUCTION_LIST: {
      int64_t count = attr->value.instructions.count, kept = 0;
      if (count == 0) return result;
      HloInstruction **data = ARENA_NEW_ARRAY(remap->arena, HloInstruction *, count);
      for (int64_t i = 0; i < count; i++) {
        HloInstruction *mapped = NULL;
        if (remap->instructions) {
          mapped = (HloInstruction *)pointer_map_get(remap->instructions, attr->value.instructions.data[i]);
        }
        if (mapped) data[kept++] = mapped;
      }
      result.value.instructions.data = data;
      result.value.instructions.count = kept;
      return result;
    }
    default: return result;
  }
}

/* --- deep copies --- */

#define COPY_ARRAY(arena, Type, data, count) ((count) > 0 ? ARENA_COPY_ARRAY((arena), Type, (data), (count)) : NULL)
#define COPY_ONE(arena, Type, value) ((Type *)arena_copy((arena), (value), sizeof(Type)))

static Int64List copy_ints(Arena *arena, Int64List list) {
  list.data = COPY_ARRAY(arena, int64_t, list.data, list.count);
  return list;
}

static ShapeIndex copy_index(Arena *arena, ShapeIndex index) {
  index.path = COPY_ARRAY(arena, int64_t, index.path, index.depth);
  return index;
}

static IotaTile copy_iota(Arena *arena, const IotaTile *iota) {
  return (IotaTile){iota->rank, COPY_ARRAY(arena, int64_t, iota->reshape_dims, iota->rank),
                    COPY_ARRAY(arena, int64_t, iota->transpose_perm, iota->rank)};
}

static const IotaTile *copy_optional_iota(Arena *arena, const IotaTile *iota) {
  if (!iota) return NULL;
  IotaTile *copy = ARENA_NEW(arena, IotaTile);
  *copy = copy_iota(arena, iota);
  return copy;
}

static const Mesh *copy_mesh(Arena *arena, const Mesh *mesh) {
  if (!mesh) return NULL;
  Mesh *copy = COPY_ONE(arena, Mesh, mesh);
  MeshAxis *axes = COPY_ARRAY(arena, MeshAxis, mesh->axes, mesh->axis_count);
  for (int i = 0; i < mesh->axis_count; i++) axes[i].name = sv_copy(arena, axes[i].name);
  copy->axes = axes;
  copy->device_ids = COPY_ARRAY(arena, int64_t, mesh->device_ids, mesh->device_count);
  copy->device_iota = copy_optional_iota(arena, mesh->device_iota);
  return copy;
}

static MeshAxisRefs copy_refs(Arena *arena, MeshAxisRefs refs) {
  MeshAxisRef *data = COPY_ARRAY(arena, MeshAxisRef, refs.refs, refs.count);
  for (int i = 0; i < refs.count; i++) data[i].name = sv_copy(arena, data[i].name);
  refs.refs = data;
  return refs;
}

static HloMetadata copy_metadata(Arena *arena, const HloMetadata *metadata) {
  HloMetadata copy = *metadata;
  copy.op_type = sv_copy(arena, copy.op_type);
  copy.op_name = sv_copy(arena, copy.op_name);
  copy.source_file = sv_copy(arena, copy.source_file);
  copy.deduplicated_name = sv_copy(arena, copy.deduplicated_name);
  copy.scheduling_name = sv_copy(arena, copy.scheduling_name);
  copy.payload = sv_copy(arena, copy.payload);
  copy.profile_type = copy_ints(arena, copy.profile_type);
  return copy;
}

static void copy_sharding_parts(Arena *arena, HloSharding *sharding) {
  sharding->tile_dims = copy_ints(arena, sharding->tile_dims);
  sharding->devices = copy_ints(arena, sharding->devices);
  sharding->iota = copy_optional_iota(arena, sharding->iota);
  sharding->last_tile_dims = copy_ints(arena, sharding->last_tile_dims);
  HloMetadata *metadata = COPY_ARRAY(arena, HloMetadata, sharding->metadata, sharding->metadata_count);
  for (int64_t i = 0; i < sharding->metadata_count; i++) metadata[i] = copy_metadata(arena, &metadata[i]);
  sharding->metadata = metadata;
  sharding->mesh = copy_mesh(arena, sharding->mesh);
  MeshAxisRefs *dims = COPY_ARRAY(arena, MeshAxisRefs, sharding->mesh_dims, sharding->mesh_dim_count);
  for (int64_t i = 0; i < sharding->mesh_dim_count; i++) dims[i] = copy_refs(arena, dims[i]);
  sharding->mesh_dims = dims;
  sharding->mesh_replicated = copy_refs(arena, sharding->mesh_replicated);
  sharding->mesh_unreduced = copy_refs(arena, sharding->mesh_unreduced);
  sharding->mesh_manual = copy_refs(arena, sharding->mesh_manual);
}

static const HloSharding *copy_sharding(Arena *arena, const HloSharding *sharding) {
  if (!sharding) return NULL;
  HloSharding *copy = COPY_ONE(arena, HloSharding, sharding);
  copy_sharding_parts(arena, copy);
  HloSharding *tuple = COPY_ARRAY(arena, HloSharding, sharding->tuple, sharding->tuple_count);
  for (int64_t i = 0; i < sharding->tuple_count; i++) copy_sharding_parts(arena, &tuple[i]);
  copy->tuple = tuple;
  return copy;
}

static const ReplicaGroups *copy_replica_groups(Arena *arena, const ReplicaGroups *groups) {
  ReplicaGroups *copy = COPY_ONE(arena, ReplicaGroups, groups);
  Int64List *lists = COPY_ARRAY(arena, Int64List, groups->groups, groups->group_count);
  for (int64_t i = 0; i < groups->group_count; i++) lists[i] = copy_ints(arena, lists[i]);
  copy->groups = lists;
  copy->iota = copy_iota(arena, &groups->iota);
  copy->mesh = copy_mesh(arena, groups->mesh);
  copy->axes = copy_refs(arena, groups->axes);
  return copy;
}

static OriginNode copy_origin_node(Arena *arena, OriginNode node) {
  node.name = sv_copy(arena, node.name);
  node.index = copy_ints(arena, node.index);
  OriginNode *tuple = COPY_ARRAY(arena, OriginNode, node.tuple, node.tuple_count);
  for (int64_t i = 0; i < node.tuple_count; i++) tuple[i] = copy_origin_node(arena, tuple[i]);
  node.tuple = tuple;
  return node;
}

OriginNode hlo_origin_node_copy(const OriginNode *node, Arena *arena) {
  return copy_origin_node(arena, *node);
}

const FrontendAttribute *hlo_frontend_copy(const FrontendAttribute *attributes, int64_t count, Arena *arena) {
  FrontendAttribute *copy = COPY_ARRAY(arena, FrontendAttribute, attributes, count);
  for (int64_t i = 0; i < count; i++) {
    copy[i].key = sv_copy(arena, copy[i].key);
    copy[i].value = sv_copy(arena, copy[i].value);
  }
  return copy;
}

static const ConvolutionDimensionNumbers *copy_dim_labels(Arena *arena, const ConvolutionDimensionNumbers *labels) {
  ConvolutionDimensionNumbers *copy = COPY_ONE(arena, ConvolutionDimensionNumbers, labels);
  ConvolutionRoles *const arrays[] = {&copy->input, &copy->kernel, &copy->output};
  for (int i = 0; i < 3; i++) arrays[i]->spatial = COPY_ARRAY(arena, int64_t, arrays[i]->spatial, copy->spatial_rank);
  return copy;
}

static void copy_lists(HloAttr *attr, Arena *arena) {
  int64_t count = attr->value.int_lists.count;
  Int64List *lists = COPY_ARRAY(arena, Int64List, attr->value.int_lists.data, count);
  for (int64_t i = 0; i < count; i++) lists[i] = copy_ints(arena, lists[i]);
  attr->value.int_lists.data = lists;
}

static void copy_aliasing(HloAttr *attr, Arena *arena) {
  int64_t count = attr->value.aliasing.count;
  OperandAlias *aliases = COPY_ARRAY(arena, OperandAlias, attr->value.aliasing.data, count);
  for (int64_t i = 0; i < count; i++) {
    aliases[i].output = copy_index(arena, aliases[i].output);
    aliases[i].operand_index = copy_index(arena, aliases[i].operand_index);
  }
  attr->value.aliasing.data = aliases;
}

static void copy_statistics(HloAttr *attr, Arena *arena) {
  int64_t count = attr->value.statistics.count;
  StatisticsEntry *entries = COPY_ARRAY(arena, StatisticsEntry, attr->value.statistics.data, count);
  for (int64_t i = 0; i < count; i++) entries[i].name = sv_copy(arena, entries[i].name);
  attr->value.statistics.data = entries;
}

static const Window *copy_window(Arena *arena, const Window *window) {
  Window *copy = COPY_ONE(arena, Window, window);
  copy->dims = COPY_ARRAY(arena, WindowDimension, window->dims, window->rank);
  return copy;
}

static const PaddingConfig *copy_padding(Arena *arena, const PaddingConfig *padding) {
  PaddingConfig *copy = COPY_ONE(arena, PaddingConfig, padding);
  copy->dims = COPY_ARRAY(arena, PaddingDimension, padding->dims, padding->rank);
  return copy;
}

static const SliceRanges *copy_slice(Arena *arena, const SliceRanges *slice) {
  SliceRanges *copy = COPY_ONE(arena, SliceRanges, slice);
  copy->dims = COPY_ARRAY(arena, SliceDimension, slice->dims, slice->rank);
  return copy;
}

static const HloDomain *copy_domain(Arena *arena, const HloDomain *domain) {
  HloDomain *copy = COPY_ONE(arena, HloDomain, domain);
  copy->entry = copy_sharding(arena, domain->entry);
  copy->exit = copy_sharding(arena, domain->exit);
  return copy;
}

static const HloOrigin *copy_origin(Arena *arena, const HloOrigin *origin) {
  HloOrigin *copy = COPY_ONE(arena, HloOrigin, origin);
  copy->root = copy_origin_node(arena, origin->root);
  return copy;
}

static const HloMetadata *copy_metadata_value(Arena *arena, const HloMetadata *metadata) {
  HloMetadata *copy = ARENA_NEW(arena, HloMetadata);
  *copy = copy_metadata(arena, metadata);
  return copy;
}

HloAttr hlo_attr_deep_copy(const HloAttr *attr, Arena *arena) {
  HloAttr copy = *attr;
  switch (hlo_attr_info(attr->id)->kind) {
    case HLO_ATTR_KIND_STRING:
    case HLO_ATTR_KIND_BACKEND_CONFIG: copy.value.text = sv_copy(arena, copy.value.text); break;
    case HLO_ATTR_KIND_INT64_LIST:
    case HLO_ATTR_KIND_PRECISION_LIST: copy.value.ints = copy_ints(arena, copy.value.ints); break;
    case HLO_ATTR_KIND_INT64_LISTS: copy_lists(&copy, arena); break;
    case HLO_ATTR_KIND_BOOL_LIST:
      copy.value.bools.data = COPY_ARRAY(arena, bool, copy.value.bools.data, copy.value.bools.count);
      break;
    case HLO_ATTR_KIND_SHAPE_LIST:
      copy.value.shapes.data = COPY_ARRAY(arena, const Shape *, copy.value.shapes.data, copy.value.shapes.count);
      break;
    case HLO_ATTR_KIND_LITERAL:
    case HLO_ATTR_KIND_SHAPED_LITERAL: copy.value.literal = literal_copy(arena, copy.value.literal); break;
    case HLO_ATTR_KIND_WINDOW: copy.value.window = copy_window(arena, copy.value.window); break;
    case HLO_ATTR_KIND_DIM_LABELS: copy.value.dim_labels = copy_dim_labels(arena, copy.value.dim_labels); break;
    case HLO_ATTR_KIND_PADDING: copy.value.padding = copy_padding(arena, copy.value.padding); break;
    case HLO_ATTR_KIND_SLICE: copy.value.slice = copy_slice(arena, copy.value.slice); break;
    case HLO_ATTR_KIND_REPLICA_GROUPS:
      copy.value.replica_groups = copy_replica_groups(arena, copy.value.replica_groups);
      break;
    case HLO_ATTR_KIND_SHARDING: copy.value.sharding = copy_sharding(arena, copy.value.sharding); break;
    case HLO_ATTR_KIND_DOMAIN: copy.value.domain = copy_domain(arena, copy.value.domain); break;
    case HLO_ATTR_KIND_ALIASING: copy_aliasing(&copy, arena); break;
    case HLO_ATTR_KIND_SPARSITY_CONFIG:
      copy.value.sparsity = COPY_ONE(arena, SparsityConfig, copy.value.sparsity);
      break;
    case HLO_ATTR_KIND_RESULT_ACCURACY:
      copy.value.accuracy = COPY_ONE(arena, ResultAccuracy, copy.value.accuracy);
      break;
    case HLO_ATTR_KIND_FRONTEND_ATTRIBUTES:
      copy.value.frontend.data = hlo_frontend_copy(copy.value.frontend.data, copy.value.frontend.count, arena);
      break;
    case HLO_ATTR_KIND_STATISTICS: copy_statistics(&copy, arena); break;
    case HLO_ATTR_KIND_ORIGIN: copy.value.origin = copy_origin(arena, copy.value.origin); break;
    case HLO_ATTR_KIND_METADATA: copy.value.metadata = copy_metadata_value(arena, copy.value.metadata); break;
    default: break; /* by value, interned, or of the IR itself */
  }
  return copy;
}
