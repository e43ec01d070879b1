/* Which dimension is walked in lanes, in how many, and in which order the loops stand. */
#include <math.h>
#include <stdlib.h>

#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"
#include "codegen/emit/kernel_cost.h"

/* Of what is neither contiguous nor uniform, in vector operations: within lines that are near, and of lines that come
 * from the second-level cache or beyond for each lane. */
#define LANE_COST 1.2
#define NARROW_LANE_COST 2.4 /* of less than 32 bits, for which there are neither gathers nor scatters */
#define NARROW_BYTES 4
#define FAR_LANE_COST 6.0
#define FIRST_CACHE_BYTES (32 << 10)

static int register_bits(const VecTarget *target, PrimitiveType type) {
  if (type == TYPE_PRED) return 8;
  bool is_float = type == TYPE_BF16 || (type == TYPE_F16 && !target->has_f16_arithmetic);
  return is_float ? 32 : type_storage_bytes(type) * 8;
}

/* Of what a value in lanes is and is computed in. */
static int value_bits(const Kernel *kernel, const VecTarget *target, const KernelValue *value) {
  VecOp op = kernel_vec_op(kernel, value);
  int bits = value->type == TYPE_S64 ? 8 : register_bits(target, value->type);
  return vec_is_widened(target, &op, 2) ? (int)max_i64(bits, 32) : bits;
}

int emit_widest_element(const Kernel *kernel, const VecTarget *target) {
  int64_t bits = 8;
  for (int b = 0; b < kernel->buffer_count; b++) bits = max_i64(bits, register_bits(target, kernel->buffers[b].type));
  for (int f = 0; f < kernel->fold_count; f++) bits = max_i64(bits, register_bits(target, kernel->folds[f].type));
  for (int v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind == KERNEL_APPLY) bits = max_i64(bits, value_bits(kernel, target, &kernel->values[v]));
  }
  return (int)bits;
}

static bool value_varies(const Kernel *kernel, int32_t value, int dim) {
  return kernel->values[value].dims >> dim & 1;
}

/* Whether a walk along |dim| reads or writes a little of each of more cache lines than the first-level cache holds, and
 * comes back for the rest of them on later rounds of the loops around it. */
static bool leaves_lines(const Kernel *kernel, int buffer, IndexExpr address, int dim) {
  int64_t bytes = type_storage_bytes(kernel->buffers[buffer].type), stride;
  int walked = kernel->dims[dim].stage;
  if (!kernel_plain_stride(kernel, address, dim, &stride) || llabs(stride) < LINE_BYTES / bytes) return false;
  if (kernel->dims[dim].extent <= FIRST_CACHE_BYTES / LINE_BYTES) return false;
  for (int d = 0; d < kernel->dim_count; d++) {
    bool is_around = d != dim && (kernel->dims[d].stage == KERNEL_OUTER || kernel->dims[d].stage == walked);
    if (!is_around || kernel->dims[d].extent == 1 || !kernel_plain_stride(kernel, address, d, &stride)) continue;
    if (stride != 0 && llabs(stride) < LINE_BYTES / bytes) return true;
  }
  return false;
}

/* Cost of one access when |dim| is walked in |lanes| lanes: 1 contiguous, less when uniform, one per lane otherwise,
 * more of lines that have left the first-level cache since they were visited. */
static double access_cost(const Kernel *kernel, int buffer, IndexExpr address, int dim, int lanes) {
  double scattered = (lanes > 1 && leaves_lines(kernel, buffer, address, dim) ? FAR_LANE_COST : LANE_COST) * lanes;
  int64_t stride;
  if (index_depends_nonlinearly(&kernel->space, address, dim)) return scattered + 4;
  if (!kernel_plain_stride(kernel, address, dim, &stride)) return scattered;
  if (stride == 0) return 0.3;
  return stride == 1 ? 1 : scattered;
}

/* Backwards they are turned round in registers. */
static double store_cost(const Kernel *kernel, const KernelStore *store, int dim, int lanes) {
  int64_t stride;
  bool is_reversed = kernel_plain_stride(kernel, store->address, dim, &stride) && stride == -1 && store->predicate < 0;
  double cost = access_cost(kernel, store->buffer, store->address, dim, lanes);
  if (is_reversed && lanes > 1) return 2;
  bool is_narrow = type_storage_bytes(kernel->buffers[store->buffer].type) < NARROW_BYTES;
  return is_narrow && cost > 1 && lanes > 1 ? fmax(cost, NARROW_LANE_COST * lanes) : cost;
}

