/* Recognising contractions and choosing their blocks. */
#include "codegen/blocks/contraction_internal.h"

/* Elements of the packed depth: a panel of the rhs and a tile's rows of the lhs stay in the first-level cache together.
 */
#define DEPTH_LIMIT 320
/* Elements of a packed row of the lhs: SHORTEST_ROW times a power of two, but for the longest. */
#define SHORTEST_ROW 16
#define LONGEST_VECTOR 16
/* Where the rhs is read in place. */
#define IN_PLACE_DEPTH 16
/* Bytes of the packed block of the lhs, which stays in the second-level cache.  The whole rhs is packed again for each
 * such block: where it is small, and so lies in a cache itself, small blocks are as fast as large ones. */
#define LEAST_LHS_BYTES (96 << 10)
#define MOST_LHS_BYTES (640 << 10)
#define RHS_PER_LHS_BYTE 6
/* Bytes of partial sums kept between blocks of the depth.  The block of the lhs is packed again for each such number.
 */
#define LEAST_TILE_BYTES (64 << 10)
#define MOST_TILE_BYTES (1 << 20)
#define RHS_PER_TILE_BYTE 8
/* Operations of a factor that square blocks may repeat in code for each of their vectors. */
#define SQUARE_OPERATIONS 3
#define LEAST_COLUMNS 4
#define ALIGNMENT 64
/* Rows or columns of a chunk at least: packing the other factor for it then costs some percent. */
#define CHUNK_LENGTH 128
/* Batch entries that are enough for any number of threads. */
#define MANY_ENTRIES 16

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
static bool match_fold(const Kernel *kernel, ContractionPlan *plan) {
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
  plan->type = fold->type;
  plan->lhs = product->operands[0];
  plan->rhs = product->operands[1];
  bool is_wide = type_is_integral(plan->type) ? type_storage_bytes(plan->type) >= 4
                                              : plan->type == TYPE_F32 || plan->type == TYPE_F64;
  if (!is_wide) return false;
  plan->lhs_set = value_set(kernel, plan->lhs);
  plan->rhs_set = value_set(kernel, plan->rhs);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if ((plan->lhs_set.has[v] || plan->rhs_set.has[v]) && is_accumulator(&kernel->values[v])) return false;
  }
  return true;
}

static bool match_epilogue(const Kernel *kernel, ContractionPlan *plan) {
  const KernelStage *stage = &kernel->stages[1];
  if (stage->store_count == 0) return false;
  ValueSet *set = &plan->epilogue_set;
  *set = (ValueSet){ARENA_NEW_ARRAY(kernel->arena, bool, kernel->value_count), true};
  for (int i = 0; i < stage->store_count; i++) {
    if (stage->stores[i].predicate >= 0) return false;
    collect(kernel, stage->stores[i].value, set);
    collect_index(kernel, stage->stores[i].address, set);
  }
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == 1 ||
        (kernel->dims[d].stage == KERNEL_OUTER && kernel->dims[d].kind != KERNEL_PARALLEL))
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

static void swap_factors(ContractionPlan *plan) {
  int32_t value = plan->lhs;
  plan->lhs = plan->rhs;
  plan->rhs = value;
  ValueSet set = plan->lhs_set;
  plan->lhs_set = plan->rhs_set;
  plan->rhs_set = set;
  DimList list = plan->rows;
  plan->rows = plan->columns;
  plan->columns = list;
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

static bool find_roles(const Kernel *kernel, ContractionPlan *plan) {
  uint64_t lhs = kernel->values[plan->lhs].dims, rhs = kernel->values[plan->rhs].dims;
  plan->batch.size = plan->rows.size = plan->columns.size = plan->depth.size = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    bool in_lhs = (lhs >> d & 1) != 0, in_rhs = (rhs >> d & 1) != 0;
    if (kernel->dims[d].stage == 0) {
      add_dim(kernel, &plan->depth, d);
    } else if (in_lhs == in_rhs) {
      add_dim(kernel, &plan->batch, d);
    } else {
      add_dim(kernel, in_lhs ? &plan->rows : &plan->columns, d);
    }
  }
  order_by_step(kernel, &plan->rows, NULL, NULL);
  order_by_step(kernel, &plan->columns, NULL, NULL);
  int64_t of_rows = column_step(kernel, &plan->rows), of_columns = column_step(kernel, &plan->columns);
  bool few_columns = plan->columns.size < LEAST_COLUMNS && plan->rows.size >= LEAST_COLUMNS;
  if (of_columns == 0 || (of_rows != 0 && (of_rows < of_columns || few_columns))) swap_factors(plan);
  if (column_step(kernel, &plan->columns) == 0 || plan->depth.count == 0) return false;
  order_by_step(kernel, &plan->depth, &plan->lhs_set, &plan->rhs_set);
  return true;
}

