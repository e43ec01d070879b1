#include "codegen/lower/kernel_tiles.h"

#include <math.h>

#include "base/checked_math.h"
#include "codegen/kernel/kernel_draft.h"
#include "hlo/analysis/in_place.h"

/* Of the largest link: some of the second-level cache, beside packed factors. */
#define TILE_BYTES (512 << 10)
/* Tiles that keep threads busy, and of fewer than ENOUGH_ROWS rows: where heads lie side by side in memory, what is
 * fetched beside the last one of a tile is lost.  How many rows shall use what each tile reads anew, so that it is
 * worth cutting for threads; and the points of a tile below which they gain nothing. */
#define ENOUGH_TILES 8
#define ENOUGH_SHORT_TILES 4
#define ENOUGH_ROWS 64
#define ENOUGH_POINTS (64 << 10)
/* Fewer rows than this pay too much for the other factor, which each tile packs or reads anew; they may become tiles
 * that leave the second-level cache, while those are of this size and there are this many. */
#define FEW_ROWS 16
#define MOST_TILE_BYTES (8 << 20)
#define FEW_TILES 4

bool kernel_is_tiled(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_FUSION) return false;
  const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    if (fused->instructions.data[i]->opcode == HLO_FUSION) return true;
  }
  return false;
}

/* One member while its Kernel is cut. */
typedef struct Member {
  const HloInstruction *instruction;
  const Kernel *kernel;
  const HloInstruction **bound; /* by buffer: the value it is, NULL for scratch */
} Member;

typedef struct Chain {
  Arena *arena;
  const HloInstruction *fusion;
  int32_t member_count;
  Member *members;
  int64_t rows; /* of each link */
} Chain;

static bool is_link(const Chain *chain, const HloInstruction *value) {
  if (value == NULL || hlo_instruction_is_root(value)) return false;
  for (int32_t m = 0; m < chain->member_count; m++) {
    if (chain->members[m].instruction == value) return true;
  }
  return false;
}

/* --- rows of a tile --- */

static int64_t row_length(const Shape *link) {
  return link->rank == 0 ? 1 : link->dims[link->rank - 1];
}

/* The rows of all links, 0 when they differ; |out_matrix|: those of one matrix of the first. */
static int64_t rows_of_links(const Chain *chain, int64_t *out_matrix, int64_t *out_row_bytes) {
  int64_t rows = 0;
  *out_matrix = 1;
  *out_row_bytes = 1;
  for (int32_t m = 0; m < chain->member_count; m++) {
    const HloInstruction *member = chain->members[m].instruction;
    if (hlo_instruction_is_root(member)) continue;
    const Shape *shape = member->shape;
    int64_t length = row_length(shape), here = shape_element_count(shape) / length;
    if (rows != 0 && rows != here) return 0;
    if (rows == 0 && shape->rank > 1) *out_matrix = shape->dims[shape->rank - 2];
    rows = here;
    *out_row_bytes = max_i64(*out_row_bytes, length * type_storage_bytes(shape->type));
  }
  return rows;
}

/* How links are cut: |rows| neighbouring ones of a matrix are a tile.  Where they do not divide the matrix its last
 * tile begins early: the rows that two tiles share are made twice, from the same numbers in the same way. */
typedef struct Tiling {
  int64_t rows, matrix; /* of a tile, of a matrix */
  int64_t per_matrix;   /* tiles */
  int64_t count;        /* tiles of all */
} Tiling;

static Tiling tiling_of(const Chain *chain, int64_t matrix, int64_t rows) {
  int64_t per_matrix = ceil_div(matrix, rows);
  return (Tiling){rows, matrix, per_matrix, chain->rows / matrix * per_matrix};
}

static bool is_even(const Tiling *tiling) {
  return tiling->rows * tiling->per_matrix == tiling->matrix;
}