/* Whether lanes along |dim| are rows along another dim of the stage, which squares of them are read by. */
static bool is_read_in_squares(const Kernel *kernel, const KernelValue *value, int dim, int lanes) {
  int64_t stride;
  for (int d = 0; d < kernel->dim_count; d++) {
    bool is_row = d != dim && kernel->dims[d].stage != KERNEL_OUTER && kernel->dims[d].stage == value->stage;
    if (is_row && kernel->dims[d].extent >= lanes && kernel_plain_stride(kernel, value->address, d, &stride) &&
        stride == 1)
      return true;
  }
  return false;
}

/* Of a window: its place, the places of the lanes in it, a load or two and a permutation. */
#define WINDOW_COST 4
#define WIDE_WINDOW_COST 5
/* Of quotients and remainders that are numbers or conditions. */
#define DIGITS_COST 4

/* Loads of small strides are loads of all that lies between, and shuffles, of masks too. */
static double load_cost(const Kernel *kernel, const VecTarget *target, const KernelValue *value, int dim, int lanes) {
  int64_t stride;
  KernelWindow window;
  if (kernel_load_window(kernel, target, value, dim, lanes, &window))
    return window.is_pair ? WIDE_WINDOW_COST : WINDOW_COST;
  bool is_plain = kernel_plain_stride(kernel, value->address, dim, &stride);
  if (is_plain && lanes > 1 && stride != 1 && vec_stride_is_shuffled(value->type, stride)) {
    double shuffles = stride < 0 ? 2 : 2.0 * (double)stride - 1;
    return value->predicate >= 0 ? shuffles + (double)llabs(stride) : shuffles;
  }
  double cost = access_cost(kernel, value->buffer, value->address, dim, lanes);
  bool is_narrow = type_storage_bytes(kernel->buffers[value->buffer].type) < NARROW_BYTES;
  if (!is_narrow || cost <= 1 || lanes == 1 || is_read_in_squares(kernel, value, dim, lanes)) return cost;
  return fmax(cost, NARROW_LANE_COST * lanes);
}

/* Which values and stores a walk along |dim| repeats: all those of the stage it belongs to, of every stage for an outer
 * dim. */
static bool is_walked(const Kernel *kernel, int stage, int dim) {
  int walked = kernel->dims[dim].stage;
  return walked == KERNEL_OUTER || walked == stage;
}

static bool has_scattered_access(const Kernel *kernel, const VecTarget *target, int dim) {
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_loaded = value->kind == KERNEL_LOAD && is_walked(kernel, value->stage, dim);
    if (is_loaded && load_cost(kernel, target, value, dim, 16) > 1) return true;
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; is_walked(kernel, s, dim) && i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (access_cost(kernel, store->buffer, store->address, dim, 16) > 1) return true;
    }
  }
  return false;
}

/* Points of the inner dims of |stage| for one point of the outer dims. */
static double stage_points(const Kernel *kernel, int stage) {
  double points = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (stage != KERNEL_OUTER && kernel->dims[d].stage == stage) points *= (double)kernel->dims[d].extent;
  }
  return points;
}

static int log2_of(int power) {
  return power > 1 ? 1 + log2_of(power / 2) : 0;
}

/* Prefix sums of the lanes, and what the lanes before came to. */
static double scan_cost(const Kernel *kernel, int stage, int dim, int lanes) {
  double cost = 0;
  for (int f = 0; f < kernel->fold_count; f++) {
    bool is_walked_here = kernel->folds[f].stage == stage && kernel->dims[dim].stage == stage;
    if (kernel->folds[f].is_scan && is_walked_here && lanes > 1) cost += 2.0 * log2_of(lanes) + 3;
  }
  return cost;
}

/* A function takes as long in one lane as in all; a division of one lane is short, and others go on beside it. */
static double apply_cost(const KernelValue *value) {
  double halves = kernel_value_halves(value);
  return halves > KERNEL_DIVISION_HALVES ? halves : 1;
}

/* Of |count| stores in turn: each vector of theirs takes a permutation for each number that has to be joined to
 * another, by halves as far as |count| can be halved. */
