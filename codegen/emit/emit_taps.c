/* Folds of a few steps whose factors do not depend on the place, such as the taps of a depthwise convolution: results
 * at several neighbouring places are folded side by side.  So a factor is loaded once for all of them, and what windows
 * share is loaded once, not once for each window. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* --- choice --- */

enum {
  MOST_TAPS = 12, /* of the innermost dim: steps stand one after the other */
  MOST_PLACES = 8,
  MOST_UNIFORM_REGISTERS = 2, /* of results in lanes that all read one element: more of them share it as well */
  SET_BYTES = 4096,           /* lines so far apart are in one another's way in the first-level cache */
  MOST_DISTANCE = 8,          /* of windows and taps: what is further apart shares nothing */
  LEAST_PLACES = 4,
  LEAST_STEPS = 3, /* of a fold: shorter ones wait for their stores, which had better go in order */
  LEAST_ROWS = 4,  /* of the loops around, for threads to share, or as many runs of LANES_OF_PIECE in lanes */
  LANES_OF_PIECE = 64,
  MOST_STEPS = 84, /* of one body */
  MOST_BODY_VALUES = 800
};

static bool depends_on(const KernelValue *value, int dim) {
  return value->dims >> dim & 1;
}

/* The stage that folds, the only one with dims; -1: there is none, or it does more. */
static int only_folding_stage(const Kernel *kernel) {
  if (kernel->fold_count == 0) return -1;
  int stage = kernel->folds[0].stage;
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage != stage || kernel->folds[f].is_scan) return -1;
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    if (kernel->stages[s].comparator != NULL || kernel->stages[s].transform != NULL) return -1;
  }
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != KERNEL_OUTER && kernel->dims[d].stage != stage) return -1;
  }
  return kernel->stages[stage].store_count == 0 ? stage : -1;
}

/* The last of the outer dims that are not walked in lanes, and the innermost one of |stage|. */
static bool find_dims(const Kernel *kernel, const VectorWalk *walk, int stage, TapStrategy *taps) {
  double rows = 1, steps = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == stage) steps *= (double)kernel->dims[d].extent;
    if (kernel->dims[d].stage == stage && kernel_dim_is_innermost(kernel, d)) taps->tap = d;
    if (kernel->dims[d].stage != KERNEL_OUTER || d == walk->dim) continue;
    if (!kernel_dim_is_parallel(&kernel->dims[d])) return false;
    if (taps->dim >= 0) rows *= (double)kernel->dims[taps->dim].extent;
    taps->dim = d;
  }
  if (taps->dim < 0 || taps->tap < 0 || steps < LEAST_STEPS) return false;
  if (rows < LEAST_ROWS && kernel->dims[walk->dim].extent < LEAST_ROWS * LANES_OF_PIECE) return false;
  return kernel->dims[taps->dim].extent >= LEAST_PLACES && kernel->dims[taps->tap].extent <= MOST_TAPS;
}

/* How far apart neighbouring places and taps read, as small numbers: |place_step| and |tap_step| of the load |value|.
 */
static bool find_steps(const Kernel *kernel, const KernelValue *value, TapStrategy *taps) {
  int64_t place, tap;
  if (!kernel_plain_stride(kernel, value->address, taps->dim, &place) || place == 0) return false;
  if (!kernel_plain_stride(kernel, value->address, taps->tap, &tap) || tap == 0) return false;
  int64_t divisor = greatest_common_divisor(max_i64(place, -place), max_i64(tap, -tap));
  if (place < 0) divisor = -divisor;
  taps->place_step = place / divisor;
  taps->tap_step = tap / divisor;
  return taps->tap_step > 0 && taps->tap_step <= MOST_DISTANCE && taps->place_step <= MOST_DISTANCE;
}

/* Whether |address| is the same wherever place_step · place + tap_step · tap is. */
static bool is_shared_address(const Kernel *kernel, IndexExpr address, const TapStrategy *taps) {
  int64_t place, tap;
  if (!kernel_plain_stride(kernel, address, taps->dim, &place)) return false;
  if (!kernel_plain_stride(kernel, address, taps->tap, &tap)) return false;
  return place * taps->tap_step == tap * taps->place_step;
}

/* Fills |shared| by value: whether it is the same for all places and taps with the same sum. */
static void find_shared(const Kernel *kernel, const TapStrategy *taps, bool *shared) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_alike = !depends_on(value, taps->dim) && !depends_on(value, taps->tap);
    switch (value->kind) {
      case KERNEL_LOAD:
        shared[v] = is_alike || (is_shared_address(kernel, value->address, taps) &&
                                 (value->predicate < 0 || shared[value->predicate]));
        break;
      case KERNEL_IN_RANGE: shared[v] = is_alike || is_shared_address(kernel, value->address, taps); break;
      case KERNEL_APPLY:
        shared[v] = true;
        for (int i = 0; i < value->operand_count; i++) shared[v] &= shared[value->operands[i]];
        break;
      case KERNEL_CONSTANT: shared[v] = true; break;
      default: shared[v] = is_alike && value->kind != KERNEL_ACCUMULATOR; break;
    }
  }
}

