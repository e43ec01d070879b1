/* Recognising contractions and choosing their blocks. */
#include <math.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction_cost.h"

/* Bytes of the lines of a panel that all tiles read where it is; of a rhs that comes from memory; and of a first-level
 * cache the sets, and how many lines of a panel one of them may hold. */
#define SMALL_PANEL_BYTES (24 << 10)
#define STREAMED_BYTES (1 << 20)
#define PANEL_WAYS 4
/* Operations of a factor that square blocks may repeat in code for each of their vectors. */
#define SQUARE_OPERATIONS 3
#define LEAST_COLUMNS 4
/* Rows that are worth packing columns for whose elements are computed one by one; for fewer, loops leave out what its
 * guard does not let through. */
#define ROWS_OF_ELEMENTS 4
/* So many rows are multiplied faster as f32 than the columns are packed for them. */
#define FEW_PAIRED_ROWS 14
#define FEW_MATRIX_ROWS 5 /* the same of the matrix unit */
/* Products of narrow types for which there is code of its own: 8 µs by f32 with AVX-512, 2 µs by VDPBF16PS. */
#define NARROW_PRODUCTS (256 << 10)
/* Times the time of a tile whose rows have to be packed because they meet in the cache. */
#define PACKED_ROWS 1.02
/* Times the time of panels of two registers, where a large rhs is read by the first of a few tiles: wider ones ask for
 * more lines at a step than come meanwhile. */
#define WIDE_PANELS 1.07
/* Times the least time of a tile's sizes that is not worth trying another tile for, nor more bytes. */
#define OTHER_TILE_TIME 1.05
/* Times the time of other tiles that one with a last tile of fewer rows must take: tiles of 49 rows would be 14 + 14 +
 * 14 + 7 rather than 7 rows of more columns, which read weights from memory in longer stretches. */
#define LAST_TILE_TIME 0.992
/* Tiles along rows, and panels, of a product that is small. */
#define FEW_TILES 8
/* Cycles of a register's multiplications.  Of 512 bits some processors do two in a cycle, others one. */
#define FASTEST_MULTIPLICATION 0.5
#define LONG_MULTIPLICATION 0.6

/* --- the form --- */

static void collect(const Kernel *kernel, int32_t value, ValueSet *set);

static void collect_index(const Kernel *kernel, IndexExpr expr, ValueSet *set) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) collect(kernel, atom->number, set);
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) collect_index(kernel, atom->inner, set);
  }
}

static void collect(const Kernel *kernel, int32_t value, ValueSet *set) {
  if (value < 0 || set->has[value]) return;
  set->has[value] = true;
  const KernelValue *info = &kernel->values[value];
  for (int i = 0; i < info->operand_count; i++) collect(kernel, info->operands[i], set);
  collect(kernel, info->predicate, set);
  collect_index(kernel, info->address, set);
}

static ValueSet value_set(const Kernel *kernel, int32_t value) {
  ValueSet set = {ARENA_NEW_ARRAY(kernel->arena, bool, kernel->value_count), false};
  collect(kernel, value, &set);
  return set;
}

static bool is_zero(const KernelValue *value) {
  if (value->kind != KERNEL_CONSTANT) return false;
  uint64_t sign = type_is_float(value->type) ? UINT64_C(1) << (type_storage_bytes(value->type) * 8 - 1) : 0;
  return (value->bits[0] & ~sign) == 0;
}

static bool is_accumulator(const KernelValue *value) {
  return value->kind == KERNEL_ACCUMULATOR;
}

/* a0 ← a0 + lhs × rhs from zero. */
static bool match_fold(const Kernel *kernel, ContractionBlocking *blocking) {
  if (kernel->fold_count != 1 || kernel->stage_count != 2 || kernel->stages[0].store_count != 0) return false;
  const KernelFold *fold = &kernel->folds[0];
  const KernelValue *sum = &kernel->values[fold->next];
  bool is_sum = sum->kind == KERNEL_APPLY && sum->opcode == HLO_ADD;
  if (fold->stage != 0 || !fold->reassociable || !is_sum || !is_zero(&kernel->values[fold->seed])) return false;
  const KernelValue *product = NULL;
  for (int i = 0; i < 2; i++) {
    if (is_accumulator(&kernel->values[sum->operands[i]])) product = &kernel->values[sum->operands[1 - i]];
  }
  if (product == NULL || product->kind != KERNEL_APPLY || product->opcode != HLO_MULTIPLY) return false;
  blocking->type = fold->type;
  blocking->lhs = product->operands[0];
  blocking->rhs = product->operands[1];
  bool is_wide = type_is_integral(blocking->type) ? type_storage_bytes(blocking->type) >= 4
                                                  : blocking->type == TYPE_F32 || blocking->type == TYPE_F64;
  if (!is_wide) return false;
  blocking->lhs_set = value_set(kernel, blocking->lhs);
  blocking->rhs_set = value_set(kernel, blocking->rhs);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if ((blocking->lhs_set.has[v] || blocking->rhs_set.has[v]) && is_accumulator(&kernel->values[v])) return false;
  }
  return true;
}

static bool match_epilogue(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelStage *stage = &kernel->stages[1];
  if (stage->store_count == 0) return false;
  ValueSet *set = &blocking->epilogue_set;
  *set = (ValueSet){ARENA_NEW_ARRAY(kernel->arena, bool, kernel->value_count), true};
  for (int i = 0; i < stage->store_count; i++) {
    if (stage->stores[i].predicate >= 0) return false;
    collect(kernel, stage->stores[i].value, set);
    collect_index(kernel, stage->stores[i].address, set);
  }
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == 1 ||
        (kernel->dims[d].stage == KERNEL_OUTER && !kernel_dim_is_parallel(&kernel->dims[d])))
      return false;
  }
  return true;
}