/* The largest divisor of |count| up to |limit|. */
static int64_t divisor_below(int64_t count, int64_t limit) {
  for (int64_t parts = 1; parts < count; parts++) {
    if (count % parts == 0 && count / parts <= limit) return count / parts;
  }
  return 1;
}

/* The smallest divisor of |count| from |limit|; |count| when that is smaller. */
static int64_t divisor_from(int64_t count, int64_t limit) {
  for (int64_t divisor = limit; divisor < count; divisor++) {
    if (count % divisor == 0) return divisor;
  }
  return count;
}

static int64_t most_rows(int64_t row_bytes) {
  return max_i64(TILE_BYTES / row_bytes, 1);
}

/* What the dims of a member are to the rows of its links; bit d is dim d. */
typedef struct RowDims {
  uint64_t rows;     /* these count the rows of a matrix */
  uint64_t matrices; /* these count matrices */
} RowDims;

static void add_row_dims(const Member *member, int32_t buffer, IndexExpr address, int64_t matrix, RowDims *dims) {
  int64_t row = row_length(member->bound[buffer]->shape);
  for (int d = 0; d < member->kernel->dim_count; d++) {
    int64_t step = index_dim_coefficient(&member->kernel->space, address, d);
    if (step >= row) *(step < row * matrix ? &dims->rows : &dims->matrices) |= UINT64_C(1) << d;
  }
}

static RowDims row_dims(const Chain *chain, const Member *member, int64_t matrix) {
  const Kernel *kernel = member->kernel;
  RowDims dims = {0};
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD && is_link(chain, member->bound[value->buffer]))
      add_row_dims(member, value->buffer, value->address, matrix, &dims);
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (is_link(chain, member->bound[store->buffer]))
        add_row_dims(member, store->buffer, store->address, matrix, &dims);
    }
  }
  return dims;
}

static double longest_stage_points(const Kernel *kernel) {
  double points = 0;
  for (int s = 0; s < kernel->stage_count; s++)
    points = fmax(points, kernel_point_count(kernel, kernel_stage_dims(kernel, s)));
  return points;
}

/* How much |member| reads, at most in one load, that all rows of a matrix read: in points. */
static double shared_points(const Chain *chain, const Member *member, int64_t matrix) {
  const Kernel *kernel = member->kernel;
  RowDims dims = row_dims(chain, member, matrix);
  double most = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_read = value->kind == KERNEL_LOAD && kernel->buffers[value->buffer].role != KERNEL_SCRATCH;
    if (is_read && (value->dims & dims.rows) != dims.rows)
      most = fmax(most, kernel_point_count(kernel, value->dims & ~dims.matrices));
  }
  return most;
}

/* Whether it is worth it for threads to make |tiles| more by tiles of only |rows| rows of a matrix: each has enough to
 * do, and enough rows use what it reads anew.  Rows with factors of their own, such as the heads of a single position,
 * read next to nothing anew. */
static bool wants_more(const Chain *chain, int64_t matrix, int64_t tiles, int64_t rows) {
  if (tiles >= (rows < ENOUGH_ROWS ? ENOUGH_SHORT_TILES : ENOUGH_TILES)) return false;
  double points = 0, shared = 0;
  for (int32_t m = 0; m < chain->member_count; m++) {
    points = fmax(points, longest_stage_points(chain->members[m].kernel));
    shared = fmax(shared, shared_points(chain, &chain->members[m], matrix));
  }
  return points / (double)chain->rows * (double)rows >= fmax(ENOUGH_POINTS, ENOUGH_ROWS * shared);
}

/* Rows that divide the matrix; whole matrices, where their rows are a large prime. */
static int64_t even_tile_rows(const Chain *chain, int64_t matrix, int64_t row_bytes) {
  int64_t limit = most_rows(row_bytes), rows = divisor_below(matrix, limit);
  if (rows < FEW_ROWS && rows < limit / 2 && rows < matrix) {
    int64_t larger = divisor_from(matrix, limit);
    if (larger <= MOST_TILE_BYTES / row_bytes && chain->rows / larger >= FEW_TILES) rows = larger;
  }
  while (rows % 2 == 0 && wants_more(chain, matrix, chain->rows / rows, rows / 2)) rows /= 2;
  return rows;
}

