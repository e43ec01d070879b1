/* Folds of a stage: partial results in lanes, combined in a fixed order. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

/* The loops of one stage with folds: accumulators[part × fold_count + fold] while inside; after those of all parts, in
 * the same order, what is not a number of extrema that keep it apart, else NULL. */
struct FoldNest {
  int stage;
  int dim_count, dims[KERNEL_MAX_DIMS]; /* inner dims in loop order, an inner vector dim last */
  int part_count;                       /* of an inner vector dim; else chains side by side */
  const VectorPart *parts;              /* NULL: the lanes of the outer loops */
  LLVMValueRef *seeds;                  /* of |accumulators| */
  LLVMValueRef *accumulators;
  bool is_choice; /* the two folds of |choice| are all */
  FoldChoice choice;
};

static bool is_folded_here(const KernelEmitter *emitter, const FoldNest *nest, int fold) {
  return emitter->kernel->folds[fold].stage == nest->stage;
}

/* A scan goes on from part to part. */
static bool is_scan_in_lanes(const KernelEmitter *emitter, const FoldNest *nest, int fold) {
  return nest->parts != NULL && emitter->kernel->folds[fold].is_scan;
}

static LLVMValueRef *accumulator_slot(const KernelEmitter *emitter, const FoldNest *nest, int part, int fold) {
  if (is_scan_in_lanes(emitter, nest, fold)) part = 0;
  return &nest->accumulators[part * emitter->kernel->fold_count + fold];
}

/* What is not a number of an extremum that keeps it apart; holds NULL where |fold| is nothing of the kind. */
static LLVMValueRef *nan_slot(const KernelEmitter *emitter, const FoldNest *nest, int part, int fold) {
  return accumulator_slot(emitter, nest, nest->part_count + part, fold);
}

static bool is_apart(const KernelEmitter *emitter, const FoldNest *nest, int part, int fold) {
  return !is_scan_in_lanes(emitter, nest, fold) && *nan_slot(emitter, nest, part, fold) != NULL;
}

static int slot_count_of(const KernelEmitter *emitter, int part_count) {
  return 2 * part_count * emitter->kernel->fold_count;
}

static int collect_slots(const KernelEmitter *emitter, const FoldNest *nest, int first_part, int part_count,
                         LLVMValueRef **out_slots) {
  int count = 0;
  for (int p = first_part; p < first_part + part_count; p++) {
    for (int f = 0; f < emitter->kernel->fold_count; f++) {
      bool is_known = p > first_part && is_scan_in_lanes(emitter, nest, f);
      if (!is_folded_here(emitter, nest, f) || is_known) continue;
      out_slots[count++] = accumulator_slot(emitter, nest, p, f);
      if (is_apart(emitter, nest, p, f)) out_slots[count++] = nan_slot(emitter, nest, p, f);
    }
  }
  return count;
}

static VecOp fold_operation(const Kernel *kernel, int fold) {
  return kernel_vec_op(kernel, &kernel->values[kernel->folds[fold].next]);
}

/* What a fold that may be split joins to its accumulator: a value. */
static int32_t fold_offered(const Kernel *kernel, int fold) {
  const KernelValue *next = &kernel->values[kernel->folds[fold].next];
  return next->operands[kernel->values[next->operands[0]].kind == KERNEL_ACCUMULATOR ? 1 : 0];
}

/* As many steps of a scan as there are lanes: prefix sums of the lanes, joined to the accumulator, which is in all of
 * them.  Returns the accumulator after them: joined to the last sum by itself, since what goes from step to step is
 * then one operation and no change of lanes. */
static LLVMValueRef advance_scan(KernelEmitter *emitter, int fold, LLVMValueRef accumulator, int64_t steps) {
  const VecBuilder *vec = emitter->vec;
  int lanes = emitter->point.lanes;
  VecOp op = fold_operation(emitter->kernel, fold);
  LLVMValueRef offered = point_value_lanes(&emitter->point, fold_offered(emitter->kernel, fold));
  LLVMValueRef sums = vec_scan(vec, &op, offered, lanes);
  LLVMValueRef joined = vec_apply(vec, &op, (LLVMValueRef[]){accumulator, sums}, lanes);
  point_set_value(&emitter->point, emitter->kernel->folds[fold].next, joined);
  if (lanes == 1) return joined;
  LLVMValueRef last = vec_splat_lane(vec, sums, (int)steps - 1, lanes);
  return vec_apply(vec, &op, (LLVMValueRef[]){accumulator, last}, lanes);
}

