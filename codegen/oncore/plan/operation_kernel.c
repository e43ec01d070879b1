#include "codegen/oncore/plan/operation_kernel.h"

#include "codegen/kernel/kernel_draft.h"

typedef struct ScratchSpreader {
  const Kernel *from;
  KernelDraft draft;
  IndexExpr *dims; /* by dim of |from| */
  int32_t *values; /* by value: the same number */
  IndexExpr point; /* of the outer dims, counted in row-major order */
  int64_t points;  /* there are */
} ScratchSpreader;

static void add_dims(ScratchSpreader *spreader, Arena *arena) {
  const Kernel *from = spreader->from;
  IndexSpace *space = &spreader->draft.space;
  spreader->dims = ARENA_NEW_ARRAY(arena, IndexExpr, from->dim_count);
  spreader->points = 1;
  for (int32_t d = 0; d < from->dim_count; d++) {
    const KernelDim *dim = &from->dims[d];
    spreader->dims[d] = kernel_draft_add_dim(&spreader->draft, dim->extent, dim->kind, dim->stage);
    if (dim->stage != KERNEL_OUTER) continue;
    spreader->point = index_add(space, index_scale(space, spreader->point, dim->extent), spreader->dims[d]);
    spreader->points *= dim->extent;
  }
}

static void add_buffers(ScratchSpreader *spreader) {
  for (int32_t b = 0; b < spreader->from->buffer_count; b++) {
    KernelBuffer buffer = spreader->from->buffers[b];
    if (buffer.role == KERNEL_SCRATCH) {
      buffer.role = KERNEL_IN_PLACE;
      buffer.element_count *= spreader->points;
    }
    kernel_draft_add_buffer(&spreader->draft, buffer);
  }
}

static IndexExpr address_in(ScratchSpreader *spreader, int32_t buffer, IndexExpr address) {
  const Kernel *from = spreader->from;
  IndexSpace *space = &spreader->draft.space;
  IndexExpr same = index_substitute(space, &from->space, address, spreader->dims, spreader->values);
  if (buffer < 0 || from->buffers[buffer].role != KERNEL_SCRATCH) return same;
  return index_add(space, index_scale(space, spreader->point, from->buffers[buffer].element_count), same);
}

static void add_values(ScratchSpreader *spreader, Arena *arena) {
  const Kernel *from = spreader->from;
  spreader->values = ARENA_NEW_ARRAY(arena, int32_t, from->value_count);
  for (int32_t f = 0; f < from->fold_count; f++) kernel_draft_add_fold(&spreader->draft, from->folds[f]);
  for (int32_t v = 0; v < from->value_count; v++) {
    KernelValue value = from->values[v];
    spreader->values[v] = v;
    value.address = address_in(spreader, value.kind == KERNEL_LOAD ? value.buffer : -1, value.address);
    kernel_draft_add_value(&spreader->draft, value);
  }
}

static void add_stages(ScratchSpreader *spreader, Arena *arena) {
  for (int32_t s = 0; s < spreader->from->stage_count; s++) {
    const KernelStage *stage = &spreader->from->stages[s];
    kernel_draft_add_stage(&spreader->draft);
    KernelDraftStage *made = &array_last(&spreader->draft.stages);
    made->comparator = stage->comparator;
    for (int32_t i = 0; i < stage->compared_count; i++) array_push(&made->compared, arena, stage->compared[i]);
    for (int32_t i = 0; i < stage->store_count; i++) {
      KernelStore store = stage->stores[i];
      store.address = address_in(spreader, store.buffer, store.address);
      kernel_draft_add_store(&spreader->draft, s, store);
    }
  }
}

Status operation_kernel_make(Arena *arena, const Kernel *kernel, DiagSink *diag, const Kernel **out_kernel) {
  bool has_scratch = false;
  *out_kernel = kernel;
  for (int32_t b = 0; b < kernel->buffer_count; b++)
    has_scratch = has_scratch || kernel->buffers[b].role == KERNEL_SCRATCH;
  if (!has_scratch) return STATUS_OK;
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    if (kernel->stages[s].transform == NULL) continue;
    return diag_error(diag, STATUS_UNSUPPORTED, kernel->source->loc, "unsupported-operation",
                      "a Fourier transform cannot be one command");
  }
  ScratchSpreader spreader = {.from = kernel, .point = index_constant(0)};
  kernel_draft_init(&spreader.draft, arena, kernel->source);
  add_dims(&spreader, arena);
  add_buffers(&spreader);
  add_values(&spreader, arena);
  add_stages(&spreader, arena);
  return kernel_draft_finish(&spreader.draft, diag, out_kernel);
}
