#include "hlo/type/shape.h"

#include <string.h>

#include "base/checked_math.h"
#include "base/hash_map.h"
#include "hlo/type/shape_internal.h"

enum { POINTER_BYTES = 8 };

/* Shapes of more dimensions take their temporaries from an arena. */
enum { SMALL_RANK = 16 };

struct ShapeTable {
  Arena *arena;
  IntMap by_hash; /* the first InternedShape of each hash */
};

ShapeTable *shape_table_create(Arena *arena) {
  ShapeTable *table = ARENA_NEW(arena, ShapeTable);
  table->arena = arena;
  int_map_init(&table->by_hash, arena);
  return table;
}

/* --- equality and hash --- */

static bool ints_equal(const int64_t *a, const int64_t *b, int count) {
  return count == 0 || memcmp(a, b, (size_t)count * sizeof(int64_t)) == 0;
}

static bool tiles_equal(const Layout *a, const Layout *b) {
  if (a->tile_count != b->tile_count) return false;
  for (int i = 0; i < a->tile_count; i++) {
    const Tile *x = &a->tiles[i], *y = &b->tiles[i];
    if (x->rank != y->rank || !ints_equal(x->dims, y->dims, x->rank)) return false;
  }
  return true;
}

static bool splits_equal(const Layout *a, const Layout *b) {
  if (a->split_count != b->split_count) return false;
  for (int i = 0; i < a->split_count; i++) {
    const SplitConfig *x = &a->splits[i], *y = &b->splits[i];
    if (x->dimension != y->dimension || x->index_count != y->index_count) return false;
    if (!ints_equal(x->indices, y->indices, x->index_count)) return false;
  }
  return true;
}

bool layout_equal(const Layout *a, const Layout *b) {
  return a->rank == b->rank && ints_equal(a->minor_to_major, b->minor_to_major, a->rank) && tiles_equal(a, b) &&
         a->tail_padding_alignment == b->tail_padding_alignment && a->index_type == b->index_type &&
         a->pointer_type == b->pointer_type && a->element_size_in_bits == b->element_size_in_bits &&
         a->memory_space == b->memory_space && splits_equal(a, b) &&
         a->metadata_prefix_bytes == b->metadata_prefix_bytes;
}

static bool dynamic_equal(const Shape *a, const Shape *b) {
  if (a->dynamic == NULL || b->dynamic == NULL) return a->dynamic == b->dynamic;
  return memcmp(a->dynamic, b->dynamic, (size_t)a->rank * sizeof(bool)) == 0;
}

/* Both normalized; elements of tuples are interned, so their addresses tell. */
static bool shape_structurally_equal(const Shape *a, const Shape *b) {
  if (a->type != b->type || a->rank != b->rank || a->tuple_size != b->tuple_size) return false;
  for (int i = 0; i < a->tuple_size; i++) {
    if (a->tuple[i] != b->tuple[i]) return false;
  }
  return ints_equal(a->dims, b->dims, a->rank) && dynamic_equal(a, b) && layout_equal(&a->layout, &b->layout);
}

static uint64_t hash_ints(uint64_t hash, const int64_t *values, int count) {
  hash = hash_combine(hash, (uint64_t)count);
  for (int i = 0; i < count; i++) hash = hash_combine(hash, (uint64_t)values[i]);
  return hash;
}

static uint64_t hash_layout(uint64_t hash, const Layout *layout) {
  hash = hash_ints(hash, layout->minor_to_major, layout->rank);
  hash = hash_combine(hash, (uint64_t)layout->tile_count);
  for (int i = 0; i < layout->tile_count; i++) hash = hash_ints(hash, layout->tiles[i].dims, layout->tiles[i].rank);
  hash = hash_combine(hash, (uint64_t)layout->memory_space);
  hash = hash_combine(hash, (uint64_t)layout->element_size_in_bits);
  return hash_combine(hash, (uint64_t)layout->tail_padding_alignment);
}

static uint64_t hash_shape(const Shape *shape) {
  uint64_t hash = hash_ints((uint64_t)shape->type, shape->dims, shape->rank);
  for (int i = 0; shape->dynamic != NULL && i < shape->rank; i++) hash = hash_combine(hash, shape->dynamic[i]);
  for (int i = 0; i < shape->tuple_size; i++) {
    hash = hash_combine(hash, ((const InternedShape *)shape->tuple[i])->hash);
  }
  return hash_layout(hash, &shape->layout);
}

