#include <string.h>

#include "cli/options.h"

/* The text of --help: options by group, from the option table, in two columns. */

enum { HELP_COLUMN = 34, HELP_WIDTH = 100, SYNOPSIS_WIDTH = 36 };

static const char *const group_titles[] = {[GROUP_COMPILE] = "Compile",
                                           [GROUP_INSPECT] = "Look inside",
                                           [GROUP_RUN] = "Run",
                                           [GROUP_GENERAL] = "General",
                                           [GROUP_HIDDEN] = "For developers"};

const char *option_group_title(OptionGroup group) {
  return group_titles[group];
}

/* |text| from HELP_COLUMN on, broken at blanks. */
static void print_wrapped(StringBuilder *out, const char *text) {
  size_t width = HELP_WIDTH - HELP_COLUMN;
  while (strlen(text) > width) {
    size_t size = width;
    while (size > 0 && text[size] != ' ') size--;
    if (size == 0) size = width;
    sb_append(out, (StringView){text, size});
    sb_append_char(out, '\n');
    sb_append_repeated(out, ' ', HELP_COLUMN);
    text += size + (text[size] == ' ');
  }
  sb_append_cstring(out, text);
  sb_append_char(out, '\n');
}

static void print_option(StringBuilder *out, const OptionInfo *info) {
  size_t start = out->size;
  const char *value = info->words[0] ? info->words : info->argument;
  if (info->letter && info->name[0])
    sb_printf(out, "  -%c, --%s", info->letter, info->name);
  else if (info->letter)
    sb_printf(out, "  -%c%s", info->letter, value);
  else
    sb_printf(out, "      --%s", info->name);
  if (info->name[0] && info->kind == OPTION_KIND_OPTIONAL_OUTPUT)
    sb_printf(out, "[=%s]", value);
  else if (info->name[0] && info->kind != OPTION_KIND_FLAG)
    sb_printf(out, "=%s", value);
  size_t size = out->size - start;
  if (size + 2 > HELP_COLUMN) {
    sb_append_char(out, '\n');
    size = 0;
  }
  sb_append_repeated(out, ' ', (int64_t)(HELP_COLUMN - size));
  print_wrapped(out, info->help);
}

static bool applies(const OptionInfo *info, const Options *options) {
  return !options->has_command || strchr(info->commands, command_info(options->command)->letter) != NULL;
}

void options_print_help(StringBuilder *out, const Options *options, bool hidden) {
  for (int i = 0; i < COMMAND_COUNT; i++) {
    const CommandInfo *command = command_info((CommandId)i);
    if (options->has_command && (int)options->command != i) continue;
    bool first = options->has_command || i == 0;
    sb_printf(out, "%s %-*s", first ? "usage:" : "      ", SYNOPSIS_WIDTH, command->synopsis);
    if (strlen(command->synopsis) > SYNOPSIS_WIDTH) sb_printf(out, "\n       %*s", SYNOPSIS_WIDTH, "");
    sb_printf(out, " %s\n", command->summary);
  }
  for (int group = 0; group <= (hidden ? GROUP_HIDDEN : GROUP_GENERAL); group++) {
    bool any = false;
    for (int i = 0; i < OPTION_COUNT; i++) {
      const OptionInfo *info = option_info((OptionId)i);
      if ((int)info->group != group || !applies(info, options)) continue;
      if (!any) sb_printf(out, "\n%s:\n", group_titles[group]);
      any = true;
      print_option(out, info);
    }
  }
  sb_append_cstring(out,
                    "\n'-' is standard input or output, '@FILE' reads more arguments.\n"
                    "Status: 0 done, 1 wrong input, 2 usage, 3 file or system error, 4 memory limit or budget, 5 "
                    "mismatch, 70 a bug in xlac.\n");
}
