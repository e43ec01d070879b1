/* Parts: how an instance splits, and the orders in which searches take items. */
#include "base/packing/part.h"

#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing_internal.h"
#include "base/radix_sort.h"

/* ---- splitting ---- */

typedef struct Splitter {
  Arena *arena;
  const Instance *instance;
  const int32_t *chosen; /* by first section */
  int32_t count;
  int64_t base, pairs_left;
} Splitter;

/* In order of their first sections, then of their numbers. */
static int32_t *sort_chosen(Arena *arena, const Instance *instance, const int32_t *chosen, int32_t count) {
  int32_t *sorted = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  int64_t *order = ARENA_NEW_ARRAY(arena, int64_t, count + 1), *keys = ARENA_NEW_ARRAY(arena, int64_t, count + 1);
  for (int32_t i = 0; i < count; i++) {
    order[i] = i;
    keys[i] = chosen[i];
  }
  radix_sort(keys, count, order, arena);
  for (int32_t i = 0; i < count; i++) keys[i] = instance->items[chosen[i]].lower;
  radix_sort(keys, count, order, arena);
  for (int32_t i = 0; i < count; i++) sorted[i] = chosen[order[i]];
  return sorted;
}

static int compare_obstacle(const void *left, const void *right) {
  const Obstacle *a = left, *b = right;
  return a->start != b->start ? compare_i64(a->start, b->start) : compare_i64(a->end, b->end);
}

/* What the pinned items |pinned| leave to the movable item |i|. */
static bool list_obstacles(Splitter *splitter, const Part *part, int32_t i, const Item *pinned, int32_t pinned_count) {
  ARRAY(Obstacle) list = {0};
  for (int32_t p = 0; p < pinned_count; p++) {
    if (splitter->pairs_left-- <= 0) return false;
    int64_t taken = item_size_at(&pinned[p], &part->items[i]);
    if (taken == 0) continue;
    Obstacle obstacle = {pinned[p].pin, pinned[p].pin + taken, item_size_at(&part->items[i], &pinned[p])};
    array_push(&list, splitter->arena, obstacle);
  }
  if (list.count > 1) qsort(list.data, (size_t)list.count, sizeof(Obstacle), compare_obstacle);
  part->obstacles[i] = (ItemObstacles){list.data, (int32_t)list.count};
  return true;
}

/* |item| with sections counted from |first|. */
static Item item_from(Arena *arena, const Item *item, int32_t first) {
  Item copy = *item;
  Span *spans = ARENA_COPY_ARRAY(arena, Span, item->spans, item->span_count);
  for (int32_t s = 0; s < item->span_count; s++) {
    spans[s].lower -= first;
    spans[s].upper -= first;
  }
  copy.spans = spans;
  copy.lower -= first;
  copy.upper -= first;
  return copy;
}

/* What is alive of the items whose alignments are multiples of |step| takes multiples of it, but for the topmost. */
static int64_t stepped_bound(const Splitter *splitter, int32_t first, int32_t end, const Part *part,
                             int32_t first_section, int64_t step) {
  const Item *items = splitter->instance->items;
  int64_t start = align_up(splitter->base, step) - splitter->base, most_saved = 0, live = 0, most_live = 0;
  int32_t fullest = first_section;
  int64_t *change = ARENA_NEW_ARRAY(splitter->arena, int64_t, part->section_count + 1);
  for (int32_t c = first; c < end; c++) {
    const Item *item = &items[splitter->chosen[c]];
    for (int32_t s = 0; s < item->span_count && item->alignment % step == 0; s++) {
      int64_t padded = align_up(item->spans[s].size, step);
      change[item->spans[s].lower - first_section] += padded;
      change[item->spans[s].upper - first_section] -= padded;
    }
  }
  for (int32_t s = 0; s < part->section_count; s++) {
    live += change[s];
    if (live <= most_live) continue;
    most_live = live;
    fullest = first_section + s;
  }
  for (int32_t c = first; c < end; c++) {
    const Item *item = &items[splitter->chosen[c]];
    for (int32_t s = 0; s < item->span_count && item->alignment % step == 0; s++) {
      const Span *span = &item->spans[s];
      if (span->lower <= fullest && fullest < span->upper)
        most_saved = max_i64(most_saved, align_up(span->size, step) - span->size);
    }
  }
  return start + most_live - most_saved;
}

/* The most that any alignment makes of what is alive. */
static int64_t padded_bound(const Splitter *splitter, int32_t first, int32_t end, const Part *part,
                            int32_t first_section) {
  enum { MOST_STEPS = 8 };
  int64_t steps[MOST_STEPS], bound = 0, common = 0;
  int count = 0;
  for (int32_t c = first; c < end; c++)
    common = greatest_common_divisor(common, splitter->instance->items[splitter->chosen[c]].alignment);
  for (int32_t c = first - 1; c < end && count < MOST_STEPS; c++) {
    int64_t step = c < first ? common : splitter->instance->items[splitter->chosen[c]].alignment;
    bool is_new = step > 1;
    for (int k = 0; k < count; k++) is_new &= steps[k] != step;
    if (!is_new) continue;
    steps[count++] = step;
    bound = max_i64(bound, stepped_bound(splitter, first, end, part, first_section, step));
  }
  return bound;
}

