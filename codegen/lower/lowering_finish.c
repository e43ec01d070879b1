/* From a lowering to a Kernel: refinement of dims, merging of dims, dead values, renumbering. */
#include <string.h>

#include "codegen/lower/lowering_internal.h"

/* --- what is alive --- */

typedef struct Finisher {
  const Lowering *lowering;
  Arena *arena;
  bool *alive;                   /* by old value */
  int32_t *new_number;           /* by old value */
  bool *fold_alive;              /* by old fold */
  int32_t *new_fold;             /* by old fold */
  int group[KERNEL_MAX_DIMS];    /* new dim of each old dim */
  bool is_last[KERNEL_MAX_DIMS]; /* the old dim is the innermost of its group */
  IndexExpr *dim_index;          /* by old dim: its part of the new ones */
  IndexSpace space;
  KernelDim *dims;
  int dim_count;
} Finisher;

static void mark(Finisher *finisher, int32_t value);

static void mark_index(Finisher *finisher, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &finisher->lowering->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) mark(finisher, atom->number);
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) mark_index(finisher, atom->inner);
  }
}

static void mark_fold(Finisher *finisher, int32_t fold) {
  finisher->fold_alive[fold] = true;
  mark(finisher, finisher->lowering->folds.data[fold].seed);
  mark(finisher, finisher->lowering->folds.data[fold].next);
}

static void mark(Finisher *finisher, int32_t value) {
  if (value < 0 || finisher->alive[value]) return;
  finisher->alive[value] = true;
  const KernelValue *info = &finisher->lowering->values.data[value];
  for (int i = 0; i < info->operand_count; i++) mark(finisher, info->operands[i]);
  mark(finisher, info->predicate);
  mark_index(finisher, info->address);
  if (info->kind == KERNEL_ACCUMULATOR) mark_fold(finisher, info->fold);
}

static void mark_all(Finisher *finisher) {
  const Lowering *lowering = finisher->lowering;
  for (int64_t s = 0; s < lowering->stages.count; s++) {
    const KernelStoreArray *stores = &lowering->stages.data[s].stores;
    for (int64_t i = 0; i < stores->count; i++) {
      mark(finisher, stores->data[i].value);
      mark(finisher, stores->data[i].predicate);
      mark_index(finisher, stores->data[i].address);
    }
    for (int32_t i = 0; i < lowering->stages.data[s].compared_count; i++) {
      for (int part = 0; part < 2; part++) mark(finisher, lowering->stages.data[s].compared[i].parts[part]);
    }
  }
}

/* By atom: something stored depends on it. */
typedef struct LiveAtoms {
  const IndexSpace *space;
  bool *marks;
} LiveAtoms;

static void mark_atoms(const LiveAtoms *live, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &live->space->atoms.data[expr.terms[i].atom];
    live->marks[expr.terms[i].atom] = true;
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) mark_atoms(live, atom->inner);
  }
}

static LiveAtoms live_atoms(const Lowering *lowering) {
  Finisher finisher = {.lowering = lowering, .arena = lowering->arena};
  finisher.alive = ARENA_NEW_ARRAY(lowering->arena, bool, lowering->values.count);
  finisher.fold_alive = ARENA_NEW_ARRAY(lowering->arena, bool, lowering->folds.count);
  LiveAtoms live = {&lowering->space, ARENA_NEW_ARRAY(lowering->arena, bool, lowering->space.atoms.count + 1)};
  mark_all(&finisher);
  for (int64_t v = 0; v < lowering->values.count; v++) {
    if (finisher.alive[v]) mark_atoms(&live, lowering->values.data[v].address);
  }
  for (int64_t s = 0; s < lowering->stages.count; s++) {
    const KernelStoreArray *stores = &lowering->stages.data[s].stores;
    for (int64_t i = 0; i < stores->count; i++) mark_atoms(&live, stores->data[i].address);
  }
  return live;
}

bool lowering_has_quotients(const Lowering *lowering) {
  LiveAtoms live = live_atoms(lowering);
  for (int64_t a = 0; a < lowering->space.atoms.count; a++) {
    IndexAtomKind kind = lowering->space.atoms.data[a].kind;
    if (live.marks[a] && (kind == INDEX_ATOM_DIV || kind == INDEX_ATOM_MOD)) return true;
  }
  return false;
}

/* --- refinement --- */

