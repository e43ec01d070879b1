/* The loops of minimal filtering. */
#include "codegen/blocks/contraction_pack_internal.h"
#include "codegen/blocks/winograd_internal.h"
#include "codegen/ir/ir_function.h"

typedef struct WinogradEmitter {
  ContractionEmitter *to; /* what contractions are emitted by; stands at finished sums */
  const VecBuilder *vec;
  const WinogradBlocking *blocking;
  LLVMValueRef weights, input, sums, patch, results; /* scratch */
  LLVMValueRef first_filter;                         /* of those at work */
} WinogradEmitter;

static LLVMValueRef floats_at(const WinogradEmitter *emitter, LLVMValueRef base, LLVMValueRef index) {
  return block_element(emitter->vec, TYPE_F32, base, index);
}

static LLVMValueRef float_at(const WinogradEmitter *emitter, LLVMValueRef base, int64_t index) {
  return floats_at(emitter, base, block_int(emitter->vec, index));
}

static LLVMValueRef times(const WinogradEmitter *emitter, LLVMValueRef index, int64_t factor) {
  return ir_index_multiply(emitter->vec->builder, index, factor);
}

static LLVMValueRef plus(const WinogradEmitter *emitter, LLVMValueRef a, LLVMValueRef b) {
  return ir_index_add(emitter->vec->builder, a, b);
}

static LLVMValueRef load(const WinogradEmitter *emitter, LLVMValueRef base, int64_t index, int lanes) {
  return vec_load(emitter->vec, TYPE_F32, float_at(emitter, base, index), NULL, lanes);
}

static void store(const WinogradEmitter *emitter, LLVMValueRef value, LLVMValueRef base, int64_t index, int lanes) {
  vec_store(emitter->vec, TYPE_F32, value, float_at(emitter, base, index), NULL, lanes);
}

/* --- weights --- */

/* Of lanes of filters from the point's on, for the point's feature: one of each product to |target|. */
static void transform_some_weights(const WinogradEmitter *emitter, LLVMValueRef target) {
  const WinogradBlocking *blocking = emitter->blocking;
  KernelPoint *point = &emitter->to->point;
  LLVMValueRef values[WINOGRAD_PRODUCTS];
  for (int tap = 0; tap < WINOGRAD_TAPS * WINOGRAD_TAPS; tap++) {
    point->dims[blocking->window_dims[0]] = block_int(emitter->vec, tap / WINOGRAD_TAPS);
    point->dims[blocking->window_dims[1]] = block_int(emitter->vec, tap % WINOGRAD_TAPS);
    values[tap] = contraction_factor_lanes(emitter->to, blocking->products.rhs, blocking->filter_lanes, NULL);
  }
  winograd_transform_weights(emitter->vec, blocking->filter_lanes, values);
  for (int p = 0; p < WINOGRAD_PRODUCTS; p++)
    store(emitter, values[p], target, p * blocking->weight_stride, blocking->filter_lanes);
}

/* Of |features| and the filters at work. */
static void transform_weights(const WinogradEmitter *emitter, IndexRange features) {
  const WinogradBlocking *blocking = emitter->blocking;
  const ContractionBlocking *products = &blocking->products;
  KernelPoint *point = &emitter->to->point;
  ElementLoops loops = contraction_loops_begin(emitter->to);
  PointLoop rows = point_loop_begin_guarded(point, features, 1);
  point->dims[blocking->feature_dim] = rows.index;
  LLVMValueRef all = block_int(emitter->vec, blocking->filters_at_once);
  PointLoop panels = point_loop_begin(point, ir_range_below(all), products->panel_width);
  LLVMValueRef panel = plus(emitter, times(emitter, panels.index, blocking->features),
                            times(emitter, rows.index, products->panel_width));
  LLVMValueRef width = block_int(emitter->vec, products->panel_width);
  PointLoop columns = point_loop_begin(point, ir_range_below(width), blocking->filter_lanes);
  LLVMValueRef filter = plus(emitter, panels.index, columns.index);
  point->vector_dim = blocking->filter_dim;
  point->dims[blocking->filter_dim] = plus(emitter, emitter->first_filter, filter);
  transform_some_weights(emitter, floats_at(emitter, emitter->weights, plus(emitter, panel, columns.index)));
  point_loop_end(point, &columns);
  point_loop_end(point, &panels);
  point_loop_end(point, &rows);
  contraction_loops_end(emitter->to, &loops);
}

/* --- input --- */

