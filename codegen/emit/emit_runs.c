/* Loops over points that come one after the other (scatters), a run of them at a time.
 *
 * What does not depend on what the points themselves store is computed in lanes for the whole run: the condition under
 * which each stores, and what it takes operations to compute, which goes through memory to be read point by point.
 * Where the condition holds for all of a run, its points follow one another without a branch; elsewhere each is asked
 * again. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

#define MOST_RUN_POINTS 16
#define LEAST_RUN_POINTS 4
#define LEAST_RUNS 4
/* Values computed by all points of a run together: they are straight-line code. */
#define MOST_RUN_VALUES 192

/* What is known of each value of a Kernel. */
typedef struct RunValues {
  const Kernel *kernel;
  int dim;
  bool *is_apart;  /* depends on nothing that the Kernel stores */
  int *operations; /* to compute it at a point of |dim|; conversions are none, functions not counted apart */
  bool *is_needed; /* by a point */
  int point_values, kept_count;
  int32_t *kept; /* computed in lanes */
} RunValues;

static bool varies(const RunValues *run, int32_t value) {
  return run->kernel->values[value].dims >> run->dim & 1;
}

/* Calls |visit| with each value that |expr| reads. */
static void visit_index(RunValues *run, IndexExpr expr, void (*visit)(RunValues *, int32_t, int32_t), int32_t reader) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &run->kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) {
      visit(run, atom->number, reader);
    } else if (atom->kind != INDEX_ATOM_DIM) {
      visit_index(run, atom->inner, visit, reader);
    }
  }
}

static void visit_operands(RunValues *run, int32_t value, void (*visit)(RunValues *, int32_t, int32_t)) {
  const KernelValue *info = &run->kernel->values[value];
  for (int i = 0; i < info->operand_count; i++) visit(run, info->operands[i], value);
  if (info->predicate >= 0) visit(run, info->predicate, value);
  visit_index(run, info->address, visit, value);
}

static void add_operand(RunValues *run, int32_t value, int32_t reader) {
  run->is_apart[reader] = run->is_apart[reader] && run->is_apart[value];
  run->operations[reader] += run->operations[value];
}

static bool is_conversion(const KernelValue *value) {
  return value->kind == KERNEL_APPLY && value->opcode == HLO_CONVERT;
}

static void find_apart(RunValues *run) {
  const Kernel *kernel = run->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_load = value->kind == KERNEL_LOAD;
    KernelBufferRole role = is_load ? kernel->buffers[value->buffer].role : KERNEL_OPERAND;
    run->is_apart[v] = role == KERNEL_OPERAND || role == KERNEL_PARAMETERS;
    run->operations[v] = value->kind == KERNEL_APPLY && !is_conversion(value);
    visit_operands(run, v, add_operand);
    if (!varies(run, v)) run->operations[v] = 0;
  }
}

/* Of the integers that a conversion widens there are more in a register. */
static bool is_kept_narrower(const RunValues *run, const KernelValue *value) {
  if (!is_conversion(value)) return false;
  PrimitiveType from = run->kernel->values[value->operands[0]].type;
  return type_is_integral(from) && type_storage_bytes(from) <= type_storage_bytes(value->type);
}

static bool is_kept(const RunValues *run, int32_t v) {
  const KernelValue *value = &run->kernel->values[v];
  bool is_array_type = value->type != TYPE_PRED && type_storage_bytes(value->type) <= 8;
  return value->kind == KERNEL_APPLY && run->is_apart[v] && run->operations[v] > 0 && is_array_type &&
         !is_kept_narrower(run, value);
}

/* A point reads |v|: it is kept, or made of what the point reads. */
static void need(RunValues *run, int32_t v, int32_t reader) {
  (void)reader;
  if (!varies(run, v) || run->is_needed[v]) return;
  run->is_needed[v] = true;
  run->point_values++;
  if (is_kept(run, v)) {
    run->kept[run->kept_count++] = v;
  } else {
    visit_operands(run, v, need);
  }
}

