/* The completions of bash, zsh and fish as text: what follows "xlac", and what follows each option. */
#include <string.h>

#include "cli/manual.h"

/* What follows a long option. */
typedef enum ValueKind { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_OTHER } ValueKind;

static ValueKind value_kind(OptionId id) {
  const OptionInfo *info = option_info(id);
  if (option_has_words(id)) return VALUE_WORDS;
  switch (info->kind) {
    case OPTION_KIND_FLAG: return VALUE_NONE;
    case OPTION_KIND_INPUT:
    case OPTION_KIND_INPUT_LIST:
    case OPTION_KIND_OUTPUT:
    case OPTION_KIND_OPTIONAL_OUTPUT: return VALUE_FILE;
    default:
      return strstr(info->argument, "FILE") != NULL || strstr(info->argument, "DIR") != NULL ? VALUE_FILE : VALUE_OTHER;
  }
}

/* The option's words, between blanks instead of '|'. */
static void append_words(StringBuilder *out, OptionId id) {
  for (const char *c = option_info(id)->words; *c != '\0'; c++) sb_append_char(out, *c == '|' ? ' ' : *c);
}

/* |text| with '\' before each of |special|; an apostrophe, which ends the shell's string, is written outside of it. */
static void append_escaped(StringBuilder *out, const char *text, const char *special) {
  for (const char *c = text; *c != '\0'; c++) {
    if (strchr(special, *c) != NULL) sb_append_char(out, '\\');
    if (*c == '\'')
      sb_append_cstring(out, "'\\''");
    else
      sb_append_char(out, *c);
  }
}

static bool is_long(OptionId id) {
  return option_info(id)->group != GROUP_HIDDEN && option_info(id)->name[0] != '\0';
}

/* The words that name commands, |separator| between them. */
static void append_command_words(StringBuilder *out, const char *separator) {
  const char *before = "";
  for (int c = 0; c < COMMAND_COUNT; c++) {
    if (command_info((CommandId)c)->word[0] == '\0') continue;
    sb_printf(out, "%s%s", before, command_info((CommandId)c)->word);
    before = separator;
  }
}

/* --- bash --- */

static void append_bash_value(StringBuilder *out, OptionId id) {
  ValueKind kind = value_kind(id);
  const OptionInfo *info = option_info(id);
  if (kind == VALUE_NONE) return;
  /* "--name value" as well, but for values that may be missing. */
  if (info->kind == OPTION_KIND_OPTIONAL_OUTPUT)
    sb_printf(out, "    =--%s)", info->name);
  else
    sb_printf(out, "    --%s | =--%s)", info->name, info->name);
  if (kind == VALUE_WORDS) {
    sb_append_cstring(out, " mapfile -t COMPREPLY < <(compgen -W '");
    append_words(out, id);
    sb_append_cstring(out, "' -- \"$current\")");
  }
  if (kind == VALUE_FILE) sb_append_cstring(out, " mapfile -t COMPREPLY < <(compgen -f -- \"$current\")");
  sb_append_cstring(out, kind == VALUE_OTHER ? " return ;;\n" : "; return ;;\n");
}

