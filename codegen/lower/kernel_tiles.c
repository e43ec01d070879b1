#include "codegen/lower/kernel_tiles.h"

#include "base/checked_math.h"
#include "codegen/kernel/kernel_draft.h"
#include "hlo/analysis/in_place.h"

/* Of the largest link: some of the second-level cache, beside packed factors. */
#define TILE_BYTES (512 << 10)
/* Tiles that keep threads busy; and rows that are not worth cutting for it. */
#define ENOUGH_TILES 8
#define ENOUGH_ROWS 64
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

/* What |value| is, views apart. */
static const HloInstruction *origin_of(const HloInstruction *value) {
  while (hlo_is_view(value)) value = value->operands[0];
  return value;
}

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

/* Whole matrices, where their rows are a large prime. */
static int64_t choose_tile_rows(const Chain *chain, int64_t matrix, int64_t row_bytes) {
  int64_t limit = max_i64(TILE_BYTES / row_bytes, 1), rows = divisor_below(matrix, limit);
  if (rows < FEW_ROWS && rows < limit / 2 && rows < matrix) {
    int64_t larger = divisor_from(matrix, limit);
    if (larger <= MOST_TILE_BYTES / row_bytes && chain->rows / larger >= FEW_TILES) rows = larger;
  }
  while (chain->rows / rows < ENOUGH_TILES && rows % 2 == 0 && rows / 2 >= ENOUGH_ROWS) rows /= 2;
  return rows;
}

/* --- how a Kernel walks tiles --- */

/* What becomes of each dim: of the tile, inside of it, or split into both. */
typedef struct TileDims {
  int64_t tile_extent[KERNEL_MAX_DIMS]; /* 1: it is all inside */
  int64_t weight[KERNEL_MAX_DIMS];      /* of the part outside, in tiles */
  bool is_known;                        /* some address has said so */
} TileDims;

static int64_t inside_extent(const Kernel *kernel, const TileDims *tiles, int dim) {
  return kernel->dims[dim].extent / tiles->tile_extent[dim];
}

/* False when |dim|, moving the address by |step|, crosses tiles of |elements| in another way than whole ones outside.
 */
static bool cut_dim(const Kernel *kernel, int dim, int64_t step, int64_t elements, TileDims *tiles) {
  int64_t extent = kernel->dims[dim].extent;
  tiles->tile_extent[dim] = 1;
  tiles->weight[dim] = 0;
  if (step < 0) return false;
  if (step * extent <= elements) return true;
  if (kernel->dims[dim].stage != KERNEL_OUTER || !kernel_dim_is_parallel(&kernel->dims[dim]) || step == 0) return false;
  if (step % elements == 0) {
    tiles->tile_extent[dim] = extent;
    tiles->weight[dim] = step / elements;
    return true;
  }
  if (elements % step != 0 || extent % (elements / step) != 0) return false;
  tiles->tile_extent[dim] = extent / (elements / step);
  tiles->weight[dim] = 1;
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
    inside += (inside_extent(kernel, tiles, d) - 1) * step;
  }
  return last == tile_count - 1 && product == tile_count && inside < elements;
}

/* What |address| of a link, |elements| of which are one tile's, says of the dims; false when it is none of tiles or
 * contradicts another address. */
static bool cut_address(const Kernel *kernel, IndexExpr address, int64_t elements, int64_t tile_count,
                        TileDims *tiles) {
  TileDims here = {.is_known = true};
  if (address.constant != 0) return false;
  for (int i = 0; i < address.term_count; i++) {
    if (kernel->space.atoms.data[address.terms[i].atom].kind != INDEX_ATOM_DIM) return false;
  }
  for (int d = 0; d < kernel->dim_count; d++) {
    if (!cut_dim(kernel, d, index_dim_coefficient(&kernel->space, address, d), elements, &here)) return false;
  }
  if (!counts_tiles(kernel, &here, address, elements, tile_count)) return false;
  for (int d = 0; tiles->is_known && d < kernel->dim_count; d++) {
    if (tiles->tile_extent[d] != here.tile_extent[d] || tiles->weight[d] != here.weight[d]) return false;
  }
  *tiles = here;
  return true;
}

static int64_t tile_elements(const HloInstruction *link, int64_t tile_rows) {
  return row_length(link->shape) * tile_rows;
}

/* How |member| walks tiles of |tile_rows|; false when it does not. */
static bool cut_member(const Chain *chain, const Member *member, int64_t tile_rows, TileDims *out_tiles) {
  const Kernel *kernel = member->kernel;
  int64_t tile_count = chain->rows / tile_rows;
  *out_tiles = (TileDims){0};
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || !is_link(chain, member->bound[value->buffer])) continue;
    int64_t elements = tile_elements(member->bound[value->buffer], tile_rows);
    if (!cut_address(kernel, value->address, elements, tile_count, out_tiles)) return false;
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (!is_link(chain, member->bound[store->buffer])) continue;
      int64_t elements = tile_elements(member->bound[store->buffer], tile_rows);
      if (!cut_address(kernel, store->address, elements, tile_count, out_tiles)) return false;
    }
  }
  return out_tiles->is_known;
}