/* --- dims walked as one --- */

static bool address_merges(const Kernel *kernel, IndexExpr address, int outer, int inner) {
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
    if (!address_merges(kernel, value->address, outer, inner)) return false;
  }
  for (int s = 0; set->has_stores && s < kernel->stages[1].store_count; s++) {
    if (!address_merges(kernel, kernel->stages[1].stores[s].address, outer, inner)) return false;
  }
  return true;
}

int contraction_merged_suffix(const Kernel *kernel, const ValueSet *set, const DimList *list) {
  int count = list->count > 0 ? 1 : 0;
  while (count < list->count && contraction_merges(kernel, set, list, list->count - count - 1)) count++;
  return count;
}

/* --- blocks --- */

static int64_t minimum(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* Sums that fit the registers beside a panel's row and one or two factors. */
static int tile_limit(const VecTarget *target, const ContractionPlan *plan) {
  if (plan->lhs_shifted) return 24; /* beside sums of columns */
  if (target->register_count >= 32) return 28;
  return target->has_fma ? 12 : 10;
}

static int largest_panel_vectors(const VecTarget *target) {
  return target->register_count >= 32 ? 4 : 3;
}

/* Steps of the machine for one index of the depth: two multiplications or two loads each, and no less than the latency
 * of an addition. */
static double tile_cost(int rows, int vectors) {
  double work = rows * vectors * 0.5, loads = (rows + vectors) * 0.5;
  double cost = work > loads ? work : loads;
  return (cost > 4 ? cost : 4) + 0.5;
}

static void choose_tile(const Kernel *kernel, const VecTarget *target, ContractionPlan *plan) {
  int lanes = target->vector_bits / (type_storage_bytes(plan->type) * 8);
  int least = plan->group > 1 ? 4 : 2;
  while (lanes > least && lanes / 2 >= plan->column_run) lanes /= 2;
  plan->lanes = lanes;
  int64_t runs = plan->columns.size / plan->column_run;
  double best = 0;
  for (int vectors = 1; vectors <= largest_panel_vectors(target); vectors++) {
    int rows = tile_limit(target, plan) / vectors;
    int64_t tiles = ceil_div(plan->rows.size, rows);
    rows = (int)ceil_div(plan->rows.size, tiles);
    int64_t panels = runs * ceil_div(plan->column_run, vectors * lanes);
    double cost = (double)tiles * (double)panels * tile_cost(rows, vectors);
    if (best != 0 && cost >= best) continue;
    best = cost;
    plan->panel_vectors = vectors;
    plan->tile_rows = rows;
    plan->tile_count = tiles;
    plan->panels_per_run = panels / runs;
    plan->panel_count = panels;
  }
  plan->panel_width = (int64_t)plan->panel_vectors * lanes;
  /* vectors of a segment may reach beyond the panel */
  plan->packed_stride =
      plan->panel_width +
      (plan->segment < plan->column_run ? target->vector_bits / (type_storage_bytes(plan->type) * 8) : 0);
  (void)kernel;
}

/* |factor| is a plain load along the columns. */
static bool is_plain_rhs(const Kernel *kernel, const ContractionPlan *plan, int32_t factor) {
  const KernelValue *rhs = &kernel->values[factor];
  int column = plan->columns.dims[plan->columns.count - 1];
  return rhs->kind == KERNEL_LOAD && rhs->predicate < 0 && plan->segment == plan->column_run &&
         contraction_contiguous(kernel, &plan->rhs_set, column);
}

/* One tile of rows reads every element of the rhs once: where the rhs lies as the panels want it, packing would only be
 * one more way through memory.  Short blocks then keep few rows in flight at once, which the hardware sees as streams.
 */
static void choose_in_place(const Kernel *kernel, ContractionPlan *plan) {
  const KernelValue *rhs = &kernel->values[plan->rhs];
  bool converts = rhs->kind == KERNEL_APPLY && rhs->opcode == HLO_CONVERT && plan->group == 1;
  int32_t source = converts ? rhs->operands[0] : plan->rhs;
  plan->rhs_type = plan->type;
  if (plan->tile_count > 1 || !is_plain_rhs(kernel, plan, source) || plan->column_run < plan->panel_width) return;
  plan->rhs_in_place = contraction_merged_suffix(kernel, &plan->rhs_set, &plan->depth) == plan->depth.count;
  if (!plan->rhs_in_place) return;
  plan->rhs = source;
  plan->rhs_type = kernel->values[source].type;
}

/* With several tiles there is time to ask for the next panel's rows, too far apart for the hardware to guess. */
static void choose_ahead(const Kernel *kernel, ContractionPlan *plan) {
  int depth = plan->depth.dims[plan->depth.count - 1];
  plan->rhs_stride = index_dim_coefficient(&kernel->space, kernel->values[plan->rhs].address, depth);
  if (plan->rhs_in_place || !is_plain_rhs(kernel, plan, plan->rhs) || plan->panel_count == 1) return;
  plan->rhs_ahead =
      contraction_merged_suffix(kernel, &plan->rhs_set, &plan->depth) >= plan->depth.count - plan->chunk_dim;
}

/* Of few sizes, so that micro-kernels are shared.  The rest beyond the depth takes what vectors write beyond a run, and
 * keeps rows from meeting in one set of the cache. */
static int64_t packed_row_stride(int64_t depth) {
  int64_t size = SHORTEST_ROW;
  while (size < depth) size *= 2;
  return minimum(size, DEPTH_LIMIT) + LONGEST_VECTOR;
}

static void choose_depth(const Kernel *kernel, ContractionPlan *plan) {
  const DimList *depth = &plan->depth;
  int64_t limit = plan->rhs_in_place ? IN_PLACE_DEPTH : DEPTH_LIMIT * plan->group;
  plan->inside_chunk = 1;
  plan->chunk_dim = depth->count - 1;
  while (plan->chunk_dim > 0) {
    int64_t whole = plan->inside_chunk * kernel->dims[depth->dims[plan->chunk_dim]].extent;
    if (whole > limit) break;
    plan->inside_chunk = whole;
    plan->chunk_dim--;
  }
  int64_t extent = kernel->dims[depth->dims[plan->chunk_dim]].extent;
  int64_t size = limit / plan->inside_chunk;
  if (size < 1) size = 1;
  int64_t chunks = ceil_div(extent, size);
  plan->chunk_size = ceil_div(extent, chunks);
  plan->chunk_count_of_dim = ceil_div(extent, plan->chunk_size);
  plan->block_depth = plan->chunk_size * plan->inside_chunk;
  plan->block_count = plan->chunk_count_of_dim;
  for (int i = 0; i < plan->chunk_dim; i++) plan->block_count *= kernel->dims[depth->dims[i]].extent;
  plan->row_stride = packed_row_stride(ceil_div(plan->block_depth, plan->group));
}

static int64_t aligned(int64_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* |total| / |divisor|, but no less than |least| and no more than |most|. */
static int64_t share_of(double total, int64_t divisor, int64_t least, int64_t most) {
  double share = total / (double)divisor;
  return share<(double)least ? least : share>(double) most ? most : (int64_t)share;
}

static void choose_blocks(ContractionPlan *plan) {
  int64_t bytes = type_storage_bytes(plan->type);
  double rhs_bytes = (double)plan->depth.size * (double)plan->columns.size * (double)bytes;
  int64_t lhs_bytes = share_of(rhs_bytes, RHS_PER_LHS_BYTE, LEAST_LHS_BYTES, MOST_LHS_BYTES);
  int64_t tiles = lhs_bytes / (plan->row_stride * plan->tile_rows * bytes);
  if (tiles < 1) tiles = 1;
  plan->tiles_per_block = ceil_div(plan->tile_count, ceil_div(plan->tile_count, tiles));
  int64_t tile_bytes = plan->tile_rows * plan->panel_width * bytes;
  plan->panels_per_chunk = plan->panel_count;
  if (plan->block_count > 1) {
    int64_t limit = share_of(rhs_bytes, RHS_PER_TILE_BYTE, LEAST_TILE_BYTES, MOST_TILE_BYTES);
    int64_t panels = limit / (tile_bytes * plan->tiles_per_block);
    plan->panels_per_chunk = minimum(plan->panel_count, panels < 1 ? 1 : panels);
    plan->panels_per_chunk = ceil_div(plan->panel_count, ceil_div(plan->panel_count, plan->panels_per_chunk));
  }
  int64_t tiles_kept = plan->block_count > 1 ? plan->panels_per_chunk * plan->tiles_per_block : 1;
  plan->lhs_offset = 0;
  plan->rhs_offset = aligned((plan->tiles_per_block * plan->tile_rows + 1) * plan->row_stride * bytes);
  plan->tile_offset =
      plan->rhs_offset + aligned(ceil_div(plan->block_depth, plan->group) * plan->packed_stride * bytes);
  plan->kept_offset = plan->tile_offset + aligned(tiles_kept * tile_bytes);
  plan->scratch_bytes = plan->kept_offset + aligned(plan->kept_count * plan->kept_stride);
}

/* Each chunk of rows or columns packs the whole of the other factor: it must be long enough for that to pay. */
static int64_t chunks_of(int64_t count, int64_t width) {
  return ceil_div(count, ceil_div(CHUNK_LENGTH, width));
}

/* Batch entries have nothing in common.  Else the longer of the other two. */
static void choose_split(ContractionPlan *plan) {
  int64_t rows = chunks_of(plan->tile_count, plan->tile_rows);
  int64_t columns = chunks_of(plan->panel_count, plan->panel_width);
  if (plan->batch.size >= MANY_ENTRIES || (plan->batch.size >= rows && plan->batch.size >= columns)) {
    plan->split = ROLE_BATCH;
    plan->piece_count = plan->chunk_limit = plan->batch.size;
  } else if (rows >= columns) {
    plan->split = ROLE_ROWS;
    plan->piece_count = plan->tile_count;
    plan->chunk_limit = rows;
  } else {
    plan->split = ROLE_COLUMNS;
    plan->piece_count = plan->panel_count;
    plan->chunk_limit = columns;
  }
}

/* The rule of contraction.h. */
static bool pays(const ContractionPlan *plan) {
  if (plan->columns.size < LEAST_COLUMNS || plan->column_run < 3 || plan->depth.size < 4) return false;
  return (double)plan->rows.size * (double)plan->columns.size * (double)plan->depth.size >= 4096;
}

static int64_t suffix_size(const Kernel *kernel, const DimList *list, int suffix) {
  int64_t size = 1;
  for (int i = list->count - suffix; i < list->count; i++) size *= kernel->dims[list->dims[i]].extent;
  return size;
}

static int operation_count(const Kernel *kernel, const ValueSet *set) {
  int count = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) count += set->has[v] && kernel->values[v].kind == KERNEL_APPLY;
  return count;
}

static bool transposes(const Kernel *kernel, const VecTarget *target, const ContractionPlan *plan, const ValueSet *set,
                       int across, int along) {
  if (plan->lanes < 4 || plan->lanes > 16 || operation_count(kernel, set) > SQUARE_OPERATIONS) return false;
  return contraction_contiguous(kernel, set, across) && !contraction_contiguous(kernel, set, along) &&
         contraction_lanes(kernel, target, set, across, plan->lanes * plan->group, false) > 1;
}

static void choose_packing(const Kernel *kernel, const VecTarget *target, ContractionPlan *plan) {
  int column = plan->columns.dims[plan->columns.count - 1], depth = plan->depth.dims[plan->depth.count - 1];
  plan->rhs_transposes = transposes(kernel, target, plan, &plan->rhs_set, depth, column);
  if (plan->rows.count > 0 && contraction_merged_suffix(kernel, &plan->lhs_set, &plan->rows) == plan->rows.count) {
    int row = plan->rows.dims[plan->rows.count - 1];
    plan->lhs_transposes = transposes(kernel, target, plan, &plan->lhs_set, row, depth);
  }
}

/* Panels lie in runs that the rhs and the store walk as one.  Where only the store does (positions of a channel-major
 * convolution), short stretches would leave lanes empty: the panels then lie in the store's runs and are packed segment
 * by segment. */
static void choose_run(const Kernel *kernel, const VecTarget *target, ContractionPlan *plan) {
  const DimList *columns = &plan->columns;
  int rhs_suffix = contraction_merged_suffix(kernel, &plan->rhs_set, columns);
  int store_suffix = contraction_merged_suffix(kernel, &plan->epilogue_set, columns);
  int column = columns->dims[columns->count - 1], depth = plan->depth.dims[plan->depth.count - 1];
  int lanes = target->vector_bits / (type_storage_bytes(plan->type) * 8);
  plan->segment_suffix = plan->column_suffix = rhs_suffix < store_suffix ? rhs_suffix : store_suffix;
  plan->segment = suffix_size(kernel, columns, plan->segment_suffix);
  bool across =
      contraction_contiguous(kernel, &plan->rhs_set, depth) && !contraction_contiguous(kernel, &plan->rhs_set, column);
  if (!across && plan->segment % lanes != 0) plan->column_suffix = store_suffix;
  plan->column_run = suffix_size(kernel, columns, plan->column_suffix);
}

/* The narrow integer that |factor| is converted from, TYPE_INVALID for none. */
static PrimitiveType narrow_source(const Kernel *kernel, int32_t factor) {
  const KernelValue *value = &kernel->values[factor];
  if (value->kind != KERNEL_APPLY || value->opcode != HLO_CONVERT) return TYPE_INVALID;
  PrimitiveType type = kernel->values[value->operands[0]].type;
  if (type == TYPE_S16 || type == TYPE_S8 || type == TYPE_U8) return type;
  return TYPE_INVALID;
}

/* Integers of 8 and 16 bits: two of 16 bits to a lane on any processor, four of 8 bits where there are instructions for
 * signed times unsigned.  The rhs must walk the depth as one, that groups may lie anywhere in it. */
static void choose_group(const Kernel *kernel, const VecTarget *target, ContractionPlan *plan) {
  plan->group = 1;
  plan->packed_type = plan->type;
  PrimitiveType lhs = narrow_source(kernel, plan->lhs), rhs = narrow_source(kernel, plan->rhs);
  bool is_wide = plan->type == TYPE_S32 || plan->type == TYPE_U32;
  if (!is_wide || lhs == TYPE_INVALID || rhs == TYPE_INVALID || plan->segment < plan->column_run) return;
  if (contraction_merged_suffix(kernel, &plan->rhs_set, &plan->depth) < plan->depth.count) return;
  if (!target->has_pairs && !target->has_vnni) return;
  bool is_quad = target->has_vnni && lhs != TYPE_S16 && rhs != TYPE_S16 && (lhs == TYPE_S8 || rhs == TYPE_S8);
  plan->group = is_quad ? 4 : 2;
  plan->packed_type = is_quad ? TYPE_S8 : TYPE_S16;
  plan->dot = is_quad ? VEC_DOT_U8_S8 : VEC_DOT_S16;
  plan->rhs_unsigned = is_quad && rhs == TYPE_U8;
  plan->lhs_shifted = is_quad && lhs == TYPE_S8 && rhs == TYPE_S8;
}

static bool complete_plan(const Kernel *kernel, const VecTarget *target, ContractionPlan *out_plan) {
  ContractionPlan *plan = out_plan;
  *plan = (ContractionPlan){0};
  if (!match_fold(kernel, plan) || !match_epilogue(kernel, plan) || !find_roles(kernel, plan)) return false;
  if (contraction_choose_skinny(kernel, target, plan)) return true;
  choose_run(kernel, target, plan);
  if (!pays(plan)) return false;
  choose_group(kernel, target, plan);
  choose_tile(kernel, target, plan);
  int last = plan->columns.dims[plan->columns.count - 1];
  if (contraction_lanes(kernel, target, &plan->epilogue_set, last, plan->lanes, false) != plan->lanes) return false;
  choose_packing(kernel, target, plan);
  choose_in_place(kernel, plan);
  if (plan->rows.size < 2 && !plan->rhs_in_place) return false;
  choose_depth(kernel, plan);
  choose_ahead(kernel, plan);
  contraction_choose_kept(kernel, target, plan);
  choose_blocks(plan);
  choose_split(plan);
  return true;
}

const ContractionPlan *contraction_plan(Arena *arena, const Kernel *kernel, const VecTarget *target) {
  ContractionPlan plan;
  if (!complete_plan(kernel, target, &plan)) return NULL;
  ContractionPlan *kept = ARENA_NEW(arena, ContractionPlan);
  *kept = plan;
  return kept;
}

int64_t contraction_scratch_bytes(const ContractionPlan *plan) {
  return plan->scratch_bytes;
}

int64_t contraction_piece_count(const ContractionPlan *plan, int64_t *out_chunk_limit) {
  *out_chunk_limit = plan->chunk_limit;
  return plan->piece_count;
}
