/* How loops go through memory: in several places at once, in rows, past the caches.  All three are about arrays that
 * are larger than the caches; what is computed is the same, in the same order but for streams of folds. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* Half of a large last-level cache: what is this long would not be there any more when somebody reads it. */
#define STREAMED_BYTES (INT64_C(16) << 20)

/* --- streams --- */

#define STREAM_ELEMENTS 4096 /* at least, of each: runs of a page or two are over before they are fetched ahead */
#define STREAM_APPLIES 4     /* at most: there are so few registers */
#define STREAM_LOADS 2

/* Loads that the hardware can fetch ahead: all of the stage are contiguous along |dim|. */
static bool loads_in_order(const Kernel *kernel, int stage, int dim, int *out_loads, int *out_applies) {
  *out_loads = *out_applies = 0;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    int64_t stride;
    if (value->stage != stage) continue;
    if (value->kind == KERNEL_APPLY) ++*out_applies;
    if (value->kind != KERNEL_LOAD) continue;
    bool is_plain = kernel_plain_stride(kernel, value->address, dim, &stride);
    if (!is_plain || stride != 1 || value->predicate >= 0) return false;
    ++*out_loads;
  }
  return true;
}

/* The stage of |dim| does little but read along it and fold; how many folds.  0: it does more. */
static int plain_fold_count(const Kernel *kernel, int dim) {
  int stage = kernel->dims[dim].stage, folds = 0, loads, applies;
  if (stage == KERNEL_OUTER || kernel->stages[stage].store_count > 0) return 0;
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage != stage) continue;
    if (kernel->folds[f].is_scan) return 0;
    folds++;
  }
  if (!loads_in_order(kernel, stage, dim, &loads, &applies)) return 0;
  return loads >= 1 && loads <= STREAM_LOADS && applies <= STREAM_APPLIES ? folds : 0;
}

int memory_stream_count(const Kernel *kernel, int dim) {
  if (kernel->dims[dim].extent < MAX_STREAMS * STREAM_ELEMENTS) return 1;
  return plain_fold_count(kernel, dim) == 1 ? MAX_STREAMS : 1;
}

/* --- asking ahead --- */

#define PAGE_BYTES 4096

#define AHEAD_BYTES 8192         /* two pages: the hardware stops at the end of each */
#define STREAMS_AHEAD_BYTES 2048 /* of each of several places at once: further on they push one another out */
#define AHEAD_FROM_BYTES 4096    /* of a row, at least */

static int64_t buffer_bytes(const Kernel *kernel, int32_t buffer) {
  return kernel->buffers[buffer].element_count * type_storage_bytes(kernel->buffers[buffer].type);
}

static int load_count(const Kernel *kernel, int32_t buffer) {
  int count = 0;
  for (int v = 0; v < kernel->value_count; v++)
    count += kernel->values[v].kind == KERNEL_LOAD && kernel->values[v].buffer == buffer;
  return count;
}

/* Of a fold of rows that are read once. */
static int64_t folded_ahead(const Kernel *kernel, int dim) {
  if (kernel->dims[dim].stage != 0 || plain_fold_count(kernel, dim) == 0) return 0;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || value->stage != 0) continue;
    int64_t bytes = type_storage_bytes(kernel->buffers[value->buffer].type);
    if (load_count(kernel, value->buffer) > 1) return 0; /* other loops take longer than what they read */
    if (kernel->dims[dim].extent * bytes < AHEAD_FROM_BYTES) return 0;
    if (buffer_bytes(kernel, value->buffer) < STREAMED_BYTES) return 0;
  }
  return memory_stream_count(kernel, dim) > 1 ? STREAMS_AHEAD_BYTES : AHEAD_BYTES;
}

/* A page and a quarter: their vectors are few in the time that memory takes.  A prefetch waits for stores that have not
 * reached the caches where the low 12 bits of both addresses are the same, and results begin where arguments do, modulo
 * a page, wherever arrays begin at pages. */
#define FUNCTIONS_AHEAD_BYTES 5120
#define FUNCTIONS_LOADS 4

/* Of functions of elements: a processor sees too few vectors at once to read the next page before they are done. */
static int64_t functions_ahead(const Kernel *kernel, int dim) {
  int loads = 0;
  bool has_functions = false;
  if (kernel->fold_count > 0 || kernel->stage_count > 1) return 0;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    has_functions |= value->kind == KERNEL_APPLY && hlo_opcode_is_function(value->opcode);
    int64_t bytes = type_storage_bytes(value->type);
    loads += kernel->dims[dim].extent * bytes >= AHEAD_FROM_BYTES && memory_is_asked_ahead(kernel, value, dim);
  }
  return has_functions && loads > 0 && loads <= FUNCTIONS_LOADS ? FUNCTIONS_AHEAD_BYTES : 0;
}

