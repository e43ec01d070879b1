#include <inttypes.h>

#include "codegen/kernel/kernel.h"

/* What must hold of every Kernel: values before their uses, addresses inside their buffers or guarded, and no two
 * points of parallel dims that write the same element. */

typedef struct KernelCheck {
  const Kernel *kernel;
  DiagSink *diag;
} KernelCheck;

static Status broken(const KernelCheck *check, const char *code, const char *what, int number) {
  const HloInstruction *source = check->kernel->source;
  return diag_error(check->diag, STATUS_INVALID, source->loc, code, "the Kernel of '%.*s': %s %d", SV_ARG(source->name),
                    what, number);
}

/* The largest number among the values that |expr| reads, -1 for none. */
static int32_t latest_value(const Kernel *kernel, IndexExpr expr) {
  int32_t latest = -1;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    int32_t here = -1;
    if (atom->kind == INDEX_ATOM_VALUE) here = atom->number;
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) here = latest_value(kernel, atom->inner);
    if (here > latest) latest = here;
  }
  return latest;
}

/* An address must stay inside its buffer on its own, unless a predicate guards it. */
static Status check_address(const KernelCheck *check, int32_t buffer, IndexExpr address, int32_t predicate,
                            int number) {
  const Kernel *kernel = check->kernel;
  if (buffer < 0 || buffer >= kernel->buffer_count)
    return broken(check, "kernel-buffer", "no such buffer at value", number);
  int64_t lower, upper;
  index_range(&kernel->space, address, &lower, &upper);
  if (predicate < 0 && (lower < 0 || upper >= kernel->buffers[buffer].element_count)) {
    return broken(check, "kernel-address", "an address leaves its buffer at value", number);
  }
  return STATUS_OK;
}

static Status check_value(const KernelCheck *check, int32_t number) {
  const Kernel *kernel = check->kernel;
  const KernelValue *value = &kernel->values[number];
  for (int i = 0; i < value->operand_count; i++) {
    int32_t operand = value->operands[i];
    if (operand < 0 || operand >= number)
      return broken(check, "kernel-order", "an operand comes later at value", number);
    if (kernel->values[operand].stage > value->stage)
      return broken(check, "kernel-stage", "an operand of a later stage at value", number);
  }
  if (value->predicate >= number) return broken(check, "kernel-order", "the predicate comes later at value", number);
  if (value->predicate >= 0 && kernel->values[value->predicate].type != TYPE_PRED) {
    return broken(check, "kernel-type", "the predicate is no pred at value", number);
  }
  if (latest_value(kernel, value->address) >= number)
    return broken(check, "kernel-order", "the index reads a later value at value", number);
  if (value->kind == KERNEL_LOAD && value->buffer >= 0 && value->buffer < kernel->buffer_count &&
      kernel->buffers[value->buffer].role == KERNEL_OVERLAPPED)
    return broken(check, "kernel-buffer", "where tiles overlap is read by value", number);
  if (value->kind == KERNEL_LOAD) return check_address(check, value->buffer, value->address, value->predicate, number);
  if (value->kind == KERNEL_ACCUMULATOR && (value->fold < 0 || value->fold >= kernel->fold_count)) {
    return broken(check, "kernel-fold", "no such fold at value", number);
  }
  if (value->kind == KERNEL_ACCUMULATOR && value->type != kernel->folds[value->fold].type) {
    return broken(check, "kernel-type", "fold and accumulator differ in type at value", number);
  }
  return STATUS_OK;
}

static bool depends_on_dim(const Kernel *kernel, IndexExpr expr, int dim) {
  if (index_dim_coefficient(&kernel->space, expr, dim) != 0 || index_depends_nonlinearly(&kernel->space, expr, dim))
    return true;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    bool is_value = atom->kind == INDEX_ATOM_VALUE;
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (is_value && (kernel->values[atom->number].dims >> dim & 1) != 0) return true;
    if (is_nested && depends_on_dim(kernel, atom->inner, dim)) return true;
  }
  return false;
}

/* Points that may run at once must not write one element: their address has to tell them apart. */
static Status check_parallel(const KernelCheck *check, const KernelStore *store, int number) {
  const Kernel *kernel = check->kernel;
  if (kernel->buffers[store->buffer].role == KERNEL_SCRATCH) return STATUS_OK; /* one per point */
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != KERNEL_OUTER || !kernel_dim_is_parallel(&kernel->dims[d])) continue;
    if (!depends_on_dim(kernel, store->address, d)) {
      return broken(check, "kernel-parallel", "parallel points write one element at store", number);
    }
  }
  return STATUS_OK;
}

static bool is_only_read(const KernelBuffer *buffer) {
  return buffer->role == KERNEL_OPERAND || buffer->role == KERNEL_PARAMETERS;
}