/* The part of chosen[first] … chosen[end - 1]. */
static bool make_part(Splitter *splitter, int32_t first, int32_t end, int32_t last_section, Part *out_part) {
  Arena *arena = splitter->arena;
  int32_t first_section = splitter->instance->items[splitter->chosen[first]].lower, pinned_count = 0;
  Part part = {.items = ARENA_NEW_ARRAY(arena, Item, end - first),
               .number = ARENA_NEW_ARRAY(arena, int32_t, end - first),
               .section_count = last_section - first_section,
               .base = splitter->base};
  part.live = ARENA_NEW_ARRAY(arena, int64_t, part.section_count + 1);
  Item *pinned = ARENA_NEW_ARRAY(arena, Item, end - first);
  for (int32_t c = first; c < end; c++) {
    Item item = item_from(arena, &splitter->instance->items[splitter->chosen[c]], first_section);
    for (int32_t s = 0; s < item.span_count; s++) {
      part.live[item.spans[s].lower] += item.spans[s].size;
      if (item.spans[s].upper < part.section_count) part.live[item.spans[s].upper] -= item.spans[s].size;
    }
    if (item.pin >= 0) {
      pinned[pinned_count++] = item;
      part.floor = max_i64(part.floor, item.pin + item.size);
      continue;
    }
    part.number[part.item_count] = splitter->chosen[c];
    part.items[part.item_count++] = item;
  }
  part.bound = part.floor;
  for (int32_t s = 0; s < part.section_count; s++) {
    if (s > 0) part.live[s] += part.live[s - 1];
    part.bound = max_i64(part.bound, part.live[s]);
  }
  part.bound = max_i64(part.bound, padded_bound(splitter, first, end, &part, first_section));
  if (pinned_count > 0) {
    part.obstacles = ARENA_NEW_ARRAY(arena, ItemObstacles, part.item_count + 1);
    for (int32_t i = 0; i < part.item_count; i++) {
      if (!list_obstacles(splitter, &part, i, pinned, pinned_count)) return false;
    }
  }
  *out_part = part;
  return true;
}

bool part_split(Arena *arena, const Instance *instance, const int32_t *chosen, int32_t chosen_count, int64_t base,
                int64_t most_pairs, PartArray *out_parts) {
  const int32_t *order = sort_chosen(arena, instance, chosen, chosen_count);
  Splitter splitter = {arena, instance, order, chosen_count, base, most_pairs};
  for (int32_t first = 0; first < chosen_count;) {
    int32_t end = first, last_section = 0;
    while (end < chosen_count && (end == first || instance->items[order[end]].lower < last_section)) {
      const Item *item = &instance->items[order[end++]];
      if (item->upper > last_section) last_section = item->upper;
    }
    Part part;
    if (!make_part(&splitter, first, end, last_section, &part)) return false;
    array_push(out_parts, arena, part);
    first = end;
  }
  return true;
}

int64_t part_height(const Part *part, const int64_t *offsets) {
  int64_t height = part->floor;
  for (int32_t i = 0; i < part->item_count; i++) height = max_i64(height, offsets[i] + part->items[i].size);
  return height;
}

/* ---- orders ---- */

typedef struct RankKey {
  double values[4];
  int32_t item;
} RankKey;

static int compare_key(const void *left, const void *right) {
  const RankKey *a = left, *b = right;
  for (int i = 0; i < 4; i++) {
    if (a->values[i] != b->values[i]) return a->values[i] > b->values[i] ? -1 : 1;
  }
  return a->item < b->item ? -1 : a->item > b->item;
}

/* A table for the largest of a range of |live|: row r has the largest of 2^r values from each place on. */
typedef struct RangeMax {
  int64_t **rows;
} RangeMax;

static RangeMax range_max_of(Arena *scratch, const int64_t *values, int32_t count) {
  RangeMax table = {ARENA_NEW_ARRAY(scratch, int64_t *, 32)};
  table.rows[0] = ARENA_COPY_ARRAY(scratch, int64_t, values, count);
  for (int32_t r = 1, width = 2; width <= count; r++, width *= 2) {
    table.rows[r] = ARENA_NEW_ARRAY(scratch, int64_t, count - width + 1);
    for (int32_t i = 0; i + width <= count; i++)
      table.rows[r][i] = max_i64(table.rows[r - 1][i], table.rows[r - 1][i + width / 2]);
  }
  return table;
}

static int64_t range_max(const RangeMax *table, int32_t lower, int32_t upper) {
  int row = 31 - __builtin_clz((unsigned)(upper - lower));
  return max_i64(table->rows[row][lower], table->rows[row][upper - (1 << row)]);
}

void part_rank(const Part *part, Arena *scratch, const char *letters, int32_t *rank) {
  RankKey *keys = ARENA_NEW_ARRAY(scratch, RankKey, part->item_count + 1);
  RangeMax live = range_max_of(scratch, part->live, part->section_count);
  for (int32_t i = 0; i < part->item_count; i++) {
    const Item *item = &part->items[i];
    int64_t total = 0;
    for (int32_t s = 0; s < item->span_count; s++)
      total = max_i64(total, range_max(&live, item->spans[s].lower, item->spans[s].upper));
    keys[i].item = i;
    for (int v = 0; v < 4 && letters[v] != '\0'; v++) {
      switch (letters[v]) {
        case 'T': keys[i].values[v] = (double)total; break;
        case 'A': keys[i].values[v] = (double)item->size * item->duration; break;
        case 'W': keys[i].values[v] = item->duration; break;
        case 'Z': keys[i].values[v] = (double)item->size; break;
        case 'U': keys[i].values[v] = item->upper; break;
        case 'L': keys[i].values[v] = -item->lower; break;
        default: XLAC_BUG("no order '%c'", letters[v]);
      }
    }
  }
  if (part->item_count > 1) qsort(keys, (size_t)part->item_count, sizeof(RankKey), compare_key);
  for (int32_t r = 0; r < part->item_count; r++) rank[keys[r].item] = r;
}