static double turns_cost(int count) {
  int joins = 0;
  for (int rest = count; rest > 1; rest = rest % 2 == 0 ? rest / 2 : 1) joins += rest % 2 == 0 ? 1 : rest - 1;
  return (double)count * (1 + joins);
}

/* Time of one step of |stage| when |dim| is walked in |lanes| lanes, in units of one vector operation. */
static double stage_step_cost(const Kernel *kernel, const VecTarget *target, int stage, int dim, int lanes) {
  double step = 0.5 + scan_cost(kernel, stage, dim, lanes);
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->stage != stage) continue;
    if (value->kind == KERNEL_LOAD)
      step += load_cost(kernel, target, value, dim, lanes);
    else if (lanes > 1 && index_depends_nonlinearly(&kernel->space, value->address, dim))
      step += DIGITS_COST;
    if (value->kind == KERNEL_APPLY) step += (value_varies(kernel, v, dim) ? 1 : 0.5) * apply_cost(value);
  }
  for (int i = 0, count; stage != KERNEL_OUTER && i < kernel->stages[stage].store_count; i += count) {
    count = lanes > 1 ? kernel_stores_in_turn(kernel, stage, i, dim) : 1;
    step += count > 1 ? turns_cost(count) : 1.5 * store_cost(kernel, &kernel->stages[stage].stores[i], dim, lanes);
  }
  return step;
}

/* The lanes of a choice are compared after its last step, each comparison waiting for the one before. */
#define CHOICE_JOIN_COST 30

static double choice_cost(const Kernel *kernel, int stage, int dim, int lanes) {
  FoldChoice choice;
  bool is_inside = stage != KERNEL_OUTER && kernel->dims[dim].stage == stage && lanes > 1;
  return is_inside && fold_choice_find(kernel, stage, &choice) ? CHOICE_JOIN_COST * log2_of(lanes) : 0;
}

/* Halves of a register are joined until one lane is left, each step waiting for the one before: a permutation and the
 * operation, which is several instructions where it tells NaN and zeros of either sign apart. */
#define JOIN_STEP_COST 2
#define JOIN_EXTREME_COST 5

static double join_cost(const Kernel *kernel, int stage, int dim, int lanes) {
  double cost = choice_cost(kernel, stage, dim, lanes);
  bool is_inside = stage != KERNEL_OUTER && kernel->dims[dim].stage == stage && lanes > 1;
  if (!is_inside || cost > 0) return cost;
  for (int f = 0; f < kernel->fold_count; f++) {
    const KernelFold *fold = &kernel->folds[f];
    if (fold->stage != stage || fold->is_scan) continue;
    HloOpcode opcode = kernel->values[fold->next].opcode;
    bool is_extreme = (opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM) && type_is_float(fold->type);
    cost += (is_extreme ? JOIN_EXTREME_COST : JOIN_STEP_COST) * log2_of(lanes);
  }
  return cost;
}

static bool stage_has_dims(const Kernel *kernel, int stage) {
  for (int d = 0; stage != KERNEL_OUTER && d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == stage) return true;
  }
  return false;
}

/* Time of |stage| per point of the outer dims. */
static double stage_cost(const Kernel *kernel, const VecTarget *target, int stage, int dim, int lanes) {
  int64_t extent = kernel->dims[dim].extent;
  double share = (double)ceil_div(extent, lanes) / (double)extent, join = join_cost(kernel, stage, dim, lanes);
  return stage_step_cost(kernel, target, stage, dim, lanes) * stage_points(kernel, stage) * share + join;
}

static bool stage_has_scan(const Kernel *kernel, int stage) {
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage == stage && kernel->folds[f].is_scan) return true;
  }
  return false;
}

/* Lanes of a reduction dim are partial folds, or neighbouring steps: all folds of its stage must allow them. */
static bool may_be_inner_vector(const Kernel *kernel, int dim) {
  int stage = kernel->dims[dim].stage;
  FoldChoice choice;
  bool is_free = true;
  for (int f = 0; f < kernel->fold_count; f++) {
    is_free = is_free && (kernel->folds[f].stage != stage || kernel->folds[f].reassociable || kernel->folds[f].is_scan);
  }
  if (!is_free && !fold_choice_find(kernel, stage, &choice)) return false;
  return !stage_has_scan(kernel, stage) || kernel_dim_is_innermost(kernel, dim);
}