static RunValues run_values(const Kernel *kernel, int dim, Arena *arena) {
  RunValues run = {.kernel = kernel, .dim = dim};
  run.is_apart = ARENA_NEW_ARRAY(arena, bool, kernel->value_count);
  run.operations = ARENA_NEW_ARRAY(arena, int, kernel->value_count);
  run.is_needed = ARENA_NEW_ARRAY(arena, bool, kernel->value_count);
  run.kept = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count);
  find_apart(&run);
  const KernelStage *stage = &kernel->stages[0];
  for (int i = 0; i < stage->store_count; i++) {
    need(&run, stage->stores[i].value, -1);
    visit_index(&run, stage->stores[i].address, need, -1);
    if (stage->stores[i].predicate >= 0) need(&run, stage->stores[i].predicate, -1);
  }
  return run;
}

/* Of all stores of the one stage; -1: none. */
static bool has_one_guard(const Kernel *kernel) {
  const KernelStage *stage = &kernel->stages[0];
  for (int i = 1; i < stage->store_count; i++) {
    if (stage->stores[i].predicate != stage->stores[0].predicate) return false;
  }
  return true;
}

static bool is_one_nest(const Kernel *kernel) {
  const KernelStage *stage = &kernel->stages[0];
  if (kernel->stage_count != 1 || kernel->fold_count > 0 || stage->store_count == 0) return false;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != KERNEL_OUTER) return false;
  }
  return stage->transform == NULL && stage->comparator == NULL && has_one_guard(kernel);
}

RunStrategy runs_choose(const Kernel *kernel, const LoopStrategy *loops, int lanes, Arena *arena) {
  RunStrategy none = {.dim = -1};
  if (loops->outer_walk.dim >= 0 || loops->outer_count == 0 || !is_one_nest(kernel)) return none;
  int dim = loops->outer[loops->outer_count - 1];
  if (kernel->dims[dim].kind != KERNEL_SEQUENTIAL) return none;
  RunValues run = run_values(kernel, dim, arena);
  int32_t guard = kernel->stages[0].stores[0].predicate;
  if (guard >= 0 && !run.is_apart[guard]) return none;
  int64_t points = min_i64(lanes, MOST_RUN_POINTS);
  while (points * run.point_values > MOST_RUN_VALUES) points /= 2;
  if (points < LEAST_RUN_POINTS || kernel->dims[dim].extent < LEAST_RUNS * points) return none;
  return (RunStrategy){dim, (int)points, run.kept_count, run.kept};
}

/* --- code --- */

/* Values of so many runs are computed before their points follow: what tells a point its place is then long known, and
 * the processor sees which points meet.  Not for a few runs. */
#define RUNS_AHEAD 8

/* Where the kept values of runs are, in the frame of the function. */
typedef struct RunFrame {
  int64_t runs;         /* at a time */
  LLVMValueRef *arrays; /* of each kept value */
  LLVMValueRef holds;   /* i8 of each run: the guard holds for all its points; NULL for one run at a time */
  LLVMValueRef first;   /* i64: where the values of the run at hand begin */
} RunFrame;

/* |count| elements of the frame. */
static LLVMValueRef frame_array(KernelEmitter *emitter, unsigned bytes, int64_t count) {
  const VecBuilder *vec = emitter->vec;
  LLVMTypeRef word = LLVMIntTypeInContext(vec->context, bytes * 8);
  LLVMValueRef array = LLVMBuildAlloca(vec->builder, LLVMArrayType2(word, (unsigned)count), "");
  LLVMSetAlignment(array, (unsigned)(vec->target->vector_bits / 8));
  return array;
}

static RunFrame run_frame(KernelEmitter *emitter, int64_t run_count) {
  const VecBuilder *vec = emitter->vec;
  const RunStrategy *runs = &emitter->loops.runs;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(vec->builder), entry = LLVMGetEntryBasicBlock(emitter->function);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  RunFrame frame = {.runs = runs->kept_count > 0 && run_count >= LEAST_RUNS * RUNS_AHEAD ? RUNS_AHEAD : 1};
  frame.arrays = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, runs->kept_count);
  frame.first = emit_index_constant(emitter, 0);
  if (first != NULL) LLVMPositionBuilderBefore(vec->builder, first);
  for (int i = 0; i < runs->kept_count; i++) {
    PrimitiveType type = emitter->kernel->values[runs->kept[i]].type;
    frame.arrays[i] = frame_array(emitter, (unsigned)type_storage_bytes(type), frame.runs * runs->points);
  }
  if (frame.runs > 1) frame.holds = frame_array(emitter, 1, frame.runs);
  LLVMPositionBuilderAtEnd(vec->builder, here);
  return frame;
}

