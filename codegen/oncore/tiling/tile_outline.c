#include <string.h>

#include "base/checked_math.h"
#include "codegen/oncore/plan/tile_cost.h"
#include "codegen/oncore/plan/tile_parts.h"
#include "codegen/oncore/tiling/tiling.h"
#include "hlo/machine/description/machine_cost.h"
#include "hlo/machine/stream/queue_simulation.h"

/* A tiling's outline before any command is made: the loops over tiles, the Tensors in the Buffer with their rings,
 * and what is loaded, computed and stored in which loop.  Cheap, so that the tiler can weigh many of them. */

/* Executions of what stands in |loop|. */
static int64_t tile_outline_instances(const TileOutline *outline, int32_t loop) {
  int64_t instances = 1;
  for (; loop >= 0; loop = outline->loops.data[loop].parent) instances *= outline->loops.data[loop].trip_count;
  return instances;
}

/* --- loops --- */

static bool is_tiled(const TileOutline *outline, int32_t dim) {
  return outline->tiling->extents[dim] < outline->kernel->dims[dim].extent;
}

static int32_t add_loop(TileOutline *outline, int32_t dim, int32_t parent) {
  int64_t extent = outline->tiling->extents[dim], whole = outline->kernel->dims[dim].extent;
  int32_t loop = (int32_t)outline->loops.count;
  TileLoop made = {dim, parent, (whole + extent - 1) / extent};
  array_push(&outline->loops, outline->arena, made);
  IndexExpr iteration = index_dim(&outline->space, loop, made.trip_count);
  outline->points[dim].begin = index_scale(&outline->space, iteration, extent);
  outline->points[dim].is_ragged = whole % extent != 0;
  outline->points[dim].left =
      index_add_constant(&outline->space, index_scale(&outline->space, iteration, -extent), whole);
  return loop;
}

/* Around all others. */
static int32_t add_slices(TileOutline *outline) {
  const Kernel *kernel = outline->kernel;
  int64_t whole = 0, extent = outline->tiling->slice;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (tile_is_updated(kernel, b)) whole = kernel->buffers[b].element_count;
  }
  TileLoop made = {-1, -1, (whole + extent - 1) / extent};
  array_push(&outline->loops, outline->arena, made);
  IndexExpr iteration = index_dim(&outline->space, 0, made.trip_count);
  PlanRange *slice = &outline->slice;
  *slice = (PlanRange){.begin = index_scale(&outline->space, iteration, extent), .extent = extent};
  slice->is_ragged = whole % extent != 0;
  slice->left = index_add_constant(&outline->space, index_scale(&outline->space, iteration, -extent), whole);
  return 0;
}

/* The innermost of the loops that walk |dims| in tiles, -1 for none. */
static int32_t loop_of_dims(const TileOutline *outline, const int32_t *dims, int32_t count) {
  int32_t deepest = -1;
  for (int32_t l = 0; l < outline->loops.count; l++) {
    for (int32_t i = 0; i < count; i++) {
      if (outline->loops.data[l].dim == dims[i]) deepest = l;
    }
  }
  return deepest;
}

/* --- Tensors --- */

/* Iterations whose tiles are there at once in a tiling of |depth|; 1 where nothing repeats. */
static int32_t depth_at(const TileTensor *tensor, int32_t depth) {
  if (tensor->kind != PLAN_RING) return 1;
  return depth > tensor->least ? depth : tensor->least;
}

static int32_t slots_at(const TileOutline *outline, const TileTensor *tensor, int32_t depth) {
  const TileSlide *slide = &outline->tiling->slide;
  if (tensor->rows > 0) return (int32_t)((tensor->rows + slide->step * (depth - 1)) / slide->rows);
  return depth_at(tensor, depth);
}

static void set_slots(const TileOutline *outline, TileTensor *tensor) {
  tensor->slots = slots_at(outline, tensor, outline->tiling->depth);
  tensor->depth = depth_at(tensor, outline->tiling->depth);
}

static int32_t add_tensor(TileOutline *outline, TileTensor tensor) {
  int64_t elements = 1;
  for (int32_t i = 0; i < tensor.axis_count; i++) elements *= tensor.extents[i];
  tensor.slot_bytes = align_up(elements * type_storage_bytes(tensor.type), max_i64(outline->machine->buffer.align, 1));
  set_slots(outline, &tensor);
  array_push(&outline->tensors, outline->arena, tensor);
  return (int32_t)outline->tensors.count - 1;
}

static bool is_sliding_tap(const TileOutline *outline, int32_t dim) {
  return outline->tiling->slide.is_on && dim == outline->tiling->slide.tap;
}

/* Inner dims of windows are there as a whole, but for the one along which they slide, and positions that are cut. */
static bool is_whole_tap(const TileOutline *outline, const TileWindows *windows, int32_t axis) {
  if (is_sliding_tap(outline, windows->axes[axis])) return false;
  if (outline->tiling->cuts_positions && tile_axis_is_position(outline->kernel, windows, axis)) return false;
  return outline->kernel->dims[windows->axes[axis]].stage != KERNEL_OUTER && tile_axis_is_windowed(windows, axis);
}

