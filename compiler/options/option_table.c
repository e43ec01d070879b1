#include "compiler/options/option_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "base/nearest_word.h"

static const OptionInfo option_table[] = {
#define XLAC_OPTION(id, name, letter, kind, argument, group, commands, words, help) \
  {name, letter, OPTION_KIND_##kind, argument, GROUP_##group, commands, words, help},
#include "compiler/options/options.def"
#undef XLAC_OPTION
};

static const CommandInfo command_table[] = {
#define XLAC_COMMAND(id, word, letter, synopsis, summary) {word, letter, synopsis, summary},
#include "compiler/options/commands.def"
#undef XLAC_COMMAND
};

const OptionInfo *option_info(OptionId id) {
  return &option_table[id];
}

bool option_has_words(OptionId id) {
  return option_table[id].kind == OPTION_KIND_CHOICE || option_table[id].kind == OPTION_KIND_LEVEL;
}

const CommandInfo *command_info(CommandId id) {
  return &command_table[id];
}

const char *option_spelling(Arena *arena, OptionId id) {
  const OptionInfo *info = &option_table[id];
  return info->name[0] ? arena_printf(arena, "--%s", info->name) : arena_printf(arena, "-%c", info->letter);
}

/* --- values --- */

/* One value being taken; |status| is STATUS_INVALID once something was wrong. */
typedef struct Setting {
  Arena *arena;
  DiagSink *diag;
  Status status;
} Setting;

#define USAGE(setting, ...) \
  ((setting)->status = diag_error((setting)->diag, STATUS_INVALID, NO_LOC, "usage", __VA_ARGS__))

static bool parse_real(const char *text, double *out_value) {
  char *end;
  *out_value = strtod(text, &end);
  return end > text && *end == '\0' && isfinite(*out_value) && *out_value >= 0;
}

/* Whether a COUNT is in the option's range. */
static void check_count(Setting *setting, OptionId id, int64_t count) {
  const char *range = option_table[id].words, *last = range + strcspn(range, "-");
  if (*range == '\0') return;
  bool has_last = last[1] != '\0';
  if (count >= atoll(range) && (!has_last || count <= atoll(last + 1))) return;
  USAGE(setting, "'%s' needs a number from %.*s%s%s", option_spelling(setting->arena, id), (int)(last - range), range,
        has_last ? " to " : " on", last + 1);
}

/* The same of a REAL, which is above the range's first number. */
static void check_real(Setting *setting, OptionId id, double number) {
  const char *range = option_table[id].words, *last = range + strcspn(range, "-");
  if (*range == '\0' || (number > atof(range) && number <= atof(last + 1))) return;
  USAGE(setting, "'%s' needs a number above %.*s and at most %s", option_spelling(setting->arena, id),
        (int)(last - range), range, last + 1);
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
static bool set_highest_level(Setting *setting, OptionId id, OptionValue *value) {
  const OptionInfo *info = &option_table[id];
  const char *bar = strrchr(info->words, '|'), *highest = bar ? bar + 1 : info->words;
  int64_t level, most;
  if (!sv_to_count(sv_from_cstring(value->text), &level) || !sv_to_count(sv_from_cstring(highest), &most)) return false;
  if (level <= most) return false;
  value->integer = 0;
  for (const char *c = info->words; c < highest; c++) value->integer += *c == '|';
  const char *spelling = option_spelling(setting->arena, id);
  diag_warning(setting->diag, NO_LOC, "option-level", "there is no '%s%s': '%s%s' is the highest, and is used",
               spelling, value->text, spelling, highest);
  return true;
}

static void set_choice(Setting *setting, OptionId id, OptionValue *value) {
  const OptionInfo *info = &option_table[id];
  NearestWord nearest = nearest_word_begin(sv_from_cstring(value->text));
  value->integer = find_word(info->words, &nearest);
  if (value->integer >= 0 || (info->kind == OPTION_KIND_LEVEL && set_highest_level(setting, id, value))) return;
  StringBuilder list;
  sb_init(&list, setting->arena);
  for (const char *c = info->words; *c; c++) *c == '|' ? sb_append_cstring(&list, ", ") : sb_append_char(&list, *c);
  USAGE(setting, "'%s' is not a value of '%s' (%.*s)", value->text, option_spelling(setting->arena, id),
        SV_ARG(sb_view(&list)));
  nearest_word_note(&nearest, setting->diag);
}

static bool repeats(OptionKind kind) {
  return kind == OPTION_KIND_LIST || kind == OPTION_KIND_INPUT_LIST;
}

Status option_set(Arena *arena, Options *options, OptionId id, const char *text, DiagSink *diag) {
  const OptionInfo *info = &option_table[id];
  OptionValue *value = &options->values[id], given = {.given = true, .text = text};
  Setting setting = {arena, diag, STATUS_OK};
  const char *spelling = option_spelling(arena, id);
  if (repeats(info->kind) && value->given) given.previous = ARENA_COPY_ARRAY(arena, OptionValue, value, 1);
  if (option_has_words(id)) {
    set_choice(&setting, id, &given);
  } else if (info->kind == OPTION_KIND_SIZE) {
    if (!sv_to_size(sv_from_cstring(text), &given.integer))
      USAGE(&setting, "'%s' needs a size such as 64K, not '%s'", spelling, text);
  } else if (info->kind == OPTION_KIND_COUNT) {
    if (!sv_to_count(sv_from_cstring(text), &given.integer))
      USAGE(&setting, "'%s' needs a non-negative integer, not '%s'", spelling, text);
    else
      check_count(&setting, id, given.integer);
  } else if (info->kind == OPTION_KIND_REAL) {
    if (!parse_real(text, &given.real))
      USAGE(&setting, "'%s' needs a non-negative number, not '%s'", spelling, text);
    else
      check_real(&setting, id, given.real);
  }
  *value = given;
  return setting.status;
}

/* --- names --- */

/* Whether |name| is |known|, '_' being '-'. */
static bool is_name(StringView name, const char *known) {
  if (name.size == 0 || name.size != strlen(known)) return false;
  for (size_t i = 0; i < name.size; i++) {
    if (known[i] != (name.data[i] == '_' ? '-' : name.data[i])) return false;
  }
  return true;
}

bool option_find(StringView name, OptionId *out_id) {
  int id = 0;
  while (id < OPTION_COUNT && !is_name(name, option_table[id].name)) id++;
  *out_id = (OptionId)id;
  return id < OPTION_COUNT;
}

/* Stands among the letters of commands, and is none of theirs. */
enum { LIBRARY_LETTER = 'b' };

bool option_is_of_library(OptionId id) {
  return strchr(option_table[id].commands, LIBRARY_LETTER) != NULL;
}

void option_note_nearest(StringView name, bool of_library, DiagSink *diag) {
  NearestWord nearest = nearest_word_begin(name);
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (!of_library || option_is_of_library((OptionId)i))
      nearest_word_offer(&nearest, sv_from_cstring(option_table[i].name));
  }
  if (nearest.word.size > 0) diag_note(diag, NO_LOC, "did you mean '--%.*s'?", SV_ARG(nearest.word));
}

/* --- commands --- */

/* "'xlac run' and 'xlac opt'" */
static const char *commands_with(Arena *arena, const OptionInfo *info) {
  StringBuilder list;
  sb_init(&list, arena);
  size_t left = strcspn(info->commands, (const char[]){LIBRARY_LETTER, '\0'});
  for (const char *letter = info->commands; left > 0; letter++, left--) {
    int id = 0;
    while (command_table[id].letter != *letter) id++;
    const char *word = command_table[id].word;
    sb_printf(&list, "'xlac%s%s'", word[0] ? " " : "", word);
    sb_append_cstring(&list, left > 2 ? ", " : left == 2 ? " and " : "");
  }
  return list.data;
}

/* Known only once all arguments are read. */
Status options_check_command(Arena *arena, const Options *options, DiagSink *diag) {
  const CommandInfo *command = &command_table[options->command];
  Setting setting = {arena, diag, STATUS_OK};
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (!options->values[i].given || strchr(option_table[i].commands, command->letter)) continue;
    const char *spelling = option_spelling(arena, (OptionId)i);
    if (command->word[0])
      USAGE(&setting, "option '%s' does not apply to '%s'", spelling, command->word);
    else
      USAGE(&setting, "option '%s' needs a command that takes it", spelling);
    diag_note(diag, NO_LOC, "it is for %s", commands_with(arena, &option_table[i]));
  }
  return setting.status;
}

StringView option_word(OptionId id, int64_t number) {
  const char *word = option_info(id)->words;
  for (; number > 0; number--) word += strcspn(word, "|") + 1;
  return (StringView){word, strcspn(word, "|")};
}

StringView option_text(const Options *options, OptionId id) {
  const OptionValue *value = &options->values[id];
  return value->given && value->text ? sv_from_cstring(value->text) : SV("");
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
