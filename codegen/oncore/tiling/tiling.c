#include "codegen/oncore/tiling/tiling.h"

#include <string.h>

#include "base/checked_math.h"
#include "codegen/oncore/tiling/buffer_shortage.h"
#include "codegen/oncore/tiling/tiling_memo.h"

enum { MAX_CANDIDATES = 64, MAX_ROUNDS = 64, MAX_PERMUTED = 3, GRID_POINTS = 1000, LEAST_SLICE = 16, MOST_STARTS = 8 };

/* Windows that take less than one of so many parts of the Buffer with all positions need not be cut there. */
enum { POSITIONS_SHARE = 2 };

/* Extents to choose from, per dim of the Kernel, ascending; the last is the whole dim. */
typedef struct CandidateSet {
  int32_t counts[KERNEL_MAX_DIMS];
  int64_t (*candidates)[MAX_CANDIDATES];
} CandidateSet;

typedef struct TilingSearch {
  Arena *scratch;
  const Kernel *kernel;
  const MachineDescription *machine;
  TilingMemo *memo, *own; /* |own|: made for this search alone; NULL: it is the scope's */
  int64_t buffer_bytes;
  double transfers; /* as TilingScope's */
  int32_t starts;   /* of descents, for each form */
  DiagSink *diag;
  Status status;
  CandidateSet *set, coarse, fine; /* |set|: which of the two is searched; the coarse one first */
  ARRAY(TileWindows) windows;      /* of all loads, but those that end */
  bool has_positions;              /* of one of them those that are folded over take much of the Buffer */
  int64_t least_footprint;         /* of what any search for this depth looks at */
  Tiling least;                    /* that has it */
} TilingSearch;

/* A point of the search: a candidate per dim. */
typedef struct TilingPoint {
  int32_t at[KERNEL_MAX_DIMS];
  Tiling tiling;
  int64_t footprint;
  double cycles;    /* as the search weighs them; infinity when it is not allowed or does not fit */
  double transfers; /* of TilingCost */
} TilingPoint;

#define TOO_LONG __builtin_inf()

/* --- candidates --- */

static void add_candidate(TilingSearch *search, int32_t dim, int64_t extent) {
  int32_t *count = &search->set->counts[dim];
  int64_t *list = search->set->candidates[dim];
  int32_t at = 0;
  while (at < *count && list[at] < extent) at++;
  if ((at < *count && list[at] == extent) || *count == MAX_CANDIDATES) return;
  memmove(&list[at + 1], &list[at], (size_t)(*count - at) * sizeof *list);
  list[at] = extent;
  (*count)++;
}

/* Powers of two, three times those, and equal parts. */
static void make_candidates(TilingSearch *search, CandidateSet *set, int64_t most_parts) {
  search->set = set;
  set->candidates = arena_alloc_array(search->scratch, (size_t)search->kernel->dim_count, sizeof *set->candidates);
  for (int32_t dim = 0; dim < search->kernel->dim_count; dim++) {
    int64_t whole = search->kernel->dims[dim].extent;
    add_candidate(search, dim, whole);
    if (tiling_memo_whole_dims(search->memo) >> dim & 1) continue;
    add_candidate(search, dim, 1);
    for (int64_t size = 2; size < whole && size <= INT64_C(1) << 24; size *= 2) {
      add_candidate(search, dim, size);
      if (size >= 8 && size / 2 * 3 < whole) add_candidate(search, dim, size / 2 * 3);
    }
    for (int64_t parts = 2; parts <= most_parts && parts < whole; parts++)
      add_candidate(search, dim, (whole + parts - 1) / parts);
  }
}

/* --- evaluation --- */

/* A fold that may not be reordered sees its stage's points in row-major order only if at most one dim is cut, with
 * single indices outside of it and whole dims inside. */
static bool keeps_order(const Kernel *kernel, const Tiling *tiling) {
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].reassociable) continue;
    bool cut = false;
    for (int32_t d = 0; d < kernel->dim_count; d++) {
      if (kernel->dims[d].stage != kernel->folds[f].stage) continue;
      bool whole = tiling->extents[d] == kernel->dims[d].extent;
      if (cut && !whole) return false;
      cut = cut || tiling->extents[d] > 1;
    }
  }
  return true;
}

/* Points of SEQUENTIAL dims are seen in row-major order: the same rule, for all of them together. */
static bool keeps_sequence(const Kernel *kernel, const Tiling *tiling) {
  bool cut = false;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].kind != KERNEL_SEQUENTIAL) continue;
    bool whole = tiling->extents[d] == kernel->dims[d].extent;
    if (cut && !whole) return false;
    cut = cut || tiling->extents[d] > 1;
  }
  return true;
}