void tile_window_points(const TileOutline *outline, const TileWindows *windows, const TileStep *fills,
                        PlanRange *out_points) {
  const TileSlide *slide = &outline->tiling->slide;
  for (int32_t i = 0; i < windows->axis_count; i++) {
    int32_t dim = windows->axes[i];
    out_points[dim] =
        is_whole_tap(outline, windows, i) ? plan_range_whole(outline->kernel->dims[dim].extent) : outline->points[dim];
  }
  if (!slide->is_on || fills == NULL) return;
  out_points[slide->tap] = plan_range_index(index_constant(fills->tap));
  out_points[slide->tap].extent = fills->taps;
  if (fills->is_first) out_points[slide->position] = plan_range_index(index_constant(0));
}

/* Rows of the first slot before the first tap. */
static int64_t rows_before(const TileOutline *outline) {
  const TileSlide *slide = &outline->tiling->slide;
  int64_t taps = outline->kernel->dims[slide->tap].extent;
  return (slide->rows - taps % slide->rows) % slide->rows;
}

/* Rows from the beginning of the first slot that the position at hand sees, without those of earlier positions. */
static IndexExpr slide_row(const TileOutline *outline, IndexSpace *space, const TileStep *fills) {
  const TileSlide *slide = &outline->tiling->slide;
  int64_t before = rows_before(outline);
  if (fills != NULL) return index_constant(fills->tap + before);
  return index_add_constant(space, outline->points[slide->tap].begin, before);
}

IndexExpr tile_slide_slot(const TileOutline *outline, IndexSpace *space, const TileStep *fills, int32_t slots) {
  const TileSlide *slide = &outline->tiling->slide;
  IndexExpr slot = index_div(space, slide_row(outline, space, fills), slide->rows);
  if (fills == NULL || !fills->is_first) {
    IndexExpr position = outline->points[slide->position].begin;
    slot = index_add(space, slot, index_scale(space, position, slide->step / slide->rows));
  }
  return index_mod(space, slot, slots);
}

IndexExpr tile_slide_row(const TileOutline *outline, IndexSpace *space, const TileStep *fills) {
  return index_mod(space, slide_row(outline, space, fills), outline->tiling->slide.rows);
}

bool tile_slide_has_rows(const TileOutline *outline, const TileWindows *windows, int32_t axis) {
  const TileSlide *slide = &outline->tiling->slide;
  for (int32_t i = 0; i < windows->axis_count && slide->is_on && windows->along[axis] == axis; i++) {
    if (windows->along[i] == axis && windows->axes[i] == slide->position) return true;
  }
  return false;
}

/* Elements of a tile along |axis|. */
static int64_t held_extent(const TileOutline *outline, const TileAccess *access, const TileWindows *windows,
                           int32_t axis) {
  int32_t dim = access->axes[axis];
  bool has_all_taps = windows == NULL && access->kind == TILE_LOAD && is_sliding_tap(outline, dim);
  if (has_all_taps) return outline->kernel->dims[dim].extent;
  if (windows == NULL) return outline->tiling->extents[dim];
  if (tile_slide_has_rows(outline, windows, axis)) return outline->tiling->slide.rows;
  PlanRange points[KERNEL_MAX_DIMS];
  int64_t extents[KERNEL_MAX_DIMS];
  tile_window_points(outline, windows, NULL, points);
  for (int32_t i = 0; i < windows->axis_count; i++) extents[windows->axes[i]] = points[windows->axes[i]].extent;
  return tile_window_extent(windows, axis, extents);
}

/* Whether the tiles of |number| of |cover| are parts of an array that the Buffer has. */
static bool is_held(const TileOutline *outline, const TileOutlineCover *cover, int32_t number) {
  const TileAccess *access = &cover->accesses.accesses[number];
  bool is_part = access->kind == TILE_LOAD || access->kind == TILE_STORE;
  return is_part && !cover->facts->is_gather[number] && tile_facts_are_held(outline->facts, access->buffer);
}

/* A ring of tiles that are filled in |loop|; one slot where nothing repeats. */
static int32_t add_ring(TileOutline *outline, const TileAccess *access, const TileWindows *windows, int32_t loop) {
  TileTensor tensor = {.type = access->type};
  tensor.axis_count = tile_access_rank(access);
  for (int32_t i = 0; i < access->axis_count; i++) tensor.extents[i] = held_extent(outline, access, windows, i);
  if (access->parts > 1) tensor.extents[access->axis_count] = access->parts;
  tensor.loop = loop;
  tensor.buffer = access->buffer;
  tensor.fold = -1;
  tensor.kind = tile_outline_instances(outline, loop) > 1 ? PLAN_RING : PLAN_RESIDENT;
  return add_tensor(outline, tensor);
}

/* The innermost of the loops around everything, -1 for none. */
static int32_t innermost_outer(const TileOutline *outline) {
  return outline->tiling->outer_count - 1 + (outline->tiling->slice > 0);
}

/* The row buffer's, for all covers that read or write |access|. */
static int32_t row_tensor(TileOutline *outline, const TileAccess *access) {
  for (int32_t t = 0; t < outline->tensors.count; t++) {
    const TileTensor *tensor = &outline->tensors.data[t];
    if (tensor->kind == PLAN_SCRATCH && tensor->buffer == access->buffer) return t;
  }
  TileTensor tensor = {.kind = PLAN_SCRATCH, .type = access->type, .axis_count = access->axis_count};
  tensor.loop = tensor.fold = -1;
  tensor.buffer = access->buffer;
  for (int32_t i = 0; i < access->axis_count; i++) {
    const KernelDim *dim = &outline->kernel->dims[access->axes[i]];
    bool whole = outline->tiling->splits_stages && dim->stage != KERNEL_OUTER;
    tensor.extents[i] = whole ? dim->extent : outline->tiling->extents[access->axes[i]];
  }
  return add_tensor(outline, tensor);
}

