#include "codegen/oncore/language/plan_content.h"

#include <inttypes.h>

#include "base/checked_math.h"
#include "codegen/oncore/language/plan_content_internal.h"
#include "codegen/oncore/plan/tile_parts.h"
#include "codegen/oncore/plan/tile_seen.h"

#define MOST_RUNS (INT64_C(1) << 26) /* of elements, looked at */

/* --- elements --- */

bool content_is_same(const Content *a, const Content *b) {
  if (a->kind != b->kind || a->number != b->number) return false;
  return a->kind == CONTENT_ZERO || (a->place == b->place && (a->kind == CONTENT_FOLD || a->detail == b->detail));
}

int64_t content_same_count(const ContentRun *found, const ContentRun *wanted, int64_t n) {
  n = min_i64(n, min_i64(found->count, wanted->count));
  return found->first.kind == CONTENT_ZERO || found->step == wanted->step ? n : 1;
}

/* --- numbers --- */

int64_t content_number(Follower *f, int32_t command, IndexExpr expr) {
  Place place = place_in_plan(&f->forms, expr, f->iterations);
  if (place.form != 0) {
    StringBuilder text;
    sb_init(&text, f->arena);
    place_print(&text, &f->forms, place);
    content_tell(f, command,
                 arena_printf(f->arena, "has a size or a place on the core that only run-time values tell: %s",
                              sb_view(&text).data));
  }
  return place.constant + place_form_lower(&f->forms, place.form);
}

int64_t content_extent(Follower *f, int32_t command, const PlanRange *range) {
  if (!range->is_ragged) return range->extent;
  return min_i64(content_number(f, command, range->left), range->extent);
}

/* --- arrays --- */

/* Whether |n| elements from |at| on are all in an array of |count|, whatever the form's value. */
static bool are_inside(const Follower *f, Place at, int64_t step, int64_t n, int64_t count) {
  int64_t first = at.constant, last = at.constant + step * (n - 1);
  return min_i64(first, last) + place_form_lower(&f->forms, at.form) >= 0 &&
         max_i64(first, last) + place_form_upper(&f->forms, at.form) < count;
}

static bool is_bit(const uint8_t *bits, int64_t place) {
  return (bits[place / 8] >> place % 8 & 1) != 0;
}

/* Whether a store may have reached one of the elements of |array| from |at| on, which are inside. */
static bool may_be_stored(const Follower *f, const StoredArray *array, Place at, int64_t step, int64_t n) {
  int64_t first = min_i64(at.constant, at.constant + step * (n - 1));
  int64_t last = max_i64(at.constant, at.constant + step * (n - 1));
  for (int64_t i = 0; i < array->forms.count; i++) {
    const StoredPlaces *places = &array->forms.data[i];
    int64_t lower = place_form_lower(&f->forms, places->form), upper = place_form_upper(&f->forms, places->form);
    if (places->form == at.form) {
      if (last < places->lower || first > places->upper) continue;
      for (int64_t k = 0; k < n; k++)
        if (is_bit(places->is_stored, at.constant + k * step + lower)) return true;
    } else if (last + place_form_upper(&f->forms, at.form) >= places->lower + lower &&
               first + place_form_lower(&f->forms, at.form) <= places->upper + upper) {
      return true;
    }
  }
  return false;
}

static StoredPlaces *stored_places(Follower *f, StoredArray *array, int64_t elements, int32_t form, int64_t at) {
  for (int64_t i = 0; i < array->forms.count; i++)
    if (array->forms.data[i].form == form) return &array->forms.data[i];
  StoredPlaces places = {.form = form, .lower = at, .upper = at};
  places.is_stored = ARENA_NEW_ARRAY(f->arena, uint8_t, elements / 8 + 1);
  array_push(&array->forms, f->arena, places);
  return &array_last(&array->forms);
}

/* The elements of |array|, of |elements|, which are inside, are those that a store has reached now. */
static void add_stored(Follower *f, StoredArray *array, int64_t elements, Place at, int64_t step, int64_t n) {
  StoredPlaces *places = stored_places(f, array, elements, at.form, at.constant);
  int64_t shift = place_form_lower(&f->forms, at.form), last = at.constant + step * (n - 1);
  places->lower = min_i64(places->lower, min_i64(at.constant, last));
  places->upper = max_i64(places->upper, max_i64(at.constant, last));
  for (int64_t k = 0; k < n; k++) {
    int64_t place = at.constant + k * step + shift;
    array->count += !is_bit(places->is_stored, place);
    places->is_stored[place / 8] |= (uint8_t)(1u << place % 8);
  }
  f->visited += n / 64;
}

/* What a load finds from |at| on.  Outside the array: nothing (hazards.h says more); nor where it may be overwritten.
 */
