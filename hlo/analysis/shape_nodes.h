/* ShapeNodes: the nodes of a shape as a table, so that positions in large tuples are found without walking the shape.
 *
 * Node numbers are those of shape_node (hlo/type/shape.h): depth first, parents first. */
#ifndef XLAC_HLO_ANALYSIS_SHAPE_NODES_H
#define XLAC_HLO_ANALYSIS_SHAPE_NODES_H

#include "base/hash_map.h"
#include "hlo/type/shape.h"

typedef struct ShapeNodes {
  int32_t count;
  const Shape *const *shapes; /* by node */
  const int32_t *sizes;       /* nodes in the subtree, the node itself included */
  int32_t child_count;
  const int32_t *children; /* nodes of the shape's own elements; none for arrays */
} ShapeNodes;

/* Tables are made once per (interned) shape and live in |arena|. */
typedef struct ShapeNodesCache {
  Arena *arena;
  IntMap tables;
} ShapeNodesCache;

/* Tables are made when they are asked for, once for each shape, in |arena|. */
void shape_nodes_init(ShapeNodesCache *cache, Arena *arena);
const ShapeNodes *shape_nodes(ShapeNodesCache *cache, const Shape *shape);

#endif