uint64_t shape_hash(const Shape *shape) {
  return ((const InternedShape *)shape)->hash;
}

/* --- interning --- */

static const int64_t *copy_ints(Arena *arena, const int64_t *values, int count) {
  return count == 0 ? NULL : ARENA_COPY_ARRAY(arena, int64_t, values, count);
}

static void copy_layout(Arena *arena, const Layout *from, Layout *out) {
  *out = *from;
  out->minor_to_major = copy_ints(arena, from->minor_to_major, from->rank);
  out->tiles = NULL;
  if (from->tile_count > 0) {
    Tile *tiles = ARENA_NEW_ARRAY(arena, Tile, from->tile_count);
    for (int i = 0; i < from->tile_count; i++) {
      tiles[i] = (Tile){from->tiles[i].rank, copy_ints(arena, from->tiles[i].dims, from->tiles[i].rank)};
    }
    out->tiles = tiles;
  }
  out->splits = NULL;
  if (from->split_count > 0) {
    SplitConfig *splits = ARENA_NEW_ARRAY(arena, SplitConfig, from->split_count);
    for (int i = 0; i < from->split_count; i++) {
      splits[i] = from->splits[i];
      splits[i].indices = copy_ints(arena, from->splits[i].indices, from->splits[i].index_count);
    }
    out->splits = splits;
  }
}

static const Shape *intern_normalized(ShapeTable *table, const Shape *shape) {
  uint64_t hash = hash_shape(shape);
  int64_t address = 0;
  InternedShape *first = int_map_find(&table->by_hash, hash, &address) ? (InternedShape *)(uintptr_t)address : NULL;
  for (const InternedShape *entry = first; entry != NULL; entry = entry->next) {
    if (shape_structurally_equal(&entry->shape, shape)) return &entry->shape;
  }
  InternedShape *entry = ARENA_NEW(table->arena, InternedShape);
  Shape *copy = &entry->shape;
  *copy = *shape;
  copy->dims = copy_ints(table->arena, shape->dims, shape->rank);
  if (shape->dynamic != NULL) copy->dynamic = ARENA_COPY_ARRAY(table->arena, bool, shape->dynamic, shape->rank);
  copy_layout(table->arena, &shape->layout, &copy->layout);
  copy->tuple = NULL;
  if (shape->tuple_size > 0)
    copy->tuple = ARENA_COPY_ARRAY(table->arena, const Shape *, shape->tuple, shape->tuple_size);
  if (copy->type == TYPE_TUPLE) shape_compute_tuple_facts(table->arena, copy, &entry->facts);
  entry->hash = hash;
  entry->next = first;
  int_map_set(&table->by_hash, hash, (int64_t)(uintptr_t)entry);
  return copy;
}

static const Shape *intern_array(ShapeTable *table, const Shape *shape, bool *dynamic, int64_t *minor_to_major) {
  int rank = shape->rank;
  Shape key = {.type = shape->type, .rank = rank, .dims = shape->dims, .layout = shape->layout};
  for (int i = 0; i < rank; i++) {
    dynamic[i] = shape->dims[i] == SHAPE_UNBOUNDED || (shape->dynamic != NULL && shape->dynamic[i]);
    if (dynamic[i]) key.dynamic = dynamic;
    minor_to_major[i] = rank - 1 - i;
  }
  if (key.layout.minor_to_major == NULL) {
    key.layout.rank = rank;
    key.layout.minor_to_major = minor_to_major;
  }
  if (key.layout.tail_padding_alignment == 0) key.layout.tail_padding_alignment = 1;
  if (key.layout.rank != rank) XLAC_BUG("layout of rank %d for a shape of rank %d", key.layout.rank, rank);
  return intern_normalized(table, &key);
}

