/* Which convolutions are computed by minimal filtering, and in which blocks. */
#include "base/checked_math.h"
#include "codegen/blocks/winograd_internal.h"

/* Cycles of a core with two multiply-adds a cycle: a register of features of a tile's input that is transformed, of
 * filters of its sums, of filters' weights with one feature, loaded as they lie or gathered; a call of the micro-kernel
 * beside its steps. */
static const double INPUT_CYCLES = 250, SUM_CYCLES = 250, WEIGHT_CYCLES = 280, GATHERED_CYCLES = 560, CALL_CYCLES = 25;
/* Bytes a cycle of weights that come from the last-level cache. */
static const double FAR_BYTES = 12;
/* Of the plain way's time: what is estimated to save less may not. */
static const double MOST_COST = 0.9;
/* Bytes of transformed weights that are worked on at a time, and at most where one panel has more; of tiles' input and
 * sums beside them, which then stay in the second-level cache with the weights, or are many, since all weights are read
 * from the last-level one for each block of tiles. */
enum { WEIGHT_BYTES = 3 << 19, MOST_WEIGHT_BYTES = 5 << 20, NEAR_TILE_BYTES = 3 << 17, FAR_TILE_BYTES = 3 << 19 };
enum { LEAST_LANES = 4, LEAST_MULTIPLE = 8, MOST_FILTER_BLOCKS = 16, FLOAT_BYTES = 4, ALIGNMENT = 64 };
enum { LINE_FLOATS = LINE_BYTES / FLOAT_BYTES };

/* --- which --- */

/* Whether |set| is the same wherever the sum of a place and a tap is, for rows and for columns of the image. */
static bool slides(const Kernel *kernel, const ValueSet *set, const WinogradBlocking *blocking) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind == KERNEL_CONSTANT || value->kind == KERNEL_APPLY) continue;
    for (int i = 0; i < 2; i++) {
      int place = blocking->place_dims[i], tap = blocking->window_dims[i];
      if (index_depends_nonlinearly(&kernel->space, value->address, place) ||
          index_depends_nonlinearly(&kernel->space, value->address, tap) ||
          index_dim_coefficient(&kernel->space, value->address, place) !=
              index_dim_coefficient(&kernel->space, value->address, tap))
        return false;
    }
  }
  return true;
}

static int lanes_of(int64_t count, const VecTarget *target) {
  int lanes = target->vector_bits / (8 * FLOAT_BYTES);
  while (count % lanes != 0) lanes /= 2;
  return lanes;
}

static bool find_dims(const Kernel *kernel, const VecTarget *target, const ContractionBlocking *plain,
                      WinogradBlocking *out) {
  const DimList *rows = &plain->rows, *depth = &plain->depth;
  bool is_plain = plain->type == TYPE_F32 && plain->group == 1 && !plain->is_skinny && !plain->is_turned;
  if (!is_plain || plain->batch.size != 1 || rows->count < 2 || depth->count != 3 || plain->columns.count != 1)
    return false;
  *out = (WinogradBlocking){.images = *rows, .feature_dim = depth->dims[2], .filter_dim = plain->columns.dims[0]};
  out->images.count -= 2;
  out->tile_count = 1;
  for (int i = 0; i < out->images.count; i++) out->tile_count *= kernel->dims[rows->dims[i]].extent;
  for (int i = 0; i < 2; i++) {
    out->place_dims[i] = rows->dims[out->images.count + i];
    out->window_dims[i] = depth->dims[i];
    out->sizes[i] = kernel->dims[out->place_dims[i]].extent;
    out->tiles[i] = ceil_div(out->sizes[i], WINOGRAD_TILE);
    out->tile_count *= out->tiles[i];
    if (kernel->dims[out->window_dims[i]].extent != WINOGRAD_TAPS) return false;
  }
  out->features = kernel->dims[out->feature_dim].extent;
  out->filters = kernel->dims[out->filter_dim].extent;
  if (out->features % LEAST_MULTIPLE != 0 || out->filters % LEAST_MULTIPLE != 0) return false;
  out->feature_lanes = lanes_of(out->features, target);
  out->filter_lanes = lanes_of(out->filters, target);
  int needed[] = {out->feature_lanes, out->filter_lanes, out->filter_lanes};
  int dims[] = {out->feature_dim, out->filter_dim, out->filter_dim};
  const ValueSet *sets[] = {&plain->lhs_set, &plain->rhs_set, &plain->epilogue_set};
  for (int i = 0; i < 3; i++) {
    if (needed[i] < LEAST_LANES || contraction_lanes(kernel, target, sets[i], dims[i], needed[i], false) != needed[i])
      return false;
  }
  return slides(kernel, &plain->lhs_set, out);
}