static bool has_sequence(const Kernel *kernel) {
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].kind == KERNEL_SEQUENTIAL) return true;
  }
  return false;
}

/* A part of a window is a range, which has two sizes at most. */
static bool cuts_windows_once(const TilingSearch *search, const Tiling *tiling) {
  for (int64_t w = 0; w < search->windows.count && tiling->holds_windows; w++) {
    const TileWindows *windows = &search->windows.data[w];
    int32_t ragged[KERNEL_MAX_DIMS] = {0};
    for (int32_t i = 0; i < windows->axis_count; i++) {
      int32_t dim = windows->axes[i];
      if (search->kernel->dims[dim].extent % tiling->extents[dim] == 0 || windows->steps[i] == 0) continue;
      if (++ragged[windows->along[i]] > 1) return false;
    }
  }
  return true;
}

/* Tiles of one index along both dims, and of all that is walked inside of a position. */
static bool slides_well(const TilingSearch *search, const Tiling *tiling) {
  const TileSlide *slide = &tiling->slide;
  if (!slide->is_on) return true;
  if (tiling->extents[slide->position] != 1 || tiling->extents[slide->tap] != 1) return false;
  const TileWindows *windows = &search->windows.data[0];
  for (int32_t i = 0; i < windows->axis_count; i++) {
    int32_t dim = windows->axes[i];
    bool is_inside = search->kernel->dims[dim].stage != KERNEL_OUTER && dim != slide->tap;
    if (is_inside && tiling->extents[dim] < search->kernel->dims[dim].extent) return false;
  }
  return true;
}

/* Loops over what is cut only, in the point's order. */
static Tiling cut_tiling(const Kernel *kernel, const Tiling *tiling) {
  Tiling cut = *tiling;
  cut.outer_count = 0;
  for (int32_t i = 0; i < tiling->outer_count; i++) {
    int32_t dim = tiling->outer[i];
    if (cut.extents[dim] < kernel->dims[dim].extent) cut.outer[cut.outer_count++] = dim;
  }
  return cut;
}

/* What is known of |point|, wherever it fits; NULL: it is not allowed, or has an error. */
static const TilingKnown *find_known(TilingSearch *search, TilingPoint *point) {
  const Kernel *kernel = search->kernel;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    point->tiling.extents[d] = search->set->candidates[d][point->at[d]];
    bool whole = point->tiling.extents[d] == kernel->dims[d].extent;
    if (!whole && kernel->dims[d].stage != KERNEL_OUTER && !point->tiling.splits_stages) return NULL;
  }
  if (!keeps_order(kernel, &point->tiling) || !keeps_sequence(kernel, &point->tiling)) return NULL;
  if (!cuts_windows_once(search, &point->tiling) || !slides_well(search, &point->tiling)) return NULL;
  Tiling cut = cut_tiling(kernel, &point->tiling);
  const TilingKnown *known;
  Status status = tiling_memo_find(search->memo, &cut, search->diag, &known);
  if (status != STATUS_OK) search->status = status;
  return status == STATUS_OK ? known : NULL;
}

/* What tilings are compared by. */
static double weight_of(const TilingSearch *search, const TilingCost *cost) {
  return cost->cycles + search->transfers * cost->transfers;
}

/* |point| is |known|, in the search's Buffer and with its depth. */
static void set_cost(TilingSearch *search, const TilingKnown *known, TilingPoint *point) {
  point->cycles = TOO_LONG;
  if (known == NULL) return;
  const TilingCost *cost = tiling_known_cost(known, point->tiling.depth);
  point->footprint = cost->footprint;
  point->transfers = cost->transfers;
  if (cost->footprint <= search->buffer_bytes) point->cycles = weight_of(search, cost);
  if (cost->footprint >= search->least_footprint) return;
  search->least_footprint = cost->footprint;
  search->least = cut_tiling(search->kernel, &point->tiling);
}

static void evaluate(TilingSearch *search, TilingPoint *point) {
  set_cost(search, find_known(search, point), point);
}

/* --- descent --- */

static bool is_less(double a, double b) {
  return a < b * (1 - 1e-9);
}

static bool improves(const TilingPoint *a, const TilingPoint *b) {
  return is_less(a->cycles, b->cycles);
}

/* The best neighbour: one dim up or down a candidate or to either end, with another one down a candidate or all the way
 * at the same time. */
