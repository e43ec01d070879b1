/* What interning knows of a shape beyond its fields. */
#ifndef XLAC_HLO_TYPE_SHAPE_INTERNAL_H
#define XLAC_HLO_TYPE_SHAPE_INTERNAL_H

#include "hlo/type/shape.h"

/* Shapes share subtrees, so that a tree's size may be exponential in the text; whatever walks a tree to count is
 * therefore computed once, from the elements' facts, when a tuple is interned. */
typedef struct TupleFacts {
  int node_count; /* INT_MAX: that many or more */
  int leaf_count; /* likewise */
  int depth;
  int64_t leaf_bytes; /* -1: overflow */
  bool is_dynamic;
  bool has_default_layout;
  const int *child_nodes;  /* the number of each element within this tree */
  const int *child_leaves; /* leaves before each element */
} TupleFacts;

typedef struct InternedShape {
  Shape shape; /* first, so that a Shape of a table is an InternedShape */
  TupleFacts facts;
  uint64_t hash;
  struct InternedShape *next; /* with the same hash */
} InternedShape;

/* |shape| is a tuple from a table. */
const TupleFacts *shape_tuple_facts(const Shape *shape);

/* From the facts of the elements; shape_index.c. */
void shape_compute_tuple_facts(Arena *arena, const Shape *tuple, TupleFacts *out_facts);

#endif
