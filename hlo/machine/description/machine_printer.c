#include "base/array.h"
#include "hlo/machine/description/vpt_schema_internal.h"

/* A machine description as text, by the same schema that reads it (vpt_schema.c). */

static void print_size(StringBuilder *out, int64_t size) {
  static const char suffixes[] = {'\0', 'K', 'M', 'G'};
  int power = 0;
  while (power < 3 && size != 0 && size % 1024 == 0) {
    size /= 1024;
    power++;
  }
  sb_append_int(out, size);
  if (power > 0) sb_append_char(out, suffixes[power]);
}

static void print_word(StringBuilder *out, const char *words, int position) {
  for (; position > 0; words++) position -= *words == '|';
  for (; *words && *words != '|'; words++) sb_append_char(out, *words);
}

static void print_value(StringBuilder *out, const SectionKey *key, const void *place) {
  switch (key->kind) {
    case SECTION_TEXT: sb_append(out, *(const StringView *)place); break;
    case SECTION_COUNT: sb_append_int(out, *(const int64_t *)place); break;
    case SECTION_SIZE: print_size(out, *(const int64_t *)place); break;
    case SECTION_RATE: sb_append_double(out, *(const double *)place); break;
    case SECTION_WORD: print_word(out, key->words, *(const int *)place); break;
    case SECTION_OTHER: {
      PrimitiveType type = *(const PrimitiveType *)place;
      sb_append_cstring(out, type == TYPE_INVALID ? "1" : type_text(type));
      break;
    }
  }
}

/* An optional value is left out where absence says the same. */
static bool is_absent(const SectionKey *key, const void *place) {
  if (key->flags & SECTION_NEEDED) return false;
  return (key->kind == SECTION_TEXT && ((const StringView *)place)->size == 0) ||
         (key->kind == SECTION_SIZE && *(const int64_t *)place == 0);
}

static void print_header(StringBuilder *out, const SectionRule *section, StringView argument) {
  sb_printf(out, "[%s%s", section->name, argument.size ? " " : "");
  sb_append(out, argument);
  sb_append_char(out, ']');
}

static void print_entry(StringBuilder *out, const SectionKey *key, const void *object) {
  const void *place = (const char *)object + key->offset;
  if (is_absent(key, place)) return;
  sb_printf(out, " %s=", key->name);
  print_value(out, key, place);
}

static void print_section(StringBuilder *out, VptSectionId id, const MachineDescription *machine) {
  const SectionRule *section = vpt_section(id);
  print_header(out, section, (StringView){0});
  for (int i = 0; i < section->key_count; i++) print_entry(out, &section->keys[i], machine);
  sb_append_char(out, '\n');
}

static void print_queue(StringBuilder *out, const MachineQueue *queue) {
  const SectionRule *section = vpt_section(VPT_QUEUE);
  print_header(out, section, queue->name);
  for (int i = 0; i < section->key_count; i++)
    if (queue->kind != QUEUE_EXEC || !(section->keys[i].flags & VPT_TRANSFER))
      print_entry(out, &section->keys[i], queue);
  sb_append_char(out, '\n');
}

static bool has_equal_costs(const MachineOpCosts *a, const MachineOpCosts *b) {
  for (int cost = 0; cost < MACHINE_COST_COUNT; cost++)
    if (a->cost[cost] != b->cost[cost]) return false;
  return true;
}

/* A type whose costs were printed before only names that one. */
static void print_op(StringBuilder *out, const MachineDescription *machine, PrimitiveType type) {
  const SectionRule *section = vpt_section(VPT_OP);
  const MachineOpCosts *costs = machine->ops[type];
  print_header(out, section, sv_from_cstring(type_text(type)));
  for (int earlier = 0; earlier < (int)type; earlier++) {
    if (!machine->ops[earlier] || !has_equal_costs(machine->ops[earlier], costs)) continue;
    sb_printf(out, " inherit=%s\n", type_text((PrimitiveType)earlier));
    return;
  }
  for (int cost = 0; cost < MACHINE_COST_COUNT; cost++) {
    MachineCost fallback = vpt_cost_fallback((MachineCost)cost);
    if (fallback == (MachineCost)cost || costs->cost[cost] != costs->cost[fallback])
      print_entry(out, &section->keys[cost], costs);
  }
  sb_append_char(out, '\n');
}

void machine_description_print(StringBuilder *out, const MachineDescription *machine) {
  static const VptSectionId before_queues[] = {VPT_MACHINE, VPT_BUFFER, VPT_VECTOR, VPT_MEMORY};
  for (size_t i = 0; i < sizeof before_queues / sizeof before_queues[0]; i++)
    print_section(out, before_queues[i], machine);
  for (int i = 0; i < machine->queue_count; i++) print_queue(out, &machine->queues[i]);
  print_section(out, VPT_SYNC, machine);
  print_section(out, VPT_ISA, machine);
  for (int type = 0; type < PRIMITIVE_TYPE_COUNT; type++)
    if (machine->ops[type]) print_op(out, machine, (PrimitiveType)type);
}
