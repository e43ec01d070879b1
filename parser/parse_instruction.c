/* Instructions: shape, opcode, operands, attributes, and building what was read. */
#include <string.h>

#include "base/checked_math.h"
#include "hlo/infer/hlo_infer.h"
#include "parser/parser_internal.h"

/* --- names in a scope --- */

/* Stands for an instruction that failed: it has no parent. */
static HloInstruction *new_poison(Parser *parser, StringView name, SourceLoc loc) {
  HloInstruction *poison = ARENA_NEW(parser->scratch, HloInstruction);
  poison->name = name;
  poison->loc = loc;
  return poison;
}

static bool is_poison(const HloInstruction *instruction) {
  return instruction->parent == NULL;
}

static HloInstruction *find_instruction(const Scope *scope, StringView name) {
  return string_map_get(&scope->names, name);
}

static void define(Parser *parser, StringView name, HloInstruction *instruction) {
  Scope *scope = parser->scope;
  if (find_instruction(scope, name)) return; /* a duplicate, reported */
  (void)string_map_set(&scope->names, name, instruction);
  array_push(&scope->order, parser->scratch, name);
}

/* Looks for "name =" at the beginning of one of the following lines of the same computation, to tell a use before the
 * definition from a misspelling. */
static bool defined_later(Parser *parser, StringView name, SourceLoc *out_loc) {
  enum { FARTHEST = 1 << 20 };
  const char *c = parser->lexer.cursor, *end = parser->lexer.end;
  uint32_t line = parser->lexer.line;
  if (end - c > FARTHEST) end = c + FARTHEST;
  while ((c = memchr(c, '\n', (size_t)(end - c)))) {
    const char *start = ++c;
    line++;
    while (c < end && (*c == ' ' || *c == '\t')) c++;
    if (c < end && *c == '}') return false;
    if (end - c > 5 && memcmp(c, "ROOT ", 5) == 0) c += 5;
    if (c < end && *c == '%') c++;
    const char *word = c;
    if ((size_t)(end - c) <= name.size || memcmp(c, name.data, name.size) != 0) continue;
    c += name.size;
    while (c < end && *c == ' ') c++;
    if (c == end || *c != '=') continue;
    *out_loc = (SourceLoc){parser->lexer.file, line, (uint32_t)(word - start) + 1};
    return true;
  }
  return false;
}

static Status unknown_instruction(Parser *parser, SourceLoc loc, StringView name) {
  Status status = parse_error(parser, loc, "parse-operand", "no instruction '%.*s' before this one", SV_ARG(name));
  SourceLoc later;
  for (const Scope *outer = parser->scope->outer; outer; outer = outer->outer) {
    HloInstruction *found = find_instruction(outer, name);
    if (!found) continue;
    parse_note(parser, found->loc,
               "'%.*s' belongs to the computation around; an inline one sees only its own instructions", SV_ARG(name));
    return status;
  }
  if (defined_later(parser, name, &later)) {
    parse_note(parser, later, "'%.*s' is defined here; operands come before their users", SV_ARG(name));
  } else {
    suggest_name(parser, &parser->scope->order, name);
  }
  return status;
}

/* Keywords and types are no names, but one that the text tried to define is known to be in error already. */
static bool at_poisoned_word(const Parser *parser) {
  if (!at_reserved(parser)) return false;
  HloInstruction *found = find_instruction(parser->scope, current(parser)->text);
  return found && is_poison(found);
}

/* The instruction that the name token names; NULL for a failed one. */
static Status resolve_name(Parser *parser, HloInstruction **out_instruction) {
  StringView name = current(parser)->text;
  SourceLoc loc = here(parser);
  HloInstruction *found = find_instruction(parser->scope, name);
  *out_instruction = found && !is_poison(found) ? found : NULL;
  if (!found && !parser->scope->lost_name) return unknown_instruction(parser, loc, name);
  advance(parser);
  return STATUS_OK;
}

Status parse_instruction_reference(Parser *parser, HloInstruction **out_instruction) {
  if (!at_name(parser) && !at_poisoned_word(parser)) return parse_expected(parser, "the name of an instruction");
  return resolve_name(parser, out_instruction);
}

/* --- operands --- */

