/* Computations: scopes, bodies, recovery after errors. */
#include "parser/parser_internal.h"

/* --- scopes --- */

void scope_begin(Parser *parser, Scope *scope, StringView computation_name, SourceLoc loc) {
  *scope = (Scope){.outer = parser->scope, .depth = parser->scope ? parser->scope->depth + 1 : 0};
  scope->computation = hlo_module_add_computation(parser->module, computation_name);
  scope->computation->loc = loc;
  string_map_init(&scope->names, parser->scratch);
  parser->scope = scope;
}

/* Sorted, without repetition: the first one that is out of place is the gap. */
static void check_parameter_numbers(Parser *parser, Scope *scope) {
  const HloInstructionArray *parameters = &scope->computation->parameters;
  for (int64_t i = 0; i < parameters->count; i++) {
    const HloInstruction *parameter = parameters->data[i];
    if (hlo_instruction_parameter_number(parameter) == i) continue;
    report_error(parser, parameter->loc, "parse-parameter", "there is no parameter number %lld", (long long)i);
    scope->failed = true;
    return;
  }
}

bool scope_end(Parser *parser, Scope *scope) {
  parser->scope = scope->outer;
  if (!scope->failed) check_parameter_numbers(parser, scope);
  array_push(&parser->finished, parser->scratch, scope->computation);
  return !scope->failed;
}

/* --- recovery --- */

/* Text after an error that is searched for a place to go on; then reading stops. */
enum { RECOVERY_FARTHEST = 16 << 20 };

/* Where an instruction or computation began. */
typedef struct RecoveryPoint {
  const char *start;
  uint32_t line, column;
  bool first_on_line;
  int64_t depth;
} RecoveryPoint;

static RecoveryPoint recovery_point(const Parser *parser) {
  const Token *token = current(parser);
  return (RecoveryPoint){token->start, token->line, token->column, token->first_on_line, parser->lexer.depth};
}

/* Next token while skipping; false at the end of what is searched. */
static bool skip_token(Parser *parser, const char *from) {
  advance(parser);
  if (current(parser)->start - from > RECOVERY_FARTHEST) parser->stopped = true;
  return !at(parser, TOKEN_END) && !parser->stopped;
}

/* An instruction may begin here. */
static bool at_definition(Parser *parser) {
  if (at_word(parser, "ROOT")) return true;
  if (at(parser, TOKEN_ATTRIBUTE)) return current(parser)->first_on_line;
  return (at_name(parser) || at_reserved(parser)) && lexer_peek(&parser->lexer) == '=';
}

/* A computation may begin here. */
static bool at_computation(Parser *parser) {
  if (at_word(parser, "ENTRY")) return true;
  if (!at_name(parser) && !(at_reserved(parser) && current(parser)->first_on_line)) return false;
  char next = lexer_peek(&parser->lexer);
  return next == '{' || next == '(';
}

/* Skips the rest of an instruction that failed.  Brackets are trusted unless indentation says that one is missing: an
 * instruction or a closing brace that begins its line no deeper than the failed one did ends it. */
static void recover_in_body(Parser *parser, const Scope *scope, const RecoveryPoint *point) {
  Lexer *lexer = &parser->lexer;
  if (current(parser)->start == point->start && !at(parser, TOKEN_END)) advance(parser);
  const char *error_at = current(parser)->start;
  if (at(parser, TOKEN_END)) return;
  do {
    const Token *token = current(parser);
    bool close = at(parser, TOKEN_RIGHT_BRACE);
    /* within a line only where lines do not mean anything */
    bool trusted = token->first_on_line || (!point->first_on_line && token->start != error_at);
    bool definition = trusted && at_definition(parser);
    if (!definition && !close && !(token->first_on_line && token->column == 1)) continue;
    bool below = scope->outer && token->first_on_line && token->line > point->line;
    if (below &&
        ((definition && token->column <= parser->outer_column) || (close && token->column < parser->outer_column))) {
      parser->unwind = true; /* the inline computation is over, however its brackets stand */
      return;
    }
    if (lexer->depth == point->depth && (definition || close)) return;
    if (!token->first_on_line) continue;
    bool no_deeper = point->first_on_line && (close ? token->column < point->column : token->column <= point->column);
    bool next_computation = token->column == 1 && point->column > 1 && at_computation(parser);
    if (((definition || close) && no_deeper) || next_computation) {
      lexer->depth = point->depth;
      return;
    }
  } while (skip_token(parser, error_at));
}

