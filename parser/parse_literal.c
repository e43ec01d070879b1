/* Literals: values of constants.  Arrays are read in one loop over nesting levels, not by recursion, and plain numbers
 * are scanned straight from the text, for constants with millions of elements are common. */
#include <math.h>
#include <stdio.h>

#include "base/checked_math.h"
#include "hlo/type/float_types.h"
#include "parser/parser_internal.h"

/* One array being filled. */
typedef struct ArrayFill {
  const Shape *shape;
  const TypeInfo *info;
  PrimitiveType type;
  char *data;
  int64_t next, stride;           /* elements; bytes from one to the next, 0: not asked for */
  int64_t *seen;                  /* per level: sub-arrays or elements so far */
  int level;                      /* braces open */
  bool elided;                    /* "..." stood for elements */
  uint64_t limit_low, limit_high; /* of integers narrower than 64 bits, as int64 */
} ArrayFill;

/* --- storing one element --- */

static void store_bits(char *at, int bytes, uint64_t bits) {
  switch (bytes) {
    case 1: *(uint8_t *)at = (uint8_t)bits; break;
    case 2: *(uint16_t *)(void *)at = (uint16_t)bits; break;
    case 4: *(uint32_t *)(void *)at = (uint32_t)bits; break;
    case 8: *(uint64_t *)(void *)at = bits; break;
    default: XLAC_BUG("elements of %d bytes", bytes);
  }
}

static bool integer_fits(const ArrayFill *fill, int64_t value) {
  return fill->info->bits == 64 || (value >= (int64_t)fill->limit_low && value <= (int64_t)fill->limit_high);
}

/* Finite text must stay finite after rounding, where the type can say otherwise. */
static bool store_real(PrimitiveType type, char *at, double value) {
  if (type == TYPE_F32) {
    *(float *)(void *)at = (float)value;
    return isinf(value) || !isinf((float)value);
  }
  if (type == TYPE_F64) {
    *(double *)(void *)at = value;
    return true;
  }
  uint64_t bits = float_encode(type, value);
  store_bits(at, type_storage_bytes(type), bits);
  return isinf(value) || isfinite(float_decode(type, bits));
}

static bool store_number(ArrayFill *fill, const Number *number) {
  char *at_element = fill->data + fill->next * fill->stride;
  switch (fill->info->type_class) {
    case TYPE_CLASS_FLOAT:
      return store_real(fill->type, at_element, number->is_integer ? (double)number->integer : number->real) &&
             (number->is_integer || !isinf(number->real));
    case TYPE_CLASS_PRED: *at_element = number->integer != 0; return number->is_integer;
    case TYPE_CLASS_SIGNED:
    case TYPE_CLASS_UNSIGNED:
      if (!number->is_integer || !integer_fits(fill, number->integer)) return false;
      store_bits(at_element, fill->info->storage_bytes, (uint64_t)number->integer);
      return true;
    case TYPE_CLASS_COMPLEX:
    case TYPE_CLASS_OTHER: break;
  }
  XLAC_BUG("'%s' has no numbers", type_text(fill->type));
}

/* The pattern of a NaN: the quiet one, or with |payload| in the mantissa. */
static Status store_nan(Parser *parser, PrimitiveType type, char *at_element) {
  const Token *token = current(parser);
  const TypeInfo *info = type_info(type);
  uint64_t payload = (uint64_t)token->integer, mantissa_mask = ((uint64_t)1 << info->mantissa_bits) - 1;
  uint64_t sign = token->negative ? (uint64_t)1 << (info->bits - 1) : 0;
  uint64_t bits;
  if (payload && !float_has_nan_payload(type)) {
    return parse_error(parser, here(parser), "parse-literal", "'%s' has only one nan, without payload", info->text);
  }
  if (payload > mantissa_mask) {
    return parse_error(parser, here(parser), "parse-literal", "the payload of a nan in '%s' goes up to 0x%llx",
                       info->text, (unsigned long long)mantissa_mask);
  }
  if (float_has_nan_payload(type)) {
    uint64_t exponent = (((uint64_t)1 << info->exponent_bits) - 1) << info->mantissa_bits;
    bits = sign | exponent | (payload ? payload : (uint64_t)1 << (info->mantissa_bits - 1));
  } else if (float_has_nan(type)) {
    bits = float_encode(type, token->negative ? -(double)NAN : (double)NAN);
  } else {
    bits = (uint64_t)1 << (info->bits - 1); /* a type without NaN gets -0, as XLA converts */
  }
  store_bits(at_element, info->storage_bytes, bits);
  return STATUS_OK;
}

