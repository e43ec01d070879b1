/* The frame of the reader of plans: tokens, names, statements, blocks and loops. */
#include "codegen/oncore/language/plan_parser.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/checked_math.h"
#include "codegen/kernel/kernel_strip.h"
#include "codegen/oncore/language/plan_parser_internal.h"

/* --- tokens --- */

const PlanToken *plan_peek(const PlanReader *reader) {
  return &reader->tokens.data[reader->at];
}

bool plan_at_mark(const PlanReader *reader, const char *mark) {
  const PlanToken *token = plan_peek(reader);
  return token->kind == PLAN_TOKEN_MARK && sv_equal_cstring(token->text, mark);
}

bool plan_at_word(const PlanReader *reader, const char *word) {
  const PlanToken *token = plan_peek(reader);
  return token->kind == PLAN_TOKEN_NAME && sv_equal_cstring(token->text, word);
}

bool plan_take_mark(PlanReader *reader, const char *mark) {
  bool is_here = plan_at_mark(reader, mark);
  reader->at += is_here;
  return is_here;
}

bool plan_take_word(PlanReader *reader, const char *word) {
  bool is_here = plan_at_word(reader, word);
  reader->at += is_here;
  return is_here;
}

bool plan_fail(PlanReader *reader, SourceLoc loc, const char *code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = arena_vprintf(reader->arena, format, arguments);
  va_end(arguments);
  reader->status = diag_error(reader->diag, STATUS_INVALID, loc, code, "%s", text);
  return false;
}

/* Whether a mistake in what is left of the statement was told when its tokens were made: then no other is. */
static bool is_told(const PlanReader *reader) {
  const PlanToken *token = plan_peek(reader);
  while (token->kind != PLAN_TOKEN_BAD && token->kind != PLAN_TOKEN_NEWLINE && token->kind != PLAN_TOKEN_END) token++;
  return token->kind == PLAN_TOKEN_BAD;
}

bool plan_expected(PlanReader *reader, const char *what) {
  const PlanToken *token = plan_peek(reader);
  if (is_told(reader)) {
    reader->status = STATUS_INVALID;
    return false;
  }
  bool ends = token->kind == PLAN_TOKEN_NEWLINE || token->kind == PLAN_TOKEN_END || token->kind == PLAN_TOKEN_DEDENT;
  if (ends) return plan_fail(reader, token->loc, "plan-syntax", "expected %s, not the end of the line", what);
  return plan_fail(reader, token->loc, "plan-syntax", "expected %s, not '%.*s'", what, SV_ARG(token->text));
}

bool plan_need_mark(PlanReader *reader, const char *mark) {
  return plan_take_mark(reader, mark) || plan_expected(reader, arena_printf(reader->arena, "'%s'", mark));
}

bool plan_need_name(PlanReader *reader, const char *what, StringView *out_name, SourceLoc *out_loc) {
  const PlanToken *token = plan_peek(reader);
  if (token->kind != PLAN_TOKEN_NAME) return plan_expected(reader, what);
  *out_name = token->text;
  *out_loc = token->loc;
  reader->at++;
  return true;
}

bool plan_need_integer(PlanReader *reader, const char *what, int64_t *out_value) {
  const PlanToken *token = plan_peek(reader);
  if (token->kind != PLAN_TOKEN_INTEGER) return plan_expected(reader, what);
  *out_value = token->integer;
  if (token->integer > PLAN_LARGEST_NUMBER) return plan_fail(reader, token->loc, "plan-range", "a number beyond 2^50");
  reader->at++;
  return true;
}

/* --- names --- */

static NameBinding *find_binding(PlanReader *reader, StringView name) {
  for (int64_t n = reader->names.count - 1; n >= 0; n--) {
    if (sv_equal(reader->names.data[n].name, name)) return &reader->names.data[n];
  }
  return NULL;
}