/* --- roles of dims --- */

static void add_dim(const Kernel *kernel, DimList *list, int dim) {
  if (list->count == 0) list->size = 1;
  list->dims[list->count++] = dim;
  list->size *= kernel->dims[dim].extent;
}

static int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

/* The largest step of |dim| in the loads of |set|. */
static int64_t load_step(const Kernel *kernel, const ValueSet *set, int dim) {
  int64_t step = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (!set->has[v] || kernel->values[v].kind != KERNEL_LOAD) continue;
    int64_t own = magnitude(index_dim_coefficient(&kernel->space, kernel->values[v].address, dim));
    if (own > step) step = own;
  }
  return step;
}

static int64_t store_step(const Kernel *kernel, int dim) {
  return magnitude(index_dim_coefficient(&kernel->space, kernel->stages[1].stores[0].address, dim));
}

/* Larger steps outside; equal ones stay in order.  |set| NULL: steps of the store. */
static void order_by_step(const Kernel *kernel, DimList *list, const ValueSet *set, const ValueSet *second) {
  for (int i = 1; i < list->count; i++) {
    for (int j = i; j > 0; j--) {
      int outer = list->dims[j - 1], inner = list->dims[j];
      int64_t a = set == NULL ? store_step(kernel, outer) : load_step(kernel, set, outer);
      int64_t b = set == NULL ? store_step(kernel, inner) : load_step(kernel, set, inner);
      if (a == b && second != NULL) a = load_step(kernel, second, outer), b = load_step(kernel, second, inner);
      if (a >= b) break;
      list->dims[j - 1] = inner;
      list->dims[j] = outer;
    }
  }
}

static void swap_factors(ContractionBlocking *blocking) {
  int32_t value = blocking->lhs;
  blocking->lhs = blocking->rhs;
  blocking->rhs = value;
  ValueSet set = blocking->lhs_set;
  blocking->lhs_set = blocking->rhs_set;
  blocking->rhs_set = set;
  DimList list = blocking->rows;
  blocking->rows = blocking->columns;
  blocking->columns = list;
}

/* The step of all stores along |dim|; 0 where there is none, or one too large for lanes. */
static int64_t stored_step(const Kernel *kernel, int dim) {
  int64_t step = 0;
  for (int i = 0; i < kernel->stages[1].store_count; i++) {
    int64_t own;
    if (!kernel_plain_stride(kernel, kernel->stages[1].stores[i].address, dim, &own)) return 0;
    if (i > 0 && own != step) return 0;
    step = own;
  }
  return step > 0 && vec_stride_is_small(step) ? step : 0;
}

/* Of the last dim of |list|, as wanted of columns. */
static int64_t column_step(const Kernel *kernel, const DimList *list) {
  return list->count == 0 ? 0 : stored_step(kernel, list->dims[list->count - 1]);
}

static bool find_roles(const Kernel *kernel, ContractionBlocking *blocking) {
  uint64_t lhs = kernel->values[blocking->lhs].dims, rhs = kernel->values[blocking->rhs].dims;
  blocking->batch.size = blocking->rows.size = blocking->columns.size = blocking->depth.size = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    bool in_lhs = (lhs >> d & 1) != 0, in_rhs = (rhs >> d & 1) != 0;
    if (kernel->dims[d].stage == 0) {
      add_dim(kernel, &blocking->depth, d);
    } else if (in_lhs == in_rhs) {
      add_dim(kernel, &blocking->batch, d);
    } else {
      add_dim(kernel, in_lhs ? &blocking->rows : &blocking->columns, d);
    }
  }
  order_by_step(kernel, &blocking->rows, NULL, NULL);
  order_by_step(kernel, &blocking->columns, NULL, NULL);
  int64_t of_rows = column_step(kernel, &blocking->rows), of_columns = column_step(kernel, &blocking->columns);
  bool few_columns = blocking->columns.size < LEAST_COLUMNS && blocking->rows.size >= LEAST_COLUMNS;
  if (of_columns == 0 || (of_rows != 0 && (of_rows < of_columns || few_columns))) swap_factors(blocking);
  if (column_step(kernel, &blocking->columns) == 0 || blocking->depth.count == 0) return false;
  order_by_step(kernel, &blocking->depth, &blocking->lhs_set, &blocking->rhs_set);
  return true;
}

/* --- dims walked as one --- */

bool contraction_address_merges(const Kernel *kernel, IndexExpr address, int outer, int inner) {
  const IndexSpace *space = &kernel->space;
  if (index_depends_nonlinearly(space, address, outer) || index_depends_nonlinearly(space, address, inner))
    return false;
  return index_dim_coefficient(space, address, outer) ==
         index_dim_coefficient(space, address, inner) * kernel->dims[inner].extent;
}

bool contraction_merges(const Kernel *kernel, const ValueSet *set, const DimList *list, int i) {
  int outer = list->dims[i], inner = list->dims[i + 1];
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind == KERNEL_CONSTANT || value->kind == KERNEL_APPLY ||
        value->kind == KERNEL_ACCUMULATOR)
      continue;
    if (!contraction_address_merges(kernel, value->address, outer, inner)) return false;
  }
  for (int s = 0; set->has_stores && s < kernel->stages[1].store_count; s++) {
    if (!contraction_address_merges(kernel, kernel->stages[1].stores[s].address, outer, inner)) return false;
  }
  return true;
}