static bool step(TilingSearch *search, TilingPoint *point) {
  TilingPoint best = *point;
  for (int32_t d = 0; d < search->kernel->dim_count && search->status == STATUS_OK; d++) {
    int32_t last = search->set->counts[d] - 1;
    int32_t moves[4] = {point->at[d] + 1, point->at[d] - 1, last, 0};
    for (int m = 0; m < 4; m++) {
      if (moves[m] < 0 || moves[m] > last || moves[m] == point->at[d]) continue;
      TilingPoint next = *point;
      next.at[d] = moves[m];
      evaluate(search, &next);
      if (improves(&next, &best)) best = next;
      if (next.at[d] < point->at[d]) continue;
      for (int32_t e = 0; e < search->kernel->dim_count; e++) {
        if (e == d || point->at[e] == 0) continue;
        for (next.at[e] = point->at[e] - 1;; next.at[e] = 0) {
          evaluate(search, &next);
          if (improves(&next, &best)) best = next;
          if (next.at[e] == 0) break;
        }
        next.at[e] = point->at[e];
      }
    }
  }
  bool moved = improves(&best, point);
  *point = best;
  return moved;
}

static void descend(TilingSearch *search, TilingPoint *point) {
  evaluate(search, point);
  for (int round = 0; round < MAX_ROUNDS && search->status == STATUS_OK && step(search, point); round++) continue;
}

/* Dims that a form cuts. */
static int32_t free_dims(const TilingSearch *search, const Tiling *form, int32_t *out_dims) {
  int32_t count = 0;
  for (int32_t d = 0; d < search->kernel->dim_count; d++) {
    bool is_free = search->kernel->dims[d].stage == KERNEL_OUTER || form->splits_stages;
    if (is_free && search->set->counts[d] > 1) out_dims[count++] = d;
  }
  return count;
}

/* Where descents start: each in half of the Buffer that the one before has, so that they differ. */
typedef struct TilingStarts {
  TilingPoint points[MOST_STARTS];
} TilingStarts;

static void add_start(const TilingSearch *search, const TilingPoint *point, TilingStarts *starts) {
  for (int32_t i = 0; i < search->starts; i++) {
    bool fits = point->footprint <= search->buffer_bytes >> i;
    if (fits && improves(point, &starts->points[i])) starts->points[i] = *point;
  }
}

/* About GRID_POINTS points over the free dims, evenly spaced among the candidates. */
typedef struct TilingGrid {
  int32_t dims[KERNEL_MAX_DIMS]; /* the free ones, innermost first; beyond |count| of them even two levels are too many:
                                    those further out stay at one index */
  int64_t sizes[KERNEL_MAX_DIMS]; /* levels of each */
  int32_t count;
  int64_t total;
} TilingGrid;

static TilingGrid make_grid(const TilingSearch *search, const Tiling *form) {
  int32_t dims[KERNEL_MAX_DIMS], count = free_dims(search, form, dims), levels = 2;
  int64_t total = 1;
  for (bool grows = true; grows && levels < MAX_CANDIDATES; levels++) {
    total = 1;
    for (int32_t i = 0; i < count && total <= GRID_POINTS; i++)
      total *= min_i64(levels + 1, search->set->counts[dims[i]]);
    grows = total <= GRID_POINTS;
  }
  TilingGrid grid = {.total = 1};
  for (; grid.count < count; grid.count++) {
    int32_t dim = dims[count - 1 - grid.count];
    int64_t here = min_i64(levels - 1, search->set->counts[dim]);
    if (grid.total * here > 4 * GRID_POINTS) break;
    grid.dims[grid.count] = dim;
    grid.sizes[grid.count] = here;
    grid.total *= here;
  }
  return grid;
}

/* Moves |point| to place |number| of |grid|. */
static void set_place(const TilingSearch *search, const TilingGrid *grid, int64_t number, TilingPoint *point) {
  for (int32_t i = 0; i < grid->count; i++) {
    int32_t last = search->set->counts[grid->dims[i]] - 1;
    int64_t here = grid->sizes[i];
    int32_t at = here == 1 ? 0 : (int32_t)(number % here * last / (here - 1));
    point->at[grid->dims[i]] = at;
    point->tiling.extents[grid->dims[i]] = search->set->candidates[grid->dims[i]][at];
    number /= here;
  }
}

/* Whether a point at that |cost| is a better start than one of those. */
static bool is_better_start(const TilingSearch *search, const TilingCost *cost, const TilingStarts *starts) {
  for (int32_t i = 0; i < search->starts; i++) {
    bool fits = cost->footprint <= search->buffer_bytes >> i;
    if (fits && is_less(weight_of(search, cost), starts->points[i].cycles)) return true;
  }
  return false;
}

