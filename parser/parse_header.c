/* The module's header and the stack-frame tables. */
#include "parser/parser_internal.h"

typedef Status HeaderParser(Parser *parser);

static Status parse_is_scheduled(Parser *parser) {
  return parse_bool(parser, &parser->module->is_scheduled);
}

static Status parse_passthrough(Parser *parser) {
  return parse_bool(parser, &parser->module->alias_passthrough_params);
}

/* Less than 1, which XLA lets pass, says no more than 1. */
static Status parse_replica_count(Parser *parser) {
  return parse_int64(parser, &parser->module->replica_count);
}

static Status parse_num_partitions(Parser *parser) {
  return parse_int64(parser, &parser->module->num_partitions);
}

/* {(shape, …)->shape} */
static Status parse_entry_layout(Parser *parser) {
  EntryLayout *layout = &parser->module->entry_layout;
  ARRAY(const Shape *) parameters = {0};
  layout->present = true;
  layout->loc = here(parser);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of the parameters' shapes"));
  while (!at(parser, TOKEN_RIGHT_PAREN)) {
    const Shape *shape = NULL;
    RETURN_IF_ERROR(parse_shape(parser, &shape));
    array_push(&parameters, parser->arena, shape);
    if (!accept(parser, TOKEN_COMMA)) break;
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "',' or ')'"));
  RETURN_IF_ERROR(expect(parser, TOKEN_ARROW, "'->'"));
  RETURN_IF_ERROR(parse_shape(parser, &layout->result));
  layout->parameter_count = parameters.count;
  layout->parameters = parameters.data;
  return expect(parser, TOKEN_RIGHT_BRACE, "'}'");
}

/* --- aliases --- */

static Status parse_alias_kind(Parser *parser, AliasKind *out_kind) {
  *out_kind = at_word(parser, "must-alias") ? ALIAS_MUST : ALIAS_MAY;
  if (*out_kind == ALIAS_MAY && !at_word(parser, "may-alias"))
    return parse_expected(parser, "'may-alias' or 'must-alias'");
  advance(parser);
  return STATUS_OK;
}

/* { oidx: (param, pidx[, kind]), … }; of two entries for one output the first counts. */
static Status parse_aliases(Parser *parser) {
  StringMap outputs; /* by the bytes of their indices */
  string_map_init(&outputs, parser->scratch);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    InputOutputAlias alias = {.loc = here(parser)};
    RETURN_IF_ERROR(parse_shape_index(parser, &alias.output));
    RETURN_IF_ERROR(expect(parser, TOKEN_COLON, "':'"));
    RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of a parameter's number and index"));
    RETURN_IF_ERROR(parse_int64(parser, &alias.parameter));
    RETURN_IF_ERROR(expect(parser, TOKEN_COMMA, "','"));
    RETURN_IF_ERROR(parse_shape_index(parser, &alias.parameter_index));
    if (accept(parser, TOKEN_COMMA)) RETURN_IF_ERROR(parse_alias_kind(parser, &alias.kind));
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "')'"));
    StringView key = SV("");
    if (alias.output.depth > 0)
      key = (StringView){(const char *)alias.output.path, (size_t)alias.output.depth * sizeof(int64_t)};
    if (!string_map_get(&outputs, key)) {
      array_push(&parser->module->aliases, parser->arena, alias);
      (void)string_map_set(&outputs, key, &outputs);
    }
    if (!accept(parser, TOKEN_COMMA)) break;
  }
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

static Status parse_donors(Parser *parser) {
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    BufferDonor donor = {.loc = here(parser)};
    RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of a parameter's number and index"));
    RETURN_IF_ERROR(parse_int64(parser, &donor.parameter));
    if (donor.parameter < 0)
      return parse_error(parser, donor.loc, "parse-header", "a parameter's number cannot be negative");
    RETURN_IF_ERROR(expect(parser, TOKEN_COMMA, "','"));
    RETURN_IF_ERROR(parse_shape_index(parser, &donor.parameter_index));
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "')'"));
    array_push(&parser->module->donors, parser->arena, donor);
    if (!accept(parser, TOKEN_COMMA)) break;
  }
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

/* --- the rest of the attributes --- */

