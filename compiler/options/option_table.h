/* Options by their names, from the tables options.def and commands.def: what the command line and programs that link
 * the compiler give alike.  Values have types; a wrong one is refused when it is given. */
#ifndef XLAC_COMPILER_OPTIONS_OPTION_TABLE_H
#define XLAC_COMPILER_OPTIONS_OPTION_TABLE_H

#include "base/array.h"
#include "base/diagnostic.h"

typedef enum CommandId {
#define XLAC_COMMAND(id, word, letter, synopsis, summary) COMMAND_##id,
#include "compiler/options/commands.def"
#undef XLAC_COMMAND
  COMMAND_COUNT
} CommandId;

typedef enum OptionId {
#define XLAC_OPTION(id, name, letter, kind, argument, group, commands, words, help) OPTION_##id,
#include "compiler/options/options.def"
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
  OPTION_KIND_COUNT,          /* a non-negative integer, of a range where the option has one */
  OPTION_KIND_REAL,           /* the same of finite numbers */
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
  const char *words; /* or a range, as options.def says */
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

const OptionInfo *option_info(OptionId id);
/* Whether its value is one of its words. */
bool option_has_words(OptionId id);
const CommandInfo *command_info(CommandId id);
/* "--name", or "-X" where there is no long one. */
const char *option_spelling(Arena *arena, OptionId id);

/* The option with the long name |name|, in which '_' is as good as '-'; false when there is none. */
bool option_find(StringView name, OptionId *out_id);
/* Whether a program that links the compiler may set it: it says something about a compilation, and names no output. */
bool option_is_of_library(OptionId id);
/* A note to the latest diagnostic that names the option, |of_library| or any, whose name is the nearest to |name|, if
 * one is near. */
void option_note_nearest(StringView name, bool of_library, DiagSink *diag);

/* Takes |text| as the value of option |id|, in |arena|; NULL where the option has none.  |text| must live as long as
 * |options|.  STATUS_INVALID with a diagnostic ("usage") for a value that is not of the option's kind; a level beyond
 * the highest is the highest, with a warning ("option-level"). */
MUST_USE Status option_set(Arena *arena, Options *options, OptionId id, const char *text, DiagSink *diag);

/* STATUS_INVALID ("usage") for every option that options->command does not take. */
MUST_USE Status options_check_command(Arena *arena, const Options *options, DiagSink *diag);

/* Word |number| of a CHOICE or LEVEL option, which must have it. */
StringView option_word(OptionId id, int64_t number);

/* The option's value as it stands; empty where it is not given. */
StringView option_text(const Options *options, OptionId id);

/* The values of a LIST option in the order given, split at commas. */
typedef ARRAY(StringView) WordList;
WordList option_words(Arena *arena, const Options *options, OptionId id);

#endif
