#include <string.h>

#include "base/hash_map.h"
#include "hlo/ir/hlo_attribute.h"

/* Values that the reader writes in one of several spellings compare as spelt: an explicit device list and an iota that
 * says the same differ. */

static bool ints_equal(Int64List a, Int64List b) {
  return a.count == b.count && (a.count == 0 || memcmp(a.data, b.data, (size_t)a.count * sizeof(int64_t)) == 0);
}

static bool raw_ints_equal(const int64_t *a, const int64_t *b, int64_t count) {
  return ints_equal((Int64List){count, a}, (Int64List){count, b});
}

static bool doubles_equal(double a, double b) {
  return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Either both absent, or both there. */
#define BOTH_OR_NONE(a, b) (((a) == NULL) == ((b) == NULL))

static bool iota_equal(const IotaTile *a, const IotaTile *b) {
  if (!BOTH_OR_NONE(a, b)) return false;
  if (!a || a == b) return true;
  return a->rank == b->rank && raw_ints_equal(a->reshape_dims, b->reshape_dims, a->rank) &&
         raw_ints_equal(a->transpose_perm, b->transpose_perm, a->rank);
}

static bool mesh_equal(const Mesh *a, const Mesh *b) {
  if (!BOTH_OR_NONE(a, b)) return false;
  if (!a || a == b) return true;
  if (a->axis_count != b->axis_count || a->is_maximal != b->is_maximal || a->maximal_device != b->maximal_device ||
      a->device_count != b->device_count || !iota_equal(a->device_iota, b->device_iota) ||
      !raw_ints_equal(a->device_ids, b->device_ids, a->device_count)) {
    return false;
  }
  for (int i = 0; i < a->axis_count; i++) {
    if (!sv_equal(a->axes[i].name, b->axes[i].name) || a->axes[i].size != b->axes[i].size) return false;
  }
  return true;
}

static bool axis_refs_equal(const MeshAxisRefs *a, const MeshAxisRefs *b) {
  if (a->count != b->count || a->open != b->open) return false;
  for (int i = 0; i < a->count; i++) {
    if (!sv_equal(a->refs[i].name, b->refs[i].name) || a->refs[i].pre_size != b->refs[i].pre_size ||
        a->refs[i].size != b->refs[i].size) {
      return false;
    }
  }
  return true;
}

static bool metadata_equal(const HloMetadata *a, const HloMetadata *b) {
  return sv_equal(a->op_type, b->op_type) && sv_equal(a->op_name, b->op_name) &&
         sv_equal(a->source_file, b->source_file) && sv_equal(a->deduplicated_name, b->deduplicated_name) &&
         sv_equal(a->scheduling_name, b->scheduling_name) && sv_equal(a->payload, b->payload) &&
         a->source_line == b->source_line && a->source_end_line == b->source_end_line &&
         a->source_column == b->source_column && a->source_end_column == b->source_end_column &&
         a->stack_frame_id == b->stack_frame_id && ints_equal(a->profile_type, b->profile_type);
}

static bool mesh_sharding_equal(const HloSharding *a, const HloSharding *b) {
  if (!mesh_equal(a->mesh, b->mesh) || a->mesh_short != b->mesh_short || a->mesh_dim_count != b->mesh_dim_count ||
      !axis_refs_equal(&a->mesh_replicated, &b->mesh_replicated) ||
      !axis_refs_equal(&a->mesh_unreduced, &b->mesh_unreduced) || !axis_refs_equal(&a->mesh_manual, &b->mesh_manual)) {
    return false;
  }
  for (int64_t i = 0; i < a->mesh_dim_count; i++) {
    if (!axis_refs_equal(&a->mesh_dims[i], &b->mesh_dims[i])) return false;
  }
  return true;
}

static bool flat_sharding_equal(const HloSharding *a, const HloSharding *b) {
  if (a->kind != b->kind || a->metadata_count != b->metadata_count) return false;
  if (a->shard_as != b->shard_as || a->shard_like != b->shard_like) return false;
  for (int64_t i = 0; i < a->metadata_count; i++) {
    if (!metadata_equal(&a->metadata[i], &b->metadata[i])) return false;
  }
  switch (a->kind) {
    case SHARDING_MAXIMAL: return a->device == b->device;
    case SHARDING_TILED:
      return ints_equal(a->tile_dims, b->tile_dims) && ints_equal(a->devices, b->devices) &&
             iota_equal(a->iota, b->iota) && ints_equal(a->last_tile_dims, b->last_tile_dims);
    case SHARDING_MESH: return mesh_sharding_equal(a, b);
    default: return true;
  }
}

/* Tuples hold leaves, not tuples. */
static bool sharding_equal(const HloSharding *a, const HloSharding *b) {
  if (!BOTH_OR_NONE(a, b)) return false;
  if (!a || a == b) return true;
  if (a->kind != SHARDING_TUPLE) return flat_sharding_equal(a, b);
  if (b->kind != SHARDING_TUPLE || a->tuple_count != b->tuple_count) return false;
  for (int64_t i = 0; i < a->tuple_count; i++) {
    if (!flat_sharding_equal(&a->tuple[i], &b->tuple[i])) return false;
  }
  return true;
}

static bool replica_groups_equal(const ReplicaGroups *a, const ReplicaGroups *b) {
  if (a->form != b->form) return false;
  switch (a->form) {
    case REPLICA_GROUPS_LISTS:
      if (a->group_count != b->group_count) return false;
      for (int64_t i = 0; i < a->group_count; i++) {
        if (!ints_equal(a->groups[i], b->groups[i])) return false;
      }
      return true;
    case REPLICA_GROUPS_IOTA:
      return a->iota_groups == b->iota_groups && a->iota_size == b->iota_size && iota_equal(&a->iota, &b->iota);
    case REPLICA_GROUPS_MESH: return mesh_equal(a->mesh, b->mesh) && axis_refs_equal(&a->axes, &b->axes);
  }
  return false;
}

static bool window_equal(const Window *a, const Window *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++) {
    const WindowDimension *x = &a->dims[i], *y = &b->dims[i];
    if (x->size != y->size || x->stride != y->stride || x->pad_low != y->pad_low || x->pad_high != y->pad_high ||
        x->base_dilation != y->base_dilation || x->window_dilation != y->window_dilation ||
        x->reversal != y->reversal) {
      return false;
    }
  }
  return true;
}

