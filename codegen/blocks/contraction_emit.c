/* The loops over blocks. */
#include <string.h>

#include "codegen/blocks/contraction_internal.h"
#include "codegen/ir/ir_function.h"

#define LONG_TILE 200 /* cycles, beside which it does not matter how good the loops over blocks are */

/* --- loops over elements --- */

ElementLoops contraction_loops_begin(ContractionEmitter *emitter) {
  ElementLoops loops = {.outline = ir_outline_begin(emitter->vec->builder), .height = emitter->point.known.count};
  memcpy(loops.dims, emitter->point.dims, sizeof loops.dims);
  return loops;
}

void contraction_loops_end(ContractionEmitter *emitter, ElementLoops *loops) {
  point_forget(&emitter->point, loops->height);
  memcpy(emitter->point.dims, loops->dims, sizeof loops->dims);
  ir_outline_end(&loops->outline);
}

/* --- blocks --- */

/* Block |number| of the depth; sets the dims outside of the chunk. */
static DepthBlock depth_block(ContractionEmitter *emitter, LLVMValueRef number) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef chunk = number, chunks = block_int(vec, blocking->chunk_count_of_dim);
  if (blocking->chunk_dim > 0) {
    chunk = LLVMBuildURem(vec->builder, number, chunks, "");
    block_set_linear(emitter, &blocking->depth, blocking->chunk_dim, NULL,
                     LLVMBuildUDiv(vec->builder, number, chunks, ""));
  }
  int64_t extent = emitter->kernel->dims[blocking->depth.dims[blocking->chunk_dim]].extent;
  DepthBlock block = {.chunk_begin = ir_index_multiply(vec->builder, chunk, blocking->chunk_size)};
  block.chunk_count = block_count_left(vec, blocking->chunk_size, extent, block.chunk_begin);
  int64_t taken = blocking->depth_runs > 0 ? blocking->depth_runs : blocking->inside_chunk;
  block.depth = ir_index_multiply(vec->builder, block.chunk_count, taken);
  return block;
}

static LLVMValueRef compare_to(const VecBuilder *vec, LLVMValueRef value, int64_t number, LLVMIntPredicate predicate) {
  return LLVMBuildICmp(vec->builder, predicate, value, block_int(vec, number), "");
}

/* The block of the depth, rows and panel being worked on. */
typedef struct BlockPosition {
  DepthBlock depth;
  LLVMValueRef number;                   /* of the block of the depth */
  LLVMValueRef row_begin, tile_count;    /* of the block of rows */
  LLVMValueRef first_panel, panel_count; /* of the chunk */
  LLVMValueRef panel, column;            /* in the chunk; its first column in the run */
  LLVMValueRef rhs, rhs_stride;          /* the panel's rows */
  LLVMValueRef source;                   /* where a tile that packs the panel finds them */
  LLVMValueRef
      before; /* columns before |column| that the panel computes again, so that it ends with the run; NULL: none */
  LLVMValueRef ahead;       /* where the next panel's rows lie */
  LLVMValueRef ahead_share; /* how many of them each tile asks for */
} BlockPosition;

/* The rows of a tile: its first one, and where they lie. */
typedef struct TileRows {
  LLVMValueRef begin;  /* the first row that is the tile's own */
  LLVMValueRef before; /* rows before it that the tile computes again, so that it ends with the last row; NULL: none */
  LLVMValueRef lhs;
} TileRows;

static TileRows tile_rows(ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef tile_index) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef in_block = ir_index_multiply(vec->builder, tile_index, blocking->tile_rows);
  TileRows rows = {.begin = ir_index_add(vec->builder, position->row_begin, in_block)};
  if (!blocking->lhs_in_place) {
    rows.lhs = block_element(vec, blocking->type, emitter->lhs_pack,
                             ir_index_multiply(vec->builder, tile_index, blocking->lhs_slot));
    return rows;
  }
  if (blocking->lhs_by_tiles) return rows;
  LLVMValueRef first = rows.begin;
  if (blocking->rest_rows == 0 && blocking->rows.size % blocking->tile_rows != 0) {
    first = ir_index_minimum(vec->builder, rows.begin, block_int(vec, blocking->rows.size - blocking->tile_rows));
    rows.before = LLVMBuildSub(vec->builder, rows.begin, first, "");
  }
  rows.lhs = contraction_lhs_address(emitter, &position->depth, first);
  return rows;
}

/* The tile's share of the rows that will be packed next.  Asked for are lines that the last bytes of these rows are in,
 * line by line: where rows begin inside of a line, the panel before had that one. */
