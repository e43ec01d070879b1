/* Text → MachineDescription.  Words are read one after another; what they mean stands in vpt_schema.c. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest_word.h"
#include "hlo/machine/description/vpt_schema_internal.h"

/* Nothing in a description is larger, so sums and products of few of its numbers stay in range. */
#define LARGEST_NUMBER ((int64_t)1 << 40)

typedef struct VptParser {
  Arena *arena;
  const SourceFile *source;
  DiagSink *diag;
  size_t at, line_start;
  uint32_t line;
  Status status;
  MachineDescription *machine;
  ARRAY(MachineQueue) queues;
  bool seen[VPT_SECTION_COUNT];
  /* the open section; NULL: none, or one whose keys are skipped because its header is wrong */
  const VptSection *section;
  VptSectionId section_id;
  SourceLoc section_loc;
  bool is_skipping;
  bool has_errors; /* what is missing in the section may be what is wrong in it */
  PrimitiveType op_type;
  MachineQueue queue;
  VptOpDraft op;
  bool given[VPT_MAX_KEYS];
  SourceLoc key_locs[VPT_MAX_KEYS];
} VptParser;

#define FAIL(parser, loc, ...) \
  ((parser)->has_errors = true, (parser)->status = diag_error((parser)->diag, STATUS_INVALID, (loc), __VA_ARGS__))

/* --- text --- */

static char peek(const VptParser *parser) {
  return parser->at < parser->source->text.size ? parser->source->text.data[parser->at] : '\0';
}

static bool at_end(const VptParser *parser) {
  return parser->at >= parser->source->text.size;
}

static SourceLoc here(const VptParser *parser) {
  return (SourceLoc){parser->source, parser->line, (uint32_t)(parser->at - parser->line_start + 1)};
}

static void skip_line(VptParser *parser) {
  while (!at_end(parser) && peek(parser) != '\n') parser->at++;
}

/* Blanks and a comment, up to the line's end. */
static void skip_blanks(VptParser *parser) {
  while (peek(parser) == ' ' || peek(parser) == '\t' || peek(parser) == '\r') parser->at++;
  if (peek(parser) == '#') skip_line(parser);
}

static void skip_lines(VptParser *parser) {
  for (skip_blanks(parser); peek(parser) == '\n'; skip_blanks(parser)) {
    parser->line_start = ++parser->at;
    parser->line++;
  }
}

static bool is_word_char(char c) {
  return c > ' ' && c < 0x7f && !strchr("#[]=", c);
}

/* Empty when no word stands here. */
static StringView read_word(VptParser *parser, SourceLoc *out_loc) {
  skip_blanks(parser);
  *out_loc = here(parser);
  size_t start = parser->at;
  while (!at_end(parser) && is_word_char(peek(parser))) parser->at++;
  return sv_sub(parser->source->text, start, parser->at - start);
}

static bool read_char(VptParser *parser, char c) {
  skip_blanks(parser);
  if (peek(parser) != c) return false;
  parser->at++;
  return true;
}

/* --- names that are near --- */

static void note_nearest(VptParser *parser, const NearestWord *nearest) {
  if (nearest->word.size > 0) diag_note(parser->diag, NO_LOC, "did you mean '%.*s'?", SV_ARG(nearest->word));
}

/* --- values --- */

static void *section_object(VptParser *parser) {
  if (parser->section_id == VPT_QUEUE) return &parser->queue;
  if (parser->section_id == VPT_OP) return &parser->op;
  return parser->machine;
}

static bool is_decimal(StringView text) {
  size_t digits = 0, points = 0;
  for (size_t i = 0; i < text.size; i++) {
    points += text.data[i] == '.';
    digits += text.data[i] >= '0' && text.data[i] <= '9';
  }
  return digits > 0 && points <= 1 && digits + points == text.size;
}

/* An integer or a rate; true when it is one that the key allows, reported otherwise. */
static bool check_number(VptParser *parser, const VptKey *key, StringView text, SourceLoc loc, bool is_number,
                         double value) {
  if (!is_number && text.data[0] == '-')
    FAIL(parser, loc, "machine-value", "'%s' is negative", key->name);
  else if (!is_number && key->kind == VPT_SIZE)
    FAIL(parser, loc, "machine-value", "'%s' needs a size such as 64 or 256K, not '%.*s'", key->name, SV_ARG(text));
  else if (!is_number)
    FAIL(parser, loc, "machine-value", "'%s' needs a number%s, not '%.*s'", key->name,
         key->kind == VPT_COUNT ? " without fraction" : "", SV_ARG(text));
  else if (value > (double)LARGEST_NUMBER)
    FAIL(parser, loc, "machine-value", "'%s' is larger than %lld", key->name, (long long)LARGEST_NUMBER);
  else if (value <= 0 && (key->flags & VPT_POSITIVE))
    FAIL(parser, loc, "machine-value", "'%s' has to be more than 0", key->name);
  else
    return true;
  return false;
}