static ContentRun array_run(Follower *f, int32_t buffer, Place at, int64_t step, int64_t n) {
  int64_t count = f->kernel->buffers[buffer].element_count;
  ContentRun run = {.count = n, .step = step};
  if (!are_inside(f, at, step, n, count)) run.count = 1;
  if (!are_inside(f, at, step, run.count, count)) return run;
  bool may_change = f->kernel->buffers[buffer].role == KERNEL_IN_PLACE;
  const StoredArray *stored = &f->stored[buffer];
  if (may_change && may_be_stored(f, stored, at, step, run.count)) run.count = 1;
  if (may_change && may_be_stored(f, stored, at, step, run.count)) return run;
  run.first = (Content){CONTENT_ELEMENT, f->array_of[buffer], at.constant, (uint64_t)at.form};
  return run;
}

/* Whether the Buffer has the array's own elements wherever |n| of them from |at| on may be. */
static bool has_elements(Follower *f, const PlanTensor *held, Place at, int64_t step, int64_t n) {
  int64_t last = at.constant + step * (n - 1), bytes = type_storage_bytes(held->type);
  int64_t first = min_i64(at.constant, last) + place_form_lower(&f->forms, at.form);
  int64_t end = max_i64(at.constant, last) + place_form_upper(&f->forms, at.form) + 1;
  while (first < end) {
    ContentRun wanted = {.count = end - first, .step = 1};
    wanted.first = (Content){CONTENT_ELEMENT, f->array_of[held->held], first, 0};
    ContentRun found = content_map_get(&f->buffer, held->begin + first * bytes, bytes, wanted.count);
    if (!content_is_same(&found.first, &wanted.first)) return false;
    first += content_same_count(&found, &wanted, wanted.count);
    f->visited++;
  }
  return true;
}

static bool are_stored(const Follower *f, const StoredArray *array, Place at, int64_t step, int64_t n) {
  for (int64_t i = 0; i < array->forms.count; i++) {
    const StoredPlaces *places = &array->forms.data[i];
    if (places->form != at.form) continue;
    for (int64_t k = 0; k < n; k++)
      if (!is_bit(places->is_stored, at.constant + k * step + place_form_lower(&f->forms, at.form))) return false;
    return true;
  }
  return false;
}

/* Of the array that |held| has all of, or the first ones of. */
static int64_t held_elements(const PlanTensor *held) {
  return plan_tensor_bytes(held) / type_storage_bytes(held->type);
}

/* What is from |at| on of an array in the Buffer: its elements, those that have been updated, or what is not known. */
static ContentRun held_run_at(Follower *f, const PlanTensor *held, Place at, int64_t step, int64_t n) {
  const StoredArray *updated = &f->held[f->array_of[held->held]];
  ContentRun run = {.count = n, .step = step};
  int64_t count = held_elements(held);
  bool is_mixed = !are_inside(f, at, step, n, count) ||
                  (may_be_stored(f, updated, at, step, n) && !are_stored(f, updated, at, step, n));
  if (is_mixed) run.count = 1;
  if (!are_inside(f, at, step, run.count, count)) return run;
  if (are_stored(f, updated, at, step, run.count)) {
    run.first = (Content){CONTENT_RESULT, held->held, at.constant, (uint64_t)at.form};
  } else if (!may_be_stored(f, updated, at, step, run.count) && has_elements(f, held, at, step, run.count)) {
    run.first = (Content){CONTENT_ELEMENT, f->array_of[held->held], at.constant, (uint64_t)at.form};
  }
  return run;
}

/* --- transfers --- */

/* What |cells| of |ref| have, for at most |n| elements. */
static ContentRun found_at(Follower *f, const PlanTensor *held, const CellWalk *cells, int64_t bytes, int64_t n) {
  if (held != NULL) return held_run_at(f, held, (Place){cells->at, cells->form}, cells->step, min_i64(n, cells->left));
  return content_map_get(&f->buffer, cells->at, bytes, n);
}

static ContentMap *map_of(Follower *f, const PlanRef *ref) {
  return ref->is_memory ? &f->temporaries[f->plan->memories[ref->number].number] : &f->buffer;
}

/* |run| is what the cells have from now on; those are walked over. */
static void put(ContentMap *map, CellWalk *cells, int64_t bytes, ContentRun run) {
  run.begin = cells->at;
  run.size = bytes;
  content_map_put(map, &run);
  cell_walk_advance(cells, run.count);
}