/* Whether |value|, a load of a window, had better be walked place by place.  A register that is part of a line comes
 * back for the rest of it. */
static bool is_better_alone(const Kernel *kernel, const VecTarget *target, const VectorWalk *walk,
                            const KernelValue *value, const TapStrategy *taps) {
  int64_t stride, native = target->vector_bits / emit_widest_element(kernel, target);
  if (!depends_on(value, walk->dim)) return kernel->dims[walk->dim].extent > MOST_UNIFORM_REGISTERS * native;
  if (!kernel_plain_stride(kernel, value->address, taps->dim, &stride)) return true;
  int64_t bytes = type_storage_bytes(kernel->buffers[value->buffer].type);
  return native * bytes < LINE_BYTES && stride * bytes % SET_BYTES == 0;
}

/* What the fold reads: windows that places share, and at least one factor that is the same for all of them. */
static bool reads_windows(const Kernel *kernel, const VecTarget *target, const VectorWalk *walk, int stage,
                          TapStrategy *taps, Arena *arena) {
  bool has_window = false, has_factor = false;
  for (int32_t v = 0; v < kernel->value_count && !has_window; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD && value->stage == stage && depends_on(value, taps->dim))
      has_window = find_steps(kernel, value, taps);
  }
  if (!has_window) return false;
  bool *shared = ARENA_NEW_ARRAY(arena, bool, kernel->value_count);
  find_shared(kernel, taps, shared);
  taps->shared = shared;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || value->stage != stage) continue;
    bool is_window = depends_on(value, taps->dim);
    if (is_window && (!shared[v] || is_better_alone(kernel, target, walk, value, taps))) return false;
    has_factor |= !is_window && depends_on(value, walk->dim) && depends_on(value, taps->tap);
  }
  for (int f = 0; f < kernel->fold_count; f++) {
    if (depends_on(&kernel->values[kernel->folds[f].seed], taps->dim)) return false;
  }
  return has_factor;
}

/* Whether all conditions on places are true or false throughout the places [begin, end). */
static bool are_known(const Kernel *kernel, const TapStrategy *taps, int64_t begin, int64_t end) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!depends_on(value, taps->dim)) continue;
    if (value->kind == KERNEL_DIVISIBLE) return false;
    if (value->kind != KERNEL_IN_RANGE) continue;
    if (kernel_range_test(kernel, value, (KernelDimRange){taps->dim, begin, end}) == KERNEL_TEST_OPEN) return false;
  }
  return true;
}

/* As many as registers hold beside the factors of all taps and what is under way; preferably so that none are left
 * over. */
static int64_t places_abreast(const Kernel *kernel, const VecTarget *target, int stage, const TapStrategy *taps) {
  int64_t steps = kernel->dims[taps->tap].extent, extent = kernel->dims[taps->dim].extent, values = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) values += kernel->values[v].stage >= stage;
  int64_t most = min_i64(min_i64(MOST_PLACES, extent), MOST_STEPS / steps);
  most = min_i64(most, (target->register_count - 2 - steps) / kernel->fold_count);
  most = min_i64(most, MOST_BODY_VALUES / (steps * values));
  for (int64_t count = most; 2 * count > most && count >= LEAST_PLACES; count--) {
    if (extent % count == 0) return count;
  }
  return most;
}

static void add_part(TapStrategy *taps, int64_t begin, int64_t end, int64_t places) {
  if (begin < end) taps->parts[taps->part_count++] = (TapPart){begin, end, (int)places};
}

/* The first and the last places are code of their own where windows reach beyond the array there. */
static bool split_places(const Kernel *kernel, int64_t places, TapStrategy *taps) {
  int64_t extent = kernel->dims[taps->dim].extent, whole = extent / places * places;
  for (int i = 0; i < 4; i++) {
    int64_t begin = min_i64((i & 1) * places, whole), end = max_i64(whole - (i >> 1) * places, begin);
    if (begin < end && !are_known(kernel, taps, begin, end)) continue;
    add_part(taps, 0, begin, places);
    add_part(taps, begin, end, places);
    add_part(taps, end, whole, places);
    add_part(taps, whole, extent, extent - whole);
    return true;
  }
  return false;
}

