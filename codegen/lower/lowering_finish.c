/* From a lowering to a Kernel: refinement of dims, merging of dims, dead values, renumbering. */
#include <string.h>

#include "codegen/lower/lowering_internal.h"

/* --- what is alive --- */

typedef struct Finisher {
  const Lowering *lowering;
  const KernelDraft *from;
  KernelDraft to;
  bool *alive;          /* by old value */
  int32_t *new_number;  /* by old value */
  bool *fold_alive;     /* by old fold */
  int32_t *new_fold;    /* by old fold */
  int32_t *new_buffer;  /* by old buffer */
  IndexExpr *dim_index; /* by old dim: its part of the new ones */
} Finisher;

static void mark(Finisher *finisher, int32_t value);

static void mark_index(Finisher *finisher, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &finisher->from->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) mark(finisher, atom->number);
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) mark_index(finisher, atom->inner);
  }
}

static void mark_fold(Finisher *finisher, int32_t fold) {
  finisher->fold_alive[fold] = true;
  mark(finisher, finisher->from->folds.data[fold].seed);
  mark(finisher, finisher->from->folds.data[fold].next);
}

static void mark(Finisher *finisher, int32_t value) {
  if (value < 0 || finisher->alive[value]) return;
  finisher->alive[value] = true;
  const KernelValue *info = &finisher->from->values.data[value];
  for (int i = 0; i < info->operand_count; i++) mark(finisher, info->operands[i]);
  mark(finisher, info->predicate);
  mark_index(finisher, info->address);
  if (info->kind == KERNEL_ACCUMULATOR) mark_fold(finisher, info->fold);
}

static void mark_all(Finisher *finisher) {
  for (int64_t s = 0; s < finisher->from->stages.count; s++) {
    const KernelDraftStage *stage = &finisher->from->stages.data[s];
    for (int64_t i = 0; i < stage->stores.count; i++) {
      mark(finisher, stage->stores.data[i].value);
      mark(finisher, stage->stores.data[i].predicate);
      mark_index(finisher, stage->stores.data[i].address);
    }
    for (int64_t i = 0; i < stage->compared.count; i++) {
      for (int part = 0; part < 2; part++) mark(finisher, stage->compared.data[i].parts[part]);
    }
  }
}

static Finisher finisher_create(const Lowering *lowering) {
  const KernelDraft *from = &lowering->draft;
  Finisher finisher = {.lowering = lowering, .from = from};
  finisher.alive = ARENA_NEW_ARRAY(from->arena, bool, from->values.count);
  finisher.fold_alive = ARENA_NEW_ARRAY(from->arena, bool, from->folds.count);
  mark_all(&finisher);
  return finisher;
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
  const KernelDraft *draft = &lowering->draft;
  Finisher finisher = finisher_create(lowering);
  LiveAtoms live = {&draft->space, ARENA_NEW_ARRAY(lowering->arena, bool, draft->space.atoms.count + 1)};
  for (int64_t v = 0; v < draft->values.count; v++) {
    if (finisher.alive[v]) mark_atoms(&live, draft->values.data[v].address);
  }
  for (int64_t s = 0; s < draft->stages.count; s++) {
    const KernelDraftStage *stage = &draft->stages.data[s];
    for (int64_t i = 0; i < stage->stores.count; i++) mark_atoms(&live, stage->stores.data[i].address);
  }
  return live;
}