/* Rows of as many tiles as are wanted, whether they divide the matrix or not. */
static int64_t free_tile_rows(const Chain *chain, int64_t matrix, int64_t row_bytes) {
  int64_t parts = ceil_div(matrix, most_rows(row_bytes)), matrices = chain->rows / matrix;
  while (wants_more(chain, matrix, matrices * parts, ceil_div(matrix, 2 * parts))) parts *= 2;
  return ceil_div(matrix, parts);
}

/* The result is, or may be, in the place of an operand: what was made of it cannot be made again. */
static bool is_in_place(const Chain *chain) {
  for (int k = 0; k < chain->fusion->operand_count; k++) {
    if (!shape_is_array(chain->fusion->operands[k]->shape)) return true;
    if (hlo_may_share_operand(chain->fusion, k, 0, 0, chain->arena)) return true;
  }
  for (int32_t m = 0; m < chain->member_count; m++) {
    const Kernel *kernel = chain->members[m].kernel;
    for (int b = 0; b < kernel->buffer_count; b++) {
      if (kernel->buffers[b].role == KERNEL_IN_PLACE) return true;
    }
  }
  return false;
}

/* --- how a Kernel walks tiles --- */

/* What becomes of each dim: of the tile, inside of it, or split into both. */
typedef struct TileDims {
  int64_t tile_extent[KERNEL_MAX_DIMS]; /* 1: it is all inside */
  int64_t inside[KERNEL_MAX_DIMS];      /* the extent there */
  int64_t weight[KERNEL_MAX_DIMS];      /* of the part outside, in tiles */
  bool is_known;                        /* some address has said so */
} TileDims;

static void cut_into(TileDims *tiles, int dim, int64_t outside, int64_t inside, int64_t weight) {
  tiles->tile_extent[dim] = outside;
  tiles->inside[dim] = inside;
  tiles->weight[dim] = weight;
}

/* |dim|, which counts whole matrices or the rows of one or several, where tiles do not divide these. */
static bool cut_dim_unevenly(const Kernel *kernel, int dim, int64_t step, int64_t elements, const Tiling *tiling,
                             TileDims *tiles) {
  int64_t extent = kernel->dims[dim].extent, row = elements / tiling->rows;
  if (step % (row * tiling->matrix) == 0) {
    cut_into(tiles, dim, extent, 1, step / (row * tiling->matrix) * tiling->per_matrix);
    return true;
  }
  if (step != row || extent % tiling->matrix != 0) return false;
  cut_into(tiles, dim, extent / tiling->matrix * tiling->per_matrix, tiling->rows, 1);
  return true;
}

/* False when |dim|, moving the address by |step|, crosses tiles of |elements| in another way than whole ones outside.
 */
static bool cut_dim(const Kernel *kernel, int dim, int64_t step, int64_t elements, const Tiling *tiling,
                    TileDims *tiles) {
  int64_t extent = kernel->dims[dim].extent;
  cut_into(tiles, dim, 1, extent, 0);
  if (step < 0) return false;
  if (step * extent <= elements) return true;
  if (kernel->dims[dim].stage != KERNEL_OUTER || !kernel_dim_is_parallel(&kernel->dims[dim]) || step == 0) return false;
  if (!is_even(tiling)) return cut_dim_unevenly(kernel, dim, step, elements, tiling, tiles);
  if (step % elements == 0) {
    cut_into(tiles, dim, extent, 1, step / elements);
    return true;
  }
  if (elements % step != 0 || extent % (elements / step) != 0) return false;
  cut_into(tiles, dim, extent / (elements / step), elements / step, 1);
  return true;
}

