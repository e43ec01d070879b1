#include <limits.h>

#include "base/checked_math.h"
#include "hlo/type/shape.h"
#include "hlo/type/shape_internal.h"

/* Places in nested tuples: facts about a tuple that are computed once, and the ways between nodes, leaves and
 * indices. */

const TupleFacts *shape_tuple_facts(const Shape *shape) {
  return &((const InternedShape *)shape)->facts;
}

static int saturating_add(int a, int b) {
  int sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT_MAX : sum;
}

static int64_t add_bytes(int64_t a, int64_t b) {
  int64_t sum = 0;
  return a >= 0 && b >= 0 && checked_add(a, b, &sum) ? sum : -1;
}

void shape_compute_tuple_facts(Arena *arena, const Shape *tuple, TupleFacts *out_facts) {
  TupleFacts facts = {.node_count = 1, .has_default_layout = true};
  int *child_nodes = ARENA_NEW_ARRAY(arena, int, tuple->tuple_size);
  int *child_leaves = ARENA_NEW_ARRAY(arena, int, tuple->tuple_size);
  for (int i = 0; i < tuple->tuple_size; i++) {
    const Shape *element = tuple->tuple[i];
    int depth_below = shape_depth(element) + 1;
    child_nodes[i] = facts.node_count;
    child_leaves[i] = facts.leaf_count;
    facts.node_count = saturating_add(facts.node_count, shape_node_count(element));
    facts.leaf_count = saturating_add(facts.leaf_count, shape_leaf_count(element));
    facts.depth = depth_below > facts.depth ? depth_below : facts.depth;
    facts.leaf_bytes = add_bytes(facts.leaf_bytes, shape_leaf_byte_size(element));
    facts.is_dynamic |= shape_is_dynamic(element);
    facts.has_default_layout &= shape_has_default_layout(element);
  }
  facts.child_nodes = child_nodes;
  facts.child_leaves = child_leaves;
  *out_facts = facts;
}

const Shape *shape_at(const Shape *shape, ShapeIndex index) {
  for (int i = 0; i < index.depth; i++) {
    if (shape->type != TYPE_TUPLE || index.path[i] < 0 || index.path[i] >= shape->tuple_size) return NULL;
    shape = shape->tuple[index.path[i]];
  }
  return shape;
}

bool shape_index_equal(ShapeIndex a, ShapeIndex b) {
  if (a.depth != b.depth) return false;
  for (int i = 0; i < a.depth; i++) {
    if (a.path[i] != b.path[i]) return false;
  }
  return true;
}

int shape_node_count(const Shape *shape) {
  return shape->type == TYPE_TUPLE ? shape_tuple_facts(shape)->node_count : 1;
}

int shape_leaf_count(const Shape *shape) {
  return shape->type == TYPE_TUPLE ? shape_tuple_facts(shape)->leaf_count : 1;
}

int shape_depth(const Shape *shape) {
  return shape->type == TYPE_TUPLE ? shape_tuple_facts(shape)->depth : 0;
}

/* The element of |shape| whose tree holds node number |node| (not 0). */
static int element_of_node(const Shape *shape, int node) {
  const int *child_nodes = shape_tuple_facts(shape)->child_nodes;
  int low = 0, high = shape->tuple_size;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (child_nodes[middle] <= node) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Walks down to |node|; |path| may be NULL. */
static const Shape *descend(const Shape *shape, int node, int64_t *path, int *out_depth) {
  XLAC_CHECK(node >= 0 && node < shape_node_count(shape));
  int depth = 0;
  while (node > 0) {
    int element = element_of_node(shape, node);
    if (path != NULL) path[depth] = element;
    depth++;
    node -= shape_tuple_facts(shape)->child_nodes[element];
    shape = shape->tuple[element];
  }
  *out_depth = depth;
  return shape;
}

const Shape *shape_node(const Shape *shape, int node) {
  int depth = 0;
  return descend(shape, node, NULL, &depth);
}

int shape_node_path(const Shape *shape, int node, int64_t *path) {
  int depth = 0;
  descend(shape, node, path, &depth);
  return depth;
}

int shape_node_from_index(const Shape *shape, ShapeIndex index) {
  int node = 0;
  for (int i = 0; i < index.depth; i++) {
    if (shape->type != TYPE_TUPLE || index.path[i] < 0 || index.path[i] >= shape->tuple_size) return -1;
    node = saturating_add(node, shape_tuple_facts(shape)->child_nodes[index.path[i]]);
    shape = shape->tuple[index.path[i]];
  }
  return node;
}

int shape_node_child(const Shape *shape, int node, int64_t element) {
  const Shape *tuple = shape_node(shape, node);
  XLAC_CHECK(tuple->type == TYPE_TUPLE && element >= 0 && element < tuple->tuple_size);
  return node + shape_tuple_facts(tuple)->child_nodes[element];
}

int shape_leaves_before(const Shape *tuple, int64_t element) {
  return shape_tuple_facts(tuple)->child_leaves[element];
}
