/* Options: the command line, read by getopt_long of glibc from the tables cli/options.def and cli/commands.def.
 *
 * --name=value or --name value (an optional value needs the '='), grouped short options, options and operands in any
 * order, "--" ends options, "-" is an operand: all this is getopt_long's, and so are abbreviations, a name's beginning
 * that no other has (for people; scripts write names out, since a new option may take one away).  Added to it: '_' is
 * read as '-' in names, a whole name may stand after one dash, "@FILE" reads more arguments, and values have types. The
 * first operand chooses the command if it is a command's word; "help" and "version" are the options of these names. */
#ifndef XLAC_CLI_OPTIONS_H
#define XLAC_CLI_OPTIONS_H

#include "base/array.h"
#include "base/diagnostic.h"

typedef enum CommandId {
#define XLAC_COMMAND(id, word, letter, synopsis, summary) COMMAND_##id,
#include "cli/commands.def"
#undef XLAC_COMMAND
  COMMAND_COUNT
} CommandId;

typedef enum OptionId {
#define XLAC_OPTION(id, name, letter, kind, argument, group, commands, words, help) OPTION_##id,
#include "cli/options.def"
#undef XLAC_OPTION
  OPTION_COUNT
} OptionId;

typedef enum OptionKind {
  OPTION_KIND_FLAG,
  OPTION_KIND_TEXT,
  OPTION_KIND_LIST, /* repeatable; commas are the reader's business */
  OPTION_KIND_CHOICE,
  OPTION_KIND_LEVEL,          /* CHOICE among ascending numbers; a higher one is the last, with a warning */
  OPTION_KIND_SIZE,           /* bytes, suffixes K M G */
  OPTION_KIND_COUNT,          /* a non-negative integer */
  OPTION_KIND_REAL,           /* a finite non-negative number */
  OPTION_KIND_INPUT,          /* a file that is read */
  OPTION_KIND_INPUT_LIST,     /* repeatable; "K=FILE" where its argument says so */
  OPTION_KIND_OUTPUT,         /* a file that is written; "" for none */
  OPTION_KIND_OPTIONAL_OUTPUT /* --name or --name=FILE */
} OptionKind;

typedef enum OptionGroup { GROUP_COMPILE, GROUP_INSPECT, GROUP_RUN, GROUP_GENERAL, GROUP_HIDDEN } OptionGroup;

typedef struct OptionInfo {
  const char *name;
  char letter;
  OptionKind kind;
  const char *argument;
  OptionGroup group;
  const char *commands;
  const char *words;
  const char *help;
} OptionInfo;

typedef struct CommandInfo {
  const char *word;
  char letter;
  const char *synopsis, *summary;
} CommandInfo;

/* The value last given; for LIST and INPUT_LIST the earlier ones through |previous|. */
typedef struct OptionValue {
  bool given;
  const char *text; /* as given; NULL for FLAG and for OPTIONAL_OUTPUT without a value */
  int64_t integer;  /* SIZE, COUNT; CHOICE, LEVEL: the word's position */
  double real;
  const struct OptionValue *previous;
} OptionValue;

typedef struct Options {
  CommandId command;
  bool has_command; /* a command's word was given */
  OptionValue values[OPTION_COUNT];
  ARRAY(const char *) operands;       /* without the command's word */
  ARRAY(const char *) argument_files; /* the FILEs of "@FILE" */
} Options;

/* STATUS_INVALID with diagnostics (code "usage") for a wrong command line, STATUS_IO for an unreadable @FILE;
 * |out_options| then holds what was understood. */
MUST_USE Status options_parse(Arena *arena, int argc, char *const *argv, DiagSink *diag, Options *out_options);

const OptionInfo *option_info(OptionId id);
const CommandInfo *command_info(CommandId id);
/* "--name", or "-X" where there is no long one. */
const char *option_spelling(Arena *arena, OptionId id);

/* The values of a LIST option in the order given, split at commas. */
typedef ARRAY(StringView) WordList;
WordList option_words(Arena *arena, const Options *options, OptionId id);

const char *option_group_title(OptionGroup group);

/* The text of --help for the command of |options|; without one (has_command), for all of them. */
void options_print_help(StringBuilder *out, const Options *options, bool hidden);

#endif
