#include "codegen/oncore/plan/tile_access.h"

#include <stdlib.h>

#include "codegen/oncore/plan/tile_parts.h"

int32_t tile_access_rank(const TileAccess *access) {
  return access->axis_count + (access->parts > 1);
}

/* --- loads --- */

/* Whether |value| alone reads |load|. */
static bool is_only_reader(const Kernel *kernel, int32_t load, int32_t value) {
  for (int32_t v = load + 1; v < kernel->value_count; v++) {
    const KernelValue *reader = &kernel->values[v];
    for (int i = 0; i < reader->operand_count && v != value; i++) {
      if (reader->operands[i] == load) return false;
    }
    for (int i = 0; i < reader->address.term_count; i++) {
      const IndexAtom *atom = &kernel->space.atoms.data[reader->address.terms[i].atom];
      if (atom->kind != INDEX_ATOM_DIM) return false; /* it may stand in there */
    }
  }
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].seed == load || kernel->folds[f].next == load) return false;
  }
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      if (kernel->stages[s].stores[i].value == load) return false;
    }
    for (int32_t i = 0; i < kernel->stages[s].compared_count; i++) {
      if (kernel->stages[s].compared[i].parts[0] == load) return false;
    }
  }
  return true;
}

/* The load that |value| gives padding to, -1: it does not. */
static int32_t padded_load(const Kernel *kernel, int32_t value) {
  const KernelValue *choice = &kernel->values[value];
  if (choice->kind != KERNEL_APPLY || choice->opcode != HLO_SELECT) return -1;
  const KernelValue *load = &kernel->values[choice->operands[1]];
  bool is_padding = load->kind == KERNEL_LOAD && load->predicate >= 0 && load->predicate == choice->operands[0] &&
                    kernel->buffers[load->buffer].role == KERNEL_OPERAND &&
                    kernel->values[choice->operands[2]].kind == KERNEL_CONSTANT;
  return is_padding && is_only_reader(kernel, choice->operands[1], value) ? choice->operands[1] : -1;
}

const KernelValue *tile_load_value(const Kernel *kernel, int32_t value) {
  if (kernel->values[value].kind == KERNEL_LOAD) return &kernel->values[value];
  int32_t load = padded_load(kernel, value);
  return load >= 0 ? &kernel->values[load] : NULL;
}

int32_t tile_load_padding(const Kernel *kernel, int32_t value) {
  return kernel->values[value].kind == KERNEL_LOAD ? -1 : kernel->values[value].operands[2];
}

/* --- what a load's address is made of --- */

bool tile_atom_is_run_time(const Kernel *kernel, const IndexAtom *atom) {
  bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
  return atom->kind == INDEX_ATOM_VALUE || (is_nested && index_has_atom(&kernel->space, atom->inner, INDEX_ATOM_VALUE));
}

static void index_dims(const Kernel *kernel, IndexExpr expr, bool run_time_only, uint64_t *dims) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) {
      *dims |= kernel->values[atom->number].dims;
    } else if (atom->kind == INDEX_ATOM_DIM) {
      if (!run_time_only) *dims |= UINT64_C(1) << atom->number;
    } else {
      index_dims(kernel, atom->inner, run_time_only && !tile_atom_is_run_time(kernel, atom), dims);
    }
  }
}

static int64_t magnitude(int64_t coefficient) {
  return coefficient < 0 ? -coefficient : coefficient;
}

/* Whether dim |a| is walked outside of dim |b| in a tile: what the plain address does not know comes first, then larger
 * strides, then smaller numbers. */
static bool axis_before(const Kernel *kernel, IndexExpr address, int a, int b) {
  int64_t stride_a = magnitude(index_dim_coefficient(&kernel->space, address, a));
  int64_t stride_b = magnitude(index_dim_coefficient(&kernel->space, address, b));
  if ((stride_a == 0) != (stride_b == 0)) return stride_a == 0;
  return stride_a != stride_b ? stride_a > stride_b : a < b;
}

static int32_t order_axes(const Kernel *kernel, IndexExpr address, uint64_t dims, int32_t *out_axes) {
  int32_t count = 0;
  for (int d = 0; d < kernel->dim_count; d++) {
    if ((dims >> d & 1) == 0) continue;
    int32_t at = count++;
    for (; at > 0 && axis_before(kernel, address, d, out_axes[at - 1]); at--) out_axes[at] = out_axes[at - 1];
    out_axes[at] = d;
  }
  return count;
}