void plan_names_note(Arena *arena, const StringView *names, int64_t count, DiagSink *diag) {
  enum { MOST_NAMES = 12 };
  StringBuilder text;
  sb_init(&text, arena);
  for (int64_t n = 0; n < count && n < MOST_NAMES; n++)
    sb_printf(&text, "%s'%.*s'", n > 0 ? ", " : "", SV_ARG(names[n]));
  if (count == 0) sb_append_cstring(&text, "none");
  if (count > MOST_NAMES) sb_printf(&text, " and %" PRId64 " more", count - MOST_NAMES);
  diag_note(diag, NO_LOC, "there are %.*s", SV_ARG(sb_view(&text)));
}

void plan_note_names(PlanReader *reader, const PlanNames *names) {
  plan_names_note(reader->arena, names->data, names->count, reader->diag);
}

static void note_bindings(PlanReader *reader) {
  PlanNames names = {0};
  for (int64_t n = 0; n < reader->names.count; n++) {
    const NameBinding *binding = &reader->names.data[n];
    if (!binding->is_freed && binding->kind != NAME_BAD) array_push(&names, reader->arena, binding->name);
  }
  plan_note_names(reader, &names);
}

NameBinding *plan_find_name(PlanReader *reader, StringView name, SourceLoc loc) {
  NameBinding *found = find_binding(reader, name);
  if (found != NULL && !found->is_freed) return found;
  if (found != NULL) {
    plan_fail(reader, loc, "plan-name", "'%.*s' was freed", SV_ARG(name));
    return NULL;
  }
  plan_fail(reader, loc, "plan-name", "there is no '%.*s' here", SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name);
  for (int64_t n = 0; n < reader->names.count; n++) nearest_word_offer(&nearest, reader->names.data[n].name);
  const NameBinding *near = nearest.word.size > 0 ? find_binding(reader, nearest.word) : NULL;
  if (near != NULL) diag_note(reader->diag, near->loc, "did you mean '%.*s'?", SV_ARG(near->name));
  note_bindings(reader);
  return NULL;
}

bool plan_bind(PlanReader *reader, NameBinding binding) {
  const NameBinding *first = find_binding(reader, binding.name);
  if (first != NULL && !first->is_freed) {
    plan_fail(reader, binding.loc, "plan-name", "'%.*s' is declared twice", SV_ARG(binding.name));
    diag_note(reader->diag, first->loc, "first here");
    return false;
  }
  array_push(&reader->names, reader->arena, binding);
  return true;
}

void plan_bind_bad(PlanReader *reader, StringView name, SourceLoc loc) {
  const NameBinding *first = find_binding(reader, name);
  if (first == NULL || first->is_freed)
    array_push(&reader->names, reader->arena, ((NameBinding){.name = name, .loc = loc, .kind = NAME_BAD}));
}

/* --- statements --- */

static void skip_to_line_end(PlanReader *reader) {
  while (plan_peek(reader)->kind != PLAN_TOKEN_NEWLINE && plan_peek(reader)->kind != PLAN_TOKEN_END) reader->at++;
}

/* After a line: the block below it, if there is one. */
static void skip_block(PlanReader *reader) {
  if (plan_peek(reader)->kind != PLAN_TOKEN_INDENT) return;
  int open = 0;
  do {
    PlanTokenKind kind = plan_peek(reader)->kind;
    open += (kind == PLAN_TOKEN_INDENT) - (kind == PLAN_TOKEN_DEDENT);
    reader->at++;
  } while (open > 0 && plan_peek(reader)->kind != PLAN_TOKEN_END);
}

static bool end_statement(PlanReader *reader) {
  return plan_peek(reader)->kind == PLAN_TOKEN_NEWLINE || plan_expected(reader, "the end of the line");
}

static void parse_block(PlanReader *reader);

/* The raw text from here to a mark or a word, which may be of any characters. */
static StringView take_text(PlanReader *reader, const char *mark, const char *word, SourceLoc *out_loc) {
  const PlanToken *first = plan_peek(reader);
  const char *end = first->text.data;
  *out_loc = first->loc;
  while (plan_peek(reader)->kind != PLAN_TOKEN_NEWLINE && plan_peek(reader)->kind != PLAN_TOKEN_END &&
         !plan_at_mark(reader, mark) && !plan_at_word(reader, word)) {
    end = plan_peek(reader)->text.data + plan_peek(reader)->text.size;
    reader->at++;
  }
  return (StringView){first->text.data, (size_t)(end - first->text.data)};
}