/* An outer dim moves inside of the others: all of those after it must be parallel as well. */
static bool may_be_vector(const Kernel *kernel, int dim) {
  const KernelDim *info = &kernel->dims[dim];
  if (info->stage != KERNEL_OUTER) return may_be_inner_vector(kernel, dim);
  for (int d = dim; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER && !kernel_dim_is_parallel(&kernel->dims[d])) return false;
  }
  return kernel_dim_is_parallel(info);
}

/* Capped well above any number of lanes. */
static int power_of_two_at_least(int64_t value) {
  int power = 1;
  while (power < value && power < 4096) power *= 2;
  return power;
}

static bool has_masks(const Kernel *kernel, const VecTarget *target) {
  if (target->has_masks) return true;
  if (!target->has_masks_32) return false;
  for (int b = 0; b < kernel->buffer_count; b++) {
    PrimitiveType type = kernel->buffers[b].type;
    if (type_storage_bytes(type) < 4) return false;
  }
  return true;
}

/* Equal runs of the main part, which ends at |main_end|; where the last of them ends. */
static int64_t split_streams(int64_t main_end, int lanes, VectorWalk *walk) {
  if (walk->stream_count <= 1) return 0;
  int64_t size = main_end / walk->stream_count / lanes * lanes;
  for (int i = 0; i < walk->stream_count; i++)
    walk->parts[walk->part_count++] = (VectorPart){i * size, (i + 1) * size, lanes, 0};
  return walk->stream_count * size;
}

/* [first, extent): main part in |lanes| lanes, the rest in one masked step, or one by one where the target has no
 * masks.
 */
static void split_parts(const Kernel *kernel, const VecTarget *target, int64_t first, int64_t extent, int lanes,
                        VectorWalk *walk) {
  int64_t main_end = first + (extent - first) / lanes * lanes, rest = extent - main_end;
  int64_t begin = first + split_streams(main_end, lanes, walk);
  if (main_end > begin) walk->parts[walk->part_count++] = (VectorPart){begin, main_end, lanes, 0};
  if (rest == 0) return;
  int rest_lanes = power_of_two_at_least(rest);
  if (rest_lanes == rest) {
    walk->parts[walk->part_count++] = (VectorPart){main_end, extent, rest_lanes, 0};
  } else if (has_masks(kernel, target)) {
    walk->parts[walk->part_count++] = (VectorPart){main_end, extent, rest_lanes, rest};
  } else {
    walk->parts[walk->part_count++] = (VectorPart){main_end, extent, 1, 0};
  }
}

/* Contiguous loads in the steps of folds. */
static int folded_load_count(const Kernel *kernel) {
  int count = 0;
  for (int v = 0; v < kernel->value_count; v++) {
    count += kernel->values[v].kind == KERNEL_LOAD && kernel->values[v].stage != KERNEL_OUTER;
  }
  return count;
}

/* Long bodies are chains of functions that wait for one another: two at once take 0.8 of the time.  What is longer
 * still only takes longer to compile. */
#define MOST_UNROLLED_VALUES 400

/* From so many values for a result on, random numbers for example, a processor sees hardly more than one vector at once
 * by itself: with registers for them, four abreast take 0.8 of the time of two. */
#define LEAST_LONG_VALUES 60

/* A function is a chain, too, of which a processor sees a few vectors at once: with registers for them, four abreast
 * take 0.75 to 0.9 of the time of two. */
#define MOST_ABREAST_VALUES 24

static bool has_functions(const Kernel *kernel) {
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_APPLY && hlo_opcode_is_function(value->opcode)) return true;
  }
  return false;
}

static bool is_short_with_functions(const Kernel *kernel) {
  return kernel->value_count <= MOST_ABREAST_VALUES && has_functions(kernel);
}

static bool is_long_chain(const Kernel *kernel) {
  int stores = 0;
  for (int s = 0; s < kernel->stage_count; s++) stores += kernel->stages[s].store_count;
  return kernel->value_count <= MOST_UNROLLED_VALUES && kernel->value_count >= LEAST_LONG_VALUES * stores;
}

/* Folds that only go round after round, each waiting for the one before. */
static bool has_rounds(const Kernel *kernel) {
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].reassociable || kernel->folds[f].is_scan) return false;
  }
  return kernel->fold_count > 0 && folded_load_count(kernel) == 0;
}