int32_t tile_load_axes(const Kernel *kernel, int32_t value, int32_t *out_axes) {
  const KernelValue *load = tile_load_value(kernel, value);
  return order_axes(kernel, load->address, load->dims, out_axes);
}

int32_t tile_index_axes(const Kernel *kernel, int32_t value, int32_t *out_axes) {
  uint64_t dims = 0;
  IndexExpr address = tile_load_value(kernel, value)->address;
  index_dims(kernel, address, true, &dims);
  return order_axes(kernel, address, dims, out_axes);
}

/* Its tile has points from the last to the first: along them there is no kernel that brings them. */
static bool descends(const Kernel *kernel, int32_t value) {
  int32_t axes[KERNEL_MAX_DIMS];
  int32_t count = tile_load_axes(kernel, value, axes);
  for (int32_t i = 0; i < count; i++)
    if (tile_load_descends(kernel, value, axes[i])) return true;
  return false;
}

static bool is_start(const Kernel *kernel, const IndexAtom *atom) {
  return atom->kind == INDEX_ATOM_VALUE && kernel->values[atom->number].dims == 0;
}

bool tile_may_bring(const Kernel *kernel, int32_t value, bool gathers) {
  const KernelValue *load = tile_load_value(kernel, value);
  if (load == NULL || kernel->buffers[load->buffer].role != KERNEL_OPERAND) return false;
  if (descends(kernel, value)) return false;
  if (gathers) return tile_load_is_gather(kernel, value);
  for (int i = 0; i < load->address.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[load->address.terms[i].atom];
    if (tile_atom_is_run_time(kernel, atom) && !is_start(kernel, atom)) return false;
  }
  return true;
}

bool tile_load_is_gather(const Kernel *kernel, int32_t value) {
  IndexExpr address = tile_load_value(kernel, value)->address;
  uint64_t dims = 0;
  index_dims(kernel, address, true, &dims);
  bool is_gather = dims != 0;
  for (int i = 0; i < address.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[address.terms[i].atom];
    is_gather = is_gather || (atom->kind != INDEX_ATOM_VALUE && tile_atom_is_run_time(kernel, atom));
  }
  return is_gather;
}

static bool has_start(const Kernel *kernel, IndexExpr address) {
  bool found = false;
  for (int i = 0; i < address.term_count; i++)
    found = found || is_start(kernel, &kernel->space.atoms.data[address.terms[i].atom]);
  return found;
}

bool tile_address_is_linear(const Kernel *kernel, IndexExpr address) {
  for (int i = 0; i < address.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[address.terms[i].atom];
    if (atom->kind != INDEX_ATOM_DIM && !is_start(kernel, atom)) return false;
  }
  return true;
}

static uint64_t outer_dims(const Kernel *kernel) {
  uint64_t dims = 0;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER) dims |= UINT64_C(1) << d;
  }
  return dims;
}

int32_t tile_scratch_axes(const Kernel *kernel, IndexExpr address, int32_t *out_axes) {
  uint64_t outer = outer_dims(kernel), inner = 0;
  index_dims(kernel, address, false, &inner);
  int32_t count = order_axes(kernel, index_constant(0), outer, out_axes);
  return count + order_axes(kernel, address, inner & ~outer, out_axes + count);
}

/* --- buffers that are updated --- */

/* Whether points meet in one element of |address|, which is linear, and the Kernel walks some of them in order.  By the
 * dims' strides, smaller ones first: points stay apart where each stride passes all that the smaller ones reach. */
static bool meets_in_order(const Kernel *kernel, IndexExpr address) {
  struct Stride {
    int64_t stride, extent;
  } strides[KERNEL_MAX_DIMS];
  int count = 0;
  bool has_order = false;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    struct Stride dim = {magnitude(index_dim_coefficient(&kernel->space, address, d)), kernel->dims[d].extent};
    has_order = has_order || kernel->dims[d].kind == KERNEL_SEQUENTIAL;
    int at = count++;
    for (; at > 0 && strides[at - 1].stride > dim.stride; at--) strides[at] = strides[at - 1];
    strides[at] = dim;
  }
  int64_t reach = 0;
  for (int i = 0; i < count && has_order; i++) {
    if (strides[i].extent > 1 && strides[i].stride <= reach) return true;
    reach += strides[i].stride * (strides[i].extent - 1);
  }
  return false;
}