int contraction_merged_suffix(const Kernel *kernel, const ValueSet *set, const DimList *list) {
  int count = list->count > 0 ? 1 : 0;
  while (count < list->count && contraction_merges(kernel, set, list, list->count - count - 1)) count++;
  return count;
}

/* --- blocks --- */

/* Sums that fit the registers beside a panel's row and one or two factors. */
static int tile_limit(const VecTarget *target) {
  if (target->register_count >= 32) return 28;
  return target->has_fma ? 12 : 10;
}

static int largest_panel_vectors(const VecTarget *target) {
  return target->register_count >= 32 ? MOST_PANEL_VECTORS : 3;
}

/* Steps of the machine for one index of the depth: |multiplication| for each, or nearly two loads each, and no less
 * than the latency of an addition.  A panel's vectors may come from the second-level cache. */
static double tile_cost(int rows, int vectors, double multiplication) {
  double work = rows * vectors * multiplication, loads = (rows + vectors) * 0.55;
  double cost = work > loads ? work : loads;
  return (cost > 4 ? cost : 4) + 0.5 + vectors * 0.1;
}

/* Which tiles are thought of: of at most |most_sums| registers; |whole|: so many rows are whole tiles, 0: any. */
typedef struct TileLimit {
  int most_sums;
  int64_t whole;
  double multiplication; /* of tile_cost: the fastest has the tiles that ask for the fewest loads */
} TileLimit;

static double multiplication_of(const VecTarget *target) {
  return target->vector_bits >= 512 ? LONG_MULTIPLICATION : FASTEST_MULTIPLICATION;
}

/* The rows of tiles, and of the last one if that has fewer; what a step of them all takes. */
typedef struct TileRows {
  int rows, rest;
  double cost;
} TileRows;

/* Tiles with |vectors| registers of each row: as many rows as there are registers for, the last tile fewer if
 * |may_rest|; or tiles that leave as few rows as there can be. */
static TileRows rows_of_tiles(int64_t all_rows, TileLimit limit, int vectors, bool may_rest) {
  int64_t most = limit.most_sums / vectors, rows = most;
  if (limit.whole > 0)
    while (limit.whole % rows != 0) rows--;
  else
    rows = ceil_div(all_rows, ceil_div(all_rows, most));
  TileRows even = {(int)rows, 0,
                   (double)ceil_div(all_rows, rows) * tile_cost((int)rows, vectors, limit.multiplication)};
  int rest = (int)(all_rows % most);
  if (!may_rest || limit.whole > 0 || all_rows < most || rest == 0) return even;
  double whole = (double)(all_rows / most) * tile_cost((int)most, vectors, limit.multiplication);
  double cost = (whole + tile_cost(rest, vectors, limit.multiplication)) / LAST_TILE_TIME;
  TileRows uneven = {(int)most, rest, cost};
  return uneven.cost < even.cost ? uneven : even;
}

/* Elements from row to row of a lhs that may be read where it is; 0 for others.  Patches are by whole tiles alone. */
static int64_t row_step(const Kernel *kernel, const ContractionBlocking *blocking, TileLimit limit) {
  const KernelValue *lhs = &kernel->values[blocking->lhs];
  int64_t stride;
  if (limit.whole == 0 || lhs->kind != KERNEL_LOAD || blocking->rows.count == 0)
    return contraction_lhs_stride(kernel, blocking);
  int row = blocking->rows.dims[blocking->rows.count - 1];
  return kernel_plain_stride(kernel, lhs->address, row, &stride) ? max_i64(stride, 0) : 0;
}

/* Whether panels of two registers come sooner than wider ones, which would ask for fewer loads: where a register's
 * multiplications take a cycle, loads do not matter. */
static bool prefers_pairs(const Kernel *kernel, const VecTarget *target, TileLimit limit,
                          const ContractionBlocking *blocking) {
  bool are_wanted = (blocking->is_by_panels || blocking->is_deep) && blocking->rows.size <= ROWS_OF_TILE;
  if (!target->multiplies_by_halves || limit.whole > 0) return false;
  return are_wanted || contraction_has_far_panels(kernel, blocking);
}

static void choose_tile(const Kernel *kernel, const VecTarget *target, TileLimit limit, ContractionBlocking *blocking) {
  int lanes = target->vector_bits / (type_storage_bytes(blocking->type) * 8);
  int least = blocking->group > 1 ? 4 : 2;
  blocking->vector_lanes = lanes;
  while (lanes > least && lanes / 2 >= blocking->column_run) lanes /= 2;
  blocking->lanes = lanes;
  blocking->is_by_panels = contraction_reads_panels(target, blocking);
  blocking->is_deep = contraction_reads_deep_blocks(target, blocking);
  if (blocking->in_matrix_unit) {
    contraction_choose_matrix_tile(limit.most_sums < tile_limit(target) ? 2 : 4, blocking);
    return;
  }
  int64_t runs = blocking->columns.size / blocking->column_run;
  int64_t lhs_stride = row_step(kernel, blocking, limit) * type_storage_bytes(blocking->type);
  double best = 0;
  for (int vectors = 1; vectors <= largest_panel_vectors(target); vectors++) {
    bool may_rest = contraction_has_assembly(target, blocking, limit.most_sums / vectors, vectors);
    TileRows tiles = rows_of_tiles(blocking->rows.size, limit, vectors, may_rest);
    int64_t panels = runs * ceil_div(blocking->column_run, vectors * lanes);
    double cost = (double)panels * tiles.cost;
    if (lhs_stride > 0 && contraction_rows_meet(blocking->has_large_caches, tiles.rows, lhs_stride))
      cost *= PACKED_ROWS;
    if (vectors > 2 && tiles.rows < blocking->rows.size && prefers_pairs(kernel, target, limit, blocking))
      cost *= WIDE_PANELS;
    if (best != 0 && cost >= best) continue;
    best = cost;
    blocking->step_cost = tile_cost(tiles.rows, vectors, multiplication_of(target));
    blocking->rest_cost = tile_cost(tiles.rest, vectors, multiplication_of(target));
    blocking->panel_vectors = vectors;
    blocking->tile_rows = tiles.rows;
    blocking->rest_rows = tiles.rest;
    blocking->tile_count = ceil_div(blocking->rows.size, tiles.rows);
    blocking->panels_per_run = panels / runs;
    blocking->panel_count = panels;
  }
  blocking->panel_width = (int64_t)blocking->panel_vectors * lanes;
  /* vectors of a segment may reach beyond the panel */
  blocking->packed_stride =
      blocking->panel_width + (blocking->segment < blocking->column_run ? blocking->vector_lanes : 0);
}

