/* Shape: element type, dimensions and layout of an array, or a tuple of shapes.
 *
 * Shapes are immutable and interned: within one ShapeTable equal shapes (layout included) are equal pointers.
 * Dimensions are upper bounds where dynamic.  Every array carries its layout explicitly; text without one means the
 * default, descending. */
#ifndef XLAC_HLO_TYPE_SHAPE_H
#define XLAC_HLO_TYPE_SHAPE_H

#include "base/string_view.h"
#include "hlo/type/primitive_type.h"

/* dims[i] of an unbounded dynamic dimension ("?"). */
#define SHAPE_UNBOUNDED INT64_MIN

/* The most dimensions of an array in a verified module: as many as an array of NumPy has, so that every array can be
 * handed in and taken out.  More than these could only be of size 1 or 0. */
enum { SHAPE_MAX_RANK = 64 };

/* A tile's dimension that merges with the next more minor one ("*"). */
#define TILE_COMBINE INT64_MIN

typedef struct Tile {
  int rank;
  const int64_t *dims;
} Tile;

typedef struct SplitConfig {
  int64_t dimension;
  int index_count;
  const int64_t *indices;
} SplitConfig;

typedef struct Layout {
  int rank;
  const int64_t *minor_to_major; /* minor_to_major[0] is the fastest varying dimension */
  int tile_count;
  const Tile *tiles;
  int64_t tail_padding_alignment;         /* in elements; 1: none */
  PrimitiveType index_type, pointer_type; /* obsolete sparse fields, TYPE_INVALID when absent */
  int64_t element_size_in_bits;           /* 0: natural */
  int64_t memory_space;                   /* the buffer's colour */
  int split_count;
  const SplitConfig *splits;
  int64_t metadata_prefix_bytes;
} Layout;

typedef struct Shape {
  PrimitiveType type; /* TYPE_TUPLE, TYPE_BUFFER, TYPE_TOKEN and TYPE_OPAQUE are no arrays */
  int rank;
  const int64_t *dims;
  const bool *dynamic; /* per dimension; NULL when all are static */
  Layout layout;       /* arrays only */
  int tuple_size;      /* TYPE_TUPLE: elements; TYPE_BUFFER: 1 */
  const struct Shape *const *tuple;
} Shape;

typedef struct ShapeTable ShapeTable;

/* Lives in and interns into |arena|. */
ShapeTable *shape_table_create(Arena *arena);

/* The interned shape equal to |shape|, whose pointees may be temporary (they are copied); elements of tuples have to be
 * interned. Left out means default: minor_to_major NULL is descending (layout.rank is then ignored),
 * tail_padding_alignment 0 is 1.  The layout of what is no array is dropped; unbounded dimensions count as dynamic.  A
 * layout of another rank is a bug of the caller. */
const Shape *shape_intern(ShapeTable *table, const Shape *shape);

/* An array with the default layout; all dimensions static. */
const Shape *shape_array(ShapeTable *table, PrimitiveType type, const int64_t *dims, int rank);
/* An array; |dynamic| may be NULL, |layout| NULL means default. */
const Shape *shape_array_with(ShapeTable *table, PrimitiveType type, const int64_t *dims, const bool *dynamic, int rank,
                              const Layout *layout);
const Shape *shape_scalar(ShapeTable *table, PrimitiveType type);
const Shape *shape_tuple(ShapeTable *table, const Shape *const *elements, int count);
const Shape *shape_buffer(ShapeTable *table, const Shape *element);
/* What a buffer holds; any other shape is itself. */
static inline const Shape *shape_in_buffer(const Shape *shape) {
  return shape->type == TYPE_BUFFER ? shape->tuple[0] : shape;
}
/* Element |index| of a tuple; any other shape is itself, as the one result of what may have several. */
static inline const Shape *shape_result(const Shape *shape, int64_t index) {
  return shape->type == TYPE_TUPLE ? shape->tuple[index] : shape;
}
const Shape *shape_token(ShapeTable *table);

/* The same shape with another element type in all arrays (their E(bits) is dropped), layout (arrays only), or default
 * layouts throughout (tiles, memory spaces and all). */
