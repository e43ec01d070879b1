#include "base/section_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest_word.h"

/* No count or size is larger, so sums and products of few of them stay in range. */
#define LARGEST_COUNT ((int64_t)1 << 40)

/* --- text --- */

static char peek(const SectionReader *reader) {
  return reader->at < reader->source->text.size ? reader->source->text.data[reader->at] : '\0';
}

static bool at_end(const SectionReader *reader) {
  return reader->at >= reader->source->text.size;
}

static SourceLoc here(const SectionReader *reader) {
  return (SourceLoc){reader->source, reader->line, (uint32_t)(reader->at - reader->line_start + 1)};
}

static void skip_line(SectionReader *reader) {
  while (!at_end(reader) && peek(reader) != '\n') reader->at++;
}

/* Blanks and a comment, up to the line's end. */
static void skip_blanks(SectionReader *reader) {
  while (peek(reader) == ' ' || peek(reader) == '\t' || peek(reader) == '\r') reader->at++;
  if (peek(reader) == '#') skip_line(reader);
}

static void skip_lines(SectionReader *reader) {
  for (skip_blanks(reader); peek(reader) == '\n'; skip_blanks(reader)) {
    reader->line_start = ++reader->at;
    reader->line++;
  }
}

static bool is_word_char(char c) {
  return c > ' ' && c < 0x7f && !strchr("#[]=", c);
}

/* Empty when no word stands here. */
static StringView read_word(SectionReader *reader, SourceLoc *out_loc) {
  skip_blanks(reader);
  *out_loc = here(reader);
  size_t start = reader->at;
  while (!at_end(reader) && is_word_char(peek(reader))) reader->at++;
  return sv_sub(reader->source->text, start, reader->at - start);
}

static bool read_char(SectionReader *reader, char c) {
  skip_blanks(reader);
  if (peek(reader) != c) return false;
  reader->at++;
  return true;
}

/* --- what is told more than once --- */

void section_duplicate(SectionReader *reader, SourceLoc loc, const char *what, StringView name, SourceLoc first) {
  SECTION_FAIL(reader, loc, "description-duplicate", "%s '%.*s' is given twice", what, SV_ARG(name));
  diag_note(reader->diag, first, "first here");
}

/* --- values --- */

/* Digits with at most one point, then perhaps an exponent. */
static bool is_decimal(StringView text) {
  size_t i = 0, digits = 0, points = 0;
  for (; i < text.size && (char_is_digit(text.data[i]) || text.data[i] == '.'); i++) {
    points += text.data[i] == '.';
    digits += text.data[i] != '.';
  }
  if (digits == 0 || points > 1) return false;
  if (i == text.size) return true;
  if (text.data[i++] != 'e') return false;
  if (i < text.size && (text.data[i] == '-' || text.data[i] == '+')) i++;
  size_t exponent = i;
  while (i < text.size && char_is_digit(text.data[i])) i++;
  return i > exponent && i == text.size;
}

/* True when it is a number that the key allows, reported otherwise. */
static bool check_number(SectionReader *reader, const SectionKey *key, StringView text, SourceLoc loc, bool is_number,
                         double value) {
  double largest = key->kind == SECTION_RATE ? reader->schema->largest_rate : (double)LARGEST_COUNT;
  if (!is_number && text.data[0] == '-')
    SECTION_FAIL(reader, loc, "description-value", "'%s' is negative", key->name);
  else if (!is_number && key->kind == SECTION_SIZE)
    SECTION_FAIL(reader, loc, "description-value", "'%s' needs a size such as 64 or 256K, not '%.*s'", key->name,
                 SV_ARG(text));
  else if (!is_number)
    SECTION_FAIL(reader, loc, "description-value", "'%s' needs a number%s, not '%.*s'", key->name,
                 key->kind == SECTION_COUNT ? " without fraction" : "", SV_ARG(text));
  else if (value > largest)
    SECTION_FAIL(reader, loc, "description-value", "'%s' is larger than %.0f", key->name, largest);
  else if (value <= 0 && (key->flags & SECTION_POSITIVE))
    SECTION_FAIL(reader, loc, "description-value", "'%s' has to be more than 0", key->name);
  else
    return true;
  return false;
}

static void set_integer(SectionReader *reader, const SectionKey *key, StringView text, SourceLoc loc, void *place) {
  int64_t value = 0;
  bool is_number = key->kind == SECTION_SIZE ? sv_to_size(text, &value) : sv_to_count(text, &value);
  if (check_number(reader, key, text, loc, is_number, (double)value)) memcpy(place, &value, sizeof value);
}