static bool roles_equal(const ConvolutionRoles *a, const ConvolutionRoles *b, int spatial_rank) {
  return a->rank == b->rank && a->batch == b->batch && a->feature == b->feature &&
         raw_ints_equal(a->spatial, b->spatial, spatial_rank);
}

static bool dim_labels_equal(const ConvolutionDimensionNumbers *a, const ConvolutionDimensionNumbers *b) {
  return a->spatial_rank == b->spatial_rank && roles_equal(&a->input, &b->input, a->spatial_rank) &&
         roles_equal(&a->kernel, &b->kernel, a->spatial_rank) && roles_equal(&a->output, &b->output, a->spatial_rank);
}

static bool padding_equal(const PaddingConfig *a, const PaddingConfig *b) {
  /* three int64 without holes */
  return a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(PaddingDimension)) == 0);
}

static bool slice_equal(const SliceRanges *a, const SliceRanges *b) {
  return a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(SliceDimension)) == 0);
}

static bool sparsity_operand_equal(const SparsityOperand *a, const SparsityOperand *b) {
  if (a->present != b->present) return false;
  return !a->present || (a->n == b->n && a->m == b->m && a->dimension == b->dimension && a->stride == b->stride);
}

static bool accuracy_equal(const ResultAccuracy *a, const ResultAccuracy *b) {
  if (a->has_tolerance != b->has_tolerance) return false;
  if (!a->has_tolerance) return a->mode == b->mode;
  return doubles_equal(a->atol, b->atol) && doubles_equal(a->rtol, b->rtol) && a->ulps == b->ulps;
}

/* The reader bounds the depth of the tree. */
static bool origin_equal(const OriginNode *a, const OriginNode *b) {
  if (a->is_tuple != b->is_tuple) return false;
  if (!a->is_tuple) {
    return a->has_name == b->has_name &&
           (!a->has_name || (sv_equal(a->name, b->name) && ints_equal(a->index, b->index)));
  }
  if (a->tuple_count != b->tuple_count) return false;
  for (int64_t i = 0; i < a->tuple_count; i++) {
    if (!origin_equal(&a->tuple[i], &b->tuple[i])) return false;
  }
  return true;
}

static bool shapes_equal(const HloAttr *a, const HloAttr *b) {
  if (a->value.shapes.count != b->value.shapes.count) return false;
  for (int64_t i = 0; i < a->value.shapes.count; i++) {
    if (a->value.shapes.data[i] != b->value.shapes.data[i]) return false;
  }
  return true;
}

static bool int_lists_equal(const HloAttr *a, const HloAttr *b) {
  if (a->value.int_lists.count != b->value.int_lists.count) return false;
  for (int64_t i = 0; i < a->value.int_lists.count; i++) {
    if (!ints_equal(a->value.int_lists.data[i], b->value.int_lists.data[i])) return false;
  }
  return true;
}

static bool bools_equal(const HloAttr *a, const HloAttr *b) {
  if (a->value.bools.count != b->value.bools.count) return false;
  for (int64_t i = 0; i < a->value.bools.count; i++) {
    if (a->value.bools.data[i] != b->value.bools.data[i]) return false;
  }
  return true;
}