static Status add_operand(Parser *parser, InstructionDraft *draft, HloInstruction *operand) {
  if (!operand || is_poison(operand)) draft->poisoned = true;
  array_push(&draft->operands, parser->scratch, operand);
  return STATUS_OK;
}

/* Single-instruction form: an operand that is nowhere defined is a parameter. */
static HloInstruction *new_parameter(Parser *parser, const Shape *shape, StringView name, SourceLoc loc) {
  HloComputation *computation = parser->scope->computation;
  int64_t number = computation->parameters.count;
  if (name.size == 0) name = sv_printf(parser->arena, "_%lld", (long long)number);
  HloInstruction *parameter = hlo_computation_add_parameter(computation, number, shape, name);
  parameter->loc = loc;
  define(parser, name, parameter);
  return parameter;
}

static Status parse_nested(Parser *parser, const Shape *shape, SourceLoc shape_loc, HloInstruction **out_instruction) {
  InstructionDraft nested = {.shape = shape, .shape_loc = shape_loc};
  if (parser->nesting >= MAX_NESTING) return parse_too_deep(parser, here(parser), "operands are");
  parser->nesting++;
  Status status = parse_instruction_rhs(parser, &nested, true, out_instruction);
  parser->nesting--;
  return status;
}

static Status parse_named_operand(Parser *parser, const Shape *shape, SourceLoc shape_loc,
                                  HloInstruction **out_operand) {
  StringView name = current(parser)->text;
  SourceLoc loc = here(parser);
  bool makes_parameters = parser->single_instruction && !parser->scope->outer;
  if (makes_parameters && !find_instruction(parser->scope, name)) {
    if (!shape) {
      return parse_error(parser, loc, "parse-operand", "operand '%.*s' of a single instruction needs a shape",
                         SV_ARG(name));
    }
    *out_operand = new_parameter(parser, shape, name, loc);
    advance(parser);
    return STATUS_OK;
  }
  RETURN_IF_ERROR(resolve_name(parser, out_operand));
  HloInstruction *operand = *out_operand;
  if (!operand || !shape || shape_compatible(shape, operand->shape)) return STATUS_OK;
  StringView stated = shape_text(parser->scratch, shape, false),
             real = shape_text(parser->scratch, operand->shape, false);
  Status status = parse_error(parser, shape_loc, "parse-operand-shape", "operand '%.*s' is %.*s, not %.*s",
                              SV_ARG(name), SV_ARG(real), SV_ARG(stated));
  parse_note(parser, operand->loc, "'%.*s' is defined here", SV_ARG(name));
  return status;
}

static Status parse_operand(Parser *parser, InstructionDraft *draft) {
  const Shape *shape = NULL;
  SourceLoc shape_loc = here(parser);
  HloInstruction *operand = NULL;
  if (!at_poisoned_word(parser) && at_shape(parser)) RETURN_IF_ERROR(parse_shape(parser, &shape));
  bool ends = at(parser, TOKEN_COMMA) || at(parser, TOKEN_RIGHT_PAREN);
  if (shape && ends && parser->single_instruction && !parser->scope->outer) {
    return add_operand(parser, draft, new_parameter(parser, shape, SV(""), shape_loc));
  }
  if (at(parser, TOKEN_IDENTIFIER) && lexer_peek(&parser->lexer) == '(') {
    RETURN_IF_ERROR(parse_nested(parser, shape, shape_loc, &operand));
  } else if (at_name(parser) || at_poisoned_word(parser)) {
    RETURN_IF_ERROR(parse_named_operand(parser, shape, shape_loc, &operand));
  } else {
    bool is_number = at(parser, TOKEN_INTEGER) || at(parser, TOKEN_DECIMAL);
    Status status = parse_expected(parser, "an operand");
    if (is_number) parse_note(parser, NO_LOC, "a constant is an instruction: c = f32[] constant(1)");
    return status;
  }
  return add_operand(parser, draft, operand);
}

/* XLA lets commas between operands be free; so do we. */
static Status parse_operands(Parser *parser, InstructionDraft *draft) {
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of the operands"));
  while (!at(parser, TOKEN_RIGHT_PAREN)) {
    if (accept(parser, TOKEN_COMMA)) continue;
    RETURN_IF_ERROR(parse_operand(parser, draft));
    if (!at(parser, TOKEN_COMMA) && !at(parser, TOKEN_RIGHT_PAREN))
      return parse_expected(parser, "',' or ')' after an operand");
  }
  advance(parser);
  return STATUS_OK;
}