static void ask_for_share(ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef tile_index) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  ElementLoops loops = contraction_loops_begin(emitter);
  PrimitiveType type = emitter->kernel->values[blocking->rhs_source].type;
  int64_t per_line = LINE_BYTES / type_storage_bytes(type);
  LLVMValueRef first = LLVMBuildMul(vec->builder, tile_index, position->ahead_share, "");
  LLVMValueRef end = ir_index_add(vec->builder, first, position->ahead_share);
  IndexRange share = {first, ir_index_minimum(vec->builder, end, position->depth.depth)};
  PointLoop rows = point_loop_begin_guarded(&emitter->point, share, 1);
  LLVMValueRef row =
      block_element(vec, type, position->ahead, ir_index_multiply(vec->builder, rows.index, blocking->rhs_stride));
  for (int64_t column = 0; column < blocking->panel_width; column += per_line)
    vec_prefetch(vec, block_element(vec, type, row, block_int(vec, column + per_line - 1)));
  point_loop_end(&emitter->point, &rows);
  contraction_loops_end(emitter, &loops);
}

/* Where the sums of a tile are added up. */
typedef struct TilePlace {
  LLVMValueRef first;  /* of all rows and columns */
  LLVMValueRef inside; /* whether that is in the result; NULL: always or never */
  TileSums own;
} TilePlace;

/* In the scratch. */
static TilePlace scratch_place(ContractionEmitter *emitter, const BlockPosition *position, const TileRows *rows,
                               LLVMValueRef tile_index) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef tile = emitter->tiles;
  if (blocking->block_count > 1 && !blocking->sums_in_result) {
    LLVMValueRef slot = ir_index_add(
        vec->builder, ir_index_multiply(vec->builder, position->panel, blocking->tiles_per_block), tile_index);
    tile = block_element(vec, blocking->type, tile,
                         ir_index_multiply(vec->builder, slot, blocking->tile_rows * blocking->panel_width));
  }
  TilePlace place = {.first = tile,
                     .own = {.first = tile,
                             .stride = block_int(vec, blocking->panel_width),
                             .row = rows->begin,
                             .column = position->column}};
  LLVMValueRef *first = &place.own.first;
  if (position->before != NULL) *first = block_element(vec, blocking->type, *first, position->before);
  if (rows->before != NULL)
    *first = block_element(vec, blocking->type, *first,
                           ir_index_multiply(vec->builder, rows->before, blocking->panel_width));
  return place;
}

static TilePlace tile_place(ContractionEmitter *emitter, const BlockPosition *position, const TileRows *rows,
                            LLVMValueRef tile_index) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  TilePlace place = scratch_place(emitter, position, rows, tile_index);
  if (!blocking->sums_in_result) return place;
  LLVMValueRef result = contraction_result_address(emitter, rows->begin, position->column);
  LLVMValueRef stride = block_int(vec, blocking->sum_stride);
  place.inside = contraction_tile_is_whole(vec, blocking, rows->begin, position->column);
  if (place.inside == NULL) {
    place.first = place.own.first = result;
    place.own.stride = stride;
    return place;
  }
  place.first = LLVMBuildSelect(vec->builder, place.inside, result, place.first, "");
  place.own.first = LLVMBuildSelect(vec->builder, place.inside, result, place.own.first, "");
  place.own.stride = LLVMBuildSelect(vec->builder, place.inside, stride, place.own.stride, "");
  return place;
}

/* What the tile takes on from the block of the depth before. */
static void fetch_sums(ContractionEmitter *emitter, const BlockPosition *position, const TilePlace *place) {
  const VecBuilder *vec = emitter->vec;
  if (place->inside == NULL || emitter->blocking->block_count == 1) return;
  LLVMValueRef outside = LLVMBuildNot(vec->builder, place->inside, "");
  LLVMValueRef later = compare_to(vec, position->number, 0, LLVMIntNE);
  LLVMBasicBlockRef after = ir_if_begin(vec->builder, LLVMBuildAnd(vec->builder, outside, later, ""));
  contraction_tile_step(emitter, TILE_FETCH, &place->own);
  ir_if_end(vec->builder, after);
}

/* Conditions (i1) of a tile in a block of the depth; NULL: always. */
typedef struct TileEnd {
  LLVMValueRef is_last;      /* block */
  LLVMValueRef in_registers; /* the micro-kernel finishes it; where not all tiles are, it asks */
  LLVMValueRef in_memory;    /* what follows does */
  bool never_in_memory;
} TileEnd;

static LLVMValueRef both(const VecBuilder *vec, LLVMValueRef a, LLVMValueRef b) {
  return a == NULL || b == NULL ? (a != NULL ? a : b) : LLVMBuildAnd(vec->builder, a, b, "");
}

/* |is_uncut|: all its rows are multiplied; NULL: as those of all tiles. */
static TileEnd tile_end(ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef row,
                        LLVMValueRef is_uncut) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t last = blocking->block_count - 1;
  LLVMValueRef is_last = last == 0 ? NULL : compare_to(vec, position->number, last, LLVMIntEQ);
  TileEnd end = {.is_last = is_last, .in_memory = is_last};
  if (!blocking->in_registers) return end;
  LLVMValueRef suits = both(vec, contraction_tile_is_whole(vec, blocking, row, position->column), is_uncut);
  end.in_registers = both(vec, is_last, suits);
  end.never_in_memory = suits == NULL;
  if (suits != NULL) end.in_memory = both(vec, is_last, LLVMBuildNot(vec->builder, suits, ""));
  return end;
}