/* bool or {bool, …} */
static Status parse_bools(Parser *parser, int64_t *out_count, const bool **out_values) {
  ARRAY(bool) list = {0};
  bool braces = accept(parser, TOKEN_LEFT_BRACE);
  while (!(braces && list.count == 0 && at(parser, TOKEN_RIGHT_BRACE))) {
    bool value = false;
    RETURN_IF_ERROR(parse_bool(parser, &value));
    array_push(&list, parser->arena, value);
    if (!braces || !accept(parser, TOKEN_COMMA)) break;
  }
  *out_count = list.count;
  *out_values = list.data;
  return braces ? expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'") : STATUS_OK;
}

static Status parse_spmd_parameters(Parser *parser) {
  HloModule *module = parser->module;
  RETURN_IF_ERROR(parse_bools(parser, &module->spmd_parameter_count, &module->spmd_parameters));
  module->spmd_parameters_present = module->spmd_parameter_count > 0; /* {} says nothing */
  return STATUS_OK;
}

static Status parse_spmd_output(Parser *parser) {
  HloModule *module = parser->module;
  RETURN_IF_ERROR(parse_bools(parser, &module->spmd_output_count, &module->spmd_outputs));
  module->spmd_output_present = module->spmd_output_count > 0;
  return STATUS_OK;
}

static Status parse_header_frontend(Parser *parser) {
  return parse_frontend_attributes(parser, &parser->module->frontend_count, &parser->module->frontend);
}

/* { {"a"} : {"b"}[, "module text"] … }, entries without commas between them. */
static Status parse_origin_recovery(Parser *parser) {
  ARRAY(OriginRecoveryEntry) list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    OriginRecoveryEntry entry = {0};
    RETURN_IF_ERROR(parse_origin_node(parser, &entry.from));
    RETURN_IF_ERROR(expect(parser, TOKEN_COLON, "':'"));
    RETURN_IF_ERROR(parse_origin_node(parser, &entry.to));
    if (accept(parser, TOKEN_COMMA)) {
      entry.has_module = true;
      RETURN_IF_ERROR(parse_string(parser, &entry.module_text));
    }
    array_push(&list, parser->arena, entry);
  }
  advance(parser);
  parser->module->origin_recovery_count = list.count;
  parser->module->origin_recovery = list.data;
  return STATUS_OK;
}

/* --- the header line --- */

static const char *const header_names[] = {
    "is_scheduled",
    "entry_computation_layout",
    "input_output_alias",
    "buffer_donor",
    "alias_passthrough_params",
    "replica_count",
    "num_partitions",
    "frontend_attributes",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "origin_recovery_table",
};
static HeaderParser *const header_parsers[] = {
    parse_is_scheduled,    parse_entry_layout,  parse_aliases,         parse_donors,
    parse_passthrough,     parse_replica_count, parse_num_partitions,  parse_header_frontend,
    parse_spmd_parameters, parse_spmd_output,   parse_origin_recovery,
};
static const FieldTable header_table = {header_names, (int)(sizeof(header_names) / sizeof(header_names[0]))};

Status parse_header(Parser *parser) {
  uint64_t seen = 0;
  StringView name = {0};
  advance(parser); /* HloModule */
  parser->module->loc = here(parser);
  RETURN_IF_ERROR(expect_name(parser, "the module's name", &name));
  parser->module->name = sv_copy(parser->arena, name);
  while (accept(parser, TOKEN_COMMA)) {
    int field = 0;
    RETURN_IF_ERROR(parse_field_name(parser, "the module's header", &header_table, &seen, &field));
    RETURN_IF_ERROR(header_parsers[field](parser));
  }
  return STATUS_OK;
}

Status parse_header_attribute(Parser *parser, StringView name, SourceLoc loc) {
  NearestWord nearest = nearest_word_begin(name);
  for (int i = 0; i < header_table.count; i++) {
    if (sv_equal_cstring(name, header_names[i])) return header_parsers[i](parser);
    nearest_word_offer(&nearest, sv_from_cstring(header_names[i]));
  }
  Status status =
      parse_error(parser, loc, "parse-attribute", "the module's header has no attribute '%.*s'", SV_ARG(name));
  nearest_word_note(&nearest, parser->diag);
  return status;
}