bool memory_is_asked_ahead(const Kernel *kernel, const KernelValue *value, int dim) {
  int64_t stride;
  if (value->kind != KERNEL_LOAD || value->predicate >= 0) return false;
  if (!kernel_plain_stride(kernel, value->address, dim, &stride) || stride != 1) return false;
  return buffer_bytes(kernel, value->buffer) >= STREAMED_BYTES;
}

int64_t memory_ahead(const Kernel *kernel, int dim) {
  return kernel->dims[dim].stage == KERNEL_OUTER ? functions_ahead(kernel, dim) : folded_ahead(kernel, dim);
}

#define NEXT_ROWS_BYTES 8192                /* at least: two pages, as above */
#define BESIDE_STORES_BYTES 512             /* lest these are where results have just been stored, modulo a page */
#define SHORT_ROW_BYTES 512                 /* at least: what shorter ones wait for is not memory */
#define LONG_ROW_BYTES (INT64_C(256) << 10) /* at most: the second-level cache holds this row too */
#define ALL_ROWS_BYTES (INT64_C(2) << 20)   /* at least: else it holds them all */

int64_t memory_row_distance(const Kernel *kernel, const KernelValue *value, int dim, int row, bool is_early) {
  const KernelBuffer *buffer = &kernel->buffers[value->buffer];
  int64_t along, between, bytes = type_storage_bytes(buffer->type);
  bool is_row = kernel_plain_stride(kernel, value->address, dim, &along) && along == 1;
  if (!is_row || buffer->role == KERNEL_SCRATCH) return 0;
  if (!kernel_plain_stride(kernel, value->address, row, &between)) return 0;
  if (is_early) return between == 0 ? 0 : between * bytes + NEXT_ROWS_BYTES + BESIDE_STORES_BYTES;
  return between * bytes * ceil_div(NEXT_ROWS_BYTES, kernel->dims[dim].extent * bytes);
}

bool memory_asks_next_rows(const Kernel *kernel, int stage, int dim, int row) {
  int64_t row_bytes = 0, all_bytes = 0;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || value->stage != stage) continue;
    if (memory_row_distance(kernel, value, dim, row, false) == 0) continue;
    row_bytes += kernel->dims[dim].extent * type_storage_bytes(kernel->buffers[value->buffer].type);
    all_bytes = max_i64(all_bytes, buffer_bytes(kernel, value->buffer));
  }
  return row_bytes >= SHORT_ROW_BYTES && row_bytes <= LONG_ROW_BYTES && all_bytes >= ALL_ROWS_BYTES;
}

#define LEAST_PERIOD 1024 /* rows at more places in a page are in their way now and then wherever they lie */

RowsApart memory_rows_apart(const Kernel *kernel, int stage, int dim, int row) {
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    int64_t between;
    if (value->kind != KERNEL_LOAD || value->stage != stage) continue;
    if (memory_row_distance(kernel, value, dim, row, false) == 0) continue;
    if (!kernel_plain_stride(kernel, value->address, row, &between)) continue;
    int64_t bytes = between * type_storage_bytes(kernel->buffers[value->buffer].type);
    int64_t period = min_i64(bytes & -bytes, PAGE_BYTES);
    return (RowsApart){.period = period >= LEAST_PERIOD ? period : 0, .buffer = value->buffer};
  }
  return (RowsApart){0};
}

/* --- ranges --- */

#define CUT_POINTS 4096 /* of the Kernel, at least: each range has code of its own */

/* Adds |end| to the ascending |ends|, of which there are |count|; false when there is no room. */
static bool add_end(int64_t end, int64_t ends[MAX_RANGES], int *count) {
  int place = 0;
  while (place < *count && ends[place] < end) place++;
  if (place < *count && ends[place] == end) return true;
  if (*count == MAX_RANGES) return false;
  for (int i = *count; i > place; i--) ends[i] = ends[i - 1];
  ends[place] = end;
  ++*count;
  return true;
}

/* lower <= ±d + constant < upper begins or ends to hold at two indices. */
static bool add_changes(const KernelValue *value, int64_t extent, int64_t ends[MAX_RANGES], int *count) {
  int64_t sign = value->address.terms[0].coefficient, constant = value->address.constant;
  int64_t changes[] = {value->lower - constant, value->upper - constant};
  for (int i = 0; i < 2; i++) {
    int64_t index = sign > 0 ? changes[i] : 1 - changes[i];
    if (index > 0 && index < extent && !add_end(index, ends, count)) return false;
  }
  return true;
}

static bool tests_index(const Kernel *kernel, const KernelValue *value, int dim) {
  if (value->kind != KERNEL_IN_RANGE || value->address.term_count != 1) return false;
  const IndexTerm *term = &value->address.terms[0];
  const IndexAtom *atom = &kernel->space.atoms.data[term->atom];
  return atom->kind == INDEX_ATOM_DIM && atom->number == dim && (term->coefficient == 1 || term->coefficient == -1);
}