/* The best points of the grid: dims have to grow together to be worth it, and single steps do not see that. */
static void best_of_grid(TilingSearch *search, const TilingPoint *point, TilingStarts *starts) {
  TilingGrid grid = make_grid(search, &point->tiling);
  TilingGridMemo *memo = tiling_memo_grid(search->memo, &point->tiling, grid.total);
  TilingPoint next = *point;
  evaluate(search, &next);
  for (int32_t i = 0; i < search->starts; i++) starts->points[i] = next;
  for (int64_t number = 0; number < grid.total && search->status == STATUS_OK; number++) {
    if (!memo->is_full) {
      set_place(search, &grid, number, &next);
      memo->known[number] = find_known(search, &next);
    }
    const TilingKnown *known = memo->known[number];
    if (known == NULL) continue;
    const TilingCost *cost = tiling_known_cost(known, point->tiling.depth);
    if (cost->footprint >= search->least_footprint && !is_better_start(search, cost, starts)) continue;
    set_place(search, &grid, number, &next);
    set_cost(search, known, &next);
    add_start(search, &next, starts);
  }
  memo->is_full = search->status == STATUS_OK;
}

/* Loops of the cut outer dims in other orders. */
static void permute(TilingSearch *search, TilingPoint *point, int32_t fixed) {
  if (fixed >= point->tiling.outer_count) {
    TilingPoint next = *point;
    evaluate(search, &next);
    *point = next;
    return;
  }
  TilingPoint best = *point;
  best.cycles = TOO_LONG;
  for (int32_t i = fixed; i < point->tiling.outer_count; i++) {
    TilingPoint next = *point;
    next.tiling.outer[fixed] = point->tiling.outer[i];
    next.tiling.outer[i] = point->tiling.outer[fixed];
    permute(search, &next, fixed + 1);
    if (improves(&next, &best)) best = next;
  }
  if (best.cycles < TOO_LONG) *point = best;
}

static int32_t cut_outer_count(const TilingSearch *search, const TilingPoint *point) {
  int32_t count = 0;
  for (int32_t d = 0; d < search->kernel->dim_count; d++) {
    bool whole = point->tiling.extents[d] == search->kernel->dims[d].extent;
    if (search->kernel->dims[d].stage == KERNEL_OUTER && !whole) count++;
  }
  return count;
}

/* Cut dims first, so that their orders are all that is tried. */
static void compact_outer(const TilingSearch *search, TilingPoint *point) {
  int32_t cut[KERNEL_MAX_DIMS], count = 0;
  for (int32_t i = 0; i < point->tiling.outer_count; i++) {
    int32_t dim = point->tiling.outer[i];
    if (point->tiling.extents[dim] < search->kernel->dims[dim].extent) cut[count++] = dim;
  }
  memcpy(point->tiling.outer, cut, sizeof *cut * (size_t)count);
  point->tiling.outer_count = count;
}

/* In their order, but for the one that windows slide along, which is the innermost. */
static void all_outer(const TilingSearch *search, Tiling *tiling) {
  const TileSlide *slide = &tiling->slide;
  tiling->outer_count = 0;
  for (int32_t d = 0; d < search->kernel->dim_count; d++) {
    bool is_last = slide->is_on && d == slide->position;
    if (search->kernel->dims[d].stage == KERNEL_OUTER && !is_last) tiling->outer[tiling->outer_count++] = d;
  }
  if (slide->is_on) tiling->outer[tiling->outer_count++] = slide->position;
}

/* Goes on among more extents. */
static void refine(TilingSearch *search, TilingPoint *point) {
  search->set = &search->fine;
  for (int32_t d = 0; d < search->kernel->dim_count; d++) {
    int64_t extent = search->coarse.candidates[d][point->at[d]];
    for (point->at[d] = 0; search->fine.candidates[d][point->at[d]] != extent;) point->at[d]++;
  }
  descend(search, point);
  search->set = &search->coarse;
}

/* The best of all orders of |point|'s loops; dims that are whole may be cut again: they go inside. */
static void reorder(TilingSearch *search, TilingPoint *point) {
  TilingPoint ordered = *point;
  compact_outer(search, &ordered);
  bool has_orders = !point->tiling.slide.is_on && !has_sequence(search->kernel);
  if (cut_outer_count(search, point) <= MAX_PERMUTED && has_orders) permute(search, &ordered, 0);
  if (!improves(&ordered, point)) return;
  *point = ordered;
  for (int32_t d = 0; d < search->kernel->dim_count; d++) {
    bool whole = point->tiling.extents[d] == search->kernel->dims[d].extent;
    if (search->kernel->dims[d].stage == KERNEL_OUTER && whole) point->tiling.outer[point->tiling.outer_count++] = d;
  }
  descend(search, point);
}