bool tile_is_updated(const Kernel *kernel, int32_t buffer) {
  if (kernel->buffers[buffer].role != KERNEL_IN_PLACE) return false;
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (store->buffer != buffer) continue;
      if (store->predicate >= 0 || !tile_address_is_linear(kernel, store->address)) return true;
      if (meets_in_order(kernel, store->address)) return true;
    }
  }
  return false;
}

int64_t tile_stored_elements(const Kernel *kernel, int32_t buffer) {
  int64_t sum = 0;
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      if (kernel->stages[s].stores[i].buffer != buffer) continue;
      int64_t points = 1;
      for (int32_t d = 0; d < kernel->dim_count; d++) {
        bool walks = kernel->dims[d].stage == KERNEL_OUTER || kernel->dims[d].stage == s;
        if (walks) points *= kernel->dims[d].extent;
      }
      sum += points;
    }
  }
  return sum;
}

/* --- what a cover needs --- */

typedef struct CoverWalk {
  Arena *arena;
  const Kernel *kernel;
  const TileCover *cover;
  bool *needed;       /* values; loads are where it ends */
  bool *folds_before; /* folds of earlier stages whose final values are read */
  ARRAY(TileAccess) found;
} CoverWalk;

static bool in_cover(const CoverWalk *walk, int32_t stage) {
  return stage >= walk->cover->first_stage && stage <= walk->cover->last_stage;
}

static void need(CoverWalk *walk, int32_t value) {
  if (value >= 0) walk->needed[value] = true;
}

static void need_index(CoverWalk *walk, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &walk->kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) need(walk, atom->number);
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) need_index(walk, atom->inner);
  }
}

static void need_roots(CoverWalk *walk) {
  const Kernel *kernel = walk->kernel;
  if (walk->cover->index_value >= 0) {
    need_index(walk, tile_load_value(kernel, walk->cover->index_value)->address);
    return;
  }
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    if (!in_cover(walk, kernel->folds[f].stage)) continue;
    need(walk, kernel->folds[f].seed);
    need(walk, kernel->folds[f].next);
  }
  for (int32_t s = walk->cover->first_stage; s <= walk->cover->last_stage; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      need(walk, kernel->stages[s].stores[i].value);
      need(walk, kernel->stages[s].stores[i].predicate);
      if (tile_is_updated(kernel, kernel->stages[s].stores[i].buffer))
        need_index(walk, kernel->stages[s].stores[i].address);
    }
  }
}

/* Operands have smaller numbers than what reads them, so one sweep downwards finds all. */
static void need_operands(CoverWalk *walk) {
  const Kernel *kernel = walk->kernel;
  for (int32_t v = kernel->value_count - 1; v >= 0; v--) {
    if (!walk->needed[v]) continue;
    const KernelValue *value = &kernel->values[v];
    const KernelValue *load = tile_load_value(kernel, v);
    if (load != NULL && !tile_is_updated(kernel, load->buffer)) continue;
    if (value->kind == KERNEL_ACCUMULATOR && kernel->folds[value->fold].stage < walk->cover->first_stage) {
      walk->folds_before[value->fold] = true;
    }
    for (int i = 0; i < value->operand_count; i++) need(walk, value->operands[i]);
    need(walk, value->predicate);
    need_index(walk, value->address);
  }
}

static bool is_scratch(const Kernel *kernel, int32_t buffer) {
  return kernel->buffers[buffer].role == KERNEL_SCRATCH;
}

static bool same_range(const PlanRange *a, const PlanRange *b) {
  return index_equal(a->begin, b->begin) && plan_range_same_size(a, b);
}

/* Nothing guards it, and no term of its address is a quotient or remainder. */
static bool is_plain_load(const Kernel *kernel, const KernelValue *value) {
  if (value->predicate >= 0) return false;
  for (int i = 0; i < value->address.term_count; i++) {
    IndexAtomKind kind = kernel->space.atoms.data[value->address.terms[i].atom].kind;
    if (kind == INDEX_ATOM_DIV || kind == INDEX_ATOM_MOD) return false;
  }
  return true;
}