static void follow_load(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  const PlanRef *source = &command->sources[0], *target = &command->targets[0];
  CellWalk from = cell_walk(f, number, source), to = cell_walk(f, number, target);
  int64_t bytes = content_element_bytes(f, target);
  while (from.total > 0 && to.total > 0) {
    int64_t n = min_i64(from.left, cell_walk_dense_count(&to, bytes));
    ContentRun run;
    if (content_is_array(f, source))
      run = array_run(f, f->plan->memories[source->number].number, (Place){from.at, from.form}, from.step, n);
    else
      run = content_map_get(map_of(f, source), from.at, bytes, min_i64(n, cell_walk_dense_count(&from, bytes)));
    put(&f->buffer, &to, bytes, run);
    cell_walk_advance(&from, run.count);
    f->visited++;
  }
}

static void check_indices(Follower *f, int32_t number, const KernelValue *value) {
  const PlanCommand *command = &f->plan->commands[number];
  const PlanRef *source = &command->sources[1];
  int32_t axes[KERNEL_MAX_DIMS], count = tile_index_axes(f->kernel, command->value, axes);
  CellWalk cells = cell_walk(f, number, source);
  PointWalk points = point_walk(f, number, axes, count);
  int64_t bytes = content_element_bytes(f, source);
  while (cells.total > 0 && points.total > 0) {
    ContentRun wanted = {.count = points.left, .step = 1, .first = {CONTENT_INDEX, value->buffer, 0, 0}};
    wanted.first.place = content_place_of_point(f, axes, count);
    ContentRun found = content_map_get(&f->buffer, cells.at, bytes, cell_walk_dense_count(&cells, bytes));
    int64_t n = content_same_count(&found, &wanted, points.left);
    if (!content_is_same(&found.first, &wanted.first))
      content_tell_found(f, number, source, &found.first, &wanted.first);
    cell_walk_advance(&cells, n);
    point_walk_advance(f, &points, n);
    f->visited++;
  }
}

/* The Tensor that |ref| is all of, if it has the array of |buffer| as it was. */
static const PlanTensor *held_of(Follower *f, const PlanRef *ref, int32_t buffer) {
  const PlanTensor *tensor = ref->is_memory ? NULL : &f->plan->tensors[ref->number];
  if (tensor == NULL || tensor->hold == PLAN_HOLDS_NOTHING || f->array_of[tensor->held] != f->array_of[buffer])
    return NULL;
  int64_t count = f->kernel->buffers[buffer].element_count;
  return held_elements(tensor) == count && has_elements(f, tensor, (Place){0}, 1, count) ? tensor : NULL;
}

/* Guarded loads and gathers: the Kernel's load for a range of points. */
static void follow_kernel_load(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  const KernelValue *value = tile_load_value(f->kernel, command->value);
  const PlanRef *target = &command->targets[0];
  int32_t axes[KERNEL_MAX_DIMS], count = tile_load_axes(f->kernel, command->value, axes);
  const PlanTensor *held = plan_brings_held(command) ? held_of(f, &command->sources[0], value->buffer) : NULL;
  bool is_loaded = held == NULL && content_is_array(f, &command->sources[0]) &&
                   f->plan->memories[command->sources[0].number].number == value->buffer;
  if (!is_loaded && held == NULL) {
    content_tell(f, number,
                 arena_printf(f->arena, "loads from another array than value v%d of the kernel", command->value));
    return;
  }
  if (command->verb == PLAN_GATHERM || command->verb == PLAN_GATHER) check_indices(f, number, value);
  CellWalk to = cell_walk(f, number, target);
  PointWalk points = point_walk(f, number, axes, count);
  if (to.total != points.total) {
    content_tell(f, number, "covers a different number of points than its target has");
    return;
  }
  int64_t bytes = content_element_bytes(f, target);
  while (to.total > 0) {
    ContentRun run =
        content_of_load(f, command->value, axes, count, min_i64(points.left, cell_walk_dense_count(&to, bytes)));
    if (run.first.kind == CONTENT_ELEMENT && held != NULL)
      run = held_run_at(f, held, (Place){run.first.place, (int32_t)run.first.detail}, run.step, run.count);
    else if (run.first.kind == CONTENT_ELEMENT)
      run = array_run(f, run.first.number, (Place){run.first.place, (int32_t)run.first.detail}, run.step, run.count);
    put(&f->buffer, &to, bytes, run);
    point_walk_advance(f, &points, run.count);
    f->visited++;
  }
}

/* Of what a fold has left, which is a result's elements as they are: those, if it has seen everything. */
static void finish_fold(Follower *f, int32_t number, int32_t buffer, ContentRun *found) {
  if (found->first.kind != CONTENT_FOLD) return;
  int32_t fold = found->first.number;
  for (int32_t s = 0; s < f->kernel->stage_count; s++) {
    if (tile_stored_fold(f->kernel, s) != fold || f->kernel->stages[s].stores[0].buffer != buffer) continue;
    if (found->first.detail != content_fold_progress(f, f->kernel->folds[fold].stage, -1))
      content_tell(f, number, "stores a fold that has not seen each of its elements once");
    found->first = (Content){CONTENT_RESULT, buffer, found->first.place, 0};
  }
}

