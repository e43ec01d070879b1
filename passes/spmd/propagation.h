/* Propagation: a sharding for every value of a module, from those that its text gives to some.
 *
 * What the text says, in Shardy's words (xla.sdy.meshes in the header, which then decide) or in HLO's own (sharding=),
 * becomes a mesh, shardings that stay as they are, and dimensions that are open.  Then shardings are propagated along
 * factors (sharding_rule.h), and through loops, branches and calls, until nothing changes: priorities of the user
 * first, then operations from the simplest to broadcasts.  Source: Shardy's propagation (user priorities, operation
 * priorities, aggressive then basic); docs/distributed.md says it in short. */
#ifndef XLAC_PASSES_SPMD_PROPAGATION_H
#define XLAC_PASSES_SPMD_PROPAGATION_H

#include "base/array.h"
#include "hlo/ir/hlo_module.h"
#include "passes/spmd/axis_sharding.h"

/* Axes that a dimension got from another value. */
typedef struct ShardingStep {
  int dim;
  AxisList axes;                /* added after those that it had */
  const HloInstruction *along;  /* the operation along which they came: the value is its result or operand, so is */
  const HloInstruction *source; /* the one that had them, leaf |source_leaf| of it */
  int source_leaf;
} ShardingStep;

typedef ARRAY(ShardingStep) ShardingSteps;

typedef struct ValueSharding {
  const AxisSharding *sharding; /* NULL for tokens and other leaves that are no arrays */
  bool is_given;                /* the text says so, but for what steps added */
  ShardingSteps steps;          /* in the order in which they came */
} ValueSharding;

typedef struct ModuleShardings {
  const SpmdMesh *mesh;
  int64_t instruction_count;          /* ids below */
  const ValueSharding *const *leaves; /* by instruction id: of each leaf of its shape; NULL: the instruction is gone */
  /* By instruction id: of a marker at the border of a manual region, for each leaf, the sharding on the outside, of the
   * whole array with the region's manual axes first in each dimension; NULL for any other instruction. */
  const AxisSharding *const *const *outsides;
} ModuleShardings;

/* Whether |module| is to be partitioned: its text gives shardings (not only those of parameters and results that a
 * partitioner leaves; compare hlo/infer/device_check.h). */
bool spmd_is_to_be_partitioned(const HloModule *module);

/* For module->num_partitions devices.  Everything is in |arena|.  STATUS_INVALID or STATUS_UNSUPPORTED with a located
 * diagnostic (code "sharding") for a text that cannot be read, contradicts itself or needs another number of devices.
 * Instructions are not changed. */
MUST_USE Status spmd_propagate(Arena *arena, HloModule *module, DiagSink *diag, ModuleShardings *out_shardings);

/* Of leaf |leaf| of |instruction|. */
const AxisSharding *module_sharding(const ModuleShardings *shardings, const HloInstruction *instruction, int leaf);

#endif
