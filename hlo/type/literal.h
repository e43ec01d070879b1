/* Literal: a constant value of any shape.
 *
 * Array data is dense, row major by the *logical* dimensions whatever the shape's layout, one storage unit per element
 * (type_storage_bytes: s4 is one sign-extended byte, f8 its bits, c64 two floats, pred 0 or 1).  Host byte order
 * (little endian). */
#ifndef XLAC_HLO_TYPE_LITERAL_H
#define XLAC_HLO_TYPE_LITERAL_H

#include "hlo/type/shape.h"

typedef struct Literal {
  const Shape *shape;
  void *data;            /* arrays; 64-byte aligned */
  struct Literal *tuple; /* tuples: shape->tuple_size elements */
  bool elided;           /* the text said {...}: data is zeroes and must not be used */
} Literal;

/* Zeroed storage in |arena| for every leaf.  The element count must fit (check shape_byte_size first). */
Literal *literal_create(Arena *arena, const Shape *shape);
Literal *literal_copy(Arena *arena, const Literal *literal);

/* Bitwise equality of shape (layout ignored) and data. */
bool literal_equal(const Literal *a, const Literal *b);
uint64_t literal_hash(const Literal *literal);

/* Any real type as double or integer; |element| is the row-major linear index.  Setting rounds or wraps to the type. */
double literal_get_double(const Literal *literal, int64_t element);
int64_t literal_get_int(const Literal *literal, int64_t element);
void literal_set_double(Literal *literal, int64_t element, double value);
void literal_set_int(Literal *literal, int64_t element, int64_t value);

/* All elements have the same bits (arrays with at least one element). */
bool literal_is_splat(const Literal *literal);
/* All elements equal |value| (real types). */
bool literal_is_all(const Literal *literal, double value);

/* XLA's text of the value alone (no shape): 1, {1, 2}, { {1}, {2} }, ({1}, 2).  More than |max_elements| in an array
 * print as {...}; negative: no limit.  Reads back bit-equal, NaN payloads and signed zeros included (-0.0). */
void literal_print(StringBuilder *out, const Literal *literal, int64_t max_elements);

/* Bits of one element's value as text, as literal_print writes them. */
void literal_print_element(StringBuilder *out, PrimitiveType type, const void *data);

#endif