static Status parse_parameter_number(Parser *parser, InstructionDraft *draft) {
  HloAttr attr = {.id = HLO_ATTR_PARAMETER_NUMBER};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of the parameter number"));
  attr.loc = here(parser);
  RETURN_IF_ERROR(parse_int64(parser, &attr.value.integer));
  draft_set_attr(parser, draft, &attr);
  return expect(parser, TOKEN_RIGHT_PAREN, "')' after the parameter number");
}

/* Bounds are no sizes of a value. */
static const Shape *static_shape(Parser *parser, const Shape *shape) {
  if (!shape->dynamic) return shape;
  return shape_array_with(parser->shapes, shape->type, shape->dims, NULL, shape->rank, &shape->layout);
}

static Status parse_constant_value(Parser *parser, InstructionDraft *draft) {
  HloAttr attr = {.id = HLO_ATTR_LITERAL};
  if (!draft->shape)
    return parse_error(parser, draft->opcode_loc, "parse-missing-shape", "'constant' needs a shape before it");
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of the value"));
  attr.loc = here(parser);
  if (shape_is_array(draft->shape)) draft->shape = static_shape(parser, draft->shape);
  RETURN_IF_ERROR(parse_literal(parser, draft->shape, &attr.value.literal));
  draft_set_attr(parser, draft, &attr);
  return expect(parser, TOKEN_RIGHT_PAREN, "')' after the value");
}

/* --- attributes --- */

const HloAttr *draft_attr(const InstructionDraft *draft, HloAttrId id) {
  for (int64_t i = 0; i < draft->attrs.count; i++) {
    if (draft->attrs.data[i].id == id) return &draft->attrs.data[i];
  }
  return NULL;
}

void draft_set_attr(Parser *parser, InstructionDraft *draft, const HloAttr *attr) {
  draft_remove_attr(draft, attr->id);
  array_push(&draft->attrs, parser->scratch, *attr);
}

void draft_remove_attr(InstructionDraft *draft, HloAttrId id) {
  int64_t kept = 0;
  for (int64_t i = 0; i < draft->attrs.count; i++) {
    if (draft->attrs.data[i].id != id) draft->attrs.data[kept++] = draft->attrs.data[i];
  }
  draft->attrs.count = kept;
}

HloOpcode draft_attribute_opcode(const InstructionDraft *draft) {
  return draft->sugar == ASYNC_SUGAR_START ? draft->wrapped : draft->opcode;
}

static HloAttrId find_attribute(const InstructionDraft *draft, StringView name) {
  HloAttrId id = hlo_opcode_attr_from_text(draft_attribute_opcode(draft), name);
  if (id != HLO_ATTR_NONE || draft->sugar != ASYNC_SUGAR_START) return id;
  id = hlo_opcode_attr_from_text(HLO_ASYNC_START, name); /* the wrapper's own, but for the computation it makes */
  return id == HLO_ATTR_CALLS ? HLO_ATTR_NONE : id;
}

static Status unknown_attribute(Parser *parser, const InstructionDraft *draft, StringView name) {
  Status status = parse_error(parser, here(parser), "parse-attribute", "'%.*s' has no attribute '%.*s'",
                              SV_ARG(draft->opcode_text), SV_ARG(name));
  const HloOpcodeInfo *info = hlo_opcode_info(draft_attribute_opcode(draft));
  NearestWord nearest = nearest_word_begin(name);
  StringBuilder own;
  sb_init(&own, parser->scratch);
  for (int i = 0; i < info->attr_count; i++) {
    const char *text = hlo_attr_info(info->attrs[i].id)->text;
    if (!*text) continue;
    nearest_word_offer(&nearest, sv_from_cstring(text));
    sb_printf(&own, "%s%s", own.size > 0 ? ", " : "", text);
  }
  for (int id = HLO_ATTR_FIRST_COMMON; id < HLO_ATTR_COUNT; id++) {
    nearest_word_offer(&nearest, sv_from_cstring(hlo_attr_info((HloAttrId)id)->text));
  }
  if (nearest.word.size > 0) {
    nearest_word_note(&nearest, parser->diag);
  } else if (own.size > 0) {
    parse_note(parser, NO_LOC, "its own are: %.*s", SV_ARG(sb_view(&own)));
  }
  return status;
}

