/* How much is packed at a time: of the sizes that fit the scratch there may be, those that cost least by an estimate;
 * of nearly equal ones those that need least scratch. */
#include <math.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "codegen/blocks/contraction_cost.h"

/* Of lengths of packed rows, from SHORTEST_ROW on. */
#define SIZES_OF_POWER 4
#define DEEPEST_PANEL 320
/* Fewer where they are multiplied in place: the sums and what is asked for take some of the streams.  And fewer again
 * by registers that are shorter than a line. */
#define MULTIPLIED_DEPTH 14
#define MULTIPLIED_DEPTH_SHORT 8
#define DEEP_DEPTH 64
#define DEEP_DEPTH_FEW 96 /* below MANY_ROWS */
#define MANY_ROWS 8       /* from so many on, moving the sums of a block costs more than two streams too many */
#define CACHED_RHS_BYTES (256 << 10)
/* Of each row that is streamed; with registers that are shorter than a line. */
#define STREAM_AHEAD_BYTES 768
#define STREAM_AHEAD_BYTES_SHORT 1024
/* Rows of so few bytes that lie apart are no streams: so many rows ahead are asked for, where there are enough rows
 * that those beyond the last do not count. */
#define SHORT_ROW_BYTES 1024
#define ROWS_AHEAD 16
#define LEAST_ROWS_AHEAD 256
/* A depth that is read in so many places at once, each of which is asked for so far ahead, while the sums stay in the
 * first-level cache. */
#define DEPTH_RUNS 4
#define RUNS_AHEAD_BYTES 1024
#define RUNS_SUMS_BYTES (32 << 10)
#define SECOND_CACHE_SETS 1024
/* A rhs of so few bytes, read again by so many blocks of tiles, stays in the second-level cache by itself. */
#define STAYING_BYTES (64 << 10)
#define STAYING_BLOCKS 8
#define TILES_IN_TURN 16 /* tiles among which the rows of a panel are few each */
#define ALIGNMENT 64
/* So many buy their time without being asked what it is; and so many are none. */
#define FEW_BYTES (4 << 10)
#define LEAST_BYTES 256
#define MOST_BYTES (2 << 20)
/* Numbers of tiles and panels that are tried: each is at most 1 / STEPS_OF_HALF smaller than the one before. */
#define STEPS_OF_HALF 4

/* Elements of the packed depth: a panel of the rhs and a tile's rows of the lhs stay in the first-level cache
 * together, but for depths above DEEPEST_PANEL, in which the rhs is read where it is. */
static const int64_t depths[] = {512, 320, 256, 192, 128, 96, 64, 48, 32, 16};

/* --- the depth --- */

static int64_t multiplied_depth(const ContractionBlocking *blocking) {
  if (blocking->sweep_depth > 0) return blocking->sweep_depth;
  if (blocking->is_deep) return blocking->tile_rows < MANY_ROWS ? DEEP_DEPTH_FEW : DEEP_DEPTH;
  if (!contraction_registers_are_lines(blocking)) return MULTIPLIED_DEPTH_SHORT;
  return blocking->tile_rows < MANY_ROWS ? MULTIPLIED_DEPTH : STREAMED_DEPTH;
}

static bool streams(const ContractionBlocking *blocking) {
  if (blocking->is_by_panels) return false;
  return blocking->rhs_in_place && blocking->tile_count == 1 && contraction_rhs_bytes(blocking) > CACHED_RHS_BYTES;
}

/* Of few sizes, so that micro-kernels are shared.  A vector's elements beyond the depth take what is written beyond the
 * last run. */
static int64_t packed_row_stride(const ContractionBlocking *blocking, int64_t depth) {
  int64_t power = SHORTEST_ROW;
  while (power * 2 <= depth) power *= 2;
  int64_t stride = max_i64(align_up(depth, power / SIZES_OF_POWER), SHORTEST_ROW) + blocking->vector_lanes;
  int64_t bytes = type_storage_bytes(blocking->type);
  return contraction_rows_meet(blocking->has_large_caches, blocking->tile_rows, stride * bytes)
             ? stride + blocking->vector_lanes
             : stride;
}

/* So many indices of the chunk's dim make whole squares of a turned blocking: what is left of a block is packed element
 * by element.  And whole steps of the matrix unit: the rest of one takes as long. */
