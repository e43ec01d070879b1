#include "codegen/kernel/kernel_table.h"

#include <inttypes.h>

KernelTable *kernel_table_create(Arena *arena) {
  KernelTable *table = ARENA_NEW(arena, KernelTable);
  table->arena = arena;
  int_map_init(&table->row_of_instruction, arena);
  string_map_init(&table->identities, arena);
  return table;
}

static int32_t identity_of(KernelTable *table, const Kernel *kernel) {
  StringView text = kernel_text(table->arena, kernel);
  uintptr_t known = (uintptr_t)string_map_get(&table->identities, text);
  if (known == 0) {
    known = (uintptr_t)++table->identity_count;
    string_map_set(&table->identities, text, (void *)known);
  }
  return (int32_t)known - 1;
}

void kernel_table_add(KernelTable *table, const HloInstruction *instruction, const Kernel *const *kernels,
                      int32_t count) {
  KernelUse *uses = ARENA_NEW_ARRAY(table->arena, KernelUse, count);
  for (int32_t i = 0; i < count; i++)
    uses[i] = (KernelUse){kernels[i], instruction, i, .identity = identity_of(table, kernels[i])};
  array_push(&table->rows, table->arena, ((KernelUses){instruction, count, uses, false}));
  pointer_map_set(&table->row_of_instruction, instruction, (void *)(uintptr_t)table->rows.count);
}

void kernel_table_change(KernelTable *table, KernelUse (*change)(void *self, KernelUse use), void *self) {
  Arena *scratch = arena_create();
  int32_t *numbers = ARENA_NEW_ARRAY(scratch, int32_t, table->identity_count), count = 0; /* new ones + 1 */
  for (int64_t r = 0; r < table->rows.count; r++) {
    KernelUses *row = &table->rows.data[r];
    KernelUse *uses = ARENA_NEW_ARRAY(table->arena, KernelUse, row->count);
    for (int32_t i = 0; i < row->count; i++) {
      uses[i] = change(self, row->uses[i]);
      int32_t *number = &numbers[uses[i].identity];
      if (*number == 0) *number = ++count;
      uses[i].identity = *number - 1;
    }
    row->uses = uses;
  }
  table->identity_count = count;
  arena_destroy(scratch);
}

const KernelUses *kernel_table_find(const KernelTable *table, const HloInstruction *instruction) {
  uintptr_t row = (uintptr_t)pointer_map_get(&table->row_of_instruction, instruction);
  return row == 0 ? NULL : &table->rows.data[row - 1];
}

StringView kernel_use_name(Arena *arena, const KernelUse *use) {
  StringView name = use->instruction->name;
  if (use->place > 0) name = sv_printf(arena, "%.*s.%d", SV_ARG(name), use->place);
  if (use->strip.extent == 0) return name;
  const KernelStrip *strip = &use->strip;
  bool has_inner = strip->inner_extent > 0;
  StringView inner = has_inner ? sv_printf(arena, ".%" PRId64, strip->inner_first) : (StringView){0};
  return sv_printf(arena, "%.*s[%s%" PRId64 "%.*s+%" PRId64 "%s]", SV_ARG(name), strip->goes_on ? "+" : "",
                   strip->first, SV_ARG(inner), has_inner ? strip->inner_extent : strip->extent,
                   strip->leaves_open ? "+" : "");
}

/* Where |byte| is in |text|, or its end. */
static size_t place_of(StringView text, char byte) {
  size_t place = 0;
  while (place < text.size && text.data[place] != byte) place++;
  return place;
}

static StringView after(StringView text, size_t place) {
  return (StringView){text.data + place + 1, text.size - place - 1};
}

bool kernel_strip_read(StringView text, KernelStrip *out_strip) {
  if (text.size < 2 || text.data[0] != '[' || text.data[text.size - 1] != ']') return false;
  StringView inside = {text.data + 1, text.size - 2};
  *out_strip = (KernelStrip){.goes_on = sv_starts_with(inside, SV("+")), .leaves_open = sv_ends_with(inside, SV("+"))};
  if (out_strip->goes_on) inside = (StringView){inside.data + 1, inside.size - 1};
  if (out_strip->leaves_open && inside.size > 0) inside.size--;
  size_t plus = place_of(inside, '+');
  if (plus == inside.size) return false;
  StringView first = {inside.data, plus}, extent = after(inside, plus);
  size_t point = place_of(first, '.');
  if (point == first.size) return sv_to_count(first, &out_strip->first) && sv_to_count(extent, &out_strip->extent);
  out_strip->extent = 1;
  return sv_to_count((StringView){first.data, point}, &out_strip->first) &&
         sv_to_count(after(first, point), &out_strip->inner_first) && sv_to_count(extent, &out_strip->inner_extent);
}
