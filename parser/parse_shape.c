/* Shapes and layouts. */
#include "base/checked_math.h"
#include "parser/hlo_parser.h"
#include "parser/parser_internal.h"

/* A layout under construction, whose arrays are temporary: interning copies them. */
typedef struct LayoutText {
  Int64List minor_to_major;
  ARRAY(Tile) tiles;
  ARRAY(SplitConfig) splits;
  Layout layout;
} LayoutText;

bool at_shape(Parser *parser) {
  if (at(parser, TOKEN_TYPE) || at(parser, TOKEN_LEFT_PAREN)) return true;
  return at(parser, TOKEN_IDENTIFIER) && sv_equal_cstring(current(parser)->text, "b") &&
         lexer_peek(&parser->lexer) == '(';
}

/* --- layout fields, each after its letter --- */

/* Obsolete, parsed and dropped: D(D,C+,S~,H). */
static Status parse_dim_level_types(Parser *parser, LayoutText *text) {
  (void)text;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'('"));
  do {
    bool known = at_word(parser, "D") || at_word(parser, "C") || at_word(parser, "S") || at_word(parser, "H");
    if (!known) return parse_expected(parser, "a dimension level type: D, C, S or H");
    advance(parser);
    (void)accept(parser, TOKEN_PLUS);
    (void)accept(parser, TOKEN_TILDE);
  } while (accept(parser, TOKEN_COMMA));
  return expect(parser, TOKEN_RIGHT_PAREN, "',' or ')'");
}

static Status parse_tile(Parser *parser, LayoutText *text) {
  int64_t mark = parser->ints.count;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of a tile"));
  if (!at(parser, TOKEN_RIGHT_PAREN)) {
    do {
      int64_t size = TILE_COMBINE;
      SourceLoc loc = here(parser);
      if (!accept(parser, TOKEN_STAR)) {
        RETURN_IF_ERROR(parse_int64(parser, &size));
        if (size < 0) return parse_error(parser, loc, "parse-layout", "a tile's size is negative");
      }
      array_push(&parser->ints, parser->scratch, size);
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "',' or ')'"));
  int64_t count = parser->ints.count - mark;
  Tile tile = {(int)count, NULL};
  if (count > 0) tile.dims = ARENA_COPY_ARRAY(parser->scratch, int64_t, parser->ints.data + mark, count);
  parser->ints.count = mark;
  array_push(&text->tiles, parser->scratch, tile);
  return STATUS_OK;
}

static Status parse_tiles(Parser *parser, LayoutText *text) {
  do {
    RETURN_IF_ERROR(parse_tile(parser, text));
  } while (at(parser, TOKEN_LEFT_PAREN));
  return STATUS_OK;
}

static Status parse_in_parens(Parser *parser, int64_t *out_value) {
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'('"));
  RETURN_IF_ERROR(parse_int64(parser, out_value));
  return expect(parser, TOKEN_RIGHT_PAREN, "')'");
}

static Status parse_type_in_parens(Parser *parser, PrimitiveType *out_type) {
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'('"));
  if (!at(parser, TOKEN_TYPE) || !type_is_integral(current(parser)->type))
    return parse_expected(parser, "an integer type");
  *out_type = current(parser)->type;
  advance(parser);
  return expect(parser, TOKEN_RIGHT_PAREN, "')'");
}

static Status parse_tail_padding(Parser *parser, LayoutText *text) {
  return parse_in_parens(parser, &text->layout.tail_padding_alignment);
}

static Status parse_index_type(Parser *parser, LayoutText *text) {
  return parse_type_in_parens(parser, &text->layout.index_type);
}

static Status parse_pointer_type(Parser *parser, LayoutText *text) {
  return parse_type_in_parens(parser, &text->layout.pointer_type);
}

static Status parse_element_size(Parser *parser, LayoutText *text) {
  return parse_in_parens(parser, &text->layout.element_size_in_bits);
}

static Status parse_memory_space(Parser *parser, LayoutText *text) {
  return parse_in_parens(parser, &text->layout.memory_space);
}

