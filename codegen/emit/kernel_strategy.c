#include "codegen/emit/kernel_strategy.h"

#include "base/checked_math.h"
#include "codegen/blocks/sort.h"
#include "codegen/emit/emit_internal.h"
#include "codegen/emit/kernel_cost.h"
#include "codegen/kernel/kernel_rows.h"

/* --- scratch --- */

int emit_row_count(const Kernel *kernel) {
  int count = 0;
  for (int b = 0; b < kernel->buffer_count; b++) count += kernel->buffers[b].role == KERNEL_SCRATCH;
  return count;
}

static int64_t row_size(const KernelBuffer *row) {
  return row->role == KERNEL_SCRATCH ? row->element_count * type_storage_bytes(row->type) : 0;
}

int64_t emit_row_place(const Kernel *kernel, int buffer) {
  int64_t place = 0;
  for (int b = 0; b < buffer; b++) place += align_up(row_size(&kernel->buffers[b]), KERNEL_SCRATCH_ALIGNMENT);
  return place;
}

/* Where the last row ends. */
static int64_t rows_end(const Kernel *kernel) {
  int64_t end = 0;
  for (int b = 0; b < kernel->buffer_count; b++) {
    int64_t size = row_size(&kernel->buffers[b]);
    if (size > 0) end = emit_row_place(kernel, b) + size;
  }
  return end;
}

/* --- small Kernels --- */

#define TINY_POINTS 16
#define TINY_VALUES 64
/* More points are worth lanes where nothing is folded; more steps wait for each other longer than lanes take to be
 * added up. */
enum { UNROLLED_POINTS = 4, UNROLLED_STEPS = 4 };

/* Of the dims of |stage|, capped above TINY_POINTS. */
static int64_t stage_points(const Kernel *kernel, int stage) {
  int64_t points = 1;
  for (int d = 0; d < kernel->dim_count && points <= TINY_POINTS; d++) {
    if (kernel->dims[d].stage == stage) points *= kernel->dims[d].extent;
  }
  return points;
}

/* The steps that a point takes in the longest of its stages. */
static int64_t step_count(const Kernel *kernel) {
  int64_t steps = 1;
  for (int s = 0; s < kernel->stage_count; s++) steps = max_i64(steps, stage_points(kernel, s));
  return steps;
}

static bool has_short_code(const Kernel *kernel) {
  return kernel->part_count == 0 && kernel->value_count <= TINY_VALUES && emit_row_count(kernel) == 0 &&
         !sort_matches(kernel);
}

bool kernel_is_tiny(const Kernel *kernel) {
  int64_t points = stage_points(kernel, KERNEL_OUTER);
  for (int s = 0; s < kernel->stage_count && points <= TINY_POINTS; s++) points *= stage_points(kernel, s);
  return points <= TINY_POINTS ? has_short_code(kernel) : kernel_is_unrolled(kernel);
}

static bool has_only_cheap_values(const Kernel *kernel) {
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_APPLY) continue;
    VecOp op = kernel_vec_op(kernel, value);
    if (!vec_is_cheap(&op)) return false;
  }
  return true;
}

int64_t kernel_unrolled_steps(const Kernel *kernel) {
  int64_t points = stage_points(kernel, KERNEL_OUTER), steps = step_count(kernel);
  bool folds = kernel->fold_count > 0;
  if (!folds && steps > 1) return 0;
  if (points > (folds ? KERNEL_UNROLLED_ELEMENTS : UNROLLED_POINTS) || steps > UNROLLED_STEPS) return 0;
  if (!has_short_code(kernel) || (points * steps > 1 && !has_only_cheap_values(kernel))) return 0;
  return points * steps;
}

/* --- pieces for threads --- */

/* Chunks for each thread.  With more of them, threads that are not equally fast end nearer to one another: a dozen do
 * for cores that differ by a tenth.  Kernels that are not worth LONG_CHUNKS of the shortest chunks get fewer, since
 * each costs something to begin; so do contractions that stream a factor, all of whose pages each chunk goes through.
 */
enum {
  LOOP_CHUNKS_PER_WORKER = 12,
  SHORT_CHUNKS_PER_WORKER = 4,
  LONG_CHUNKS = 100,
  STREAM_CHUNKS_PER_WORKER = 1,
  SORT_CHUNKS_PER_WORKER = 12, /* of lines, each chunk long */
  TILE_CHUNKS_PER_WORKER = 12
};

/* For a Kernel whose time is worth |worthwhile| of the shortest chunks: |most| of them, or fewer where it is short. */
static int64_t chunks_for_time(int64_t worthwhile, int64_t most) {
  return worthwhile >= LONG_CHUNKS ? most : min_i64(most, SHORT_CHUNKS_PER_WORKER);
}

