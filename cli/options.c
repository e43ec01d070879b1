#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "base/file_io.h"
#include "base/nearest_word.h"

static const OptionInfo option_table[] = {
#define XLAC_OPTION(id, name, letter, kind, argument, group, commands, words, help) \
  {name, letter, OPTION_KIND_##kind, argument, GROUP_##group, commands, words, help},
#include "cli/options.def"
#undef XLAC_OPTION
};

static const CommandInfo command_table[] = {
#define XLAC_COMMAND(id, word, letter, synopsis, summary) {word, letter, synopsis, summary},
#include "cli/commands.def"
#undef XLAC_COMMAND
};

const OptionInfo *option_info(OptionId id) {
  return &option_table[id];
}
const CommandInfo *command_info(CommandId id) {
  return &command_table[id];
}

const char *option_spelling(Arena *arena, OptionId id) {
  const OptionInfo *info = &option_table[id];
  return info->name[0] ? arena_printf(arena, "--%s", info->name) : arena_printf(arena, "-%c", info->letter);
}

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

/* --- values --- */

static bool parse_real(const char *text, double *out_value) {
  char *end;
  *out_value = strtod(text, &end);
  return end > text && *end == '\0' && isfinite(*out_value) && *out_value >= 0;
}

/* The position of |nearest|'s word among |words| ("a|b|c"), -1 when it is none of them; all are offered to it. */
static int64_t find_word(const char *words, NearestWord *nearest) {
  int64_t found = -1;
  for (int64_t position = 0;; position++) {
    size_t size = strcspn(words, "|");
    StringView word = {words, size};
    if (sv_equal(word, nearest->wanted)) found = position;
    nearest_word_offer(nearest, word);
    if (words[size] == '\0') return found;
    words += size + 1;
  }
}

/* The last word of |words|, a level, for levels beyond it. */
static bool set_highest_level(OptionParser *parser, OptionId id, OptionValue *value) {
  const OptionInfo *info = &option_table[id];
  const char *bar = strrchr(info->words, '|'), *highest = bar ? bar + 1 : info->words;
  int64_t level, most;
  if (!sv_to_count(sv_from_cstring(value->text), &level) || !sv_to_count(sv_from_cstring(highest), &most)) return false;
  if (level <= most) return false;
  NearestWord last = nearest_word_begin(sv_from_cstring(highest), 1);
  value->integer = find_word(info->words, &last);
  const char *spelling = option_spelling(parser->arena, id);
  diag_warning(parser->diag, NO_LOC, "option-level", "there is no '%s%s': '%s%s' is the highest, and is used", spelling,
               value->text, spelling, highest);
  return true;
}

static void set_choice(OptionParser *parser, OptionId id, OptionValue *value) {
  const OptionInfo *info = &option_table[id];
  NearestWord nearest = nearest_word_begin(sv_from_cstring(value->text), 3);
  value->integer = find_word(info->words, &nearest);
  if (value->integer >= 0 || (info->kind == OPTION_KIND_LEVEL && set_highest_level(parser, id, value))) return;
  StringBuilder list;
  sb_init(&list, parser->arena);
  for (const char *c = info->words; *c; c++) *c == '|' ? sb_append_cstring(&list, ", ") : sb_append_char(&list, *c);
  USAGE(parser, "'%s' is not a value of '%s' (%.*s)", value->text, option_spelling(parser->arena, id),
        SV_ARG(sb_view(&list)));
  if (nearest.word.size > 0) diag_note(parser->diag, NO_LOC, "did you mean '%.*s'?", SV_ARG(nearest.word));
}

static bool repeats(OptionKind kind) {
  return kind == OPTION_KIND_LIST || kind == OPTION_KIND_INPUT_LIST;
}

static void set_option(OptionParser *parser, OptionId id, const char *text) {
  const OptionInfo *info = &option_table[id];
  OptionValue *value = &parser->options->values[id], given = {.given = true, .text = text};
  const char *spelling = option_spelling(parser->arena, id);
  if (repeats(info->kind) && value->given) given.previous = ARENA_COPY_ARRAY(parser->arena, OptionValue, value, 1);
  if (info->kind == OPTION_KIND_CHOICE || info->kind == OPTION_KIND_LEVEL) {
    set_choice(parser, id, &given);
  } else if (info->kind == OPTION_KIND_SIZE) {
    if (!sv_to_size(sv_from_cstring(text), &given.integer))
      USAGE(parser, "'%s' needs a size such as 64K, not '%s'", spelling, text);
  } else if (info->kind == OPTION_KIND_COUNT) {
    if (!sv_to_count(sv_from_cstring(text), &given.integer))
      USAGE(parser, "'%s' needs a non-negative integer, not '%s'", spelling, text);
  } else if (info->kind == OPTION_KIND_REAL) {
    if (!parse_real(text, &given.real)) USAGE(parser, "'%s' needs a non-negative number, not '%s'", spelling, text);
  }
  *value = given;
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

static bool is_long_name(StringView name) {
  for (int i = 0; i < OPTION_COUNT; i++)
    if (name.size > 0 && sv_equal_cstring(name, option_table[i].name)) return true;
  return false;
}

/* |argument|, which comes next, as getopt_long wants it: names of long options with dashes only, and with two in front
 * where a whole name stands after one ("-version"), as other tools have it. */
static char *with_plain_name(Arena *arena, char *argument) {
  if (argument[0] != '-' || argument[1] == '\0' || strcmp(argument, "--") == 0) return argument;
  if (argument[1] == '-') return with_dashes(arena, argument);
  char *name = with_dashes(arena, argument + 1);
  return argument[2] != '\0' && is_long_name(name_of(name)) ? arena_printf(arena, "--%s", name) : argument;
}

static void note_nearest_name(OptionParser *parser, StringView name) {
  NearestWord nearest = nearest_word_begin(name, (int)min_i64(4, (int64_t)name.size));
  for (int i = 0; i < OPTION_COUNT; i++) nearest_word_offer(&nearest, sv_from_cstring(option_table[i].name));
  if (nearest.word.size > 0) diag_note(parser->diag, NO_LOC, "did you mean '--%.*s'?", SV_ARG(nearest.word));
}

/* |name| begins no option's name, or several. */
static void report_unknown_name(OptionParser *parser, StringView name) {
  bool begins = false;
  for (int i = 0; i < OPTION_COUNT && name.size > 0; i++)
    begins |= sv_starts_with(sv_from_cstring(option_table[i].name), name);
  if (!begins) {
    USAGE(parser, "unknown option '--%.*s'", SV_ARG(name));
    note_nearest_name(parser, name);
    return;
  }
  USAGE(parser, "option '--%.*s' is ambiguous", SV_ARG(name));
  for (int i = 0; i < OPTION_COUNT; i++)
    if (sv_starts_with(sv_from_cstring(option_table[i].name), name))
      diag_note(parser->diag, NO_LOC, "it may be '--%s'", option_table[i].name);
}

/* A letter in |argument|, which may be a long name after a single dash. */
static void report_unknown_letter(OptionParser *parser, int letter, const char *argument) {
  USAGE(parser, "unknown option '-%c'", letter);
  StringView name = name_of(with_dashes(parser->arena, argument + 1));
  if (name.size > 2) note_nearest_name(parser, name);
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
    const OptionInfo *info = &option_table[i];
    int argument = has_argument(info->kind);
    if (info->name[0]) *name++ = (struct option){info->name, argument, NULL, LONG_VALUES + i};
    if (info->letter) *letter++ = info->letter;
    if (info->letter && argument == required_argument) *letter++ = ':';
  }
}

static OptionId option_of_value(int value) {
  if (value >= LONG_VALUES) return (OptionId)(value - LONG_VALUES);
  int id = 0;
  while (id < OPTION_COUNT && option_table[id].letter != value) id++;
  return (OptionId)id;
}

/* Words that people give as commands although they are options. */
static bool take_as_option(OptionParser *parser, const char *word) {
  static const OptionId words[] = {OPTION_HELP, OPTION_VERSION};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(option_table[words[i]].name, word) != 0) continue;
    set_option(parser, words[i], NULL);
    return true;
  }
  return false;
}

