/* Groups that grow from a large value along one of its dimensions, over what makes and reads it. */
#ifndef XLAC_PASSES_MEMORY_SPLIT_GROUP_H
#define XLAC_PASSES_MEMORY_SPLIT_GROUP_H

#include "base/hash_map.h"
#include "passes/cleanup/control_edges.h"
#include "passes/memory/split.h"

typedef struct SplitGraph {
  HloComputation *computation;
  HloInstruction **order; /* operands before users */
  int64_t count;
  ControlEdges edges;
} SplitGraph;

/* How far a group grows: values of 1/|large_part| of the largest one are worth keeping inside, and so are their users;
 * over so many windows from the seed. */
typedef struct SplitReach {
  int64_t large_part;
  int windows;
} SplitReach;

typedef struct SplitSearch {
  Arena *arena;
  const HloModule *module;
  IntMap large; /* ids */
  int64_t largest;
  IntMap graphs;        /* of computations */
  bool *after, *before; /* by id: instructions that need results of a group, or that its seed needs */
  HloSplitScope scope;
} SplitSearch;

/* The group that grows from |seed|, one of |graph|, along its dimension |dimension|, as far as |reach| lets it.  False:
 * there is none that can be computed part by part, or, with HLO_SPLIT_SAVING, that saves anything.  Its members live in
 * the arena of |search|. */
bool split_group_grow(const SplitSearch *search, const SplitGraph *graph, HloInstruction *seed, int dimension,
                      const SplitReach *reach, HloSplit *out);

#endif
