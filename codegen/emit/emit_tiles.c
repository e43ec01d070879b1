/* Kernels of tiles: for each tile the functions of the parts, one after the other. */
#include "codegen/emit/emit_internal.h"

enum { INDEX_BYTES = 8 };

typedef struct TileEmitter {
  const VecBuilder *vec;
  const Kernel *kernel;
  Arena *arena;
  LLVMValueRef function;
  const KernelCode *codes; /* by part */
  LLVMValueRef *buffers;   /* of the whole */
  LLVMValueRef scratch;
  int64_t part_scratch; /* where that of parts begins, after links and coordinates */
} TileEmitter;

static LLVMValueRef int_constant(const TileEmitter *emitter, int64_t value) {
  return ir_index(emitter->vec->context, value);
}

static LLVMValueRef scratch_at(const TileEmitter *emitter, int64_t offset) {
  LLVMValueRef index = int_constant(emitter, offset);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, LLVMInt8TypeInContext(emitter->vec->context), emitter->scratch,
                               &index, 1, "");
}

static Status emit_parts(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy, const char *name,
                         Arena *arena, DiagSink *diag, KernelCode **out_codes) {
  KernelCode *codes = *out_codes = ARENA_NEW_ARRAY(arena, KernelCode, kernel->part_count);
  for (int p = 0; p < kernel->part_count; p++) {
    const char *part = arena_printf(arena, "%s.part%d", name, p);
    RETURN_IF_ERROR(kernel_emit(vec, kernel->parts[p].kernel, &strategy->parts[p], part, diag, &codes[p]));
  }
  return STATUS_OK;
}

/* Where a tile begins of which the last of each |at->period| begins early. */
static LLVMValueRef early_place(const TileEmitter *emitter, const KernelCoordinate *at, LLVMValueRef tile) {
  LLVMBuilderRef builder = emitter->vec->builder;
  LLVMValueRef period = int_constant(emitter, at->period), last = int_constant(emitter, at->last);
  LLVMValueRef whole = LLVMBuildUDiv(builder, tile, period, ""), part = LLVMBuildURem(builder, tile, period, "");
  part = LLVMBuildMul(builder, part, int_constant(emitter, at->step), "");
  part = LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntSLT, part, last, ""), part, last, "");
  return LLVMBuildAdd(builder, LLVMBuildMul(builder, whole, int_constant(emitter, at->stride), ""), part, "");
}

/* The coordinates of |tile| for a part, and where they stand. */
static LLVMValueRef store_indices(const TileEmitter *emitter, const KernelPart *part, LLVMValueRef tile,
                                  int64_t offset) {
  LLVMBuilderRef builder = emitter->vec->builder;
  int64_t tiles = emitter->kernel->dim_count == 0 ? 1 : emitter->kernel->dims[0].extent;
  for (int i = 0; i < part->index_count; i++) {
    const KernelCoordinate *at = &part->coordinates[i];
    LLVMValueRef index = LLVMBuildUDiv(builder, tile, int_constant(emitter, at->divisor), "");
    if (at->divisor * at->extent < tiles) index = LLVMBuildURem(builder, index, int_constant(emitter, at->extent), "");
    if (at->period > 0) index = early_place(emitter, at, index);
    LLVMBuildStore(builder, index, scratch_at(emitter, offset + i * INDEX_BYTES));
  }
  return scratch_at(emitter, offset);
}

static void call_part(const TileEmitter *emitter, int number, LLVMValueRef tile, int64_t indices) {
  const KernelPart *part = &emitter->kernel->parts[number];
  const KernelCode *code = &emitter->codes[number];
  unsigned count = 0;
  LLVMValueRef *arguments =
      ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, part->kernel->buffer_count + 1 + KERNEL_MOST_PARAMETERS);
  LLVMValueRef index = store_indices(emitter, part, tile, indices);
  for (int b = 0; b < part->kernel->buffer_count; b++) {
    if (part->kernel->buffers[b].role == KERNEL_SCRATCH) continue;
    int32_t bound = part->buffers[b];
    arguments[count++] = bound == KERNEL_TILE_INDEX ? index : emitter->buffers[bound];
  }
  arguments[count++] = scratch_at(emitter, emitter->part_scratch);
  kernel_code_append_all(emitter->vec, code, arguments, &count);
  LLVMBuildCall2(emitter->vec->builder, LLVMGlobalGetValueType(code->function), code->function, arguments, count, "");
}

Status emit_tiles(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy, const char *name,
                  DiagSink *diag, KernelCode *out_code) {
  Arena *arena = arena_create();
  TileEmitter emitter = {.vec = vec, .kernel = kernel, .arena = arena};
  KernelCode *codes;
  Status status = emit_parts(vec, kernel, strategy, name, arena, diag, &codes);
  if (status != STATUS_OK) {
    arena_destroy(arena);
    return status;
  }
  int64_t tiles = kernel->dim_count == 0 ? 1 : kernel->dims[0].extent;
  bool has_pieces = strategy->piece_count > 1;
  emitter.codes = codes;
  emitter.function = emit_function(vec, kernel, name, strategy, arena);
  LLVMPositionBuilderAtEnd(vec->builder, LLVMAppendBasicBlockInContext(vec->context, emitter.function, ""));
  emitter.buffers = emit_buffer_pointers(vec, kernel, emitter.function, arena, &emitter.scratch);
  emitter.part_scratch = strategy->row_bytes + strategy->index_bytes;
  IndexRange range = ir_range(vec->context, 0, tiles);
  if (has_pieces) {
    unsigned first = LLVMCountParams(emitter.function) - 2;
    range = (IndexRange){LLVMGetParam(emitter.function, first), LLVMGetParam(emitter.function, first + 1)};
  }
  IrLoop loop = ir_loop_count(vec->builder, range, 1, NULL, 0);
  for (int p = 0; p < kernel->part_count; p++) call_part(&emitter, p, loop.index, strategy->row_bytes);
  ir_loop_end(&loop);
  LLVMBuildRetVoid(vec->builder);
  LLVMClearInsertionPosition(vec->builder);
  *out_code = emit_code(strategy, emitter.function);
  arena_destroy(arena);
  return STATUS_OK;
}