/* Skips the rest of a computation that failed. */
static void skip_computation(Parser *parser, const RecoveryPoint *point) {
  Lexer *lexer = &parser->lexer;
  if (current(parser)->start == point->start && !at(parser, TOKEN_END)) advance(parser);
  if (at(parser, TOKEN_END)) return;
  const char *error_at = current(parser)->start;
  do {
    const Token *token = current(parser);
    if (!token->first_on_line) continue;
    if (token->column == 1 && at(parser, TOKEN_RIGHT_BRACE)) {
      lexer->depth = point->depth + 1; /* this closes it, whatever was left open */
    } else if ((lexer->depth <= point->depth || token->column == 1) && at_computation(parser)) {
      lexer->depth = point->depth;
      return;
    }
  } while (skip_token(parser, error_at));
}

/* --- bodies --- */

static Status parse_body_instruction(Parser *parser, Scope *scope) {
  RecoveryPoint point = recovery_point(parser);
  int nesting = parser->nesting;
  bool outermost = !scope->outer;
  if (outermost) parser->outer_column = point.first_on_line ? point.column : 0;
  if (parse_instruction(parser) == STATUS_OK) return STATUS_OK;
  scope->failed = true;
  parser->nesting = nesting;
  parser->ints.count = 0;
  if (parser->stopped) return STATUS_INVALID;
  if (!parser->unwind) recover_in_body(parser, scope, &point);
  if (!parser->unwind) return STATUS_OK;
  if (!outermost) return STATUS_INVALID;
  parser->unwind = false;
  parser->lexer.depth = point.depth;
  return STATUS_OK;
}

/* '{' instructions '}'.  Fails only when the closing brace was not reached; what failed inside is in the scope. */
static Status parse_body(Parser *parser, Scope *scope) {
  SourceLoc loc = here(parser);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a computation"));
  bool any = false;
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    bool next_computation = current(parser)->first_on_line && !scope->outer && at_computation(parser);
    if (next_computation || at(parser, TOKEN_END)) {
      if (scope->failed && !next_computation) return STATUS_INVALID; /* likely a bracket that the error swallowed */
      Status status = parse_expected(parser, "an instruction or '}'");
      parse_note(parser, loc, "the computation begins here");
      return status;
    }
    RETURN_IF_ERROR(parse_body_instruction(parser, scope));
    any = true;
  }
  if (!any) {
    scope->failed = true;
    return parse_error(parser, here(parser), "parse-syntax", "a computation needs at least one instruction");
  }
  advance(parser);
  return STATUS_OK;
}

/* --- references --- */

static Status parse_inline(Parser *parser, HloComputation **out_computation) {
  if (parser->scope->depth >= MAX_INLINE_NESTING) return parse_too_deep(parser, here(parser), "computations are");
  Scope scope;
  scope_begin(parser, &scope, SV("_"), here(parser));
  Status status = parse_body(parser, &scope);
  if (status != STATUS_OK) scope.failed = true;
  *out_computation = scope_end(parser, &scope) ? scope.computation : NULL;
  return status;
}

