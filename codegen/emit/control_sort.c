/* Calls of sorts. */
#include "base/checked_math.h"
#include "codegen/blocks/sort.h"
#include "codegen/emit/control_internal.h"

/* So many elements for each thread at least. */
#define ELEMENTS_PER_CHUNK 16384

static Status sort_function(ControlEmitter *control, const HloInstruction *sort, ControlKernel *out_kernel) {
  const char *name = arena_printf(control->arena, "sort.%lld", (long long)control->sort_count++);
  VecBuilder vec = *control->vec;
  vec.builder = LLVMCreateBuilderInContext(vec.context);
  SortCode code;
  Status status = sort_emit(&vec, sort, name, control->diag, &code);
  LLVMDisposeBuilder(vec.builder);
  RETURN_IF_ERROR(status);
  int64_t chunks = code.line_count * code.line_length / ELEMENTS_PER_CHUNK;
  *out_kernel = (ControlKernel){.code = {.function = code.function,
                                         .scratch_bytes = code.scratch_bytes,
                                         .piece_count = code.line_count,
                                         .chunk_limit = max_i64(1, min_i64(chunks, code.line_count)),
                                         .chunks_per_worker = 2}};
  control->scratch_bytes = max_i64(control->scratch_bytes, code.scratch_bytes);
  if (out_kernel->code.chunk_limit > 1) {
    out_kernel->body =
        control_parallel_body(control, &out_kernel->code, arena_printf(control->arena, "%s.chunk", name));
    control->scratch_bytes_per_worker = max_i64(control->scratch_bytes_per_worker, code.scratch_bytes);
  }
  return STATUS_OK;
}

Status control_sort(ControlEmitter *control, const HloInstruction *sort) {
  if (shape_element_count(sort->operands[0]->shape) == 0) return STATUS_OK;
  ControlKernel kernel;
  RETURN_IF_ERROR(sort_function(control, sort, &kernel));
  LLVMTypeRef index = LLVMInt64TypeInContext(control->vec->context);
  LLVMValueRef *arguments = ARENA_NEW_ARRAY(control->arena, LLVMValueRef, 2 * sort->operand_count + 3);
  unsigned count = 0;
  for (int i = 0; i < sort->operand_count; i++) arguments[count++] = control_address(control, sort->operands[i], 0);
  for (int i = 0; i < sort->operand_count; i++) {
    int node = shape_is_tuple(sort->shape) ? shape_node_child(sort->shape, 0, i) : 0;
    arguments[count++] = control_address(control, sort, node);
  }
  arguments[count] = control_scratch(control);
  control_poison_scratch(control, arguments[count++], kernel.code.scratch_bytes);
  control->kernel_count++;
  control->distinct_kernel_count++;
  if (kernel.body != NULL) {
    control_call_shared(control, &kernel, arguments, count);
    return STATUS_OK;
  }
  arguments[count++] = LLVMConstInt(index, 0, false);
  arguments[count++] = LLVMConstInt(index, (unsigned long long)kernel.code.piece_count, false);
  LLVMBuildCall2(control->vec->builder, LLVMGlobalGetValueType(kernel.code.function), kernel.code.function, arguments,
                 count, "");
  return STATUS_OK;
}