/* A tile: its number, and its first position. */
typedef struct ImageTile {
  LLVMValueRef image, places[2];
} ImageTile;

static ImageTile tile_at(const WinogradEmitter *emitter, LLVMValueRef number) {
  const VecBuilder *vec = emitter->vec;
  const WinogradBlocking *blocking = emitter->blocking;
  ImageTile tile;
  for (int i = 1; i >= 0; i--) {
    LLVMValueRef tiles = block_int(vec, blocking->tiles[i]);
    tile.places[i] = times(emitter, LLVMBuildURem(vec->builder, number, tiles, ""), WINOGRAD_TILE);
    number = LLVMBuildUDiv(vec->builder, number, tiles, "");
  }
  tile.image = number;
  return tile;
}

/* Stands at the tile's first position and first tap. */
static void stand_at(const WinogradEmitter *emitter, const ImageTile *tile) {
  const WinogradBlocking *blocking = emitter->blocking;
  block_set_linear(emitter->to, &blocking->images, blocking->images.count, NULL, tile->image);
  for (int i = 0; i < 2; i++) {
    emitter->to->point.dims[blocking->place_dims[i]] = tile->places[i];
    emitter->to->point.dims[blocking->window_dims[i]] = block_int(emitter->vec, 0);
  }
}

/* The features of one position of the patch.  Beyond the last position that a result depends on its values count
 * nothing, so they are that one's. */
static void copy_position(const WinogradEmitter *emitter, const ImageTile *tile, const LLVMValueRef *in_patch) {
  const VecBuilder *vec = emitter->vec;
  const WinogradBlocking *blocking = emitter->blocking;
  KernelPoint *point = &emitter->to->point;
  for (int i = 0; i < 2; i++) {
    LLVMValueRef last = block_int(vec, blocking->sizes[i] + WINOGRAD_TAPS - 2);
    LLVMValueRef place = plus(emitter, tile->places[i], in_patch[i]);
    point->dims[blocking->place_dims[i]] = ir_index_minimum(vec->builder, place, last);
  }
  LLVMValueRef number = plus(emitter, times(emitter, in_patch[0], WINOGRAD_PATCH), in_patch[1]);
  LLVMValueRef target = floats_at(emitter, emitter->patch, times(emitter, number, blocking->features));
  point->vector_dim = blocking->feature_dim;
  contraction_hoist(point, &blocking->products.lhs_set, UINT64_C(1) << blocking->feature_dim);
  LLVMValueRef all = block_int(vec, blocking->features);
  PointLoop features = point_loop_begin(point, ir_range_below(all), blocking->feature_lanes);
  point->dims[blocking->feature_dim] = features.index;
  LLVMValueRef value = contraction_factor_lanes(emitter->to, blocking->products.lhs, blocking->feature_lanes, NULL);
  vec_store(vec, TYPE_F32, value, floats_at(emitter, target, features.index), NULL, blocking->feature_lanes);
  point_loop_end(point, &features);
}

static void copy_patch(const WinogradEmitter *emitter, const ImageTile *tile) {
  KernelPoint *point = &emitter->to->point;
  ElementLoops loops = contraction_loops_begin(emitter->to);
  IndexRange all = ir_range(emitter->vec->context, 0, WINOGRAD_PATCH);
  PointLoop rows = point_loop_begin(point, all, 1), columns = point_loop_begin(point, all, 1);
  copy_position(emitter, tile, (LLVMValueRef[]){rows.index, columns.index});
  point_loop_end(point, &columns);
  point_loop_end(point, &rows);
  contraction_loops_end(emitter->to, &loops);
}

/* The patch at |source|, whose rows and columns are |steps| apart, to |target|. */
static void transform_patch(const WinogradEmitter *emitter, LLVMValueRef source, const int64_t *steps,
                            LLVMValueRef target) {
  const WinogradBlocking *blocking = emitter->blocking;
  ElementLoops loops = contraction_loops_begin(emitter->to);
  LLVMValueRef all = block_int(emitter->vec, blocking->features), values[WINOGRAD_PRODUCTS];
  PointLoop features = point_loop_begin(&emitter->to->point, ir_range_below(all), blocking->feature_lanes);
  LLVMValueRef from = floats_at(emitter, source, features.index), to = floats_at(emitter, target, features.index);
  for (int p = 0; p < WINOGRAD_PRODUCTS; p++)
    values[p] =
        load(emitter, from, p / WINOGRAD_PATCH * steps[0] + p % WINOGRAD_PATCH * steps[1], blocking->feature_lanes);
  winograd_transform_input(emitter->vec, blocking->feature_lanes, values);
  for (int p = 0; p < WINOGRAD_PRODUCTS; p++)
    store(emitter, values[p], to, p * blocking->input_stride, blocking->feature_lanes);
  point_loop_end(&emitter->to->point, &features);
  contraction_loops_end(emitter->to, &loops);
}

