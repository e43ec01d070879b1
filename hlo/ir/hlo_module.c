#include "hlo/ir/hlo_module.h"

#include <string.h>

#include "hlo/ir/hlo_ir_internal.h"

/* --- names --- */

/* 2·N + used: whether the name is taken, and the next suffix to try after it (N = 0: none tried yet). */
static int64_t *name_state(StringMap *used, Arena *arena, StringView name, StringView *out_name) {
  return (int64_t *)string_map_enter(used, name, arena, out_name);
}

/* |name| without a trailing ".123". */
static StringView name_stem(StringView name) {
  size_t dot = name.size;
  while (dot > 0 && char_is_digit(name.data[dot - 1])) dot--;
  if (dot == name.size || dot < 2 || name.data[dot - 1] != '.') return name;
  return sv_sub(name, 0, dot - 1);
}

/* stem.N in |room|, which has place for it. */
static StringView numbered_name(StringView stem, int64_t number, char *room) {
  char digits[24];
  int count = 0;
  for (; number > 0; number /= 10) digits[count++] = (char)('0' + number % 10);
  memcpy(room, stem.data, stem.size);
  room[stem.size] = '.';
  for (int i = 0; i < count; i++) room[stem.size + 1 + (size_t)i] = digits[count - 1 - i];
  return (StringView){room, stem.size + 1 + (size_t)count};
}

StringView hlo_unique_name(StringMap *used, Arena *arena, StringView name) {
  enum { SHORT = 232, ROOM_FOR_NUMBER = 24 };
  StringView entered;
  int64_t *state = name_state(used, arena, name, &entered);
  if (!(*state & 1)) {
    *state |= 1;
    return entered;
  }
  StringView stem = name_stem(name), ignored;
  int64_t number = *name_state(used, arena, stem, &ignored) / 2;
  char short_room[SHORT + ROOM_FOR_NUMBER];
  char *room = stem.size <= SHORT ? short_room : arena_alloc(arena, stem.size + ROOM_FOR_NUMBER);
  do {
    state = name_state(used, arena, numbered_name(stem, ++number, room), &entered);
  } while (*state & 1);
  *state |= 1;
  state = name_state(used, arena, stem, &ignored);
  *state = number * 2 + (*state & 1);
  return entered;
}

/* --- building --- */

HloModule *hlo_module_create(Arena *arena, ShapeTable *shapes, StringView name) {
  HloModule *module = ARENA_NEW(arena, HloModule);
  module->arena = arena;
  module->shapes = shapes;
  module->name = sv_copy(arena, name);
  module->replica_count = 1;
  module->num_partitions = 1;
  string_map_init(&module->instruction_names, arena);
  string_map_init(&module->computation_names, arena);
  return module;
}

HloComputation *hlo_module_add_computation(HloModule *module, StringView name) {
  HloComputation *computation = ARENA_NEW(module->arena, HloComputation);
  computation->module = module;
  computation->id = module->next_computation_id++;
  computation->name =
      hlo_unique_name(&module->computation_names, module->arena, name.size > 0 ? name : SV("computation"));
  array_push(&module->computations, module->arena, computation);
  return computation;
}

void hlo_module_update_entry_layout(HloModule *module) {
  EntryLayout *layout = &module->entry_layout;
  if (!layout->present) return;
  int64_t count = module->entry->parameters.count;
  const Shape **parameters = ARENA_NEW_ARRAY(module->arena, const Shape *, count);
  for (int64_t i = 0; i < count; i++) parameters[i] = module->entry->parameters.data[i]->shape;
  layout->parameter_count = count;
  layout->parameters = parameters;
  layout->result = module->entry->root->shape;
}

int64_t hlo_module_instruction_count(const HloModule *module) {
  int64_t count = 0;
  for (int64_t i = 0; i < module->computations.count; i++) count += module->computations.data[i]->instructions.count;
  return count;
}

int64_t hlo_module_remove_unreachable(HloModule *module) {
  XLAC_CHECK(module->entry != NULL);
  Arena *scratch = arena_create();
  bool *reached = ARENA_NEW_ARRAY(scratch, bool, module->next_computation_id);
  HloComputationArray order = {0};
  hlo_computation_collect_callees(module->entry, scratch, reached, &order);
  HloComputationArray *list = &module->computations;
  int64_t kept = 0, before = list->count;
  for (int64_t i = 0; i < before; i++) {
    if (reached[list->data[i]->id]) list->data[kept++] = list->data[i];
  }
  list->count = kept;
  arena_destroy(scratch);
  return before - kept;
}

/* --- regions --- */

static void mark_applied(const HloComputation *computation, bool with_fusions, bool *applied) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (!hlo_opcode_has(instruction->opcode, OP_REGION)) continue;
    if (instruction->opcode == HLO_FUSION && !with_fusions) continue;
    for (int k = 0; k < hlo_instruction_called_count(instruction); k++)
      applied[hlo_instruction_called(instruction, k)->id] = true;
  }
}

/* Loops inside of what is applied; callers stand after what they call. */
static void mark_inside(const HloComputation *computation, bool *applied) {
  if (!applied[computation->id]) return;
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    for (int k = 0; k < hlo_instruction_called_count(instruction); k++)
      applied[hlo_instruction_called(instruction, k)->id] = true;
  }
}

const bool *hlo_module_applied(Arena *arena, const HloModule *module, bool with_fusions) {
  bool *applied = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id + 1);
  for (int64_t c = 0; c < module->computations.count; c++)
    mark_applied(module->computations.data[c], with_fusions, applied);
  for (int64_t c = module->computations.count - 1; c >= 0; c--) mark_inside(module->computations.data[c], applied);
  return applied;
}

/* --- source lines --- */

/* Row |id| of a table whose rows count from 1; NULL for none. */
#define TABLE_ROW(rows, count, id) ((id) >= 1 && (id) <= (count) ? &(rows)[(id) - 1] : NULL)

static StringView line_text(StringView file, int64_t line, StringView function, Arena *arena) {
  if (file.size == 0) return (StringView){"", 0};
  if (function.size == 0) return sv_printf(arena, "%.*s:%lld", SV_ARG(file), (long long)line);
  return sv_printf(arena, "%.*s:%lld (%.*s)", SV_ARG(file), (long long)line, SV_ARG(function));
}

StringView hlo_module_source_line(const HloModule *module, const HloInstruction *instruction, Arena *arena) {
  const HloMetadata *metadata = hlo_instruction_metadata(instruction);
  if (!metadata) return (StringView){"", 0};
  const StackFrameTables *tables = &module->stack_frames;
  const StackFrame *frame = TABLE_ROW(tables->stack_frames, tables->stack_frame_count, metadata->stack_frame_id);
  const FileLocation *location =
      frame ? TABLE_ROW(tables->file_locations, tables->file_location_count, frame->file_location_id) : NULL;
  if (!location) return line_text(metadata->source_file, metadata->source_line, (StringView){"", 0}, arena);
  const StringView *file = TABLE_ROW(tables->file_names, tables->file_name_count, location->file_name_id);
  const StringView *function =
      TABLE_ROW(tables->function_names, tables->function_name_count, location->function_name_id);
  if (!file) return line_text(metadata->source_file, metadata->source_line, (StringView){"", 0}, arena);
  return line_text(*file, location->line, function ? *function : (StringView){"", 0}, arena);
}
