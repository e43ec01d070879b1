#include "codegen/oncore/language/content_map.h"

#include "base/checked_math.h"

static int64_t end_of(const ContentRun *run) {
  return run->begin + run->size * run->count;
}

/* The first run that ends after |at|. */
static int64_t find(const ContentMap *map, int64_t at) {
  int64_t low = 0, high = map->runs.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (end_of(&map->runs.data[middle]) > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* What of |run| lies before |at|, whole elements. */
static ContentRun before(const ContentRun *run, int64_t at) {
  ContentRun left = *run;
  left.count = at > run->begin ? min_i64((at - run->begin) / run->size, run->count) : 0;
  return left;
}

static ContentRun from(const ContentRun *run, int64_t at) {
  ContentRun right = *run;
  int64_t gone = at > run->begin ? min_i64(ceil_div(at - run->begin, run->size), run->count) : 0;
  right.begin += gone * run->size;
  right.count -= gone;
  right.first.place += gone * run->step;
  return right;
}

/* Whether |next| goes on where |run| ends. */
static bool continues(const ContentRun *run, const ContentRun *next) {
  const Content *a = &run->first, *b = &next->first;
  if (end_of(run) != next->begin || run->size != next->size || a->kind != b->kind || a->number != b->number ||
      a->detail != b->detail)
    return false;
  int64_t step = run->count > 1 ? run->step : next->count > 1 ? next->step : b->place - a->place;
  return (next->count == 1 || next->step == step) && b->place - a->place == step * run->count;
}

/* Runs |begin| to |end| of the map become |count| others. */
static void replace(ContentMap *map, int64_t begin, int64_t end, const ContentRun *others, int64_t count) {
  int64_t after = map->runs.count - end;
  if (count != end - begin) {
    array_reserve(&map->runs, map->arena, begin + count + after);
    memmove(map->runs.data + begin + count, map->runs.data + end, sizeof *map->runs.data * (size_t)after);
    map->runs.count = begin + count + after;
    map->work += after / 64;
  }
  for (int64_t i = 0; i < count; i++) map->runs.data[begin + i] = others[i];
}

void content_map_put(ContentMap *map, const ContentRun *run) {
  int64_t begin = find(map, run->begin), end = begin, count = 0;
  ContentRun parts[3], left = {0}, right = {0};
  while (end < map->runs.count && map->runs.data[end].begin < end_of(run)) end++;
  map->work += 1 + end - begin;
  if (end > begin) {
    left = before(&map->runs.data[begin], run->begin);
    right = from(&map->runs.data[end - 1], end_of(run));
  }
  bool joins =
      left.count == 0 && begin > 0 && run->first.kind != CONTENT_NOTHING && continues(&map->runs.data[begin - 1], run);
  if (joins) left = map->runs.data[--begin];
  if (left.count > 0) parts[count++] = left;
  if (run->first.kind != CONTENT_NOTHING) {
    bool goes_on = left.count > 0 && continues(&left, run);
    if (goes_on) {
      if (left.count == 1) parts[0].step = run->count > 1 ? run->step : run->first.place - left.first.place;
      parts[0].count += run->count;
    } else {
      parts[count++] = *run;
    }
  }
  if (right.count > 0) parts[count++] = right;
  replace(map, begin, end, parts, count);
}

ContentRun content_map_get(ContentMap *map, int64_t begin, int64_t size, int64_t count) {
  int64_t place = find(map, begin);
  ContentRun nothing = {begin, size, count, 0, {0}};
  map->work++;
  if (place == map->runs.count) return nothing;
  const ContentRun *there = &map->runs.data[place];
  if (there->begin > begin) {
    nothing.count = min_i64(count, ceil_div(there->begin - begin, size));
    return nothing;
  }
  ContentRun rest = from(there, begin);
  if (there->size != size || rest.begin != begin || rest.count == 0) {
    nothing.count = 1;
    return nothing;
  }
  rest.count = min_i64(rest.count, count);
  return rest;
}