static bool parse_target(PlanReader *reader) {
  PlanFile *file = reader->file;
  file->target = take_text(reader, "", "digest", &file->target_loc);
  if (file->target.size == 0) return plan_expected(reader, "the name of a target");
  if (plan_take_word(reader, "digest")) {
    file->digest = take_text(reader, "", "", &file->digest_loc);
    if (file->digest.size == 0) return plan_expected(reader, "a digest");
  }
  if (sv_equal(file->target, reader->machine->name)) return true;
  return plan_fail(reader, file->target_loc, "plan-target", "the plan is for '%.*s', and the target is '%.*s'",
                   SV_ARG(file->target), SV_ARG(reader->machine->name));
}

static bool parse_edges(PlanReader *reader) {
  reader->is_explicit = plan_at_word(reader, "explicit");
  if (!plan_take_word(reader, "explicit") && !plan_take_word(reader, "derived"))
    return plan_expected(reader, "'explicit' or 'derived'");
  return true;
}

static bool parse_constant(PlanReader *reader) {
  NameBinding binding = {.kind = NAME_CONSTANT};
  if (!plan_need_name(reader, "a name", &binding.name, &binding.loc) || !plan_need_mark(reader, "=")) return false;
  if (plan_parse_constant(reader, &binding.value)) return plan_bind(reader, binding);
  plan_bind_bad(reader, binding.name, binding.loc);
  return false;
}

/* --- loops --- */

typedef struct ForHead {
  int32_t first_loop, last_loop;
  int64_t names;
  bool has_pipeline;
  int64_t depth, ahead, least_slots;
  SourceLoc ahead_loc;
} ForHead;

/* [a, b] or range(a, b, step): the numbers a, a + step, … below b. */
static bool parse_bounds(PlanReader *reader, int64_t *out_first, int64_t *out_end, int64_t *out_step) {
  *out_step = 1;
  if (plan_take_mark(reader, "[")) {
    return plan_parse_constant(reader, out_first) && plan_need_mark(reader, ",") &&
           plan_parse_constant(reader, out_end) && plan_need_mark(reader, "]");
  }
  if (!plan_take_word(reader, "range")) return plan_expected(reader, "'[' or 'range'");
  *out_first = 0;
  if (!plan_need_mark(reader, "(") || !plan_parse_constant(reader, out_end)) return false;
  if (plan_take_mark(reader, ",")) {
    *out_first = *out_end;
    if (!plan_parse_constant(reader, out_end)) return false;
    if (plan_take_mark(reader, ",") && !plan_parse_constant(reader, out_step)) return false;
  }
  return plan_need_mark(reader, ")");
}

static bool parse_loop(PlanReader *reader) {
  StringView name;
  SourceLoc loc;
  if (!plan_need_name(reader, "the name of a loop", &name, &loc)) return false;
  if (!plan_take_word(reader, "in")) return plan_expected(reader, "'in'");
  SourceLoc bounds = plan_peek(reader)->loc;
  int64_t first, end, step, around = 1;
  if (!parse_bounds(reader, &first, &end, &step)) return false;
  if (step < 1) return plan_fail(reader, bounds, "plan-range", "a step is at least 1");
  if (end <= first) return plan_fail(reader, bounds, "plan-range", "the loop has no iterations");
  int64_t trips = ceil_div(end - first, step);
  for (int32_t l = reader->loop; l >= 0; l = reader->loops.data[l].loop.parent)
    around *= reader->loops.data[l].loop.trip_count;
  if (trips > PLAN_LARGEST_NUMBER / around) return plan_fail(reader, bounds, "plan-range", "more than 2^50 iterations");
  LoopDraft draft = {.loop = {.name = name, .trip_count = trips, .parent = reader->loop}, .first = first, .step = step};
  reader->loop = (int32_t)reader->loops.count;
  array_push(&reader->loops, reader->arena, draft);
  return plan_bind(reader, (NameBinding){.name = name, .loc = loc, .kind = NAME_LOOP, .number = reader->loop});
}

