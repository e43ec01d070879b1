/* Attributes that carry text from the front end: metadata, frontend attributes, statistics, origins, configurations. */
#include <stdlib.h>

#include "parser/parser_internal.h"

/* --- metadata={op_type="…" source_line=1 …} --- */

static const char *const metadata_names[] = {
    "op_type",     "op_name",         "source_file",   "deduplicated_name", "scheduling_name", "metadata_payload",
    "source_line", "source_end_line", "source_column", "source_end_column", "stack_frame_id",  "profile_type",
};
static const FieldTable metadata_table = {metadata_names, 12};

static Status parse_profile_type(Parser *parser, HloMetadata *metadata) {
  SourceLoc loc = here(parser);
  RETURN_IF_ERROR(parse_int_list(parser, TOKEN_LEFT_BRACE, TOKEN_RIGHT_BRACE, &metadata->profile_type));
  for (int64_t i = 0; i < metadata->profile_type.count; i++) {
    int64_t value = metadata->profile_type.data[i];
    if (value < 0 || value > 3)
      return parse_error(parser, loc, "parse-attribute-value", "a profile type is a number from 0 to 3");
  }
  return STATUS_OK;
}

Status parse_metadata(Parser *parser, HloMetadata *out_metadata) {
  HloMetadata *m = out_metadata;
  StringView *const texts[] = {&m->op_type,           &m->op_name,         &m->source_file,
                               &m->deduplicated_name, &m->scheduling_name, &m->payload};
  int64_t *const numbers[] = {&m->source_line, &m->source_end_line, &m->source_column, &m->source_end_column,
                              &m->stack_frame_id};
  uint64_t seen = 0;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of metadata"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    int field = 0;
    RETURN_IF_ERROR(parse_field_name(parser, "'metadata'", &metadata_table, &seen, &field));
    if (field < 6) {
      RETURN_IF_ERROR(parse_string(parser, texts[field]));
    } else if (field < 11) {
      RETURN_IF_ERROR(parse_int32(parser, numbers[field - 6]));
    } else {
      RETURN_IF_ERROR(parse_profile_type(parser, m));
    }
    if (accept(parser, TOKEN_COMMA) && at(parser, TOKEN_RIGHT_BRACE))
      return parse_expected(parser, "a field of 'metadata'");
  }
  advance(parser);
  return STATUS_OK;
}

/* --- strings and dictionaries --- */

Status parse_text_or_dictionary(Parser *parser, StringView *out_text, bool *out_is_dictionary) {
  *out_is_dictionary = at(parser, TOKEN_LEFT_BRACE);
  if (!*out_is_dictionary) {
    if (!at(parser, TOKEN_STRING)) return parse_expected(parser, "a string or '{'");
    return parse_string(parser, out_text);
  }
  SourceLoc loc = here(parser);
  if (lexer_take_dictionary(&parser->lexer, out_text)) return STATUS_OK;
  Status status = parse_error(parser, loc, "parse-dictionary", "the dictionary is not closed");
  parser->stopped = true; /* there is no telling where it should have ended */
  return status;
}

static int compare_keys(const void *a, const void *b) {
  const FrontendAttribute *x = a, *y = b;
  return sv_compare(x->key, y->key);
}

/* Enters |attribute|; a key that is there already gets the new value. */
typedef struct FrontendList {
  ARRAY(FrontendAttribute) list;
  StringMap places; /* key → index + 1 */
} FrontendList;

static void put_frontend(Parser *parser, FrontendList *frontend, FrontendAttribute attribute) {
  intptr_t place = (intptr_t)string_map_get(&frontend->places, attribute.key);
  if (place > 0) {
    frontend->list.data[place - 1] = attribute;
    return;
  }
  array_push(&frontend->list, parser->arena, attribute);
  (void)string_map_set(&frontend->places, attribute.key, (void *)(intptr_t)frontend->list.count);
}

