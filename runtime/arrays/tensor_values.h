/* Tensor values: from arrays in files to the bytes a compiled module reads, and back.
 *
 * Files hold logical row-major arrays, integers narrower than a byte as (u)int8, bf16, f8, f6 and f4 as float32 of the
 * same value where the format lacks them.  Modules want storage units (hlo/type/literal.h) in the order of the tensor's
 * layout. */
#ifndef XLAC_RUNTIME_ARRAYS_TENSOR_VALUES_H
#define XLAC_RUNTIME_ARRAYS_TENSOR_VALUES_H

#include "hlo/type/primitive_type.h"
#include "runtime/arrays/npy.h"
#include "xlac/abi.h"

PrimitiveType tensor_type(const XlacTensor *tensor);
int64_t tensor_element_count(const XlacTensor *tensor);
/* "f32[2,3]" */
StringView tensor_text(Arena *arena, const XlacTensor *tensor);

/* Fills |out_storage| (tensor->bytes) from |array|.  Other element types are converted where no value can be lost in
 * kind: between floats (rounding), between integers and bool in range, from integers to floats.  STATUS_INVALID (code
 * "input") when the shape or the type does not suit; |label| says what is being read. */
MUST_USE Status tensor_from_npy(Arena *scratch, const XlacTensor *tensor, const NpyArray *array, StringView label,
                                DiagSink *diag, void *out_storage);

/* The array, of the tensor's own type; its data lives in |arena|. */
void tensor_to_npy(Arena *arena, const XlacTensor *tensor, const void *storage, NpyArray *out_array);

/* The layout stores the elements in row-major order. */
bool tensor_is_row_major(const XlacTensor *tensor);

/* Storage units in row-major order ↔ in the order of the tensor's layout. */
void tensor_store_logical(const XlacTensor *tensor, const void *logical, void *out_storage);
void tensor_load_logical(const XlacTensor *tensor, const void *storage, void *out_logical);

/* Writes one storage unit.  Rounds to floating types as double → float → type (f64 keeps the double); truncates towards
 * zero to integers of one to 64 bits; pred is value != 0.  Complex types take the real part's type. */
void tensor_unit_set_double(PrimitiveType type, void *unit, double value);
/* Wraps to integers; converts to floating types like a C cast to float, then to the type. */
void tensor_unit_set_int(PrimitiveType type, void *unit, int64_t value);

#endif