static VecChoice choice_operation(const Kernel *kernel, const FoldChoice *choice) {
  return (VecChoice){.type = kernel->folds[choice->value_fold].type,
                     .place_type = kernel->folds[choice->place_fold].type,
                     .is_largest = choice->is_largest,
                     .nan_is_first = choice->nan_is_first};
}

/* One step of a choice in lanes; |next| by fold. */
static void advance_choice(KernelEmitter *emitter, const FoldChoice *choice, LLVMValueRef *next) {
  KernelPoint *point = &emitter->point;
  VecChoice operation = choice_operation(emitter->kernel, choice);
  VecChosen best = {point->accumulators[choice->value_fold], point->accumulators[choice->place_fold]};
  VecChosen offered = {point_value_lanes(point, choice->value), point_value_lanes(point, choice->place)};
  vec_choice_advance(emitter->vec, &operation, &best, &offered);
  next[choice->value_fold] = best.value;
  next[choice->place_fold] = best.place;
}

/* One step of an extremum in lanes that keeps apart what is not a number.  Returns that of the numbers. */
static LLVMValueRef advance_extremum(KernelEmitter *emitter, FoldNest *nest, int part, int fold) {
  VecOp op = fold_operation(emitter->kernel, fold);
  VecExtremum best = {emitter->point.accumulators[fold], *nan_slot(emitter, nest, part, fold)};
  LLVMValueRef offered = point_value_lanes(&emitter->point, fold_offered(emitter->kernel, fold));
  vec_extremum_advance(emitter->vec, &op, &best, offered, emitter->point.lanes);
  *nan_slot(emitter, nest, part, fold) = best.nan;
  return best.numbers;
}

/* What |fold|'s step makes of its accumulator. */
static LLVMValueRef fold_next(KernelEmitter *emitter, int fold) {
  bool is_vector = LLVMGetTypeKind(LLVMTypeOf(emitter->point.accumulators[fold])) == LLVMVectorTypeKind;
  int32_t next = emitter->kernel->folds[fold].next;
  return is_vector ? point_value_lanes(&emitter->point, next) : point_value(&emitter->point, next);
}

void emit_fold_step(KernelEmitter *emitter, FoldNest *nest, int part) {
  const Kernel *kernel = emitter->kernel;
  LLVMValueRef *next = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->fold_count);
  for (int f = 0; f < kernel->fold_count; f++) {
    if (is_folded_here(emitter, nest, f)) emitter->point.accumulators[f] = *accumulator_slot(emitter, nest, part, f);
  }
  bool masks = emitter->point.mask != NULL && nest->parts != NULL;
  if (nest->is_choice) advance_choice(emitter, &nest->choice, next);
  for (int f = 0; f < kernel->fold_count; f++) {
    if (!is_folded_here(emitter, nest, f)) continue;
    if (is_scan_in_lanes(emitter, nest, f)) {
      next[f] = advance_scan(emitter, f, emitter->point.accumulators[f], emit_part_step(&nest->parts[part]));
      continue;
    }
    if (is_apart(emitter, nest, part, f)) {
      next[f] = advance_extremum(emitter, nest, part, f);
      continue;
    }
    if (!nest->is_choice) next[f] = fold_next(emitter, f);
    if (masks)
      next[f] =
          LLVMBuildSelect(emitter->vec->builder, emitter->point.mask, next[f], emitter->point.accumulators[f], "");
  }
  for (int f = 0; f < kernel->fold_count; f++) {
    if (is_folded_here(emitter, nest, f)) *accumulator_slot(emitter, nest, part, f) = next[f];
  }
  emit_stores(emitter, nest->stage);
}

/* Around a part, the accumulators of scans are in all its lanes. */
static void change_scan_lanes(KernelEmitter *emitter, FoldNest *nest, int lanes) {
  const VecBuilder *vec = emitter->vec;
  for (int f = 0; f < emitter->kernel->fold_count; f++) {
    if (!is_folded_here(emitter, nest, f) || !is_scan_in_lanes(emitter, nest, f)) continue;
    LLVMValueRef *slot = accumulator_slot(emitter, nest, 0, f);
    bool is_vector = LLVMGetTypeKind(LLVMTypeOf(*slot)) == LLVMVectorTypeKind;
    if (is_vector) *slot = LLVMBuildExtractElement(vec->builder, *slot, emit_index_constant(emitter, 0), "");
    *slot = vec_splat(vec, *slot, lanes);
  }
}