static Status check_stage(const KernelCheck *check, int stage) {
  const Kernel *kernel = check->kernel;
  for (int i = 0; i < kernel->stages[stage].store_count; i++) {
    const KernelStore *store = &kernel->stages[stage].stores[i];
    if (store->value < 0 || store->value >= kernel->value_count)
      return broken(check, "kernel-store", "no value for store", i);
    if (store->buffer < 0 || store->buffer >= kernel->buffer_count)
      return broken(check, "kernel-buffer", "no such buffer at store", i);
    if (store->predicate >= kernel->value_count) return broken(check, "kernel-store", "no predicate for store", i);
    if (store->predicate >= 0 && kernel->values[store->predicate].type != TYPE_PRED) {
      return broken(check, "kernel-type", "the predicate is no pred at store", i);
    }
    if (kernel->values[store->value].type != kernel->buffers[store->buffer].type) {
      return broken(check, "kernel-type", "value and buffer differ in type at store", i);
    }
    if (is_only_read(&kernel->buffers[store->buffer]))
      return broken(check, "kernel-store", "an operand is written by store", i);
    if (latest_value(kernel, store->address) >= kernel->value_count)
      return broken(check, "kernel-store", "no value for the address of store", i);
    if (kernel->values[store->value].stage > stage)
      return broken(check, "kernel-stage", "a value of a later stage at store", i);
    RETURN_IF_ERROR(check_address(check, store->buffer, store->address, store->predicate, i));
    RETURN_IF_ERROR(check_parallel(check, store, i));
  }
  return STATUS_OK;
}

/* Buffers of the comparator that hold what it reads of one of the points: |half| 0 or 1. */
static const KernelBuffer *compared_buffer(const Kernel *comparator, int32_t operand, int half) {
  for (int b = 0; b < comparator->buffer_count; b++) {
    const KernelBuffer *buffer = &comparator->buffers[b];
    if (buffer->role == KERNEL_OPERAND && buffer->operand == 2 * operand + half) return buffer;
  }
  return NULL;
}

static bool is_compared(const KernelStage *stage, int32_t operand) {
  for (int32_t i = 0; i < stage->compared_count; i++) {
    if (stage->compared[i].operand == operand) return true;
  }
  return false;
}

/* A comparator finds what it reads. */
static Status check_compared(const KernelCheck *check, const KernelStage *stage) {
  const Kernel *kernel = check->kernel;
  for (int32_t i = 0; i < stage->compared_count; i++) {
    const KernelCompared *compared = &stage->compared[i];
    for (int part = 0; part < 2; part++) {
      int32_t value = compared->parts[part];
      if (value >= kernel->value_count || (value < 0 && part == 0))
        return broken(check, "kernel-sort", "no value for what is compared,", i);
      for (int half = 0; half < 2 && value >= 0; half++) {
        const KernelBuffer *buffer = compared_buffer(stage->comparator, compared->operand, half);
        if (buffer != NULL && buffer->type != kernel->values[value].type)
          return broken(check, "kernel-type", "value and comparator differ in type at what is compared,", i);
      }
    }
  }
  for (int b = 0; b < stage->comparator->buffer_count; b++) {
    const KernelBuffer *buffer = &stage->comparator->buffers[b];
    if (buffer->role == KERNEL_OPERAND && !is_compared(stage, buffer->operand / 2))
      return broken(check, "kernel-sort", "nothing is compared for buffer", b);
  }
  return STATUS_OK;
}

/* lower <= place < upper */
static bool is_range_of_places(const Kernel *kernel, const KernelValue *value, int dim) {
  const IndexExpr *expr = &value->address;
  return value->kind == KERNEL_IN_RANGE && expr->term_count == 1 &&
         index_dim_coefficient(&kernel->space, *expr, dim) == 1;
}

/* One dim in order; stores everywhere, or in a range of places. */
static Status check_sort(const KernelCheck *check, int number) {
  const Kernel *kernel = check->kernel;
  const KernelStage *stage = &kernel->stages[number];
  int sorted = 0, inner = 0, dim = -1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != number) continue;
    inner++;
    dim = d;
    sorted += kernel->dims[d].kind == KERNEL_SORTED;
  }
  if (stage->comparator == NULL)
    return sorted == 0 ? STATUS_OK : broken(check, "kernel-sort", "no comparator in stage", number);
  if (sorted != 1 || inner != 1) return broken(check, "kernel-sort", "not one sorted dim in stage", number);
  for (int i = 0; i < stage->store_count; i++) {
    int32_t predicate = stage->stores[i].predicate;
    if (predicate >= 0 && !is_range_of_places(kernel, &kernel->values[predicate], dim))
      return broken(check, "kernel-sort", "guarded by more than a range is store", i);
  }
  return check_compared(check, stage);
}

