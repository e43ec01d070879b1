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

static int64_t max_of(const int64_t *values, int32_t lower, int32_t upper) {
  int64_t most = 0;
  for (int32_t i = lower; i < upper; i++) most = max_i64(most, values[i]);
  return most;
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
  int64_t offset; /* at least */
  int32_t rank, item;
} HeapEntry;

static bool comes_before(HeapEntry a, HeapEntry b) {
  return (a.offset < b.offset) | ((a.offset == b.offset) & (a.rank < b.rank)); /* no branch: it is a toss-up */
}

enum { CHILDREN = 4 }; /* of a node, one after the other: fewer levels, and a level is a cache line */

static void sift_down(HeapEntry *heap, int32_t count, int32_t place) {
  HeapEntry entry = heap[place];
  for (;;) {
    int32_t child = CHILDREN * place + 1, least = child, end = child + CHILDREN < count ? child + CHILDREN : count;
    if (child >= count) break;
    for (int32_t c = child + 1; c < end; c++) {
      least = comes_before(heap[c], heap[least]) ? c : least;
    }
    if (!comes_before(heap[least], entry)) break;
    heap[place] = heap[least];
    place = least;
  }
  heap[place] = entry;
}

int64_t part_dive(const Part *part, Arena *scratch, const int32_t *rank, Work *work, int64_t *offsets) {
  int32_t count = part->item_count;
  Skyline skyline = skyline_create(scratch, part->section_count);
  HeapEntry *heap = ARENA_NEW_ARRAY(scratch, HeapEntry, count + 1);
  for (int32_t i = 0; i < count; i++) heap[rank[i]] = (HeapEntry){part_next_free(part, i, 0), rank[i], i};
  if (part->obstacles != NULL || part->base != 0) {
    for (int32_t h = count / CHILDREN + 1; h-- > 0;) sift_down(heap, count, h);
  }
  int64_t height = part->floor;
  while (count > 0) {
    HeapEntry *first = &heap[0];
    const Item *item = &part->items[first->item];
    work->left -= 8 + (item->upper - item->lower) / (BLOCK * GROUP);
    if (work->left < 0) return -1;
    int64_t offset = item_floor(part, &skyline, first->item);
    if (offset > first->offset) {
      first->offset = offset;
      sift_down(heap, count, 0);
      continue;
    }
    offsets[first->item] = offset;
    height = max_i64(height, offset + item->size);
    put_item(part, &skyline, first->item, offset);
    heap[0] = heap[--count];
    if (count > 0) sift_down(heap, count, 0);
  }
  return height;
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