/* Through memory. */
static void finish_tile(ContractionEmitter *emitter, const TilePlace *place, const TileEnd *end) {
  if (end->never_in_memory) return;
  if (end->in_memory == NULL) {
    contraction_tile_step(emitter, TILE_FINISH, &place->own);
    return;
  }
  LLVMBasicBlockRef after = ir_if_begin(emitter->vec->builder, end->in_memory);
  contraction_tile_step(emitter, TILE_FINISH, &place->own);
  ir_if_end(emitter->vec->builder, after);
}

/* What follows on a block of the depth: after the last one the epilogue. */
static void finish_sums(ContractionEmitter *emitter, const TilePlace *place, const TileEnd *end) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->sums_in_result && blocking->stores_sums) {
    if (place->inside == NULL) return;
    LLVMBasicBlockRef after = ir_if_begin(vec->builder, LLVMBuildNot(vec->builder, place->inside, ""));
    contraction_tile_step(emitter, TILE_FINISH, &place->own);
    ir_if_end(vec->builder, after);
    return;
  }
  finish_tile(emitter, place, end);
  if (place->inside == NULL || end->is_last == NULL) return;
  LLVMValueRef neither = LLVMBuildNot(vec->builder, LLVMBuildOr(vec->builder, place->inside, end->is_last, ""), "");
  LLVMBasicBlockRef after = ir_if_begin(vec->builder, neither);
  contraction_tile_step(emitter, TILE_LEAVE, &place->own);
  ir_if_end(vec->builder, after);
}

/* How many lanes of the depth the tile, whose first row is |row|, takes of the block: none where it reads only zeros.
 */
static LLVMValueRef tile_depth(ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef row) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef depth = contraction_group_count(vec, blocking, position->depth.depth);
  if (blocking->common_guard_count == 0) return depth;
  LLVMValueRef dims[KERNEL_MAX_DIMS], *here = emitter->point.dims;
  memcpy(dims, here, sizeof dims);
  int64_t height = emitter->point.known.count;
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL, row);
  here[blocking->depth.dims[blocking->chunk_dim]] = position->depth.chunk_begin;
  for (int i = 0; i < blocking->common_guard_count; i++) {
    LLVMValueRef holds = point_value(&emitter->point, blocking->common_guards[i]);
    depth = LLVMBuildSelect(vec->builder, holds, depth, block_int(vec, 0), "");
  }
  point_forget(&emitter->point, height);
  memcpy(here, dims, sizeof dims);
  return depth;
}

/* The rows of the tile that begin inside of the image: from |*out_first| of the tile's on, as many as are returned. */
static LLVMValueRef cut_rows(ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef row,
                             LLVMValueRef *out_first) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  const KernelValue *guard = &emitter->kernel->values[blocking->cut_guard];
  LLVMValueRef dims[KERNEL_MAX_DIMS], *here = emitter->point.dims;
  memcpy(dims, here, sizeof dims);
  int dim = blocking->rows.dims[blocking->rows.count - 1];
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL, row);
  LLVMValueRef begin = here[dim], size = block_int(vec, blocking->tile_rows), zero = block_int(vec, 0);
  here[blocking->depth.dims[blocking->chunk_dim]] = position->depth.chunk_begin;
  LLVMValueRef without = point_index_without(&emitter->point, guard->address, dim);
  memcpy(here, dims, sizeof dims);
  int64_t step = index_dim_coefficient(&emitter->kernel->space, guard->address, dim);
  LLVMValueRef lower = LLVMBuildSub(vec->builder, block_steps_up_to(vec, guard->lower, without, step), begin, "");
  LLVMValueRef upper = LLVMBuildSub(vec->builder, block_steps_up_to(vec, guard->upper, without, step), begin, "");
  *out_first = ir_index_maximum(vec->builder, lower, zero);
  return LLVMBuildSub(vec->builder, ir_index_minimum(vec->builder, upper, size), *out_first, "");
}

/* The micro-kernel for as many rows as are inside, from |first| of the tile's on. */
static void emit_cut_calls(ContractionEmitter *emitter, const MicroCall *tile, LLVMValueRef first, LLVMValueRef count,
                           LLVMValueRef is_first_block) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef is_cut = compare_to(vec, count, blocking->tile_rows, LLVMIntNE);
  LLVMBasicBlockRef after = ir_if_begin(vec->builder, LLVMBuildAnd(vec->builder, is_cut, is_first_block, ""));
  MicroCall zero = *tile, call = *tile;
  zero.depth = block_int(vec, 0);
  zero.adds = LLVMConstInt(LLVMInt1TypeInContext(vec->context), 0, false);
  zero.finishes = NULL;
  contraction_micro_call(vec, blocking, &zero);
  ir_if_end(vec->builder, after);
  LLVMValueRef place = LLVMBuildMul(vec->builder, first, tile->tile_stride, "");
  call.tile = block_element(vec, blocking->type, tile->tile, place);
  call.adds = LLVMBuildOr(vec->builder, tile->adds, is_cut, "");
  for (int i = 0; i < blocking->cut_count; i++) {
    ContractionBlocking cut = *blocking;
    cut.tile_rows = blocking->cut_rows[i];
    cut.in_registers &= cut.tile_rows == blocking->tile_rows;
    call.finishes = cut.in_registers ? tile->finishes : NULL;
    after = ir_if_begin(vec->builder, compare_to(vec, count, cut.tile_rows, LLVMIntEQ));
    contraction_micro_call(vec, &cut, &call);
    ir_if_end(vec->builder, after);
  }
}