bool taps_choose(const Kernel *kernel, const VecTarget *target, const VectorWalk *walk, Arena *arena,
                 TapStrategy *out_taps) {
  TapStrategy taps = {.dim = -1, .tap = -1};
  int stage = only_folding_stage(kernel);
  if (stage < 0 || walk->dim < 0 || !find_dims(kernel, walk, stage, &taps)) return false;
  if (!reads_windows(kernel, target, walk, stage, &taps, arena)) return false;
  int64_t places = places_abreast(kernel, target, stage, &taps);
  if (places < LEAST_PLACES || !split_places(kernel, places, &taps)) return false;
  *out_taps = taps;
  return true;
}

/* --- code --- */

typedef struct TapEmitter {
  KernelEmitter *emitter;
  FoldNest *nest;
  int stage;
  LLVMValueRef *factors; /* [tap][value]: what depends on the tap alone, of all that loops inside would repeat */
  LLVMValueRef *window;  /* by value: what the places and taps of one sum share; NULL: not computed yet */
} TapEmitter;

static void bind_place(KernelEmitter *emitter, int64_t place) {
  LLVMValueRef distance = emit_index_constant(emitter, place);
  emitter->point.dims[emitter->loops.taps.dim] = ir_index_add(emitter->vec->builder, emitter->first_place, distance);
}

static void bind_tap(const TapEmitter *taps, int64_t tap) {
  KernelEmitter *emitter = taps->emitter;
  emitter->point.dims[emitter->loops.taps.tap] = emit_index_constant(emitter, tap);
}

/* The factors of all taps. */
static void compute_factors(const TapEmitter *taps, uint64_t known) {
  KernelPoint *point = &taps->emitter->point;
  const Kernel *kernel = taps->emitter->kernel;
  int dim = taps->emitter->loops.taps.tap;
  emit_hoist_values(taps->emitter, taps->stage, known);
  for (int64_t t = 0; t < kernel->dims[dim].extent; t++) {
    int64_t height = point->known.count;
    bind_tap(taps, t);
    emit_hoist_values(taps->emitter, taps->stage, known | UINT64_C(1) << dim);
    for (int32_t v = 0; v < kernel->value_count; v++) {
      if (depends_on(&kernel->values[v], dim)) taps->factors[t * kernel->value_count + v] = point->values[v].value;
    }
    point_forget(point, height);
  }
}

/* One step of the fold at one place, which takes what is known of its tap and its window, and adds to it. */
static void emit_tap(const TapEmitter *taps, int64_t place, int64_t tap) {
  KernelPoint *point = &taps->emitter->point;
  const Kernel *kernel = taps->emitter->kernel;
  int dim = taps->emitter->loops.taps.dim;
  int64_t height = point->known.count;
  bind_tap(taps, tap);
  bind_place(taps->emitter, place);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    LLVMValueRef value = taps->factors[tap * kernel->value_count + v];
    if (value == NULL) value = taps->window[v];
    if (value != NULL && point->values[v].value == NULL) point_set_value(point, v, value);
  }
  emit_fold_step(taps->emitter, taps->nest, (int)place);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (depends_on(&kernel->values[v], dim) && taps->emitter->loops.taps.shared[v])
      taps->window[v] = point->values[v].value;
  }
  point_forget(point, height);
}

/* By ascending place_step · place + tap_step · tap, so that few windows are in registers at a time, and each fold takes
 * its steps in their order. */
static void emit_all_taps(TapEmitter *taps) {
  const KernelEmitter *emitter = taps->emitter;
  const TapStrategy *strategy = &emitter->loops.taps;
  int64_t steps = emitter->kernel->dims[strategy->tap].extent, places = emitter->place_count;
  int64_t last = strategy->place_step * (places - 1) + strategy->tap_step * (steps - 1);
  taps->window = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, emitter->kernel->value_count);
  for (int64_t sum = 0; sum <= last; sum++) {
    for (int32_t v = 0; v < emitter->kernel->value_count; v++) taps->window[v] = NULL;
    for (int64_t t = 0; t < steps; t++) {
      int64_t rest = sum - t * strategy->tap_step, place = rest / strategy->place_step;
      if (rest >= 0 && rest % strategy->place_step == 0 && place < places) emit_tap(taps, place, t);
    }
  }
}

/* The one condition of the stage that all places and taps share, such as that a row of the window lies in the array;
 * -1: there is none, there are several, or the answer is known. */
static int32_t shared_condition(const TapEmitter *taps) {
  const KernelEmitter *emitter = taps->emitter;
  const TapStrategy *strategy = &emitter->loops.taps;
  int32_t found = -1;
  for (int32_t v = 0; v < emitter->kernel->value_count; v++) {
    const KernelValue *value = &emitter->kernel->values[v];
    if (value->kind != KERNEL_IN_RANGE || depends_on(value, strategy->dim) || depends_on(value, strategy->tap))
      continue;
    if (value->stage != taps->stage || point_is_vector(&emitter->point, v)) continue;
    if (found >= 0) return -1;
    found = v;
  }
  return found >= 0 && !LLVMIsConstant(point_value(&taps->emitter->point, found)) ? found : -1;
}

