/* The module: which of the three forms the text has, and what is checked at its end. */
#include "parser/hlo_parser.h"

#include "parser/foreign_format.h"
#include "parser/parser_internal.h"

/* The form without header: a list of computations, told from a single instruction by its first two tokens. */
static bool at_computation_list(Parser *parser) {
  return at_word(parser, "ENTRY") || (!at(parser, TOKEN_END) && lexer_peek(&parser->lexer) == '{');
}

/* Computations in the order of their completion, so that callees stand before callers, inline ones too. */
static void order_computations(Parser *parser) {
  HloComputationArray *list = &parser->module->computations;
  for (int64_t i = 0; i < list->count; i++) list->data[i] = parser->finished.data[i];
}

static void skip_to_computations(Parser *parser) {
  while (!at(parser, TOKEN_END) && !(current(parser)->first_on_line && current(parser)->column == 1 &&
                                     (at_word(parser, "ENTRY") || at_name(parser) || at_word(parser, "FileNames")))) {
    advance(parser);
  }
  parser->lexer.depth = 0;
}

static void parse_with_header(Parser *parser) {
  if (parse_header(parser) != STATUS_OK) {
    parser->nesting = 0;
    skip_to_computations(parser);
  }
  if (parser->stopped) return;
  if (parse_stack_tables(parser) != STATUS_OK) skip_to_computations(parser);
  if (parser->stopped || (at(parser, TOKEN_END) && parser->failed)) return;
  parse_computations(parser);
}

/* Without ENTRY the last computation is the entry. */
static void choose_entry(Parser *parser, bool has_header) {
  HloModule *module = parser->module;
  StringView name = parser->entry_name;
  if (!module->entry) {
    module->entry = parser->last_computation;
    name = parser->last_name;
  }
  if (!has_header) module->name = sv_printf(parser->arena, "module_%.*s", SV_ARG(name));
}

static void parse_text(Parser *parser) {
  HloModule *module = parser->module;
  module->loc = here(parser);
  if (at(parser, TOKEN_END)) {
    report_error(parser, here(parser), "parse-syntax", "the text is empty, expected 'HloModule'");
    return;
  }
  bool has_header = at_word(parser, "HloModule");
  if (has_header) {
    parse_with_header(parser);
  } else if (at_computation_list(parser)) {
    parse_computations(parser);
  } else {
    parse_single_instruction(parser);
    module->is_scheduled = true;
    return;
  }
  if (!parser->failed) choose_entry(parser, has_header);
}

Status hlo_parse_module(Arena *arena, ShapeTable *shapes, const SourceFile *file, DiagSink *diag,
                        HloModule **out_module) {
  *out_module = NULL;
  RETURN_IF_ERROR(foreign_format_check(file, diag));
  Arena *scratch = arena_create();
  Parser parser = {.arena = arena, .scratch = scratch, .shapes = shapes, .diag = diag};
  parser.module = hlo_module_create(arena, shapes, SV("_"));
  string_map_init(&parser.computations, scratch);
  int_map_init(&parser.async_computations, scratch);
  int_map_init(&parser.measured, scratch);
  lexer_init(&parser.lexer, file);
  parse_text(&parser);
  if (!parser.failed) order_computations(&parser);
  if (!parser.failed && check_header(&parser) != STATUS_OK) parser.failed = true;
  bool failed = parser.failed;
  *out_module = failed ? NULL : parser.module;
  arena_destroy(scratch);
  return failed ? STATUS_INVALID : STATUS_OK;
}
