/* What is done besides multiplying is added up from what a processor takes for each: vectors that are moved, lines of
 * each cache, pages, and what the hardware does not ask for ahead. */
#include "codegen/blocks/contraction_cost.h"

#include <math.h>

#include "base/checked_math.h"

#define FIRST_CACHE_BYTES (28 << 10)
#define MATRIX_CACHE_BYTES (1200 << 10) /* of a second-level one of 2 MiB, where there is a matrix unit */
#define FAR_BYTES (1 << 20)             /* what lies further away than these caches, mostly */
#define ROW_IN_RUNS 10                  /* rows of a panel that cost what a run does */
#define FAR_RUNS 4                      /* that cost what one does which begins far away */
/* Pages whose addresses a processor remembers. */
#define KNOWN_PAGES 256
#define NEAR_PAGES 48 /* and remembers best */
/* Times that a vector of sums of a tile at the edge is loaded or stored for each block of the depth, the loops around
 * it included. */
#define EDGE_MOVES 8
/* Multiplications of a product that is long: those of networks are mostly shorter, and find their weights further away
 * than one that is measured alone (ResNet-50 took 1.03 times the time by the prices of long ones). */
#define LONG_PRODUCTS (1 << 28)
/* Rows whose multiplications take as long as lines of the last-level cache: of registers of a line, one in a cycle, and
 * of shorter ones. */
#define LEAST_ROWS 3
#define LEAST_ROWS_SHORT 6
/* Rows of at most two tiles. */
#define ROWS_OF_FEW_TILES 28

/* Whatever a processor multiplies in a cycle, unless a product is long. */
#define COMMON_PRICES                                                                                         \
  .sum = 1, .line_passing = .2, .line_across = .8, .near_page = .6, .line_of_memory = 1.5, .line_alone = 160, \
  .line_of_tile = 160, .result_line_of_second = 1.2, .result_line_of_set = 7, .result_line_far = 16,          \
  .result_page = 16, .page = 40, .copy = .8, .run = 10, .square = .7, .short_step = 6, .masked_step = 14,     \
  .group_far = .4, .element = 2, .half_scratch = .05, .most_spared = .05

/* Where two registers are multiplied in a cycle, or their length is not known. */
static const ContractionPrices usual_prices = {COMMON_PRICES, .call = 24, .line_of_second = .4, .line_in_place = .2};

/* Where one of 512 bits is, of products that do not take long: what the core's own caches give comes while registers
 * are multiplied, too, and a call takes as long as the steps that it holds up. */
static const ContractionPrices short_by_halves = {COMMON_PRICES, .call = 60, .line_of_second = .04,
                                                  .line_in_place = .02};

/* Where one of 512 bits is, of products that take long enough to find what they read again: most of what is read comes
 * meanwhile.  From the times of 33 products and convolutions, 14 sizes each, on a Zen 4: these agree with them to 4 %.
 */
static const ContractionPrices prices_by_halves = {.call = 24,
                                                   .sum = .5,
                                                   .line_of_second = .04,
                                                   .line_passing = .2,
                                                   .line_in_place = .02,
                                                   .line_across = .15,
                                                   .near_page = .1,
                                                   .line_of_memory = .2,
                                                   .line_alone = 160,
                                                   .line_of_tile = 5,
                                                   .result_line_of_second = .3,
                                                   .result_line_of_set = 9,
                                                   .result_line_far = 8.4,
                                                   .result_page = 16,
                                                   .page = 1,
                                                   .copy = 1.4,
                                                   .run = 3,
                                                   .square = .8,
                                                   .short_step = 6,
                                                   .masked_step = 14,
                                                   .group_far = .4,
                                                   .element = 2.5,
                                                   .half_scratch = .025,
                                                   .most_spared = .03};

/* Both factors are matrices: patches of an image are read or packed in ways that these prices do not know. */
static bool has_plain_depth(const Kernel *kernel, const ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth;
  return contraction_merged_suffix(kernel, &blocking->lhs_set, depth) == depth->count &&
         contraction_merged_suffix(kernel, &blocking->rhs_set, depth) == depth->count;
}

bool contraction_has_far_panels(const Kernel *kernel, const ContractionBlocking *blocking) {
  bool has_few_tiles = blocking->rows.size > ROWS_OF_TILE && blocking->rows.size <= ROWS_OF_FEW_TILES;
  bool is_far = blocking->group == 1 && contraction_rhs_bytes(blocking) > FAR_BYTES;
  return has_few_tiles && is_far && has_plain_depth(kernel, blocking);
}