static void set_rate(SectionReader *reader, const SectionKey *key, StringView text, SourceLoc loc, void *place) {
  bool is_number = is_decimal(text);
  double value = is_number ? strtod(arena_copy_string(reader->arena, text.data, text.size), NULL) : 0;
  if (check_number(reader, key, text, loc, is_number, value)) memcpy(place, &value, sizeof value);
}

static void set_word(SectionReader *reader, const SectionKey *key, StringView text, SourceLoc loc, void *place) {
  int position = 0;
  NearestWord nearest = nearest_word_begin(text);
  for (const char *word = key->words; *word; position++) {
    size_t size = strcspn(word, "|");
    nearest_word_offer(&nearest, (StringView){word, size});
    if (sv_equal(text, (StringView){word, size})) {
      memcpy(place, &position, sizeof position);
      return;
    }
    word += size + (word[size] == '|');
  }
  SECTION_FAIL(reader, loc, "description-value", "'%.*s' is not a value of '%s' (%s)", SV_ARG(text), key->name,
               key->words);
  nearest_word_note(&nearest, reader->diag);
}

static void set_text(SectionReader *reader, const SectionKey *key, StringView text, SourceLoc loc, void *place) {
  (void)reader, (void)key, (void)loc;
  memcpy(place, &text, sizeof text);
}

static void set_other(SectionReader *reader, const SectionKey *key, StringView text, SourceLoc loc, void *place) {
  key->set(reader, text, loc, place);
}

static void set_value(SectionReader *reader, const SectionKey *key, StringView text, SourceLoc loc) {
  static void (*const setters[])(SectionReader *, const SectionKey *, StringView, SourceLoc, void *) = {
      [SECTION_TEXT] = set_text, [SECTION_COUNT] = set_integer, [SECTION_SIZE] = set_integer,
      [SECTION_RATE] = set_rate, [SECTION_WORD] = set_word,     [SECTION_OTHER] = set_other,
  };
  setters[key->kind](reader, key, text, loc, (char *)reader->object + key->offset);
}

/* --- sections --- */

static bool is_needed(const SectionReader *reader, const SectionKey *key) {
  return reader->rule->is_needed != NULL ? reader->rule->is_needed(reader, key) : key->flags & SECTION_NEEDED;
}

static void report_missing_keys(SectionReader *reader) {
  StringBuilder names;
  sb_init(&names, reader->arena);
  for (int i = 0; i < reader->rule->key_count; i++) {
    const SectionKey *key = &reader->rule->keys[i];
    if (is_needed(reader, key) && !reader->given[i]) sb_printf(&names, "%s'%s'", names.size ? ", " : "", key->name);
  }
  if (names.size)
    SECTION_FAIL(reader, reader->loc, "description-missing", "section '%s' needs %.*s", reader->rule->name,
                 SV_ARG(sb_view(&names)));
}

static void close_section(SectionReader *reader) {
  if (reader->rule == NULL) return;
  if (!reader->has_errors) report_missing_keys(reader);
  if (reader->rule->close != NULL) reader->rule->close(reader);
}

static void unknown_section(SectionReader *reader, StringView name, SourceLoc loc) {
  SECTION_FAIL(reader, loc, "description-unknown", "there is no section '%.*s'", SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name);
  for (int r = 0; r < reader->schema->count; r++)
    nearest_word_offer(&nearest, sv_from_cstring(reader->schema->rules[r].name));
  nearest_word_note(&nearest, reader->diag);
}

static const SectionRule *find_rule(const SectionReader *reader, StringView name) {
  for (int r = 0; r < reader->schema->count; r++) {
    if (sv_equal_cstring(name, reader->schema->rules[r].name)) return &reader->schema->rules[r];
  }
  return NULL;
}

/* The object that a section's keys fill; NULL: reported. */
static void *open_object(SectionReader *reader, const SectionRule *rule, StringView argument, SourceLoc argument_loc) {
  const SourceLoc *first = &reader->seen[rule - reader->schema->rules];
  if (rule->argument == NULL && first->line > 0) {
    section_duplicate(reader, reader->loc, "section", sv_from_cstring(rule->name), *first);
    return NULL;
  }
  if (rule->argument == NULL) memcpy((char *)reader->target + rule->loc_offset, &reader->loc, sizeof reader->loc);
  return rule->open != NULL ? rule->open(reader, argument, argument_loc) : reader->target;
}

