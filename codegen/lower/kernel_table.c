#include "codegen/lower/kernel_table.h"

#include "base/hash_map.h"
#include "codegen/lower/emit_family.h"

struct KernelTable {
  Arena *arena;
  IntMap uses;       /* instruction → KernelUses */
  StringMap numbers; /* text of a Kernel → its identity + 1 */
  int32_t identity_count;
};

KernelTable *kernel_table_create(Arena *arena) {
  KernelTable *table = ARENA_NEW(arena, KernelTable);
  table->arena = arena;
  int_map_init(&table->uses, arena);
  string_map_init(&table->numbers, arena);
  return table;
}

static int32_t identity_of(KernelTable *table, const Kernel *kernel) {
  StringView text = kernel_text(table->arena, kernel);
  uintptr_t known = (uintptr_t)string_map_get(&table->numbers, text);
  if (known == 0) {
    known = (uintptr_t)++table->identity_count;
    string_map_set(&table->numbers, text, (void *)known);
  }
  return (int32_t)known - 1;
}

Status kernel_table_get(KernelTable *table, const HloInstruction *instruction, DiagSink *diag, KernelUses *out_uses) {
  KernelUses *known = pointer_map_get(&table->uses, instruction);
  if (known == NULL) {
    KernelList list;
    RETURN_IF_ERROR(kernel_build(table->arena, instruction, diag, &list));
    KernelUse *uses = ARENA_NEW_ARRAY(table->arena, KernelUse, list.count);
    for (int i = 0; i < list.count; i++) uses[i] = (KernelUse){list.kernels[i], identity_of(table, list.kernels[i])};
    known = ARENA_NEW(table->arena, KernelUses);
    *known = (KernelUses){list.count, uses};
    pointer_map_set(&table->uses, instruction, known);
  }
  *out_uses = *known;
  return STATUS_OK;
}

/* --- all of a module --- */

static bool is_float(const HloInstruction *instruction) {
  return type_is_float(instruction->shape->type) || type_is_complex(instruction->shape->type);
}

static bool has_kernels(const HloInstruction *instruction, bool with_scalars) {
  EmitFamily family = emit_family(instruction->opcode);
  if (!emit_family_makes_kernels(family)) return false;
  if (!shape_is_scalar(instruction->shape) || family != EMIT_elementwise) return true;
  bool has_floats = is_float(instruction);
  for (int i = 0; i < instruction->operand_count; i++) has_floats = has_floats || is_float(instruction->operands[i]);
  return with_scalars && has_floats;
}

Status kernel_table_visit(KernelTable *table, const HloModule *module, bool with_scalars, DiagSink *diag,
                          Status (*visit)(void *self, const KernelVisit *visit, DiagSink *diag), void *self) {
  const bool *applied = hlo_module_applied(table->arena, module, true);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (applied[computation->id]) continue; /* inside of Kernels it has none of its own */
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (!has_kernels(instruction, with_scalars)) continue;
      KernelUses uses;
      RETURN_IF_ERROR(kernel_table_get(table, instruction, diag, &uses));
      for (int32_t k = 0; k < uses.count; k++) {
        KernelVisit one = {instruction, k, uses.uses[k]};
        RETURN_IF_ERROR(visit(self, &one, diag));
      }
    }
  }
  return STATUS_OK;
}