/* The run-time terms of both addresses are the same. */
static bool same_run_time_terms(const Kernel *kernel, IndexExpr a, IndexExpr b) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a.term_count && kernel->space.atoms.data[a.terms[i].atom].kind != INDEX_ATOM_VALUE) i++;
    while (j < b.term_count && kernel->space.atoms.data[b.terms[j].atom].kind != INDEX_ATOM_VALUE) j++;
    if (i == a.term_count || j == b.term_count) return i == a.term_count && j == b.term_count;
    if (a.terms[i].atom != b.terms[j].atom || a.terms[i].coefficient != b.terms[j].coefficient) return false;
  }
}

/* Loads that read the same elements, or parts of the same, in the same order of axes. */
static bool shares_tile(const CoverWalk *walk, const TileAccess *access, int32_t number) {
  const Kernel *kernel = walk->kernel;
  if (access->kind != TILE_LOAD) return false;
  if (access->value == number) return true;
  const KernelValue *a = tile_load_value(kernel, access->value), *b = tile_load_value(kernel, number);
  int64_t parts = access->parts;
  if (a->buffer != b->buffer || parts != tile_load_parts(kernel, number)) return false;
  if (a->address.constant - tile_part_of(a->address, parts) != b->address.constant - tile_part_of(b->address, parts))
    return false;
  if (!is_plain_load(kernel, a) || !is_plain_load(kernel, b)) return false;
  if (!same_run_time_terms(kernel, a->address, b->address)) return false;
  int32_t axes[KERNEL_MAX_DIMS];
  if (tile_load_axes(kernel, number, axes) != access->axis_count) return false;
  for (int32_t i = 0; i < access->axis_count; i++) {
    int64_t stride_a = index_dim_coefficient(&kernel->space, a->address, access->axes[i]);
    int64_t stride_b = index_dim_coefficient(&kernel->space, b->address, axes[i]);
    if (stride_a != stride_b) return false;
    if (!same_range(&walk->cover->points[access->axes[i]], &walk->cover->points[axes[i]])) return false;
  }
  return true;
}

static TileAccess *find_scratch(CoverWalk *walk, int32_t buffer) {
  for (int64_t i = 0; i < walk->found.count; i++) {
    TileAccess *access = &walk->found.data[i];
    if (access->kind == TILE_SCRATCH && access->buffer == buffer) return access;
  }
  return NULL;
}

static TileAccess blank_access(TileAccessKind kind, PrimitiveType type) {
  TileAccess access = {.kind = kind, .value = -1, .stage = -1, .store = -1, .fold = -1, .buffer = -1, .type = type};
  access.parts = 1;
  return access;
}

/* --- what is read --- */

static void find_loads(CoverWalk *walk) {
  const Kernel *kernel = walk->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = walk->needed[v] ? tile_load_value(kernel, v) : NULL;
    if (value == NULL || is_scratch(kernel, value->buffer)) continue;
    if (tile_is_updated(kernel, value->buffer)) continue;
    bool shared = false;
    for (int64_t i = 0; i < walk->found.count && !shared; i++) shared = shares_tile(walk, &walk->found.data[i], v);
    if (shared) continue;
    TileAccess access = blank_access(TILE_LOAD, value->type);
    access.value = v;
    access.buffer = value->buffer;
    access.is_read = true;
    access.axis_count = tile_load_axes(kernel, v, access.axes);
    access.parts = tile_load_parts(kernel, v);
    array_push(&walk->found, walk->arena, access);
  }
}

static bool stores_into(const CoverWalk *walk, int32_t buffer) {
  const Kernel *kernel = walk->kernel;
  for (int32_t s = walk->cover->first_stage; s <= walk->cover->last_stage; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      if (kernel->stages[s].stores[i].buffer == buffer) return true;
    }
  }
  return false;
}

static bool is_loaded(const CoverWalk *walk, int32_t buffer) {
  const Kernel *kernel = walk->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (walk->needed[v] && kernel->values[v].kind == KERNEL_LOAD && kernel->values[v].buffer == buffer) return true;
  }
  return false;
}