const Shape *shape_intern(ShapeTable *table, const Shape *shape) {
  if (!shape_is_array(shape)) {
    Shape key = {.type = shape->type, .tuple_size = shape->tuple_size, .tuple = shape->tuple};
    return intern_normalized(table, &key);
  }
  if (shape->rank <= SMALL_RANK) {
    bool dynamic[SMALL_RANK];
    int64_t minor_to_major[SMALL_RANK];
    return intern_array(table, shape, dynamic, minor_to_major);
  }
  Arena *scratch = arena_create();
  const Shape *result = intern_array(table, shape, ARENA_NEW_ARRAY(scratch, bool, shape->rank),
                                     ARENA_NEW_ARRAY(scratch, int64_t, shape->rank));
  arena_destroy(scratch);
  return result;
}

/* --- making --- */

const Shape *shape_array(ShapeTable *table, PrimitiveType type, const int64_t *dims, int rank) {
  return shape_array_with(table, type, dims, NULL, rank, NULL);
}

const Shape *shape_array_with(ShapeTable *table, PrimitiveType type, const int64_t *dims, const bool *dynamic, int rank,
                              const Layout *layout) {
  XLAC_CHECK(type_is_array(type));
  Shape key = {.type = type, .rank = rank, .dims = dims, .dynamic = dynamic};
  if (layout != NULL) key.layout = *layout;
  return shape_intern(table, &key);
}

const Shape *shape_scalar(ShapeTable *table, PrimitiveType type) {
  return shape_array(table, type, NULL, 0);
}

const Shape *shape_tuple(ShapeTable *table, const Shape *const *elements, int count) {
  return shape_intern(table, &(Shape){.type = TYPE_TUPLE, .tuple_size = count, .tuple = elements});
}

const Shape *shape_buffer(ShapeTable *table, const Shape *element) {
  return shape_intern(table, &(Shape){.type = TYPE_BUFFER, .tuple_size = 1, .tuple = &element});
}

const Shape *shape_token(ShapeTable *table) {
  return shape_intern(table, &(Shape){.type = TYPE_TOKEN});
}

/* --- changing --- */

typedef const Shape *LeafChange(ShapeTable *table, const Shape *array, const void *context);

/* |shape| with every array in it changed. */
static const Shape *change_leaves(ShapeTable *table, const Shape *shape, LeafChange *change, const void *context) {
  if (shape_is_array(shape)) return change(table, shape, context);
  if (shape->tuple_size == 0) return shape;
  Arena *scratch = arena_create();
  const Shape **elements = ARENA_NEW_ARRAY(scratch, const Shape *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) elements[i] = change_leaves(table, shape->tuple[i], change, context);
  Shape key = {.type = shape->type, .tuple_size = shape->tuple_size, .tuple = elements};
  const Shape *result = shape_intern(table, &key);
  arena_destroy(scratch);
  return result;
}

static const Shape *change_type(ShapeTable *table, const Shape *array, const void *context) {
  Shape key = *array;
  key.type = *(const PrimitiveType *)context;
  if (key.type != array->type) key.layout.element_size_in_bits = 0;
  return shape_intern(table, &key);
}

const Shape *shape_with_type(ShapeTable *table, const Shape *shape, PrimitiveType type) {
  XLAC_CHECK(type_is_array(type));
  return change_leaves(table, shape, change_type, &type);
}

const Shape *shape_with_layout(ShapeTable *table, const Shape *shape, const Layout *layout) {
  XLAC_CHECK(shape_is_array(shape));
  return shape_array_with(table, shape->type, shape->dims, shape->dynamic, shape->rank, layout);
}

static const Shape *change_to_default_layout(ShapeTable *table, const Shape *array, const void *context) {
  (void)context;
  return shape_array_with(table, array->type, array->dims, array->dynamic, array->rank, NULL);
}

const Shape *shape_with_default_layout(ShapeTable *table, const Shape *shape) {
  return change_leaves(table, shape, change_to_default_layout, NULL);
}

/* --- asking --- */

bool shape_is_array(const Shape *shape) {
  return type_is_array(shape->type);
}

bool shape_is_tuple(const Shape *shape) {
  return shape->type == TYPE_TUPLE;
}

bool shape_is_scalar(const Shape *shape) {
  return shape_is_array(shape) && shape->rank == 0;
}