static int64_t whole_chunks(const ContractionBlocking *blocking) {
  int64_t step = MATRIX_STEP * blocking->group;
  if (blocking->in_matrix_unit) return step / greatest_common_divisor(step, blocking->inside_chunk);
  if (!blocking->is_turned || !blocking->rhs_transposes) return 1;
  return blocking->lanes / greatest_common_divisor(blocking->lanes, blocking->inside_chunk);
}

/* Blocks of at most |lanes| lanes of the depth. */
static void choose_depth(const Kernel *kernel, ContractionBlocking *blocking, int64_t lanes) {
  const DimList *depth = &blocking->depth;
  int64_t limit = streams(blocking) ? multiplied_depth(blocking) : lanes * blocking->group;
  blocking->inside_chunk = 1;
  blocking->chunk_dim = depth->count - 1;
  while (blocking->chunk_dim > 0) {
    int64_t whole = blocking->inside_chunk * kernel->dims[depth->dims[blocking->chunk_dim]].extent;
    if (whole > limit) break;
    blocking->inside_chunk = whole;
    blocking->chunk_dim--;
  }
  int64_t extent = kernel->dims[depth->dims[blocking->chunk_dim]].extent;
  int64_t most = max_i64(limit / blocking->inside_chunk, 1), whole = whole_chunks(blocking);
  if (whole > most) whole = 1;
  int64_t chunks = ceil_div(extent, most / whole * whole);
  blocking->chunk_size = min_i64(align_up(ceil_div(extent, chunks), whole), extent);
  if (blocking->inside_chunk % blocking->group != 0)
    blocking->chunk_size = align_up(blocking->chunk_size, blocking->group);
  blocking->chunk_count_of_dim = ceil_div(extent, blocking->chunk_size);
  blocking->block_depth = blocking->chunk_size * blocking->inside_chunk;
  blocking->block_count = blocking->chunk_count_of_dim;
  for (int i = 0; i < blocking->chunk_dim; i++) blocking->block_count *= kernel->dims[depth->dims[i]].extent;
  blocking->row_stride = packed_row_stride(blocking, ceil_div(blocking->block_depth, blocking->group));
  blocking->lhs_step = 1;
  blocking->lhs_slot = blocking->tile_rows * blocking->row_stride;
  int64_t bytes = type_storage_bytes(blocking->type);
  int64_t panel_rows = ceil_div(blocking->block_depth, blocking->group) + (blocking->lhs_shifted ? 1 : 0);
  if (blocking->in_matrix_unit) panel_rows = align_up(panel_rows, MATRIX_STEP);
  blocking->rhs_slot = align_up(panel_rows * blocking->packed_stride * bytes, ALIGNMENT);
  blocking->common_share = contraction_common_share(kernel, blocking);
}

static void choose_lhs_in_place(const Kernel *kernel, ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth;
  if (contraction_merged_suffix(kernel, &blocking->lhs_set, depth) < depth->count - blocking->chunk_dim) return;
  int64_t stride = contraction_lhs_stride(kernel, blocking);
  int64_t bytes = type_storage_bytes(blocking->type);
  /* a step of the matrix unit reads whole lines */
  if (blocking->in_matrix_unit && !contraction_fills_matrix_steps(kernel, blocking)) return;
  if (stride == 0 || stride > LARGEST_OFFSET / bytes / blocking->tile_rows) return;
  if (contraction_rows_meet(blocking->has_large_caches, blocking->tile_rows, stride * bytes)) return;
  blocking->lhs_in_place = true;
  blocking->row_stride = stride;
}

/* A lhs that is a load as any, across its grain: numbers of a row lie |lhs_step| elements apart.  False where they
 * cannot be read in place, or there are so many that packing them pays. */
static bool choose_lhs_across(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  const DimList *rows = &blocking->rows, *depth = &blocking->depth;
  int64_t stride, step, bytes = type_storage_bytes(blocking->type);
  if (blocking->group > 1 || lhs->kind != KERNEL_LOAD || lhs->predicate >= 0 || rows->count == 0) return false;
  if (contraction_merged_suffix(kernel, &blocking->lhs_set, rows) < rows->count) return false;
  if (contraction_merged_suffix(kernel, &blocking->lhs_set, depth) < depth->count - blocking->chunk_dim) return false;
  if (!kernel_plain_stride(kernel, lhs->address, rows->dims[rows->count - 1], &stride)) return false;
  if (!kernel_plain_stride(kernel, lhs->address, depth->dims[depth->count - 1], &step)) return false;
  if (stride <= 0 || stride * bytes > LINE_BYTES || step <= 0 || step * bytes >= PAGE_BYTES) return false;
  int64_t width = rows->size * stride * bytes;
  if (contraction_cache_bytes(SECOND_CACHE_SETS, blocking->block_depth, step * bytes, width) > SECOND_CACHE_BYTES)
    return false;
  blocking->lhs_in_place = true;
  blocking->row_stride = stride;
  blocking->lhs_step = step;
  return true;
}