bool contraction_registers_are_lines(const ContractionBlocking *blocking) {
  return (int64_t)blocking->vector_lanes * type_storage_bytes(blocking->type) >= LINE_BYTES;
}

bool contraction_reads_panels(const VecTarget *target, const ContractionBlocking *blocking) {
  if (!target->keeps_factors || blocking->in_matrix_unit) return false;
  if (contraction_registers_are_lines(blocking))
    return target->multiplies_by_halves && blocking->rows.size >= LEAST_ROWS;
  return target->has_avx2_fma && blocking->rows.size >= LEAST_ROWS_SHORT;
}

bool contraction_reads_deep_blocks(const VecTarget *target, const ContractionBlocking *blocking) {
  if (target->keeps_factors || blocking->in_matrix_unit || blocking->group > 1) return false;
  return contraction_registers_are_lines(blocking) && target->multiplies_by_halves &&
         blocking->rows.size > MOST_SWEPT_ROWS;
}

const ContractionPrices *contraction_prices(const Kernel *kernel, const VecTarget *target,
                                            const ContractionBlocking *blocking) {
  bool are_lines = blocking->lanes * type_storage_bytes(blocking->type) >= LINE_BYTES;
  double products = (double)blocking->rows.size * (double)blocking->columns.size * (double)blocking->depth.size;
  bool is_long = products >= LONG_PRODUCTS && has_plain_depth(kernel, blocking);
  bool are_known = is_long || contraction_has_far_panels(kernel, blocking);
  if (!target->multiplies_by_halves || !are_lines) return &usual_prices;
  return are_known ? &prices_by_halves : &short_by_halves;
}

double contraction_rhs_bytes(const ContractionBlocking *blocking) {
  return (double)blocking->depth.size * (double)blocking->columns.size * type_storage_bytes(blocking->type);
}

bool contraction_rhs_passes(const ContractionBlocking *blocking) {
  int64_t stride = blocking->rhs_stride * type_storage_bytes(blocking->type);
  double span = (double)blocking->depth.size * (double)stride;
  bool may_pass = blocking->has_large_caches && !blocking->is_apart && !blocking->is_turned && blocking->lhs_step == 1;
  bool is_plain = blocking->rhs_in_place && blocking->rhs_may_stay && stride % LINE_BYTES == 0;
  return may_pass && is_plain && blocking->tiles_per_block == 1 &&
         fmax(contraction_rhs_bytes(blocking), span) <= FAR_BYTES;
}

/* Of an element of |set| that is packed along |dim|, in squares or in runs. */
static PackingCost packing_cost(const Kernel *kernel, const ContractionBlocking *blocking, const ValueSet *set, int dim,
                                bool in_squares, int64_t run) {
  double operations = contraction_operation_count(kernel, set);
  if (in_squares) return (PackingCost){blocking->prices->square, blocking->depth.size};
  if (!contraction_contiguous(kernel, set, dim)) return (PackingCost){blocking->prices->element + operations, run};
  return (PackingCost){blocking->prices->copy * (1 + operations) / blocking->lanes, run};
}

/* Elements of the lhs that are copied at a time, mostly; how many there are matters for short runs alone. */
static int64_t lhs_run(const Kernel *kernel, const ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth;
  int64_t run = contraction_suffix_size(kernel, depth, contraction_merged_suffix(kernel, &blocking->lhs_set, depth));
  int inside = contraction_inside_suffix(kernel, blocking, depth->count, blocking->vector_lanes);
  return inside > 0 && run < SHORTEST_ROW ? contraction_suffix_size(kernel, depth, inside) : run;
}

/* Of an element beside the copying: groups take it from rows that lie far apart. */
static double far_cost(const Kernel *kernel, const ContractionBlocking *blocking) {
  if (!blocking->in_matrix_unit) return 0;
  double elements = (double)blocking->depth.size * (double)blocking->columns.size;
  int32_t source = blocking->rhs_source >= 0 ? blocking->rhs_source : blocking->rhs;
  return elements * type_storage_bytes(kernel->values[source].type) > FAR_BYTES ? blocking->prices->group_far : 0;
}

