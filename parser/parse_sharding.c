/* Shardings and domains. */
#include "parser/parser_internal.h"

/* Words that name a kind, in the order in which they win over one another. */
static const struct {
  const char *word;
  ShardingKind kind;
} kind_words[] = {
    {"replicated", SHARDING_REPLICATED}, {"maximal", SHARDING_MAXIMAL},     {"manual", SHARDING_MANUAL},
    {"unknown", SHARDING_UNKNOWN},       {"unreduced", SHARDING_UNREDUCED},
};
enum { KIND_WORD_COUNT = 5 };

/* What stands between the braces of one sharding. */
typedef struct ShardingText {
  HloSharding *sharding;
  uint64_t kinds; /* bit per kind word */
  int64_t device_count;
  bool has_tile, has_iota;
  SourceLoc loc;
} ShardingText;

static int at_kind_word(const Parser *parser) {
  for (int i = 0; i < KIND_WORD_COUNT; i++) {
    if (at_word(parser, kind_words[i].word)) return i;
  }
  return -1;
}

static Status parse_devices(Parser *parser, ShardingText *text) {
  HloSharding *sharding = text->sharding;
  SourceLoc loc = here(parser);
  text->has_tile = true;
  RETURN_IF_ERROR(parse_int_list(parser, TOKEN_LEFT_BRACKET, TOKEN_RIGHT_BRACKET, &sharding->tile_dims));
  if (sharding->tile_dims.count == 0)
    return parse_error(parser, loc, "parse-sharding", "a tiled sharding needs tile dimensions");
  for (int64_t i = 0; i < sharding->tile_dims.count; i++) {
    if (sharding->tile_dims.data[i] <= 0)
      return parse_error(parser, loc, "parse-sharding", "a tile dimension is not positive");
  }
  if (at(parser, TOKEN_LESS_EQUAL)) {
    IotaTile *iota = ARENA_NEW(parser->arena, IotaTile);
    text->has_iota = true;
    sharding->iota = iota;
    return parse_iota(parser, iota);
  }
  Int64Array ids = {0};
  do {
    int64_t id = 0;
    RETURN_IF_ERROR(parse_int64(parser, &id));
    array_push(&ids, parser->arena, id);
  } while (accept(parser, TOKEN_COMMA));
  sharding->devices = (Int64List){ids.count, ids.data};
  text->device_count = ids.count;
  return STATUS_OK;
}

static Status parse_last_tile_dims(Parser *parser, ShardingText *text) {
  Int64Array kinds = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      int word = at_kind_word(parser);
      if (word < 0 || kind_words[word].kind == SHARDING_UNKNOWN) {
        return parse_expected(parser, "'replicated', 'manual', 'unreduced' or 'maximal'");
      }
      advance(parser);
      array_push(&kinds, parser->arena, (int64_t)kind_words[word].kind);
    } while (accept(parser, TOKEN_COMMA));
  }
  text->sharding->last_tile_dims = (Int64List){kinds.count, kinds.data};
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

/* metadata={…} or metadata={{…},{…}} */
static Status parse_sharding_metadata(Parser *parser, HloSharding *sharding) {
  ARRAY(HloMetadata) list = {0};
  HloMetadata metadata = {0};
  if (lexer_peek(&parser->lexer) != '{') {
    RETURN_IF_ERROR(parse_metadata(parser, &metadata));
    array_push(&list, parser->arena, metadata);
  } else {
    advance(parser);
    do {
      metadata = (HloMetadata){0};
      RETURN_IF_ERROR(parse_metadata(parser, &metadata));
      array_push(&list, parser->arena, metadata);
    } while (accept(parser, TOKEN_COMMA));
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'"));
  }
  sharding->metadata_count = list.count;
  sharding->metadata = list.data;
  return STATUS_OK;
}