static void set_integer(VptParser *parser, const VptKey *key, StringView text, SourceLoc loc, void *place) {
  int64_t value = 0;
  bool is_number = key->kind == VPT_SIZE ? sv_to_size(text, &value) : sv_to_count(text, &value);
  if (check_number(parser, key, text, loc, is_number, (double)value)) memcpy(place, &value, sizeof value);
}

static void set_rate(VptParser *parser, const VptKey *key, StringView text, SourceLoc loc, void *place) {
  bool is_number = is_decimal(text);
  double value = is_number ? strtod(arena_copy_string(parser->arena, text.data, text.size), NULL) : 0;
  if (check_number(parser, key, text, loc, is_number, value)) memcpy(place, &value, sizeof value);
}

static void set_word(VptParser *parser, const VptKey *key, StringView text, SourceLoc loc, void *place) {
  int position = 0;
  for (const char *word = key->words; *word; position++) {
    size_t size = strcspn(word, "|");
    if (sv_equal(text, (StringView){word, size})) {
      memcpy(place, &position, sizeof position);
      return;
    }
    word += size + (word[size] == '|');
  }
  FAIL(parser, loc, "machine-value", "'%.*s' is not a value of '%s' (%s)", SV_ARG(text), key->name, key->words);
}

static PrimitiveType array_type_from_text(StringView text) {
  PrimitiveType type = type_from_text(text);
  return type_is_array(type) ? type : TYPE_INVALID;
}

static void unknown_type(VptParser *parser, StringView text, SourceLoc loc) {
  FAIL(parser, loc, "machine-unknown", "there is no element type '%.*s'", SV_ARG(text));
  NearestWord nearest = nearest_word_begin(text, 3);
  for (int type = TYPE_INVALID + 1; type < PRIMITIVE_TYPE_COUNT; type++)
    if (type_is_array((PrimitiveType)type))
      nearest_word_offer(&nearest, sv_from_cstring(type_text((PrimitiveType)type)));
  note_nearest(parser, &nearest);
}

static void set_type(VptParser *parser, const VptKey *key, StringView text, SourceLoc loc, void *place) {
  PrimitiveType type = array_type_from_text(text);
  if (key->kind == VPT_UNIT && sv_equal_cstring(text, "1"))
    type = TYPE_INVALID;
  else if (type == TYPE_INVALID && key->kind == VPT_UNIT)
    FAIL(parser, loc, "machine-value", "'unit' is 1 (bytes) or an element type, not '%.*s'", SV_ARG(text));
  else if (type == TYPE_INVALID)
    unknown_type(parser, text, loc);
  memcpy(place, &type, sizeof type);
}

_Static_assert(sizeof(MachineQueueKind) == sizeof(int) && sizeof(MachineCompletion) == sizeof(int) &&
                   sizeof(MachineSyncKind) == sizeof(int),
               "words are stored as int");

static void set_text(VptParser *parser, const VptKey *key, StringView text, SourceLoc loc, void *place) {
  (void)parser, (void)key, (void)loc;
  memcpy(place, &text, sizeof text);
}

static void set_value(VptParser *parser, const VptKey *key, StringView text, SourceLoc loc) {
  static void (*const setters[])(VptParser *, const VptKey *, StringView, SourceLoc, void *) = {
      [VPT_TEXT] = set_text, [VPT_COUNT] = set_integer, [VPT_SIZE] = set_integer, [VPT_RATE] = set_rate,
      [VPT_WORD] = set_word, [VPT_UNIT] = set_type,     [VPT_TYPE] = set_type,
  };
  setters[key->kind](parser, key, text, loc, (char *)section_object(parser) + key->offset);
}

/* --- sections end --- */

/* Keys of [op] after the costs. */
enum { KEY_INHERIT = MACHINE_COST_COUNT, KEY_SCALE };

static bool is_exec(const VptParser *parser) {
  return parser->section_id == VPT_QUEUE && parser->queue.kind == QUEUE_EXEC;
}

static bool is_needed(const VptParser *parser, const VptKey *key) {
  if (parser->section_id == VPT_OP && parser->given[KEY_INHERIT]) return false;
  /* Without a kind (the first key) it is too early to say. */
  if ((key->flags & VPT_TRANSFER) && (is_exec(parser) || !parser->given[0])) return false;
  return key->flags & VPT_NEEDED;
}