static Status out_of_range(Parser *parser, PrimitiveType type) {
  const Token *token = current(parser);
  const TypeInfo *info = type_info(type);
  StringView text = token_describe(parser->scratch, token);
  Status status = parse_error(parser, here(parser), "parse-literal-range", "%.*s is out of range for '%s'",
                              SV_ARG(text), info->text);
  if (type_is_integral(type) && info->bits < 64) {
    bool is_signed = type_is_signed(type);
    long long high = is_signed ? ((long long)1 << (info->bits - 1)) - 1 : ((long long)1 << info->bits) - 1;
    parse_note(parser, NO_LOC, "'%s' holds %lld to %lld", info->text, is_signed ? -high - 1 : 0LL, high);
  }
  return status;
}

/* A float in any of its forms at the current token, into |at_element|. */
static Status parse_float_element(Parser *parser, PrimitiveType type, char *at_element) {
  const Token *token = current(parser);
  bool finite = token->kind == TOKEN_INTEGER || token->kind == TOKEN_DECIMAL;
  if (token->kind == TOKEN_NAN) {
    RETURN_IF_ERROR(store_nan(parser, type, at_element));
  } else if (token->kind == TOKEN_NEGATIVE_INF || at_word(parser, "inf")) {
    (void)store_real(type, at_element, token->kind == TOKEN_NEGATIVE_INF ? -INFINITY : INFINITY);
  } else if (finite) {
    const char *c = token->start;
    Number number = {.is_integer = true, .integer = token->integer};
    if (token->kind == TOKEN_DECIMAL && !number_scan(&c, c + token->text.size, &number)) {
      XLAC_BUG("a decimal token that is not a number");
    }
    double value = number.is_integer ? (double)number.integer : number.real;
    if (isinf(value) || !store_real(type, at_element, value)) return out_of_range(parser, type);
  } else {
    return parse_expected(parser, "a number");
  }
  advance(parser);
  return STATUS_OK;
}

static Status parse_complex_element(Parser *parser, PrimitiveType type, char *at_element) {
  PrimitiveType part = type_complex_part(type);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of a complex number (real, imaginary)"));
  RETURN_IF_ERROR(parse_float_element(parser, part, at_element));
  RETURN_IF_ERROR(expect(parser, TOKEN_COMMA, "',' between real and imaginary part"));
  RETURN_IF_ERROR(parse_float_element(parser, part, at_element + type_storage_bytes(part)));
  return expect(parser, TOKEN_RIGHT_PAREN, "')' of a complex number");
}

static Status parse_element(Parser *parser, ArrayFill *fill) {
  const Token *token = current(parser);
  char *at_element = fill->data + fill->next * fill->stride;
  switch (fill->info->type_class) {
    case TYPE_CLASS_COMPLEX: RETURN_IF_ERROR(parse_complex_element(parser, fill->type, at_element)); break;
    case TYPE_CLASS_FLOAT: RETURN_IF_ERROR(parse_float_element(parser, fill->type, at_element)); break;
    case TYPE_CLASS_PRED:
      if (at_word(parser, "true") || at_word(parser, "false")) {
        *at_element = at_word(parser, "true");
        advance(parser);
        break;
      }
      /* fall through */
    case TYPE_CLASS_SIGNED:
    case TYPE_CLASS_UNSIGNED:
      if (token->kind != TOKEN_INTEGER) {
        return parse_expected(parser, fill->type == TYPE_PRED ? "'true', 'false' or an integer" : "an integer");
      }
      if (!store_number(fill, &(Number){.is_integer = true, .integer = token->integer})) {
        return out_of_range(parser, fill->type);
      }
      advance(parser);
      break;
    case TYPE_CLASS_OTHER: XLAC_BUG("'%s' has no elements", type_text(fill->type));
  }
  fill->next++;
  return STATUS_OK;
}

/* --- arrays --- */

/* After an element: more plain numbers, read without tokens.  Stops before the first thing that is none, or that needs
 * an error. */
static void fill_plain_numbers(Parser *parser, ArrayFill *fill) {
  Lexer *lexer = &parser->lexer;
  int64_t *seen = &fill->seen[fill->level - 1], wanted = fill->shape->dims[fill->level - 1];
  if (fill->info->type_class == TYPE_CLASS_COMPLEX) return;
  while (*seen < wanted) {
    const char *c = lexer->cursor, *end = lexer->end;
    while (c < end && (*c == ' ' || *c == ',' || *c == '\n' || *c == '\r')) {
      if (*c++ == '\n') {
        lexer->line++;
        lexer->line_start = c;
      }
    }
    lexer->cursor = c;
    Number number;
    if (c == end || !((unsigned char)(*c - '0') < 10 || *c == '-') || !number_scan(&c, end, &number)) return;
    /* what is glued to it decides what token it is */
    if (c == end || !(*c == ',' || *c == '}' || *c == ' ' || *c == '\n' || *c == '\r')) return;
    if (!store_number(fill, &number)) return;
    lexer->cursor = c;
    fill->next++;
    ++*seen;
  }
}