/* The outside parts count the tiles, each once, and the rest stays inside of one. */
static bool counts_tiles(const Kernel *kernel, const TileDims *tiles, IndexExpr address, int64_t elements,
                         int64_t tile_count) {
  int64_t last = 0, product = 1, inside = 0;
  for (int d = 0; d < kernel->dim_count; d++) {
    last += (tiles->tile_extent[d] - 1) * tiles->weight[d];
    product *= tiles->tile_extent[d];
    int64_t step = index_dim_coefficient(&kernel->space, address, d);
    inside += (tiles->inside[d] - 1) * step;
  }
  return last == tile_count - 1 && product == tile_count && inside < elements;
}

/* What |address| of a link, |elements| of which are one tile's, says of the dims; false when it is none of tiles or
 * contradicts another address. */
static bool cut_address(const Kernel *kernel, IndexExpr address, int64_t elements, const Tiling *tiling,
                        TileDims *tiles) {
  TileDims here = {.is_known = true};
  if (address.constant != 0) return false;
  for (int i = 0; i < address.term_count; i++) {
    if (kernel->space.atoms.data[address.terms[i].atom].kind != INDEX_ATOM_DIM) return false;
  }
  for (int d = 0; d < kernel->dim_count; d++) {
    int64_t step = index_dim_coefficient(&kernel->space, address, d);
    if (!cut_dim(kernel, d, step, elements, tiling, &here)) return false;
  }
  if (!counts_tiles(kernel, &here, address, elements, tiling->count)) return false;
  for (int d = 0; tiles->is_known && d < kernel->dim_count; d++) {
    if (tiles->tile_extent[d] != here.tile_extent[d] || tiles->weight[d] != here.weight[d]) return false;
  }
  *tiles = here;
  return true;
}

static int64_t tile_elements(const HloInstruction *link, int64_t tile_rows) {
  return row_length(link->shape) * tile_rows;
}

/* How |member| walks tiles; false when it does not. */
static bool cut_member(const Chain *chain, const Member *member, const Tiling *tiling, TileDims *out_tiles) {
  const Kernel *kernel = member->kernel;
  *out_tiles = (TileDims){0};
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || !is_link(chain, member->bound[value->buffer])) continue;
    int64_t elements = tile_elements(member->bound[value->buffer], tiling->rows);
    if (!cut_address(kernel, value->address, elements, tiling, out_tiles)) return false;
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (!is_link(chain, member->bound[store->buffer])) continue;
      int64_t elements = tile_elements(member->bound[store->buffer], tiling->rows);
      if (!cut_address(kernel, store->address, elements, tiling, out_tiles)) return false;
    }
  }
  return out_tiles->is_known;
}

/* --- the Kernel of one tile --- */

typedef struct TileCutter {
  const Chain *chain;
  const Member *member;
  const Tiling *tiling;
  const TileDims *tiles;
  KernelDraft draft;                 /* what is made */
  int32_t index_count, index_buffer; /* coordinates of the tile */
  IndexExpr *dims, *link_dims;       /* what each dim is, in addresses of links relative to the tile */
  int32_t *values;                   /* new numbers */
} TileCutter;

/* The dims inside, and coordinates for what is outside: the first values of the Kernel load them.  The coordinate of a
 * dim that is cut unevenly is where the tile begins. */
static void cut_dims(TileCutter *cutter, KernelPart *part) {
  const Kernel *from = cutter->member->kernel;
  KernelCoordinate *coordinates = ARENA_NEW_ARRAY(cutter->chain->arena, KernelCoordinate, from->dim_count + 1);
  IndexSpace *space = &cutter->draft.space;
  for (int d = 0; d < from->dim_count; d++) {
    int64_t inside = cutter->tiles->inside[d], outside = cutter->tiles->tile_extent[d];
    IndexExpr index = kernel_draft_add_dim(&cutter->draft, inside, from->dims[d].kind, from->dims[d].stage);
    cutter->link_dims[d] = cutter->dims[d] = index;
    if (outside == 1) continue;
    bool is_uneven = inside * outside != from->dims[d].extent;
    KernelCoordinate coordinate = {cutter->tiles->weight[d], outside, 0, 0, 0, 0};
    if (is_uneven) {
      const Tiling *tiling = cutter->tiling;
      coordinate.period = tiling->per_matrix;
      coordinate.stride = tiling->matrix;
      coordinate.step = tiling->rows;
      coordinate.last = tiling->matrix - tiling->rows;
    }
    int64_t last = is_uneven ? from->dims[d].extent - inside : outside - 1;
    IndexExpr place = index_value(space, cutter->index_count, 0, last);
    cutter->dims[d] = index_add(space, index_scale(space, place, is_uneven ? 1 : inside), index);
    coordinates[cutter->index_count++] = coordinate;
  }
  part->index_count = cutter->index_count;
  part->coordinates = coordinates;
}