/* Short pieces of rows far apart, as the values of a head among those of others: the hardware does not guess them. */
static bool choose_rows_ahead(ContractionBlocking *blocking) {
  int64_t bytes = type_storage_bytes(blocking->rhs_type), row_bytes = blocking->columns.size * bytes;
  if (!blocking->is_far || blocking->column_suffix < blocking->columns.count) return false;
  if (row_bytes > SHORT_ROW_BYTES || blocking->rhs_stride * bytes < 2 * row_bytes) return false;
  if (blocking->depth.size < LEAST_ROWS_AHEAD) return false;
  blocking->rhs_ahead = true;
  blocking->rows_ahead = ROWS_AHEAD;
  return true;
}

/* The hardware sees rows as streams, but follows none from page to page.  What the last-level cache may hold comes
 * sooner than asking for it takes. */
static void choose_streams_ahead(ContractionBlocking *blocking) {
  int64_t bytes = type_storage_bytes(blocking->rhs_type);
  if ((!blocking->is_far && !blocking->is_deep) || blocking->panel_count == 1) return;
  if (blocking->column_suffix < blocking->columns.count) return;
  int64_t ahead = contraction_registers_are_lines(blocking) ? STREAM_AHEAD_BYTES : STREAM_AHEAD_BYTES_SHORT;
  blocking->rhs_ahead = true;
  blocking->panels_ahead = min_i64(ceil_div(ahead, blocking->panel_width * bytes), blocking->panels_per_chunk);
}

/* A lhs of one row whose numbers are read where they are, whatever step lies between them. */
static bool has_plain_vector(const Kernel *kernel, const ContractionBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  if (blocking->rows.size != 1 || lhs->kind != KERNEL_LOAD || lhs->predicate >= 0 || blocking->lhs_step != 1)
    return false;
  return contraction_contiguous(kernel, &blocking->lhs_set, blocking->depth.dims[0]);
}

/* One row after the other in four runs, rather than pieces of some rows that lie together: as few streams as the
 * hardware follows best, none of which ends before the matrix does.  Each row moves all sums, so these must be near.
 * Where threads share columns they would break the runs: so there must be batch entries for them. */
static void choose_runs(const Kernel *kernel, ContractionBlocking *blocking) {
  int64_t sums = blocking->columns.size * type_storage_bytes(blocking->type);
  bool is_whole =
      blocking->panels_per_chunk == blocking->panel_count && blocking->column_suffix == blocking->columns.count;
  if (!blocking->rhs_ahead || blocking->has_large_caches || !is_whole || sums > RUNS_SUMS_BYTES) return;
  if (blocking->vector_lanes * type_storage_bytes(blocking->type) < LINE_BYTES / 2) return; /* sums take as long */
  if (blocking->batch.size < 2 || blocking->depth.count > 1 || blocking->depth.size % DEPTH_RUNS != 0) return;
  if (blocking->group > 1 || blocking->rhs_type != blocking->type || !has_plain_vector(kernel, blocking)) return;
  blocking->lhs_in_place = true;
  blocking->depth_runs = blocking->block_depth = DEPTH_RUNS;
  blocking->chunk_size = 1;
  blocking->block_count = blocking->chunk_count_of_dim = blocking->depth.size / DEPTH_RUNS;
  blocking->lhs_step = blocking->block_count;
  blocking->rhs_stride *= blocking->block_count;
  int64_t panel_bytes = blocking->panel_width * type_storage_bytes(blocking->type);
  blocking->panels_ahead = min_i64(ceil_div(RUNS_AHEAD_BYTES, panel_bytes), blocking->panel_count);
}

/* A micro-kernel with gaps between strips asks for one thing ahead: results, rather than a rhs that stays. */
static bool asks_for_results_alone(const ContractionBlocking *blocking) {
  return contraction_strip_gap(blocking) > 0 && blocking->rhs_in_place &&
         contraction_rhs_bytes(blocking) <= STAYING_BYTES &&
         blocking->tile_count > STAYING_BLOCKS * blocking->tiles_per_block;
}