static void add_scratch(CoverWalk *walk, int32_t buffer, IndexExpr address, bool is_written) {
  if (find_scratch(walk, buffer) != NULL) return;
  TileAccess access = blank_access(TILE_SCRATCH, walk->kernel->buffers[buffer].type);
  access.buffer = buffer;
  access.is_read = !is_written;
  access.is_written = is_written;
  access.is_read_back = is_written && is_loaded(walk, buffer);
  access.axis_count = tile_scratch_axes(walk->kernel, address, access.axes);
  array_push(&walk->found, walk->arena, access);
}

/* By buffer, as the order of accesses promises. */
static void find_scratch_reads(CoverWalk *walk) {
  const Kernel *kernel = walk->kernel;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (!is_scratch(kernel, b) || stores_into(walk, b)) continue;
    for (int32_t v = 0; v < kernel->value_count; v++) {
      const KernelValue *value = &kernel->values[v];
      if (walk->needed[v] && value->kind == KERNEL_LOAD && value->buffer == b)
        add_scratch(walk, b, value->address, false);
    }
  }
}

static void add_accumulator(CoverWalk *walk, int32_t fold, bool is_written) {
  TileAccess access = blank_access(TILE_ACCUMULATOR, walk->kernel->folds[fold].type);
  access.fold = fold;
  access.is_read = true;
  access.is_written = is_written;
  access.axis_count = order_axes(walk->kernel, index_constant(0), outer_dims(walk->kernel), access.axes);
  array_push(&walk->found, walk->arena, access);
}

/* --- what is written --- */

static void find_updated(CoverWalk *walk) {
  for (int32_t b = 0; b < walk->kernel->buffer_count; b++) {
    if (!tile_is_updated(walk->kernel, b) || !stores_into(walk, b)) continue;
    TileAccess access = blank_access(TILE_UPDATED, walk->kernel->buffers[b].type);
    access.buffer = b;
    access.is_read = access.is_written = true;
    array_push(&walk->found, walk->arena, access);
  }
}

/* Whether store |store| shares the tile of one before it. */
static bool is_later_part(const Kernel *kernel, int32_t stage, int32_t store) {
  const KernelStore *stores = kernel->stages[stage].stores;
  bool is_later = false;
  for (int32_t i = 0; i < store; i++) is_later = is_later || stores[i].buffer == stores[store].buffer;
  return is_later && tile_store_parts(kernel, stage, store) > 1;
}

static void find_stores(CoverWalk *walk) {
  const Kernel *kernel = walk->kernel;
  for (int32_t s = walk->cover->first_stage; s <= walk->cover->last_stage; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (is_scratch(kernel, store->buffer) || tile_is_updated(kernel, store->buffer)) continue;
      if (is_later_part(kernel, s, i)) continue;
      TileAccess access = blank_access(TILE_STORE, kernel->buffers[store->buffer].type);
      access.stage = s;
      access.store = i;
      access.buffer = store->buffer;
      access.is_written = true;
      uint64_t dims = 0;
      index_dims(kernel, store->address, false, &dims);
      access.axis_count = order_axes(kernel, store->address, dims, access.axes);
      access.parts = tile_store_parts(kernel, s, i);
      array_push(&walk->found, walk->arena, access);
    }
  }
}

static void find_scratch_writes(CoverWalk *walk) {
  const Kernel *kernel = walk->kernel;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (!is_scratch(kernel, b)) continue;
    for (int32_t s = walk->cover->first_stage; s <= walk->cover->last_stage; s++) {
      for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
        const KernelStore *store = &kernel->stages[s].stores[i];
        if (store->buffer == b) add_scratch(walk, b, store->address, true);
      }
    }
  }
}

static void add_index(CoverWalk *walk) {
  TileAccess access = blank_access(TILE_INDEX, TYPE_S64);
  access.value = walk->cover->index_value;
  access.is_written = true;
  access.axis_count = tile_index_axes(walk->kernel, access.value, access.axes);
  array_push(&walk->found, walk->arena, access);
}

static CoverWalk walk_stages(Arena *arena, const Kernel *kernel, const TileCover *cover) {
  CoverWalk walk = {.arena = arena, .kernel = kernel, .cover = cover};
  walk.needed = ARENA_NEW_ARRAY(arena, bool, kernel->value_count);
  walk.folds_before = ARENA_NEW_ARRAY(arena, bool, kernel->fold_count);
  need_roots(&walk);
  need_operands(&walk);
  return walk;
}