/* As those of the member, and one for the coordinates. */
static void cut_buffers(TileCutter *cutter) {
  const Kernel *from = cutter->member->kernel;
  for (int b = 0; b < from->buffer_count; b++) {
    const HloInstruction *bound = cutter->member->bound[b];
    KernelBuffer buffer = from->buffers[b];
    if (is_link(cutter->chain, bound))
      buffer.element_count = tile_elements(bound, cutter->tiling->rows);
    else if (buffer.role == KERNEL_RESULT && !is_even(cutter->tiling))
      buffer.role = KERNEL_OVERLAPPED;
    kernel_draft_add_buffer(&cutter->draft, buffer);
  }
  if (cutter->index_count == 0) return;
  KernelBuffer indices = {KERNEL_OPERAND, TYPE_S64, cutter->index_count, -1, -1};
  cutter->index_buffer = kernel_draft_add_buffer(&cutter->draft, indices);
}

static IndexExpr cut_index(TileCutter *cutter, IndexExpr expr, bool of_link) {
  const IndexExpr *dims = of_link ? cutter->link_dims : cutter->dims;
  return index_substitute(&cutter->draft.space, &cutter->member->kernel->space, expr, dims, cutter->values);
}

static bool is_link_buffer(const TileCutter *cutter, int32_t buffer) {
  return is_link(cutter->chain, cutter->member->bound[buffer]);
}

static int32_t cut_number(const TileCutter *cutter, int32_t value) {
  return value < 0 ? -1 : cutter->values[value];
}

static void cut_values(TileCutter *cutter) {
  const Kernel *from = cutter->member->kernel;
  for (int32_t i = 0; i < cutter->index_count; i++) {
    KernelValue value = kernel_value_blank(KERNEL_LOAD, TYPE_S64);
    value.buffer = cutter->index_buffer;
    value.address = index_constant(i);
    kernel_draft_add_value(&cutter->draft, value);
  }
  for (int32_t v = 0; v < from->value_count; v++) {
    KernelValue value = from->values[v];
    for (int i = 0; i < value.operand_count; i++) value.operands[i] = cut_number(cutter, value.operands[i]);
    value.predicate = cut_number(cutter, value.predicate);
    value.address = cut_index(cutter, value.address, value.kind == KERNEL_LOAD && is_link_buffer(cutter, value.buffer));
    cutter->values[v] = kernel_draft_add_value(&cutter->draft, value);
  }
}

static void cut_folds(TileCutter *cutter) {
  const Kernel *from = cutter->member->kernel;
  for (int f = 0; f < from->fold_count; f++) kernel_draft_add_fold(&cutter->draft, from->folds[f]);
}

static void connect_folds(TileCutter *cutter) {
  for (int64_t f = 0; f < cutter->draft.folds.count; f++) {
    KernelFold *fold = &cutter->draft.folds.data[f];
    fold->seed = cut_number(cutter, fold->seed);
    fold->next = cut_number(cutter, fold->next);
  }
}