static bool is_same_place(const TilingPoint *a, const TilingPoint *b) {
  return memcmp(a->at, b->at, sizeof a->at) == 0;
}

static void try_form(TilingSearch *search, const Tiling *form, TilingPoint *best) {
  TilingPoint point = {.tiling = *form};
  all_outer(search, &point.tiling);
  if (!form->splits_stages) {
    for (int32_t d = 0; d < search->kernel->dim_count; d++) {
      if (search->kernel->dims[d].stage != KERNEL_OUTER) point.at[d] = search->set->counts[d] - 1;
    }
  }
  TilingStarts starts;
  best_of_grid(search, &point, &starts);
  for (int32_t i = 0; i < search->starts; i++) {
    TilingPoint next = starts.points[i];
    if (i > 0 && is_same_place(&next, &starts.points[i - 1])) continue;
    descend(search, &next);
    if (i == 0 || improves(&next, &point)) point = next;
  }
  if (point.cycles == TOO_LONG) return;
  reorder(search, &point);
  refine(search, &point);
  if (improves(&point, best)) *best = point;
}

static bool has_inner_dims(const Kernel *kernel) {
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != KERNEL_OUTER) return true;
  }
  return false;
}

static bool has_scratch(const Kernel *kernel) {
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (kernel->buffers[b].role == KERNEL_SCRATCH) return true;
  }
  return false;
}

static bool updates_buffers(const Kernel *kernel) {
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (tile_is_updated(kernel, b)) return true;
  }
  return false;
}

/* A choice of padding for |load| after it stands for it, with the same windows. */
static bool is_padded_later(const Kernel *kernel, int32_t load) {
  for (int32_t v = load + 1; v < kernel->value_count; v++) {
    if (tile_load_value(kernel, v) == &kernel->values[load]) return true;
  }
  return false;
}

/* Whether |windows| of |element| bytes, held with all positions that the Kernel folds over, take much of the Buffer. */
static bool has_many_positions(const TilingSearch *search, const TileWindows *windows, int64_t element) {
  const Kernel *kernel = search->kernel;
  bool has_positions = false;
  int64_t whole[KERNEL_MAX_DIMS], bytes = element;
  for (int32_t i = 0; i < windows->axis_count; i++) {
    int32_t dim = windows->axes[i];
    bool is_held = kernel->dims[dim].stage == KERNEL_OUTER || tile_axis_is_windowed(windows, i);
    whole[dim] = is_held ? kernel->dims[dim].extent : 1;
    has_positions = has_positions || tile_axis_is_position(kernel, windows, i);
  }
  for (int32_t i = 0; i < windows->axis_count; i++) bytes *= tile_window_extent(windows, i, whole);
  return has_positions && bytes > machine_buffer_usable(search->machine) / POSITIONS_SHARE;
}

static void find_windows(TilingSearch *search) {
  const Kernel *kernel = search->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    TileWindows windows;
    if (tile_load_value(kernel, v) == NULL || is_padded_later(kernel, v)) continue;
    uint64_t dims;
    bool may_be_cut = tile_load_windows(kernel, v, &windows) && !tile_windows_end(&windows, &dims);
    if (!may_be_cut) continue;
    array_push(&search->windows, search->scratch, windows);
    int64_t element = type_storage_bytes(kernel->values[v].type);
    search->has_positions = search->has_positions || has_many_positions(search, &windows, element);
  }
}

/* The outermost axis on which a position and its taps meet, if the Kernel has no other windows. */
static TileSlide find_slide(const TilingSearch *search) {
  const Kernel *kernel = search->kernel;
  TileSlide slide = {0};
  bool has_gathers = false;
  for (int32_t v = 0; v < kernel->value_count && !has_gathers; v++)
    has_gathers = tile_load_value(kernel, v) != NULL && tile_load_is_gather(kernel, v);
  if (search->windows.count != 1 || has_gathers || has_scratch(kernel)) return slide;
  const TileWindows *windows = &search->windows.data[0];
  for (int32_t a = 0; a < windows->axis_count && !slide.is_on; a++) {
    int32_t position = -1, tap = -1, count = 0;
    for (int32_t i = 0; i < windows->axis_count; i++) {
      if (windows->along[i] != windows->along[a]) continue;
      *(kernel->dims[windows->axes[i]].stage == KERNEL_OUTER ? &position : &tap) = i;
      count++;
    }
    if (count != 2 || position < 0 || tap < 0 || windows->steps[tap] != 1) continue;
    slide.position = windows->axes[position];
    slide.tap = windows->axes[tap];
    slide.step = windows->steps[position];
    slide.rows = 1;
    slide.is_on = slide.step < kernel->dims[slide.tap].extent && kernel->dims[slide.position].extent > 1;
  }
  return slide;
}