static void report_missing(VptParser *parser) {
  StringBuilder names;
  sb_init(&names, parser->arena);
  for (int i = 0; i < parser->section->key_count; i++) {
    const VptKey *key = &parser->section->keys[i];
    if (is_needed(parser, key) && !parser->given[i]) sb_printf(&names, "%s'%s'", names.size ? ", " : "", key->name);
  }
  if (names.size)
    FAIL(parser, parser->section_loc, "machine-missing", "section '%s' needs %.*s", parser->section->name,
         SV_ARG(sb_view(&names)));
}

static void finish_queue(VptParser *parser) {
  for (int i = 0; i < parser->section->key_count; i++)
    if (parser->given[i] && is_exec(parser) && (parser->section->keys[i].flags & VPT_TRANSFER))
      FAIL(parser, parser->key_locs[i], "machine-value", "'%s' is for queues that transfer, and this one executes",
           parser->section->keys[i].name);
  array_push(&parser->queues, parser->arena, parser->queue);
}

/* Inherited costs times |scale|; the rate of multiply-adds grows as the cycles shrink. */
static double inherited_cost(const VptParser *parser, const MachineOpCosts *parent, MachineCost cost) {
  return cost == COST_MAC ? parent->cost[cost] / parser->op.scale : parent->cost[cost] * parser->op.scale;
}

static void finish_op(VptParser *parser) {
  const VptOpDraft *op = &parser->op;
  const MachineOpCosts *parent = parser->machine->ops[op->inherit];
  MachineOpCosts *costs = ARENA_COPY_ARRAY(parser->arena, MachineOpCosts, &op->costs, 1);
  if (op->inherit != TYPE_INVALID && !parent)
    FAIL(parser, parser->key_locs[KEY_INHERIT], "machine-value", "no section 'op %s' stands above",
         type_text(op->inherit));
  if (!parser->given[KEY_INHERIT] && parser->given[KEY_SCALE])
    FAIL(parser, parser->key_locs[KEY_SCALE], "machine-value", "'scale' needs 'inherit', whose costs it multiplies");
  for (int cost = 0; cost < MACHINE_COST_COUNT; cost++) {
    if (parser->given[cost]) continue;
    /* A fallback comes earlier in the table, so it is there. */
    costs->cost[cost] =
        parent ? inherited_cost(parser, parent, (MachineCost)cost) : costs->cost[vpt_cost_fallback((MachineCost)cost)];
  }
  parser->machine->ops[parser->op_type] = costs;
}

static void finish_section(VptParser *parser) {
  if (!parser->section) return;
  if (!parser->has_errors) report_missing(parser);
  if (parser->section_id == VPT_QUEUE) finish_queue(parser);
  if (parser->section_id == VPT_OP) finish_op(parser);
}

/* --- sections begin --- */

static void unknown_section(VptParser *parser, StringView name, SourceLoc loc) {
  FAIL(parser, loc, "machine-unknown", "there is no section '%.*s'", SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name, 3);
  for (int id = 0; id < VPT_SECTION_COUNT; id++)
    nearest_word_offer(&nearest, sv_from_cstring(vpt_section((VptSectionId)id)->name));
  note_nearest(parser, &nearest);
}

static void duplicate(VptParser *parser, SourceLoc loc, const char *what, StringView name, SourceLoc first) {
  FAIL(parser, loc, "machine-duplicate", "%s '%.*s' is given twice", what, SV_ARG(name));
  diag_note(parser->diag, first, "first here");
}

/* Takes note of the section's argument; false when there is such a section already. */
static bool open_queue(VptParser *parser, StringView name, SourceLoc loc) {
  for (int64_t i = 0; i < parser->queues.count; i++)
    if (sv_equal(parser->queues.data[i].name, name)) {
      duplicate(parser, loc, "queue", name, parser->queues.data[i].loc);
      return false;
    }
  parser->queue = (MachineQueue){.loc = loc, .name = name};
  return true;
}

static bool open_op(VptParser *parser, StringView name, SourceLoc loc) {
  parser->op_type = array_type_from_text(name);
  parser->op = (VptOpDraft){.costs = {.loc = loc}, .scale = 1};
  if (parser->op_type == TYPE_INVALID) {
    unknown_type(parser, name, loc);
    return false;
  }
  const MachineOpCosts *first = parser->machine->ops[parser->op_type];
  if (first) duplicate(parser, loc, "type", name, first->loc);
  return !first;
}

static bool open_single(VptParser *parser, StringView name, SourceLoc loc) {
  SourceLoc *place = (SourceLoc *)((char *)parser->machine + parser->section->loc_offset);
  if (parser->seen[parser->section_id]) {
    duplicate(parser, loc, "section", name, *place);
    return false;
  }
  *place = loc;
  return true;
}