/* What the micro-kernel asks for where it does not ask for results: of the tile's rows in the next block of the depth,
 * which is packed soon, so many lines for each panel, as long as there are any; else what it reads anyway. */
static void provide_lhs_ahead(ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef row,
                              MicroCall *call) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  call->result = call->rhs;
  call->result_stride = block_int(vec, 0);
  if (!blocking->lhs_ahead) return;
  int64_t bytes = type_storage_bytes(blocking->type), elements = blocking->result_lines * LINE_BYTES / bytes;
  LLVMValueRef dims[KERNEL_MAX_DIMS];
  memcpy(dims, emitter->point.dims, sizeof dims);
  LLVMValueRef number = ir_index_add(vec->builder, position->number, block_int(vec, 1));
  DepthBlock next = depth_block(emitter, number);
  LLVMValueRef first = ir_index_multiply(vec->builder, position->panel, elements);
  LLVMValueRef place = block_element(vec, blocking->type, contraction_lhs_address(emitter, &next, row), first);
  LLVMValueRef is_there = LLVMBuildAnd(vec->builder, compare_to(vec, first, blocking->block_depth, LLVMIntSLT),
                                       compare_to(vec, number, blocking->block_count, LLVMIntSLT), "");
  LLVMValueRef stride = block_int(vec, contraction_lhs_stride(emitter->kernel, blocking) * bytes);
  call->result = LLVMBuildSelect(vec->builder, is_there, place, call->result, "");
  call->result_stride = LLVMBuildSelect(vec->builder, is_there, stride, call->result_stride, "");
  memcpy(emitter->point.dims, dims, sizeof dims);
}

/* What of the next panel's rows the micro-kernel asks for meanwhile. */
static void ask_ahead(const ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef tile_index,
                      MicroCall *call) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->rhs_ahead && blocking->tile_count == 1 && blocking->rhs_in_place) {
    call->ahead = position->ahead;
    call->ahead_stride = blocking->rhs_stride;
  } else if (blocking->rhs_ahead && !blocking->ahead_in_turn) {
    /* every tile asks for one line of each row, in turn, by its last byte as in ask_for_share */
    int64_t per_line = LINE_BYTES / type_storage_bytes(blocking->type), lines = blocking->panel_width / per_line;
    LLVMValueRef line =
        lines > 1 ? LLVMBuildURem(vec->builder, tile_index, block_int(vec, lines), "") : block_int(vec, 0);
    LLVMValueRef in_row = ir_index_multiply(vec->builder, line, per_line);
    LLVMValueRef last = ir_index_add(vec->builder, in_row, block_int(vec, per_line - 1));
    call->ahead = block_element(vec, blocking->type, position->ahead, last);
    call->ahead_stride = blocking->rhs_stride;
  }
}

/* The first tile takes the panel from where it lies. */
static void pack_by_tile(const ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef tile_index,
                         MicroCall *call) {
  const VecBuilder *vec = emitter->vec;
  if (!emitter->blocking->packed_by_tile) return;
  LLVMValueRef stride = block_int(vec, emitter->blocking->rhs_stride);
  call->packed = position->rhs;
  call->packs = compare_to(vec, tile_index, 0, LLVMIntEQ);
  call->rhs = LLVMBuildSelect(vec->builder, call->packs, position->source, position->rhs, "");
  call->rhs_stride = LLVMBuildSelect(vec->builder, call->packs, stride, position->rhs_stride, "");
}

