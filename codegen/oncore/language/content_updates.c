/* Scatters: buffers that are updated at places which only the values tell. */
#include "base/checked_math.h"
#include "codegen/oncore/language/plan_content_internal.h"

static int32_t outer_axes(const Kernel *kernel, bool sequential, int32_t *out_axes) {
  int32_t count = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    bool is_sequential = kernel->dims[d].kind == KERNEL_SEQUENTIAL;
    if (kernel->dims[d].stage == KERNEL_OUTER && is_sequential == sequential) out_axes[count++] = d;
  }
  return count;
}

static int64_t axes_points(const Kernel *kernel, const int32_t *axes, int32_t count) {
  int64_t points = 1;
  for (int32_t i = 0; i < count; i++) points *= kernel->dims[axes[i]].extent;
  return points;
}

void content_begin_updates(Follower *f) {
  bool is_updated = false;
  for (int32_t b = 0; b < f->kernel->buffer_count; b++) is_updated = is_updated || tile_is_updated(f->kernel, b);
  int32_t axes[KERNEL_MAX_DIMS], count = outer_axes(f->kernel, false, axes);
  f->unfinished = is_updated ? axes_points(f->kernel, axes, count) : 0;
  f->updates = ARENA_NEW_ARRAY(f->arena, int64_t, f->unfinished);
  f->slice = -1;
}

/* Each slice sees all updates. */
static void begin_slice(Follower *f, int32_t number, const int32_t *parallel, int32_t count) {
  const PlanRange *slice = &f->plan->commands[number].slice;
  int64_t begin = slice->extent > 0 ? content_number(f, number, slice->begin) : -1;
  if (begin == f->slice) return;
  int64_t places = axes_points(f->kernel, parallel, count);
  bool is_first = f->slice < 0;
  if (!is_first && f->unfinished > 0) content_tell(f, number, "begins a slice before another has seen all updates");
  f->slice = begin;
  if (is_first) return;
  f->unfinished = places;
  memset(f->updates, 0, sizeof *f->updates * (size_t)places);
}

/* The places of the command's points of |axes|: |*out_first| and those after it, without a gap; false where they are
 * not. */
static bool consecutive_places(Follower *f, int32_t number, const int32_t *axes, int32_t count, int64_t *out_first) {
  PointWalk walk = point_walk(f, number, axes, count);
  int64_t next = *out_first = content_place_of_point(f, axes, count);
  while (walk.total > 0) {
    if (content_place_of_point(f, axes, count) != next) return false;
    next += walk.left;
    f->visited++;
    point_walk_advance(f, &walk, walk.left);
  }
  return true;
}

void content_count_updates(Follower *f, int32_t number) {
  int32_t parallel[KERNEL_MAX_DIMS], sequential[KERNEL_MAX_DIMS];
  int32_t width = outer_axes(f->kernel, false, parallel), length = outer_axes(f->kernel, true, sequential);
  int64_t all = axes_points(f->kernel, sequential, length), first;
  int64_t deep = content_point_count(f, number, sequential, length);
  begin_slice(f, number, parallel, width);
  bool is_ordered = consecutive_places(f, number, sequential, length, &first);
  PointWalk walk = point_walk(f, number, parallel, width);
  while (walk.total > 0 && deep > 0) {
    int64_t *seen = &f->updates[content_place_of_point(f, parallel, width)];
    for (int64_t i = 0; i < walk.left; i++) {
      if (!is_ordered || seen[i] != first) {
        content_tell(f, number, "updates out of order, or twice");
        return;
      }
      seen[i] += deep;
      if (seen[i] == all) f->unfinished--;
    }
    f->visited += 1 + walk.left / 64;
    point_walk_advance(f, &walk, walk.left);
  }
}

void content_follow_updated(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  CellWalk cells = cell_walk(f, number, ref);
  const PlanRange *slice = &f->plan->commands[number].slice;
  int64_t held =
      slice->extent > 0 ? content_extent(f, number, slice) : f->kernel->buffers[access->buffer].element_count;
  int64_t place = max_i64(f->slice, 0), bytes = type_storage_bytes(access->type);
  if (cells.total != held) content_tell(f, number, "updates other elements than its target has");
  while (cells.total > 0) {
    ContentRun found = content_map_get(&f->buffer, cells.at, bytes, cells.step == bytes ? cells.left : 1);
    ContentRun wanted = {cells.at, bytes, found.count, 1, {CONTENT_ELEMENT, access->buffer, place, 0}};
    ContentRun updated = wanted;
    updated.first.kind = CONTENT_UPDATED;
    int64_t n = content_same_count(&found, found.first.kind == CONTENT_UPDATED ? &updated : &wanted, found.count);
    bool is_same = content_is_same(&found.first, &wanted.first) || content_is_same(&found.first, &updated.first);
    if (access->is_read && !is_same) content_tell_found(f, number, ref, &found.first, &wanted.first);
    updated.count = n;
    if (access->is_written) content_map_put(&f->buffer, &updated);
    f->visited++;
    place += n;
    cell_walk_advance(&cells, n);
  }
}