/* Members do not sort and have no transforms. */
static void cut_stages(TileCutter *cutter) {
  const Kernel *from = cutter->member->kernel;
  for (int s = 0; s < from->stage_count; s++) {
    int32_t stage = kernel_draft_add_stage(&cutter->draft);
    for (int i = 0; i < from->stages[s].store_count; i++) {
      KernelStore store = from->stages[s].stores[i];
      store.value = cut_number(cutter, store.value);
      store.predicate = cut_number(cutter, store.predicate);
      store.address = cut_index(cutter, store.address, is_link_buffer(cutter, store.buffer));
      kernel_draft_add_store(&cutter->draft, stage, store);
    }
  }
}

/* |member| for one tile. */
static Status make_part(const Chain *chain, const Member *member, const Tiling *tiling, const TileDims *tiles,
                        DiagSink *diag, KernelPart *part) {
  Arena *arena = chain->arena;
  const Kernel *from = member->kernel;
  TileCutter cutter = {.chain = chain, .member = member, .tiling = tiling, .tiles = tiles};
  kernel_draft_init(&cutter.draft, arena, from->source);
  cutter.dims = ARENA_NEW_ARRAY(arena, IndexExpr, from->dim_count + 1);
  cutter.link_dims = ARENA_NEW_ARRAY(arena, IndexExpr, from->dim_count + 1);
  cutter.values = ARENA_NEW_ARRAY(arena, int32_t, from->value_count + 1);
  cut_dims(&cutter, part);
  cut_buffers(&cutter);
  cut_folds(&cutter);
  cut_values(&cutter);
  connect_folds(&cutter);
  cut_stages(&cutter);
  return kernel_draft_finish(&cutter.draft, diag, &part->kernel);
}

/* --- the whole --- */

/* The buffer of the whole that |value| is; made when there is none yet. */
static int32_t whole_buffer(const Chain *chain, KernelDraft *whole, const HloInstruction *value, int64_t tile_rows) {
  KernelBuffer wanted = {.role = KERNEL_SCRATCH, .type = value->shape->type, .operand = -1, .node = -1};
  wanted.element_count = shape_element_count(value->shape);
  if (hlo_instruction_is_root(value)) {
    wanted.role = KERNEL_RESULT;
    wanted.node = 0;
  } else if (value->opcode == HLO_PARAMETER) {
    wanted.role = KERNEL_OPERAND;
    wanted.operand = (int32_t)hlo_instruction_parameter_number(value);
    wanted.node = 0;
  } else {
    for (int32_t m = 0; m < chain->member_count; m++) { /* a link's node is its member's number */
      if (chain->members[m].instruction == value) wanted.node = -2 - m;
    }
    wanted.element_count = tile_elements(value, tile_rows);
  }
  return kernel_draft_bind_buffer(whole, wanted);
}

static void bind_part(const Chain *chain, KernelDraft *whole, const Member *member, int64_t tile_rows,
                      KernelPart *part) {
  int32_t *buffers = ARENA_NEW_ARRAY(chain->arena, int32_t, part->kernel->buffer_count + 1);
  for (int b = 0; b < part->kernel->buffer_count; b++) {
    buffers[b] = KERNEL_TILE_INDEX;
    if (b < member->kernel->buffer_count && member->bound[b] != NULL)
      buffers[b] = whole_buffer(chain, whole, member->bound[b], tile_rows);
  }
  part->buffers = buffers;
}

static Status make_whole(const Chain *chain, const Tiling *tiling, const TileDims *tiles, DiagSink *diag,
                         const Kernel **out_kernel) {
  KernelDraft whole;
  kernel_draft_init(&whole, chain->arena, chain->fusion);
  kernel_draft_add_dim(&whole, tiling->count, KERNEL_PARALLEL, KERNEL_OUTER);
  for (int32_t m = 0; m < chain->member_count; m++) {
    KernelPart part = {0};
    RETURN_IF_ERROR(make_part(chain, &chain->members[m], tiling, &tiles[m], diag, &part));
    bind_part(chain, &whole, &chain->members[m], tiling->rows, &part);
    kernel_draft_add_part(&whole, part);
  }
  return kernel_draft_finish(&whole, diag, out_kernel);
}