static double outer_points(const Kernel *kernel) {
  double points = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER) points *= (double)kernel->dims[d].extent;
  }
  return points;
}

int memory_known_ranges(const Kernel *kernel, int dim, int64_t ends[MAX_RANGES]) {
  int count = 0;
  if (outer_points(kernel) < CUT_POINTS) return 1;
  add_end(kernel->dims[dim].extent, ends, &count);
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (tests_index(kernel, value, dim) && !add_changes(value, kernel->dims[dim].extent, ends, &count)) return 1;
  }
  return count;
}

/* --- sweeps --- */

#define SWEEP_TILE_BYTES 16384 /* of accumulators: half of the first-level cache */
#define SWEEP_ROW_BYTES 4096   /* of what is read, from one row to the next, at least: else rows are near enough */
#define SWEEP_BYTES 2097152    /* of what is read, at least: else the second-level cache has it */

/* The one inner dim, of the one stage that folds; -1: there is none. */
static int only_inner_dim(const Kernel *kernel) {
  int found = -1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found >= 0 && kernel->dims[found].kind == KERNEL_REDUCTION ? found : -1;
}

/* Folds of a stage that stores nothing, or scans of the only stage, whose stores go along |dim| to what no cache holds:
 * in the caches the rows of powers of two would be in one another's way. */
static bool may_be_swept(const Kernel *kernel, int stage, int dim) {
  const KernelStage *info = &kernel->stages[stage];
  bool are_scans = info->store_count > 0;
  if (kernel->fold_count == 0 || kernel->fold_count > SWEEP_MOST_FOLDS || (are_scans && kernel->stage_count > 1))
    return false;
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage != stage || kernel->folds[f].is_scan != are_scans) return false;
  }
  for (int i = 0; i < info->store_count; i++) {
    int64_t stride;
    bool is_plain = kernel_plain_stride(kernel, info->stores[i].address, dim, &stride) && stride == 1;
    const KernelBuffer *buffer = &kernel->buffers[info->stores[i].buffer];
    bool is_large = buffer->element_count * type_storage_bytes(buffer->type) >= STREAMED_BYTES;
    if (!is_plain || !is_large || info->stores[i].predicate >= 0) return false;
  }
  return true;
}

/* Whether rows of a large array are read: far apart, each contiguous along |dim|. */
static bool reads_far_rows(const Kernel *kernel, int rows, int dim) {
  int loads, applies;
  if (!loads_in_order(kernel, kernel->dims[rows].stage, dim, &loads, &applies) || loads == 0) return false;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    int64_t stride;
    if (value->stage != kernel->dims[rows].stage || value->kind != KERNEL_LOAD) continue;
    int64_t bytes = type_storage_bytes(kernel->buffers[value->buffer].type);
    if (!kernel_plain_stride(kernel, value->address, rows, &stride)) return false;
    if (max_i64(stride, -stride) * bytes < SWEEP_ROW_BYTES) return false;
    if (kernel->dims[rows].extent * kernel->dims[dim].extent * bytes < SWEEP_BYTES) return false;
  }
  return true;
}

/* Nothing that is read can lie where |buffer| will: that would be as large. */
static bool shares_nothing(const Kernel *kernel, const KernelBuffer *buffer) {
  int64_t bytes = buffer->element_count * type_storage_bytes(buffer->type);
  for (int v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind != KERNEL_LOAD) continue;
    const KernelBuffer *read = &kernel->buffers[kernel->values[v].buffer];
    if (read->element_count * type_storage_bytes(read->type) == bytes) return false;
  }
  return true;
}

/* What |store| writes last may hold accumulators of |type| before. */
static bool may_hold(const Kernel *kernel, const KernelStore *store, int dim, PrimitiveType type) {
  const KernelBuffer *buffer = &kernel->buffers[store->buffer];
  int64_t stride;
  if (store->predicate >= 0 || buffer->role != KERNEL_RESULT || buffer->type != type) return false;
  return kernel_plain_stride(kernel, store->address, dim, &stride) && stride == 1 && shares_nothing(kernel, buffer);
}

/* In a result where there is one for them, else in the scratch. */
static void place_accumulators(const Kernel *kernel, int dim, SweepStrategy *sweep) {
  const KernelStage *stage = &kernel->stages[kernel->stage_count - 1];
  int next = kernel->folds[0].is_scan ? stage->store_count : 0; /* those of scans hold their steps */
  for (int f = 0; f < kernel->fold_count; f++) {
    PrimitiveType type = kernel->folds[f].type;
    while (next < stage->store_count && !may_hold(kernel, &stage->stores[next], dim, type)) next++;
    if (next < stage->store_count) {
      sweep->results[f] = &stage->stores[next++];
      continue;
    }
    sweep->places[f] = sweep->bytes;
    sweep->bytes += align_up(sweep->tile_columns * type_storage_bytes(type), KERNEL_SCRATCH_ALIGNMENT);
  }
}