/* One tile: sums over a block of the depth, and what follows. */
static void emit_tile(ContractionEmitter *emitter, const BlockPosition *position, LLVMValueRef tile_index) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  TileRows rows = tile_rows(emitter, position, tile_index);
  TilePlace place = tile_place(emitter, position, &rows, tile_index);
  fetch_sums(emitter, position, &place);
  MicroCall call = {.lhs = rows.lhs,
                    .rhs = position->rhs,
                    .tile = place.first,
                    .tile_stride = place.own.stride,
                    .depth = tile_depth(emitter, position, rows.begin),
                    .rhs_stride = position->rhs_stride,
                    .refused = emitter->refused};
  pack_by_tile(emitter, position, tile_index, &call);
  call.adds = compare_to(vec, position->number, 0, LLVMIntNE);
  if (blocking->rest_rows > 0)
    call.is_last = compare_to(vec, rows.begin, blocking->rows.size - blocking->rest_rows, LLVMIntEQ);
  ask_ahead(emitter, position, tile_index, &call);
  if (blocking->ahead_in_turn) ask_for_share(emitter, position, tile_index);
  int64_t asking = blocking->sums_in_result ? 0 : blocking->block_count - 1;
  LLVMValueRef asks = blocking->block_count == 1 ? NULL : compare_to(vec, position->number, asking, LLVMIntEQ);
  provide_lhs_ahead(emitter, position, rows.begin, &call);
  contraction_ask_for_results(emitter, rows.begin, position->column, asks, &call);
  contraction_provide_registers(emitter, rows.begin, position->column, &call);
  LLVMValueRef first = block_int(vec, 0), count = NULL, is_uncut = NULL;
  if (blocking->cut) {
    count = cut_rows(emitter, position, rows.begin, &first);
    is_uncut = compare_to(vec, count, blocking->tile_rows, LLVMIntEQ);
  }
  TileEnd end = tile_end(emitter, position, rows.begin, is_uncut);
  call.finishes = end.in_registers;
  if (blocking->is_turned || blocking->walks_window) {
    contraction_walk_window(emitter, &position->depth, rows.begin, &call);
    contraction_micro_call(vec, blocking, &call);
  } else if (blocking->lhs_by_tiles) {
    call.lhs = contraction_lhs_address(emitter, &position->depth, ir_index_add(vec->builder, rows.begin, first));
    if (blocking->cut)
      emit_cut_calls(emitter, &call, first, count, compare_to(vec, position->number, 0, LLVMIntEQ));
    else
      contraction_micro_call(vec, blocking, &call);
  } else {
    contraction_micro_call(vec, blocking, &call);
  }
  finish_sums(emitter, &place, &end);
}

static LLVMValueRef slot_at(const VecBuilder *vec, LLVMValueRef slots, LLVMValueRef number, int64_t bytes) {
  return block_element(vec, TYPE_S8, slots, ir_index_multiply(vec->builder, number, bytes));
}

/* Stands at panel |panel| of all. */
static void set_panel(ContractionEmitter *emitter, BlockPosition *position, LLVMValueRef panel) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef in_run = panel;
  int outside = blocking->columns.count - blocking->column_suffix;
  if (outside > 0) {
    LLVMValueRef panels = block_int(vec, blocking->panels_per_run);
    in_run = LLVMBuildURem(vec->builder, panel, panels, "");
    block_set_linear(emitter, &blocking->columns, outside, NULL, LLVMBuildUDiv(vec->builder, panel, panels, ""));
  }
  for (int i = outside; i < blocking->columns.count; i++)
    emitter->point.dims[blocking->columns.dims[i]] = block_int(vec, 0);
  position->column = ir_index_multiply(vec->builder, in_run, blocking->panel_width);
  if (!blocking->rhs_kept) return;
  LLVMValueRef in_chunk = LLVMBuildSub(vec->builder, panel, position->first_panel, "");
  LLVMValueRef slot = ir_index_multiply(vec->builder, in_chunk, blocking->block_count);
  slot = ir_index_add(vec->builder, slot, position->number);
  emitter->rhs_pack = slot_at(vec, emitter->rhs_slots, slot, blocking->rhs_slot);
  emitter->kept = slot_at(vec, emitter->kept_slots, in_chunk, blocking->kept_slot);
}

/* Where the rows lie that will be read |rows_ahead| rows later, or |panels_ahead| panels, or as many as the chunk has.
 * After the last panel of a chunk: its first ones, at the next block of the depth; after the last block the next chunk,
 * at the first block.
 */
static LLVMValueRef next_rows(ContractionEmitter *emitter, const BlockPosition *position) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->rows_ahead > 0) {
    LLVMValueRef distance = block_int(vec, blocking->rows_ahead * blocking->rhs_stride);
    return block_element(vec, blocking->rhs_type, position->rhs, distance);
  }
  if (blocking->block_count == 1) {
    LLVMValueRef column =
        ir_index_add(vec->builder, position->column, block_int(vec, blocking->panels_ahead * blocking->panel_width));
    return contraction_rhs_address(emitter, &position->depth, column);
  }
  LLVMValueRef ahead = ir_index_minimum(vec->builder, block_int(vec, blocking->panels_ahead), position->panel_count);
  LLVMValueRef next_panel = ir_index_add(vec->builder, position->panel, ahead);
  LLVMValueRef next_block = ir_index_add(vec->builder, position->number, block_int(vec, 1));
  LLVMValueRef is_end = LLVMBuildICmp(vec->builder, LLVMIntSGE, next_panel, position->panel_count, "");
  LLVMValueRef is_last = compare_to(vec, position->number, blocking->block_count - 1, LLVMIntEQ);
  LLVMValueRef first = block_int(vec, 0), again = LLVMBuildSub(vec->builder, next_panel, position->panel_count, "");
  LLVMValueRef after = LLVMBuildSelect(vec->builder, is_last, next_panel, again, "");
  LLVMValueRef in_chunk = LLVMBuildSelect(vec->builder, is_end, after, next_panel, "");
  after = LLVMBuildSelect(vec->builder, is_last, first, next_block, "");
  LLVMValueRef number = LLVMBuildSelect(vec->builder, is_end, after, position->number, "");

  LLVMValueRef dims[KERNEL_MAX_DIMS];
  memcpy(dims, emitter->point.dims, sizeof dims);
  BlockPosition next = *position;
  set_panel(emitter, &next, ir_index_add(vec->builder, position->first_panel, in_chunk));
  next.depth = depth_block(emitter, number);
  LLVMValueRef rows = contraction_rhs_address(emitter, &next.depth, next.column);
  memcpy(emitter->point.dims, dims, sizeof dims);
  return rows;
}

