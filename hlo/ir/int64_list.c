#include "hlo/ir/int64_list.h"

int64_t int64_list_find(Int64List list, int64_t value) {
  for (int64_t i = 0; i < list.count; i++) {
    if (list.data[i] == value) return i;
  }
  return -1;
}

bool int64_list_has(Int64List list, int64_t value) {
  return int64_list_find(list, value) >= 0;
}

static bool is_omitted(Int64List a, Int64List b, int64_t value) {
  return !int64_list_has(a, value) && !int64_list_has(b, value);
}

int64_t int64_lists_omitted(Int64List a, Int64List b, int64_t n) {
  int64_t value = 0;
  while (!is_omitted(a, b, value) || n-- > 0) value++;
  return value;
}

int64_t int64_lists_omitted_below(Int64List a, Int64List b, int64_t end) {
  int64_t count = 0;
  for (int64_t value = 0; value < end; value++) count += is_omitted(a, b, value);
  return count;
}