/* Two pairs of scratch buffers that hold all lines, and nothing else in the stage. */
static Status check_transform(const KernelCheck *check, int number) {
  const Kernel *kernel = check->kernel;
  const KernelTransform *transform = kernel->stages[number].transform;
  if (transform == NULL) return STATUS_OK;
  bool is_alone = kernel->stages[number].store_count == 0 && transform->factor_count > 0;
  for (int d = 0; d < kernel->dim_count; d++) is_alone = is_alone && kernel->dims[d].stage != number;
  if (!is_alone) return broken(check, "kernel-transform", "more than a transform in stage", number);
  if (transform->reals != KERNEL_NO_REALS && transform->inner != 1)
    return broken(check, "kernel-transform", "columns of reals in stage", number);
  int64_t points = kernel_transform_elements(transform);
  for (int i = 0; i < 4; i++) {
    int32_t buffer = transform->buffers[i / 2][i % 2];
    if (buffer < 0 || buffer >= kernel->buffer_count)
      return broken(check, "kernel-buffer", "no such buffer in stage", number);
    const KernelBuffer *info = &kernel->buffers[buffer];
    bool fits = info->role == KERNEL_SCRATCH && info->element_count == points &&
                (info->type == TYPE_F32 || info->type == TYPE_F64) &&
                info->type == kernel->buffers[transform->buffers[0][0]].type;
    for (int k = 0; k < i; k++) fits = fits && transform->buffers[k / 2][k % 2] != buffer;
    if (!fits) return broken(check, "kernel-transform", "buffers are no lines in stage", number);
  }
  return STATUS_OK;
}

static Status check_fold(const KernelCheck *check, int number) {
  const Kernel *kernel = check->kernel;
  const KernelFold *fold = &kernel->folds[number];
  if (fold->stage < 0 || fold->stage >= kernel->stage_count)
    return broken(check, "kernel-fold", "no such stage for fold", number);
  if (fold->next < 0 || fold->next >= kernel->value_count || kernel->values[fold->next].type != fold->type) {
    return broken(check, "kernel-fold", "wrong next value of fold", number);
  }
  if (fold->seed < 0 || fold->seed >= kernel->value_count || kernel->values[fold->seed].type != fold->type) {
    return broken(check, "kernel-fold", "wrong seed of fold", number);
  }
  if (kernel->values[fold->seed].stage != KERNEL_OUTER)
    return broken(check, "kernel-fold", "the seed varies in the stage of fold", number);
  return STATUS_OK;
}

/* Parts are bound to buffers of their types and sizes, which one tile's share of the scratch is to them. */
static Status check_part(const KernelCheck *check, int number) {
  const Kernel *kernel = check->kernel;
  const KernelPart *part = &kernel->parts[number];
  for (int b = 0; b < part->kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &part->kernel->buffers[b];
    if (buffer->role == KERNEL_SCRATCH) continue;
    int32_t bound = part->buffers[b];
    if (bound >= kernel->buffer_count || bound < KERNEL_TILE_INDEX)
      return broken(check, "kernel-part", "no such buffer for part", number);
    PrimitiveType type = bound == KERNEL_TILE_INDEX ? TYPE_S64 : kernel->buffers[bound].type;
    int64_t count = bound == KERNEL_TILE_INDEX ? part->index_count : kernel->buffers[bound].element_count;
    if (type != buffer->type || count != buffer->element_count)
      return broken(check, "kernel-part", "a buffer of another form for part", number);
    bool writes = buffer->role != KERNEL_OPERAND;
    if (writes && (bound == KERNEL_TILE_INDEX || kernel->buffers[bound].role == KERNEL_OPERAND))
      return broken(check, "kernel-part", "an operand is written by part", number);
  }
  return kernel_verify(part->kernel, check->diag);
}

Status kernel_verify(const Kernel *kernel, DiagSink *diag) {
  KernelCheck check = {kernel, diag};
  if (kernel->part_count > 0 && (kernel->dim_count > 1 || kernel->value_count > 0 || kernel->stage_count > 0))
    return broken(&check, "kernel-part", "beside its parts a Kernel has stages or dims, parts", kernel->part_count);
  for (int p = 0; p < kernel->part_count; p++) RETURN_IF_ERROR(check_part(&check, p));
  for (int d = 0; d < kernel->dim_count; d++) {
    const KernelDim *dim = &kernel->dims[d];
    if (dim->extent < 2) return broken(&check, "kernel-dim", "a loop of less than two rounds, dim", d);
    if (dim->stage < KERNEL_OUTER || dim->stage >= kernel->stage_count)
      return broken(&check, "kernel-dim", "no such stage for dim", d);
    if (dim->stage == KERNEL_OUTER && (dim->kind == KERNEL_REDUCTION || dim->kind == KERNEL_SORTED))
      return broken(&check, "kernel-dim", "wrong kind of dim", d);
  }
  for (int32_t v = 0; v < kernel->value_count; v++) RETURN_IF_ERROR(check_value(&check, v));
  for (int f = 0; f < kernel->fold_count; f++) RETURN_IF_ERROR(check_fold(&check, f));
  for (int s = 0; s < kernel->stage_count; s++) {
    RETURN_IF_ERROR(check_stage(&check, s));
    RETURN_IF_ERROR(check_sort(&check, s));
    RETURN_IF_ERROR(check_transform(&check, s));
  }
  return STATUS_OK;
}