/* What will be asked for ahead, and how much of it by each tile. */
static void provide_ahead(ContractionEmitter *emitter, BlockPosition *position) {
  const VecBuilder *vec = emitter->vec;
  if (!emitter->blocking->rhs_ahead) return;
  position->ahead = next_rows(emitter, position);
  if (!emitter->blocking->ahead_in_turn) return;
  LLVMValueRef most = ir_index_add(vec->builder, position->depth.depth, position->tile_count);
  LLVMValueRef up = LLVMBuildSub(vec->builder, most, block_int(vec, 1), "");
  position->ahead_share = LLVMBuildUDiv(vec->builder, up, position->tile_count, "");
}

/* Makes the panel's rows ready: packed, or where they are. */
static void provide_rhs(ContractionEmitter *emitter, BlockPosition *position) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  position->rhs = emitter->rhs_pack;
  position->rhs_stride = block_int(vec, blocking->packed_stride);
  position->before = NULL;
  if (blocking->rhs_kept) return;
  if (!blocking->rhs_in_place) {
    if (blocking->packed_by_tile)
      position->source = contraction_rhs_address(emitter, &position->depth, position->column);
    else
      contraction_pack_rhs(emitter, &position->depth, position->column);
    provide_ahead(emitter, position);
    return;
  }
  LLVMValueRef first = position->column;
  if (blocking->column_run % blocking->panel_width != 0) {
    first = ir_index_minimum(vec->builder, first, block_int(vec, blocking->column_run - blocking->panel_width));
    position->before = LLVMBuildSub(vec->builder, position->column, first, "");
  }
  position->rhs = contraction_rhs_address(emitter, &position->depth, first);
  position->rhs_stride = block_int(vec, blocking->rhs_stride);
  provide_ahead(emitter, position);
}

/* Packs panels |panels| of the call in block |position| of the depth, where they are kept. */
static void keep_block(ContractionEmitter *emitter, BlockPosition *position, IndexRange panels) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t rows = contraction_depth_packed(emitter->kernel, blocking);
  int64_t row_bytes = blocking->packed_stride * type_storage_bytes(blocking->type);
  DepthBlock part = position->depth;
  PointLoop parts = point_loop_begin(&emitter->point, ir_range_below(part.chunk_count), rows / blocking->inside_chunk);
  if (rows < blocking->block_depth) {
    int64_t extent = emitter->kernel->dims[blocking->depth.dims[blocking->chunk_dim]].extent;
    bool all_whole = blocking->chunk_size % rows == 0 && extent % rows == 0;
    LLVMValueRef left = LLVMBuildSub(vec->builder, part.chunk_count, parts.index, "");
    part.chunk_begin = ir_index_add(vec->builder, part.chunk_begin, parts.index);
    part.chunk_count = block_int(vec, rows);
    if (!all_whole) part.chunk_count = ir_index_minimum(vec->builder, part.chunk_count, left);
    part.depth = part.chunk_count;
  }
  PointLoop all = point_loop_begin(&emitter->point, panels, 1);
  set_panel(emitter, position, all.index);
  LLVMValueRef above = LLVMBuildUDiv(vec->builder, parts.index, block_int(vec, blocking->group), "");
  emitter->rhs_pack = slot_at(vec, emitter->rhs_pack, above, row_bytes);
  contraction_pack_rhs(emitter, &part, position->column);
  point_loop_end(&emitter->point, &all);
  point_loop_end(&emitter->point, &parts);
}

/* The same in all blocks, and what is kept beside them. */
static void keep_panels(ContractionEmitter *emitter, IndexRange panels) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  BlockPosition position = {.first_panel = panels.begin, .number = block_int(vec, 0)};
  if (blocking->kept_count > 0) {
    PointLoop all = point_loop_begin(&emitter->point, panels, 1);
    set_panel(emitter, &position, all.index);
    contraction_keep_columns(emitter, position.column);
    point_loop_end(&emitter->point, &all);
  }
  PointLoop blocks = point_loop_begin(&emitter->point, ir_range_below(block_int(vec, blocking->block_count)), 1);
  position.number = blocks.index;
  position.depth = depth_block(emitter, blocks.index);
  keep_block(emitter, &position, panels);
  point_loop_end(&emitter->point, &blocks);
}

