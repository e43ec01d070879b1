#include "codegen/oncore/tiling/buffer_shortage.h"

#include <inttypes.h>

/* The array whose tile it is, or what it is for. */
static const char *tensor_purpose(Arena *arena, const Kernel *kernel, const TileTensor *tensor) {
  if (tensor->fold >= 0) return "a sum";
  if (tensor->buffer < 0) return "run-time addresses";
  const KernelBuffer *buffer = &kernel->buffers[tensor->buffer];
  if (buffer->role == KERNEL_SCRATCH) return "what one stage computes for another";
  const HloInstruction *holder = kernel->source;
  if (buffer->operand >= 0) holder = holder->operands[buffer->operand];
  return arena_printf(arena, "%s'%.*s'", buffer->role == KERNEL_OPERAND ? "operand " : "result ", SV_ARG(holder->name));
}

static void note_tensor(Arena *arena, const Kernel *kernel, const TileTensor *tensor, bool is_largest, DiagSink *diag) {
  static const char *const kinds[] = {"tile", "ring", "tile", "accumulator", "rows"};
  StringBuilder shape;
  sb_init(&shape, arena);
  for (int32_t i = 0; i < tensor->axis_count; i++)
    sb_printf(&shape, "%s%" PRId64, i > 0 ? "," : "", tensor->extents[i]);
  const char *slots = tensor->slots > 1 ? arena_printf(arena, "%d slots of ", tensor->slots) : "";
  StringView text = sb_view(&shape);
  diag_note(diag, kernel->source->loc, "%s%" PRId64 " bytes: %s for %s, %s%s[%.*s]", is_largest ? "the largest, " : "",
            tensor->slots * tensor->slot_bytes, kinds[tensor->kind], tensor_purpose(arena, kernel, tensor), slots,
            type_text(tensor->type), SV_ARG(text));
}

Status buffer_shortage_report(const Kernel *kernel, const MachineDescription *machine, const Tiling *least,
                              int64_t buffer_bytes, DiagSink *diag) {
  Arena *scratch = arena_create();
  TileOutline outline;
  tile_outline_make(scratch, kernel, machine, least, &outline);
  int64_t needed = 0, largest = 0;
  for (int64_t t = 0; t < outline.tensors.count; t++) {
    const TileTensor *tensor = &outline.tensors.data[t], *most = &outline.tensors.data[largest];
    needed += tensor->slots * tensor->slot_bytes;
    if (tensor->slots * tensor->slot_bytes > most->slots * most->slot_bytes) largest = t;
  }
  Status status = diag_error(diag, STATUS_EXHAUSTED, kernel->source->loc, "oncore-too-small",
                             "'%.*s' needs %" PRId64 " bytes of Buffer even in its smallest tiles; there are %" PRId64,
                             SV_ARG(kernel->source->name), needed, buffer_bytes);
  for (int64_t t = 0; t < outline.tensors.count; t++) {
    note_tensor(scratch, kernel, &outline.tensors.data[t], t == largest, diag);
  }
  diag_note(diag, kernel->source->loc, "a Buffer of %" PRId64 " bytes would do", needed + machine->buffer.reserve);
  arena_destroy(scratch);
  return status;
}