/* Whether tiles of which the whole patch is there are read where they are. */
static void find_image(const Kernel *kernel, const ContractionBlocking *plain, WinogradBlocking *blocking) {
  const KernelValue *lhs = &kernel->values[plain->lhs];
  int64_t step;
  blocking->reads_in_place =
      lhs->kind == KERNEL_LOAD && lhs->type == TYPE_F32 &&
      kernel_plain_stride(kernel, lhs->address, blocking->feature_dim, &step) && step == 1 &&
      (lhs->predicate < 0 || (contraction_is_guarded_by_ranges(kernel, plain->lhs, blocking->window_dims[0]) &&
                              contraction_is_guarded_by_ranges(kernel, plain->lhs, blocking->window_dims[1]) &&
                              (kernel->values[lhs->predicate].dims >> blocking->feature_dim & 1) == 0));
  for (int i = 0; i < 2 && blocking->reads_in_place; i++)
    blocking->image_steps[i] = index_dim_coefficient(&kernel->space, lhs->address, blocking->place_dims[i]);
}

/* --- blocks --- */

/* Rows |length| apart in memory, as many as the products: a line more where they would share sets of a cache. */
static int64_t product_stride(int64_t length) {
  int64_t lines = ceil_div(length, LINE_FLOATS);
  return (lines % 2 == 0 ? lines + 1 : lines) * LINE_FLOATS;
}

/* The micro-kernel. */
static void choose_products(const VecTarget *target, const ContractionBlocking *plain, WinogradBlocking *blocking) {
  ContractionBlocking *products = &blocking->products;
  *products = (ContractionBlocking){.type = TYPE_F32,
                                    .rhs_type = TYPE_F32,
                                    .packed_type = TYPE_F32,
                                    .group = 1,
                                    .lhs = plain->lhs,
                                    .rhs = plain->rhs,
                                    .lhs_set = plain->lhs_set,
                                    .rhs_set = plain->rhs_set,
                                    .epilogue_set = plain->epilogue_set,
                                    .batch = plain->batch,
                                    .rows = plain->rows,
                                    .columns = plain->columns,
                                    .depth = plain->depth,
                                    .lanes = blocking->filter_lanes,
                                    .vector_lanes = target->vector_bits / (8 * FLOAT_BYTES),
                                    .block_count = 1,
                                    .lhs_step = 1,
                                    .row_stride = blocking->features + LINE_FLOATS,
                                    .sums_in_result = true};
  contraction_choose_whole_tile(target, blocking->tile_count, products);
  blocking->group_count = products->tile_count;
}

static int64_t bytes_of(int64_t floats) {
  return align_up(floats * FLOAT_BYTES, ALIGNMENT);
}

/* Where everything is in the scratch, of filters and groups at once that are known. */
static void lay_out(const Kernel *kernel, const VecTarget *target, WinogradBlocking *blocking) {
  const ContractionBlocking *products = &blocking->products;
  int64_t tiles = blocking->groups_at_once * products->tile_rows, filters = blocking->filters_at_once;
  blocking->weight_stride = product_stride(blocking->features * filters);
  blocking->input_stride = product_stride(tiles * products->row_stride);
  blocking->sum_stride = product_stride(tiles * filters);
  blocking->finish = *products;
  blocking->finish.panel_width = blocking->finish.column_run = filters;
  blocking->finish.rest_rows = 0;
  contraction_choose_kept(kernel, target, &blocking->finish);
  blocking->own_offset = bytes_of(WINOGRAD_PRODUCTS * blocking->weight_stride);
  blocking->sum_offset = bytes_of(WINOGRAD_PRODUCTS * blocking->input_stride);
  blocking->patch_offset = blocking->sum_offset + bytes_of(WINOGRAD_PRODUCTS * blocking->sum_stride);
  blocking->result_offset = blocking->patch_offset + bytes_of(WINOGRAD_PRODUCTS * blocking->features);
  blocking->kept_offset = blocking->result_offset + bytes_of(WINOGRAD_TILE * WINOGRAD_TILE * filters);
  int64_t kept = blocking->finish.kept_count * blocking->finish.kept_stride;
  blocking->own_bytes = blocking->kept_offset + align_up(kept, ALIGNMENT);
}

