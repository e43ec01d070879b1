#include "hlo/ir/leaf_names.h"

#include "base/hash_map.h"
#include "hlo/ir/hlo_instruction.h"

/* What a parameter can be called, the best first. */
typedef enum NameLevel { LEVEL_METADATA, LEVEL_SHORT_NAME, LEVEL_NAME, LEVEL_COUNT } NameLevel;

StringView identifier_of_text(Arena *arena, StringView text) {
  StringBuilder out;
  sb_init(&out, arena);
  bool joins = false;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    bool is_kept = char_is_letter(c) || char_is_digit(c);
    if (char_is_digit(c) && out.size == 0) sb_append_char(&out, 'p');
    if (is_kept && joins) sb_append_char(&out, '_');
    if (is_kept) sb_append_char(&out, c);
    joins = !is_kept && out.size > 0;
  }
  if (out.size == 0) sb_append_char(&out, 'p');
  return sb_view(&out);
}

StringView hlo_size_leaf_name(Arena *arena, StringView name, int64_t dimension) {
  return sv_printf(arena, "%.*s_size_%lld", SV_ARG(name), (long long)dimension);
}

/* "Arg_0.12" → "Arg_0". */
static StringView without_number(StringView name) {
  size_t size = name.size;
  while (size > 0 && char_is_digit(name.data[size - 1])) size--;
  bool has_number = size > 1 && size < name.size && name.data[size - 1] == '.';
  return has_number ? (StringView){name.data, size - 1} : name;
}

/* Empty where the level has nothing to say. */
static StringView name_at_level(const HloInstruction *parameter, NameLevel level, Arena *arena) {
  if (level == LEVEL_NAME) return identifier_of_text(arena, parameter->name);
  if (level == LEVEL_SHORT_NAME) return identifier_of_text(arena, without_number(parameter->name));
  const HloMetadata *metadata = hlo_instruction_metadata(parameter);
  return metadata && metadata->op_name.size > 0 ? identifier_of_text(arena, metadata->op_name) : SV("");
}

/* Counts how often each name comes; the count stands in the map's value. */
static void count_name(StringMap *map, StringView name) {
  uintptr_t count = (uintptr_t)string_map_get(map, name);
  string_map_set(map, name, (void *)(count + 1));
}

/* |name|, or with the first number from 2 on that makes it another one than all in |taken|. */
static StringView take_name(StringMap *taken, Arena *arena, StringView name) {
  StringView free_name = name;
  for (int64_t number = 2; string_map_get(taken, free_name) != NULL; number++)
    free_name = sv_printf(arena, "%.*s_%lld", SV_ARG(name), (long long)number);
  count_name(taken, free_name);
  return free_name;
}

/* One name for each parameter; they may still be the same. */
static StringView *parameter_names(const HloInstructionArray *parameters, Arena *arena) {
  StringView *names = ARENA_NEW_ARRAY(arena, StringView, parameters->count);
  for (int level = 0; level < LEVEL_COUNT; level++) {
    StringMap counts;
    string_map_init(&counts, arena);
    StringView *own = ARENA_NEW_ARRAY(arena, StringView, parameters->count);
    for (int64_t i = 0; i < parameters->count; i++) {
      own[i] = name_at_level(parameters->data[i], (NameLevel)level, arena);
      count_name(&counts, own[i]);
    }
    for (int64_t i = 0; i < parameters->count; i++) {
      bool is_only = own[i].size > 0 && (uintptr_t)string_map_get(&counts, own[i]) == 1;
      if (names[i].size == 0 && (is_only || level == LEVEL_NAME)) names[i] = own[i];
    }
  }
  return names;
}

static StringView with_path(Arena *arena, StringView name, const Shape *shape, int node) {
  int64_t *path = ARENA_NEW_ARRAY(arena, int64_t, shape_depth(shape) + 1);
  int depth = shape_node_path(shape, node, path);
  StringBuilder text;
  sb_init(&text, arena);
  sb_append(&text, name);
  for (int i = 0; i < depth; i++) sb_printf(&text, "_%lld", (long long)path[i]);
  return sb_view(&text);
}

/* The dimension whose size leaf |leaf| is; NULL: it is none. */
static const LeafSize *size_of_leaf(const HloModule *module, int64_t leaf) {
  for (int64_t i = 0; i < module->parameter_sizes.count; i++)
    if (module->parameter_sizes.data[i].size_leaf == leaf) return &module->parameter_sizes.data[i];
  return NULL;
}

StringView *hlo_parameter_leaf_names(const HloModule *module, Arena *arena, int64_t *out_count) {
  const HloInstructionArray *parameters = &module->entry->parameters;
  int64_t total = 0;
  for (int64_t i = 0; i < parameters->count; i++) total += shape_leaf_count(parameters->data[i]->shape);
  StringView *names = ARENA_NEW_ARRAY(arena, StringView, total);
  const StringView *of_parameters = parameter_names(parameters, arena);
  StringMap taken;
  string_map_init(&taken, arena);
  int64_t leaf = 0;
  for (int64_t i = 0; i < parameters->count; i++) {
    const Shape *shape = parameters->data[i]->shape;
    for (int node = 0; node < shape_node_count(shape); node++) {
      if (shape_is_tuple(shape_node(shape, node))) continue;
      const LeafSize *size = size_of_leaf(module, leaf); /* after the leaf whose size it is */
      StringView name = size != NULL ? hlo_size_leaf_name(arena, names[size->leaf], size->dimension)
                                     : with_path(arena, of_parameters[i], shape, node);
      names[leaf++] = take_name(&taken, arena, name);
    }
  }
  *out_count = total;
  return names;
}