/* After the '[': the name and what stands after it. */
static void open_section(VptParser *parser) {
  SourceLoc loc, argument_loc;
  StringView name = read_word(parser, &loc), argument = read_word(parser, &argument_loc);
  bool closed = read_char(parser, ']'), opened = false;
  int id = 0;
  while (id < VPT_SECTION_COUNT && !sv_equal_cstring(name, vpt_section((VptSectionId)id)->name)) id++;
  parser->section = id < VPT_SECTION_COUNT ? vpt_section((VptSectionId)id) : NULL;
  if (name.size == 0 || !closed) {
    FAIL(parser, here(parser), "machine-syntax", "expected %s", name.size == 0 ? "the name of a section" : "']'");
    skip_line(parser);
  } else if (!parser->section) {
    unknown_section(parser, name, loc);
  } else if (argument.size == 0 && parser->section->argument) {
    FAIL(parser, loc, "machine-syntax", "expected '[%s %s]'", parser->section->name, parser->section->argument);
  } else if (argument.size > 0 && !parser->section->argument) {
    FAIL(parser, argument_loc, "machine-syntax", "section '%s' has no name of its own", parser->section->name);
  } else {
    parser->section_id = (VptSectionId)id;
    parser->section_loc = loc;
    opened = id == VPT_QUEUE ? open_queue(parser, argument, argument_loc)
             : id == VPT_OP  ? open_op(parser, argument, argument_loc)
                             : open_single(parser, name, loc);
  }
  if (opened) parser->seen[id] = true;
  if (!opened) parser->section = NULL;
  parser->is_skipping = !opened;
}

static void begin_section(VptParser *parser) {
  finish_section(parser);
  parser->has_errors = false;
  memset(parser->given, 0, sizeof parser->given);
  open_section(parser);
}

/* --- keys --- */

static void unknown_key(VptParser *parser, StringView name, SourceLoc loc) {
  FAIL(parser, loc, "machine-unknown", "section '%s' has no '%.*s'", parser->section->name, SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name, 3);
  for (int i = 0; i < parser->section->key_count; i++)
    nearest_word_offer(&nearest, sv_from_cstring(parser->section->keys[i].name));
  note_nearest(parser, &nearest);
}

static void take_entry(VptParser *parser, StringView name, SourceLoc loc, StringView value, SourceLoc value_loc) {
  if (parser->is_skipping) return;
  if (!parser->section) {
    FAIL(parser, loc, "machine-syntax", "'%.*s' stands before any section", SV_ARG(name));
    return;
  }
  int i = 0;
  while (i < parser->section->key_count && !sv_equal_cstring(name, parser->section->keys[i].name)) i++;
  if (i == parser->section->key_count) {
    unknown_key(parser, name, loc);
  } else if (parser->given[i]) {
    duplicate(parser, loc, "key", name, parser->key_locs[i]);
  } else {
    parser->given[i] = true;
    parser->key_locs[i] = loc;
    set_value(parser, &parser->section->keys[i], value, value_loc);
  }
}

static void read_entry(VptParser *parser) {
  SourceLoc loc, value_loc;
  StringView name = read_word(parser, &loc);
  const char *expected = NULL;
  StringView value = {0};
  if (name.size == 0)
    expected = "a key or '['";
  else if (!read_char(parser, '='))
    expected = "'='";
  else if ((value = read_word(parser, &value_loc)).size == 0)
    expected = "a value";
  if (!expected) {
    take_entry(parser, name, loc, value, value_loc);
    return;
  }
  FAIL(parser, here(parser), "machine-syntax", "expected %s", expected);
  skip_line(parser);
}

static void report_missing_sections(VptParser *parser) {
  for (int id = 0; id < VPT_SECTION_COUNT; id++)
    if (vpt_section((VptSectionId)id)->needed && !parser->seen[id])
      FAIL(parser, ((SourceLoc){parser->source, 1, 1}), "machine-missing", "there is no section '%s'",
           vpt_section((VptSectionId)id)->name);
}

Status machine_description_parse(Arena *arena, const SourceFile *source, DiagSink *diag,
                                 MachineDescription *out_machine) {
  *out_machine = (MachineDescription){.isa = {.triple = SV("host")}};
  VptParser parser = {.arena = arena, .source = source, .diag = diag, .line = 1, .machine = out_machine};
  for (skip_lines(&parser); !at_end(&parser); skip_lines(&parser)) {
    if (read_char(&parser, '['))
      begin_section(&parser);
    else
      read_entry(&parser);
  }
  finish_section(&parser);
  if (parser.status == STATUS_OK) report_missing_sections(&parser);
  out_machine->queues = parser.queues.data;
  out_machine->queue_count = (int32_t)parser.queues.count;
  return parser.status == STATUS_OK ? machine_description_verify(out_machine, diag) : parser.status;
}
