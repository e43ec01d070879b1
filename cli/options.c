#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "base/file_io.h"

typedef struct OptionParser {
  Arena *arena;
  DiagSink *diag;
  Options *options;
  ARRAY(char *) arguments; /* argv with the contents of argument files */
  Status status;
} OptionParser;

#define USAGE(parser, ...) ((parser)->status = diag_error((parser)->diag, STATUS_INVALID, NO_LOC, "usage", __VA_ARGS__))

/* --- @FILE --- */

#define MAX_FILE_DEPTH 8

static Status expand_argument(OptionParser *parser, char *argument, int depth);

/* Words as a shell splits them: blanks outside quotes; a backslash takes the next character as it is. */
static Status expand_file(OptionParser *parser, const char *path, int depth) {
  if (depth == MAX_FILE_DEPTH) return USAGE(parser, "'@%s': argument files are nested too deeply", path);
  StringView text;
  RETURN_IF_ERROR(file_read(parser->arena, path, parser->diag, &text));
  array_push(&parser->options->argument_files, parser->arena, path);
  StringBuilder word;
  char quote = 0;
  bool in_word = false;
  for (size_t i = 0; i <= text.size; i++) {
    char c = i < text.size ? text.data[i] : '\n';
    bool ends = i == text.size || (!quote && isspace((unsigned char)c));
    if (ends) {
      StringView whole = in_word ? sb_view(&word) : (StringView){0};
      char *argument = arena_copy_string(parser->arena, whole.data ? whole.data : "", whole.size);
      if (in_word) RETURN_IF_ERROR(expand_argument(parser, argument, depth + 1));
      in_word = false;
      continue;
    }
    if (!in_word) sb_init(&word, parser->arena);
    in_word = true;
    if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? 0 : c;
    } else {
      if (c == '\\' && quote != '\'' && i + 1 < text.size) c = text.data[++i];
      sb_append_char(&word, c);
    }
  }
  return STATUS_OK;
}

static Status expand_argument(OptionParser *parser, char *argument, int depth) {
  if (argument[0] == '@' && argument[1] != '\0') return expand_file(parser, argument + 1, depth);
  array_push(&parser->arguments, parser->arena, argument);
  return STATUS_OK;
}

/* --- names --- */

/* |name| with '-' for '_', as tables have it; a value after '=' stays. */
static char *with_dashes(Arena *arena, const char *name) {
  char *copy = arena_copy_string(arena, name, strlen(name));
  for (char *c = copy; *c && *c != '='; c++)
    if (*c == '_') *c = '-';
  return copy;
}

static StringView name_of(const char *long_option) {
  return (StringView){long_option, strcspn(long_option, "=")};
}

/* |argument|, which comes next, as getopt_long wants it: names of long options with dashes only, and with two in front
 * where a whole name stands after one ("-version"), as other tools have it. */
static char *with_plain_name(Arena *arena, char *argument) {
  if (argument[0] != '-' || argument[1] == '\0' || strcmp(argument, "--") == 0) return argument;
  if (argument[1] == '-') return with_dashes(arena, argument);
  char *name = with_dashes(arena, argument + 1);
  OptionId ignored;
  return argument[2] != '\0' && option_find(name_of(name), &ignored) ? arena_printf(arena, "--%s", name) : argument;
}

/* |name| begins no option's name, or several. */
static void report_unknown_name(OptionParser *parser, StringView name) {
  bool begins = false;
  for (int i = 0; i < OPTION_COUNT && name.size > 0; i++)
    begins |= sv_starts_with(sv_from_cstring(option_info((OptionId)i)->name), name);
  if (!begins) {
    USAGE(parser, "unknown option '--%.*s'", SV_ARG(name));
    option_note_nearest(name, false, parser->diag);
    return;
  }
  USAGE(parser, "option '--%.*s' is ambiguous", SV_ARG(name));
  for (int i = 0; i < OPTION_COUNT; i++)
    if (sv_starts_with(sv_from_cstring(option_info((OptionId)i)->name), name))
      diag_note(parser->diag, NO_LOC, "it may be '--%s'", option_info((OptionId)i)->name);
}

/* A letter in |argument|, which may be a long name after a single dash. */
static void report_unknown_letter(OptionParser *parser, int letter, const char *argument) {
  USAGE(parser, "unknown option '-%c'", letter);
  StringView name = name_of(with_dashes(parser->arena, argument + 1));
  if (name.size > 2) option_note_nearest(name, false, parser->diag);
}

/* --- the command line --- */

/* getopt_long's value for a long option is this and its id, for a short one its letter. */
enum { LONG_VALUES = 256 };

typedef struct GetoptTables {
  struct option names[OPTION_COUNT + 1];
  char letters[2 * OPTION_COUNT + 3];
} GetoptTables;