/* Whether what |fold| leaves is stored as it is. */
static bool fold_is_result(const Kernel *kernel, int32_t fold) {
  bool is_stored = false;
  for (int32_t s = 0; s < kernel->stage_count; s++) is_stored = is_stored || tile_stored_fold(kernel, s) == fold;
  return is_stored;
}

/* What leaves from the fold's |tensor| is a ring, so that the next tile is summed up while the one before goes out. */
static void store_from_fold(const TileOutline *outline, TileTensor *tensor) {
  int32_t outer = innermost_outer(outline);
  if (tile_outline_instances(outline, outer) == 1) return;
  tensor->kind = PLAN_RING;
  tensor->loop = outer;
  set_slots(outline, tensor);
}

/* The fold's, for all covers that fold into or read |access|. */
static int32_t fold_tensor(TileOutline *outline, const TileAccess *access) {
  for (int32_t t = 0; t < outline->tensors.count; t++) {
    if (outline->tensors.data[t].fold == access->fold) return t;
  }
  TileTensor tensor = {.kind = PLAN_ACCUMULATOR, .type = access->type, .axis_count = access->axis_count};
  tensor.loop = tensor.buffer = -1;
  tensor.fold = access->fold;
  for (int32_t i = 0; i < access->axis_count; i++) tensor.extents[i] = outline->tiling->extents[access->axes[i]];
  if (fold_is_result(outline->kernel, access->fold)) store_from_fold(outline, &tensor);
  return add_tensor(outline, tensor);
}

/* --- covers and steps --- */

static void add_step(TileOutline *outline, TileStepKind kind, int32_t cover, int32_t access, int32_t loop,
                     int32_t index_cover) {
  TileStep step = {.kind = kind, .cover = cover, .access = access, .loop = loop, .index_cover = index_cover};
  array_push(&outline->steps, outline->arena, step);
}

static int32_t add_cover(TileOutline *outline, const TileCover *cover, int32_t loop, int32_t init_loop);

/* The tile of indices of a gather: computed where its dims are walked. */
static int32_t add_index_cover(TileOutline *outline, const TileCover *of, int32_t value) {
  int32_t axes[KERNEL_MAX_DIMS], count = tile_index_axes(outline->kernel, value, axes);
  PlanRange *points = ARENA_NEW_ARRAY(outline->arena, PlanRange, outline->kernel->dim_count);
  for (int32_t i = 0; i < count; i++) points[axes[i]] = of->points[axes[i]];
  TileCover cover = {points, of->first_stage, of->last_stage, false, value};
  return add_cover(outline, &cover, loop_of_dims(outline, axes, count), -1);
}

/* The tiles that the first position sees and later ones keep come before the loop over positions, the others in it. */
static void add_sliding_loads(TileOutline *outline, int32_t cover, int32_t number, int32_t loop) {
  const TileSlide *slide = &outline->tiling->slide;
  int64_t taps = outline->kernel->dims[slide->tap].extent, before = rows_before(outline);
  TileTensor *tensor = &outline->tensors.data[outline->covers.data[cover].tensors[number]];
  tensor->rows = taps + before;
  tensor->slots = slots_at(outline, tensor, outline->tiling->depth);
  for (int64_t tap = 0, next; tap < taps; tap = next) {
    bool is_first = tap < taps - slide->step;
    add_step(outline, STEP_LOAD, cover, number, is_first ? outline->loops.data[loop].parent : loop, -1);
    next = tap + slide->rows - (tap + before) % slide->rows; /* the next slot's first */
    array_last(&outline->steps).tap = tap;
    array_last(&outline->steps).taps = next - tap;
    array_last(&outline->steps).is_first = is_first;
  }
}

static void add_load(TileOutline *outline, int32_t cover, int32_t number) {
  TileOutlineCover *of = &outline->covers.data[cover];
  const TileAccess *access = &of->accesses.accesses[number];
  const TileWindows *windows = of->windows[number];
  int32_t dims[KERNEL_MAX_DIMS], count = 0, index_cover = -1;
  for (int32_t i = 0; i < access->axis_count; i++) {
    int32_t dim = access->axes[i];
    bool is_whole = is_sliding_tap(outline, dim) || (windows != NULL && is_whole_tap(outline, windows, i));
    if (!is_whole) dims[count++] = dim;
  }
  int32_t loop = loop_of_dims(outline, dims, count);
  if (of->facts->is_gather[number]) {
    TileCover copy = of->cover;
    index_cover = add_index_cover(outline, &copy, access->value);
    of = &outline->covers.data[cover]; /* the array may have moved */
  }
  of->tensors[number] = add_ring(outline, access, windows, loop);
  outline->tensors.data[of->tensors[number]].is_held = is_held(outline, of, number);
  if (windows != NULL && outline->tiling->slide.is_on) {
    add_sliding_loads(outline, cover, number, loop);
    return;
  }
  add_step(outline, STEP_LOAD, cover, number, loop, index_cover);
}