/* A loop over |dim| of a nest of folds that carries the accumulators of some parts.  Where chains of sums are cut, it
 * stands in a loop over strips, each of which begins a sum of its own. */
typedef struct FoldLoop {
  PointLoop strips, steps;
  FoldNest *nest;
  LLVMValueRef **slots;
  int own_count;        /* of the slots; those after them are of the folds a row early, no sums */
  LLVMValueRef *totals; /* by own slot, of the strips before; NULL: sums are not cut here */
} FoldLoop;

/* Sums only: what else is folded is the same in one chain. */
static void begin_strip(KernelEmitter *emitter, FoldLoop *loop) {
  loop->totals = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, loop->own_count);
  FoldNest *nest = loop->nest;
  for (int i = 0; i < loop->own_count; i++) {
    int64_t place = loop->slots[i] - nest->accumulators;
    if (!fold_is_sum(emitter->kernel, (int)(place % emitter->kernel->fold_count))) continue;
    loop->totals[i] = *loop->slots[i];
    *loop->slots[i] = nest->seeds[place];
  }
}

static void end_strip(KernelEmitter *emitter, FoldLoop *loop) {
  const Kernel *kernel = emitter->kernel;
  const FoldNest *nest = loop->nest;
  for (int i = 0; i < loop->own_count; i++) {
    if (loop->totals[i] == NULL) continue;
    int64_t place = loop->slots[i] - nest->accumulators;
    VecOp op = fold_operation(kernel, (int)(place % kernel->fold_count));
    int lanes = nest->parts == NULL ? emitter->point.lanes : nest->parts[place / kernel->fold_count].lanes;
    *loop->slots[i] = vec_apply(emitter->vec, &op, (LLVMValueRef[]){loop->totals[i], *loop->slots[i]}, lanes);
  }
}

/* Whether the first stage's folds of the next row are steps of the same loops. */
static bool folds_early(const KernelEmitter *emitter, const FoldNest *nest) {
  return emitter->early != NULL && nest->stage == emitter->loops.behind;
}

static FoldLoop fold_loop_begin(KernelEmitter *emitter, FoldNest *nest, int dim, IndexRange range, int64_t step,
                                int first_part, int part_count) {
  FoldLoop loop = {.nest = nest};
  loop.slots = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef *, 2 * slot_count_of(emitter, part_count));
  int slot_count = loop.own_count = collect_slots(emitter, nest, first_part, part_count, loop.slots);
  if (folds_early(emitter, nest))
    slot_count += collect_slots(emitter, emitter->early_nest, first_part, part_count, &loop.slots[slot_count]);
  int64_t strip = emitter->loops.fold_strips[dim];
  if (strip > 0) {
    loop.strips = point_loop_begin_carrying(&emitter->point, range, align_up(strip, step), loop.slots, slot_count);
    range = ir_loop_round(&loop.strips.loop);
    begin_strip(emitter, &loop);
  }
  loop.steps = point_loop_begin_carrying(&emitter->point, range, step, loop.slots, slot_count);
  return loop;
}

static void fold_loop_end(KernelEmitter *emitter, FoldLoop *loop) {
  point_loop_end(&emitter->point, &loop->steps);
  if (loop->totals == NULL) return;
  end_strip(emitter, loop);
  point_loop_end(&emitter->point, &loop->strips);
}

static void emit_fold_vector_dim(KernelEmitter *emitter, FoldNest *nest, int dim) {
  const VectorWalk *walk = &emitter->loops.stage_walks[nest->stage];
  for (int p = 0; p < nest->part_count; p += p == 0 && walk->stream_count > 1 ? walk->stream_count : 1) {
    const VectorPart *part = &nest->parts[p];
    change_scan_lanes(emitter, nest, part->lanes);
    int together = p == 0 && walk->stream_count > 1 ? walk->stream_count : 1;
    emit_enter_lanes(emitter, dim, part);
    emitter->point.vector_end = part[together - 1].end;
    IndexRange range = emit_constant_range(emitter, part->begin, part->end);
    FoldLoop loop = fold_loop_begin(emitter, nest, dim, range, emit_part_step(part), p, together);
    for (int i = 0; i < together; i++) {
      int64_t height = emitter->point.known.count;
      LLVMValueRef distance = emit_index_constant(emitter, part[i].begin - part->begin);
      emitter->point.dims[dim] = LLVMBuildAdd(emitter->vec->builder, loop.steps.index, distance, "");
      if (emitter->behind != NULL && nest->stage == emitter->loops.behind)
        emit_behind(emitter, part, emitter->point.dims[dim]);
      emit_fold_step(emitter, nest, p + i);
      if (folds_early(emitter, nest)) emit_early(emitter, p + i, emitter->point.dims[dim]);
      if ((walk->ahead > 0 || walk->ahead_dim >= 0) && p == 0) emit_ask_ahead(emitter, nest->stage, walk);
      point_forget(&emitter->point, height);
    }
    fold_loop_end(emitter, &loop);
    emit_leave_lanes(emitter);
  }
  change_scan_lanes(emitter, nest, 1);
}

