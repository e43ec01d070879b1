/* Dives: whole placements in one go, on a skyline. */
#include "base/checked_math.h"
#include "base/packing/part.h"

/* ---- the skyline: the top of what lies in each section ---- */

enum { BLOCK = 32, GROUP = 32 /* blocks */ };

typedef struct Skyline {
  int64_t *top;       /* by section, unless its block is flat */
  int64_t *block_max; /* of BLOCK sections */
  int64_t *group_max; /* of GROUP blocks */
  bool *is_flat;      /* all tops of the block are block_max */
} Skyline;

static Skyline skyline_create(Arena *scratch, int32_t section_count) {
  int32_t group_count = section_count / (BLOCK * GROUP) + 1, block_count = group_count * GROUP;
  return (Skyline){ARENA_NEW_ARRAY(scratch, int64_t, (int64_t)block_count *BLOCK),
                   ARENA_NEW_ARRAY(scratch, int64_t, block_count), ARENA_NEW_ARRAY(scratch, int64_t, group_count),
                   ARENA_NEW_ARRAY(scratch, bool, block_count)};
}

/* In four chains, none of which waits for another. */
static int64_t max_of(const int64_t *values, int32_t lower, int32_t upper) {
  int64_t most = 0, second = 0, third = 0, fourth = 0;
  int32_t i = lower;
  for (; i + 4 <= upper; i += 4) {
    most = max_i64(most, values[i]);
    second = max_i64(second, values[i + 1]);
    third = max_i64(third, values[i + 2]);
    fourth = max_i64(fourth, values[i + 3]);
  }
  for (; i < upper; i++) most = max_i64(most, values[i]);
  return max_i64(max_i64(most, second), max_i64(third, fourth));
}

/* The highest top in sections [lower, upper) of one block. */
static int64_t block_part_max(const Skyline *skyline, int32_t lower, int32_t upper) {
  int32_t block = lower / BLOCK;
  if (skyline->is_flat[block] || upper - lower == BLOCK) return skyline->block_max[block];
  return max_of(skyline->top, lower, upper);
}

static int64_t skyline_max(const Skyline *skyline, int32_t lower, int32_t upper) {
  int32_t first = lower / BLOCK, last = (upper - 1) / BLOCK;
  if (first == last) return block_part_max(skyline, lower, upper);
  int64_t top =
      max_i64(block_part_max(skyline, lower, (first + 1) * BLOCK), block_part_max(skyline, last * BLOCK, upper));
  first++; /* whole blocks from here to |last| */
  int32_t first_group = (first + GROUP - 1) / GROUP, last_group = last / GROUP;
  if (first_group >= last_group) return max_i64(top, max_of(skyline->block_max, first, last));
  top = max_i64(top, max_of(skyline->block_max, first, first_group * GROUP));
  top = max_i64(top, max_of(skyline->group_max, first_group, last_group));
  return max_i64(top, max_of(skyline->block_max, last_group * GROUP, last));
}

/* |top| is above all that lies there. */
static void skyline_raise(Skyline *skyline, int32_t lower, int32_t upper, int64_t top) {
  for (int32_t s = lower; s < upper;) {
    int32_t block = s / BLOCK, end = (block + 1) * BLOCK;
    if (s == block * BLOCK && end <= upper) {
      skyline->is_flat[block] = true;
      skyline->block_max[block] = top;
      s = end;
      continue;
    }
    if (skyline->is_flat[block]) {
      for (int32_t k = block * BLOCK; k < end; k++) skyline->top[k] = skyline->block_max[block];
      skyline->is_flat[block] = false;
    }
    skyline->block_max[block] = max_i64(skyline->block_max[block], top);
    if (end > upper) end = upper;
    for (; s < end; s++) skyline->top[s] = top;
  }
  for (int32_t g = lower / (BLOCK * GROUP); g <= (upper - 1) / (BLOCK * GROUP); g++)
    skyline->group_max[g] = max_i64(skyline->group_max[g], top);
}

