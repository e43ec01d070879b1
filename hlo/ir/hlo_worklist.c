#include "hlo/ir/hlo_worklist.h"

void hlo_worklist_init(HloWorklist *list, Arena *scratch) {
  *list = (HloWorklist){0};
  int_map_init(&list->added, scratch);
}

bool hlo_worklist_has(const HloWorklist *list, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(&list->added, (uint64_t)instruction->id, &ignored);
}

void hlo_worklist_add(HloWorklist *list, const HloInstruction *instruction) {
  if (hlo_worklist_has(list, instruction)) return;
  int_map_set(&list->added, (uint64_t)instruction->id, 1);
  array_push(&list->open, list->added.arena, instruction);
}

void hlo_worklist_add_users(HloWorklist *list, const HloInstruction *instruction) {
  for (int32_t i = 0; i < instruction->user_count; i++) hlo_worklist_add(list, instruction->users[i]);
}

const HloInstruction *hlo_worklist_take(HloWorklist *list) {
  return list->open.count > 0 ? array_pop(&list->open) : NULL;
}