/* --- folds along rows, a row in each lane --- */

/* What is read along the innermost dim |dim|, a row of it in each lane; their number, 0 where squares are not worth
 * it. */
static int find_row_loads(const KernelEmitter *emitter, const FoldNest *nest, int dim, int32_t *out_loads) {
  const Kernel *kernel = emitter->kernel;
  const KernelPoint *point = &emitter->point;
  int operations = 0, lanes = point->lanes;
  if (nest->parts != NULL || lanes == 1 || lanes > VEC_MAX_SQUARE || point->mask != NULL) return 0;
  if (kernel->dims[dim].extent < lanes || kernel->stages[nest->stage].store_count > 0) return 0;
  for (int32_t v = 0; v < kernel->value_count; v++)
    operations += kernel->values[v].kind == KERNEL_APPLY && (kernel->values[v].dims >> dim & 1) != 0;
  if ((operations + 1) * lanes > SQUARE_MAX_OPERATIONS) return 0;
  return emit_square_loads(kernel, dim, point->vector_dim, out_loads);
}

typedef struct FoldSquares {
  FoldNest *nest;
  int dim;
  int load_count;
  int32_t *loads;
  LLVMValueRef *rows; /* of all loads */
} FoldSquares;

/* As many steps as lanes, from |begin| on, of which the first |skipped| are done already. */
static void fold_square(KernelEmitter *emitter, const FoldSquares *squares, LLVMValueRef begin, int skipped) {
  const VecBuilder *vec = emitter->vec;
  KernelPoint *point = &emitter->point;
  int lanes = point->lanes;
  SquareBlock block = {squares->dim, point->vector_dim, lanes, lanes};
  point->dims[squares->dim] = begin;
  for (int i = 0; i < squares->load_count; i++)
    emit_load_square(emitter, squares->loads[i], &block, &squares->rows[i * lanes]);
  for (int step = skipped; step < lanes; step++) {
    int64_t height = point->known.count;
    point->dims[squares->dim] = ir_index_add(vec->builder, begin, emit_index_constant(emitter, step));
    for (int i = 0; i < squares->load_count; i++) {
      PrimitiveType type = emitter->kernel->values[squares->loads[i]].type;
      LLVMValueRef row = squares->rows[i * lanes + step];
      point_set_value(point, squares->loads[i], vec_from_memory(vec, type, row, lanes));
    }
    emit_fold_step(emitter, squares->nest, 0);
    point_forget(point, height);
  }
}

/* Each lane's row is read in order, a square of rows and columns at a time: gathers would read a line of memory for
 * each element of it. */
static bool emit_fold_squares(KernelEmitter *emitter, FoldNest *nest, int dim) {
  FoldSquares squares = {.nest = nest, .dim = dim};
  squares.loads = ARENA_NEW_ARRAY(emitter->arena, int32_t, emitter->kernel->value_count);
  squares.load_count = find_row_loads(emitter, nest, dim, squares.loads);
  if (squares.load_count == 0) return false;
  int lanes = emitter->point.lanes;
  int64_t extent = emitter->kernel->dims[dim].extent, whole = extent / lanes * lanes;
  squares.rows = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, squares.load_count * lanes);
  FoldLoop loop = fold_loop_begin(emitter, nest, dim, emit_constant_range(emitter, 0, whole), lanes, 0, 1);
  fold_square(emitter, &squares, loop.steps.index, 0);
  fold_loop_end(emitter, &loop);
  if (whole < extent)
    fold_square(emitter, &squares, emit_index_constant(emitter, extent - lanes), (int)(whole + lanes - extent));
  return true;
}