/* Whether all of the tile's patch is in the image, and all of the tile in the result. */
static LLVMValueRef is_inside(const WinogradEmitter *emitter, const ImageTile *tile) {
  const VecBuilder *vec = emitter->vec;
  const WinogradBlocking *blocking = emitter->blocking;
  PackEnds ends = {.count = 2};
  LLVMValueRef inside = NULL;
  for (int i = 0; i < 2; i++) {
    ends.dims[i] = blocking->window_dims[i];
    ends.first[i] = block_int(vec, 0);
    ends.last[i] = block_int(vec, WINOGRAD_PATCH - 1);
    LLVMValueRef last = block_int(vec, blocking->sizes[i] - WINOGRAD_TILE);
    LLVMValueRef is_whole = LLVMBuildICmp(vec->builder, LLVMIntSLE, tile->places[i], last, "");
    inside = inside == NULL ? is_whole : LLVMBuildAnd(vec->builder, inside, is_whole, "");
  }
  if (emitter->to->kernel->values[blocking->products.lhs].predicate < 0) return inside;
  LLVMValueRef holds = pack_holds_at_ends(emitter->to, blocking->products.lhs, &ends);
  return LLVMBuildAnd(vec->builder, inside, holds, "");
}

/* The input of tile |number| to |target|. */
static void transform_tile(const WinogradEmitter *emitter, LLVMValueRef number, LLVMValueRef target) {
  const WinogradBlocking *blocking = emitter->blocking;
  const int64_t patch_steps[] = {WINOGRAD_PATCH * blocking->features, blocking->features};
  KernelPoint *point = &emitter->to->point;
  ImageTile tile = tile_at(emitter, number);
  stand_at(emitter, &tile);
  point->dims[blocking->feature_dim] = block_int(emitter->vec, 0);
  PackBranch branch = {0};
  if (blocking->reads_in_place) {
    branch = pack_branch_begin(emitter->to, is_inside(emitter, &tile));
    stand_at(emitter, &tile);
    LLVMValueRef image = point_load_pointer(point, blocking->products.lhs);
    transform_patch(emitter, image, blocking->image_steps, target);
    pack_branch_otherwise(emitter->to, &branch);
    stand_at(emitter, &tile);
  }
  copy_patch(emitter, &tile);
  transform_patch(emitter, emitter->patch, patch_steps, target);
  if (blocking->reads_in_place) pack_branch_end(emitter->to, &branch);
}

/* Tiles |tiles|, the first of which is the first of those at work. */
static void transform_input(const WinogradEmitter *emitter, IndexRange tiles) {
  KernelPoint *point = &emitter->to->point;
  int64_t row = emitter->blocking->products.row_stride;
  PointLoop loop = point_loop_begin(point, tiles, 1);
  LLVMValueRef at = LLVMBuildSub(emitter->vec->builder, loop.index, tiles.begin, "");
  transform_tile(emitter, loop.index, floats_at(emitter, emitter->input, times(emitter, at, row)));
  point_loop_end(point, &loop);
}

/* --- products --- */