void contraction_choose_whole_tile(const VecTarget *target, int64_t rows, ContractionBlocking *blocking) {
  TileLimit limit = {tile_limit(target), 0, FASTEST_MULTIPLICATION};
  double best = 0;
  for (int vectors = 1; vectors <= largest_panel_vectors(target); vectors++) {
    int64_t width = (int64_t)vectors * blocking->lanes;
    if (blocking->columns.size % width != 0) continue;
    TileRows tiles = rows_of_tiles(rows, limit, vectors,
                                   contraction_has_assembly(target, blocking, limit.most_sums / vectors, vectors));
    double cost = (double)(blocking->columns.size / width) * tiles.cost;
    if (best != 0 && cost >= best) continue;
    best = cost;
    blocking->step_cost = tile_cost(tiles.rows, vectors, multiplication_of(target));
    blocking->rest_cost = tile_cost(tiles.rest, vectors, multiplication_of(target));
    blocking->panel_vectors = vectors;
    blocking->panel_width = blocking->packed_stride = width;
    blocking->tile_rows = tiles.rows;
    blocking->rest_rows = tiles.rest;
    blocking->tile_count = ceil_div(rows, tiles.rows);
  }
}

/* |factor| is a plain load along the columns. */
static bool is_plain_rhs(const Kernel *kernel, const ContractionBlocking *blocking, int32_t factor) {
  const KernelValue *rhs = &kernel->values[factor];
  int column = blocking->columns.dims[blocking->columns.count - 1];
  return rhs->kind == KERNEL_LOAD && rhs->predicate < 0 && blocking->segment == blocking->column_run &&
         contraction_contiguous(kernel, &blocking->rhs_set, column);
}

static int64_t rhs_step(const Kernel *kernel, const ContractionBlocking *blocking, int32_t source) {
  int depth = blocking->depth.dims[blocking->depth.count - 1];
  return index_dim_coefficient(&kernel->space, kernel->values[source].address, depth);
}

/* What is packed, or what groups of bytes and bf16 are converted from. */
static int32_t plain_source(const Kernel *kernel, const ContractionBlocking *blocking) {
  const KernelValue *rhs = &kernel->values[blocking->rhs];
  if (is_plain_rhs(kernel, blocking, blocking->rhs)) return blocking->rhs;
  bool converts = blocking->group > 1 && rhs->kind == KERNEL_APPLY && rhs->opcode == HLO_CONVERT;
  return converts && is_plain_rhs(kernel, blocking, rhs->operands[0]) ? rhs->operands[0] : -1;
}

/* The lines of a panel of a plain rhs stay in the first-level cache where they are: few, and not too many of them in
 * one set. */
static bool is_small_rhs(const Kernel *kernel, const ContractionBlocking *blocking) {
  int64_t bytes = type_storage_bytes(blocking->type), stride = rhs_step(kernel, blocking, blocking->rhs) * bytes;
  if (blocking->group > 1 || stride <= 0) return false;
  int64_t row_lines = ceil_div(blocking->panel_width * bytes, LINE_BYTES) + (stride % LINE_BYTES != 0);
  if ((double)blocking->depth.size * (double)row_lines * LINE_BYTES > SMALL_PANEL_BYTES) return false;
  double taken = contraction_cache_bytes(FIRST_CACHE_SETS, blocking->depth.size, stride, row_lines * LINE_BYTES);
  return taken <= PANEL_WAYS * FIRST_CACHE_SETS * LINE_BYTES;
}

/* One tile of rows reads every element of the rhs once: where the rhs lies as the panels want it, packing would only be
 * one more way through memory.  Short blocks then keep few rows in flight at once, which the hardware sees as streams.
 */
static void choose_in_place(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelValue *rhs = &kernel->values[blocking->rhs];
  bool converts = rhs->kind == KERNEL_APPLY && rhs->opcode == HLO_CONVERT && blocking->group == 1;
  int32_t source = converts ? rhs->operands[0] : blocking->rhs;
  if (!is_plain_rhs(kernel, blocking, source) || blocking->column_run < blocking->panel_width) return;
  if (blocking->tile_count > 1 && converts) return;
  if (contraction_merged_suffix(kernel, &blocking->rhs_set, &blocking->depth) < blocking->depth.count) return;
  blocking->rhs_in_place = blocking->tile_count == 1 || is_small_rhs(kernel, blocking);
  blocking->rhs_may_stay = !blocking->rhs_in_place && blocking->group == 1;
  if (!blocking->rhs_in_place) return;
  blocking->rhs = source;
  blocking->rhs_type = kernel->values[source].type;
}