/* As many steps a round as there are chains, each in its own; what is left over goes to the first of them. */
static void emit_fold_chains(KernelEmitter *emitter, FoldNest *nest, int dim) {
  int64_t extent = emitter->kernel->dims[dim].extent, whole = extent / nest->part_count * nest->part_count;
  FoldLoop loop = fold_loop_begin(emitter, nest, dim, emit_constant_range(emitter, 0, whole), nest->part_count, 0,
                                  nest->part_count);
  for (int i = 0; i < nest->part_count; i++) {
    int64_t height = emitter->point.known.count;
    LLVMValueRef distance = emit_index_constant(emitter, i);
    emitter->point.dims[dim] = LLVMBuildAdd(emitter->vec->builder, loop.steps.index, distance, "");
    emit_fold_step(emitter, nest, i);
    point_forget(&emitter->point, height);
  }
  fold_loop_end(emitter, &loop);
  if (whole == extent) return;
  loop = fold_loop_begin(emitter, nest, dim, emit_constant_range(emitter, whole, extent), 1, 0, 1);
  emitter->point.dims[dim] = loop.steps.index;
  emit_fold_step(emitter, nest, 0);
  fold_loop_end(emitter, &loop);
}

static void emit_fold_dims(KernelEmitter *emitter, FoldNest *nest, int level, uint64_t known);

/* A few steps with a result in each lane are code without a loop, which costs as much as a step: its addresses are
 * those of the step before. */
enum { FEW_STEPS = 4, FEW_STEPS_VALUES = 64 };

static bool has_few_steps(const KernelEmitter *emitter, const FoldNest *nest, int level) {
  const Kernel *kernel = emitter->kernel;
  int64_t steps = 1;
  if (nest->parts != NULL || nest->part_count > 1) return false;
  for (int d = level; d < nest->dim_count; d++) {
    if (emitter->loops.fold_strips[nest->dims[d]] > 0) return false;
    steps *= kernel->dims[nest->dims[d]].extent;
    if (steps > FEW_STEPS) return false;
  }
  return steps * kernel->value_count <= FEW_STEPS_VALUES;
}

/* One level of folds whose steps stand one after the other. */
static void emit_fold_steps(KernelEmitter *emitter, FoldNest *nest, int level, uint64_t known) {
  int dim = nest->dims[level];
  int64_t height = emitter->point.known.count;
  for (int64_t i = 0; i < emitter->kernel->dims[dim].extent; i++) {
    emitter->point.dims[dim] = emit_index_constant(emitter, i);
    emit_fold_dims(emitter, nest, level + 1, known);
    point_forget(&emitter->point, height);
  }
}

static void emit_fold_dims(KernelEmitter *emitter, FoldNest *nest, int level, uint64_t known) {
  if (level == nest->dim_count) {
    emit_fold_step(emitter, nest, 0);
    return;
  }
  if (emitter->loops.taps.dim >= 0 && level + 1 == nest->dim_count) {
    emit_tap_steps(emitter, nest, nest->stage, known);
    return;
  }
  if (emitter->is_unrolled || has_few_steps(emitter, nest, level)) {
    emit_fold_steps(emitter, nest, level, known);
    return;
  }
  int dim = nest->dims[level];
  if (level + 1 == nest->dim_count && emit_fold_squares(emitter, nest, dim)) return;
  if (nest->parts != NULL && dim == emitter->loops.stage_walks[nest->stage].dim) {
    emit_fold_vector_dim(emitter, nest, dim);
    return;
  }
  if (level + 1 == nest->dim_count && nest->parts == NULL && nest->part_count > 1) {
    emit_fold_chains(emitter, nest, dim);
    return;
  }
  FoldLoop loop = fold_loop_begin(emitter, nest, dim, emit_whole_dim(emitter, dim), 1, 0, nest->part_count);
  emitter->point.dims[dim] = loop.steps.index;
  known |= UINT64_C(1) << dim;
  if (level + 1 < nest->dim_count) emit_hoist_values(emitter, nest->stage, known);
  emit_fold_dims(emitter, nest, level + 1, known);
  fold_loop_end(emitter, &loop);
}