static bool parse_pipeline(PlanReader *reader, ForHead *head) {
  if (!plan_need_mark(reader, "(")) return false;
  if (!plan_take_word(reader, "depth")) return plan_expected(reader, "'depth'");
  SourceLoc loc = plan_peek(reader)->loc;
  if (!plan_need_mark(reader, "=") || !plan_need_integer(reader, "a number of slots", &head->depth)) return false;
  if (head->depth < 1) return plan_fail(reader, loc, "plan-pipeline", "a pipeline needs a depth of at least 1");
  head->has_pipeline = true;
  if (plan_take_mark(reader, ",")) {
    if (!plan_take_word(reader, "ahead")) return plan_expected(reader, "'ahead'");
    if (!plan_need_mark(reader, "=")) return false;
    head->ahead_loc = plan_peek(reader)->loc;
    if (!plan_need_integer(reader, "a number of iterations", &head->ahead)) return false;
  }
  return plan_need_mark(reader, ")");
}

/* The ':' at the end of a loop's head, where a word may be a misspelt part of it. */
static bool need_colon(PlanReader *reader) {
  const PlanToken *token = plan_peek(reader);
  if (plan_need_mark(reader, ":")) return true;
  if (is_told(reader)) return false;
  NearestWord nearest = nearest_word_begin(token->text);
  nearest_word_offer(&nearest, SV("pipeline"));
  nearest_word_offer(&nearest, SV("with"));
  if (token->kind == PLAN_TOKEN_NAME) nearest_word_note(&nearest, reader->diag);
  return false;
}

/* with t in A[a:b]: t is A's slices a … b along axis 0, one after the other. */
static bool parse_with(PlanReader *reader, ForHead *head) {
  NameBinding binding = {.kind = NAME_SLOT, .first_loop = head->first_loop, .last_loop = head->last_loop};
  StringView name;
  SourceLoc loc, range;
  int64_t end;
  if (!plan_need_name(reader, "a name", &binding.name, &binding.loc)) return false;
  if (!plan_take_word(reader, "in")) return plan_expected(reader, "'in'");
  if (!plan_need_name(reader, "a Tensor", &name, &loc)) return false;
  const NameBinding *whole = plan_find_name(reader, name, loc);
  if (whole == NULL || whole->kind == NAME_BAD) return false;
  if (whole->kind != NAME_TENSOR) return plan_fail(reader, loc, "plan-name", "'%.*s' is not a Tensor", SV_ARG(name));
  TensorDraft *tensor = &reader->tensors.data[whole->number];
  binding.number = whole->number;
  if (!plan_need_mark(reader, "[")) return false;
  range = plan_peek(reader)->loc;
  if (!plan_parse_constant(reader, &binding.first_slot) || !plan_need_mark(reader, ":") ||
      !plan_parse_constant(reader, &end) || !plan_need_mark(reader, "]"))
    return false;
  if (tensor->tensor.rank == 0 || binding.first_slot < 0 || end <= binding.first_slot ||
      end > tensor->tensor.extents[0])
    return plan_fail(reader, range, "plan-range", "'%.*s' has %" PRId64 " slices along its first axis", SV_ARG(name),
                     tensor->tensor.rank == 0 ? 0 : tensor->tensor.extents[0]);
  binding.slots = end - binding.first_slot;
  tensor->is_turned = true;
  if (head->least_slots == 0 || binding.slots < head->least_slots) head->least_slots = binding.slots;
  return plan_bind(reader, binding);
}

