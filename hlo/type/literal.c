#include "hlo/type/literal.h"

#include <math.h>
#include <string.h>

#include "base/checked_math.h"
#include "base/hash_map.h"
#include "hlo/type/float_types.h"

enum { LITERAL_ALIGNMENT = 64 };

static void literal_init(Arena *arena, const Shape *shape, Literal *out) {
  *out = (Literal){.shape = shape};
  if (shape_is_tuple(shape)) {
    out->tuple = ARENA_NEW_ARRAY(arena, Literal, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++) literal_init(arena, shape->tuple[i], &out->tuple[i]);
  } else if (shape_is_array(shape)) {
    int64_t bytes = shape_byte_size(shape);
    if (bytes < 0) XLAC_BUG("literal too large");
    out->data = arena_alloc_aligned(arena, (size_t)max_i64(bytes, 1), LITERAL_ALIGNMENT);
  }
}

Literal *literal_create(Arena *arena, const Shape *shape) {
  Literal *literal = ARENA_NEW(arena, Literal);
  literal_init(arena, shape, literal);
  return literal;
}

static void literal_copy_data(Literal *to, const Literal *from) {
  to->elided = from->elided;
  if (shape_is_array(to->shape)) {
    memcpy(to->data, from->data, (size_t)shape_byte_size(to->shape));
  } else if (shape_is_tuple(to->shape)) {
    for (int i = 0; i < to->shape->tuple_size; i++) literal_copy_data(&to->tuple[i], &from->tuple[i]);
  }
}

void literal_copy_sizes(Arena *arena, Literal *to, const Literal *from) {
  to->sizes = from->sizes ? ARENA_COPY_ARRAY(arena, int64_t, from->sizes, from->shape->rank) : NULL;
  for (int i = 0; shape_is_tuple(to->shape) && i < to->shape->tuple_size; i++)
    literal_copy_sizes(arena, &to->tuple[i], &from->tuple[i]);
}

Literal *literal_copy(Arena *arena, const Literal *literal) {
  Literal *copy = literal_create(arena, literal->shape);
  literal_copy_data(copy, literal);
  literal_copy_sizes(arena, copy, literal);
  return copy;
}

static bool data_equal(const Literal *a, const Literal *b) {
  if (a->elided != b->elided) return false;
  if (shape_is_array(a->shape)) return memcmp(a->data, b->data, (size_t)shape_byte_size(a->shape)) == 0;
  if (!shape_is_tuple(a->shape)) return true;
  for (int i = 0; i < a->shape->tuple_size; i++) {
    if (!data_equal(&a->tuple[i], &b->tuple[i])) return false;
  }
  return true;
}

bool literal_equal(const Literal *a, const Literal *b) {
  return a == b || (shape_compatible(a->shape, b->shape) && data_equal(a, b));
}

uint64_t literal_hash(const Literal *literal) {
  const Shape *shape = literal->shape;
  uint64_t hash = hash_combine((uint64_t)shape->type, literal->elided);
  for (int i = 0; i < shape->rank; i++) hash = hash_combine(hash, (uint64_t)shape->dims[i]);
  if (shape_is_array(shape)) return hash_combine(hash, hash_bytes(literal->data, (size_t)shape_byte_size(shape)));
  if (!shape_is_tuple(shape)) return hash;
  for (int i = 0; i < shape->tuple_size; i++) hash = hash_combine(hash, literal_hash(&literal->tuple[i]));
  return hash;
}

/* --- elements --- */

void *literal_element(const Literal *literal, int64_t element) {
  return (char *)literal->data + element * type_storage_bytes(literal->shape->type);
}

uint64_t type_load_bits(PrimitiveType type, const void *data) {
  int size = type_storage_bytes(type);
  XLAC_CHECK(size >= 1 && size <= 8);
  uint64_t bits = 0;
  memcpy(&bits, data, (size_t)size);
  return bits;
}

void type_store_bits(PrimitiveType type, void *data, uint64_t bits) {
  int size = type_storage_bytes(type);
  XLAC_CHECK(size >= 1 && size <= 8);
  memcpy(data, &bits, (size_t)size);
}

/* The integer in the lowest bits of |bits|, by the width and signedness of |type|. */
static int64_t wrap_int(PrimitiveType type, uint64_t bits) {
  int unused = 64 - type_bits(type);
  uint64_t value = bits << unused >> unused;
  uint64_t sign = UINT64_C(1) << (type_bits(type) - 1);
  if (type_is_signed(type)) value = (value ^ sign) - sign;
  return (int64_t)value;
}