/* Splits factor |factor| of ordinal |ordinal| into (extent / divisor, divisor). */
static void split_factor(DimSplit *split, int factor, int64_t extent, int64_t divisor) {
  if (split->factor_count == 0) {
    split->factor_count = 1;
    split->factors[0] = extent;
  }
  size_t behind = (size_t)(split->factor_count - factor);
  memmove(&split->factors[factor + 1], &split->factors[factor], behind * sizeof *split->factors);
  memmove(&split->unrolled[factor + 1], &split->unrolled[factor], behind * sizeof *split->unrolled);
  split->factors[factor] = extent / divisor;
  split->factors[factor + 1] = divisor;
  split->factor_count++;
}

enum { POINT_LIMIT = 8, FACTOR_LIMIT = 8 };

static bool unroll(const Lowering *lowering, DimSplit *splits, int *split_count) {
  const UnrollRequest *request = &lowering->unroll;
  if (!request->is_made || request->origin.ordinal >= MAX_RANK) return false;
  int64_t count = request->extent / request->divisor;
  DimSplit *split = &splits[request->origin.ordinal];
  if (count * lowering_point_count(lowering) > POINT_LIMIT || split->factor_count >= FACTOR_LIMIT) return false;
  split_factor(split, request->origin.factor, request->extent, request->divisor);
  split->unrolled[request->origin.factor] = true;
  if (request->origin.ordinal >= *split_count) *split_count = request->origin.ordinal + 1;
  return true;
}

bool lowering_refine(const Lowering *lowering, DimSplit *splits, int *split_count) {
  LiveAtoms live = lowering->flat != NULL ? live_atoms(lowering) : (LiveAtoms){&lowering->space, NULL};
  for (int64_t a = 0; a < lowering->space.atoms.count; a++) {
    const IndexAtom *atom = &lowering->space.atoms.data[a];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (live.marks != NULL && !live.marks[a]) continue; /* of the flat walk's own dimensions */
    if (!is_nested || atom->inner.term_count != 1 || atom->inner.terms[0].coefficient != 1) continue;
    const IndexAtom *inner = &lowering->space.atoms.data[atom->inner.terms[0].atom];
    if (inner->kind != INDEX_ATOM_DIM || atom->inner.constant != 0) continue;
    if (lowering->dims.data[inner->number].kind == KERNEL_SORTED) continue; /* a line's points are one dim */
    int64_t extent = lowering->dims.data[inner->number].extent;
    DimOrigin origin = lowering->origins.data[inner->number];
    if (extent % atom->divisor != 0 || origin.ordinal >= MAX_RANK) continue;
    if (splits[origin.ordinal].factor_count >= FACTOR_LIMIT || lowering->dims.count >= KERNEL_MAX_DIMS - 2) continue;
    split_factor(&splits[origin.ordinal], origin.factor, extent, atom->divisor);
    if (origin.ordinal >= *split_count) *split_count = origin.ordinal + 1;
    return true;
  }
  return unroll(lowering, splits, split_count);
}

/* --- merging dims --- */

static bool index_allows_merge(const Finisher *finisher, IndexExpr expr, int dim, int64_t inner_extent) {
  const IndexSpace *space = &finisher->lowering->space;
  if (index_depends_nonlinearly(space, expr, dim) || index_depends_nonlinearly(space, expr, dim + 1)) return false;
  return index_dim_coefficient(space, expr, dim) == index_dim_coefficient(space, expr, dim + 1) * inner_extent;
}

static bool may_merge(const Finisher *finisher, int dim) {
  const Lowering *lowering = finisher->lowering;
  const KernelDim *outer = &lowering->dims.data[dim], *inner = &lowering->dims.data[dim + 1];
  if (outer->kind != inner->kind || outer->stage != inner->stage) return false;
  for (int64_t v = 0; v < lowering->values.count; v++) {
    if (finisher->alive[v] && !index_allows_merge(finisher, lowering->values.data[v].address, dim, inner->extent))
      return false;
  }
  for (int64_t s = 0; s < lowering->stages.count; s++) {
    const KernelStoreArray *stores = &lowering->stages.data[s].stores;
    for (int64_t i = 0; i < stores->count; i++) {
      if (!index_allows_merge(finisher, stores->data[i].address, dim, inner->extent)) return false;
    }
  }
  return true;
}

/* The place of stage |number| in the order of execution. */
static int stage_place(const Lowering *lowering, int number) {
  for (int i = 0; i < lowering->stage_order.count; i++) {
    if (lowering->stage_order.data[i] == number) return i;
  }
  return KERNEL_OUTER;
}