Status parse_computation_reference(Parser *parser, HloComputation **out_computation) {
  *out_computation = NULL;
  if (at(parser, TOKEN_LEFT_BRACE)) return parse_inline(parser, out_computation);
  SourceLoc loc = here(parser);
  StringView name = {0};
  if (parser->lost_computation && at_reserved(parser)) { /* the error was where it is defined */
    advance(parser);
    return STATUS_OK;
  }
  RETURN_IF_ERROR(expect_name(parser, "a computation's name or '{'", &name));
  KnownComputation *known = string_map_get(&parser->computations, name);
  if (known) {
    *out_computation = known->computation;
    return STATUS_OK;
  }
  if (parser->lost_computation) return STATUS_OK;
  Status status = parse_error(parser, loc, "parse-computation", "no computation '%.*s' before this one", SV_ARG(name));
  if (sv_equal(name, parser->own_name)) {
    parse_note(parser, NO_LOC, "a computation cannot call itself; loops are written with 'while'");
  } else {
    suggest_name(parser, &parser->computation_names, name);
  }
  return status;
}

/* --- computations of the module --- */

/* (p: f32[2], …) -> f32[2].  Parameters are read and forgotten, as in XLA. */
static Status parse_signature(Parser *parser, const Shape **out_result) {
  advance(parser);
  if (!at(parser, TOKEN_RIGHT_PAREN)) {
    do {
      const Shape *shape = NULL;
      if (!at_name(parser)) return parse_expected(parser, "a parameter's name, directly followed by ':'");
      advance(parser);
      RETURN_IF_ERROR(parse_shape(parser, &shape));
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "',' or ')' in a signature"));
  RETURN_IF_ERROR(expect(parser, TOKEN_ARROW, "'->' and the result's shape"));
  return parse_shape(parser, out_result);
}

static Status check_result(Parser *parser, const Scope *scope, const Shape *stated, SourceLoc loc) {
  const HloInstruction *root = scope->computation->root;
  if (!stated || scope->failed || shape_compatible(stated, root->shape)) return STATUS_OK;
  StringView stated_text = shape_text(parser->scratch, stated, false),
             real = shape_text(parser->scratch, root->shape, false);
  Status status =
      parse_error(parser, loc, "parse-signature", "computation '%.*s' is said to return %.*s, its root is %.*s",
                  SV_ARG(scope->computation->name), SV_ARG(stated_text), SV_ARG(real));
  parse_note(parser, root->loc, "the root is here");
  return status;
}

static Status parse_trailer(Parser *parser, HloComputation *computation) {
  if (!accept(parser, TOKEN_COMMA)) return STATUS_OK;
  StringView thread = {0};
  RETURN_IF_ERROR(expect_attribute(parser, "execution_thread"));
  RETURN_IF_ERROR(parse_string(parser, &thread));
  if (!sv_equal_cstring(thread, "main")) computation->execution_thread = thread;
  return STATUS_OK;
}

/* XLA changes such names silently; references in the text use the one that is written. */
static StringView computation_name(Parser *parser, StringView name) {
  if (type_from_text(name) != TYPE_INVALID) return sv_printf(parser->arena, "%.*s_", SV_ARG(name));
  if (!sv_starts_with(name, SV("__")) || sv_starts_with(name, SV("__xla_"))) return name;
  return sv_printf(parser->arena, "a%.*s", SV_ARG(sv_sub(name, 1, name.size)));
}

/* From the signature on. */
static Status parse_named_computation(Parser *parser, StringView name, SourceLoc loc, bool is_entry,
                                      HloComputation **out_computation) {
  const Shape *result = NULL;
  SourceLoc signature_loc = here(parser);
  if (at(parser, TOKEN_LEFT_PAREN)) RETURN_IF_ERROR(parse_signature(parser, &result));
  Scope scope;
  scope_begin(parser, &scope, computation_name(parser, name), loc);
  if (is_entry) parser->module->entry = scope.computation;
  Status status = parse_body(parser, &scope);
  if (status == STATUS_OK) status = parse_trailer(parser, scope.computation);
  if (status == STATUS_OK) status = check_result(parser, &scope, result, signature_loc);
  if (status != STATUS_OK) scope.failed = true;
  *out_computation = scope_end(parser, &scope) ? scope.computation : NULL;
  return status;
}