static Status parse_attribute(Parser *parser, InstructionDraft *draft) {
  if (!at(parser, TOKEN_ATTRIBUTE)) {
    bool blank = at(parser, TOKEN_IDENTIFIER) && lexer_peek(&parser->lexer) == '=';
    Status status = parse_expected(parser, "an attribute, directly followed by '='");
    if (blank) parse_note(parser, NO_LOC, "no blank may stand before '='");
    return status;
  }
  StringView name = current(parser)->text;
  HloAttr attr = {.id = find_attribute(draft, name), .loc = here(parser)};
  if (attr.id == HLO_ATTR_NONE) return unknown_attribute(parser, draft, name);
  const HloAttr *before = draft_attr(draft, attr.id);
  if (before) {
    Status status =
        parse_error(parser, attr.loc, "parse-duplicate-attribute", "attribute '%.*s' is given twice", SV_ARG(name));
    parse_note(parser, before->loc, "first given here");
    return status;
  }
  advance(parser);
  RETURN_IF_ERROR(parse_attribute_value(parser, draft, &attr));
  draft_set_attr(parser, draft, &attr);
  return STATUS_OK;
}

Status check_required_attributes(Parser *parser, const InstructionDraft *draft) {
  const HloOpcodeInfo *info = hlo_opcode_info(draft_attribute_opcode(draft));
  for (int i = 0; i < info->attr_count; i++) {
    if (!info->attrs[i].required || draft_attr(draft, info->attrs[i].id)) continue;
    return parse_error(parser, draft->opcode_loc, "parse-missing-attribute", "'%.*s' needs attribute '%s'",
                       SV_ARG(draft->opcode_text), hlo_attr_info(info->attrs[i].id)->text);
  }
  return STATUS_OK;
}

/* --- building --- */

void spread_sharding(Parser *parser, InstructionDraft *draft, const Shape *shape) {
  const HloAttr *attr = draft_attr(draft, HLO_ATTR_SHARDING);
  if (!attr || attr->value.sharding->kind == SHARDING_TUPLE || shape->type != TYPE_TUPLE) return;
  int64_t count = max_i64(1, shape_leaf_count(shape));
  HloSharding *elements = ARENA_NEW_ARRAY(parser->arena, HloSharding, count);
  for (int64_t i = 0; i < count; i++) elements[i] = *attr->value.sharding;
  HloSharding *tuple = ARENA_NEW(parser->arena, HloSharding);
  *tuple =
      (HloSharding){.kind = SHARDING_TUPLE, .shard_as = -1, .shard_like = -1, .tuple_count = count, .tuple = elements};
  HloAttr spread = *attr;
  spread.value.sharding = tuple;
  draft_set_attr(parser, draft, &spread);
}

Status infer_draft_shape(Parser *parser, const InstructionDraft *draft, const Shape **out_shape) {
  HloInstruction outline = {
      .opcode = draft->opcode,
      .name = draft->name.size > 0 ? draft->name : draft->opcode_text,
      .loc = draft->opcode_loc,
      .operands = draft->operands.data,
      .operand_count = (int32_t)draft->operands.count,
      .attr_count = (int32_t)draft->attrs.count,
      .attrs = draft->attrs.data,
      .parent = parser->scope->computation,
  };
  return hlo_infer_shape(&outline, parser->shapes, parser->scratch, parser->diag, out_shape);
}

/* The shape that the text leaves out; NULL when inference failed. */
static const Shape *infer_shape(Parser *parser, const InstructionDraft *draft) {
  if (!hlo_opcode_has(draft->opcode, OP_SHAPE_OPTIONAL)) {
    report_error(parser, draft->opcode_loc, "parse-missing-shape", "'%.*s' needs a shape before it",
                 SV_ARG(draft->opcode_text));
    return NULL;
  }
  const Shape *shape = NULL;
  if (infer_draft_shape(parser, draft, &shape) == STATUS_OK) return shape;
  parse_note(parser, NO_LOC, "the text states no shape, so it is inferred");
  parser->failed = true;
  if (++parser->error_count >= MAX_ERRORS) parser->stopped = true;
  return NULL;
}