static bool check_ahead(PlanReader *reader, const ForHead *head) {
  if (head->ahead == 0) return true;
  int64_t slots = head->least_slots > 0 ? min_i64(head->depth, head->least_slots) : head->depth;
  if (head->ahead >= slots)
    return plan_fail(reader, head->ahead_loc, "plan-pipeline",
                     "loads %" PRId64 " iterations ahead need %" PRId64 " slots and there are %" PRId64
                     ": they would wait for ever for the stores after them",
                     head->ahead, head->ahead + 1, slots);
  if (head->last_loop != head->first_loop)
    return plan_fail(reader, head->ahead_loc, "plan-pipeline", "'ahead' is for a single loop, and these are several");
  if (head->ahead >= reader->loops.data[head->first_loop].loop.trip_count)
    return plan_fail(reader, head->ahead_loc, "plan-pipeline", "'ahead' has to be less than the loop's iterations");
  return true;
}

static bool parse_head(PlanReader *reader, ForHead *head) {
  head->first_loop = (int32_t)reader->loops.count;
  do {
    if (!parse_loop(reader)) return false;
    head->last_loop = reader->loop;
  } while (plan_take_mark(reader, ","));
  if (plan_take_word(reader, "pipeline") && !parse_pipeline(reader, head)) return false;
  bool has_with = false;
  while (plan_take_word(reader, "with")) {
    has_with = true;
    do {
      if (!parse_with(reader, head)) return false;
    } while (plan_take_mark(reader, ","));
  }
  if (!check_ahead(reader, head) || !need_colon(reader) || !end_statement(reader)) return false;
  reader->pipeline_slots = head->has_pipeline && !has_with ? (int32_t)min_i64(head->depth, INT32_MAX) : 0;
  reader->pipeline_first = head->first_loop;
  return true;
}

static void add_node(PlanReader *reader, int32_t loop, PlanNode node) {
  if (loop < 0) {
    array_push(&reader->nodes, reader->arena, node);
  } else {
    array_push(&reader->loops.data[loop].nodes, reader->arena, node);
  }
}

/* Loops from |first| to |last|, each in the one before, as parts of |parent|; the block stands in the last one. */
static void parse_body(PlanReader *reader, int32_t parent, int32_t first, int32_t last) {
  for (int32_t l = first; l <= last; l++) {
    add_node(reader, l == first ? parent : l - 1, (PlanNode){PLAN_NODE_LOOP, l});
    reader->loops.data[l].first_command = (int32_t)reader->commands.count;
  }
  reader->loop = last;
  parse_block(reader);
  reader->loop = parent;
  for (int32_t l = first; l <= last; l++) reader->loops.data[l].end_command = (int32_t)reader->commands.count;
}

/* The block below a loop with 'ahead' makes three loops: the loads of the first iterations; iterations with the loads
 * of later ones; the last iterations without loads. */
static void parse_phases(PlanReader *reader, const ForHead *head, int32_t parent) {
  int64_t start = reader->at, trips = reader->loops.data[head->first_loop].loop.trip_count;
  reader->ahead = head->ahead;
  reader->phase_trips = trips;
  for (int phase = PHASE_FIRST; phase <= PHASE_LAST; phase++) {
    int32_t loop = head->first_loop;
    if (phase != PHASE_FIRST) {
      loop = (int32_t)reader->loops.count;
      LoopDraft copy = {.loop = reader->loops.data[head->first_loop].loop,
                        .first = reader->loops.data[head->first_loop].first,
                        .step = reader->loops.data[head->first_loop].step};
      array_push(&reader->loops, reader->arena, copy);
    }
    reader->loops.data[loop].loop.trip_count = phase == PHASE_MAIN ? trips - head->ahead : head->ahead;
    for (int64_t n = head->names; n < reader->names.count; n++) {
      NameBinding *name = &reader->names.data[n];
      if (name->kind == NAME_LOOP) name->number = loop;
      if (name->kind == NAME_SLOT) name->first_loop = name->last_loop = loop;
    }
    reader->pipeline_first = loop;
    reader->phase = phase;
    reader->shifted_loop = loop;
    reader->at = start;
    parse_body(reader, parent, loop, loop);
    if (reader->status != STATUS_OK) break;
  }
  reader->phase = PHASE_ALL;
  reader->shifted_loop = -1;
}