static void follow_store(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  const PlanRef *source = &command->sources[0], *target = &command->targets[0];
  const PlanTensor *held = content_held(f, source);
  CellWalk from = cell_walk_over(f, number, source, held), to = cell_walk(f, number, target);
  int64_t bytes = content_element_bytes(f, source);
  while (from.total > 0 && to.total > 0) {
    int64_t n = min_i64(to.left, held != NULL ? from.left : cell_walk_dense_count(&from, bytes));
    f->visited++;
    if (!content_is_array(f, target)) n = min_i64(n, cell_walk_dense_count(&to, bytes));
    ContentRun found = found_at(f, held, &from, bytes, n);
    if (!content_is_array(f, target)) {
      put(map_of(f, target), &to, bytes, found);
      cell_walk_advance(&from, found.count);
      continue;
    }
    int32_t buffer = f->plan->memories[target->number].number;
    finish_fold(f, number, buffer, &found);
    bool is_updated = found.first.kind == CONTENT_UPDATED;
    Content first = {is_updated ? CONTENT_UPDATED : CONTENT_RESULT, buffer, to.at, (uint64_t)to.form};
    ContentRun wanted = {.count = n, .step = to.step, .first = first};
    n = content_same_count(&found, &wanted, n);
    if (is_updated && f->unfinished > 0) content_tell(f, number, "stores before all updates are made");
    if (!content_is_same(&found.first, &wanted.first))
      content_tell_found(f, number, source, &found.first, &wanted.first);
    Place at = {to.at, to.form};
    int64_t elements = f->kernel->buffers[buffer].element_count;
    if (are_inside(f, at, to.step, n, elements)) add_stored(f, &f->stored[buffer], elements, at, to.step, n);
    cell_walk_advance(&from, n);
    cell_walk_advance(&to, n);
  }
}

/* --- computations --- */

static bool starts_folds(const Follower *f, const PlanCommand *command) {
  if (!command->keeps_accumulators) return true;
  if (!command->init) return false;
  for (int32_t l = command->loop; l >= 0 && command->init_loop >= 0; l = f->plan->loops[l].parent) {
    if (f->iterations[l] != 0) return false;
    if (l == command->init_loop) break;
  }
  return true;
}

/* |run|, from the point at hand on, as the tile's parts have it, of which |done| of that point are behind. */
static ContentRun run_of_parts(const Follower *f, const TileAccess *access, int64_t done, ContentRun run) {
  if (access->parts == 1) return run;
  bool loads = access->kind == TILE_LOAD;
  IndexExpr address = loads ? tile_load_value(f->kernel, access->value)->address
                            : f->kernel->stages[access->stage].stores[access->store].address;
  run.first.place += done - tile_part_of(address, access->parts);
  run.count = (run.step == access->parts ? run.count : 1) * access->parts - done;
  run.step = 1;
  return run;
}

/* By |n| elements, of which each point has |parts|. */
static void advance_parts(Follower *f, PointWalk *points, int64_t parts, int64_t n, int64_t *done) {
  *done += n;
  if (*done >= parts) point_walk_advance(f, points, *done / parts);
  *done %= parts;
}

static void check_read(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  const PlanTensor *held = content_held(f, ref);
  CellWalk cells = cell_walk_over(f, number, ref, held);
  TileWindows windows;
  bool is_window = content_is_window(f, number, access, ref, &windows);
  PointWalk points =
      is_window ? window_walk(f, number, &windows) : point_walk(f, number, access->axes, access->axis_count);
  bool descends = false; /* along the last axis */
  for (int32_t i = 0; i < access->axis_count && access->kind == TILE_LOAD; i++) {
    descends = tile_load_descends(f->kernel, access->value, access->axes[i]);
    if (descends) point_walk_descend(f, &points, i);
  }
  int64_t bytes = content_element_bytes(f, ref), done = 0;
  bool is_final = access->kind == TILE_ACCUMULATOR && !access->is_written;
  uint64_t whole = is_final ? content_fold_progress(f, f->kernel->folds[access->fold].stage, -1) : 0;
  while (cells.total > 0 && points.total > 0) {
    int64_t dense = held != NULL ? cells.left : cell_walk_dense_count(&cells, bytes);
    int64_t n = access->parts > 1 ? points.left : min_i64(points.left, dense);
    bool is_away = content_is_away(f, access, points.axes, points.axis_count, &n);
    ContentRun wanted = content_wanted(f, access, points.axes, points.axis_count, n);
    if (descends) wanted.step = -wanted.step;
    wanted = run_of_parts(f, access, done, wanted);
    ContentRun found = found_at(f, held, &cells, bytes, min_i64(wanted.count, dense));
    n = content_same_count(&found, &wanted, dense);
    if (!is_away && !content_is_same(&found.first, &wanted.first)) {
      content_tell_found(f, number, ref, &found.first, &wanted.first);
    } else if (is_final && found.first.detail != whole) {
      content_tell(f, number, "uses a fold that has not seen each of its elements once");
    }
    cell_walk_advance(&cells, n);
    advance_parts(f, &points, access->parts, n, &done);
    f->visited++;
  }
}

