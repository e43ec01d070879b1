/* How much is packed at a time: of the sizes that fit the scratch there may be, those that cost least by an estimate;
 * of nearly equal ones those that need least scratch. */
#include <math.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

/* Elements of a packed row of the lhs: SHORTEST_ROW, and from there on four sizes to each power of two. */
#define SHORTEST_ROW 16
#define SIZES_OF_POWER 4
#define DEEPEST_PANEL 320
#define STREAMED_DEPTH 16 /* so many rows the hardware sees as streams */
/* Fewer where they are multiplied in place: the sums and what is asked for take some of the streams.  And fewer again
 * by registers that are shorter than a line. */
#define MULTIPLIED_DEPTH 14
#define MULTIPLIED_DEPTH_SHORT 8
#define MANY_ROWS 8 /* from so many on, moving the sums of a block costs more than two streams too many */
#define CACHED_RHS_BYTES (256 << 10)
/* Of each row that is streamed; with registers that are shorter than a line. */
#define STREAM_AHEAD_BYTES 768
#define STREAM_AHEAD_BYTES_SHORT 1024
#define FIRST_CACHE_BYTES (28 << 10)
/* Of a large one, in one block of the depth: a panel of 256 × 32 floats and fourteen rows of it. */
#define LARGE_FIRST_CACHE_BYTES (46 << 10)
#define SECOND_CACHE_BYTES (400 << 10)
#define SECOND_CACHE_SETS 1024
#define MATRIX_CACHE_BYTES (1200 << 10) /* the same where there is a matrix unit, of 2 MiB */
#define FAR_BYTES (1 << 20)             /* what lies further away than these caches, mostly */
#define TILES_IN_TURN 16                /* tiles among which the rows of a panel are few each */
#define ALIGNMENT 64
#define ROW_IN_RUNS 10 /* rows of a panel that cost what a run does */
#define FAR_RUNS 4     /* that cost what one does which begins far away */
#define PAGE_BYTES 4096
/* Pages whose addresses a processor remembers. */
#define KNOWN_PAGES 256
#define NEAR_PAGES 48 /* and remembers best */
/* Half the scratch may take so much more of the time, but all in all no more times it than that. */
#define HALF_SCRATCH_TIME 0.05
#define SPARING_TIME 1.05
/* So many buy their time without being asked what it is; and so many are none. */
#define FEW_BYTES (4 << 10)
#define LEAST_BYTES 256
#define MOST_BYTES (2 << 20)
/* Times that a vector of sums of a tile at the edge is loaded or stored for each block of the depth, the loops around
 * it included. */
#define EDGE_MOVES 8
/* Numbers of tiles and panels that are tried: each is at most 1 / STEPS_OF_HALF smaller than the one before. */
#define STEPS_OF_HALF 4

/* Elements of the packed depth: a panel of the rhs and a tile's rows of the lhs stay in the first-level cache
 * together, but for depths above DEEPEST_PANEL, in which the rhs is read where it is. */
static const int64_t depths[] = {512, 320, 256, 192, 128, 96, 64, 48, 32, 16};

/* In cycles of a processor as there are many: what is done besides multiplying. */
static const double call_cost = 24;       /* of a micro-kernel, its loop and its last sums included */
static const double sum_cost = 1;         /* of a vector of sums that is loaded or stored */
static const double line_of_second = .4;  /* of a line of the second-level cache that is read in order */
static const double line_passing = .2;    /* and of a rhs that goes by one tile after the other */
static const double line_in_place = .2;   /* and in rows, as they lie in the rhs */
static const double line_across = .8;     /* and in columns, as they lie in the lhs */
static const double near_page = .6;       /* of a page of these rows, one of many */
static const double line_of_memory = 1.5; /* and from further away */
static const double line_alone = 160; /* of a line that the hardware did not ask for ahead, over the rows it is for */
static const double result_line_of_second = 1.2; /* of one of sums in the result, loaded and stored */
static const double result_line_of_set = 7;      /* where the rows of a tile share a set */
static const double result_line_far = 16;        /* which nothing asked for ahead */
static const double result_page_cost = 16;       /* of a page of results, one of many, in stores that nothing hides */
static const double page_cost = 40;              /* of a page that was forgotten */
static const double copy_cost = .8;              /* of a vector that is packed, and of each operation on it */
static const double run_cost = 10;               /* of each run of a row that is packed */
static const double square_cost = .7;            /* of an element that is packed in squares */
static const double short_step = 6;              /* of a vector of a turned tile */
static const double masked_step = 14;            /* and where shorter registers than a line have masks */
static const double group_far = .4;              /* of an element that is packed in groups, from further away */
static const double element_cost = 2;            /* of one that is packed alone */

