/* Shardy's attributes as HLO text carries them, in frontend attributes:
 *
 *   xla.sdy.meshes={mesh = #sdy.mesh<["dp"=2, "tp"=4], device_ids=[…]>}      of the module
 *   xla.sdy.sharding="#sdy.sharding<@mesh, [{"dp", ?}, {}p1], replicated={"tp"}>"
 *   xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{"x":(1)2}]>, …]>"
 *   xla.sdy.manual_axes="#sdy<manual_axes{"dp"}>"
 *
 * "?" leaves a dimension open for more axes, pN is its priority, "x":(a)b the part of size b of axis "x" after parts of
 * size a together. */
#ifndef XLAC_PASSES_SPMD_SHARDY_TEXT_H
#define XLAC_PASSES_SPMD_SHARDY_TEXT_H

#include "passes/spmd/axis_sharding.h"

typedef struct ShardyMesh {
  StringView name;
  int axis_count;
  const MeshAxis *axes;
  const int *firsts;    /* the mesh's first prime axis of each, and, after the last, their number */
  const SpmdMesh *mesh; /* NULL: all devices are one (a maximal mesh) */
} ShardyMesh;

typedef struct ShardyMeshes {
  int count;
  const ShardyMesh *data;
} ShardyMeshes;

typedef struct ShardyDim {
  AxisList axes; /* of its mesh */
  bool is_open;
  int64_t priority;
} ShardyDim;

typedef struct ShardySharding {
  const ShardyMesh *mesh;
  int rank;
  const ShardyDim *dims;
  AxisMask replicated;
} ShardySharding;

/* Where a text stands, for messages. */
typedef struct ShardySource {
  Arena *arena;
  StringView attribute; /* "xla.sdy.sharding" */
  SourceLoc loc;
  DiagSink *diag;
} ShardySource;

/* All errors are STATUS_INVALID, code "sharding", and say which text was not understood where.  Results are in the
 * source's arena. */
MUST_USE Status shardy_read_meshes(const ShardySource *source, StringView text, ShardyMeshes *out_meshes);
/* One sharding, or a list of them. */
MUST_USE Status shardy_read_shardings(const ShardySource *source, StringView text, const ShardyMeshes *meshes,
                                      int *out_count, const ShardySharding **out_shardings);
/* Axes of the first mesh that has them all: |out_mesh|. */
MUST_USE Status shardy_read_manual_axes(const ShardySource *source, StringView text, const ShardyMeshes *meshes,
                                        const ShardyMesh **out_mesh, AxisMask *out_axes);

#endif