PackingCosts contraction_packing_costs(const Kernel *kernel, const ContractionBlocking *blocking) {
  const DimList *depth = &blocking->depth, *columns = &blocking->columns;
  bool is_row = blocking->segment >= blocking->panel_width; /* of a panel: no loop */
  int64_t rhs_run = is_row ? ROW_IN_RUNS * blocking->panel_width : blocking->segment;
  double row_bytes = blocking->rhs_is_plain ? (double)blocking->rhs_stride * type_storage_bytes(blocking->type) : 0;
  PackingCosts costs = {.lhs = packing_cost(kernel, blocking, &blocking->lhs_set, depth->dims[depth->count - 1],
                                            blocking->lhs_transposes, lhs_run(kernel, blocking)),
                        .lhs_alone = packing_cost(kernel, blocking, &blocking->lhs_set, depth->dims[depth->count - 1],
                                                  false, lhs_run(kernel, blocking)),
                        .rhs = packing_cost(kernel, blocking, &blocking->rhs_set, columns->dims[columns->count - 1],
                                            blocking->rhs_transposes, rhs_run),
                        .rhs_runs_along_depth = blocking->rhs_transposes,
                        .row_pages = row_bytes < PAGE_BYTES ? row_bytes / PAGE_BYTES : 1};
  costs.rhs.element += far_cost(kernel, blocking);
  return costs;
}

/* Of an element in blocks whose depth is |depth|. */
static double element_packing(const ContractionBlocking *blocking, const PackingCost *packing, int64_t depth) {
  return packing->element + blocking->prices->run / (double)min_i64(packing->run, depth);
}

/* Which part of the elements of a tile's rows are packed, or read where they overlap. */
static double packed_share(const ContractionBlocking *blocking) {
  if (blocking->is_turned || blocking->walks_window) return blocking->window.read_share;
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
  return bytes / LINE_BYTES *
         (kept <= SECOND_CACHE_BYTES ? blocking->prices->line_of_second : blocking->prices->line_of_memory);
}

/* Of reading the whole rhs once for rows of tiles. */
static double rhs_reading_cost(const ContractionBlocking *blocking, const PackingCosts *packing) {
  double bytes = contraction_rhs_bytes(blocking), total = reading_cost(blocking, bytes, bytes);
  double pages = (double)blocking->depth.size * packing->row_pages;
  double visits = (double)ceil_div(blocking->panel_count, blocking->panels_per_chunk);
  double rows = (double)(blocking->tiles_per_block * blocking->tile_rows);
  int64_t along = blocking->panels_per_chunk * blocking->panel_width * type_storage_bytes(blocking->type);
  /* of each row as many as a visit goes along */
  if (pages > KNOWN_PAGES) total += visits * pages * blocking->prices->page * fmax(1, (double)along / PAGE_BYTES);
  /* one row of sums is one more stream wherever it lies */
  bool sums_are_apart = !blocking->sums_in_result || blocking->rows.size == 1;
  bool is_streamed = blocking->block_depth <= STREAMED_DEPTH && along >= PAGE_BYTES / 2 && sums_are_apart;
  bool is_in_place = blocking->tile_count == 1 && blocking->rhs_in_place;
  bool is_asked_for = is_in_place && (blocking->is_by_panels || blocking->is_deep);
  bool is_far = bytes > FAR_BYTES && packing->row_pages > 0 && !is_streamed && !is_asked_for;
  double line = blocking->packed_by_tile ? blocking->prices->line_of_tile : blocking->prices->line_alone;
  return is_far ? total + bytes / LINE_BYTES * line / rows : total;
}

/* Of all readings of a rhs that passes, but for that of its rows' pages: it comes from far away once. */
static double passing_cost(const ContractionBlocking *blocking, const PackingCosts *packing) {
  double again = (double)blocking->tile_count - 1;
  return rhs_reading_cost(blocking, packing) +
         again * contraction_rhs_bytes(blocking) / LINE_BYTES * blocking->prices->line_passing;
}

/* Which part of the tiles reaches beyond the result. */
static double edge_share(const ContractionBlocking *blocking) {
  double rows = (double)(blocking->rest_rows > 0 ? blocking->tile_count : blocking->rows.size / blocking->tile_rows);
  double runs = (double)(blocking->columns.size / blocking->column_run);
  double columns = runs * (double)(blocking->column_run / blocking->panel_width);
  return 1 - rows * columns / ((double)blocking->tile_count * (double)blocking->panel_count);
}

