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
  const int64_t *sizes;  /* arrays whose size is set at run time: that of each dimension, at most the shape's, which the
                            data have; NULL: the shape's */
} Literal;

/* Zeroed storage in |arena| for every leaf.  The element count must fit (check shape_byte_size first). */
Literal *literal_create(Arena *arena, const Shape *shape);
Literal *literal_copy(Arena *arena, const Literal *literal);
/* The sizes of all leaves, not their data; both are of one shape. */
void literal_copy_sizes(Arena *arena, Literal *to, const Literal *from);

/* Bitwise equality of shape (layout ignored) and data; elided ones of one shape are equal. */
bool literal_equal(const Literal *a, const Literal *b);
uint64_t literal_hash(const Literal *literal);

/* One storage unit as bits, zero-extended, and back; types of at most 8 bytes.  |data| needs no alignment. */
uint64_t type_load_bits(PrimitiveType type, const void *data);
void type_store_bits(PrimitiveType type, void *data, uint64_t bits);

/* One storage unit of any real type as double or integer.  To a float: rounds to nearest even, once.  Double to
 * integer: towards zero, saturating, NaN is 0 (XLA's convert).  Integer to integer: wraps; u64 is its bits.  To pred:
 * whether it is not zero. */
double type_load_double(PrimitiveType type, const void *data);
int64_t type_load_int(PrimitiveType type, const void *data);
void type_store_double(PrimitiveType type, void *data, double value);
void type_store_int(PrimitiveType type, void *data, int64_t value);

/* The address of an element; |element| is the row-major linear index, here and below. */
void *literal_element(const Literal *literal, int64_t element);

/* Any real type as double or integer, converted as above. */
double literal_get_double(const Literal *literal, int64_t element);
int64_t literal_get_int(const Literal *literal, int64_t element);
void literal_set_double(Literal *literal, int64_t element, double value);
void literal_set_int(Literal *literal, int64_t element, int64_t value);

/* Any array type; the imaginary part of a real one is 0 and is dropped. */
void literal_get_complex(const Literal *literal, int64_t element, double *out_real, double *out_imaginary);
void literal_set_complex(Literal *literal, int64_t element, double real, double imaginary);

/* All elements have the same bits (arrays with at least one element); never of elided ones. */
bool literal_is_splat(const Literal *literal);
/* All elements equal |value|, -0 equal to 0 (arrays of real types, empty ones too); never of elided ones. */
bool literal_is_all(const Literal *literal, double value);

/* XLA's one-line text of the value alone (no shape): 1, {1, 2}, { {1}, {2} }, ( {1}, 2 ).  More than |max_elements| in
 * an array print as {...}; negative: no limit.  Reads back bit-equal, NaN payloads and signed zeros included (-0.0). */
void literal_print(StringBuilder *out, const Literal *literal, int64_t max_elements);

/* Bits of one element's value as text, as literal_print writes them; preds as true and false, as it writes scalars. */
void literal_print_element(StringBuilder *out, PrimitiveType type, const void *data);

#endif
