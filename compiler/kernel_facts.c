#include "compiler/kernel_facts.h"

static StringView loops_of(const Kernel *kernel, Arena *arena) {
  StringBuilder text;
  sb_init(&text, arena);
  for (int32_t i = 0; i < kernel->dim_count; i++) {
    bool is_inner = kernel->dims[i].stage != KERNEL_OUTER;
    sb_printf(&text, is_inner ? "%s[%lld]" : "%s%lld", i > 0 ? " " : "", (long long)kernel->dims[i].extent);
  }
  return sb_view(&text);
}

static void count_bytes(const Kernel *kernel, KernelFact *fact) {
  for (int32_t i = 0; i < kernel->buffer_count; i++) {
    const KernelBuffer *buffer = &kernel->buffers[i];
    int64_t bytes = type_storage_bytes(buffer->type) * buffer->element_count;
    if (buffer->role == KERNEL_OPERAND || buffer->role == KERNEL_IN_PLACE) fact->bytes_read += bytes;
    if (buffer->role == KERNEL_RESULT || buffer->role == KERNEL_IN_PLACE) fact->bytes_written += bytes;
  }
}

static bool is_by_minimal_filtering(const CodeDraft *draft, int32_t identity) {
  bool found = false;
  for (int i = 0; i < LLVM_MOST_VARIANTS && draft->strategies[i] != NULL; i++)
    found |= draft->strategies[i][identity].form == KERNEL_FORM_WINOGRAD;
  return found;
}

KernelFacts kernel_facts(const Compilation *compilation, Arena *arena) {
  KernelFacts facts = {0};
  const KernelTable *table = compilation->draft.kernels;
  for (int64_t row = 0; table != NULL && row < table->rows.count; row++) {
    const KernelUses *uses = &table->rows.data[row];
    const BufferScratch *scratch =
        compilation->assignment != NULL ? buffer_assignment_scratch(compilation->assignment, uses->instruction) : NULL;
    for (int32_t i = 0; i < uses->count; i++) {
      const Kernel *kernel = uses->uses[i].kernel;
      KernelFact fact = {.instruction = uses->instruction,
                         .identity = uses->uses[i].identity,
                         .loops = loops_of(kernel, arena),
                         .stages = kernel->part_count > 0 ? kernel->part_count : kernel->stage_count,
                         .scratch_bytes = scratch != NULL ? scratch->size : 0,
                         .by_minimal_filtering = is_by_minimal_filtering(&compilation->draft, uses->uses[i].identity)};
      count_bytes(kernel, &fact);
      array_push(&facts, arena, fact);
    }
  }
  return facts;
}