/* Of a line of sums in the result, loaded and stored, where |kept| bytes of them are between two times. */
static double result_line_cost(const ContractionBlocking *blocking, const PlaceCosts *place, double kept) {
  int64_t bytes = type_storage_bytes(blocking->type);
  if (kept > SECOND_CACHE_BYTES) return blocking->prices->result_line_far;
  int64_t width = blocking->panels_per_chunk * blocking->panel_width * bytes;
  double taken = kept > 0 ? contraction_rows_bytes(&place->sums, width) : 0;
  if (taken > SECOND_CACHE_BYTES) return blocking->prices->result_line_far;
  if (place->rows_meet) return blocking->prices->result_line_of_set;
  return taken <= FIRST_CACHE_BYTES ? 0 : blocking->prices->result_line_of_second;
}

/* Of a row of a panel that every tile reads where it is, besides |others| bytes that are to stay. */
static double row_in_place_cost(const ContractionBlocking *blocking, double others) {
  int64_t bytes = type_storage_bytes(blocking->type), stride = blocking->rhs_stride * bytes;
  int64_t width = blocking->panel_width * bytes;
  double taken = contraction_cache_bytes(FIRST_CACHE_SETS, blocking->block_depth, stride, width);
  double lines = (double)width / LINE_BYTES;
  return taken + others > FIRST_CACHE_BYTES ? lines * blocking->prices->line_in_place : 0;
}

static double row_pages_cost(const ContractionBlocking *blocking) {
  double pages = (double)(blocking->rhs_stride * type_storage_bytes(blocking->type)) / PAGE_BYTES;
  return pages * (double)blocking->block_depth > NEAR_PAGES ? pages * blocking->prices->near_page : 0;
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
  if (taken + others > FIRST_CACHE_BYTES) total += lines * blocking->prices->line_across;
  if (pages * (double)blocking->block_depth > NEAR_PAGES) total += pages * blocking->prices->near_page;
  return total;
}

/* Of a tile's sums, which every block of the depth but the first goes on with. */
static double sums_moving_cost(const ContractionBlocking *blocking, const PlaceCosts *place) {
  double vectors = blocking->tile_rows * blocking->panel_vectors, again = (double)blocking->block_count - 1;
  double bytes = vectors * blocking->lanes * type_storage_bytes(blocking->type);
  double kept = again > 0 ? bytes * (double)(blocking->tiles_per_block * blocking->panels_per_chunk) : 0;
  double total = vectors * blocking->prices->sum * (2 * again + 1);
  /* nothing asks ahead for rows of the matrix unit's registers */
  if (blocking->in_matrix_unit && 2 * kept > SECOND_CACHE_BYTES)
    total += bytes / LINE_BYTES * again * blocking->prices->result_line_far;
  if (!blocking->sums_in_result) return total + reading_cost(blocking, bytes * 2 * again, 2 * kept);
  double line = again * result_line_cost(blocking, place, kept);
  if (!blocking->stores_sums) line += result_line_cost(blocking, place, 0);
  return total + bytes / LINE_BYTES * line + place->edge_share * again * vectors * EDGE_MOVES * blocking->prices->sum;
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
  if (!contraction_rhs_passes(blocking)) return panel_bytes + rows_bytes * (double)blocking->tiles_per_block;
  return blocking->panels_per_chunk > 1 ? rows_bytes : rows_bytes * (double)blocking->block_count;
}

PlaceCosts contraction_place_costs(const ContractionBlocking *blocking) {
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
  double squares = blocking->prices->square * (double)(contraction_turned_rows(blocking) * blocking->panel_width);
  double steps = (double)ceil_div(blocking->tile_rows, lanes) * blocking->prices->short_step;
  bool is_whole = blocking->tile_rows % lanes == 0;
  if (!is_whole && lanes * type_storage_bytes(blocking->type) < LINE_BYTES) steps += blocking->prices->masked_step;
  return squares + (double)blocking->panel_width * steps;
}

/* Of the factors that the matrix unit reads from further away than the first-level cache. */
static double matrix_reading_cost(const ContractionBlocking *blocking) {
  MatrixReading reading = contraction_matrix_reading(blocking, LARGE_FIRST_CACHE_BYTES);
  double calls = (double)blocking->tile_count * (double)blocking->panel_count * (double)blocking->block_count;
  int64_t sums = blocking->tile_rows * blocking->panel_width * type_storage_bytes(blocking->type);
  int64_t kept = blocking->block_count > 1 ? sums * blocking->tiles_per_block * blocking->panels_per_chunk : 0;
  double line = reading.passing + kept <= MATRIX_CACHE_BYTES ? blocking->prices->line_of_second
                                                             : blocking->prices->line_of_memory;
  /* and all rows, for one chunk after the other */
  double lhs_bytes = (double)blocking->tile_count * blocking->tile_rows * (double)blocking->block_count *
                     (double)ceil_div(blocking->block_depth, blocking->group) * type_storage_bytes(blocking->type);
  bool again = blocking->rhs_kept && blocking->lhs_in_place && blocking->panels_per_chunk < blocking->panel_count;
  double staying =
      again && lhs_bytes > MATRIX_CACHE_BYTES ? blocking->prices->line_of_memory : blocking->prices->line_of_second;
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
    total = tiles * panels * depth * (contraction_rhs_passes(blocking) ? place->row_pages : place->row_in_place);
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
  return are_apart && rows > KNOWN_PAGES / 4 ? blocking->tile_rows * blocking->prices->result_page : 0;
}