/* What is written of an array in the Buffer that is updated there is what the Kernel stores at that place. */
static void do_update(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref,
                      const PlanTensor *held) {
  CellWalk cells = cell_walk_over(f, number, ref, held);
  PointWalk points = point_walk(f, number, access->axes, access->axis_count);
  int64_t elements = f->kernel->buffers[held->held].element_count;
  while (cells.total > 0 && points.total > 0) {
    Place at = {cells.at, cells.form};
    ContentRun written = content_written(f, access, min_i64(points.left, cells.left));
    ContentRun wanted = {.count = written.count, .step = cells.step};
    wanted.first = (Content){CONTENT_RESULT, held->held, at.constant, (uint64_t)at.form};
    int64_t n = content_same_count(&written, &wanted, written.count);
    if (!content_is_same(&written.first, &wanted.first))
      content_tell_found(f, number, ref, &written.first, &wanted.first);
    if (are_inside(f, at, cells.step, n, elements))
      add_stored(f, &f->held[f->array_of[held->held]], elements, at, cells.step, n);
    cell_walk_advance(&cells, n);
    point_walk_advance(f, &points, n);
    f->visited++;
  }
}

/* An array in the Buffer that is scattered into there is the Kernel's result once all updates are made. */
static void do_scatter(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref,
                       const PlanTensor *held) {
  CellWalk cells = cell_walk_over(f, number, ref, held);
  int64_t elements = f->kernel->buffers[access->buffer].element_count;
  bool is_whole = cells.total == elements && f->plan->commands[number].slice.extent == 0;
  if (!is_whole) content_tell(f, number, "updates other elements than its target has");
  for (int64_t place = 0; is_whole && cells.total > 0;) {
    Place at = {cells.at, cells.form};
    ContentRun found = held_run_at(f, held, at, cells.step, cells.left);
    Content wanted = {CONTENT_ELEMENT, f->array_of[access->buffer], place, 0};
    bool is_there = found.first.kind == CONTENT_RESULT || content_is_same(&found.first, &wanted);
    if (!is_there) content_tell_found(f, number, ref, &found.first, &wanted);
    if (f->unfinished == 0) add_stored(f, &f->held[f->array_of[held->held]], elements, at, cells.step, found.count);
    place += found.count;
    f->visited++;
    cell_walk_advance(&cells, found.count);
  }
}

static void follow_scatter(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  const PlanTensor *held = content_held(f, ref);
  if (held != NULL)
    do_scatter(f, number, access, ref, held);
  else
    content_follow_updated(f, number, access, ref);
}

static void do_write(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  const PlanTensor *held = content_held(f, ref);
  if (held != NULL) {
    do_update(f, number, access, ref, held);
    return;
  }
  CellWalk cells = cell_walk(f, number, ref);
  bool is_fold = access->kind == TILE_ACCUMULATOR, starts = starts_folds(f, &f->plan->commands[number]);
  uint64_t progress = is_fold ? content_fold_progress(f, f->kernel->folds[access->fold].stage, number) : 0;
  PointWalk points = point_walk(f, number, access->axes, access->axis_count);
  int64_t bytes = content_element_bytes(f, ref), done = 0;
  while (cells.total > 0 && points.total > 0) {
    int64_t dense = cell_walk_dense_count(&cells, bytes),
            n = access->parts > 1 ? points.left : min_i64(points.left, dense);
    ContentRun run = run_of_parts(f, access, done, content_written(f, access, n));
    run.count = min_i64(run.count, dense);
    if (is_fold && !starts) {
      ContentRun before = content_map_get(&f->buffer, cells.at, bytes, run.count);
      run.count = before.count;
      run.first.detail = before.first.detail;
    }
    if (is_fold) run.first.detail = content_fold_add(run.first.detail, progress);
    put(&f->buffer, &cells, bytes, run);
    advance_parts(f, &points, access->parts, run.count, &done);
    f->visited++;
  }
}