/* At the end of a line that begins a block. */
static bool need_block(PlanReader *reader) {
  const PlanToken *next = &reader->tokens.data[reader->at + 1];
  return next->kind == PLAN_TOKEN_INDENT || plan_fail(reader, next->loc, "plan-syntax", "expected a block");
}

static bool parse_for(PlanReader *reader) {
  int32_t parent = reader->loop, slots = reader->pipeline_slots, first = reader->pipeline_first;
  ForHead head = {.names = reader->names.count};
  if (reader->depth > PLAN_DEEPEST_BLOCK)
    return plan_fail(reader, plan_peek(reader)->loc, "plan-syntax", "nested too deep");
  bool ok = parse_head(reader, &head);
  if (ok && head.ahead > 0 && reader->phase != PHASE_ALL)
    ok = plan_fail(reader, head.ahead_loc, "plan-pipeline", "'ahead' inside a loop with 'ahead'");
  if (ok) ok = need_block(reader);
  if (ok) {
    reader->depth++;
    reader->at++;
    if (head.ahead > 0) {
      parse_phases(reader, &head, parent);
    } else {
      parse_body(reader, parent, head.first_loop, head.last_loop);
    }
    reader->depth--;
  }
  reader->names.count = head.names;
  reader->loop = parent;
  reader->pipeline_slots = slots;
  reader->pipeline_first = first;
  return ok;
}

/* --- blocks --- */

typedef struct Statement {
  const char *word;
  bool (*parse)(PlanReader *reader);
  bool has_block, is_of_file;
} Statement;

static bool parse_scope(PlanReader *reader);

static const Statement statements[] = {
    {"target", parse_target, false, true},       {"scope", parse_scope, true, true},
    {"edges", parse_edges, false, false},        {"Buffer", plan_parse_buffer, false, false},
    {"Memory", plan_parse_memory, false, false}, {"Scalar", plan_parse_scalar, false, false},
    {"Tensor", plan_parse_tensor, false, false}, {"alloc", plan_parse_alloc, false, false},
    {"free", plan_parse_free, false, false},     {"for", parse_for, true, false},
};

static const Statement *find_statement(PlanReader *reader) {
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
    if (plan_at_word(reader, statements[i].word)) return &statements[i];
  }
  return NULL;
}

static bool next_is_mark(const PlanReader *reader, const char *mark) {
  const PlanToken *next = &reader->tokens.data[reader->at + 1];
  return plan_peek(reader)->kind == PLAN_TOKEN_NAME && next->kind == PLAN_TOKEN_MARK &&
         sv_equal_cstring(next->text, mark);
}

/* WORD NAME … may be a declaration whose word is misspelt: one error for it, none for each use of what it declares. */
static bool refuse_statement(PlanReader *reader) {
  const PlanToken *token = plan_peek(reader), *next = token + 1;
  NearestWord nearest = nearest_word_begin(token->text);
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
    nearest_word_offer(&nearest, sv_from_cstring(statements[i].word));
  plan_offer_verbs(&nearest);
  plan_expected(reader, "a statement");
  if (token->kind != PLAN_TOKEN_NAME || is_told(reader)) return false;
  nearest_word_note(&nearest, reader->diag);
  if (next->kind == PLAN_TOKEN_NAME) plan_bind_bad(reader, next->text, next->loc);
  return false;
}

/* Whether the statement has a block, which has been read after the line's end. */
static bool parse_statement(PlanReader *reader) {
  const Statement *statement = find_statement(reader);
  bool ok;
  if (statement == NULL || !statement->is_of_file) reader->has_statements = true;
  if (statement != NULL) {
    reader->at++;
    ok = statement->parse(reader);
    if (ok && statement->has_block) return true;
  } else if (next_is_mark(reader, "(") && !plan_at_command(reader)) {
    ok = plan_parse_tensor(reader);
  } else if (next_is_mark(reader, "=")) {
    ok = parse_constant(reader);
  } else if (plan_at_command(reader)) {
    ok = plan_parse_command(reader);
  } else {
    ok = refuse_statement(reader);
  }
  if (ok) ok = end_statement(reader);
  if (!ok) skip_to_line_end(reader);
  if (plan_peek(reader)->kind == PLAN_TOKEN_NEWLINE) reader->at++;
  if (ok && plan_peek(reader)->kind == PLAN_TOKEN_INDENT) {
    plan_fail(reader, plan_peek(reader)->loc, "plan-syntax", "no block can stand here");
  }
  skip_block(reader);
  return ok;
}