const Shape *shape_with_type(ShapeTable *table, const Shape *shape, PrimitiveType type);
const Shape *shape_with_layout(ShapeTable *table, const Shape *shape, const Layout *layout);
const Shape *shape_with_default_layout(ShapeTable *table, const Shape *shape);

/* Of an interned shape; equal ones hash alike, in every table and run. */
uint64_t shape_hash(const Shape *shape);

bool shape_is_array(const Shape *shape);
bool shape_is_tuple(const Shape *shape);
bool shape_is_scalar(const Shape *shape);          /* array of rank 0 */
bool shape_is_dynamic(const Shape *shape);         /* any dimension of any leaf */
bool shape_is_static_array(const Shape *shape);    /* an array of which no dimension is dynamic */
bool shape_has_default_layout(const Shape *shape); /* minor_to_major descending at every leaf */

/* All fields equal (XLA's default Equal). */
bool layout_equal(const Layout *a, const Layout *b);
/* minor_to_major is rank-1, ..., 1, 0. */
bool layout_is_descending(const Layout *layout);
/* minor_to_major names every dimension once; shape_strides and everything that computes addresses relies on it. */
bool layout_is_permutation(const Layout *layout);

/* Equal types and dimensions, ignoring layouts and the dynamic marker (XLA's Compatible); unbounded dimensions match
 * any. */
bool shape_compatible(const Shape *a, const Shape *b);
/* The same, ignoring floating point precision as well. */
bool shape_compatible_ignoring_precision(const Shape *a, const Shape *b);
bool shape_same_dims(const Shape *a, const Shape *b);

/* The product of the dimensions (bounds); 0 when one is 0; -1 when it does not fit 63 bits or a dimension is unbounded.
 */
int64_t shape_element_count(const Shape *shape);
/* The product of the dimensions from |begin| on and before |end|, of an array whose element count fits. */
int64_t shape_extent(const Shape *shape, int begin, int end);
/* Bytes of one array in xlac's buffers (storage_bytes each); 0 for token and opaque; pointer size × elements for a
 * tuple's own node; the array's for b(array); -1 on overflow. */
int64_t shape_byte_size(const Shape *shape);
/* All array leaves together; -1 on overflow. */
int64_t shape_leaf_byte_size(const Shape *shape);

/* strides[i]: elements between neighbours along dimension i under the shape's layout. */
void shape_strides(const Shape *shape, int64_t *out_strides);

/* --- positions in nested tuples --- */

typedef struct ShapeIndex {
  int depth;
  const int64_t *path;
} ShapeIndex;

#define SHAPE_INDEX_ROOT ((ShapeIndex){0, 0})

/* NULL when the path leaves the shape. */
const Shape *shape_at(const Shape *shape, ShapeIndex index);
bool shape_index_equal(ShapeIndex a, ShapeIndex b);

/* All nodes of a shape, depth first, parents first: number 0 is the shape itself.  Passes name positions by these
 * numbers. A buffer is one node.  Tuples have to be interned.  Tuples that hold a tuple twice grow exponentially with
 * the text: counts stop at INT_MAX, so the reader of a text has to refuse large ones. */
int shape_node_count(const Shape *shape);
const Shape *shape_node(const Shape *shape, int node);
int shape_node_from_index(const Shape *shape, ShapeIndex index); /* -1 when the path leaves the shape */
/* Writes the path of |node| to |path| (room for the nesting depth, at most shape_depth) and returns its length. */
int shape_node_path(const Shape *shape, int node, int64_t *path);
int shape_depth(const Shape *shape); /* the length of the longest path */
/* The number of the node that is element |element| of the tuple at |node|. */
int shape_node_child(const Shape *shape, int node, int64_t element);
int shape_leaf_count(const Shape *shape); /* nodes that are no tuples */
/* The leaves of the elements in front of element |element| of a tuple. */
int shape_leaves_before(const Shape *tuple, int64_t element);

/* --- text --- */

/* As XLA prints: f32[2,3]{1,0}, tuples with an index comment before every fifth element.  Layouts only if
 * |with_layout|. */
void shape_print(StringBuilder *out, const Shape *shape, bool with_layout);
StringView shape_text(Arena *arena, const Shape *shape, bool with_layout);

#endif