static void order_inner_dims(const KernelEmitter *emitter, FoldNest *nest) {
  const Kernel *kernel = emitter->kernel;
  const VectorWalk *walk = &emitter->loops.stage_walks[nest->stage];
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == nest->stage && d != walk->dim) nest->dims[nest->dim_count++] = d;
  }
  nest->part_count = walk->dim < 0 && !emitter->is_unrolled ? emitter->loops.fold_chains : 1;
  if (emitter->loops.taps.dim >= 0) nest->part_count = emitter->place_count;
  if (walk->dim < 0) return;
  nest->dims[nest->dim_count++] = walk->dim;
  nest->part_count = walk->part_count;
  nest->parts = walk->parts;
}

/* Whether an extremum of floats keeps apart what is not a number, in a part in which all lanes are offered something.
 */
static bool may_be_apart(const KernelEmitter *emitter, const FoldNest *nest, int part, int fold) {
  if (nest->parts == NULL || nest->is_choice || nest->parts[part].masked != 0) return false;
  VecOp op = fold_operation(emitter->kernel, fold);
  return !is_scan_in_lanes(emitter, nest, fold) && vec_extremum_is_apart(emitter->vec, &op, nest->parts[part].lanes);
}

static void begin_extremum(KernelEmitter *emitter, FoldNest *nest, int part, int fold, LLVMValueRef seed) {
  VecExtremum best = vec_extremum_begin(emitter->vec, seed, nest->parts[part].lanes);
  *accumulator_slot(emitter, nest, part, fold) = best.numbers;
  *nan_slot(emitter, nest, part, fold) = best.nan;
}

/* Whether parts |a| and |b| are joined before their lanes are. */
static bool is_alike(const KernelEmitter *emitter, const FoldNest *nest, int fold, int a, int b) {
  return nest->parts[a].lanes == nest->parts[b].lanes &&
         is_apart(emitter, nest, a, fold) == is_apart(emitter, nest, b, fold);
}

/* Parts [first, end), which are alike, as one scalar. */
static LLVMValueRef combine_alike(KernelEmitter *emitter, const FoldNest *nest, int fold, int first, int end) {
  const VecBuilder *vec = emitter->vec;
  VecOp op = fold_operation(emitter->kernel, fold);
  VecExtremum part = {*accumulator_slot(emitter, nest, first, fold), *nan_slot(emitter, nest, first, fold)};
  bool keeps_apart = is_apart(emitter, nest, first, fold);
  int lanes = nest->parts[first].lanes;
  for (int p = first + 1; p < end; p++) {
    VecExtremum other = {*accumulator_slot(emitter, nest, p, fold), *nan_slot(emitter, nest, p, fold)};
    if (keeps_apart) {
      vec_extremum_join(vec, &op, &part, &other, lanes);
    } else {
      part.numbers = vec_apply(vec, &op, (LLVMValueRef[]){part.numbers, other.numbers}, lanes);
    }
  }
  return keeps_apart ? vec_extremum_reduce(vec, &op, &part, lanes) : vec_reduce(vec, &op, part.numbers, lanes);
}

/* Partial folds become one scalar: parts that are alike first, lane by lane, then lanes, then what is left in order. */
static LLVMValueRef combine_parts(KernelEmitter *emitter, const FoldNest *nest, int fold) {
  VecOp op = fold_operation(emitter->kernel, fold);
  LLVMValueRef total = NULL;
  for (int p = 0, end; p < nest->part_count; p = end) {
    for (end = p + 1; end < nest->part_count && is_alike(emitter, nest, fold, p, end);) end++;
    LLVMValueRef part = combine_alike(emitter, nest, fold, p, end);
    total = total == NULL ? part : vec_apply(emitter->vec, &op, (LLVMValueRef[]){total, part}, 1);
  }
  return total;
}

/* The same of a choice: the final values of its two folds.  Parts are compared in as many lanes as both have. */
static void combine_choice(KernelEmitter *emitter, const FoldNest *nest) {
  const FoldChoice *choice = &nest->choice;
  VecChoice operation = choice_operation(emitter->kernel, choice);
  VecChosen best = {NULL, NULL};
  int lanes = nest->parts[0].lanes;
  for (int p = 0; p < nest->part_count; p++) {
    VecChosen part = {*accumulator_slot(emitter, nest, p, choice->value_fold),
                      *accumulator_slot(emitter, nest, p, choice->place_fold)};
    int both = (int)min_i64(lanes, nest->parts[p].lanes);
    part = vec_choice_reduce(emitter->vec, &operation, part, nest->parts[p].lanes, both);
    if (p > 0) {
      best = vec_choice_reduce(emitter->vec, &operation, best, lanes, both);
      vec_choice_join(emitter->vec, &operation, &part, &best);
    }
    best = part;
    lanes = both;
  }
  best = vec_choice_reduce(emitter->vec, &operation, best, lanes, 1);
  emitter->point.accumulators[choice->value_fold] = best.value;
  emitter->point.accumulators[choice->place_fold] = best.place;
}