static Status parse_metadata_prefix(Parser *parser, LayoutText *text) {
  return parse_in_parens(parser, &text->layout.metadata_prefix_bytes);
}

static Status parse_physical_shape(Parser *parser, LayoutText *text) {
  (void)text;
  return parse_error(parser, here(parser), "parse-layout", "a dense array's layout has no physical shape");
}

/* SC(dim:i,j)(dim:k) */
static Status parse_splits(Parser *parser, LayoutText *text) {
  do {
    SplitConfig split = {0};
    RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'('"));
    RETURN_IF_ERROR(parse_int64(parser, &split.dimension));
    RETURN_IF_ERROR(expect(parser, TOKEN_COLON, "':'"));
    int64_t mark = parser->ints.count;
    do {
      int64_t index = 0;
      RETURN_IF_ERROR(parse_int64(parser, &index));
      array_push(&parser->ints, parser->scratch, index);
    } while (accept(parser, TOKEN_COMMA));
    split.index_count = (int)(parser->ints.count - mark);
    split.indices = ARENA_COPY_ARRAY(parser->scratch, int64_t, parser->ints.data + mark, split.index_count);
    parser->ints.count = mark;
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "',' or ')'"));
    array_push(&text->splits, parser->scratch, split);
  } while (at(parser, TOKEN_LEFT_PAREN));
  return STATUS_OK;
}

typedef struct LayoutField {
  TokenKind kind;
  const char *letter;
  Status (*parse)(Parser *parser, LayoutText *text);
} LayoutField;

/* In the order in which they must appear. */
static const LayoutField layout_fields[] = {
    {TOKEN_IDENTIFIER, "D", parse_dim_level_types}, {TOKEN_IDENTIFIER, "T", parse_tiles},
    {TOKEN_IDENTIFIER, "L", parse_tail_padding},    {TOKEN_HASH, NULL, parse_index_type},
    {TOKEN_STAR, NULL, parse_pointer_type},         {TOKEN_IDENTIFIER, "E", parse_element_size},
    {TOKEN_IDENTIFIER, "S", parse_memory_space},    {TOKEN_IDENTIFIER, "SC", parse_splits},
    {TOKEN_IDENTIFIER, "P", parse_physical_shape},  {TOKEN_IDENTIFIER, "M", parse_metadata_prefix},
};

static Status parse_layout_fields(Parser *parser, LayoutText *text) {
  for (size_t i = 0; i < sizeof(layout_fields) / sizeof(layout_fields[0]); i++) {
    const LayoutField *field = &layout_fields[i];
    if (!at(parser, field->kind)) continue;
    if (field->letter && !sv_equal_cstring(current(parser)->text, field->letter)) continue;
    advance(parser);
    RETURN_IF_ERROR(field->parse(parser, text));
  }
  return STATUS_OK;
}

static Status parse_layout(Parser *parser, LayoutText *text) {
  int64_t mark = parser->ints.count;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a layout"));
  if (at(parser, TOKEN_INTEGER)) {
    do {
      int64_t dimension = 0;
      RETURN_IF_ERROR(parse_int64(parser, &dimension));
      array_push(&parser->ints, parser->scratch, dimension);
    } while (accept(parser, TOKEN_COMMA));
  }
  int64_t count = parser->ints.count - mark;
  text->minor_to_major.count = count;
  if (count > 0) {
    text->minor_to_major.data = ARENA_COPY_ARRAY(parser->scratch, int64_t, parser->ints.data + mark, count);
  }
  parser->ints.count = mark;
  text->layout.tail_padding_alignment = 1;
  const char *wanted = "',', ':' or '}' in a layout";
  if (accept(parser, TOKEN_COLON)) {
    RETURN_IF_ERROR(parse_layout_fields(parser, text));
    wanted = "'}' or a layout field (in the order D T L # * E S SC P M)";
  }
  return expect(parser, TOKEN_RIGHT_BRACE, wanted);
}

/* --- shapes --- */