/* Whether where loads of |set| are, or what guards them, is no plain number of steps along |dim|: elements are computed
 * one by one. */
static bool walks_unevenly(const Kernel *kernel, const ValueSet *set, int dim) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    int64_t step;
    if (!set->has[v] || value->kind == KERNEL_CONSTANT || value->kind == KERNEL_APPLY) continue;
    if (!kernel_plain_stride(kernel, value->address, dim, &step)) return true;
  }
  return false;
}

/* The rule of contraction.h. */
static bool pays(const Kernel *kernel, const ContractionBlocking *blocking) {
  if (blocking->columns.size < LEAST_COLUMNS || blocking->column_run < 3 || blocking->depth.size < 4) return false;
  int column = blocking->columns.dims[blocking->columns.count - 1];
  if (blocking->rows.size < ROWS_OF_ELEMENTS && walks_unevenly(kernel, &blocking->rhs_set, column)) return false;
  return (double)blocking->rows.size * (double)blocking->columns.size * (double)blocking->depth.size >= 4096;
}

int64_t contraction_suffix_size(const Kernel *kernel, const DimList *list, int suffix) {
  int64_t size = 1;
  for (int i = list->count - suffix; i < list->count; i++) size *= kernel->dims[list->dims[i]].extent;
  return size;
}

static bool transposes(const Kernel *kernel, const VecTarget *target, const ContractionBlocking *blocking,
                       const ValueSet *set, int across, int along) {
  if (blocking->lanes < 4 || blocking->lanes > 16 || contraction_operation_count(kernel, set) > SQUARE_OPERATIONS)
    return false;
  return contraction_contiguous(kernel, set, across) && !contraction_contiguous(kernel, set, along) &&
         contraction_lanes(kernel, target, set, across, blocking->lanes * blocking->group, false) > 1;
}

static void choose_packing(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  int column = blocking->columns.dims[blocking->columns.count - 1],
      depth = blocking->depth.dims[blocking->depth.count - 1];
  blocking->rhs_transposes = transposes(kernel, target, blocking, &blocking->rhs_set, depth, column);
  if (blocking->rows.count == 0) return;
  int merged = contraction_merged_suffix(kernel, &blocking->lhs_set, &blocking->rows);
  blocking->lhs_in_parts = merged < blocking->rows.count;
  if (blocking->lhs_in_parts && contraction_suffix_size(kernel, &blocking->rows, merged) % blocking->lanes != 0) return;
  int row = blocking->rows.dims[blocking->rows.count - 1];
  blocking->lhs_transposes = transposes(kernel, target, blocking, &blocking->lhs_set, row, depth);
}

/* Panels of two registers would leave more than a tenth of their columns empty in runs of |length|. */
static bool fits_badly(int64_t length, int lanes) {
  if (length % lanes != 0) return true;
  int64_t width = 2 * (int64_t)lanes;
  return length > width && align_up(length, width) * 10 > length * 11;
}

/* Panels lie in runs that the rhs and the store walk as one.  Where only the store does (positions of a channel-major
 * convolution), short stretches would leave lanes empty: the panels then lie in the store's runs and are packed segment
 * by segment. */
static void choose_run(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  const DimList *columns = &blocking->columns;
  int rhs_suffix = contraction_merged_suffix(kernel, &blocking->rhs_set, columns);
  int store_suffix = contraction_merged_suffix(kernel, &blocking->epilogue_set, columns);
  int column = columns->dims[columns->count - 1], depth = blocking->depth.dims[blocking->depth.count - 1];
  int lanes = target->vector_bits / (type_storage_bytes(blocking->type) * 8);
  blocking->segment_suffix = blocking->column_suffix = rhs_suffix < store_suffix ? rhs_suffix : store_suffix;
  blocking->segment = contraction_suffix_size(kernel, columns, blocking->segment_suffix);
  /* squares need as much of the depth; and short stretches of strided loads are no better where others follow them */
  int along = contraction_merged_suffix(kernel, &blocking->rhs_set, &blocking->depth);
  bool keeps_apart = contraction_suffix_size(kernel, &blocking->depth, along) >= lanes || blocking->segment < 2 * lanes;
  bool across = keeps_apart && contraction_contiguous(kernel, &blocking->rhs_set, depth) &&
                !contraction_contiguous(kernel, &blocking->rhs_set, column);
  if (!across && fits_badly(blocking->segment, lanes)) blocking->column_suffix = store_suffix;
  blocking->column_run = contraction_suffix_size(kernel, columns, blocking->column_suffix);
}

/* The narrow integer, or bf16, that |factor| is converted from, TYPE_INVALID for none. */
static PrimitiveType narrow_source(const Kernel *kernel, int32_t factor) {
  const KernelValue *value = &kernel->values[factor];
  if (value->kind != KERNEL_APPLY || value->opcode != HLO_CONVERT) return TYPE_INVALID;
  PrimitiveType type = kernel->values[value->operands[0]].type;
  if (type == TYPE_S16 || type == TYPE_S8 || type == TYPE_U8 || type == TYPE_BF16) return type;
  return TYPE_INVALID;
}

/* Two bf16 to a lane where there are instructions for them.  Few rows are read where they are, as fast as memory gives
 * them. */
static void choose_bf16_pairs(const VecTarget *target, ContractionBlocking *blocking) {
  ContractionBlocking paired = *blocking;
  paired.group = 2;
  paired.packed_type = TYPE_U16; /* their bits */
  paired.dot = VEC_DOT_BF16;
  paired.in_matrix_unit = blocking->rows.size > FEW_MATRIX_ROWS && contraction_suits_matrix_unit(target, &paired);
  bool are_paired = target->has_bf16_pairs && blocking->rows.size > FEW_PAIRED_ROWS;
  if (paired.in_matrix_unit || are_paired) *blocking = paired;
}

