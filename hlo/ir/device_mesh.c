#include "hlo/ir/device_mesh.h"

#include "base/checked_math.h"

int64_t iota_tile_count(Arena *scratch, const IotaTile *iota) {
  int64_t count = 1;
  bool *seen = ARENA_NEW_ARRAY(scratch, bool, iota->rank);
  for (int i = 0; i < iota->rank; i++) {
    int64_t place = iota->transpose_perm != NULL ? iota->transpose_perm[i] : i;
    if (place < 0 || place >= iota->rank || seen[place]) return -1;
    seen[place] = true;
    if (iota->reshape_dims[i] <= 0 || !checked_mul(count, iota->reshape_dims[i], &count)) return -1;
  }
  return count;
}

Int64List iota_tile_devices(Arena *arena, const IotaTile *iota) {
  int64_t count = 1;
  int64_t *strides = ARENA_NEW_ARRAY(arena, int64_t, iota->rank), *index = ARENA_NEW_ARRAY(arena, int64_t, iota->rank);
  for (int i = iota->rank - 1; i >= 0; i--) {
    strides[i] = count;
    count *= iota->reshape_dims[i];
  }
  int64_t *devices = ARENA_NEW_ARRAY(arena, int64_t, count);
  for (int64_t position = 0, device = 0; position < count; position++) {
    devices[position] = device;
    for (int i = iota->rank - 1; i >= 0; i--) {
      int64_t place = iota->transpose_perm != NULL ? iota->transpose_perm[i] : i;
      device += strides[place];
      if (++index[i] < iota->reshape_dims[place]) break;
      device -= index[i] * strides[place];
      index[i] = 0;
    }
  }
  return (Int64List){count, devices};
}

int64_t mesh_device_count(const Mesh *mesh) {
  int64_t count = 1;
  for (int i = 0; i < mesh->axis_count; i++) {
    if (mesh->axes[i].size <= 0 || !checked_mul(count, mesh->axes[i].size, &count)) return -1;
  }
  return count;
}

Int64List mesh_devices(Arena *arena, const Mesh *mesh) {
  int64_t count = mesh_device_count(mesh);
  if (mesh->is_maximal) return (Int64List){1, &mesh->maximal_device};
  int64_t listed = mesh->device_iota != NULL ? iota_tile_count(arena, mesh->device_iota)
                   : mesh->device_count > 0  ? mesh->device_count
                                             : count;
  if (count < 0 || listed != count) return (Int64List){0};
  if (mesh->device_iota != NULL) return iota_tile_devices(arena, mesh->device_iota);
  if (mesh->device_count > 0) return (Int64List){mesh->device_count, mesh->device_ids};
  int64_t *devices = ARENA_NEW_ARRAY(arena, int64_t, count);
  for (int64_t i = 0; i < count; i++) devices[i] = i;
  return (Int64List){count, devices};
}

int mesh_find_axis(const Mesh *mesh, StringView name) {
  for (int i = 0; i < mesh->axis_count; i++) {
    if (sv_equal(mesh->axes[i].name, name)) return i;
  }
  int64_t number = 0;
  for (size_t i = 0; i < name.size; i++) {
    if (name.data[i] < '0' || name.data[i] > '9' || number > mesh->axis_count) return -1;
    number = number * 10 + (name.data[i] - '0');
  }
  return name.size > 0 && number < mesh->axis_count ? (int)number : -1;
}

const char *mesh_axes_mistake(const Mesh *mesh, const MeshAxisRefs *refs, bool *seen, int64_t *out_size) {
  for (int i = 0; i < refs->count; i++) {
    const MeshAxisRef *ref = &refs->refs[i];
    int axis = mesh_find_axis(mesh, ref->name);
    if (axis < 0) return "an axis that the mesh does not have";
    int64_t size = mesh->axes[axis].size, end;
    bool is_part = ref->size > 0;
    if (is_part && (ref->pre_size <= 0 || !checked_mul(ref->pre_size, ref->size, &end) || size % end != 0)) {
      return "a part of an axis that does not divide it";
    }
    if (!is_part && seen[axis]) return "an axis twice";
    seen[axis] = true;
    if (!checked_mul(*out_size, is_part ? ref->size : size, out_size)) return "too many devices";
  }
  return NULL;
}

/* What one axis, or a part of it, says of a position: an axis of size n is [pre, size, n/(pre·size)]. */
typedef struct AxisPart {
  int64_t size;
  int64_t stride; /* of the part, in positions */
} AxisPart;

static AxisPart axis_part(const Mesh *mesh, const MeshAxisRef *ref) {
  int axis = mesh_find_axis(mesh, ref->name);
  int64_t stride = 1, size = mesh->axes[axis].size;
  for (int i = axis + 1; i < mesh->axis_count; i++) stride *= mesh->axes[i].size;
  if (ref->size == 0) return (AxisPart){size, stride};
  return (AxisPart){ref->size, stride * (size / (ref->pre_size * ref->size))};
}

int64_t mesh_axes_size(const Mesh *mesh, const MeshAxisRefs *refs) {
  int64_t size = 1;
  for (int i = 0; i < refs->count; i++) size *= axis_part(mesh, &refs->refs[i]).size;
  return size;
}

int64_t mesh_axes_index(const Mesh *mesh, const MeshAxisRefs *refs, int64_t position) {
  int64_t index = 0;
  for (int i = 0; i < refs->count; i++) {
    AxisPart part = axis_part(mesh, &refs->refs[i]);
    index = index * part.size + position / part.stride % part.size;
  }
  return index;
}

int64_t mesh_axes_origin(const Mesh *mesh, const MeshAxisRefs *refs, int64_t position) {
  int64_t origin = position;
  for (int i = 0; i < refs->count; i++) {
    AxisPart part = axis_part(mesh, &refs->refs[i]);
    origin -= position / part.stride % part.size * part.stride;
  }
  return origin;
}