Status build_instruction(Parser *parser, InstructionDraft *draft, HloInstruction **out_instruction) {
  HloComputation *computation = parser->scope->computation;
  const Shape *shape = draft->shape ? draft->shape : infer_shape(parser, draft);
  *out_instruction = NULL;
  if (!shape) return STATUS_INVALID;
  if (!draft->shape) RETURN_IF_ERROR(check_shape_size(parser, draft->opcode_loc, shape));
  spread_sharding(parser, draft, shape);
  StringView name = draft->name;
  if (name.size == 0) name = sv_printf(parser->arena, "%.*s.anon", SV_ARG(draft->opcode_text));
  HloInstruction *instruction = NULL;
  if (draft->opcode == HLO_PARAMETER) {
    int64_t number = draft_attr(draft, HLO_ATTR_PARAMETER_NUMBER)->value.integer;
    instruction = hlo_computation_add_parameter(computation, number, shape, name);
  } else {
    instruction =
        hlo_computation_add(computation, draft->opcode, shape, draft->operands.data, (int)draft->operands.count, name);
  }
  instruction->loc = draft->opcode_loc;
  for (int64_t i = 0; i < draft->attrs.count; i++) hlo_instruction_set_attr(instruction, &draft->attrs.data[i]);
  *out_instruction = instruction;
  return STATUS_OK;
}

/* --- right-hand sides --- */

static Status parse_opcode(Parser *parser, InstructionDraft *draft) {
  if (!at(parser, TOKEN_IDENTIFIER)) return parse_expected(parser, draft->shape ? "an opcode" : "a shape or an opcode");
  draft->opcode_text = current(parser)->text;
  draft->opcode_loc = here(parser);
  if (!hlo_opcode_from_text(draft->opcode_text, &draft->opcode)) {
    if (resolve_async_sugar(draft->opcode_text, &draft->wrapped, &draft->sugar)) {
      draft->opcode = draft->sugar == ASYNC_SUGAR_START    ? HLO_ASYNC_START
                      : draft->sugar == ASYNC_SUGAR_UPDATE ? HLO_ASYNC_UPDATE
                                                           : HLO_ASYNC_DONE;
    } else if (!draft->shape && lexer_peek(&parser->lexer) == '[') {
      Status status =
          parse_error(parser, draft->opcode_loc, "parse-type", "unknown type '%.*s'", SV_ARG(draft->opcode_text));
      suggest_type(parser, draft->opcode_text);
      return status;
    } else {
      Status status =
          parse_error(parser, draft->opcode_loc, "parse-opcode", "unknown opcode '%.*s'", SV_ARG(draft->opcode_text));
      suggest_opcode(parser, draft->opcode_text);
      return status;
    }
  }
  advance(parser);
  draft->operands_loc = here(parser);
  return STATUS_OK;
}

Status parse_instruction_rhs(Parser *parser, InstructionDraft *draft, bool nested, HloInstruction **out_instruction) {
  *out_instruction = NULL;
  draft->shape_loc = draft->shape ? draft->shape_loc : here(parser);
  if (!draft->shape && at_shape(parser)) RETURN_IF_ERROR(parse_shape(parser, &draft->shape));
  RETURN_IF_ERROR(parse_opcode(parser, draft));
  switch (draft->opcode) {
    case HLO_PARAMETER: RETURN_IF_ERROR(parse_parameter_number(parser, draft)); break;
    case HLO_CONSTANT: RETURN_IF_ERROR(parse_constant_value(parser, draft)); break;
    default: RETURN_IF_ERROR(parse_operands(parser, draft)); break;
  }
  /* after a nested instruction a comma belongs to the operands around */
  while (!nested && accept(parser, TOKEN_COMMA)) RETURN_IF_ERROR(parse_attribute(parser, draft));
  RETURN_IF_ERROR(check_operand_count(parser, draft));
  RETURN_IF_ERROR(check_required_attributes(parser, draft));
  if (draft->poisoned) return STATUS_OK;
  RETURN_IF_ERROR(finish_async(parser, draft));
  RETURN_IF_ERROR(check_instruction(parser, draft));
  return build_instruction(parser, draft, out_instruction);
}

/* --- definitions --- */

