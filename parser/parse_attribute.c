/* Values of attributes, one function per kind. */
#include <math.h>

#include "parser/parser_internal.h"

typedef Status AttributeParser(Parser *parser, InstructionDraft *draft, HloAttr *attr);

static Status parse_bool_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_bool(parser, &attr->value.boolean);
}

static Status parse_int32_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_int32(parser, &attr->value.integer);
}

static Status parse_int64_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_int64(parser, &attr->value.integer);
}

/* A float of XLA is 32 bits wide: what does not fit is an error, what fits is rounded. */
static Status parse_float_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  SourceLoc loc = here(parser);
  double value = 0;
  if (!at(parser, TOKEN_INTEGER) && !at(parser, TOKEN_DECIMAL)) return parse_expected(parser, "a number");
  RETURN_IF_ERROR(parse_real(parser, &value));
  if (isinf((float)value)) return parse_error(parser, loc, "parse-number", "%g is out of range for 'f32'", value);
  attr->value.real = (double)(float)value;
  return STATUS_OK;
}

static Status parse_string_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_string(parser, &attr->value.text);
}

static Status parse_enum_word(Parser *parser, HloAttrId id, HloEnumId enumeration, int64_t *out_value) {
  const char *name = hlo_attr_info(id)->text;
  if (!at(parser, TOKEN_IDENTIFIER) && !at(parser, TOKEN_KEYWORD)) {
    return parse_expected(parser, arena_printf(parser->scratch, "a word for '%s'", name));
  }
  StringView word = current(parser)->text;
  *out_value = hlo_enum_from_text(enumeration, word);
  if (*out_value < 0) {
    Status status =
        parse_error(parser, here(parser), "parse-enum", "'%.*s' is not a value of '%s'", SV_ARG(word), name);
    suggest_enum(parser, enumeration, word);
    return status;
  }
  advance(parser);
  return STATUS_OK;
}

static Status parse_enum_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_enum_word(parser, attr->id, hlo_attr_info(attr->id)->enumeration, &attr->value.integer);
}

static Status parse_int_list_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_int_list(parser, TOKEN_LEFT_BRACE, TOKEN_RIGHT_BRACE, &attr->value.ints);
}

static Status parse_int_lists_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_int_lists(parser, &attr->value.int_lists.count, &attr->value.int_lists.data);
}

static Status parse_bool_list_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  ARRAY(bool) list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      bool value = false;
      RETURN_IF_ERROR(parse_bool(parser, &value));
      array_push(&list, parser->arena, value);
    } while (accept(parser, TOKEN_COMMA));
  }
  attr->value.bools.count = list.count;
  attr->value.bools.data = list.data;
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

static Status parse_precision_list_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  Int64Array list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      int64_t value = 0;
      RETURN_IF_ERROR(parse_enum_word(parser, attr->id, HLO_ENUM_OPERAND_PRECISION, &value));
      array_push(&list, parser->arena, value);
    } while (accept(parser, TOKEN_COMMA));
  }
  attr->value.ints = (Int64List){list.count, list.data};
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

static Status parse_computation_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  RETURN_IF_ERROR(parse_computation_reference(parser, &attr->value.computation));
  if (!attr->value.computation) draft->poisoned = true;
  return STATUS_OK;
}

static Status parse_computation_list_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  HloComputationArray list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a list of computations"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      HloComputation *computation = NULL;
      RETURN_IF_ERROR(parse_computation_reference(parser, &computation));
      if (!computation) draft->poisoned = true;
      array_push(&list, parser->arena, computation);
    } while (accept(parser, TOKEN_COMMA));
  }
  attr->value.computations.count = list.count;
  attr->value.computations.data = list.data;
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

static Status parse_instruction_list_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  HloInstructionArray list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a list of instructions"));
  do {
    HloInstruction *instruction = NULL;
    RETURN_IF_ERROR(parse_instruction_reference(parser, &instruction));
    if (!instruction) draft->poisoned = true;
    array_push(&list, parser->arena, instruction);
  } while (accept(parser, TOKEN_COMMA));
  attr->value.instructions.count = list.count;
  attr->value.instructions.data = list.data;
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

static Status parse_shape_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_shape(parser, &attr->value.shape);
}

static Status parse_shape_list_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  ARRAY(const Shape *) list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a list of shapes"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      const Shape *shape = NULL;
      RETURN_IF_ERROR(parse_shape(parser, &shape));
      array_push(&list, parser->arena, shape);
    } while (accept(parser, TOKEN_COMMA));
  }
  attr->value.shapes.count = list.count;
  attr->value.shapes.data = list.data;
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

/* Tuples here repeat the shape of each element: literal=( s32[] 1, f32[2]{0} {1, 2} ). */
static Status parse_shaped_literal(Parser *parser, Literal *out_literal) {
  if (at(parser, TOKEN_LEFT_PAREN)) {
    ARRAY(Literal) elements = {0};
    ARRAY(const Shape *) shapes = {0};
    if (parser->nesting >= MAX_NESTING) return parse_too_deep(parser, here(parser), "tuples are");
    parser->nesting++;
    advance(parser);
    if (!at(parser, TOKEN_RIGHT_PAREN)) {
      do {
        Literal element;
        RETURN_IF_ERROR(parse_shaped_literal(parser, &element));
        array_push(&elements, parser->arena, element);
        array_push(&shapes, parser->scratch, element.shape);
      } while (accept(parser, TOKEN_COMMA));
    }
    parser->nesting--;
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "',' or ')'"));
    *out_literal =
        (Literal){.shape = shape_tuple(parser->shapes, shapes.data, (int)shapes.count), .tuple = elements.data};
    return STATUS_OK;
  }
  const Shape *shape = NULL;
  const Literal *literal;
  RETURN_IF_ERROR(parse_shape(parser, &shape));
  RETURN_IF_ERROR(parse_literal(parser, shape, &literal));
  *out_literal = *literal;
  return STATUS_OK;
}