static Status parse_dimension(Parser *parser, int64_t *out_size, bool *out_dynamic) {
  SourceLoc loc = here(parser);
  *out_dynamic = accept(parser, TOKEN_QUESTION);
  if (*out_dynamic) {
    *out_size = SHAPE_UNBOUNDED;
    return STATUS_OK;
  }
  *out_dynamic = accept(parser, TOKEN_LESS_EQUAL);
  bool has_sign = at(parser, TOKEN_INTEGER) && *current(parser)->start == '-';
  RETURN_IF_ERROR(parse_int64(parser, out_size)); /* from 2^63 to 2^64 - 1 it wraps */
  if (*out_size >= 0) return STATUS_OK;
  return parse_error(parser, loc, "parse-shape", "a dimension's size is %s", has_sign ? "negative" : "too large");
}

/* At a '{': a layout, or something else that follows the shape. */
static bool at_layout(Parser *parser) {
  if (!at(parser, TOKEN_LEFT_BRACE)) return false;
  char next = lexer_peek(&parser->lexer);
  return next == ':' || next == '-' || char_is_digit(next);
}

static Status parse_dimensions(Parser *parser, int *out_rank, int64_t **out_dims, bool **out_dynamic) {
  ARRAY(bool) dynamic = {0};
  int64_t mark = parser->ints.count;
  bool any_dynamic = false;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACKET, "'[' of a shape's dimensions"));
  if (!at(parser, TOKEN_RIGHT_BRACKET)) {
    do {
      int64_t size = 0;
      bool is_dynamic;
      RETURN_IF_ERROR(parse_dimension(parser, &size, &is_dynamic));
      array_push(&parser->ints, parser->scratch, size);
      if (is_dynamic && !any_dynamic) { /* rare: the markers before are filled in now */
        while (dynamic.count < parser->ints.count - mark - 1) array_push(&dynamic, parser->scratch, false);
        any_dynamic = true;
      }
      if (any_dynamic) array_push(&dynamic, parser->scratch, is_dynamic);
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACKET, "',' or ']'"));
  *out_rank = (int)min_i64(parser->ints.count - mark, INT32_MAX);
  *out_dims = parser->ints.data ? parser->ints.data + mark : NULL; /* valid until the next push */
  *out_dynamic = any_dynamic ? dynamic.data : NULL;
  parser->ints.count = mark;
  return STATUS_OK;
}

static Status parse_array_shape(Parser *parser, const Shape **out_shape) {
  PrimitiveType type = current(parser)->type;
  SourceLoc loc = here(parser);
  advance(parser);
  int rank;
  int64_t *dims;
  bool *dynamic;
  RETURN_IF_ERROR(parse_dimensions(parser, &rank, &dims, &dynamic));
  if (!type_is_array(type) && rank > 0) {
    return parse_error(parser, loc, "parse-shape", "'%s' has no dimensions", type_text(type));
  }
  if (!at_layout(parser)) {
    *out_shape = type == TYPE_OPAQUE  ? shape_intern(parser->shapes, &(Shape){.type = type})
                 : type == TYPE_TOKEN ? shape_token(parser->shapes)
                                      : shape_array_with(parser->shapes, type, dims, dynamic, rank, NULL);
    return STATUS_OK;
  }
  if (rank > 0) dims = ARENA_COPY_ARRAY(parser->scratch, int64_t, dims, rank);
  SourceLoc layout_loc = here(parser);
  LayoutText text = {0};
  RETURN_IF_ERROR(parse_layout(parser, &text));
  if (!type_is_array(type))
    return parse_error(parser, layout_loc, "parse-layout", "'%s' has no layout", type_text(type));
  if (text.minor_to_major.count != rank) {
    return parse_error(parser, layout_loc, "parse-layout", "the layout names %lld dimensions, the shape has %d",
                       (long long)text.minor_to_major.count, rank);
  }
  text.layout.rank = rank;
  text.layout.minor_to_major = text.minor_to_major.data;
  text.layout.tile_count = (int)text.tiles.count;
  text.layout.tiles = text.tiles.data;
  text.layout.split_count = (int)text.splits.count;
  text.layout.splits = text.splits.data;
  *out_shape = shape_array_with(parser->shapes, type, dims, dynamic, rank, &text.layout);
  return STATUS_OK;
}

