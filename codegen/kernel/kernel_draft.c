#include "codegen/kernel/kernel_draft.h"

#include "codegen/kernel/kernel_internal.h"

/* Adding to a draft of a Kernel, sharing equal values, and turning the draft into the Kernel. */

void kernel_draft_init(KernelDraft *draft, Arena *arena, const HloInstruction *source) {
  *draft = (KernelDraft){.arena = arena, .source = source};
  index_space_init(&draft->space, arena);
  int_map_init(&draft->shared, arena);
}

IndexExpr kernel_draft_add_dim(KernelDraft *draft, int64_t extent, KernelDimKind kind, int32_t stage) {
  if (extent <= 1) return index_constant(0);
  if (draft->dims.count == KERNEL_MAX_DIMS) XLAC_BUG("a Kernel with more than %d dims", KERNEL_MAX_DIMS);
  int dim = (int)draft->dims.count;
  array_push(&draft->dims, draft->arena, ((KernelDim){extent, kind, stage}));
  return index_dim(&draft->space, dim, extent);
}

int32_t kernel_draft_add_buffer(KernelDraft *draft, KernelBuffer buffer) {
  array_push(&draft->buffers, draft->arena, buffer);
  return (int32_t)draft->buffers.count - 1;
}

int32_t kernel_draft_bind_buffer(KernelDraft *draft, KernelBuffer buffer) {
  for (int32_t b = 0; b < draft->buffers.count; b++) {
    const KernelBuffer *made = &draft->buffers.data[b];
    if (made->operand == buffer.operand && made->node == buffer.node) return b;
  }
  return kernel_draft_add_buffer(draft, buffer);
}

/* --- values --- */

KernelValue kernel_value_blank(KernelValueKind kind, PrimitiveType type) {
  return (KernelValue){.kind = kind, .type = type, .operands = {-1, -1, -1}, .buffer = -1, .fold = -1, .predicate = -1};
}

int32_t kernel_draft_add_value(KernelDraft *draft, KernelValue value) {
  for (int i = 0; i < value.operand_count; i++) XLAC_CHECK(value.operands[i] < draft->values.count);
  XLAC_CHECK(value.predicate < draft->values.count);
  XLAC_CHECK(value.buffer < draft->buffers.count && value.fold < draft->folds.count);
  array_push(&draft->values, draft->arena, value);
  return (int32_t)draft->values.count - 1;
}

static uint64_t value_hash(const KernelValue *value) {
  uint64_t hash = hash_combine((uint64_t)value->kind * 64 + (uint64_t)value->type, (uint64_t)value->opcode);
  for (int i = 0; i < value->operand_count; i++) hash = hash_combine(hash, (uint64_t)value->operands[i]);
  hash = hash_combine(hash, (uint64_t)value->params[0] * 31 + (uint64_t)value->params[1]);
  hash = hash_combine(hash, (uint64_t)value->buffer * 8 + (uint64_t)value->fold);
  hash = hash_combine(hash, (uint64_t)value->predicate);
  hash = hash_combine(hash, (uint64_t)value->lower * 31 + (uint64_t)value->upper);
  hash = hash_combine(hash, value->bits[0] * 31 + value->bits[1]);
  hash = hash_combine(hash, (uint64_t)value->address.constant);
  for (int i = 0; i < value->address.term_count; i++) {
    hash =
        hash_combine(hash, (uint64_t)value->address.terms[i].coefficient * 64 + (uint64_t)value->address.terms[i].atom);
  }
  return hash;
}

static bool value_same(const KernelValue *a, const KernelValue *b) {
  return a->kind == b->kind && a->type == b->type && a->opcode == b->opcode && a->operand_count == b->operand_count &&
         memcmp(a->operands, b->operands, sizeof a->operands) == 0 &&
         memcmp(a->params, b->params, sizeof a->params) == 0 && a->buffer == b->buffer && a->fold == b->fold &&
         a->predicate == b->predicate && a->lower == b->lower && a->upper == b->upper &&
         memcmp(a->bits, b->bits, sizeof a->bits) == 0 && index_equal(a->address, b->address);
}

int32_t kernel_draft_share_value(KernelDraft *draft, KernelValue value) {
  uint64_t hash = value_hash(&value);
  int64_t found;
  while (int_map_find(&draft->shared, hash, &found)) {
    if (value_same(&draft->values.data[found], &value)) return (int32_t)found;
    hash = hash_u64(hash);
  }
  int_map_set(&draft->shared, hash, draft->values.count);
  return kernel_draft_add_value(draft, value);
}

/* --- folds, stages, parts --- */

int32_t kernel_draft_add_fold(KernelDraft *draft, KernelFold fold) {
  array_push(&draft->folds, draft->arena, fold);
  return (int32_t)draft->folds.count - 1;
}

int32_t kernel_draft_add_stage(KernelDraft *draft) {
  array_push(&draft->stages, draft->arena, ((KernelDraftStage){0}));
  return (int32_t)draft->stages.count - 1;
}

void kernel_draft_add_store(KernelDraft *draft, int32_t stage, KernelStore store) {
  XLAC_CHECK(store.buffer < draft->buffers.count);
  array_push(&draft->stages.data[stage].stores, draft->arena, store);
}

void kernel_draft_add_part(KernelDraft *draft, KernelPart part) {
  array_push(&draft->parts, draft->arena, part);
}

/* --- the Kernel --- */

static const KernelStage *frozen_stages(const KernelDraft *draft) {
  KernelStage *stages = ARENA_NEW_ARRAY(draft->arena, KernelStage, draft->stages.count);
  for (int64_t s = 0; s < draft->stages.count; s++) {
    const KernelDraftStage *from = &draft->stages.data[s];
    stages[s] = (KernelStage){.store_count = (int32_t)from->stores.count,
                              .stores = from->stores.data,
                              .comparator = from->comparator,
                              .compared_count = (int32_t)from->compared.count,
                              .compared = from->compared.data,
                              .transform = from->transform};
  }
  return stages;
}

Status kernel_draft_finish(KernelDraft *draft, DiagSink *diag, const Kernel **out_kernel) {
  Kernel *kernel = ARENA_NEW(draft->arena, Kernel);
  *kernel = (Kernel){.arena = draft->arena,
                     .space = draft->space,
                     .dim_count = (int32_t)draft->dims.count,
                     .buffer_count = (int32_t)draft->buffers.count,
                     .value_count = (int32_t)draft->values.count,
                     .fold_count = (int32_t)draft->folds.count,
                     .stage_count = (int32_t)draft->stages.count,
                     .dims = draft->dims.data,
                     .buffers = draft->buffers.data,
                     .values = draft->values.data,
                     .folds = draft->folds.data,
                     .stages = frozen_stages(draft),
                     .part_count = (int32_t)draft->parts.count,
                     .parts = draft->parts.data,
                     .source = draft->source};
  kernel_values_depend(kernel, draft->values.data);
  *out_kernel = kernel;
  return kernel_verify(kernel, diag);
}
