/* Strips of a Kernel that scatters: each makes the updates of a part of the array. */
#include "codegen/kernel/kernel_draft.h"
#include "codegen/kernel/kernel_internal.h"

/* --- whether it can be cut --- */

/* The one store, to a place that values tell, and nowhere where they tell none. */
static const KernelStore *only_update(const Kernel *kernel) {
  if (kernel->part_count > 0 || kernel->fold_count > 0 || kernel->stage_count != 1) return NULL;
  const KernelStage *stage = &kernel->stages[0];
  if (stage->store_count != 1 || stage->comparator != NULL || stage->transform != NULL) return NULL;
  const KernelStore *store = &stage->stores[0];
  bool is_scatter = store->predicate >= 0 && index_has_atom(&kernel->space, store->address, INDEX_ATOM_VALUE);
  return is_scatter && kernel->buffers[store->buffer].role == KERNEL_IN_PLACE ? store : NULL;
}

int64_t kernel_strip_updates(const Kernel *kernel, int64_t *out_pieces) {
  const KernelStore *store = only_update(kernel);
  if (store == NULL) return 0;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (b != store->buffer && kernel->buffers[b].role != KERNEL_OPERAND) return 0;
    out_pieces[b] = b == store->buffer;
  }
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_old = value->kind == KERNEL_LOAD && value->buffer == store->buffer;
    if (is_old && (value->predicate != store->predicate || !index_equal(value->address, store->address))) return 0;
  }
  return kernel->buffers[store->buffer].element_count;
}

/* --- a strip --- */

typedef struct UpdatesMaker {
  const Kernel *from;
  const KernelStore *store; /* of that */
  KernelStrip strip;
  KernelDraft draft;
  IndexExpr *dims; /* of the strip, which has all of the Kernel's points */
  int32_t *values; /* by value of the Kernel: the strip's */
  int32_t guard;   /* value: whether a point updates the part; -1: not yet */
} UpdatesMaker;

static IndexExpr address_in(UpdatesMaker *maker, int32_t buffer, IndexExpr address) {
  IndexSpace *space = &maker->draft.space;
  IndexExpr made = index_substitute(space, &maker->from->space, address, maker->dims, maker->values);
  return buffer == maker->store->buffer ? index_add_constant(space, made, -maker->strip.first) : made;
}

static int32_t guard_of(UpdatesMaker *maker) {
  if (maker->guard >= 0) return maker->guard;
  KernelValue inside = kernel_value_blank(KERNEL_IN_RANGE, TYPE_PRED);
  inside.address = address_in(maker, maker->store->buffer, maker->store->address);
  inside.upper = maker->strip.extent;
  KernelValue both = kernel_value_blank(KERNEL_APPLY, TYPE_PRED);
  both.opcode = HLO_AND;
  both.operand_count = 2;
  both.operands[0] = maker->values[maker->store->predicate];
  both.operands[1] = kernel_draft_add_value(&maker->draft, inside);
  return maker->guard = kernel_draft_add_value(&maker->draft, both);
}

static void add_value(UpdatesMaker *maker, int32_t number) {
  KernelValue value = maker->from->values[number];
  int32_t buffer = value.kind == KERNEL_LOAD ? value.buffer : -1;
  value.address = address_in(maker, buffer, value.address);
  if (buffer == maker->store->buffer)
    value.predicate = guard_of(maker);
  else if (value.predicate >= 0)
    value.predicate = maker->values[value.predicate];
  for (int32_t i = 0; i < value.operand_count; i++) value.operands[i] = maker->values[value.operands[i]];
  maker->values[number] = kernel_draft_add_value(&maker->draft, value);
}

const Kernel *kernel_updates_strip(Arena *arena, const Kernel *kernel, KernelStrip strip, const int64_t **out_offsets) {
  int64_t *offsets = ARENA_NEW_ARRAY(arena, int64_t, kernel->buffer_count);
  if (kernel_strip_updates(kernel, offsets) == 0) XLAC_BUG("a Kernel whose updates cannot be cut");
  UpdatesMaker maker = {.from = kernel, .store = only_update(kernel), .strip = strip, .guard = -1};
  KernelStore store = *maker.store;
  kernel_draft_init(&maker.draft, arena, kernel->source);
  maker.dims = ARENA_NEW_ARRAY(arena, IndexExpr, kernel->dim_count);
  maker.values = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count);
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    const KernelDim *of = &kernel->dims[d];
    maker.dims[d] = kernel_draft_add_dim(&maker.draft, of->extent, of->kind, of->stage);
  }
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    KernelBuffer buffer = kernel->buffers[b];
    offsets[b] *= strip.first;
    if (b == store.buffer) buffer.element_count = strip.extent;
    kernel_draft_add_buffer(&maker.draft, buffer);
  }
  for (int32_t v = 0; v < kernel->value_count; v++) add_value(&maker, v);
  store.address = address_in(&maker, store.buffer, store.address);
  store.value = maker.values[store.value];
  store.predicate = guard_of(&maker);
  kernel_draft_add_store(&maker.draft, kernel_draft_add_stage(&maker.draft), store);
  const Kernel *made;
  DiagSink diag;
  diag_sink_init(&diag, arena);
  if (kernel_draft_finish(&maker.draft, &diag, &made) != STATUS_OK) XLAC_BUG("a strip of updates that is no Kernel");
  if (out_offsets != NULL) *out_offsets = offsets;
  return made;
}