/* Of the point |index| of the run at hand. */
static LLVMValueRef kept_place(const KernelEmitter *emitter, const RunFrame *frame, int kept, LLVMValueRef index) {
  LLVMBuilderRef b = emitter->vec->builder;
  PrimitiveType type = emitter->kernel->values[emitter->loops.runs.kept[kept]].type;
  LLVMTypeRef word = LLVMIntTypeInContext(emitter->vec->context, (unsigned)type_storage_bytes(type) * 8);
  LLVMValueRef place = ir_index_add(b, frame->first, index);
  return LLVMBuildInBoundsGEP2(b, word, frame->arrays[kept], &place, 1, "");
}

/* Computes what is kept, in lanes; whether the guard holds for all points, an i1. */
static LLVMValueRef begin_run(KernelEmitter *emitter, const RunFrame *frame, int64_t whole) {
  const VecBuilder *vec = emitter->vec;
  const RunStrategy *runs = &emitter->loops.runs;
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  emit_enter_lanes(emitter, runs->dim, &(VectorPart){0, whole, runs->points, 0});
  for (int i = 0; i < runs->kept_count; i++) {
    int32_t v = runs->kept[i];
    LLVMValueRef value = point_value_lanes(point, v),
                 place = kept_place(emitter, frame, i, emit_index_constant(emitter, 0));
    vec_store(vec, emitter->kernel->values[v].type, value, place, NULL, runs->points);
  }
  int32_t guard = emitter->kernel->stages[0].stores[0].predicate;
  LLVMValueRef holds = LLVMConstAllOnes(LLVMInt1TypeInContext(vec->context));
  if (guard >= 0) {
    LLVMValueRef fails = LLVMBuildNot(vec->builder, point_value_lanes(point, guard), "");
    holds = LLVMBuildNot(vec->builder, vec_any(vec, fails, runs->points), "");
  }
  emit_leave_lanes(emitter);
  point_forget(point, height);
  return holds;
}

/* The point |index|, an i64, of the run that begins at |begin|. */
static void enter_point(KernelEmitter *emitter, const RunFrame *frame, LLVMValueRef begin, LLVMValueRef index) {
  const VecBuilder *vec = emitter->vec;
  const RunStrategy *runs = &emitter->loops.runs;
  emitter->point.dims[runs->dim] = ir_index_add(vec->builder, begin, index);
  for (int i = 0; i < runs->kept_count; i++) {
    PrimitiveType type = emitter->kernel->values[runs->kept[i]].type;
    LLVMValueRef value = vec_load(vec, type, kept_place(emitter, frame, i, index), NULL, 1);
    point_set_value(&emitter->point, runs->kept[i], value);
  }
}

/* The stores at the current point, where the guard holds. */
static void emit_guarded_point(KernelEmitter *emitter) {
  const VecBuilder *vec = emitter->vec;
  int32_t guard = emitter->kernel->stages[0].stores[0].predicate;
  if (guard < 0) {
    emit_stores(emitter, 0);
    return;
  }
  LLVMBasicBlockRef after = ir_if_begin(vec->builder, point_value(&emitter->point, guard));
  emitter->point.assumed = guard;
  emit_stores(emitter, 0);
  emitter->point.assumed = -1;
  ir_if_end(vec->builder, after);
}

static void emit_points_in_turn(KernelEmitter *emitter, const RunFrame *frame, LLVMValueRef begin) {
  const RunStrategy *runs = &emitter->loops.runs;
  PointLoop loop = point_loop_begin(&emitter->point, emit_constant_range(emitter, 0, runs->points), 1);
  enter_point(emitter, frame, begin, loop.index);
  emit_guarded_point(emitter);
  point_loop_end(&emitter->point, &loop);
}

static void emit_whole_run(KernelEmitter *emitter, const RunFrame *frame, LLVMValueRef begin) {
  const RunStrategy *runs = &emitter->loops.runs;
  int64_t height = emitter->point.known.count;
  emitter->point.assumed = emitter->kernel->stages[0].stores[0].predicate;
  for (int i = 0; i < runs->points; i++) {
    enter_point(emitter, frame, begin, emit_index_constant(emitter, i));
    emit_stores(emitter, 0);
    point_forget(&emitter->point, height);
  }
  emitter->point.assumed = -1;
}

