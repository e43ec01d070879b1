/* NpyArray: an array as NumPy's .npy files hold it (format versions 1 to 3). */
#ifndef XLAC_RUNTIME_NPY_H
#define XLAC_RUNTIME_NPY_H

#include "base/diagnostic.h"

/* |kind| is NumPy's letter: 'b' bool (one byte), 'i', 'u', 'f', 'c'. */
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

/* The bytes of a version 1 file, as numpy.save writes them. */
StringView npy_write(Arena *arena, const NpyArray *array);

/* "float32", "bool", ... */
const char *npy_type_text(NpyType type);

/* "(2, 3)", as Python prints a shape. */
StringView npy_shape_text(Arena *arena, const int64_t *dims, int rank);

/* Element |index| in row-major order.  Part 0 is the value or real part, 1 the imaginary part (0 for real types). */
double npy_get_double(const NpyArray *array, int64_t index, int part);
/* Of 'b', 'i' and 'u'; u64 beyond INT64_MAX wraps. */
int64_t npy_get_int(const NpyArray *array, int64_t index);

#endif
