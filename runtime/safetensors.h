/* SafetensorsFile: named arrays as the safetensors format holds them, a JSON header and then the bytes of all arrays,
 * row major and little endian.  Every element type is itself there: bf16 and f8 are not float32 as in .npz. */
#ifndef XLAC_RUNTIME_SAFETENSORS_H
#define XLAC_RUNTIME_SAFETENSORS_H

#include "base/diagnostic.h"
#include "runtime/abi.h"

typedef struct SafetensorsFile {
  int64_t count;
  XlacTensor *tensors;     /* row major; of them name, type, rank, dims, layout and bytes mean something */
  const void *const *data; /* their storage units, in the file's text, possibly unaligned */
} SafetensorsFile;

/* Whether |content| begins like such a file: the header's length and a brace. */
bool safetensors_matches(StringView content);

/* Reads the header of |content|, which must outlive the result; |label| names it in messages.  STATUS_INVALID (code
 * "safetensors") for a header that is malformed or does not fit the bytes behind it, and for types packed into parts of
 * a byte. */
MUST_USE Status safetensors_parse(Arena *arena, StringView label, StringView content, DiagSink *diag,
                                  SafetensorsFile *out_file);

/* The number of the array called |name|, -1 when absent. */
int64_t safetensors_find(const SafetensorsFile *file, StringView name);

#endif
