#include "runtime/arrays/tensor_values.h"

#include <math.h>
#include <string.h>

#include "base/checked_math.h"
#include "hlo/type/float_types.h"

/* The two enumerations list the same types in the same order, so that conversion is a cast. */
#define SAME(id) _Static_assert((int)XLAC_##id == (int)TYPE_##id, "XlacType and PrimitiveType differ at " #id)
SAME(PRED);
SAME(S8);
SAME(S64);
SAME(U1);
SAME(U64);
SAME(F16);
SAME(BF16);
SAME(F64);
SAME(F8E5M2);
SAME(F8E8M0FNU);
SAME(F4E2M1FN);
SAME(F6E3M2FN);
SAME(C64);
SAME(C128);
#undef SAME

PrimitiveType tensor_type(const XlacTensor *tensor) {
  return (PrimitiveType)tensor->type;
}

int64_t tensor_element_count(const XlacTensor *tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor->rank; i++) count *= tensor->dims[i];
  return count;
}

StringView tensor_text(Arena *arena, const XlacTensor *tensor) {
  StringBuilder text;
  sb_init(&text, arena);
  sb_printf(&text, "%s[", type_text(tensor_type(tensor)));
  for (int i = 0; i < tensor->rank; i++) sb_printf(&text, i > 0 ? ",%lld" : "%lld", (long long)tensor->dims[i]);
  sb_append_char(&text, ']');
  return sb_view(&text);
}

/* --- layout --- */

bool tensor_is_row_major(const XlacTensor *tensor) {
  for (int i = 0; i < tensor->rank; i++)
    if (tensor->minor_to_major[i] != tensor->rank - 1 - i && tensor->dims[tensor->minor_to_major[i]] != 1) return false;
  return true;
}

/* Elements between neighbours along |dim| in the tensor's layout. */
static int64_t layout_stride(const XlacTensor *tensor, int dim) {
  int64_t stride = 1;
  for (int i = 0; tensor->minor_to_major[i] != dim; i++) stride *= tensor->dims[tensor->minor_to_major[i]];
  return stride;
}

typedef struct LayoutCopy {
  const XlacTensor *tensor;
  size_t width;
  bool to_storage;
  unsigned char *logical; /* the next element in row-major order */
} LayoutCopy;

static void copy_dimension(LayoutCopy *copy, int dim, unsigned char *storage) {
  if (dim == copy->tensor->rank) {
    memcpy(copy->to_storage ? storage : copy->logical, copy->to_storage ? copy->logical : storage, copy->width);
    copy->logical += copy->width;
    return;
  }
  size_t step = (size_t)layout_stride(copy->tensor, dim) * copy->width;
  for (int64_t i = 0; i < copy->tensor->dims[dim]; i++, storage += step) copy_dimension(copy, dim + 1, storage);
}

static void copy_layout(const XlacTensor *tensor, unsigned char *logical, unsigned char *storage, bool to_storage) {
  size_t width = (size_t)type_storage_bytes(tensor_type(tensor));
  int64_t count = tensor_element_count(tensor);
  if (count == 0) return;
  if (tensor_is_row_major(tensor)) {
    memcpy(to_storage ? storage : logical, to_storage ? logical : storage, (size_t)count * width);
    return;
  }
  LayoutCopy copy = {tensor, width, to_storage, logical};
  copy_dimension(&copy, 0, storage);
}

/* One routine serves both directions; each only reads the side that its caller passed as const. */
void tensor_store_logical(const XlacTensor *tensor, const void *logical, void *out_storage) {
  copy_layout(tensor, (unsigned char *)(uintptr_t)logical, out_storage, true);
}

void tensor_load_logical(const XlacTensor *tensor, const void *storage, void *out_logical) {
  copy_layout(tensor, out_logical, (unsigned char *)(uintptr_t)storage, false);
}

/* --- elements --- */

static void store_float32(void *unit, float value) {
  memcpy(unit, &value, sizeof value);
}

static void store_float(PrimitiveType type, void *unit, float value) {
  if (type == TYPE_F32) {
    store_float32(unit, value);
    return;
  }
  uint64_t bits = float_encode(type, (double)value);
  memcpy(unit, &bits, (size_t)type_storage_bytes(type));
}

/* Truncation towards zero; what C leaves undefined becomes the lowest integer, as NumPy gives on x86. */
static int64_t truncate_double(double value) {
  if (!(value > -9223372036854775808.0 && value < 18446744073709551616.0)) return INT64_MIN;
  return value < 9223372036854775808.0 ? (int64_t)value : (int64_t)(uint64_t)value;
}

void tensor_unit_set_double(PrimitiveType type, void *unit, double value) {
  PrimitiveType part = type_complex_part(type);
  if (part == TYPE_F64) {
    memcpy(unit, &value, sizeof value);
  } else if (type_is_float(part)) {
    store_float(part, unit, (float)value);
  } else if (type == TYPE_PRED) {
    *(unsigned char *)unit = value != 0;
  } else {
    tensor_unit_set_int(type, unit, truncate_double(value));
  }
}

