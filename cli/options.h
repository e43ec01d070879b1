/* Options: the command line, read by getopt_long of glibc from the tables of compiler/options.
 *
 * --name=value or --name value (an optional value needs the '='), grouped short options, options and operands in any
 * order, "--" ends options, "-" is an operand: all this is getopt_long's, and so are abbreviations, a name's beginning
 * that no other has (for people; scripts write names out, since a new option may take one away).  Added to it: '_' is
 * read as '-' in names, a whole name may stand after one dash, "@FILE" reads more arguments, and values have types. The
 * first operand chooses the command if it is a command's word; "help" and "version" are the options of these names. */
#ifndef XLAC_CLI_OPTIONS_H
#define XLAC_CLI_OPTIONS_H

#include "compiler/options/option_table.h"

/* STATUS_INVALID with diagnostics (code "usage") for a wrong command line, STATUS_IO for an unreadable @FILE;
 * |out_options| then holds what was understood. */
MUST_USE Status options_parse(Arena *arena, int argc, char *const *argv, DiagSink *diag, Options *out_options);

/* The heading in --help, static text. */
const char *option_group_title(OptionGroup group);

/* The text of --help for the command of |options|; without one (has_command), for all of them. */
void options_print_help(StringBuilder *out, const Options *options, bool hidden);

#endif
