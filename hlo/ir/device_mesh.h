/* Arrangements of devices: iota tiles, meshes and their axes.
 *
 * A mesh is an array of devices; a position in it counts row-major, the first axis slowest. */
#ifndef XLAC_HLO_IR_DEVICE_MESH_H
#define XLAC_HLO_IR_DEVICE_MESH_H

#include "hlo/ir/hlo_attribute.h"

/* The product of the dimensions; -1 when it overflows, a dimension is not positive, or the permutation is none. */
int64_t iota_tile_count(Arena *scratch, const IotaTile *iota);
/* The numbers 0…n-1 reshaped and transposed as |iota| says, row-major; n is iota_tile_count, not -1. */
Int64List iota_tile_devices(Arena *arena, const IotaTile *iota);

/* The product of axis sizes; -1 when it overflows or a size is not positive. */
int64_t mesh_device_count(const Mesh *mesh);
/* The device at each position, of a maximal mesh its one device; empty when they are not as many as the axes say. */
Int64List mesh_devices(Arena *arena, const Mesh *mesh);

/* An axis goes by its name or by its number in quotes; -1 when there is none. */
int mesh_find_axis(const Mesh *mesh, StringView name);
/* What is wrong with the axes that |refs| names ("an axis twice"), NULL: nothing; |*out_size| is multiplied by theirs.
 * |seen| has an entry for each axis of the mesh, in which they are marked: those of other lists may stand there.  Parts
 * of one axis ("x":(pre)size) may stand in several places, whole axes in one only. */
const char *mesh_axes_mistake(const Mesh *mesh, const MeshAxisRefs *refs, bool *seen, int64_t *out_size);

/* --- of axes without a mistake --- */

/* How many parts the axes in |refs| make together; 1 when there are none. */
int64_t mesh_axes_size(const Mesh *mesh, const MeshAxisRefs *refs);
/* Which of these parts |position| is in; the first axis named is the slowest. */
int64_t mesh_axes_index(const Mesh *mesh, const MeshAxisRefs *refs, int64_t position);
/* The position with the same coordinates as |position| on all other axes, and 0 on those in |refs|. */
int64_t mesh_axes_origin(const Mesh *mesh, const MeshAxisRefs *refs, int64_t position);

#endif