static Status parse_shaped_literal_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  Literal *literal = ARENA_NEW(parser->arena, Literal);
  attr->value.literal = literal;
  return parse_shaped_literal(parser, literal);
}

static Status parse_window_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_window(parser, &attr->value.window);
}

static Status parse_dim_labels_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_dim_labels(parser, &attr->value.dim_labels);
}

static Status parse_padding_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_padding(parser, &attr->value.padding);
}

static Status parse_slice_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_slice(parser, &attr->value.slice);
}

static Status parse_replica_groups_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_replica_groups(parser, &attr->value.replica_groups);
}

static Status parse_sharding_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_sharding(parser, &attr->value.sharding);
}

static Status parse_domain_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_domain(parser, &attr->value.domain);
}

static Status parse_aliasing_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_aliasing(parser, attr);
}

static Status parse_sparsity_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_sparsity(parser, &attr->value.sparsity);
}

static Status parse_accuracy_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_accuracy(parser, &attr->value.accuracy);
}

static Status parse_frontend_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_frontend_attributes(parser, &attr->value.frontend.count, &attr->value.frontend.data);
}

static Status parse_statistics_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_statistics(parser, attr);
}

static Status parse_origin_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  return parse_origin(parser, &attr->value.origin);
}

static Status parse_metadata_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  HloMetadata *metadata = ARENA_NEW(parser->arena, HloMetadata);
  attr->value.metadata = metadata;
  return parse_metadata(parser, metadata);
}

static Status parse_backend_config_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  (void)draft;
  bool is_dictionary;
  return parse_text_or_dictionary(parser, &attr->value.text, &is_dictionary);
}

/* LITERAL stands between parentheses and never here. */
static AttributeParser *const parsers[HLO_ATTR_KIND_COUNT] = {
    [HLO_ATTR_KIND_BOOL] = parse_bool_value,
    [HLO_ATTR_KIND_INT32] = parse_int32_value,
    [HLO_ATTR_KIND_INT64] = parse_int64_value,
    [HLO_ATTR_KIND_FLOAT] = parse_float_value,
    [HLO_ATTR_KIND_STRING] = parse_string_value,
    [HLO_ATTR_KIND_ENUM] = parse_enum_value,
    [HLO_ATTR_KIND_INT64_LIST] = parse_int_list_value,
    [HLO_ATTR_KIND_INT64_LISTS] = parse_int_lists_value,
    [HLO_ATTR_KIND_BOOL_LIST] = parse_bool_list_value,
    [HLO_ATTR_KIND_PRECISION_LIST] = parse_precision_list_value,
    [HLO_ATTR_KIND_COMPUTATION] = parse_computation_value,
    [HLO_ATTR_KIND_COMPUTATION_LIST] = parse_computation_list_value,
    [HLO_ATTR_KIND_INSTRUCTION_LIST] = parse_instruction_list_value,
    [HLO_ATTR_KIND_SHAPE] = parse_shape_value,
    [HLO_ATTR_KIND_SHAPE_LIST] = parse_shape_list_value,
    [HLO_ATTR_KIND_SHAPED_LITERAL] = parse_shaped_literal_value,
    [HLO_ATTR_KIND_WINDOW] = parse_window_value,
    [HLO_ATTR_KIND_DIM_LABELS] = parse_dim_labels_value,
    [HLO_ATTR_KIND_PADDING] = parse_padding_value,
    [HLO_ATTR_KIND_SLICE] = parse_slice_value,
    [HLO_ATTR_KIND_REPLICA_GROUPS] = parse_replica_groups_value,
    [HLO_ATTR_KIND_SHARDING] = parse_sharding_value,
    [HLO_ATTR_KIND_DOMAIN] = parse_domain_value,
    [HLO_ATTR_KIND_ALIASING] = parse_aliasing_value,
    [HLO_ATTR_KIND_SPARSITY_CONFIG] = parse_sparsity_value,
    [HLO_ATTR_KIND_RESULT_ACCURACY] = parse_accuracy_value,
    [HLO_ATTR_KIND_FRONTEND_ATTRIBUTES] = parse_frontend_value,
    [HLO_ATTR_KIND_STATISTICS] = parse_statistics_value,
    [HLO_ATTR_KIND_ORIGIN] = parse_origin_value,
    [HLO_ATTR_KIND_METADATA] = parse_metadata_value,
    [HLO_ATTR_KIND_BACKEND_CONFIG] = parse_backend_config_value,
};

Status parse_attribute_value(Parser *parser, InstructionDraft *draft, HloAttr *attr) {
  AttributeParser *parse = parsers[hlo_attr_info(attr->id)->kind];
  XLAC_CHECK(parse != NULL);
  return parse(parser, draft, attr);
}