enum { MOST_ABREAST = 8, MOST_FUNCTIONS_ABREAST = 4, ROUND_TEMPORARIES = 2 };

/* Other elements fill the time that a round waits, as many as there are registers for: what goes from round to round,
 * what all rounds read, and what is under way. */
static int rounds_abreast(const Kernel *kernel, const VecTarget *target, int dim) {
  int registers = kernel->fold_count + ROUND_TEMPORARIES;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    registers += value->kind == KERNEL_LOAD && value->stage == KERNEL_OUTER && value_varies(kernel, v, dim);
  }
  int most = MOST_ABREAST, copies = 1;
  if (has_functions(kernel)) most = kernel->value_count <= MOST_ABREAST_VALUES ? MOST_FUNCTIONS_ABREAST : 2;
  while (2 * copies <= most && 2 * copies * registers <= target->register_count) copies *= 2;
  return copies;
}

/* Copies of the register width per step: independent chains hide latency (folds), wide bodies amortise loop control.  A
 * column fold that walks an outer dim reads one short piece of every row: half the registers as accumulators make the
 * pieces long enough for the prefetcher; not where what is folded takes long itself, and those registers. */
static int unroll_factor(const Kernel *kernel, const VecTarget *target, int dim) {
  bool is_outer = kernel->dims[dim].stage == KERNEL_OUTER, has_many_registers = target->register_count >= 32;
  if (is_outer && has_rounds(kernel)) return rounds_abreast(kernel, target, dim);
  if (has_scattered_access(kernel, target, dim)) return 1;
  if (!is_outer && stage_has_scan(kernel, kernel->dims[dim].stage)) return 1; /* each step waits for the one before */
  bool is_plain = kernel->fold_count <= 4 && folded_load_count(kernel) <= 2 * kernel->fold_count;
  bool is_long = is_long_chain(kernel);
  if (kernel->fold_count > 0 && is_outer && is_plain && !is_long)
    return target->register_count / 2 / power_of_two_at_least(kernel->fold_count);
  if (kernel->fold_count > 0 || is_short_with_functions(kernel) || is_long) return has_many_registers ? 4 : 2;
  return kernel->value_count > MOST_UNROLLED_VALUES ? 1 : 2;
}

/* What vec_splat() and its like can build: 16 registers of 64 bytes would hold more of the narrowest types. */
#define MOST_LANES 256

/* Registers of a step that are enough. */
#define LEAST_UNROLLED 4
/* Of each of several streams: together they hide latency, and LLVM's time goes with the registers. */
#define STREAM_REGISTERS 2

static VectorWalk walk_along(const Kernel *kernel, const VecTarget *target, int dim, int native) {
  VectorWalk walk = {.dim = dim,
                     .stream_count = memory_stream_count(kernel, dim),
                     .ahead = memory_ahead(kernel, dim),
                     .ahead_dim = -1};
  int64_t extent = kernel->dims[dim].extent;
  int lanes = native * unroll_factor(kernel, target, dim);
  if (walk.stream_count > 1) lanes = (int)min_i64(lanes, native * STREAM_REGISTERS);
  while (lanes > native && (lanes > extent || lanes > MOST_LANES)) lanes /= 2;
  /* what is left over is code of its own: none where half of the lanes leave nothing */
  while (lanes > LEAST_UNROLLED * native && extent % lanes != 0 && extent % (lanes / 2) == 0) lanes /= 2;
  int64_t ends[MAX_RANGES];
  int ranges = kernel->dims[dim].stage == KERNEL_OUTER ? memory_known_ranges(kernel, dim, ends) : 1;
  walk.is_cut = ranges > 1;
  if (!walk.is_cut) ends[0] = extent;
  for (int i = 0; i < ranges; i++) split_parts(kernel, target, i == 0 ? 0 : ends[i - 1], ends[i], lanes, &walk);
  return walk;
}

static int lanes_for(const Kernel *kernel, int dim, int native) {
  return (int)min_i64(native, power_of_two_at_least(kernel->dims[dim].extent));
}

