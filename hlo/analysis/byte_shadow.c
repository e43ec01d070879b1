#include "hlo/analysis/byte_shadow.h"

#include "base/checked_math.h"

/* The first range that ends after |start|. */
static int64_t find(const ByteShadow *shadow, int64_t start) {
  int64_t low = 0, high = shadow->ranges.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (shadow->ranges.data[middle].end <= start) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void byte_shadow_write(ByteShadow *shadow, Arena *arena, int64_t start, int64_t end, int32_t value) {
  if (start >= end) return;
  int64_t first = find(shadow, start), last = first, count = shadow->ranges.count;
  while (last < count && shadow->ranges.data[last].start < end) last++;
  ByteRange pieces[3];
  int64_t piece_count = 0;
  if (first < last && shadow->ranges.data[first].start < start) {
    pieces[piece_count++] = (ByteRange){shadow->ranges.data[first].start, start, shadow->ranges.data[first].value};
  }
  pieces[piece_count++] = (ByteRange){start, end, value};
  if (first < last && shadow->ranges.data[last - 1].end > end) {
    pieces[piece_count++] = (ByteRange){end, shadow->ranges.data[last - 1].end, shadow->ranges.data[last - 1].value};
  }
  array_reserve(&shadow->ranges, arena, count + piece_count);
  ByteRange *data = shadow->ranges.data;
  memmove(data + first + piece_count, data + last, (size_t)(count - last) * sizeof(ByteRange));
  memcpy(data + first, pieces, (size_t)piece_count * sizeof(ByteRange));
  shadow->ranges.count = count - (last - first) + piece_count;
}

int32_t byte_shadow_read(const ByteShadow *shadow, int64_t start, int64_t end, int32_t value) {
  int64_t at = start;
  for (int64_t i = find(shadow, start); at < end; i++) {
    if (i == shadow->ranges.count || shadow->ranges.data[i].start > at) return -1;
    if (shadow->ranges.data[i].value != value) return shadow->ranges.data[i].value;
    at = shadow->ranges.data[i].end;
  }
  return value;
}

ByteShadow byte_shadow_copy(const ByteShadow *shadow, Arena *arena) {
  ByteShadow copy = {0};
  copy.ranges.count = copy.ranges.capacity = shadow->ranges.count;
  copy.ranges.data = ARENA_NEW_ARRAY(arena, ByteRange, shadow->ranges.count + 1);
  for (int64_t i = 0; i < shadow->ranges.count; i++) copy.ranges.data[i] = shadow->ranges.data[i];
  return copy;
}

ByteShadow byte_shadow_common(const ByteShadow *a, const ByteShadow *b, Arena *arena) {
  ByteShadow common = {0};
  int64_t i = 0, k = 0;
  while (i < a->ranges.count && k < b->ranges.count) {
    const ByteRange *left = &a->ranges.data[i], *right = &b->ranges.data[k];
    ByteRange both = {max_i64(left->start, right->start), min_i64(left->end, right->end), left->value};
    if (both.start < both.end && left->value == right->value) array_push(&common.ranges, arena, both);
    if (left->end <= right->end) {
      i++;
    } else {
      k++;
    }
  }
  return common;
}