typedef struct PackingCost {
  double element;
  int64_t run; /* elements */
} PackingCost;

/* What the search goes by. */
typedef struct PackingCosts {
  PackingCost lhs, rhs;
  bool rhs_runs_along_depth;
  double row_pages; /* of a row of the rhs; at most 1: from row to row there is a new one */
} PackingCosts;

/* --- the depth --- */

static double rhs_bytes(const ContractionBlocking *blocking) {
  return (double)blocking->depth.size * (double)blocking->columns.size * type_storage_bytes(blocking->type);
}

static bool registers_are_lines(const ContractionBlocking *blocking) {
  return (int64_t)blocking->vector_lanes * type_storage_bytes(blocking->type) >= LINE_BYTES;
}

static int64_t multiplied_depth(const ContractionBlocking *blocking) {
  if (!registers_are_lines(blocking)) return MULTIPLIED_DEPTH_SHORT;
  return blocking->tile_rows < MANY_ROWS ? MULTIPLIED_DEPTH : STREAMED_DEPTH;
}

static bool streams(const ContractionBlocking *blocking) {
  return blocking->rhs_in_place && blocking->tile_count == 1 && rhs_bytes(blocking) > CACHED_RHS_BYTES;
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

/* Whether the whole rhs, rows of whole lines, goes by each tile of rows, which stay in the first-level cache meanwhile,
 * from a second-level one that has room for it twice.  Not where it comes from further away each time: nothing would
 * ask for it ahead. */
static bool rhs_passes(const ContractionBlocking *blocking) {
  int64_t stride = blocking->rhs_stride * type_storage_bytes(blocking->type);
  double span = (double)blocking->depth.size * (double)stride;
  bool may_pass = blocking->has_large_caches && !blocking->is_apart && !blocking->is_turned && blocking->lhs_step == 1;
  bool is_plain = blocking->rhs_in_place && blocking->rhs_may_stay && stride % LINE_BYTES == 0;
  return may_pass && is_plain && blocking->tiles_per_block == 1 && fmax(rhs_bytes(blocking), span) <= FAR_BYTES;
}

/* The hardware sees rows as streams, but follows none from page to page.  What the last-level cache may hold comes
 * sooner than asking for it takes. */
static void choose_streams_ahead(ContractionBlocking *blocking) {
  int64_t bytes = type_storage_bytes(blocking->rhs_type);
  if (!blocking->is_far || blocking->panel_count == 1) return;
  if (blocking->column_suffix < blocking->columns.count) return;
  int64_t ahead = registers_are_lines(blocking) ? STREAM_AHEAD_BYTES : STREAM_AHEAD_BYTES_SHORT;
  blocking->rhs_ahead = true;
  blocking->panels_ahead = min_i64(ceil_div(ahead, blocking->panel_width * bytes), blocking->panels_per_chunk);
}

/* With several tiles there is time to ask for the next panel's rows, too far apart for the hardware to guess.  Those of
 * a small rhs that is read in place stay in the second-level cache, unless the module's other products drive them out.
 */
static void choose_ahead(const Kernel *kernel, ContractionBlocking *blocking) {
  blocking->panels_ahead = 1;
  if (blocking->tile_count == 1 && blocking->rhs_in_place) {
    if (streams(blocking)) choose_streams_ahead(blocking);
    return;
  }
  if (blocking->rhs_kept || blocking->rhs_source < 0 || blocking->panel_count == 1) return;
  if (blocking->group > 1 && !blocking->in_matrix_unit) return;
  bool is_near = !blocking->is_apart && blocking->rhs_in_place && rhs_bytes(blocking) <= SECOND_CACHE_BYTES;
  if (is_near || rhs_passes(blocking)) return;
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

/* --- what sizes cost --- */

/* Of an element of |set| that is packed along |dim|, in squares or in runs. */
static PackingCost packing_cost(const Kernel *kernel, const ContractionBlocking *blocking, const ValueSet *set, int dim,
                                bool in_squares, int64_t run) {
  double operations = contraction_operation_count(kernel, set);
  if (in_squares) return (PackingCost){square_cost, blocking->depth.size};
  if (!contraction_contiguous(kernel, set, dim)) return (PackingCost){element_cost + operations, run};
  return (PackingCost){copy_cost * (1 + operations) / blocking->lanes, run};
}

static int64_t suffix_run(const Kernel *kernel, const DimList *list, int suffix) {
  int64_t run = 1;
  for (int i = list->count - suffix; i < list->count; i++) run *= kernel->dims[list->dims[i]].extent;
  return run;
}

/* Elements of the lhs that are copied at a time, mostly; how many there are matters for short runs alone. */
static int64_t lhs_run(const Kernel *kernel, const ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth;
  int64_t run = suffix_run(kernel, depth, contraction_merged_suffix(kernel, &blocking->lhs_set, depth));
  int inside = contraction_inside_suffix(kernel, blocking, depth->count, blocking->vector_lanes);
  return inside > 0 && run < SHORTEST_ROW ? suffix_run(kernel, depth, inside) : run;
}

/* Of an element beside the copying: groups take it from rows that lie far apart. */
static double far_cost(const Kernel *kernel, const ContractionBlocking *blocking) {
  if (!blocking->in_matrix_unit) return 0;
  double elements = (double)blocking->depth.size * (double)blocking->columns.size;
  int32_t source = blocking->rhs_source >= 0 ? blocking->rhs_source : blocking->rhs;
  return elements * type_storage_bytes(kernel->values[source].type) > FAR_BYTES ? group_far : 0;
}

static PackingCosts packing_costs(const Kernel *kernel, const ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth, *columns = &blocking->columns;
  bool is_row = blocking->segment >= blocking->panel_width; /* of a panel: no loop */
  int64_t rhs_run = is_row ? ROW_IN_RUNS * blocking->panel_width : blocking->segment;
  double row_bytes = blocking->rhs_is_plain ? (double)blocking->rhs_stride * type_storage_bytes(blocking->type) : 0;
  PackingCosts costs = {.lhs = packing_cost(kernel, blocking, &blocking->lhs_set, depth->dims[depth->count - 1],
                                            blocking->lhs_transposes, lhs_run(kernel, blocking)),
                        .rhs = packing_cost(kernel, blocking, &blocking->rhs_set, columns->dims[columns->count - 1],
                                            blocking->rhs_transposes, rhs_run),
                        .rhs_runs_along_depth = blocking->rhs_transposes,
                        .row_pages = row_bytes < PAGE_BYTES ? row_bytes / PAGE_BYTES : 1};
  costs.rhs.element += far_cost(kernel, blocking);
  return costs;
}

/* Of an element in blocks whose depth is |depth|. */
static double element_packing(const PackingCost *packing, int64_t depth) {
  return packing->element + run_cost / (double)min_i64(packing->run, depth);
}

/* Which part of the elements of a tile's rows are packed. */
static double packed_share(const ContractionBlocking *blocking) {
  if (blocking->is_turned) return blocking->window.read_share;
  if (blocking->strip_dims == 0) return 1;
  return (double)blocking->strip_length / ((double)blocking->strip_run * blocking->tile_rows);
}

static double first_cache_bytes(const ContractionBlocking *blocking) {
  bool is_large = blocking->has_large_caches && blocking->block_count == 1;
  return is_large ? LARGE_FIRST_CACHE_BYTES : FIRST_CACHE_BYTES;
}

/* Of reading |bytes| in order where |kept| of them are read again and again. */
static double reading_cost(const ContractionBlocking *blocking, double bytes, double kept) {
  if (kept <= first_cache_bytes(blocking)) return 0;
  return bytes / LINE_BYTES * (kept <= SECOND_CACHE_BYTES ? line_of_second : line_of_memory);
}

/* Of reading the whole rhs once for rows of tiles. */
static double rhs_reading_cost(const ContractionBlocking *blocking, const PackingCosts *packing) {
  double bytes = rhs_bytes(blocking), total = reading_cost(blocking, bytes, bytes);
  double pages = (double)blocking->depth.size * packing->row_pages;
  double visits = (double)ceil_div(blocking->panel_count, blocking->panels_per_chunk);
  double rows = (double)(blocking->tiles_per_block * blocking->tile_rows);
  int64_t along = blocking->panels_per_chunk * blocking->panel_width * type_storage_bytes(blocking->type);
  /* of each row as many as a visit goes along */
  if (pages > KNOWN_PAGES) total += visits * pages * page_cost * fmax(1, (double)along / PAGE_BYTES);
  /* one row of sums is one more stream wherever it lies */
  bool sums_are_apart = !blocking->sums_in_result || blocking->rows.size == 1;
  bool is_streamed = blocking->block_depth <= STREAMED_DEPTH && along >= PAGE_BYTES / 2 && sums_are_apart;
  bool is_far = bytes > FAR_BYTES && packing->row_pages > 0 && !is_streamed;
  return is_far ? total + bytes / LINE_BYTES * line_alone / rows : total;
}

/* Of all readings of a rhs that passes, but for that of its rows' pages: it comes from far away once. */
static double passing_cost(const ContractionBlocking *blocking, const PackingCosts *packing) {
  double again = (double)blocking->tile_count - 1;
  return rhs_reading_cost(blocking, packing) + again * rhs_bytes(blocking) / LINE_BYTES * line_passing;
}

/* Which part of the tiles reaches beyond the result. */
static double edge_share(const ContractionBlocking *blocking) {
  double rows = (double)(blocking->rest_rows > 0 ? blocking->tile_count : blocking->rows.size / blocking->tile_rows);
  double runs = (double)(blocking->columns.size / blocking->column_run);
  double columns = runs * (double)(blocking->column_run / blocking->panel_width);
  return 1 - rows * columns / ((double)blocking->tile_count * (double)blocking->panel_count);
}

/* What is the same for all numbers of panels, and but for |sums| of tiles. */
typedef struct PlaceCosts {
  RowsInCache sums;    /* of a block of tiles, where they lie in the result and are added up block by block */
  bool rows_meet;      /* of a tile's sums in the result */
  double edge_share;   /* of the tiles: those that reach beyond the result */
  double row_in_place; /* of a row of a panel that every tile reads where it is */
  double row_pages;    /* of its pages alone */
  double across_bytes; /* of the first-level cache, by a lhs across its grain */
} PlaceCosts;

/* Of a line of sums in the result, loaded and stored, where |kept| bytes of them are between two times. */
static double result_line_cost(const ContractionBlocking *blocking, const PlaceCosts *place, double kept) {
  int64_t bytes = type_storage_bytes(blocking->type);
  if (kept > SECOND_CACHE_BYTES) return result_line_far;
  int64_t width = blocking->panels_per_chunk * blocking->panel_width * bytes;
  double taken = kept > 0 ? contraction_rows_bytes(&place->sums, width) : 0;
  if (taken > SECOND_CACHE_BYTES) return result_line_far;
  if (place->rows_meet) return result_line_of_set;
  return taken <= FIRST_CACHE_BYTES ? 0 : result_line_of_second;
}

/* Of a row of a panel that every tile reads where it is, besides |others| bytes that are to stay. */
static double row_in_place_cost(const ContractionBlocking *blocking, double others) {
  int64_t bytes = type_storage_bytes(blocking->type), stride = blocking->rhs_stride * bytes;
  int64_t width = blocking->panel_width * bytes;
  double taken = contraction_cache_bytes(FIRST_CACHE_SETS, blocking->block_depth, stride, width);
  double lines = (double)width / LINE_BYTES;
  return taken + others > FIRST_CACHE_BYTES ? lines * line_in_place : 0;
}

static double row_pages_cost(const ContractionBlocking *blocking) {
  double pages = (double)(blocking->rhs_stride * type_storage_bytes(blocking->type)) / PAGE_BYTES;
  return pages * (double)blocking->block_depth > NEAR_PAGES ? pages * near_page : 0;
}

/* What a block of the depth of a lhs across its grain takes of the first-level cache, for the rows of a tile. */
static double across_bytes(const ContractionBlocking *blocking) {
  int64_t bytes = type_storage_bytes(blocking->type);
  int64_t width = blocking->tile_rows * blocking->row_stride * bytes;
  return contraction_cache_bytes(FIRST_CACHE_SETS, blocking->block_depth, blocking->lhs_step * bytes, width);
}

/* Of an index of the depth of such a lhs for a tile and a panel, which takes |taken| bytes, besides |others| that are
 * to stay. */
static double across_cost(const ContractionBlocking *blocking, double taken, double others) {
  int64_t bytes = type_storage_bytes(blocking->type);
  double lines = 1 + (double)(blocking->tile_rows * blocking->row_stride * bytes) / LINE_BYTES, total = 0;
  double pages = (double)(blocking->lhs_step * bytes) / PAGE_BYTES;
  if (taken + others > FIRST_CACHE_BYTES) total += lines * line_across;
  if (pages * (double)blocking->block_depth > NEAR_PAGES) total += pages * near_page;
  return total;
}

/* Of a tile's sums, which every block of the depth but the first goes on with. */
static double sums_moving_cost(const ContractionBlocking *blocking, const PlaceCosts *place) {
  double vectors = blocking->tile_rows * blocking->panel_vectors, again = (double)blocking->block_count - 1;
  double bytes = vectors * blocking->lanes * type_storage_bytes(blocking->type);
  double kept = again > 0 ? bytes * (double)(blocking->tiles_per_block * blocking->panels_per_chunk) : 0;
  double total = vectors * sum_cost * (2 * again + 1);
  /* nothing asks ahead for rows of the matrix unit's registers */
  if (blocking->in_matrix_unit && 2 * kept > SECOND_CACHE_BYTES) total += bytes / LINE_BYTES * again * result_line_far;
  if (!blocking->sums_in_result) return total + reading_cost(blocking, bytes * 2 * again, 2 * kept);
  double line = again * result_line_cost(blocking, place, kept);
  if (!blocking->stores_sums) line += result_line_cost(blocking, place, 0);
  return total + bytes / LINE_BYTES * line + place->edge_share * again * vectors * EDGE_MOVES * sum_cost;
}

/* Bytes of a tile's rows that are to stay while panels go by. */
static double tile_rows_bytes(const ContractionBlocking *blocking, const PlaceCosts *place) {
  double block_depth = (double)ceil_div(blocking->block_depth, blocking->group);
  if (blocking->lhs_step > 1) return place->across_bytes;
  return blocking->tile_rows * block_depth * type_storage_bytes(blocking->type) * packed_share(blocking);
}

/* Bytes that are to stay while the rows of tiles are read again and again.  A rhs that passes leaves them alone, for
 * one block of the depth or, panel by panel, for all. */
static double kept_with_rows(const ContractionBlocking *blocking, double rows_bytes, double panel_bytes) {
  if (!rhs_passes(blocking)) return panel_bytes + rows_bytes * (double)blocking->tiles_per_block;
  return blocking->panels_per_chunk > 1 ? rows_bytes : rows_bytes * (double)blocking->block_count;
}

static PlaceCosts place_costs(const ContractionBlocking *blocking) {
  PlaceCosts place = {0};
  if (blocking->sums_in_result) {
    place.rows_meet = contraction_rows_meet(blocking->has_large_caches, blocking->tile_rows,
                                            blocking->sum_stride * type_storage_bytes(blocking->type));
    place.edge_share = edge_share(blocking);
  }
  if (blocking->lhs_step > 1) place.across_bytes = across_bytes(blocking);
  if (blocking->rhs_in_place && blocking->rhs_may_stay) {
    place.row_pages = row_pages_cost(blocking);
    place.row_in_place = row_in_place_cost(blocking, tile_rows_bytes(blocking, &place)) + place.row_pages;
  }
  return place;
}

/* Of a tile whose sums are transposed, and then moved in short rows. */
static double turning_cost(const ContractionBlocking *blocking) {
  int lanes = contraction_turned_lanes(blocking);
  double squares = square_cost * (double)(contraction_turned_rows(blocking) * blocking->panel_width);
  double steps = (double)ceil_div(blocking->tile_rows, lanes) * short_step;
  bool is_whole = blocking->tile_rows % lanes == 0;
  if (!is_whole && lanes * type_storage_bytes(blocking->type) < LINE_BYTES) steps += masked_step;
  return squares + (double)blocking->panel_width * steps;
}

/* Of the factors that the matrix unit reads from further away than the first-level cache. */
static double matrix_reading_cost(const ContractionBlocking *blocking) {
  MatrixReading reading = contraction_matrix_reading(blocking, LARGE_FIRST_CACHE_BYTES);
  double calls = (double)blocking->tile_count * (double)blocking->panel_count * (double)blocking->block_count;
  int64_t sums = blocking->tile_rows * blocking->panel_width * type_storage_bytes(blocking->type);
  int64_t kept = blocking->block_count > 1 ? sums * blocking->tiles_per_block * blocking->panels_per_chunk : 0;
  double line = reading.passing + kept <= MATRIX_CACHE_BYTES ? line_of_second : line_of_memory;
  /* and all rows, for one chunk after the other */
  double lhs_bytes = (double)blocking->tile_count * blocking->tile_rows * (double)blocking->block_count *
                     (double)ceil_div(blocking->block_depth, blocking->group) * type_storage_bytes(blocking->type);
  bool again = blocking->rhs_kept && blocking->lhs_in_place && blocking->panels_per_chunk < blocking->panel_count;
  double staying = again && lhs_bytes > MATRIX_CACHE_BYTES ? line_of_memory : line_of_second;
  return calls * (reading.passes * line + reading.stays * staying) / LINE_BYTES;
}

/* Of what the micro-kernel reads for all tiles and panels, |lhs_bytes| of the lhs once. */
static double factors_reading_cost(const ContractionBlocking *blocking, const PlaceCosts *place, double lhs_bytes) {
  double bytes = type_storage_bytes(blocking->type), depth = (double)ceil_div(blocking->depth.size, blocking->group);
  double tiles = (double)blocking->tile_count, panels = (double)blocking->panel_count, total;
  double block_depth = (double)ceil_div(blocking->block_depth, blocking->group);
  double panel_bytes = block_depth * (double)blocking->packed_stride * bytes;
  double rows_bytes = tile_rows_bytes(blocking, place);
  if (blocking->rhs_in_place && blocking->rhs_may_stay)
    total = tiles * panels * depth * (rhs_passes(blocking) ? place->row_pages : place->row_in_place);
  else
    total = reading_cost(blocking, tiles * panels * (double)blocking->panel_width * depth * bytes,
                         panel_bytes + rows_bytes);
  if (blocking->lhs_step > 1) return total + tiles * panels * depth * across_cost(blocking, rows_bytes, panel_bytes);
  return total + reading_cost(blocking, panels * lhs_bytes, kept_with_rows(blocking, rows_bytes, panel_bytes));
}

/* Of a tile of the matrix unit whose results lie in a page for each row, others than those of the tile before. */
static double result_pages_cost(const ContractionBlocking *blocking) {
  int64_t rows = min_i64(blocking->tiles_per_block, blocking->tile_count) * blocking->tile_rows;
  bool are_apart = 2 * blocking->columns.size * type_storage_bytes(blocking->type) >= PAGE_BYTES;
  return are_apart && rows > KNOWN_PAGES / 4 ? blocking->tile_rows * result_page_cost : 0;
}

/* Of packing the whole rhs once, besides reading it. */
static double rhs_packing_cost(const ContractionBlocking *blocking, const PackingCosts *packing) {
  if (blocking->rhs_in_place) return 0;
  int64_t longest = packing->rhs_runs_along_depth ? blocking->block_depth : INT64_MAX;
  if (rhs_bytes(blocking) > FAR_BYTES && packing->rhs_runs_along_depth) longest = max_i64(longest / FAR_RUNS, 1);
  double elements = (double)(blocking->panel_count * blocking->panel_width) *
                    (double)ceil_div(blocking->depth.size, blocking->group) * blocking->group;
  return elements * element_packing(&packing->rhs, longest);
}

/* … of packing and reading the whole lhs, |lhs_bytes|. */
static double lhs_entry_cost(const ContractionBlocking *blocking, const PackingCosts *packing, double lhs_bytes) {
  double reading = reading_cost(blocking, lhs_bytes, lhs_bytes);
  if (blocking->lhs_in_place) return reading;
  double elements = lhs_bytes / type_storage_bytes(blocking->type) * blocking->group;
  return reading + elements * element_packing(&packing->lhs, blocking->block_depth);
}

/* Of all that one batch entry takes, but for the epilogue, which is the same whatever the sizes.  Something above
 * |most| where that is clear soon. */
static double cost(const ContractionBlocking *blocking, const PackingCosts *packing, const PlaceCosts *place,
                   double most) {
  double bytes = type_storage_bytes(blocking->type), tiles = (double)blocking->tile_count;
  double panels = (double)blocking->panel_count, depth = (double)ceil_div(blocking->depth.size, blocking->group);
  double blocks = (double)blocking->block_count;
  double rows = tiles * blocking->tile_rows;
  double share = packed_share(blocking);
  bool passes = rhs_passes(blocking);

  double rows_share = blocking->lhs_by_tiles ? blocking->cut_share : 1;
  double steps = tiles * blocking->step_cost * rows_share;
  if (blocking->rest_rows > 0) steps += blocking->rest_cost - blocking->step_cost;
  double total = panels * (steps * depth + tiles * blocks * call_cost);
  if (total > most) return total;
  total += tiles * panels * sums_moving_cost(blocking, place);
  if (blocking->is_turned) total += tiles * panels * turning_cost(blocking);
  if (blocking->in_matrix_unit) total += tiles * panels * result_pages_cost(blocking);
  if (total > most) return total;
  double lhs_bytes = rows * depth * bytes * share;
  total += blocking->in_matrix_unit ? matrix_reading_cost(blocking) : factors_reading_cost(blocking, place, lhs_bytes);
  double times = blocking->rhs_kept ? 1 : (double)ceil_div(blocking->tile_count, blocking->tiles_per_block);
  total += passes ? passing_cost(blocking, packing) : times * rhs_reading_cost(blocking, packing);
  total += times * rhs_packing_cost(blocking, packing);
  if (!blocking->lhs_in_place)
    total += (double)ceil_div(blocking->panel_count, blocking->panels_per_chunk) *
             lhs_entry_cost(blocking, packing, lhs_bytes);
  return total;
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
  return blocking->cost * (1 + HALF_SCRATCH_TIME * halvings(blocking->scratch_bytes, bytes_for_nothing(limit)));
}

static void note_cost(SizeClass *class, double its_cost) {
  if (class->least_cost == 0 || its_cost < class->least_cost) class->least_cost = its_cost;
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
  bool is_near = its_cost <= class->least_cost * SPARING_TIME;
  if (!class->found || its_cost < class->fastest.cost) class->fastest = (PricedBlocking){its_cost, *blocking};
  if (is_near && !is_seen_better(class, its_cost, blocking->scratch_bytes))
    array_push(&class->nearly, search->arena, ((PricedBlocking){its_cost, *blocking}));
  class->found = true;
}

/* What costs more changes nothing in |class|. */
static double most_wanted(const SizeClass *class) {
  return class->found ? fmax(class->fastest.cost, class->least_cost * SPARING_TIME) : INFINITY;
}

static void try_sizes(SizeSearch *search, const PlaceCosts *place, ContractionBlocking *blocking) {
  lay_out(blocking);
  if (blocking->scratch_bytes > search->priced) return;
  double most = most_wanted(&search->any);
  if (blocking->scratch_bytes <= search->few.most) most = fmax(most, most_wanted(&search->few));
  double its_cost = cost(blocking, &search->packing, place, most);
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
  double best_cost = 0;
  if (best->blocking.scratch_bytes <= few) return best;
  for (int64_t i = 0; i < class->nearly.count; i++) {
    const PricedBlocking *priced = &class->nearly.data[i];
    double its_cost = priced->cost * (1 + HALF_SCRATCH_TIME * halvings(priced->blocking.scratch_bytes, few));
    if (priced->cost > class->least_cost * SPARING_TIME || (best_cost > 0 && its_cost >= best_cost)) continue;
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

/* With numbers of tiles from |first_tiles| of the list on.  In one block of the depth panels are not worked on in
 * chunks. */
static void try_blocks_from(SizeSearch *search, int64_t first_tiles, ContractionBlocking *blocking) {
  bool is_shallow = blocking->rhs_in_place || blocking->in_matrix_unit;
  if (!is_shallow && blocking->block_depth > DEEPEST_PANEL * blocking->group) return;
  PlaceCosts place = place_costs(blocking);
  for (int64_t t = first_tiles; t < search->tiles.count; t++) {
    blocking->tiles_per_block = search->tiles.data[t];
    if (blocking->sums_in_result && blocking->block_count > 1) place.sums = sums_in_cache(blocking);
    int64_t first = blocking->block_count > 1 ? first_panels(search, blocking) : 0;
    int64_t end = blocking->block_count > 1 ? search->panels.count : 1;
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
  if (!stays && !rhs_passes(&blocking)) return;
  try_blocks_from(search, stays ? 0 : search->tiles.count - 1, &blocking);
}

/* The sums in the scratch, where they might lie in the result. */
static void try_sums_apart(SizeSearch *search, const ContractionBlocking *in_result) {
  ContractionBlocking blocking = *in_result;
  if (!blocking.sums_in_result || (blocking.block_count == 1 && blocking.stores_sums)) return;
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

static void try_all(SizeSearch *search, const Kernel *kernel) {
  int64_t depth_before = 0;
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    ContractionBlocking blocking = *search->base;
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

static void price_entries(const SizeSearch *search, ContractionBlocking *blocking) {
  double bytes = type_storage_bytes(blocking->type), depth = (double)ceil_div(blocking->depth.size, blocking->group);
  double rows = (double)(blocking->tile_count * blocking->tile_rows);
  blocking->lhs_entry_cost = lhs_entry_cost(blocking, &search->packing, rows * depth * bytes * packed_share(blocking));
  blocking->rhs_entry_cost =
      rhs_reading_cost(blocking, &search->packing) + rhs_packing_cost(blocking, &search->packing);
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
                       .packing = packing_costs(kernel, blocking)};
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
    price_entries(&search, blocking);
    choose_ahead(kernel, blocking);
    contraction_choose_passing(blocking, LARGE_FIRST_CACHE_BYTES);
  }
  arena_destroy(scratch);
  return found;
}
