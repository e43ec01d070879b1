#include "codegen/lower/module_kernels.h"

#include "codegen/lower/emit_family.h"
#include "hlo/analysis/in_place.h"

static bool any_type(const HloInstruction *instruction, bool (*is)(PrimitiveType type)) {
  bool found = is(instruction->shape->type);
  for (int i = 0; i < instruction->operand_count; i++) found = found || is(instruction->operands[i]->shape->type);
  return found;
}

/* Scalars are computed and copied in registers of the control function. */
static bool has_kernels(const HloInstruction *instruction, bool has_scalar_floats) {
  EmitFamily family = emit_family(instruction->opcode);
  if (!emit_family_makes_kernels(family) || hlo_is_view(instruction)) return false;
  if (!shape_is_scalar(instruction->shape) || (family != EMIT_elementwise && family != EMIT_copy)) return true;
  return any_type(instruction, type_is_complex) || (!has_scalar_floats && any_type(instruction, type_is_float));
}

static Status add_computation(KernelTable *table, const HloComputation *computation, const KernelTarget *target,
                              DiagSink *diag) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (!has_kernels(instruction, target->has_scalar_floats)) continue;
    KernelList list;
    RETURN_IF_ERROR(kernel_build_for(table->arena, instruction, target, diag, &list));
    kernel_table_add(table, instruction, list.kernels, list.count);
  }
  return STATUS_OK;
}

Status module_kernels_build(Arena *arena, const HloModule *module, const KernelTarget *target, DiagSink *diag,
                            KernelTable **out_table) {
  KernelTable *table = *out_table = kernel_table_create(arena);
  Arena *scratch = arena_create();
  const bool *is_applied = hlo_module_applied(scratch, module, true);
  Status status = STATUS_OK;
  for (int64_t c = 0; c < module->computations.count && status == STATUS_OK; c++) {
    const HloComputation *computation = module->computations.data[c];
    /* One that is applied inside Kernels has none of its own. */
    if (!is_applied[computation->id]) status = add_computation(table, computation, target, diag);
  }
  arena_destroy(scratch);
  return status;
}