/* After the '[': the name and what stands after it. */
static void open_section(SectionReader *reader) {
  SourceLoc argument_loc;
  StringView name = read_word(reader, &reader->loc), argument = read_word(reader, &argument_loc);
  bool closed = read_char(reader, ']');
  const SectionRule *rule = find_rule(reader, name);
  reader->object = NULL;
  reader->rule = rule;
  if (name.size == 0 || !closed) {
    SECTION_FAIL(reader, here(reader), "description-syntax", "expected %s",
                 name.size == 0 ? "the name of a section" : "']'");
    skip_line(reader);
  } else if (rule == NULL) {
    unknown_section(reader, name, reader->loc);
  } else if (argument.size == 0 && rule->argument) {
    SECTION_FAIL(reader, reader->loc, "description-syntax", "expected '[%s %s]'", rule->name, rule->argument);
  } else if (argument.size > 0 && !rule->argument) {
    SECTION_FAIL(reader, argument_loc, "description-syntax", "section '%s' has no name of its own", rule->name);
  } else {
    reader->object = open_object(reader, rule, argument, argument_loc);
  }
  reader->is_skipping = reader->object == NULL;
  if (reader->is_skipping)
    reader->rule = NULL;
  else
    reader->seen[rule - reader->schema->rules] = reader->loc;
}

static void begin_section(SectionReader *reader) {
  close_section(reader);
  reader->has_errors = false;
  memset(reader->given, 0, sizeof reader->given);
  open_section(reader);
}

/* --- keys --- */

static void unknown_key(SectionReader *reader, StringView name, SourceLoc loc) {
  SECTION_FAIL(reader, loc, "description-unknown", "section '%s' has no '%.*s'", reader->rule->name, SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name);
  for (int i = 0; i < reader->rule->key_count; i++)
    nearest_word_offer(&nearest, sv_from_cstring(reader->rule->keys[i].name));
  nearest_word_note(&nearest, reader->diag);
}

static void take_entry(SectionReader *reader, StringView name, SourceLoc loc, StringView value, SourceLoc value_loc) {
  if (reader->is_skipping) return;
  if (!reader->rule) {
    SECTION_FAIL(reader, loc, "description-syntax", "'%.*s' stands before any section", SV_ARG(name));
    return;
  }
  int i = 0;
  while (i < reader->rule->key_count && !sv_equal_cstring(name, reader->rule->keys[i].name)) i++;
  if (i == reader->rule->key_count) {
    unknown_key(reader, name, loc);
  } else if (reader->given[i]) {
    section_duplicate(reader, loc, "key", name, reader->key_locs[i]);
  } else {
    reader->given[i] = true;
    reader->key_locs[i] = loc;
    set_value(reader, &reader->rule->keys[i], value, value_loc);
  }
}

static void read_entry(SectionReader *reader) {
  SourceLoc loc, value_loc;
  StringView name = read_word(reader, &loc);
  const char *expected = NULL;
  StringView value = {0};
  if (name.size == 0)
    expected = "a key or '['";
  else if (!read_char(reader, '='))
    expected = "'='";
  else if ((value = read_word(reader, &value_loc)).size == 0)
    expected = "a value";
  if (!expected) {
    take_entry(reader, name, loc, value, value_loc);
    return;
  }
  SECTION_FAIL(reader, here(reader), "description-syntax", "expected %s", expected);
  skip_line(reader);
}

static void report_missing_sections(SectionReader *reader) {
  for (int r = 0; r < reader->schema->count; r++) {
    if (reader->schema->rules[r].needed && reader->seen[r].line == 0)
      SECTION_FAIL(reader, ((SourceLoc){reader->source, 1, 1}), "description-missing", "there is no section '%s'",
                   reader->schema->rules[r].name);
  }
}

Status section_read(Arena *arena, const SourceFile *source, DiagSink *diag, const SectionSchema *schema, void *target,
                    void *context) {
  SectionReader reader = {.arena = arena, .source = source, .diag = diag, .line = 1, .schema = schema};
  reader.target = target;
  reader.context = context;
  for (skip_lines(&reader); !at_end(&reader); skip_lines(&reader)) {
    if (read_char(&reader, '['))
      begin_section(&reader);
    else
      read_entry(&reader);
  }
  close_section(&reader);
  if (reader.status == STATUS_OK) report_missing_sections(&reader);
  return reader.status;
}