/* The cheapest inner dim of |stage| to walk in lanes, or -1 for scalars, and its cost. */
static int best_inner_dim(const Kernel *kernel, const VecTarget *target, int stage, int native, double *out_cost) {
  int best = -1;
  for (int d = kernel->dim_count - 1; d >= 0; d--) {
    if (kernel->dims[d].stage != stage) continue;
    double scalar = stage_cost(kernel, target, stage, d, 1);
    if (best < 0 && (*out_cost == 0 || scalar < *out_cost)) *out_cost = scalar;
    if (!may_be_vector(kernel, d)) continue;
    double cost = stage_cost(kernel, target, stage, d, lanes_for(kernel, d, native));
    if (cost >= *out_cost) continue;
    *out_cost = cost;
    best = d;
  }
  return best;
}

static bool has_functions_along(const Kernel *kernel, int stage, int dim) {
  for (int v = 0; dim >= 0 && v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_function = value->kind == KERNEL_APPLY && hlo_opcode_is_function(value->opcode);
    if (is_function && value->stage == stage && value_varies(kernel, v, dim)) return true;
  }
  return false;
}

/* The last stage but the first that reads rows which the first one reads first. */
static void ask_for_rows(const Kernel *kernel, LoopStrategy *strategy, int row) {
  for (int s = kernel->stage_count - 1; s > 0; s--) {
    VectorWalk *walk = &strategy->stage_walks[s];
    if (walk->dim < 0 || !memory_asks_next_rows(kernel, s, walk->dim, row)) continue;
    walk->ahead_dim = row;
    return;
  }
}

#define EARLY_REGISTERS_ABREAST 2 /* three stages in one loop need the others */

/* The same with |lanes| at most. */
static VectorWalk walk_with_less(const Kernel *kernel, const VecTarget *target, const VectorWalk *walk, int lanes) {
  if (walk->parts[0].lanes <= lanes) return *walk;
  VectorWalk less = *walk;
  less.part_count = 0;
  split_parts(kernel, target, 0, kernel->dims[walk->dim].extent, lanes, &less);
  return less;
}

/* Along its own dim, in the same steps as |other|. */
static void walk_as(VectorWalk *walk, const VectorWalk *other) {
  int dim = walk->dim;
  *walk = *other;
  walk->dim = dim;
}

/* While a stage computes functions memory has nothing to do: it asks for the next rows, which other stages read first,
 * and stores what it made of the row before.  Where none does one that finds its rows in the caches asks. */
static void choose_rows(const Kernel *kernel, const VecTarget *target, int native, LoopStrategy *strategy) {
  int row = -1, stage = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER) row = d;
  }
  if (row < 0) return;
  while (stage < kernel->stage_count && !has_functions_along(kernel, stage, strategy->stage_walks[stage].dim)) stage++;
  if (stage >= kernel->stage_count) {
    ask_for_rows(kernel, strategy, row);
    return;
  }
  VectorWalk *walk = &strategy->stage_walks[stage], *last = &strategy->stage_walks[kernel->stage_count - 1];
  if (memory_asks_next_rows(kernel, stage, walk->dim, row)) walk->ahead_dim = row;
  if (!behind_matches(kernel, strategy, stage)) return;
  strategy->behind = stage;
  strategy->early = early_matches(kernel, target, strategy, stage);
  if (strategy->early) *walk = walk_with_less(kernel, target, walk, EARLY_REGISTERS_ABREAST * native);
  if (strategy->early) walk_as(&strategy->stage_walks[0], walk);
  walk_as(last, walk);
  if (walk->ahead_dim >= 0) strategy->apart = memory_rows_apart(kernel, stage, walk->dim, row);
}

/* Functions that are computed for one point of the outer dims at a time, in what is outside of the stages and in stages
 * without inner dims, such as an epilogue.  What else these do goes on beside the folds. */
static double single_function_cost(const Kernel *kernel) {
  double cost = 0;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_APPLY || stage_has_dims(kernel, value->stage) || apply_cost(value) <= 1) continue;
    cost += apply_cost(value);
  }
  return cost;
}

/* Chooses an inner walk for every stage that has inner dims; the cost of them all together. */
static double choose_inner_walks(const Kernel *kernel, const VecTarget *target, int native, LoopStrategy *strategy) {
  double total = single_function_cost(kernel);
  for (int s = 0; s < kernel->stage_count; s++) {
    double cost = 0;
    int dim = best_inner_dim(kernel, target, s, native, &cost);
    strategy->stage_walks[s] = (VectorWalk){.dim = -1};
    if (dim >= 0) strategy->stage_walks[s] = walk_along(kernel, target, dim, native);
    total += cost;
  }
  return total;
}

