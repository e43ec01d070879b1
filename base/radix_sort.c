#include "base/radix_sort.h"

enum { FEW = 32, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64 };

typedef struct Keyed {
  uint64_t key;
  int64_t index;
} Keyed;

/* As an unsigned number of the same order. */
static uint64_t unsigned_key(int64_t key) {
  return (uint64_t)key ^ UINT64_C(1) << (KEY_BITS - 1);
}

static void sort_few(const int64_t *keys, int64_t count, int64_t *order) {
  for (int64_t i = 1; i < count; i++) {
    int64_t index = order[i], at = i;
    for (; at > 0 && keys[order[at - 1]] > keys[index]; at--) order[at] = order[at - 1];
    order[at] = index;
  }
}

static void sort_by_digit(const Keyed *from, Keyed *to, int64_t count, int shift) {
  int64_t places[DIGITS] = {0}, next = 0;
  for (int64_t i = 0; i < count; i++) places[from[i].key >> shift & (DIGITS - 1)]++;
  for (int d = 0; d < DIGITS; d++) {
    int64_t here = places[d];
    places[d] = next;
    next += here;
  }
  for (int64_t i = 0; i < count; i++) to[places[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

void radix_sort(const int64_t *keys, int64_t count, int64_t *order, Arena *scratch) {
  if (count <= FEW) {
    sort_few(keys, count, order);
    return;
  }
  Keyed *list = ARENA_NEW_ARRAY(scratch, Keyed, count), *other = ARENA_NEW_ARRAY(scratch, Keyed, count);
  uint64_t differing = 0;
  for (int64_t i = 0; i < count; i++) {
    list[i] = (Keyed){unsigned_key(keys[order[i]]), order[i]};
    differing |= list[i].key ^ list[0].key;
  }
  for (int shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
    if ((differing >> shift & (DIGITS - 1)) == 0) continue;
    sort_by_digit(list, other, count, shift);
    Keyed *sorted = other;
    other = list;
    list = sorted;
  }
  for (int64_t i = 0; i < count; i++) order[i] = list[i].index;
}