TileAccesses tile_accesses(Arena *arena, const Kernel *kernel, const TileCover *cover) {
  CoverWalk walk = walk_stages(arena, kernel, cover);
  find_loads(&walk);
  if (cover->index_value >= 0) {
    add_index(&walk);
    return (TileAccesses){(int32_t)walk.found.count, walk.found.data};
  }
  find_scratch_reads(&walk);
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    if (walk.folds_before[f]) add_accumulator(&walk, f, false);
  }
  find_updated(&walk);
  find_stores(&walk);
  find_scratch_writes(&walk);
  for (int32_t f = 0; f < kernel->fold_count && cover->keeps_accumulators; f++) {
    if (in_cover(&walk, kernel->folds[f].stage)) add_accumulator(&walk, f, true);
  }
  return (TileAccesses){(int32_t)walk.found.count, walk.found.data};
}

int32_t tile_access_of_load(const Kernel *kernel, const TileCover *cover, const TileAccesses *accesses, int32_t value) {
  CoverWalk walk = {.kernel = kernel, .cover = cover};
  int32_t buffer = tile_load_value(kernel, value)->buffer;
  for (int32_t i = 0; i < accesses->count; i++) {
    const TileAccess *access = &accesses->accesses[i];
    bool is_whole = access->kind == TILE_SCRATCH || access->kind == TILE_UPDATED;
    if (is_whole && access->buffer == buffer) return i;
    if (access->kind == TILE_LOAD && shares_tile(&walk, access, value)) return i;
  }
  return -1;
}

/* --- folds that are results --- */

/* Element n of |store|'s array is the one of point n of the outer dims, in row-major order. */
static bool is_stored_in_order(const Kernel *kernel, const KernelStore *store) {
  int64_t elements = 1;
  uint64_t dims = 0;
  index_dims(kernel, store->address, false, &dims);
  if (!tile_address_is_linear(kernel, store->address) || store->address.constant != 0) return false;
  for (int32_t d = kernel->dim_count - 1; d >= 0; d--) {
    bool is_outer = kernel->dims[d].stage == KERNEL_OUTER, is_there = (dims >> d & 1) != 0;
    if (is_outer != is_there) return false;
    if (is_outer && index_dim_coefficient(&kernel->space, store->address, d) != elements) return false;
    if (is_outer) elements *= kernel->dims[d].extent;
  }
  return elements == kernel->buffers[store->buffer].element_count && !has_start(kernel, store->address);
}

static bool is_stored_fold(const Kernel *kernel, int32_t stage, const KernelStore *store) {
  const KernelValue *value = &kernel->values[store->value];
  const KernelBuffer *buffer = &kernel->buffers[store->buffer];
  return value->kind == KERNEL_ACCUMULATOR && kernel->folds[value->fold].stage < stage && store->predicate < 0 &&
         buffer->role == KERNEL_RESULT && buffer->type == kernel->folds[value->fold].type &&
         is_stored_in_order(kernel, store);
}

/* Whether |stage| walks dims of its own or folds. */
static bool walks_inside(const Kernel *kernel, int32_t stage) {
  bool walks = false;
  for (int32_t f = 0; f < kernel->fold_count; f++) walks = walks || kernel->folds[f].stage == stage;
  for (int32_t d = 0; d < kernel->dim_count; d++) walks = walks || kernel->dims[d].stage == stage;
  return walks;
}

int32_t tile_stored_fold(const Kernel *kernel, int32_t stage) {
  const KernelStage *of = &kernel->stages[stage];
  if (of->store_count != 1 || of->comparator != NULL || !is_stored_fold(kernel, stage, &of->stores[0])) return -1;
  return walks_inside(kernel, stage) ? -1 : kernel->values[of->stores[0].value].fold;
}

/* --- in place --- */

/* Every point that the cover walks has an element of its own. */
bool tile_store_has_all_points(const Kernel *kernel, const TileCover *cover, const TileAccess *target) {
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    bool is_there = kernel->dims[d].stage != KERNEL_OUTER || cover->points[d].extent == 1;
    for (int32_t i = 0; i < target->axis_count; i++) is_there = is_there || target->axes[i] == d;
    if (!is_there) return false;
  }
  return true;
}