/* Of |groups|, the first of which is the first of those at work. */
static void multiply(const WinogradEmitter *emitter, IndexRange groups) {
  const VecBuilder *vec = emitter->vec;
  const WinogradBlocking *blocking = emitter->blocking;
  const ContractionBlocking *products = &blocking->products;
  KernelPoint *point = &emitter->to->point;
  int64_t filters = blocking->filters_at_once;
  PointLoop all = point_loop_begin(point, ir_range(vec->context, 0, WINOGRAD_PRODUCTS), 1);
  LLVMValueRef input = floats_at(emitter, emitter->input, times(emitter, all.index, blocking->input_stride));
  LLVMValueRef weights = floats_at(emitter, emitter->weights, times(emitter, all.index, blocking->weight_stride));
  LLVMValueRef sums = floats_at(emitter, emitter->sums, times(emitter, all.index, blocking->sum_stride));
  PointLoop panels = point_loop_begin(point, ir_range(vec->context, 0, filters), products->panel_width);
  PointLoop rows = point_loop_begin(point, groups, 1);
  LLVMValueRef first = times(emitter, LLVMBuildSub(vec->builder, rows.index, groups.begin, ""), products->tile_rows);
  MicroCall call = {.lhs = floats_at(emitter, input, times(emitter, first, products->row_stride)),
                    .rhs = floats_at(emitter, weights, times(emitter, panels.index, blocking->features)),
                    .tile = floats_at(emitter, sums, plus(emitter, times(emitter, first, filters), panels.index)),
                    .tile_stride = block_int(vec, filters),
                    .depth = block_int(vec, blocking->features),
                    .rhs_stride = block_int(vec, products->packed_stride),
                    .adds = LLVMConstInt(LLVMInt1TypeInContext(vec->context), 0, false)};
  if (products->rest_rows > 0)
    call.is_last = LLVMBuildICmp(vec->builder, LLVMIntEQ, rows.index, block_int(vec, blocking->group_count - 1), "");
  contraction_micro_call(vec, products, &call);
  point_loop_end(point, &rows);
  point_loop_end(point, &panels);
  point_loop_end(point, &all);
}

/* --- results --- */

/* Those of the tile whose sums are |sums|. */
static void transform_sums(const WinogradEmitter *emitter, LLVMValueRef sums) {
  const WinogradBlocking *blocking = emitter->blocking;
  ElementLoops loops = contraction_loops_begin(emitter->to);
  IndexRange all = ir_range(emitter->vec->context, 0, blocking->filters_at_once);
  PointLoop filters = point_loop_begin(&emitter->to->point, all, blocking->filter_lanes);
  LLVMValueRef from = floats_at(emitter, sums, filters.index), values[WINOGRAD_PRODUCTS];
  LLVMValueRef to = floats_at(emitter, emitter->results, filters.index);
  for (int p = 0; p < WINOGRAD_PRODUCTS; p++)
    values[p] = load(emitter, from, p * blocking->sum_stride, blocking->filter_lanes);
  winograd_transform_sums(emitter->vec, blocking->filter_lanes, values);
  for (int p = 0; p < WINOGRAD_TILE * WINOGRAD_TILE; p++)
    store(emitter, values[p], to, p * blocking->filters_at_once, blocking->filter_lanes);
  point_loop_end(&emitter->to->point, &filters);
  contraction_loops_end(emitter->to, &loops);
}

/* What follows on the results of |tile|, row by row. */
static void finish_tile(const WinogradEmitter *emitter, const ImageTile *tile) {
  const VecBuilder *vec = emitter->vec;
  const WinogradBlocking *blocking = emitter->blocking;
  KernelPoint *point = &emitter->to->point;
  LLVMValueRef counts[2];
  for (int i = 0; i < 2; i++) counts[i] = block_count_left(vec, WINOGRAD_TILE, blocking->sizes[i], tile->places[i]);
  PointLoop rows = point_loop_begin(point, ir_range_below(counts[0]), 1);
  LLVMValueRef row = plus(emitter, times(emitter, tile->image, blocking->sizes[0]), tile->places[0]);
  row = times(emitter, plus(emitter, row, rows.index), blocking->sizes[1]);
  int64_t in_row = WINOGRAD_TILE * blocking->filters_at_once;
  TileSums sums = {.first = floats_at(emitter, emitter->results, times(emitter, rows.index, in_row)),
                   .stride = block_int(vec, blocking->filters_at_once),
                   .row = plus(emitter, row, tile->places[1]),
                   .column = emitter->first_filter,
                   .count = counts[1]};
  contraction_tile_step(emitter->to, TILE_FINISH, &sums);
  point_loop_end(point, &rows);
}

static void finish(const WinogradEmitter *emitter, IndexRange tiles) {
  KernelPoint *point = &emitter->to->point;
  PointLoop loop = point_loop_begin(point, tiles, 1);
  LLVMValueRef at = LLVMBuildSub(emitter->vec->builder, loop.index, tiles.begin, "");
  ImageTile tile = tile_at(emitter, loop.index);
  transform_sums(emitter, floats_at(emitter, emitter->sums, times(emitter, at, emitter->blocking->filters_at_once)));
  finish_tile(emitter, &tile);
  point_loop_end(point, &loop);
}

/* --- phases --- */