static bool aliasing_equal(const HloAttr *a, const HloAttr *b) {
  if (a->value.aliasing.count != b->value.aliasing.count) return false;
  for (int64_t i = 0; i < a->value.aliasing.count; i++) {
    const OperandAlias *x = &a->value.aliasing.data[i], *y = &b->value.aliasing.data[i];
    if (x->operand != y->operand || !shape_index_equal(x->output, y->output) ||
        !shape_index_equal(x->operand_index, y->operand_index)) {
      return false;
    }
  }
  return true;
}

static bool frontend_equal(const HloAttr *a, const HloAttr *b) {
  if (a->value.frontend.count != b->value.frontend.count) return false;
  for (int64_t i = 0; i < a->value.frontend.count; i++) {
    const FrontendAttribute *x = &a->value.frontend.data[i], *y = &b->value.frontend.data[i];
    if (!sv_equal(x->key, y->key) || !sv_equal(x->value, y->value)) return false;
  }
  return true;
}

static bool statistics_equal(const HloAttr *a, const HloAttr *b) {
  if (a->value.statistics.count != b->value.statistics.count) return false;
  for (int64_t i = 0; i < a->value.statistics.count; i++) {
    const StatisticsEntry *x = &a->value.statistics.data[i], *y = &b->value.statistics.data[i];
    if (!sv_equal(x->name, y->name) || !doubles_equal(x->value, y->value)) return false;
  }
  return true;
}

static bool computation_equal(const HloComputation *a, const HloComputation *b, const HloAttrEquality *equality) {
  if (equality && equality->same_computation) return equality->same_computation(equality->context, a, b);
  return a == b;
}

static bool computations_equal(const HloAttr *a, const HloAttr *b, const HloAttrEquality *equality) {
  if (a->value.computations.count != b->value.computations.count) return false;
  for (int64_t i = 0; i < a->value.computations.count; i++) {
    if (!computation_equal(a->value.computations.data[i], b->value.computations.data[i], equality)) return false;
  }
  return true;
}

static bool instructions_equal(const HloAttr *a, const HloAttr *b, const HloAttrEquality *equality) {
  if (a->value.instructions.count != b->value.instructions.count) return false;
  for (int64_t i = 0; i < a->value.instructions.count; i++) {
    const HloInstruction *x = a->value.instructions.data[i], *y = b->value.instructions.data[i];
    bool same = equality && equality->same_instruction ? equality->same_instruction(equality->context, x, y) : x == y;
    if (!same) return false;
  }
  return true;
}

bool hlo_attr_equal(const HloAttr *a, const HloAttr *b, const HloAttrEquality *equality) {
  if (a->id != b->id) return false;
  switch (hlo_attr_info(a->id)->kind) {
    case HLO_ATTR_KIND_BOOL: return a->value.boolean == b->value.boolean;
    case HLO_ATTR_KIND_INT32:
    case HLO_ATTR_KIND_INT64:
    case HLO_ATTR_KIND_ENUM: return a->value.integer == b->value.integer;
    case HLO_ATTR_KIND_FLOAT: return doubles_equal(a->value.real, b->value.real);
    case HLO_ATTR_KIND_STRING:
    case HLO_ATTR_KIND_BACKEND_CONFIG: return sv_equal(a->value.text, b->value.text);
    case HLO_ATTR_KIND_INT64_LIST:
    case HLO_ATTR_KIND_PRECISION_LIST: return ints_equal(a->value.ints, b->value.ints);
    case HLO_ATTR_KIND_INT64_LISTS: return int_lists_equal(a, b);
    case HLO_ATTR_KIND_BOOL_LIST: return bools_equal(a, b);
    case HLO_ATTR_KIND_COMPUTATION: return computation_equal(a->value.computation, b->value.computation, equality);
    case HLO_ATTR_KIND_COMPUTATION_LIST: return computations_equal(a, b, equality);
    case HLO_ATTR_KIND_INSTRUCTION_LIST: return instructions_equal(a, b, equality);
    case HLO_ATTR_KIND_SHAPE: return a->value.shape == b->value.shape;
    case HLO_ATTR_KIND_SHAPE_LIST: return shapes_equal(a, b);
    case HLO_ATTR_KIND_LITERAL:
    case HLO_ATTR_KIND_SHAPED_LITERAL: return literal_equal(a->value.literal, b->value.literal);
    case HLO_ATTR_KIND_WINDOW: return window_equal(a->value.window, b->value.window);
    case HLO_ATTR_KIND_DIM_LABELS: return dim_labels_equal(a->value.dim_labels, b->value.dim_labels);
    case HLO_ATTR_KIND_PADDING: return padding_equal(a->value.padding, b->value.padding);
    case HLO_ATTR_KIND_SLICE: return slice_equal(a->value.slice, b->value.slice);
    case HLO_ATTR_KIND_REPLICA_GROUPS: return replica_groups_equal(a->value.replica_groups, b->value.replica_groups);
    case HLO_ATTR_KIND_SHARDING: return sharding_equal(a->value.sharding, b->value.sharding);
    case HLO_ATTR_KIND_DOMAIN:
      return sharding_equal(a->value.domain->entry, b->value.domain->entry) &&
             sharding_equal(a->value.domain->exit, b->value.domain->exit);
    case HLO_ATTR_KIND_ALIASING: return aliasing_equal(a, b);
    case HLO_ATTR_KIND_SPARSITY_CONFIG:
      return sparsity_operand_equal(&a->value.sparsity->lhs, &b->value.sparsity->lhs) &&
             sparsity_operand_equal(&a->value.sparsity->rhs, &b->value.sparsity->rhs);
    case HLO_ATTR_KIND_RESULT_ACCURACY: return accuracy_equal(a->value.accuracy, b->value.accuracy);
    case HLO_ATTR_KIND_FRONTEND_ATTRIBUTES: return frontend_equal(a, b);
    case HLO_ATTR_KIND_STATISTICS: return statistics_equal(a, b);
    case HLO_ATTR_KIND_ORIGIN:
      return a->value.origin->synthetic_call == b->value.origin->synthetic_call &&
             (a->value.origin->synthetic_call || origin_equal(&a->value.origin->root, &b->value.origin->root));
    case HLO_ATTR_KIND_METADATA: return metadata_equal(a->value.metadata, b->value.metadata);
    case HLO_ATTR_KIND_COUNT: break;
  }
  return false;
}

