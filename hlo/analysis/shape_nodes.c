#include "hlo/analysis/shape_nodes.h"

void shape_nodes_init(ShapeNodesCache *cache, Arena *arena) {
  cache->arena = arena;
  int_map_init(&cache->tables, arena);
}

/* Nesting is bounded by the reader of the text. */
static int32_t fill(const Shape *shape, const Shape **shapes, int32_t *sizes, int32_t node) {
  int32_t next = node + 1;
  if (shape_is_tuple(shape)) {
    for (int i = 0; i < shape->tuple_size; i++) next = fill(shape->tuple[i], shapes, sizes, next);
  }
  shapes[node] = shape;
  sizes[node] = next - node;
  return next;
}

const ShapeNodes *shape_nodes(ShapeNodesCache *cache, const Shape *shape) {
  ShapeNodes *table = pointer_map_get(&cache->tables, shape);
  if (table) return table;
  int32_t count = (int32_t)shape_node_count(shape);
  const Shape **shapes = ARENA_NEW_ARRAY(cache->arena, const Shape *, count);
  int32_t *sizes = ARENA_NEW_ARRAY(cache->arena, int32_t, count);
  int32_t filled = fill(shape, shapes, sizes, 0);
  XLAC_CHECK(filled == count);
  table = ARENA_NEW(cache->arena, ShapeNodes);
  table->count = count;
  table->shapes = shapes;
  table->sizes = sizes;
  if (shape_is_tuple(shape)) {
    int32_t *children = ARENA_NEW_ARRAY(cache->arena, int32_t, shape->tuple_size + 1);
    int32_t child = 1;
    for (int i = 0; i < shape->tuple_size; i++, child += sizes[child]) children[i] = child;
    table->child_count = shape->tuple_size;
    table->children = children;
  }
  pointer_map_set(&cache->tables, shape, table);
  return table;
}