/* Chains side by side become one, by halves. */
static LLVMValueRef combine_chains(KernelEmitter *emitter, const FoldNest *nest, int fold) {
  VecOp op = fold_operation(emitter->kernel, fold);
  for (int count = nest->part_count; count > 1; count /= 2) {
    for (int c = 0; c < count / 2; c++) {
      LLVMValueRef *slot = accumulator_slot(emitter, nest, c, fold);
      LLVMValueRef other = *accumulator_slot(emitter, nest, c + count / 2, fold);
      *slot = vec_apply(emitter->vec, &op, (LLVMValueRef[]){*slot, other}, emitter->point.lanes);
    }
  }
  return *accumulator_slot(emitter, nest, 0, fold);
}

FoldNest *emit_fold_begin(KernelEmitter *emitter, int stage) {
  const Kernel *kernel = emitter->kernel;
  FoldNest *nest = ARENA_NEW(emitter->arena, FoldNest);
  *nest = (FoldNest){.stage = stage};
  order_inner_dims(emitter, nest);
  nest->is_choice = nest->parts != NULL && fold_choice_find(kernel, stage, &nest->choice);
  nest->accumulators = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, slot_count_of(emitter, nest->part_count));
  nest->seeds = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, nest->part_count * kernel->fold_count);
  for (int f = 0; f < kernel->fold_count; f++) {
    if (!is_folded_here(emitter, nest, f)) continue;
    LLVMValueRef seed = nest->parts == NULL ? point_value_lanes(&emitter->point, kernel->folds[f].seed)
                                            : point_value(&emitter->point, kernel->folds[f].seed);
    for (int p = 0; p < nest->part_count; p++) {
      bool is_whole = nest->parts == NULL || is_scan_in_lanes(emitter, nest, f);
      *accumulator_slot(emitter, nest, p, f) = is_whole ? seed : vec_splat(emitter->vec, seed, nest->parts[p].lanes);
      nest->seeds[p * kernel->fold_count + f] = *accumulator_slot(emitter, nest, p, f);
      if (may_be_apart(emitter, nest, p, f)) begin_extremum(emitter, nest, p, f, seed);
    }
  }
  return nest;
}

void emit_fold_end(KernelEmitter *emitter, FoldNest *nest) {
  if (nest->is_choice) {
    combine_choice(emitter, nest);
    return;
  }
  for (int f = 0; f < emitter->kernel->fold_count; f++) {
    if (!is_folded_here(emitter, nest, f)) continue;
    if (nest->parts == NULL) {
      emitter->point.accumulators[f] = combine_chains(emitter, nest, f);
    } else {
      bool is_one = is_scan_in_lanes(emitter, nest, f);
      emitter->point.accumulators[f] =
          is_one ? *accumulator_slot(emitter, nest, 0, f) : combine_parts(emitter, nest, f);
    }
  }
}

void emit_fold_take(KernelEmitter *emitter, const FoldNest *nest, int place) {
  for (int f = 0; f < emitter->kernel->fold_count; f++) {
    if (is_folded_here(emitter, nest, f)) emitter->point.accumulators[f] = *accumulator_slot(emitter, nest, place, f);
  }
}

int emit_fold_slots(KernelEmitter *emitter, FoldNest *nest, LLVMValueRef ***out_slots) {
  *out_slots = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef *, slot_count_of(emitter, nest->part_count));
  return collect_slots(emitter, nest, 0, nest->part_count, *out_slots);
}

void emit_fold_loops(KernelEmitter *emitter, FoldNest *nest, uint64_t known) {
  emit_fold_dims(emitter, nest, 0, known);
}

void emit_folds(KernelEmitter *emitter, int stage, uint64_t known) {
  if (emitter->sweep_begin != NULL) {
    emit_sweep_load(emitter);
    return;
  }
  FoldNest *nest = emit_fold_begin(emitter, stage);
  emit_fold_dims(emitter, nest, 0, known);
  emit_fold_end(emitter, nest);
}
