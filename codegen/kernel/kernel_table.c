#include "codegen/kernel/kernel_table.h"

#include "base/hash_map.h"

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
  StringBuilder text;
  sb_init(&text, table->arena);
  kernel_print(&text, kernel);
  uintptr_t known = (uintptr_t)string_map_get(&table->numbers, sb_view(&text));
  if (known == 0) {
    known = (uintptr_t)++table->identity_count;
    string_map_set(&table->numbers, sb_view(&text), (void *)known);
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