static int64_t item_floor(const Part *part, const Skyline *skyline, int32_t i) {
  const Item *item = &part->items[i];
  int64_t floor = 0;
  for (int32_t s = 0; s < item->span_count; s++)
    floor = max_i64(floor, skyline_max(skyline, item->spans[s].lower, item->spans[s].upper));
  return part_next_free(part, i, floor);
}

static void put_item(const Part *part, Skyline *skyline, int32_t i, int64_t offset) {
  const Item *item = &part->items[i];
  for (int32_t s = 0; s < item->span_count; s++)
    skyline_raise(skyline, item->spans[s].lower, item->spans[s].upper, offset + item->spans[s].size);
}

/* ---- a heap of items by the least offset that they may have ---- */

/* The least offset that an item may have, in the upper bits, and its rank: one number, so that there is one comparison
 * and four of them are half a cache line. */
typedef uint64_t HeapKey;

enum {
  CHILDREN = 4, /* of a node, one after the other: fewer levels */
  CACHE_LINE = 64,
  KEY_BITS = 64
};

/* For |count| items: children share a cache line. */
static HeapKey *heap_create(Arena *scratch, int32_t count) {
  enum { KEYS = CACHE_LINE / (int)sizeof(HeapKey) };
  HeapKey *heap = ARENA_NEW_ARRAY(scratch, HeapKey, count + 1 + KEYS);
  while ((uintptr_t)(heap + 1) % (CHILDREN * sizeof(HeapKey)) != 0) heap++;
  return heap;
}

/* The least of |count| children that begin at |child|. */
static int32_t least_child(const HeapKey *heap, int32_t child, int32_t count) {
  if (count < CHILDREN) {
    int32_t least = child;
    for (int32_t c = child + 1; c < child + count; c++) least = heap[c] < heap[least] ? c : least;
    return least;
  }
  int32_t low = child + (heap[child + 1] < heap[child]);
  int32_t high = child + 2 + (heap[child + 3] < heap[child + 2]);
  return heap[high] < heap[low] ? high : low;
}

static void sift_down(HeapKey *heap, int32_t count, int32_t place) {
  HeapKey key = heap[place];
  for (;;) {
    int32_t child = CHILDREN * place + 1;
    if (child >= count) break;
    int32_t least = least_child(heap, child, count - child);
    if (heap[least] >= key) break;
    heap[place] = heap[least];
    place = least;
  }
  heap[place] = key;
}

static void heapify(HeapKey *heap, int32_t count) {
  for (int32_t h = count / CHILDREN + 1; h-- > 0;) {
    if (h < count) sift_down(heap, count, h);
  }
}

/* ---- the dive ---- */

/* What a dive looks up of an item again and again, side by side. */
typedef struct Diver {
  int32_t item, lower, upper; /* from its first to its last section */
  bool is_plain;              /* alive all the while, at any offset */
} Diver;

typedef struct Dive {
  const Part *part;
  Work *work;
  Skyline skyline;
  const Diver *divers; /* by rank */
  int rank_bits;       /* of a key */
  int shift;           /* offsets are in units of 2^shift in keys: 0 but where they would not fit */
  HeapKey *heap;
  int32_t count; /* items in the heap */
  int64_t *offsets, height;
} Dive;

static int32_t rank_of(const Dive *dive, HeapKey key) {
  return (int32_t)(key & ((UINT64_C(1) << dive->rank_bits) - 1));
}

static HeapKey key_of(const Dive *dive, int64_t offset, int32_t rank) {
  return (HeapKey)(offset >> dive->shift) << dive->rank_bits | (HeapKey)rank;
}

/* Puts the item of |key| where it may have been, and answers true; or, where something lies there by now, says where
 * it may be at the earliest. */
static bool settle(Dive *dive, HeapKey *key) {
  int32_t rank = rank_of(dive, *key);
  const Diver *diver = &dive->divers[rank];
  int64_t offset = diver->is_plain ? skyline_max(&dive->skyline, diver->lower, diver->upper)
                                   : item_floor(dive->part, &dive->skyline, diver->item);
  HeapKey now = key_of(dive, offset, rank);
  if (now > *key) {
    *key = now;
    return false;
  }
  dive->offsets[diver->item] = offset;
  dive->height = max_i64(dive->height, offset + dive->part->items[diver->item].size);
  put_item(dive->part, &dive->skyline, diver->item, offset);
  return true;
}