/* Towards zero, saturating, NaN is 0. */
static int64_t int_from_double(PrimitiveType type, double value) {
  if (isnan(value)) return 0;
  if (value <= (double)type_int_min(type)) return type_int_min(type);
  if (value >= (double)type_int_max(type)) return (int64_t)type_int_max(type);
  return type_is_signed(type) ? (int64_t)value : (int64_t)(uint64_t)value;
}

static void check_real(PrimitiveType type) {
  if (!type_is_array(type) || type_is_complex(type)) XLAC_BUG("'%s' is not a real type", type_text(type));
}

double type_load_double(PrimitiveType type, const void *data) {
  check_real(type);
  uint64_t bits = type_load_bits(type, data);
  if (type_is_float(type)) return float_decode(type, bits);
  if (type == TYPE_PRED) return bits != 0 ? 1 : 0;
  int64_t value = wrap_int(type, bits);
  return type_is_signed(type) ? (double)value : (double)(uint64_t)value;
}

int64_t type_load_int(PrimitiveType type, const void *data) {
  check_real(type);
  uint64_t bits = type_load_bits(type, data);
  if (type_is_float(type)) return int_from_double(TYPE_S64, float_decode(type, bits));
  return type == TYPE_PRED ? bits != 0 : wrap_int(type, bits);
}

void type_store_double(PrimitiveType type, void *data, double value) {
  check_real(type);
  uint64_t bits = 0;
  if (type_is_float(type)) {
    bits = float_encode(type, value);
  } else if (type == TYPE_PRED) {
    bits = value != 0;
  } else {
    bits = (uint64_t)int_from_double(type, value);
  }
  type_store_bits(type, data, bits);
}

void type_store_int(PrimitiveType type, void *data, int64_t value) {
  check_real(type);
  uint64_t bits = 0;
  if (type_is_float(type)) {
    bits = float_encode_int(type, value);
  } else if (type == TYPE_PRED) {
    bits = value != 0;
  } else {
    bits = (uint64_t)wrap_int(type, (uint64_t)value);
  }
  type_store_bits(type, data, bits);
}

double literal_get_double(const Literal *literal, int64_t element) {
  return type_load_double(literal->shape->type, literal_element(literal, element));
}

int64_t literal_get_int(const Literal *literal, int64_t element) {
  return type_load_int(literal->shape->type, literal_element(literal, element));
}

void literal_set_double(Literal *literal, int64_t element, double value) {
  type_store_double(literal->shape->type, literal_element(literal, element), value);
}

void literal_set_int(Literal *literal, int64_t element, int64_t value) {
  type_store_int(literal->shape->type, literal_element(literal, element), value);
}

void literal_get_complex(const Literal *literal, int64_t element, double *out_real, double *out_imaginary) {
  PrimitiveType type = literal->shape->type, part = type_complex_part(type);
  const char *data = literal_element(literal, element);
  *out_real = type_load_double(part, data);
  *out_imaginary = type_is_complex(type) ? type_load_double(part, data + type_storage_bytes(part)) : 0;
}

void literal_set_complex(Literal *literal, int64_t element, double real, double imaginary) {
  PrimitiveType type = literal->shape->type, part = type_complex_part(type);
  char *data = literal_element(literal, element);
  type_store_double(part, data, real);
  if (type_is_complex(type)) type_store_double(part, data + type_storage_bytes(part), imaginary);
}

/* --- asking --- */

bool literal_is_splat(const Literal *literal) {
  if (literal->elided || !shape_is_array(literal->shape)) return false;
  int64_t bytes = shape_byte_size(literal->shape), size = type_storage_bytes(literal->shape->type);
  if (bytes == 0) return false;
  /* Shifted by one element the data equals itself. */
  return memcmp(literal->data, (const char *)literal->data + size, (size_t)(bytes - size)) == 0;
}

/* Integers are compared as such: a double does not tell all of 64 bits apart. */
static bool element_is(const Literal *literal, int64_t element, double value) {
  PrimitiveType type = literal->shape->type;
  if (!type_is_integral(type)) return literal_get_double(literal, element) == value;
  int64_t wanted = int_from_double(type, value);
  /* Saturated values of 64 bits turn into a power of two again, which no element of the type equals. */
  bool is_exact = type_is_signed(type) ? (double)wanted == value : (double)(uint64_t)wanted == value;
  bool is_beyond = type_bits(type) == 64 && value >= (double)type_int_max(type);
  return is_exact && !is_beyond && literal_get_int(literal, element) == wanted;
}

bool literal_is_all(const Literal *literal, double value) {
  if (literal->elided || !shape_is_array(literal->shape) || type_is_complex(literal->shape->type)) return false;
  int64_t count = shape_element_count(literal->shape);
  for (int64_t i = 0; i < count; i++) {
    if (!element_is(literal, i, value)) return false;
  }
  return true;
}