/* All groups of |chunk| with the filters at work, some at a time. */
static void emit_tiles(const WinogradEmitter *emitter, IndexRange chunk) {
  const VecBuilder *vec = emitter->vec;
  const WinogradBlocking *blocking = emitter->blocking;
  KernelPoint *point = &emitter->to->point;
  int64_t rows = blocking->products.tile_rows;
  contraction_keep_columns(emitter->to, emitter->first_filter);
  PointLoop blocks = point_loop_begin_guarded(point, chunk, blocking->groups_at_once);
  LLVMValueRef most = plus(emitter, blocks.index, block_int(vec, blocking->groups_at_once));
  IndexRange groups = {blocks.index, ir_index_minimum(vec->builder, most, chunk.end)};
  LLVMValueRef end =
      ir_index_minimum(vec->builder, times(emitter, groups.end, rows), block_int(vec, blocking->tile_count));
  IndexRange tiles = {times(emitter, groups.begin, rows), end};
  transform_input(emitter, tiles);
  multiply(emitter, groups);
  finish(emitter, tiles);
  point_loop_end(point, &blocks);
}

static void emit_phase(WinogradEmitter *emitter, const PhaseShare *share) {
  const VecBuilder *vec = emitter->vec;
  const WinogradBlocking *blocking = emitter->blocking;
  LLVMTypeRef flag = LLVMInt1TypeInContext(vec->context);
  LLVMValueRef block = LLVMBuildLShr(vec->builder, share->phase, block_int(vec, 1), "");
  LLVMValueRef multiplies = LLVMBuildTrunc(vec->builder, share->phase, flag, "");
  emitter->first_filter = times(emitter, block, blocking->filters_at_once);
  PackBranch branch = pack_branch_begin(emitter->to, multiplies);
  emit_tiles(emitter, phase_share_range(vec->builder, share, block_int(vec, blocking->group_count)));
  pack_branch_otherwise(emitter->to, &branch);
  transform_weights(emitter, phase_share_range(vec->builder, share, block_int(vec, blocking->features)));
  pack_branch_end(emitter->to, &branch);
}

/* The chunk's own scratch; the first one's is |first|. */
static LLVMValueRef own_scratch(const WinogradEmitter *emitter, const PhaseShare *share, LLVMValueRef first) {
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef number = plus(emitter, share->chunk, block_int(vec, -1));
  LLVMValueRef offset = times(emitter, number, emitter->blocking->own_bytes);
  LLVMValueRef further = block_element(vec, TYPE_S8, share->further, offset);
  LLVMValueRef is_first = LLVMBuildICmp(vec->builder, LLVMIntEQ, share->chunk, block_int(vec, 0), "");
  return LLVMBuildSelect(vec->builder, is_first, first, further, "");
}

void winograd_emit(const VecBuilder *vec, const Kernel *kernel, const WinogradBlocking *blocking, LLVMValueRef function,
                   const LLVMValueRef *buffer_pointers, LLVMValueRef scratch, const PhaseShare *share) {
  Arena *arena = arena_create();
  ContractionEmitter contraction = {.vec = vec, .kernel = kernel, .blocking = &blocking->finish, .function = function};
  contraction.point = kernel_point(vec, kernel, function, buffer_pointers, arena);
  WinogradEmitter emitter = {.to = &contraction, .vec = vec, .blocking = blocking, .weights = scratch};
  PhaseShare mine = *share;
  LLVMValueRef none = block_int(vec, 0), one = block_int(vec, 1);
  LLVMValueRef is_all = LLVMBuildICmp(vec->builder, LLVMIntEQ, share->chunks, none, "");
  LLVMValueRef next = plus(&emitter, share->phase, one), phases = block_int(vec, 2 * blocking->filter_blocks);
  mine.chunks = ir_index_maximum(vec->builder, share->chunks, one);
  LLVMValueRef own = own_scratch(&emitter, &mine, block_byte(vec, scratch, blocking->own_offset));
  emitter.input = own;
  emitter.sums = block_byte(vec, own, blocking->sum_offset);
  emitter.patch = block_byte(vec, own, blocking->patch_offset);
  emitter.results = block_byte(vec, own, blocking->result_offset);
  contraction.kept = contraction.kept_slots = block_byte(vec, own, blocking->kept_offset);
  IndexRange range = {share->phase, LLVMBuildSelect(vec->builder, is_all, phases, next, "")};
  PointLoop loop = point_loop_begin(&contraction.point, range, 1);
  mine.phase = loop.index;
  emit_phase(&emitter, &mine);
  point_loop_end(&contraction.point, &loop);
  ir_function_leave_plain(function);
  arena_destroy(arena);
}