/* With several tiles there is time to ask for the next panel's rows, too far apart for the hardware to guess.  Those of
 * a small rhs that is read in place stay in the second-level cache, unless the module's other products drive them out.
 */
static void choose_ahead(const Kernel *kernel, ContractionBlocking *blocking) {
  blocking->panels_ahead = 1;
  if (blocking->tile_count == 1 && blocking->rhs_in_place) {
    if (!choose_rows_ahead(blocking) && streams(blocking)) {
      choose_streams_ahead(blocking);
      choose_runs(kernel, blocking);
    }
    return;
  }
  if (blocking->rhs_kept || blocking->rhs_source < 0 || blocking->panel_count == 1) return;
  if (blocking->group > 1 && !blocking->in_matrix_unit) return;
  bool is_near = !blocking->is_apart && blocking->rhs_in_place && contraction_rhs_bytes(blocking) <= SECOND_CACHE_BYTES;
  if (is_near || asks_for_results_alone(blocking) || contraction_rhs_passes(blocking)) return;
  blocking->rhs_ahead = contraction_merged_suffix(kernel, &blocking->rhs_set, &blocking->depth) >=
                        blocking->depth.count - blocking->chunk_dim;
  blocking->ahead_in_turn =
      blocking->rhs_ahead &&
      (blocking->in_matrix_unit || min_i64(blocking->tiles_per_block, blocking->tile_count) >= TILES_IN_TURN);
}

/* --- what sizes need --- */

static void lay_out(ContractionBlocking *blocking) {
  int64_t bytes = type_storage_bytes(blocking->type);
  int64_t tile_bytes = blocking->tile_rows * blocking->panel_width * bytes;
  bool is_cut = blocking->rhs_in_place && blocking->column_run % blocking->panel_width != 0;
  int64_t tiles_kept = blocking->block_count > 1 ? blocking->panels_per_chunk * blocking->tiles_per_block : 1;
  if (blocking->sums_in_result) tiles_kept = blocking->has_edges;
  int64_t lhs_tiles = blocking->lhs_in_place ? 0 : blocking->tiles_per_block;
  int64_t panels = blocking->rhs_kept ? blocking->panels_per_chunk : 1;
  int64_t kept_blocks = blocking->rhs_kept ? blocking->block_count : 1;
  /* of a panel that begins early the last columns are read by whole vectors */
  int64_t beyond = is_cut ? blocking->lanes * bytes : 0;
  blocking->kept_slot = align_up(blocking->kept_count * blocking->kept_stride, ALIGNMENT);
  blocking->lhs_offset = 0;
  blocking->rhs_offset = align_up(lhs_tiles * blocking->lhs_slot * bytes, ALIGNMENT);
  blocking->tile_offset =
      blocking->rhs_offset + (blocking->rhs_in_place ? 0 : kept_blocks * panels * blocking->rhs_slot);
  int64_t turned_rows = blocking->is_turned ? contraction_turned_rows(blocking) : 0;
  /* the last tile is read as far as that */
  if (blocking->is_turned) beyond = (turned_rows - blocking->tile_rows) * blocking->panel_width * bytes;
  blocking->turned_offset = blocking->tile_offset + align_up(tiles_kept * tile_bytes + beyond, ALIGNMENT);
  blocking->kept_offset = blocking->turned_offset + align_up(turned_rows * blocking->panel_width * bytes, ALIGNMENT);
  blocking->scratch_bytes = blocking->kept_offset + panels * blocking->kept_slot;
}

/* --- the search --- */

typedef struct PricedBlocking {
  double cost;
  ContractionBlocking blocking;
} PricedBlocking;

/* Those that take at most |most| bytes. */
typedef struct SizeClass {
  int64_t most;
  double least_cost; /* of all that are seen, larger ones too where more than |most| would be no choice of its own */
  bool found;
  PricedBlocking fastest;
  ARRAY(PricedBlocking) nearly; /* when they were seen, nearly as fast as the least cost */
} SizeClass;

typedef ARRAY(int64_t) NumberList;

typedef struct SizeSearch {
  Arena *arena;
  NumberList tiles, panels;        /* how many at a time, from all to one */
  const ContractionBlocking *base; /* everything but sizes is known */
  PackingCosts packing;
  int64_t priced; /* bytes: what needs more is not looked at */
  SizeClass any;  /* a limit above what is chosen without it is none */
  SizeClass few;  /* whose bytes need not buy time */
} SizeSearch;