bool shape_is_dynamic(const Shape *shape) {
  if (shape->type == TYPE_TUPLE) return shape_tuple_facts(shape)->is_dynamic;
  if (shape->type == TYPE_BUFFER) return shape_is_dynamic(shape->tuple[0]);
  if (shape->dynamic == NULL) return false;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dynamic[i]) return true;
  }
  return false;
}

bool layout_is_descending(const Layout *layout) {
  for (int i = 0; i < layout->rank; i++) {
    if (layout->minor_to_major[i] != layout->rank - 1 - i) return false;
  }
  return true;
}

bool layout_is_permutation(const Layout *layout) {
  for (int i = 0; i < layout->rank; i++) {
    if (layout->minor_to_major[i] < 0 || layout->minor_to_major[i] >= layout->rank) return false;
    for (int j = 0; j < i; j++) {
      if (layout->minor_to_major[i] == layout->minor_to_major[j]) return false;
    }
  }
  return true;
}

bool shape_is_static_array(const Shape *shape) {
  return shape_is_array(shape) && !shape_is_dynamic(shape);
}

bool shape_has_default_layout(const Shape *shape) {
  if (shape->type == TYPE_TUPLE) return shape_tuple_facts(shape)->has_default_layout;
  if (shape->type == TYPE_BUFFER) return shape_has_default_layout(shape->tuple[0]);
  return layout_is_descending(&shape->layout);
}

bool shape_same_dims(const Shape *a, const Shape *b) {
  return shape_is_array(a) && shape_is_array(b) && a->rank == b->rank && ints_equal(a->dims, b->dims, a->rank);
}

/* An unbounded dimension agrees with any. */
static bool dims_compatible(const Shape *a, const Shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++) {
    bool unbounded = a->dims[i] == SHAPE_UNBOUNDED || b->dims[i] == SHAPE_UNBOUNDED;
    if (!unbounded && a->dims[i] != b->dims[i]) return false;
  }
  return true;
}

static bool compatible(const Shape *a, const Shape *b, bool ignores_precision) {
  if (a == b) return true;
  bool both_floats = ignores_precision && type_is_float(a->type) && type_is_float(b->type);
  if (a->type != b->type && !both_floats) return false;
  if (a->tuple_size != b->tuple_size || !dims_compatible(a, b)) return false;
  for (int i = 0; i < a->tuple_size; i++) {
    if (!compatible(a->tuple[i], b->tuple[i], ignores_precision)) return false;
  }
  return true;
}

bool shape_compatible(const Shape *a, const Shape *b) {
  return compatible(a, b, false);
}

bool shape_compatible_ignoring_precision(const Shape *a, const Shape *b) {
  return compatible(a, b, true);
}

/* --- sizes --- */

int64_t shape_element_count(const Shape *shape) {
  bool is_empty = false, fits = true;
  int64_t count = 1;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] < 0) return -1;
    is_empty |= shape->dims[i] == 0;
    fits = fits && checked_mul(count, shape->dims[i], &count);
  }
  if (is_empty) return 0;
  return fits ? count : -1;
}

int64_t shape_extent(const Shape *shape, int begin, int end) {
  int64_t extent = 1;
  for (int i = begin; i < end; i++) extent *= shape->dims[i];
  return extent;
}

int64_t shape_byte_size(const Shape *shape) {
  if (shape->type == TYPE_TUPLE) return (int64_t)shape->tuple_size * POINTER_BYTES;
  if (shape->type == TYPE_BUFFER) return shape_byte_size(shape->tuple[0]);
  if (!shape_is_array(shape)) return 0;
  int64_t count = shape_element_count(shape), bytes = 0;
  return count >= 0 && checked_mul(count, type_storage_bytes(shape->type), &bytes) ? bytes : -1;
}

int64_t shape_leaf_byte_size(const Shape *shape) {
  return shape->type == TYPE_TUPLE ? shape_tuple_facts(shape)->leaf_bytes : shape_byte_size(shape);
}

void shape_strides(const Shape *shape, int64_t *out_strides) {
  /* Unsigned: beside a dimension of size 0 the others may multiply to anything. */
  uint64_t stride = 1;
  for (int i = 0; i < shape->layout.rank; i++) {
    int64_t dimension = shape->layout.minor_to_major[i];
    out_strides[dimension] = (int64_t)stride;
    stride *= (uint64_t)shape->dims[dimension];
  }
}