/* Of packing the whole rhs once, besides reading it. */
static double rhs_packing_cost(const ContractionBlocking *blocking, const PackingCosts *packing) {
  if (blocking->rhs_in_place) return 0;
  int64_t longest = packing->rhs_runs_along_depth ? blocking->block_depth : INT64_MAX;
  if (contraction_rhs_bytes(blocking) > FAR_BYTES && packing->rhs_runs_along_depth)
    longest = max_i64(longest / FAR_RUNS, 1);
  double elements = (double)(blocking->panel_count * blocking->panel_width) *
                    (double)ceil_div(blocking->depth.size, blocking->group) * blocking->group;
  return elements * element_packing(blocking, &packing->rhs, longest);
}

/* Which part of the rows squares take, mostly: whole ones in a block, which begin where a part of the rows does. */
static double share_in_squares(const ContractionBlocking *blocking) {
  int64_t lanes = blocking->lanes, rows = min_i64(blocking->tiles_per_block * blocking->tile_rows, blocking->rows.size);
  if (!blocking->lhs_in_parts) return (double)(rows / lanes * lanes) / (double)rows;
  int64_t phases = 0, in_squares = 0, begin = 0;
  do { /* rows before the first square of each block, until they come again */
    int64_t before = (lanes - begin) % lanes;
    if (before < rows) in_squares += (rows - before) / lanes * lanes;
    begin = (begin + rows) % lanes;
    phases++;
  } while (begin != 0);
  return (double)in_squares / (double)(phases * rows);
}

/* … of packing and reading the whole lhs, |lhs_bytes|. */
static double lhs_entry_cost(const ContractionBlocking *blocking, const PackingCosts *packing, double lhs_bytes) {
  double reading = reading_cost(blocking, lhs_bytes, lhs_bytes);
  if (blocking->lhs_in_place) return reading;
  double elements = lhs_bytes / type_storage_bytes(blocking->type) * blocking->group;
  double element = element_packing(blocking, &packing->lhs, blocking->block_depth);
  if (blocking->lhs_transposes) {
    double share = share_in_squares(blocking);
    element = share * element + (1 - share) * element_packing(blocking, &packing->lhs_alone, blocking->block_depth);
  }
  return reading + elements * element;
}

double contraction_cost(const ContractionBlocking *blocking, const PackingCosts *packing, const PlaceCosts *place,
                        double most) {
  double bytes = type_storage_bytes(blocking->type), tiles = (double)blocking->tile_count;
  double panels = (double)blocking->panel_count, depth = (double)ceil_div(blocking->depth.size, blocking->group);
  double blocks = (double)blocking->block_count;
  double rows = tiles * blocking->tile_rows;
  double share = packed_share(blocking);
  bool passes = contraction_rhs_passes(blocking);

  double rows_share = blocking->lhs_by_tiles ? blocking->cut_share : 1;
  double steps = tiles * blocking->step_cost * rows_share;
  if (blocking->rest_rows > 0) steps += blocking->rest_cost - blocking->step_cost;
  double total = panels * (steps * depth * blocking->common_share + tiles * blocks * blocking->prices->call);
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

void contraction_price_entries(const Kernel *kernel, ContractionBlocking *blocking) {
  ContractionBlocking entry = *blocking;
  entry.prices = &usual_prices;
  PackingCosts packing = contraction_packing_costs(kernel, &entry);
  double bytes = type_storage_bytes(entry.type), depth = (double)ceil_div(entry.depth.size, entry.group);
  double rows = (double)(entry.tile_count * entry.tile_rows);
  blocking->lhs_entry_cost = lhs_entry_cost(&entry, &packing, rows * depth * bytes * packed_share(&entry));
  blocking->rhs_entry_cost = rhs_reading_cost(&entry, &packing) + rhs_packing_cost(&entry, &packing);
}