void tensor_unit_set_int(PrimitiveType type, void *unit, int64_t value) {
  PrimitiveType part = type_complex_part(type);
  if (part == TYPE_F64) {
    double real = (double)value;
    memcpy(unit, &real, sizeof real);
  } else if (type_is_float(part)) {
    store_float(part, unit, (float)value);
  } else if (type == TYPE_PRED) {
    *(unsigned char *)unit = value != 0;
  } else {
    int bits = type_bits(type);
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1, wrapped = (uint64_t)value & mask;
    if (type_is_signed(type) && wrapped >> (bits - 1)) wrapped |= ~mask;
    memcpy(unit, &wrapped, (size_t)type_storage_bytes(type));
  }
}

/* --- files --- */

/* Whether a file's integer has the same value in an integer |type|. */
static bool integer_fits(PrimitiveType type, const NpyArray *array, int64_t index) {
  int64_t value = npy_get_int(array, index);
  bool huge = array->type.kind == 'u' && value < 0; /* beyond INT64_MAX */
  int bits = type_bits(type);
  if (type == TYPE_PRED) return value == 0 || value == 1;
  if (type_is_signed(type)) {
    int64_t limit = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    return !huge && value <= limit && value >= -limit - 1;
  }
  if (bits == 64) return huge || value >= 0;
  return !huge && value >= 0 && (uint64_t)value >> bits == 0;
}

static bool kinds_convert(PrimitiveType type, NpyType from) {
  bool from_integer = from.kind == 'b' || from.kind == 'i' || from.kind == 'u';
  if (type_is_complex(type)) return true;
  if (type_is_float(type)) return from.kind != 'c';
  return from_integer;
}

/* Row-major storage units of |array|'s values; the index of the first that does not fit, or -1. */
static int64_t convert_elements(PrimitiveType type, const NpyArray *array, unsigned char *out) {
  size_t width = (size_t)type_storage_bytes(type);
  bool is_integer = type == TYPE_PRED || type_is_integral(type);
  bool from_integer = array->type.kind == 'b' || array->type.kind == 'i' || array->type.kind == 'u';
  for (int64_t i = 0; i < array->count; i++, out += width) {
    if (is_integer) {
      if (!integer_fits(type, array, i)) return i;
      tensor_unit_set_int(type, out, npy_get_int(array, i));
    } else if (from_integer && array->type.kind != 'u') {
      tensor_unit_set_int(type, out, npy_get_int(array, i));
    } else {
      tensor_unit_set_double(type, out, npy_get_double(array, i, 0));
    }
    if (type_is_complex(type)) tensor_unit_set_double(type, out + width / 2, npy_get_double(array, i, 1));
  }
  return -1;
}

Status tensor_from_npy(Arena *scratch, const XlacTensor *tensor, const NpyArray *array, StringView label,
                       DiagSink *diag, void *out_storage) {
  PrimitiveType type = tensor_type(tensor);
  bool same_dims = array->rank == tensor->rank;
  for (int i = 0; i < array->rank && same_dims; i++) same_dims = array->dims[i] == tensor->dims[i];
  if (!same_dims || !kinds_convert(type, array->type))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "input", "%.*s is %s of shape %.*s, but the module wants %.*s",
                      SV_ARG(label), npy_type_text(array->type),
                      SV_ARG(npy_shape_text(scratch, array->dims, array->rank)), SV_ARG(tensor_text(scratch, tensor)));
  NpyType natural = npy_type_of(type);
  /* Integers narrower than a byte have to be in range, and pred 0 or 1. */
  bool checked = type == TYPE_PRED || (type_is_integral(type) && type_bits(type) % 8 != 0);
  bool direct = natural.kind == array->type.kind && natural.bytes == array->type.bytes && !checked;
  if (direct) {
    tensor_store_logical(tensor, array->data, out_storage);
    return STATUS_OK;
  }
  unsigned char *units = arena_alloc_array(scratch, (size_t)array->count, (size_t)type_storage_bytes(type));
  int64_t misfit = convert_elements(type, array, units);
  if (misfit >= 0)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "input", "element %lld of %.*s is %lld, which %s cannot hold",
                      (long long)misfit, SV_ARG(label), (long long)npy_get_int(array, misfit), type_text(type));
  tensor_store_logical(tensor, units, out_storage);
  return STATUS_OK;
}

void tensor_to_npy(Arena *arena, const XlacTensor *tensor, const void *storage, NpyArray *out_array) {
  PrimitiveType type = tensor_type(tensor);
  int64_t count = tensor_element_count(tensor);
  size_t width = (size_t)type_storage_bytes(type);
  unsigned char *units = arena_alloc_array(arena, (size_t)count, width);
  tensor_load_logical(tensor, storage, units);
  *out_array = (NpyArray){npy_type_of(type), tensor->rank, tensor->dims, count, units};
}