static Status expect_computation_name(Parser *parser, StringView *out_name) {
  if (!at_name(parser)) parser->lost_computation = true;
  return expect_name(parser, "a computation", out_name);
}

static Status parse_entry_mark(Parser *parser, bool *out_is_entry) {
  *out_is_entry = at_word(parser, "ENTRY");
  if (!*out_is_entry) return STATUS_OK;
  SourceLoc loc = here(parser);
  advance(parser);
  if (parser->entry_loc.line > 0) {
    report_error(parser, loc, "parse-entry", "a module has only one ENTRY");
    parse_note(parser, parser->entry_loc, "the first one is here");
    return STATUS_OK; /* the computation may have errors of its own */
  }
  parser->entry_loc = loc;
  return STATUS_OK;
}

static Status parse_computation_text(Parser *parser) {
  bool is_entry;
  StringView name = {0};
  RETURN_IF_ERROR(parse_entry_mark(parser, &is_entry));
  SourceLoc loc = here(parser);
  RETURN_IF_ERROR(expect_computation_name(parser, &name));
  KnownComputation *before = string_map_get(&parser->computations, name),
                   *known = ARENA_NEW(parser->scratch, KnownComputation);
  if (before) {
    report_error(parser, loc, "parse-duplicate-name", "computation '%.*s' exists already", SV_ARG(name));
    parse_note(parser, before->loc, "the first one is here");
  }
  parser->own_name = name;
  known->loc = loc;
  Status status = parse_named_computation(parser, name, loc, is_entry, &known->computation);
  parser->own_name = SV("");
  if (!before) {
    (void)string_map_set(&parser->computations, name, known);
    array_push(&parser->computation_names, parser->scratch, name);
  }
  parser->last_name = name;
  parser->last_computation = known->computation;
  if (is_entry) parser->entry_name = name;
  return status;
}

void parse_computations(Parser *parser) {
  do {
    RecoveryPoint point = recovery_point(parser);
    if (parse_computation_text(parser) == STATUS_OK || parser->stopped) continue;
    parser->nesting = 0;
    parser->ints.count = 0;
    parser->unwind = false;
    if (!at_computation(parser) || current(parser)->start == point.start) skip_computation(parser, &point);
    parser->lexer.depth = 0;
  } while (!at(parser, TOKEN_END) && !parser->stopped);
}

/* --- a single instruction --- */

static Status parse_single_definition(Parser *parser) {
  InstructionDraft draft = {.name = SV("_"), .name_loc = here(parser)};
  HloInstruction *instruction = NULL;
  bool root = at_word(parser, "ROOT");
  if (root) advance(parser);
  if (root || (at_name(parser) && lexer_peek(&parser->lexer) == '=')) {
    RETURN_IF_ERROR(expect_name(parser, "the name of an instruction", &draft.name));
    RETURN_IF_ERROR(expect(parser, TOKEN_EQUAL, "'='"));
  }
  RETURN_IF_ERROR(parse_instruction_rhs(parser, &draft, false, &instruction));
  if (!instruction) return STATUS_INVALID;
  hlo_computation_set_root(parser->scope->computation, instruction);
  return at(parser, TOKEN_END) ? STATUS_OK : parse_expected(parser, "the end of a single instruction");
}

void parse_single_instruction(Parser *parser) {
  Scope scope;
  scope_begin(parser, &scope, SV("_"), here(parser));
  parser->single_instruction = true;
  bool mlir = at_word(parser, "module") || at_word(parser, "func.func");
  int errors = parser->error_count;
  if (parse_single_definition(parser) != STATUS_OK) {
    scope.failed = true;
    if (errors == parser->error_count) return; /* said before */
    if (mlir) {
      parse_note(parser, NO_LOC, "this looks like MLIR; what is read here is HLO text, beginning with 'HloModule'");
    } else {
      parse_note(parser, NO_LOC,
                 "text that begins neither with 'HloModule' nor with 'ENTRY' is read as a single instruction");
    }
  }
  (void)scope_end(parser, &scope);
  parser->module->entry = scope.computation;
}
