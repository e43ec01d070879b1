#include "cli/manual.h"

#include <string.h>

#include "base/version.h"

static const struct {
  int status;
  const char *meaning;
} statuses[] = {{0, "Done."},
                {1, "The input is wrong or cannot be compiled; messages say where and why."},
                {2, "The command line is wrong."},
                {3, "A file or the system failed."},
                {4, "A memory limit or budget is exceeded, or a Buffer is too small."},
                {5, "Results differ from those of --expect."},
                {70, "A bug in xlac."}};

bool manual_has_option(CommandId command, OptionId id) {
  const OptionInfo *info = option_info(id);
  return info->group != GROUP_HIDDEN && strchr(info->commands, command_info(command)->letter) != NULL;
}

const char *manual_command_word(CommandId command) {
  const char *word = command_info(command)->word;
  return word[0] != '\0' ? word : "compile";
}

/* --- the manual page, in the macros of man(7) --- */

/* What troff would take for its own is written as text. */
static void append_roff(StringBuilder *out, const char *text) {
  if (text[0] == '.' || text[0] == '\'') sb_append_cstring(out, "\\&");
  for (const char *c = text; *c != '\0'; c++) {
    if (*c == '\\')
      sb_append_cstring(out, "\\e");
    else if (*c == '-')
      sb_append_cstring(out, "\\-");
    else if (*c == '|')
      sb_append_cstring(out, "|\\:"); /* a line may end here */
    else
      sb_append_char(out, *c);
  }
}

static void append_line(StringBuilder *out, const char *macro, const char *text) {
  sb_append_cstring(out, macro);
  append_roff(out, text);
  sb_append_char(out, '\n');
}

/* "Of compile, run." where not all commands take the option. */
static void append_commands(StringBuilder *out, OptionId id) {
  bool all = true;
  for (int c = 0; c < COMMAND_COUNT; c++) all &= manual_has_option((CommandId)c, id);
  const char *separator = "Of ";
  for (int c = 0; c < COMMAND_COUNT && !all; c++) {
    if (!manual_has_option((CommandId)c, id)) continue;
    sb_append_cstring(out, separator);
    append_roff(out, manual_command_word((CommandId)c));
    separator = ", ";
  }
  if (!all) sb_append_cstring(out, ".\n");
}

static void append_option(StringBuilder *out, OptionId id) {
  const OptionInfo *info = option_info(id);
  const char *value = option_has_words(id) ? info->words : info->argument;
  bool has_value = info->kind != OPTION_KIND_FLAG, is_optional = info->kind == OPTION_KIND_OPTIONAL_OUTPUT;
  sb_append_cstring(out, ".TP\n.B ");
  if (info->letter) sb_printf(out, "\\-%c", info->letter);
  if (info->letter && info->name[0]) sb_append_cstring(out, ", ");
  if (info->name[0]) append_roff(out, "--"), append_roff(out, info->name);
  if (has_value && info->name[0]) sb_append_cstring(out, is_optional ? "[=" : "=");
  if (has_value) append_roff(out, value);
  if (is_optional) sb_append_char(out, ']');
  sb_append_char(out, '\n');
  append_roff(out, info->help);
  sb_append_cstring(out, ".\n");
  append_commands(out, id);
}

static void append_options(StringBuilder *out) {
  sb_append_cstring(out, ".SH OPTIONS\n");
  for (int group = 0; group < GROUP_HIDDEN; group++) {
    append_line(out, ".SS ", option_group_title((OptionGroup)group));
    for (int id = 0; id < OPTION_COUNT; id++)
      if ((int)option_info((OptionId)id)->group == group) append_option(out, (OptionId)id);
  }
}

static void print_page(StringBuilder *out) {
  sb_append_cstring(
      out, ".TH XLAC 1 \"\" \"xlac " XLAC_VERSION "\"\n.ad l\n.SH NAME\nxlac \\- compiler of HLO text\n.SH SYNOPSIS\n");
  for (int c = 0; c < COMMAND_COUNT; c++) {
    if (c > 0) sb_append_cstring(out, ".br\n");
    append_line(out, ".B ", command_info((CommandId)c)->synopsis);
  }
  sb_append_cstring(out, ".SH COMMANDS\n");
  for (int c = 0; c < COMMAND_COUNT; c++) {
    append_line(out, ".TP\n.B ", c == COMMAND_COMPILE ? "compile (no word)" : manual_command_word((CommandId)c));
    append_line(out, "", command_info((CommandId)c)->summary);
  }
  append_options(out);
  sb_append_cstring(
      out, ".SH OPERANDS\n\\- is standard input or output, @FILE reads more arguments, \\-\\- ends options.\n");
  sb_append_cstring(out, ".SH EXIT STATUS\n");
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
    sb_printf(out, ".TP\n.B %d\n", statuses[i].status);
    append_line(out, "", statuses[i].meaning);
  }
}

void manual_print(StringBuilder *out, ManualForm form) {
  if (form == MANUAL_MAN)
    print_page(out);
  else
    completions_print(out, form);
}