static void emit_run(KernelEmitter *emitter, const RunFrame *frame, LLVMValueRef begin, LLVMValueRef holds) {
  const VecBuilder *vec = emitter->vec;
  if (emitter->kernel->stages[0].stores[0].predicate < 0) {
    emit_whole_run(emitter, frame, begin);
    return;
  }
  LLVMBasicBlockRef all = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  LLVMBuildCondBr(vec->builder, holds, all, some);
  LLVMPositionBuilderAtEnd(vec->builder, all);
  emit_whole_run(emitter, frame, begin);
  LLVMBuildBr(vec->builder, after);
  LLVMPositionBuilderAtEnd(vec->builder, some);
  emit_points_in_turn(emitter, frame, begin);
  LLVMBuildBr(vec->builder, after);
  LLVMPositionBuilderAtEnd(vec->builder, after);
}

static LLVMValueRef held_place(const KernelEmitter *emitter, const RunFrame *frame, LLVMValueRef run) {
  LLVMTypeRef byte = LLVMInt8TypeInContext(emitter->vec->context);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, byte, frame->holds, &run, 1, "");
}

/* The runs from |begin| on, as many as the frame holds or there are up to |whole|. */
static void emit_runs_ahead(KernelEmitter *emitter, RunFrame *frame, LLVMValueRef begin, int64_t whole) {
  LLVMBuilderRef b = emitter->vec->builder;
  int dim = emitter->loops.runs.dim;
  LLVMTypeRef byte = LLVMInt8TypeInContext(emitter->vec->context), bit = LLVMInt1TypeInContext(emitter->vec->context);
  LLVMValueRef points = emit_index_constant(emitter, emitter->loops.runs.points);
  LLVMValueRef left = LLVMBuildNSWSub(b, emit_index_constant(emitter, whole), begin, "");
  LLVMValueRef most = emit_index_constant(emitter, frame->runs);
  IndexRange range = ir_range_below(ir_index_minimum(b, LLVMBuildUDiv(b, left, points, ""), most));
  PointLoop ahead = point_loop_begin(&emitter->point, range, 1);
  frame->first = LLVMBuildNSWMul(b, ahead.index, points, "");
  emitter->point.dims[dim] = LLVMBuildNSWAdd(b, begin, frame->first, "");
  LLVMValueRef holds = LLVMBuildZExt(b, begin_run(emitter, frame, whole), byte, "");
  LLVMBuildStore(b, holds, held_place(emitter, frame, ahead.index));
  point_loop_end(&emitter->point, &ahead);
  PointLoop runs = point_loop_begin(&emitter->point, range, 1);
  frame->first = LLVMBuildNSWMul(b, runs.index, points, "");
  LLVMValueRef held = LLVMBuildLoad2(b, byte, held_place(emitter, frame, runs.index), "");
  emit_run(emitter, frame, LLVMBuildNSWAdd(b, begin, frame->first, ""), LLVMBuildTrunc(b, held, bit, ""));
  point_loop_end(&emitter->point, &runs);
}

void emit_runs(KernelEmitter *emitter) {
  const RunStrategy *runs = &emitter->loops.runs;
  int64_t extent = emitter->kernel->dims[runs->dim].extent, whole = extent / runs->points * runs->points;
  RunFrame frame = run_frame(emitter, whole / runs->points);
  PointLoop loop = point_loop_begin(&emitter->point, emit_constant_range(emitter, 0, whole), frame.runs * runs->points);
  emitter->point.dims[runs->dim] = loop.index;
  if (frame.runs > 1) {
    emit_runs_ahead(emitter, &frame, loop.index, whole);
  } else {
    emit_run(emitter, &frame, loop.index, begin_run(emitter, &frame, whole));
  }
  point_loop_end(&emitter->point, &loop);
  if (whole == extent) return;
  PointLoop rest = point_loop_begin(&emitter->point, emit_constant_range(emitter, whole, extent), 1);
  emitter->point.dims[runs->dim] = rest.index;
  emit_guarded_point(emitter);
  point_loop_end(&emitter->point, &rest);
}
