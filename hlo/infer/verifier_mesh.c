/* Arrangements of devices: iota tiles, meshes and their axes. */
#include "base/checked_math.h"
#include "hlo/infer/verifier_internal.h"
#include "hlo/ir/device_mesh.h"

int64_t verify_iota_count(Verifier *verifier, const IotaTile *iota) {
  int64_t count = 1;
  bool *seen = ARENA_NEW_ARRAY(verifier->scratch, bool, iota->rank);
  for (int i = 0; i < iota->rank; i++) {
    int64_t place = iota->transpose_perm != NULL ? iota->transpose_perm[i] : i;
    if (place < 0 || place >= iota->rank || seen[place]) return -1;
    seen[place] = true;
    if (iota->reshape_dims[i] <= 0 || !checked_mul(count, iota->reshape_dims[i], &count)) return -1;
  }
  return count;
}

/* Parts of one axis ("x":(pre)size) may stand in several places; whole axes in one only. */
const char *verify_axes(const Mesh *mesh, const MeshAxisRefs *refs, bool *seen, int64_t *out_size) {
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
