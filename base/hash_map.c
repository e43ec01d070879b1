#include "base/hash_map.h"

#include <string.h>

/* The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators). */
uint64_t hash_u64(uint64_t value) {
  value ^= value >> 30;
  value *= UINT64_C(0xbf58476d1ce4e5b9);
  value ^= value >> 27;
  value *= UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return hash_u64(seed * UINT64_C(0x9e3779b97f4a7c15) + value + UINT64_C(0x632be59bd9b4e019));
}

/* Bytes are read as little-endian words whatever the machine. */
static uint64_t load_word(const unsigned char *data, size_t size) {
  uint64_t word = 0;
  memcpy(&word, data, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

uint64_t hash_bytes(const void *data, size_t size) {
  const unsigned char *bytes = data;
  uint64_t hash = hash_u64((uint64_t)size + UINT64_C(0x9e3779b97f4a7c15));
  for (; size >= 8; size -= 8, bytes += 8) hash = hash_combine(hash, load_word(bytes, 8));
  return size != 0 ? hash_combine(hash, load_word(bytes, size)) : hash;
}

uint64_t hash_text_after(uint64_t seed, StringView text) {
  return hash_combine(seed, text.size == 0 ? 0 : hash_bytes(text.data, text.size));
}

enum { SMALLEST_CAPACITY = 16 };

/* Tables are powers of two and at most three quarters full, so that probing ends. */
static bool needs_growth(int64_t count, int64_t capacity) {
  return (count + 1) * 4 > capacity * 3;
}

static int64_t grown_capacity(int64_t capacity) {
  return capacity == 0 ? SMALLEST_CAPACITY : capacity * 2;
}

struct StringMapEntry {
  StringView key;
  uint64_t hash;
  void *value;
  bool used;
};

void string_map_init(StringMap *map, Arena *arena) {
  *map = (StringMap){.arena = arena};
}

/* The entry of |key|, or the free one where it belongs. */
static struct StringMapEntry *string_map_slot(const StringMap *map, StringView key, uint64_t hash) {
  uint64_t mask = (uint64_t)map->capacity - 1;
  for (uint64_t i = hash & mask;; i = (i + 1) & mask) {
    struct StringMapEntry *entry = &map->entries[i];
    if (!entry->used || (entry->hash == hash && sv_equal(entry->key, key))) return entry;
  }
}

static void string_map_grow(StringMap *map) {
  StringMap larger = {.arena = map->arena, .count = map->count, .capacity = grown_capacity(map->capacity)};
  larger.entries = ARENA_NEW_ARRAY(map->arena, struct StringMapEntry, larger.capacity);
  for (int64_t i = 0; i < map->capacity; i++) {
    const struct StringMapEntry *entry = &map->entries[i];
    if (entry->used) *string_map_slot(&larger, entry->key, entry->hash) = *entry;
  }
  *map = larger;
}

void *string_map_get(const StringMap *map, StringView key) {
  if (map->count == 0) return NULL;
  const struct StringMapEntry *entry = string_map_slot(map, key, hash_bytes(key.data, key.size));
  return entry->used ? entry->value : NULL;
}

void *string_map_set(StringMap *map, StringView key, void *value) {
  if (needs_growth(map->count, map->capacity)) string_map_grow(map);
  uint64_t hash = hash_bytes(key.data, key.size);
  struct StringMapEntry *entry = string_map_slot(map, key, hash);
  void *previous = entry->used ? entry->value : NULL;
  if (!entry->used) {
    *entry = (struct StringMapEntry){.key = key, .hash = hash, .used = true};
    map->count++;
  }
  entry->value = value;
  return previous;
}

void **string_map_enter(StringMap *map, StringView key, Arena *keys, StringView *out_key) {
  if (needs_growth(map->count, map->capacity)) string_map_grow(map);
  uint64_t hash = hash_bytes(key.data, key.size);
  struct StringMapEntry *entry = string_map_slot(map, key, hash);
  if (!entry->used) {
    *entry = (struct StringMapEntry){.key = sv_copy(keys, key), .hash = hash, .used = true};
    map->count++;
  }
  *out_key = entry->key;
  return &entry->value;
}

struct IntMapEntry {
  uint64_t key;
  int64_t value;
  bool used;
};

void int_map_init(IntMap *map, Arena *arena) {
  *map = (IntMap){.arena = arena};
}

static struct IntMapEntry *int_map_slot(const IntMap *map, uint64_t key) {
  uint64_t mask = (uint64_t)map->capacity - 1;
  for (uint64_t i = hash_u64(key) & mask;; i = (i + 1) & mask) {
    struct IntMapEntry *entry = &map->entries[i];
    if (!entry->used || entry->key == key) return entry;
  }
}

static void int_map_grow(IntMap *map) {
  IntMap larger = {.arena = map->arena, .count = map->count, .capacity = grown_capacity(map->capacity)};
  larger.entries = ARENA_NEW_ARRAY(map->arena, struct IntMapEntry, larger.capacity);
  for (int64_t i = 0; i < map->capacity; i++) {
    if (map->entries[i].used) *int_map_slot(&larger, map->entries[i].key) = map->entries[i];
  }
  *map = larger;
}

bool int_map_find(const IntMap *map, uint64_t key, int64_t *out_value) {
  if (map->count == 0) return false;
  const struct IntMapEntry *entry = int_map_slot(map, key);
  if (!entry->used) return false;
  *out_value = entry->value;
  return true;
}

void int_map_set(IntMap *map, uint64_t key, int64_t value) {
  if (needs_growth(map->count, map->capacity)) int_map_grow(map);
  struct IntMapEntry *entry = int_map_slot(map, key);
  if (!entry->used) map->count++;
  *entry = (struct IntMapEntry){.key = key, .value = value, .used = true};
}

void *pointer_map_get(const IntMap *map, const void *key) {
  int64_t value;
  return int_map_find(map, (uint64_t)(uintptr_t)key, &value) ? (void *)(intptr_t)value : NULL;
}

void pointer_map_set(IntMap *map, const void *key, void *value) {
  int_map_set(map, (uint64_t)(uintptr_t)key, (int64_t)(intptr_t)value);
}