/* Fewer slices are better: each goes through all updates. */
static void try_slices(TilingSearch *search, int32_t depth, TilingPoint *best) {
  const Kernel *kernel = search->kernel;
  int64_t whole = 0;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (!tile_is_updated(kernel, b)) continue;
    if (whole > 0 && whole != kernel->buffers[b].element_count) return;
    whole = kernel->buffers[b].element_count;
  }
  int64_t slice = whole;
  while (best->cycles == TOO_LONG && search->status == STATUS_OK && slice > LEAST_SLICE) {
    slice = align_up(slice / 2, LEAST_SLICE);
    if (slice < whole) try_form(search, &(Tiling){.depth = depth, .slice = slice}, best);
  }
  for (int64_t quarter = 1; best->cycles < TOO_LONG && search->status == STATUS_OK && quarter < 4; quarter++) {
    int64_t larger = align_up(slice + slice / 4 * quarter, LEAST_SLICE);
    if (larger < whole) try_form(search, &(Tiling){.depth = depth, .slice = larger}, best);
  }
}

/* |point| among those found, the best first. */
static void add_choice(const TilingSearch *search, const TilingPoint *point, TilingChoices *choices) {
  if (point->cycles == TOO_LONG) return;
  TilingPoint found = *point;
  compact_outer(search, &found);
  found.tiling.cycles = found.cycles;
  found.tiling.transfers = found.transfers;
  XLAC_CHECK(choices->count < TILING_CHOICES);
  int32_t at = choices->count++;
  for (; at > 0 && is_less(found.cycles, choices->tilings[at - 1].cycles); at--)
    choices->tilings[at] = choices->tilings[at - 1];
  choices->tilings[at] = found.tiling;
}

/* Whether |form|, in which results take the tiles of operands or folds, has fewer Tensors so. */
static bool has_fewer_tensors(const TilingSearch *search, Tiling tiling) {
  Arena *arena = arena_create();
  Tiling plain = {.splits_stages = tiling.splits_stages, .depth = 1};
  for (int32_t d = 0; d < search->kernel->dim_count; d++)
    tiling.extents[d] = plain.extents[d] = search->kernel->dims[d].extent;
  TileOutline with, without;
  tile_outline_make(arena, search->kernel, search->machine, &tiling, &with);
  tile_outline_make(arena, search->kernel, search->machine, &plain, &without);
  bool can = with.tensors.count < without.tensors.count;
  arena_destroy(arena);
  return can;
}

/* Whether a result can take an operand's tile, with whole or split stages. */
static bool can_be_in_place(const TilingSearch *search, bool splits_stages) {
  Tiling form = {.splits_stages = splits_stages, .in_place = true, .depth = 1};
  return has_fewer_tensors(search, form);
}

static void search_init(TilingSearch *search, Arena *arena, const TilingScope *scope, DiagSink *diag) {
  *search = (TilingSearch){.scratch = arena, .kernel = scope->kernel, .machine = scope->machine, .diag = diag};
  search->buffer_bytes = scope->buffer_bytes;
  search->transfers = scope->transfers;
  search->starts = scope->effort < 4 ? 1 : scope->effort < 7 ? 3 : MOST_STARTS;
  search->least_footprint = INT64_MAX;
  search->own = scope->memo == NULL ? tiling_memo_create(scope->kernel, scope->machine, scope->buffer_bytes) : NULL;
  search->memo = scope->memo == NULL ? search->own : scope->memo;
  find_windows(search);
  make_candidates(search, &search->fine, 16);
  make_candidates(search, &search->coarse, 6);
}

/* The best of |form|. */
static void find_choice(TilingSearch *search, const Tiling *form, TilingChoices *choices) {
  TilingPoint best = {.cycles = TOO_LONG};
  try_form(search, form, &best);
  add_choice(search, &best, choices);
}

/* Whether the stages of |kernel| are not to be split. */
static bool works_whole(const Kernel *kernel) {
  return (kernel->stage_count == 1 && !has_inner_dims(kernel)) || updates_buffers(kernel) ||
         kernel_sorting_stage(kernel) >= 0;
}