static void add_scratch(TileOutline *outline, int32_t cover, int32_t number, bool reads) {
  TileOutlineCover *of = &outline->covers.data[cover];
  const TileAccess *access = &of->accesses.accesses[number];
  if (outline->tiling->splits_stages && outline->tiling->spills_rows) {
    of->tensors[number] = add_ring(outline, access, NULL, of->loop);
    if (reads) add_step(outline, STEP_RELOAD, cover, number, of->loop, -1);
    return;
  }
  of->tensors[number] = row_tensor(outline, access);
}

/* Where updated buffers are loaded and stored: around all updates. */
static int32_t slice_loop(const TileOutline *outline) {
  return outline->tiling->slice > 0 ? 0 : -1;
}

/* The whole buffer, or a slice, loaded before everything else and stored after it. */
static void add_updated(TileOutline *outline, int32_t cover, int32_t number) {
  TileOutlineCover *of = &outline->covers.data[cover];
  const TileAccess *access = &of->accesses.accesses[number];
  TileTensor tensor = {.kind = PLAN_ACCUMULATOR, .type = access->type, .axis_count = 1, .loop = -1};
  tensor.extents[0] = outline->kernel->buffers[access->buffer].element_count;
  if (outline->tiling->slice > 0) { /* a slice comes and goes while another is updated */
    tensor.kind = PLAN_RING;
    tensor.least = 2;
    tensor.extents[0] = outline->tiling->slice;
    tensor.loop = slice_loop(outline);
  }
  tensor.buffer = access->buffer;
  tensor.fold = -1;
  of->tensors[number] = add_tensor(outline, tensor);
  add_step(outline, STEP_LOAD, cover, number, slice_loop(outline), -1);
}

/* Whether a result of |cover| already takes Tensor |tensor|. */
static bool is_taken(const TileOutlineCover *cover, int32_t before, int32_t tensor) {
  for (int32_t i = 0; i < before; i++) {
    if (cover->accesses.accesses[i].kind == TILE_STORE && cover->tensors[i] == tensor) return true;
  }
  return false;
}

/* The Tensor of what a fold has left that result |number| of |of| takes the place of, -1: there is none. */
static int32_t taken_fold(TileOutline *outline, const TileOutlineCover *of, int32_t number) {
  bool is_meant = outline->tiling->over_folds && of->loop == innermost_outer(outline);
  for (int32_t i = 0; i < number && is_meant; i++) {
    const TileAccess *source = &of->accesses.accesses[i];
    if (source->kind != TILE_ACCUMULATOR || source->is_written || is_taken(of, number, of->tensors[i])) continue;
    if (!tile_facts_in_place(outline->facts, of->facts, &of->cover, i, number)) continue;
    store_from_fold(outline, &outline->tensors.data[of->tensors[i]]);
    return of->tensors[i];
  }
  return -1;
}

/* A ring of its own, the Tensor of a fold, or, in place, of an operand whose tiles come as often and end with this. */
static void add_store(TileOutline *outline, int32_t cover, int32_t number) {
  TileOutlineCover *of = &outline->covers.data[cover];
  const TileAccess *access = &of->accesses.accesses[number];
  if (of->leaves_fold) {
    int32_t i = 0, fold = of->facts->stored_fold;
    while (of->accesses.accesses[i].fold != fold) i++;
    of->tensors[number] = of->tensors[i];
    return;
  }
  for (int32_t i = 0; i < number && outline->tiling->in_place; i++) {
    const TileAccess *source = &of->accesses.accesses[i];
    if (source->kind != TILE_LOAD || of->windows[i] != NULL || is_taken(of, number, of->tensors[i])) continue;
    if (source->type != access->type || outline->tensors.data[of->tensors[i]].loop != of->loop) continue;
    if (of->facts->is_gather[i]) continue;
    if (!tile_facts_in_place(outline->facts, of->facts, &of->cover, i, number)) continue;
    of->tensors[number] = of->tensors[i];
    outline->tensors.data[of->tensors[i]].is_held = false; /* it is a copy of one array before, of the other after */
    return;
  }
  int32_t fold = taken_fold(outline, of, number);
  of->tensors[number] = fold >= 0 ? fold : add_ring(outline, access, NULL, of->loop);
  outline->tensors.data[of->tensors[number]].is_held = is_held(outline, of, number);
}

static void add_operands(TileOutline *outline, int32_t cover) {
  for (int32_t i = 0; i < outline->covers.data[cover].accesses.count; i++) {
    TileOutlineCover *of = &outline->covers.data[cover];
    const TileAccess *access = &of->accesses.accesses[i];
    switch (access->kind) {
      case TILE_LOAD: add_load(outline, cover, i); break;
      case TILE_SCRATCH: add_scratch(outline, cover, i, !access->is_written); break;
      case TILE_ACCUMULATOR: of->tensors[i] = fold_tensor(outline, access); break;
      case TILE_UPDATED: add_updated(outline, cover, i); break;
      case TILE_STORE: add_store(outline, cover, i); break;
      case TILE_INDEX: of->tensors[i] = add_ring(outline, access, NULL, of->loop); break;
    }
  }
}