/* Integers of 8 and 16 bits: two of 16 bits to a lane on any processor, four of 8 bits where there are instructions for
 * signed times unsigned.  The rhs must walk the depth as one, that groups may lie anywhere in it. */
static void choose_group(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  blocking->group = 1;
  blocking->packed_type = blocking->type;
  PrimitiveType lhs = narrow_source(kernel, blocking->lhs), rhs = narrow_source(kernel, blocking->rhs);
  if (lhs == TYPE_INVALID || rhs == TYPE_INVALID || blocking->segment < blocking->column_run) return;
  if (contraction_merged_suffix(kernel, &blocking->rhs_set, &blocking->depth) < blocking->depth.count) return;
  if (blocking->type == TYPE_F32) {
    if (lhs == TYPE_BF16 && rhs == TYPE_BF16) choose_bf16_pairs(target, blocking);
    return;
  }
  if ((blocking->type != TYPE_S32 && blocking->type != TYPE_U32) || lhs == TYPE_BF16 || rhs == TYPE_BF16) return;
  if (!target->has_pairs && !target->has_vnni) return;
  bool are_bytes = lhs != TYPE_S16 && rhs != TYPE_S16;
  blocking->group = are_bytes ? 4 : 2;
  blocking->dot = are_bytes ? VEC_DOT_U8_S8 : VEC_DOT_S16;
  blocking->in_matrix_unit = are_bytes && contraction_suits_matrix_unit(target, blocking);
  bool has_signs = lhs == TYPE_S8 || rhs == TYPE_S8; /* as products by vectors ask */
  bool is_quad = blocking->in_matrix_unit || (target->has_vnni && are_bytes && has_signs);
  blocking->group = is_quad ? 4 : 2;
  blocking->packed_type = is_quad ? TYPE_S8 : TYPE_S16;
  blocking->dot = is_quad ? VEC_DOT_U8_S8 : VEC_DOT_S16;
  blocking->rhs_unsigned = is_quad && rhs == TYPE_U8;
  blocking->lhs_unsigned = is_quad && lhs == TYPE_U8;
  blocking->lhs_shifted = is_quad && lhs == TYPE_S8 && rhs == TYPE_S8 && !blocking->in_matrix_unit;
}

/* The rows of the store, all of them walked as one, |*out_stride| elements apart. */
static bool stores_rows_evenly(const Kernel *kernel, const ContractionBlocking *blocking, int64_t *out_stride) {
  const KernelStore *store = &kernel->stages[1].stores[0];
  const DimList *rows = &blocking->rows;
  *out_stride = 0;
  ValueSet stores = {ARENA_NEW_ARRAY(kernel->arena, bool, kernel->value_count), true};
  if (contraction_merged_suffix(kernel, &stores, rows) < rows->count) return false;
  return rows->count == 0 || kernel_plain_stride(kernel, store->address, rows->dims[rows->count - 1], out_stride);
}

/* Nothing that the epilogue reads can lie where the result will: that would have an element for each of its own. */
static bool reads_no_result(const Kernel *kernel, const ContractionBlocking *blocking, const KernelBuffer *result) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!blocking->epilogue_set.has[v] || value->kind != KERNEL_LOAD) continue;
    const KernelBuffer *read = &kernel->buffers[value->buffer];
    if (read->element_count * type_storage_bytes(read->type) >=
        result->element_count * type_storage_bytes(result->type))
      return false;
  }
  return true;
}

/* Unfinished sums need no scratch where they can lie in the result: of one array, of their type, that only the store
 * touches.  Where tiles of a Kernel overlap that takes sums that are stored once, finished. */
static void choose_sums(const Kernel *kernel, ContractionBlocking *blocking) {
  const KernelStage *stage = &kernel->stages[1];
  const KernelStore *store = &stage->stores[0];
  const KernelBuffer *result = &kernel->buffers[store->buffer];
  int last = blocking->columns.dims[blocking->columns.count - 1];
  bool stores_sums = is_accumulator(&kernel->values[store->value]);
  blocking->is_overlapped = result->role == KERNEL_OVERLAPPED;
  bool is_result = result->role == KERNEL_RESULT || (blocking->is_overlapped && stores_sums);
  bool is_plain = stage->store_count == 1 && result->type == blocking->type && is_result;
  if (!is_plain || stored_step(kernel, last) != 1 || !reads_no_result(kernel, blocking, result)) return;
  blocking->sums_in_result = stores_rows_evenly(kernel, blocking, &blocking->sum_stride);
  blocking->stores_sums = stores_sums;
  bool is_ragged = blocking->rest_rows == 0 && blocking->rows.size % blocking->tile_rows != 0;
  blocking->has_edges = is_ragged || blocking->column_run % blocking->panel_width != 0;
}