/* A fold that is begun and finished by one command needs all of its stage's points, a sort those of its line. */
static void check_whole_stages(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  for (int32_t d = 0; d < f->kernel->dim_count; d++) {
    bool is_sorted = f->kernel->dims[d].kind == KERNEL_SORTED && command->points[d].extent > 0;
    if (!is_sorted || content_extent(f, number, &command->points[d]) == f->kernel->dims[d].extent) continue;
    content_tell(f, number, arena_printf(f->arena, "sorts a part of d%d only", d));
  }
  for (int32_t a = 0; a < f->kernel->fold_count && !command->keeps_accumulators; a++) {
    int32_t axes[KERNEL_MAX_DIMS], stage = f->kernel->folds[a].stage;
    if (stage < command->first_stage || stage > command->last_stage) continue;
    int32_t count = content_stage_axes(f->kernel, stage, axes);
    for (int32_t i = 0; i < count; i++) {
      if (content_extent(f, number, &command->points[axes[i]]) == f->kernel->dims[axes[i]].extent) continue;
      content_tell(f, number, arena_printf(f->arena, "folds a part of d%d only, and does not say 'acc'", axes[i]));
    }
  }
}

static const TileAccesses *accesses_of(Follower *f, int32_t number) {
  if (!f->has_accesses[number]) {
    const PlanCommand *command = &f->plan->commands[number];
    TileCover cover = {command->points, command->first_stage, command->last_stage, command->keeps_accumulators,
                       command->index_value};
    f->accesses[number] = tile_accesses(f->arena, f->kernel, &cover);
    f->has_accesses[number] = true;
  }
  return &f->accesses[number];
}

/* The operand of access |place|: sources and targets stand in the accesses' order. */
static const PlanRef *operand_of(const PlanCommand *command, const TileAccesses *accesses, int32_t place) {
  int32_t source = 0, target = 0;
  for (int32_t i = 0; i < place; i++) {
    if (accesses->accesses[i].is_written)
      target++;
    else
      source++;
  }
  return accesses->accesses[place].is_written ? &command->targets[target] : &command->sources[source];
}

/* What is seen of an array where it is, is its elements. */
static void check_seen(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  if (held_of(f, ref, access->buffer) != NULL) return;
  content_tell(f, number,
               arena_printf(f->arena, "sees '%.*s', which has not all of the array of value v%d of the kernel",
                            SV_ARG(content_ref_name(f, ref)), access->value));
}

/* Axes are counted as under 'pipeline', where names of rings are those of a slot. */
static void tell_extent(Follower *f, int32_t number, const PlanRef *ref, int32_t axis, int64_t covered, int64_t held) {
  bool is_ring = !ref->is_memory && f->plan->tensors[ref->number].kind == PLAN_RING;
  content_tell(
      f, number,
      arena_printf(f->arena,
                   "covers %" PRId64 " points along axis %d of %s'%.*s', which has %" PRId64 " elements there", covered,
                   is_ring ? axis - 1 : axis, is_ring ? "a slot of " : "", SV_ARG(content_ref_name(f, ref)), held));
}

/* Along each axis the operand has as many elements as the command covers: tiles are walked by their own strides. */
static bool fits_axes(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  const PlanCommand *command = &f->plan->commands[number];
  int64_t extents[KERNEL_MAX_DIMS];
  int32_t first = ref->range_count - tile_access_rank(access);
  TileWindows windows;
  bool is_window = content_is_window(f, number, access, ref, &windows);
  for (int32_t i = 0; i < access->axis_count; i++)
    extents[access->axes[i]] = content_extent(f, number, &command->points[access->axes[i]]);
  for (int32_t i = 0; i < access->axis_count; i++) {
    int64_t covered = is_window ? tile_window_extent(&windows, i, extents) : extents[access->axes[i]];
    int64_t held = content_extent(f, number, &ref->ranges[first + i]);
    if (covered == held) continue;
    tell_extent(f, number, ref, first + i, covered, held);
    return false;
  }
  int64_t parts = access->parts == 1 ? 1 : content_extent(f, number, &ref->ranges[ref->range_count - 1]);
  if (parts == access->parts) return true;
  content_tell(f, number,
               arena_printf(f->arena, "reads or writes %" PRId64 " parts of '%.*s', which has %" PRId64 " there",
                            access->parts, SV_ARG(content_ref_name(f, ref)), parts));
  return false;
}

static bool covers_operands(Follower *f, int32_t number, const TileAccesses *accesses) {
  for (int32_t i = 0; i < accesses->count; i++) {
    const TileAccess *access = &accesses->accesses[i];
    const PlanRef *ref = operand_of(&f->plan->commands[number], accesses, i);
    if (access->kind == TILE_UPDATED || tile_ref_is_seen(f->plan, access, ref)) continue;
    if (!fits_axes(f, number, access, ref)) return false;
  }
  return true;
}