/* Windows that end are held as a whole, or not. */
static bool may_hold(const TileOutline *outline, const TileWindows *windows) {
  uint64_t dims;
  if (windows == NULL || !tile_windows_end(windows, &dims)) return true;
  for (int32_t d = 0; d < outline->kernel->dim_count; d++) {
    bool is_cut = outline->tiling->extents[d] < outline->kernel->dims[d].extent;
    if ((dims >> d & 1) != 0 && is_cut) return false;
  }
  return !outline->tiling->slide.is_on;
}

/* By access of a cover with |facts|: the windows that its tile is to hold once, NULL for none. */
static const TileWindows **held_windows(const TileOutline *outline, const CoverFacts *facts) {
  if (!outline->tiling->holds_windows) return facts->none;
  const TileWindows **held = facts->windows;
  for (int32_t i = 0; i < facts->accesses.count; i++) {
    if (may_hold(outline, facts->windows[i])) continue;
    if (held == facts->windows)
      held = ARENA_COPY_ARRAY(outline->arena, const TileWindows *, facts->windows, facts->accesses.count);
    held[i] = NULL;
  }
  return held;
}

static int32_t add_cover(TileOutline *outline, const TileCover *cover, int32_t loop, int32_t init_loop) {
  TileOutlineCover made = {.cover = *cover, .init_loop = init_loop, .loop = loop};
  made.facts = tile_facts_of_cover(outline->facts, cover);
  made.leaves_fold = outline->tiling->splits_stages && cover->index_value < 0 && made.facts->stored_fold >= 0;
  made.accesses = made.facts->accesses;
  made.tensors = ARENA_NEW_ARRAY(outline->arena, int32_t, made.accesses.count);
  made.windows = held_windows(outline, made.facts);
  int32_t number = (int32_t)outline->covers.count;
  array_push(&outline->covers, outline->arena, made);
  add_operands(outline, number);
  if (!made.leaves_fold) add_step(outline, STEP_COMPUTE, number, -1, loop, -1);
  for (int32_t i = 0; i < made.accesses.count; i++) {
    const TileAccess *access = &made.accesses.accesses[i];
    bool spills = access->kind == TILE_SCRATCH && access->is_written && outline->tiling->splits_stages &&
                  outline->tiling->spills_rows;
    if (access->kind == TILE_STORE) add_step(outline, STEP_STORE, number, i, loop, -1);
    if (access->kind == TILE_UPDATED) add_step(outline, STEP_STORE, number, i, slice_loop(outline), -1);
    if (spills) add_step(outline, STEP_SPILL, number, i, loop, -1);
  }
  return number;
}

static bool stage_folds(const Kernel *kernel, int32_t stage) {
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage == stage) return true;
  }
  return false;
}

/* Ranges of the dims that stages |first| to |last| walk. */
static const PlanRange *cover_points(const TileOutline *outline, int32_t first, int32_t last) {
  const Kernel *kernel = outline->kernel;
  PlanRange *points = ARENA_NEW_ARRAY(outline->arena, PlanRange, kernel->dim_count);
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    int32_t stage = kernel->dims[d].stage;
    if (stage == KERNEL_OUTER || (stage >= first && stage <= last)) points[d] = outline->points[d];
  }
  return points;
}

/* Whether the folds of |stage| may see its points in any order. */
static bool stage_is_free(const Kernel *kernel, int32_t stage) {
  bool is_free = true;
  for (int32_t f = 0; f < kernel->fold_count; f++)
    is_free = is_free && (kernel->folds[f].stage != stage || kernel->folds[f].reassociable);
  return is_free;
}

/* Loops over the dims of |stage|.  Those over taps are inside the others: what holds windows is loaded around them. */
static void add_stage(TileOutline *outline, int32_t stage, int32_t outer_loop) {
  const Kernel *kernel = outline->kernel;
  int32_t loop = outer_loop, init_loop = -1;
  uint64_t last = stage_is_free(kernel, stage) ? outline->window_dims : 0;
  for (int32_t i = 0; i < 2 * kernel->dim_count; i++) {
    int32_t d = i % kernel->dim_count;
    bool is_last = (last >> d & 1) != 0, is_turn = is_last == (i >= kernel->dim_count);
    if (kernel->dims[d].stage != stage || !is_tiled(outline, d) || !is_turn) continue;
    loop = add_loop(outline, d, loop);
    if (init_loop < 0) init_loop = loop;
  }
  TileCover cover = {cover_points(outline, stage, stage), stage, stage, stage_folds(kernel, stage), -1};
  add_cover(outline, &cover, loop, init_loop);
}

/* --- program order --- */

/* |step| makes a tile ready for a computation of stages: it loads one, or computes the indices of a gather. */
static bool prepares(const TileOutline *outline, const TileStep *step) {
  return tile_step_loads(step->kind) ||
         (step->kind == STEP_COMPUTE && outline->covers.data[step->cover].cover.index_value >= 0);
}

/* What stands in an outer loop that is not the innermost one comes before the loops inside it; in the innermost one and
 * deeper, stages follow stages, each with what prepares its tiles from outside in: a loop must not be left and entered
 * again.  Indices have the stages of what they are for, and their loop is never inside of the gather's. */