bool tiling_loads_again(const Kernel *kernel, const MachineDescription *machine, const Tiling *tiling) {
  enum { AGAIN_SHARE = 4 };
  const MachineQueue *queue = &machine->queues[tile_step_queue(machine, STEP_LOAD)];
  double bytes = 0;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    if (buffer->role == KERNEL_OPERAND) bytes += (double)(buffer->element_count * type_storage_bytes(buffer->type));
  }
  double once = bytes / queue->bytes_per_cycle;
  return tiling->transfers > once + once / AGAIN_SHARE;
}

/* Products of matrices whose results take the place of their sums.  No windows: these have forms of their own. */
static void add_over_folds(TilingSearch *search, int32_t depth, TilingChoices *choices) {
  Tiling form = {.splits_stages = true, .over_folds = true, .depth = depth};
  bool is_meant = search->windows.count == 0 && !works_whole(search->kernel) && !has_scratch(search->kernel);
  if (is_meant && has_fewer_tensors(search, form)) find_choice(search, &form, choices);
}

/* Those that cut positions, with whole or split stages in place. */
static void add_cut_positions(TilingSearch *search, int32_t depth, TilingChoices *choices) {
  Tiling form = {.splits_stages = true, .holds_windows = true, .cuts_positions = true, .depth = depth};
  find_choice(search, &form, choices);
  form.in_place = can_be_in_place(search, true);
  if (form.in_place) find_choice(search, &form, choices);
}

Status tiling_search_forms(Arena *arena, const TilingScope *scope, DiagSink *diag, TilingChoices *out_choices) {
  const Kernel *kernel = scope->kernel;
  TilingSearch search;
  search_init(&search, arena, scope, diag);
  *out_choices = (TilingChoices){0};
  int32_t depth = scope->depth;
  int forms = works_whole(kernel) ? 1 : has_scratch(kernel) ? 3 : 2;
  for (int form = 0; form < 2 * forms; form++) {
    Tiling tiling = {.splits_stages = form / 2 > 0, .spills_rows = form / 2 > 1, .depth = depth};
    tiling.holds_windows = form % 2 > 0;
    TilingPoint best = {.cycles = TOO_LONG};
    if (tiling.holds_windows && search.windows.count == 0) continue;
    try_form(&search, &tiling, &best);
    if (form == 0 && updates_buffers(kernel)) try_slices(&search, depth, &best);
    add_choice(&search, &best, out_choices);
  }
  if (can_be_in_place(&search, false)) find_choice(&search, &(Tiling){.in_place = true, .depth = depth}, out_choices);
  if (forms == 2 && search.windows.count > 0 && can_be_in_place(&search, true)) {
    Tiling tiling = {.splits_stages = true, .in_place = true, .depth = depth};
    find_choice(&search, &tiling, out_choices);
    tiling.holds_windows = true;
    find_choice(&search, &tiling, out_choices);
  }
  Tiling sliding = {.splits_stages = true, .holds_windows = true, .depth = depth, .slide = find_slide(&search)};
  if (sliding.slide.is_on && forms > 1) {
    find_choice(&search, &sliding, out_choices);
    sliding.slide.rows = sliding.slide.step;
    if (sliding.slide.rows > 1) find_choice(&search, &sliding, out_choices);
  }
  if (forms == 2 && search.has_positions) add_cut_positions(&search, depth, out_choices);
  bool is_any = scope->over_folds && out_choices->count > 0;
  if (is_any && tiling_loads_again(kernel, scope->machine, &out_choices->tilings[0]))
    add_over_folds(&search, depth, out_choices);
  tiling_memo_destroy(search.own);
  RETURN_IF_ERROR(search.status);
  if (out_choices->count > 0) return STATUS_OK;
  return buffer_shortage_report(kernel, scope->machine, &search.least, scope->buffer_bytes, diag);
}

Status tiling_search_over_folds(Arena *arena, const TilingScope *scope, DiagSink *diag, TilingChoices *out_choices) {
  TilingSearch search;
  search_init(&search, arena, scope, diag);
  *out_choices = (TilingChoices){0};
  add_over_folds(&search, scope->depth, out_choices);
  tiling_memo_destroy(search.own);
  return search.status;
}

Status tiling_search(Arena *arena, const TilingScope *scope, DiagSink *diag, Tiling *out_tiling) {
  TilingChoices choices;
  RETURN_IF_ERROR(tiling_search_forms(arena, scope, diag, &choices));
  *out_tiling = choices.tilings[0];
  return STATUS_OK;
}

