#include "parser/hlo_parts.h"

#include "hlo/infer/hlo_infer.h"
#include "parser/parser_internal.h"

void hlo_parts_init(HloParts *parts, HloModule *module, Arena *scratch, DiagSink *diag) {
  *parts = (HloParts){.module = module, .scratch = scratch, .diag = diag};
  int_map_init(&parts->async_computations, module->arena);
}

static void parser_init(Parser *parser, const HloParts *parts, const SourceFile *file) {
  *parser = (Parser){.arena = parts->module->arena,
                     .scratch = parts->scratch,
                     .shapes = parts->module->shapes,
                     .diag = parts->diag,
                     .module = parts->module};
  parser->async_computations = parts->async_computations;
  string_map_init(&parser->computations, parts->scratch);
  int_map_init(&parser->measured, parts->scratch);
  lexer_init(&parser->lexer, file);
}

static Status parse_end(Parser *parser, const char *what) {
  return at(parser, TOKEN_END) ? STATUS_OK : parse_expected(parser, what);
}

/* --- instructions --- */

static const SourceFile no_file = {{"", 0}, {"", 0}};

static InstructionDraft draft_of(Parser *parser, const HloInstructionParts *given) {
  InstructionDraft draft = {
      .name = given->name.size > 0 ? given->name : sv_from_cstring(hlo_opcode_text(given->opcode)),
      .name_loc = given->loc,
      .shape = given->shape,
      .shape_loc = given->loc,
      .opcode = given->opcode,
      .opcode_loc = given->loc,
      .opcode_text = sv_from_cstring(hlo_opcode_text(given->opcode)),
      .operands_loc = given->loc,
  };
  for (int i = 0; i < given->operand_count; i++) array_push(&draft.operands, parser->scratch, given->operands[i]);
  for (int i = 0; i < given->attr_count; i++) array_push(&draft.attrs, parser->scratch, given->attrs[i]);
  return draft;
}

Status hlo_parts_instruction(HloParts *parts, HloComputation *computation, const HloInstructionParts *given,
                             HloInstruction **out_instruction) {
  Parser parser;
  parser_init(&parser, parts, &no_file);
  Scope scope = {.computation = computation};
  parser.scope = &scope;
  InstructionDraft draft = draft_of(&parser, given);
  RETURN_IF_ERROR(check_operand_count(&parser, &draft));
  RETURN_IF_ERROR(check_required_attributes(&parser, &draft));
  RETURN_IF_ERROR(check_instruction(&parser, &draft));
  if (!draft.shape) RETURN_IF_ERROR(infer_draft_shape(&parser, &draft, &draft.shape));
  RETURN_IF_ERROR(finish_async(&parser, &draft));
  parts->async_computations = parser.async_computations;
  RETURN_IF_ERROR(check_shape_size(&parser, given->loc, draft.shape));
  return build_instruction(&parser, &draft, out_instruction);
}

Status hlo_parts_set_attribute(HloParts *parts, HloInstruction *instruction, const HloAttr *attr) {
  XLAC_CHECK(attr->id >= HLO_ATTR_FIRST_COMMON);
  Parser parser;
  parser_init(&parser, parts, &no_file);
  HloInstructionParts given = {.loc = instruction->loc,
                               .opcode = instruction->opcode,
                               .shape = instruction->shape,
                               .attr_count = 1,
                               .attrs = attr};
  InstructionDraft draft = draft_of(&parser, &given);
  RETURN_IF_ERROR(check_common_attributes(&parser, &draft));
  spread_sharding(&parser, &draft, instruction->shape);
  hlo_instruction_set_attr(instruction, &draft.attrs.data[0]);
  return STATUS_OK;
}

/* --- names --- */

Status hlo_parts_check_name(HloParts *parts, const char *what, StringView name, SourceLoc loc) {
  SourceFile file = {{"", 0}, name};
  Parser parser;
  parser_init(&parser, parts, &file);
  const Token *token = current(&parser);
  if (at_reserved(&parser) && token->text.size == name.size)
    return parse_error(&parser, loc, "parse-name", "'%.*s' cannot name %s: it is a %s", SV_ARG(name), what,
                       reserved_kind(token));
  if (token->kind != TOKEN_IDENTIFIER || token->text.size != name.size) {
    return parse_error(&parser, loc, "parse-name",
                       "'%.*s' cannot name %s: it is not one word of letters, digits, "
                       "'_', '-' and '.' that begins with a letter or '_'",
                       SV_ARG(name), what);
  }
  return check_instruction_name(&parser, name, loc);
}

/* --- texts --- */

Status hlo_parts_attribute(HloParts *parts, HloAttrId id, const SourceFile *file, HloAttr *out_attr) {
  Parser parser;
  parser_init(&parser, parts, file);
  InstructionDraft draft = {0};
  *out_attr = (HloAttr){.id = id, .loc = here(&parser)};
  RETURN_IF_ERROR(parse_attribute_value(&parser, &draft, out_attr));
  return parse_end(&parser, "the end of the attribute's value");
}

Status hlo_parts_literal(HloParts *parts, const Shape *shape, const SourceFile *file, const Literal **out_literal) {
  Parser parser;
  parser_init(&parser, parts, file);
  RETURN_IF_ERROR(parse_literal(&parser, shape, out_literal));
  return parse_end(&parser, "the end of the value");
}

Status hlo_parts_header(HloParts *parts, StringView name, SourceLoc loc, const SourceFile *file) {
  Parser parser;
  parser_init(&parser, parts, file);
  RETURN_IF_ERROR(parse_header_attribute(&parser, name, loc));
  return parse_end(&parser, "the end of the attribute's value");
}

Status hlo_parts_stack_frames(HloParts *parts, const SourceFile *file) {
  Parser parser;
  parser_init(&parser, parts, file);
  if (!at_word(&parser, "FileNames")) return parse_expected(&parser, "'FileNames'");
  RETURN_IF_ERROR(parse_stack_tables(&parser));
  return parse_end(&parser, "the end of the tables");
}