/* Dims keep the order in which they were made, which is by stage as far as they neighbour: outer ones first. */
static void merge_dims(Finisher *finisher) {
  const Lowering *lowering = finisher->lowering;
  finisher->dims = ARENA_NEW_ARRAY(finisher->arena, KernelDim, lowering->dims.count);
  for (int d = 0; d < lowering->dims.count; d++) {
    bool merges = d > 0 && may_merge(finisher, d - 1);
    if (merges) {
      finisher->dims[finisher->dim_count - 1].extent *= lowering->dims.data[d].extent;
    } else {
      finisher->dims[finisher->dim_count] = lowering->dims.data[d];
      finisher->dims[finisher->dim_count++].stage = stage_place(lowering, lowering->dims.data[d].stage);
    }
    finisher->group[d] = finisher->dim_count - 1;
    finisher->is_last[d] = true;
    if (merges) finisher->is_last[d - 1] = false;
  }
}

/* What each dim of the lowering stands for among those of the Kernel: of a merged group, its last has all of the index.
 */
static void place_dims(Finisher *finisher) {
  int64_t count = finisher->lowering->dims.count;
  finisher->dim_index = ARENA_NEW_ARRAY(finisher->arena, IndexExpr, count);
  for (int64_t d = 0; d < count; d++) {
    int group = finisher->group[d];
    finisher->dim_index[d] =
        finisher->is_last[d] ? index_dim(&finisher->space, group, finisher->dims[group].extent) : index_constant(0);
  }
}

static IndexExpr rewrite_index(Finisher *finisher, IndexExpr expr) {
  return index_substitute(&finisher->space, &finisher->lowering->space, expr, finisher->dim_index,
                          finisher->new_number);
}

/* --- the Kernel --- */

static int32_t renumber(const Finisher *finisher, int32_t value) {
  return value < 0 ? -1 : finisher->new_number[value];
}

/* What a stage has stored is read after it, also where the address does not move. */
static void wait_for_scratch(const Finisher *finisher, KernelValue *value) {
  int64_t stage;
  if (value->kind != KERNEL_LOAD) return;
  if (!int_map_find(&finisher->lowering->scratch_stages, (uint64_t)value->buffer, &stage)) return;
  int32_t behind = stage_place(finisher->lowering, (int)stage) + 1;
  if (value->stage < behind) value->stage = behind;
}

static void rewrite_values(Finisher *finisher, Kernel *kernel) {
  const Lowering *lowering = finisher->lowering;
  KernelValue *values = ARENA_NEW_ARRAY(finisher->arena, KernelValue, lowering->values.count);
  kernel->values = values;
  for (int32_t v = 0; v < lowering->values.count; v++) {
    if (!finisher->alive[v]) continue;
    finisher->new_number[v] = kernel->value_count;
    KernelValue *value = &values[kernel->value_count++];
    *value = lowering->values.data[v];
    for (int i = 0; i < value->operand_count; i++) value->operands[i] = renumber(finisher, value->operands[i]);
    value->predicate = renumber(finisher, value->predicate);
    if (value->kind == KERNEL_ACCUMULATOR) value->fold = finisher->new_fold[value->fold];
    value->address = rewrite_index(finisher, value->address);
    kernel->space = finisher->space;
    kernel_value_depends(kernel, value);
    wait_for_scratch(finisher, value);
  }
}

/* Folds before the values that read them; seeds and next values are renumbered afterwards.  What nothing reads
 * goes; complex folds are two already. */
static KernelFold *copy_folds(Finisher *finisher, Kernel *kernel) {
  const Lowering *lowering = finisher->lowering;
  KernelFold *folds = ARENA_NEW_ARRAY(finisher->arena, KernelFold, lowering->folds.count);
  for (int64_t f = 0; f < lowering->folds.count; f++) {
    if (!finisher->fold_alive[f]) continue;
    finisher->new_fold[f] = kernel->fold_count;
    KernelFold *fold = &folds[kernel->fold_count++];
    *fold = lowering->folds.data[f];
    fold->stage = stage_place(lowering, fold->stage);
    fold->type = type_complex_part(fold->type);
  }
  kernel->folds = folds;
  return folds;
}

static KernelCompared *rewrite_compared(const Finisher *finisher, const LoweringStage *from) {
  KernelCompared *compared = ARENA_COPY_ARRAY(finisher->arena, KernelCompared, from->compared, from->compared_count);
  for (int32_t i = 0; i < from->compared_count; i++) {
    for (int part = 0; part < 2; part++) compared[i].parts[part] = renumber(finisher, compared[i].parts[part]);
  }
  return compared;
}