static bool step_before(const TileOutline *outline, const TileStep *a, const TileStep *b) {
  if (a->kind == STEP_STORE) return false;
  int32_t innermost = innermost_outer(outline);
  bool a_outside = a->loop < innermost, b_outside = b->loop < innermost;
  if (a_outside != b_outside) return a_outside;
  if (a_outside) return a->loop < b->loop;
  const TileCover *of_a = &outline->covers.data[a->cover].cover, *of_b = &outline->covers.data[b->cover].cover;
  return of_a->first_stage == of_b->first_stage && prepares(outline, a) && prepares(outline, b) && a->loop < b->loop;
}

static void sort_steps(TileOutline *outline) {
  TileStep *steps = outline->steps.data;
  for (int64_t i = 1; i < outline->steps.count; i++) {
    TileStep step = steps[i];
    int64_t at = i;
    for (; at > 0 && step_before(outline, &step, &steps[at - 1]); at--) steps[at] = steps[at - 1];
    steps[at] = step;
  }
}

void tile_outline_make(Arena *arena, const Kernel *kernel, const MachineDescription *machine, const Tiling *tiling,
                       TileOutline *out_outline) {
  tile_outline_make_of(arena, tile_facts_create(arena, kernel, machine), tiling, out_outline);
}

void tile_outline_make_of(Arena *arena, TileFacts *facts, const Tiling *tiling, TileOutline *out_outline) {
  const Kernel *kernel = tile_facts_kernel(facts);
  *out_outline = (TileOutline){.arena = arena, .facts = facts, .kernel = kernel, .tiling = tiling};
  out_outline->machine = tile_facts_machine(facts);
  index_space_init(&out_outline->space, arena);
  if (tiling->holds_windows) out_outline->window_dims = tile_facts_window_dims(facts);
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    out_outline->points[d] = plan_range_whole(tiling->extents[d]);
  }
  int32_t loop = tiling->slice > 0 ? add_slices(out_outline) : -1;
  for (int32_t i = 0; i < tiling->outer_count; i++) loop = add_loop(out_outline, tiling->outer[i], loop);
  if (!tiling->splits_stages) {
    TileCover cover = {cover_points(out_outline, 0, kernel->stage_count - 1), 0, kernel->stage_count - 1, false, -1};
    add_cover(out_outline, &cover, loop, -1);
  }
  for (int32_t s = 0; s < kernel->stage_count && tiling->splits_stages; s++) add_stage(out_outline, s, loop);
  sort_steps(out_outline);
}

/* --- cost --- */

typedef struct CostSums {
  double load, exec, store; /* busy cycles of the queues */
  double *steps;            /* of each step, in all its instances */
  double idle;              /* memory's share that no queue takes while a transfer is being set up or changes rows */
  double first_load, last_store;
  double loaded, stored; /* bytes */
} CostSums;

bool tile_step_loads(TileStepKind kind) {
  return kind == STEP_LOAD || kind == STEP_RELOAD;
}

int32_t tile_step_queue(const MachineDescription *machine, TileStepKind kind) {
  for (int32_t q = 0; q < machine->queue_count; q++) {
    const MachineQueue *queue = &machine->queues[q];
    bool fits = kind == STEP_COMPUTE    ? queue->kind == QUEUE_EXEC
                : tile_step_loads(kind) ? machine_queue_loads(queue)
                                        : machine_queue_stores(queue);
    if (fits) return q;
  }
  XLAC_BUG("a machine without a queue for its work");
}

static const MachineQueue *queue_for(const MachineDescription *machine, TileStepKind kind) {
  return &machine->queues[tile_step_queue(machine, kind)];
}

static bool walks(const TileOutline *outline, const TileStep *step, int32_t dim) {
  const TileOutlineCover *cover = &outline->covers.data[step->cover];
  if (step->kind == STEP_COMPUTE) return cover->cover.points[dim].extent > 0;
  const TileAccess *access = &cover->accesses.accesses[step->access];
  for (int32_t i = 0; i < access->axis_count; i++) {
    if (access->axes[i] == dim) return true;
  }
  return false;
}

/* The last tiles are smaller: what |step| covers in all its instances, of what full tiles would come to. */
static double covered_share(const TileOutline *outline, const TileStep *step) {
  double share = 1;
  for (int32_t l = step->loop; l >= 0; l = outline->loops.data[l].parent) {
    const TileLoop *loop = &outline->loops.data[l];
    if (loop->dim < 0 || !walks(outline, step, loop->dim)) continue;
    double tiled = (double)loop->trip_count * (double)outline->tiling->extents[loop->dim];
    share *= (double)outline->kernel->dims[loop->dim].extent / tiled;
  }
  return share;
}

