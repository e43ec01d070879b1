#include "cli/options.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "base/file_io.h"

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

typedef ARRAY(const char *) ArgumentList;

typedef struct OptionParser {
  Arena *arena;
  DiagSink *diag;
  Options *options;
  ArgumentList arguments;
  int64_t next;
  Status status;
} OptionParser;

#define USAGE(parser, ...) ((parser)->status = diag_error((parser)->diag, STATUS_INVALID, NO_LOC, "usage", __VA_ARGS__))

/* --- @FILE --- */

#define MAX_FILE_DEPTH 8

static Status expand_argument(OptionParser *parser, const char *argument, int depth);

/* Words as a shell splits them: blanks outside quotes; a backslash takes the next character as it is. */
static Status expand_file(OptionParser *parser, const char *path, int depth) {
  if (depth == MAX_FILE_DEPTH) return USAGE(parser, "'@%s': argument files are nested too deeply", path);
  StringView text;
  RETURN_IF_ERROR(file_read(parser->arena, path, parser->diag, &text));
  StringBuilder word;
  char quote = 0;
  bool in_word = false;
  for (size_t i = 0; i <= text.size; i++) {
    char c = i < text.size ? text.data[i] : '\n';
    bool ends = i == text.size || (!quote && isspace((unsigned char)c));
    if (ends) {
      if (in_word) RETURN_IF_ERROR(expand_argument(parser, word.data ? word.data : "", depth + 1));
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

static Status expand_argument(OptionParser *parser, const char *argument, int depth) {
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

/* The position of |text| among |words| ("a|b|c"), -1 when it is none; |out_nearest| then is the likeliest meant, if
 * any. */
static int64_t find_word(const char *words, StringView text, StringView *out_nearest) {
  int best = 3;
  *out_nearest = (StringView){0};
  for (int64_t position = 0;; position++) {
    size_t size = strcspn(words, "|");
    StringView word = {words, size};
    if (sv_equal(word, text)) return position;
    int distance = sv_edit_distance(word, text, best);
    if (distance < best) {
      best = distance;
      *out_nearest = word;
    }
    if (words[size] == '\0') return -1;
    words += size + 1;
  }
}

static void set_choice(OptionParser *parser, OptionId id, OptionValue *value) {
  const OptionInfo *info = &option_table[id];
  StringView nearest;
  value->integer = find_word(info->words, sv_from_cstring(value->text), &nearest);
  if (value->integer >= 0) return;
  StringBuilder list;
  sb_init(&list, parser->arena);
  for (const char *c = info->words; *c; c++) *c == '|' ? sb_append_cstring(&list, ", ") : sb_append_char(&list, *c);
  USAGE(parser, "'%s' is no value of '%s' (%.*s)", value->text, option_spelling(parser->arena, id),
        SV_ARG(sb_view(&list)));
  if (nearest.size > 0) diag_note(parser->diag, NO_LOC, "did you mean '%.*s'?", SV_ARG(nearest));
}

static void set_option(OptionParser *parser, OptionId id, const char *text) {
  const OptionInfo *info = &option_table[id];
  OptionValue *value = &parser->options->values[id], given = {.given = true, .text = text};
  const char *spelling = option_spelling(parser->arena, id);
  if (info->kind == OPTION_KIND_LIST && value->given)
    given.previous = ARENA_COPY_ARRAY(parser->arena, OptionValue, value, 1);
  if (info->kind == OPTION_KIND_CHOICE) {
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

/* An exact name, or the only one that begins so; OPTION_COUNT otherwise, with |out_ambiguous| saying why. */
static OptionId find_long(StringView name, bool *out_ambiguous) {
  OptionId found = OPTION_COUNT;
  *out_ambiguous = false;
  for (int i = 0; i < OPTION_COUNT; i++) {
    StringView candidate = sv_from_cstring(option_table[i].name);
    if (candidate.size == 0 || !sv_starts_with(candidate, name)) continue;
    if (candidate.size == name.size) {
      *out_ambiguous = false;
      return (OptionId)i;
    }
    *out_ambiguous = found != OPTION_COUNT;
    found = (OptionId)i;
  }
  return *out_ambiguous ? OPTION_COUNT : found;
}

static void report_unknown(OptionParser *parser, StringView name, bool ambiguous) {
  if (ambiguous) {
    USAGE(parser, "option '--%.*s' is ambiguous", SV_ARG(name));
    for (int i = 0; i < OPTION_COUNT; i++)
      if (option_table[i].name[0] && sv_starts_with(sv_from_cstring(option_table[i].name), name))
        diag_note(parser->diag, NO_LOC, "it may be '--%s'", option_table[i].name);
    return;
  }
  USAGE(parser, "unknown option '--%.*s'", SV_ARG(name));
  int best = 4;
  const char *nearest = NULL;
  for (int i = 0; i < OPTION_COUNT; i++) {
    int distance = sv_edit_distance(sv_from_cstring(option_table[i].name), name, best);
    if (option_table[i].name[0] && distance < best) {
      best = distance;
      nearest = option_table[i].name;
    }
  }
  if (nearest) diag_note(parser->diag, NO_LOC, "did you mean '--%s'?", nearest);
}

static const char *next_argument(OptionParser *parser) {
  return parser->next < parser->arguments.count ? parser->arguments.data[parser->next++] : NULL;
}

static void parse_long(OptionParser *parser, const char *argument) {
  const char *equals = strchr(argument, '=');
  size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
  char *name = arena_copy_string(parser->arena, argument, size);
  for (char *c = name; *c; c++)
    if (*c == '_') *c = '-';
  bool ambiguous;
  StringView given_name = {name, size};
  OptionId id = size > 0 ? find_long(given_name, &ambiguous) : (ambiguous = false, OPTION_COUNT);
  if (id == OPTION_COUNT) {
    report_unknown(parser, given_name, ambiguous);
    return;
  }
  OptionKind kind = option_table[id].kind;
  const char *value = equals ? equals + 1 : NULL;
  if (kind == OPTION_KIND_FLAG && value) {
    USAGE(parser, "option '--%s' takes no value", option_table[id].name);
    return;
  }
  if (kind != OPTION_KIND_FLAG && kind != OPTION_KIND_OPTIONAL_TEXT && !value) {
    value = next_argument(parser);
    if (!value) {
      USAGE(parser, "option '--%s' needs a value", option_table[id].name);
      return;
    }
  }
  set_option(parser, id, value);
}

static void parse_short(OptionParser *parser, const char *letters) {
  for (; *letters; letters++) {
    int id = 0;
    while (id < OPTION_COUNT && option_table[id].letter != *letters) id++;
    if (id == OPTION_COUNT) {
      USAGE(parser, "unknown option '-%c'", *letters);
      return;
    }
    if (option_table[id].kind == OPTION_KIND_FLAG) {
      set_option(parser, (OptionId)id, NULL);
      continue;
    }
    const char *value = letters[1] ? letters + 1 : next_argument(parser);
    if (!value)
      USAGE(parser, "option '-%c' needs a value", *letters);
    else
      set_option(parser, (OptionId)id, value);
    return;
  }
}

static void take_operand(OptionParser *parser, const char *operand, bool may_be_command) {
  Options *options = parser->options;
  if (may_be_command && options->operands.count == 0 && !options->has_command)
    for (int i = 0; i < COMMAND_COUNT; i++)
      if (command_table[i].word[0] && strcmp(command_table[i].word, operand) == 0) {
        options->command = (CommandId)i;
        options->has_command = true;
        return;
      }
  array_push(&options->operands, parser->arena, operand);
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
  }
}

Status options_parse(Arena *arena, int argc, char *const *argv, DiagSink *diag, Options *out_options) {
  *out_options = (Options){.command = COMMAND_COMPILE};
  OptionParser parser = {.arena = arena, .diag = diag, .options = out_options};
  for (int i = 1; i < argc; i++) RETURN_IF_ERROR(expand_argument(&parser, argv[i], 0));
  bool options_ended = false;
  for (const char *argument; (argument = next_argument(&parser)) != NULL;) {
    if (options_ended || argument[0] != '-' || argument[1] == '\0')
      take_operand(&parser, argument, !options_ended);
    else if (strcmp(argument, "--") == 0)
      options_ended = true;
    else if (argument[1] == '-')
      parse_long(&parser, argument + 2);
    else
      parse_short(&parser, argument + 1);
  }
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