/* A tile, and how much is packed at a time. */
static bool choose_blocks(const Kernel *kernel, const VecTarget *target, TileLimit tile, ContractionScratch limit,
                          ContractionBlocking *blocking) {
  /* Rows of more than a line of columns, which are read again for each panel. */
  bool is_wide = blocking->columns.size * type_storage_bytes(blocking->type) > LINE_BYTES;
  blocking->has_large_caches = target->has_large_caches && is_wide;
  blocking->has_slow_steps = target->multiplies_by_halves;
  choose_tile(kernel, target, tile, blocking);
  blocking->prices = contraction_prices(kernel, target, blocking);
  const DimList *stored = blocking->is_turned ? &blocking->rows : &blocking->columns;
  int last = stored->dims[stored->count - 1];
  if (contraction_lanes(kernel, target, &blocking->epilogue_set, last, blocking->lanes, false) != blocking->lanes)
    return false;
  choose_packing(kernel, target, blocking);
  blocking->is_far = target->streams_factors;
  blocking->is_apart = target->leaves_own_cache;
  blocking->rhs_source = -1;
  if (blocking->is_turned)
    return contraction_choose_window_tiles(kernel, target, blocking) &&
           contraction_choose_sizes(kernel, limit, blocking);
  choose_in_place(kernel, blocking);
  if (blocking->rows.size < 2 && !blocking->rhs_in_place) return false;
  blocking->rhs_is_plain = is_plain_rhs(kernel, blocking, blocking->rhs);
  blocking->rhs_source = plain_source(kernel, blocking);
  int32_t source = blocking->rhs_source >= 0 ? blocking->rhs_source : blocking->rhs;
  blocking->rhs_stride = rhs_step(kernel, blocking, source);
  blocking->packed_by_tile = contraction_may_pack_by_tile(target, blocking);
  if (blocking->rhs_in_place) blocking->sweep_depth = contraction_sweep_depth(target, blocking);
  contraction_choose_kept(kernel, target, blocking);
  blocking->walks_window = contraction_may_walk_window(kernel, target, blocking);
  choose_sums(kernel, blocking);
  return contraction_choose_sizes(kernel, limit, blocking);
}

/* Whether |other|, of few bytes, is better than |chosen|. */
static bool is_better(const ContractionBlocking *chosen, const ContractionBlocking *other, ContractionScratch limit) {
  int64_t few = contraction_few_bytes(limit);
  if (chosen->scratch_bytes > few) return other->cost <= chosen->cost * CONTRACTION_BOUGHT_TIME;
  double worth = other->scratch_bytes > chosen->scratch_bytes ? OTHER_TILE_TIME : 1;
  return contraction_weighed_cost(other, limit) * worth < contraction_weighed_cost(chosen, limit);
}

/* Rows that the lhs walks as one: all, or those in one row of an image. */
static int64_t rows_together(const Kernel *kernel, const ContractionBlocking *blocking) {
  return contraction_suffix_size(kernel, &blocking->rows,
                                 contraction_merged_suffix(kernel, &blocking->lhs_set, &blocking->rows));
}

/* Of few tiles and with scratch: there is little to try, and much of the time may be what is packed. */
static bool is_small(const ContractionBlocking *blocking) {
  return blocking->scratch_bytes > 0 && blocking->tile_count <= FEW_TILES && blocking->panel_count <= FEW_TILES;
}

/* Where few bytes will not do, or take time, a tile half as large may, or one that leaves no rows: what reaches beyond
 * the result has its sums in the scratch, and patches are read where they are, or packed as strips, by tiles that lie
 * in one row of an image. */
static bool choose_tile_and_blocks(const Kernel *kernel, const VecTarget *target, ContractionScratch limit,
                                   ContractionBlocking *blocking) {
  ContractionBlocking without = *blocking;
  int sums = tile_limit(target);
  const TileLimit smaller[] = {{sums / 2, 0, FASTEST_MULTIPLICATION},
                               {sums, rows_together(kernel, blocking), multiplication_of(target)}};
  bool found = choose_blocks(kernel, target, (TileLimit){sums, 0, FASTEST_MULTIPLICATION}, limit, blocking);
  int64_t few = contraction_few_bytes(limit);
  bool may_take_more = limit.most > few; /* else |least_cost| is that of few bytes alone, and tells nothing */
  bool is_fast = may_take_more && found && blocking->scratch_bytes <= few &&
                 blocking->cost <= blocking->least_cost * OTHER_TILE_TIME;
  if ((is_fast && !is_small(blocking)) || (found && contraction_streams_rhs(blocking))) return true;
  ContractionScratch less = {.most = few, .free = limit.free};
  double few_cost = found ? blocking->few_cost : INFINITY;
  for (int i = 0; i < 2; i++) {
    ContractionBlocking other = without;
    if (!choose_blocks(kernel, target, smaller[i], less, &other)) continue;
    few_cost = fmin(few_cost, other.cost);
    if (!found || is_better(blocking, &other, limit)) *blocking = other;
    found = true;
  }
  blocking->few_cost = few_cost;
  return found;
}

static bool has_same_depth(const ContractionBlocking *a, const ContractionBlocking *b) {
  for (int i = 0; i < a->depth.count; i++) {
    if (a->depth.dims[i] != b->depth.dims[i]) return false;
  }
  return true;
}

/* Whether |other| is better than |chosen|: few bytes, or more that buy time. */
static bool is_worth_more(const ContractionBlocking *chosen, const ContractionBlocking *other,
                          ContractionScratch limit) {
  int64_t few = contraction_few_bytes(limit);
  bool is_few = other->scratch_bytes <= few, was_few = chosen->scratch_bytes <= few;
  if (is_few == was_few) return contraction_weighed_cost(other, limit) < contraction_weighed_cost(chosen, limit);
  return is_few ? other->cost <= chosen->cost * CONTRACTION_BOUGHT_TIME
                : other->cost * CONTRACTION_BOUGHT_TIME <= chosen->cost;
}

/* An image whose positions are contiguous in the result fills registers with them badly where rows are short, and each
 * patch is packed.  Features fill them well: |roles| turned, which adds up in the same order, unless that costs more
 * than |chosen|. */