static void follow_computation(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  const TileAccesses *accesses = accesses_of(f, number);
  if (!covers_operands(f, number, accesses)) return;
  if (command->index_value < 0) check_whole_stages(f, number);
  bool starts = starts_folds(f, command);
  for (int32_t i = 0; i < accesses->count; i++) {
    const TileAccess *access = &accesses->accesses[i];
    bool is_own_row = access->kind == TILE_SCRATCH && access->is_written;
    bool begins = access->kind == TILE_ACCUMULATOR && access->is_written && starts;
    if (access->kind == TILE_UPDATED || !access->is_read || is_own_row || begins) continue;
    const PlanRef *ref = operand_of(command, accesses, i);
    if (tile_ref_is_seen(f->plan, access, ref))
      check_seen(f, number, access, ref);
    else
      check_read(f, number, access, ref);
  }
  bool has_counted = false;
  for (int32_t i = 0; i < accesses->count; i++) {
    const TileAccess *access = &accesses->accesses[i];
    if (access->kind == TILE_UPDATED) {
      if (!has_counted) content_count_updates(f, number);
      has_counted = true;
      follow_scatter(f, number, access, operand_of(command, accesses, i));
    } else if (access->is_written) {
      do_write(f, number, access, operand_of(command, accesses, i));
    }
  }
}

/* --- the plan --- */

static void follow_command(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  if (command->verb == PLAN_BARRIER) return; /* nothing moves */
  if (command->value >= 0) {
    follow_kernel_load(f, number);
  } else if (command->verb == PLAN_LOAD) {
    follow_load(f, number);
  } else if (command->verb == PLAN_STORE) {
    follow_store(f, number);
  } else {
    follow_computation(f, number);
  }
}

static int64_t work_of(const Follower *f) {
  int64_t work = f->visited + f->buffer.work;
  for (int64_t t = 0; t < f->plan->temporary_count; t++) work += f->temporaries[t].work;
  return work;
}

/* False when it was too much. */
static bool follow_block(Follower *f, const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (work_of(f) > MOST_RUNS) return false;
    if (node->kind == PLAN_NODE_COMMAND) {
      f->last = node->number;
      follow_command(f, node->number);
      continue;
    }
    const PlanLoop *loop = &f->plan->loops[node->number];
    for (int64_t n = 0; n < loop->trip_count; n++) {
      f->iterations[node->number] = n;
      if (!follow_block(f, &loop->body)) return false;
    }
    f->iterations[node->number] = 0;
  }
  return true;
}

/* --- what outlives the plan --- */

static const PlanTensor *holder_of(const Follower *f, int32_t buffer, PlanHold hold) {
  for (int32_t t = 0; t < f->plan->tensor_count; t++) {
    if (f->plan->tensors[t].hold == hold && f->plan->tensors[t].held == buffer) return &f->plan->tensors[t];
  }
  return NULL;
}

static ContentRun held_run(const Follower *f, const PlanTensor *tensor) {
  const KernelBuffer *buffer = &f->kernel->buffers[tensor->held];
  bool is_result = buffer->role == KERNEL_RESULT;
  ContentRun run = {.begin = tensor->begin, .size = type_storage_bytes(buffer->type), .step = 1};
  run.count = held_elements(tensor);
  run.first = (Content){is_result ? CONTENT_RESULT : CONTENT_ELEMENT, tensor->held, 0, 0};
  if (!is_result) run.first.number = f->array_of[tensor->held];
  return run;
}

/* What is updated in the Buffer, after the arrays that it may be are known. */
static void begin_updated(Follower *f) {
  f->is_updated = ARENA_NEW_ARRAY(f->arena, bool, f->kernel->buffer_count);
  f->held = ARENA_NEW_ARRAY(f->arena, StoredArray, f->kernel->buffer_count);
  for (int32_t b = 0; b < f->kernel->buffer_count; b++) {
    bool is_held = holder_of(f, b, PLAN_FINDS) != NULL || holder_of(f, b, PLAN_LEAVES) != NULL;
    if (is_held && f->kernel->buffers[b].role == KERNEL_IN_PLACE) f->is_updated[f->array_of[b]] = true;
  }
}

static void begin_residents(Follower *f) {
  f->array_of = ARENA_NEW_ARRAY(f->arena, int32_t, f->kernel->buffer_count);
  for (int32_t b = 0; b < f->kernel->buffer_count; b++) {
    const PlanTensor *holder = holder_of(f, b, PLAN_FINDS);
    f->array_of[b] = b;
    for (int32_t other = 0; other < b && holder != NULL; other++) {
      const PlanTensor *before = holder_of(f, other, PLAN_FINDS);
      if (before != NULL && before->begin == holder->begin && before->end == holder->end)
        f->array_of[b] = f->array_of[other];
    }
    if (holder == NULL) continue;
    ContentRun run = held_run(f, holder);
    content_map_put(&f->buffer, &run);
  }
}