Status parse_frontend_attributes(Parser *parser, int64_t *out_count, const FrontendAttribute **out_attributes) {
  FrontendList frontend = {0};
  string_map_init(&frontend.places, parser->scratch);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of frontend attributes"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      FrontendAttribute attribute;
      if (!at(parser, TOKEN_ATTRIBUTE)) return parse_expected(parser, "a key, directly followed by '='");
      attribute.key = current(parser)->text;
      advance(parser);
      RETURN_IF_ERROR(parse_text_or_dictionary(parser, &attribute.value, &attribute.is_dictionary));
      put_frontend(parser, &frontend, attribute);
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'"));
  if (frontend.list.count > 1) {
    qsort(frontend.list.data, (size_t)frontend.list.count, sizeof(FrontendAttribute), compare_keys);
  }
  *out_count = frontend.list.count;
  *out_attributes = frontend.list.data;
  return STATUS_OK;
}

/* --- statistics={visualizing_index=1,nan=0.5} --- */

Status parse_statistics(Parser *parser, HloAttr *attr) {
  ARRAY(StatisticsEntry) list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of statistics"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      StatisticsEntry entry;
      if (!at(parser, TOKEN_ATTRIBUTE)) return parse_expected(parser, "a name, directly followed by '='");
      entry.name = current(parser)->text;
      advance(parser);
      if (list.count == 0) { /* the index of the value to show */
        int64_t index = 0;
        RETURN_IF_ERROR(parse_int64(parser, &index));
        entry.value = (double)index;
      } else {
        RETURN_IF_ERROR(parse_real(parser, &entry.value));
      }
      array_push(&list, parser->arena, entry);
    } while (accept(parser, TOKEN_COMMA));
  }
  attr->value.statistics.count = list.count;
  attr->value.statistics.data = list.data;
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

/* --- origin={({"a"}, {"b" {0}})} --- */

static Status parse_origin_leaf(Parser *parser, OriginNode *out_node) {
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' or '(' of an origin"));
  if (at(parser, TOKEN_STRING)) {
    out_node->has_name = true;
    RETURN_IF_ERROR(parse_string(parser, &out_node->name));
    if (at(parser, TOKEN_LEFT_BRACE)) {
      ShapeIndex index;
      RETURN_IF_ERROR(parse_shape_index(parser, &index));
      out_node->index = (Int64List){index.depth, index.path};
    }
  }
  return expect(parser, TOKEN_RIGHT_BRACE, "'}' of an origin");
}

Status parse_origin_node(Parser *parser, OriginNode *out_node) {
  *out_node = (OriginNode){0};
  if (!at(parser, TOKEN_LEFT_PAREN)) return parse_origin_leaf(parser, out_node);
  if (parser->nesting >= MAX_NESTING) return parse_too_deep(parser, here(parser), "origins are");
  ARRAY(OriginNode) elements = {0};
  parser->nesting++;
  advance(parser);
  if (!at(parser, TOKEN_RIGHT_PAREN)) {
    do {
      OriginNode element;
      RETURN_IF_ERROR(parse_origin_node(parser, &element));
      array_push(&elements, parser->arena, element);
    } while (accept(parser, TOKEN_COMMA));
  }
  parser->nesting--;
  out_node->is_tuple = true;
  out_node->tuple_count = elements.count;
  out_node->tuple = elements.data;
  return expect(parser, TOKEN_RIGHT_PAREN, "',' or ')' of an origin");
}

Status parse_origin(Parser *parser, const HloOrigin **out_origin) {
  HloOrigin *origin = ARENA_NEW(parser->arena, HloOrigin);
  *out_origin = origin;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of an origin"));
  if (accept(parser, TOKEN_LEFT_BRACKET)) {
    if (!at_word(parser, "synthetic_call")) return parse_expected(parser, "'synthetic_call'");
    advance(parser);
    origin->synthetic_call = true;
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACKET, "']'"));
  } else if (at(parser, TOKEN_RIGHT_BRACE)) {
    origin->root.is_tuple = true; /* {} is the empty tuple */
  } else {
    RETURN_IF_ERROR(parse_origin_node(parser, &origin->root));
  }
  return expect(parser, TOKEN_RIGHT_BRACE, "'}' of an origin");
}
