#include "codegen/kernel/kernel_sharing.h"

#include "codegen/kernel/kernel_internal.h"

const Kernel *kernel_bound_as(Arena *arena, const Kernel *shared, const Kernel *own) {
  Kernel *made = ARENA_NEW(arena, Kernel);
  *made = *shared;
  KernelBuffer *buffers = ARENA_NEW_ARRAY(arena, KernelBuffer, shared->buffer_count);
  for (int b = 0; b < shared->buffer_count; b++) {
    buffers[b] = shared->buffers[b];
    if (b >= own->buffer_count) continue;
    buffers[b].operand = own->buffers[b].operand;
    buffers[b].node = own->buffers[b].node;
  }
  made->buffers = buffers;
  made->source = own->source;
  return made;
}

static Status verify_shared(const KernelTable *table, DiagSink *diag) {
  int32_t known = 0; /* identities are dense */
  for (int64_t r = 0; r < table->rows.count; r++) {
    const KernelUses *row = &table->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      const KernelUse *use = &row->uses[i];
      if (use->identity < known) continue;
      known = use->identity + 1;
      if (use->offsets != NULL || use->parameters != NULL) RETURN_IF_ERROR(kernel_verify(use->kernel, diag));
    }
  }
  return STATUS_OK;
}

Status kernel_table_share(KernelTable *table, bool (*has_function)(const Kernel *kernel), DiagSink *diag) {
  kernel_table_share_places(table, has_function);
  kernel_table_share_constants(table, has_function);
  return verify_shared(table, diag);
}