SweepStrategy memory_sweep_choose(const Kernel *kernel, const VectorWalk *walk) {
  SweepStrategy none = {.dim = -1};
  int rows = only_inner_dim(kernel);
  if (walk->dim < 0 || walk->is_cut || walk->parts[0].masked != 0 || rows < 0) return none;
  if (kernel->dims[rows].extent < 2 * SWEEP_ROWS || !may_be_swept(kernel, kernel->dims[rows].stage, walk->dim))
    return none;
  if (!reads_far_rows(kernel, rows, walk->dim)) return none;
  SweepStrategy sweep = {.dim = rows};
  int64_t bytes = 0;
  for (int f = 0; f < kernel->fold_count; f++) bytes += type_storage_bytes(kernel->folds[f].type);
  int64_t columns = align_up(SWEEP_TILE_BYTES / bytes, walk->parts[0].lanes);
  sweep.tile_columns = min_i64(columns, walk->parts[0].end);
  place_accumulators(kernel, walk->dim, &sweep);
  return sweep;
}

int64_t memory_sweep_distance(const Kernel *kernel, const KernelValue *value, int dim, int rows) {
  int64_t stride;
  if (!memory_is_asked_ahead(kernel, value, dim) || !kernel_plain_stride(kernel, value->address, rows, &stride))
    return 0;
  return SWEEP_ROWS * stride * type_storage_bytes(value->type);
}

/* --- past the caches --- */

/* Every store is of whole registers at multiples of their size, as far as strides and |dim|'s lanes go. */
static bool store_is_aligned(const Kernel *kernel, const KernelStore *store, int dim, int64_t elements) {
  int64_t stride;
  if (store->predicate >= 0 || !kernel_plain_stride(kernel, store->address, dim, &stride) || stride != 1) return false;
  if (store->address.constant % elements != 0) return false;
  for (int i = 0; i < store->address.term_count; i++) {
    const IndexTerm *term = &store->address.terms[i];
    const IndexAtom *atom = &kernel->space.atoms.data[term->atom];
    if (atom->kind != INDEX_ATOM_DIM) return false;
    if (atom->number != dim && term->coefficient % elements != 0) return false;
  }
  return true;
}

static bool store_is_streamed(const Kernel *kernel, const VecTarget *target, const VectorWalk *walk,
                              const KernelStore *store) {
  const KernelBuffer *buffer = &kernel->buffers[store->buffer];
  int64_t bytes = type_storage_bytes(buffer->type), elements = target->vector_bits / 8 / bytes;
  if (buffer->role == KERNEL_SCRATCH || buffer->element_count * bytes < STREAMED_BYTES) return false;
  if (walk->dim < 0 || walk->is_cut || walk->parts[0].lanes % elements != 0) return false;
  if (walk->parts[0].lanes * bytes < LINE_BYTES) return false; /* long bodies, which memory does not bound */
  return store_is_aligned(kernel, store, walk->dim, elements);
}

/* What a Kernel reads is at most so small a part of what it writes. */
#define READ_PART 8

static bool reads_little(const Kernel *kernel) {
  int64_t read = 0, written = 0;
  for (int v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind == KERNEL_LOAD) read += buffer_bytes(kernel, kernel->values[v].buffer);
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++)
      written += buffer_bytes(kernel, kernel->stages[s].stores[i].buffer);
  }
  return read <= written / READ_PART;
}

const bool *memory_streamed_buffers(const Kernel *kernel, const VecTarget *target, const VectorWalk *outer_walk,
                                    const VectorWalk *stage_walks, Arena *arena) {
  if (!target->has_uncached_stores || (target->owns_whole_lines && reads_little(kernel))) return NULL;
  bool *streamed = ARENA_NEW_ARRAY(arena, bool, kernel->buffer_count), any = false;
  bool *cached = ARENA_NEW_ARRAY(arena, bool, kernel->buffer_count);
  for (int s = 0; s < kernel->stage_count; s++) {
    const VectorWalk *walk = outer_walk->dim >= 0 ? outer_walk : &stage_walks[s];
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      bool is_streamed = store_is_streamed(kernel, target, walk, store);
      streamed[store->buffer] |= is_streamed;
      cached[store->buffer] |= !is_streamed;
    }
  }
  for (int b = 0; b < kernel->buffer_count; b++) {
    streamed[b] = streamed[b] && !cached[b];
    any |= streamed[b];
  }
  return any ? streamed : NULL;
}
