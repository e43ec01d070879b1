/* Lists of numbers, as attributes hold them: mostly dimensions of an array. */
#ifndef XLAC_HLO_IR_INT64_LIST_H
#define XLAC_HLO_IR_INT64_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* Whoever makes one owns |data|; that of an attribute is its module's. */
typedef struct Int64List {
  int64_t count;
  const int64_t *data;
} Int64List;

/* The first place of |value|, -1 when the list does not have it. */
int64_t int64_list_find(Int64List list, int64_t value);
bool int64_list_has(Int64List list, int64_t value);

/* The numbers 0, 1, … that neither list has, such as the dimensions that are neither batch nor contracted: the |n|-th
 * of them, from 0, and how many are less than |end|. */
int64_t int64_lists_omitted(Int64List a, Int64List b, int64_t n);
int64_t int64_lists_omitted_below(Int64List a, Int64List b, int64_t end);

#endif
