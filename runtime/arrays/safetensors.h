/* .safetensors: eight bytes with the header's size, the header, the arrays' bytes.
 *
 * The header is a JSON object: {"p0": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, ...}; offsets count
 * from the end of the header, and the arrays cover all that follows it without gap or overlap.  "__metadata__" may hold
 * texts, which are not looked at.  Element types are kept as they are; F4 stands two in a byte, the first in the low
 * half, and is read as one a byte. */
#ifndef XLAC_RUNTIME_ARRAYS_SAFETENSORS_H
#define XLAC_RUNTIME_ARRAYS_SAFETENSORS_H

#include "runtime/arrays/array_file.h"

/* Whether |content| begins like such a file: the header's size and a brace. */
bool safetensors_matches(StringView content);

/* Reads all arrays of the file |content|, called |path|, in the order of their bytes, which are used in place.
 * STATUS_INVALID (code "safetensors") when it is no such file. */
MUST_USE Status safetensors_read(Arena *arena, StringView path, StringView content, DiagSink *diag,
                                 ArrayFile *out_file);

/* The bytes of a file with the members, the widest elements first, so that all are aligned.  Floating types that the
 * format lacks become F32 of the same value; STATUS_INVALID (code "safetensors") for complex128, which nothing holds.
 */
MUST_USE Status safetensors_write(Arena *arena, StringView path, const ArrayMember *members, int64_t count,
                                  DiagSink *diag, StringView *out_bytes);

#endif