/* From INDENT to DEDENT. */
static void parse_block(PlanReader *reader) {
  int64_t names = reader->names.count;
  reader->at++;
  while (plan_peek(reader)->kind != PLAN_TOKEN_DEDENT && plan_peek(reader)->kind != PLAN_TOKEN_END)
    parse_statement(reader);
  if (plan_peek(reader)->kind == PLAN_TOKEN_DEDENT) reader->at++;
  for (int64_t n = names; n < reader->names.count; n++) {
    const NameBinding *name = &reader->names.data[n];
    if (name->kind != NAME_TENSOR && name->kind != NAME_SLOT) continue;
    TensorDraft *tensor = &reader->tensors.data[name->number];
    if (tensor->origin == ORIGIN_SCOPED && tensor->loop == reader->loop)
      tensor->ended = (int32_t)reader->commands.count;
  }
  reader->names.count = names;
}

/* --- scopes --- */

static void begin_scope(PlanReader *reader, StringView name, SourceLoc loc) {
  Plan *plan = ARENA_NEW(reader->arena, Plan);
  *plan = (Plan){.arena = reader->arena, .name = name, .loc = loc};
  index_space_init(&plan->space, reader->arena);
  plan->buffer_bytes = machine_buffer_usable(reader->machine);
  reader->plan = plan;
  reader->unit = reader->machine->buffer.unit;
  reader->is_explicit = false;
  reader->names.count = 0;
  memset(&reader->memories, 0, sizeof reader->memories);
  memset(&reader->scalars, 0, sizeof reader->scalars);
  memset(&reader->tensors, 0, sizeof reader->tensors);
  memset(&reader->loops, 0, sizeof reader->loops);
  memset(&reader->commands, 0, sizeof reader->commands);
  memset(&reader->edges, 0, sizeof reader->edges);
  memset(&reader->nodes, 0, sizeof reader->nodes);
  reader->loop = reader->shifted_loop = -1;
  reader->pipeline_slots = 0;
}

/* What a scope calls it here. */
static StringView name_in_scopes(const PlanKernel *kernel) {
  return kernel->fused.size > 0 ? kernel->fused : kernel->name;
}

/* The scope at hand is of |kernel|, called as that is, or of a strip of it, with |rest| after the name. */
static bool take_kernel(PlanReader *reader, const PlanKernel *kernel, StringView rest) {
  KernelStrip strip;
  Plan *plan = reader->plan;
  if (rest.size > 0 && !kernel_strip_read(rest, &strip)) return false;
  if (rest.size > 0 && !kernel_strip_fits(kernel->kernel, strip)) return false;
  plan->kernel = rest.size == 0 ? kernel->kernel : kernel_strip_make(reader->arena, kernel->kernel, strip, NULL);
  if (kernel->fused.size > 0) plan->name = sv_printf(reader->arena, "%.*s%.*s", SV_ARG(kernel->name), SV_ARG(rest));
  return true;
}

/* The Kernel of that name, else one whose name has that of a strip after it (kernel_use_name). */
static bool take_kernel_of(PlanReader *reader, StringView name) {
  const PlanKernels *kernels = reader->kernels;
  for (int32_t k = 0; k < kernels->count; k++) {
    if (sv_equal(name, name_in_scopes(&kernels->data[k]))) return take_kernel(reader, &kernels->data[k], SV(""));
  }
  for (int32_t k = 0; k < kernels->count; k++) {
    StringView begin = name_in_scopes(&kernels->data[k]);
    if (sv_starts_with(name, begin) && take_kernel(reader, &kernels->data[k], sv_sub(name, begin.size, name.size)))
      return true;
  }
  return false;
}

