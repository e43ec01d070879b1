/* SpmdBuilder: what partitioned computations are made of: a device's place along axes, and collectives along axes.
 *
 * A graph builder (passes/expand/graph_builder.h) with a mesh.  Collectives are of all partitions: the devices that
 * differ in |axes| alone are a group, in the order of these axes, the first one slowest; with several replicas each
 * replica has its own groups.  Groups are written as an iota where devices are numbered by position, so that a
 * thousand devices cost no more text than two. */
#ifndef XLAC_PASSES_SPMD_SPMD_BUILDER_H
#define XLAC_PASSES_SPMD_SPMD_BUILDER_H

#include "passes/expand/graph_builder.h"
#include "passes/spmd/axis_sharding.h"

typedef struct SpmdBuilder {
  GraphBuilder graph; /* into which computation, at whose place */
  const SpmdMesh *mesh;
  Arena *arena; /* of shardings; lives as long as the partitioning */
} SpmdBuilder;

/* This device's place along |axes|, an s32[] of 0 … size-1; the constant 0 without axes. */
HloInstruction *spmd_coordinate(SpmdBuilder *builder, AxisList axes);
/* The same, times |factor|: where its tile begins. */
HloInstruction *spmd_offset(SpmdBuilder *builder, AxisList axes, int64_t factor);

/* --- collectives: |value| is a device's part; all take any array --- */

/* |reducer|: of two scalars of the value's type, of the module. */
HloInstruction *spmd_all_reduce(SpmdBuilder *builder, HloInstruction *value, AxisList axes, HloComputation *reducer);
/* Of a dimension whose size the number of members divides: part k to member k. */
HloInstruction *spmd_reduce_scatter(SpmdBuilder *builder, HloInstruction *value, AxisList axes, int dim,
                                    HloComputation *reducer);
HloInstruction *spmd_all_gather(SpmdBuilder *builder, HloInstruction *value, AxisList axes, int dim);
/* |split_dim|'s part k, the number of members divides it, to member k; what members send is put together along
 * |concat_dim|, by member. */
HloInstruction *spmd_all_to_all(SpmdBuilder *builder, HloInstruction *value, AxisList axes, int split_dim,
                                int concat_dim);
/* |targets|: by position in the mesh, the position that the value goes to; -1: nowhere.  Who gets nothing has zeroes.
 */
HloInstruction *spmd_permute(SpmdBuilder *builder, HloInstruction *value, const int64_t *targets);

/* The computation (a, b) -> |opcode| of scalars of |type|, made once for each in the module by this function's name for
 * it. */
HloComputation *spmd_reducer(SpmdBuilder *builder, HloOpcode opcode, PrimitiveType type);

/* --- parts of arrays --- */

/* |value| with |fill| (a scalar of its type) where this device's tile of dimension |dim|, of |whole_size| elements
 * divided along |axes|, lies beyond the array; |value| itself where all tiles are full. */
HloInstruction *spmd_mask(SpmdBuilder *builder, HloInstruction *value, int dim, AxisList axes, int64_t whole_size,
                          HloInstruction *fill);

#endif
