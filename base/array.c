#include "base/array.h"

#include "base/checked_math.h"

void *array_grow(Arena *arena, const void *data, size_t element_size, int64_t count, int64_t wanted,
                 int64_t *capacity) {
  enum { SMALLEST = 8 };
  int64_t doubled;
  if (!checked_mul(*capacity, 2, &doubled)) doubled = INT64_MAX;
  int64_t larger = max_i64(max_i64(doubled, wanted), SMALLEST);
  size_t bytes;
  if (count < 0 || count > *capacity || __builtin_mul_overflow((size_t)larger, element_size, &bytes)) {
    XLAC_BUG("array of %lld elements of %zu bytes", (long long)larger, element_size);
  }
  if (arena_extend(arena, data, (size_t)*capacity * element_size, bytes)) {
    *capacity = larger;
    return (void *)(uintptr_t)data;
  }
  void *grown = arena_alloc(arena, bytes);
  if (count != 0) memcpy(grown, data, (size_t)count * element_size);
  *capacity = larger;
  return grown;
}

int array_compare_int32(const void *left, const void *right) {
  const int32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}
