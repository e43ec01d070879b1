#include "codegen/kernel/kernel_turns.h"

static KernelUses *row_of(const KernelTable *table, const HloInstruction *instruction) {
  KernelUses *row = (KernelUses *)kernel_table_find(table, instruction);
  if (row == NULL) XLAC_BUG("a turn of an instruction without Kernels");
  return row;
}

/* What |turn|'s use has become. */
static KernelUse use_of(const KernelTable *table, const KernelTurn *turn) {
  const KernelUses *row = row_of(table, turn->use->instruction);
  for (int32_t i = 0; i < row->count; i++) {
    if (row->uses[i].place != turn->use->place) continue;
    if (turn->strip >= row->count - i) break;
    KernelUse use = row->uses[i + turn->strip];
    use.is_moved = true;
    return use;
  }
  XLAC_BUG("a turn of a Kernel that its instruction has not");
}

void kernel_table_take_turns(KernelTable *table, const KernelTurns *turns) {
  KernelUse *uses = ARENA_NEW_ARRAY(table->arena, KernelUse, turns->count + 1);
  for (int32_t t = 0; t < turns->count; t++) uses[t] = use_of(table, &turns->turns[t]);
  for (int32_t t = 0; t < turns->count; t++) {
    KernelUses *row = row_of(table, uses[t].instruction);
    *row = (KernelUses){.instruction = row->instruction, .is_elsewhere = true};
  }
  *row_of(table, turns->last) = (KernelUses){turns->last, turns->count, uses, false};
}