/* --- hash --- */

static uint64_t hash_ints(uint64_t seed, Int64List list) {
  seed = hash_combine(seed, (uint64_t)list.count);
  return list.count == 0 ? seed : hash_combine(seed, hash_bytes(list.data, (size_t)list.count * sizeof(int64_t)));
}

static uint64_t hash_double(uint64_t seed, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return hash_combine(seed, bits);
}

/* Values that are rare or have many parts: equal ones print alike, and the text holds all that is compared. */
static uint64_t hash_printed(uint64_t seed, const HloAttr *attr) {
  Arena *arena = arena_create();
  StringBuilder text;
  sb_init(&text, arena);
  hlo_attr_print(&text, attr, false);
  seed = hash_text_after(seed, sb_view(&text));
  arena_destroy(arena);
  return seed;
}

uint64_t hlo_attr_hash(const HloAttr *attr) {
  uint64_t hash = hash_u64((uint64_t)attr->id);
  switch (hlo_attr_info(attr->id)->kind) {
    case HLO_ATTR_KIND_BOOL: return hash_combine(hash, attr->value.boolean);
    case HLO_ATTR_KIND_INT32:
    case HLO_ATTR_KIND_INT64:
    case HLO_ATTR_KIND_ENUM: return hash_combine(hash, (uint64_t)attr->value.integer);
    case HLO_ATTR_KIND_FLOAT: return hash_double(hash, attr->value.real);
    case HLO_ATTR_KIND_STRING:
    case HLO_ATTR_KIND_BACKEND_CONFIG: return hash_text_after(hash, attr->value.text);
    case HLO_ATTR_KIND_INT64_LIST:
    case HLO_ATTR_KIND_PRECISION_LIST: return hash_ints(hash, attr->value.ints);
    case HLO_ATTR_KIND_INT64_LISTS:
      for (int64_t i = 0; i < attr->value.int_lists.count; i++) hash = hash_ints(hash, attr->value.int_lists.data[i]);
      return hash;
    case HLO_ATTR_KIND_BOOL_LIST:
      for (int64_t i = 0; i < attr->value.bools.count; i++) hash = hash_combine(hash, attr->value.bools.data[i]);
      return hash;
    case HLO_ATTR_KIND_COMPUTATION_LIST: return hash_combine(hash, (uint64_t)attr->value.computations.count);
    case HLO_ATTR_KIND_INSTRUCTION_LIST: return hash_combine(hash, (uint64_t)attr->value.instructions.count);
    case HLO_ATTR_KIND_LITERAL:
    case HLO_ATTR_KIND_SHAPED_LITERAL: return hash_combine(hash, literal_hash(attr->value.literal));
    case HLO_ATTR_KIND_PADDING:
      return hash_ints(hash,
                       (Int64List){3 * (int64_t)attr->value.padding->rank, (const int64_t *)attr->value.padding->dims});
    case HLO_ATTR_KIND_SLICE:
      return hash_ints(hash,
                       (Int64List){3 * (int64_t)attr->value.slice->rank, (const int64_t *)attr->value.slice->dims});
    case HLO_ATTR_KIND_COMPUTATION: return hash;
    default: return hash_printed(hash, attr);
  }
}
