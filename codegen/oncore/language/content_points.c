/* What a Kernel asks for at its points, run by run. */
#include "base/checked_math.h"
#include "codegen/oncore/language/plan_content_internal.h"

/* --- points --- */

static void add_walked(Follower *f, PointWalk *walk, int32_t dim, int64_t begin, int64_t extent) {
  int32_t i = walk->axis_count++;
  walk->axes[i] = dim;
  walk->begins[i] = f->point[dim] = begin;
  walk->extents[i] = max_i64(extent, 0);
  walk->steps[i] = 1;
  walk->total *= walk->extents[i];
  walk->left = walk->total == 0 ? 0 : walk->extents[i];
}

PointWalk point_walk(Follower *f, int32_t command, const int32_t *axes, int32_t count) {
  const PlanCommand *c = &f->plan->commands[command];
  PointWalk walk = {.total = 1, .left = 1};
  for (int32_t i = 0; i < count; i++) {
    const PlanRange *range = &c->points[axes[i]];
    add_walked(f, &walk, axes[i], content_number(f, command, range->begin), content_extent(f, command, range));
  }
  return walk;
}

void point_walk_descend(Follower *f, PointWalk *walk, int32_t axis) {
  walk->begins[axis] += max_i64(walk->extents[axis] - 1, 0);
  walk->steps[axis] = -1;
  f->point[walk->axes[axis]] = walk->begins[axis];
}

PointWalk window_walk(Follower *f, int32_t command, const TileWindows *windows) {
  const PlanCommand *c = &f->plan->commands[command];
  int64_t extents[KERNEL_MAX_DIMS], begins[KERNEL_MAX_DIMS] = {0};
  for (int32_t i = 0; i < windows->axis_count; i++) {
    const PlanRange *range = &c->points[windows->axes[i]];
    extents[windows->axes[i]] = content_extent(f, command, range);
    begins[windows->along[i]] += windows->steps[i] * content_number(f, command, range->begin);
    f->point[windows->axes[i]] = 0;
  }
  PointWalk walk = {.total = 1, .left = 1};
  for (int32_t i = 0; i < windows->axis_count; i++) {
    if (windows->along[i] != i) continue;
    add_walked(f, &walk, windows->axes[i], begins[i], tile_window_extent(windows, i, extents));
  }
  return walk;
}

bool content_is_window(const Follower *f, int32_t command, const TileAccess *access, const PlanRef *ref,
                       TileWindows *out_windows) {
  return access->kind == TILE_LOAD && tile_load_windows(f->kernel, access->value, out_windows) &&
         tile_ref_is_window(out_windows, f->plan->commands[command].points, ref);
}

void point_walk_advance(Follower *f, PointWalk *walk, int64_t n) {
  int32_t last = walk->axis_count - 1;
  walk->total -= n;
  walk->left -= n;
  if (last < 0) return;
  walk->index[last] += n;
  for (int32_t i = last; i > 0 && walk->index[i] == walk->extents[i]; i--) {
    walk->index[i] = 0;
    walk->index[i - 1]++;
    f->point[walk->axes[i]] = walk->begins[i];
    f->point[walk->axes[i - 1]] = walk->begins[i - 1] + walk->steps[i - 1] * walk->index[i - 1];
  }
  f->point[walk->axes[last]] = walk->begins[last] + walk->steps[last] * walk->index[last];
  if (walk->left == 0 && walk->total > 0) walk->left = walk->extents[last];
}

int64_t content_point_count(Follower *f, int32_t command, const int32_t *axes, int32_t count) {
  int64_t points = 1;
  for (int32_t i = 0; i < count; i++) points *= content_extent(f, command, &f->plan->commands[command].points[axes[i]]);
  return points;
}

int64_t content_place_of_point(const Follower *f, const int32_t *axes, int32_t count) {
  int64_t place = 0;
  for (int32_t i = 0; i < count; i++) place = place * f->kernel->dims[axes[i]].extent + f->point[axes[i]];
  return place;
}

/* --- addresses and guards --- */

/* Whether it is known without looking at the Kernel's data, but for starts that hold for all points. */
static bool is_known(const Follower *f, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &f->kernel->space.atoms.data[expr.terms[i].atom];
    bool nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (nested && !is_known(f, atom->inner)) return false;
    if (atom->kind == INDEX_ATOM_VALUE && f->kernel->values[atom->number].dims != 0) return false;
  }
  return true;
}

/* |expr| at the point, and what it grows by along |dim| (-1: nowhere), for at most |*n| points. */
static Place place_along(Follower *f, IndexExpr expr, int32_t dim, int64_t *n, int64_t *out_step) {
  const IndexSpace *space = &f->kernel->space;
  *out_step = 0;
  if (dim < 0 || index_depends_nonlinearly(space, expr, dim))
    *n = 1;
  else
    *out_step = index_dim_coefficient(space, expr, dim);
  return place_in_kernel(&f->forms, expr, f->point);
}