Status check_header(Parser *parser) {
  HloModule *module = parser->module;
  const Shape *result = module->entry_layout.present ? module->entry_layout.result : module->entry->root->shape;
  for (int64_t i = 0; i < module->aliases.count; i++) {
    const InputOutputAlias *alias = &module->aliases.data[i];
    if (shape_at(result, alias->output)) continue;
    StringView text = shape_text(parser->scratch, result, false);
    return parse_error(parser, alias->loc, "parse-header", "the result %.*s has nothing at this index", SV_ARG(text));
  }
  return STATUS_OK;
}

/* --- stack-frame tables --- */

/* A name per row. */
static Status parse_names(Parser *parser, const char *keyword, int64_t *out_count, const StringView **out_names) {
  StringViewArray names = {0};
  if (!at_word(parser, keyword)) return parse_expected(parser, arena_printf(parser->scratch, "'%s'", keyword));
  advance(parser);
  while (at(parser, TOKEN_INTEGER)) {
    StringView name = {0};
    advance(parser);
    RETURN_IF_ERROR(parse_string(parser, &name));
    array_push(&names, parser->arena, name);
  }
  *out_count = names.count;
  *out_names = names.data;
  return STATUS_OK;
}

/* {a=1 b=2}: all fields of |table|, in any order. */
static Status parse_row(Parser *parser, const char *owner, const FieldTable *table, int32_t *const *targets) {
  SourceLoc loc = here(parser);
  uint64_t seen = 0;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    int field = 0;
    int64_t value = 0;
    RETURN_IF_ERROR(parse_field_name(parser, owner, table, &seen, &field));
    RETURN_IF_ERROR(parse_int32(parser, &value));
    *targets[field] = (int32_t)value;
    if (accept(parser, TOKEN_COMMA) && at(parser, TOKEN_RIGHT_BRACE)) return parse_expected(parser, "a field");
  }
  advance(parser);
  for (int i = 0; i < table->count; i++) {
    if (!(seen >> i & 1))
      return parse_error(parser, loc, "parse-missing-attribute", "%s needs '%s='", owner, table->names[i]);
  }
  return STATUS_OK;
}

static Status parse_locations(Parser *parser, StackFrameTables *tables) {
  static const char *const names[] = {"file_name_id", "function_name_id", "line", "end_line", "column", "end_column"};
  static const FieldTable table = {names, 6};
  ARRAY(FileLocation) rows = {0};
  if (!at_word(parser, "FileLocations")) return parse_expected(parser, "'FileLocations'");
  advance(parser);
  while (accept(parser, TOKEN_INTEGER)) {
    FileLocation row = {0};
    int32_t *const targets[] = {&row.file_name_id, &row.function_name_id, &row.line,
                                &row.end_line,     &row.column,           &row.end_column};
    RETURN_IF_ERROR(parse_row(parser, "a file location", &table, targets));
    array_push(&rows, parser->arena, row);
  }
  tables->file_location_count = rows.count;
  tables->file_locations = rows.data;
  return STATUS_OK;
}

static Status parse_frames(Parser *parser, StackFrameTables *tables) {
  static const char *const names[] = {"file_location_id", "parent_frame_id"};
  static const FieldTable table = {names, 2};
  ARRAY(StackFrame) rows = {0};
  if (!at_word(parser, "StackFrames")) return parse_expected(parser, "'StackFrames'");
  advance(parser);
  while (accept(parser, TOKEN_INTEGER)) {
    StackFrame row = {0};
    int32_t *const targets[] = {&row.file_location_id, &row.parent_frame_id};
    RETURN_IF_ERROR(parse_row(parser, "a stack frame", &table, targets));
    array_push(&rows, parser->arena, row);
  }
  tables->stack_frame_count = rows.count;
  tables->stack_frames = rows.data;
  return STATUS_OK;
}

Status parse_stack_tables(Parser *parser) {
  StackFrameTables *tables = &parser->module->stack_frames;
  if (!at_word(parser, "FileNames")) return STATUS_OK;
  tables->present = true;
  RETURN_IF_ERROR(parse_names(parser, "FileNames", &tables->file_name_count, &tables->file_names));
  RETURN_IF_ERROR(parse_names(parser, "FunctionNames", &tables->function_name_count, &tables->function_names));
  RETURN_IF_ERROR(parse_locations(parser, tables));
  return parse_frames(parser, tables);
}
