/* Arrangements of devices: iota tiles, meshes and their axes.
 *
 * A mesh is an array of devices; a position in it counts row-major, the first axis slowest.  What the functions below
 * take is well formed, as the verifier sees to it (hlo/infer/verifier_mesh.c), unless they say otherwise. */
#ifndef XLAC_HLO_IR_DEVICE_MESH_H
#define XLAC_HLO_IR_DEVICE_MESH_H

#include "hlo/ir/hlo_attribute.h"

/* The numbers 0…n-1 reshaped and transposed as |iota| says, row-major; n is the product of its dimensions. */
Int64List iota_tile_devices(Arena *arena, const IotaTile *iota);

/* The product of axis sizes; -1 when it overflows or a size is not positive.  Takes any mesh. */
int64_t mesh_device_count(const Mesh *mesh);
/* The device at each position; of a maximal mesh its one device. */
Int64List mesh_devices(Arena *arena, const Mesh *mesh);

/* An axis goes by its name or by its number in quotes; -1 when there is none.  Takes any mesh. */
int mesh_find_axis(const Mesh *mesh, StringView name);

/* How many parts the axes in |refs| make together; 1 when there are none. */
int64_t mesh_axes_size(const Mesh *mesh, const MeshAxisRefs *refs);
/* Which of these parts |position| is in; the first axis named is the slowest. */
int64_t mesh_axes_index(const Mesh *mesh, const MeshAxisRefs *refs, int64_t position);
/* The position with the same coordinates as |position| on all other axes, and 0 on those in |refs|. */
int64_t mesh_axes_origin(const Mesh *mesh, const MeshAxisRefs *refs, int64_t position);

#endif