static void rewrite_effects(Finisher *finisher, Kernel *kernel, KernelFold *folds) {
  const Lowering *lowering = finisher->lowering;
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    folds[f].seed = renumber(finisher, folds[f].seed);
    folds[f].next = renumber(finisher, folds[f].next);
  }
  KernelStage *stages = ARENA_NEW_ARRAY(finisher->arena, KernelStage, lowering->stage_order.count);
  for (int64_t s = 0; s < lowering->stage_order.count; s++) {
    const LoweringStage *from = &lowering->stages.data[lowering->stage_order.data[s]];
    KernelStore *stores = ARENA_COPY_ARRAY(finisher->arena, KernelStore, from->stores.data, from->stores.count);
    for (int64_t i = 0; i < from->stores.count; i++) {
      stores[i].value = renumber(finisher, stores[i].value);
      stores[i].predicate = renumber(finisher, stores[i].predicate);
      stores[i].address = rewrite_index(finisher, stores[i].address);
    }
    stages[s] = (KernelStage){.store_count = (int32_t)from->stores.count,
                              .stores = stores,
                              .comparator = from->comparator,
                              .compared_count = from->compared_count,
                              .compared = rewrite_compared(finisher, from),
                              .transform = from->transform};
  }
  kernel->stages = stages;
  kernel->stage_count = (int32_t)lowering->stage_order.count;
}

static void renumber_transform(const Finisher *finisher, KernelStage *stage, const int32_t *number) {
  if (stage->transform == NULL) return;
  KernelTransform *copy = ARENA_NEW(finisher->arena, KernelTransform);
  *copy = *stage->transform;
  for (int i = 0; i < 4; i++) copy->buffers[i / 2][i % 2] = number[copy->buffers[i / 2][i % 2]];
  stage->transform = copy;
}

/* Complex buffers are of twice as many parts; those nothing reads or writes are dropped, the others move up. */
static void rewrite_buffers(Finisher *finisher, Kernel *kernel) {
  const Lowering *lowering = finisher->lowering;
  int64_t count = lowering->buffers.count;
  int32_t *number = ARENA_NEW_ARRAY(finisher->arena, int32_t, count);
  bool *used = ARENA_NEW_ARRAY(finisher->arena, bool, count);
  for (int v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind == KERNEL_LOAD) used[kernel->values[v].buffer] = true;
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) used[kernel->stages[s].stores[i].buffer] = true;
    const KernelTransform *transform = kernel->stages[s].transform;
    for (int i = 0; transform != NULL && i < 4; i++) used[transform->buffers[i / 2][i % 2]] = true;
  }
  KernelBuffer *buffers = ARENA_NEW_ARRAY(finisher->arena, KernelBuffer, count);
  for (int64_t b = 0; b < count; b++) {
    number[b] = kernel->buffer_count;
    if (!used[b]) continue;
    KernelBuffer *buffer = &buffers[kernel->buffer_count++];
    *buffer = lowering->buffers.data[b];
    if (type_is_complex(buffer->type)) buffer->element_count *= 2;
    buffer->type = type_complex_part(buffer->type);
  }
  for (int v = 0; v < kernel->value_count; v++) {
    KernelValue *value = (KernelValue *)&kernel->values[v];
    if (value->kind == KERNEL_LOAD) value->buffer = number[value->buffer];
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    KernelStore *stores = (KernelStore *)kernel->stages[s].stores;
    for (int i = 0; i < kernel->stages[s].store_count; i++) stores[i].buffer = number[stores[i].buffer];
    renumber_transform(finisher, (KernelStage *)&kernel->stages[s], number);
  }
  kernel->buffers = buffers;
}

Kernel *lowering_finish(Lowering *lowering) {
  Finisher finisher = {.lowering = lowering, .arena = lowering->arena};
  finisher.alive = ARENA_NEW_ARRAY(lowering->arena, bool, lowering->values.count);
  finisher.new_number = ARENA_NEW_ARRAY(lowering->arena, int32_t, lowering->values.count);
  finisher.fold_alive = ARENA_NEW_ARRAY(lowering->arena, bool, lowering->folds.count);
  finisher.new_fold = ARENA_NEW_ARRAY(lowering->arena, int32_t, lowering->folds.count);
  index_space_init(&finisher.space, lowering->arena);
  mark_all(&finisher);
  merge_dims(&finisher);
  place_dims(&finisher);
  Kernel *kernel = ARENA_NEW(lowering->arena, Kernel);
  kernel->arena = lowering->arena;
  kernel->source = lowering->source;
  kernel->dims = finisher.dims;
  kernel->dim_count = finisher.dim_count;
  KernelFold *folds = copy_folds(&finisher, kernel);
  rewrite_values(&finisher, kernel);
  rewrite_effects(&finisher, kernel, folds);
  rewrite_buffers(&finisher, kernel);
  kernel->space = finisher.space;
  return kernel;
}