/* The steps where |condition| is |answer|: what they make of the accumulators, of which there are |count|. */
static void emit_taps_where(TapEmitter *taps, int32_t condition, bool answer, LLVMValueRef **slots, int count,
                            LLVMValueRef *out_next) {
  KernelPoint *point = &taps->emitter->point;
  LLVMValueRef known = point->values[condition].value;
  int64_t height = point->known.count;
  point->values[condition].value = LLVMConstInt(LLVMTypeOf(known), answer, false);
  emit_all_taps(taps);
  point->values[condition].value = known;
  point_forget(point, height);
  for (int i = 0; i < count; i++) out_next[i] = *slots[i];
}

/* The condition is asked once, not once for each window. */
static void emit_taps_on_condition(TapEmitter *taps, int32_t condition) {
  KernelEmitter *emitter = taps->emitter;
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef **slots, *next[2], *before;
  int count = emit_fold_slots(emitter, taps->nest, &slots);
  LLVMBasicBlockRef blocks[2], after = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  before = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, count);
  for (int i = 0; i < count; i++) before[i] = *slots[i];
  for (int b = 0; b < 2; b++) blocks[b] = LLVMInsertBasicBlockInContext(vec->context, after, "");
  LLVMBuildCondBr(vec->builder, emitter->point.values[condition].value, blocks[0], blocks[1]);
  for (int b = 0; b < 2; b++) {
    LLVMPositionBuilderAtEnd(vec->builder, blocks[b]);
    for (int i = 0; i < count; i++) *slots[i] = before[i];
    next[b] = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, count);
    emit_taps_where(taps, condition, b == 0, slots, count, next[b]);
    LLVMBuildBr(vec->builder, after);
    blocks[b] = LLVMGetInsertBlock(vec->builder);
    if (b == 1) LLVMPositionBuilderAtEnd(vec->builder, after);
  }
  for (int i = 0; i < count; i++) {
    *slots[i] = LLVMBuildPhi(vec->builder, LLVMTypeOf(before[i]), "");
    LLVMAddIncoming(*slots[i], (LLVMValueRef[]){next[0][i], next[1][i]}, blocks, 2);
  }
}

void emit_tap_steps(KernelEmitter *emitter, FoldNest *nest, int stage, uint64_t known) {
  const Kernel *kernel = emitter->kernel;
  TapEmitter taps = {emitter, nest, stage, NULL, NULL};
  int64_t steps = kernel->dims[emitter->loops.taps.tap].extent;
  taps.factors = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, steps * kernel->value_count);
  compute_factors(&taps, known);
  /* without masks a load under a condition is a branch */
  bool asks_once = emitter->vec->takes_long || !emitter->vec->target->has_masks;
  int32_t condition = asks_once ? shared_condition(&taps) : -1;
  if (condition >= 0) {
    emit_taps_on_condition(&taps, condition);
  } else {
    emit_all_taps(&taps);
  }
}

void emit_tap_stages(KernelEmitter *emitter, uint64_t known) {
  const Kernel *kernel = emitter->kernel;
  int folding = kernel->folds[0].stage, dim = emitter->loops.taps.dim;
  int64_t height = emitter->point.known.count;
  FoldNest *nest = emit_fold_begin(emitter, folding);
  emit_fold_loops(emitter, nest, known);
  point_forget(&emitter->point, height);
  for (int place = 0; place < emitter->place_count; place++) {
    bind_place(emitter, place);
    emit_fold_take(emitter, nest, place);
    emit_hoist_values(emitter, KERNEL_OUTER, known | UINT64_C(1) << dim);
    for (int s = 0; s < kernel->stage_count; s++) emit_stores(emitter, s);
    point_forget(&emitter->point, height);
  }
}

void emit_tap_places(KernelEmitter *emitter, int level, uint64_t known,
                     void (*emit_body)(KernelEmitter *emitter, int level, uint64_t known)) {
  const TapStrategy *taps = &emitter->loops.taps;
  for (int p = 0; p < taps->part_count; p++) {
    const TapPart *part = &taps->parts[p];
    emitter->place_count = part->places;
    int64_t height = emitter->point.known.count;
    if (part->end - part->begin == part->places) {
      emitter->first_place = emit_index_constant(emitter, part->begin);
      emit_body(emitter, level, known);
      point_forget(&emitter->point, height);
      continue;
    }
    PointLoop loop =
        point_loop_begin(&emitter->point, emit_constant_range(emitter, part->begin, part->end), part->places);
    emitter->point.within = (KernelDimRange){taps->dim, part->begin, part->end};
    emitter->first_place = loop.index;
    emit_body(emitter, level, known);
    emitter->point.within = (KernelDimRange){0};
    point_loop_end(&emitter->point, &loop);
  }
}
