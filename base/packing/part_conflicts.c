/* Lists of conflicts: one sweep over the sections. */
#include "base/packing/part_conflicts.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/packing/packing_internal.h"

static int64_t common_unit(const Part *part) {
  int64_t unit = part->base;
  for (int32_t i = 0; i < part->item_count; i++) {
    const Item *item = &part->items[i];
    for (int32_t s = 0; s < item->span_count; s++) unit = greatest_common_divisor(unit, item->spans[s].size);
    if (item->alignment > 1) unit = greatest_common_divisor(unit, item->alignment);
    for (int32_t k = 0; part->obstacles != NULL && k < part->obstacles[i].count; k++) {
      const Obstacle *obstacle = &part->obstacles[i].data[k];
      unit = greatest_common_divisor(unit, obstacle->start);
      unit = greatest_common_divisor(unit, obstacle->end);
      unit = greatest_common_divisor(unit, obstacle->need);
    }
  }
  return max_i64(1, unit);
}

typedef struct Pair {
  int32_t a, b;
} Pair;

static int compare_first_section(const void *left, const void *right, void *context) {
  const Item *items = context;
  int32_t i = *(const int32_t *)left, k = *(const int32_t *)right;
  return items[i].lower != items[k].lower ? compare_i64(items[i].lower, items[k].lower) : compare_i64(i, k);
}

bool conflicts_list(Arena *arena, const Part *part, int64_t most_pairs, Conflicts *out_conflicts) {
  Item *items = part->items;
  int64_t unit = common_unit(part);
  int32_t count = part->item_count, active_count = 0;
  if (part->bound / unit > MOST_UNITS) return false;
  int32_t *order = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  int32_t *active = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  ARRAY(Pair) pairs = {0};
  for (int32_t i = 0; i < count; i++) order[i] = i;
  if (count > 1) qsort_r(order, (size_t)count, sizeof(int32_t), compare_first_section, items);
  int32_t *first = ARENA_NEW_ARRAY(arena, int32_t, count + 2);
  for (int32_t k = 0; k < count; k++) {
    const Item *item = &items[order[k]];
    int32_t kept = 0;
    for (int32_t a = 0; a < active_count; a++) {
      if (items[active[a]].upper <= item->lower) continue;
      active[kept++] = active[a];
      if (item_size_at(item, &items[active[a]]) == 0) continue;
      if (--most_pairs < 0) return false;
      array_push(&pairs, arena, ((Pair){active[a], order[k]}));
      first[active[a] + 1]++;
      first[order[k] + 1]++;
    }
    active_count = kept;
    active[active_count++] = order[k];
  }
  for (int32_t i = 0; i < count; i++) first[i + 1] += first[i];
  int32_t *next = ARENA_COPY_ARRAY(arena, int32_t, first, count + 1);
  Conflict *rows = ARENA_NEW_ARRAY(arena, Conflict, 2 * pairs.count + 1);
  for (int64_t p = 0; p < pairs.count; p++) {
    int32_t a = pairs.data[p].a, b = pairs.data[p].b;
    rows[next[a]++] = (Conflict){b, (Units)(item_size_at(&items[a], &items[b]) / unit)};
    rows[next[b]++] = (Conflict){a, (Units)(item_size_at(&items[b], &items[a]) / unit)};
  }
  *out_conflicts = (Conflicts){unit, first, rows};
  return true;
}