static Status parse_sharding_word(Parser *parser, ShardingText *text) {
  HloSharding *sharding = text->sharding;
  int word = at_kind_word(parser);
  if (word >= 0) {
    advance(parser);
    text->kinds |= (uint64_t)1 << word;
    return STATUS_OK;
  }
  if (at_word(parser, "last_tile_dim_replicate")) {
    int64_t *kinds = ARENA_NEW_ARRAY(parser->arena, int64_t, 1);
    kinds[0] = SHARDING_REPLICATED;
    advance(parser);
    sharding->last_tile_dims = (Int64List){1, kinds};
    return STATUS_OK;
  }
  if (at_word(parser, "shard_as") || at_word(parser, "shard_like")) {
    int64_t *group = at_word(parser, "shard_as") ? &sharding->shard_as : &sharding->shard_like;
    advance(parser);
    return parse_int64(parser, group);
  }
  static const char *const names[] = {"device", "devices", "last_tile_dims", "metadata"};
  static const FieldTable table = {names, 4};
  uint64_t seen = 0; /* repetitions are caught by their contents */
  int field = 0;
  if (!at(parser, TOKEN_ATTRIBUTE)) return parse_expected(parser, "a word of a sharding, or '}'");
  RETURN_IF_ERROR(parse_field_name(parser, "a sharding", &table, &seen, &field));
  switch (field) {
    case 0: text->device_count++; return parse_int64(parser, &sharding->device);
    case 1: return parse_devices(parser, text);
    case 2: return parse_last_tile_dims(parser, text);
    case 3: return parse_sharding_metadata(parser, sharding);
    default: XLAC_BUG("field %d of a sharding", field);
  }
}

static Status finish_flat(Parser *parser, ShardingText *text) {
  HloSharding *sharding = text->sharding;
  for (int i = 0; i < KIND_WORD_COUNT; i++) {
    if (!(text->kinds >> i & 1)) continue;
    sharding->kind = kind_words[i].kind;
    bool maximal = sharding->kind == SHARDING_MAXIMAL;
    if (maximal && (text->device_count != 1 || text->has_tile)) {
      return parse_error(parser, text->loc, "parse-sharding", "a maximal sharding needs 'device=' once");
    }
    if (!maximal && (text->device_count > 0 || text->has_tile)) {
      return parse_error(parser, text->loc, "parse-sharding", "a sharding that is '%s' names no devices",
                         kind_words[i].word);
    }
    return STATUS_OK;
  }
  sharding->kind = SHARDING_TILED;
  if (!text->has_tile) return parse_error(parser, text->loc, "parse-sharding", "a tiled sharding needs 'devices=[…]'");
  if (!text->has_iota && text->device_count <= 1) {
    return parse_error(parser, text->loc, "parse-sharding", "a tiled sharding needs more than one device");
  }
  return STATUS_OK;
}

/* --- mesh["x"=2], [{"x"}, {}], replicated={…} --- */

static Status parse_mesh_dims(Parser *parser, HloSharding *sharding) {
  ARRAY(MeshAxisRefs) dims = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACKET, "'[' of the sharded dimensions"));
  if (!at(parser, TOKEN_RIGHT_BRACKET)) {
    do {
      MeshAxisRefs refs;
      RETURN_IF_ERROR(parse_axis_refs(parser, sharding->mesh, true, &refs));
      array_push(&dims, parser->arena, refs);
    } while (accept(parser, TOKEN_COMMA));
  }
  sharding->mesh_dim_count = dims.count;
  sharding->mesh_dims = dims.data;
  return expect(parser, TOKEN_RIGHT_BRACKET, "',' or ']'");
}