Status check_instruction_name(Parser *parser, StringView name, SourceLoc loc) {
  bool is_type = type_from_text(name) != TYPE_INVALID;
  bool reserved = sv_starts_with(name, SV("__")) && !sv_starts_with(name, SV("__xla_"));
  if (!is_type && !reserved) return STATUS_OK;
  Status status = parse_error(parser, loc, "parse-name", "'%.*s' cannot name an instruction: %s", SV_ARG(name),
                              is_type ? "it is a type" : "two underscores at the beginning are reserved");
  if (is_type) {
    parse_note(parser, NO_LOC, "'%.*s_' would do", SV_ARG(name));
  } else {
    parse_note(parser, NO_LOC, "'a%.*s' would do", SV_ARG(sv_sub(name, 1, name.size)));
  }
  return status;
}

/* Something at the place of a name that is none. */
static Status refuse_name(Parser *parser, InstructionDraft *draft) {
  const Token token = *current(parser);
  bool glued = token.kind == TOKEN_ATTRIBUTE;
  if (glued && !token.first_on_line && parser->scope->computation->instructions.count > 0) {
    return parse_error(parser, here(parser), "parse-syntax", "missing ',' before attribute '%.*s'", SV_ARG(token.text));
  }
  if (glued || (at_reserved(parser) && lexer_peek(&parser->lexer) == '=')) {
    draft->name = token.text; /* so that its uses are no errors of their own */
    draft->name_loc = here(parser);
  }
  if (glued) {
    Status status =
        parse_error(parser, here(parser), "parse-name", "'%.*s=' reads as an attribute", SV_ARG(token.text));
    parse_note(parser, NO_LOC, "put a blank before '='");
    return status;
  }
  if (draft->name.size > 0 && token.kind == TOKEN_TYPE) return check_instruction_name(parser, token.text, here(parser));
  if (draft->name.size > 0) {
    Status status = parse_error(parser, here(parser), "parse-name",
                                "'%.*s' cannot name an instruction: it is a keyword", SV_ARG(token.text));
    parse_note(parser, NO_LOC, "'%%%.*s' would do", SV_ARG(token.text));
    return status;
  }
  return parse_expected(parser, "an instruction or '}'");
}

static Status parse_definition(Parser *parser, InstructionDraft *draft, HloInstruction **out_instruction) {
  if (!at_name(parser)) return refuse_name(parser, draft);
  draft->name = current(parser)->text;
  draft->name_loc = here(parser);
  RETURN_IF_ERROR(check_instruction_name(parser, draft->name, draft->name_loc));
  HloInstruction *before = find_instruction(parser->scope, draft->name);
  if (before) {
    report_error(parser, draft->name_loc, "parse-duplicate-name", "instruction '%.*s' exists already",
                 SV_ARG(draft->name));
    parser->scope->failed = true; /* the rest may have errors of its own */
    if (before->loc.line > 0) parse_note(parser, before->loc, "'%.*s' is defined here", SV_ARG(draft->name));
  }
  advance(parser);
  RETURN_IF_ERROR(expect(parser, TOKEN_EQUAL, "'=' after the name of an instruction"));
  return parse_instruction_rhs(parser, draft, false, out_instruction);
}

static void note_root(Parser *parser, SourceLoc loc) {
  Scope *scope = parser->scope;
  if (scope->has_root) {
    report_error(parser, loc, "parse-root", "the computation has a ROOT already");
    scope->failed = true;
    if (scope->computation->root) parse_note(parser, scope->computation->root->loc, "the first one is here");
  }
  scope->has_root = true;
}

Status parse_instruction(Parser *parser) {
  InstructionDraft draft = {0};
  HloInstruction *instruction = NULL;
  bool root = at_word(parser, "ROOT"), first_root = root && !parser->scope->has_root;
  if (root) {
    note_root(parser, here(parser));
    advance(parser);
  }
  Status status = parse_definition(parser, &draft, &instruction);
  Scope *scope = parser->scope;
  if (!instruction) {
    scope->failed = true;
    if (draft.name.size > 0) {
      define(parser, draft.name, new_poison(parser, draft.name, draft.name_loc));
    } else {
      scope->lost_name = true;
    }
    return status;
  }
  define(parser, draft.name, instruction);
  if (first_root || !scope->has_root) hlo_computation_set_root(scope->computation, instruction);
  return status;
}