/* --- neighbours --- */

/* |point| among the best, if it fits; the worst goes when there are too many. */
static void add_neighbour(TilingSearch *search, TilingPoint *point, TilingChoices *choices) {
  evaluate(search, point);
  if (point->cycles == TOO_LONG) return;
  if (choices->count == TILING_CHOICES) {
    if (point->cycles >= choices->tilings[TILING_CHOICES - 1].cycles) return;
    choices->count--;
  }
  add_choice(search, point, choices);
}

/* From candidate |at| of |dim| up or down (|step|): the next one (|even| 0), or the next one that leaves no tile much
 * smaller than the others (1); -1: there is none, or it is the same. */
static int32_t next_candidate(const TilingSearch *search, int32_t dim, int32_t at, int32_t step, int even) {
  int64_t whole = search->kernel->dims[dim].extent;
  const int64_t *candidates = search->set->candidates[dim];
  for (int32_t next = at + step; next >= 0 && next < search->set->counts[dim]; next += step) {
    int64_t parts = (whole + candidates[next] - 1) / candidates[next];
    bool is_even = (whole + parts - 1) / parts == candidates[next], is_next = next == at + step;
    if (even == 0) return next;
    if (is_even) return is_next ? -1 : next;
  }
  return -1;
}

/* One free dim a step up or down, or one up and another one down. */
static void add_steps(TilingSearch *search, const TilingPoint *from, TilingChoices *choices) {
  int32_t dims[KERNEL_MAX_DIMS], count = free_dims(search, &from->tiling, dims);
  for (int32_t i = 0; i < 4 * count; i++) {
    int32_t d = dims[i / 4], step = i % 2 == 0 ? 1 : -1, at = next_candidate(search, d, from->at[d], step, i / 2 % 2);
    if (at < 0) continue;
    TilingPoint next = *from;
    next.at[d] = at;
    add_neighbour(search, &next, choices);
    for (int32_t k = 0; k < 2 * count && step > 0; k++) {
      TilingPoint both = next;
      int32_t e = dims[k / 2], down = next_candidate(search, e, from->at[e], -1, k % 2);
      if (e == d || down < 0) continue;
      both.at[e] = down;
      add_neighbour(search, &both, choices);
    }
  }
}

static void add_exchanges(TilingSearch *search, const TilingPoint *from, TilingChoices *choices) {
  for (int32_t i = 0; i + 1 < cut_outer_count(search, from); i++) {
    TilingPoint next = *from;
    next.tiling.outer[i] = from->tiling.outer[i + 1];
    next.tiling.outer[i + 1] = from->tiling.outer[i];
    add_neighbour(search, &next, choices);
  }
}

/* |tiling| as a point: whole outer dims come after those that are cut. */
static bool point_of_tiling(const TilingSearch *search, const Tiling *tiling, TilingPoint *out_point) {
  *out_point = (TilingPoint){.tiling = *tiling};
  Tiling *all = &out_point->tiling;
  for (int32_t d = 0; d < search->kernel->dim_count; d++) {
    int32_t *at = &out_point->at[d];
    while (*at < search->set->counts[d] && search->set->candidates[d][*at] != tiling->extents[d]) (*at)++;
    if (*at == search->set->counts[d]) return false;
    bool is_listed = search->kernel->dims[d].stage != KERNEL_OUTER;
    for (int32_t i = 0; i < all->outer_count; i++) is_listed = is_listed || all->outer[i] == d;
    if (!is_listed) all->outer[all->outer_count++] = d;
  }
  return true;
}

Status tiling_neighbours(Arena *arena, const TilingScope *scope, const Tiling *from, bool keeps_depth, DiagSink *diag,
                         TilingChoices *out_choices) {
  TilingSearch search;
  TilingPoint point;
  search_init(&search, arena, scope, diag);
  search.set = &search.fine;
  *out_choices = (TilingChoices){0};
  bool is_among = point_of_tiling(&search, from, &point);
  for (int32_t more = keeps_depth ? 0 : -1; is_among && more <= (keeps_depth ? 0 : 1); more++) {
    TilingPoint next = point;
    next.tiling.depth = from->depth + more;
    if (next.tiling.depth < 1) continue;
    if (more != 0) add_neighbour(&search, &next, out_choices);
    add_steps(&search, &next, out_choices);
  }
  if (is_among && !from->slide.is_on && !has_sequence(scope->kernel)) add_exchanges(&search, &point, out_choices);
  tiling_memo_destroy(search.own);
  return search.status;
}
