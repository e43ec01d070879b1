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

typedef struct HeapEntry {
  uint32_t item, rank;
  int64_t offset; /* at least; never negative */
} HeapEntry;

__extension__ typedef unsigned __int128 HeapKey;

static HeapKey key_of(HeapEntry entry) {
  return (HeapKey)(uint64_t)entry.offset << 64 | (uint64_t)entry.rank << 32 | entry.item;
}

/* By offset, then by rank, of which no two have the same.  As one number, for there is no branch: it is a toss-up. */
static bool comes_before(HeapEntry a, HeapEntry b) {
  return key_of(a) < key_of(b);
}

enum {
  CHILDREN = 4, /* of a node, one after the other: fewer levels, and a level is a cache line */
  CACHE_LINE = 64
};

/* For |count| items: children share a cache line. */
static HeapEntry *heap_create(Arena *scratch, int32_t count) {
  enum { ENTRIES = CACHE_LINE / (int)sizeof(HeapEntry) };
  HeapEntry *heap = ARENA_NEW_ARRAY(scratch, HeapEntry, count + 1 + ENTRIES);
  while ((uintptr_t)(heap + 1) % CACHE_LINE != 0) heap++;
  return heap;
}

/* The least of |count| children that begin at |child|. */
static int32_t least_child(const HeapEntry *heap, int32_t child, int32_t count) {
  if (count < CHILDREN) {
    int32_t least = child;
    for (int32_t c = child + 1; c < child + count; c++) least = comes_before(heap[c], heap[least]) ? c : least;
    return least;
  }
  int32_t low = child + comes_before(heap[child + 1], heap[child]);
  int32_t high = child + 2 + comes_before(heap[child + 3], heap[child + 2]);
  return comes_before(heap[high], heap[low]) ? high : low;
}

static void sift_down(HeapEntry *heap, int32_t count, int32_t place) {
  HeapEntry entry = heap[place];
  for (;;) {
    int32_t child = CHILDREN * place + 1;
    if (child >= count) break;
    int32_t least = least_child(heap, child, count - child);
    if (!comes_before(heap[least], entry)) break;
    heap[place] = heap[least];
    place = least;
  }
  heap[place] = entry;
}

static void heapify(HeapEntry *heap, int32_t count) {
  for (int32_t h = count / CHILDREN + 1; h-- > 0;) {
    if (h < count) sift_down(heap, count, h);
  }
}

/* ---- the dive ---- */

typedef struct Dive {
  const Part *part;
  Work *work;
  Skyline skyline;
  HeapEntry *heap;
  int32_t count; /* items in the heap */
  int64_t *offsets, height;
} Dive;

/* Puts the item of |entry| where it may have been, and answers true; or, where something lies there by now, says where
 * it may be at the earliest. */
static bool settle(Dive *dive, HeapEntry *entry) {
  int64_t offset = item_floor(dive->part, &dive->skyline, (int32_t)entry->item);
  if (offset > entry->offset) {
    entry->offset = offset;
    return false;
  }
  dive->offsets[entry->item] = offset;
  dive->height = max_i64(dive->height, offset + dive->part->items[entry->item].size);
  put_item(dive->part, &dive->skyline, (int32_t)entry->item, offset);
  return true;
}

static bool pay(Dive *dive, const HeapEntry *entry) {
  const Item *item = &dive->part->items[entry->item];
  dive->work->left -= 8 + (item->upper - item->lower) / (BLOCK * GROUP);
  return dive->work->left >= 0;
}

/* All may lie at 0 at first, so that they come in order of their ranks, and all others after these. */
static bool settle_at_zero(Dive *dive) {
  int32_t all = dive->count;
  dive->count = 0;
  for (int32_t r = 0; r < all; r++) {
    HeapEntry entry = dive->heap[r];
    if (!pay(dive, &entry)) return false;
    if (!settle(dive, &entry)) dive->heap[dive->count++] = entry;
  }
  return true;
}

int64_t part_dive(const Part *part, Arena *scratch, const int32_t *rank, Work *work, int64_t *offsets) {
  Dive dive = {part,
               work,
               skyline_create(scratch, part->section_count),
               heap_create(scratch, part->item_count),
               part->item_count,
               offsets,
               part->floor};
  HeapEntry *heap = dive.heap;
  bool is_free = part->obstacles == NULL && part->base == 0;
  for (int32_t i = 0; i < dive.count; i++)
    heap[rank[i]] = (HeapEntry){(uint32_t)i, (uint32_t)rank[i], is_free ? 0 : part_next_free(part, i, 0)};
  if (is_free && !settle_at_zero(&dive)) return -1;
  heapify(heap, dive.count);
  while (dive.count > 0) {
    if (!pay(&dive, &heap[0])) return -1;
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