/* --- the Kernel of one tile --- */

typedef struct TileCutter {
  const Chain *chain;
  const Member *member;
  int64_t tile_rows;
  const TileDims *tiles;
  KernelDraft draft;                 /* what is made */
  int32_t index_count, index_buffer; /* coordinates of the tile */
  IndexExpr *dims, *link_dims;       /* what each dim is, in addresses of links relative to the tile */
  int32_t *values;                   /* new numbers */
} TileCutter;

/* The dims inside, and coordinates for what is outside: the first values of the Kernel load them. */
static void cut_dims(TileCutter *cutter, KernelPart *part) {
  const Kernel *from = cutter->member->kernel;
  Arena *arena = cutter->chain->arena;
  IndexSpace *space = &cutter->draft.space;
  int64_t *divisors = ARENA_NEW_ARRAY(arena, int64_t, from->dim_count + 1);
  int64_t *extents = ARENA_NEW_ARRAY(arena, int64_t, from->dim_count + 1);
  for (int d = 0; d < from->dim_count; d++) {
    int64_t inside = inside_extent(from, cutter->tiles, d), outside = cutter->tiles->tile_extent[d];
    IndexExpr index = kernel_draft_add_dim(&cutter->draft, inside, from->dims[d].kind, from->dims[d].stage);
    cutter->link_dims[d] = cutter->dims[d] = index;
    if (outside == 1) continue;
    IndexExpr place = index_value(space, cutter->index_count, 0, outside - 1);
    cutter->dims[d] = index_add(space, index_scale(space, place, inside), index);
    divisors[cutter->index_count] = cutter->tiles->weight[d];
    extents[cutter->index_count++] = outside;
  }
  part->index_count = cutter->index_count;
  part->divisors = divisors;
  part->extents = extents;
}

/* As those of the member, and one for the coordinates. */
static void cut_buffers(TileCutter *cutter) {
  const Kernel *from = cutter->member->kernel;
  for (int b = 0; b < from->buffer_count; b++) {
    const HloInstruction *bound = cutter->member->bound[b];
    KernelBuffer buffer = from->buffers[b];
    if (is_link(cutter->chain, bound)) buffer.element_count = tile_elements(bound, cutter->tile_rows);
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
static Status make_part(const Chain *chain, const Member *member, int64_t tile_rows, const TileDims *tiles,
                        DiagSink *diag, KernelPart *part) {
  Arena *arena = chain->arena;
  const Kernel *from = member->kernel;
  TileCutter cutter = {.chain = chain, .member = member, .tile_rows = tile_rows, .tiles = tiles};
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

static Status make_whole(const Chain *chain, int64_t tile_rows, const TileDims *tiles, DiagSink *diag,
                         const Kernel **out_kernel) {
  KernelDraft whole;
  kernel_draft_init(&whole, chain->arena, chain->fusion);
  kernel_draft_add_dim(&whole, chain->rows / tile_rows, KERNEL_PARALLEL, KERNEL_OUTER);
  for (int32_t m = 0; m < chain->member_count; m++) {
    KernelPart part = {0};
    RETURN_IF_ERROR(make_part(chain, &chain->members[m], tile_rows, &tiles[m], diag, &part));
    bind_part(chain, &whole, &chain->members[m], tile_rows, &part);
    kernel_draft_add_part(&whole, part);
  }
  return kernel_draft_finish(&whole, diag, out_kernel);
}

/* All members are cut alike, or there is one tile. */
static int64_t cut_members(const Chain *chain, int64_t tile_rows, TileDims *tiles) {
  bool fits = true;
  for (int32_t m = 0; fits && m < chain->member_count; m++)
    fits = cut_member(chain, &chain->members[m], tile_rows, &tiles[m]);
  for (int32_t m = 0; !fits && m < chain->member_count; m++) {
    tiles[m] = (TileDims){.is_known = true};
    for (int d = 0; d < chain->members[m].kernel->dim_count; d++) tiles[m].tile_extent[d] = 1;
  }
  return fits ? tile_rows : chain->rows;
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
    member->bound[b] = buffer->operand < 0 ? instruction : origin_of(instruction->operands[buffer->operand]);
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
  int64_t tile_rows = choose_tile_rows(&chain, matrix, row_bytes);
  TileDims *tiles = ARENA_NEW_ARRAY(arena, TileDims, chain.member_count + 1);
  tile_rows = cut_members(&chain, tile_rows, tiles);
  return make_whole(&chain, tile_rows, tiles, diag, out_kernel);
}