/* |pieces|: as many as there may be; more than |most| runs of them are not worthwhile. */
static void set_pieces(KernelStrategy *strategy, int64_t pieces, int64_t most, int64_t chunks_per_worker) {
  strategy->chunks_per_worker = chunks_per_worker;
  strategy->chunk_limit = most;
  strategy->piece_count = most > 1 ? pieces : 1;
}

/* --- forms --- */

static const PieceSplit uncut = {.piece_count = 1, .dim = -1};

static void choose_sort(const Kernel *kernel, KernelStrategy *strategy) {
  strategy->form = KERNEL_FORM_SORT;
  SortNeeds needs = sort_needs(kernel);
  set_pieces(strategy, needs.piece_count, needs.chunk_limit, SORT_CHUNKS_PER_WORKER);
  strategy->scratch_bytes = needs.scratch_bytes;
  if (needs.phase_count == 0) return;
  strategy->phase_count = needs.phase_count;
  strategy->chunk_bytes = needs.chunk_bytes;
  strategy->chunks_per_worker = 1; /* chunks have scratch by their numbers, as workers have */
}

static void choose_contraction(const Kernel *kernel, const VecTarget *target, KernelStrategy *strategy) {
  strategy->form = KERNEL_FORM_CONTRACTION;
  ContractionPieces pieces = contraction_pieces(strategy->contraction);
  int64_t worthwhile = kernel_blocks_chunk_limit(kernel, target), most = min_i64(worthwhile, pieces.chunk_limit);
  int64_t each = chunks_for_time(worthwhile, pieces.chunks_per_worker);
  if (contraction_streams_rhs(strategy->contraction)) each = STREAM_CHUNKS_PER_WORKER;
  set_pieces(strategy, pieces.count, most, each);
  strategy->scratch_bytes = contraction_scratch_bytes(strategy->contraction);
}

static void choose_winograd(const Kernel *kernel, const VecTarget *target, KernelStrategy *strategy) {
  strategy->form = KERNEL_FORM_WINOGRAD;
  WinogradNeeds needs = winograd_needs(strategy->winograd);
  set_pieces(strategy, 1, min_i64(kernel_blocks_chunk_limit(kernel, target), needs.chunk_limit), 1);
  strategy->scratch_bytes = needs.scratch_bytes;
  strategy->phase_count = needs.phase_count;
  strategy->chunk_bytes = needs.chunk_bytes;
}

/* Whether nothing is gathered in lanes along |dim| but where values say. */
static bool reads_together(const Kernel *kernel, const VecTarget *target, int dim, int lanes) {
  KernelWindow window;
  int64_t stride;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || index_has_atom(&kernel->space, value->address, INDEX_ATOM_VALUE)) continue;
    if (kernel_load_window(kernel, target, value, dim, lanes, &window)) continue;
    if (!kernel_plain_stride(kernel, value->address, dim, &stride)) return false;
    if (stride != 0 && !vec_stride_is_shuffled(value->type, stride)) return false;
  }
  return true;
}

/* Short rows are walked as one dim with those around them where that costs less.  Returns what is walked. */
static const Kernel *choose_rows(const Kernel *kernel, const VecTarget *target, Arena *arena,
                                 KernelStrategy *strategy) {
  const Kernel *joined = kernel_join_rows(arena, kernel);
  if (joined == NULL) return kernel;
  LoopStrategy loops;
  loop_strategy_choose(joined, target, arena, &loops);
  const VectorWalk *walk = &loops.outer_walk;
  if (walk->dim < 0 || loops.cost >= strategy->loops.cost) return kernel;
  if (!reads_together(joined, target, walk->dim, walk->parts[0].lanes)) return kernel;
  strategy->loops = loops;
  strategy->walked = joined;
  return joined;
}

