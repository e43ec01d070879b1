#include "cli/file_uses.h"

#include <string.h>

#include "base/file_io.h"
#include "compiler/options/target.h"

static void add(FileUses *uses, const char *path, const char *name, OptionId id, bool is_written) {
  if (path && path[0] != '\0') array_push(&uses->list, uses->arena, ((FileUse){path, name, id, is_written}));
}

static void add_written(FileUses *uses, const char *path, OptionId id) {
  add(uses, path, arena_printf(uses->arena, "'%s'", option_spelling(uses->arena, id)), id, true);
}

static const char *read_name(Arena *arena, OptionId id) {
  return arena_printf(arena, "what '%s' reads", option_spelling(arena, id));
}

/* The file that |text|, a value of an option that reads files, names. */
static const char *input_path(const OptionInfo *info, const char *text) {
  const char *equals = strchr(info->argument, '=') ? strchr(text, '=') : NULL; /* K=FILE */
  return equals ? equals + 1 : text;
}

static void add_option(FileUses *uses, OptionId id, const OptionValue *value, const OutputDefault *defaults,
                       int count) {
  const OptionInfo *info = option_info(id);
  bool reads = info->kind == OPTION_KIND_INPUT || info->kind == OPTION_KIND_INPUT_LIST;
  bool writes = info->kind == OPTION_KIND_OUTPUT || info->kind == OPTION_KIND_OPTIONAL_OUTPUT;
  bool is_named = writes && value->given;
  if (is_named) add_written(uses, value->text, id);
  for (int i = 0; i < count && !is_named; i++)
    if (defaults[i].id == id) add_written(uses, defaults[i].path, id);
  for (; reads && value && value->given; value = value->previous)
    add(uses, input_path(info, value->text), read_name(uses->arena, id), id, false);
}

void file_uses_init(FileUses *uses, Arena *arena, const Options *options, const OutputDefault *defaults, int count) {
  *uses = (FileUses){.arena = arena};
  for (int64_t i = 0; i < options->operands.count; i++)
    add(uses, options->operands.data[i], "the input", OPTION_COUNT, false);
  for (int64_t i = 0; i < options->argument_files.count; i++)
    add(uses, options->argument_files.data[i], "an argument file", OPTION_COUNT, false);
  add(uses, target_file(options), "the machine's description", OPTION_TARGET, false);
  for (int id = 0; id < OPTION_COUNT; id++) add_option(uses, (OptionId)id, &options->values[id], defaults, count);
}

void file_uses_set_read(FileUses *uses, OptionId id) {
  for (int64_t i = 0; i < uses->list.count; i++) {
    FileUse *use = &uses->list.data[i];
    if (use->id == id) *use = (FileUse){use->path, read_name(uses->arena, id), id, false};
  }
}

Status file_uses_check(const FileUses *uses, DiagSink *diag) {
  for (int64_t i = 0; i < uses->list.count; i++) {
    const FileUse *output = &uses->list.data[i];
    for (int64_t j = 0; j < uses->list.count && output->is_written; j++) {
      const FileUse *other = &uses->list.data[j];
      if (i == j || !file_is_same(uses->arena, output->path, other->path)) continue;
      if (other->is_written && strcmp(output->name, other->name) == 0)
        return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "two outputs would go to '%s': %s of two inputs",
                          other->path, other->name);
      if (other->is_written)
        return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "two outputs would go to '%s': %s and %s", other->path,
                          output->name, other->name);
      return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "the output '%s' is %s", output->path, other->name);
    }
  }
  return STATUS_OK;
}

const FileUse *file_uses_find(const FileUses *uses, const char *path) {
  for (int64_t i = 0; i < uses->list.count; i++)
    if (file_is_same(uses->arena, uses->list.data[i].path, path)) return &uses->list.data[i];
  return NULL;
}
