#include "hlo/analysis/byte_shadow.h"

/* The first range that ends behind |start|. */
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