typedef enum Truth { IS_FALSE, IS_TRUE, IS_OPEN } Truth;

/* Where a place lies: below a range, over it, inside; or where its form decides. */
typedef enum Side { SIDE_BELOW, SIDE_INSIDE, SIDE_ABOVE, SIDE_OPEN } Side;

static Side side_of(int64_t at, int64_t form_lower, int64_t form_upper, const KernelValue *range) {
  if (at + form_upper < range->lower) return SIDE_BELOW;
  if (at + form_lower >= range->upper) return SIDE_ABOVE;
  return at + form_lower >= range->lower && at + form_upper < range->upper ? SIDE_INSIDE : SIDE_OPEN;
}

/* Along the points a place only grows, or only shrinks, so that it is on each side once. */
static Truth in_range_run(Follower *f, const KernelValue *value, int32_t dim, int64_t *n) {
  int64_t step;
  Place place = place_along(f, value->address, dim, n, &step);
  int64_t lower = place_form_lower(&f->forms, place.form), upper = place_form_upper(&f->forms, place.form);
  Side side = side_of(place.constant, lower, upper, value);
  int64_t same = 1, other = *n; /* points 0 … same - 1 are on this side; |other| is not, or the end */
  if (step == 0) same = other;
  while (same < other) {
    int64_t middle = same + (other - same) / 2;
    if (side_of(place.constant + middle * step, lower, upper, value) == side)
      same = middle + 1;
    else
      other = middle;
  }
  *n = same;
  return side == SIDE_INSIDE ? IS_TRUE : side == SIDE_OPEN ? IS_OPEN : IS_FALSE;
}

static Truth divisible_run(Follower *f, const KernelValue *value, int32_t dim, int64_t *n) {
  int64_t step;
  Place place = place_along(f, value->address, dim, n, &step);
  if (place.form != 0) return IS_OPEN;
  if (step % value->upper != 0) *n = 1;
  return place.constant % value->upper == 0 ? IS_TRUE : IS_FALSE;
}

/* Of the point and those after it along |dim|, |*n| at most, in which it is the same. */
static Truth guard_run(Follower *f, int32_t number, int32_t dim, int64_t *n) {
  if (number < 0) return IS_TRUE;
  const KernelValue *value = &f->kernel->values[number];
  bool ranged = value->kind == KERNEL_IN_RANGE || value->kind == KERNEL_DIVISIBLE;
  if (value->kind == KERNEL_CONSTANT) return (value->bits[0] & 1) != 0 ? IS_TRUE : IS_FALSE;
  if (ranged && !is_known(f, value->address)) return IS_OPEN;
  if (value->kind == KERNEL_IN_RANGE) return in_range_run(f, value, dim, n);
  if (value->kind == KERNEL_DIVISIBLE) return divisible_run(f, value, dim, n);
  if (value->kind != KERNEL_APPLY || value->opcode != HLO_AND) return IS_OPEN;
  Truth a = guard_run(f, value->operands[0], dim, n), b = guard_run(f, value->operands[1], dim, n);
  if (a == IS_FALSE || b == IS_FALSE) return IS_FALSE;
  return a == IS_OPEN || b == IS_OPEN ? IS_OPEN : IS_TRUE;
}

/* Whether a guard of taps among |predicate| is false. */
static bool taps_are_away(Follower *f, int32_t predicate, const TileWindows *windows, int32_t dim, int64_t *n) {
  if (predicate < 0) return false;
  const KernelValue *value = &f->kernel->values[predicate];
  if (value->kind == KERNEL_APPLY)
    return taps_are_away(f, value->operands[0], windows, dim, n) ||
           taps_are_away(f, value->operands[1], windows, dim, n);
  return tile_guard_is_of_taps(f->kernel, predicate, windows) && guard_run(f, predicate, dim, n) == IS_FALSE;
}

bool content_is_away(Follower *f, const TileAccess *access, const int32_t *axes, int32_t count, int64_t *n) {
  TileWindows windows;
  if (access->kind != TILE_LOAD || !tile_load_windows(f->kernel, access->value, &windows)) return false;
  int32_t predicate = tile_load_value(f->kernel, access->value)->predicate;
  return taps_are_away(f, predicate, &windows, count > 0 ? axes[count - 1] : -1, n);
}

/* --- contents --- */

static ContentRun run_of(ContentKind kind, int32_t number, Place place, int64_t step, int64_t n) {
  Content first = {kind, number, place.constant, (uint64_t)place.form};
  return (ContentRun){.count = n, .step = step, .first = first};
}

static Place plain_place(int64_t at) {
  return (Place){at, 0};
}