static void add_transfer(const TileOutline *outline, const TileStep *step, CostSums *sums, double *out_cycles) {
  const TileOutlineCover *cover = &outline->covers.data[step->cover];
  const TileAccess *access = &cover->accesses.accesses[step->access];
  const TileTensor *tensor = &outline->tensors.data[cover->tensors[step->access]];
  int64_t strides[KERNEL_MAX_DIMS], extents[KERNEL_MAX_DIMS], elements = 1;
  *out_cycles = 0;
  if (is_held(outline, cover, step->access)) return;
  memcpy(strides, cover->facts->strides[step->access], sizeof strides);
  bool is_dense = step->kind == STEP_RELOAD || step->kind == STEP_SPILL || access->kind == TILE_UPDATED;
  int32_t axis_count = tensor->axis_count;
  for (int32_t i = axis_count - 1; i >= 0; i--) {
    extents[i] = tensor->extents[i];
    if (is_dense) strides[i] = elements;
    elements *= extents[i];
  }
  const MachineQueue *queue = queue_for(outline->machine, step->kind);
  int64_t bytes = elements * type_storage_bytes(access->type), instances = tile_outline_instances(outline, step->loop);
  double full = (double)instances * covered_share(outline, step); /* tiles that are as much */
  bool is_gather = step->index_cover >= 0;                        /* one list of rows */
  int64_t descriptors = is_gather ? 1 : tile_transfer_descriptors(extents, strides, axis_count, queue->dims);
  double each = machine_transfer_cycles(queue, bytes, tile_transfer_rows(extents, strides, axis_count), descriptors);
  bool loads = tile_step_loads(step->kind);
  *out_cycles = (each - (double)queue->setup) * full + (double)queue->setup * (double)instances;
  *(loads ? &sums->load : &sums->store) += *out_cycles;
  double cap = outline->machine->memory_bytes_per_cycle;
  double others = queue_for(outline->machine, loads ? STEP_STORE : STEP_LOAD)->bytes_per_cycle;
  if (cap > others) {
    sums->idle += (*out_cycles - (double)bytes / queue->bytes_per_cycle * full) * (1 - others / cap);
  }
  if (loads && sums->first_load == 0) sums->first_load = each;
  if (!loads) sums->last_store = each;
  *(loads ? &sums->loaded : &sums->stored) += (double)bytes * full;
}

/* Of one instance of |step|, all of them together divided by how many they are: folds start in the first iterations of
 * their stage's loops alone. */
static Status computation_cycles(const TileOutline *outline, const TileStep *step, const int64_t *extents,
                                 DiagSink *diag, double *out_cycles) {
  const TileOutlineCover *cover = &outline->covers.data[step->cover];
  double cycles[2], rounds = 1;
  const TileWork *work;
  RETURN_IF_ERROR(tile_facts_work(outline->facts, cover->facts, &cover->cover, diag, &work));
  for (int begins = 0; begins < 2; begins++) cycles[begins] = tile_work_cycles(work, extents, begins == 1);
  for (int32_t l = cover->init_loop < 0 ? -1 : step->loop; l >= 0; l = outline->loops.data[l].parent) {
    rounds *= (double)outline->loops.data[l].trip_count;
    if (l == cover->init_loop) break;
  }
  *out_cycles = cycles[0] + (cycles[1] - cycles[0]) / rounds;
  return STATUS_OK;
}

static Status add_computation(const TileOutline *outline, const TileStep *step, DiagSink *diag, CostSums *sums,
                              double *out_cycles) {
  const TileOutlineCover *cover = &outline->covers.data[step->cover];
  double cycles = 0;
  if (cover->cover.index_value >= 0) {
    const TileTensor *tensor = &outline->tensors.data[cover->tensors[cover->accesses.count - 1]];
    cycles = 2.0 * (double)machine_vector_count(outline->machine, tensor->slot_bytes / 8, TYPE_S64);
  } else {
    int64_t extents[KERNEL_MAX_DIMS];
    for (int32_t d = 0; d < outline->kernel->dim_count; d++) extents[d] = cover->cover.points[d].extent;
    RETURN_IF_ERROR(computation_cycles(outline, step, extents, diag, &cycles));
  }
  double setup = (double)queue_for(outline->machine, STEP_COMPUTE)->setup;
  *out_cycles = (cycles * covered_share(outline, step) + setup) * (double)tile_outline_instances(outline, step->loop);
  sums->exec += *out_cycles;
  return STATUS_OK;
}

/* Whether |step| reads or writes Tensor |tensor|. */
static bool step_touches(const TileOutline *outline, const TileStep *step, int32_t tensor) {
  const TileOutlineCover *cover = &outline->covers.data[step->cover];
  if (step->kind != STEP_COMPUTE) {
    if (cover->tensors[step->access] == tensor) return true;
    if (step->index_cover < 0) return false;
    const TileOutlineCover *indices = &outline->covers.data[step->index_cover];
    return indices->tensors[indices->accesses.count - 1] == tensor;
  }
  for (int32_t i = 0; i < cover->accesses.count; i++) {
    if (cover->tensors[i] == tensor) return true;
  }
  return false;
}

/* Cycles in which slots of |ring| are taken, one at a time: by those that touch it, and by the transfers that its
 * computation has to wait for as well, or that go out after it; |crowding|: how much longer transfers take that meet
 * others.  |out_cover|: the only cover that computes with it, -1 when there are several. */
static double ring_life(const TileOutline *outline, const CostSums *sums, double crowding, int32_t ring,
                        int32_t *out_cover) {
  double life = 0, transfers = 0;
  bool is_alive = false, has_computed = false;
  *out_cover = -1;
  for (int64_t s = 0; s < outline->steps.count; s++) {
    const TileStep *step = &outline->steps.data[s];
    bool moves = step->kind != STEP_COMPUTE;
    double cycles = sums->steps[s] * (moves ? crowding : 1);
    if (!step_touches(outline, step, ring)) {
      if (is_alive && moves) transfers += cycles;
      continue;
    }
    life += cycles;
    if (!has_computed || moves) life += transfers;
    if (!moves) *out_cover = has_computed && *out_cover != step->cover ? -1 : step->cover;
    transfers = 0;
    is_alive = true;
    has_computed = has_computed || !moves;
  }
  return life;
}