static int has_argument(OptionKind kind) {
  if (kind == OPTION_KIND_FLAG) return no_argument;
  return kind == OPTION_KIND_OPTIONAL_OUTPUT ? optional_argument : required_argument;
}

static void make_tables(GetoptTables *tables) {
  *tables = (GetoptTables){0};
  struct option *name = tables->names;
  char *letter = tables->letters;
  *letter++ = '-'; /* operands come in their place, whatever POSIXLY_CORRECT says */
  *letter++ = ':'; /* a missing value is told from an unknown option; nothing is printed */
  for (int i = 0; i < OPTION_COUNT; i++) {
    const OptionInfo *info = option_info((OptionId)i);
    int argument = has_argument(info->kind);
    if (info->name[0]) *name++ = (struct option){info->name, argument, NULL, LONG_VALUES + i};
    if (info->letter) *letter++ = info->letter;
    if (info->letter && argument == required_argument) *letter++ = ':';
  }
}

static OptionId option_of_value(int value) {
  if (value >= LONG_VALUES) return (OptionId)(value - LONG_VALUES);
  int id = 0;
  while (id < OPTION_COUNT && option_info((OptionId)id)->letter != value) id++;
  return (OptionId)id;
}

static void take_value(OptionParser *parser, OptionId id, const char *text) {
  if (option_set(parser->arena, parser->options, id, text, parser->diag) != STATUS_OK) parser->status = STATUS_INVALID;
}

/* Words that people give as commands although they are options. */
static bool take_as_option(OptionParser *parser, const char *word) {
  static const OptionId words[] = {OPTION_HELP, OPTION_VERSION};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(option_info(words[i])->name, word) != 0) continue;
    take_value(parser, words[i], NULL);
    return true;
  }
  return false;
}

static void take_operand(OptionParser *parser, const char *operand) {
  Options *options = parser->options;
  if (options->operands.count == 0 && !options->has_command) {
    for (int i = 0; i < COMMAND_COUNT; i++)
      if (command_info((CommandId)i)->word[0] && strcmp(command_info((CommandId)i)->word, operand) == 0) {
        options->command = (CommandId)i;
        options->has_command = true;
        return;
      }
    if (take_as_option(parser, operand)) return;
  }
  array_push(&options->operands, parser->arena, operand);
}

/* What getopt_long found: |value| in |argument|. */
static void take_found(OptionParser *parser, int value, const char *argument) {
  enum { OPERAND = 1 };
  bool is_known = value == ':' || (value == '?' && optopt >= LONG_VALUES);
  const char *spelling = is_known && optopt >= LONG_VALUES ? option_spelling(parser->arena, option_of_value(optopt))
                                                           : arena_printf(parser->arena, "-%c", optopt);
  if (value == OPERAND)
    take_operand(parser, optarg);
  else if (value == ':')
    USAGE(parser, "option '%s' needs a value", spelling);
  else if (is_known)
    USAGE(parser, "option '%s' takes no value", spelling);
  else if (value == '?' && optopt != 0)
    report_unknown_letter(parser, optopt, argument);
  else if (value == '?')
    report_unknown_name(parser, name_of(argument + 2));
  else
    take_value(parser, option_of_value(value), optarg);
}

/* getopt_long keeps its state in globals of the C library: one command line at a time. */
static void parse_arguments(OptionParser *parser) {
  GetoptTables tables;
  make_tables(&tables);
  int count = (int)parser->arguments.count;
  char **arguments = parser->arguments.data;
  int bad = 0; /* the argument with an unknown letter: its other letters say nothing */
  optind = 0;  /* glibc: begin anew */
  opterr = 0;
  for (;;) {
    int next = optind > 0 ? optind : 1;
    if (next < count) arguments[next] = with_plain_name(parser->arena, arguments[next]);
    int value = getopt_long(count, arguments, tables.letters, tables.names, NULL);
    if (value == -1) break;
    if (next == bad) continue;
    if (value == '?') bad = next;
    take_found(parser, value, next < count ? arguments[next] : "");
  }
  while (optind < count) array_push(&parser->options->operands, parser->arena, arguments[optind++]);
}

Status options_parse(Arena *arena, int argc, char *const *argv, DiagSink *diag, Options *out_options) {
  *out_options = (Options){.command = COMMAND_COMPILE};
  OptionParser parser = {.arena = arena, .diag = diag, .options = out_options};
  for (int i = 0; i < argc; i++) {
    char *argument = arena_copy_string(arena, argv[i], strlen(argv[i]));
    if (i == 0)
      array_push(&parser.arguments, arena, argument);
    else
      RETURN_IF_ERROR(expand_argument(&parser, argument, 0));
  }
  parse_arguments(&parser);
  if (options_check_command(arena, out_options, diag) != STATUS_OK) parser.status = STATUS_INVALID;
  return parser.status;
}