ContentRun content_of_load(Follower *f, int32_t number, const int32_t *axes, int32_t count, int64_t n) {
  const KernelValue *value = tile_load_value(f->kernel, number);
  int32_t padding = tile_load_padding(f->kernel, number) + 1;
  int32_t dim = count > 0 ? axes[count - 1] : -1;
  Truth guard = guard_run(f, value->predicate, dim, &n);
  if (guard == IS_FALSE) return run_of(CONTENT_ZERO, padding, plain_place(0), 0, n);
  if (guard == IS_TRUE && is_known(f, value->address)) {
    int64_t step;
    Place place = place_along(f, value->address, dim, &n, &step);
    return run_of(CONTENT_ELEMENT, f->array_of[value->buffer], place, step, n);
  }
  ContentRun run =
      run_of(CONTENT_LOADED, f->array_of[value->buffer], plain_place(content_place_of_point(f, axes, count)), 1, n);
  run.first.detail = (uint64_t)padding;
  return run;
}

ContentRun content_wanted(Follower *f, const TileAccess *access, const int32_t *axes, int32_t count, int64_t n) {
  if (access->kind == TILE_LOAD) return content_of_load(f, access->value, axes, count, n);
  Place place = plain_place(content_place_of_point(f, access->axes, access->axis_count));
  if (access->kind == TILE_SCRATCH) return run_of(CONTENT_ROW, access->buffer, place, 1, n);
  if (access->kind == TILE_ACCUMULATOR) return run_of(CONTENT_FOLD, access->fold, place, 1, n);
  return run_of(CONTENT_NOTHING, access->buffer, place, 1, n);
}

ContentRun content_written(Follower *f, const TileAccess *access, int64_t n) {
  if (access->kind == TILE_STORE) {
    const KernelStore *store = &f->kernel->stages[access->stage].stores[access->store];
    int64_t step;
    Place place =
        place_along(f, store->address, access->axis_count > 0 ? access->axes[access->axis_count - 1] : -1, &n, &step);
    return run_of(CONTENT_RESULT, store->buffer, place, step, n);
  }
  if (access->kind == TILE_INDEX) {
    Place place = plain_place(content_place_of_point(f, access->axes, access->axis_count));
    return run_of(CONTENT_INDEX, tile_load_value(f->kernel, access->value)->buffer, place, 1, n);
  }
  return content_wanted(f, access, access->axes, access->axis_count, n);
}

/* --- folds --- */

#define FOLD_MODULUS ((UINT64_C(1) << 61) - 1)
#define FOLD_BASE UINT64_C(0x1d8e4e27c47d124f) /* any number below the modulus that is no root of unity */

__extension__ typedef unsigned __int128 FoldProduct;

static uint64_t times(uint64_t a, uint64_t b) {
  return (uint64_t)((FoldProduct)a * b % FOLD_MODULUS);
}

uint64_t content_fold_add(uint64_t a, uint64_t b) {
  return (a + b) % FOLD_MODULUS;
}

/* Also of negative exponents: base^(modulus - 1) is 1. */
static uint64_t power(uint64_t base, int64_t exponent) {
  uint64_t result = 1;
  if (exponent < 0) exponent += (int64_t)FOLD_MODULUS - 1;
  for (; exponent > 0; exponent >>= 1, base = times(base, base))
    if ((exponent & 1) != 0) result = times(result, base);
  return result;
}

/* Σ base^k for 0 ≤ k < count, by halves: the sum of 2n terms is that of n times 1 + base^n. */
static uint64_t geometric_sum(uint64_t base, int64_t count) {
  uint64_t sum = 0, reach = 1; /* of the first terms, as many as the bits so far say; base^that */
  for (int bit = 62; bit >= 0; bit--) {
    sum = content_fold_add(sum, times(sum, reach));
    reach = times(reach, reach);
    if ((count >> bit & 1) == 0) continue;
    sum = content_fold_add(sum, reach);
    reach = times(reach, base);
  }
  return sum;
}

int32_t content_stage_axes(const Kernel *kernel, int32_t stage, int32_t *out_axes) {
  int32_t count = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == stage) out_axes[count++] = d;
  }
  return count;
}

uint64_t content_fold_progress(Follower *f, int32_t stage, int32_t command) {
  int32_t axes[KERNEL_MAX_DIMS], count = content_stage_axes(f->kernel, stage, axes);
  uint64_t sum = 1, base = FOLD_BASE;
  for (int32_t i = count - 1; i >= 0; i--) {
    int64_t begin = 0, extent = f->kernel->dims[axes[i]].extent;
    const PlanRange *range = command >= 0 ? &f->plan->commands[command].points[axes[i]] : NULL;
    if (range != NULL) begin = content_number(f, command, range->begin);
    int64_t walked = range != NULL ? max_i64(content_extent(f, command, range), 0) : extent;
    sum = times(sum, times(power(base, begin), geometric_sum(base, walked)));
    base = power(base, extent);
  }
  return sum;
}