/* The cheapest outer dim to walk in lanes, or -1; its cost counts all stages. */
static int best_outer_dim(const Kernel *kernel, const VecTarget *target, int native, double *out_cost) {
  int best = -1;
  for (int d = kernel->dim_count - 1; d >= 0; d--) {
    if (kernel->dims[d].stage != KERNEL_OUTER || !may_be_vector(kernel, d)) continue;
    int lanes = lanes_for(kernel, d, native);
    double cost = stage_cost(kernel, target, KERNEL_OUTER, d, lanes);
    double scalar = stage_cost(kernel, target, KERNEL_OUTER, d, 1);
    for (int s = 0; s < kernel->stage_count; s++) {
      cost += stage_cost(kernel, target, s, d, lanes);
      scalar += stage_cost(kernel, target, s, d, 1);
    }
    if (cost >= scalar || (best >= 0 && cost >= *out_cost)) continue;
    *out_cost = cost;
    best = d;
  }
  return best;
}

/* A row buffer holds one point of the outer dims: those must then come one by one. */
static bool has_rows(const Kernel *kernel) {
  for (int b = 0; b < kernel->buffer_count; b++) {
    if (kernel->buffers[b].role == KERNEL_SCRATCH) return true;
  }
  return false;
}

static bool has_inner_dims(const Kernel *kernel) {
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != KERNEL_OUTER) return true;
  }
  return false;
}

static void order_loops(const Kernel *kernel, LoopStrategy *strategy) {
  int vector_dim = strategy->outer_walk.dim;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER && d != vector_dim) strategy->outer[strategy->outer_count++] = d;
  }
  if (vector_dim >= 0) strategy->outer[strategy->outer_count++] = vector_dim;
}

static void no_walks(const Kernel *kernel, Arena *arena, LoopStrategy *strategy) {
  *strategy = (LoopStrategy){.outer_walk = {.dim = -1},
                             .sweep = {.dim = -1},
                             .runs = {.dim = -1},
                             .taps = {.dim = -1},
                             .fold_chains = 1,
                             .behind = -1};
  strategy->stage_walks = ARENA_NEW_ARRAY(arena, VectorWalk, kernel->stage_count);
  for (int s = 0; s < kernel->stage_count; s++) strategy->stage_walks[s] = (VectorWalk){.dim = -1};
}

void loop_strategy_scalar(const Kernel *kernel, Arena *arena, LoopStrategy *out_strategy) {
  no_walks(kernel, arena, out_strategy);
  order_loops(kernel, out_strategy);
}

/* Results side by side take one register each. */
static void choose_taps(const Kernel *kernel, const VecTarget *target, int native, Arena *arena,
                        LoopStrategy *strategy) {
  VectorWalk *walk = &strategy->outer_walk;
  if (walk->dim < 0 || walk->is_cut || strategy->sweep.dim >= 0 || strategy->fold_chains > 1) return;
  if (taps_choose(kernel, target, walk, arena, &strategy->taps)) *walk = walk_with_less(kernel, target, walk, native);
}

void loop_strategy_choose(const Kernel *kernel, const VecTarget *target, Arena *arena, LoopStrategy *out_strategy) {
  LoopStrategy *strategy = out_strategy;
  no_walks(kernel, arena, strategy);
  int native = (int)max_i64(target->vector_bits / emit_widest_element(kernel, target), 1);
  double inner = choose_inner_walks(kernel, target, native, strategy), outer = 0;
  int dim = has_rows(kernel) ? -1 : best_outer_dim(kernel, target, native, &outer);
  strategy->cost = inner;
  if (dim >= 0 && (!has_inner_dims(kernel) || outer < inner)) {
    strategy->cost = outer;
    strategy->outer_walk = walk_along(kernel, target, dim, native);
    for (int s = 0; s < kernel->stage_count; s++) strategy->stage_walks[s] = (VectorWalk){.dim = -1};
    strategy->sweep = memory_sweep_choose(kernel, &strategy->outer_walk);
  }
  if (strategy->outer_walk.dim < 0) choose_rows(kernel, target, native, strategy);
  fold_chains_choose(kernel, target, strategy);
  choose_taps(kernel, target, native, arena, strategy);
  order_loops(kernel, strategy);
  strategy->runs = runs_choose(kernel, strategy, native, arena);
}