static Status parse_tuple_shape(Parser *parser, const Shape **out_shape) {
  ARRAY(const Shape *) elements = {0};
  advance(parser);
  if (!at(parser, TOKEN_RIGHT_PAREN)) {
    do {
      const Shape *element = NULL;
      RETURN_IF_ERROR(parse_shape(parser, &element));
      array_push(&elements, parser->scratch, element);
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "',' or ')' in a tuple shape"));
  *out_shape = shape_tuple(parser->shapes, elements.data, (int)elements.count);
  return STATUS_OK;
}

static Status parse_buffer_shape(Parser *parser, const Shape **out_shape) {
  advance(parser);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'('"));
  SourceLoc loc = here(parser);
  const Shape *element = NULL;
  RETURN_IF_ERROR(parse_shape(parser, &element));
  if (!shape_is_array(element)) return parse_error(parser, loc, "parse-shape", "a buffer holds one array");
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "')' of a buffer shape"));
  *out_shape = shape_buffer(parser->shapes, element);
  return STATUS_OK;
}

Status parse_shape(Parser *parser, const Shape **out_shape) {
  if (at(parser, TOKEN_TYPE)) return parse_array_shape(parser, out_shape);
  if (!at_shape(parser)) {
    StringView word = current(parser)->text;
    bool is_word = at(parser, TOKEN_IDENTIFIER);
    Status status = parse_expected(parser, "a shape");
    if (is_word) suggest_type(parser, word);
    return status;
  }
  if (parser->nesting >= MAX_NESTING) return parse_too_deep(parser, here(parser), "shapes are");
  parser->nesting++;
  Status status =
      at(parser, TOKEN_LEFT_PAREN) ? parse_tuple_shape(parser, out_shape) : parse_buffer_shape(parser, out_shape);
  parser->nesting--;
  return status;
}

/* --- limits of inferred shapes --- */

typedef struct ShapeMeasure {
  int64_t nodes, depth;
} ShapeMeasure;

/* Elements were measured before, or are as shallow as text may be. */
static ShapeMeasure measure(Parser *parser, const Shape *shape) {
  if (shape->type != TYPE_TUPLE) return (ShapeMeasure){1, 0};
  const ShapeMeasure *known = pointer_map_get(&parser->measured, shape);
  if (known) return *known;
  ShapeMeasure *sum = ARENA_NEW(parser->scratch, ShapeMeasure);
  sum->nodes = 1;
  for (int i = 0; i < shape->tuple_size; i++) {
    ShapeMeasure element = measure(parser, shape->tuple[i]);
    sum->nodes = min_i64(sum->nodes + element.nodes, 2 * (int64_t)MAX_SHAPE_NODES);
    sum->depth = max_i64(sum->depth, element.depth);
  }
  sum->depth++;
  pointer_map_set(&parser->measured, shape, sum);
  return *sum;
}

Status check_shape_size(Parser *parser, SourceLoc loc, const Shape *shape) {
  ShapeMeasure size = measure(parser, shape);
  if (size.depth > MAX_NESTING) return parse_too_deep(parser, loc, "tuples are");
  if (size.nodes <= MAX_SHAPE_NODES) return STATUS_OK;
  return parse_error(parser, loc, "parse-shape", "the tuple has more than %d elements in all", MAX_SHAPE_NODES);
}

Status hlo_parse_shape(Arena *arena, ShapeTable *shapes, const SourceFile *file, DiagSink *diag,
                       const Shape **out_shape) {
  Arena *scratch = arena_create();
  Parser parser = {.arena = arena, .scratch = scratch, .shapes = shapes, .diag = diag};
  lexer_init(&parser.lexer, file);
  Status status = parse_shape(&parser, out_shape);
  if (status == STATUS_OK && !at(&parser, TOKEN_END)) status = parse_expected(&parser, "the end of the shape");
  if (status != STATUS_OK) *out_shape = NULL;
  arena_destroy(scratch);
  return status;
}