/* What is to be left is there. */
static void check_left(Follower *f, const PlanTensor *tensor) {
  ContentRun wanted = held_run(f, tensor);
  for (int64_t done = 0; done < wanted.count;) {
    ContentRun found =
        content_map_get(&f->buffer, tensor->begin + done * wanted.size, wanted.size, wanted.count - done);
    ContentRun rest = wanted;
    rest.first.place = done;
    rest.count = wanted.count - done;
    int64_t n = content_same_count(&found, &rest, rest.count);
    if (!content_is_same(&found.first, &rest.first)) {
      f->status = diag_error(f->diag, STATUS_INVALID, tensor->loc, "plan-meaning",
                             "in the plan of '%.*s': '%.*s' is to leave %s, and has %s", SV_ARG(f->plan->name),
                             SV_ARG(tensor->name), content_text(f, &rest.first), content_text(f, &found.first));
      return;
    }
    done += n;
    f->visited++;
  }
}

/* In memory a result has to be that is not left in the Buffer.  What is updated there is, where commands store it. */
static bool is_stored(const Follower *f, int32_t buffer) {
  if (f->is_updated[f->array_of[buffer]]) return f->stored[buffer].count > 0;
  bool is_view = holder_of(f, buffer, PLAN_LEAVES) == NULL;
  for (int32_t m = 0; m < f->plan->memory_count && !is_view; m++)
    is_view = f->plan->memories[m].kind == PLAN_RESULT && f->plan->memories[m].number == buffer;
  return is_view;
}

static void check_stored(Follower *f) {
  for (int32_t t = 0; t < f->plan->tensor_count; t++) {
    if (f->plan->tensors[t].hold == PLAN_LEAVES) check_left(f, &f->plan->tensors[t]);
  }
  for (int32_t b = 0; b < f->kernel->buffer_count; b++) {
    bool is_result = f->kernel->buffers[b].role == KERNEL_RESULT || f->kernel->buffers[b].role == KERNEL_IN_PLACE;
    int64_t wanted = f->kernel->buffers[b].element_count;
    bool is_held = is_result && f->is_updated[f->array_of[b]];
    if (!is_result || (!is_stored(f, b) && !is_held)) continue;
    if (!tile_is_updated(f->kernel, b)) wanted = tile_stored_elements(f->kernel, b);
    bool is_complete = !is_stored(f, b) || f->stored[b].count == wanted;
    if (is_complete && (!is_held || f->held[f->array_of[b]].count == wanted)) continue;
    f->status = diag_error(f->diag, STATUS_INVALID, content_array_loc(f, b), "plan-meaning",
                           "in the plan of '%.*s': %" PRId64 " of the %" PRId64
                           " elements of %s that the kernel makes are stored",
                           SV_ARG(f->plan->name), f->stored[b].count, wanted, content_array_text(f, b));
  }
}

static void allocate(Follower *f) {
  const Plan *plan = f->plan;
  f->iterations = ARENA_NEW_ARRAY(f->arena, int64_t, plan->loop_count);
  f->point = ARENA_NEW_ARRAY(f->arena, int64_t, f->kernel->dim_count);
  place_forms_init(&f->forms, f->arena, plan);
  f->buffer.arena = f->arena;
  f->temporaries = ARENA_NEW_ARRAY(f->arena, ContentMap, plan->temporary_count);
  for (int64_t t = 0; t < plan->temporary_count; t++) f->temporaries[t].arena = f->arena;
  f->stored = ARENA_NEW_ARRAY(f->arena, StoredArray, f->kernel->buffer_count);
  f->accesses = ARENA_NEW_ARRAY(f->arena, TileAccesses, plan->command_count);
  f->has_accesses = ARENA_NEW_ARRAY(f->arena, bool, plan->command_count);
  f->is_told = ARENA_NEW_ARRAY(f->arena, bool, plan->command_count);
  content_begin_updates(f);
  begin_residents(f);
  begin_updated(f);
}

Status plan_content_check(const Plan *plan, DiagSink *diag) {
  Follower f = {.arena = arena_create(), .plan = plan, .kernel = plan->kernel, .diag = diag};
  allocate(&f);
  if (follow_block(&f, &plan->block)) {
    if (f.status == STATUS_OK) check_stored(&f);
  } else if (f.status == STATUS_OK) {
    f.status = diag_error(diag, STATUS_UNSUPPORTED, plan->commands[f.last].loc, "unsupported-plan-long",
                          "the plan of '%.*s' moves its elements in more than %" PRId64
                          " runs: that its commands compute the kernel cannot be shown",
                          SV_ARG(plan->name), MOST_RUNS);
  }
  arena_destroy(f.arena);
  return f.status;
}