static void take_operand(OptionParser *parser, const char *operand) {
  Options *options = parser->options;
  if (options->operands.count == 0 && !options->has_command) {
    for (int i = 0; i < COMMAND_COUNT; i++)
      if (command_table[i].word[0] && strcmp(command_table[i].word, operand) == 0) {
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
    set_option(parser, option_of_value(value), optarg);
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

/* "'xlac run' and 'xlac opt'" */
static const char *commands_with(Arena *arena, const OptionInfo *info) {
  StringBuilder list;
  sb_init(&list, arena);
  size_t left = strlen(info->commands);
  for (const char *letter = info->commands; *letter; letter++, left--) {
    int id = 0;
    while (command_table[id].letter != *letter) id++;
    const char *word = command_table[id].word;
    sb_printf(&list, "'xlac%s%s'", word[0] ? " " : "", word);
    sb_append_cstring(&list, left > 2 ? ", " : left == 2 ? " and " : "");
  }
  return list.data;
}

/* Options that the chosen command does not take; known only once all arguments are read. */
static void check_command(OptionParser *parser) {
  const CommandInfo *command = &command_table[parser->options->command];
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (!parser->options->values[i].given || strchr(option_table[i].commands, command->letter)) continue;
    const char *spelling = option_spelling(parser->arena, (OptionId)i);
    if (command->word[0])
      USAGE(parser, "option '%s' does not apply to '%s'", spelling, command->word);
    else
      USAGE(parser, "option '%s' needs a command that takes it", spelling);
    diag_note(parser->diag, NO_LOC, "it is for %s", commands_with(parser->arena, &option_table[i]));
  }
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
  check_command(&parser);
  return parser.status;
}

WordList option_words(Arena *arena, const Options *options, OptionId id) {
  WordList reversed = {0}, words = {0};
  for (const OptionValue *value = &options->values[id]; value && value->given; value = value->previous)
    array_push(&reversed, arena, sv_from_cstring(value->text));
  while (reversed.count > 0) {
    StringView rest = array_pop(&reversed);
    while (rest.size > 0) {
      const char *comma = memchr(rest.data, ',', rest.size);
      size_t size = comma ? (size_t)(comma - rest.data) : rest.size;
      if (size > 0) array_push(&words, arena, sv_sub(rest, 0, size));
      rest = sv_sub(rest, size + 1, rest.size);
    }
  }
  return words;
}