static bool find_kernel(PlanReader *reader, StringView name, SourceLoc loc) {
  if (reader->kernels == NULL || take_kernel_of(reader, name)) return true;
  NearestWord nearest = nearest_word_begin(name);
  PlanNames names = {0};
  for (int32_t k = 0; k < reader->kernels->count; k++) {
    const PlanKernel *kernel = &reader->kernels->data[k];
    nearest_word_offer(&nearest, name_in_scopes(kernel));
    if (kernel->fused.size == 0) array_push(&names, reader->arena, kernel->name);
  }
  plan_fail(reader, loc, "plan-kernel", "the module has no kernel '%.*s'", SV_ARG(name));
  nearest_word_note(&nearest, reader->diag);
  plan_note_names(reader, &names);
  return false;
}

static bool is_known_scope(PlanReader *reader, StringView name, SourceLoc loc) {
  for (int64_t p = 0; p < reader->plans.count; p++) {
    if (sv_equal(reader->plans.data[p]->name, name))
      return !plan_fail(reader, loc, "plan-name", "there are two plans of '%.*s'", SV_ARG(name));
  }
  return false;
}

static bool parse_scope(PlanReader *reader) {
  SourceLoc loc;
  StringView name = take_text(reader, ":", "", &loc);
  if (reader->depth > 0 || reader->has_statements)
    return plan_fail(reader, loc, "plan-syntax", "a scope cannot stand inside another plan");
  if (name.size == 0) return plan_expected(reader, "the name of a kernel");
  if (!plan_need_mark(reader, ":") || !end_statement(reader) || !need_block(reader)) return false;
  Status before = reader->status;
  begin_scope(reader, name, loc);
  if (!find_kernel(reader, name, loc) || is_known_scope(reader, reader->plan->name, loc)) return false;
  reader->status = STATUS_OK;
  reader->at++;
  reader->depth++;
  parse_block(reader);
  reader->depth--;
  plan_finish_scope(reader);
  if (before != STATUS_OK) reader->status = before;
  reader->has_statements = false;
  begin_scope(reader, (StringView){0}, loc);
  return true;
}

static Status read_file(PlanReader *reader, PlanFile *out_file) {
  *out_file = (PlanFile){0};
  reader->file = out_file;
  Status lexed = plan_lex(reader->arena, reader->source, reader->diag, &reader->tokens);
  begin_scope(reader, (StringView){0}, (SourceLoc){reader->source, 1, 1});
  while (plan_peek(reader)->kind != PLAN_TOKEN_END) {
    if (plan_peek(reader)->kind == PLAN_TOKEN_INDENT) {
      plan_fail(reader, plan_peek(reader)->loc, "plan-syntax", "no block can stand here");
      skip_block(reader);
      continue;
    }
    parse_statement(reader);
  }
  if (reader->has_statements) plan_finish_scope(reader);
  out_file->plans = reader->plans.data;
  out_file->count = (int32_t)reader->plans.count;
  return reader->status == STATUS_OK ? lexed : reader->status;
}

Status plan_parse(Arena *arena, const SourceFile *source, const MachineDescription *machine, const PlanKernels *kernels,
                  DiagSink *diag, PlanFile *out_file) {
  PlanReader reader = {.arena = arena, .source = source, .machine = machine, .diag = diag, .kernels = kernels};
  return read_file(&reader, out_file);
}

Status plan_parse_program(Arena *arena, const SourceFile *source, const MachineDescription *machine,
                          const PlanOperations *operations, DiagSink *diag, PlanFile *out_file) {
  PlanReader reader = {.arena = arena, .source = source, .machine = machine, .diag = diag, .operations = operations};
  RETURN_IF_ERROR(read_file(&reader, out_file));
  if (out_file->count == 1) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, (SourceLoc){source, 1, 1}, "plan-program",
                    "a program of its own is one plan, and the file has %d", (int)out_file->count);
}
