/* HashMap: open addressing, in an arena, from text or 64-bit keys to pointers or integers.  Iteration order is
 * never offered: output must not depend on it.  Removing is not supported (write NULL). */
#ifndef XLAC_BASE_HASH_MAP_H
#define XLAC_BASE_HASH_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string_view.h"

/* A good 64-bit mixer and combiner; results are stable between runs and machines. */
uint64_t hash_u64(uint64_t value);
uint64_t hash_combine(uint64_t seed, uint64_t value);
uint64_t hash_bytes(const void *data, size_t size);
uint64_t hash_text_after(uint64_t seed, StringView text); /* combined with |seed| */

typedef struct StringMap {
  Arena *arena;
  struct StringMapEntry *entries;
  int64_t count, capacity;
} StringMap;

void string_map_init(StringMap *map, Arena *arena);
void *string_map_get(const StringMap *map, StringView key); /* NULL when absent */
/* The key's bytes must outlive the map.  Returns the previous value or NULL. */
void *string_map_set(StringMap *map, StringView key, void *value);

/* The place of |key|'s value, to read and write until the next entry.  A key that is new is copied into |keys| and has
 * NULL; |out_key| is the copy, or the key as it was first entered. */
void **string_map_enter(StringMap *map, StringView key, Arena *keys, StringView *out_key);

/* Keys are any 64-bit values, pointers included (cast through uintptr_t); values are 64-bit or pointers. */
typedef struct IntMap {
  Arena *arena;
  struct IntMapEntry *entries;
  int64_t count, capacity;
} IntMap;

/* An empty map, which grows in |arena|.  Finding: false where the key is absent; setting replaces. */
void int_map_init(IntMap *map, Arena *arena);
bool int_map_find(const IntMap *map, uint64_t key, int64_t *out_value);
void int_map_set(IntMap *map, uint64_t key, int64_t value);

void *pointer_map_get(const IntMap *map, const void *key); /* NULL when absent */
void pointer_map_set(IntMap *map, const void *key, void *value);

#endif
