/* What propagation knows of each value while it goes on; how it begins. */
#ifndef XLAC_PASSES_SPMD_PROPAGATION_INTERNAL_H
#define XLAC_PASSES_SPMD_PROPAGATION_INTERNAL_H

#include "base/array.h"
#include "passes/spmd/propagation.h"
#include "passes/spmd/sharding_rule.h"

/* One array leaf of an instruction.  Axes of a dimension are only ever added, at its end. */
typedef struct ValueState {
  const HloInstruction *owner;
  int leaf;
  AxisList *dims;            /* by dimension */
  const bool *is_open;       /* by dimension: axes may be added */
  const int64_t *priorities; /* by dimension: which round hands its axes on; NULL: the first */
  AxisMask taken;            /* axes that no dimension may get: manual ones, those it is replicated along */
  AxisMask manual;
  const int64_t *order; /* AxisSharding.order */
  int rank;             /* -1: no array */
  bool is_dynamic;      /* a size is set at run time: every device has all of it */
  bool is_given;
  ShardingSteps steps;
} ValueState;

/* Values that the text wants to have one sharding. */
typedef struct SharedPair {
  ValueState *a, *b;
  const HloInstruction *along;
} SharedPair;

typedef struct Propagation {
  Arena *arena;
  HloModule *module;
  DiagSink *diag;
  const SpmdMesh *mesh;
  const bool *applied;   /* by computation id: its instructions have no values of their own */
  ValueState **values;   /* by instruction id, by leaf */
  ValueState **outsides; /* of borders of manual regions: ModuleShardings.outsides; NULL: no border */
  AxisMask *manual;      /* by instruction id */
  ARRAY(SharedPair) groups;
  const ShardingRule **rules; /* by instruction id; NULL: not made yet */
  int64_t priority;           /* of this round: dimensions of later ones hand nothing on */
  int level;                  /* of this round: which operations take part */
  bool changed;
} Propagation;

/* A mesh for all that the module's text says, and each value as that begins: propagation->mesh, values, outsides,
 * manual.  Errors are those of spmd_propagate. */
MUST_USE Status propagation_begin(Propagation *propagation);

/* The manual axes of each instruction, from those that borders name: |border_axes| by instruction id, 0 for what is no
 * border; |enters|: the border leads into a region.  STATUS_INVALID where regions contradict one another. */
MUST_USE Status propagation_find_regions(Propagation *propagation, const AxisMask *border_axes, const bool *enters);

/* Makes the mesh one of the partitions that the module has, before manual regions are looked for; nothing where it is
 * one. STATUS_INVALID where there are manual regions, whose shapes are those of another number. */
MUST_USE Status propagation_fit_mesh(Propagation *propagation);

/* Calls |visit| for every instruction that has values, computations in the module's order. */
typedef Status PropagationVisit(Propagation *propagation, HloInstruction *instruction, void *context);
MUST_USE Status propagation_for_each(Propagation *propagation, PropagationVisit *visit, void *context);

#endif
