/* Array: a growing array in an arena.
 *
 *   typedef ARRAY(HloInstruction *) InstructionArray;
 *   InstructionArray list = {0};
 *   array_push(&list, arena, instruction);
 *   for (int64_t i = 0; i < list.count; i++) use(list.data[i]);
 *
 * Growth copies into a new, twice as large place; the old one stays in the arena until that dies. */
#ifndef XLAC_BASE_ARRAY_H
#define XLAC_BASE_ARRAY_H

#include <stdint.h>
#include <string.h>

#include "base/arena.h"

#define ARRAY(Type)   \
  struct {            \
    Type *data;       \
    int64_t count;    \
    int64_t capacity; \
  }

/* Makes room for |count| elements in all; the contents stay. */
#define array_reserve(array, arena, wanted)                                                                          \
  ((array)->capacity >= (wanted) ? (void)0                                                                           \
                                 : (void)((array)->data = array_grow((arena), (array)->data, sizeof(*(array)->data), \
                                                                     (array)->count, (wanted), &(array)->capacity)))

#define array_push(array, arena, value)                  \
  do {                                                   \
    array_reserve((array), (arena), (array)->count + 1); \
    (array)->data[(array)->count++] = (value);           \
  } while (0)

#define array_pop(array) ((array)->data[--(array)->count])
#define array_last(array) ((array)->data[(array)->count - 1])

/* What array_reserve does when there is no room: at least doubles. */
void *array_grow(Arena *arena, const void *data, size_t element_size, int64_t count, int64_t wanted, int64_t *capacity);

/* For qsort: numbers of type int32_t, ascending. */
int array_compare_int32(const void *left, const void *right);

#endif