static Status wrong_count(Parser *parser, SourceLoc loc, const ArrayFill *fill, bool more) {
  int level = fill->level - 1;
  StringView shape = shape_text(parser->scratch, fill->shape, false);
  if (more) {
    return parse_error(parser, loc, "parse-literal", "more than %lld elements in dimension %d of %.*s",
                       (long long)fill->shape->dims[level], level, SV_ARG(shape));
  }
  return parse_error(parser, loc, "parse-literal", "expected %lld elements in dimension %d of %.*s, found %lld",
                     (long long)fill->shape->dims[level], level, SV_ARG(shape), (long long)fill->seen[level]);
}

/* Counts one more thing in the innermost open brace. */
static Status count_item(Parser *parser, ArrayFill *fill) {
  if (fill->seen[fill->level - 1] >= fill->shape->dims[fill->level - 1]) {
    return wrong_count(parser, here(parser), fill, true);
  }
  fill->seen[fill->level - 1]++;
  return STATUS_OK;
}

static Status open_level(Parser *parser, ArrayFill *fill) {
  if (fill->level == fill->shape->rank) {
    return parse_error(parser, here(parser), "parse-literal", "braces nested deeper than the rank, %d",
                       fill->shape->rank);
  }
  if (fill->level > 0) RETURN_IF_ERROR(count_item(parser, fill));
  fill->seen[fill->level++] = 0;
  advance(parser);
  return STATUS_OK;
}

static Status close_level(Parser *parser, ArrayFill *fill) {
  if (fill->seen[fill->level - 1] != fill->shape->dims[fill->level - 1]) {
    return wrong_count(parser, here(parser), fill, false);
  }
  fill->level--;
  advance(parser);
  return STATUS_OK;
}

/* "..." in place of the rest of the outermost dimension. */
static Status elide_rest(Parser *parser, ArrayFill *fill) {
  if (fill->level > 1)
    return parse_error(parser, here(parser), "parse-literal", "'...' can stand inside the outermost braces only");
  fill->elided = true;
  fill->seen[0] = fill->shape->dims[0];
  advance(parser);
  return STATUS_OK;
}

static Status fill_array(Parser *parser, ArrayFill *fill) {
  do {
    if (at(parser, TOKEN_LEFT_BRACE)) {
      RETURN_IF_ERROR(open_level(parser, fill));
    } else if (fill->level == 0) {
      return parse_expected(parser, "'{' of an array");
    } else if (at(parser, TOKEN_RIGHT_BRACE)) {
      RETURN_IF_ERROR(close_level(parser, fill));
    } else if (at(parser, TOKEN_ELLIPSIS)) {
      RETURN_IF_ERROR(elide_rest(parser, fill));
    } else if (!accept(parser, TOKEN_COMMA)) { /* XLA lets commas be free */
      if (fill->level < fill->shape->rank) return parse_expected(parser, "'{' of a nested array");
      RETURN_IF_ERROR(count_item(parser, fill));
      RETURN_IF_ERROR(parse_element(parser, fill));
      /* The element's token is gone and the next one is read: numbers are scanned from there on. */
      if (at(parser, TOKEN_COMMA)) {
        fill_plain_numbers(parser, fill);
        advance(parser);
      }
    }
  } while (fill->level > 0);
  return STATUS_OK;
}

static void set_limits(ArrayFill *fill) {
  int bits = fill->info->bits;
  if (!type_is_integral(fill->type) || bits >= 64) return;
  int64_t span = (int64_t)1 << (type_is_signed(fill->type) ? bits - 1 : bits);
  fill->limit_low = (uint64_t)(type_is_signed(fill->type) ? -span : 0);
  fill->limit_high = (uint64_t)(span - 1);
}

/* Whether "..." stands in the outermost braces of the array that begins here; looks no further than these go. */
static bool rest_is_elided(Parser *parser) {
  int64_t depth = 0;
  for (const char *c = current(parser)->start, *end = parser->lexer.end; c < end; c++) {
    if (*c == '{') depth++;
    if (*c == '}') depth--;
    if (depth <= 0) return false;
    if (depth == 1 && end - c >= 3 && c[0] == '.' && c[1] == '.' && c[2] == '.') return true;
  }
  return false;
}

static void make_elided(Parser *parser, const Shape *shape, Literal *literal) {
  enum { SMALL = 4096 }; /* bytes worth allocating for readers that look at data without asking */
  int64_t size = shape_byte_size(shape);
  *literal = size >= 0 && size <= SMALL ? *literal_create(parser->arena, shape) : (Literal){.shape = shape};
  literal->elided = true;
}