/* Panel |panel| of all against all tiles of the row block. */
static void emit_panel(ContractionEmitter *emitter, BlockPosition *position, LLVMValueRef panel) {
  set_panel(emitter, position, panel);
  if (!emitter->blocking->rhs_kept) contraction_keep_columns(emitter, position->column);
  provide_rhs(emitter, position);
  PointLoop tiles = point_loop_begin(&emitter->point, ir_range_below(position->tile_count), 1);
  emit_tile(emitter, position, tiles.index);
  point_loop_end(&emitter->point, &tiles);
}

/* How many of |range|, at most |most|, there are from |begin| on, which is a multiple of |most| after its beginning.
 */
static LLVMValueRef count_in(const VecBuilder *vec, int64_t most, IndexRange range, LLVMValueRef begin) {
  if (most == 1) return block_int(vec, 1);
  if (LLVMIsAConstantInt(range.begin) && LLVMIsAConstantInt(range.end)) {
    int64_t total = LLVMConstIntGetSExtValue(range.end) - LLVMConstIntGetSExtValue(range.begin);
    if (total % most == 0) return block_int(vec, most);
  }
  return ir_index_minimum(vec->builder, block_int(vec, most), LLVMBuildSub(vec->builder, range.end, begin, ""));
}

/* Some panels of the call, which are worked on between packing the lhs again. */
typedef struct PanelChunk {
  PointLoop loop;
  LLVMValueRef count;
} PanelChunk;

static PanelChunk chunk_begin(ContractionEmitter *emitter) {
  const ContractionBlocking *blocking = emitter->blocking;
  IndexRange columns = emitter->work[ROLE_COLUMNS];
  PanelChunk chunk = {.loop = point_loop_begin(&emitter->point, columns, blocking->panels_per_chunk)};
  chunk.count = count_in(emitter->vec, blocking->panels_per_chunk, columns, chunk.loop.index);
  return chunk;
}

/* What follows on the sums of a chunk that was swept, panel by panel. */
static void finish_swept(ContractionEmitter *emitter, BlockPosition *position, const PanelChunk *chunk,
                         const TileSums *sums) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->sums_in_result && blocking->stores_sums) return;
  PointLoop panels = point_loop_begin(&emitter->point, ir_range_below(chunk->count), 1);
  set_panel(emitter, position, ir_index_add(vec->builder, chunk->loop.index, panels.index));
  contraction_keep_columns(emitter, position->column);
  TileSums own = *sums;
  LLVMValueRef before = ir_index_multiply(vec->builder, panels.index, blocking->panel_width);
  own.first = block_element(vec, blocking->type, own.first, before);
  own.column = position->column;
  contraction_tile_step(emitter, TILE_FINISH, &own);
  point_loop_end(&emitter->point, &panels);
}

/* All rows with a chunk of panels, in sweeps. */
static void emit_swept(ContractionEmitter *emitter, const PanelChunk *chunk) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  BlockPosition position = {.first_panel = chunk->loop.index, .row_begin = block_int(vec, 0)};
  set_panel(emitter, &position, chunk->loop.index);
  LLVMValueRef left = LLVMBuildSub(vec->builder, block_int(vec, blocking->column_run), position.column, "");
  Sweep sweep = {.columns = ir_index_multiply(vec->builder, chunk->count, blocking->panel_width)};
  if (blocking->column_run % blocking->panel_width != 0)
    sweep.columns = ir_index_minimum(vec->builder, sweep.columns, left);
  sweep.sums = contraction_sweep_sums(emitter, position.column);
  contraction_sweep_begin(emitter, &sweep);
  PointLoop blocks = point_loop_begin(&emitter->point, ir_range_below(block_int(vec, blocking->block_count)), 1);
  position.depth = depth_block(emitter, blocks.index);
  sweep.lhs = emitter->lhs_pack;
  if (blocking->lhs_in_place)
    sweep.lhs = contraction_lhs_address(emitter, &position.depth, position.row_begin);
  else
    contraction_pack_lhs(emitter, &position.depth, position.row_begin, block_int(vec, blocking->rows.size));
  set_panel(emitter, &position, chunk->loop.index);
  sweep.rhs = contraction_rhs_address(emitter, &position.depth, position.column);
  contraction_sweep_call(emitter, &position.depth, &sweep);
  point_loop_end(&emitter->point, &blocks);
  finish_swept(emitter, &position, chunk, &sweep.sums);
}

