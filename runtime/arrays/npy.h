/* NpyArray: an array as NumPy's .npy files hold it (format versions 1 to 3), and the same with element types that NumPy
 * lacks, for which such files hold float32 of the same value. */
#ifndef XLAC_RUNTIME_ARRAYS_NPY_H
#define XLAC_RUNTIME_ARRAYS_NPY_H

#include "base/diagnostic.h"
#include "hlo/type/primitive_type.h"

/* NumPy itself refuses more. */
#define NPY_MAX_RANK 64

/* |kind| is NumPy's letter: 'b' bool (one byte), 'i', 'u', 'f', 'c'; for floating types that it lacks ml_dtypes' or one
 * of ours, of which npy_narrow_type tells all that a caller needs. */
typedef struct NpyType {
  char kind;
  int bytes;
} NpyType;

typedef struct NpyArray {
  NpyType type;
  int rank;
  const int64_t *dims;
  int64_t count;    /* elements */
  const void *data; /* row major, host byte order, possibly unaligned */
} NpyArray;

/* Reads one array from |bytes|; |label| names it in messages.  The data is used in place where the file's order is row
 * major and little endian, otherwise copied.  STATUS_INVALID (code "npy") for anything malformed or of a type outside
 * NpyType. */
MUST_USE Status npy_read(Arena *arena, StringView label, StringView bytes, DiagSink *diag, NpyArray *out_array);

/* The bytes of a version 1 file, as numpy.save writes them, of the widened array. */
StringView npy_write(Arena *arena, const NpyArray *array);

/* The floating type that NumPy lacks, one storage unit (hlo/type/literal.h) an element; TYPE_INVALID for its own. */
PrimitiveType npy_narrow_type(NpyType type);
/* How arrays hold elements of |type|. */
NpyType npy_type_of(PrimitiveType type);
/* float32 with the same values where the type is one that NumPy lacks, |array| itself otherwise. */
NpyArray npy_widened(Arena *arena, const NpyArray *array);

/* "float32", "bool", "bfloat16", ... */
const char *npy_type_text(NpyType type);

/* "(2, 3)", as Python prints a shape. */
StringView npy_shape_text(Arena *arena, const int64_t *dims, int rank);

/* Element |index| in row-major order.  Part 0 is the value or real part, 1 the imaginary part (0 for real types). */
double npy_get_double(const NpyArray *array, int64_t index, int part);
/* Of 'b', 'i' and 'u'; u64 beyond INT64_MAX wraps. */
int64_t npy_get_int(const NpyArray *array, int64_t index);

#endif