/* Memory is asked for only where the text that follows could hold the elements, and does: sets |*out_wanted|. */
static Status check_size(Parser *parser, const Shape *shape, bool *out_wanted) {
  enum { LARGE = 1024 };
  int64_t count = shape_byte_size(shape) < 0 ? -1 : shape_element_count(shape);
  bool fits = count >= 0 && count <= parser->lexer.end - current(parser)->start;
  *out_wanted = fits && count <= LARGE;
  if (*out_wanted) return STATUS_OK;
  bool is_elided = rest_is_elided(parser);
  *out_wanted = fits && !is_elided;
  if (fits || is_elided) return STATUS_OK;
  StringView text = shape_text(parser->scratch, shape, false);
  if (count < 0)
    return parse_error(parser, here(parser), "parse-literal", "%.*s is too large for a constant", SV_ARG(text));
  return parse_error(parser, here(parser), "parse-literal",
                     "%.*s has %lld elements, more than the rest of the text can hold", SV_ARG(text), (long long)count);
}

/* Of an array of which only the first element is written. */
#define MOST_UNWRITTEN_BYTES (INT64_C(1) << 28)

/* XLA takes a single element for an array of any rank: it is the first one, the others are zero. */
static Status parse_first_element(Parser *parser, const Shape *shape, Literal *literal) {
  int64_t bytes = shape_byte_size(shape);
  if (bytes == 0 || at(parser, TOKEN_LEFT_PAREN)) return parse_expected(parser, "'{' of an array");
  if (bytes < 0 || bytes > MOST_UNWRITTEN_BYTES) {
    StringView text = shape_text(parser->scratch, shape, false);
    return parse_error(parser, here(parser), "parse-literal", "%.*s is too large for a constant", SV_ARG(text));
  }
  *literal = *literal_create(parser->arena, shape);
  ArrayFill fill = {.shape = shape, .info = type_info(shape->type), .type = shape->type, .data = literal->data};
  fill.stride = fill.info->storage_bytes;
  set_limits(&fill);
  return parse_element(parser, &fill);
}

static Status parse_array(Parser *parser, const Shape *shape, Literal *literal) {
  if (shape->rank > 0 && !at(parser, TOKEN_LEFT_BRACE)) return parse_first_element(parser, shape, literal);
  uint64_t unwanted[2];
  ArrayFill fill = {.shape = shape, .info = type_info(shape->type), .type = shape->type, .data = (char *)unwanted};
  bool is_wanted;
  RETURN_IF_ERROR(check_size(parser, shape, &is_wanted));
  if (is_wanted) {
    *literal = *literal_create(parser->arena, shape);
    fill.data = literal->data;
    fill.stride = fill.info->storage_bytes;
  }
  set_limits(&fill);
  if (shape->rank == 0) {
    if (at(parser, TOKEN_LEFT_BRACE))
      return parse_error(parser, here(parser), "parse-literal", "a scalar is written without braces");
    return parse_element(parser, &fill);
  }
  fill.seen = ARENA_NEW_ARRAY(parser->scratch, int64_t, shape->rank);
  RETURN_IF_ERROR(fill_array(parser, &fill));
  if (fill.elided) make_elided(parser, shape, literal);
  return STATUS_OK;
}

/* --- tuples --- */

static Status parse_value(Parser *parser, const Shape *shape, Literal *literal);

static Status parse_tuple(Parser *parser, const Shape *shape, Literal *literal) {
  if (parser->nesting >= MAX_NESTING) return parse_too_deep(parser, here(parser), "tuples are");
  literal->shape = shape;
  literal->tuple = ARENA_NEW_ARRAY(parser->arena, Literal, shape->tuple_size);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of a tuple"));
  parser->nesting++;
  for (int i = 0; i < shape->tuple_size; i++) {
    if (i > 0) RETURN_IF_ERROR(expect(parser, TOKEN_COMMA, "',' between elements of a tuple"));
    RETURN_IF_ERROR(parse_value(parser, shape->tuple[i], &literal->tuple[i]));
  }
  parser->nesting--;
  return expect(parser, TOKEN_RIGHT_PAREN, "')' of a tuple");
}

static Status parse_value(Parser *parser, const Shape *shape, Literal *literal) {
  if (shape->type == TYPE_TUPLE) return parse_tuple(parser, shape, literal);
  if (!type_is_array(shape->type)) {
    return parse_error(parser, here(parser), "parse-literal", "there are no constants of type '%s'",
                       type_text(shape->type));
  }
  return parse_array(parser, shape, literal);
}

Status parse_literal(Parser *parser, const Shape *shape, const Literal **out_literal) {
  Literal *literal = ARENA_NEW(parser->arena, Literal);
  RETURN_IF_ERROR(parse_value(parser, shape, literal));
  *out_literal = literal;
  return STATUS_OK;
}
