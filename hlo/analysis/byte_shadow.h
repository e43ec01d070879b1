/* ByteShadow: which value every byte of a block of memory holds, as ranges. */
#ifndef XLAC_HLO_ANALYSIS_BYTE_SHADOW_H
#define XLAC_HLO_ANALYSIS_BYTE_SHADOW_H

#include "base/array.h"

typedef struct ByteRange {
  int64_t start, end;
  int32_t value;
} ByteRange;

typedef struct ByteShadow {
  ARRAY(ByteRange) ranges; /* ascending, disjoint; bytes in none hold nothing */
} ByteShadow;

/* Bytes [start, end) hold |value| from now on. */
void byte_shadow_write(ByteShadow *shadow, Arena *arena, int64_t start, int64_t end, int32_t value);

/* |value| if all bytes of [start, end) hold it, else another value that one of them holds, or -1 where one holds
 * nothing. */
int32_t byte_shadow_read(const ByteShadow *shadow, int64_t start, int64_t end, int32_t value);

/* In |arena|, to be changed without the other. */
ByteShadow byte_shadow_copy(const ByteShadow *shadow, Arena *arena);

/* What both agree on. */
ByteShadow byte_shadow_common(const ByteShadow *a, const ByteShadow *b, Arena *arena);

#endif