static void choose_loops(const Kernel *kernel, const VecTarget *target, Arena *arena, KernelStrategy *strategy) {
  PieceSplit split;
  if (kernel_is_unrolled(kernel)) {
    strategy->form = KERNEL_FORM_UNROLLED;
    loop_strategy_scalar(kernel, arena, &strategy->loops);
    split = nest_split(kernel, &strategy->loops);
  } else if (transpose_strategy_choose(kernel, target, arena, &strategy->transpose)) {
    strategy->form = KERNEL_FORM_TRANSPOSE;
    strategy->streamed = transpose_streamed_buffers(kernel, target, &strategy->transpose, arena);
    split = transpose_split(kernel, &strategy->transpose);
  } else {
    strategy->form = KERNEL_FORM_LOOPS;
    loop_strategy_choose(kernel, target, arena, &strategy->loops);
    kernel = choose_rows(kernel, target, arena, strategy);
    split = nest_split(kernel, &strategy->loops);
    const LoopStrategy *loops = &strategy->loops;
    strategy->streamed = memory_streamed_buffers(kernel, target, &loops->outer_walk, loops->stage_walks, arena);
    strategy->scratch_bytes += loops->sweep.dim >= 0 ? loops->sweep.bytes : rows_apart_bytes(&loops->apart);
  }
  const LoopStrategy *nest = strategy->form == KERNEL_FORM_LOOPS ? &strategy->loops : NULL;
  bool is_behind = nest != NULL && nest->behind >= 0 && split.dim_count == nest->outer_count;
  int64_t runs = is_behind ? split.piece_count / BEHIND_CHUNK_ROWS : split.piece_count;
  int64_t worthwhile = kernel_loops_chunk_limit(kernel, target), most = min_i64(worthwhile, runs);
  /* shorter pieces of rows come slower from memory; of rows that are divided behind there is a round more than rows */
  bool is_costly = is_behind || strategy->form == KERNEL_FORM_TRANSPOSE || (split.dim >= 0 && kernel->dim_count > 1);
  int64_t each = is_costly ? SHORT_CHUNKS_PER_WORKER : LOOP_CHUNKS_PER_WORKER;
  set_pieces(strategy, split.piece_count, most, chunks_for_time(worthwhile, each));
  if (strategy->piece_count > 1) strategy->split = split;
}

enum { INDEX_BYTES = 8 };

static void choose_tiles(const Kernel *kernel, const VecTarget *target, ContractionScratch limit, Arena *arena,
                         KernelStrategy *strategy) {
  strategy->form = KERNEL_FORM_TILES;
  KernelStrategy *parts = ARENA_NEW_ARRAY(arena, KernelStrategy, kernel->part_count);
  strategy->parts = parts;
  int64_t scratch = 0, indices = 0, tiles = kernel->dim_count == 0 ? 1 : kernel->dims[0].extent;
  for (int p = 0; p < kernel->part_count; p++) {
    kernel_strategy_choose(kernel->parts[p].kernel, target, limit, arena, &parts[p]);
    scratch = max_i64(scratch, parts[p].scratch_bytes);
    indices = max_i64(indices, kernel->parts[p].index_count * INDEX_BYTES);
  }
  int64_t worthwhile = kernel_blocks_chunk_limit(kernel, target), most = min_i64(worthwhile, tiles);
  set_pieces(strategy, tiles, most, chunks_for_time(worthwhile, TILE_CHUNKS_PER_WORKER));
  strategy->index_bytes = align_up(indices, KERNEL_SCRATCH_ALIGNMENT);
  strategy->scratch_bytes = strategy->row_bytes + strategy->index_bytes + scratch;
}

void kernel_strategy_choose(const Kernel *kernel, const VecTarget *target, ContractionScratch limit, Arena *arena,
                            KernelStrategy *out_strategy) {
  *out_strategy = (KernelStrategy){
      .split = uncut, .row_bytes = emit_row_place(kernel, kernel->buffer_count), .scratch_bytes = rows_end(kernel)};
  if (kernel->part_count > 0) {
    choose_tiles(kernel, target, limit, arena, out_strategy);
  } else if (sort_matches(kernel)) {
    choose_sort(kernel, out_strategy);
  } else {
    /* A tiny Kernel's code stands where it is used, as loops. */
    if (!kernel_is_tiny(kernel)) out_strategy->contraction = contraction_blocking_choose(arena, kernel, target, limit);
    if (out_strategy->contraction != NULL && target->has_fast_math)
      out_strategy->winograd = winograd_blocking_choose(arena, kernel, target, limit, out_strategy->contraction);
    if (out_strategy->winograd != NULL)
      choose_winograd(kernel, target, out_strategy);
    else if (out_strategy->contraction != NULL)
      choose_contraction(kernel, target, out_strategy);
    else
      choose_loops(kernel, target, arena, out_strategy);
  }
}

KernelScratch kernel_strategy_scratch(const KernelStrategy *strategy) {
  int64_t each = align_up(strategy->scratch_bytes, KERNEL_SCRATCH_ALIGNMENT);
  int64_t further = strategy->phase_count > 0 ? strategy->chunk_bytes : each;
  return (KernelScratch){strategy->scratch_bytes, strategy->chunk_limit > 1 ? further : 0};
}

bool kernel_strategy_multiplies_narrow(const Kernel *kernel, const KernelStrategy *strategy) {
  for (int p = 0; p < kernel->part_count; p++) {
    if (kernel_strategy_multiplies_narrow(kernel->parts[p].kernel, &strategy->parts[p])) return true;
  }
  return strategy->form == KERNEL_FORM_CONTRACTION && contraction_multiplies_narrow(kernel, strategy->contraction);
}