static bool pay(Dive *dive, HeapKey key) {
  const Diver *diver = &dive->divers[rank_of(dive, key)];
  dive->work->left -= 8 + (diver->upper - diver->lower) / (BLOCK * GROUP);
  return dive->work->left >= 0;
}

/* All may lie at 0 at first, so that they come in order of their ranks, and all others after these. */
static bool settle_at_zero(Dive *dive) {
  int32_t all = dive->count;
  dive->count = 0;
  for (int32_t r = 0; r < all; r++) {
    HeapKey key = dive->heap[r];
    if (!pay(dive, key)) return false;
    if (!settle(dive, &key)) dive->heap[dive->count++] = key;
  }
  return true;
}

static Diver *list_divers(const Part *part, Arena *scratch, const int32_t *rank) {
  Diver *divers = ARENA_NEW_ARRAY(scratch, Diver, part->item_count + 1);
  for (int32_t i = 0; i < part->item_count; i++) {
    const Item *item = &part->items[i];
    bool is_plain = item->span_count == 1 && item->alignment == 1 && part->obstacles == NULL;
    divers[rank[i]] = (Diver){i, item->lower, item->upper, is_plain};
  }
  return divers;
}

/* No item comes to lie higher: on all others, and on all that is taken. */
static int64_t highest_offset(const Part *part) {
  int64_t highest = part->floor;
  for (int32_t i = 0; i < part->item_count && part->obstacles != NULL; i++) {
    for (int32_t k = 0; k < part->obstacles[i].count; k++) highest = max_i64(highest, part->obstacles[i].data[k].end);
  }
  for (int32_t i = 0; i < part->item_count; i++) highest += part->items[i].size + part->items[i].alignment;
  return highest;
}

static int bits_of(int64_t value) {
  return KEY_BITS - __builtin_clzll((uint64_t)value | 1);
}

int64_t part_dive(const Part *part, Arena *scratch, const int32_t *rank, Work *work, int64_t *offsets) {
  Dive dive = {.part = part,
               .work = work,
               .skyline = skyline_create(scratch, part->section_count),
               .divers = list_divers(part, scratch, rank),
               .rank_bits = bits_of(part->item_count),
               .heap = heap_create(scratch, part->item_count),
               .count = part->item_count,
               .offsets = offsets,
               .height = part->floor};
  HeapKey *heap = dive.heap;
  bool is_free = part->obstacles == NULL && part->base == 0;
  int offset_bits = bits_of(highest_offset(part));
  if (offset_bits + dive.rank_bits > KEY_BITS) dive.shift = offset_bits + dive.rank_bits - KEY_BITS;
  for (int32_t r = 0; r < dive.count; r++)
    heap[r] = key_of(&dive, is_free ? 0 : part_next_free(part, dive.divers[r].item, 0), r);
  if (is_free && !settle_at_zero(&dive)) return -1;
  heapify(heap, dive.count);
  while (dive.count > 0) {
    if (!pay(&dive, heap[0])) return -1;
    if (settle(&dive, &heap[0])) heap[0] = heap[--dive.count];
    if (dive.count > 0) sift_down(heap, dive.count, 0);
  }
  return dive.height;
}

int64_t part_stack(const Part *part, Arena *scratch, const int32_t *rank, int64_t *offsets) {
  Skyline skyline = skyline_create(scratch, part->section_count);
  int32_t *order = ARENA_NEW_ARRAY(scratch, int32_t, part->item_count + 1);
  for (int32_t i = 0; i < part->item_count; i++) order[rank[i]] = i;
  int64_t height = part->floor;
  for (int32_t r = 0; r < part->item_count; r++) {
    int32_t i = order[r];
    offsets[i] = item_floor(part, &skyline, i);
    put_item(part, &skyline, i, offsets[i]);
    height = max_i64(height, offsets[i] + part->items[i].size);
  }
  return height;
}