/* How long slots of a ring are taken (ring_life), whatever their number, and for which cover. */
typedef struct RingLife {
  double cycles;
  int32_t cover;
} RingLife;

/* Of all rings, by Tensor. */
static const RingLife *ring_lives(const TileOutline *outline, const CostSums *sums, double crowding) {
  RingLife *lives = ARENA_NEW_ARRAY(outline->arena, RingLife, outline->tensors.count);
  for (int32_t t = 0; t < outline->tensors.count; t++)
    if (outline->tensors.data[t].kind == PLAN_RING)
      lives[t].cycles = ring_life(outline, sums, crowding, t, &lives[t].cover);
  return lives;
}

/* What the rings' slots, in a tiling of |depth|, let everything take: one cover computes after the other, each as fast
 * as it gets its tiles.  |covers|: room for one number each. */
static double pipeline_cycles(const TileOutline *outline, const CostSums *sums, const RingLife *lives, int32_t depth,
                              double *covers) {
  double longest = 0, sum = 0;
  for (int64_t c = 0; c < outline->covers.count; c++) covers[c] = 0;
  for (int64_t s = 0; s < outline->steps.count; s++) {
    const TileStep *step = &outline->steps.data[s];
    if (step->kind == STEP_COMPUTE) covers[step->cover] += sums->steps[s];
  }
  for (int32_t t = 0; t < outline->tensors.count; t++) {
    if (outline->tensors.data[t].kind != PLAN_RING) continue;
    int32_t cover = lives[t].cover;
    double share = lives[t].cycles / depth_at(&outline->tensors.data[t], depth);
    double *least = cover >= 0 ? &covers[cover] : &longest;
    if (share > *least) *least = share;
  }
  for (int64_t c = 0; c < outline->covers.count; c++) sum += covers[c];
  return sum > longest ? sum : longest;
}

static int64_t footprint_at(const TileOutline *outline, int32_t depth) {
  int64_t bytes = 0;
  for (int64_t t = 0; t < outline->tensors.count; t++) {
    const TileTensor *tensor = &outline->tensors.data[t];
    if (!tensor->is_held) bytes += slots_at(outline, tensor, depth) * tensor->slot_bytes;
  }
  return bytes;
}

int64_t tile_outline_footprint(const TileOutline *outline) {
  return footprint_at(outline, outline->tiling->depth);
}

static Status add_steps(const TileOutline *outline, DiagSink *diag, CostSums *sums) {
  sums->steps = ARENA_NEW_ARRAY(outline->arena, double, outline->steps.count);
  for (int64_t s = 0; s < outline->steps.count; s++) {
    const TileStep *step = &outline->steps.data[s];
    if (step->kind == STEP_COMPUTE) {
      RETURN_IF_ERROR(add_computation(outline, step, diag, sums, &sums->steps[s]));
    } else {
      add_transfer(outline, step, sums, &sums->steps[s]);
    }
  }
  return STATUS_OK;
}

Status tile_outline_costs(const TileOutline *outline, int32_t first, int32_t count, int64_t most_bytes, DiagSink *diag,
                          TilingCost *out_costs) {
  bool is_any = false;
  for (int32_t i = 0; i < count; i++) {
    out_costs[i] = (TilingCost){.footprint = footprint_at(outline, first + i), .cycles = __builtin_inf()};
    is_any = is_any || out_costs[i].footprint <= most_bytes;
  }
  if (!is_any) return STATUS_OK;
  CostSums sums = {0};
  RETURN_IF_ERROR(add_steps(outline, diag, &sums));
  const MachineDescription *machine = outline->machine;
  int32_t loader = tile_step_queue(machine, STEP_LOAD), storer = tile_step_queue(machine, STEP_STORE);
  bool one_queue = loader == storer;
  double memory = sums.idle;
  if (!one_queue) memory += queue_pair_cycles(machine, loader, sums.loaded, storer, sums.stored);
  double moves = one_queue ? sums.load + sums.store : sums.load > sums.store ? sums.load : sums.store;
  double crowding = memory > moves && moves > 0 ? memory / moves : 1;
  double transfers = moves > memory ? moves : memory;
  double *covers = ARENA_NEW_ARRAY(outline->arena, double, outline->covers.count);
  const RingLife *lives = ring_lives(outline, &sums, crowding);
  for (int32_t i = 0; i < count; i++) {
    if (out_costs[i].footprint > most_bytes) continue;
    double longest = pipeline_cycles(outline, &sums, lives, first + i, covers);
    if (transfers > longest) longest = transfers;
    out_costs[i].busiest = transfers > sums.exec ? transfers : sums.exec;
    out_costs[i].transfers = transfers;
    out_costs[i].cycles = longest + sums.first_load + sums.last_store;
  }
  return STATUS_OK;
}

Status tile_outline_cost(const TileOutline *outline, DiagSink *diag, TilingCost *out_cost) {
  return tile_outline_costs(outline, outline->tiling->depth, 1, INT64_MAX, diag, out_cost);
}