/* Axis for axis the load goes with the store, or through the store's row in an earlier stage. */
static bool goes_with(const CoverWalk *walk, int32_t load, const TileAccess *target) {
  const KernelDim *dims = walk->kernel->dims;
  int32_t axes[KERNEL_MAX_DIMS];
  if (tile_load_axes(walk->kernel, load, axes) != target->axis_count) return false;
  for (int32_t i = 0; i < target->axis_count; i++) {
    if (tile_load_descends(walk->kernel, load, axes[i])) return false;
    if (axes[i] == target->axes[i]) continue;
    bool is_inner = dims[axes[i]].stage != KERNEL_OUTER && dims[target->axes[i]].stage != KERNEL_OUTER;
    bool is_before = is_inner && dims[axes[i]].stage < target->stage;
    if (!is_before || !same_range(&walk->cover->points[axes[i]], &walk->cover->points[target->axes[i]])) return false;
  }
  return true;
}

/* Whether |source| is a load's and |target| a store's of elements alike. */
static bool may_be_in_place(const Kernel *kernel, const TileAccess *source, const TileAccess *target) {
  if (source->kind != TILE_LOAD || target->kind != TILE_STORE || source->axis_count != target->axis_count) return false;
  if (source->parts > 1 || target->parts > 1) return false; /* a part may be written before another one is read */
  if (type_storage_bytes(source->type) != type_storage_bytes(target->type)) return false;
  return kernel->stages[target->stage].comparator == NULL; /* any element may come to any place */
}

bool tile_goes_with_store(const Kernel *kernel, const TileCover *cover, const TileAccess *source,
                          const TileAccess *target) {
  if (!may_be_in_place(kernel, source, target)) return false;
  Arena *scratch = arena_create();
  TileCover after = *cover;
  after.first_stage = target->stage + 1;
  CoverWalk all = walk_stages(scratch, kernel, cover), later = walk_stages(scratch, kernel, &after);
  bool is_fine = true;
  for (int32_t v = 0; v < kernel->value_count && is_fine; v++) {
    bool is_it = all.needed[v] && tile_load_value(kernel, v) != NULL && shares_tile(&all, source, v);
    if (is_it) is_fine = !later.needed[v] && goes_with(&all, v, target);
  }
  arena_destroy(scratch);
  return is_fine;
}

/* Whether a stage after |stage| reads what |fold| has left. */
static bool is_fold_needed_after(const Kernel *kernel, const TileCover *cover, int32_t fold, int32_t stage) {
  Arena *scratch = arena_create();
  TileCover after = *cover;
  after.first_stage = stage + 1;
  after.last_stage = kernel->stage_count - 1;
  bool is_needed = walk_stages(scratch, kernel, &after).folds_before[fold];
  arena_destroy(scratch);
  return is_needed;
}

bool tile_stores_over_fold(const Kernel *kernel, const TileCover *cover, const TileAccess *source,
                           const TileAccess *target) {
  if (source->kind != TILE_ACCUMULATOR || source->is_written || target->kind != TILE_STORE) return false;
  const KernelStage *stage = &kernel->stages[target->stage];
  bool is_alike = source->type == target->type && source->axis_count == target->axis_count && target->parts == 1;
  for (int32_t i = 0; i < target->axis_count && is_alike; i++) is_alike = source->axes[i] == target->axes[i];
  bool is_plain = kernel->buffers[target->buffer].role == KERNEL_RESULT && stage->comparator == NULL &&
                  stage->stores[target->store].predicate < 0 && !walks_inside(kernel, target->stage);
  return is_alike && is_plain && !is_fold_needed_after(kernel, cover, source->fold, target->stage);
}

bool tile_stores_in_place(const Kernel *kernel, const TileCover *cover, const TileAccess *source,
                          const TileAccess *target) {
  if (source->kind == TILE_ACCUMULATOR)
    return tile_store_has_all_points(kernel, cover, target) && tile_stores_over_fold(kernel, cover, source, target);
  return tile_store_has_all_points(kernel, cover, target) && tile_goes_with_store(kernel, cover, source, target);
}
