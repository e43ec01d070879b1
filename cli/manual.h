/* The manual page and the completions of shells, made from the tables of options and commands. */
#ifndef XLAC_CLI_MANUAL_H
#define XLAC_CLI_MANUAL_H

#include "cli/options.h"

/* The words of --print-manual. */
typedef enum ManualForm { MANUAL_MAN, MANUAL_BASH, MANUAL_ZSH, MANUAL_FISH } ManualForm;

/* All commands and all options but the developer's. */
void manual_print(StringBuilder *out, ManualForm form);

/* The completions among them. */
void completions_print(StringBuilder *out, ManualForm form);

/* Whether the command takes the option, and people are told of it. */
bool manual_has_option(CommandId command, OptionId id);
/* The word of |command|, "compile" for the one without. */
const char *manual_command_word(CommandId command);

#endif