static void try_turned(const Kernel *kernel, const VecTarget *target, ContractionScratch limit,
                       const ContractionBlocking *roles, ContractionBlocking *chosen) {
  ContractionBlocking turned = *roles;
  swap_factors(&turned);
  bool is_image = turned.rows.count > 0 && turned.columns.count == 1 && contraction_find_window(kernel, &turned);
  if (!is_image) return;
  order_by_step(kernel, &turned.depth, &turned.lhs_set, &turned.rhs_set);
  if (!has_same_depth(roles, &turned)) return;
  turned.is_turned = true;
  turned.rhs_type = turned.packed_type = turned.type;
  turned.group = 1;
  choose_run(kernel, target, &turned);
  int64_t row = kernel->dims[turned.rows.dims[turned.rows.count - 1]].extent;
  TileLimit tile = {tile_limit(target), row, multiplication_of(target)};
  if (!choose_blocks(kernel, target, tile, limit, &turned) || !is_worth_more(chosen, &turned, limit)) return;
  bool is_few = chosen->scratch_bytes <= contraction_few_bytes(limit);
  turned.few_cost = fmin(turned.few_cost, is_few ? chosen->cost : chosen->few_cost);
  *chosen = turned;
}

/* Whether a blocking whose run of columns is known does, where there is scratch for it. */
static bool goes_by_matrix_unit(const Kernel *kernel, const VecTarget *target, const ContractionBlocking *blocking) {
  if (!target->has_matrix_bf16 || !pays(kernel, blocking)) return false;
  ContractionBlocking grouped = *blocking;
  choose_group(kernel, target, &grouped);
  return grouped.in_matrix_unit;
}

/* Where there is too little scratch for the matrix unit, without it. */
static bool choose_grouped_blocks(const Kernel *kernel, const VecTarget *target, ContractionScratch limit,
                                  ContractionBlocking *blocking) {
  ContractionBlocking before = *blocking;
  choose_group(kernel, target, blocking);
  blocking->rhs_type = blocking->type;
  if (choose_tile_and_blocks(kernel, target, limit, blocking)) return true;
  if (!blocking->in_matrix_unit) return false;
  VecTarget without = *target;
  without.has_matrix_s8 = without.has_matrix_bf16 = false;
  *blocking = before;
  return choose_grouped_blocks(kernel, &without, limit, blocking);
}

static bool complete_blocking(const Kernel *kernel, const VecTarget *target, ContractionScratch limit,
                              ContractionBlocking *blocking) {
  if (!match_fold(kernel, blocking) || !match_epilogue(kernel, blocking) || !find_roles(kernel, blocking)) return false;
  ContractionBlocking roles = *blocking;
  choose_run(kernel, target, blocking);
  if (!goes_by_matrix_unit(kernel, target, blocking)) {
    ContractionBlocking skinny = roles;
    if (contraction_choose_skinny(kernel, target, &skinny)) {
      *blocking = skinny;
      return true;
    }
  }
  if (!pays(kernel, blocking)) return false;
  if (!choose_grouped_blocks(kernel, target, limit, blocking)) return false;
  if (blocking->group == 1) try_turned(kernel, target, limit, &roles, blocking);
  contraction_choose_common_guards(kernel, blocking);
  blocking->is_swept = contraction_is_swept(blocking);
  if (!blocking->is_swept) {
    blocking->packed_by_tile = contraction_packs_by_tile(kernel, blocking);
    contraction_choose_results_ahead(kernel, target, blocking);
    contraction_choose_registers(kernel, target, blocking);
  }
  contraction_choose_split(blocking);
  return true;
}

const ContractionBlocking *contraction_blocking_choose(Arena *arena, const Kernel *kernel, const VecTarget *target,
                                                       ContractionScratch limit) {
  ContractionBlocking *blocking = ARENA_NEW(arena, ContractionBlocking);
  *blocking = (ContractionBlocking){0};
  return complete_blocking(kernel, target, limit, blocking) ? blocking : NULL;
}

bool contraction_multiplies_narrow(const Kernel *kernel, const ContractionBlocking *blocking) {
  PrimitiveType lhs = narrow_source(kernel, blocking->lhs), rhs = narrow_source(kernel, blocking->rhs);
  if (lhs == TYPE_INVALID || rhs == TYPE_INVALID || blocking->rows.size <= FEW_MATRIX_ROWS) return false;
  bool are_bf16 = lhs == TYPE_BF16 && rhs == TYPE_BF16 && blocking->type == TYPE_F32;
  bool are_bytes = type_storage_bytes(lhs) == 1 && type_storage_bytes(rhs) == 1 && blocking->type != TYPE_F32;
  double products = (double)blocking->batch.size * (double)blocking->rows.size * (double)blocking->columns.size *
                    (double)blocking->depth.size;
  return (are_bf16 || are_bytes) && products >= NARROW_PRODUCTS;
}

bool contraction_streams_rhs(const ContractionBlocking *blocking) {
  double bytes = (double)blocking->depth.size * (double)blocking->columns.size * type_storage_bytes(blocking->rhs_type);
  return blocking->rhs_in_place && blocking->tile_count == 1 && bytes > STREAMED_BYTES;
}

double contraction_bought_time(const ContractionBlocking *blocking, ContractionScratch limit) {
  if (contraction_streams_rhs(blocking)) return INFINITY;
  return blocking->scratch_bytes <= contraction_few_bytes(limit) ? 1 : fmax(1, blocking->few_cost / blocking->cost);
}

int64_t contraction_scratch_bytes(const ContractionBlocking *blocking) {
  return blocking->scratch_bytes;
}