static int64_t weight_bytes(const WinogradBlocking *blocking, int64_t filters) {
  return WINOGRAD_PRODUCTS * blocking->features * filters * FLOAT_BYTES;
}

/* As many filters at a time as the cache has room for, and tiles beside them. */
static bool choose_sizes(const Kernel *kernel, const VecTarget *target, WinogradBlocking *blocking) {
  const ContractionBlocking *products = &blocking->products;
  int64_t panels = blocking->filters / products->panel_width, blocks = 1;
  while (blocks < panels && (panels % blocks != 0 || weight_bytes(blocking, blocking->filters / blocks) > WEIGHT_BYTES))
    blocks++;
  int64_t weights = weight_bytes(blocking, blocking->filters / blocks);
  if (blocks > MOST_FILTER_BLOCKS || weights > MOST_WEIGHT_BYTES) return false;
  blocking->filter_blocks = blocks;
  blocking->filters_at_once = blocking->filters / blocks;
  int64_t of_tile = WINOGRAD_PRODUCTS * (products->row_stride + blocking->filters_at_once) * FLOAT_BYTES;
  int64_t room = weights > WEIGHT_BYTES ? FAR_TILE_BYTES : NEAR_TILE_BYTES;
  blocking->groups_at_once = min_i64(max_i64(1, room / (of_tile * products->tile_rows)), blocking->group_count);
  lay_out(kernel, target, blocking);
  return true;
}

/* --- what it costs --- */

static double estimate(const Kernel *kernel, const WinogradBlocking *blocking) {
  const ContractionBlocking *products = &blocking->products;
  double features = (double)blocking->features, filters = (double)blocking->filters,
         blocks = (double)blocking->filter_blocks, tiles = (double)blocking->tile_count;
  double panels = WINOGRAD_PRODUCTS * filters / (double)products->panel_width;
  double steps = (double)blocking->group_count * products->step_cost;
  if (products->rest_rows > 0) steps += products->rest_cost - products->step_cost;
  double cost = panels * (features * steps + (double)blocking->group_count * CALL_CYCLES);
  cost += blocks * tiles * features / blocking->feature_lanes * INPUT_CYCLES;
  cost += tiles * filters / blocking->filter_lanes * SUM_CYCLES;
  bool is_contiguous = contraction_contiguous(kernel, &products->rhs_set, blocking->filter_dim);
  cost += features * filters / blocking->filter_lanes * (is_contiguous ? WEIGHT_CYCLES : GATHERED_CYCLES);
  if (weight_bytes(blocking, blocking->filters_at_once) > WEIGHT_BYTES)
    cost += (double)ceil_div(blocking->group_count, blocking->groups_at_once) *
            (double)weight_bytes(blocking, blocking->filters) / FAR_BYTES;
  return cost;
}

const WinogradBlocking *winograd_blocking_choose(Arena *arena, const Kernel *kernel, const VecTarget *target,
                                                 ContractionScratch limit, const ContractionBlocking *plain) {
  WinogradBlocking *blocking = ARENA_NEW(arena, WinogradBlocking);
  if (!find_dims(kernel, target, plain, blocking)) return NULL;
  find_image(kernel, plain, blocking);
  choose_products(target, plain, blocking);
  if (!choose_sizes(kernel, target, blocking)) return NULL;
  blocking->plain_cost = plain->cost;
  blocking->cost = estimate(kernel, blocking);
  int64_t bytes = blocking->own_offset + blocking->own_bytes;
  double times = bytes > contraction_few_bytes(limit) ? CONTRACTION_BOUGHT_TIME : 1;
  if (bytes > limit.most || blocking->cost * times > blocking->plain_cost * MOST_COST) return NULL;
  return blocking;
}

WinogradNeeds winograd_needs(const WinogradBlocking *blocking) {
  return (WinogradNeeds){.scratch_bytes = blocking->own_offset + blocking->own_bytes,
                         .chunk_bytes = blocking->own_bytes,
                         .chunk_limit = blocking->group_count,
                         .phase_count = 2 * blocking->filter_blocks};
}

double winograd_bought_time(const WinogradBlocking *blocking) {
  return blocking->plain_cost / blocking->cost;
}