bool lowering_has_quotients(const Lowering *lowering) {
  LiveAtoms live = live_atoms(lowering);
  for (int64_t a = 0; a < lowering->draft.space.atoms.count; a++) {
    IndexAtomKind kind = lowering->draft.space.atoms.data[a].kind;
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
  LiveAtoms live = lowering->flat != NULL ? live_atoms(lowering) : (LiveAtoms){&lowering->draft.space, NULL};
  for (int64_t a = 0; a < lowering->draft.space.atoms.count; a++) {
    const IndexAtom *atom = &lowering->draft.space.atoms.data[a];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (live.marks != NULL && !live.marks[a]) continue; /* of the flat walk's own dimensions */
    if (!is_nested || atom->inner.term_count != 1 || atom->inner.terms[0].coefficient != 1) continue;
    const IndexAtom *inner = &lowering->draft.space.atoms.data[atom->inner.terms[0].atom];
    if (inner->kind != INDEX_ATOM_DIM || atom->inner.constant != 0) continue;
    if (lowering->draft.dims.data[inner->number].kind == KERNEL_SORTED) continue; /* a line's points are one dim */
    int64_t extent = lowering->draft.dims.data[inner->number].extent;
    DimOrigin origin = lowering->origins.data[inner->number];
    if (extent % atom->divisor != 0 || origin.ordinal >= MAX_RANK) continue;
    if (splits[origin.ordinal].factor_count >= FACTOR_LIMIT || lowering->draft.dims.count >= KERNEL_MAX_DIMS - 2)
      continue;
    split_factor(&splits[origin.ordinal], origin.factor, extent, atom->divisor);
    if (origin.ordinal >= *split_count) *split_count = origin.ordinal + 1;
    return true;
  }
  return unroll(lowering, splits, split_count);
}

/* --- merging dims --- */

static bool index_allows_merge(const Finisher *finisher, IndexExpr expr, int dim, int64_t inner_extent) {
  const IndexSpace *space = &finisher->from->space;
  if (index_depends_nonlinearly(space, expr, dim) || index_depends_nonlinearly(space, expr, dim + 1)) return false;
  return index_dim_coefficient(space, expr, dim) == index_dim_coefficient(space, expr, dim + 1) * inner_extent;
}

static bool may_merge(const Finisher *finisher, int dim) {
  const KernelDraft *from = finisher->from;
  const KernelDim *outer = &from->dims.data[dim], *inner = &from->dims.data[dim + 1];
  if (outer->kind != inner->kind || outer->stage != inner->stage) return false;
  for (int64_t v = 0; v < from->values.count; v++) {
    if (finisher->alive[v] && !index_allows_merge(finisher, from->values.data[v].address, dim, inner->extent))
      return false;
  }
  for (int64_t s = 0; s < from->stages.count; s++) {
    const KernelDraftStage *stage = &from->stages.data[s];
    for (int64_t i = 0; i < stage->stores.count; i++) {
      if (!index_allows_merge(finisher, stage->stores.data[i].address, dim, inner->extent)) return false;
    }
  }
  return true;
}

/* --- what stages keep for one another --- */

/* A step of a buffer's elements at which two dims of some stage meet and cannot be merged. */
typedef struct KeptStep {
  int32_t buffer;
  int64_t step;
} KeptStep;

typedef struct KeptSteps {
  const Finisher *finisher;
  bool *merges; /* by dim: with the next one */
  bool has_changed;
  ARRAY(KeptStep) steps;
} KeptSteps;

/* Where |dim| and the next one meet in a SCRATCH buffer at |address|: notes the step if they stay apart, or keeps them
 * apart where another stage notes it. */
static void meet_at(KeptSteps *kept, int32_t buffer, IndexExpr address, int dim) {
  const KernelDraft *from = kept->finisher->from;
  int64_t step = index_dim_coefficient(&from->space, address, dim);
  if (from->buffers.data[buffer].role != KERNEL_SCRATCH || step <= 0) return;
  bool is_noted = false;
  for (int64_t i = 0; i < kept->steps.count; i++)
    is_noted = is_noted || (kept->steps.data[i].buffer == buffer && kept->steps.data[i].step == step);
  if (!kept->merges[dim] && !is_noted) array_push(&kept->steps, from->arena, ((KeptStep){buffer, step}));
  if (!kept->merges[dim] || !is_noted) return;
  kept->merges[dim] = false;
  kept->has_changed = true;
}

static void meet_everywhere(KeptSteps *kept, int dim) {
  const Finisher *finisher = kept->finisher;
  const KernelDraft *from = finisher->from;
  for (int64_t v = 0; v < from->values.count; v++) {
    const KernelValue *value = &from->values.data[v];
    if (finisher->alive[v] && value->kind == KERNEL_LOAD) meet_at(kept, value->buffer, value->address, dim);
  }
  for (int64_t s = 0; s < from->stages.count; s++) {
    const KernelDraftStage *stage = &from->stages.data[s];
    for (int64_t i = 0; i < stage->stores.count; i++)
      meet_at(kept, stage->stores.data[i].buffer, stage->stores.data[i].address, dim);
  }
}

/* Dims of a stage that lie in what it keeps as dims of another stage do which cannot be merged are not merged either.
 */
static void keep_axes(const Finisher *finisher, bool *merges) {
  KeptSteps kept = {.finisher = finisher, .merges = merges, .has_changed = true};
  const KernelDim *dims = finisher->from->dims.data;
  while (kept.has_changed) {
    kept.has_changed = false;
    for (int round = 0; round < 2; round++)
      for (int d = 0; d + 1 < finisher->from->dims.count; d++)
        if (dims[d].stage == dims[d + 1].stage) meet_everywhere(&kept, d);
  }
}

/* The place of stage |number| in the order of execution. */
static int stage_place(const Lowering *lowering, int number) {
  for (int i = 0; i < lowering->stage_order.count; i++) {
    if (lowering->stage_order.data[i] == number) return i;
  }
  return KERNEL_OUTER;
}

/* Dims keep the order in which they were made, which is by stage as far as they neighbour: outer ones first.  Of those
 * that are merged the last has all of the index. */
static void merge_dims(Finisher *finisher) {
  const KernelDraft *from = finisher->from;
  int64_t extent = 1;
  bool *merges = ARENA_NEW_ARRAY(from->arena, bool, from->dims.count + 1);
  for (int d = 0; d + 1 < from->dims.count; d++) merges[d] = may_merge(finisher, d);
  if (finisher->lowering->target.keeps_axes) keep_axes(finisher, merges);
  finisher->dim_index = ARENA_NEW_ARRAY(from->arena, IndexExpr, from->dims.count);
  for (int d = 0; d < from->dims.count; d++) {
    const KernelDim *dim = &from->dims.data[d];
    extent *= dim->extent;
    finisher->dim_index[d] = index_constant(0);
    if (merges[d]) continue;
    int stage = stage_place(finisher->lowering, dim->stage);
    finisher->dim_index[d] = kernel_draft_add_dim(&finisher->to, extent, dim->kind, stage);
    extent = 1;
  }
}

static IndexExpr rewrite_index(Finisher *finisher, IndexExpr expr) {
  return index_substitute(&finisher->to.space, &finisher->from->space, expr, finisher->dim_index, finisher->new_number);
}

/* --- buffers --- */

static void use_transform(const KernelTransform *transform, bool *used) {
  for (int i = 0; transform != NULL && i < 4; i++) used[transform->buffers[i / 2][i % 2]] = true;
}

/* Complex buffers are of twice as many parts; those nothing reads or writes are dropped, the others move up. */
static void copy_buffers(Finisher *finisher) {
  const KernelDraft *from = finisher->from;
  bool *used = ARENA_NEW_ARRAY(from->arena, bool, from->buffers.count);
  for (int64_t v = 0; v < from->values.count; v++) {
    const KernelValue *value = &from->values.data[v];
    if (finisher->alive[v] && value->kind == KERNEL_LOAD) used[value->buffer] = true;
  }
  for (int64_t s = 0; s < from->stages.count; s++) {
    const KernelDraftStage *stage = &from->stages.data[s];
    for (int64_t i = 0; i < stage->stores.count; i++) used[stage->stores.data[i].buffer] = true;
    use_transform(stage->transform, used);
  }
  finisher->new_buffer = ARENA_NEW_ARRAY(from->arena, int32_t, from->buffers.count);
  for (int64_t b = 0; b < from->buffers.count; b++) {
    KernelBuffer buffer = from->buffers.data[b];
    finisher->new_buffer[b] = -1;
    if (!used[b]) continue;
    if (type_is_complex(buffer.type)) buffer.element_count *= 2;
    buffer.type = type_complex_part(buffer.type);
    finisher->new_buffer[b] = kernel_draft_add_buffer(&finisher->to, buffer);
  }
}

/* --- values, folds, stages --- */

static int32_t renumber(const Finisher *finisher, int32_t value) {
  return value < 0 ? -1 : finisher->new_number[value];
}

static void copy_values(Finisher *finisher) {
  const KernelDraft *from = finisher->from;
  finisher->new_number = ARENA_NEW_ARRAY(from->arena, int32_t, from->values.count);
  for (int32_t v = 0; v < from->values.count; v++) {
    if (!finisher->alive[v]) continue;
    KernelValue value = from->values.data[v];
    for (int i = 0; i < value.operand_count; i++) value.operands[i] = renumber(finisher, value.operands[i]);
    value.predicate = renumber(finisher, value.predicate);
    if (value.kind == KERNEL_ACCUMULATOR) value.fold = finisher->new_fold[value.fold];
    if (value.kind == KERNEL_LOAD) value.buffer = finisher->new_buffer[value.buffer];
    value.address = rewrite_index(finisher, value.address);
    finisher->new_number[v] = kernel_draft_add_value(&finisher->to, value);
  }
}

/* Before the values that read them; seeds and next values are renumbered afterwards (connect_folds).  What nothing
 * reads goes; complex folds are two already. */
static void copy_folds(Finisher *finisher) {
  const KernelDraft *from = finisher->from;
  finisher->new_fold = ARENA_NEW_ARRAY(from->arena, int32_t, from->folds.count);
  for (int64_t f = 0; f < from->folds.count; f++) {
    if (!finisher->fold_alive[f]) continue;
    KernelFold fold = from->folds.data[f];
    fold.stage = stage_place(finisher->lowering, fold.stage);
    fold.type = type_complex_part(fold.type);
    finisher->new_fold[f] = kernel_draft_add_fold(&finisher->to, fold);
  }
}

static void connect_folds(Finisher *finisher) {
  for (int64_t f = 0; f < finisher->to.folds.count; f++) {
    KernelFold *fold = &finisher->to.folds.data[f];
    fold->seed = renumber(finisher, fold->seed);
    fold->next = renumber(finisher, fold->next);
  }
}

static const KernelTransform *copy_transform(const Finisher *finisher, const KernelTransform *transform) {
  if (transform == NULL) return NULL;
  KernelTransform *copy = ARENA_COPY_ARRAY(finisher->to.arena, KernelTransform, transform, 1);
  for (int i = 0; i < 4; i++) copy->buffers[i / 2][i % 2] = finisher->new_buffer[copy->buffers[i / 2][i % 2]];
  return copy;
}

static void copy_stage(Finisher *finisher, const KernelDraftStage *from) {
  KernelDraft *to = &finisher->to;
  int32_t number = kernel_draft_add_stage(to);
  KernelDraftStage *stage = &to->stages.data[number];
  stage->comparator = from->comparator;
  stage->transform = copy_transform(finisher, from->transform);
  for (int64_t i = 0; i < from->stores.count; i++) {
    KernelStore store = from->stores.data[i];
    store.buffer = finisher->new_buffer[store.buffer];
    store.value = renumber(finisher, store.value);
    store.predicate = renumber(finisher, store.predicate);
    store.address = rewrite_index(finisher, store.address);
    kernel_draft_add_store(to, number, store);
  }
  for (int64_t i = 0; i < from->compared.count; i++) {
    KernelCompared compared = from->compared.data[i];
    for (int part = 0; part < 2; part++) compared.parts[part] = renumber(finisher, compared.parts[part]);
    array_push(&stage->compared, to->arena, compared);
  }
}

Status lowering_finish(const Lowering *lowering, const Kernel **out_kernel) {
  Finisher finisher = finisher_create(lowering);
  kernel_draft_init(&finisher.to, lowering->arena, lowering->source);
  merge_dims(&finisher);
  copy_buffers(&finisher);
  copy_folds(&finisher);
  copy_values(&finisher);
  connect_folds(&finisher);
  for (int64_t s = 0; s < lowering->stage_order.count; s++)
    copy_stage(&finisher, &finisher.from->stages.data[lowering->stage_order.data[s]]);
  return kernel_draft_finish(&finisher.to, lowering->diag, out_kernel);
}