static Status parse_mesh_sharding(Parser *parser, HloSharding *sharding) {
  static const char *const names[] = {"replicated", "unreduced", "manual", "metadata"};
  static const FieldTable table = {names, 4};
  MeshAxisRefs *const lists[] = {&sharding->mesh_replicated, &sharding->mesh_unreduced, &sharding->mesh_manual};
  uint64_t seen = 0;
  sharding->kind = SHARDING_MESH;
  sharding->mesh_short = SHARDING_TILED;
  RETURN_IF_ERROR(parse_mesh(parser, &sharding->mesh));
  bool comma = accept(parser, TOKEN_COMMA);
  int word = at_kind_word(parser);
  if (sharding->mesh->is_maximal) {
    sharding->mesh_short = SHARDING_MAXIMAL;
    comma = !comma && accept(parser, TOKEN_COMMA);
  } else if (word >= 0) {
    if (kind_words[word].kind == SHARDING_MAXIMAL || kind_words[word].kind == SHARDING_UNKNOWN) {
      return parse_expected(parser, "'replicated', 'manual' or 'unreduced'");
    }
    sharding->mesh_short = kind_words[word].kind;
    advance(parser);
    comma = accept(parser, TOKEN_COMMA);
  } else {
    RETURN_IF_ERROR(parse_mesh_dims(parser, sharding));
    comma = accept(parser, TOKEN_COMMA);
  }
  if (!comma) return STATUS_OK;
  do {
    int field = 0;
    RETURN_IF_ERROR(parse_field_name(parser, "a mesh sharding", &table, &seen, &field));
    if (field == 3) {
      RETURN_IF_ERROR(parse_sharding_metadata(parser, sharding));
    } else {
      RETURN_IF_ERROR(parse_axis_refs(parser, sharding->mesh, false, lists[field]));
    }
  } while (accept(parser, TOKEN_COMMA));
  return STATUS_OK;
}

/* --- all of it --- */

/* Between the braces, up to the closing one. */
static Status parse_flat(Parser *parser, HloSharding *out_sharding) {
  ShardingText text = {.sharding = out_sharding, .loc = here(parser)};
  *out_sharding = (HloSharding){.shard_as = -1, .shard_like = -1};
  if (at_mesh(parser)) {
    RETURN_IF_ERROR(parse_mesh_sharding(parser, out_sharding));
  } else {
    while (!at(parser, TOKEN_RIGHT_BRACE)) RETURN_IF_ERROR(parse_sharding_word(parser, &text));
    RETURN_IF_ERROR(finish_flat(parser, &text));
  }
  return expect(parser, TOKEN_RIGHT_BRACE, "'}' of a sharding");
}

Status parse_sharding(Parser *parser, const HloSharding **out_sharding) {
  HloSharding *sharding = ARENA_NEW(parser->arena, HloSharding);
  *out_sharding = sharding;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a sharding"));
  if (!at(parser, TOKEN_LEFT_BRACE) && !at(parser, TOKEN_RIGHT_BRACE)) return parse_flat(parser, sharding);
  ARRAY(HloSharding) elements = {0};
  if (at(parser, TOKEN_LEFT_BRACE)) {
    do {
      HloSharding element;
      RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a sharding"));
      RETURN_IF_ERROR(parse_flat(parser, &element));
      array_push(&elements, parser->arena, element);
    } while (accept(parser, TOKEN_COMMA));
  }
  *sharding = (HloSharding){
      .kind = SHARDING_TUPLE, .shard_as = -1, .shard_like = -1, .tuple_count = elements.count, .tuple = elements.data};
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}' of a tuple of shardings");
}

Status parse_domain(Parser *parser, const HloDomain **out_domain) {
  static const char *const names[] = {"kind", "entry", "exit"};
  static const FieldTable table = {names, 3};
  HloDomain *domain = ARENA_NEW(parser->arena, HloDomain);
  SourceLoc loc = here(parser);
  uint64_t seen = 0;
  *out_domain = domain;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a domain"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    int field = 0;
    RETURN_IF_ERROR(parse_field_name(parser, "'domain'", &table, &seen, &field));
    if (field == 0) {
      SourceLoc kind_loc = here(parser);
      StringView kind = {0};
      RETURN_IF_ERROR(parse_string(parser, &kind));
      if (!sv_equal_cstring(kind, "sharding")) {
        return parse_error(parser, kind_loc, "parse-attribute-value", "the only kind of domain is \"sharding\"");
      }
    } else {
      RETURN_IF_ERROR(parse_sharding(parser, field == 1 ? &domain->entry : &domain->exit));
    }
    if (accept(parser, TOKEN_COMMA) && at(parser, TOKEN_RIGHT_BRACE))
      return parse_expected(parser, "a field of 'domain'");
  }
  advance(parser);
  for (int i = 0; i < 3; i++) {
    if (!(seen >> i & 1)) return parse_error(parser, loc, "parse-missing-attribute", "'domain' needs '%s='", names[i]);
  }
  return STATUS_OK;
}