/* All members are cut alike. */
static bool cut_members(const Chain *chain, const Tiling *tiling, TileDims *tiles) {
  for (int32_t m = 0; m < chain->member_count; m++) {
    if (!cut_member(chain, &chain->members[m], tiling, &tiles[m])) return false;
  }
  return true;
}

/* One tile. */
static Tiling leave_whole(const Chain *chain, TileDims *tiles) {
  for (int32_t m = 0; m < chain->member_count; m++) {
    const Kernel *kernel = chain->members[m].kernel;
    tiles[m] = (TileDims){.is_known = true};
    for (int d = 0; d < kernel->dim_count; d++) cut_into(&tiles[m], d, 1, kernel->dims[d].extent, 0);
  }
  return tiling_of(chain, chain->rows, chain->rows);
}

/* Tiles that divide matrices, unless others are at least half as many again or as few, as they are wanted. */
static Tiling choose_tiling(const Chain *chain, int64_t matrix, int64_t row_bytes, TileDims *tiles) {
  Tiling even = tiling_of(chain, matrix, even_tile_rows(chain, matrix, row_bytes));
  Tiling wanted = tiling_of(chain, matrix, free_tile_rows(chain, matrix, row_bytes));
  bool is_better = 2 * wanted.count >= 3 * even.count || 2 * even.count >= 3 * wanted.count;
  if (is_better && !is_in_place(chain) && cut_members(chain, &wanted, tiles)) return wanted;
  return cut_members(chain, &even, tiles) ? even : leave_whole(chain, tiles);
}

static Status add_member(Chain *chain, const HloInstruction *instruction, DiagSink *diag) {
  Member *member = &chain->members[chain->member_count];
  KernelList list;
  RETURN_IF_ERROR(kernel_build(chain->arena, instruction, diag, &list));
  if (list.count != 1)
    return diag_error(diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-fusion",
                      "'%.*s' in a fusion of fusions is %d kernels", SV_ARG(instruction->name), list.count);
  *member = (Member){.instruction = instruction, .kernel = list.kernels[0]};
  member->bound = ARENA_NEW_ARRAY(chain->arena, const HloInstruction *, member->kernel->buffer_count + 1);
  for (int b = 0; b < member->kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &member->kernel->buffers[b];
    if (buffer->role == KERNEL_SCRATCH) continue;
    member->bound[b] = buffer->operand < 0 ? instruction : hlo_behind_views(instruction->operands[buffer->operand]);
  }
  chain->member_count++;
  return STATUS_OK;
}

Status kernel_build_tiled(Arena *arena, const HloInstruction *fusion, DiagSink *diag, const Kernel **out_kernel) {
  int64_t count, matrix, row_bytes;
  const HloComputation *fused = hlo_instruction_computation(fusion, HLO_ATTR_CALLS);
  HloInstruction **order = hlo_computation_post_order(fused, arena, &count);
  Chain chain = {.arena = arena, .fusion = fusion, .members = ARENA_NEW_ARRAY(arena, Member, count + 1)};
  *out_kernel = NULL;
  for (int64_t i = 0; i < count; i++) {
    if (order[i]->opcode == HLO_PARAMETER || hlo_is_view(order[i])) continue;
    RETURN_IF_ERROR(add_member(&chain, order[i], diag));
  }
  chain.rows = rows_of_links(&chain, &matrix, &row_bytes);
  if (chain.rows == 0)
    return diag_error(diag, STATUS_UNSUPPORTED, fusion->loc, "unsupported-fusion",
                      "the fusions in '%.*s' hand on arrays of different numbers of rows", SV_ARG(fusion->name));
  TileDims *tiles = ARENA_NEW_ARRAY(arena, TileDims, chain.member_count + 1);
  Tiling tiling = choose_tiling(&chain, matrix, row_bytes, tiles);
  return make_whole(&chain, &tiling, tiles, diag, out_kernel);
}