/* Tiles of rows from |first_tile| on with a chunk of panels. */
static void emit_rows(ContractionEmitter *emitter, LLVMValueRef first_tile, const PanelChunk *chunk) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  BlockPosition position = {.tile_count =
                                count_in(vec, blocking->tiles_per_block, emitter->work[ROLE_ROWS], first_tile)};
  position.row_begin = ir_index_multiply(vec->builder, first_tile, blocking->tile_rows);
  PointLoop blocks = point_loop_begin(&emitter->point, ir_range_below(block_int(vec, blocking->block_count)), 1);
  position.number = blocks.index;
  position.depth = depth_block(emitter, blocks.index);
  if (!blocking->lhs_in_place) {
    LLVMValueRef row_count = ir_index_multiply(vec->builder, position.tile_count, blocking->tile_rows);
    if (blocking->rest_rows > 0) {
      LLVMValueRef left = LLVMBuildSub(vec->builder, block_int(vec, blocking->rows.size), position.row_begin, "");
      row_count = ir_index_minimum(vec->builder, row_count, left);
    }
    contraction_pack_lhs(emitter, &position.depth, position.row_begin, row_count);
  }
  PointLoop panels = point_loop_begin(&emitter->point, ir_range_below(chunk->count), 1);
  position.first_panel = chunk->loop.index;
  position.panel_count = chunk->count;
  position.panel = panels.index;
  emit_panel(emitter, &position, ir_index_add(vec->builder, chunk->loop.index, panels.index));
  point_loop_end(&emitter->point, &panels);
  point_loop_end(&emitter->point, &blocks);
}

/* All rows with one chunk after the other, whose panels are kept. */
static void emit_kept_chunks(ContractionEmitter *emitter) {
  PanelChunk chunk = chunk_begin(emitter);
  LLVMValueRef end = ir_index_add(emitter->vec->builder, chunk.loop.index, chunk.count);
  keep_panels(emitter, (IndexRange){chunk.loop.index, end});
  PointLoop rows = point_loop_begin(&emitter->point, emitter->work[ROLE_ROWS], emitter->blocking->tiles_per_block);
  emit_rows(emitter, rows.index, &chunk);
  point_loop_end(&emitter->point, &rows);
  point_loop_end(&emitter->point, &chunk.loop);
}

static void emit_batch(ContractionEmitter *emitter) {
  const ContractionBlocking *blocking = emitter->blocking;
  PointLoop entries = point_loop_begin(&emitter->point, emitter->work[ROLE_BATCH], 1);
  block_set_linear(emitter, &blocking->batch, blocking->batch.count, NULL, entries.index);
  if (blocking->rhs_kept) {
    emit_kept_chunks(emitter);
  } else {
    PointLoop rows = point_loop_begin(&emitter->point, emitter->work[ROLE_ROWS], blocking->tiles_per_block);
    PanelChunk chunk = chunk_begin(emitter);
    if (blocking->is_swept)
      emit_swept(emitter, &chunk);
    else
      emit_rows(emitter, rows.index, &chunk);
    point_loop_end(&emitter->point, &chunk.loop);
    point_loop_end(&emitter->point, &rows);
  }
  point_loop_end(&emitter->point, &entries);
}

/* |pieces|, everything of the other roles. */
static void set_work(ContractionEmitter *emitter, IndexRange pieces) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int64_t totals[ROLE_COUNT] = {
      [ROLE_BATCH] = blocking->batch.size, [ROLE_ROWS] = blocking->tile_count, [ROLE_COLUMNS] = blocking->panel_count};
  for (int role = 0; role < ROLE_COUNT; role++) {
    emitter->work[role] = ir_range_below(block_int(vec, totals[role]));
  }
  if (pieces.begin != NULL) emitter->work[blocking->split] = pieces;
}

void contraction_emit(const VecBuilder *vec, const Kernel *kernel, const ContractionBlocking *blocking,
                      LLVMValueRef function, const LLVMValueRef *buffer_pointers, LLVMValueRef scratch,
                      IndexRange pieces) {
  Arena *arena = arena_create();
  ContractionEmitter emitter = {.vec = vec, .kernel = kernel, .blocking = blocking, .function = function};
  emitter.point = kernel_point(vec, kernel, function, buffer_pointers, arena);
  emitter.lhs_pack = block_byte(vec, scratch, blocking->lhs_offset);
  emitter.rhs_pack = emitter.rhs_slots = block_byte(vec, scratch, blocking->rhs_offset);
  emitter.tiles = block_byte(vec, scratch, blocking->tile_offset);
  emitter.turned = block_byte(vec, scratch, blocking->turned_offset);
  emitter.kept = emitter.kept_slots = block_byte(vec, scratch, blocking->kept_offset);
  set_work(&emitter, pieces);
  if (blocking->is_skinny) {
    contraction_emit_skinny(&emitter);
  } else {
    if (blocking->in_matrix_unit) emitter.refused = contraction_begin_matrix_unit(vec, blocking);
    emit_batch(&emitter);
    if (blocking->in_matrix_unit) contraction_end_matrix_unit(vec, emitter.refused);
    if (blocking->step_cost * (double)blocking->block_depth >= LONG_TILE) ir_function_leave_plain(function);
  }
  arena_destroy(arena);
}