static void print_bash(StringBuilder *out) {
  sb_append_cstring(
      out,
      "# Completion of xlac's command line for bash.\n"
      "_xlac() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command= options= word\n"
      "  # bash takes '=' for a word of its own.\n"
      "  if [[ $current == = ]]; then\n"
      "    option==$option current=\n"
      "  elif [[ $option == = ]]; then\n"
      "    option==${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  fi\n"
      "  COMPREPLY=()\n"
      "  case $option in\n");
  for (int id = 0; id < OPTION_COUNT; id++)
    if (is_long((OptionId)id)) append_bash_value(out, (OptionId)id);
  sb_append_cstring(out,
                    "    -o) mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n"
                    "  esac\n"
                    "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                    "    case $word in\n      ");
  append_command_words(out, " | ");
  sb_append_cstring(out, ") command=$word; break ;;\n    esac\n  done\n  case $command in\n");
  for (int c = COMMAND_COUNT - 1; c >= 0; c--) { /* the one without a word is the rest */
    const char *word = command_info((CommandId)c)->word;
    sb_printf(out, "    %s) options='", word[0] != '\0' ? word : "*");
    for (int id = 0; id < OPTION_COUNT; id++) {
      if (!is_long((OptionId)id) || !manual_has_option((CommandId)c, (OptionId)id)) continue;
      bool needs_value =
          value_kind((OptionId)id) != VALUE_NONE && option_info((OptionId)id)->kind != OPTION_KIND_OPTIONAL_OUTPUT;
      sb_printf(out, "--%s%s ", option_info((OptionId)id)->name, needs_value ? "=" : "");
    }
    sb_append_cstring(out, "' ;;\n");
  }
  sb_append_cstring(out,
                    "  esac\n"
                    "  if [[ $current == -* ]]; then\n"
                    "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
                    "    if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n"
                    "    return\n"
                    "  fi\n"
                    "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
                    "  if ((COMP_CWORD == 1)); then mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W '");
  append_command_words(out, " ");
  sb_append_cstring(out, "' -- \"$current\"); fi\n}\ncomplete -o filenames -F _xlac xlac\n");
}

/* --- zsh --- */

static void append_zsh_option(StringBuilder *out, OptionId id) {
  const OptionInfo *info = option_info(id);
  ValueKind kind = value_kind(id);
  sb_printf(out, "        '--%s%s[", info->name,
            kind == VALUE_NONE                          ? ""
            : info->kind == OPTION_KIND_OPTIONAL_OUTPUT ? "=-"
                                                        : "=");
  append_escaped(out, info->help, "[]\\:");
  sb_append_char(out, ']');
  if (kind != VALUE_NONE) {
    sb_append_cstring(out, info->kind == OPTION_KIND_OPTIONAL_OUTPUT ? "::" : ":");
    append_escaped(out, info->argument[0] ? info->argument : "VALUE", "[]\\:");
    sb_append_char(out, ':');
  }
  if (kind == VALUE_WORDS) {
    sb_append_char(out, '(');
    append_words(out, id);
    sb_append_char(out, ')');
  }
  if (kind == VALUE_FILE) sb_append_cstring(out, "_files");
  sb_append_cstring(out, "' \\\n");
}

static void print_zsh(StringBuilder *out) {
  sb_append_cstring(out,
                    "#compdef xlac\n# Completion of xlac's command line for zsh.\n_xlac() {\n  local command= word\n"
                    "  for word in ${words[2,CURRENT-1]}; do\n    case $word in\n      (");
  append_command_words(out, "|");
  sb_append_cstring(out, ") command=$word; break ;;\n    esac\n  done\n  case $command in\n");
  for (int c = COMMAND_COUNT - 1; c >= 0; c--) {
    const char *word = command_info((CommandId)c)->word;
    sb_printf(out, "    (%s)\n      _arguments \\\n", word[0] != '\0' ? word : "*");
    for (int id = 0; id < OPTION_COUNT; id++)
      if (is_long((OptionId)id) && manual_has_option((CommandId)c, (OptionId)id)) append_zsh_option(out, (OptionId)id);
    if (word[0] == '\0') {
      sb_append_cstring(out, "        '1: :_alternative \"commands:command:(");
      append_command_words(out, " ");
      sb_append_cstring(out, ")\" \"files:file:_files\"' \\\n");
    }
    sb_append_cstring(out, "        '*:file:_files' ;;\n");
  }
  sb_append_cstring(out, "  esac\n}\n_xlac \"$@\"\n");
}

/* --- fish --- */

static void append_fish_option(StringBuilder *out, OptionId id) {
  static const char *const values[] = {
      [VALUE_NONE] = "", [VALUE_WORDS] = " -x", [VALUE_FILE] = " -r -F", [VALUE_OTHER] = " -x"};
  const OptionInfo *info = option_info(id);
  sb_append_cstring(out, "complete -c xlac -n 'contains (__xlac_command)");
  for (int c = 0; c < COMMAND_COUNT; c++)
    if (manual_has_option((CommandId)c, id)) sb_printf(out, " %s", manual_command_word((CommandId)c));
  sb_append_char(out, '\'');
  if (info->letter) sb_printf(out, " -s %c", info->letter);
  sb_printf(out, " -l %s%s", info->name, info->kind == OPTION_KIND_OPTIONAL_OUTPUT ? "" : values[value_kind(id)]);
  if (value_kind(id) == VALUE_WORDS) {
    sb_append_cstring(out, " -a '");
    append_words(out, id);
    sb_append_char(out, '\'');
  }
  sb_append_cstring(out, " -d '");
  append_escaped(out, info->help, "\\");
  sb_append_cstring(out, "'\n");
}

static void print_fish(StringBuilder *out) {
  sb_append_cstring(
      out,
      "# Completion of xlac's command line for fish.\nfunction __xlac_command\n  set -l words (commandline -opc)\n"
      "  for word in $words[2..-1]\n    switch $word\n      case ");
  append_command_words(out, " ");
  sb_append_cstring(out, "\n        echo $word\n        return\n    end\n  end\n  echo compile\nend\n");
  for (int c = 0; c < COMMAND_COUNT; c++) {
    const CommandInfo *command = command_info((CommandId)c);
    if (command->word[0] == '\0') continue;
    sb_printf(out, "complete -c xlac -n 'test (count (commandline -opc)) -eq 1' -a %s -d '", command->word);
    append_escaped(out, command->summary, "\\");
    sb_append_cstring(out, "'\n");
  }
  for (int id = 0; id < OPTION_COUNT; id++)
    if (is_long((OptionId)id)) append_fish_option(out, (OptionId)id);
}

void completions_print(StringBuilder *out, ManualForm form) {
  static void (*const printers[])(StringBuilder *) = {
      [MANUAL_BASH] = print_bash, [MANUAL_ZSH] = print_zsh, [MANUAL_FISH] = print_fish};
  printers[form](out);
}