/* How often |bytes| can be halved, nearly, before they are |few|, too few to matter. */
static double halvings(int64_t bytes, int64_t few) {
  double count = 0;
  for (; bytes >= 2 * few; bytes /= 2) count++;
  return bytes <= few ? count : count + (double)bytes / (double)few - 1;
}

static int64_t bytes_for_nothing(ContractionScratch limit) {
  return min_i64(max_i64(limit.free, LEAST_BYTES), FEW_BYTES);
}

double contraction_weighed_cost(const ContractionBlocking *blocking, ContractionScratch limit) {
  return blocking->cost *
         (1 + blocking->prices->half_scratch * halvings(blocking->scratch_bytes, bytes_for_nothing(limit)));
}

static void note_cost(SizeClass *class, double its_cost) {
  if (class->least_cost == 0 || its_cost < class->least_cost) class->least_cost = its_cost;
}

/* So much may be spent in |class| for less scratch. */
static double most_spent(const SizeClass *class, const ContractionPrices *prices) {
  return class->least_cost * (1 + prices->most_spared);
}

/* Something was seen before that costs no more and needs no more scratch. */
static bool is_seen_better(const SizeClass *class, double its_cost, int64_t scratch_bytes) {
  for (int64_t i = 0; i < class->nearly.count; i++) {
    const PricedBlocking *priced = &class->nearly.data[i];
    if (priced->cost <= its_cost && priced->blocking.scratch_bytes <= scratch_bytes) return true;
  }
  return false;
}

static void note_sizes(SizeSearch *search, SizeClass *class, const ContractionBlocking *blocking, double its_cost) {
  bool is_near = its_cost <= most_spent(class, blocking->prices);
  if (!class->found || its_cost < class->fastest.cost) class->fastest = (PricedBlocking){its_cost, *blocking};
  if (is_near && !is_seen_better(class, its_cost, blocking->scratch_bytes))
    array_push(&class->nearly, search->arena, ((PricedBlocking){its_cost, *blocking}));
  class->found = true;
}

/* What costs more changes nothing in |class|. */
static double most_wanted(const SizeClass *class) {
  return class->found ? fmax(class->fastest.cost, most_spent(class, class->fastest.blocking.prices)) : INFINITY;
}

static void try_sizes(SizeSearch *search, const PlaceCosts *place, ContractionBlocking *blocking) {
  lay_out(blocking);
  blocking->packed_by_tile =
      search->base->packed_by_tile && !blocking->rhs_in_place && !blocking->rhs_kept && blocking->tile_count > 1;
  if (blocking->scratch_bytes > search->priced) return;
  double most = most_wanted(&search->any);
  if (blocking->scratch_bytes <= search->few.most) most = fmax(most, most_wanted(&search->few));
  double its_cost = contraction_cost(blocking, &search->packing, place, most);
  if (its_cost > most) return;
  note_cost(&search->any, its_cost);
  if (blocking->scratch_bytes <= search->any.most) note_sizes(search, &search->any, blocking, its_cost);
  if (blocking->scratch_bytes > search->few.most) return;
  note_cost(&search->few, its_cost);
  note_sizes(search, &search->few, blocking, its_cost);
}

/* Of what is nearly the fastest, what costs least with what its scratch above |few| bytes is worth; the fastest where
 * that needs no more, or the limit leaves nothing that is near. */
static const PricedBlocking *sparing_sizes(const SizeClass *class, int64_t few) {
  const PricedBlocking *best = &class->fastest;
  const ContractionPrices *prices = best->blocking.prices;
  double best_cost = 0;
  if (best->blocking.scratch_bytes <= few) return best;
  for (int64_t i = 0; i < class->nearly.count; i++) {
    const PricedBlocking *priced = &class->nearly.data[i];
    double its_cost = priced->cost * (1 + prices->half_scratch * halvings(priced->blocking.scratch_bytes, few));
    if (priced->cost > most_spent(class, prices) || (best_cost > 0 && its_cost >= best_cost)) continue;
    best_cost = its_cost;
    best = priced;
  }
  return best;
}

/* Few bytes, unless more are so much faster. */
static const PricedBlocking *best_sizes(const SizeSearch *search, ContractionScratch limit) {
  const PricedBlocking *any = sparing_sizes(&search->any, FEW_BYTES);
  if (!search->few.found) return any;
  if (contraction_streams_rhs(&any->blocking) && any->blocking.scratch_bytes > search->few.most) return any;
  const PricedBlocking *few = sparing_sizes(&search->few, bytes_for_nothing(limit));
  return few->cost <= any->cost * CONTRACTION_BOUGHT_TIME ? few : any;
}

/* The next number of |count| things at a time below |now|, so that all times are of nearly equal size; 0: none. */
static int64_t next_number(int64_t count, int64_t now) {
  if (now <= 1) return 0;
  int64_t smaller = min_i64(now - 1, now - now / STEPS_OF_HALF);
  return ceil_div(count, ceil_div(count, smaller)) < now ? ceil_div(count, ceil_div(count, smaller)) : smaller;
}

static NumberList numbers_below(Arena *arena, int64_t count) {
  NumberList list = {0};
  for (int64_t n = count; n > 0; n = next_number(count, n)) array_push(&list, arena, n);
  return list;
}

/* The first of the numbers of panels that needs no more scratch than is looked at: fewer panels need no more. */
static int64_t first_panels(const SizeSearch *search, ContractionBlocking *blocking) {
  int64_t least = 0, most = search->panels.count;
  while (least < most) {
    int64_t middle = (least + most) / 2;
    blocking->panels_per_chunk = search->panels.data[middle];
    lay_out(blocking);
    if (blocking->scratch_bytes <= search->priced)
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

static RowsInCache sums_in_cache(const ContractionBlocking *blocking) {
  int64_t rows = blocking->tiles_per_block * blocking->tile_rows;
  int64_t stride = blocking->sum_stride * type_storage_bytes(blocking->type);
  return contraction_rows_in_cache(SECOND_CACHE_SETS, rows, stride);
}

/* Rows that are read without a break come faster from memory than those of one chunk of panels after the other, as long
 * as all sums stay in the second-level cache; of those in the scratch there are to be few. */
static bool reads_whole_rows(const ContractionBlocking *blocking) {
  int64_t bytes = blocking->tile_rows * blocking->columns.size * type_storage_bytes(blocking->type);
  bool fits = bytes <= (blocking->sums_in_result ? SECOND_CACHE_BYTES : FEW_BYTES);
  return streams(blocking) && !blocking->has_large_caches && fits;
}

/* With numbers of tiles from |first_tiles| of the list on.  In one block of the depth panels are not worked on in
 * chunks. */
static void try_blocks_from(SizeSearch *search, int64_t first_tiles, ContractionBlocking *blocking) {
  bool is_shallow = blocking->rhs_in_place || blocking->in_matrix_unit;
  if (!is_shallow && blocking->block_depth > DEEPEST_PANEL * blocking->group) return;
  PlaceCosts place = contraction_place_costs(blocking);
  for (int64_t t = first_tiles; t < search->tiles.count; t++) {
    blocking->tiles_per_block = search->tiles.data[t];
    if (blocking->sums_in_result && blocking->block_count > 1) place.sums = sums_in_cache(blocking);
    int64_t first = blocking->block_count > 1 ? first_panels(search, blocking) : 0;
    int64_t end = blocking->block_count > 1 ? search->panels.count : 1;
    if (reads_whole_rows(blocking)) end = min_i64(end, first + 1);
    for (int64_t p = first; p < end; p++) {
      blocking->panels_per_chunk = search->panels.data[p];
      try_sizes(search, &place, blocking);
    }
  }
}

static void try_blocks(SizeSearch *search, ContractionBlocking *blocking) {
  try_blocks_from(search, 0, blocking);
}

/* The rhs where it is, while a panel's rows of a block stay in the second-level cache, or all of it passes. */
static void try_in_place(SizeSearch *search, const ContractionBlocking *packed) {
  ContractionBlocking blocking = *packed;
  int64_t bytes = type_storage_bytes(blocking.type), stride = blocking.rhs_stride * bytes;
  int64_t width = blocking.panel_width * bytes;
  if (!blocking.rhs_may_stay || stride <= 0 || stride >= PAGE_BYTES) return;
  bool stays = contraction_cache_bytes(SECOND_CACHE_SETS, blocking.block_depth, stride, width) <= SECOND_CACHE_BYTES;
  blocking.rhs_in_place = true;
  blocking.tiles_per_block = 1;
  if (!stays && !contraction_rhs_passes(&blocking)) return;
  try_blocks_from(search, stays ? 0 : search->tiles.count - 1, &blocking);
}

/* The sums in the scratch, where they might lie in the result. */
static void try_sums_apart(SizeSearch *search, const ContractionBlocking *in_result) {
  ContractionBlocking blocking = *in_result;
  if (!blocking.sums_in_result || (blocking.block_count == 1 && blocking.stores_sums)) return;
  if (reads_whole_rows(&blocking)) return;
  blocking.sums_in_result = false;
  try_blocks(search, &blocking);
  try_in_place(search, &blocking);
}

/* All numbers of tiles and panels, with the rhs wherever it may be. */
static void try_places(SizeSearch *search, ContractionBlocking *blocking) {
  try_blocks(search, blocking);
  try_in_place(search, blocking);
  try_sums_apart(search, blocking);
  if (blocking->rhs_in_place || blocking->tile_count == 1) return;
  if (blocking->block_count > 1 && !blocking->in_matrix_unit) return;
  blocking->rhs_kept = true;
  try_blocks_from(search, blocking->block_count > 1 ? search->tiles.count - 1 : 0, blocking);
}

/* Walking the window, |lanes| of the depth at a time: all of it, or a row. */
static void try_window(SizeSearch *search, const Kernel *kernel, int64_t lanes) {
  ContractionBlocking blocking = *search->base;
  choose_depth(kernel, &blocking, lanes);
  if (blocking.block_depth != lanes) return;
  if (blocking.is_overlapped && blocking.block_count > 1) blocking.sums_in_result = false;
  blocking.lhs_in_place = blocking.lhs_by_tiles = true;
  blocking.row_stride = blocking.window.row_step;
  try_places(search, &blocking);
}

static void try_all(SizeSearch *search, const Kernel *kernel) {
  int64_t depth_before = 0, window_rows = search->base->window.middle_count;
  if (search->base->walks_window) {
    try_window(search, kernel, search->base->depth.size);
    if (window_rows > 1) try_window(search, kernel, search->base->depth.size / window_rows);
  }
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    ContractionBlocking blocking = *search->base;
    blocking.walks_window = false;
    choose_depth(kernel, &blocking, depths[i]);
    if (blocking.block_depth == depth_before) continue;
    depth_before = blocking.block_depth;
    if (blocking.is_overlapped && blocking.block_count > 1) blocking.sums_in_result = false;
    if (blocking.is_turned) {
      if (blocking.chunk_dim > 0) continue;
      blocking.row_stride = search->base->row_stride;
      try_places(search, &blocking);
      continue;
    }
    choose_lhs_in_place(kernel, &blocking);
    ContractionBlocking across = blocking;
    if (!blocking.lhs_in_place && choose_lhs_across(kernel, &across)) try_places(search, &across);
    if (!blocking.lhs_in_place) contraction_choose_by_tiles(kernel, &blocking);
    if (!blocking.lhs_in_place) contraction_choose_strips(kernel, &blocking);
    try_places(search, &blocking);
  }
}

int64_t contraction_few_bytes(ContractionScratch limit) {
  return min_i64(limit.most, max_i64(limit.free, FEW_BYTES));
}

bool contraction_choose_sizes(const Kernel *kernel, ContractionScratch limit, ContractionBlocking *blocking) {
  Arena *scratch = arena_create();
  SizeSearch search = {.arena = scratch,
                       .base = blocking,
                       .any = {.most = min_i64(limit.most, MOST_BYTES)},
                       .few = {.most = contraction_few_bytes(limit)},
                       .packing = contraction_packing_costs(kernel, blocking)};
  search.tiles = numbers_below(scratch, blocking->tile_count);
  search.panels = numbers_below(scratch, blocking->panel_count);
  search.priced = search.any.most > search.few.most ? MOST_BYTES : search.few.most;
  try_all(&search, kernel);
  bool found = search.any.found;
  if (found) {
    const PricedBlocking *best = best_sizes(&search, limit);
    *blocking = best->blocking;
    blocking->cost = best->cost;
    blocking->least_cost = search.any.least_cost;
    blocking->few_cost = search.few.found ? search.few.fastest.cost : INFINITY;
    contraction_price_entries(kernel, blocking);
    choose_ahead(kernel, blocking);
    if (blocking->depth_runs > 0) lay_out(blocking);
    contraction_choose_passing(blocking, LARGE_FIRST_CACHE_BYTES);
  }
  arena_destroy(scratch);
  return found;
}
